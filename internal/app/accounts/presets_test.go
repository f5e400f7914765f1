package accounts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

// bodies are requests of every style that use a preset in one of the ways, and say nothing else that a preset may say.
func bodies(word, preset, way, model string) map[string]struct {
	path string
	body map[string]any
} {
	named := func(body map[string]any) map[string]any {
		switch way {
		case "slug":
			body["model"] = "@preset/" + preset
		case "both":
			body["model"] = model + "@preset/" + preset
		case "field":
			body["model"], body["preset"] = model, preset
		}
		return body
	}
	gemini := map[string]any{"contents": []any{map[string]any{"parts": []any{map[string]any{"text": word}}}}}
	at := "/v1beta/models/@preset/" + preset
	if way != "slug" {
		at = "/v1beta/models/" + model
		gemini["preset"] = preset
	}
	return map[string]struct {
		path string
		body map[string]any
	}{
		"chat":      {"/v1/chat/completions", named(map[string]any{"messages": []any{map[string]any{"role": "user", "content": word}}})},
		"responses": {"/v1/responses", named(map[string]any{"input": word})},
		"messages":  {"/v1/messages", named(map[string]any{"messages": []any{map[string]any{"role": "user", "content": word}}})},
		"gemini":    {at + ":generateContent", gemini},
	}
}

// A preset holds in every style, whatever the wire of the provider, and in every way to name it; the request's own fields win. Providers
// never see the word preset.
func TestPresetsInEveryStyle(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	o := c.NewOwner(t, 1000, apikey.NewKey{})
	n := 0
	for _, dialect := range []string{"openai", "anthropic", "gemini", "responses"} {
		model := dialect + "/chat"
		o.MakePreset(t, map[string]any{"name": "on-" + dialect, "model": model, "system_prompt": "Speak as a river does.", "parameters": map[string]any{"temperature": 0.375, "max_tokens": 771}})
		for _, way := range []string{"slug", "both", "field"} {
			n++
			for style, is := range bodies(fmt.Sprintf("word%dz", n), "on-"+dialect, way, model) {
				where := fmt.Sprint(style, " on ", dialect, " by ", way)
				word := style + fmt.Sprintf("word%dz", n)
				raw, err := json.Marshal(is.body)
				if err != nil {
					t.Fatal(err)
				}
				raw = bytes.ReplaceAll(raw, fmt.Appendf(nil, `"word%dz"`, n), []byte(`"`+word+`"`))
				got := o.Account.Send(t, http.MethodPost, is.path, raw, nil)
				if got.Status != http.StatusOK {
					t.Errorf("%s: %d %s", where, got.Status, got.Body)
					continue
				}
				sent := c.Received(word)
				if len(sent) != 1 {
					t.Fatalf("%s: %d requests", where, len(sent))
				}
				for _, want := range []string{"Speak as a river does.", "0.375", "771"} {
					if !bytes.Contains(sent[0].Body, []byte(want)) {
						t.Errorf("%s: the provider was not told %s: %s", where, want, sent[0].Body)
					}
				}
				if bytes.Contains(sent[0].Body, []byte("preset")) {
					t.Errorf("%s: the provider was told of the preset: %s", where, sent[0].Body)
				}
				if call := o.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id")); fmt.Sprint(call["preset"]) != fmt.Sprint("map[name:on-", dialect, " version:1]") {
					t.Errorf("%s: the record says %v", where, call["preset"])
				}
			}
		}
	}
	for style, is := range bodies("word", "on-openai", "slug", "openai/chat") {
		word := "own" + style
		var own string
		switch style {
		case "chat":
			own = `"temperature":0.625,"max_completion_tokens":12,"messages":[{"role":"system","content":"Own words."},{"role":"user","content":"` + word + `"}]`
		case "responses":
			own = `"temperature":0.625,"max_output_tokens":12,"instructions":"Own words.","input":"` + word + `"`
		case "messages":
			own = `"temperature":0.625,"max_tokens":12,"system":"Own words.","messages":[{"role":"user","content":"` + word + `"}]`
		case "gemini":
			own = `"generation_config":{"temperature":0.625,"max_output_tokens":12},"system_instruction":{"parts":[{"text":"Own words."}]},"contents":[{"parts":[{"text":"` + word + `"}]}]`
		}
		if style != "gemini" {
			own = `"model":"@preset/on-openai",` + own
		}
		got := o.Account.Send(t, http.MethodPost, is.path, []byte("{"+own+"}"), nil)
		sent := c.Received(word)
		if got.Status != http.StatusOK || len(sent) != 1 {
			t.Fatalf("%s: %d %s, %d requests", style, got.Status, got.Body, len(sent))
		}
		for what, want := range map[string]bool{"Own words.": true, "0.625": true, "Speak as": false, "0.375": false, "771": false} {
			if bytes.Contains(sent[0].Body, []byte(what)) != want {
				t.Errorf("%s: %s: %s", style, what, sent[0].Body)
			}
		}
	}
	o.Account.AwaitSettled(t)
	row := elements(o.Page(t, "/api/presets")["data"])
	at := slices.IndexFunc(row, func(r map[string]any) bool { return r["name"] == "on-openai" })
	if uses, _ := row[at]["uses"].(map[string]any); fmt.Sprintf("%v %v %d", uses["calls"], uses["keys"], len(row)) != "16 1 4" {
		t.Errorf("uses %v of %d presets", uses, len(row))
	}
	c.WantBalanced(t)
}

// Another account's preset does not exist, in the same words as one that never was.
func TestPresetsOfOthers(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	o.MakePreset(t, map[string]any{"name": "mine", "model": "test/next", "system_prompt": "A secret of the house."})
	second := &apptest.Account{Gw: gw, Key: createdKey(t, o, `{"name":"second"}`)}
	if got := second.Chat(t, map[string]any{"model": "@preset/mine", "messages": apptest.Question}); got.Status != http.StatusOK {
		t.Errorf("another key of the account: %d %s", got.Status, got.Body)
	}
	same := func(method, path string, body any, by *apptest.Account) {
		t.Helper()
		text := func(name string) string {
			raw, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			got := by.Send(t, method, strings.ReplaceAll(path, "NAME", name), bytes.ReplaceAll(raw, []byte("NAME"), []byte(name)), nil)
			if got.Status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
			}
			var e struct{ Error struct{ Message string } }
			if err := json.Unmarshal(got.Body, &e); err != nil {
				t.Error(err)
			}
			return strings.ReplaceAll(e.Error.Message, name, "NAME")
		}
		if a, b := text("mine"), text("none"); a != b || a == "" {
			t.Errorf("%s %s: %q and %q", method, path, a, b)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/rerank"} {
		same(http.MethodPost, path, map[string]any{"model": "@preset/NAME", "messages": apptest.Question}, other.Account)
	}
	same(http.MethodPost, "/v1beta/models/@preset/NAME:generateContent", map[string]any{}, other.Account)
	same(http.MethodGet, "/api/presets/NAME", nil, other.Pages)
	same(http.MethodDelete, "/api/presets/NAME", nil, other.Pages)
	same(http.MethodGet, "/api/presets/NAME/versions", nil, other.Pages)
	same(http.MethodGet, "/api/presets/NAME/versions/1", nil, other.Pages)
	same(http.MethodPost, "/api/presets/NAME/restore", map[string]any{"version": 1}, other.Pages)
	if list := elements(other.Page(t, "/api/presets")["data"]); len(list) != 0 {
		t.Errorf("the other account lists %v", list)
	}
	if got := other.Pages.Do(t, http.MethodPut, "/api/presets/mine", map[string]any{"model": "test/next"}); got.Status != http.StatusOK || bytes.Contains(got.Body, []byte("secret")) {
		t.Errorf("a preset of the same name in another account: %d %s", got.Status, got.Body)
	}
	if got := o.Page(t, "/api/presets/mine"); got["system_prompt"] != "A secret of the house." {
		t.Errorf("it changed the first: %v", got)
	}
	if got := o.Account.Do(t, http.MethodGet, "/api/presets", nil); got.Status != http.StatusForbidden {
		t.Errorf("a key that calls models lists presets: %d", got.Status)
	}
}

// Each save is a version; they are compared, restored, and hold for the next call at once.
func TestPresetVersions(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	o := c.NewOwner(t, 100, apikey.NewKey{})
	o.MakePreset(t, map[string]any{"name": "tone", "model": "openai/chat", "system_prompt": "first tone"})
	told := func(word, want string, version int) {
		t.Helper()
		got := o.Account.Chat(t, map[string]any{"model": "@preset/tone", "messages": []any{map[string]any{"role": "user", "content": word}}})
		sent := c.Received(word)
		if got.Status != http.StatusOK || len(sent) != 1 || !bytes.Contains(sent[0].Body, []byte(want)) {
			t.Errorf("%s: %d %s, %s", word, got.Status, got.Body, sent)
		}
		if call := o.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id")); fmt.Sprint(call["preset"]) != fmt.Sprint("map[name:tone version:", version, "]") {
			t.Errorf("%s: the record says %v", word, call["preset"])
		}
	}
	save := func(status int, body map[string]any) {
		t.Helper()
		if got := o.Pages.Do(t, http.MethodPut, "/api/presets/tone", body); got.Status != status {
			t.Errorf("%v: %d %s", body, got.Status, got.Body)
		}
	}
	put := func(path, result string, body map[string]any) {
		t.Helper()
		got := o.Pages.Do(t, http.MethodPut, "/api/presets/"+path, body)
		if answer := apptest.Decode[map[string]any](t, got.Body); got.Status != 200 || answer["result"] != result {
			t.Errorf("%s: %d %s, want it to be %s", path, got.Status, got.Body, result)
		}
	}
	refused := func(method, path string, status int) {
		t.Helper()
		if got := o.Pages.Do(t, method, "/api/presets/"+path, map[string]any{"model": "openai/chat"}); got.Status != status {
			t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
	}
	// a preset is put, whether or not it is there, and under conditions
	refused(http.MethodPut, "put?version=1", 404)
	put("put?new=true", "created", map[string]any{"model": "openai/chat"})
	refused(http.MethodPut, "put?new=true", 409)
	put("put", "unchanged", map[string]any{"model": "openai/chat"})
	put("put?version=1", "changed", map[string]any{"model": "openai/chat", "system_prompt": "other"})
	refused(http.MethodPut, "put?version=1", 409)
	refused(http.MethodDelete, "put?version=1", 409)
	refused(http.MethodDelete, "put?version=2", 200)
	put("put", "created", map[string]any{"model": "openai/chat"})
	refused(http.MethodDelete, "put", 200)

	told("alpha", "first tone", 1)
	save(200, map[string]any{"model": "openai/chat", "system_prompt": "second tone", "from_version": 1})
	told("bravo", "second tone", 2)
	save(409, map[string]any{"model": "openai/chat", "system_prompt": "lost tone", "from_version": 1})
	save(200, map[string]any{"model": "openai/chat", "system_prompt": "second tone"}) // says nothing new
	if v := o.Page(t, "/api/presets/tone/versions/1"); v["system_prompt"] != "first tone" {
		t.Errorf("version 1 is %v", v)
	}
	if got := o.Pages.Do(t, http.MethodPost, "/api/presets/tone/restore", map[string]any{"version": 1}); got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	told("charlie", "first tone", 3)
	if all := elements(o.Page(t, "/api/presets/tone/versions")["data"]); len(all) != 3 || fmt.Sprint(all[0]["version"]) != "3" {
		t.Errorf("versions %v", all)
	}
	if got := o.Pages.Do(t, http.MethodDelete, "/api/presets/tone", nil); got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := o.Account.Chat(t, map[string]any{"model": "@preset/tone", "messages": apptest.Question}); got.Status != http.StatusNotFound {
		t.Errorf("a deleted preset: %d %s", got.Status, got.Body)
	}
}

// The functions of a preset are offered in every style, whatever the wire of the provider, and those of the request take their place.
func TestPresetToolsInEveryStyle(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	o := c.NewOwner(t, 1000, apikey.NewKey{})
	tools := []any{
		map[string]any{"type": "function", "function": map[string]any{"name": "river_level", "description": "How high it is", "parameters": map[string]any{"type": "object", "properties": map[string]any{"gauge_id": map[string]any{"type": "string"}}}}},
		map[string]any{"type": "function", "function": map[string]any{"name": "river_names"}},
	}
	own := map[string]string{
		"chat": `"tools":[{"type":"function","function":{"name":"own_tool","parameters":{"type":"object"}}}]`, "responses": `"tools":[{"type":"function","name":"own_tool","parameters":{"type":"object"}}]`,
		"messages": `"max_tokens":9,"tools":[{"name":"own_tool","input_schema":{"type":"object"}}]`, "gemini": `"tools":[{"function_declarations":[{"name":"own_tool"}]}]`,
	}
	for _, dialect := range []string{"openai", "anthropic", "gemini", "responses"} {
		made := o.MakePreset(t, map[string]any{"name": "on-" + dialect, "model": dialect + "/chat", "tools": tools, "plugins": []any{map[string]any{"id": "response-healing"}}, "parameters": map[string]any{"max_tokens": 50}})
		if len(elements(made["tools"])) != 2 || len(elements(made["plugins"])) != 1 {
			t.Errorf("%v", made)
		}
		for style, is := range bodies("word", "on-"+dialect, "slug", "") {
			for _, more := range []string{"", own[style]} {
				word := fmt.Sprint("q", style, dialect, len(more))
				raw, err := json.Marshal(is.body)
				if err != nil {
					t.Fatal(err)
				}
				raw = bytes.ReplaceAll(raw, []byte(`"word"`), []byte(`"`+word+`"`))
				if more != "" {
					raw = append(append(raw[:len(raw)-1], ','), more+"}"...)
				}
				got := o.Account.Send(t, http.MethodPost, is.path, raw, nil)
				sent := c.Received(word)
				if got.Status != http.StatusOK || len(sent) != 1 {
					t.Fatalf("%s on %s: %d %s, %d requests", style, dialect, got.Status, got.Body, len(sent))
				}
				for text, want := range map[string]bool{"river_level": more == "", "How high it is": more == "", "gauge_id": more == "", "river_names": more == "", "own_tool": more != "", "healing": false} {
					if bytes.Contains(sent[0].Body, []byte(text)) != want {
						t.Errorf("%s on %s, with %q: %s: %s", style, dialect, more, text, sent[0].Body)
					}
				}
			}
		}
	}
}

// What cannot be saved, and what cannot be called: each refusal names the field.
func TestPresetRefusals(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	o.MakePreset(t, map[string]any{"name": "bare", "parameters": map[string]any{"temperature": 0}})
	o.MakePreset(t, map[string]any{"name": "full", "model": "test/next", "system_prompt": "Be short."})
	for _, r := range []struct{ body, param string }{
		{`{"name":"Große"}`, "name"}, {`{"name":"-a"}`, "name"}, {`{"name":7}`, "name"}, {`{}`, "name"},
		{`{"name":"a","model":"test/nexd"}`, "model"}, {`{"name":"a","model":"@preset/full"}`, "model"}, {`{"name":"a","models":["test/next","no/such"]}`, "models[1]"},
		{`{"name":"a","parameters":{"temperature":3}}`, "parameters.temperature"}, {`{"name":"a","parameters":{"messages":[]}}`, "parameters.messages"},
		{`{"name":"a","parameters":{"reasoning":{"effort":"low","max_tokens":5}}}`, "parameters.reasoning.max_tokens"}, {`{"name":"a","provider":{"solely":["x"]}}`, "provider.solely"},
		{`{"name":"a","tools":{}}`, "tools"}, {`{"name":"a","tools":[{"type":"web_search"}]}`, "tools[0]"}, {`{"name":"a","tools":[{"type":"function","function":{"name":"a b"}}]}`, "tools[0].function.name"},
		{`{"name":"a","tools":[` + strings.TrimSuffix(strings.Repeat(`{"type":"function","function":{"name":"f"}},`, 129), ",") + `]}`, "tools"},
		{`{"name":"a","plugins":[{"id":"nothing"}]}`, "plugins[0].id"}, {`{"name":"a","plugins":{}}`, "plugins"}, {`{"name":"a","plugins":[{"id":"moderation"}]}`, "plugins[0]"},
		{`{"name":"a","api_base":"http://127.0.0.1"}`, "api_base"}, {`{"name":"a","description":"` + strings.Repeat("a", 201) + `"}`, "description"}, {`{"name":"a","system_prompt":5}`, "system_prompt"},
	} {
		got := o.Pages.Send(t, http.MethodPost, "/api/presets", []byte(r.body), nil)
		e := apptest.Decode[struct {
			Error struct{ Metadata struct{ Param string } }
		}](t, got.Body)
		if got.Status != http.StatusBadRequest || e.Error.Metadata.Param != r.param {
			t.Errorf("%s: %d %s", r.body, got.Status, got.Body)
		}
	}
	ask := `"messages":[{"role":"user","content":"x"}]`
	for _, r := range []struct {
		path, body string
		status     int
		param      string
	}{
		{"/v1/chat/completions", `{"model":"@preset/bare",` + ask + `}`, 400, "model"},
		{"/v1/chat/completions", `{"model":"test/next@preset/bare",` + ask + `}`, 200, ""},
		{"/v1/chat/completions", `{"preset":"full",` + ask + `}`, 200, ""},
		{"/v1/chat/completions", `{"model":"test/next","preset":null,` + ask + `}`, 200, ""},
		{"/v1/chat/completions", `{"model":"@preset/",` + ask + `}`, 400, "model"},
		{"/v1/chat/completions", `{"model":"@preset/../full",` + ask + `}`, 404, ""},
		{"/v1/chat/completions", `{"model":"test/next","preset":["full"],` + ask + `}`, 400, "preset"},
		{"/v1/chat/completions", `{"model":"@preset/bare","preset":"full",` + ask + `}`, 400, "preset"},
		{"/v1/chat/completions", `{"model":"test/next","models":["@preset/full"],"preset":"bare",` + ask + `}`, 400, "models[0]"},
		{"/v1/chat/completions", `{"model":"@preset/full","messages":[{"role":"user","content":"x"},{"role":"nobody","content":"y"}]}`, 400, "messages[1].role"},
		{"/v1/chat/completions", `{"model":"@preset/full","messages":[]}`, 400, "messages"},
		{"/v1/chat/completions", `{"model":"@preset/full","messages":5}`, 400, "messages"},
		{"/v1/chat/completions", `["preset"]`, 400, ""},
		{"/v1/chat/completions", `{"preset":"full","model":5,` + ask + `}`, 400, "model"},
		{"/v1/responses", `{"preset":"full","model":["test/next"],"input":"x"}`, 400, "model"},
		{"/v1/images", `{"model":"@preset/full","prompt":"x"}`, 400, "model"},
		{"/v1/images", `{"model":"test/next","preset":"full","prompt":"x"}`, 400, "preset"},
		{"/v1/audio/speech", `{"model":"@preset/full","input":"x","voice":"a"}`, 400, "model"},
		{"/v1/videos", `{"model":"@preset/full","prompt":"x"}`, 400, "model"},
		{"/v1beta/models/@preset/full:embedContent", `{"content":{"parts":[{"text":"x"}]}}`, 400, "model"},
		{"/v1/messages/count_tokens", `{"model":"@preset/full",` + ask + `}`, 200, ""},
		{"/v1/responses/input_tokens", `{"model":"@preset/full","input":"x"}`, 200, ""},
		{"/v1/route/explain", `{"model":"@preset/full",` + ask + `}`, 200, ""},
	} {
		got := o.Account.Send(t, http.MethodPost, r.path, []byte(r.body), nil)
		if got.Status != r.status || r.param != "" && !strings.Contains(string(got.Body), `"param":"`+r.param+`"`) {
			t.Errorf("%s %s: %d %s", r.path, r.body, got.Status, got.Body)
		}
	}
	if strings.Contains(gw.Log.String(), "Be short.") {
		t.Error("the log has the instructions of a preset")
	}
}
