package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

var styles = []apptest.Style{chatStyle{}, messagesStyle{}, responsesStyle{}, apptest.GeminiStyle{}}

// reached are the styles with the ways by which their requests come.
var reached = slices.Insert(slices.Clone(styles), 3, apptest.Style(socketStyle{}))

// chatStyle is POST /v1/chat/completions.
type chatStyle struct{}

func (chatStyle) Name() string              { return "chat" }
func (chatStyle) Path(string, bool) string  { return "/v1/chat/completions" }
func (chatStyle) Header() map[string]string { return nil }

func (s chatStyle) Encode(a *apptest.Ask) map[string]any {
	var messages []any
	if a.System != "" {
		part := map[string]any{"type": "text", "text": a.System}
		if a.Mark != "" {
			part["cache_control"] = map[string]any{"type": "ephemeral", "ttl": a.Mark}
		}
		messages = append(messages, map[string]any{"role": "system", "content": []any{part}})
	}
	for i := range a.Turns {
		messages = append(messages, s.turn(&a.Turns[i])...)
	}
	body := map[string]any{"model": a.Model, "messages": messages}
	var tools []any
	for _, name := range a.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "description": "Tells of a city.", "parameters": apptest.Raw(apptest.ToolSchema)}})
	}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	put("tools", tools != nil, tools)
	switch a.Must {
	case "":
	case "*":
		body["tool_choice"] = "required"
	case "-":
		body["tool_choice"] = "none"
	default:
		body["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": a.Must}}
	}
	put("parallel_tool_calls", a.Serial, false)
	put("response_format", a.Schema != "", map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "city", "schema": apptest.Raw(a.Schema)}})
	put("response_format", a.JSON, map[string]any{"type": "json_object"})
	put("reasoning", a.Effort != "", map[string]any{"effort": a.Effort})
	put("max_tokens", a.MaxTokens > 0, a.MaxTokens)
	put("stop", a.Stop != nil, a.Stop)
	put("web_search_options", a.Search, map[string]any{})
	put("modalities", a.Images, []string{"text", "image"})
	return body
}

func (chatStyle) turn(u *apptest.Turn) []any {
	switch {
	case u.Back != nil:
		return []any{u.Back}
	case u.Calls != nil:
		var list []any
		for _, c := range u.Calls {
			list = append(list, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
		}
		return []any{map[string]any{"role": "assistant", "content": nil, "tool_calls": list}}
	case u.Results != nil:
		var list []any
		for _, r := range u.Results {
			var content any = r.Text
			if r.Image {
				content = []any{
					map[string]any{"type": "text", "text": r.Text},
					map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + apptest.Samples["image"]}},
				}
			}
			list = append(list, map[string]any{"role": "tool", "tool_call_id": r.ID, "content": content})
		}
		return list
	case u.Media == nil:
		return []any{map[string]any{"role": u.Role, "content": u.Text}}
	}
	parts := []any{map[string]any{"type": "text", "text": u.Text}}
	for _, m := range u.Media {
		switch m {
		case "image":
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + apptest.Samples[m]}})
		case "pdf":
			parts = append(parts, map[string]any{"type": "file", "file": map[string]any{"filename": "a.pdf", "file_data": "data:application/pdf;base64," + apptest.Samples[m]}})
		case "audio":
			parts = append(parts, map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": apptest.Samples[m], "format": "wav"}})
		}
	}
	return []any{map[string]any{"role": u.Role, "content": parts}}
}

// chatMessage is a message, or a delta of one.
type chatMessage struct {
	Content          *string
	Reasoning        string
	ReasoningDetails []map[string]any `json:"reasoning_details"`
	Images           []any
	ToolCalls        []chatCall `json:"tool_calls"`
}

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name             string `json:"name"`
		Arguments        string `json:"arguments"`
		ThoughtSignature string `json:"thought_signature,omitempty"`
	} `json:"function"`
}

type chatUsage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type chatReply struct {
	ID, Model string
	Metadata  struct{ Notice string }
	Choices   []struct {
		Message, Delta     chatMessage
		FinishReason       string `json:"finish_reason"`
		NativeFinishReason string `json:"native_finish_reason"`
	}
	Usage *chatUsage
	Error any
}

func (s chatStyle) Whole(t *testing.T, body []byte) *apptest.Said {
	t.Helper()
	r := apptest.Decode[chatReply](t, body)
	if len(r.Choices) != 1 || r.Usage == nil {
		t.Fatalf("not an answer: %s", body)
	}
	return s.said(&r, &r.Choices[0].Message)
}

// Stream joins chunks as the SDKs do.
func (s chatStyle) Stream(t *testing.T, body []byte) *apptest.Said {
	t.Helper()
	text, done := strings.CutSuffix(string(body), "data: [DONE]\n\n")
	if !done {
		t.Fatalf("a stream without its end: %s", body)
	}
	var all chatReply
	var m chatMessage
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		r := apptest.Decode[chatReply](t, []byte(strings.TrimPrefix(frame, "data: ")))
		if r.Error != nil || len(r.Choices) != 1 {
			t.Fatalf("frame %s", frame)
		}
		all.ID, all.Model = r.ID, r.Model
		if r.Metadata.Notice != "" {
			all.Metadata = r.Metadata
		}
		m.join(t, &r.Choices[0].Delta)
		if c := r.Choices[0]; c.FinishReason != "" {
			all.Choices, all.Usage = r.Choices, r.Usage
		}
	}
	if all.Usage == nil {
		t.Fatalf("a stream without usage: %s", body)
	}
	return s.said(&all, &m)
}

func (m *chatMessage) join(t *testing.T, d *chatMessage) {
	t.Helper()
	if d.Content != nil && *d.Content != "" {
		if m.Content == nil {
			m.Content = new(string)
		}
		*m.Content += *d.Content
	}
	m.Reasoning += d.Reasoning
	m.Images = append(m.Images, d.Images...)
	for _, c := range d.ToolCalls {
		switch {
		case c.Index == len(m.ToolCalls):
			m.ToolCalls = append(m.ToolCalls, c)
		case c.Index == len(m.ToolCalls)-1 && c.ID == "" && c.Function.Name == "":
			m.ToolCalls[c.Index].Function.Arguments += c.Function.Arguments
		default:
			t.Errorf("a fragment of call %d after %d calls: %+v", c.Index, len(m.ToolCalls), c)
		}
	}
	for _, e := range d.ReasoningDetails {
		if n := len(m.ReasoningDetails); n > 0 && fmt.Sprint(m.ReasoningDetails[n-1]["index"]) == fmt.Sprint(e["index"]) && m.ReasoningDetails[n-1]["type"] == e["type"] {
			for name, v := range e {
				if text, ok := v.(string); ok && (name == "text" || name == "summary" || name == "data") {
					before, _ := m.ReasoningDetails[n-1][name].(string)
					m.ReasoningDetails[n-1][name] = before + text
				} else if v != nil {
					m.ReasoningDetails[n-1][name] = v
				}
			}
			continue
		}
		m.ReasoningDetails = append(m.ReasoningDetails, e)
	}
}

func (chatStyle) said(r *chatReply, m *chatMessage) *apptest.Said {
	u := r.Usage
	out := &apptest.Said{
		ID: r.ID, Model: r.Model, Reasoning: m.Reasoning, Images: len(m.Images), Native: r.Choices[0].NativeFinishReason, Notice: r.Metadata.Notice,
		Finish: map[string]string{"stop": "stop", "length": "length", "tool_calls": "tools", "content_filter": "filter"}[r.Choices[0].FinishReason],
		Prompt: u.PromptTokens, Answer: u.CompletionTokens, Read: u.PromptTokensDetails.CachedTokens, Written: u.PromptTokensDetails.CacheWriteTokens,
		Reasoned: u.CompletionTokensDetails.ReasoningTokens,
	}
	back := map[string]any{"role": "assistant", "content": m.Content}
	if m.Content != nil {
		out.Text = *m.Content
	}
	for _, d := range m.ReasoningDetails {
		for _, name := range []string{"signature", "data"} {
			if s, ok := d[name].(string); ok && s != "" {
				out.Signatures = append(out.Signatures, s)
			}
		}
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		out.Calls = append(out.Calls, apptest.Called{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		if s := c.Function.ThoughtSignature; s != "" && !slices.Contains(out.Signatures, s) {
			out.Signatures = append(out.Signatures, s)
		}
	}
	if m.ToolCalls != nil {
		back["tool_calls"] = m.ToolCalls
	}
	if m.ReasoningDetails != nil {
		back["reasoning_details"] = m.ReasoningDetails
	} else if m.Reasoning != "" {
		back["reasoning"] = m.Reasoning
	}
	out.Back = back
	return out
}

func (chatStyle) Failure(body []byte) (kind, message string) {
	var e struct {
		Error struct {
			Message  string
			Metadata struct {
				ErrorType string `json:"error_type"`
			}
		}
	}
	_ = json.Unmarshal(body, &e)
	return e.Error.Metadata.ErrorType, e.Error.Message
}

// messagesStyle is POST /v1/messages.
type messagesStyle struct{}

func (messagesStyle) Name() string             { return "messages" }
func (messagesStyle) Path(string, bool) string { return "/v1/messages" }
func (messagesStyle) Header() map[string]string {
	return map[string]string{"Anthropic-Version": "2023-06-01"}
}

func (s messagesStyle) Encode(a *apptest.Ask) map[string]any {
	var messages []any
	for i := range a.Turns {
		messages = append(messages, s.turn(&a.Turns[i]))
	}
	body := map[string]any{"model": a.Model, "messages": messages, "max_tokens": 4000}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	block := map[string]any{"type": "text", "text": a.System}
	if a.Mark != "" {
		block["cache_control"] = map[string]any{"type": "ephemeral", "ttl": a.Mark}
	}
	put("system", a.System != "", []any{block})
	var tools []any
	for _, name := range a.Tools {
		tools = append(tools, map[string]any{"name": name, "description": "Tells of a city.", "input_schema": apptest.Raw(apptest.ToolSchema)})
	}
	if a.Search {
		tools = append(tools, map[string]any{"type": "web_search_20250305", "name": "web_search"})
	}
	put("tools", tools != nil, tools)
	choice := map[string]any{"type": "auto"}
	switch a.Must {
	case "":
	case "*":
		choice["type"] = "any"
	case "-":
		choice["type"] = "none"
	default:
		choice["type"], choice["name"] = "tool", a.Must
	}
	if a.Serial {
		choice["disable_parallel_tool_use"] = true
	}
	put("tool_choice", a.Must != "" || a.Serial, choice)
	put("output_config", a.Schema != "", map[string]any{"format": map[string]any{"type": "json_schema", "schema": apptest.Raw(a.Schema)}})
	switch a.Effort {
	case "":
	case "none":
		body["thinking"] = map[string]any{"type": "disabled"}
	default:
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": 2048}
	}
	put("max_tokens", a.MaxTokens > 0, a.MaxTokens)
	put("stop_sequences", a.Stop != nil, a.Stop)
	return body
}

func (messagesStyle) turn(u *apptest.Turn) any {
	if u.Back != nil {
		return map[string]any{"role": "assistant", "content": u.Back}
	}
	var blocks []any
	for _, c := range u.Calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": apptest.Raw(c.Arguments)})
	}
	image := map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": apptest.Samples["image"]}}
	for _, r := range u.Results {
		content := []any{map[string]any{"type": "text", "text": r.Text}}
		if r.Image {
			content = append(content, image)
		}
		blocks = append(blocks, map[string]any{"type": "tool_result", "tool_use_id": r.ID, "content": content})
	}
	if u.Text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": u.Text})
	}
	for _, m := range u.Media {
		switch m {
		case "image":
			blocks = append(blocks, image)
		case "pdf":
			blocks = append(blocks, map[string]any{"type": "document", "title": "a.pdf", "source": map[string]any{"type": "base64", "media_type": "application/pdf", "data": apptest.Samples[m]}})
		}
	}
	return map[string]any{"role": u.Role, "content": blocks}
}

type messagesUsage struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	OutputTokensDetails      *struct {
		ThinkingTokens int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

type messagesReply struct {
	ID, Type, Role, Model string
	Content               []map[string]any
	StopReason            string `json:"stop_reason"`
	Usage                 *messagesUsage
	Metadata              struct{ Notice string }
}

func (s messagesStyle) Whole(t *testing.T, body []byte) *apptest.Said {
	t.Helper()
	r := apptest.Decode[messagesReply](t, body)
	if r.Type != "message" || r.Role != "assistant" || r.StopReason == "" || r.Usage == nil || r.ID == "" {
		t.Fatalf("not a message: %s", body)
	}
	return s.said(t, &r)
}

// events returns the frames of a stream, each with its name and data. It checks that the name equals the type in the data.
func (messagesStyle) events(t *testing.T, body []byte) []map[string]any {
	t.Helper()
	var list []map[string]any
	for frame := range strings.SplitSeq(strings.TrimSuffix(string(body), "\n\n"), "\n\n") {
		frame = strings.TrimPrefix(frame, ": keep-alive\n")
		name, data, ok := strings.Cut(frame, "\ndata: ")
		name, named := strings.CutPrefix(name, "event: ")
		if !ok || !named || strings.Contains(data, "\n") {
			t.Fatalf("not an event: %q", frame)
		}
		ev := apptest.Decode[map[string]any](t, []byte(data))
		if ev["type"] != name {
			t.Errorf("event %s has type %v", name, ev["type"])
		}
		list = append(list, ev)
	}
	return list
}

// Stream joins events as the SDKs do, which require their order.
func (s messagesStyle) Stream(t *testing.T, body []byte) *apptest.Said {
	t.Helper()
	var m messagesReply
	var arguments []string
	open, begun, ended := false, false, false
	for _, ev := range s.events(t, body) {
		index := -1
		if n, ok := ev["index"].(json.Number); ok {
			at, _ := n.Int64()
			index = int(at)
		}
		kind := ev["type"].(string)
		if kind == "ping" {
			continue
		}
		if ended || begun == (kind == "message_start") || open == (kind == "content_block_start" || kind == "message_delta" || kind == "message_stop") && kind != "message_start" {
			t.Fatalf("event %s out of order: %s", kind, body)
		}
		switch kind {
		case "message_start":
			begun = true
			b, _ := json.Marshal(ev["message"])
			m = apptest.Decode[messagesReply](t, b)
			if len(m.Content) != 0 || m.Usage == nil {
				t.Errorf("message_start has %s", b)
			}
		case "content_block_start":
			if index != len(m.Content) {
				t.Fatalf("block %d after %d blocks", index, len(m.Content))
			}
			open = true
			m.Content, arguments = append(m.Content, ev["content_block"].(map[string]any)), append(arguments, "")
		case "content_block_delta":
			block, delta := m.Content[index], ev["delta"].(map[string]any)
			switch delta["type"] {
			case "text_delta":
				block["text"] = block["text"].(string) + delta["text"].(string)
			case "thinking_delta":
				block["thinking"] = block["thinking"].(string) + delta["thinking"].(string)
			case "signature_delta":
				block["signature"] = delta["signature"]
			case "input_json_delta":
				arguments[index] += delta["partial_json"].(string)
			}
		case "content_block_stop":
			open = false
			if arguments[index] != "" {
				m.Content[index]["input"] = apptest.Decode[map[string]any](t, []byte(arguments[index]))
			}
		case "message_delta":
			m.StopReason, _ = ev["delta"].(map[string]any)["stop_reason"].(string)
			b, _ := json.Marshal(ev["usage"])
			start := *m.Usage
			m.Usage = new(messagesUsage)
			*m.Usage = apptest.Decode[messagesUsage](t, b)
			if m.Usage.InputTokens == 0 && m.Usage.CacheReadInputTokens == 0 { // message_delta need not repeat it
				m.Usage.InputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens = start.InputTokens, start.CacheReadInputTokens, start.CacheCreationInputTokens
			}
		case "message_stop":
			ended = true
		default:
			t.Fatalf("event %s: %v", kind, ev)
		}
	}
	if !ended {
		t.Fatalf("a stream without its end: %s", body)
	}
	return s.said(t, &m)
}

func (messagesStyle) said(t *testing.T, r *messagesReply) *apptest.Said {
	t.Helper()
	u := r.Usage
	out := &apptest.Said{
		ID: r.ID, Model: r.Model, Native: r.StopReason, Back: r.Content, Notice: r.Metadata.Notice, Reasoned: -1,
		Finish: map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tools", "refusal": "filter"}[r.StopReason],
		Prompt: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Answer: u.OutputTokens, Read: u.CacheReadInputTokens, Written: u.CacheCreationInputTokens,
	}
	if u.OutputTokensDetails != nil {
		out.Reasoned = u.OutputTokensDetails.ThinkingTokens
	}
	for _, b := range r.Content {
		switch b["type"] {
		case "text":
			out.Text += b["text"].(string)
		case "thinking":
			out.Reasoning += b["thinking"].(string)
			out.Signatures = append(out.Signatures, b["signature"].(string))
		case "redacted_thinking":
			out.Signatures = append(out.Signatures, b["data"].(string))
		case "tool_use":
			arguments, err := json.Marshal(b["input"])
			if err != nil {
				t.Error(err)
			}
			out.Calls = append(out.Calls, apptest.Called{ID: b["id"].(string), Name: b["name"].(string), Arguments: string(arguments)})
		}
	}
	return out
}

func (messagesStyle) Failure(body []byte) (kind, message string) {
	var e struct {
		Type  string
		Error struct {
			Type, Message string
			ErrorType     string `json:"error_type"`
		}
	}
	if json.Unmarshal(body, &e) != nil || e.Type != "error" || e.Error.Type == "" {
		return "", ""
	}
	return e.Error.ErrorType, e.Error.Message
}
