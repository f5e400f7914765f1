package all_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
)

// talkers are endpoints of the dialects that converse, one each, and Vertex beside AI Studio.
func talkers() map[string]*catalog.Endpoint {
	out := map[string]*catalog.Endpoint{}
	for name, id := range map[string]string{
		"openai": "acme-large", "anthropic": "claude-sonnet-4-5", "bedrock": "anthropic.claude-sonnet-4-5-v1:0", "gemini": "gemini-2.5-pro", "responses": "gpt-5", "gigachat": "GigaChat-2-Max",
	} {
		out[name] = &catalog.Endpoint{
			Provider: &catalog.Provider{ID: name, Name: name, Dialect: name, BaseURL: "https://provider.example/v1"}, Model: &catalog.Model{Slug: "v/m", Type: catalog.TypeChat},
			UpstreamID: id, Params: catalog.AllParams, Input: catalog.AllModalities, Output: catalog.Text,
		}
	}
	vertex := *out["gemini"]
	vertex.Provider = &catalog.Provider{ID: "vertex", Name: "vertex", Dialect: "gemini", BaseURL: "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google"}
	out["vertex"] = &vertex
	return out
}

// sent is what a provider gets of a request.
func sent(t *testing.T, ep *catalog.Endpoint, style, body string) (doc any, text string) {
	t.Helper()
	req, err := decoders[style]([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", style, err)
	}
	call, err := all.Dialects()[ep.Provider.Dialect].(dialect.Texter).Request(ep, req)
	if err != nil {
		t.Fatalf("%s: %v", style, err)
	}
	whole := wholeBody(&call)
	if err := json.Unmarshal(whole, &doc); err != nil {
		t.Fatalf("%s: %v in %s", style, err, whole)
	}
	return doc, string(whole)
}

// walk calls f with every value of a document and the names that lead to it.
func walk(v any, path []string, f func(path []string, v any)) {
	f(path, v)
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			walk(inner, append(path[:len(path):len(path)], name), f)
		}
	case []any:
		for i, inner := range v {
			walk(inner, append(path[:len(path):len(path)], fmt.Sprint(i)), f)
		}
	}
}

const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`

// What one dialect mends, each of them mends: what goes out is what its providers take, or the dialect's own style's bytes.
func TestSiblings(t *testing.T) {
	t.Parallel()
	turns := func(list string) map[string]string {
		return map[string]string{"chat": `{"model":"x/y","messages":[` + list + `]}`, "messages": `{"model":"x/y","max_tokens":99,"messages":[` + list + `]}`, "responses": `{"model":"x/y","store":false,"input":[` + list + `]}`}
	}
	for _, c := range []struct {
		name   string
		bodies map[string]string
		but    []string // dialects, or dialect and style, that take it as it is or cannot have it
		wrong  func(wire string, path []string, v any) string
	}{
		{"image/jpg", map[string]string{
			"chat":      `{"model":"x/y","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/jpg;base64,/9j/4AAQSkZJRgABAQAA"}}]}]}`,
			"messages":  `{"model":"x/y","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpg","data":"/9j/4AAQSkZJRgABAQAA"}}]}]}`,
			"responses": `{"model":"x/y","store":false,"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/jpg;base64,/9j/4AAQSkZJRgABAQAA"}]}]}`,
			"gemini":    `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/jpg","data":"/9j/4AAQSkZJRgABAQAA"}}]}]}`,
		}, []string{"gigachat", "openai chat", "responses responses", "gemini gemini", "vertex gemini"}, func(_ string, _ []string, v any) string {
			if s, ok := v.(string); ok && strings.Contains(s, "image/jpg") {
				return s
			}
			return ""
		}},
		{"texts of white space", turns(`{"role":"user","content":"q"},{"role":"assistant","content":" \n"},{"role":"user","content":"\n"}`),
			[]string{"openai", "responses"}, blank},
		{"no text at all", turns(`{"role":"user","content":""}`), []string{"openai", "responses"}, blank},
		{"instructions of white space", map[string]string{
			"chat": `{"model":"x/y","messages":[{"role":"system","content":" "},{"role":"user","content":"q"}]}`, "responses": `{"model":"x/y","store":false,"instructions":" ","input":"q"}`,
		}, []string{"openai", "responses", "gigachat"}, blank},
		{"instructions alone", map[string]string{"chat": `{"model":"x/y","messages":[{"role":"system","content":"You are X"}]}`}, []string{"openai", "responses"}, blank},
		{"reasoning alone", map[string]string{
			"chat":     `{"model":"x/y","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","reasoning":"hm"},{"role":"user","content":"go on"}]}`,
			"messages": `{"model":"x/y","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]},{"role":"user","content":"go on"}]}`,
		}, []string{"anthropic messages"}, func(wire string, path []string, v any) string {
			if list, ok := v.([]any); ok && len(list) == 0 && (path[len(path)-1] == "parts" || path[len(path)-1] == "content") {
				return "an empty " + path[len(path)-1]
			}
			if m, ok := v.(map[string]any); ok && wire == "openai" && m["role"] == "assistant" && m["content"] == nil {
				return "an answer without content"
			}
			return ""
		}},
		{"an empty schema", schema(`{}`), []string{"responses responses", "anthropic messages", "gemini gemini", "vertex gemini"}, typed},
		{"a schema without a type", schema(`{"properties":{"a":{"type":"string"}}}`), []string{"responses responses", "anthropic messages", "gemini gemini", "vertex gemini"}, typed},
		{"no schema", map[string]string{"chat": `{"model":"x/y","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}]}`}, []string{"gemini", "vertex"}, typed},
		{"an image in a result", map[string]string{
			"chat": `{"model":"x/y","messages":[{"role":"user","content":"q"},` + call + `,{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAAN"}}]}],` + tools + `}`,
			"messages": `{"model":"x/y","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAAN"}}]}]}],
				"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
		}, []string{"gigachat"}, func(wire string, _ []string, v any) string {
			m, ok := v.(map[string]any)
			if b, _ := json.Marshal(m["content"]); ok && wire == "openai" && m["role"] == "tool" && strings.Contains(string(b), "base64") {
				return "an image in a message of a tool"
			}
			return ""
		}},
	} {
		for name, ep := range talkers() {
			for style, body := range c.bodies {
				if contains(c.but, name, name+" "+style) {
					continue
				}
				t.Run(c.name+"/"+name+"/"+style, func(t *testing.T) {
					t.Parallel()
					doc, text := sent(t, ep, style, body)
					walk(doc, nil, func(path []string, v any) {
						if why := c.wrong(name, path, v); why != "" {
							t.Errorf("%s: %s in %s", strings.Join(path, "/"), why, text)
						}
					})
					if c.name == "an image in a result" && !strings.Contains(text, "iVBORw0KGgoAAAAN") {
						t.Errorf("the image is lost in %s", text)
					}
				})
			}
		}
	}
}

const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`

func schema(s string) map[string]string {
	return map[string]string{
		"chat":      `{"model":"x/y","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + s + `}}]}`,
		"messages":  `{"model":"x/y","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":` + s + `}]}`,
		"responses": `{"model":"x/y","store":false,"input":"x","tools":[{"type":"function","name":"f","parameters":` + s + `}]}`,
		"gemini":    `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":` + s + `}]}]}`,
	}
}

// typed finds schemas of parameters without type object.
func typed(_ string, path []string, v any) string {
	if len(path) == 0 {
		return ""
	}
	switch path[len(path)-1] {
	case "parameters", "input_schema", "parametersJsonSchema", "json":
		if m, ok := v.(map[string]any); !ok || m["type"] != "object" {
			return "a schema without a type"
		}
	}
	return ""
}

// blank finds texts of white space, and messages without any.
func blank(_ string, path []string, v any) string {
	if len(path) == 0 {
		return ""
	}
	switch name := path[len(path)-1]; v := v.(type) {
	case string:
		if (name == "text" || name == "content") && strings.TrimSpace(v) == "" {
			return "a blank text"
		}
	case []any:
		if (name == "parts" || name == "content" || name == "contents" || name == "messages") && len(v) == 0 {
			return "an empty " + name
		}
	}
	return ""
}

func contains(list []string, any ...string) bool {
	for _, have := range list {
		for _, want := range any {
			if have == want {
				return true
			}
		}
	}
	return false
}
