package app_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/money"
)

// feature is a row of the grid.
type feature struct {
	name  string
	about string
	ask   func(*place) *ask // a request that must be refused where the feature is missing
	check func(*testing.T, *place)
}

var features = []feature{
	{name: "text", about: "a question and its exact answer; in a conversation, the last one", check: showText},
	{name: "system", about: "the instructions reach the model", check: showSystem},
	{name: "tools", about: "a tool is offered, called with arguments that conform to its schema, and its result used; required, named and forbidden calls are obeyed", check: showTools},
	{name: "parallel tools", about: "three calls in one answer and their results in one turn, also in another order; a client that wants one call gets one", check: showParallelTools},
	{
		name: "tool results with images", about: "an image in the result of a tool reaches the model", check: showToolImage,
		ask: func(p *place) *ask {
			call := called{"call_1", "camera", `{"city":"Perm"}`}
			return &ask{model: p.model("vision"), tools: []string{"camera"}, turns: []turn{p.user("Look."), {role: "assistant", calls: []called{call}}, {role: "user", results: []result{{id: call.id, text: "Here it is.", image: true}}}}}
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
		ask: func(p *place) *ask {
			return &ask{model: p.model("image"), turns: []turn{p.user("Draw a weir.")}, images: true}
		},
	},
	{name: "stop reasons", about: "end, length, tool calls and content filter, each in the style's own word", check: showStopReasons},
	{
		name: "stop sequences", about: "the text ends before the first of them", check: showStopSequences,
		ask: func(p *place) *ask {
			return &ask{model: p.model("echo"), turns: []turn{p.user("Over the weir HALT and on")}, stop: []string{"HALT"}}
		},
	},
	{name: "max tokens", about: "the answer ends there, with the right finish reason", check: showMaxTokens},
	{name: "usage", about: "tokens are those that the provider reports, and the charge is their exact price", check: showUsage},
	{name: "streaming", about: "the pieces of a stream make the whole answer: text, reasoning, calls and usage", check: showStreaming},
	{name: "prefill", about: "the model continues an answer that the client has begun", check: showPrefill},
	{name: "errors", about: "a refusal by the provider is a 400 in the style's envelope with the provider's message, a rate limit a 429 with Retry-After", check: showErrors},
}

// bill returns the cost of an answer at the prices of the grid's models.
func (s *said) bill(t *testing.T, hour bool) money.Nano {
	t.Helper()
	var sum money.Sum
	write := "0.125"
	if hour {
		write = "0.2"
	}
	reasoning := max(s.reasoned, 0)
	for _, line := range []struct {
		n     int64
		price string
	}{{s.prompt - s.read - s.written, "0.1"}, {s.read, "0.01"}, {s.written, write}, {s.answer - reasoning, "0.4"}, {reasoning, "0.3"}} {
		sum.PerThousand(line.n, price(t, line.price).Nano)
	}
	cost, err := sum.Ceil()
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

func (s *said) wantText(t *testing.T, text, finish string) {
	t.Helper()
	if s.text != text || s.finish != finish || len(s.calls) != 0 {
		t.Errorf("%q (%s, %d calls), want %q (%s)", s.text, s.finish, len(s.calls), text, finish)
	}
}

func showText(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("echo"), turns: []turn{p.user("Вода \"течёт\"\n\\ \u2028 水")}})
	s.wantText(t, "Вода \"течёт\"\n\\ \u2028 水 "+p.word, "stop")
	if s.model != p.model("echo") || s.id == "" || s.notice != "" || s.reasoning != "" {
		t.Errorf("%+v", s)
	}
	s = p.mustAsk(t, &ask{model: p.model("echo"), turns: []turn{p.user("First."), {role: "assistant", back: s.back}, p.user("Second.")}})
	s.wantText(t, "Second. "+p.word, "stop")
}

func showSystem(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("chat"), system: "[[sim tokens=7]] Be brief.", turns: []turn{p.user("What is a weir?")}})
	if s.answer != 7 || s.text == "" {
		t.Errorf("the instructions did not reach the model: %+v", s)
	}
}

func (s *said) wantCall(t *testing.T, names ...string) {
	t.Helper()
	seen := map[string]bool{}
	for i, c := range s.calls {
		if i >= len(names) || c.name != names[i] || c.arguments != `{"city":"Perm"}` || c.id == "" || seen[c.id] {
			t.Errorf("call %d: %+v", i, c)
		}
		seen[c.id] = true
	}
	if len(s.calls) != len(names) || s.finish != "tools" {
		t.Fatalf("%d calls, finish %s (%s), want %v", len(s.calls), s.finish, s.native, names)
	}
}

func showTools(t *testing.T, p *place) {
	q := &ask{model: p.model("tools"), tools: []string{"weather", "river"}, turns: []turn{p.user("What is the weather there?")}}
	s := p.mustAsk(t, q)
	s.wantCall(t, "weather")
	q.turns = append(q.turns, turn{role: "assistant", back: s.back}, turn{role: "user", results: []result{{id: s.calls[0].id, text: "Snow, -12"}}})
	if s = p.mustAsk(t, q); !strings.Contains(s.text, "weather: ") || !strings.Contains(s.text, "Snow, -12") || s.finish != "stop" {
		t.Errorf("the result did not reach the model: %+v", s)
	}
	q.turns = q.turns[:1]
	q.must = "-"
	if s = p.mustAsk(t, q); s.text == "" || len(s.calls) != 0 {
		t.Errorf("a forbidden call: %+v", s)
	}
	q.must, q.model = "*", p.model("echo") // this model calls a tool only if it must
	if s = p.mustAsk(t, q); p.dialect.name != "gigachat" {
		s.wantCall(t, "weather")
	} else if s.notice == "" {
		t.Errorf("no notice: %+v", s)
	}
	q.must = "river"
	p.mustAsk(t, q).wantCall(t, "river")
}

func showParallelTools(t *testing.T, p *place) {
	if p.dialect.name == "gigachat" {
		showCallsInTurn(t, p)
		return
	}
	names := []string{"weather", "river", "mill"}
	q := &ask{model: p.model("tools"), tools: names, turns: []turn{p.user("Tell me of the place.")}}
	s := p.mustAsk(t, q)
	s.wantCall(t, names...)
	q.turns = append(q.turns, turn{role: "assistant", back: s.back}, turn{role: "user", results: backwards(s.calls)})
	s = p.mustAsk(t, q)
	for i, name := range names {
		if !strings.Contains(s.text, fmt.Sprintf("%s: result %d", name, i)) {
			t.Errorf("the result of %s is missing: %s", name, s.text)
		}
	}
	q.turns, q.serial = q.turns[:1], true
	asked := p.style.name() != "gemini"
	cannot := !asked || p.dialect.name == "gemini" || p.dialect.name == "bedrock"
	if s = p.mustAsk(t, q); (len(s.calls) != 1) != cannot || asked && p.dialect.name == "gemini" && s.notice == "" {
		t.Errorf("%d calls where one was wanted", len(s.calls))
	}
}

// backwards returns the results of calls, in reverse order.
func backwards(calls []called) (results []result) {
	for i, c := range calls {
		results = append([]result{{id: c.id, text: fmt.Sprintf("result %d", i)}}, results...)
	}
	return results
}

// showCallsInTurn is for a wire with one call per answer. Parallel calls of another model are sent to it one after the other.
func showCallsInTurn(t *testing.T, p *place) {
	names := []string{"weather", "river", "mill"}
	q := &ask{model: p.model("tools"), tools: names, turns: []turn{p.user("Tell me of the place.")}}
	p.mustAsk(t, q).wantCall(t, names[0])
	var calls []called
	for _, name := range names {
		calls = append(calls, called{"call_" + name, name, `{"city":"Perm"}`})
	}
	q.turns = append(q.turns, turn{role: "assistant", calls: calls}, turn{role: "user", results: backwards(calls)})
	if s := p.mustAsk(t, q); !strings.Contains(s.text, "mill: ") || !strings.Contains(s.text, "result 2") { // the last step
		t.Errorf("%+v", s)
	}
	all := p.received()
	body, at := string(all[len(all)-1].body), 0
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
	q := &ask{model: p.model("vision"), tools: []string{"camera"}, must: "*", turns: []turn{p.user("Look.")}}
	s := p.mustAsk(t, q)
	s.wantCall(t, "camera")
	q.must = "-"
	q.turns = append(q.turns, turn{role: "assistant", back: s.back}, turn{role: "user", results: []result{{id: s.calls[0].id, text: "Here it is.", image: true}}})
	if s = p.mustAsk(t, q); !strings.Contains(s.text, "image png 5x3") || s.finish != "stop" {
		t.Errorf("the image did not reach the model: %+v", s)
	}
}

func askSearch(p *place) *ask {
	return &ask{model: p.model("echo"), tools: []string{"weather"}, search: true, turns: []turn{p.user("What is new?")}}
}

func showSearch(t *testing.T, p *place) {
	s := p.mustAsk(t, askSearch(p))
	s.wantText(t, "What is new? "+p.word, "stop")
	all := p.received()
	if last := string(all[len(all)-1].body); s.notice != "" || !strings.Contains(last, "web_search") {
		t.Errorf("notice %q, the upstream received %s", s.notice, last)
	}
}

func showSchema(t *testing.T, p *place) {
	schema := `{"type":"object","properties":{"city":{"type":"string","enum":["Perm"]},"mills":{"type":"integer","enum":[3]}},"required":["city","mills"],"additionalProperties":false}`
	s := p.mustAsk(t, &ask{model: p.model("chat"), schema: schema, turns: []turn{p.user("Answer in JSON.")}})
	got := decode[map[string]any](t, []byte(s.text))
	if len(got) != 2 || got["city"] != "Perm" || fmt.Sprint(got["mills"]) != "3" || s.finish != "stop" {
		t.Errorf("%+v", s)
	}
}

func showJSON(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("json"), json: true, turns: []turn{p.user("Answer in JSON.")}})
	if got := decode[map[string]any](t, []byte(s.text)); got == nil || s.finish != "stop" || s.notice != "" {
		t.Errorf("%+v", s)
	}
	asked := map[string]string{"openai": `"type":"json_object"`, "anthropic": "one JSON object", "gemini": `"responseMimeType":"application/json"`, "responses": `"type":"json_object"`, "bedrock": "one JSON object", "gigachat": `"schema":{"type":"object"}`}
	all := p.received()
	if last := string(all[len(all)-1].body); !strings.Contains(last, asked[p.dialect.name]) {
		t.Errorf("the instruction did not reach the model: %s", last)
	}
}

func showReasoning(t *testing.T, p *place) {
	q := &ask{model: p.model("reason"), effort: "low", turns: []turn{p.user("Why does water flow?")}}
	s := p.mustAsk(t, q)
	if !strings.HasPrefix(s.reasoning, "Let me think") || s.reasoned < 16 && p.counts() || s.text == "" || strings.Contains(s.text, "Let me think") || s.answer < 16 {
		t.Errorf("%+v", s)
	}
	q.effort = "none"
	s = p.mustAsk(t, q)
	switch off := s.reasoning == "" && s.reasoned <= 0; p.dialect.name {
	case "gemini":
	case "gigachat":
		if s.notice == "" {
			t.Errorf("no notice: %+v", s)
		}
	default:
		if !off {
			t.Errorf("it reasoned although it should not: %+v", s)
		}
	}
}

// counts reports whether providers of the dialect report reasoning tokens.
func (p *place) counts() bool { return p.dialect.name != "bedrock" && p.dialect.name != "gigachat" }

// showSignatures lets the simulator check its own signatures: the messages and Gemini wires refuse altered reasoning. Where a wire refuses
// a request without its signatures, the test shows that they were sent.
func showSignatures(t *testing.T, p *place) {
	q := &ask{model: p.model("reason"), effort: "low", tools: []string{"weather"}, turns: []turn{p.user("What is the weather?")}}
	for step := range 2 { // the second step has the signatures of both
		s := p.mustAsk(t, q)
		s.wantCall(t, "weather")
		if p.dialect.name != "openai" && len(s.signatures) == 0 || !strings.HasPrefix(s.reasoning, "Let me think") {
			t.Fatalf("no reasoning, or no signature: %+v", s)
		}
		q.turns = append(q.turns, turn{role: "assistant", back: s.back}, turn{role: "user", results: []result{{id: s.calls[0].id, text: "Snow"}}})
		after := p.mustAsk(t, q)
		if !strings.Contains(after.text, "Snow") || after.notice != "" {
			t.Errorf("%+v", after)
		}
		q.turns = append(q.turns, turn{role: "assistant", back: after.back}, p.user(fmt.Sprintf("And the weather tomorrow, %d?", step)))
	}
	p.mustAsk(t, q)
	all := p.received()
	last := string(all[len(all)-1].body)
	if p.dialect.name == "openai" { // reasoning of this wire has no signatures, but is sent back
		if !strings.Contains(last, "Let me think") || strings.Contains(last, "weir.1.") {
			t.Errorf("no reasoning was sent back: %s", last)
		}
		return
	}
	name := map[string]string{"anthropic": `"signature"`, "gemini": `"thoughtSignature"`, "responses": `"encrypted_content"`, "bedrock": `"signature"`, "gigachat": `"functions_state_id"`}[p.dialect.name]
	least := 2
	if p.dialect.name == "gemini" {
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
	q := &ask{model: p.model("chat"), system: p.long(), mark: mark, turns: []turn{p.user("What is a weir?")}}
	first := p.mustAsk(t, q)
	q.turns = append(q.turns, turn{role: "assistant", back: first.back}, p.user("And a mill?"))
	second := p.mustAsk(t, q)
	marks := p.dialect.name == "anthropic" || p.dialect.name == "bedrock"
	if first.read != 0 || (first.written > 1024) != marks || second.read < 1024 || second.written != 0 {
		t.Errorf("first read %d, wrote %d; then read %d, wrote %d", first.read, first.written, second.read, second.written)
	}
	hour := mark == "1h" && marks
	if spent := p.spent(t); spent != first.bill(t, hour)+second.bill(t, hour) {
		t.Errorf("charged are %s, %s and %s by usage", spent, first.bill(t, hour), second.bill(t, hour))
	}
	if first.bill(t, hour) <= 2*second.bill(t, hour) {
		t.Errorf("reading costs %s, writing cost %s", second.bill(t, hour), first.bill(t, hour))
	}
}

func showCaching(t *testing.T, p *place) { p.caching(t, "5m") }

func showHour(t *testing.T, p *place) { p.caching(t, "1h") }

func askMedium(medium string) func(*place) *ask {
	return func(p *place) *ask {
		return &ask{model: p.model("vision"), turns: []turn{p.user("What is this?", medium)}}
	}
}

func showMedium(medium, reported string) func(*testing.T, *place) {
	return func(t *testing.T, p *place) {
		s := p.mustAsk(t, askMedium(medium)(p))
		if all := p.received(); medium == "pdf" && p.dialect.name == "gigachat" {
			if !strings.Contains(string(all[len(all)-1].body), "Water over stones") || s.text == "" {
				t.Errorf("its text did not reach the model: %s", all[len(all)-1].body)
			}
			return
		}
		if !strings.Contains(s.text, reported) || s.finish != "stop" {
			t.Errorf("it did not reach the model: %+v", s)
		}
	}
}

func showImage(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("image"), turns: []turn{p.user("Draw a weir.")}, images: true})
	if s.images != 1 || s.text == "" {
		t.Errorf("%d images: %+v", s.images, s)
	}
	var sum money.Sum // 64 of the answer's tokens are the image's
	sum.PerThousand(s.prompt, price(t, "0.1").Nano)
	sum.PerThousand(s.answer-64, price(t, "0.4").Nano)
	sum.PerThousand(64, price(t, "2").Nano)
	cost, err := sum.Ceil()
	if spent := p.spent(t); err != nil || spent != cost {
		t.Errorf("charged are %s, want %s", spent, cost)
	}
}

func showStopReasons(t *testing.T, p *place) {
	for _, c := range []struct{ knob, finish string }{{"stop", "stop"}, {"length", "length"}, {"content_filter", "filter"}} {
		s := p.mustAsk(t, &ask{model: p.model("chat"), turns: []turn{p.user("[[sim finish=" + c.knob + "]] What is a weir?")}})
		if s.finish != c.finish || s.native == "" {
			t.Errorf("%s became %s, native %q", c.knob, s.finish, s.native)
		}
	}
	p.mustAsk(t, &ask{model: p.model("tools"), tools: []string{"weather"}, turns: []turn{p.user("How is it?")}}).wantCall(t, "weather")
}

func showStopSequences(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("echo"), turns: []turn{p.user("Over the weir HALT and on")}, stop: []string{"HALT", "never"}})
	s.wantText(t, "Over the weir ", "stop")
}

func showMaxTokens(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("echo"), turns: []turn{p.user(strings.Repeat("word ", 30))}, maxTokens: 17}) // the minimum of some providers is 16
	s.wantText(t, strings.TrimSuffix(strings.Repeat("word ", 17), " "), "length")
	if s.answer != 17 {
		t.Errorf("%d tokens", s.answer)
	}
}

func showUsage(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("echo"), turns: []turn{{role: "user", text: "alpha beta gamma"}}})
	if s.prompt != 10 || s.answer != 3 || s.read != 0 || s.written != 0 || s.reasoned > 0 { // 4 for the message, 3 at the end
		t.Errorf("%+v", s)
	}
	reasoned := p.mustAsk(t, &ask{model: p.model("reason"), effort: "low", turns: []turn{p.user("Why?")}})
	if reasoned.reasoned <= 0 && p.counts() {
		t.Errorf("reasoning was not counted: %+v", reasoned)
	}
	if spent := p.spent(t); spent != s.bill(t, false)+reasoned.bill(t, false) || spent == 0 {
		t.Errorf("charged are %s, %s and %s by usage", spent, s.bill(t, false), reasoned.bill(t, false))
	}
}

func showStreaming(t *testing.T, p *place) {
	for _, q := range []*ask{
		{model: p.model("chat"), turns: []turn{p.user("What is a weir, at some length?")}},
		{model: p.model("reason"), effort: "medium", turns: []turn{p.user("Why?")}},
		{model: p.model("tools"), tools: []string{"weather", "river"}, turns: []turn{p.user("Tell me.")}},
	} {
		whole, stream := p.account.mustAsk(t, p.style, q, false), p.account.mustAsk(t, p.style, q, true)
		whole.id, stream.id = "", ""
		whole.read, stream.read = 0, 0
		for _, s := range []*said{whole, stream} {
			for i := range s.calls {
				if p.dialect.name == "gigachat" { // this wire has no ids
					s.calls[i].id = ""
				}
			}
		}
		if is, want := fmt.Sprintf("%+v", *stream.comparable()), fmt.Sprintf("%+v", *whole.comparable()); is != want {
			t.Errorf("the stream has\n%s, whole it is\n%s", is, want)
		}
	}
}

// comparable returns the answer without the part that a client sends back, because the order of its members varies.
func (s *said) comparable() *said {
	out := *s
	out.back = nil
	return &out
}

func showPrefill(t *testing.T, p *place) {
	s := p.mustAsk(t, &ask{model: p.model("chat"), turns: []turn{p.user("What is a weir?"), {role: "assistant", text: "A weir is"}}})
	if s.text == "" || s.finish != "stop" {
		t.Errorf("%+v", s)
	}
	all := p.received()
	if last := string(all[len(all)-1].body); !strings.Contains(last, `"A weir is"`) || strings.LastIndex(last, "A weir is") < strings.LastIndex(last, p.word) {
		t.Errorf("the beginning of the answer did not reach the model: %s", last)
	}
}

func showErrors(t *testing.T, p *place) {
	for _, c := range []struct {
		fault  string
		status int
		kind   string
	}{{"u12", 400, "invalid_request"}, {"u12-context", 400, "context_length_exceeded"}, {"u9", 429, "rate_limit_exceeded"}} {
		got := p.account.ask(t, p.style, &ask{model: p.model("chat"), turns: []turn{p.user("[[sim fault=" + c.fault + "]] Hello")}}, p.stream)
		kind, message := p.style.failure(got.body)
		if got.status != c.status || kind != c.kind || len(message) < 10 {
			t.Errorf("%s: status %d: %s", c.fault, got.status, got.body)
		}
		if c.status == 429 && got.header.Get("Retry-After") != "7" {
			t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
		}
	}
	if spent := p.spent(t); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}
