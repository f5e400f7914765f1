package chat

import (
	"bytes"

	"weir/internal/rawjson"
	"weir/internal/wire"
)

// WithPreset writes a preset into the body of a request, which rawjson.Check has passed. model is the model that the request names beside it,
// "" none. shifted reports that its instructions come before the request's messages.
func WithPreset(body []byte, p *wire.Preset, model string) (out []byte, shifted bool) {
	f := p.Fill(body, model)
	for _, s := range p.Parameters {
		switch s.Name {
		case "max_tokens":
			if f.Lacks("max_tokens", "max_completion_tokens") {
				f.Set(s.Name, s.Value)
			}
		case "reasoning":
			if f.Lacks("reasoning", "reasoning_effort", "include_reasoning") {
				f.Set(s.Name, s.Value)
			}
		default:
			f.Default(s.Name, s.Name)
		}
	}
	if p.Tools != nil && f.Lacks("tools", "functions") {
		f.Set("tools", p.Tools)
	}
	if text, list := p.Instructions(), f.Member("messages"); text != nil && rawjson.KindOf(list) == rawjson.Array && !instructed(list) {
		w := rawjson.Writer{B: make([]byte, 0, len(list)+len(text)+40)}
		w.Array()
		w.Object()
		w.Name("role").Text("system")
		w.Name("content").Raw(text)
		w.EndObject()
		if rest := bytes.TrimLeft(list[1:], " \t\r\n"); rest[0] != ']' {
			w.B = append(w.B, ',')
			w.B = append(w.B, rest...)
		} else {
			w.EndArray()
		}
		f.Set("messages", w.B)
		shifted = true
	}
	return f.Body(), shifted
}

// instructed reports whether the messages begin with instructions of their own.
func instructed(list []byte) bool {
	e := rawjson.ElementsOf(list)
	if !e.Next() {
		return true // no messages: the reader refuses them
	}
	role := rawjson.TextAt(e.Value, "role")
	return role == "system" || role == "developer"
}
