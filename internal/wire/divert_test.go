package wire_test

import (
	"testing"

	"weir/internal/wire"
)

// Diversions are found where servers look for them, and a client's own notes may have any other name.
func TestDivertsIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ member, value, want string }{
		{"metadata", `{"api_key":1}`, "metadata.api_key"}, {"metadata", `{"API-Base":1}`, "metadata.API-Base"}, {"metadata", `{"organization":"mine","timeout":"x"}`, ""},
		{"metadata", `"{\"api_key\":1}"`, "metadata.api_key"}, {"metadata[api_key]", `"x"`, "metadata.api_key"}, {"metadata", `[]`, ""}, {"metadata", `"x"`, ""}, {"metadata", `null`, ""},
		{"provider", `{"options":{"fal":{"webhook_url":"x"}}}`, "provider.options.fal.webhook_url"}, {"provider", `{"only":["headers"]}`, ""},
		{"image_config", `{"extra_headers":{}}`, "image_config.extra_headers"}, {"messages", `[{"api_key":1}]`, ""},
	} {
		if got := wire.DivertsIn(c.member, []byte(c.value)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.member, c.value, got, c.want)
		}
	}
}
