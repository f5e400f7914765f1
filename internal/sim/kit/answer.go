package kit

import (
	"cmp"
	"strconv"
	"strings"
)

// Request is one request, in terms that all wires share.
type Request struct {
	Name  string // the model as the caller wrote it
	Model *Model
	Knobs Knobs

	Turns    []Turn
	Overhead int // prompt tokens outside the turns: tools and schema

	Tools         []Tool
	Choice        toolChoice
	ParallelCalls bool
	Format        format
	Schema        *Node // set when Format is JSONSchema

	N         int
	MaxTokens int // 0: none
	Stops     []string
	Seed      string // as written
	Effort    string // "": not given
	Logprobs  bool
	Top       int

	Thinking       bool // the caller set ThinkingTokens
	ThinkingTokens int
	Redact         bool     // reasoning is sent in a form that only the provider can read
	CacheOnly      bool     // no text in the answer: the prompt is only to be cached
	Searches       bool     // the provider may search the web
	hosted         []string // other tools that the provider may run: the name of a call of each
	Marks          *Marks   // what the caller marks for the prompt cache; nil: the provider decides

	WantImage, WantAudio bool
	Width, Height        int // of an image, in pixels; 0: eight by eight
	AudioFormat          string

	Stream, StreamUsage bool
}

type format uint8

// The formats of an answer.
const (
	PlainText format = iota
	AnyJSON
	JSONSchema
)

// Turn is one message of a conversation.
type Turn struct {
	Role   string
	Text   string
	Media  []Medium
	Calls  []string // names and arguments of tool calls, for the prompt's digest and count
	Result string   // of a tool turn: the name of the tool that was called
}

// Tool is a tool that the request offers.
type Tool struct {
	Name   string
	Schema *Node // nil: no arguments
	Custom bool  // takes free text
}

// toolChoice holds which tools may be called: the mode (none, auto or required) and the names allowed (nil: all).
type toolChoice struct {
	Mode string
	Only []string
}

func (c *toolChoice) allows(name string) bool {
	if c.Only == nil {
		return true
	}
	for _, n := range c.Only {
		if n == name {
			return true
		}
	}
	return false
}

// Answer is the simulator's answer to a Request.
type Answer struct {
	ID      uint64
	Choices []Choice
	Usage   Tally
}

// Choice is one answer of several.
type Choice struct {
	Reasoning    string
	Text         string
	Calls        []Call
	Images       []string // data URLs
	Audio        *AudioAnswer
	Finish       string
	StopSequence string        // the stop sequence that ended the text
	Refused      bool          // the text is a refusal
	SearchResult *SearchResult // of a web search; nil: none
	Searches     int           // number of searches
	Ran          []Ran         // calls of other tools that the provider runs
	Seed         Random        // for what is written in addition to the text, such as logprobs
}

// SearchResult is one page that a web search found.
type SearchResult struct {
	ID, Query, URL, Title string
}

// Call is a tool call of the answer.
type Call struct {
	ID, Name, Arguments string
	Custom              bool
}

// Tally counts tokens. The counts of the second line are part of Prompt or Completion.
type Tally struct {
	Prompt, Completion                                     int
	Cached, PromptAudio, Reasoning, OutputAudio, OutputImg int
	Written, WrittenHour                                   int // into the prompt cache, for five minutes and for an hour
	Searches, Fetches                                      int
}

// The token rule: what a turn, the beginning of the answer and an image count.
const (
	TokensPerTurn = 4
	tokensAtEnd   = 3
	tokensOfImage = 64 // of one image in the answer
)

// Reply computes the answer. The same request gets the same answer, except for cached tokens, which depend on earlier requests.
func (s *Host) Reply(a *Request) Answer {
	d := a.Digest()
	out := Answer{ID: uint64(d)}
	out.Usage.Prompt, out.Usage.PromptAudio = a.PromptTokens()
	if a.Marks != nil {
		a.Marks.settle(&s.cache, &out.Usage)
	} else {
		out.Usage.Cached = s.cache.seen(a)
	}
	for i := range a.N {
		rnd := Random(uint64(d) + uint64(i)*0x9e3779b97f4a7c15)
		c := a.choose(&rnd)
		c.Seed = rnd
		out.Usage.add(&c, a.MaxTokens)
		out.Choices = append(out.Choices, c)
	}
	return out
}

// add counts a choice. Parts that cannot be cut, such as a tool's name, never raise its count above limit (0: none).
func (t *Tally) add(c *Choice, limit int) {
	reasoning := CountTokens(c.Reasoning)
	n := reasoning + CountTokens(c.Text)
	for _, call := range c.Calls {
		n += TokensPerTurn + CountTokens(call.Name) + CountTokens(call.Arguments)
	}
	if c.Audio != nil {
		n += CountTokens(c.Audio.Transcript) + c.Audio.tokens()
		t.OutputAudio += c.Audio.tokens()
	}
	if limit > 0 {
		n = min(n, limit)
	}
	t.Searches += c.Searches
	for i := range c.Ran {
		if c.Ran[i].Tool == "web_fetch" {
			t.Fetches++
		}
	}
	t.OutputImg += tokensOfImage * len(c.Images)
	t.Reasoning += reasoning
	t.Completion += n + tokensOfImage*len(c.Images)
}

// Digest covers all that the text depends on. The wanted length of the text and whether it is streamed are not part of it, so that
// a stream has the same text as a whole answer, and max_tokens cuts that text.
func (a *Request) Digest() Digest {
	d := NewDigest
	d.Add(a.Model.Name)
	d.Add(a.Seed)
	d.Add(strconv.FormatUint(a.Knobs.Seed, 10))
	for i := range a.Turns {
		t := &a.Turns[i]
		d.Add(t.Role)
		d.Add(t.Text)
		for j := range t.Media {
			d.Add(t.Media[j].String())
		}
		for _, c := range t.Calls {
			d.Add(c)
		}
	}
	return d
}

// PromptTokens counts the prompt, and its audio.
func (a *Request) PromptTokens() (all, audio int) {
	all = tokensAtEnd + a.Overhead
	for i := range a.Turns {
		t := &a.Turns[i]
		all += TokensPerTurn + CountTokens(t.Text)
		for j := range t.Media {
			n := t.Media[j].Tokens()
			all += n
			if t.Media[j].Kind == "audio" {
				audio += n
			}
		}
		for _, c := range t.Calls {
			all += CountTokens(c)
		}
	}
	return all, audio
}

// last returns the last turn of a role, or nil.
func (a *Request) last(role string) *Turn {
	for i := len(a.Turns) - 1; i >= 0; i-- {
		if a.Turns[i].Role == role {
			return &a.Turns[i]
		}
	}
	return nil
}

// Question returns the last text of the user.
func (a *Request) Question() string {
	if t := a.last("user"); t != nil {
		return t.Text
	}
	return ""
}

func (a *Request) choose(rnd *Random) Choice {
	var c Choice
	if a.CacheOnly {
		return Choice{Finish: "length"}
	}
	lang := languageOf(a.Question())
	if a.Knobs.Finish == "refusal" {
		return Choice{Text: lang.refusal, Refused: true, Finish: "refusal"}
	}
	if n := a.reasoningTokens(); n > 0 {
		c.Reasoning = lang.Prose(rnd, lang.thinking+lang.Stop, n)
	}
	if c.Calls = a.callTools(rnd); len(c.Calls) > 0 {
		c.Finish = "tool_calls"
	} else {
		a.writeText(&c, lang, rnd)
	}
	a.limit(&c)
	if a.Knobs.Finish != "" {
		c.Finish = a.Knobs.Finish
	}
	return c
}

func (a *Request) writeText(c *Choice, lang *Language, rnd *Random) {
	c.Finish = "stop"
	if a.Searches && a.resultsAtEnd() == nil {
		id := HexOf(rnd.Next())
		c.SearchResult = &SearchResult{ID: id, Query: strings.Join(strings.Fields(a.Question()), " "), URL: "https://sim.invalid/" + id, Title: lang.sentence(rnd)}
	}
	if a.resultsAtEnd() == nil {
		a.runHosted(c, rnd)
	}
	c.Text = a.text(lang, rnd)
	for _, stop := range a.Stops {
		if at := strings.Index(c.Text, stop); at >= 0 && stop != "" {
			c.Text, c.StopSequence = c.Text[:at], stop
		}
	}
	if a.WantImage {
		c.Images = []string{pngURL(rnd.Next(), a.Width, a.Height)}
	}
	if a.WantAudio {
		c.Audio = NewSpeech(a.AudioFormat, c.Text, rnd.Next())
		c.Text = ""
	}
}

// limit applies MaxTokens. Reasoning counts towards it.
func (a *Request) limit(c *Choice) {
	if a.MaxTokens == 0 {
		return
	}
	left, cut := a.MaxTokens, false
	trim := func(s string) string {
		s, over := CutTokens(s, left)
		left -= CountTokens(s)
		cut = cut || over
		return s
	}
	c.Reasoning = trim(c.Reasoning)
	c.Text = trim(c.Text)
	for i := range c.Calls {
		c.Calls[i].Arguments = trim(c.Calls[i].Arguments)
	}
	if c.Audio != nil {
		c.Audio.Transcript = trim(c.Audio.Transcript)
	}
	if cut {
		c.Finish, c.StopSequence = "length", ""
	}
}

// EffortTokens is how many tokens each effort reasons.
var EffortTokens = map[string]int{"none": 0, "minimal": 8, "low": 16, "medium": 48, "high": 128, "xhigh": 256, "max": 512}

func (a *Request) reasoningTokens() int {
	if a.Thinking {
		return a.ThinkingTokens
	}
	if a.Effort == "" && a.Model.Name == "reason" {
		return EffortTokens["medium"]
	}
	return EffortTokens[a.Effort]
}

func (a *Request) text(lang *Language, rnd *Random) string {
	switch {
	case a.Format == JSONSchema:
		return string(generate(nil, a.Schema, *rnd, a.words()))
	case a.Format == AnyJSON || a.Model.Name == "json":
		return string(a.freeJSON(lang, rnd))
	case a.Model.Name == "echo" && a.resultsAtEnd() == nil:
		return a.Question()
	}
	var parts []string
	if found := a.describe(lang); found != "" {
		parts = append(parts, found)
	}
	if results := a.resultsAtEnd(); results != nil {
		parts = append(parts, lang.results+": "+strings.Join(results, "; ")+lang.Stop)
	} else if q := lang.quote(a.Question()); q != "" {
		parts = append(parts, q)
	}
	tokens := a.Knobs.Tokens
	if tokens == 0 && a.Knobs.Frames > 0 {
		tokens = min(a.Knobs.Frames*max(a.Knobs.Chunk, 1), maxTokens)
	}
	return lang.Prose(rnd, strings.Join(parts, lang.Space), tokens)
}

func (a *Request) freeJSON(lang *Language, rnd *Random) []byte {
	out := AppendText([]byte(`{"answer":`), lang.sentence(rnd))
	out = append(out, `,"number":`...)
	out = AppendInt(out, rnd.Below(100))
	if results := a.resultsAtEnd(); results != nil {
		out = append(out, `,"results":[`...)
		for i, r := range results {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendText(out, r)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// resultsAtEnd returns the tool results at the end of the conversation, each as "name: text".
func (a *Request) resultsAtEnd() []string {
	from := len(a.Turns)
	for from > 0 && a.Turns[from-1].Role == "tool" {
		from--
	}
	var out []string
	for _, t := range a.Turns[from:] {
		out = append(out, t.Result+": "+t.Text)
	}
	return out
}

// describe lists the media of all turns, as a sentence.
func (a *Request) describe(lang *Language) string {
	var all []Medium
	for i := range a.Turns {
		all = append(all, a.Turns[i].Media...)
	}
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(lang.given + lang.Space + strconv.Itoa(len(all)) + ": ")
	for i := range all {
		if i > 0 {
			b.WriteString(lang.comma)
		}
		b.WriteString(all[i].in(lang))
	}
	b.WriteString(lang.Stop)
	return b.String()
}

// words returns words of the question that can serve as values: names and numbers if there are any, else the longer words.
func (a *Request) words() []string {
	var names, long []string
	for i, w := range strings.Fields(a.Question()) {
		w = strings.TrimFunc(w, func(r rune) bool { return !Letter(r) && !spaceless(r) })
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

// callTools decides which tools are called. After tool results the answer is text, unless a call is required. A script decides alone:
// each answer makes its next call, and when there is none left the answer is text. Of the tools that act for the client none is called
// without being asked for, and beside them no other is called that the prompt does not name.
func (a *Request) callTools(rnd *Random) []Call {
	if a.Knobs.script != "" {
		return a.nextOfScript(rnd)
	}
	if len(a.Tools) == 0 || a.Choice.Mode == "none" || a.Choice.Mode == "auto" && a.resultsAtEnd() != nil {
		return nil
	}
	if a.Choice.Mode == "auto" && a.Model.Name == "echo" {
		return nil
	}
	picked := a.pickTools()
	want := len(picked)
	if a.Knobs.calls > 0 {
		want = a.Knobs.calls
	}
	if !a.ParallelCalls {
		want = min(want, 1)
	}
	var calls []Call
	for i := 0; i < want && len(picked) > 0; i++ {
		calls = append(calls, a.callOf(picked[i%len(picked)], rnd))
	}
	return calls
}

// pickTools are the tools to call, in their order.
func (a *Request) pickTools() []*Tool {
	var offered, named, acting []*Tool
	q := a.Question()
	for i := range a.Tools {
		t := &a.Tools[i]
		switch {
		case !a.Choice.allows(t.Name):
		case t.acts() && !a.Choice.asksFor(t.Name):
			acting = append(acting, t)
		default:
			offered = append(offered, t)
			if mentions(q, t.Name) {
				named = append(named, t)
			}
		}
	}
	switch {
	case len(named) > 0:
		return named
	case a.Choice.Mode == "auto" && a.agent():
		return nil
	case len(offered) == 0: // one of them is required
		return acting[:min(len(acting), 1)]
	}
	return offered[:min(len(offered), callsUnasked)]
}

func (a *Request) nextOfScript(rnd *Random) []Call {
	made := 0
	for i := range a.Turns {
		made += len(a.Turns[i].Calls)
	}
	script := strings.Fields(a.Knobs.script)
	if made >= len(script) || len(a.Tools) == 0 {
		return nil
	}
	name, arguments, _ := scripted(script[made]) // checked when it was set
	c := Call{ID: "call_" + HexOf(rnd.Next()), Name: name, Arguments: cmp.Or(arguments, "{}")}
	for i := range a.Tools {
		if t := &a.Tools[i]; t.Name == name {
			c.Custom = t.Custom
		}
	}
	return []Call{c}
}

func (a *Request) callOf(t *Tool, rnd *Random) Call {
	c := Call{ID: "call_" + HexOf(rnd.Next()), Name: t.Name, Custom: t.Custom, Arguments: "{}"}
	switch {
	case t.Custom && t.acts():
		c.Arguments = harmless
	case t.Custom:
		c.Arguments = languageOf(a.Question()).sentence(rnd)
	case t.Schema != nil && t.acts():
		c.Arguments = string(generate(nil, t.Schema, Random(rnd.Next()), []string{harmless}))
	case t.Schema != nil:
		c.Arguments = string(generate(nil, t.Schema, Random(rnd.Next()), a.words()))
	}
	return c
}
