package responses

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
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/usage"
	"weir/internal/wire/pack"
)

var errShape = errors.New("responses: not a response")

// Events decodes an answer, whole or streamed.
func (d *Dialect) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		dec := decoder{ep: a.Endpoint, format: formatOf(a.Endpoint.Provider), yield: yield}
		dec.head.Notice = a.Notice
		dec.pass = a.Request != nil && a.Request.Style == completion.Responses && passes(a.Endpoint, a.Request)
		dec.asked = a.Request
		dialect.Read(a, &dec, yield)
	}
}

// item is an output item that has begun.
type item struct {
	kind    string // its type
	index   int64  // the server's
	id      string // the server's
	call    int    // index among the tool calls, -1 for other items
	callID  string
	said    bool // there was text, reasoning or arguments of it
	closed  bool
	part    string // of reasoning: list and index of the current part
	detail  int    // index among the reasoning details of that part
	drawing bool   // an image
}

// decoder turns frames into events.
type decoder struct {
	ep     *catalog.Endpoint
	format string
	yield  dialect.Yield
	pass   bool // the client uses this wire: frames pass through
	asked  *completion.Request

	ev      completion.Event
	head    completion.Head
	begun   bool // the first event was made
	content bool // some event had content
	items   []item
	called  usage.Usage     // calls of tools that the provider ran, counted while they were read
	ran     map[string]bool // containers in which it ran code
	calls   int
	details int

	text []byte // decoded texts of the frame; events hold views
	raw  []byte // reasoning details, annotations or images of the frame
	held []completion.Frame
}

// Complete returns false: this wire always sends an event for the end of a response, and its reason.
func (dec *decoder) Complete() bool { return false }

// End fails: the stream ended without the event that ends a response.
func (dec *decoder) End() error { return dialect.Ended(dec.ep) }

// Frame decodes one event of the wire. Its type is in the data: the event's name only repeats it.
func (dec *decoder) Frame(_, data []byte) (_ dialect.Progress, err error) {
	name := rawjson.TextAt(data, "type")
	dec.reset()
	switch name {
	case "response.created", "response.in_progress", "response.queued":
		dec.start(rawjson.Find(data, "response"))
	case "response.completed", "response.incomplete":
		err = dec.end(rawjson.Find(data, "response"))
	case "response.failed":
		return dialect.Done, dec.refused(rawjson.FindPath(data, "response", "error"))
	case "error", "":
		v := rawjson.Find(data, "error")
		if rawjson.KindOf(v) != rawjson.Object {
			v = data
		}
		return dialect.Done, dec.refused(v)
	default:
		if !strings.HasPrefix(name, "response.") {
			return dialect.More, nil // other servers send it to keep a connection alive
		}
		err = dec.piece(strings.TrimPrefix(name, "response."), data)
	}
	if err != nil {
		return dialect.Done, err
	}
	if err = dec.send(name, data); dec.ev.Done {
		return dialect.Done, err
	}
	return dialect.More, err
}

// refused is the fault of a failure inside a 2xx answer.
func (dec *decoder) refused(v []byte) *fault.Error {
	r := dialect.ReadRefusal(v)
	r.Status = 200
	return r.Fault(dec.ep)
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
		if dec.pass {
			dec.held = append(dec.held, completion.Frame{Name: name, Data: slices.Clone(dec.bound(data))})
		}
		return nil
	}
	if dec.pass {
		dec.ev.Frames = append(dec.held, completion.Frame{Name: name, Data: dec.bound(data)})
		dec.held = dec.held[:0]
	} else if !dec.ev.HasContent() && !dec.ev.Done {
		return nil
	}
	dec.content = true
	return dec.tell()
}

func (dec *decoder) tell() error {
	if !dec.begun {
		dec.begun = true
		dec.ev.Head = &dec.head
	}
	dec.ev.Called = &dec.called
	return dec.yield.Send(&dec.ev)
}

func (dec *decoder) start(response []byte) {
	dec.head.ID = rawjson.TextAt(response, "id")
	dec.head.Model = rawjson.TextAt(response, "model")
	dec.head.Tier = rawjson.TextAt(response, "service_tier")
}

// maxItems bounds the state that is kept of one answer.
const maxItems = 10_000

// piece decodes an event inside a response.
func (dec *decoder) piece(name string, data []byte) error {
	if name == "output_item.added" {
		index, ok := rawjson.Int(rawjson.Find(data, "output_index"))
		if !ok || len(dec.items) >= maxItems {
			return errShape
		}
		dec.open(rawjson.Find(data, "item")).index = index
		return nil
	}
	it := dec.at(data)
	if it == nil {
		if name == "output_item.done" && len(dec.items) < maxItems { // nothing has announced it
			v := rawjson.Find(data, "item")
			it = dec.item(v)
			it.index, _ = rawjson.Int(rawjson.Find(data, "output_index"))
			it.closed = true
			dec.announce(it.index, v)
		}
		return nil // the event belongs to no known item
	}
	switch name {
	case "output_text.delta":
		dec.ev.Text = dec.unquoted(rawjson.Find(data, "delta"))
		dec.logprobs(rawjson.Find(data, "logprobs"))
		it.said = it.said || len(dec.ev.Text) > 0
	case "refusal.delta":
		dec.ev.Refusal = dec.unquoted(rawjson.Find(data, "delta"))
		it.said = it.said || len(dec.ev.Refusal) > 0
	case "reasoning_text.delta":
		dec.thinking(it, "text", rawjson.Find(data, "content_index"), rawjson.Find(data, "delta"))
	case "reasoning_summary_text.delta":
		dec.thinking(it, "summary", rawjson.Find(data, "summary_index"), rawjson.Find(data, "delta"))
	case "function_call_arguments.delta", "custom_tool_call_input.delta":
		dec.arguments(it, rawjson.Find(data, "delta"))
	case "function_call_arguments.done":
		dec.whole(it, rawjson.Find(data, "arguments"))
	case "custom_tool_call_input.done":
		dec.whole(it, rawjson.Find(data, "input"))
	case "output_text.annotation.added":
		dec.annotation(rawjson.Find(data, "annotation"))
	case "output_item.done":
		dec.close(it, rawjson.Find(data, "item"))
	}
	return nil
}

// open begins an item.
func (dec *decoder) open(v []byte) *item {
	it := item{kind: rawjson.TextAt(v, "type"), index: int64(len(dec.items)), id: rawjson.TextAt(v, "id"), callID: rawjson.TextAt(v, "call_id"), call: -1}
	switch it.kind {
	case "function_call", "custom_tool_call":
		name := rawjson.TextAt(v, "name")
		if within := rawjson.TextAt(v, "namespace"); within != "" {
			name = within + "__" + name
		}
		if it.kind == "custom_tool_call" && dec.theirs(name) {
			break
		}
		it.call = dec.calls
		dec.calls++
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: it.call, ID: it.callID, Name: name, Custom: it.kind == "custom_tool_call"})
	case "image_generation_call":
		it.drawing = true
	}
	dec.items = append(dec.items, it)
	return &dec.items[len(dec.items)-1]
}

// theirs reports whether a call with free text is of a tool that the provider runs: xAI reports its search in such calls, of names that the request
// does not have.
func (dec *decoder) theirs(name string) bool {
	if dec.asked == nil || dec.asked.Source == nil || dec.pass {
		return false
	}
	p, err := dec.asked.Prompt()
	return err == nil && !slices.ContainsFunc(p.Tools, func(t completion.Tool) bool { return t.Name == name })
}

func (dec *decoder) arguments(it *item, v []byte) {
	if text := dec.unquoted(v); it.call >= 0 && len(text) > 0 {
		it.said = true
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: it.call, Arguments: text})
	}
}

// whole reads the whole arguments of a call that had no pieces of them. {} does not count: some servers write it where they had others before.
func (dec *decoder) whole(it *item, v []byte) {
	if rawjson.KindOf(v) == rawjson.Object && it.call >= 0 && !it.said { // as some servers write it
		it.said = true
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: it.call, Arguments: v})
	} else if !it.said && (it.kind == "custom_tool_call" || string(dec.unquoted(v)) != "{}") {
		dec.arguments(it, v)
	}
}

// at is the item that an event names, nil none. Indexes are names: some servers leave some out.
func (dec *decoder) at(data []byte) *item {
	index, ok := rawjson.Int(rawjson.Find(data, "output_index"))
	if ok && index >= 0 && index < int64(len(dec.items)) && dec.items[index].index == index {
		return &dec.items[index]
	}
	for i := len(dec.items) - 1; ok && i >= 0; i-- {
		if it := &dec.items[i]; it.index == index {
			return it
		}
	}
	return nil
}

// close reads from a finished item what its pieces did not contain.
func (dec *decoder) close(it *item, v []byte) {
	if it.closed {
		return
	}
	it.closed = true
	if dec.ran == nil {
		dec.ran = map[string]bool{}
	}
	countCall(&dec.called, v, dec.ran)
	switch {
	case it.call >= 0:
		member := "arguments"
		if it.kind == "custom_tool_call" {
			member = "input"
		}
		dec.whole(it, rawjson.Find(v, member))
		dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: it.call, Last: true})
	case it.kind == "message" && !it.said:
		dec.parts(v)
	case it.kind == "reasoning" && !it.said:
		dec.reasoningDetail(it, v)
	case it.drawing:
		dec.image(rawjson.Find(v, "result"))
	case dec.builtIn(it, v):
	default:
		dec.sealed(v)
	}
}

// builtIn makes a call of a tool that the vendor defines and the client runs, and reports whether the item is one. Other styles know it as a
// function of that name.
func (dec *decoder) builtIn(it *item, v []byte) bool {
	name, arguments := pack.BuiltIn(v)
	if name == "" {
		return false
	}
	it.call, it.said = dec.calls, true
	dec.calls++
	dec.ev.ToolCalls = append(dec.ev.ToolCalls, completion.ToolCall{Index: it.call, ID: rawjson.TextAt(v, "call_id"), Name: name, Arguments: arguments, Last: true})
	return true
}

// sealed makes a reasoning_details entry of encrypted reasoning.
func (dec *decoder) sealed(v []byte) {
	data := rawjson.Find(v, "encrypted_content")
	if len(data) < 3 || data[0] != '"' {
		return
	}
	dec.ev.Signature = rawjson.Text(data)
	dec.detail("encrypted", dec.details, rawjson.Find(v, "id"))
	dec.details++
	dec.raw = append(dec.bind(append(dec.raw, `,"data":`...), data, rawjson.TextAt(v, "id")), "}]"...)
	dec.ev.ReasoningDetails = dec.raw
}

// bind writes encrypted reasoning with the name of its origin: the client sends it back, and it must not go to another provider.
// OpenAI's own stays unchanged, because clients know its form.
func (dec *decoder) bind(b, data []byte, id string) []byte {
	if dec.format == completion.FormatOpenAI {
		return append(b, data...)
	}
	return rawjson.AppendText(b, pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: dec.format, ID: id, Data: rawjson.Text(data), Origin: originOf(dec.ep)}))
}

// detail begins an entry of reasoning_details, in the list begun before or in a new one.
func (dec *decoder) detail(kind string, index int, id []byte) {
	if n := len(dec.raw); n > 0 {
		dec.raw[n-1] = ','
	} else {
		dec.raw = append(dec.raw, '[')
	}
	dec.raw = append(append(append(dec.raw, `{"type":"reasoning.`...), kind...), `","index":`...)
	dec.raw = strconv.AppendInt(dec.raw, int64(index), 10)
	dec.raw = rawjson.AppendText(append(dec.raw, `,"format":`...), completion.ShownFormat(dec.format))
	if rawjson.KindOf(id) == rawjson.String {
		dec.raw = append(append(dec.raw, `,"id":`...), id...)
	}
}

// thinking makes a fragment of a reasoning_details entry: one for each part of an item.
func (dec *decoder) thinking(it *item, kind string, index, v []byte) {
	text := dec.unquoted(v)
	if len(text) == 0 {
		return
	}
	if part := kind + string(index); it.part != part {
		it.part, it.detail = part, dec.details
		dec.details++
	}
	it.said, dec.ev.Reasoning = true, text
	dec.detail(kind, it.detail, nil)
	dec.raw = append(append(append(dec.raw, `,"`...), kind...), `":`...)
	dec.raw = append(rawjson.AppendString(dec.raw, text), "}]"...)
	dec.ev.ReasoningDetails = dec.raw
}

func (dec *decoder) image(result []byte) {
	if len(result) < 3 || result[0] != '"' {
		return
	}
	dec.ev.ImageCount = 1
	dec.raw = append(dec.raw, `[{"type":"image_url","index":0,"image_url":{"url":"data:image/png;base64,`...)
	dec.raw = append(append(dec.raw, result[1:len(result)-1]...), `"}}]`...)
	dec.ev.Images = dec.raw
}

// annotation makes a canonical annotation from a citation: its members go below the type.
func (dec *decoder) annotation(v []byte) {
	if n := len(dec.raw); n > 0 {
		dec.raw[n-1] = ','
	} else {
		dec.raw = append(dec.raw, '[')
	}
	if rawjson.TextAt(v, "type") == "url_citation" {
		dec.raw = append(dec.raw, `{"type":"url_citation","url_citation":{`...)
		first := len(dec.raw)
		for m := rawjson.MembersOf(v); m.Next(); {
			if string(m.Name) != "type" {
				if len(dec.raw) > first {
					dec.raw = append(dec.raw, ',')
				}
				dec.raw = append(dec.raw, v[m.Start:m.End]...)
			}
		}
		dec.raw = append(dec.raw, "}}]"...)
	} else {
		dec.raw = append(append(dec.raw, v...), ']')
	}
	dec.ev.Annotations = dec.raw
}

func (dec *decoder) logprobs(list []byte) {
	if rawjson.KindOf(list) != rawjson.Array || len(bytes.Trim(list, "[] \t\r\n")) == 0 {
		return
	}
	dec.raw = append(append(append(dec.raw, `{"content":`...), list...), `,"refusal":null}`...)
	dec.ev.Logprobs = dec.raw
}

// end reads the finished response.
func (dec *decoder) end(response []byte) error {
	output := rawjson.Find(response, "output")
	if left := rawjson.IsNull(output) && len(dec.items) > 0; !left && rawjson.KindOf(output) != rawjson.Array {
		return errShape
	}
	at, none := int64(0), len(dec.items) == 0
	for e := rawjson.ElementsOf(rawjson.Find(response, "output")); e.Next(); at++ {
		switch rawjson.TextAt(e.Value, "type") {
		case "message", "reasoning", "function_call", "custom_tool_call":
		default:
			if name, _ := pack.BuiltIn(e.Value); !none && name == "" {
				continue // what the provider ran is counted, and some servers leave its events out
			}
		}
		if err := dec.late(at, e.Value); err != nil {
			return err
		}
	}
	dec.reset()
	return dec.conclude(response)
}

// conclude makes the last event. An empty response is a fault, unless it was cut off and has output items.
func (dec *decoder) conclude(response []byte) error {
	dec.start(response)
	dec.ev.Finish, dec.ev.NativeFinish = dec.finish(response)
	if !dec.content && !acts(response) && (dec.ev.Finish == completion.Stop || len(bytes.TrimSpace(rawjson.Find(response, "output"))) <= 2) {
		return dialect.Empty(dec.ep)
	}
	if dec.ev.Usage = usageOf(response); dec.ev.Usage != nil { // the final response may leave out earlier items
		calls := dec.called.Hosted()
		calls.Fill(dec.ev.Usage, false)
	}
	dec.ev.Done = true
	return nil
}

// acts reports whether a response has items other than what the model says and thinks: calls of tools, and what a client must keep.
func acts(response []byte) bool {
	for e := rawjson.ElementsOf(rawjson.Find(response, "output")); e.Next(); {
		if kind := rawjson.TextAt(e.Value, "type"); kind != "message" && kind != "reasoning" {
			return true
		}
	}
	return false
}

// finish is the reason why a response ended.
func (dec *decoder) finish(response []byte) (completion.FinishReason, string) {
	status := rawjson.TextAt(response, "status")
	if status != "incomplete" {
		if dec.calls > 0 {
			return completion.ToolCalls, "completed"
		}
		return completion.Stop, "completed"
	}
	reason := rawjson.TextAt(rawjson.Find(response, "incomplete_details"), "reason")
	if reason == "content_filter" {
		return completion.ContentFilter, reason
	}
	return completion.Length, reason
}

// bound is a frame in which encrypted reasoning has the name of its origin.
func (dec *decoder) bound(data []byte) []byte {
	if dec.format == completion.FormatOpenAI || !bytes.Contains(data, []byte(`"encrypted_content"`)) {
		return data
	}
	return dec.walk(make([]byte, 0, len(data)+256), data)
}

// walk copies a value and binds all encrypted content in it.
func (dec *decoder) walk(b, v []byte) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		id := rawjson.TextAt(v, "id")
		b = append(b, '{')
		first := len(b)
		for m := rawjson.MembersOf(v); m.Next(); {
			if len(b) > first {
				b = append(b, ',')
			}
			b = append(b, v[m.Start:m.At]...)
			if string(m.Name) == "encrypted_content" && rawjson.KindOf(m.Value) == rawjson.String {
				b = dec.bind(b, m.Value, id)
			} else {
				b = dec.walk(b, m.Value)
			}
		}
		return append(b, '}')
	case rawjson.Array:
		b = append(b, '[')
		first := len(b)
		for e := rawjson.ElementsOf(v); e.Next(); {
			if len(b) > first {
				b = append(b, ',')
			}
			b = dec.walk(b, e.Value)
		}
		return append(b, ']')
	}
	return append(b, v...)
}

// unquoted is a string's text: a view into the frame, or into dec.text when it has escapes. Anything else has no text.
func (dec *decoder) unquoted(v []byte) []byte { return rawjson.View(&dec.text, v) }
