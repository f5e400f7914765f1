package main_test

import (
	"strings"
	"testing"
)

// A node without anything to serve starts, and says what is missing.
func TestServeWithNothing(t *testing.T) {
	t.Parallel()
	p := startIn(t, environment("WEIR_SERVER_LISTEN=127.0.0.1:0", "WEIR_SERVER_ADMIN_LISTEN=off"), nil, "serve", "--data", t.TempDir())
	for _, want := range []string{"there is no model to serve", "OPENAI_API_KEY", "there are no users yet", "weir user bootstrap NAME"} {
		waitFor(t, want, func() bool { return p.ended() || p.stderr.with(want) != "" })
		if !strings.Contains(p.stderr.String(), want) {
			t.Fatalf("it does not say %q:\n%s", want, p.stderr)
		}
	}
	if p.ended() {
		t.Errorf("it ended: %v", p.err)
	}
}
