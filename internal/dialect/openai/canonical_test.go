package openai_test

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire/messages"
)

func fromMessages(t *testing.T, members string) *completion.Request {
	t.Helper()
	req, err := messages.Decode([]byte(`{"model":"x/y","max_tokens":9,` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// What a request of the messages wire becomes on this one.
func TestRequestFromMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, want string
		change           func(*catalog.Quirks)
	}{
		{"plain", `"stream":true,"system":"s","stop_sequences":["a"],"temperature":0.5,"top_k":3,"messages":[{"role":"user","content":"q"}]`,
			`{"model":"acme-large","messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"temperature":0.5,"top_k":3,"stop":["a"],"max_completion_tokens":9,"stream":true,"stream_options":{"include_usage":true}}`, nil},
		{"tools there and back", `"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}},{"name":"g"}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"one "},{"type":"text","text":"two"},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}]},{"type":"text","text":"go on"}]}]`,
			`{"model":"acme-large","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"one two","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}],"reasoning_content":"t"},
				{"role":"tool","tool_call_id":"c1","content":"Error: no"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}},{"type":"text","text":"go on"}]}],
				"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}],"tool_choice":"required","parallel_tool_calls":false,"max_completion_tokens":9}`, nil},
		{"media", `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a.test/i"}},{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"QQ=="}}]}]`,
			`{"model":"acme-large","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.test/i"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,QQ==","filename":"a.pdf"}}]}],"max_completion_tokens":9}`, nil},
		{"cache marks where they are understood", `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"q"}]`,
			`{"model":"acme-large","messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":"q"}],"max_completion_tokens":9}`, func(q *catalog.Quirks) { q.CacheControl = true }},
		{"and where not", `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"q"}]`,
			`{"model":"acme-large","messages":[{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"user","content":"q"}],"max_completion_tokens":9}`, nil},
		{"a schema and an effort", `"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}},"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"acme-large","messages":[{"role":"user","content":"q"}],"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}},"max_completion_tokens":9,"reasoning_effort":"high"}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ep := endpoint(t, nil)
			if tc.change != nil {
				tc.change(&ep.Provider.Quirks)
			}
			got, err := new(openai.Dialect).Request(ep, fromMessages(t, tc.body))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("\n", "", "\t", "").Replace(tc.want)
			if !rawjson.Valid(got.Body) || string(got.Body) != want {
				t.Errorf("got  %s\nwant %s", got.Body, want)
			}
		})
	}
	for _, body := range []string{`"tools":[{"type":"bash_20250124","name":"bash"}],"messages":[{"role":"user","content":"q"}]`,
		`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"x"}}]}]`} {
		_, err := new(openai.Dialect).Request(endpoint(t, nil), fromMessages(t, body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// A search that a client offers to the model goes to servers that have one; elsewhere the client gets a notice.
func TestSearchOffered(t *testing.T) {
	t.Parallel()
	req := fromMessages(t, `"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"q"}]`)
	for _, c := range []struct {
		params catalog.Params
		priced bool
		sent   bool
		notice string
	}{
		{catalog.AllParams, true, true, ""},
		{catalog.AllParams, false, false, completion.NoticeSearch},
		{catalog.AllParams &^ catalog.ParamWebSearchOptions, true, false, completion.NoticeSearch},
	} {
		ep := endpoint(t, nil)
		ep.Params, ep.Pricing.Base.WebSearch.Set = c.params, c.priced
		got, err := new(openai.Dialect).Request(ep, req)
		if err != nil || strings.Contains(string(got.Body), "web_search_options") != c.sent || got.Notice != c.notice {
			t.Errorf("%v %s, notice %q", err, got.Body, got.Notice)
		}
	}
}
