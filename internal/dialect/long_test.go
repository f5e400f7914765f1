package dialect_test

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/rawjson"
)

// conversations are requests of each style with a text, a tool and an image, which are written as (text), (schema) and (image). The second of each
// style has what makes dialects write messages anew.
var conversations = map[string][]string{
	"chat": {
		`{"model":"x/y","messages":[{"role":"user","content":[{"type":"text","text":"(text)"},{"type":"image_url","image_url":{"url":"data:image/png;base64,(image)"}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","description":"(text)"}}}]}`,
		`{"model":"x/y","temperature":0.5,"messages":[{"role":"developer","content":"(text)"},{"role":"user","name":null,"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,(image)"},"cache_control":{"type":"ephemeral"}},{"type":"text","text":"(text)"}]}],"max_tokens":9}`,
	},
	"responses": {
		`{"model":"x/y","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,(image)","detail":"auto"},{"type":"input_text","text":"(text)"}]}],"max_output_tokens":90}`,
		`{"model":"x/y","include":["reasoning.encrypted_content"],"instructions":"(text)","input":[{"type":"reasoning","summary":[],"encrypted_content":"abc"},{"role":"user","content":[{"type":"input_text","text":"(text)"},{"type":"input_image","image_url":"data:image/png;base64,(image)","detail":"auto"}]}]}`,
	},
	"messages": {
		`{"model":"x/y","max_tokens":9,"system":"(text)","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"(image)"}},{"type":"text","text":"(text)"}]}]}`,
		`{"provider":{"sort":"price"},"model":"x/y","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"(text)","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"(image)"}}]}]}`,
	},
	"gemini": {
		`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"(image)"}},{"text":"(text)"}]}]}`,
		`{"labels":{"a":"b"},"systemInstruction":{"parts":[{"text":"(text)"}]},"contents":[{"role":"user","parts":[{"text":"(text)"},{"inlineData":{"mimeType":"image/png","data":"(image)"}}]}]}`,
	},
}

// A request with long values is encoded as one with short values: that they are not copied shows in nothing but the number of pieces.
func TestLongValues(t *testing.T) {
	t.Parallel()
	const image, text = "iVBORw0KGgo=", "what is this?"
	for name, d := range all.Dialects() {
		texter, ok := d.(dialect.Texter)
		if !ok {
			continue
		}
		for _, st := range styles {
			for i, body := range conversations[st.name] {
				encode := func(image, text string) (dialect.Call, error) {
					req, err := st.decode([]byte(strings.NewReplacer("(image)", image, "(text)", text).Replace(body)))
					if err != nil {
						t.Fatalf("%s: %v", st.name, err)
					}
					quirks := catalog.Quirks{SystemRole: true, CacheControl: i == 1}
					ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: name, Quirks: quirks}, UpstreamID: "acme-large", Params: catalog.AllParams}
					return texter.Request(ep, req)
				}
				short, err := encode(image, text)
				if name == "gigachat" && err != nil {
					continue // takes files, and no images in the request
				}
				long := strings.Repeat("Q", 3*dialect.LongValue)
				full, err2 := encode(long, long+" \\n "+long)
				if err != nil || err2 != nil {
					t.Fatalf("%s for %s: %v, %v", name, st.name, err, err2)
				}
				if len(full.More) == 0 {
					t.Errorf("%s for %s: the long values were copied", name, st.name)
				}
				got := string(bytes.Join(full.Pieces(), nil))
				want := strings.NewReplacer(image, long, text, long+" \\n "+long).Replace(string(bytes.Join(short.Pieces(), nil)))
				if got != want {
					t.Errorf("%s for %s: %d bytes, want %d:\n%s\n%s", name, st.name, len(got), len(want), strings.ReplaceAll(got, long, "(long)"), strings.ReplaceAll(want, long, "(long)"))
				}
				if int64(len(got)) != full.Size() || !rawjson.Valid([]byte(got)) {
					t.Errorf("%s for %s: the size is %d of %d bytes, valid %v", name, st.name, full.Size(), len(got), rawjson.Valid([]byte(got)))
				}
			}
		}
	}
}
