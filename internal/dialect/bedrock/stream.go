package bedrock

import (
	"errors"
	"io"
	"iter"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/usage"
)

var errShape = errors.New("bedrock: not an answer")

// Events decodes an answer, whole or streamed.
func (d *Dialect) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		dec := decoder{ep: a.Endpoint, yield: yield, claude: familyOf(a.Endpoint) == anthropic}
		dec.head.Notice = a.Notice
		dialect.Read(a, &dec, yield)
	}
}

// maxBlocks bounds the state that is kept of one answer.
const maxBlocks = 10_000

// block is a content block that has begun.
type block struct {
	tool      bool
	call      int // index among the tool calls
	reasoning bool
	detail    int // index among the reasoning details
}

// decoder turns messages into events.
type decoder struct {
	ep     *catalog.Endpoint
	yield  dialect.Yield
	claude bool

	ev      completion.Event
	head    completion.Head
	begun   bool // the first event was made
	blocks  []block
	calls   int
	details int
	ended   bool // messageStop was seen
	counted bool // metadata was seen
	usage   *usage.Usage

	text []byte // decoded texts of the message; events hold views
	raw  []byte // reasoning details of the message
}

// Frames returns the messages of a stream. A stream begins with the length of the first message, whose highest byte is zero: longer
// messages are refused.
func (dec *decoder) Frames(a *dialect.Answer) dialect.Source {
	return &messages{dec: dec, frames: frames{r: a.Body, most: a.Limits.Line, left: a.Limits.Stream}}
}

type messages struct {
	dec    *decoder
	frames frames
}

// Next returns the name and the payload of an event.
func (m *messages) Next() (event, data []byte, err error) {
	f, err := m.frames.next()
	switch {
	case err == io.EOF:
		return nil, nil, err
	case err != nil:
		return nil, nil, m.dec.asFault(err)
	case f.kind != "event":
		return nil, nil, m.dec.exception(&f)
	}
	return []byte(f.name), f.payload, nil
}

// Frame decodes one message. Usage comes last; nothing follows it.
func (dec *decoder) Frame(event, data []byte) (dialect.Progress, error) {
	err := dec.event(string(event), data)
	switch {
	case dec.ev.Done:
		return dialect.Done, err
	case dec.ended:
		return dialect.Said, err
	}
	return dialect.More, err
}

// Complete reports whether the answer ended, though its usage is missing.
func (dec *decoder) Complete() bool { return dec.ended }

// End yields the last event.
func (dec *decoder) End() error {
	if !dec.ended {
		return dialect.Ended(dec.ep)
	}
	dec.reset()
	dec.ev.Done = true
	return dec.send()
}

// exception is the fault of a stream that was broken off.
func (dec *decoder) exception(f *frame) error {
	r := readRefusal(f.payload)
	if r.Status, r.Code = 200, f.name; r.Message == "" {
		r.Message = f.text
	}
	return r.Fault(dec.ep)
}

func (dec *decoder) reset() {
	calls := dec.ev.ToolCalls[:0]
	dec.ev = completion.Event{ToolCalls: calls}
	dec.text, dec.raw = dec.text[:0], dec.raw[:0]
}

// send yields the event unless it is empty.
func (dec *decoder) send() error {
	if !dec.ev.HasContent() && dec.ev.Usage == nil && !dec.ev.Done && dec.ev.Finish == "" {
		return nil
	}
	if !dec.begun {
		dec.begun = true
		dec.ev.Head = &dec.head
	}
	return dec.yield.Send(&dec.ev)
}

// event decodes one message. Unknown kinds are ignored.
func (dec *decoder) event(name string, data []byte) error {
	dec.reset()
	switch name {
	case "contentBlockStart":
		b, err := dec.at(data)
		if err != nil {
			return err
		}
		if use := rawjson.FindPath(data, "start", "toolUse"); use != nil {
			dec.openCall(b, use)
		}
	case "contentBlockDelta":
		b, err := dec.at(data)
		if err != nil {
			return err
		}
		dec.delta(b, rawjson.Find(data, "delta"))
	case "contentBlockStop":
		b, err := dec.at(data)
		if err != nil {
			return err
		}
		if b.tool {
			dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: b.call, Last: true})
		}
	case "messageStop":
		reason := rawjson.TextAt(data, "stopReason")
		if reason == "" || dec.ended {
			return errShape
		}
		dec.ended = true
		dec.ev.Finish, dec.ev.NativeFinish = finishReason(reason), reason
		dec.ev.Usage, dec.ev.Done = dec.usage, dec.counted
	case "metadata": // nearly always the last message
		dec.counted, dec.usage = true, readUsage(data, familyOf(dec.ep) == openAI)
		if dec.ended {
			dec.ev.Usage, dec.ev.Done = dec.usage, true
		}
	}
	return dec.send()
}

// at returns the block to which a message belongs; text blocks begin with their first piece.
func (dec *decoder) at(data []byte) (*block, error) {
	index, ok := rawjson.Int(rawjson.Find(data, "contentBlockIndex"))
	if !ok || index < 0 || index >= maxBlocks || dec.ended {
		return nil, errShape
	}
	for int64(len(dec.blocks)) <= index {
		dec.blocks = append(dec.blocks, block{})
	}
	return &dec.blocks[index], nil
}

// openCall begins a tool call.
func (dec *decoder) openCall(b *block, use []byte) {
	b.tool, b.call = true, dec.calls
	dec.calls++
	dec.ev.ToolCalls = append(dec.ev.ToolCalls,
		completion.ToolCall{Index: b.call, ID: rawjson.TextAt(use, "toolUseId"), Name: rawjson.TextAt(use, "name")})
}

func (dec *decoder) delta(b *block, v []byte) {
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "text":
			dec.ev.Text = dec.unquoted(m.Value)
		case "toolUse":
			if text := dec.unquoted(rawjson.Find(m.Value, "input")); b.tool && len(text) > 0 {
				dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: b.call, Arguments: text})
			}
		case "reasoningContent":
			dec.thinking(b, rawjson.Find(m.Value, "text"), rawjson.Find(m.Value, "signature"))
			dec.redacted(b, rawjson.Find(m.Value, "redactedContent"))
		}
	}
}

// thinking makes a reasoning_details entry, or a fragment of one.
func (dec *decoder) thinking(b *block, text, signature []byte) {
	plain, signed := dec.unquoted(text), len(signature) > 2 && signature[0] == '"'
	if len(plain) == 0 && !signed {
		return
	}
	dec.ev.Reasoning = plain
	format := completion.FormatUnknown
	if signed || dec.claude {
		format = completion.FormatAnthropic
	}
	dec.detail(b, "reasoning.text", format)
	dec.raw = rawjson.AppendString(append(dec.raw, `,"text":`...), plain)
	if signed {
		dec.raw = append(append(dec.raw, `,"signature":`...), signature...)
		dec.ev.Signature = rawjson.Text(signature)
	}
	dec.raw = append(dec.raw, "}]"...)
	dec.ev.ReasoningDetails = dec.raw
}

func (dec *decoder) redacted(b *block, data []byte) {
	if rawjson.KindOf(data) != rawjson.String {
		return
	}
	dec.detail(b, "reasoning.encrypted", completion.FormatAnthropic)
	dec.raw = append(append(append(dec.raw, `,"data":`...), data...), "}]"...)
	dec.ev.Signature = rawjson.Text(data)
	dec.ev.ReasoningDetails = dec.raw
}

// detail begins a list of one entry.
func (dec *decoder) detail(b *block, kind, format string) {
	if !b.reasoning {
		b.reasoning, b.detail = true, dec.details
		dec.details++
	}
	dec.raw = append(append(append(dec.raw[:0], `[{"type":"`...), kind...), `","index":`...)
	dec.raw = strconv.AppendInt(dec.raw, int64(b.detail), 10)
	dec.raw = append(append(append(dec.raw, `,"format":"`...), format...), '"')
}

// Whole decodes an answer that is one JSON object: each block is an event, and the last event has the end.
func (dec *decoder) Whole(body []byte) error {
	output := rawjson.Find(body, "output")
	if output == nil && (rawjson.Find(body, "__type") != nil || rawjson.Find(body, "message") != nil) {
		r := readRefusal(body)
		r.Status = 200
		return r.Fault(dec.ep)
	}
	content := rawjson.FindPath(output, "message", "content")
	if rawjson.KindOf(content) != rawjson.Array {
		return errShape
	}
	reason := rawjson.TextAt(body, "stopReason")
	if reason == "" {
		return dialect.Ended(dec.ep)
	}
	for e := rawjson.ElementsOf(content); e.Next(); {
		dec.reset()
		dec.blocks = append(dec.blocks, block{})
		dec.content(&dec.blocks[len(dec.blocks)-1], e.Value)
		if err := dec.send(); err != nil {
			return err
		}
	}
	dec.reset()
	dec.ev.Finish, dec.ev.NativeFinish = finishReason(reason), reason
	dec.ev.Usage = readUsage(body, false)
	dec.ev.Done = true
	return dec.send()
}

// content decodes a whole block.
func (dec *decoder) content(b *block, v []byte) {
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "text":
			dec.ev.Text = dec.unquoted(m.Value)
		case "toolUse":
			dec.openCall(b, m.Value)
			call := &dec.ev.ToolCalls[len(dec.ev.ToolCalls)-1]
			call.Last = true
			if input := rawjson.Find(m.Value, "input"); rawjson.KindOf(input) == rawjson.Object {
				call.Arguments = input
			}
		case "reasoningContent":
			reasoning := rawjson.Find(m.Value, "reasoningText")
			dec.thinking(b, rawjson.Find(reasoning, "text"), rawjson.Find(reasoning, "signature"))
			dec.redacted(b, rawjson.Find(m.Value, "redactedContent"))
		}
	}
}

// unquoted is a string's text: a view into the message, or into dec.text when it has escapes. Anything else has no text.
func (dec *decoder) unquoted(v []byte) []byte { return rawjson.View(&dec.text, v) }

func finishReason(native string) completion.FinishReason {
	switch native {
	case "max_tokens", "model_context_window_exceeded":
		return completion.Length
	case "tool_use":
		return completion.ToolCalls
	case "guardrail_intervened", "content_filtered", "refusal":
		return completion.ContentFilter
	case "end_turn", "stop_sequence", "pause_turn":
		return completion.Stop
	}
	return completion.Failed // malformed_model_output, malformed_tool_use, or a word to come
}
