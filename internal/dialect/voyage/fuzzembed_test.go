package voyage

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/embed"
)

// What the provider answers is read as vectors that there are, or not at all.
func FuzzEmbed(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":1,"embedding":"AACAPw=="}],"usage":{"total_tokens":7}}`, `{}`, `[`} {
		f.Add([]byte(s))
	}
	ep := &catalog.Endpoint{Provider: &catalog.Provider{}}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := embed.Read(body, 2)
		if err != nil {
			return
		}
		a, err := readEmbed(ep, &d, 2)
		if err == nil && len(a.Vectors) == 0 || a.Usage.Prompt.N < 0 {
			t.Fatalf("%+v", a)
		}
	})
}
