package gigachat

import (
	"errors"
	"iter"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/usage"
	"weir/internal/wire/pack"
)

var errShape = errors.New("gigachat: not an answer")

// Events decodes an answer, whole or streamed.
func (d *Dialect) Events(a *dialect.Answer) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		dec := decoder{ep: a.Endpoint, yield: yield}
		dec.head.Notice = a.Notice
		dialect.Read(a, &dec, yield)
	}
}

// decoder turns frames into events. A whole answer is one frame.
type decoder struct {
	ep    *catalog.Endpoint
	yield dialect.Yield

	ev       completion.Event
	head     completion.Head
	begun    bool // the first event was made
	finished bool
	calls    int

	text []byte // decoded texts of the frame; events hold views
	raw  []byte // reasoning details of the frame
}

// Whole decodes an answer that is one JSON object.
func (dec *decoder) Whole(body []byte) error {
	if err := dec.frame(body, "message"); err != nil {
		return err
	}
	if !dec.finished {
		return dialect.Ended(dec.ep)
	}
	dec.ev.Done = true
	return dec.send()
}

// Frame decodes one object.
func (dec *decoder) Frame(_, data []byte) (dialect.Progress, error) {
	if err := dec.frame(data, "delta"); err != nil {
		return dialect.More, err
	}
	if dec.finished {
		return dialect.Said, dec.send()
	}
	return dialect.More, dec.send()
}

// Complete reports whether the answer has a finish reason.
func (dec *decoder) Complete() bool { return dec.finished }

// End yields the last event.
func (dec *decoder) End() error {
	if !dec.finished {
		return dialect.Ended(dec.ep)
	}
	dec.reset()
	dec.ev.Done = true
	return dec.send()
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

// frame decodes one checked JSON object whose choice has its content in member.
func (dec *decoder) frame(raw []byte, member string) error {
	dec.reset()
	choices := rawjson.Find(raw, "choices")
	if choices == nil && rawjson.Find(raw, "message") != nil {
		r := dialect.ReadRefusal(raw)
		r.Status = 200
		return r.Fault(dec.ep)
	}
	if rawjson.KindOf(choices) != rawjson.Array {
		return errShape
	}
	if !dec.begun {
		dec.head.Model = rawjson.TextAt(raw, "model")
	}
	dec.ev.Usage = readUsage(rawjson.Find(raw, "usage"))
	list := rawjson.ElementsOf(choices)
	if !list.Next() || dec.finished {
		return nil // anything after the end is not part of the answer
	}
	dec.message(rawjson.Find(list.Value, member))
	if reason := rawjson.Find(list.Value, "finish_reason"); rawjson.KindOf(reason) == rawjson.String && len(reason) > 2 {
		dec.finished = true
		native := rawjson.Text(reason)
		dec.ev.Finish, dec.ev.NativeFinish = finishReason(native), native
		if dec.ev.Finish == completion.Stop && dec.calls > 0 {
			dec.ev.Finish = completion.ToolCalls
		}
	}
	return nil
}

func (dec *decoder) message(v []byte) {
	if rawjson.TextAt(v, "role") == "function_in_progress" {
		return // progress of one of the service's own functions
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "content":
			dec.ev.Text = dec.unquoted(m.Value)
		case "reasoning_content":
			dec.ev.Reasoning = dec.unquoted(m.Value)
		case "function_call":
			dec.call(m.Value)
		}
	}
	if len(dec.ev.ToolCalls) == 0 {
		return
	}
	// The service identifies the state of a call by an id, which must be sent back with the call. It travels as a reasoning detail that
	// only this dialect reads.
	if state := rawjson.Find(v, "functions_state_id"); rawjson.KindOf(state) == rawjson.String && len(state) > 2 {
		dec.raw = append(dec.raw, '[')
		index := dec.calls - 1
		if len(dec.ev.Reasoning) > 0 { // where there are details they contain all reasoning
			dec.raw = append(dec.raw, `{"type":"reasoning.text","index":0,"format":"`+completion.FormatUnknown+`","text":`...)
			dec.raw = append(rawjson.AppendString(dec.raw, dec.ev.Reasoning), "},"...)
			index++
		}
		dec.raw = append(dec.raw, `{"type":"reasoning.encrypted","index":`...)
		dec.raw = strconv.AppendInt(dec.raw, int64(index), 10)
		bound := pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatGigaChat, Data: rawjson.Text(state)})
		dec.raw = append(rawjson.AppendText(append(dec.raw, `,"format":"`+completion.FormatUnknown+`","data":`...), bound), "}]"...)
		dec.ev.ReasoningDetails = dec.raw
		dec.ev.Signature = rawjson.Text(state)
	}
}

func (dec *decoder) call(v []byte) {
	if rawjson.KindOf(v) != rawjson.Object {
		return
	}
	call := completion.ToolCall{Index: dec.calls, Name: rawjson.TextAt(v, "name"), Last: true}
	switch args := rawjson.Find(v, "arguments"); rawjson.KindOf(args) {
	case rawjson.Object:
		call.Arguments = args
	case rawjson.String: // as some servers of this wire write it
		call.Arguments = dec.unquoted(args)
	}
	if call.Name == "" && len(call.Arguments) == 0 {
		return // an empty member is no call
	}
	dec.calls++
	dec.ev.ToolCalls = append(dec.ev.ToolCalls, call)
}

// unquoted is a string's text: a view into the frame, or into dec.text when it has escapes. Anything else has no text.
func (dec *decoder) unquoted(v []byte) []byte { return rawjson.View(&dec.text, v) }

func finishReason(native string) completion.FinishReason {
	switch native {
	case "length":
		return completion.Length
	case "function_call":
		return completion.ToolCalls
	case "blacklist":
		return completion.ContentFilter
	case "stop":
		return completion.Stop
	}
	return completion.Failed // error, or a word to come
}

// readUsage reads the usage, where prompt_tokens do not include cached tokens. It returns nil without one.
func readUsage(v []byte) *usage.Usage {
	var u usage.Usage
	for m := rawjson.MembersOf(v); m.Next(); {
		n, ok := rawjson.Int(m.Value)
		if !ok {
			continue
		}
		switch string(m.Name) {
		case "prompt_tokens":
			u.Prompt = usage.Of(n)
		case "completion_tokens":
			u.Completion = usage.Of(n)
		case "precached_prompt_tokens":
			u.CacheRead = usage.Of(n)
		}
	}
	if !u.Prompt.Reported && !u.Completion.Reported {
		return nil
	}
	if u.Prompt.Reported {
		u.Prompt = usage.Sum(u.Prompt, u.CacheRead)
	}
	return &u
}
