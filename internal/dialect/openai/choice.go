package openai

import (
	"bytes"
	"math"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// maxChoices bounds the indexes that are accepted; a request cannot ask for more answers.
const maxChoices = 128

// choice is the state of one answer.
type choice struct {
	begun    bool
	finished bool
	content  bool
	had      kinds // of content, so far
	sent     int   // bytes of text that messages have passed on, math.MaxInt once a delta has: the next message repeats them
	calls    []call
	think    think
}

// kinds is a set of kinds of content besides text.
type kinds uint8

const (
	hasReasoning kinds = 1 << iota
	hasRefusal
	hasCalls
	hasImages
	hasAudio
	hasAnnotations
)

// kindsOf are the kinds of content that an event has.
func kindsOf(ev *completion.Event) (k kinds) {
	for i, some := range [...]bool{
		len(ev.Reasoning) > 0 || len(ev.ReasoningDetails) > 0, len(ev.Refusal) > 0, len(ev.ToolCalls) > 0, len(ev.Images) > 0, len(ev.Audio) > 0, len(ev.Annotations) > 0,
	} {
		if some {
			k |= 1 << i
		}
	}
	return k
}

// choice decodes one element of choices into dec.ev. It returns the usage that some servers write inside it.
func (dec *decoder) choice(raw []byte) (usage []byte, err error) {
	if rawjson.KindOf(raw) != rawjson.Object {
		return nil, errShape
	}
	var delta, message, finish, native, logprobs []byte
	index := int64(0)
	extraAt := len(dec.extra)
	for m := rawjson.MembersOf(raw); m.Next(); {
		switch string(m.Name) {
		case "index":
			if n, ok := rawjson.Int(m.Value); ok {
				index = n
			}
		case "delta":
			delta = m.Value
		case "message":
			message = m.Value
		case "finish_reason":
			finish = m.Value
		case "native_finish_reason":
			native = m.Value
		case "logprobs":
			logprobs = m.Value
		case "usage":
			usage = m.Value
		case "error":
			if !rawjson.IsNull(m.Value) {
				return nil, dec.refusal(m.Value)
			}
		default:
			dec.extra = appendMember(dec.extra, extraAt, raw[m.Start:m.End])
		}
	}
	if index < 0 || index >= maxChoices {
		return nil, errShape
	}
	for int64(len(dec.choices)) <= index {
		dec.choices = append(dec.choices, choice{})
	}
	c := &dec.choices[index]
	c.begun = true
	dec.reset(int(index))
	if len(dec.extra) > extraAt {
		dec.ev.ChoiceExtra = dec.extra[extraAt:len(dec.extra):len(dec.extra)]
	}
	if rawjson.KindOf(logprobs) == rawjson.Object {
		dec.ev.Logprobs = logprobs
	}
	switch rawjson.KindOf(delta) {
	case rawjson.Object:
		dec.delta(c, delta, false)
	case rawjson.Null, rawjson.Invalid:
	default:
		return nil, errShape
	}
	if rawjson.KindOf(message) == rawjson.Object {
		dec.message(c, message)
	}
	dec.ending(c, finish, native)
	if dec.ev.HasContent() {
		c.content = true
		c.had |= kindsOf(&dec.ev)
	}
	return usage, nil
}

// message decodes a whole message. Inside a stream it repeats what came before it and beside it: of each kind of content it counts only where
// there was none, and of text what it has more.
func (dec *decoder) message(c *choice, v []byte) {
	if c.finished {
		return
	}
	c.had |= kindsOf(&dec.ev)
	dec.delta(c, v, true)
}

// ending stores the finish reason. Some servers write an empty one into every frame, some repeat it.
func (dec *decoder) ending(c *choice, finish, native []byte) {
	if rawjson.KindOf(finish) != rawjson.String || len(finish) == 2 || c.finished {
		return
	}
	reason, word := finishReason(finish[1 : len(finish)-1])
	if rawjson.KindOf(native) == rawjson.String && !bytes.Equal(native, finish) {
		word = text(native)
	}
	dec.finish(c, reason, word)
}

// finish closes a choice: it releases text that was held back, and makes the finish reason tool_calls when the answer calls tools, whatever the
// server wrote, because tool loops look only at that.
func (dec *decoder) finish(c *choice, reason completion.FinishReason, native string) {
	c.finished = true
	if held := c.think.flush(); len(held) > 0 {
		if c.think.state == thinking {
			dec.ev.Reasoning = dec.joined(dec.ev.Reasoning, held)
		} else {
			dec.ev.Text = dec.joined(dec.ev.Text, held)
		}
	}
	if reason == completion.Stop && c.called() {
		reason = completion.ToolCalls
	}
	dec.ev.Finish, dec.ev.NativeFinish = reason, native
}

// joined appends b to a; it returns b when a is empty.
func (dec *decoder) joined(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	at := len(dec.text)
	dec.text = append(append(dec.text, a...), b...)
	return dec.text[at:len(dec.text):len(dec.text)]
}

// unquoted is a string's text: a view into the frame, or into dec.text when it has escapes. Anything else has no text.
func (dec *decoder) unquoted(v []byte) []byte {
	if len(v) < 3 || v[0] != '"' {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1 : len(v)-1]
	}
	at := len(dec.text)
	dec.text = rawjson.AppendMended(dec.text, v)
	return dec.text[at:len(dec.text):len(dec.text)]
}

// delta decodes a delta or a message.
func (dec *decoder) delta(c *choice, raw []byte, whole bool) {
	var content, reasoning, spare, calls, call []byte
	extraAt := len(dec.extra)
	ev := &dec.ev
	had := c.had
	if !whole {
		had = 0
	}
	for m := rawjson.MembersOf(raw); m.Next(); {
		switch string(m.Name) {
		case "role":
		case "content":
			content = m.Value
		case "reasoning":
			reasoning = m.Value
		case "reasoning_content":
			spare = m.Value
		case "reasoning_details":
			if had&hasReasoning == 0 {
				ev.ReasoningDetails = shown(list(m.Value))
			}
		case "refusal":
			if had&hasRefusal == 0 {
				ev.Refusal = dec.unquoted(m.Value)
			}
		case "tool_calls":
			calls = m.Value
		case "function_call":
			call = m.Value
		case "images":
			if had&hasImages == 0 {
				ev.Images = list(m.Value)
				for el := rawjson.ElementsOf(ev.Images); el.Next(); {
					ev.ImageCount++
				}
			}
		case "audio":
			if had&hasAudio == 0 && rawjson.KindOf(m.Value) == rawjson.Object {
				ev.Audio = m.Value
			}
		case "annotations":
			if had&hasAnnotations == 0 {
				ev.Annotations = list(m.Value)
			}
		default:
			dec.extra = appendMember(dec.extra, extraAt, raw[m.Start:m.End])
		}
	}
	if len(dec.extra) > extraAt {
		ev.DeltaExtra = dec.extra[extraAt:len(dec.extra):len(dec.extra)]
	}
	if had&hasCalls == 0 { // after the loop: unknown members in them must not mix with unknown members next to them
		dec.toolCalls(c, calls, whole)
		dec.functionCall(c, call, whole)
	}
	if had&hasReasoning == 0 {
		// Servers that know both spellings write the same text twice.
		if ev.Reasoning = dec.unquoted(reasoning); ev.Reasoning == nil {
			ev.Reasoning = dec.unquoted(spare)
		}
	}
	dec.said(c, content, whole)
}

// said decodes the content of a delta or a message.
func (dec *decoder) said(c *choice, content []byte, whole bool) {
	ev := &dec.ev
	before := ev.Text
	if rawjson.KindOf(content) == rawjson.Array {
		if ev.Text = nil; !whole || c.sent == 0 {
			dec.parts(content)
		}
	} else {
		ev.Text = dec.unquoted(content)
	}
	switch {
	case whole:
		n := len(ev.Text)
		ev.Text = ev.Text[min(c.sent, n):]
		c.sent = max(c.sent, n)
	case len(ev.Text) > 0:
		c.sent = math.MaxInt
	}
	if dec.q.ThinkTags && len(ev.Text) > 0 {
		reasoning, plain := dec.split(&c.think, ev.Text)
		ev.Text = plain
		if len(reasoning) > 0 {
			ev.Reasoning = dec.joined(ev.Reasoning, reasoning)
		}
	}
	if whole && len(before) > 0 {
		ev.Text = dec.joined(before, ev.Text)
	}
}

// list returns a raw array that has elements, else nil.
func list(v []byte) []byte {
	if el := rawjson.ElementsOf(v); el.Next() {
		return v
	}
	return nil
}

// parts decodes content that is a list of parts: text, and thinking that some servers nest one level deeper.
func (dec *decoder) parts(v []byte) {
	ev := &dec.ev
	for el := rawjson.ElementsOf(v); el.Next(); {
		var kind, body, thinking, image []byte
		for m := rawjson.MembersOf(el.Value); m.Next(); {
			switch string(m.Name) {
			case "type":
				kind = m.Value
			case "text":
				body = m.Value
			case "thinking", "reasoning":
				thinking = m.Value
			case "image_url":
				image = m.Value
			}
		}
		switch {
		case thinking != nil && rawjson.KindOf(thinking) == rawjson.Array:
			for t := rawjson.ElementsOf(thinking); t.Next(); {
				ev.Reasoning = dec.joined(ev.Reasoning, dec.unquoted(rawjson.Find(t.Value, "text")))
			}
		case thinking != nil:
			ev.Reasoning = dec.joined(ev.Reasoning, dec.unquoted(thinking))
		case image != nil:
			dec.image(el.Value)
		case string(kind) == `"reasoning"`:
			ev.Reasoning = dec.joined(ev.Reasoning, dec.unquoted(body))
		default:
			ev.Text = dec.joined(ev.Text, dec.unquoted(body))
		}
	}
}

// image adds an image part of the content to the images of the event.
func (dec *decoder) image(part []byte) {
	dec.ev.ImageCount++
	at := len(dec.text)
	dec.text = append(dec.text, '[')
	if len(dec.ev.Images) > 0 {
		dec.text = append(dec.text, dec.ev.Images[1:len(dec.ev.Images)-1]...)
		dec.text = append(dec.text, ',')
	}
	dec.text = append(append(dec.text, part...), ']')
	dec.ev.Images = dec.text[at:len(dec.text):len(dec.text)]
}

// shown is a list of reasoning details in formats that clients know.
func shown(list []byte) []byte {
	for e := rawjson.ElementsOf(list); e.Next(); {
		if f := rawjson.Find(e.Value, "format"); rawjson.KindOf(f) == rawjson.String && completion.ShownFormat(rawjson.Text(f)) != rawjson.Text(f) {
			return reformatted(list)
		}
	}
	return list
}

func reformatted(list []byte) []byte {
	w := rawjson.Writer{B: make([]byte, 0, len(list))}
	w.Array()
	for e := rawjson.ElementsOf(list); e.Next(); {
		if rawjson.KindOf(e.Value) != rawjson.Object {
			w.Raw(e.Value)
			continue
		}
		w.Object()
		for m := rawjson.MembersOf(e.Value); m.Next(); {
			if string(m.Name) == "format" && rawjson.KindOf(m.Value) == rawjson.String {
				w.Name("format").Text(completion.ShownFormat(rawjson.Text(m.Value)))
			} else {
				w.Member(e.Value[m.Start:m.End])
			}
		}
		w.EndObject()
	}
	w.EndArray()
	return w.B
}
