package chat_test

import (
	"testing"

	"weir/internal/rawjson"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// Whatever a request says, a preset makes a valid body of it that says the same, and has no word of the preset.
func FuzzWithPreset(f *testing.F) {
	p, err := wire.ReadPreset([]byte(`{"model":"a/b","models":["c/d"],"system_prompt":"Be \"kind\".","parameters":{"temperature":0.5,"max_tokens":9,"reasoning":{"effort":"low"}},"provider":{"zdr":true}}`))
	if err != nil {
		f.Fatal(err)
	}
	for _, body := range []string{`{}`, `{"messages":[ ]}`, `{"messages":[{"role":"user","content":"x"}],"preset":"a"}`, `{"messages":[{"role":"system","content":"x"}],"temperature":null}`,
		`{"provider":{"zdr":false,"sort":"price"},"max_completion_tokens":3}`, `{"provider":5,"messages":{}}`, `{"messages":[1, 2 ]}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if rawjson.Check(body, rawjson.Defaults) != nil || rawjson.KindOf(body) != rawjson.Object {
			return
		}
		out, _ := chat.WithPreset(body, p, "")
		if err := rawjson.Check(out, rawjson.Limits{Depth: 1000, Keys: 1 << 20, Values: 1 << 20}); err != nil {
			t.Fatalf("%s became %s: %v", body, out, err)
		}
		if rawjson.Find(out, "preset") != nil || rawjson.TextAt(out, "model") != "a/b" {
			t.Fatalf("%s became %s", body, out)
		}
		for m := rawjson.MembersOf(body); m.Next(); {
			switch name := string(m.Name); name {
			case "preset", "model", "provider", "messages":
			default:
				if got := rawjson.Find(out, name); !rawjson.IsNull(m.Value) && string(got) != string(m.Value) {
					t.Fatalf("%s of %s became %s", name, body, got)
				}
			}
		}
	})
}
