package openai

import (
	"bytes"

	"weir/internal/rawjson"
)

// form is what frames of a stream have in common that hold a piece of text and nothing else that is new. Most frames differ from the one
// before only in that text, and are not decoded again.
type form struct {
	before []byte // the frame up to the text; empty: there is no form
	after  []byte // the frame after it
	choice int
	hidden bool // the text is reasoning
	misses int  // forms in a row that no frame had

	frameExtra, choiceExtra, deltaExtra []byte // views into the decoder's extra
}

const (
	mostMisses = 4       // some servers write another time or random text into each frame: forms are kept in vain
	mostForm   = 4 << 10 // bytes of a form
)

// text returns the string that a frame of this form has for its text, with its quotes; nil where the frame has another form. The frame is
// checked JSON.
func (f *form) text(frame []byte) []byte {
	at, end := len(f.before), len(frame)-len(f.after)
	if at == 0 || end-at < 2 || frame[at] != '"' || !bytes.Equal(frame[:at], f.before) || !bytes.Equal(frame[end:], f.after) || rawjson.StringEnd(frame, at) != end {
		return nil
	}
	return frame[at:end:end]
}

// again yields the event of a frame that has the form of the one before.
func (dec *decoder) again(text []byte) error {
	f := &dec.form
	f.misses = 0
	dec.text = dec.text[:0]
	dec.reset(f.choice)
	dec.ev.FrameExtra, dec.ev.ChoiceExtra, dec.ev.DeltaExtra = f.frameExtra, f.choiceExtra, f.deltaExtra
	if f.hidden {
		dec.ev.Reasoning = dec.unquoted(text)
	} else {
		dec.ev.Text = dec.unquoted(text)
	}
	return dec.send()
}

// learn keeps the form of a frame whose event was yielded just now, if it has one. Where tags of reasoning are looked for, text comes only after
// them, when they mean nothing any more.
func (dec *decoder) learn(frame []byte) {
	f, ev := &dec.form, &dec.ev
	if len(f.before) > 0 {
		f.misses++
		f.before = f.before[:0]
	}
	if f.misses > mostMisses || ev.Choice < 0 || ev.Head != nil || ev.Usage != nil || ev.Finish != "" || len(ev.Text) > 0 == (len(ev.Reasoning) > 0) ||
		len(ev.Refusal)+len(ev.ReasoningDetails)+len(ev.ToolCalls)+len(ev.Images)+len(ev.Audio)+len(ev.Annotations)+len(ev.Logprobs) > 0 {
		return
	}
	f.choice, f.hidden = ev.Choice, len(ev.Reasoning) > 0
	at, end := textPlace(frame, f.hidden)
	if at == 0 || len(frame)-(end-at) > mostForm {
		return
	}
	f.before, f.after = append(f.before, frame[:at]...), append(f.after[:0], frame[end:]...)
	f.frameExtra, f.choiceExtra, f.deltaExtra = ev.FrameExtra, ev.ChoiceExtra, ev.DeltaExtra
}

// textPlace returns where the text of a frame's only choice begins and ends; 0, 0 where that is not plain.
func textPlace(frame []byte, hidden bool) (at, end int) {
	choices := only(frame, 0, "choices")
	el := rawjson.ElementsOf(frame[choices.at:choices.end])
	if choices.at == 0 || !el.Next() {
		return 0, 0
	}
	choice := part{choices.at + el.At, choices.at + el.At + len(el.Value)}
	if el.Next() || only(frame[:choice.end], choice.at, "message").at > 0 {
		return 0, 0
	}
	delta := only(frame[:choice.end], choice.at, "delta")
	text := only(frame[:delta.end], delta.at, "content")
	if hidden {
		text = only(frame[:delta.end], delta.at, "reasoning", "reasoning_content")
	}
	if delta.at == 0 || text.at == 0 || frame[text.at] != '"' {
		return 0, 0
	}
	return text.at, text.end
}

// part is where a value is in a frame; at is 0 for none.
type part struct{ at, end int }

// only looks in the object that begins at for a member with one of these names, and returns the place of its value; none where two have one.
func only(frame []byte, at int, names ...string) (found part) {
	for m := rawjson.MembersOf(frame[at:]); m.Next(); {
		for _, name := range names {
			if string(m.Name) != name {
				continue
			}
			if found.at > 0 {
				return part{}
			}
			found = part{at + m.At, at + m.End}
		}
	}
	return found
}
