package messages

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire/pack"
)

// placeholder replaces the content of a message that has become empty: the wire requires content in every message.
const placeholder = `{"type":"text","text":"..."}`

// Edits removes thinking of providers with other wires, which this style had packed, or, after an upstream has refused it, all thinking; and
// citations that this style had made, which lack what only this wire's providers write.
func (source) Edits(req *completion.Request) (list []completion.Edit, lost bool) {
	x := editor{req: req}
	for e := rawjson.ElementsOf(req.Body[req.MessagesAt.Start:req.MessagesAt.End]); e.Next(); {
		x.message(req.MessagesAt.Start+e.At, e.Value)
	}
	if x.orphaned {
		x.withoutThinking()
	}
	return x.edits, x.lost
}

type editor struct {
	req      *completion.Request
	edits    []completion.Edit
	lost     bool // signed thinking, or the thinking of this answer, was removed
	orphaned bool // the model's last answer has lost the thinking at its beginning, and its turn continues
}

// placed is the position of a content block in the body, and whether it is removed.
type placed struct {
	start, end int
	drop       bool
	with       string // what replaces it, "" nothing
}

func (x *editor) message(at int, v []byte) {
	before := x.orphaned
	x.orphaned = rawjson.TextAt(v, "role") != "assistant" && before
	for m := rawjson.MembersOf(v); m.Next(); {
		if string(m.Name) == "content" {
			x.content(at+m.At, m.Value)
		}
	}
}

func (x *editor) content(at int, v []byte) {
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
			b.with = withoutMade(e.Value)
		case "tool_use":
			calls = true
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
	for i := 0; i < len(blocks); i++ {
		if !blocks[i].drop {
			if b := &blocks[i]; b.with != "" {
				x.edits = append(x.edits, completion.Edit{Span: completion.Span{Start: b.start, End: b.end}, With: b.with})
			}
			continue
		}
		first := i
		for i+1 < len(blocks) && blocks[i+1].drop {
			i++
		}
		edit := completion.Edit{Span: completion.Span{Start: blocks[first].start, End: blocks[i].end}}
		switch {
		case i+1 < len(blocks): // up to the next block, with the comma between
			edit.End = blocks[i+1].start
		case first > 0:
			edit.Start = blocks[first-1].end
		default:
			edit.With = placeholder
		}
		x.edits = append(x.edits, edit)
	}
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
