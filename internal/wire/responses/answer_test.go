package responses_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	c "weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire/responses"
)

var update = flag.Bool("update", false, "write what came out into the golden files")

const question = `{"model":"test/asked","input":"Hi","include":["reasoning.encrypted_content"],"metadata":{"a":"b"}}`

var at = time.Unix(1_700_000_000, 0)

// options are those of an answer to body; ids count up.
func options(t rapid.TB, body string, keep func(responses.Kept)) responses.Options {
	t.Helper()
	req, err := responses.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	return responses.OptionsOf(req, responses.Options{
		ID: "resp_1", Created: at.Unix(), Stored: req.Store, Now: func() time.Time { return at.Add(time.Second) }, Keep: keep,
		NewID: func(prefix string) string { n++; return fmt.Sprintf("%s%d", prefix, n) },
	})
}

var (
	served  = relay.Served{Endpoint: &catalog.Endpoint{Provider: &catalog.Provider{Name: "Acme"}}, Model: "test/served", Head: c.Head{Tier: "priority"}}
	receipt = relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(10), CacheRead: usage.Of(4), Completion: usage.Of(7), Reasoning: usage.Of(2)}, Cost: 1_500_000, PromptCost: 500_000}
)

func stream(t rapid.TB, o responses.Options, events []c.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	s := responses.NewStream(&b, o)
	check(t, s.Start(served))
	for i := range events {
		check(t, s.Event(&events[i]))
	}
	check(t, s.End(receipt))
	return b.Bytes()
}

func whole(t rapid.TB, o responses.Options, events []c.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w := responses.NewWhole(&b, o)
	check(t, w.Start(served))
	for i := range events {
		check(t, w.Event(&events[i]))
	}
	check(t, w.End(receipt))
	return b.Bytes()
}

func check(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func say(s string) c.Event { return c.Event{Text: []byte(s)} }

func detail(s string) c.Event { return c.Event{ReasoningDetails: []byte(s), Reasoning: []byte("x")} }

func finish(r c.FinishReason) c.Event { return c.Event{Finish: r, Done: true} }

// answers are the kinds of answers there are.
var answers = map[string][]c.Event{
	"text":    {say("Hel"), say("lo \"you\"\n"), finish(c.Stop)},
	"thought": {{Reasoning: []byte("Let me ")}, {Reasoning: []byte("see.")}, say("Yes."), finish(c.Stop)},
	"signed": {detail(`[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"Let me "}]`), detail(`[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"see."}]`),
		detail(`[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","signature":"c2ln"}]`), detail(`[{"type":"reasoning.encrypted","index":1,"format":"anthropic-claude-v1","data":"cmVk"}]`), say("Yes."), finish(c.Stop)},
	"summary": {detail(`[{"type":"reasoning.summary","index":0,"format":"openai-responses-v1","summary":"In short"}]`), detail(`[{"type":"reasoning.encrypted","index":0,"id":"rs_9","format":"openai-responses-v1","data":"ZW5j"}]`), say("Yes."), finish(c.Stop)},
	"calls": {say("I look."), {ToolCalls: []c.ToolCall{{Index: 0, ID: "call_a", Name: "weather", Signature: "dGhpbms"}}}, {ToolCalls: []c.ToolCall{{Index: 0, Arguments: []byte(`{"city":`)}}},
		{ToolCalls: []c.ToolCall{{Index: 0, Arguments: []byte(`"Bonn"}`)}}}, {ToolCalls: []c.ToolCall{{Index: 1, Name: "time"}}}, finish(c.ToolCalls)},
	"custom":     {{ToolCalls: []c.ToolCall{{Index: 0, ID: "call_a", Name: "patch", Custom: true, Arguments: []byte("*** Begin")}}}, finish(c.ToolCalls)},
	"refusal":    {{Refusal: []byte("I can")}, {Refusal: []byte("not.")}, finish(c.Stop)},
	"incomplete": {say("As long as"), finish(c.Length)},
	"filtered":   {say("Well"), finish(c.ContentFilter)},
	"failed":     {say("As far as"), finish(c.Failed)},
	"images":     {say("Here:"), {Images: []byte(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,aW1n"},"url":"data:image/png;base64,aW1n"}]`), ImageCount: 1}, finish(c.Stop)},
	"annotations": {say("See "), say("there."), {Annotations: []byte(`[{"type":"url_citation","url_citation":{"url":"https://a.example","title":"A","start_index":0,"end_index":3,"content":"c"}}]`)},
		{Annotations: []byte(`[{"type":"url_citation","url_citation":{"url":"https://b.example","title":"B","start_index":4,"end_index":6}}]`)}, finish(c.Stop)},
	"logprobs": {{Text: []byte("a"), Logprobs: []byte(`{"content":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[]}],"refusal":null}`)},
		{Text: []byte("b"), Logprobs: []byte(`{"content":[{"token":"b","logprob":-0.2,"bytes":[98],"top_logprobs":[]}]}`)}, finish(c.Stop)},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, events := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name+".txtar")
			a, err := txtar.ParseFile(path)
			check(t, err)
			if len(bytes.TrimSpace(a.Comment)) == 0 {
				t.Error("a fixture begins with a sentence")
			}
			got := stream(t, options(t, question, nil), events)
			if *update {
				a.Files = []txtar.File{{Name: "want.sse", Data: got}}
				check(t, os.WriteFile(path, txtar.Format(a), 0o600))
			}
			if len(a.Files) != 1 || !bytes.Equal(a.Files[0].Data, got) {
				t.Errorf("got\n%s", got)
			}
			checkOrder(t, got)
		})
	}
}

// The object in the last event of a stream is the whole answer, to the byte.
func TestWholeIsTheEndOfTheStream(t *testing.T) {
	t.Parallel()
	for name, events := range answers {
		for _, body := range []string{question, `{"model":"test/asked","input":"Hi","store":true,"reasoning":{"exclude":true}}`, `{"model":"test/asked","input":"Hi","reasoning":{"summary":"auto"}}`} {
			checkSame(t, name, body, events)
		}
	}
}

func checkSame(t rapid.TB, name, body string, events []c.Event) {
	t.Helper()
	var kept [2]responses.Kept
	streamed := stream(t, options(t, body, func(k responses.Kept) { kept[0] = k }), events)
	object := whole(t, options(t, body, func(k responses.Kept) { kept[1] = k }), events)
	checkOrder(t, streamed)
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%s: %v: %s", name, err, object)
	}
	checkObject(t, o)
	if !bytes.Contains(streamed, append([]byte(`,"response":`), append(object, "}\n\ndata: [DONE]\n\n"...)...)) {
		t.Errorf("%s: the whole answer is\n%s\nand the stream\n%s", name, object, streamed)
	}
	for i := range kept {
		if !bytes.Equal(kept[i].Object, object) || !json.Valid(responses.Join(kept[i].Output)) || kept[i].Status != o["status"] || len(responses.Split(kept[i].Output)) != len(kept[i].IDs) {
			t.Errorf("%s: kept is %s %s of\n%s", name, kept[i].Object, kept[i].Output, object)
		}
	}
}

// A client that asks for a summary gets the reasoning as one, signed or not, and sends it back so that its provider recognizes it.
func TestSummary(t *testing.T) {
	t.Parallel()
	const body = `{"model":"test/asked","input":"Hi","store":false,"reasoning":{"effort":"high","summary":"auto"}}`
	for name, reasoning := range map[string]c.ReasoningDetail{"thought": {Text: "Let me see."}, "signed": {Format: c.FormatAnthropic, Text: "Let me see.", Signature: "c2ln"}} {
		streamed := stream(t, options(t, body, nil), answers[name])
		checkOrder(t, streamed)
		for _, want := range []string{"response.reasoning_summary_part.added", "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done", `"summary":[{"type":"summary_text","text":"Let me see."}],"encrypted_content"`} {
			if !bytes.Contains(streamed, []byte(want)) {
				t.Errorf("%s: no %s in\n%s", name, want, streamed)
			}
		}
		if bytes.Contains(streamed, []byte("reasoning_text")) {
			t.Errorf("%s: text beside the summary\n%s", name, streamed)
		}
		var o struct{ Output []json.RawMessage }
		if err := json.Unmarshal(whole(t, options(t, body, nil), answers[name]), &o); err != nil {
			t.Fatal(err)
		}
		back, err := responses.Decode(fmt.Appendf(nil, `{"model":"a/b","input":[%s]}`, o.Output[0]))
		check(t, err)
		p, err := back.Prompt()
		check(t, err)
		if got := p.Turns[0].Parts[0].Reasoning; *got != reasoning {
			t.Errorf("%s came back as %+v", name, got)
		}
	}
}

// Whatever comes in whatever order, the events obey the rules of the wire.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var events []c.Event
		calls := 0
		details := []string{
			`[{"type":"reasoning.text","index":%d,"format":"anthropic-claude-v1","text":"t"}]`, `[{"type":"reasoning.text","index":%d,"format":"anthropic-claude-v1","signature":"s"}]`,
			`[{"type":"reasoning.summary","index":%d,"summary":"u"}]`, `[{"type":"reasoning.encrypted","index":%d,"format":"openai-responses-v1","data":"d"}]`, `[{"type":"reasoning.encrypted","index":%d,"format":"google-gemini-v1","id":"call_1","data":"g"}]`,
		}
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0:
				events = append(events, say(rapid.StringN(1, 5, -1).Draw(t, "text")))
			case 1:
				events = append(events, c.Event{Reasoning: []byte("hm")})
			case 2:
				events = append(events, detail(fmt.Sprintf(rapid.SampledFrom(details).Draw(t, "detail"), rapid.IntRange(0, 3).Draw(t, "index"))))
			case 3:
				call := c.ToolCall{Index: calls, ID: rapid.SampledFrom([]string{"", "call_x"}).Draw(t, "id"), Name: "f", Custom: rapid.Bool().Draw(t, "custom"), Signature: rapid.SampledFrom([]string{"", "sig"}).Draw(t, "signature")}
				events = append(events, c.Event{ToolCalls: []c.ToolCall{call}})
				calls++
			case 4:
				if calls > 0 {
					events = append(events, c.Event{ToolCalls: []c.ToolCall{{Index: rapid.IntRange(0, calls-1).Draw(t, "call"), Arguments: []byte(`{"a":1}`)}}})
				}
			case 5:
				events = append(events, c.Event{Refusal: []byte("no")})
			case 6:
				events = append(events, c.Event{Images: []byte(`[{"url":"data:image/png;base64,aW1n"}]`), ImageCount: 1})
			case 7:
				events = append(events, c.Event{Annotations: []byte(`[{"type":"file","file":{}},{"type":"url_citation","url_citation":{"url":"u"}}]`)})
			}
		}
		events = append(events, finish(rapid.SampledFrom([]c.FinishReason{c.Stop, c.Length, c.ToolCalls, c.ContentFilter, c.Failed}).Draw(t, "finish")))
		body := rapid.SampledFrom([]string{question, `{"model":"a/b","input":"x"}`, `{"model":"a/b","input":"x","store":false}`, `{"model":"a/b","input":"x","reasoning":{"exclude":true}}`,
			`{"model":"a/b","input":"x","store":false,"reasoning":{"summary":"detailed"}}`}).Draw(t, "body")
		checkSame(t, "drawn", body, events)
	})
}

// What an attempt brought that broke is not in the answer of the next.
func TestWholeStartsAgain(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := responses.NewWhole(&b, options(t, question, nil))
	for _, text := range []string{"of an attempt that broke", "Fine."} {
		check(t, w.Start(served))
		check(t, w.Event(&c.Event{Text: []byte(text)}))
	}
	check(t, w.End(receipt))
	if !strings.Contains(b.String(), `"output_text":"Fine."`) || strings.Contains(b.String(), "broke") {
		t.Errorf("%s", b.String())
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	failure := []byte(`{"error":{"code":"server_error","message":"It broke."},"error_type":"provider_unavailable"}`)
	for name, begun := range map[string][]c.Event{"at once": nil, "in a message": {say("a")}, "in a call": {{ToolCalls: []c.ToolCall{{Index: 0, ID: "call_1", Name: "f", Arguments: []byte(`{"a`)}}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			s := responses.NewStream(&b, options(t, question, func(responses.Kept) { t.Error("a broken answer was kept") }))
			check(t, s.KeepAlive())
			if begun != nil {
				check(t, s.Start(served))
			}
			for i := range begun {
				check(t, s.Event(&begun[i]))
			}
			check(t, s.Fail(failure))
			check(t, s.Fail(failure))
			check(t, s.End(receipt))
			check(t, s.KeepAlive())
			object := checkOrder(t, bytes.TrimPrefix(b.Bytes(), []byte(": keep-alive\n")))
			if object["status"] != "failed" || object["error"].(map[string]any)["code"] != "server_error" || object["error_type"] != "provider_unavailable" || object["model"] == "" {
				t.Errorf("%v", object)
			}
		})
	}
}

// Reasoning that is sent back unchanged becomes the same reasoning again, whichever vendor made it.
func TestReasoningRoundTrip(t *testing.T) {
	t.Parallel()
	object := whole(t, options(t, question, nil), append(append([]c.Event{}, answers["signed"][:4]...), append(answers["summary"][:2:2], answers["calls"]...)...))
	var o struct{ Output []json.RawMessage }
	check(t, json.Unmarshal(object, &o))
	input, err := json.Marshal(o.Output)
	check(t, err)
	req, err := responses.Decode([]byte(`{"model":"a/b","input":` + string(input) + `}`))
	check(t, err)
	p, err := req.Prompt()
	check(t, err)
	var reasoning []c.ReasoningDetail
	for _, part := range p.Turns[0].Parts {
		if part.Reasoning != nil {
			reasoning = append(reasoning, *part.Reasoning)
		}
		if call := part.Call; call != nil && call.Name == "weather" && (call.Signature != "dGhpbms" || string(call.Arguments) != `{"city":"Bonn"}`) {
			t.Errorf("call %+v", call)
		}
	}
	want := []c.ReasoningDetail{
		{Format: c.FormatAnthropic, Text: "Let me see.", Signature: "c2ln"}, {Kind: c.ReasoningEncrypted, Format: c.FormatAnthropic, Data: "cmVk"},
		{Kind: c.ReasoningEncrypted, Format: c.FormatOpenAI, ID: "rs_9", Data: "ZW5j"},
	}
	var got []c.ReasoningDetail
	for _, th := range reasoning {
		if th.Kind != c.ReasoningSummary {
			got = append(got, th)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What is kept has everything that the next turn needs, also when the client is not shown it.
func TestKeptReasoning(t *testing.T) {
	t.Parallel()
	var kept responses.Kept
	object := whole(t, options(t, `{"model":"a/b","input":"x"}`, func(k responses.Kept) { kept = k }), append(answers["signed"][:3:3], answers["calls"]...))
	if strings.Contains(string(object), "encrypted_content") || strings.Count(string(kept.Output), "encrypted_content") != 2 {
		t.Errorf("shown\n%s\nkept\n%s", object, kept.Output)
	}
}

// Events of an upstream with this wire reach the client under our numbers, names and figures.
func TestPass(t *testing.T) {
	t.Parallel()
	message := `{"id":"msg_u","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Yo","annotations":[],"logprobs":[]}]}`
	reasoning := `{"id":"rs_u","type":"reasoning","status":"completed","summary":[],"encrypted_content":"ZW5j"}`
	frames := []c.Frame{
		{Name: "response.created", Data: []byte(`{"type":"response.created","sequence_number":7,"response":{"id":"resp_up"}}`)},
		{Name: "response.output_item.added", Data: []byte(`{"type":"response.output_item.added","sequence_number":8,"output_index":0,"item":{"id":"rs_u","type":"reasoning","status":"in_progress","summary":[],"encrypted_content":"a"}}`)},
		{Name: "response.output_item.done", Data: []byte(`{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":` + reasoning + `}`)},
		{Name: "response.output_item.added", Data: []byte("{\"type\":\"response.output_item.added\",\n\"output_index\":1,\"item\":{\"id\":\"msg_u\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"in_progress\",\"content\":[]}}")},
		{Name: "response.content_part.added", Data: []byte(`{"type":"response.content_part.added","item_id":"msg_u","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`)},
		{Name: "response.output_text.delta", Data: []byte(`{"type":"response.output_text.delta","item_id":"msg_u","output_index":1,"content_index":0,"delta":"Yo","logprobs":[],"obfuscation":"xx","new":1}`)},
		{Name: "response.output_text.done", Data: []byte(`{"type":"response.output_text.done","item_id":"msg_u","output_index":1,"content_index":0,"text":"Yo","logprobs":[]}`)},
		{Name: "response.content_part.done", Data: []byte(`{"type":"response.content_part.done","item_id":"msg_u","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Yo","annotations":[],"logprobs":[]}}`)},
		{Name: "response.output_item.done", Data: []byte(`{"type":"response.output_item.done","output_index":1,"item":` + message + `}`)},
	}
	object := `{"id":"resp_up","status":"completed","model":"up","output":[` + reasoning + `,` + message + `],"usage":{"input_tokens":999}}`
	events := []c.Event{{Text: []byte("Yo"), Frames: frames}, {Finish: c.Stop, Done: true, Frames: []c.Frame{{Name: "response.completed", Data: []byte(`{"type":"response.completed","response":` + object + `}`)}}}}
	for name, body := range map[string]string{"shown": question, "hidden": `{"model":"a/b","input":"x"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept responses.Kept
			got := stream(t, options(t, body, func(k responses.Kept) { kept = k }), events)
			o := checkOrder(t, got)
			if o["id"] != "resp_1" || o["model"] != "test/served" || o["output_text"] != "Yo" || bytes.Contains(got, []byte("resp_up")) || !bytes.Contains(got, []byte(`"new":1`)) || bytes.Contains(got, []byte("obfuscation")) {
				t.Errorf("%s", got)
			}
			if bytes.Contains(got, []byte("encrypted_content")) != (name == "shown") || string(kept.Output) != reasoning+","+message || fmt.Sprint(kept.IDs) != "[rs_u msg_u]" {
				t.Errorf("got %s\nkept %s %v", got, kept.Output, kept.IDs)
			}
			asWhole := whole(t, options(t, body, nil), []c.Event{{Text: []byte("Yo"), Done: true, Finish: c.Stop, Frames: []c.Frame{{Data: []byte(object)}}}})
			if !bytes.Contains(got, asWhole) {
				t.Errorf("whole\n%s\nstream\n%s", asWhole, got)
			}
		})
	}
	var b bytes.Buffer
	s := responses.NewStream(&b, options(t, question, nil))
	check(t, s.Start(served))
	check(t, s.Event(&c.Event{Frames: frames[:3]}))
	check(t, s.Fail([]byte(`{"error":{"code":"server_error","message":"m"},"error_type":"timeout"}`)))
	if o := checkOrder(t, b.Bytes()); o["status"] != "failed" || len(o["output"].([]any)) != 1 {
		t.Errorf("%s", b.Bytes())
	}
}

// Tools in a namespace have one flat name on other wires, and are called by both names on this one.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	body := `{"model":"a/b","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"1","namespace":"crm","name":"find","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"y"}],
		"tools":[{"type":"namespace","name":"crm","description":"d","tools":[{"type":"function","name":"find","parameters":{}},{"type":"custom","name":"note"}]},{"type":"function","name":"plain"}]}`
	req, err := responses.Decode([]byte(body))
	check(t, err)
	p, err := req.Prompt()
	check(t, err)
	if len(p.Tools) != 3 || p.Tools[0].Name != "crm__find" || p.Tools[1].Name != "crm__note" || p.Tools[2].Name != "plain" || p.Turns[1].Parts[0].Call.Name != "crm__find" || p.Turns[2].Parts[0].Result.Name != "crm__find" {
		t.Errorf("%+v %+v", p.Tools, p.Turns)
	}
	got := whole(t, options(t, body, nil), []c.Event{{ToolCalls: []c.ToolCall{{Index: 0, ID: "2", Name: "crm__find"}, {Index: 1, ID: "3", Name: "plain"}}}, finish(c.ToolCalls)})
	if !bytes.Contains(got, []byte(`"call_id":"2","namespace":"crm","name":"find"`)) || !bytes.Contains(got, []byte(`"call_id":"3","name":"plain"`)) {
		t.Errorf("%s", got)
	}
}
