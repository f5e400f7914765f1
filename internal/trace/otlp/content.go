package otlp

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/trace"
)

// content adds what was asked and answered, as JSON in the shapes of the conventions: gen-ai-input-messages.json and its neighbours. Media
// are named, not sent. Secrets that are recognized as such are replaced.
func (e *Exporter) content(p *pairs, c *trace.Call) {
	prompt, err := c.Request.Prompt()
	if err == nil {
		w := writer{e: e, room: c.Most()}
		if len(prompt.System) > 0 {
			w.Array()
			w.parts(prompt.System)
			w.EndArray()
			p.content(instructions, w.B)
			w.B = nil
		}
		w.Array()
		for i := range prompt.Turns {
			t := &prompt.Turns[i]
			if w.room <= 0 {
				break
			}
			w.Object()
			w.Name("role").Text(roles[t.Role])
			w.Name("parts").Array()
			w.parts(t.Parts)
			w.EndArray()
			w.EndObject()
		}
		w.EndArray()
		p.content(inputMessages, w.B)
	}
	o := &c.Output
	w := writer{e: e, room: c.Most()}
	w.Array()
	w.Object()
	w.Name("role").Text("assistant")
	w.Name("parts").Array()
	w.part("reasoning", string(o.Reasoning))
	w.part("text", string(o.Text))
	for i := range o.Calls {
		w.call(o.Calls[i].ID, o.Calls[i].Name, string(o.Calls[i].Arguments))
	}
	w.EndArray()
	w.Name("finish_reason").Text(o.Finish)
	w.EndObject()
	w.EndArray()
	p.content(outputMessages, w.B)
}

// writer writes content while there is room.
type writer struct {
	rawjson.Writer
	e    *Exporter
	room int // bytes of texts
}

// fits is what of a text has room, without the secrets in it.
func (w *writer) fits(s string) string {
	s = s[:min(len(s), max(w.room, 0))]
	w.room -= len(s)
	return string(w.e.cfg.Redact([]byte(s)))
}

// part writes a part that is a text, unless it is empty.
func (w *writer) part(kind, s string) {
	if s = w.fits(s); s == "" {
		return
	}
	w.Object()
	w.Name("type").Text(kind)
	w.Name("content").Text(s)
	w.EndObject()
}

func (w *writer) call(id, name, arguments string) {
	if w.room <= 0 {
		return
	}
	w.Object()
	w.Name("type").Text("tool_call")
	w.Name("id").Text(cut(id))
	w.Name("name").Text(cut(name))
	w.Name("arguments").Text(w.fits(arguments))
	w.EndObject()
}

func (w *writer) parts(list []completion.Part) {
	for i := range list {
		p := &list[i]
		switch p.Kind {
		case completion.TextPart, completion.RefusalPart:
			w.part("text", p.Text)
		case completion.ImagePart:
			w.media("image", p.Media)
		case completion.AudioPart:
			w.media("audio", p.Media)
		case completion.VideoPart:
			w.media("video", p.Media)
		case completion.FilePart:
			w.media("file", p.Media)
		case completion.CallPart:
			w.call(p.Call.ID, p.Call.Name, string(p.Call.Arguments))
		case completion.ResultPart:
			w.result(p.Result)
		case completion.ReasoningPart:
			w.part("reasoning", p.Reasoning.Text)
		}
	}
}

// media names a part whose content is not sent.
func (w *writer) media(kind string, m *completion.Media) {
	if w.room <= 0 {
		return
	}
	w.Object()
	w.Name("type").Text("blob")
	w.Name("modality").Text(kind)
	if m.Type != "" {
		w.Name("mime_type").Text(cut(m.Type))
	}
	w.Name("content").Text("")
	w.EndObject()
}

func (w *writer) result(r *completion.Result) {
	if w.room <= 0 {
		return
	}
	w.Object()
	w.Name("type").Text("tool_call_response")
	w.Name("id").Text(cut(r.CallID))
	all := ""
	for i := range r.Parts {
		if len(all) < w.room {
			all += r.Parts[i].Text
		}
	}
	w.Name("response").Text(w.fits(all))
	w.EndObject()
}
