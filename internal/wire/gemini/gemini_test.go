package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire/gemini"
)

const asked = `"contents":[{"role":"user","parts":[{"text":"q"}]}]`

func decoded(t testing.TB, body string) *completion.Request {
	t.Helper()
	req, err := gemini.Decode([]byte(body), "x/y", false)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return req
}

// Both spellings of a name, and a single object for a list, are one request. What belongs to the client stays as it is.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, want string }{
		{`{` + asked + `}`, `{` + asked + `}`},
		{`{"system_instruction":{"parts":{"text":"s_s"}},"contents":{"parts":{"inline_data":{"mime_type":"image/png","data":"QQ=="}}}}`,
			`{"systemInstruction":{"parts":[{"text":"s_s"}]},"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"QQ=="}}]}]}`},
		{`{` + asked + `,"tools":{"function_declarations":{"name":"f_f","parameters":{"type":"OBJECT","properties":{"a_b":{"type":"STRING","min_length":"1"},"properties":{"any_of":[]}}},"parameters_json_schema":{"c_d":1}}}}`,
			`{` + asked + `,"tools":[{"functionDeclarations":[{"name":"f_f","parameters":{"type":"OBJECT","properties":{"a_b":{"type":"STRING","minLength":"1"},"properties":{"anyOf":[]}}},"parametersJsonSchema":{"c_d":1}}]}]}`},
		{`{"contents":[{"parts":[{"function_call":{"name":"f","args":{"a_b":{"c_d":1}}}},{"function_response":{"name":"f","response":{"e_f":[{"g_h":1}]}}}]}],"session_id":"s_s","generation_config":{"_responseJsonSchema":{"a_b":1},"response_json_schema":{"x_y":{}}}}`,
			`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"a_b":{"c_d":1}}}},{"functionResponse":{"name":"f","response":{"e_f":[{"g_h":1}]}}}]}],"session_id":"s_s","generationConfig":{"_responseJsonSchema":{"a_b":1},"responseJsonSchema":{"x_y":{}}}}`},
		{`{"contents":[{"parts":[{},{"thought":true},{"text":"a"},{} , {"thoughtSignature":"c2ln"},{"text":"b"},{"thought":true}]},{"parts":[{}]}]}`, `{"contents":[{"parts":[{"text":"a"} , {"text":"","thoughtSignature":"c2ln"},{"text":"b"}]},{"parts":[{}]}]}`},
		{`{"\u0073ystem_instruction":{"parts":[]},` + asked + `}`, `{"systemInstruction":{"parts":[]},` + asked + `}`},
	} {
		if got := decoded(t, tt.body).Body; string(got) != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// What is refused, where, and as what.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body  string
		kind  fault.Kind
		param string
	}{
		"no JSON":               {`{`, fault.Invalid, ""},
		"no object":             {`[]`, fault.Invalid, ""},
		"no contents":           {`{}`, fault.InvalidPrompt, "contents"},
		"empty contents":        {`{"contents":[]}`, fault.InvalidPrompt, "contents"},
		"contents as a string":  {`{"contents":"q"}`, fault.InvalidPrompt, "contents"},
		"both spellings":        {`{` + asked + `,"generationConfig":{"maxOutputTokens":1,"max_output_tokens":100000}}`, fault.DuplicateKey, "generationConfig.maxOutputTokens"},
		"both spellings on top": {`{` + asked + `,"safety_settings":[],"safetySettings":[]}`, fault.DuplicateKey, "safetySettings"},
		"too deep":              {`{"contents":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, fault.TooDeep, ""},
		"cached content":        {`{` + asked + `,"cachedContent":"cachedContents/x"}`, fault.Invalid, "cachedContent"},
		"another model":         {`{` + asked + `,"model":"models/a/b"}`, fault.Invalid, "model"},
		"a diverting field":     {`{` + asked + `,"apiKey":"x"}`, fault.Invalid, "apiKey"},
		"diverting in snake":    {`{` + asked + `,"api_base":"x"}`, fault.Invalid, "apiBase"},
		"file search":           {`{` + asked + `,"tools":[{"fileSearch":{"fileSearchStoreNames":["x"]}}]}`, fault.Invalid, "tools[0].fileSearch"},
		"retrieval":             {`{` + asked + `,"tools":[{"retrieval":{"vertex_ai_search":{"datastore":"x"}}}]}`, fault.Invalid, "tools[0].retrieval"},
		"servers":               {`{` + asked + `,"tools":[{"mcpServers":[{"name":"x"}]}]}`, fault.Invalid, "tools[0].mcpServers"},
		"an uploaded file":      {`{"contents":[{"parts":[{"text":"q"},{"file_data":{"file_uri":"https://generativelanguage.googleapis.com/v1beta/files/abc"}}]}]}`, fault.InvalidPrompt, "contents[0].parts[1].fileData.fileUri"},
		"a bucket":              {`{"contents":[{"parts":[{"fileData":{"fileUri":"gs://b/o"}}]}]}`, fault.InvalidPrompt, "contents[0].parts[0].fileData.fileUri"},
		"a bucket in a result":  {`{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{},"parts":[{"fileData":{"fileUri":"gs://b/o"}}]}}]}]}`, fault.InvalidPrompt, "contents[0].parts[0].functionResponse.parts[0].fileData.fileUri"},
		"temperature":           {`{` + asked + `,"generationConfig":{"temperature":3}}`, fault.Invalid, "generationConfig.temperature"},
		"candidates":            {`{` + asked + `,"generationConfig":{"candidateCount":9}}`, fault.Invalid, "generationConfig.candidateCount"},
		"modality":              {`{` + asked + `,"generationConfig":{"responseModalities":["SMELL"]}}`, fault.Invalid, "generationConfig.responseModalities[0]"},
		"level":                 {`{` + asked + `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"HUGE"}}}`, fault.Invalid, "generationConfig.thinkingConfig.thinkingLevel"},
		"level and budget":      {`{` + asked + `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":5}}}`, fault.Invalid, "generationConfig.thinkingConfig.thinkingLevel"},
		"tier":                  {`{` + asked + `,"serviceTier":"golden"}`, fault.Invalid, "serviceTier"},
	} {
		_, err := gemini.Decode([]byte(tt.body), "x/y", false)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != tt.kind || f.Param != tt.param || f.Public == "" {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// What the canonical form cannot express is refused by the path of its part; another provider may be tried where it can.
func TestPromptRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, param string
		next        bool
	}{
		"a role":             {`{"contents":[{"role":"robot","parts":[{"text":"q"}]}]}`, "contents[0].role", false},
		"no parts":           {`{"contents":[{"role":"user","parts":[]}]}`, "contents[0].parts", false},
		"an empty part":      {`{"contents":[{"parts":[{}]}]}`, "contents[0].parts[0]", false},
		"an unknown part":    {`{"contents":[{"parts":[{"smell":{}}]}]}`, "contents[0].parts[0]", true},
		"an orphaned result": {`{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, "contents[0].parts[0].functionResponse", false},
		"a clip":             {`{"contents":[{"parts":[{"fileData":{"mimeType":"video/mp4","fileUri":"https://a.test/v"},"videoMetadata":{"fps":2}}]}]}`, "contents[0].parts[0].videoMetadata", true},
		"audio by address":   {`{"contents":[{"parts":[{"fileData":{"mimeType":"audio/wav","fileUri":"https://a.test/a"}}]}]}`, "contents[0].parts[0].fileData.fileUri", true},
		"an enum":            {`{` + asked + `,"generationConfig":{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["a"]}}}`, "generationConfig.responseMimeType", true},
		"no data":            {`{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png"}}]}]}`, "contents[0].parts[0].inlineData.data", false},
		"no base64":          {`{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA\",\"x\":\""}}]}]}`, "contents[0].parts[0].inlineData.data", false},
		"no media type":      {`{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png\",\"x\":\"y","data":"AAAA"}}]}]}`, "contents[0].parts[0].inlineData.data", false},
		"a text, no base64":  {`{"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"AAAA\",\"x\":\""}}]}]}`, "contents[0].parts[0].inlineData.data", false},
		"a result's image": {`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"parts":[{"functionResponse":{"name":"f","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA\",\"x\":\""}}]}}]}]}`,
			"contents[1].parts[0].functionResponse.parts[0].inlineData.data", false},
		"a streamed argument": {`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"a","stringValue":"x"}]}}]}]}`, "contents[0].parts[0].functionCall.partialArgs", false},
		"a mode":              {`{` + asked + `,"toolConfig":{"functionCallingConfig":{"mode":"MAYBE"}}}`, "toolConfig.functionCallingConfig.mode", false},
	} {
		_, err := decoded(t, tt.body).Prompt()
		var f *fault.Error
		if !errors.As(err, &f) || f.Param != tt.param || (f.Next == fault.NextEndpoint) != tt.next {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// A call that was streamed in parts comes back part by part, in turns of their own as Google's clients keep them: other providers get it whole.
func TestPromptJoinsParts(t *testing.T) {
	t.Parallel()
	p, err := decoded(t, `{"contents":[{"parts":[{"text":"q"}]},
		{"role":"model","parts":[{"functionCall":{"name":"f","will_continue":true},"thoughtSignature":"c2ln"}]},
		{"role":"model","parts":[{"functionCall":{"partial_args":[{"json_path":"$.a_b[0]","string_value":"x","will_continue":true}],"will_continue":true}}]},
		{"role":"model","parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a_b[0]","stringValue":"y"}],"willContinue":true}}]},
		{"role":"model","parts":[{"functionCall":{}},{"functionCall":{"name":"g","partialArgs":[{"jsonPath":"$.n","numberValue":1}]}}]},
		{"parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}]}]}`).Prompt()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, turn := range p.Turns {
		for _, part := range turn.Parts {
			if c := part.Call; c != nil {
				got += c.Name + string(c.Arguments) + c.Signature
			}
		}
	}
	if want := `f{"a_b":["xy"]}c2lng{"n":1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A conversation with all kinds of parts, in the canonical form.
func TestPrompt(t *testing.T) {
	t.Parallel()
	p, err := decoded(t, `{"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]},"contents":[
		{"parts":[{"text":"q"},{"inlineData":{"mimeType":"audio/x-wav","data":"QQ=="}},{"inlineData":{"mimeType":"text/plain","data":"aGk="}},{"inlineData":{"mimeType":"application/pdf","data":"a-_="}},{"fileData":{"fileUri":"https://a.test/i.png"}}]},
		{"role":"model","parts":[{"text":"hm","thought":true},{"text":"t","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"Y2FsbA=="},{"functionCall":{"id":"c2","name":"f"}},{"executableCode":{"code":"1"}}]},
		{"role":"function","parts":[{"functionResponse":{"id":"c2","name":"f","response":{"error":"no"}}},{"functionResponse":{"name":"f","response":{"output":"one"}}}]}],
		"tools":[{"functionDeclarations":[{"name":"f","description":"d","parameters":{"type":"OBJECT","properties":{"a":{"type":"INTEGER","nullable":true,"maximum":5}},"propertyOrdering":["a"],"required":["a"]}}]},{"googleSearch":{}}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},"safetySettings":[{"category":"X"}],
		"generationConfig":{"temperature":0.5,"topK":40.0,"stopSequences":["x"],"responseMimeType":"application/json","responseSchema":{"type":"ARRAY","items":{"type":"STRING"},"minItems":"2"},"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}}}}`).Prompt()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, turn := range p.Turns {
		for _, part := range turn.Parts {
			fmt.Fprintf(&b, "%d/%d %s", turn.Role, part.Kind, part.Text)
			if m := part.Media; m != nil {
				fmt.Fprintf(&b, "%s %s %s", m.Type, m.Base64.Text(), m.URL)
			}
			if c := part.Call; c != nil {
				fmt.Fprintf(&b, "%s %s %s %s", c.ID, c.Name, c.Arguments, c.Signature)
			}
			if r := part.Result; r != nil {
				fmt.Fprintf(&b, "%s %s %t %s", r.CallID, r.Name, r.Failed, r.Parts[0].Text)
			}
			if r := part.Reasoning; r != nil {
				fmt.Fprintf(&b, "%s %s %s", r.Format, r.Text, r.Data)
			}
			b.WriteByte('\n')
		}
	}
	const want = `0/0 q
0/3 audio/wav QQ== 
0/0 hi
0/4 application/pdf a+/= 
0/2   https://a.test/i.png
1/8  hm 
1/8 google-gemini-v1  c2ln
1/0 t
1/6 call_1 f {"a":1} Y2FsbA==
1/6 c2 f {} 
0/7 c2 f true no
0/7 call_1 f false one
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if tool := p.Tools[0]; len(p.Tools) != 1 || string(tool.Parameters) != `{"properties":{"a":{"maximum":5,"type":["integer","null"]}},"required":["a"],"type":"object"}` || p.Search == nil {
		t.Errorf("%s", tool.Parameters)
	}
	if c := p.Choice; c.Mode != completion.ChoiceTool || c.Name != "f" || p.Sampling.TopK != "40" || p.Audio.Voice != "Kore" || string(p.Safety) != `[{"category":"X"}]` || len(p.System) != 2 {
		t.Errorf("%+v", p)
	}
	if f := p.Format; f.Kind != completion.FormatSchema || string(f.Schema) != `{"items":{"type":"string"},"minItems":2,"type":"array"}` {
		t.Errorf("%s", f.Schema)
	}
}

// Reasoning of any wire that an answer has packed comes back as it was, whether or not the client kept what was shown of it.
func TestReasoningComesBack(t *testing.T) {
	t.Parallel()
	details := []byte(`[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"Let me ","signature":null},{"type":"reasoning.text","index":0,"text":"think","signature":"sig"},{"type":"reasoning.encrypted","index":1,"format":"anthropic-claude-v1","data":"red"}]`)
	var out bytes.Buffer
	w := gemini.NewWhole(&out, gemini.Options{ID: "gen-1", Thoughts: true, N: 1})
	for _, err := range []error{
		w.Start(relay.Served{Model: "x/y"}),
		w.Event(&completion.Event{Reasoning: []byte("Let me think"), ReasoningDetails: details}),
		w.Event(&completion.Event{ToolCalls: []completion.ToolCall{{ID: "c1", Name: "f", Arguments: []byte(`{"a":`)}}}),
		w.Event(&completion.Event{ToolCalls: []completion.ToolCall{{Arguments: []byte(`1}`)}}, Finish: completion.ToolCalls}),
		w.End(relay.Receipt{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	content := rawjson.Find(first(t, out.Bytes(), "candidates"), "content")
	kept := string(content)
	dropped := kept[:strings.Index(kept, `{"text":"Let me think","thought":true},`)] + kept[strings.Index(kept, `{"functionCall"`):]
	for _, sent := range []string{kept, dropped} {
		req := decoded(t, `{"contents":[{"parts":[{"text":"q"}]},`+sent+`,{"parts":[{"functionResponse":{"name":"f","response":{"x":1}}}]}]}`)
		if !req.Translate || req.Signature != "red" {
			t.Errorf("translate %t, signature %q", req.Translate, req.Signature)
		}
		p, err := req.Prompt()
		if err != nil {
			t.Fatal(err)
		}
		parts := p.Turns[1].Parts
		if len(parts) != 3 || parts[0].Reasoning.Text != "Let me think" || parts[0].Reasoning.Signature != "sig" || parts[1].Reasoning.Data != "red" || string(parts[2].Call.Arguments) != `{"a":1}` || parts[2].Call.ID != "c1" || parts[2].Call.Signature != "" {
			t.Errorf("%s gives %d parts: %+v", sent, len(parts), parts[0].Reasoning)
		}
	}
}

func first(t *testing.T, v []byte, list string) []byte {
	t.Helper()
	if !rawjson.Valid(v) {
		t.Fatalf("not JSON: %s", v)
	}
	e := rawjson.ElementsOf(rawjson.Find(v, list))
	if !e.Next() {
		t.Fatalf("no %s in %s", list, v)
	}
	return e.Value
}

// Requests that a provider of this wire may get as they are, and those that it may not.
func TestTranslate(t *testing.T) {
	t.Parallel()
	packed := "d2Vpci4x" // not valid: it is a signature like others
	for body, want := range map[string]bool{
		`{` + asked + `}`: false,
		`{` + asked + `,"labels":{"a":"b"},"serviceTier":"flex","store":false,"provider":{},"session_id":"s"}`:                                       false,
		`{` + asked + `,"tools":[{"googleSearch":{}}]}`:                                                                                              false,
		`{` + asked + `,"tools":[{"functionDeclarations":[{"name":"f"}]},{"googleSearch":{}}]}`:                                                      false,
		`{` + asked + `,"toolConfig":{"includeServerSideToolInvocations":true},"tools":[{"functionDeclarations":[{"name":"f"}],"googleSearch":{}}]}`: false,
		`{` + asked + `,"odd":1}`:                                                       true,
		`{` + asked + `,"store":true}`:                                                  true,
		`{` + asked + `,"generationConfig":{"routingConfig":{}}}`:                       true,
		`{` + asked + `,"generationConfig":{"thinkingConfig":{"odd":1}}}`:               true,
		`{` + asked + `,"tools":[{"odd":{}}]}`:                                          true,
		`{` + asked + `,"modelArmorConfig":{"promptTemplateName":"x"}}`:                 false,
		`{"contents":[{"parts":[{"text":"q","thoughtSignature":"` + packed + `"}]}]}`:   false,
		`{"contents":[{"parts":[{"text":"q","thoughtSignature":"c2lnbmF0dXJl"}]}]}`:     false,
		`{"contents":[{"parts":[{"text":"q","mediaResolution":{"level":"X"},"x":1}]}]}`: false,
	} {
		if req := decoded(t, body); req.Translate != want {
			t.Errorf("%s: %t", body, req.Translate)
		}
	}
}

// Tools that a provider runs cost more than tokens; unknown ones cost what nobody knows.
func TestPaidTools(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]catalog.Paid{
		`"functionDeclarations":[{"name":"f"}]`: 0, `"computerUse":{}`: 0, `"googleSearch":{}`: catalog.PaidWebSearch, `"google_search_retrieval":{}`: catalog.PaidWebSearch,
		`"urlContext":{}`: catalog.PaidWebFetch, `"code_execution":{}`: catalog.PaidCodeExecution, `"googleMaps":{}`: catalog.PaidOtherTool, `"next":{}`: catalog.PaidOtherTool,
	} {
		if n := decoded(t, `{`+asked+`,"tools":[{`+tool+`}]}`).Needs; n.Paid != want || n.Web != (want == catalog.PaidWebSearch) {
			t.Errorf("%s: %v", tool, n.Paid)
		}
	}
}

var cost = money.Ruble / 4

// events are an answer with everything that this style can show.
func events() []completion.Event {
	return []completion.Event{
		{Reasoning: []byte("hm"), Text: []byte("Hel")},
		{Text: []byte("lo \"é\""), Annotations: []byte(`[{"type":"url_citation","url_citation":{"url":"https://a.test","title":"A"}}]`)},
		{Images: []byte(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}},{"type":"image_url","image_url":{"url":"https://a.test/i.png"}}]`)},
		{Audio: []byte(`{"data":"Qg==","transcript":"said"}`)},
		{ToolCalls: []completion.ToolCall{{Name: "f", Arguments: []byte("{\n\"a\":1}")}, {Index: 1, ID: "c2", Name: "g", Arguments: []byte("oops")}}},
		{Logprobs: []byte(`{"content":[{"token":"a","logprob":-0.5,"top_logprobs":[{"token":"b","logprob":-1}]}]}`), Finish: completion.ToolCalls},
		{Choice: -1, Done: true},
	}
}

func send(t *testing.T, sink relay.Sink, list []completion.Event) {
	t.Helper()
	served := relay.Served{Model: "x/y", Head: completion.Head{Notice: "Left out."}}
	err := sink.Start(served)
	for i := range list {
		err = errors.Join(err, sink.Event(&list[i]))
	}
	u := usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(9), Reasoning: usage.Of(4), CacheRead: usage.Of(3), PromptImage: usage.Of(2), OutputAudio: usage.Of(1)}
	if err = errors.Join(err, sink.End(relay.Receipt{Usage: u, Cost: cost, PromptCost: money.Ruble / 8})); err != nil {
		t.Fatal(err)
	}
}

const ending = `"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":4,"cachedContentTokenCount":3,"totalTokenCount":19,"promptTokensDetails":[{"modality":"TEXT","tokenCount":8},{"modality":"IMAGE","tokenCount":2}],"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":4},{"modality":"AUDIO","tokenCount":1}],"cost":0.25,"currency":"RUB","is_byok":false,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0.125,"upstream_inference_completions_cost":0.125,"upstream_inference_input_cost":0.125,"upstream_inference_output_cost":0.125}},"modelVersion":"x/y","responseId":"gen-1","metadata":{"notice":"Left out."}}`

func TestWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	send(t, gemini.NewWhole(&out, gemini.Options{ID: "gen-1", Thoughts: true, N: 1}), events())
	const want = `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"Hello \"é\""},{"inlineData":{"mimeType":"image/png","data":"QQ=="}},{"fileData":{"mimeType":"image/png","fileUri":"https://a.test/i.png"}},` +
		`{"text":"said"},{"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"Qg=="}},{"functionCall":{"id":"call_1_0","name":"f","args":{ "a":1}}},{"functionCall":{"id":"c2","name":"g","args":{"input":"oops"}}}],"role":"model"},` +
		`"finishReason":"STOP","index":0,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://a.test","title":"A"}}]},"logprobsResult":{"chosenCandidates":[{"token":"a","logProbability":-0.5}],"topCandidates":[{"candidates":[{"token":"b","logProbability":-1}]}]}}],` + ending
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
}

// A stream has the parts of the whole answer, in its order, as events and as an array.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, array := range []bool{false, true} {
		var out bytes.Buffer
		s := gemini.NewStream(&out, gemini.Options{ID: "gen-1", N: 1, Audio: true}, array)
		_ = s.KeepAlive()
		send(t, s, events())
		_ = s.Fail([]byte(`{"error":{}}`)) // after the end it does nothing
		var pieces []json.RawMessage
		if array {
			if err := json.Unmarshal(out.Bytes(), &pieces); err != nil {
				t.Fatalf("%v: %s", err, out.Bytes())
			}
		} else {
			for frame := range strings.SplitSeq(strings.Trim(out.String(), "\n"), "\n\n") {
				pieces = append(pieces, json.RawMessage(strings.TrimPrefix(frame, "data: ")))
			}
		}
		if last := string(pieces[len(pieces)-1]); !strings.HasSuffix(last, ending) || !strings.HasPrefix(last, `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0,"groundingMetadata"`) {
			t.Errorf("the end is %s", last)
		}
		var parts []string
		for _, p := range pieces[:len(pieces)-1] {
			for e := rawjson.ElementsOf(rawjson.FindPath(first(t, p, "candidates"), "content", "parts")); e.Next(); {
				parts = append(parts, string(e.Value))
			}
			if !bytes.HasSuffix(p, []byte(`,"modelVersion":"x/y","responseId":"gen-1"}`)) {
				t.Errorf("piece %s", p)
			}
		}
		const want = `{"text":"Hel"} {"text":"lo \"é\""} {"inlineData":{"mimeType":"image/png","data":"QQ=="}} {"fileData":{"mimeType":"image/png","fileUri":"https://a.test/i.png"}} {"inlineData":{"mimeType":"audio/L16;codec=pcm;rate=24000","data":"Qg=="}} ` +
			`{"functionCall":{"id":"call_1_0","name":"f","args":{ "a":1}}} {"functionCall":{"id":"c2","name":"g","args":{"input":"oops"}}}`
		if got := strings.Join(parts, " "); got != want {
			t.Errorf("array %t: got  %s\nwant %s", array, got, want)
		}
	}
}

// Several candidates of a stream end together.
func TestCandidates(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	send(t, gemini.NewStream(&out, gemini.Options{ID: "gen-1", N: 2}, false), []completion.Event{
		{Text: []byte("a")}, {Choice: 1, Text: []byte("b")}, {Choice: 7, Text: []byte("never asked for")}, {Finish: completion.Stop}, {Choice: 1, Text: []byte("c"), Finish: completion.Length},
	})
	if text := out.String(); strings.Contains(text, "never") || !strings.Contains(text, `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0},{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"MAX_TOKENS","index":1}]`) {
		t.Error(text)
	}
}

// Pieces of an upstream of this wire pass through; the last one, with the cost, is held until the charge is known.
func TestPassed(t *testing.T) {
	t.Parallel()
	frame := func(data string) completion.Event {
		return completion.Event{Text: []byte("x"), Frames: []completion.Frame{{Data: []byte(data)}}}
	}
	begun := frame("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\n\"safetyRatings\":[]}],\"modelVersion\":\"secret-1\",\"usageMetadata\":{\"promptTokenCount\":1}}")
	ended := frame(`{"candidates":[{"finishReason":"STOP","avgLogprobs":-1}],"usageMetadata":{"promptTokenCount":10,"totalTokenCount":19},"modelVersion":"secret-1","responseId":"r"}`)
	var out bytes.Buffer
	s := gemini.NewStream(&out, gemini.Options{ID: "gen-1", N: 1}, false)
	_ = s.Start(relay.Served{Model: "x/y"})
	_ = s.Event(&begun)
	_ = s.Event(&ended)
	if strings.Contains(out.String(), "STOP") {
		t.Error("the end left before the charge")
	}
	again := frame(`{"candidates":[{"content":{"parts":[{"text":"late"}]}}]}`)
	_ = s.Event(&again)
	_ = s.End(relay.Receipt{Cost: cost})
	text := out.String()
	if strings.Contains(text, "secret-1") || strings.Contains(text, "late") || strings.Count(text, "\n") != 4 || !strings.Contains(text, `"totalTokenCount":19,"cost":0.25,`) || !strings.Contains(text, `"avgLogprobs":-1`) {
		t.Error(text)
	}
	for _, usage := range []string{`{"promptTokenCount":"10"}`, `null`, `{"promptTokenCount":-1}`, `{}`} {
		out.Reset()
		whole := frame(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":` + usage + `,"modelVersion":"secret-1"}`)
		send(t, gemini.NewWhole(&out, gemini.Options{ID: "gen-1", N: 1}), []completion.Event{whole})
		if !rawjson.Valid(out.Bytes()) || rawjson.Check(out.Bytes(), rawjson.Defaults) != nil || !strings.Contains(out.String(), `"cost":0.25`) || !strings.Contains(out.String(), "Left out.") {
			t.Errorf("%s: %s", usage, out.Bytes())
		}
	}
}

// A stream that breaks says so as an event, and once more bare; an array ends as valid JSON.
func TestFail(t *testing.T) {
	t.Parallel()
	const failure = `{"error":{"code":502,"status":"UNAVAILABLE"}}`
	for array, want := range map[bool]string{
		false: `data: {"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}],"modelVersion":"","responseId":"gen-1"}` + "\n\ndata: " + failure + "\n\n" + failure + "\n\n",
		true:  `[{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}],"modelVersion":"","responseId":"gen-1"}` + ",\r\n" + failure + "]",
	} {
		var out bytes.Buffer
		s := gemini.NewStream(&out, gemini.Options{ID: "gen-1", N: 1}, array)
		_ = s.Event(&completion.Event{Text: []byte("a")})
		_ = s.Fail([]byte(failure))
		_ = s.Event(&completion.Event{Text: []byte("b")})
		_ = s.End(relay.Receipt{})
		if out.String() != want {
			t.Errorf("got  %q\nwant %q", out.String(), want)
		}
	}
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	req, err := gemini.DecodeEmbed([]byte(`{"requests":[{"model":"models/x/y","content":{"parts":[{"text":"a"},{"inline_data":{"mime_type":"image/png","data":"QQ=="}}]},"task_type":"RETRIEVAL_QUERY","title":"t","outputDimensionality":3},{"content":{"parts":{"text":"b"}},"taskType":"RETRIEVAL_QUERY","outputDimensionality":3}],"provider":{"only":["p"]}}`), "x/y", true)
	if err != nil || fmt.Sprintf("%+v", req.Task) != `&{Inputs:[{Parts:[{Text:a ImageURL:} {Text: ImageURL:data:image/png;base64,QQ==}] Tokens:[]} {Parts:[{Text:b ImageURL:}] Tokens:[]}] Dimensions:3 InputType:search_query Base64:false Numbers: Asked:{Name: Value:[]} Extra:[]}` ||
		fmt.Sprint(req.Unknown) != "[title]" || req.Preferences.Only[0] != "p" || req.Models[0] != "x/y" {
		t.Errorf("%+v %v, %v", req, req.Task, err)
	}
	for body, param := range map[string]string{
		`{}`: "requests", `{"requests":[]}`: "requests", `{"requests":[{}]}`: "requests[0].content", `{"requests":[null]}`: "requests[0]",
		`{"requests":[{"content":{"parts":[{"text":""}]}}]}`:                                                               "requests[0].content.parts[0]",
		`{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"a"}]},"taskType":"CLUSTERING"}]}`: "requests[1].taskType",
		`{"requests":[{"content":{"parts":[{"text":"a"}]},"model":"models/a/b"}]}`:                                         "requests[0].model",
	} {
		_, err := gemini.DecodeEmbed([]byte(body), "x/y", true)
		var f *fault.Error
		if !errors.As(err, &f) || f.Param != param {
			t.Errorf("%s: %+v", body, err)
		}
	}
}
