package chat_test

import (
	"testing"

	"weir/internal/rawjson"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// Whatever a request says, a preset makes a valid body of it that says the same, and has no word of the preset.
func FuzzWithPreset(f *testing.F) {
	p, err := wire.ReadPreset([]byte(`{"model":"a/b","models":["c/d"],"system_prompt":"Be \"kind\".","parameters":{"temperature":0.5,"max_tokens":9,"reasoning":{"effort":"low"}},"provider":{"zdr":true},"tools":[{"type":"function","function":{"name":"f"}}],"plugins":[{"id":"web"}]}`))
	if err != nil {
		f.Fatal(err)
	}
	for _, body := range []string{`{}`, `{"messages":[ ]}`, `{"messages":[{"role":"user","content":"x"}],"preset":"a"}`, `{"messages":[{"role":"system","content":"x"}],"temperature":null}`,
		`{"provider":{"zdr":false,"sort":"price"},"max_completion_tokens":3}`, `{"provider":5,"messages":{},"plugins":{}}`, `{"plugins":[{"id":"web","enabled":false},7],"tools":[]}`, `{"messages":[1, 2 ]}`} {
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
			case "preset", "model", "provider", "messages", "plugins":
			default:
				if got := rawjson.Find(out, name); !rawjson.IsNull(m.Value) && string(got) != string(m.Value) {
					t.Fatalf("%s of %s became %s", name, body, got)
				}
			}
		}
	})
}

// The plugins of a preset are added to those of the request, which sets each of them as it likes.
func TestPluginsOfPresets(t *testing.T) {
	t.Parallel()
	p, err := wire.ReadPreset([]byte(`{"plugins":[{"id":"web","max_results":3},{"id":"context-compression"}],"tools":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{}`:               `[{"id":"web","max_results":3},{"id":"context-compression"}]`,
		`{"plugins":null}`: `[{"id":"web","max_results":3},{"id":"context-compression"}]`,
		`{"plugins":[{"id":"web","enabled":false}]}`:     `[{"id":"context-compression"},{"id":"web","enabled":false}]`,
		`{"plugins":[{"id":"response-healing"}]}`:        `[{"id":"web","max_results":3},{"id":"context-compression"},{"id":"response-healing"}]`,
		`{"transforms":[]}`:                              `[{"id":"web","max_results":3}]`,
		`{"plugins":{"id":"web"}}`:                       `{"id":"web"}`,
		`{"plugins":[{"id":"context-compression"},"x"]}`: `[{"id":"web","max_results":3},{"id":"context-compression"},"x"]`,
	} {
		out, _ := chat.WithPreset([]byte(body), p, "a/b")
		if got := string(rawjson.Find(out, "plugins")); got != want {
			t.Errorf("%s: %s", body, got)
		}
		if rawjson.Find(out, "tools") != nil {
			t.Errorf("an empty list of tools is sent: %s", out)
		}
	}
}
