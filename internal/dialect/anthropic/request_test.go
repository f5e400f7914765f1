package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect/anthropic"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire/chat"
)

func endpoint(change func(*catalog.Endpoint)) *catalog.Endpoint {
	ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "anthropic", Key: "acme-secret-key"},
		UpstreamID: "claude", Params: catalog.AllParams &^ catalog.ParamReasoningEffort, MaxCompletion: 20000}
	if change != nil {
		change(ep)
	}
	return ep
}

// What a chat request becomes on this wire.
func TestRequestFromChat(t *testing.T) {
	t.Parallel()
	adaptive := func(ep *catalog.Endpoint) {
		ep.Params = catalog.ParamReasoning | catalog.ParamReasoningEffort | catalog.ParamTemperature
	}
	for _, tc := range []struct {
		name, body, want string
		change           func(*catalog.Endpoint)
	}{
		{"plain", `"messages":[{"role":"user","content":"q"}]`, `{"model":"claude","max_tokens":20000,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"nobody knows how long", `"stream":true,"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"stream":true}`, func(ep *catalog.Endpoint) { ep.MaxCompletion = 0 }},
		{"sampling", `"max_tokens":9,"temperature":1.7,"top_p":0.5,"top_k":4,"seed":1,"stop":["a"," ","b"],"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"temperature":1,"top_p":0.5,"top_k":4,"stop_sequences":["a","b"]}`, nil},
		{"instructions from everywhere", `"max_tokens":9,"messages":[{"role":"system","content":"a"},{"role":"user","content":"q"},{"role":"developer","content":"b"}]`,
			`{"model":"claude","max_tokens":9,"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"tools", `"max_tokens":9,"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}},{"type":"function","function":{"name":"g"}}],
			"tool_choice":"required","parallel_tool_calls":false,"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"strict":true},{"name":"g","input_schema":{"type":"object","properties":{}}}],
			"tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"only some of the tools", `"max_tokens":9,"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],
			"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"tools":[{"name":"g","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"auto"},"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"a conversation with tools", `"max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"hm ","reasoning_details":[
				{"type":"reasoning.text","format":"anthropic-claude-v1","index":0,"text":"t","signature":"s"},{"type":"reasoning.encrypted","format":"anthropic-claude-v1","index":1,"data":"r"},
				{"type":"reasoning.text","format":"anthropic-claude-v1","index":2,"text":"unsigned"},{"type":"reasoning.encrypted","format":"openai-responses-v1","index":3,"data":"foreign"}],
				"tool_calls":[{"id":"c 1","type":"function","function":{"name":"f","arguments":" {\"a\":1} "}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
				{"role":"tool","tool_call_id":"c2","content":"two"},{"role":"tool","tool_call_id":"c 1","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,QQ=="}}]},
				{"role":"user","content":"go on"}]`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"r"},{"type":"text","text":"hm "},
				{"type":"tool_use","id":"toolu_242cb3fec8252e851da30f88","name":"f","input":{"a":1}},{"type":"tool_use","id":"c2","name":"g","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"}]},
				{"type":"tool_result","tool_use_id":"toolu_242cb3fec8252e851da30f88","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"QQ=="}}]},
				{"type":"text","text":"go on"}]}]}`, nil},
		{"media", `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.test/i.png"}},
				{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QQ=="}},{"type":"file","file":{"file_id":"file_1"}}]}]`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a.test/i.png"}},
				{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QQ=="},"title":"a.pdf"},{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]}`, nil},
		{"the last four cache marks", `"max_tokens":9,"tools":[{"type":"function","function":{"name":"f"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]},
				{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]}]`,
			`{"model":"claude","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],
				"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]}]}`, nil},
		{"the beginning of the answer", `"max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"It is \n"}]`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":"It is"}]}]}`, nil},
		{"an answer before any question", `"max_tokens":9,"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"..."}]},{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"reasoning by a budget", `"max_tokens":5000,"temperature":0.5,"reasoning":{"effort":"medium"},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","thinking":{"type":"enabled","budget_tokens":2500},"max_tokens":5000,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"a budget on top of a cap that nobody gave", `"reasoning":{"max_tokens":30000},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","thinking":{"type":"enabled","budget_tokens":30000},"max_tokens":38192,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"reasoning by an effort", `"max_tokens":5000,"temperature":0.5,"reasoning":{"effort":"high"},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","thinking":{"type":"adaptive","display":"summarized"},"max_tokens":5000,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"output_config":{"effort":"high"}}`, adaptive},
		{"reasoning off", `"max_tokens":9,"reasoning":{"effort":"none"},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","thinking":{"type":"disabled"},"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"reasoning or a tool that must be called", `"max_tokens":5000,"temperature":0.5,"reasoning":{"effort":"high"},"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":5000,"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"tool","name":"f"},"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"temperature":0.5}`, nil},
		{"a schema", `"max_tokens":9,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":{"minimum":{"type":"number","minimum":1},"list":{"type":"array","minItems":3,"items":{"type":"object","properties":{}}}},"required":["list"],"additionalProperties":true,"enum":[{"type":"object"}]}}},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"minimum":{"type":"number"},"list":{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}}},"required":["list"],"enum":[{"type":"object"}],"additionalProperties":false}}}}`, nil},
		{"some JSON", `"max_tokens":9,"response_format":{"type":"json_object"},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"system":[{"type":"text","text":"Answer with one JSON object and nothing else: no prose, no code fence."}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
		{"a search", `"max_tokens":9,"web_search_options":{},"messages":[{"role":"user","content":"q"}]`,
			`{"model":"claude","max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := new(anthropic.Dialect).Request(endpoint(tc.change), decoded(t, tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if !rawjson.Valid(got.Body) || compact(string(got.Body)) != compact(tc.want) {
				t.Errorf("got  %s\nwant %s", got.Body, compact(tc.want))
			}
			if got.Path != "/v1/messages" {
				t.Errorf("path %s", got.Path)
			}
		})
	}
}

func decoded(t *testing.T, members string) *completion.Request {
	t.Helper()
	req, err := chat.Decode([]byte(`{"model":"v/m",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// compact takes the line breaks out that the tables have for reading.
func compact(s string) string {
	out := make([]byte, 0, len(s))
	for _, c := range []byte(s) {
		if c != '\n' && c != '\t' {
			out = append(out, c)
		}
	}
	return string(out)
}

// What this wire has no words for is refused in ours, and another endpoint may still serve it.
func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, param string }{
		{"several answers", `"n":2,"messages":[{"role":"user","content":"q"}]`, "n"},
		{"sound", `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"QQ==","format":"wav"}}]}]`, "messages"},
		{"video", `"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://a.test/v"}}]}]`, "messages"},
		{"arguments that are no object", `"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`, "messages"},
		{"a budget above the cap", `"max_tokens":1000,"reasoning":{"effort":"low"},"messages":[{"role":"user","content":"q"}]`, "max_tokens"},
	} {
		_, err := new(anthropic.Dialect).Request(endpoint(nil), decoded(t, tc.body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != tc.param {
			t.Errorf("%s: %v, want an invalid %s", tc.name, err, tc.param)
		}
	}
}

// A request of the same wire leaves as it came but for the model, and its headers go along.
func TestRequestPasses(t *testing.T) {
	t.Parallel()
	body := []byte("{ \"max_tokens\" : 5,\n \"model\"  : \"anthropic/claude\" , \"odd\": 12345678901234567890, \"messages\":[{\"role\":\"user\",\"content\":\"\\u0041\"}]}\n")
	want := "{ \"max_tokens\" : 5,\n \"model\"  : \"claude\" , \"odd\": 12345678901234567890, \"messages\":[{\"role\":\"user\",\"content\":\"\\u0041\"}]}\n"
	req := &completion.Request{Style: completion.Messages, Body: body, Query: "?beta=true", Version: "2026-10-21", Betas: []string{"a,b", "c"}}
	for m := rawjson.MembersOf(body); m.Next(); {
		req.Members = append(req.Members, completion.Member{Name: string(m.Name), Start: m.Start, Value: m.At, End: m.End})
	}
	got, err := new(anthropic.Dialect).Request(endpoint(nil), req)
	if err != nil || string(got.Body) != want || got.Path != "/v1/messages?beta=true" {
		t.Fatalf("%v %s\n%s", err, got.Path, got.Body)
	}
	if got.Header.Get("Anthropic-Version") != "2026-10-21" || len(got.Header.Values("Anthropic-Beta")) != 2 {
		t.Errorf("headers %v", got.Header)
	}
	if string(body) == want {
		t.Error("the client's own bytes were changed")
	}
}

// The service tier that routing has read is asked for where the endpoint has it; words of the wire itself pass.
func TestTierOfAnEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, tier, sent string }{
		{`"priority"`, "priority", `"priority"`},
		{`"fast"`, "priority", `"priority"`},
		{`"priority"`, "default", `"standard_only"`},
		{`"flex"`, "", `"standard_only"`},
		{`"scale"`, "default", `"standard_only"`},
		{`"auto"`, "default", `"auto"`},
		{`"standard_only"`, "priority", `"standard_only"`},
		{`null`, "default", `null`},
	} {
		body := []byte(`{"model":"claude","service_tier":` + c.asked + `,"max_tokens":5}`)
		req := &completion.Request{Style: completion.Messages, Body: body}
		for m := rawjson.MembersOf(body); m.Next(); {
			req.Members = append(req.Members, completion.Member{Name: string(m.Name), Start: m.Start, Value: m.At, End: m.End})
		}
		got, err := new(anthropic.Dialect).Request(endpoint(func(ep *catalog.Endpoint) { ep.Tier = c.tier }), req)
		if want := `"service_tier":` + c.sent + `,"max_tokens":5}`; err != nil || !strings.HasSuffix(string(got.Body), want) {
			t.Errorf("%s at %q: %v %s", c.asked, c.tier, err, got.Body)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	p := &catalog.Provider{Key: "k", Headers: map[string]string{"Anthropic-Version": "2", "X-A": "b"}}
	h := new(anthropic.Dialect).Header(p)
	if h.Get("X-Api-Key") != "k" || h.Get("Authorization") != "" || h.Get("Anthropic-Version") != "2" || h.Get("X-A") != "b" {
		t.Errorf("%v", h)
	}
	p.Quirks.AuthHeader, p.Quirks.AuthScheme = "Authorization", "Bearer"
	if h := new(anthropic.Dialect).Header(p); h.Get("Authorization") != "Bearer k" || h.Get("X-Api-Key") != "" {
		t.Errorf("%v", h)
	}
	if h := new(anthropic.Dialect).Header(&catalog.Provider{}); len(h) != 1 || h.Get("Anthropic-Version") == "" || h.Get("X-Api-Key") != "" {
		t.Errorf("%v", h)
	}
}
