package chat

import (
	"slices"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// answer collects one choice that arrives in several events.
type answer struct {
	text, reasoning, refusal []byte
	details                  details
	calls                    []completion.ToolCall // with copies of the arguments
	images                   []byte                // entries as they will be written, after an opening bracket
	imageCount               int
	audio                    audio
	annotations              []byte // after an opening bracket
	content, refused         []byte // logprobs entries, after an opening bracket
	logprobs                 bool
	finish                   completion.FinishReason
	native                   string
	choiceExtra, deltaExtra  []byte
}

// add adds an event; it keeps none of its slices. Events after the end of the choice are ignored.
func (a *answer) add(ev *completion.Event) {
	if a.finish != "" {
		return
	}
	a.text = append(a.text, ev.Text...)
	a.reasoning = append(a.reasoning, ev.Reasoning...)
	a.refusal = append(a.refusal, ev.Refusal...)
	a.details.add(ev.ReasoningDetails)
	for i := range ev.ToolCalls {
		a.call(&ev.ToolCalls[i])
	}
	if len(ev.Images) > 0 {
		a.images, a.imageCount = appendImages(opened(a.images), ev.Images, a.imageCount)
	}
	if len(ev.Audio) > 0 {
		a.audio.add(ev.Audio)
	}
	if len(ev.Annotations) > 0 {
		a.annotations = appendElements(opened(a.annotations), ev.Annotations)
	}
	if len(ev.Logprobs) > 0 {
		a.logprobs = true
		a.content = appendElements(opened(a.content), rawjson.Find(ev.Logprobs, "content"))
		a.refused = appendElements(opened(a.refused), rawjson.Find(ev.Logprobs, "refusal"))
	}
	if ev.Finish != "" {
		a.finish, a.native = ev.Finish, ev.NativeFinish
	}
	a.choiceExtra = replaceExtra(a.choiceExtra, ev.ChoiceExtra)
	a.deltaExtra = replaceExtra(a.deltaExtra, ev.DeltaExtra)
}

// opened is an array to which elements can be appended.
func opened(list []byte) []byte {
	if len(list) == 0 {
		return append(list, '[')
	}
	return list
}

// call adds a call, which is complete.
func (a *answer) call(t *completion.ToolCall) {
	c := *t
	c.Arguments, c.Extra = slices.Clone(t.Arguments), slices.Clone(t.Extra)
	a.calls = append(a.calls, c)
}

// encodeAnswer encodes a collected choice.
func (x *Whole) encodeAnswer(index int, a *answer) {
	ev := completion.Event{
		Choice: index, Text: a.text, Reasoning: a.reasoning, Refusal: a.refusal, ToolCalls: a.calls,
		ReasoningDetails: a.details.append(nil), Finish: a.finish, NativeFinish: a.native,
		ChoiceExtra: a.choiceExtra, DeltaExtra: a.deltaExtra,
	}
	if a.imageCount > 0 {
		ev.Images = append(a.images, ']')
	}
	if a.audio.pieces > 0 {
		ev.Audio = a.audio.append(nil)
	}
	if len(a.annotations) > 0 {
		ev.Annotations = append(a.annotations, ']')
	}
	if a.logprobs {
		ev.Logprobs = a.appendLogprobs(nil)
	}
	x.encodeEvent(&ev)
}

func (a *answer) appendLogprobs(b []byte) []byte {
	list := func(b, entries []byte) []byte {
		if len(entries) <= 1 {
			return append(b, "null"...)
		}
		return append(append(b, entries...), ']')
	}
	b = list(append(b, `{"content":`...), a.content)
	b = list(append(b, `,"refusal":`...), a.refused)
	return append(b, '}')
}

// details joins fragments of reasoning details: those with the same index and type are one entry.
type details []detail

type detail struct {
	kind   []byte // raw JSON of type
	index  int64  // -1: the upstream sent no numbers
	field  string // text, summary or data
	text   []byte // decoded
	sign   []byte // raw JSON of the signature
	others []byte // raw further members of the first fragment that had any
}

func (d *details) add(list []byte) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		d.addEntry(e.Value)
	}
}

func (d *details) addEntry(entry []byte) {
	index, ok := rawjson.Int(rawjson.Find(entry, "index"))
	if !ok {
		index = -1
	}
	at := d.find(rawjson.Find(entry, "type"), index, rawjson.Find(entry, "id"))
	for m := rawjson.MembersOf(entry); m.Next(); {
		switch name := string(m.Name); name {
		case "type", "index":
		case "text", "summary", "data":
			if rawjson.KindOf(m.Value) == rawjson.String {
				at.field = name
				at.text, _ = rawjson.AppendUnquoted(at.text, m.Value)
			}
		case "signature":
			if at.sign == nil || rawjson.KindOf(m.Value) == rawjson.String {
				at.sign = append([]byte(nil), m.Value...)
			}
		default:
			if rawjson.KindOf(m.Value) != rawjson.Null || !at.has(name) {
				at.others = replaceExtra(at.others, entry[m.Start:m.End])
			}
		}
	}
}

func (d *detail) has(name string) bool {
	return rawjson.Find(append(append([]byte{'{'}, d.others...), '}'), name) != nil
}

// find returns the entry that a fragment continues, or a new one. Without an index only plain text continues the entry before it: two
// encrypted blocks joined together would be invalid.
func (d *details) find(kind []byte, index int64, id []byte) *detail {
	for i := len(*d) - 1; i >= 0; i-- {
		e := &(*d)[i]
		same := string(e.kind) == string(kind)
		if same && index >= 0 && e.index == index {
			return e
		}
		if same && index < 0 && e.index < 0 && i == len(*d)-1 && string(kind) != `"reasoning.encrypted"` && e.sign == nil && rawjson.IsNull(id) {
			return e
		}
	}
	*d = append(*d, detail{kind: append([]byte(nil), kind...), index: index})
	return &(*d)[len(*d)-1]
}

func (d details) append(b []byte) []byte {
	if len(d) == 0 {
		return b
	}
	b = append(b, '[')
	for i := range d {
		if i > 0 {
			b = append(b, ',')
		}
		b = d[i].append(b)
	}
	return append(b, ']')
}

func (d *detail) append(b []byte) []byte {
	b = append(b, '{')
	if len(d.kind) > 0 {
		b = append(append(b, `"type":`...), d.kind...)
	}
	if d.field != "" {
		b = rawjson.AppendString(appendName(b, d.field), d.text)
	}
	if d.sign != nil {
		b = append(appendName(b, "signature"), d.sign...)
	}
	if len(d.others) > 0 {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, d.others...)
	}
	if d.index >= 0 {
		b = strconv.AppendInt(appendName(b, "index"), d.index, 10)
	}
	return append(b, '}')
}
