package messages

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/pack"
)

// Options are what an answer needs from its request.
type Options struct {
	ID      string              // "msg_..."
	Request *completion.Request // its prompt is counted for message_start, where the provider reports its length later; nil: it is not
	// Agent is set for coding agents, which take the last block of an answer as its text: no signature may follow the text.
	Agent bool
}

// IsAgent recognises a coding agent by the features in the header fields of its request.
func IsAgent(req *completion.Request) bool {
	return slices.ContainsFunc(req.Betas, func(list string) bool { return strings.Contains(list, "claude-code") })
}

// kind of a content block.
type kind uint8

const (
	noBlock kind = iota
	textBlock
	thinkingBlock
	redactedBlock
	toolBlock
)

// block is the beginning of a content block.
type block struct {
	kind     kind
	id, name string // of a tool call
	data     string // of redacted thinking
}

// page receives the blocks of an answer in order.
type page interface {
	begin(b *block)
	text(delta []byte) // of the open block: text, thinking or the arguments of a call
	sign(signature string)
	cite(citation []byte) // JSON object, of the open text
	end()
}

// composer makes content blocks from events.
type composer struct {
	page    page
	agent   bool
	sealed  string // the packed signature of a text, not yet in a block
	open    kind
	signed  bool   // the thinking block has its signature
	format  string // origin of the thinking
	said    bool   // a text has begun
	sources []byte // citations that wait for a text, separated by commas
	calls   calls.Assembler
	refused bool // the model refused, in a field of its wire for that
	finish  completion.FinishReason
	native  string
}

func newComposer(p page, o *Options) composer {
	c := composer{page: p, agent: o.Agent, calls: calls.Assembler{Order: calls.InTurn, Answer: o.ID}}
	if o.Request != nil {
		c.calls.Memory = o.Request.Memory
	}
	return c
}

func (c *composer) event(ev *completion.Event) { c.calls.Event(ev, c.ordered) }

// ordered takes in an event whose calls are in order.
func (c *composer) ordered(ev *completion.Event) {
	c.reasoning(ev)
	for _, text := range [...][]byte{ev.Text, wire.Transcript(ev.Audio), wire.AppendPictured(nil, ev.Images), ev.Refusal} {
		if len(text) > 0 {
			c.in(textBlock)
			c.page.text(text)
		}
	}
	if len(ev.Annotations) > 0 {
		c.cite(ev.Annotations)
	}
	c.refused = c.refused || len(ev.Refusal) > 0
	for i := range ev.ToolCalls {
		c.call(&ev.ToolCalls[i])
	}
	if ev.Finish != "" && c.finish == "" {
		c.finish, c.native = ev.Finish, ev.NativeFinish
	}
}

// in makes sure that a block of that kind is open.
func (c *composer) in(k kind) {
	if c.open != k {
		c.begin(&block{kind: k})
	}
}

func (c *composer) begin(b *block) {
	c.end()
	c.seal()
	c.open, c.signed, c.format = b.kind, false, ""
	c.page.begin(b)
	if b.kind == textBlock {
		c.said = true
		for e := rawjson.ElementsOf(append(append([]byte{'['}, c.sources...), ']')); len(c.sources) > 0 && e.Next(); {
			c.page.cite(e.Value)
		}
		c.sources = nil
	}
}

// cite makes citations of the web pages on which an answer is based. They belong to the open text; those that come before it wait, and those that
// come after it has ended have no place on this wire.
func (c *composer) cite(list []byte) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		note := rawjson.Find(e.Value, "url_citation")
		if rawjson.KindOf(note) != rawjson.Object {
			continue
		}
		b := rawjson.AppendText([]byte(`{"type":"web_search_result_location","url":`), rawjson.TextAt(note, "url"))
		b = rawjson.AppendText(append(b, `,"title":`...), rawjson.TextAt(note, "title"))
		b = rawjson.AppendText(append(b, `,"cited_text":`...), rawjson.TextAt(note, "content"))
		b = append(b, `,"encrypted_index":""}`...) // only its own wire has one
		switch {
		case c.open == textBlock:
			c.page.cite(b)
		case !c.said:
			if len(c.sources) > 0 {
				c.sources = append(c.sources, ',')
			}
			c.sources = append(c.sources, b...)
		}
	}
}

// seal makes a block of the signature of a text. The block comes before the next one, which is that text where both arrived together.
func (c *composer) seal() {
	if c.sealed == "" {
		return
	}
	c.page.begin(&block{kind: redactedBlock, data: c.sealed})
	c.page.end()
	c.sealed = ""
}

// close ends the answer.
func (c *composer) close() {
	c.calls.End(c.ordered)
	c.end()
	if !c.agent {
		c.seal()
	}
}

// end closes the open block. Unsigned thinking is marked as foreign, so that it is not taken for this wire's own when a client sends it back.
func (c *composer) end() {
	switch {
	case c.open == noBlock:
		return
	case c.open == thinkingBlock && !c.signed && c.format != completion.FormatAnthropic:
		c.page.sign(pack.Pack(&completion.ReasoningDetail{Format: c.format}))
	}
	c.open = noBlock
	c.page.end()
}

func (c *composer) reasoning(ev *completion.Event) {
	if len(ev.ReasoningDetails) == 0 {
		if len(ev.Reasoning) > 0 {
			c.in(thinkingBlock)
			c.page.text(ev.Reasoning)
		}
		return
	}
	details := wire.Reasoning(ev.ReasoningDetails)
	for i := range details {
		c.reasoningDetail(&details[i])
	}
}

func (c *composer) reasoningDetail(t *completion.ReasoningDetail) {
	if t.Kind == completion.ReasoningEncrypted {
		data := t.Data
		if t.Format != completion.FormatAnthropic {
			data = pack.Pack(t)
		}
		if t.Format == completion.FormatGoogle && t.ID == "" {
			if c.sealed != "" {
				c.end()
				c.seal()
			}
			c.sealed = data
			return
		}
		c.begin(&block{kind: redactedBlock, data: data})
		return
	}
	if c.open == thinkingBlock && c.signed {
		c.end() // this separates it from the next reasoning block
	}
	c.in(thinkingBlock)
	if t.Format != "" {
		c.format = t.Format
	}
	if t.Text != "" {
		c.page.text([]byte(t.Text))
	}
	if t.Signature == "" {
		return
	}
	c.signed = true
	if c.format == completion.FormatAnthropic {
		c.page.sign(t.Signature)
		return
	}
	c.page.sign(pack.Pack(&completion.ReasoningDetail{Kind: t.Kind, Format: c.format, ID: t.ID, Signature: t.Signature}))
}

func (c *composer) call(t *completion.ToolCall) {
	if t.First {
		if t.Signature != "" { // the call itself has no field for it
			c.begin(&block{kind: redactedBlock, data: pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatGoogle, ID: t.ID, Data: t.Signature})})
		}
		c.begin(&block{kind: toolBlock, id: t.ID, name: t.Name})
		if t.Custom { // every input is an object here
			c.page.text([]byte(`{"` + completion.FreeText + `":"`))
		}
	}
	switch {
	case len(t.Arguments) > 0 && t.Custom:
		c.page.text(rawjson.AppendEscaped(nil, t.Arguments))
	case len(t.Arguments) > 0:
		c.page.text(t.Arguments)
	}
	if t.Last {
		if t.Custom {
			c.page.text([]byte(`"}`))
		}
		c.end()
	}
}

// stopReason is the stop reason on this wire: the upstream's own where it is one.
func (c *composer) stopReason() string {
	if c.refused {
		return "refusal"
	}
	switch c.native {
	case "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded":
		return c.native
	}
	switch {
	case c.finish == completion.Length:
		return "max_tokens"
	case c.finish == completion.ContentFilter:
		return "refusal"
	case c.finish == completion.ToolCalls || c.calls.Begun() > 0:
		return "tool_use"
	}
	return "end_turn"
}

// appendUsage writes the usage in this wire's counts: input_tokens do not include cached tokens.
func appendUsage(b []byte, r *relay.Receipt) []byte {
	u := &r.Usage
	written := u.Written().N
	b = append(b, `{"input_tokens":`...)
	b = strconv.AppendInt(b, max(u.Prompt.N-u.CacheRead.N-written, 0), 10)
	b = append(b, `,"cache_creation_input_tokens":`...)
	b = strconv.AppendInt(b, written, 10)
	b = append(b, `,"cache_read_input_tokens":`...)
	b = strconv.AppendInt(b, u.CacheRead.N, 10)
	if u.CacheWrite1h.N > 0 {
		b = append(b, `,"cache_creation":{"ephemeral_5m_input_tokens":`...)
		b = strconv.AppendInt(b, u.CacheWrite.N, 10)
		b = append(b, `,"ephemeral_1h_input_tokens":`...)
		b = append(strconv.AppendInt(b, u.CacheWrite1h.N, 10), '}')
	}
	b = append(b, `,"output_tokens":`...)
	b = strconv.AppendInt(b, u.Completion.N, 10)
	if u.Reasoning.Reported {
		b = append(b, `,"output_tokens_details":{"thinking_tokens":`...)
		b = append(strconv.AppendInt(b, u.Reasoning.N, 10), '}')
	}
	if n := u.WebSearches.N; n > 0 {
		b = append(b, `,"server_tool_use":{"web_search_requests":`...)
		b = append(strconv.AppendInt(b, n, 10), '}')
	}
	return append(b, '}')
}

// appendHead writes a message up to its content.
func appendHead(b []byte, o *Options, served *relay.Served) []byte {
	b = append(b, `{"id":`...)
	b = rawjson.AppendText(b, o.ID)
	b = append(b, `,"type":"message","role":"assistant","model":`...)
	b = rawjson.AppendText(b, served.Model)
	return append(b, `,"content":[`...)
}

// renamed is a message with the public name of its model and, where parts of the request were left out, with a notice; all other bytes
// stay the same.
func renamed(b, message []byte, served *relay.Served) []byte {
	from, end := 0, 0
	for m := rawjson.MembersOf(message); m.Next(); {
		if end = m.End; string(m.Name) == "model" {
			b = append(b, message[from:m.At]...)
			b = rawjson.AppendText(b, served.Model)
			from = m.End
		}
	}
	if notice := served.Head.Notice; notice != "" && end > 0 {
		b = wire.AppendNotice(append(b, message[from:end]...), notice)
		from = end
	}
	return append(b, message[from:]...)
}
