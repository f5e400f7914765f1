package cohere

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// What the provider answers is read as vectors that there are, or not at all.
func FuzzEmbed(f *testing.F) {
	for _, s := range []string{`{"embeddings":{"base64":["AACAPw=="],"float":[[1]]},"meta":{"billed_units":{"input_tokens":7,"image_tokens":1}}}`, `{}`, `[`} {
		f.Add([]byte(s))
	}
	ep := &catalog.Endpoint{Provider: &catalog.Provider{}}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !rawjson.Valid(body) {
			return
		}
		a, err := readEmbed(ep, body)
		if err == nil && len(a.Vectors) == 0 || a.Usage.Prompt.N < 0 {
			t.Fatalf("%+v", a)
		}
	})
}
