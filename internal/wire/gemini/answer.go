package gemini

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/encoded"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire"
)

// Options are what an answer needs from its request.
type Options struct {
	ID       string // of the answer
	Thoughts bool   // the client wants to see what was thought
	Audio    bool   // the client asked for audio: it gets no transcript beside it
	N        int    // candidates requested
	Memory   completion.Memory
}

// OptionsOf are those of a request.
func OptionsOf(req *completion.Request, id string) Options {
	r := &req.Reasoning
	return Options{ID: id, Thoughts: r.Set && !r.Exclude, Audio: req.Needs.Output&catalog.Audio != 0, N: max(req.N, 1), Memory: req.Memory}
}

// output is one part of an answer. Of its content exactly one kind is set: a text, which may be empty, a call, or media.
type output struct {
	text      []byte
	thought   bool
	call      *completion.ToolCall
	mime      string         // of media
	data      encoded.Base64 // of media
	sound     []byte         // of media, in place of data: a JSON string, as its provider wrote it
	uri       []byte         // of media elsewhere: its address
	signature string
}

func (p *output) textual() bool { return p.call == nil && p.mime == "" && p.uri == nil }

func (p *output) append(b []byte) []byte {
	switch {
	case p.call != nil:
		b = append(b, `{"functionCall":{`...)
		if p.call.ID != "" {
			b = append(rawjson.AppendText(append(b, `"id":`...), p.call.ID), ',')
		}
		b = append(rawjson.AppendText(append(b, `"name":`...), p.call.Name), `,"args":`...)
		b = append(appendArguments(b, p.call), '}')
	case p.uri != nil:
		b = append(rawjson.AppendString(append(b, `{"fileData":{"mimeType":"image/png","fileUri":`...), p.uri), '}')
	case p.mime != "":
		b = rawjson.AppendText(append(b, `{"inlineData":{"mimeType":`...), p.mime)
		b = append(b, `,"data":`...)
		if p.sound != nil {
			b = append(b, p.sound...)
		} else {
			b = rawjson.AppendBase64(b, p.data)
		}
		b = append(b, '}')
	default:
		b = rawjson.AppendString(append(b, `{"text":`...), p.text)
		if p.thought {
			b = append(b, `,"thought":true`...)
		}
	}
	if p.signature != "" {
		b = rawjson.AppendText(append(b, `,"thoughtSignature":`...), p.signature)
	}
	return append(b, '}')
}

// appendArguments writes the arguments of a call. Free text, and what is no valid object, is a member of one.
func appendArguments(b []byte, call *completion.ToolCall) []byte {
	args := call.Arguments
	if !call.Custom && rawjson.Valid(args) && rawjson.KindOf(args) == rawjson.Object {
		return rawjson.AppendOneLine(b, args)
	}
	return append(rawjson.AppendString(append(b, `{"`+completion.FreeText+`":`...), args), '}')
}

// composer makes the parts of one candidate from events. Each goes to put, in order, with views that are valid during the call.
type composer struct {
	put func(*output)
	o   *Options

	thought  []byte // entries of reasoning_details since the last part that can carry a signature, without brackets
	sealed   string // signature of this wire for the next part
	calls    calls.Assembler
	refused  bool
	finish   completion.FinishReason
	native   string
	sources  []byte // grounding chunks, without brackets
	chosen   []byte // log probabilities, without brackets
	top      []byte
	finished bool
}

func newComposer(o *Options, put func(*output)) composer {
	return composer{put: put, o: o, calls: calls.Assembler{Order: calls.Whole, Answer: o.ID, Memory: o.Memory}}
}

func (c *composer) event(ev *completion.Event) {
	if !c.finished {
		c.calls.Event(ev, c.ordered)
	}
}

// ordered takes in an event whose calls are complete.
func (c *composer) ordered(ev *completion.Event) {
	c.reasoning(ev)
	for _, text := range [...][]byte{ev.Text, c.transcript(ev.Audio), ev.Refusal} {
		if len(text) > 0 {
			c.put(&output{text: text, signature: c.signature("")})
		}
	}
	c.refused = c.refused || len(ev.Refusal) > 0
	c.media(ev)
	for i := range ev.ToolCalls {
		c.call(&ev.ToolCalls[i])
	}
	c.grounding(ev.Annotations)
	c.logprobs(ev.Logprobs)
	if ev.Finish != "" {
		c.finish, c.native, c.finished = ev.Finish, ev.NativeFinish, true
		c.rest()
	}
}

// rest writes what is left at the end: calls of an answer without a finish reason, and a signature that no part followed.
func (c *composer) rest() {
	c.calls.End(c.ordered)
	if s := c.signature(""); s != "" {
		c.put(&output{signature: s})
	}
}

func (c *composer) reasoning(ev *completion.Event) {
	text := ev.Reasoning
	for e := rawjson.ElementsOf(ev.ReasoningDetails); e.Next(); {
		if len(c.thought) > 0 {
			c.thought = append(c.thought, ',')
		}
		c.thought = append(c.thought, e.Value...)
		if len(ev.Reasoning) == 0 && c.o.Thoughts {
			text = append(text, rawjson.TextAt(e.Value, "text")+rawjson.TextAt(e.Value, "summary")...)
		}
	}
	if len(text) > 0 && c.o.Thoughts {
		c.put(&output{text: text, thought: true})
	}
}

// signature is what the next part must carry so that its provider recognises the reasoning before it: a signature of this wire as it is, and
// anything else packed. id is that of a call.
func (c *composer) signature(id string) string {
	if len(c.thought) > 0 {
		c.gather(id)
	}
	s := c.sealed
	c.sealed = ""
	return s
}

func (c *composer) gather(id string) {
	list := wire.Reasoning(append(append([]byte{'['}, c.thought...), ']'))
	c.thought = c.thought[:0]
	known := false
	for i := range list {
		t := &list[i]
		if t.Format == completion.FormatGoogle {
			if t.Kind == completion.ReasoningEncrypted && t.Data != "" && (t.ID == "" || t.ID == id) {
				c.sealed = t.Data
			}
			continue
		}
		known = known || t.Signature != "" || t.Data != ""
	}
	if !known {
		return
	}
	c.sealed = seal(slices.DeleteFunc(list, func(t completion.ReasoningDetail) bool { return t.Format == completion.FormatGoogle }))
}

func (c *composer) call(t *completion.ToolCall) {
	s := c.signature(t.ID)
	if t.Signature != "" {
		s = t.Signature
	}
	c.put(&output{call: t, signature: s})
}

// pcm is the type of audio that models of this wire return.
const pcm = "audio/L16;codec=pcm;rate=24000"

func (c *composer) media(ev *completion.Event) {
	for e := rawjson.ElementsOf(ev.Images); e.Next(); {
		var bad *fault.Error // of a provider's image: it has no address then, and is left out
		m := wire.MediaFrom(&bad, "", rawjson.FindPath(e.Value, "image_url", "url"))
		switch {
		case !m.Base64.None():
			c.put(&output{mime: m.Type, data: m.Base64, signature: c.signature("")})
		case m.URL != "":
			c.put(&output{uri: []byte(m.URL), signature: c.signature("")})
		}
	}
	if data := rawjson.Find(ev.Audio, "data"); rawjson.KindOf(data) == rawjson.String && len(data) > 2 {
		c.put(&output{mime: pcm, sound: data, signature: c.signature("")})
	}
}

// transcript is the text of audio for clients that did not ask for audio, or get none.
func (c *composer) transcript(audio []byte) []byte {
	if c.o.Audio {
		return nil
	}
	return wire.Transcript(audio)
}

func (c *composer) grounding(list []byte) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		cited := rawjson.Find(e.Value, "url_citation")
		address := rawjson.Find(cited, "url")
		if rawjson.KindOf(address) != rawjson.String {
			continue
		}
		if len(c.sources) > 0 {
			c.sources = append(c.sources, ',')
		}
		c.sources = append(append(c.sources, `{"web":{"uri":`...), address...)
		if title := rawjson.Find(cited, "title"); rawjson.KindOf(title) == rawjson.String && len(title) > 2 {
			c.sources = append(append(c.sources, `,"title":`...), title...)
		}
		c.sources = append(c.sources, "}}"...)
	}
}

func (c *composer) logprobs(v []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(v, "content")); e.Next(); {
		if len(c.chosen) > 0 {
			c.chosen, c.top = append(c.chosen, ','), append(c.top, ',')
		}
		c.chosen = appendProbability(c.chosen, e.Value)
		c.top = append(c.top, `{"candidates":[`...)
		first := true
		for t := rawjson.ElementsOf(rawjson.Find(e.Value, "top_logprobs")); t.Next(); first = false {
			if !first {
				c.top = append(c.top, ',')
			}
			c.top = appendProbability(c.top, t.Value)
		}
		c.top = append(c.top, "]}"...)
	}
}

func appendProbability(b, v []byte) []byte {
	b = rawjson.AppendText(append(b, `{"token":`...), rawjson.TextAt(v, "token"))
	if p := rawjson.Find(v, "logprob"); rawjson.KindOf(p) == rawjson.Number {
		b = append(append(b, `,"logProbability":`...), p...)
	}
	return append(b, '}')
}

// own are the finish reasons of this wire.
var own = set("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY",
	"UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "IMAGE_PROHIBITED_CONTENT", "NO_IMAGE", "IMAGE_RECITATION", "IMAGE_OTHER")

// reason is the finish reason on this wire: the upstream's own where it is one.
func (c *composer) reason() string {
	switch {
	case own[c.native]:
		return c.native
	case c.refused || c.finish == completion.ContentFilter:
		return "SAFETY"
	case c.finish == completion.Length:
		return "MAX_TOKENS"
	case c.finish == completion.Failed:
		return "OTHER"
	}
	return "STOP"
}

// appendEnd writes the members of a candidate that has ended, after its content.
func (c *composer) appendEnd(b []byte, index int) []byte {
	b = append(append(append(b, `,"finishReason":"`...), c.reason()...), `","index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	if len(c.sources) > 0 {
		b = append(append(append(b, `,"groundingMetadata":{"groundingChunks":[`...), c.sources...), "]}"...)
	}
	if len(c.chosen) > 0 {
		b = append(append(append(b, `,"logprobsResult":{"chosenCandidates":[`...), c.chosen...), `],"topCandidates":[`...)
		b = append(append(b, c.top...), "]}"...)
	}
	return b
}

// appendUsage writes usageMetadata: the prompt's tokens include cached ones, and those of candidates do not include reasoning.
func appendUsage(b []byte, r *relay.Receipt) []byte {
	u := &r.Usage
	count := func(name string, n int64) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(append(append(b, '"'), name...), `":`...), max(n, 0), 10)
	}
	b = append(b, `,"usageMetadata":{`...)
	count("promptTokenCount", u.Prompt.N)
	count("candidatesTokenCount", u.Completion.N-u.Reasoning.N)
	if u.Reasoning.N > 0 {
		count("thoughtsTokenCount", u.Reasoning.N)
	}
	if u.CacheRead.N > 0 {
		count("cachedContentTokenCount", u.CacheRead.N)
	}
	count("totalTokenCount", u.Prompt.N+u.Completion.N)
	b = appendModalities(b, "promptTokensDetails", u.Prompt.N, modality{"AUDIO", u.PromptAudio}, modality{"IMAGE", u.PromptImage}, modality{"VIDEO", u.PromptVideo})
	b = appendModalities(b, "candidatesTokensDetails", u.Completion.N-u.Reasoning.N, modality{"AUDIO", u.OutputAudio}, modality{"IMAGE", u.OutputImage})
	return append(wire.AppendCost(append(b, ','), r), '}')
}

type modality struct {
	name  string
	count usage.Count
}

// appendModalities writes how many tokens of a count are of which kind; the rest is text.
func appendModalities(b []byte, name string, all int64, parts ...modality) []byte {
	some := false
	for _, m := range parts {
		some = some || m.count.N > 0
		all -= m.count.N
	}
	if !some {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[{"modality":"TEXT","tokenCount":`...)
	b = append(strconv.AppendInt(b, max(all, 0), 10), '}')
	for _, m := range parts {
		if m.count.N > 0 {
			b = append(append(append(b, `,{"modality":"`...), m.name...), `","tokenCount":`...)
			b = append(strconv.AppendInt(b, m.count.N, 10), '}')
		}
	}
	return append(b, ']')
}

// appendNames writes what names an answer.
func appendNames(b []byte, o *Options, served *relay.Served) []byte {
	b = rawjson.AppendText(append(b, `,"modelVersion":`...), served.Model)
	return rawjson.AppendText(append(b, `,"responseId":`...), o.ID)
}

// appendPassed writes an upstream's own answer, or a piece of one, in one line, with the public name of its model. The last piece also has
// the cost and, where parts of the request were left out, a notice; r is nil for the others. All other bytes stay the same.
func appendPassed(b, answer []byte, served *relay.Served, r *relay.Receipt) []byte {
	from, end, counted := 0, 0, false
	for m := rawjson.MembersOf(answer); m.Next(); {
		end = m.End
		switch {
		case string(m.Name) == "modelVersion":
			b = rawjson.AppendOneLine(b, answer[from:m.At])
			b = rawjson.AppendText(b, served.Model)
			from = m.End
		case string(m.Name) == "usageMetadata" && !counts(m.Value): // SDKs fail at anything but a number
			b = rawjson.AppendOneLine(b, answer[from:m.At])
			if from, counted = m.End, true; r == nil {
				b = append(b, "null"...)
				continue
			}
			b = append(b, bytes.TrimPrefix(appendUsage(nil, r), []byte(`,"usageMetadata":`))...)
		case r != nil && string(m.Name) == "usageMetadata":
			b = rawjson.AppendOneLine(b, answer[from:m.End-1])
			if !strings.HasSuffix(string(bytes.TrimRight(b, " \t\r\n")), "{") {
				b = append(b, ',')
			}
			b = append(wire.AppendCost(b, r), '}')
			from, counted = m.End, true
		}
	}
	if r != nil && end > 0 {
		b = rawjson.AppendOneLine(b, answer[from:end])
		if from = end; !counted {
			b = appendUsage(b, r)
		}
		b = wire.AppendNotice(b, served.Head.Notice)
	}
	return rawjson.AppendOneLine(b, answer[from:])
}

// counts reports whether a usage has plausible numbers: this wire has them as 32-bit integers.
func counts(v []byte) bool {
	for m := rawjson.MembersOf(v); m.Next(); {
		if n, ok := rawjson.Int(m.Value); strings.HasSuffix(string(m.Name), "Count") && (!ok || n < 0 || n > math.MaxInt32) {
			return false
		}
	}
	return rawjson.KindOf(v) == rawjson.Object
}

// hasCandidates reports whether a piece has anything of a candidate.
func hasCandidates(answer []byte) bool {
	e := rawjson.ElementsOf(rawjson.Find(answer, "candidates"))
	return e.Next()
}

// progress follows which candidates of a passed answer have ended.
type progress struct{ begun, ended int }

// add takes a piece, and reports whether all candidates that have begun have ended with it.
func (p *progress) add(answer []byte) (ended bool) {
	for e := rawjson.ElementsOf(rawjson.Find(answer, "candidates")); e.Next(); {
		index, _ := rawjson.Int(rawjson.Find(e.Value, "index"))
		if index < 0 || index >= 62 {
			continue
		}
		p.begun |= 1 << index
		if rawjson.KindOf(rawjson.Find(e.Value, "finishReason")) == rawjson.String {
			p.ended |= 1 << index
		}
	}
	return p.begun != 0 && p.begun == p.ended
}
