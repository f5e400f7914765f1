package chat

import (
	"iter"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// PromptText yields the text of the prompt piece by piece, unescaped, for counting the tokens of a prompt whose upstream reported no
// usage. Images, audio and files are not text; tools and schemas are yielded as written. A piece is valid until the next one.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		p := prompt{yield: yield, going: true}
		p.messages(req.Body[req.MessagesAt.Start:req.MessagesAt.End])
		for _, m := range req.Members {
			switch m.Name {
			case "tools", "functions", "response_format":
				p.raw(req.Body[m.Value:m.End])
			}
		}
	}
}

type prompt struct {
	yield func([]byte) bool
	going bool
	buf   []byte
}

func (p *prompt) raw(v []byte) {
	if p.going && !rawjson.IsNull(v) && len(v) > 0 {
		p.going = p.yield(v)
	}
}

func (p *prompt) text(v []byte) {
	if rawjson.KindOf(v) != rawjson.String {
		return
	}
	var ok bool
	if p.buf, ok = rawjson.AppendUnquoted(p.buf[:0], v); ok {
		p.raw(p.buf)
	}
}

func (p *prompt) messages(list []byte) {
	for e := rawjson.ElementsOf(list); p.going && e.Next(); {
		for m := rawjson.MembersOf(e.Value); p.going && m.Next(); {
			switch string(m.Name) {
			case "role", "name", "refusal", "reasoning", "tool_call_id":
				p.text(m.Value)
			case "reasoning_content":
				if rawjson.IsNull(rawjson.Find(e.Value, "reasoning")) { // the same text under another name
					p.text(m.Value)
				}
			case "reasoning_details":
				if rawjson.IsNull(rawjson.Find(e.Value, "reasoning")) && rawjson.IsNull(rawjson.Find(e.Value, "reasoning_content")) {
					p.content(m.Value) // entries have their text in the same member as parts
				}
			case "content":
				p.content(m.Value)
			case "tool_calls":
				for c := rawjson.ElementsOf(m.Value); p.going && c.Next(); {
					p.call(rawjson.Find(c.Value, "function"))
					p.call(rawjson.Find(c.Value, "custom"))
				}
			case "function_call":
				p.call(m.Value)
			}
		}
	}
}

func (p *prompt) content(v []byte) {
	p.text(v)
	for e := rawjson.ElementsOf(v); p.going && e.Next(); {
		p.text(rawjson.Find(e.Value, "text"))
		p.text(rawjson.Find(e.Value, "refusal"))
	}
}

func (p *prompt) call(v []byte) {
	p.text(rawjson.Find(v, "name"))
	p.text(rawjson.Find(v, "arguments"))
	p.text(rawjson.Find(v, "input"))
}
