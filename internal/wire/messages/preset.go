package messages

import (
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// WithPreset writes a preset into the body of a request, which rawjson.Check has passed. model is the model that the request names beside it,
// "" none. Parameters that this style does not have are left out.
func WithPreset(body []byte, p *wire.Preset, model string) []byte {
	f := p.Fill(body, model)
	for _, name := range [...]string{"max_tokens", "temperature", "top_p", "top_k", "service_tier"} {
		f.Default(name, name)
	}
	if v := p.Parameter("stop"); v != nil && f.Lacks("stop_sequences") {
		f.Set("stop_sequences", listed(v))
	}
	if text := p.Instructions(); text != nil && f.Lacks("system") {
		f.Set("system", text)
	}
	if p.Tools != nil && f.Lacks("tools") {
		f.Set("tools", functions(p))
	}
	var output rawjson.Writer
	output.Object()
	if v := p.Parameter("reasoning"); v != nil && f.Lacks("thinking") {
		thinking, effort := thinkingOf(v)
		if thinking != "" {
			f.Set("thinking", []byte(thinking))
		}
		if effort != "" {
			output.Name("effort").Text(effort)
		}
	}
	if format := p.Parameter("response_format"); rawjson.TextAt(format, "type") == "json_schema" && f.Lacks("output_format") {
		if schema := rawjson.FindPath(format, "json_schema", "schema"); schema != nil {
			output.Name("format").Object()
			output.Name("type").Text("json_schema")
			output.Name("schema").Raw(schema)
			output.EndObject()
		}
	}
	output.EndObject()
	if len(output.B) > len("{}") {
		f.Merge("output_config", output.B)
	}
	return f.Body()
}

// functions are the tools of a preset in the words of this style.
func functions(p *wire.Preset) []byte {
	var w rawjson.Writer
	w.Array()
	for _, f := range p.Functions() {
		w.Object()
		w.Name("name").Text(f.Name)
		if f.Description != "" {
			w.Name("description").Text(f.Description)
		}
		if f.Parameters != nil {
			w.Name("input_schema").Raw(f.Parameters)
		} else {
			w.Name("input_schema").Literal(wire.NoParameters)
		}
		if f.Strict != nil {
			w.Name("strict").Raw(f.Strict)
		}
		w.EndObject()
	}
	w.EndArray()
	return w.B
}

// listed is a list of one or more texts, as a list.
func listed(v []byte) []byte {
	if rawjson.KindOf(v) == rawjson.Array {
		return v
	}
	var w rawjson.Writer
	w.Array()
	w.Raw(v)
	w.EndArray()
	return w.B
}

// thinkingOf is the object thinking, and the effort of output_config, for reasoning as the chat style has it.
func thinkingOf(v []byte) (thinking, effort string) {
	on, set := rawjson.Bool(rawjson.Find(v, "enabled"))
	effort = rawjson.TextAt(v, "effort")
	switch tokens := rawjson.Find(v, "max_tokens"); {
	case set && !on || effort == "none":
		return `{"type":"disabled"}`, ""
	case !rawjson.IsNull(tokens):
		return `{"type":"enabled","budget_tokens":` + string(tokens) + `}`, ""
	case effort == "minimal":
		return `{"type":"adaptive"}`, "low"
	case effort != "" || on:
		return `{"type":"adaptive"}`, effort
	}
	return "", ""
}
