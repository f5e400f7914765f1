package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// style is a wire of clients, as the grid needs it: it encodes neutral requests and decodes answers into a neutral form. It reads answers
// as the official SDKs do: by type and index, with fragments joined.
type style interface {
	// path is the route; name is the style's name in the grid.
	name() string
	path(model string, stream bool) string
	header() map[string]string
	encode(*ask) map[string]any
	whole(t *testing.T, body []byte) *said
	stream(t *testing.T, body []byte) *said
	failure(body []byte) (kind, message string)
}

var styles = []style{chatStyle{}, messagesStyle{}, responsesStyle{}, geminiStyle{}}

// ask is one request, independent of any wire.
type ask struct {
	model     string
	system    string
	mark      string // the system text is marked for caching: "5m", "1h"
	turns     []turn
	tools     []string
	must      string // tool to call; "*": any, "-": none
	serial    bool
	schema    string
	effort    string // also "none"; "": the request does not mention reasoning
	maxTokens int
	stop      []string
	images    bool // the answer may contain images
	search    bool // offers a web search
	json      bool // the answer must be JSON, without a schema
}

// turn is one message of a conversation.
type turn struct {
	role    string // "user", "assistant"
	text    string
	media   []string // "image", "pdf", "audio"
	back    any      // the assistant's turn as it was received
	calls   []called // calls of the assistant, without text
	results []result
}

type result struct {
	id, text string
	image    bool
}

// said is one answer, independent of any wire.
type said struct {
	id, model       string
	text, reasoning string
	calls           []called
	signatures      []string // a provider's values for checking its reasoning
	images          int
	finish          string // "stop", "length", "tools", "filter"
	native          string // the finish reason of the wire, or of the provider behind it
	prompt, answer  int64
	read, written   int64 // cached tokens of the prompt
	reasoned        int64 // tokens of the answer; -1: not reported
	notice          string
	back            any // the assistant's turn as a client sends it back
}

type called struct{ id, name, arguments string }

// toolSchema is the schema of every tool. It allows only one call, so that the arguments are known.
const toolSchema = `{"type":"object","properties":{"city":{"type":"string","enum":["Perm"]}},"required":["city"],"additionalProperties":false}`

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// samples are media that every provider accepts, in base64.
var samples = map[string]string{
	"image": base64.StdEncoding.EncodeToString(sampleImage()),
	"pdf":   base64.StdEncoding.EncodeToString(samplePDF("Water over stones")),
	"audio": base64.StdEncoding.EncodeToString([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xc0\x5d\x00\x00\x80\xbb\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")),
}

func samplePDF(text string) []byte {
	content := "BT /F 12 Tf 72 700 Td (" + text + ") Tj ET"
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"+
		"3 0 obj\n<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>\nendobj\n"+
		"4 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\ntrailer\n<</Root 1 0 R>>\n", len(content), content)
}

func sampleImage() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 5, 3))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// decode reads JSON into a type, as a typed client does.
func decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// chatStyle is POST /v1/chat/completions.
type chatStyle struct{}

func (chatStyle) name() string              { return "chat" }
func (chatStyle) path(string, bool) string  { return "/v1/chat/completions" }
func (chatStyle) header() map[string]string { return nil }

func (s chatStyle) encode(a *ask) map[string]any {
	var messages []any
	if a.system != "" {
		part := map[string]any{"type": "text", "text": a.system}
		if a.mark != "" {
			part["cache_control"] = map[string]any{"type": "ephemeral", "ttl": a.mark}
		}
		messages = append(messages, map[string]any{"role": "system", "content": []any{part}})
	}
	for i := range a.turns {
		messages = append(messages, s.turn(&a.turns[i])...)
	}
	body := map[string]any{"model": a.model, "messages": messages}
	var tools []any
	for _, name := range a.tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "description": "Tells of a city.", "parameters": raw(toolSchema)}})
	}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	put("tools", tools != nil, tools)
	switch a.must {
	case "":
	case "*":
		body["tool_choice"] = "required"
	case "-":
		body["tool_choice"] = "none"
	default:
		body["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": a.must}}
	}
	put("parallel_tool_calls", a.serial, false)
	put("response_format", a.schema != "", map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "city", "schema": raw(a.schema)}})
	put("response_format", a.json, map[string]any{"type": "json_object"})
	put("reasoning", a.effort != "", map[string]any{"effort": a.effort})
	put("max_tokens", a.maxTokens > 0, a.maxTokens)
	put("stop", a.stop != nil, a.stop)
	put("web_search_options", a.search, map[string]any{})
	put("modalities", a.images, []string{"text", "image"})
	return body
}

func (chatStyle) turn(u *turn) []any {
	switch {
	case u.back != nil:
		return []any{u.back}
	case u.calls != nil:
		var list []any
		for _, c := range u.calls {
			list = append(list, map[string]any{"id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.arguments}})
		}
		return []any{map[string]any{"role": "assistant", "content": nil, "tool_calls": list}}
	case u.results != nil:
		var list []any
		for _, r := range u.results {
			var content any = r.text
			if r.image {
				content = []any{
					map[string]any{"type": "text", "text": r.text},
					map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + samples["image"]}},
				}
			}
			list = append(list, map[string]any{"role": "tool", "tool_call_id": r.id, "content": content})
		}
		return list
	case u.media == nil:
		return []any{map[string]any{"role": u.role, "content": u.text}}
	}
	parts := []any{map[string]any{"type": "text", "text": u.text}}
	for _, m := range u.media {
		switch m {
		case "image":
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + samples[m]}})
		case "pdf":
			parts = append(parts, map[string]any{"type": "file", "file": map[string]any{"filename": "a.pdf", "file_data": "data:application/pdf;base64," + samples[m]}})
		case "audio":
			parts = append(parts, map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": samples[m], "format": "wav"}})
		}
	}
	return []any{map[string]any{"role": u.role, "content": parts}}
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

func (s chatStyle) whole(t *testing.T, body []byte) *said {
	t.Helper()
	r := decode[chatReply](t, body)
	if len(r.Choices) != 1 || r.Usage == nil {
		t.Fatalf("not an answer: %s", body)
	}
	return s.said(&r, &r.Choices[0].Message)
}

// stream joins chunks as the SDKs do.
func (s chatStyle) stream(t *testing.T, body []byte) *said {
	t.Helper()
	text, done := strings.CutSuffix(string(body), "data: [DONE]\n\n")
	if !done {
		t.Fatalf("a stream without its end: %s", body)
	}
	var all chatReply
	var m chatMessage
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		r := decode[chatReply](t, []byte(strings.TrimPrefix(frame, "data: ")))
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

func (chatStyle) said(r *chatReply, m *chatMessage) *said {
	u := r.Usage
	out := &said{
		id: r.ID, model: r.Model, reasoning: m.Reasoning, images: len(m.Images), native: r.Choices[0].NativeFinishReason, notice: r.Metadata.Notice,
		finish: map[string]string{"stop": "stop", "length": "length", "tool_calls": "tools", "content_filter": "filter"}[r.Choices[0].FinishReason],
		prompt: u.PromptTokens, answer: u.CompletionTokens, read: u.PromptTokensDetails.CachedTokens, written: u.PromptTokensDetails.CacheWriteTokens,
		reasoned: u.CompletionTokensDetails.ReasoningTokens,
	}
	back := map[string]any{"role": "assistant", "content": m.Content}
	if m.Content != nil {
		out.text = *m.Content
	}
	for _, d := range m.ReasoningDetails {
		for _, name := range []string{"signature", "data"} {
			if s, ok := d[name].(string); ok && s != "" {
				out.signatures = append(out.signatures, s)
			}
		}
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		out.calls = append(out.calls, called{c.ID, c.Function.Name, c.Function.Arguments})
		if s := c.Function.ThoughtSignature; s != "" && !slices.Contains(out.signatures, s) {
			out.signatures = append(out.signatures, s)
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
	out.back = back
	return out
}

func (chatStyle) failure(body []byte) (kind, message string) {
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

func (messagesStyle) name() string             { return "messages" }
func (messagesStyle) path(string, bool) string { return "/v1/messages" }
func (messagesStyle) header() map[string]string {
	return map[string]string{"Anthropic-Version": "2023-06-01"}
}

func (s messagesStyle) encode(a *ask) map[string]any {
	var messages []any
	for i := range a.turns {
		messages = append(messages, s.turn(&a.turns[i]))
	}
	body := map[string]any{"model": a.model, "messages": messages, "max_tokens": 4000}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	block := map[string]any{"type": "text", "text": a.system}
	if a.mark != "" {
		block["cache_control"] = map[string]any{"type": "ephemeral", "ttl": a.mark}
	}
	put("system", a.system != "", []any{block})
	var tools []any
	for _, name := range a.tools {
		tools = append(tools, map[string]any{"name": name, "description": "Tells of a city.", "input_schema": raw(toolSchema)})
	}
	if a.search {
		tools = append(tools, map[string]any{"type": "web_search_20250305", "name": "web_search"})
	}
	put("tools", tools != nil, tools)
	choice := map[string]any{"type": "auto"}
	switch a.must {
	case "":
	case "*":
		choice["type"] = "any"
	case "-":
		choice["type"] = "none"
	default:
		choice["type"], choice["name"] = "tool", a.must
	}
	if a.serial {
		choice["disable_parallel_tool_use"] = true
	}
	put("tool_choice", a.must != "" || a.serial, choice)
	put("output_config", a.schema != "", map[string]any{"format": map[string]any{"type": "json_schema", "schema": raw(a.schema)}})
	switch a.effort {
	case "":
	case "none":
		body["thinking"] = map[string]any{"type": "disabled"}
	default:
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": 2048}
	}
	put("max_tokens", a.maxTokens > 0, a.maxTokens)
	put("stop_sequences", a.stop != nil, a.stop)
	return body
}

func (messagesStyle) turn(u *turn) any {
	if u.back != nil {
		return map[string]any{"role": "assistant", "content": u.back}
	}
	var blocks []any
	for _, c := range u.calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": raw(c.arguments)})
	}
	image := map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": samples["image"]}}
	for _, r := range u.results {
		content := []any{map[string]any{"type": "text", "text": r.text}}
		if r.image {
			content = append(content, image)
		}
		blocks = append(blocks, map[string]any{"type": "tool_result", "tool_use_id": r.id, "content": content})
	}
	if u.text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": u.text})
	}
	for _, m := range u.media {
		switch m {
		case "image":
			blocks = append(blocks, image)
		case "pdf":
			blocks = append(blocks, map[string]any{"type": "document", "title": "a.pdf", "source": map[string]any{"type": "base64", "media_type": "application/pdf", "data": samples[m]}})
		}
	}
	return map[string]any{"role": u.role, "content": blocks}
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

func (s messagesStyle) whole(t *testing.T, body []byte) *said {
	t.Helper()
	r := decode[messagesReply](t, body)
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
		ev := decode[map[string]any](t, []byte(data))
		if ev["type"] != name {
			t.Errorf("event %s has type %v", name, ev["type"])
		}
		list = append(list, ev)
	}
	return list
}

// stream joins events as the SDKs do, which require their order.
func (s messagesStyle) stream(t *testing.T, body []byte) *said {
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
			m = decode[messagesReply](t, b)
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
				m.Content[index]["input"] = decode[map[string]any](t, []byte(arguments[index]))
			}
		case "message_delta":
			m.StopReason, _ = ev["delta"].(map[string]any)["stop_reason"].(string)
			b, _ := json.Marshal(ev["usage"])
			start := *m.Usage
			m.Usage = new(messagesUsage)
			*m.Usage = decode[messagesUsage](t, b)
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

func (messagesStyle) said(t *testing.T, r *messagesReply) *said {
	t.Helper()
	u := r.Usage
	out := &said{
		id: r.ID, model: r.Model, native: r.StopReason, back: r.Content, notice: r.Metadata.Notice, reasoned: -1,
		finish: map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tools", "refusal": "filter"}[r.StopReason],
		prompt: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, answer: u.OutputTokens, read: u.CacheReadInputTokens, written: u.CacheCreationInputTokens,
	}
	if u.OutputTokensDetails != nil {
		out.reasoned = u.OutputTokensDetails.ThinkingTokens
	}
	for _, b := range r.Content {
		switch b["type"] {
		case "text":
			out.text += b["text"].(string)
		case "thinking":
			out.reasoning += b["thinking"].(string)
			out.signatures = append(out.signatures, b["signature"].(string))
		case "redacted_thinking":
			out.signatures = append(out.signatures, b["data"].(string))
		case "tool_use":
			arguments, err := json.Marshal(b["input"])
			if err != nil {
				t.Error(err)
			}
			out.calls = append(out.calls, called{b["id"].(string), b["name"].(string), string(arguments)})
		}
	}
	return out
}

func (messagesStyle) failure(body []byte) (kind, message string) {
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

// ask sends a request. In the messages style both kinds of key header have the same key.
func (a *account) ask(t *testing.T, s style, q *ask, stream bool) *answer {
	t.Helper()
	body := s.encode(q)
	if stream && s.name() != "gemini" {
		body["stream"] = true
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return a.send(t, http.MethodPost, s.path(q.model, stream), b, s.header())
}

// mustAsk sends a request and reads its answer, which must succeed.
func (a *account) mustAsk(t *testing.T, s style, q *ask, stream bool) *said {
	t.Helper()
	got := a.ask(t, s, q, stream)
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if stream {
		return s.stream(t, got.body)
	}
	return s.whole(t, got.body)
}
