package messages

import (
	"iter"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/usage/tokenizer"
)

func place(list string, at int) string { return list + "[" + strconv.Itoa(at) + "]" }

// PromptText yields the text of the prompt piece by piece, for counting the tokens of a prompt whose upstream reported no usage. Images
// and documents are not text; tools are yielded as written. A piece is valid until the next one.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t := promptText{yield: yield, going: true}
		for _, m := range req.Members {
			v := req.Body[m.Value:m.End]
			switch m.Name {
			case "system":
				t.content(v)
			case "messages":
				for e := rawjson.ElementsOf(v); t.going && e.Next(); {
					t.content(rawjson.Find(e.Value, "content"))
				}
			case "tools":
				t.raw(v)
			}
		}
	}
}

// likelyTokens is about how many tokens a prompt has. It takes a few nanoseconds for each byte.
func likelyTokens(req *completion.Request) int64 {
	var g tokenizer.Gauge
	for piece := range PromptText(req) {
		g.Add(piece)
	}
	return g.Likely() + req.Needs.MediaTokens
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

func (t *promptText) content(v []byte) {
	t.text(v)
	for e := rawjson.ElementsOf(v); t.going && e.Next(); {
		for m := rawjson.MembersOf(e.Value); t.going && m.Next(); {
			switch string(m.Name) {
			case "text", "thinking", "name":
				t.text(m.Value)
			case "input":
				t.raw(m.Value)
			case "content":
				t.content(m.Value)
			}
		}
	}
}
