package responses_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	c "weir/internal/completion"
	"weir/internal/encoded"
	"weir/internal/fault"
	"weir/internal/wire/pack"
	"weir/internal/wire/responses"
)

func decode(t *testing.T, body string) *responses.Request {
	t.Helper()
	req, err := responses.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestDecode(t *testing.T) {
	t.Parallel()
	body := `{"model":"a/b","models":["c/d","a/b"],"stream":true,"store":true,"max_output_tokens":1e2,"provider":{"order":["acme"]},"user":"u","session_id":"s","prompt_cache_key":"k","metadata":{"x":"y"},"odd":[1],
		"reasoning":{"effort":"high","summary":"auto"},"text":{"format":{"type":"json_schema","name":"n","schema":{}},"verbosity":"low"},"tools":[{"type":"function","name":"f"},{"type":"web_search"}],"instructions":"Be brief.",
		"temperature":null,"service_tier":"fast","input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"u"},{"type":"input_file","file_url":"v"}]}]}`
	req := decode(t, body)
	if got := fmt.Sprint(req.Models); got != "[a/b c/d]" || !req.Stream || !req.Store || !req.StoreAsked || req.Encrypted || req.MaxTokens != 100 || req.User != "u" || req.SessionID != "s" || string(req.Metadata) != `{"x":"y"}` {
		t.Errorf("%+v", req)
	}
	if want := (c.Reasoning{Set: true, Effort: "high", Summary: "auto"}); req.Reasoning != want {
		t.Errorf("%+v", req.Reasoning)
	}
	n := req.Needs
	params := catalog.ParamMaxTokens | catalog.ParamReasoning | catalog.ParamResponseFormat | catalog.ParamStructuredOutputs | catalog.ParamVerbosity | catalog.ParamTools
	if n.Params != params || n.Input != catalog.Text|catalog.Image|catalog.File || n.Tier != "priority" || !n.Web || n.PromptTokens < 5000 || n.N != 1 {
		t.Errorf("%+v", n)
	}
	at := func(s c.Span) string { return body[s.Start:s.End] }
	if at(req.CacheKey) != `"k"` || at(req.Opening[0]) != `"Be brief."` || !strings.HasPrefix(at(req.Opening[1]), `{"role":"user"`) || !strings.HasPrefix(at(req.Input), `[{"role"`) {
		t.Errorf("%s %s %s %s", at(req.CacheKey), at(req.Opening[0]), at(req.Opening[1]), at(req.Input))
	}
}

func TestDecodeState(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][3]bool{ // stored, encrypted reasoning comes back, in the background
		`{"model":"a/b","input":"x"}`:                                                       {true, false, false},
		`{"model":"a/b","input":"x","store":null}`:                                          {true, false, false},
		`{"model":"a/b","input":"x","store":false}`:                                         {false, true, false},
		`{"model":"a/b","input":"x","include":["reasoning.encrypted_content"]}`:             {true, true, false},
		`{"provider":{"zdr":true},"model":"a/b","input":"x"}`:                               {false, true, false},
		`{"model":"a/b","input":[],"previous_response_id":"resp_1","background":true}`:      {true, false, true},
		`{"model":"a/b","previous_response_id":"resp_1","conversation":null,"prompt":null}`: {true, false, false},
	} {
		req := decode(t, body)
		if got := [3]bool{req.Store, req.Encrypted, req.Background}; got != want {
			t.Errorf("%s: %v", body, got)
		}
		if req.Previous != "" && req.Opening != [2]c.Span{} {
			t.Errorf("%s: the conversation opens elsewhere", body)
		}
	}
}

func TestDecodeFaults(t *testing.T) {
	t.Parallel()
	with := func(members string) string { return `{"model":"a/b","input":"x",` + members + `}` }
	for _, tt := range []struct {
		body  string
		kind  fault.Kind
		param string
	}{
		{`[]`, fault.Invalid, ""},
		{`{"input":"x"}`, fault.Invalid, "model"},
		{`{"model":"","input":"x"}`, fault.Invalid, "model"},
		{`{"model":"a/b"}`, fault.InvalidPrompt, "input"},
		{`{"model":"a/b","input":[]}`, fault.InvalidPrompt, "input"},
		{`{"model":"a/b","input":7}`, fault.InvalidPrompt, "input"},
		{`{"model":"a/b","input":["x"]}`, fault.InvalidPrompt, "input[0]"},
		{`{"model":"a/b","model":"c/d","input":"x"}`, fault.DuplicateKey, "model"},
		{with(`"conversation":"conv_1"`), fault.Invalid, "conversation"},
		{with(`"conversation":{"id":"conv_1"}`), fault.Invalid, "conversation"},
		{with(`"prompt":{"id":"p"}`), fault.Invalid, "prompt"},
		{with(`"include":["everything"]`), fault.Invalid, "include[0]"},
		{with(`"include":[null]`), fault.Invalid, "include[0]"},
		{with(`"max_output_tokens":0`), fault.Invalid, "max_output_tokens"},
		{with(`"temperature":2.1`), fault.Invalid, "temperature"},
		{with(`"top_p":-1`), fault.Invalid, "top_p"},
		{with(`"top_logprobs":21`), fault.Invalid, "top_logprobs"},
		{with(`"tools":[{}]`), fault.Invalid, "tools[0]"},
		{with(`"tools":[{"type":"function"}]`), fault.Invalid, "tools[0]"},
		{with(`"tools":["x"]`), fault.Invalid, "tools[0]"},
		{with(`"tools":{}`), fault.Invalid, "tools"},
		{with(`"tool_choice":"any"`), fault.Invalid, "tool_choice"},
		{with(`"text":{"format":{}}`), fault.Invalid, "text.format.type"},
		{with(`"text":{"format":{"type":"xml"}}`), fault.Invalid, "text.format.type"},
		{with(`"text":{"format":{"type":"json_schema"}}`), fault.Invalid, "text.format.name"},
		{with(`"text":{"format":{"type":"json_schema","name":"n","schema":[]}}`), fault.Invalid, "text.format.schema"},
		{with(`"text":{"verbosity":"loud"}`), fault.Invalid, "text.verbosity"},
		{with(`"reasoning":{"effort":"huge"}`), fault.Invalid, "reasoning.effort"},
		{with(`"reasoning":{"effort":"low","max_tokens":5}`), fault.Invalid, "reasoning.max_tokens"},
		{with(`"metadata":{"a":1}`), fault.Invalid, "metadata.a"},
		{with(`"metadata":{"a":null}`), fault.Invalid, "metadata.a"},
		{with(`"metadata":{"a":"` + strings.Repeat("x", 513) + `"}`), fault.StringTooLong, "metadata.a"},
		{with(`"truncation":"middle"`), fault.Invalid, "truncation"},
		{with(`"service_tier":"gold"`), fault.Invalid, "service_tier"},
		{with(`"modalities":["smell"]`), fault.Invalid, "modalities[0]"},
		{with(`"user":"` + strings.Repeat("x", 257) + `"`), fault.StringTooLong, "user"},
		{with(`"stream":"yes"`), fault.Invalid, "stream"},
		{with(`"background":true,"store":false`), fault.Invalid, "background"},
		{with(`"background":true,"provider":{"zdr":true}`), fault.Invalid, "background"},
		{with(`"store":true,"provider":{"zdr":true}`), fault.Invalid, "store"},
		{with(`"provider":{"sort":"luck"}`), fault.Invalid, "provider.sort"},
	} {
		_, err := responses.Decode([]byte(tt.body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != tt.kind || f.Param != tt.param || f.Public == "" {
			t.Errorf("%.90s: %v, want %v at %s", tt.body, err, tt.kind, tt.param)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	strict := true
	text := func(s string) c.Part { return c.Part{Text: s} }
	for name, tt := range map[string]struct {
		body string
		want c.Prompt
	}{
		"text": {`{"model":"m","instructions":"Be brief.","input":"Hi"}`, c.Prompt{System: []c.Part{text("Be brief.")}, Turns: []c.Turn{{Parts: []c.Part{text("Hi")}}}}},
		"roles": {`{"model":"m","input":[{"role":"developer","content":"D"},{"role":"user","content":"U"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A","annotations":[]},{"type":"refusal","refusal":"R"},{"type":"input_text","text":"B"}]},{"role":"system","content":"S"}]}`,
			c.Prompt{System: []c.Part{text("D")}, Turns: []c.Turn{{Parts: []c.Part{text("U")}}, {Role: c.Assistant, Parts: []c.Part{text("A"), {Kind: c.RefusalPart, Text: "R"}, text("B")}}, {Role: c.System, Parts: []c.Part{text("S")}}}}},
		"instructions in items": {`{"model":"m","instructions":[{"role":"system","content":"S"}],"input":"Hi"}`, c.Prompt{System: []c.Part{text("S")}, Turns: []c.Turn{{Parts: []c.Part{text("Hi")}}}}},
		"media": {`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aW1n","detail":"low"},{"type":"input_image","file_id":"file_1"},{"type":"input_file","filename":"a.pdf","file_data":"cGRm"},{"type":"input_file","file_url":"https://x/y"},{"type":"input_audio","input_audio":{"data":"c25k","format":"wav"}},{"type":"input_video","video_url":"https://v"}]}]}`,
			c.Prompt{Turns: []c.Turn{{Parts: []c.Part{{Kind: c.ImagePart, Media: &c.Media{Type: "image/png", Base64: encoded.Of([]byte("img")), Detail: "low"}}, {Kind: c.ImagePart, Media: &c.Media{FileID: "file_1"}}, {Kind: c.FilePart, Media: &c.Media{Name: "a.pdf", Base64: encoded.Of([]byte("pdf"))}}, {Kind: c.FilePart, Media: &c.Media{URL: "https://x/y"}},
				{Kind: c.AudioPart, Media: &c.Media{Type: "audio/wav", Base64: encoded.Of([]byte("snd"))}}, {Kind: c.VideoPart, Media: &c.Media{URL: "https://v"}}}}}}},
		"calls": {`{"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"function_call","call_id":"1","name":"f","arguments":""},{"type":"custom_tool_call","call_id":"2","name":"g","input":"free"},{"type":"function_call_output","call_id":"1","output":"ok"},{"type":"custom_tool_call_output","call_id":"2","output":[{"type":"input_text","text":"fine"}]}]}`,
			c.Prompt{Turns: []c.Turn{{Role: c.Assistant, Parts: []c.Part{{Kind: c.ReasoningPart, Reasoning: &c.ReasoningDetail{Text: "Hm."}}, {Kind: c.CallPart, Call: &c.Call{ID: "1", Name: "f", Arguments: []byte("{}")}}, {Kind: c.CallPart, Call: &c.Call{ID: "2", Name: "g", Arguments: []byte("free"), Custom: true}}}},
				{Parts: []c.Part{{Kind: c.ResultPart, Result: &c.Result{CallID: "1", Name: "f", Parts: []c.Part{text("ok")}}}}}, {Parts: []c.Part{{Kind: c.ResultPart, Result: &c.Result{CallID: "2", Name: "g", Parts: []c.Part{text("fine")}}}}}}}},
		"traces of foreign tools": {`{"model":"m","input":[{"role":"user","content":"x"},{"type":"web_search_call","id":"ws_1","status":"completed"},{"type":"mcp_call","id":"mcp_1"}]}`, c.Prompt{Turns: []c.Turn{{Parts: []c.Part{text("x")}}}}},
		"settings": {`{"model":"m","input":"x","temperature":0.5,"top_p":1,"top_k":3,"frequency_penalty":-1,"presence_penalty":2,"top_logprobs":4,"parallel_tool_calls":false,"prompt_cache_key":"k","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]},
			"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},{"type":"custom","name":"g"},{"type":"web_search","search_context_size":"low","filters":{"allowed_domains":["x.example"]}},{"type":"mcp","server_label":"l"}],
			"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}}}`,
			c.Prompt{Turns: []c.Turn{{Parts: []c.Part{text("x")}}}, Serial: true, CacheKey: "k", Choice: c.Choice{Mode: c.ChoiceRequired, Allowed: []string{"f"}},
				Tools:    []c.Tool{{Name: "f", Description: "d", Parameters: []byte(`{"type":"object"}`), Strict: &strict}, {Name: "g", Custom: true, HostedType: "custom"}, {Hosted: []byte(`{"type":"mcp","server_label":"l"}`), HostedType: "mcp"}},
				Search:   &c.Search{ContextSize: "low", Include: []string{"x.example"}},
				Sampling: c.Sampling{Temperature: "0.5", TopP: "1", TopK: "3", FrequencyPenalty: "-1", PresencePenalty: "2", Logprobs: true, TopLogprobs: 4, Verbosity: "low"},
				Format:   c.Format{Kind: c.FormatSchema, Name: "n", Schema: []byte(`{"type":"object"}`), Strict: &strict}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := decode(t, tt.body).Prompt()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tt.want, p); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPromptFaults(t *testing.T) {
	t.Parallel()
	for item, param := range map[string]string{
		`{"role":"narrator","content":"x"}`:                                                         "input[1].role",
		`{"type":"message","content":"x"}`:                                                          "input[1].role",
		`{"type":"function_call","name":"f"}`:                                                       "input[1]",
		`{"type":"unheard_of_output","call_id":"1"}`:                                                "input[1]",
		`{"type":"item_reference","id":"msg_1"}`:                                                    "input[1]",
		`{"role":"user","content":[{"type":"input_smell"}]}`:                                        "input[1].content[0].type",
		`{"type":"function_call_output","output":[{"type":"x"}]}`:                                   "input[1].output[0].type",
		`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%s"}]}`: "input[1].content[0].image_url",
		`{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":"data:image/png;base64,%s"}]}`: "input[1].output[0].image_url",
		`{"role":"system","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,%s"}]}`:    "input[1].content[0].file_data",
		`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"%s"}]}`:                                  "input[1].content[0].file_data",
		`{"role":"user","content":[{"type":"input_file","file_url":"data:application/pdf;base64,%s"}]}`:                          "input[1].content[0].file_url",
		`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"%s","format":"wav"}}]}`:                          "input[1].content[0].input_audio.data",
		`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav\",\"x\":\"y"}}]}`:            "input[1].content[0].input_audio.data",
		`{"role":"user","content":[{"type":"input_video","video_url":"data:video/mp4;base64,%s"}]}`:                              "input[1].content[0].video_url",
	} {
		item = strings.ReplaceAll(item, "%s", `AAAA\",\"x\":\"`)
		_, err := decode(t, `{"model":"m","input":[{"role":"user","content":"x"},`+item+`]}`).Prompt()
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.InvalidPrompt || f.Param != param {
			t.Errorf("%s: %v", item, err)
		}
	}
}

// What was said before is in front of the input, counts as prompt, and asks of an endpoint what it needs.
func TestContinue(t *testing.T) {
	t.Parallel()
	req := decode(t, `{"model":"m","input":[{"type":"function_call_output","call_id":"1","output":"42"}],"previous_response_id":"resp_1"}`)
	before := req.Needs.PromptTokens
	req.Continue([]byte(`[{"role":"user","content":[{"type":"input_image","image_url":"u"},{"type":"input_text","text":"How many?"}]},{"type":"function_call","call_id":"1","name":"count","arguments":"{}"}]`))
	if req.Needs.Input&catalog.Image == 0 || req.Needs.PromptTokens < before+1500 {
		t.Errorf("%+v", req.Needs)
	}
	p, err := req.Prompt()
	if err != nil || len(p.Turns) != 3 || p.Turns[2].Parts[0].Result.Name != "count" {
		t.Errorf("%v %+v", err, p)
	}
	var reported strings.Builder
	for piece := range responses.PromptText(req.Request) {
		reported.Write(append(piece, '|'))
	}
	if reported.String() != "How many?|count|{}|42|" {
		t.Errorf("%s", reported.String())
	}
}

// The newest signature of the conversation decides the vendor that has to continue it.
func TestSignature(t *testing.T) {
	t.Parallel()
	packed := func(t c.ReasoningDetail) string {
		return `{"type":"reasoning","encrypted_content":"` + pack.Pack(&t) + `"}`
	}
	old, newer := packed(c.ReasoningDetail{Kind: c.ReasoningEncrypted, Data: "old"}), packed(c.ReasoningDetail{Text: "t", Signature: "newer"})
	req := decode(t, `{"model":"m","input":[`+old+`,`+newer+`,{"role":"user","content":"x"}]}`)
	req.Continue([]byte(`[{"type":"reasoning","encrypted_content":"oldest"}]`))
	if req.Signature != "newer" {
		t.Error(req.Signature)
	}
	req = decode(t, `{"model":"m","input":"x"}`)
	req.Continue([]byte(`[` + newer + `,{"type":"reasoning","encrypted_content":"raw"}]`))
	if req.Signature != "raw" {
		t.Error(req.Signature)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	response := "resp_" + strings.Repeat("a", 32)
	if got := string(responses.InputItems(decode(t, `{"model":"m","input":"a\"b"}`))); got != `{"type":"message","role":"user","content":[{"type":"input_text","text":"a\"b"}]}` {
		t.Error(got)
	}
	items := responses.InputItems(decode(t, `{"model":"m","input":[ {"role":"user","content":"x"}, {"type":"function_call_output","call_id":"1","output":"y"},{"id":"msg_own","type":"message","role":"user","content":"z"}]}`))
	list := responses.Listed(response, items)
	var got []string
	for _, v := range list {
		got = append(got, string(v))
	}
	a := strings.Repeat("a", 32)
	want := []string{`{"id":"msg_` + a + `_0","type":"message","role":"user","content":"x"}`, `{"id":"fc_` + a + `_1","type":"function_call_output","call_id":"1","output":"y"}`, `{"id":"msg_own","type":"message","role":"user","content":"z"}`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if id, ok := responses.ResponseOf("fc_" + a + "_1"); !ok || id != response || responses.Pick(list, "fc_"+a+"_1") == nil || responses.Pick(list, "fc_x") != nil {
		t.Errorf("%s %t", id, ok)
	}
	for _, id := range []string{"", "msg_own", a + "_1", "msg_" + a, "msg_" + a + "_"} {
		if _, ok := responses.ResponseOf(id); ok {
			t.Errorf("%q", id)
		}
	}
	req := decode(t, `{"model":"m","input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"x"}],"odd":1}`)
	if fmt.Sprint(responses.References(req)) != "[msg_1]" {
		t.Error(responses.References(req))
	}
	body, err := responses.Resolve(req, map[string][]byte{"msg_1": []byte(`{"role":"assistant","content":"y"}`)})
	if err != nil || string(body) != `{"model":"m","input":[{"role":"assistant","content":"y"},{"role":"user","content":"x"}],"odd":1}` {
		t.Errorf("%s %v", body, err)
	}
	var f *fault.Error
	if _, err := responses.Resolve(req, nil); !errors.As(err, &f) || f.Kind != fault.NotFound || f.Param != "input[0].id" {
		t.Errorf("%v", err)
	}
	if got := string(responses.Join(nil, []byte(`{"a":1}`), []byte(" "), []byte(`{"b":2}`))); got != `[{"a":1},{"b":2}]` {
		t.Error(got)
	}
	object := `{"id":"r","status":"queued","error":null,"output":[]}`
	if got := string(responses.Restated([]byte(object), "failed", []byte(`{"error":{"code":"server_error","message":"m"},"error_type":"draining"}`))); got != `{"id":"r","status":"failed","error":{"code":"server_error","message":"m"},"error_type":"draining","output":[]}` {
		t.Error(got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(question))
	f.Add([]byte(`{"model":"a/b","instructions":[{}],"input":[{"type":"item_reference"},{"type":"reasoning","encrypted_content":"weir.1.e30"},{"content":[{"type":"input_file","file_data":"x"}]}],"tools":[{"type":"namespace","tools":[{"type":"function"}]}],"tool_choice":{"type":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := responses.Decode(body)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			return
		}
		req.Continue(responses.Join(responses.InputItems(req)))
		_, _ = req.Prompt()
		for range responses.PromptText(req.Request) {
		}
		for _, v := range responses.Listed("resp_"+strings.Repeat("a", 32), responses.InputItems(req)) {
			if len(v) == 0 {
				t.Fatal("an item of nothing")
			}
		}
		_, _ = responses.Resolve(req, map[string][]byte{})
		checkSame(t, "fuzzed", string(body), answers["calls"])
	})
}
