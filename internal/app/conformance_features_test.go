package app_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/money"
)

// feature is a row of the grid.
type feature struct {
	name  string
	about string
	ask   func(*place) *apptest.Ask // a request that must be refused where the feature is missing
	check func(*testing.T, *place)
}

var features = []feature{
	{name: "text", about: "a question and its exact answer; in a conversation, the last one", check: showText},
	{name: "system", about: "the instructions reach the model", check: showSystem},
	{name: "tools", about: "a tool is offered, called with arguments that conform to its schema, and its result used; required, named and forbidden calls are obeyed", check: showTools},
	{name: "parallel tools", about: "three calls in one answer and their results in one turn, also in another order; a client that wants one call gets one", check: showParallelTools},
	{
		name: "tool results with images", about: "an image in the result of a tool reaches the model", check: showToolImage,
		ask: func(p *place) *apptest.Ask {
			call := apptest.Called{ID: "call_1", Name: "camera", Arguments: `{"city":"Perm"}`}
			return &apptest.Ask{Model: p.model("vision"), Tools: []string{"camera"}, Turns: []apptest.Turn{p.user("Look."), {Role: "assistant", Calls: []apptest.Called{call}}, {Role: "user", Results: []apptest.Result{{ID: call.ID, Text: "Here it is.", Image: true}}}}}
		},
	},
	{
		name: "web search offered", about: "tools and an optional web search, as coding agents send them; the request does not fail", check: showSearch,
		ask: askSearch,
	},
	{name: "structured output", about: "the answer conforms to the requested schema", check: showSchema},
	{name: "JSON without a schema", about: "the answer is a JSON object, and the model is instructed so", check: showJSON},
	{name: "reasoning", about: "reasoning is returned as reasoning and counted, as much as was requested; switched off, there is none", check: showReasoning},
	{name: "signatures", about: "reasoning and its signatures, sent back with the next request, reach the provider unchanged, and it verifies them", check: showSignatures},
	{name: "prompt caching", about: "a long beginning is written to the cache once and read the second time; both are counted and priced", check: showCaching},
	{name: "caching for an hour", about: "the same for one hour, with its own price where providers have one", check: showHour},
	{name: "image in", about: "an image reaches the model", check: showMedium("image", "image png 5x3"), ask: askMedium("image")},
	{name: "PDF in", about: "a document reaches the model", check: showMedium("pdf", "file"), ask: askMedium("pdf")},
	{name: "audio in", about: "audio reaches the model", check: showMedium("audio", "audio wav"), ask: askMedium("audio")},
	{
		name: "image out", about: "an image that the model made reaches the client, and is charged", check: showImage,
		ask: func(p *place) *apptest.Ask {
			return &apptest.Ask{Model: p.model("image"), Turns: []apptest.Turn{p.user("Draw a weir.")}, Images: true}
		},
	},
	{name: "stop reasons", about: "end, length, tool calls and content filter, each in the style's own word", check: showStopReasons},
	{
		name: "stop sequences", about: "the text ends before the first of them", check: showStopSequences,
		ask: func(p *place) *apptest.Ask {
			return &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Over the weir HALT and on")}, Stop: []string{"HALT"}}
		},
	},
	{name: "max tokens", about: "the answer ends there, with the right finish reason", check: showMaxTokens},
	{name: "usage", about: "tokens are those that the provider reports, and the charge is their exact price", check: showUsage},
	{name: "streaming", about: "the pieces of a stream make the whole answer: text, reasoning, calls and usage", check: showStreaming},
	{name: "prefill", about: "the model continues an answer that the client has begun", check: showPrefill},
	{name: "errors", about: "a refusal by the provider is a 400 in the style's envelope with the provider's message, a rate limit a 429 with Retry-After", check: showErrors},
}

func showText(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Вода \"течёт\"\n\\ \u2028 水")}})
	s.WantText(t, "Вода \"течёт\"\n\\ \u2028 水 "+p.word, "stop")
	if s.Model != p.model("echo") || s.ID == "" || s.Notice != "" || s.Reasoning != "" {
		t.Errorf("%+v", s)
	}
	s = p.mustAsk(t, &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("First."), {Role: "assistant", Back: s.Back}, p.user("Second.")}})
	s.WantText(t, "Second. "+p.word, "stop")
}

func showSystem(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("chat"), System: "[[sim tokens=7]] Be brief.", Turns: []apptest.Turn{p.user("What is a weir?")}})
	if s.Answer != 7 || s.Text == "" {
		t.Errorf("the instructions did not reach the model: %+v", s)
	}
}

func showTools(t *testing.T, p *place) {
	q := &apptest.Ask{Model: p.model("tools"), Tools: []string{"weather", "river"}, Turns: []apptest.Turn{p.user("What is the weather there?")}}
	s := p.mustAsk(t, q)
	s.WantCall(t, "weather")
	q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: s.Back}, apptest.Turn{Role: "user", Results: []apptest.Result{{ID: s.Calls[0].ID, Text: "Snow, -12"}}})
	if s = p.mustAsk(t, q); !strings.Contains(s.Text, "weather: ") || !strings.Contains(s.Text, "Snow, -12") || s.Finish != "stop" {
		t.Errorf("the result did not reach the model: %+v", s)
	}
	q.Turns = q.Turns[:1]
	q.Must = "-"
	if s = p.mustAsk(t, q); s.Text == "" || len(s.Calls) != 0 {
		t.Errorf("a forbidden call: %+v", s)
	}
	q.Must, q.Model = "*", p.model("echo") // this model calls a tool only if it must
	if s = p.mustAsk(t, q); p.dialect.Name != "gigachat" {
		s.WantCall(t, "weather")
	} else if s.Notice == "" {
		t.Errorf("no notice: %+v", s)
	}
	q.Must = "river"
	p.mustAsk(t, q).WantCall(t, "river")
}

func showParallelTools(t *testing.T, p *place) {
	if p.dialect.Name == "gigachat" {
		showCallsInTurn(t, p)
		return
	}
	names := []string{"weather", "river", "mill"}
	q := &apptest.Ask{Model: p.model("tools"), Tools: names, Turns: []apptest.Turn{p.user("Tell me of the place.")}}
	s := p.mustAsk(t, q)
	s.WantCall(t, names...)
	q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: s.Back}, apptest.Turn{Role: "user", Results: backwards(s.Calls)})
	s = p.mustAsk(t, q)
	for i, name := range names {
		if !strings.Contains(s.Text, fmt.Sprintf("%s: result %d", name, i)) {
			t.Errorf("the result of %s is missing: %s", name, s.Text)
		}
	}
	q.Turns, q.Serial = q.Turns[:1], true
	asked := p.style.Name() != "gemini"
	cannot := !asked || p.dialect.Name == "gemini" || p.dialect.Name == "bedrock"
	if s = p.mustAsk(t, q); (len(s.Calls) != 1) != cannot || asked && p.dialect.Name == "gemini" && s.Notice == "" {
		t.Errorf("%d calls where one was wanted", len(s.Calls))
	}
}

// backwards returns the results of calls, in reverse order.
func backwards(calls []apptest.Called) (results []apptest.Result) {
	for i, c := range calls {
		results = append([]apptest.Result{{ID: c.ID, Text: fmt.Sprintf("result %d", i)}}, results...)
	}
	return results
}

// showCallsInTurn is for a wire with one call per answer. Parallel calls of another model are sent to it one after the other.
func showCallsInTurn(t *testing.T, p *place) {
	names := []string{"weather", "river", "mill"}
	q := &apptest.Ask{Model: p.model("tools"), Tools: names, Turns: []apptest.Turn{p.user("Tell me of the place.")}}
	p.mustAsk(t, q).WantCall(t, names[0])
	var calls []apptest.Called
	for _, name := range names {
		calls = append(calls, apptest.Called{ID: "call_" + name, Name: name, Arguments: `{"city":"Perm"}`})
	}
	q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Calls: calls}, apptest.Turn{Role: "user", Results: backwards(calls)})
	if s := p.mustAsk(t, q); !strings.Contains(s.Text, "mill: ") || !strings.Contains(s.Text, "result 2") { // the last step
		t.Errorf("%+v", s)
	}
	all := p.received()
	body, at := string(all[len(all)-1].Body), 0
	for i, name := range names {
		call := strings.Index(body, `"function_call":{"name":"`+name+`"`)
		reported := strings.Index(body, fmt.Sprintf("result %d", i))
		if call < at || reported < call {
			t.Errorf("%s and its result are at %d and %d: %s", name, call, reported, body)
		}
		at = reported
	}
}

func showToolImage(t *testing.T, p *place) {
	q := &apptest.Ask{Model: p.model("vision"), Tools: []string{"camera"}, Must: "*", Turns: []apptest.Turn{p.user("Look.")}}
	s := p.mustAsk(t, q)
	s.WantCall(t, "camera")
	q.Must = "-"
	q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: s.Back}, apptest.Turn{Role: "user", Results: []apptest.Result{{ID: s.Calls[0].ID, Text: "Here it is.", Image: true}}})
	if s = p.mustAsk(t, q); !strings.Contains(s.Text, "image png 5x3") || s.Finish != "stop" {
		t.Errorf("the image did not reach the model: %+v", s)
	}
}

func askSearch(p *place) *apptest.Ask {
	return &apptest.Ask{Model: p.model("echo"), Tools: []string{"weather"}, Search: true, Turns: []apptest.Turn{p.user("What is new?")}}
}

func showSearch(t *testing.T, p *place) {
	s := p.mustAsk(t, askSearch(p))
	s.WantText(t, "What is new? "+p.word, "stop")
	all := p.received()
	if last := string(all[len(all)-1].Body); s.Notice != "" || !strings.Contains(last, "web_search") {
		t.Errorf("notice %q, the upstream received %s", s.Notice, last)
	}
}

func showSchema(t *testing.T, p *place) {
	schema := `{"type":"object","properties":{"city":{"type":"string","enum":["Perm"]},"mills":{"type":"integer","enum":[3]}},"required":["city","mills"],"additionalProperties":false}`
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("chat"), Schema: schema, Turns: []apptest.Turn{p.user("Answer in JSON.")}})
	got := apptest.Decode[map[string]any](t, []byte(s.Text))
	if len(got) != 2 || got["city"] != "Perm" || fmt.Sprint(got["mills"]) != "3" || s.Finish != "stop" {
		t.Errorf("%+v", s)
	}
}

func showJSON(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("json"), JSON: true, Turns: []apptest.Turn{p.user("Answer in JSON.")}})
	if got := apptest.Decode[map[string]any](t, []byte(s.Text)); got == nil || s.Finish != "stop" || s.Notice != "" {
		t.Errorf("%+v", s)
	}
	asked := map[string]string{"openai": `"type":"json_object"`, "anthropic": "one JSON object", "gemini": `"responseMimeType":"application/json"`, "responses": `"type":"json_object"`, "bedrock": "one JSON object", "gigachat": `"schema":{"type":"object"}`}
	all := p.received()
	if last := string(all[len(all)-1].Body); !strings.Contains(last, asked[p.dialect.Name]) {
		t.Errorf("the instruction did not reach the model: %s", last)
	}
}

func showReasoning(t *testing.T, p *place) {
	q := &apptest.Ask{Model: p.model("reason"), Effort: "low", Turns: []apptest.Turn{p.user("Why does water flow?")}}
	s := p.mustAsk(t, q)
	if !strings.HasPrefix(s.Reasoning, "Let me think") || s.Reasoned < 16 && p.counts() || s.Text == "" || strings.Contains(s.Text, "Let me think") || s.Answer < 16 {
		t.Errorf("%+v", s)
	}
	q.Effort = "none"
	s = p.mustAsk(t, q)
	switch off := s.Reasoning == "" && s.Reasoned <= 0; p.dialect.Name {
	case "gemini":
	case "gigachat":
		if s.Notice == "" {
			t.Errorf("no notice: %+v", s)
		}
	default:
		if !off {
			t.Errorf("it reasoned although it should not: %+v", s)
		}
	}
}

// counts reports whether providers of the dialect report reasoning tokens.
func (p *place) counts() bool { return p.dialect.Name != "bedrock" && p.dialect.Name != "gigachat" }

// showSignatures lets the simulator check its own signatures: the messages and Gemini wires refuse altered reasoning. Where a wire refuses
// a request without its signatures, the test shows that they were sent.
func showSignatures(t *testing.T, p *place) {
	q := &apptest.Ask{Model: p.model("reason"), Effort: "low", Tools: []string{"weather"}, Turns: []apptest.Turn{p.user("What is the weather?")}}
	for step := range 2 { // the second step has the signatures of both
		s := p.mustAsk(t, q)
		s.WantCall(t, "weather")
		if p.dialect.Name != "openai" && len(s.Signatures) == 0 || !strings.HasPrefix(s.Reasoning, "Let me think") {
			t.Fatalf("no reasoning, or no signature: %+v", s)
		}
		q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: s.Back}, apptest.Turn{Role: "user", Results: []apptest.Result{{ID: s.Calls[0].ID, Text: "Snow"}}})
		after := p.mustAsk(t, q)
		if !strings.Contains(after.Text, "Snow") || after.Notice != "" {
			t.Errorf("%+v", after)
		}
		q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: after.Back}, p.user(fmt.Sprintf("And the weather tomorrow, %d?", step)))
	}
	p.mustAsk(t, q)
	all := p.received()
	last := string(all[len(all)-1].Body)
	if p.dialect.Name == "openai" { // reasoning of this wire has no signatures, but is sent back
		if !strings.Contains(last, "Let me think") || strings.Contains(last, "weir.1.") {
			t.Errorf("no reasoning was sent back: %s", last)
		}
		return
	}
	name := map[string]string{"anthropic": `"signature"`, "gemini": `"thoughtSignature"`, "responses": `"encrypted_content"`, "bedrock": `"signature"`, "gigachat": `"functions_state_id"`}[p.dialect.Name]
	least := 2
	if p.dialect.Name == "gemini" {
		least = 4 // it also signs texts
	}
	if n := strings.Count(last, name); n < least || strings.Contains(last, "skip_thought") || strings.Contains(last, "weir.1.") {
		t.Errorf("%d signatures were sent back: %s", n, last)
	}
}

// long is a text of more than a thousand tokens that is unique to the cell.
func (p *place) long() string {
	return p.word + strings.Repeat(" water", 1200)
}

func (p *place) caching(t *testing.T, mark string) {
	q := &apptest.Ask{Model: p.model("chat"), System: p.long(), Mark: mark, Turns: []apptest.Turn{p.user("What is a weir?")}}
	first := p.mustAsk(t, q)
	q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: first.Back}, p.user("And a mill?"))
	second := p.mustAsk(t, q)
	marks := p.dialect.Name == "anthropic" || p.dialect.Name == "bedrock"
	if first.Read != 0 || (first.Written > 1024) != marks || second.Read < 1024 || second.Written != 0 {
		t.Errorf("first read %d, wrote %d; then read %d, wrote %d", first.Read, first.Written, second.Read, second.Written)
	}
	hour := mark == "1h" && marks
	if spent := p.spent(t); spent != first.Bill(t, hour)+second.Bill(t, hour) {
		t.Errorf("charged are %s, %s and %s by usage", spent, first.Bill(t, hour), second.Bill(t, hour))
	}
	if first.Bill(t, hour) <= 2*second.Bill(t, hour) {
		t.Errorf("reading costs %s, writing cost %s", second.Bill(t, hour), first.Bill(t, hour))
	}
}

func showCaching(t *testing.T, p *place) { p.caching(t, "5m") }

func showHour(t *testing.T, p *place) { p.caching(t, "1h") }

func askMedium(medium string) func(*place) *apptest.Ask {
	return func(p *place) *apptest.Ask {
		return &apptest.Ask{Model: p.model("vision"), Turns: []apptest.Turn{p.user("What is this?", medium)}}
	}
}

func showMedium(medium, reported string) func(*testing.T, *place) {
	return func(t *testing.T, p *place) {
		s := p.mustAsk(t, askMedium(medium)(p))
		if all := p.received(); medium == "pdf" && p.dialect.Name == "gigachat" {
			if !strings.Contains(string(all[len(all)-1].Body), "Water over stones") || s.Text == "" {
				t.Errorf("its text did not reach the model: %s", all[len(all)-1].Body)
			}
			return
		}
		if !strings.Contains(s.Text, reported) || s.Finish != "stop" {
			t.Errorf("it did not reach the model: %+v", s)
		}
	}
}

func showImage(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("image"), Turns: []apptest.Turn{p.user("Draw a weir.")}, Images: true})
	if s.Images != 1 || s.Text == "" {
		t.Errorf("%d images: %+v", s.Images, s)
	}
	var sum money.Sum // 64 of the answer's tokens are the image's
	sum.PerThousand(s.Prompt, apptest.Price(t, "0.1").Nano)
	sum.PerThousand(s.Answer-64, apptest.Price(t, "0.4").Nano)
	sum.PerThousand(64, apptest.Price(t, "2").Nano)
	cost, err := sum.Ceil()
	if spent := p.spent(t); err != nil || spent != cost {
		t.Errorf("charged are %s, want %s", spent, cost)
	}
}

func showStopReasons(t *testing.T, p *place) {
	for _, c := range []struct{ knob, finish string }{{"stop", "stop"}, {"length", "length"}, {"content_filter", "filter"}} {
		s := p.mustAsk(t, &apptest.Ask{Model: p.model("chat"), Turns: []apptest.Turn{p.user("[[sim finish=" + c.knob + "]] What is a weir?")}})
		if s.Finish != c.finish || s.Native == "" {
			t.Errorf("%s became %s, native %q", c.knob, s.Finish, s.Native)
		}
	}
	p.mustAsk(t, &apptest.Ask{Model: p.model("tools"), Tools: []string{"weather"}, Turns: []apptest.Turn{p.user("How is it?")}}).WantCall(t, "weather")
}

func showStopSequences(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user("Over the weir HALT and on")}, Stop: []string{"HALT", "never"}})
	s.WantText(t, "Over the weir ", "stop")
}

func showMaxTokens(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{p.user(strings.Repeat("word ", 30))}, MaxTokens: 17}) // the minimum of some providers is 16
	s.WantText(t, strings.TrimSuffix(strings.Repeat("word ", 17), " "), "length")
	if s.Answer != 17 {
		t.Errorf("%d tokens", s.Answer)
	}
}

func showUsage(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("echo"), Turns: []apptest.Turn{{Role: "user", Text: "alpha beta gamma"}}})
	if s.Prompt != 10 || s.Answer != 3 || s.Read != 0 || s.Written != 0 || s.Reasoned > 0 { // 4 for the message, 3 at the end
		t.Errorf("%+v", s)
	}
	reasoned := p.mustAsk(t, &apptest.Ask{Model: p.model("reason"), Effort: "low", Turns: []apptest.Turn{p.user("Why?")}})
	if reasoned.Reasoned <= 0 && p.counts() {
		t.Errorf("reasoning was not counted: %+v", reasoned)
	}
	if spent := p.spent(t); spent != s.Bill(t, false)+reasoned.Bill(t, false) || spent == 0 {
		t.Errorf("charged are %s, %s and %s by usage", spent, s.Bill(t, false), reasoned.Bill(t, false))
	}
}

func showStreaming(t *testing.T, p *place) {
	for _, q := range []*apptest.Ask{
		{Model: p.model("chat"), Turns: []apptest.Turn{p.user("What is a weir, at some length?")}},
		{Model: p.model("reason"), Effort: "medium", Turns: []apptest.Turn{p.user("Why?")}},
		{Model: p.model("tools"), Tools: []string{"weather", "river"}, Turns: []apptest.Turn{p.user("Tell me.")}},
	} {
		whole, stream := p.Account.MustAsk(t, p.style, q, false), p.Account.MustAsk(t, p.style, q, true)
		whole.ID, stream.ID = "", ""
		whole.Read, stream.Read = 0, 0
		for _, s := range []*apptest.Said{whole, stream} {
			for i := range s.Calls {
				if p.dialect.Name == "gigachat" { // this wire has no ids
					s.Calls[i].ID = ""
				}
			}
		}
		if is, want := fmt.Sprintf("%+v", *stream.Comparable()), fmt.Sprintf("%+v", *whole.Comparable()); is != want {
			t.Errorf("the stream has\n%s, whole it is\n%s", is, want)
		}
	}
}

func showPrefill(t *testing.T, p *place) {
	s := p.mustAsk(t, &apptest.Ask{Model: p.model("chat"), Turns: []apptest.Turn{p.user("What is a weir?"), {Role: "assistant", Text: "A weir is"}}})
	if s.Text == "" || s.Finish != "stop" {
		t.Errorf("%+v", s)
	}
	all := p.received()
	if last := string(all[len(all)-1].Body); !strings.Contains(last, `"A weir is"`) || strings.LastIndex(last, "A weir is") < strings.LastIndex(last, p.word) {
		t.Errorf("the beginning of the answer did not reach the model: %s", last)
	}
}

func showErrors(t *testing.T, p *place) {
	for _, c := range []struct {
		fault  string
		status int
		kind   string
	}{{"u12", 400, "invalid_request"}, {"u12-context", 400, "context_length_exceeded"}, {"u9", 429, "rate_limit_exceeded"}} {
		got := p.Account.Ask(t, p.style, &apptest.Ask{Model: p.model("chat"), Turns: []apptest.Turn{p.user("[[sim fault=" + c.fault + "]] Hello")}}, p.stream)
		kind, message := p.style.Failure(got.Body)
		if got.Status != c.status || kind != c.kind || len(message) < 10 {
			t.Errorf("%s: status %d: %s", c.fault, got.Status, got.Body)
		}
		if c.status == 429 && got.Header.Get("Retry-After") != "7" {
			t.Errorf("Retry-After %q", got.Header.Get("Retry-After"))
		}
	}
	if spent := p.spent(t); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}
