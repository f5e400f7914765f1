package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// responsesStyle is POST /v1/responses, for a client that keeps the conversation itself.
type responsesStyle struct{}

func (responsesStyle) name() string              { return "responses" }
func (responsesStyle) path(string, bool) string  { return "/v1/responses" }
func (responsesStyle) header() map[string]string { return nil }

func (s responsesStyle) encode(a *ask) map[string]any {
	var input []any
	for i := range a.turns {
		input = append(input, s.turn(&a.turns[i])...)
	}
	body := map[string]any{"model": a.model, "input": input, "store": false, "include": []string{"reasoning.encrypted_content"}}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	put("instructions", a.system != "", a.system)
	var tools []any
	for _, name := range a.tools {
		tools = append(tools, map[string]any{"type": "function", "name": name, "description": "Tells of a city.", "parameters": raw(toolSchema), "strict": true})
	}
	if a.search {
		tools = append(tools, map[string]any{"type": "web_search"})
	}
	put("tools", tools != nil, tools)
	switch a.must {
	case "":
	case "*":
		body["tool_choice"] = "required"
	case "-":
		body["tool_choice"] = "none"
	default:
		body["tool_choice"] = map[string]any{"type": "function", "name": a.must}
	}
	put("parallel_tool_calls", a.serial, false)
	put("text", a.schema != "", map[string]any{"format": map[string]any{"type": "json_schema", "name": "city", "schema": raw(a.schema), "strict": true}})
	put("text", a.json, map[string]any{"format": map[string]any{"type": "json_object"}})
	put("reasoning", a.effort != "" && a.effort != "none", map[string]any{"effort": a.effort, "summary": "auto"})
	put("reasoning", a.effort == "none", map[string]any{"effort": "none"})
	put("max_output_tokens", a.maxTokens > 0, a.maxTokens)
	return body
}

func (responsesStyle) turn(u *turn) []any {
	switch {
	case u.back != nil:
		return u.back.([]any)
	case u.calls != nil:
		var list []any
		for _, c := range u.calls {
			list = append(list, map[string]any{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments})
		}
		return list
	case u.results != nil:
		var list []any
		for _, r := range u.results {
			var output any = r.text
			if r.image {
				output = []any{map[string]any{"type": "input_text", "text": r.text}, map[string]any{"type": "input_image", "image_url": "data:image/png;base64," + samples["image"]}}
			}
			list = append(list, map[string]any{"type": "function_call_output", "call_id": r.id, "output": output})
		}
		return list
	}
	kind := map[string]string{"user": "input_text", "assistant": "output_text"}[u.role]
	parts := []any{map[string]any{"type": kind, "text": u.text}}
	for _, m := range u.media {
		switch m {
		case "image":
			parts = append(parts, map[string]any{"type": "input_image", "image_url": "data:image/png;base64," + samples[m]})
		case "pdf":
			parts = append(parts, map[string]any{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64," + samples[m]})
		}
	}
	return []any{map[string]any{"type": "message", "role": u.role, "content": parts}}
}

type responsesReply struct {
	ID, Model, Status string
	Output            []any
	IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
	Metadata          struct{ Notice string }
	Usage             *struct {
		InputTokens        int64 `json:"input_tokens"`
		InputTokensDetails struct {
			CachedTokens     int64 `json:"cached_tokens"`
			CacheWriteTokens int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputTokens        int64 `json:"output_tokens"`
		OutputTokensDetails struct {
			ReasoningTokens int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
}

func (s responsesStyle) whole(t *testing.T, body []byte) *said {
	t.Helper()
	r := decode[responsesReply](t, body)
	if r.Usage == nil || r.Status != "completed" && r.Status != "incomplete" {
		t.Fatalf("not a response: %s", body)
	}
	return s.said(t, &r)
}

// stream reads the response at the end of a stream, and compares it with the deltas.
func (s responsesStyle) stream(t *testing.T, body []byte) *said {
	t.Helper()
	var out *said
	var text, arguments strings.Builder
	for _, ev := range (&answer{body: body, responses: true}).events(t) {
		switch ev["type"] {
		case "response.output_text.delta":
			text.WriteString(ev["delta"].(string))
		case "response.function_call_arguments.delta":
			arguments.WriteString(ev["delta"].(string))
		case "response.completed", "response.incomplete":
			b, err := json.Marshal(ev["response"])
			if err != nil {
				t.Fatal(err)
			}
			out = s.whole(t, b)
		}
	}
	if out == nil {
		t.Fatalf("a stream without its end: %s", body)
	}
	called := ""
	for _, c := range out.calls {
		called += c.arguments
	}
	if text.String() != out.text || arguments.String() != called {
		t.Errorf("the pieces are %q and %q, the whole is %q and %q", text.String(), arguments.String(), out.text, called)
	}
	return out
}

func (responsesStyle) said(t *testing.T, r *responsesReply) *said {
	t.Helper()
	u := r.Usage
	out := &said{
		id: r.ID, model: r.Model, native: r.Status, notice: r.Metadata.Notice, back: r.Output, finish: "stop",
		prompt: u.InputTokens, answer: u.OutputTokens, read: u.InputTokensDetails.CachedTokens, written: u.InputTokensDetails.CacheWriteTokens, reasoned: u.OutputTokensDetails.ReasoningTokens,
	}
	for _, item := range r.Output {
		m := item.(map[string]any)
		switch m["type"] {
		case "message":
			for _, part := range m["content"].([]any) {
				p := part.(map[string]any)
				if p["type"] == "output_text" {
					out.text += p["text"].(string)
				}
			}
		case "function_call":
			out.calls = append(out.calls, called{m["call_id"].(string), m["name"].(string), m["arguments"].(string)})
			out.finish = "tools"
		case "reasoning":
			for _, list := range []string{"summary", "content"} {
				parts, _ := m[list].([]any)
				for _, p := range parts {
					out.reasoning += p.(map[string]any)["text"].(string)
				}
			}
			if data, _ := m["encrypted_content"].(string); data != "" && !slices.Contains(out.signatures, data) {
				out.signatures = append(out.signatures, data)
			}
		}
	}
	if r.Status == "incomplete" {
		out.finish = map[string]string{"max_output_tokens": "length", "content_filter": "filter"}[r.IncompleteDetails.Reason]
	}
	return out
}

func (responsesStyle) failure(body []byte) (kind, message string) { return chatStyle{}.failure(body) }
