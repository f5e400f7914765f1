package world_test

import (
	"encoding/json"
	"reflect"
	"strings"

	"weir/internal/apikey"
	"weir/internal/catalog"
)

type apikeyLimit = apikey.Limit

// settings are the quirks as a configuration has them.
func settings(q *catalog.Quirks) object {
	out := object{}
	v := reflect.ValueOf(q).Elem()
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			out[v.Type().Field(i).Tag.Get("yaml")] = v.Field(i).Interface()
		}
	}
	return out
}

// wish is what a recorded request wants, independent of any wire.
type wish struct {
	system, user string
	tools        []object // name, description, schema
	think        bool
}

// wish reads what matters of the recorded request for an equivalent one of another style: texts, functions, reasoning.
func (r *recording) wish() *wish {
	w := &wish{user: "Go on."}
	var o object
	if r.Request != nil {
		if err := json.Unmarshal(r.Request, &o); err != nil {
			panic(err)
		}
	}
	w.system = textIn(o["system"]) + textIn(o["instructions"]) + textIn(o["systemInstruction"])
	for _, name := range []string{"messages", "input", "contents"} {
		if s := str(o[name]); s != "" {
			w.user = s
		}
		for _, m := range list(o[name]) {
			if text := textIn(m); str(obj(m)["role"]) == "user" && text != "" {
				w.user = text
			}
		}
	}
	tool := func(name, description string, schema any) {
		if obj(schema) == nil {
			schema = object{"type": "object", "properties": object{}}
		}
		for _, t := range w.tools {
			if t["name"] == name {
				return
			}
		}
		if name != "" {
			w.tools = append(w.tools, object{"name": name, "description": description, "schema": schema})
		}
	}
	for _, x := range append(list(o["tools"]), list(obj(o["toolConfig"])["tools"])...) {
		t := obj(x)
		for _, f := range []object{obj(t["function"]), obj(t["toolSpec"])} {
			schema := f["parameters"]
			if s := obj(f["inputSchema"]); s != nil {
				schema = s["json"]
			}
			tool(str(f["name"]), str(f["description"]), schema)
		}
		for _, x := range list(t["functionDeclarations"]) {
			f := obj(x)
			tool(str(f["name"]), str(f["description"]), lowered(f["parameters"]))
		}
		if t["type"] == "function" && t["name"] != nil {
			tool(str(t["name"]), str(t["description"]), t["parameters"])
		}
		if t["input_schema"] != nil {
			tool(str(t["name"]), str(t["description"]), t["input_schema"])
		}
	}
	if out, err := read(r.Wire, r.bytesOf()); err == nil {
		w.think = out.Reasoning != ""
		if missing := int(out.Prompt) - len(w.user)/2; missing > 0 { // no answer counts more than the request can have
			w.user += strings.Repeat(" so", missing)
		}
		for _, name := range out.Names {
			tool(name, "", nil)
		}
	}
	return w
}

// lowered is a schema of the Gemini wire with types in lower case, as in the other wires.
func lowered(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, x := range v {
			if s, ok := x.(string); ok && name == "type" {
				x = strings.ToLower(s)
			}
			out[name] = lowered(x)
		}
		return out
	case []any:
		var out []any
		for _, x := range v {
			out = append(out, lowered(x))
		}
		return out
	}
	return v
}

// textIn joins the text of a message or of content, in any of the wires.
func textIn(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var out string
		for _, x := range v {
			out += textIn(x)
		}
		return out
	case object:
		for _, name := range []string{"content", "parts", "text"} {
			if text := textIn(v[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// in writes the request in a style.
func (w *wish) in(s style) object {
	var tools []any
	for _, t := range w.tools {
		function := object{"name": t["name"], "description": t["description"], "parameters": t["schema"]}
		switch s {
		case chatStyle:
			tools = append(tools, object{"type": "function", "function": function})
		case responsesStyle:
			function["type"] = "function"
			tools = append(tools, function)
		case messagesStyle:
			tools = append(tools, object{"name": t["name"], "description": t["description"], "input_schema": t["schema"]})
		case geminiStyle:
			delete(function, "parameters")
			function["parametersJsonSchema"] = t["schema"]
			tools = append(tools, object{"functionDeclarations": []any{function}})
		}
	}
	o := object{}
	if len(tools) > 0 {
		o["tools"] = tools
	}
	switch s {
	case chatStyle:
		messages := []any{object{"role": "user", "content": w.user}}
		if w.system != "" {
			messages = append([]any{object{"role": "system", "content": w.system}}, messages...)
		}
		o["messages"] = messages
		if w.think {
			o["reasoning"] = object{"effort": "medium"}
		}
	case responsesStyle:
		o["input"] = w.user
		if w.system != "" {
			o["instructions"] = w.system
		}
		if w.think {
			o["reasoning"] = object{"effort": "medium", "summary": "auto"}
		}
	case messagesStyle:
		o["max_tokens"], o["messages"] = 32000, []any{object{"role": "user", "content": w.user}}
		if w.system != "" {
			o["system"] = w.system
		}
		if w.think {
			o["thinking"] = object{"type": "enabled", "budget_tokens": 2048}
		}
	case geminiStyle:
		o["contents"] = []any{object{"role": "user", "parts": []any{object{"text": w.user}}}}
		if w.system != "" {
			o["systemInstruction"] = object{"parts": []any{object{"text": w.system}}}
		}
		if w.think {
			o["generationConfig"] = object{"thinkingConfig": object{"includeThoughts": true, "thinkingBudget": 2048}}
		}
	}
	return o
}
