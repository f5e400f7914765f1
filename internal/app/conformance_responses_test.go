package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// responsesStyle is POST /v1/responses, for a client that keeps the conversation itself.
type responsesStyle struct{}

func (responsesStyle) Name() string              { return "responses" }
func (responsesStyle) Path(string, bool) string  { return "/v1/responses" }
func (responsesStyle) Header() map[string]string { return nil }

// socketStyle is the same through a WebSocket, where whole answers are the ends of streams.
type socketStyle struct{ responsesStyle }

func (socketStyle) Name() string             { return "responses" + apptest.OfSocket }
func (socketStyle) Path(string, bool) string { return apptest.SocketPath }

func (s responsesStyle) Encode(a *apptest.Ask) map[string]any {
	var input []any
	for i := range a.Turns {
		input = append(input, s.turn(&a.Turns[i])...)
	}
	body := map[string]any{"model": a.Model, "input": input, "store": false, "include": []string{"reasoning.encrypted_content"}}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	put("instructions", a.System != "", a.System)
	var tools []any
	for _, name := range a.Tools {
		tools = append(tools, map[string]any{"type": "function", "name": name, "description": "Tells of a city.", "parameters": apptest.Raw(apptest.ToolSchema), "strict": true})
	}
	if a.Search {
		tools = append(tools, map[string]any{"type": "web_search"})
	}
	put("tools", tools != nil, tools)
	switch a.Must {
	case "":
	case "*":
		body["tool_choice"] = "required"
	case "-":
		body["tool_choice"] = "none"
	default:
		body["tool_choice"] = map[string]any{"type": "function", "name": a.Must}
	}
	put("parallel_tool_calls", a.Serial, false)
	put("text", a.Schema != "", map[string]any{"format": map[string]any{"type": "json_schema", "name": "city", "schema": apptest.Raw(a.Schema), "strict": true}})
	put("text", a.JSON, map[string]any{"format": map[string]any{"type": "json_object"}})
	put("reasoning", a.Effort != "" && a.Effort != "none", map[string]any{"effort": a.Effort, "summary": "auto"})
	put("reasoning", a.Effort == "none", map[string]any{"effort": "none"})
	put("max_output_tokens", a.MaxTokens > 0, a.MaxTokens)
	return body
}

func (responsesStyle) turn(u *apptest.Turn) []any {
	switch {
	case u.Back != nil:
		return u.Back.([]any)
	case u.Calls != nil:
		var list []any
		for _, c := range u.Calls {
			list = append(list, map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
		}
		return list
	case u.Results != nil:
		var list []any
		for _, r := range u.Results {
			var output any = r.Text
			if r.Image {
				output = []any{map[string]any{"type": "input_text", "text": r.Text}, map[string]any{"type": "input_image", "image_url": "data:image/png;base64," + apptest.Samples["image"]}}
			}
			list = append(list, map[string]any{"type": "function_call_output", "call_id": r.ID, "output": output})
		}
		return list
	}
	kind := map[string]string{"user": "input_text", "assistant": "output_text"}[u.Role]
	parts := []any{map[string]any{"type": kind, "text": u.Text}}
	for _, m := range u.Media {
		switch m {
		case "image":
			parts = append(parts, map[string]any{"type": "input_image", "image_url": "data:image/png;base64," + apptest.Samples[m]})
		case "pdf":
			parts = append(parts, map[string]any{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64," + apptest.Samples[m]})
		}
	}
	return []any{map[string]any{"type": "message", "role": u.Role, "content": parts}}
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

func (s responsesStyle) Whole(t *testing.T, body []byte) *apptest.Said {
	t.Helper()
	r := apptest.Decode[responsesReply](t, body)
	if r.Usage == nil || r.Status != "completed" && r.Status != "incomplete" {
		t.Fatalf("not a response: %s", body)
	}
	return s.said(t, &r)
}

// Stream reads the response at the end of a stream, and compares it with the deltas.
func (s responsesStyle) Stream(t *testing.T, body []byte) *apptest.Said {
	t.Helper()
	var out *apptest.Said
	var text, arguments strings.Builder
	for _, ev := range (&apptest.Answer{Body: body, Responses: true}).Events(t) {
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
			out = s.Whole(t, b)
		}
	}
	if out == nil {
		t.Fatalf("a stream without its end: %s", body)
	}
	called := ""
	for _, c := range out.Calls {
		called += c.Arguments
	}
	if text.String() != out.Text || arguments.String() != called {
		t.Errorf("the pieces are %q and %q, the whole is %q and %q", text.String(), arguments.String(), out.Text, called)
	}
	return out
}

func (responsesStyle) said(t *testing.T, r *responsesReply) *apptest.Said {
	t.Helper()
	u := r.Usage
	out := &apptest.Said{
		ID: r.ID, Model: r.Model, Native: r.Status, Notice: r.Metadata.Notice, Back: r.Output, Finish: "stop",
		Prompt: u.InputTokens, Answer: u.OutputTokens, Read: u.InputTokensDetails.CachedTokens, Written: u.InputTokensDetails.CacheWriteTokens, Reasoned: u.OutputTokensDetails.ReasoningTokens,
	}
	for _, item := range r.Output {
		m := item.(map[string]any)
		switch m["type"] {
		case "message":
			for _, part := range m["content"].([]any) {
				p := part.(map[string]any)
				if p["type"] == "output_text" {
					out.Text += p["text"].(string)
				}
			}
		case "function_call":
			out.Calls = append(out.Calls, apptest.Called{ID: m["call_id"].(string), Name: m["name"].(string), Arguments: m["arguments"].(string)})
			out.Finish = "tools"
		case "reasoning":
			for _, list := range []string{"summary", "content"} {
				parts, _ := m[list].([]any)
				for _, p := range parts {
					out.Reasoning += p.(map[string]any)["text"].(string)
				}
			}
			if data, _ := m["encrypted_content"].(string); data != "" && !slices.Contains(out.Signatures, data) {
				out.Signatures = append(out.Signatures, data)
			}
		}
	}
	if r.Status == "incomplete" {
		out.Finish = map[string]string{"max_output_tokens": "length", "content_filter": "filter"}[r.IncompleteDetails.Reason]
	}
	return out
}

func (responsesStyle) Failure(body []byte) (kind, message string) { return chatStyle{}.Failure(body) }
