package gemini

import (
	"strings"

	"weir/internal/rawjson"
	"weir/internal/wire"
)

// Checked is the body of a request with one spelling for each name, as Decode reads it. It fails as Decode does.
func Checked(body []byte) ([]byte, error) { return checked(body) }

// WithPreset writes a preset into the body of a request, which Checked has returned. The model is in the address, not in the body. Parameters
// that this style does not have are left out.
func WithPreset(body []byte, p *wire.Preset) []byte {
	f := p.Fill(body, "")
	f.Set("model", nil)
	if text := p.Instructions(); text != nil && f.Lacks("systemInstruction") {
		var w rawjson.Writer
		w.Object()
		w.Name("parts").Array()
		w.Object()
		w.Name("text").Raw(text)
		w.EndObject()
		w.EndArray()
		w.EndObject()
		f.Set("systemInstruction", w.B)
	}
	var w rawjson.Writer
	w.Object()
	for _, s := range p.Parameters {
		switch s.Name {
		case "stop":
			w.Name("stopSequences")
			if rawjson.KindOf(s.Value) == rawjson.Array {
				w.Raw(s.Value)
			} else {
				w.Array()
				w.Raw(s.Value)
				w.EndArray()
			}
		case "reasoning":
			if thinking := thinkingOf(s.Value); thinking != "" {
				w.Name("thinkingConfig").Raw([]byte(thinking))
			}
		case "response_format":
			appendFormat(&w, f, s.Value)
		default:
			if name := configNames[s.Name]; name != "" {
				w.Name(name).Raw(s.Value)
			}
		}
	}
	w.EndObject()
	if len(w.B) > len("{}") {
		f.Merge("generationConfig", w.B)
	}
	if p.Tools != nil && f.Lacks("tools") {
		f.Set("tools", functions(p))
	}
	f.Default("service_tier", "serviceTier")
	return f.Body()
}

// functions are the tools of a preset: one entry with all declarations.
func functions(p *wire.Preset) []byte {
	var w rawjson.Writer
	w.Array()
	w.Object()
	w.Name("functionDeclarations").Array()
	for _, f := range p.Functions() {
		w.Object()
		w.Name("name").Text(f.Name)
		if f.Description != "" {
			w.Name("description").Text(f.Description)
		}
		if f.Parameters != nil {
			w.Name("parametersJsonSchema").Raw(f.Parameters)
		}
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
	w.EndArray()
	return w.B
}

// configNames are the names of parameters in generationConfig.
var configNames = map[string]string{
	"temperature": "temperature", "top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens", "seed": "seed",
	"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty",
}

// appendFormat writes a format of the chat style, unless the request has one in any of its forms.
func appendFormat(w *rawjson.Writer, f *wire.Filling, format []byte) {
	config := f.Member("generationConfig")
	for _, name := range [...]string{"responseMimeType", "responseSchema", "responseJsonSchema", "_responseJsonSchema"} {
		if !rawjson.IsNull(rawjson.Find(config, name)) {
			return
		}
	}
	switch rawjson.TextAt(format, "type") {
	case "json_object":
		w.Name("responseMimeType").Text("application/json")
	case "json_schema":
		w.Name("responseMimeType").Text("application/json")
		if schema := rawjson.FindPath(format, "json_schema", "schema"); schema != nil {
			w.Name("responseJsonSchema").Raw(schema)
		}
	}
}

// thinkingOf is thinkingConfig for reasoning as the chat style has it; "" leaves it to the model.
func thinkingOf(v []byte) string {
	on, set := rawjson.Bool(rawjson.Find(v, "enabled"))
	effort := rawjson.TextAt(v, "effort")
	show := `"includeThoughts":true`
	if hidden, _ := rawjson.Bool(rawjson.Find(v, "exclude")); hidden {
		show = `"includeThoughts":false`
	}
	switch tokens := rawjson.Find(v, "max_tokens"); {
	case set && !on || effort == "none":
		return `{"thinkingBudget":0}`
	case !rawjson.IsNull(tokens):
		return `{` + show + `,"thinkingBudget":` + string(tokens) + `}`
	case effort == "xhigh" || effort == "max":
		return `{` + show + `,"thinkingLevel":"HIGH"}`
	case effort != "":
		return `{` + show + `,"thinkingLevel":"` + strings.ToUpper(effort) + `"}`
	case on:
		return `{` + show + `,"thinkingBudget":-1}`
	}
	return ""
}
