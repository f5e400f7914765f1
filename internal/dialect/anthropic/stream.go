package anthropic

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/usage"
)

var errShape = errors.New("anthropic: not a message")

// Events decodes an answer, whole or streamed.
func (d *Dialect) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		dec := decoder{ep: a.Endpoint, yield: yield, blocks: make([]block, 0, 4)}
		dec.head.Notice = a.Notice
		if a.Request != nil {
			dec.native, dec.streaming = a.Request.Style == completion.Messages, a.Request.Stream
		}
		dialect.Read(a, &dec, yield)
	}
}

// block is a content block that has begun.
type block struct {
	kind   kind
	index  int64  // the server's; of two that are equal, the later block has it
	call   int    // index among the tool calls
	detail int    // index among the reasoning details
	input  []byte // arguments that the beginning of a tool call had: those of a server that sends no pieces of them
}

type kind uint8

const (
	otherBlock kind = iota
	textBlock
	thinkingBlock
	toolBlock
)

// decoder turns frames into events.
type decoder struct {
	ep    *catalog.Endpoint
	yield dialect.Yield

	native, streaming bool // the client uses this wire and asked for a stream
	pass              bool // frames pass through unchanged; an answer that is whole where a stream was requested, or the other way round, is rewritten

	ev      completion.Event
	head    completion.Head
	begun   bool // the first event was made
	content bool // some event had content
	started bool // message_start was seen
	blocks  []block
	calls   int
	details int
	usage   counts
	called  usage.Usage // calls of tools that the provider ran, counted while they were read
	finish  []byte      // stop_reason

	text []byte // decoded texts of the frame; events hold views
	raw  []byte // reasoning details or annotations of the frame
	held []completion.Frame

	renamed bool // some block has an index that does not count
}

// Complete reports whether only message_stop is missing.
func (dec *decoder) Complete() bool { return dec.finish != nil }

// End ends the stream.
func (dec *decoder) End() error {
	if !dec.Complete() {
		return dialect.Ended(dec.ep)
	}
	_, err := dec.Frame(nil, []byte(`{"type":"message_stop"}`))
	return err
}

// Frame decodes one event of the wire. Its type is in the data: the event's name only repeats it.
func (dec *decoder) Frame(_, data []byte) (_ dialect.Progress, err error) {
	dec.pass = dec.native && dec.streaming
	name := rawjson.TextAt(data, "type")
	dec.reset()
	switch name {
	case "message_start":
		if dec.started { // some servers begin again, which no client expects: only its counts are read
			dec.usage.again(rawjson.FindPath(data, "message", "usage"))
			return dialect.More, nil
		}
		if err = dec.start(rawjson.Find(data, "message")); err == nil {
			err = dec.ready(rawjson.Find(data, "message"))
		}
	case "content_block_start":
		err = dec.blockStart(data)
	case "content_block_delta":
		err = dec.delta(data)
	case "content_block_stop":
		dec.blockStop(data)
	case "message_delta":
		dec.messageDelta(data)
	case "message_stop":
		dec.ev.Done = true
	case "error":
		r := readRefusal(data)
		r.Status = 200
		return dialect.Done, r.Fault(dec.ep)
	}
	if err != nil {
		return dialect.Done, err
	}
	if dec.pass && strings.HasPrefix(name, "content_block_") {
		data = dec.mended(name, data)
	}
	switch err = dec.send(name, data); {
	case dec.ev.Done:
		return dialect.Done, err
	case dec.Complete():
		return dialect.Said, err
	}
	return dialect.More, err
}

// reset begins an event.
func (dec *decoder) reset() {
	calls := dec.ev.ToolCalls[:0]
	dec.ev = completion.Event{}
	dec.ev.ToolCalls = calls
	dec.text, dec.raw = dec.text[:0], dec.raw[:0]
}

// send yields the event. An event without content waits for the first one with content: nothing may reach the client before.
func (dec *decoder) send(name string, data []byte) error {
	if !dec.content && !dec.ev.HasContent() {
		if dec.ev.Done {
			return dialect.Empty(dec.ep)
		}
		if pings := name == "ping" && len(dec.held) > 0 && dec.held[len(dec.held)-1].Name == name; dec.pass && !pings { // one ping is enough
			dec.held = append(dec.held, completion.Frame{Name: name, Data: slices.Clone(data)})
		}
		return nil
	}
	if dec.pass {
		dec.ev.Frames = append(dec.held, completion.Frame{Name: name, Data: data})
		dec.held = dec.held[:0]
	} else if !dec.speaks() {
		return nil
	}
	if !dec.begun {
		dec.begun = true
		dec.ev.Head = &dec.head
		if dec.ev.Usage == nil {
			dec.ev.Usage, dec.ev.Opening = dec.usage.usage(), true // of message_start
		}
	}
	dec.content = true
	dec.ev.Called = &dec.called
	return dec.yield.Send(&dec.ev)
}

// speaks reports whether an event has anything for the canonical form.
func (dec *decoder) speaks() bool {
	return dec.ev.HasContent() || dec.ev.Usage != nil || dec.ev.Done || dec.ev.Finish != ""
}

func (dec *decoder) start(message []byte) error {
	if rawjson.KindOf(message) != rawjson.Object {
		return errShape
	}
	dec.started = true
	dec.head.ID = rawjson.TextAt(message, "id")
	dec.head.Model = rawjson.TextAt(message, "model")
	dec.usage.read(rawjson.Find(message, "usage"))
	dec.head.Tier = dec.usage.tier
	return nil
}

// ready decodes what message_start has already, and its end: an answer that goes on with programmatic calls of tools comes so.
func (dec *decoder) ready(message []byte) error {
	for e := rawjson.ElementsOf(rawjson.Find(message, "content")); e.Next(); {
		if len(dec.blocks) >= maxBlocks {
			return errShape
		}
		b := dec.open(e.Value)
		b.index = int64(len(dec.blocks) - 1)
		if b.kind == toolBlock {
			dec.ev.ToolCalls[len(dec.ev.ToolCalls)-1].Last = true
			b.kind = otherBlock
		}
		if !dec.pass && dec.ev.HasContent() { // what passes through is one frame
			if err := dec.send("", nil); err != nil {
				return err
			}
			dec.reset()
		}
	}
	if reason := rawjson.Find(message, "stop_reason"); rawjson.KindOf(reason) == rawjson.String && len(dec.blocks) > 0 {
		dec.finish = []byte(rawjson.Text(reason))
		dec.ev.Finish, dec.ev.NativeFinish = finishReason(string(dec.finish))
		dec.ev.Usage = dec.usage.usage()
	}
	return nil
}

// maxBlocks bounds the state that is kept of one answer.
const maxBlocks = 10_000

func (dec *decoder) blockStart(data []byte) error {
	index, ok := rawjson.Int(rawjson.Find(data, "index"))
	if !ok || len(dec.blocks) >= maxBlocks {
		return errShape
	}
	b := dec.open(rawjson.Find(data, "content_block"))
	b.index = index
	dec.renamed = dec.renamed || index != int64(len(dec.blocks)-1)
	if n := len(dec.ev.ToolCalls); n > 0 {
		call := &dec.ev.ToolCalls[n-1]
		b.input, call.Arguments = slices.Clone(call.Arguments), nil
	}
	return nil
}

// open decodes a block: its beginning in a stream, all of it in a whole answer.
func (dec *decoder) open(v []byte) *block {
	b := block{}
	switch rawjson.TextAt(v, "type") {
	case "text":
		b.kind = textBlock
		dec.ev.Text = dec.unquoted(rawjson.Find(v, "text"))
		dec.citations(rawjson.Find(v, "citations"))
	case "thinking":
		b.kind, b.detail = thinkingBlock, dec.details
		dec.details++
		dec.thinking(b.detail, rawjson.Find(v, "thinking"), rawjson.Find(v, "signature"))
	case "redacted_thinking":
		dec.redacted(rawjson.Find(v, "data"))
	case "server_tool_use":
		switch rawjson.TextAt(v, "name") {
		case "code_execution", "bash_code_execution", "text_editor_code_execution":
			dec.usage.sandbox = 1 // a request has one sandbox
			dec.called.Containers = usage.Of(1)
		case "web_search":
			dec.called.WebSearches.N++
		case "web_fetch":
			dec.called.WebFetches.N++
		}
	case "web_search_tool_result":
		dec.failed(v, &dec.called.WebSearches)
	case "web_fetch_tool_result":
		dec.failed(v, &dec.called.WebFetches)
	case "mcp_tool_use":
		dec.usage.foreign++
		dec.called.MCPCalls.N++
	case "tool_use":
		b.kind, b.call = toolBlock, dec.calls
		dec.calls++
		call := completion.ToolCall{Index: b.call, ID: rawjson.TextAt(v, "id"), Name: rawjson.TextAt(v, "name")}
		if input := rawjson.Find(v, "input"); rawjson.KindOf(input) == rawjson.Object && len(bytes.Trim(input, "{} \t\r\n")) > 0 {
			call.Arguments = input
		} else if rawjson.KindOf(input) == rawjson.String { // as some servers of this wire write it
			call.Arguments = dec.unquoted(input)
		}
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, call)
	}
	dec.blocks = append(dec.blocks, b)
	return &dec.blocks[len(dec.blocks)-1]
}

// block returns the place of the block that an event names, -1 for none. Indexes are names: some servers leave some out, or use one again.
func (dec *decoder) block(data []byte) int {
	index, ok := rawjson.Int(rawjson.Find(data, "index"))
	if !ok {
		return -1
	}
	at := len(dec.blocks) - 1
	for at >= 0 && dec.blocks[at].index != index {
		at--
	}
	return at
}

// failed takes back the count of a call that ended in an error: the provider does not bill it (web search tool, "Errors").
func (dec *decoder) failed(result []byte, calls *usage.Count) {
	if rawjson.KindOf(rawjson.Find(result, "content")) == rawjson.Object && rawjson.FindPath(result, "content", "error_code") != nil {
		calls.N = max(calls.N-1, 0)
	}
}

// thinking makes a reasoning_details entry, or a fragment of one.
func (dec *decoder) thinking(index int, text, signature []byte) {
	plain, signed := dec.unquoted(text), len(signature) > 2 && signature[0] == '"'
	if len(plain) == 0 && !signed {
		return
	}
	dec.ev.Reasoning = plain
	dec.detail("reasoning.text", index)
	dec.raw = rawjson.AppendString(append(dec.raw, `,"text":`...), plain)
	if signed {
		dec.raw = append(append(dec.raw, `,"signature":`...), signature...)
		dec.ev.Signature = rawjson.Text(signature)
	}
	dec.raw = append(dec.raw, "}]"...)
	dec.ev.ReasoningDetails = dec.raw
}

func (dec *decoder) redacted(data []byte) {
	if rawjson.KindOf(data) != rawjson.String {
		return
	}
	dec.ev.Signature = rawjson.Text(data)
	dec.detail("reasoning.encrypted", dec.details)
	dec.details++
	dec.raw = append(append(append(dec.raw, `,"data":`...), data...), "}]"...)
	dec.ev.ReasoningDetails = dec.raw
}

// detail begins a list of one entry.
func (dec *decoder) detail(kind string, index int) {
	dec.raw = append(append(append(dec.raw[:0], `[{"type":"`...), kind...), `","index":`...)
	dec.raw = strconv.AppendInt(dec.raw, int64(index), 10)
	dec.raw = append(dec.raw, `,"format":"`+completion.FormatAnthropic+`"`...)
}

func (dec *decoder) delta(data []byte) error {
	at := dec.block(data)
	if at < 0 {
		return errShape
	}
	b, v := &dec.blocks[at], rawjson.Find(data, "delta")
	switch rawjson.TextAt(v, "type") {
	case "text_delta":
		dec.ev.Text = dec.unquoted(rawjson.Find(v, "text"))
	case "thinking_delta":
		dec.thinking(b.detail, rawjson.Find(v, "thinking"), nil)
	case "signature_delta":
		dec.thinking(b.detail, nil, rawjson.Find(v, "signature"))
	case "input_json_delta":
		if b.kind == toolBlock {
			if text := dec.unquoted(rawjson.Find(v, "partial_json")); len(text) > 0 {
				b.input = nil
				dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: b.call, Arguments: text})
			}
		}
	case "citations_delta":
		dec.citation(rawjson.Find(v, "citation"))
	}
	return nil
}

// mended is an event of a block as the SDKs of this wire take it: indexes count, because they use them as places in a list, and the arguments of
// a call come in pieces only, because they add pieces to what they have.
func (dec *decoder) mended(name string, data []byte) []byte {
	at := len(dec.blocks) - 1
	if name != "content_block_start" {
		if !dec.renamed && name == "content_block_delta" {
			return data
		}
		at = dec.block(data)
	}
	if at < 0 {
		return data
	}
	b := &dec.blocks[at]
	if name == "content_block_stop" && b.input != nil {
		piece := strconv.AppendInt([]byte(`{"type":"content_block_delta","index":`), int64(at), 10)
		piece = rawjson.AppendString(append(piece, `,"delta":{"type":"input_json_delta","partial_json":`...), b.input)
		dec.held = append(dec.held, completion.Frame{Name: "content_block_delta", Data: append(piece, "}}"...)})
	}
	start := name == "content_block_start" && b.input != nil
	if !start && b.index == int64(at) {
		return data
	}
	out, from := make([]byte, 0, len(data)+8), 0
	for m := rawjson.MembersOf(data); m.Next(); {
		switch {
		case string(m.Name) == "index":
			out = strconv.AppendInt(append(out, data[from:m.At]...), int64(at), 10)
			from = m.End
		case start && string(m.Name) == "content_block":
			for in := rawjson.MembersOf(m.Value); in.Next(); {
				if string(in.Name) == "input" {
					out = append(append(out, data[from:m.At+in.At]...), "{}"...)
					from = m.At + in.End
				}
			}
		}
	}
	return append(out, data[from:]...)
}

// blockStop ends a call.
func (dec *decoder) blockStop(data []byte) {
	if at := dec.block(data); at >= 0 && dec.blocks[at].kind == toolBlock {
		b := &dec.blocks[at]
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: b.call, Arguments: b.input, Last: true})
		b.kind = otherBlock
	}
}

func (dec *decoder) messageDelta(data []byte) {
	if v := rawjson.Find(data, "usage"); rawjson.KindOf(v) == rawjson.Object {
		dec.ev.Usage = dec.usage.later(v)
	}
	if reason := rawjson.FindPath(data, "delta", "stop_reason"); rawjson.KindOf(reason) == rawjson.String && dec.finish == nil {
		dec.finish = []byte(rawjson.Text(reason))
		dec.ev.Finish, dec.ev.NativeFinish = finishReason(string(dec.finish))
	}
}

// citations makes annotations from the citations of a whole block.
func (dec *decoder) citations(list []byte) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		dec.citation(e.Value)
	}
}

// citation adds a citation of a web page to the annotations; other citations quote the client's own documents.
func (dec *decoder) citation(v []byte) {
	if rawjson.TextAt(v, "type") != "web_search_result_location" {
		return
	}
	at := len(dec.raw)
	if dec.ev.Annotations != nil {
		dec.raw[at-1] = ','
	} else {
		dec.raw = append(dec.raw, '[')
	}
	dec.raw = append(dec.raw, `{"type":"url_citation","url_citation":{"url":`...)
	dec.raw = appendOr(dec.raw, rawjson.Find(v, "url"))
	dec.raw = appendOr(append(dec.raw, `,"title":`...), rawjson.Find(v, "title"))
	dec.raw = append(dec.raw, `,"start_index":0,"end_index":0`...)
	if cited := rawjson.Find(v, "cited_text"); rawjson.KindOf(cited) == rawjson.String {
		dec.raw = append(append(dec.raw, `,"content":`...), cited...)
	}
	dec.raw = append(dec.raw, "}}]"...)
	dec.ev.Annotations = dec.raw
}

// appendOr appends a string value, or the empty string.
func appendOr(out, v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.String {
		return append(out, `""`...)
	}
	return append(out, v...)
}

// unquoted is a string's text: a view into the frame, or into dec.text when it has escapes. Anything else has no text.
func (dec *decoder) unquoted(v []byte) []byte { return rawjson.View(&dec.text, v) }

// finishReason maps a stop reason; constants cost no allocation.
func finishReason(native string) (completion.FinishReason, string) {
	switch native {
	case "max_tokens", "model_context_window_exceeded":
		return completion.Length, native
	case "tool_use":
		return completion.ToolCalls, native
	case "refusal":
		return completion.ContentFilter, native
	case "end_turn", "stop_sequence", "pause_turn", "compaction", "stop":
		return completion.Stop, native
	}
	return completion.Failed, native // an unknown word is no good end
}
