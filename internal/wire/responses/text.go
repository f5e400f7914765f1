package responses

import (
	"iter"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// PromptText yields the text of the prompt piece by piece, for counting the tokens of a prompt whose upstream reported no usage. Images
// and files are not text; tools are yielded as written. A piece is valid until the next one.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t := promptText{yield: yield, going: true}
		t.items(req.History)
		for _, m := range req.Members {
			v := req.Body[m.Value:m.End]
			switch m.Name {
			case "instructions", "input":
				t.text(v)
				t.items(v)
			case "tools":
				t.raw(v)
			case "text":
				t.raw(rawjson.FindPath(v, "format", "schema"))
			}
		}
		if req.Compact {
			t.raw([]byte(summaryWish))
		}
	}
}

type promptText struct {
	yield func([]byte) bool
	going bool
	buf   []byte
}

func (t *promptText) raw(v []byte) {
	if t.going && len(v) > 0 {
		t.going = t.yield(v)
	}
}

func (t *promptText) text(v []byte) {
	if rawjson.KindOf(v) != rawjson.String {
		return
	}
	var ok bool
	if t.buf, ok = rawjson.AppendUnquoted(t.buf[:0], v); ok {
		t.raw(t.buf)
	}
}

// items yields the texts in items or in parts of them.
func (t *promptText) items(list []byte) {
	for e := rawjson.ElementsOf(list); t.going && e.Next(); {
		for m := rawjson.MembersOf(e.Value); t.going && m.Next(); {
			switch string(m.Name) {
			case "text", "refusal", "name", "arguments", "input":
				t.text(m.Value)
			case "content", "output", "summary":
				t.text(m.Value)
				t.items(m.Value)
			}
		}
	}
}
