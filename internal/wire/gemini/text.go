package gemini

import (
	"iter"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// PromptText yields the text of the prompt piece by piece, for counting the tokens of a prompt whose upstream reported no usage. Images,
// audio and documents are not text; tools are yielded as written. A piece is valid until the next one.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t := promptText{yield: yield, going: true}
		for i := range req.Members {
			m := &req.Members[i]
			v := req.Body[m.Value:m.End]
			switch m.Name {
			case "systemInstruction":
				t.parts(v)
			case "contents":
				for e := rawjson.ElementsOf(v); t.going && e.Next(); {
					t.parts(e.Value)
				}
			case "tools":
				t.raw(v)
			}
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

func (t *promptText) parts(content []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(content, "parts")); t.going && e.Next(); {
		for m := rawjson.MembersOf(e.Value); t.going && m.Next(); {
			switch string(m.Name) {
			case "text":
				t.text(m.Value)
			case "functionCall":
				t.text(rawjson.Find(m.Value, "name"))
				t.raw(rawjson.Find(m.Value, "args"))
				t.raw(rawjson.Find(m.Value, "partialArgs"))
			case "functionResponse":
				t.text(rawjson.Find(m.Value, "name"))
				t.raw(rawjson.Find(m.Value, "response"))
			}
		}
	}
}
