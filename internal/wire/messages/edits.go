package messages

import (
	"slices"
	"strings"

	"weir/internal/completion"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/wire/pack"
)

// placeholder replaces the content of a message that has become empty: the wire requires content in every message.
const placeholder = `{"type":"text","text":"..."}`

// Edits removes thinking of providers with other wires, which this style had packed, or, after an upstream has refused it, all thinking; and
// citations that this style had made, which lack what only this wire's providers write; and what only features could permit that were left out; and
// texts of white space and image/jpg, which the wire refuses.
func (source) Edits(req *completion.Request) (list []completion.Edit, lost bool) {
	x := editor{req: req}
	if req.Permitted != nil {
		x.edits = unpermitted(req)
	}
	if req.HasRoles&(completion.HasReasoning|completion.HasRefused) == 0 {
		return x.edits, false
	}
	for i := range req.Members {
		if m := &req.Members[i]; m.Name == "system" && rawjson.KindOf(req.Body[m.Value:m.End]) == rawjson.Array {
			x.content(m.Value, req.Body[m.Value:m.End], placeholder)
		}
	}
	at, last := 0, []byte(nil)
	for e := rawjson.ElementsOf(req.Body[req.MessagesAt.Start:req.MessagesAt.End]); e.Next(); {
		if last != nil {
			x.message(at, last, false)
		}
		at, last = req.MessagesAt.Start+e.At, e.Value
	}
	x.message(at, last, true)
	if x.orphaned {
		x.withoutThinking()
	}
	slices.SortFunc(x.edits, func(a, b completion.Edit) int { return a.Start - b.Start })
	return x.edits, x.lost
}

type editor struct {
	req      *completion.Request
	edits    []completion.Edit
	lost     bool // signed thinking, or the thinking of this answer, was removed
	orphaned bool // the model's last answer has lost the thinking at its beginning, and its turn continues
}

// placed is the position of a content block or a member in the body, and whether it is removed.
type placed struct {
	start, end int
	drop       bool
	with       string // what replaces it, "" nothing
}

func (x *editor) message(at int, v []byte, last bool) {
	before, answer := x.orphaned, rawjson.TextAt(v, "role") == "assistant"
	x.orphaned = !answer && before
	list, text := placeholder, `"`+completion.Filler+`"`
	if last && answer { // the next answer begins with it, and the wire lets it be empty
		list, text = "", `""`
	}
	from, content := find(v, "content")
	switch {
	case rawjson.KindOf(content) == rawjson.Array:
		x.content(at+from, content, list)
	case blank(content):
		x.edits = append(x.edits, completion.Edit{Span: completion.Span{Start: at + from, End: at + from + len(content)}, With: text})
	}
}

// content edits a list of blocks. Where none stays, instead takes their place.
func (x *editor) content(at int, v []byte, instead string) {
	var blocks []placed
	some, dropped, thinks, calls := false, false, false, false
	for e := rawjson.ElementsOf(v); e.Next(); {
		b := placed{start: at + e.At, end: at + e.At + len(e.Value)}
		switch kind := rawjson.TextAt(e.Value, "type"); kind {
		case "thinking", "redacted_thinking":
			b.drop = x.req.WithoutReasoning || foreign(e.Value, kind)
			x.lost = x.lost || b.drop && signatureOf(e.Value, kind) != ""
			dropped, thinks = dropped || b.drop, thinks || !b.drop
		case "text":
			b.drop = blank(rawjson.Find(e.Value, "text"))
			b.with = withoutMade(e.Value)
		case "image":
			x.named(b.start, e.Value)
		case "tool_use":
			calls = true
		case "tool_result":
			x.result(b.start, e.Value)
		}
		some = some || b.drop || b.with != ""
		blocks = append(blocks, b)
	}
	if !some {
		return
	}
	if dropped {
		x.orphaned = calls && !thinks
	}
	x.edits = append(x.edits, removed(blocks, instead)...)
}

// result edits the content of a tool's result, which may be empty unless the tool failed.
func (x *editor) result(at int, v []byte) {
	from, content := find(v, "content")
	if rawjson.KindOf(content) != rawjson.Array {
		return
	}
	instead := ""
	if failed, _ := rawjson.Bool(rawjson.Find(v, "is_error")); failed {
		instead = placeholder
	}
	x.content(at+from, content, instead)
}

// named gives an image the registered name of its type.
func (x *editor) named(at int, v []byte) {
	if from, name, other := otherName(v); other {
		x.edits = append(x.edits, completion.Edit{Span: completion.Span{Start: at + from, End: at + from + len(name)}, With: string(rawjson.AppendText(nil, mediatype.Registered(rawjson.Text(name))))})
	}
}

// otherName finds the media type of a block's data where it is not the registered name, as image/jpg: the wire knows that name alone.
func otherName(block []byte) (at int, name []byte, other bool) {
	from, source := find(block, "source")
	in, name := find(source, "media_type")
	if rawjson.KindOf(name) != rawjson.String {
		return 0, nil, false
	}
	text := rawjson.Text(name)
	return from + in, name, mediatype.Registered(text) != text
}

// blank reports whether a value is a text of white space, which the wire refuses.
func blank(text []byte) bool {
	return rawjson.KindOf(text) == rawjson.String && strings.TrimSpace(rawjson.Text(text)) == ""
}

// removed takes pieces of a list or an object out, each with the comma beside it, or replaces them. Where none stays, instead takes their place.
func removed(pieces []placed, instead string) (list []completion.Edit) {
	for i := 0; i < len(pieces); i++ {
		if p := &pieces[i]; !p.drop {
			if p.with != "" {
				list = append(list, completion.Edit{Span: completion.Span{Start: p.start, End: p.end}, With: p.with})
			}
			continue
		}
		first := i
		for i+1 < len(pieces) && pieces[i+1].drop {
			i++
		}
		edit := completion.Edit{Span: completion.Span{Start: pieces[first].start, End: pieces[i].end}}
		switch {
		case i+1 < len(pieces): // up to the next piece, with the comma between
			edit.End = pieces[i+1].start
		case first > 0:
			edit.Start = pieces[first-1].end
		default:
			edit.With = instead
		}
		list = append(list, edit)
	}
	return list
}

// withoutMade is a block of text without citations that this style had made, "" when it has none.
func withoutMade(block []byte) string {
	if !cites(block) {
		return ""
	}
	for m := rawjson.MembersOf(block); m.Next(); {
		if string(m.Name) == "citations" {
			return string(block[:m.At]) + "null" + string(block[m.End:])
		}
	}
	return ""
}

// cites reports whether a block of text has citations that this style had made.
func cites(block []byte) bool {
	for e := rawjson.ElementsOf(rawjson.Find(block, "citations")); e.Next(); {
		if rawjson.TextAt(e.Value, "type") == "web_search_result_location" && rawjson.TextAt(e.Value, "encrypted_index") == "" {
			return true
		}
	}
	return false
}

// foreign reports whether a block of thinking was packed for a client of this style.
func foreign(block []byte, kind string) bool {
	name := "signature"
	if kind == "redacted_thinking" {
		name = "data"
	}
	_, packed := pack.Unpack(rawjson.TextAt(block, name))
	return packed
}

// withoutThinking turns thinking off for this answer: the wire does not allow it to begin in the middle of a turn.
func (x *editor) withoutThinking() {
	for i := range x.req.Members {
		m := &x.req.Members[i]
		if m.Name != "thinking" || rawjson.TextAt(x.req.Body[m.Value:m.End], "type") != "enabled" {
			continue
		}
		edit := completion.Edit{Span: completion.Span{Start: m.Value, End: m.End}, With: `{"type":"disabled"}`}
		x.lost = true
		if m.Value < x.req.MessagesAt.Start {
			x.edits = append([]completion.Edit{edit}, x.edits...)
		} else {
			x.edits = append(x.edits, edit)
		}
	}
}
