package responses_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/responses"
	"weir/internal/fault"
	"weir/internal/wire/chat"
	"weir/internal/wire/pack"
)

func endpoint(provider string) *catalog.Endpoint {
	return &catalog.Endpoint{Provider: &catalog.Provider{ID: provider, Name: "Acme"}, UpstreamID: "acme-large", Params: catalog.AllParams}
}

func encode(t testing.TB, ep *catalog.Endpoint, req *completion.Request) dialect.Call {
	t.Helper()
	before := string(req.Body)
	call, err := new(responses.Dialect).Request(ep, req)
	if err != nil {
		t.Fatal(err)
	}
	if string(req.Body) != before || call.Path != "/responses" || !json.Valid(call.Body) {
		t.Fatalf("%s %s", call.Path, call.Body)
	}
	return call
}

// A request of this wire goes out with its own bytes, but for what is the gateway's own business.
func TestSplice(t *testing.T) {
	t.Parallel()
	packed := pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: "acme-responses-v1", ID: "rs_7", Data: "own", Origin: "acme/acme-large"})
	sibling := pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: "acme-responses-v1", ID: "rs_6", Data: "other", Origin: "acme/acme-small"})
	foreign := pack.Pack(&completion.ReasoningDetail{Format: completion.FormatAnthropic, Text: "t", Signature: "s"})
	for name, tt := range map[string]struct{ body, history, want string }{
		"plain": {`{"input":"hi","model":"x/y"}`, "", `{"model":"acme-large","input":"hi","store":false}`},
		"unknown fields": {`{"model":"x/y","input":[ {"role":"user", "content":"hi","odd":1} ],"client_metadata":{"a": [1]},"stream":true,"truncation":"auto","temperature":0.10}`, "",
			`{"model":"acme-large","input":[ {"role":"user", "content":"hi","odd":1} ],"client_metadata":{"a": [1]},"stream":true,"truncation":"auto","temperature":0.10,"store":false}`},
		"the gateway's own": {`{"model":"x/y","models":["a/b"],"provider":{"zdr":true},"plugins":[],"session_id":"s","input":"hi","store":false,"background":false,"metadata":{"a":"b"},"conversation":null,"service_tier":"flex","top_k":5,"user":"u"}`, "",
			`{"model":"acme-large","input":"hi","user":"20a656053806b1699d1dd2227d17c50e006e3f0b9af55bb6b525d045ce405de5","store":false}`},
		"continued text":  {`{"model":"x/y","input":"and?","previous_response_id":"resp_1"}`, `[{"role":"user","content":"hi"}]`, `{"model":"acme-large","input":[{"role":"user","content":"hi"},{"role":"user","content":"and?"}],"store":false}`},
		"continued items": {`{"model":"x/y","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"1","output":"x"}]}`, `[{"type":"function_call","call_id":"1"}]`, `{"model":"acme-large","input":[{"type":"function_call","call_id":"1"},{"type":"function_call_output","call_id":"1","output":"x"}],"store":false}`},
		"continued alone": {`{"model":"x/y","previous_response_id":"resp_1"}`, `[{"role":"user","content":"hi"}]`, `{"model":"acme-large","input":[{"role":"user","content":"hi"}],"store":false}`},
		"reasoning of several providers": {`{"model":"x/y","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"raw"},{"type":"reasoning","id":"rs_2","encrypted_content":"` + packed + `","summary":[]},{"type":"reasoning","id":"rs_3","encrypted_content":"` + foreign + `"},{"type":"reasoning","id":"rs_4","summary":[]},{"type":"reasoning","id":"rs_6","encrypted_content":"` + sibling + `"}]}`, "",
			`{"model":"acme-large","input":[{"type":"reasoning","id":"rs_7","encrypted_content":"own","summary":[]}],"store":false}`},
		"what the SDK's helpers add": {`{"model":"x/y","input":[{"role":"user","content":"parsed"},{"type":"function_call","call_id":"1","name":"f","arguments":"{\"parsed\":1}","parsed_arguments":{"parsed":1}},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{}","parsed":null},{"type":"output_text","text":"\"parsed"}]}]}`, "",
			`{"model":"acme-large","input":[{"role":"user","content":"parsed"},{"type":"function_call","call_id":"1","name":"f","arguments":"{\"parsed\":1}"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{}"},{"type":"output_text","text":"\"parsed"}]}],"store":false}`},
		"continued with what they add": {`{"model":"x/y","previous_response_id":"resp_1","input":"and?"}`, `[{"type":"function_call","call_id":"1","parsed_arguments":null}]`, `{"model":"acme-large","input":[{"type":"function_call","call_id":"1"},{"role":"user","content":"and?"}],"store":false}`},
		"a budget": {`{"model":"x/y","input":"hi","max_output_tokens":1e3,"reasoning":{"max_tokens":500,"exclude":true,"summary":"auto","context":"auto"},"include":["web_search_call.results"]}`, "",
			`{"model":"acme-large","input":"hi","max_output_tokens":1000,"store":false,"include":["web_search_call.results","reasoning.encrypted_content"],"reasoning":{"effort":"medium","context":"auto"}}`},
		"effort": {`{"model":"x/y","input":"hi","max_output_tokens":3,"reasoning":{"effort":"high","summary":"detailed"},"include":["reasoning.encrypted_content"]}`, "",
			`{"model":"acme-large","input":"hi","max_output_tokens":16,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"detailed"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(t, tt.body)
			req.History = []byte(tt.history)
			if diff := cmp.Diff(tt.want, string(encode(t, endpoint("acme"), req).Body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The wire's inventor gets its own encrypted reasoning back as it gave it, and a notice names what was left out.
func TestOwnReasoning(t *testing.T) {
	t.Parallel()
	raw := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"raw"}`
	call := encode(t, endpoint("openai"), request(t, `{"model":"x/y","input":[`+raw+`]}`))
	if !strings.Contains(string(call.Body), raw) || call.Notice != "" {
		t.Errorf("%s %q", call.Body, call.Notice)
	}
	if call := encode(t, endpoint("azure-eu"), request(t, `{"model":"x/y","input":[`+raw+`]}`)); strings.Contains(string(call.Body), "raw") || call.Notice == "" {
		t.Errorf("%s %q", call.Body, call.Notice)
	}
}

// What an endpoint does not list is not sent to it, and its tier is its own.
func TestEndpointParams(t *testing.T) {
	t.Parallel()
	ep := endpoint("acme")
	ep.Params, ep.Tier = catalog.ParamReasoning|catalog.ParamTools, "flex"
	ep.Provider.Quirks.Drop = []string{"truncation"}
	got := string(encode(t, ep, request(t, `{"model":"x/y","input":"hi","temperature":1,"tools":[],"truncation":"auto","text":{}}`)).Body)
	if want := `{"model":"acme-large","input":"hi","tools":[],"text":{},"store":false,"service_tier":"flex","include":["reasoning.encrypted_content"]}`; got != want {
		t.Errorf("%s", got)
	}
}

// A request of another wire says the same in this one.
func TestWrite(t *testing.T) {
	t.Parallel()
	req, err := chat.Decode([]byte(`{"model":"x/y","stream":true,"max_tokens":5,"temperature":0.5,"user":"u","stop":"END","prompt_cache_key":"k","parallel_tool_calls":false,"verbosity":"low","logprobs":true,"top_logprobs":2,
		"reasoning":{"effort":"low"},"tool_choice":{"type":"function","function":{"name":"f"}},"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"},"strict":true}},
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},{"type":"function","function":{"name":"g","strict":true}},{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"x"}}}}],
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aW1n","detail":"low"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"}}]},
		{"role":"assistant","content":"I see.","reasoning_details":[{"type":"reasoning.encrypted","format":"acme-responses-v1","id":"rs_1","data":"ZW5j"},{"type":"reasoning.text","format":"anthropic-claude-v1","text":"t","signature":"s"}],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
		{"role":"tool","tool_call_id":"1","content":"42"},{"role":"user","content":"So?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	call := encode(t, endpoint("acme"), req)
	want := `{"model":"acme-large","input":[{"type":"message","role":"system","content":[{"type":"input_text","text":"Be brief."}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Look"},{"type":"input_image","image_url":"data:image/png;base64,aW1n","detail":"low"},{"type":"input_file","file_data":"data:application/pdf;base64,cGRm","filename":"a.pdf"}]},` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I see.","annotations":[]}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\":1}"},` +
		`{"type":"function_call_output","call_id":"1","output":"42"},{"type":"message","role":"user","content":[{"type":"input_text","text":"So?"}]}],` +
		`"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false},{"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":true},{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark","definition":"x"}}],` +
		`"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false,"stream":true,"max_output_tokens":16,"temperature":0.5,"top_logprobs":2,"prompt_cache_key":"k","user":"20a656053806b1699d1dd2227d17c50e006e3f0b9af55bb6b525d045ce405de5",` +
		`"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}},"store":false,"include":["message.output_text.logprobs","reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"}}`
	if diff := cmp.Diff(want, string(call.Body)); diff != "" {
		t.Error(diff)
	}
	if call.Notice != "The stop sequences were left out, because the provider has none. Reasoning of another provider was left out." {
		t.Errorf("%q", call.Notice)
	}
}

func TestCannot(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"model":"x/y","n":2,"messages":[{"role":"user","content":"x"}]}`,
		`{"model":"x/y","messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://v"}}]}]}`,
		`{"model":"x/y","tools":[{"type":"odd"}],"messages":[{"role":"user","content":"x"}]}`,
	} {
		req, err := chat.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		_, err = new(responses.Dialect).Request(endpoint("acme"), req)
		if f := fault.From(err); err == nil || f.Kind != fault.Invalid || f.Next != fault.NextEndpoint {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Frames reach a client of this wire as they came, all of them, with the first content and not before; encrypted reasoning says whose it is.
func TestFrames(t *testing.T) {
	t.Parallel()
	stream := event("response.created", `"response":{"id":"resp_1"}`) + event("response.output_item.added", `"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}`) +
		event("response.output_item.done", `"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"ZW5j"}`) + "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n" +
		event("response.output_item.added", `"output_index":1,"item":{"id":"ws_1","type":"web_search_call"}`) + event("response.web_search_call.searching", `"output_index":1,"item_id":"ws_1"`) +
		event("response.output_item.done", `"output_index":1,"item":{"id":"ws_1","type":"web_search_call"}`) + event("response.output_item.added", `"output_index":2,"item":{"id":"msg_1","type":"message"}`) +
		event("response.output_text.delta", `"output_index":2,"item_id":"msg_1","delta":"Hi","logprobs":[{"token":"Hi"}],"odd":[1, 2]`) +
		event("response.output_text.annotation.added", `"output_index":2,"item_id":"msg_1","annotation":{"type":"url_citation","url":"u","title":"t","start_index":0,"end_index":2}`) +
		event("response.completed", `"response":{"id":"resp_1","status":"completed","service_tier":"flex","output":[{"type":"web_search_call"}],"usage":{"input_tokens":3,"output_tokens":2,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":1}}}`)
	for provider, sealed := range map[string]string{"openai": "ZW5j", "acme": pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: "acme-responses-v1", ID: "rs_1", Data: "ZW5j", Origin: "acme/acme-large"})} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			a := &dialect.Answer{Endpoint: endpoint(provider), Request: plain(t, true), Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 1 << 20}, Body: dialect.NewBody(strings.NewReader(stream)), Notice: "Note."}
			var frames, before string
			events := 0
			for ev, err := range new(responses.Dialect).Events(a) {
				if err != nil {
					t.Fatal(err)
				}
				if events++; events == 1 {
					if ev.Head == nil || ev.Head.Notice != "Note." || !ev.HasContent() {
						t.Errorf("%+v", ev)
					}
				}
				for _, f := range ev.Frames {
					frames += "event: " + f.Name + "\ndata: " + string(f.Data) + "\n\n"
				}
				if ev.Text != nil {
					before = string(ev.Logprobs)
				}
				if ev.Done && (ev.Usage.Tier != "flex" || ev.Usage.Prompt.N != 3 || ev.Usage.CacheRead.N != 1 || ev.Usage.Reasoning.N != 1 || ev.Usage.WebSearches.N != 1) {
					t.Errorf("%+v", ev.Usage)
				}
			}
			want := strings.Replace(strings.Replace(stream, "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n", "", 1), `"ZW5j"`, `"`+sealed+`"`, 1)
			if diff := cmp.Diff(want, frames); diff != "" || before != `{"content":[{"token":"Hi"}],"refusal":null}` {
				t.Errorf("%s %s", diff, before)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(event("response.output_item.added", `"output_index":0,"item":{"type":"function_call","call_id":"1","name":"f"}`)+event("response.output_item.done", `"output_index":0,"item":{"arguments":"{}"}`)), true)
	f.Add([]byte(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x","annotations":[{}],"logprobs":[1]}]},{"type":"reasoning","summary":[{"text":"a"}],"content":[{"text":"b"}],"encrypted_content":"c"},{"type":"image_generation_call","result":"d"}]}`), false)
	f.Fuzz(func(t *testing.T, b []byte, pass bool) {
		a := &dialect.Answer{Endpoint: endpoint("acme"), Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 1 << 20}, Body: dialect.NewBody(io.MultiReader(strings.NewReader(string(b))))}
		if pass {
			a.Request = plain(t, true)
		}
		ended := false
		for ev, err := range new(responses.Dialect).Events(a) {
			if ended {
				t.Fatal("something follows the end")
			}
			ended = err != nil || ev.Done
			if err != nil {
				continue
			}
			for _, v := range [][]byte{ev.ReasoningDetails, ev.Annotations, ev.Logprobs, ev.Images} {
				if len(v) > 0 && !json.Valid(v) {
					t.Fatalf("%s", v)
				}
			}
			for _, frame := range ev.Frames {
				if !json.Valid(frame.Data) {
					t.Fatalf("%s", frame.Data)
				}
			}
		}
	})
}
