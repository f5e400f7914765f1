package completions

import (
	"bytes"
	"io"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Writer turns what the chat style writes into this style: a whole answer, or frames of a stream. It is used by one answer.
type Writer struct {
	w       io.Writer
	echo    string
	choices map[int64]*choice
	buf     []byte
}

// choice is what is known of one choice.
type choice struct {
	begun  bool
	offset int64 // of its next token, in characters of its text
}

// NewWriter writes to w.
func NewWriter(w io.Writer, asked Asked) *Writer {
	return &Writer{w: w, echo: asked.Echo, choices: map[int64]*choice{}}
}

// Flush shows the client what was written, if the writer below keeps it.
func (x *Writer) Flush() error {
	if f, ok := x.w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

var dataPrefix = []byte("data: ")

// Write takes a whole answer, or frames that are complete.
func (x *Writer) Write(b []byte) (int, error) {
	if len(b) > 0 && b[0] == '{' {
		x.buf, _ = x.text(b, "message")
	} else {
		x.frames(b)
	}
	if len(x.buf) == 0 {
		return len(b), nil
	}
	if _, err := x.w.Write(x.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

// frames turns frames. Comments and the end mark stay; a frame in which nothing of this style happens is left out.
func (x *Writer) frames(b []byte) {
	x.buf = x.buf[:0]
	for len(b) > 0 {
		end := bytes.Index(b, []byte("\n\n"))
		frame := b
		if end >= 0 {
			frame = b[:end+2]
		}
		b = b[len(frame):]
		data, ok := bytes.CutPrefix(bytes.TrimRight(frame, "\n"), dataPrefix)
		if !ok || len(data) == 0 || data[0] != '{' {
			x.buf = append(x.buf, frame...)
			continue
		}
		if doc, shows := x.text(data, "delta"); shows {
			x.buf = append(append(append(x.buf, dataPrefix...), doc...), "\n\n"...)
		}
	}
}

// text is a document of the chat style, whose choices have their content in the member inner, in this style. shows reports whether the client
// learns anything by it.
func (x *Writer) text(doc []byte, inner string) (out []byte, shows bool) {
	w := rawjson.Writer{B: make([]byte, 0, len(doc))}
	w.Object()
	for m := rawjson.MembersOf(doc); m.Next(); {
		switch name := string(m.Name); name {
		case "object":
			w.Name(name).Text("text_completion")
		case "choices":
			some := false
			w.Name(name).Array()
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				some = true
				shows = x.choice(&w, e.Value, inner) || shows
			}
			w.EndArray()
			shows = shows || !some // of the usage
		case "usage", "error":
			shows = shows || !rawjson.IsNull(m.Value)
			w.Member(doc[m.Start:m.End])
		default:
			w.Member(doc[m.Start:m.End])
		}
	}
	w.EndObject()
	return w.B, shows
}

// choice writes a choice as a text.
func (x *Writer) choice(w *rawjson.Writer, v []byte, inner string) (shows bool) {
	index, _ := rawjson.Int(rawjson.Find(v, "index"))
	c := x.choices[index]
	if c == nil {
		c = &choice{}
		x.choices[index] = c
	}
	said := rawjson.Find(v, inner)
	text := rawjson.TextAt(said, "content")
	if text == "" {
		text = rawjson.TextAt(said, "refusal")
	}
	finish := rawjson.Find(v, "finish_reason")
	shown := text
	if !c.begun && (text != "" || !rawjson.IsNull(finish)) {
		c.begun, shown = true, x.echo+text
	}
	w.Object()
	w.Name("text").Text(shown)
	w.Name("index").Int(index)
	w.Name("logprobs")
	c.logprobs(w, rawjson.Find(rawjson.Find(v, "logprobs"), "content"))
	w.Name("finish_reason")
	if rawjson.IsNull(finish) {
		w.Null()
	} else {
		w.Raw(finish)
	}
	for _, name := range [...]string{"native_finish_reason", "error"} {
		if more := rawjson.Find(v, name); !rawjson.IsNull(more) {
			w.Name(name).Raw(more)
			shows = shows || name == "error"
		}
	}
	if reasoning := rawjson.Find(said, "reasoning"); !rawjson.IsNull(reasoning) {
		w.Name("reasoning").Raw(reasoning)
		shows = true
	}
	w.EndObject()
	return shows || shown != "" || !rawjson.IsNull(finish)
}

// logprobs writes the probabilities of tokens as four lists, or null.
func (c *choice) logprobs(w *rawjson.Writer, content []byte) {
	if rawjson.KindOf(content) != rawjson.Array {
		w.Null()
		return
	}
	each := func(name string, write func(v []byte)) {
		w.Name(name).Array()
		for e := rawjson.ElementsOf(content); e.Next(); {
			write(e.Value)
		}
		w.EndArray()
	}
	w.Object()
	each("tokens", func(v []byte) { w.Text(rawjson.TextAt(v, "token")) })
	each("token_logprobs", func(v []byte) { w.Raw(numberOf(rawjson.Find(v, "logprob"))) })
	each("top_logprobs", func(v []byte) {
		w.Object()
		have := map[string]bool{}
		for e := rawjson.ElementsOf(rawjson.Find(v, "top_logprobs")); e.Next(); {
			if token := rawjson.TextAt(e.Value, "token"); !have[token] {
				have[token] = true
				w.Name(token).Raw(numberOf(rawjson.Find(e.Value, "logprob")))
			}
		}
		w.EndObject()
	})
	each("text_offset", func(v []byte) {
		w.Int(c.offset)
		c.offset += int64(utf8.RuneCountInString(rawjson.TextAt(v, "token")))
	})
	w.EndObject()
}

func numberOf(v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Number {
		return []byte("null")
	}
	return v
}
