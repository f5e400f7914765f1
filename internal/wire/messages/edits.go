package messages

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire/pack"
)

// placeholder replaces the content of a message that has become empty: the wire requires content in every message.
const placeholder = `{"type":"text","text":"..."}`

// Edits removes thinking of providers with other wires, which this style had packed, or, after an upstream has refused it, all thinking.
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
	some, thinks, calls := false, false, false
	for e := rawjson.ElementsOf(v); e.Next(); {
		b := placed{start: at + e.At, end: at + e.At + len(e.Value)}
		switch kind := rawjson.TextAt(e.Value, "type"); kind {
		case "thinking", "redacted_thinking":
			b.drop = x.req.WithoutReasoning || foreign(e.Value, kind)
			x.lost = x.lost || b.drop && signatureOf(e.Value, kind) != ""
			some, thinks = some || b.drop, thinks || !b.drop
		case "tool_use":
			calls = true
		}
		blocks = append(blocks, b)
	}
	if !some {
		return
	}
	x.orphaned = calls && !thinks
	for i := 0; i < len(blocks); i++ {
		if !blocks[i].drop {
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
