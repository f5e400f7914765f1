package responses

import (
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// WithPreset writes a preset into the body of a request, which rawjson.Check has passed. model is the model that the request names beside it,
// "" none. Parameters that this style does not have are left out.
func WithPreset(body []byte, p *wire.Preset, model string) []byte {
	f := p.Fill(body, model)
	for _, name := range [...]string{"temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "reasoning", "service_tier"} {
		f.Default(name, name)
	}
	f.Default("max_tokens", "max_output_tokens")
	if text := p.Instructions(); text != nil && f.Lacks("instructions") {
		f.Set("instructions", text)
	}
	if p.Tools != nil && f.Lacks("tools") {
		f.Set("tools", functions(p))
	}
	var w rawjson.Writer
	w.Object()
	if v := p.Parameter("verbosity"); v != nil {
		w.Name("verbosity").Raw(v)
	}
	if format := p.Parameter("response_format"); format != nil {
		appendFormat(&w, format)
	}
	w.EndObject()
	if len(w.B) > len("{}") {
		f.Merge("text", w.B)
	}
	return f.Body()
}

// functions are the tools of a preset: what the chat style has in function is beside the type.
func functions(p *wire.Preset) []byte {
	var w rawjson.Writer
	w.Array()
	for _, f := range p.Functions() {
		w.Object()
		w.Name("type").Text("function")
		w.Name("name").Text(f.Name)
		if f.Description != "" {
			w.Name("description").Text(f.Description)
		}
		if f.Parameters != nil {
			w.Name("parameters").Raw(f.Parameters)
		} else {
			w.Name("parameters").Literal(wire.NoParameters)
		}
		if f.Strict != nil {
			w.Name("strict").Raw(f.Strict)
		}
		w.EndObject()
	}
	w.EndArray()
	return w.B
}

// appendFormat writes a format of the chat style as this style has it: a schema's members are beside its type.
func appendFormat(w *rawjson.Writer, format []byte) {
	kind := rawjson.TextAt(format, "type")
	switch kind {
	case "text", "json_object":
		w.Name("format").Object()
		w.Name("type").Text(kind)
		w.EndObject()
	case "json_schema":
		w.Name("format").Object()
		w.Name("type").Text(kind)
		for m := rawjson.MembersOf(rawjson.Find(format, "json_schema")); m.Next(); {
			w.Name(string(m.Name)).Raw(m.Value)
		}
		w.EndObject()
	}
}
