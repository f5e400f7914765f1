package messages_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	c "weir/internal/completion"
	"weir/internal/encoded"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire/messages"
	"weir/internal/wire/pack"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	body := `{"model":"claude-x[1m]","max_tokens":1e2,"stream":true,"odd":{"deep":[1]},"thinking":{"type":"enabled","budget_tokens":2000},"tools":[{"name":"f"}],"temperature":0.5,
		"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"metadata":{"user_id":"u"},
		"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"x"}},{"type":"tool_result","tool_use_id":"1","content":[{"type":"document","source":{}}]}]},{"role":"assistant","content":"It"}]}`
	req, err := messages.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := c.Reasoning{Set: true, MaxTokens: 2000}
	if req.Models[0] != "anthropic/claude-x" || req.MaxTokens != 100 || !req.Stream || req.Reasoning != want || req.User != "u" || !req.Prefill {
		t.Errorf("%+v", req)
	}
	n := req.Needs
	if n.Input != catalog.Text|catalog.Image|catalog.File || n.Params != catalog.ParamMaxTokens|catalog.ParamTools|catalog.ParamTemperature|catalog.ParamReasoning || n.PromptTokens < 8000 {
		t.Errorf("%+v", n)
	}
	if req.HasRoles != c.HasCacheControl || string(req.Body[req.MessagesAt.Start:req.MessagesAt.End]) != body[strings.Index(body, `[{"role":"user"`):len(body)-1] {
		t.Errorf("%v %s", req.HasRoles, req.Body[req.MessagesAt.Start:req.MessagesAt.End])
	}
	for model, slug := range map[string]string{"openai/gpt": "openai/gpt", "claude": "anthropic/claude", "v/m[1m]": "v/m", "[1m]": "anthropic/[1m]"} {
		if got := messages.Slug(model); got != slug {
			t.Errorf("%s means %s, want %s", model, got, slug)
		}
	}
	for thinking, want := range map[string]c.Reasoning{
		`{"type":"adaptive"}`: {Set: true, Enabled: true}, `{"type":"disabled"}`: {Set: true, Disabled: true}, `{"type":"adaptive"},"output_config":{"effort":"high"}`: {Set: true, Effort: "high"}, `5`: {},
	} {
		req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":[{}],"thinking":` + thinking + `}`))
		if err != nil || req.Reasoning != want {
			t.Errorf("%s: %+v, %v", thinking, req, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const rest = `"max_tokens":1,"messages":[{"role":"user","content":"q"}]`
	for body, param := range map[string]string{
		`[]`: "", `{` + rest + `}`: "model", `{"model":1,` + rest + `}`: "model", `{"model":"",` + rest + `}`: "model", `{"model":"a","messages":[{}]}`: "max_tokens",
		`{"model":"a","messages":[{}],"max_tokens":0}`: "max_tokens", `{"model":"a","messages":[{}],"max_tokens":"1"}`: "max_tokens", `{"model":"a","messages":[{}],"max_tokens":null}`: "max_tokens",
		`{"model":"a","max_tokens":1}`: "messages", `{"model":"a","max_tokens":1,"messages":[]}`: "messages", `{"model":"a","max_tokens":1,"messages":"x"}`: "messages",
		`{"model":"a","max_tokens":1,"messages":[1]}`: "messages[0]", `{"model":"a","stream":"yes",` + rest + `}`: "stream", `{"model":"a","model":"b",` + rest + `}`: "model",
	} {
		_, err := messages.Decode([]byte(body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Param != param {
			t.Errorf("%s: %v, want param %q", body, err, param)
		}
	}
	for _, kind := range []string{`{"type":"create"}`, `{"type":"continue","previous_message_id":"msg_1"}`, `5`} {
		for _, decode := range []func([]byte) (*c.Request, error){messages.Decode, messages.DecodeCount} {
			_, err := decode([]byte(`{"model":"a","thread":` + kind + `,` + rest + `}`))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != "thread" || f.Details["error_code"] != "thread_unsupported_request" {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	if _, err := messages.Decode([]byte(`{"model":"a","thread":null,` + rest + `}`)); err != nil {
		t.Error(err)
	}
	if _, err := messages.DecodeCount([]byte(`{"model":"a","messages":[{}]}`)); err != nil {
		t.Error(err)
	}
	if _, err := messages.DecodeCount([]byte(`{"model":"a"}`)); err == nil {
		t.Error("nothing to count was accepted")
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	foreign := pack.Pack(&c.ReasoningDetail{Format: "unknown"})
	google := pack.Pack(&c.ReasoningDetail{Kind: c.ReasoningEncrypted, Format: c.FormatGoogle, ID: "1", Data: "g"})
	req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"system":"s","stop_sequences":["x"],"top_k":3,"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},
		"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"cache_control":{"type":"ephemeral"},
		"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["a.test"]},{"type":"bash_20250124","name":"bash"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},{"type":"document","title":"t","source":{"type":"url","url":"u"}},{"type":"document","source":{"type":"text","data":"plain"}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"own","signature":"s"},{"type":"thinking","thinking":"other","signature":"` + foreign + `"},{"type":"redacted_thinking","data":"r"},{"type":"redacted_thinking","data":"` + google + `"},
				{"type":"server_tool_use","id":"x"},{"type":"web_search_tool_result","content":[]},{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"no"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := req.Prompt()
	if err != nil {
		t.Fatal(err)
	}
	reasoning := func(x c.ReasoningDetail) c.Part { return c.Part{Kind: c.ReasoningPart, Reasoning: &x} }
	want := &c.Prompt{
		System: []c.Part{{Text: "s"}}, Stop: []string{"x"}, Sampling: c.Sampling{TopK: "3"}, Choice: c.Choice{Mode: c.ChoiceTool, Name: "f"}, Serial: true, Cache: "5m",
		Format: c.Format{Kind: c.FormatSchema, Name: "answer", Schema: []byte(`{"type":"object"}`)}, Search: &c.Search{MaxResults: 3, Include: []string{"a.test"}},
		Tools: []c.Tool{{Name: "f", Description: "d", Parameters: []byte(`{"type":"object"}`), Cache: "1h"}, {Name: "bash", HostedType: "bash_20250124", Hosted: []byte(`{"type":"bash_20250124","name":"bash"}`)}},
		Turns: []c.Turn{
			{Parts: []c.Part{{Text: "q"}, {Kind: c.ImagePart, Media: &c.Media{Type: "image/png", Base64: encoded.Of([]byte("A"))}}, {Kind: c.FilePart, Media: &c.Media{URL: "u", Name: "t"}}, {Text: "plain"}}},
			{Role: c.Assistant, Parts: []c.Part{reasoning(c.ReasoningDetail{Format: c.FormatAnthropic, Text: "own", Signature: "s"}), reasoning(c.ReasoningDetail{Format: "unknown", Text: "other"}),
				reasoning(c.ReasoningDetail{Kind: c.ReasoningEncrypted, Format: c.FormatAnthropic, Data: "r"}), {Kind: c.CallPart, Call: &c.Call{ID: "1", Name: "f", Arguments: []byte(`{"a":1}`), Signature: "g"}}}},
			{Parts: []c.Part{{Kind: c.ResultPart, Result: &c.Result{CallID: "1", Name: "f", Failed: true, Parts: []c.Part{{Text: "no"}}}}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{`[{"role":"robot","content":"q"}]`, `[{"role":"user","content":5}]`, `[{"role":"user"}]`, `[{"role":"user","content":[{"type":"smell"}]}]`,
		`[{"role":"user","content":[{"type":"image","source":{"type":"odd"}}]}]`, `[{"role":"user","content":"q"}],"tool_choice":{"type":"odd"}`} {
		req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":` + bad + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := req.Prompt(); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// The path of an error has the index of the message and of the block.
// Tools that a conversation takes away and gives back, as Claude Code does: other wires get those that are there at its end.
func TestToolChanges(t *testing.T) {
	t.Parallel()
	const head = `{"model":"a","max_tokens":1,"tools":[{"name":"one","input_schema":{}},{"name":"two","input_schema":{}}],"messages":[{"role":"user","content":"q"}`
	change := func(kind, tool string) string {
		return `,{"role":"system","content":[{"type":"` + kind + `","tool":` + tool + `}]}`
	}
	for _, c := range []struct{ changes, want string }{
		{"", "one two"}, {change("tool_removal", `{"type":"tool_reference","name":"one"}`), "two"},
		{change("tool_removal", `{"name":"one"}`) + change("tool_addition", `{"name":"one"}`), "one two"},
		{change("tool_addition", `{"type":"tool_definition","definition":{"name":"three","input_schema":{}}}`), "one two three"},
		{change("tool_addition", `{"name":"one"}`) + change("tool_removal", `{"name":"two"}`) + change("tool_removal", `{"name":"unknown"}`), "one"}, {change("tool_removal", `5`), "one two"},
	} {
		req, err := messages.Decode([]byte(head + c.changes + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := req.Prompt()
		if err != nil {
			t.Fatalf("%s: %v", c.changes, err)
		}
		var names []string
		for _, tool := range p.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want || len(p.Turns) != 1 {
			t.Errorf("%s: %s, %d turns", c.changes, got, len(p.Turns))
		}
	}
}

func TestPromptFaults(t *testing.T) {
	t.Parallel()
	prompt := func(body string) *fault.Error {
		req, err := messages.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		_, err = req.Prompt()
		return fault.From(err)
	}
	for message, param := range map[string]string{
		`{"role":"robot","content":"x"}`:                                                                                              "messages[1].role",
		`{"role":"user","content":7}`:                                                                                                 "messages[1].content",
		`{"role":"user","content":[{"type":"text","text":"x"},{"type":"text"}]}`:                                                      "messages[1].content[1].text",
		`{"role":"user","content":[{"type":"smell"}]}`:                                                                                "messages[1].content[0].type",
		`{"role":"user","content":[{"type":"image","source":{"type":"smell"}}]}`:                                                      "messages[1].content[0].source.type",
		`{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}`:                                                  "messages[1].content[0].id",
		`{"role":"assistant","content":[{"type":"tool_use","id":"1","input":{}}]}`:                                                    "messages[1].content[0].name",
		`{"role":"user","content":[{"type":"tool_result","content":"x"}]}`:                                                            "messages[1].content[0].tool_use_id",
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"},{"type":"text"}]}]}`: "messages[1].content[0].content[1].text",
		`{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"u"}},{"type":7}]}}]}`:                    "messages[1].content[0].source.content[1].type",
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}`:                                                             "messages[1].content[0].source.data",
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png\",\"x\":\"y","data":"AAAA"}}]}`:                                               "messages[1].content[0].source.data",
		`{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"%s"}}]}`:                                                    "messages[1].content[0].source.data",
		`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"data:image/png;base64,%s"}}]}`:                                                                    "messages[1].content[0].source.url",
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}`:        "messages[1].content[0].content[0].source.data",
		`{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}}]}`: "messages[1].content[0].source.content[0].source.data",
	} {
		message = strings.ReplaceAll(message, "%s", `AAAA\",\"x\":\"`)
		if f := prompt(`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},` + message + `]}`); f == nil || f.Param != param {
			t.Errorf("%s: %+v", message, f)
		}
	}
	if f := prompt(`{"model":"m","max_tokens":5,"system":[{"type":"text"}],"messages":[{"role":"user","content":"x"}]}`); f == nil || f.Param != "system[0].text" {
		t.Errorf("%+v", f)
	}
}

// What only providers of this wire can do is refused where the request is translated, by name; another provider may be tried.
func TestNativeFieldsAreNotDropped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ member, param string }{
		{`"mcp_servers":[{"type":"url","url":"https://x.test","name":"x"}]`, "mcp_servers"}, {`"mcp_servers":[]`, ""}, {`"mcp_servers":null`, ""},
		{`"container":"c_1"`, "container"}, {`"container":{"id":"c_1"}`, "container"}, {`"compaction":{}`, "compaction"}, {`"fallback_credit_token":"x"`, "fallback_credit_token"},
		{`"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, "context_management.edits[0].type"}, {`"context_management":{}`, ""}, {`"context_management":{"edits":[]}`, ""},
		{`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"},{"type":"compact_20260112"}]}`, "context_management.edits[1].type"},
		{`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`, ""}, {`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":{"type":"all"}}]}`, ""},
		{`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"some"}]}`, "context_management.edits[0].keep"},
		{`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":0}}]}`, "context_management.edits[0].keep.value"},
	} {
		req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"q"}],` + tc.member + `}`))
		check(t, err)
		_, err = req.Prompt()
		var f *fault.Error
		switch {
		case tc.param == "" && err != nil:
			t.Errorf("%s: %v", tc.member, err)
		case tc.param != "" && (!errors.As(err, &f) || f.Param != tc.param):
			t.Errorf("%s: %v, want param %s", tc.member, err, tc.param)
		case tc.param != "" && f.Kind == fault.Invalid && f.Next != fault.NextEndpoint:
			t.Errorf("%s: no other provider is tried", tc.member)
		}
	}
}

// clear_thinking leaves out the reasoning of turns before those that it keeps.
func TestClearThinking(t *testing.T) {
	t.Parallel()
	turn := func(word string) string {
		return `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"` + word + `","signature":"s"},{"type":"text","text":"x"}]}`
	}
	for keep, want := range map[string]string{`"keep":"all"`: "abc", `"keep":{"type":"thinking_turns","value":2}`: "bc", `"keep":{"type":"thinking_turns","value":9}`: "abc", `"x":1`: "c"} {
		req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"context_management":{"edits":[{"type":"clear_thinking_20251015",` + keep + `}]},
			"messages":[` + turn("a") + "," + turn("b") + `,{"role":"user","content":"q"},{"role":"assistant","content":"no reasoning"},` + turn("c") + `]}`))
		check(t, err)
		p, err := req.Prompt()
		check(t, err)
		got, said := "", 0
		for i := range p.Turns {
			for _, part := range p.Turns[i].Parts {
				if part.Reasoning != nil {
					got += part.Reasoning.Text
				} else {
					said++
				}
			}
		}
		if got != want || said != 8 {
			t.Errorf("%s: reasoning %q of %q, %d texts", keep, got, want, said)
		}
	}
}

// output_format is the older spelling of output_config.format.
func TestOutputFormat(t *testing.T) {
	t.Parallel()
	req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"q"}],"output_format":{"type":"json_schema","schema":{"type":"object"}}}`))
	check(t, err)
	p, err := req.Prompt()
	check(t, err)
	if req.Needs.Params&catalog.ParamStructuredOutputs == 0 || p.Format.Kind != c.FormatSchema || string(p.Format.Schema) != `{"type":"object"}` {
		t.Errorf("%v %+v", req.Needs.Params, p.Format)
	}
}

// A refusal is a stop reason of this wire, whatever the provider's wire calls the end.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, finish := range []c.Event{{Finish: c.Stop, NativeFinish: "stop"}, {Finish: c.Stop, NativeFinish: "end_turn"}, {Finish: c.ContentFilter, NativeFinish: "content_filter"}} {
		events := []c.Event{{Head: &c.Head{ID: "x"}, Refusal: []byte("I can")}, {Refusal: []byte("not.")}, finish, {Choice: -1, Done: true}}
		if got := stream(t, events); !strings.Contains(got, `"stop_reason":"refusal"`) || !strings.Contains(got, `"text":"not."`) {
			t.Errorf("%s: %s", finish.NativeFinish, got)
		}
		var out bytes.Buffer
		x := messages.NewWhole(&out, messages.Options{ID: "m"})
		check(t, x.Start(served()))
		for i := range events {
			check(t, x.Event(&events[i]))
		}
		check(t, x.End(receipt))
		if got := out.String(); !strings.Contains(got, `[{"type":"text","text":"I cannot."}],"stop_reason":"refusal"`) {
			t.Errorf("%s: %s", finish.NativeFinish, got)
		}
	}
}

// message_start has the provider's count of the prompt where it is known, else an estimate; message_delta has the final one.
func TestMessageStartCounts(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("A weir raises the level of a river. ", 100) // some 900 tokens
	req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"` + text + `"}]}`))
	check(t, err)
	for _, tc := range []struct {
		usage       *usage.Usage
		least, most int64
	}{{nil, 700, 1100}, {&usage.Usage{}, 700, 1100}, {&usage.Usage{Prompt: usage.Of(5)}, 5, 5}} {
		var out bytes.Buffer
		s := messages.NewStream(&out, messages.Options{ID: "m", Request: req})
		check(t, s.Start(served()))
		check(t, s.Event(&c.Event{Text: []byte("x"), Usage: tc.usage}))
		check(t, s.End(receipt))
		_, first, _ := strings.Cut(out.String(), "data: ")
		first, _, _ = strings.Cut(first, "\n")
		n, ok := rawjson.Int(rawjson.FindPath([]byte(first), "message", "usage", "input_tokens"))
		if !ok || n < tc.least || n > tc.most || !strings.Contains(out.String(), `"usage":{"input_tokens":30,`) {
			t.Errorf("%d tokens, want %d to %d: %s", n, tc.least, tc.most, out.String())
		}
	}
}

// answer is what a model of another wire says.
var answer = []c.Event{
	{Head: &c.Head{ID: "x"}, Reasoning: []byte("h"), ReasoningDetails: []byte(`[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"h"}]`)},
	{ReasoningDetails: []byte(`[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"","signature":"s"}]`)},
	{ReasoningDetails: []byte(`[{"type":"reasoning.encrypted","index":1,"format":"anthropic-claude-v1","data":"r"}]`)},
	{Text: []byte("Hel")}, {Text: []byte("lo \"you\"\n")},
	{ReasoningDetails: []byte(`[{"type":"reasoning.encrypted","index":2,"format":"google-gemini-v1","data":"of the text"}]`)},
	{ToolCalls: []c.ToolCall{{ID: "c1", Name: "f"}}}, {ToolCalls: []c.ToolCall{{Arguments: []byte(`{"a"`)}}}, {ToolCalls: []c.ToolCall{{Arguments: []byte(`:1}`)}, {Index: 1, ID: "c2", Name: "g"}}},
	{Finish: c.ToolCalls, NativeFinish: "tool_calls"}, {Choice: -1, Done: true},
}

var receipt = relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(100), CacheRead: usage.Of(60), CacheWrite: usage.Of(10), Completion: usage.Of(7)}}

func served() relay.Served { return relay.Served{Endpoint: &catalog.Endpoint{}, Model: "v/m"} }

func stream(t *testing.T, events []c.Event) string {
	t.Helper()
	var out bytes.Buffer
	s := messages.NewStream(&out, messages.Options{ID: "msg_1"})
	if err := s.KeepAlive(); err != nil {
		t.Fatal(err)
	}
	check(t, s.Start(served()))
	for i := range events {
		check(t, s.Event(&events[i]))
	}
	check(t, s.KeepAlive())
	check(t, s.End(receipt))
	check(t, s.KeepAlive())
	return out.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ofText is the signature of the answer's text, packed.
var ofText = pack.Pack(&c.ReasoningDetail{Kind: c.ReasoningEncrypted, Format: c.FormatGoogle, Data: "of the text"})

func TestStream(t *testing.T) {
	t.Parallel()
	want := `: keep-alive
event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"v/m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"r"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"lo \"you\"\n"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"` + ofText + `"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"c2","name":"g","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: ping
data: {"type":"ping"}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":30,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	if diff := cmp.Diff(want, stream(t, answer)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	x := messages.NewWhole(&out, messages.Options{ID: "msg_1"})
	check(t, x.Start(served()))
	check(t, x.Event(&c.Event{Text: []byte("of an attempt that broke")}))
	check(t, x.Start(served()))
	for i := range answer {
		check(t, x.Event(&answer[i]))
	}
	check(t, x.End(receipt))
	want := `{"id":"msg_1","type":"message","role":"assistant","model":"v/m","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"redacted_thinking","data":"r"},{"type":"text","text":"Hello \"you\"\n"},` +
		`{"type":"redacted_thinking","data":"` + ofText + `"},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}},{"type":"tool_use","id":"c2","name":"g","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":30,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":7}}`
	if got := out.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The reasoning of other providers comes back to them through this wire.
func TestForeignReasoning(t *testing.T) {
	t.Parallel()
	for _, reasoning := range []c.ReasoningDetail{
		{Kind: c.ReasoningEncrypted, Format: c.FormatOpenAI, ID: "rs_1", Data: "d"}, {Format: c.FormatGoogle, Text: "hm", Signature: "sig"}, {Format: "unknown", Text: "hm"},
	} {
		var details string
		switch reasoning.Kind {
		case c.ReasoningEncrypted:
			details = `[{"type":"reasoning.encrypted","index":0,"format":"` + reasoning.Format + `","id":"rs_1","data":"d"}]`
		default:
			details = `[{"type":"reasoning.text","index":0,"format":"` + reasoning.Format + `","text":"hm"` + map[bool]string{true: `,"signature":"sig"`}[reasoning.Signature != ""] + `}]`
		}
		var out bytes.Buffer
		x := messages.NewWhole(&out, messages.Options{ID: "m"})
		check(t, x.Start(served()))
		check(t, x.Event(&c.Event{ReasoningDetails: []byte(details)}))
		check(t, x.Event(&c.Event{ToolCalls: []c.ToolCall{{ID: "c1", Name: "f", Arguments: []byte("{}"), Signature: "tool"}}, Finish: c.ToolCalls}))
		check(t, x.End(receipt))
		req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + string(rawjson.Find(out.Bytes(), "content")) + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := req.Prompt()
		if err != nil {
			t.Fatal(err)
		}
		want := []c.Part{{Kind: c.ReasoningPart, Reasoning: &reasoning}, {Kind: c.CallPart, Call: &c.Call{ID: "c1", Name: "f", Arguments: []byte("{}"), Signature: "tool"}}}
		if diff := cmp.Diff(want, p.Turns[1].Parts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", details, diff)
		}
	}
}

// The signature that stood on a text comes back with it: in front of it where both came at once, else after it. Coding agents, who take the
// last block for the answer, get none there.
func TestSignatureOfText(t *testing.T) {
	t.Parallel()
	signed := []byte(`[{"type":"reasoning.encrypted","index":0,"format":"google-gemini-v1","data":"of the text"}]`)
	text := c.Part{Text: "Yes."}
	reasoning := c.Part{Kind: c.ReasoningPart, Reasoning: &c.ReasoningDetail{Kind: c.ReasoningEncrypted, Format: c.FormatGoogle, Data: "of the text"}}
	for _, tc := range []struct {
		name   string
		agent  bool
		events []c.Event
		want   []c.Part
	}{
		{"at once", true, []c.Event{{Text: []byte("Yes."), ReasoningDetails: signed}}, []c.Part{reasoning, text}},
		{"behind", false, []c.Event{{Text: []byte("Y")}, {Text: []byte("es.")}, {ReasoningDetails: signed}}, []c.Part{text, reasoning}},
		{"behind, to an agent", true, []c.Event{{Text: []byte("Yes.")}, {ReasoningDetails: signed}}, []c.Part{text}},
		{"between, to an agent", true, []c.Event{{Text: []byte("Yes.")}, {ReasoningDetails: signed}, {ToolCalls: []c.ToolCall{{ID: "c1", Name: "f"}}}},
			[]c.Part{text, reasoning, {Kind: c.CallPart, Call: &c.Call{ID: "c1", Name: "f", Arguments: []byte("{}")}}}},
		{"twice", false, []c.Event{{Text: []byte("Yes.")}, {ReasoningDetails: signed}, {ReasoningDetails: signed}}, []c.Part{text, reasoning, reasoning}},
	} {
		var out bytes.Buffer
		x := messages.NewWhole(&out, messages.Options{ID: "m", Agent: tc.agent})
		check(t, x.Start(served()))
		for i := range tc.events {
			check(t, x.Event(&tc.events[i]))
		}
		check(t, x.End(receipt))
		req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + string(rawjson.Find(out.Bytes(), "content")) + `}]}`))
		check(t, err)
		p, err := req.Prompt()
		check(t, err)
		if diff := cmp.Diff(tc.want, p.Turns[1].Parts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestIsAgent(t *testing.T) {
	t.Parallel()
	for betas, want := range map[string]bool{"": false, "context-1m-2025-08-07": false, "claude-code-20250219,interleaved-thinking-2025-05-14": true} {
		if got := messages.IsAgent(&c.Request{Betas: []string{betas}}); got != want {
			t.Errorf("%q: %t", betas, got)
		}
	}
}

// An answer of the same wire passes but for the model; its end waits for the settlement.
func TestPasses(t *testing.T) {
	t.Parallel()
	frame := func(name, data string) c.Frame { return c.Frame{Name: name, Data: []byte(data)} }
	events := []c.Event{
		{Text: []byte("a"), Frames: []c.Frame{frame("message_start", `{"type":"message_start","odd":1,"message":{"id":"msg_up","model":"claude-9","usage":{}}}`), frame("content_block_start", `{"type":"content_block_start","index":0}`), frame("content_block_delta", `{"type": "content_block_delta","x":"a"}`)}},
		{Finish: c.Stop, Frames: []c.Frame{frame("message_delta", `{"type":"message_delta"}`)}},
		{Done: true, Frames: []c.Frame{frame("message_stop", `{"type":"message_stop"}`)}},
	}
	var out bytes.Buffer
	s := messages.NewStream(&out, messages.Options{ID: "msg_1"})
	check(t, s.Start(served()))
	for i := range events {
		check(t, s.Event(&events[i]))
	}
	if strings.Contains(out.String(), "message_stop") {
		t.Error("the end was told before the settlement")
	}
	check(t, s.End(receipt))
	want := "event: message_start\ndata: {\"type\":\"message_start\",\"odd\":1,\"message\":{\"id\":\"msg_up\",\"model\":\"v/m\",\"usage\":{}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0}\n\nevent: content_block_delta\ndata: {\"type\": \"content_block_delta\",\"x\":\"a\"}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
	out.Reset()
	x := messages.NewWhole(&out, messages.Options{ID: "msg_1"})
	check(t, x.Start(served()))
	check(t, x.Event(&c.Event{Done: true, Frames: []c.Frame{{Data: []byte(`{ "id":"u", "model" : "claude-9", "odd":[1 ,2]}`)}}}))
	check(t, x.End(receipt))
	if got := out.String(); got != `{ "id":"u", "model" : "v/m", "odd":[1 ,2]}` {
		t.Errorf("got %s", got)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := messages.NewStream(&out, messages.Options{})
	check(t, s.Start(served()))
	check(t, s.Fail([]byte("{\"type\":\"error\",\n\"error\":{}}")))
	check(t, s.Fail([]byte("{}")))
	check(t, s.End(receipt))
	if got := out.String(); got != "event: error\ndata: {\"type\":\"error\", \"error\":{}}\n\n" {
		t.Errorf("got %q", got)
	}
}

func TestPromptText(t *testing.T) {
	t.Parallel()
	req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"system":[{"type":"text","text":"s"}],"tools":[{"name":"f"}],
		"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"r"}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for piece := range messages.PromptText(req) {
		got = append(got, string(piece))
	}
	if diff := cmp.Diff([]string{"s", `[{"name":"f"}]`, "q", "f", `{"a":1}`, "r"}, got); diff != "" {
		t.Error(diff)
	}
}

// The beginning of a conversation distinguishes it from others, whatever cache marks move along with it.
func TestOpening(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, system, messages, first, second string }{
		{"texts", `"be kind"`, `[{"role":"user","content":"q"}]`, `"be kind"`, `"q"`},
		{"blocks", ` [{"type":"text","text":"changes"},{"cache_control":{},"type":"text","text":"stays"}]`, `[ {"content" : [ {"type":"image"},{"type":"text","text" :"q\n"},{"type":"text","text":"r"}],"role":"user"},{"role":"assistant","content":"a"}]`, `"stays"`, `"q\n"`},
		{"nothing said", `null`, `[{"role":"user","content":[]},{"role":"assistant","content":"a"}]`, "", ""},
	} {
		body := `{"model":"a","max_tokens":1,"system":` + tc.system + `,"messages": ` + tc.messages + `}`
		req, err := messages.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		o := req.Opening
		if first, second := body[o[0].Start:o[0].End], body[o[1].Start:o[1].End]; first != tc.first || second != tc.second {
			t.Errorf("%s: %s and %s", tc.name, first, second)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"image","source":{"type":"base64","data":"QQ=="}}]}]}`))
	f.Add([]byte(`{"model":"a","max_tokens":1,"system":5,"tools":[{}],"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"},"messages":[{"role":"assistant","content":[{"type":"thinking","signature":"weir.1.e30"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := messages.Decode(body)
		if err != nil {
			return
		}
		if len(req.Models) != 1 || req.MaxTokens < 1 || req.Needs.PromptTokens < 1 {
			t.Fatalf("%+v", req)
		}
		for range messages.PromptText(req) {
		}
		p, err := req.Prompt()
		if (p == nil) == (err == nil) {
			t.Fatal("neither a prompt nor an error")
		}
	})
}

// Calls that their provider has not named are named, and no two answers use the same names.
func TestCallsWithoutIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, answer := range []string{"msg_1-a", "msg_1-b"} {
		var out bytes.Buffer
		x := messages.NewWhole(&out, messages.Options{ID: answer})
		check(t, x.Start(served()))
		check(t, x.Event(&c.Event{ToolCalls: []c.ToolCall{{Name: "f"}, {Index: 1, Name: "f"}}}))
		check(t, x.End(receipt))
		for e := rawjson.ElementsOf(rawjson.Find(out.Bytes(), "content")); e.Next(); {
			ids[rawjson.TextAt(e.Value, "id")] = true
		}
	}
	if len(ids) != 4 || !ids["call_a_0"] {
		t.Errorf("%v", ids)
	}
}

// TestBillingLine leaves Claude Code's line for billing to Anthropic: to others, each call would begin in another way.
func TestBillingLine(t *testing.T) {
	t.Parallel()
	const line = "x-anthropic-billing-header: cc_version=2.1.36.bd9; cch=97bd6;"
	for _, k := range []struct {
		name  string
		texts []string
		want  []string
	}{
		{"a part of its own", []string{line, "Be brief."}, []string{"Be brief."}},
		{"the first line", []string{line + "\nBe brief.", "Be kind."}, []string{"Be brief.", "Be kind."}},
		{"nothing else", []string{line}, nil},
		{"not at the beginning", []string{"Be brief.", line}, []string{"Be brief.", line}},
		{"another text", []string{"Be brief."}, []string{"Be brief."}},
		{"none", nil, nil},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			blocks := []string{}
			for _, text := range k.texts {
				blocks = append(blocks, `{"type":"text","text":`+string(rawjson.AppendText(nil, text))+`}`)
			}
			req, err := messages.Decode([]byte(`{"model":"a","max_tokens":1,"system":[` + strings.Join(blocks, ",") + `],"messages":[{"role":"user","content":"q"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			p, err := req.Source.Prompt(req)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range p.System {
				got = append(got, p.System[i].Text)
			}
			if diff := cmp.Diff(k.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
