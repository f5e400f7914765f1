package sim

import (
	"cmp"
	"strconv"
	"strings"
)

// ask is one request in terms that every wire shares.
type ask struct {
	name    string // the model as the caller wrote it
	persona *Model
	knobs   knobs

	turns    []turn
	overhead int // prompt tokens beside the turns: tools and schema

	tools    []tool
	choice   toolChoice
	parallel bool
	format   format
	schema   *node // of jsonSchema

	n         int
	maxTokens int // 0: none
	stops     []string
	seed      string // as written
	effort    string // "" missing
	logprobs  bool
	top       int

	thinking bool // the caller asked for so many tokens of it as thought says
	thought  int
	redact   bool     // thinking comes in a form that only the provider reads
	mute     bool     // nothing is to be said: the prompt is only to be remembered
	searches bool     // the provider may search the web
	hosted   []string // other tools that the provider may run, by what a call of each is named
	marks    *marks   // what the caller wants remembered of its prompt; nil: the provider decides

	wantImage, wantAudio bool
	width, height        int // of a picture; 0: eight by eight
	audioFormat          string

	stream, streamUsage bool
}

type format uint8

const (
	plainText format = iota
	anyJSON
	jsonSchema
)

type turn struct {
	role   string
	text   string
	media  []medium
	calls  []string // names and arguments of tool calls, for the prompt's digest and count
	result string   // of a tool turn: the name of the tool that was called
}

type tool struct {
	name   string
	schema *node // nil: no arguments
	custom bool  // takes free text
}

// toolChoice is what may be called: mode none, auto or required, and the names allowed (nil: all).
type toolChoice struct {
	mode string
	only []string
}

func (c *toolChoice) allows(name string) bool {
	if c.only == nil {
		return true
	}
	for _, n := range c.only {
		if n == name {
			return true
		}
	}
	return false
}

// answer is what the simulator says to an ask.
type answer struct {
	id      uint64
	choices []choice
	usage   tally
}

type choice struct {
	reasoning string
	text      string
	calls     []call
	images    []string // data URLs
	audio     *sound
	finish    string
	stopped   string // the stop sequence that ended the text
	refused   bool   // the text says that nothing will be said
	found     *found // by a search of the web
	searches  int    // how many brought it
	ran       []ran  // calls of other tools that the provider runs
	seed      random // of what is written beside the text, such as logprobs
}

// found is what a search brought.
type found struct {
	id, query, url, title string
}

type call struct {
	id, name, arguments string
	custom              bool
}

// tally counts tokens. Those of the second line are part of prompt or completion.
type tally struct {
	prompt, completion                                     int
	cached, promptAudio, reasoning, outputAudio, outputImg int
	written, writtenHour                                   int // into the prompt cache, for minutes and for an hour
	searches, fetches                                      int
}

const (
	tokensPerTurn = 4
	tokensAtEnd   = 3
	tokensOfImage = 64 // an image produced
)

// reply works out the answer. The same ask gets the same answer, but for cached tokens, which depend on what came before.
func (s *Host) reply(a *ask) answer {
	d := a.digest()
	out := answer{id: uint64(d)}
	out.usage.prompt, out.usage.promptAudio = a.promptTokens()
	if a.marks != nil {
		a.marks.settle(&s.cache, &out.usage)
	} else {
		out.usage.cached = s.cache.seen(a)
	}
	for i := range a.n {
		rnd := random(uint64(d) + uint64(i)*0x9e3779b97f4a7c15)
		c := a.choose(&rnd)
		c.seed = rnd
		out.usage.add(&c, a.maxTokens)
		out.choices = append(out.choices, c)
	}
	return out
}

// add counts a choice; its parts that cannot be cut, such as the name of a tool, never make it more than limit (0: none).
func (t *tally) add(c *choice, limit int) {
	reasoning := countTokens(c.reasoning)
	n := reasoning + countTokens(c.text)
	for _, call := range c.calls {
		n += tokensPerTurn + countTokens(call.name) + countTokens(call.arguments)
	}
	if c.audio != nil {
		n += countTokens(c.audio.transcript) + c.audio.tokens()
		t.outputAudio += c.audio.tokens()
	}
	if limit > 0 {
		n = min(n, limit)
	}
	t.searches += c.searches
	for i := range c.ran {
		if c.ran[i].tool == "web_fetch" {
			t.fetches++
		}
	}
	t.outputImg += tokensOfImage * len(c.images)
	t.reasoning += reasoning
	t.completion += n + tokensOfImage*len(c.images)
}

// digest is over all that the text depends on. How much of the text is wanted and how it travels is not part of it, so that
// a stream says what the whole answer says and max_tokens cuts the same text.
func (a *ask) digest() digest {
	d := newDigest
	d.add(a.persona.Name)
	d.add(a.seed)
	d.add(strconv.FormatUint(a.knobs.seed, 10))
	for i := range a.turns {
		t := &a.turns[i]
		d.add(t.role)
		d.add(t.text)
		for j := range t.media {
			d.add(t.media[j].String())
		}
		for _, c := range t.calls {
			d.add(c)
		}
	}
	return d
}

func (a *ask) promptTokens() (all, audio int) {
	all = tokensAtEnd + a.overhead
	for i := range a.turns {
		t := &a.turns[i]
		all += tokensPerTurn + countTokens(t.text)
		for j := range t.media {
			n := t.media[j].tokens()
			all += n
			if t.media[j].kind == "audio" {
				audio += n
			}
		}
		for _, c := range t.calls {
			all += countTokens(c)
		}
	}
	return all, audio
}

// last is the last turn of a role, nil when there is none.
func (a *ask) last(role string) *turn {
	for i := len(a.turns) - 1; i >= 0; i-- {
		if a.turns[i].role == role {
			return &a.turns[i]
		}
	}
	return nil
}

// question is the last user text.
func (a *ask) question() string {
	if t := a.last("user"); t != nil {
		return t.text
	}
	return ""
}

func (a *ask) choose(rnd *random) choice {
	var c choice
	if a.mute {
		return choice{finish: "length"}
	}
	lang := languageOf(a.question())
	if a.knobs.finish == "refusal" {
		return choice{text: lang.refusal, refused: true, finish: "refusal"}
	}
	if n := a.reasoningTokens(); n > 0 {
		c.reasoning = lang.prose(rnd, lang.thinking+lang.stop, n)
	}
	if c.calls = a.callTools(rnd); len(c.calls) > 0 {
		c.finish = "tool_calls"
	} else {
		a.say(&c, lang, rnd)
	}
	a.limit(&c)
	if a.knobs.finish != "" {
		c.finish = a.knobs.finish
	}
	return c
}

func (a *ask) say(c *choice, lang *language, rnd *random) {
	c.finish = "stop"
	if a.searches && a.resultsAtEnd() == nil {
		id := hexOf(rnd.next())
		c.found = &found{id: id, query: strings.Join(strings.Fields(a.question()), " "), url: "https://sim.invalid/" + id, title: lang.sentence(rnd)}
	}
	if a.resultsAtEnd() == nil {
		a.run(c, rnd)
	}
	c.text = a.text(lang, rnd)
	for _, stop := range a.stops {
		if at := strings.Index(c.text, stop); at >= 0 && stop != "" {
			c.text, c.stopped = c.text[:at], stop
		}
	}
	if a.wantImage {
		c.images = []string{picture(rnd.next(), a.width, a.height)}
	}
	if a.wantAudio {
		c.audio = speech(a.audioFormat, c.text, rnd.next())
		c.text = ""
	}
}

// limit applies the cap on tokens, which reasoning counts against too.
func (a *ask) limit(c *choice) {
	if a.maxTokens == 0 {
		return
	}
	left, cut := a.maxTokens, false
	trim := func(s string) string {
		s, over := cutTokens(s, left)
		left -= countTokens(s)
		cut = cut || over
		return s
	}
	c.reasoning = trim(c.reasoning)
	c.text = trim(c.text)
	for i := range c.calls {
		c.calls[i].arguments = trim(c.calls[i].arguments)
	}
	if c.audio != nil {
		c.audio.transcript = trim(c.audio.transcript)
	}
	if cut {
		c.finish, c.stopped = "length", ""
	}
}

var effortTokens = map[string]int{"none": 0, "minimal": 8, "low": 16, "medium": 48, "high": 128, "xhigh": 256, "max": 512}

func (a *ask) reasoningTokens() int {
	if a.thinking {
		return a.thought
	}
	if a.effort == "" && a.persona.Name == "reason" {
		return effortTokens["medium"]
	}
	return effortTokens[a.effort]
}

func (a *ask) text(lang *language, rnd *random) string {
	switch {
	case a.format == jsonSchema:
		return string(invent(nil, a.schema, *rnd, a.words()))
	case a.format == anyJSON || a.persona.Name == "json":
		return string(a.freeJSON(lang, rnd))
	case a.persona.Name == "echo" && a.resultsAtEnd() == nil:
		return a.question()
	}
	var parts []string
	if found := a.describe(lang); found != "" {
		parts = append(parts, found)
	}
	if results := a.resultsAtEnd(); results != nil {
		parts = append(parts, lang.results+": "+strings.Join(results, "; ")+lang.stop)
	} else if q := lang.quote(a.question()); q != "" {
		parts = append(parts, q)
	}
	tokens := a.knobs.tokens
	if tokens == 0 && a.knobs.frames > 0 {
		tokens = min(a.knobs.frames*max(a.knobs.chunk, 1), maxTokens)
	}
	return lang.prose(rnd, strings.Join(parts, lang.space), tokens)
}

func (a *ask) freeJSON(lang *language, rnd *random) []byte {
	out := appendText([]byte(`{"answer":`), lang.sentence(rnd))
	out = append(out, `,"number":`...)
	out = appendInt(out, rnd.below(100))
	if results := a.resultsAtEnd(); results != nil {
		out = append(out, `,"results":[`...)
		for i, r := range results {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendText(out, r)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// resultsAtEnd are the tool results that the conversation ends with, as "name: text".
func (a *ask) resultsAtEnd() []string {
	from := len(a.turns)
	for from > 0 && a.turns[from-1].role == "tool" {
		from--
	}
	var out []string
	for _, t := range a.turns[from:] {
		out = append(out, t.result+": "+t.text)
	}
	return out
}

// describe reports what was given beside text, in all user and tool turns.
func (a *ask) describe(lang *language) string {
	var all []medium
	for i := range a.turns {
		all = append(all, a.turns[i].media...)
	}
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(lang.given + lang.space + strconv.Itoa(len(all)) + ": ")
	for i := range all {
		if i > 0 {
			b.WriteString(lang.comma)
		}
		b.WriteString(all[i].in(lang))
	}
	b.WriteString(lang.stop)
	return b.String()
}

// words are those of the question that may serve as values: names and figures first, else the longer words.
func (a *ask) words() []string {
	var names, long []string
	for i, w := range strings.Fields(a.question()) {
		w = strings.TrimFunc(w, func(r rune) bool { return !letter(r) && !spaceless(r) })
		switch {
		case w == "":
		case i > 0 && capital(w) == w:
			names = append(names, w)
		case len(w) > 4:
			long = append(long, w)
		}
		if len(names)+len(long) > 50 {
			break
		}
	}
	if len(names) > 0 {
		return names
	}
	return long
}

const callsUnasked = 3

// callTools decides which tools are called. After results the answer is text, unless a call is demanded. A script decides all itself: its
// next call, one an answer, and then text.
func (a *ask) callTools(rnd *random) []call {
	if a.knobs.script != "" {
		return a.nextOfScript(rnd)
	}
	if len(a.tools) == 0 || a.choice.mode == "none" || a.choice.mode == "auto" && a.resultsAtEnd() != nil {
		return nil
	}
	if a.choice.mode == "auto" && a.persona.Name == "echo" {
		return nil
	}
	var offered, named []*tool
	q := a.question()
	for i := range a.tools {
		t := &a.tools[i]
		if !a.choice.allows(t.name) {
			continue
		}
		offered = append(offered, t)
		if strings.Contains(q, t.name) {
			named = append(named, t)
		}
	}
	picked := offered[:min(len(offered), callsUnasked)]
	if len(named) > 0 {
		picked = named
	}
	want := len(picked)
	if a.knobs.calls > 0 {
		want = a.knobs.calls
	}
	if !a.parallel {
		want = min(want, 1)
	}
	var calls []call
	for i := 0; i < want && len(picked) > 0; i++ {
		calls = append(calls, a.callOf(picked[i%len(picked)], rnd))
	}
	return calls
}

func (a *ask) nextOfScript(rnd *random) []call {
	made := 0
	for i := range a.turns {
		made += len(a.turns[i].calls)
	}
	script := strings.Fields(a.knobs.script)
	if made >= len(script) || len(a.tools) == 0 {
		return nil
	}
	name, arguments, _ := scripted(script[made]) // checked when it was set
	c := call{id: "call_" + hexOf(rnd.next()), name: name, arguments: cmp.Or(arguments, "{}")}
	for i := range a.tools {
		if t := &a.tools[i]; t.name == name {
			c.custom = t.custom
		}
	}
	return []call{c}
}

func (a *ask) callOf(t *tool, rnd *random) call {
	c := call{id: "call_" + hexOf(rnd.next()), name: t.name, custom: t.custom, arguments: "{}"}
	switch {
	case t.custom:
		c.arguments = languageOf(a.question()).sentence(rnd)
	case t.schema != nil:
		c.arguments = string(invent(nil, t.schema, random(rnd.next()), a.words()))
	}
	return c
}
