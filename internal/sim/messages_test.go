package sim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/internal/sim"
)

const messagesHead = "anthropic-version: 2023-06-01\nx-api-key: any"

func callMessages(s *sim.Server, body string) (int, []byte) {
	w := post(s, "POST", "/v1/messages", messagesHead, body)
	return w.Code, w.Body.Bytes()
}

func askMessages(t testing.TB, s *sim.Server, body string) tree {
	t.Helper()
	code, got := callMessages(s, body)
	if code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	return readTree(t, got)
}

// messagesBody is a request with one user message; more is further members.
func messagesBody(model, prompt, more string) string {
	text, _ := json.Marshal(prompt)
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"model":%q,"max_tokens":4096,"messages":[{"role":"user","content":%s}]%s}`, model, text, more)
}

const weatherTools = `"tools":[
	{"name":"weather","description":"of a city","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},
	{"name":"clock","input_schema":{"type":"object","properties":{"zone":{"type":"string","enum":["UTC","MSK"]}},"required":["zone"]}}]`

// assemble puts a stream together as a client does, and checks the order of its events.
func assemble(t testing.TB, body string) (message tree, names []string) {
	t.Helper()
	var open any
	var partial string
	for _, e := range readEvents(t, body) {
		names = append(names, e.name)
		if e.name != textAt(e.data, "type") {
			t.Fatalf("event %q has type %q", e.name, textAt(e.data, "type"))
		}
		if message == nil != (e.name == "message_start") {
			t.Fatalf("%s out of order", e.name)
		}
		switch e.name {
		case "message_start":
			message = e.data["message"].(tree)
		case "content_block_start":
			content := message["content"].([]any)
			if open != nil || numberAt(e.data, "index") != float64(len(content)) {
				t.Fatalf("block %v begins with another open", e.data["index"])
			}
			open, partial = e.data["content_block"], ""
			message["content"] = append(content, open)
		case "content_block_delta":
			block, delta := open.(tree), e.data["delta"].(tree)
			switch delta["type"] {
			case "text_delta":
				block["text"] = block["text"].(string) + delta["text"].(string)
			case "thinking_delta":
				block["thinking"] = block["thinking"].(string) + delta["thinking"].(string)
			case "signature_delta":
				block["signature"] = delta["signature"]
			case "citations_delta":
				block["citations"] = append(block["citations"].([]any), delta["citation"])
			case "input_json_delta":
				partial += delta["partial_json"].(string)
			default:
				t.Fatalf("delta %v", delta)
			}
		case "content_block_stop":
			if partial != "" {
				open.(tree)["input"] = readTree(t, []byte(partial))
			}
			open = nil
		case "message_delta":
			for name, v := range e.data["delta"].(tree) {
				message[name] = v
			}
			for name, v := range e.data["usage"].(tree) {
				message["usage"].(tree)[name] = v
			}
		}
	}
	if names[len(names)-1] != "message_stop" {
		t.Fatalf("the stream ends with %s", names[len(names)-1])
	}
	return message, names
}

// A stream must say what the whole answer says, for every kind of content.
func TestMessagesStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text":          messagesBody("chat", "Tell me, о река", ""),
		"tools":         messagesBody("chat", "weather in Paris and the clock", weatherTools),
		"thinking":      messagesBody("chat", "Think", `"thinking":{"type":"enabled","budget_tokens":2048}`),
		"omitted":       messagesBody("chat", "Think", `"thinking":{"type":"enabled","budget_tokens":2048,"display":"omitted"}`),
		"redacted":      messagesBody("chat", "[[sim redact=1]] Think", `"thinking":{"type":"adaptive"}`),
		"thought tools": messagesBody("reason", "weather", weatherTools+`,"thinking":{"type":"enabled","budget_tokens":2048}`),
		"schema":        messagesBody("chat", "a person", `"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false}}}`),
		"stop":          messagesBody("chat", "Hello", `"stop_sequences":["Hel"]`),
		"cut":           strings.Replace(messagesBody("chat", "Hello", ""), "4096", "5", 1),
		"search":        messagesBody("chat", "news?", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`),
		"refusal":       messagesBody("chat", "[[sim finish=refusal]] no", ""),
		"prewarm":       strings.Replace(messagesBody("chat", "Hello", ""), "4096", "0", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			whole := askMessages(t, s, body)
			w := post(s, "POST", "/v1/messages?beta=true", messagesHead, strings.TrimSuffix(body, "}")+`,"stream":true}`)
			got, _ := assemble(t, w.Body.String())
			same(t, "message", got, whole)
		})
	}
}

func TestMessagesAnswers(t *testing.T) {
	t.Parallel()
	s := fixed()
	for _, c := range []struct{ name, body, path, want string }{
		{"stop", messagesBody("chat", "Hello", ""), "stop_reason", "end_turn"},
		{"sequence", messagesBody("chat", "Hello", `"stop_sequences":["Hel"]`), "stop_sequence", "Hel"},
		{"by sequence", messagesBody("chat", "Hello", `"stop_sequences":["Hel"]`), "stop_reason", "stop_sequence"},
		{"cut", strings.Replace(messagesBody("chat", "Hello", ""), "4096", "5", 1), "stop_reason", "max_tokens"},
		{"tool", messagesBody("chat", "weather", weatherTools), "stop_reason", "tool_use"},
		{"named tool", messagesBody("chat", "weather", weatherTools), "content.0.name", "weather"},
		{"any", messagesBody("echo", "go", weatherTools+`,"tool_choice":{"type":"tool","name":"clock"}`), "content.0.name", "clock"},
		{"none", messagesBody("echo", "go", weatherTools+`,"tool_choice":{"type":"none"}`), "content.0.text", "go"},
		{"echo", messagesBody("echo", "go", ""), "content.0.text", "go"},
		{"refusal", messagesBody("chat", "[[sim finish=refusal]] go", ""), "stop_reason", "refusal"},
		{"redacted", messagesBody("chat", "[[sim redact=1]] go", `"thinking":{"type":"adaptive"}`), "content.0.type", "redacted_thinking"},
	} {
		if got := textAt(askMessages(t, s, c.body), c.path); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.name, c.path, got, c.want)
		}
	}
	one := askMessages(t, s, messagesBody("chat", "weather clock", weatherTools+`,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`))
	if n := len(one["content"].([]any)); n != 1 {
		t.Errorf("%d blocks", n)
	}
	two := askMessages(t, s, messagesBody("chat", "weather clock", weatherTools))
	if n := len(two["content"].([]any)); n != 2 {
		t.Errorf("%d parallel calls", n)
	}
}

// messagesLoop is a tool loop up to the results, from the simulator's own answer.
func messagesLoop(t testing.TB, s *sim.Server, model, more string, change func(content []any)) string {
	t.Helper()
	first := askMessages(t, s, messagesBody(model, "weather clock", more))
	content := first["content"].([]any)
	var results []any
	for _, b := range content {
		if textAt(b, "type") == "tool_use" {
			results = append(results, tree{"type": "tool_result", "tool_use_id": textAt(b, "id"), "content": []any{
				tree{"type": "text", "text": "it is fine"},
				tree{"type": "image", "source": tree{"type": "base64", "media_type": "image/png", "data": png8}},
			}})
		}
	}
	results = append(results, tree{"type": "text", "text": "go on"})
	if change != nil {
		change(content)
	}
	messages, _ := json.Marshal([]any{tree{"role": "user", "content": "weather clock"}, tree{"role": "assistant", "content": content}, tree{"role": "user", "content": results}})
	return fmt.Sprintf(`{"model":%q,"max_tokens":4096,"messages":%s,%s}`, model, messages, more)
}

const thinks = `"thinking":{"type":"enabled","budget_tokens":2048}`

func TestMessagesToolLoop(t *testing.T) {
	t.Parallel()
	s := fixed()
	got := askMessages(t, s, messagesLoop(t, s, "chat", weatherTools+","+thinks, nil))
	var said string
	for _, b := range got["content"].([]any) {
		said += textAt(b, "text")
	}
	if textAt(got, "stop_reason") != "end_turn" || !strings.Contains(said, "weather: it is fine") || !strings.Contains(said, "png 8x8") {
		t.Errorf("%v", got)
	}
}

func TestMessagesSignatures(t *testing.T) {
	t.Parallel()
	s := fixed()
	more := weatherTools + "," + thinks
	other := askMessages(t, s, messagesBody("chat", "something else", thinks))["content"].([]any)[0]
	foreign := askMessages(t, s, messagesBody("reason", "weather clock", more))["content"].([]any)[0]
	for name, c := range map[string]struct {
		change func(content []any)
		want   string
	}{
		"altered text": {func(c []any) { c[0].(tree)["thinking"] = "I thought of nothing." }, "Invalid `signature` in `thinking` block"},
		"altered signature": {func(c []any) {
			c[0].(tree)["signature"] = textAt(c[0], "signature")[:20] + "A" + textAt(c[0], "signature")[21:]
		}, "Invalid `signature` in `thinking` block"},
		"no signature": {func(c []any) { delete(c[0].(tree), "signature") }, "messages.1.content.0.thinking.signature: Field required"},
		"moved":        {func(c []any) { c[0].(tree)["signature"] = textAt(other, "signature") }, "Invalid `signature` in `thinking` block"},
		"other model":  {func(c []any) { c[0] = foreign }, "Invalid `signature` in `thinking` block"},
		"redacted":     {func(c []any) { c[0] = tree{"type": "redacted_thinking", "data": "Zm9yZ2Vk"} }, "Invalid `data` in `redacted_thinking` block"},
		"cached":       {func(c []any) { c[0].(tree)["cache_control"] = tree{"type": "ephemeral"} }, "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"},
		"dropped":      {func(c []any) { c[0] = tree{"type": "text", "text": "I forgot"} }, "Expected `thinking` or `redacted_thinking`, but found `text`"},
	} {
		code, got := callMessages(s, messagesLoop(t, s, "chat", more, c.change))
		if message := textAt(readTree(t, got), "error.message"); code != 400 || !strings.Contains(message, c.want) {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
}

func TestMessagesCache(t *testing.T) {
	t.Parallel()
	s := fixed()
	long := strings.Repeat("a long prompt ", 600)
	body := func(system, question, ttl string) string {
		return fmt.Sprintf(`{"model":"chat","max_tokens":100,"system":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"%s}}],"messages":[{"role":"user","content":%q}]}`, system, ttl, question)
	}
	use := func(b string) (in, written, read, hour float64) {
		got := askMessages(t, s, b)
		return numberAt(got, "usage.input_tokens"), numberAt(got, "usage.cache_creation_input_tokens"), numberAt(got, "usage.cache_read_input_tokens"), numberAt(got, "usage.cache_creation.ephemeral_1h_input_tokens")
	}
	in, written, read, _ := use(body(long, "one", ""))
	if written < 1024 || read != 0 || in > 50 {
		t.Errorf("first: %v in, %v written, %v read", in, written, read)
	}
	if _, again, hit, _ := use(body(long, "two", "")); again != 0 || hit != written {
		t.Errorf("second: %v written, %v read, want %v", again, hit, written)
	}
	if _, w, r, _ := use(body("short", "two", "")); w != 0 || r != 0 {
		t.Errorf("short: %v written, %v read", w, r)
	}
	if _, w, _, h := use(body(long+"more", "two", `,"ttl":"1h"`)); w == 0 || h != w {
		t.Errorf("hour: %v written, %v for an hour", w, h)
	}
	if _, w, r, _ := use(messagesBody("chat", long, "")); w != 0 || r != 0 {
		t.Errorf("unmarked: %v %v", w, r)
	}
}

func TestMessagesRefuses(t *testing.T) {
	t.Parallel()
	s := fixed()
	user := func(content string) string {
		return `{"model":"chat","max_tokens":100,"messages":[{"role":"user","content":` + content + `}]}`
	}
	three := func(assistant, then string) string {
		return `{"model":"chat","max_tokens":100,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":` + assistant + `},{"role":"user","content":` + then + `}]}`
	}
	const use = `[{"type":"tool_use","id":"t1","name":"weather","input":{}}]`
	marks := strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5), ",")
	for _, c := range []struct{ name, body, kind, want string }{
		{"no JSON", `{`, "invalid_request_error", "not valid JSON"},
		{"max_tokens", `{"model":"chat","messages":[{"role":"user","content":"a"}]}`, "invalid_request_error", "max_tokens: Field required"},
		{"messages", `{"model":"chat","max_tokens":1}`, "invalid_request_error", "messages: Field required"},
		{"empty messages", `{"model":"chat","max_tokens":1,"messages":[]}`, "invalid_request_error", "at least one message is required"},
		{"model", strings.Replace(messagesBody("chat", "a", ""), "chat", "claude", 1), "not_found_error", "model: claude"},
		{"too many tokens", strings.Replace(messagesBody("chat", "a", ""), "4096", "200000", 1), "invalid_request_error", "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for chat"},
		{"unknown", messagesBody("chat", "a", `"logprobs":true`), "invalid_request_error", "logprobs: Extra inputs are not permitted"},
		{"gateway's", messagesBody("chat", "a", `"provider":{}`), "invalid_request_error", "provider: Extra inputs are not permitted"},
		{"beta without flag", messagesBody("chat", "a", `"context_management":{}`), "invalid_request_error", "context_management: Extra inputs are not permitted"},
		{"conversation kept", messagesBody("chat", "a", `"thread":{"type":"create"}`), "invalid_request_error", "thread: Extra inputs are not permitted"},
		{"whom to bill", messagesBody("chat", "a", `"workspace_id":"w"`), "invalid_request_error", "workspace_id: Extra inputs are not permitted"},
		{"container", messagesBody("chat", "a", `"container":{"z":1}`), "invalid_request_error", "container.z: Extra inputs are not permitted"},
		{"speed", messagesBody("chat", "a", `"speed":"slow"`), "invalid_request_error", "speed: Input should be"},
		{"temperature", messagesBody("chat", "a", `"temperature":1.5`), "invalid_request_error", "temperature: Input should be"},
		{"stream", messagesBody("chat", "a", `"stream":"yes"`), "invalid_request_error", "stream: Input should be a valid boolean"},
		{"budget", messagesBody("chat", "a", `"thinking":{"type":"enabled","budget_tokens":100}`), "invalid_request_error", "greater than or equal to 1024"},
		{"no budget", messagesBody("chat", "a", `"thinking":{"type":"enabled"}`), "invalid_request_error", "thinking.enabled.budget_tokens: Field required"},
		{"large budget", messagesBody("chat", "a", `"thinking":{"type":"enabled","budget_tokens":4096}`), "invalid_request_error", "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"cool thinking", messagesBody("chat", "a", thinks+`,"temperature":0.5`), "invalid_request_error", "`temperature` may only be set to 1 when thinking is enabled"},
		{"forced thinking", messagesBody("chat", "a", thinks+","+weatherTools+`,"tool_choice":{"type":"any"}`), "invalid_request_error", "Thinking may not be enabled when tool_choice forces tool use."},
		{"role", `{"model":"chat","max_tokens":1,"messages":[{"role":"system","content":"a"}]}`, "invalid_request_error", "messages.0.role: Input should be 'user', 'assistant'"},
		{"late instruction", `{"model":"chat","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"}]}`, "invalid_request_error", "messages.2.role: Input should be 'user', 'assistant'"},
		{"picture as instruction", `{"model":"chat","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"system","content":[{"type":"image","source":{"type":"url","url":"https://a.test"}}]}]}`, "invalid_request_error", "`image` blocks can only be in `user` messages"},
		{"first role", `{"model":"chat","max_tokens":1,"messages":[{"role":"assistant","content":"a"}]}`, "invalid_request_error", `first message must use the "user" role`},
		{"empty text", user(`[{"type":"text","text":""}]`), "invalid_request_error", "text content blocks must be non-empty"},
		{"empty content", user(`[]`), "invalid_request_error", "must have non-empty content"},
		{"unknown block", user(`[{"type":"image_url"}]`), "invalid_request_error", "messages.0.content.0: Input tag 'image_url' found"},
		{"unknown block member", user(`[{"type":"text","text":"a","id":1}]`), "invalid_request_error", "messages.0.content.0.text.id: Extra inputs are not permitted"},
		{"marks", user("[" + marks + "]"), "invalid_request_error", "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"ttl", user(`[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"2h"}}]`), "invalid_request_error", "cache_control.ttl: Input should be '5m', '1h'"},
		{"media type", user(`[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AAAA"}}]`), "invalid_request_error", "media_type: Input should be 'image/jpeg'"},
		{"no image", user(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]`), "invalid_request_error", "Could not process image"},
		{"wrong image", user(`[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + png8 + `"}}]`), "invalid_request_error", "does not match the provided media type image/gif"},
		{"no PDF", user(`[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]`), "invalid_request_error", "The PDF specified was not valid."},
		{"result without call", user(`[{"type":"tool_result","tool_use_id":"t1","content":"a"}]`), "invalid_request_error", "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1"},
		{"call without result", three(use, `"a"`), "invalid_request_error", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1"},
		{"late result", three(use, `[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t1"}]`), "invalid_request_error", "immediately after: t1"},
		{"two results", three(use, `[{"type":"tool_result","tool_use_id":"t1"},{"type":"tool_result","tool_use_id":"t1"}]`), "invalid_request_error", "must have a single result"},
		{"result by the model", three(`[{"type":"tool_result","tool_use_id":"t1"}]`, `"a"`), "invalid_request_error", "`tool_result` blocks can only be in `user` messages"},
		{"call id", three(`[{"type":"tool_use","id":"a b","name":"x","input":{}}]`, `"a"`), "invalid_request_error", "String should match pattern '^[a-zA-Z0-9_-]+$'"},
		{"call input", three(`[{"type":"tool_use","id":"a","name":"x","input":"{}"}]`, `"a"`), "invalid_request_error", "tool_use.input: Input should be an object"},
		{"trailing space", `{"model":"chat","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b "}]}`, "invalid_request_error", "final assistant content cannot end with trailing whitespace"},
		{"prefill", `{"model":"chat","max_tokens":4096,` + thinks + `,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "invalid_request_error", "does not support assistant message prefill"},
		{"same tools", messagesBody("chat", "a", `"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`), "invalid_request_error", "Tool names must be unique."},
		{"tool in OpenAI's form", messagesBody("chat", "a", `"tools":[{"type":"function","function":{}}]`), "invalid_request_error", "tools.0: Input tag 'function' found"},
		{"tool without schema", messagesBody("chat", "a", `"tools":[{"name":"a"}]`), "invalid_request_error", "tools.0.custom.input_schema: Field required"},
		{"tool schema", messagesBody("chat", "a", `"tools":[{"name":"a","input_schema":{"properties":{}}}]`), "invalid_request_error", "tools.0.custom.input_schema.type: Field required"},
		{"tool name", messagesBody("chat", "a", `"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`), "invalid_request_error", "String should match pattern"},
		{"choice without tools", messagesBody("chat", "a", `"tool_choice":{"type":"auto"}`), "invalid_request_error", "tool_choice may only be specified while providing tools"},
		{"unknown choice", messagesBody("chat", "a", weatherTools+`,"tool_choice":{"type":"tool","name":"x"}`), "invalid_request_error", "Tool 'x' not found in provided tools"},
		{"choice in OpenAI's form", messagesBody("chat", "a", weatherTools+`,"tool_choice":"auto"`), "invalid_request_error", "tool_choice: Input should be an object"},
		{"open schema", messagesBody("chat", "a", `"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`), "invalid_request_error", "'additionalProperties' must be explicitly set to false"},
		{"marker", messagesBody("chat", "[[sim no=1]]", ""), "invalid_request_error", "has no setting 'no'"},
		{"long", messagesBody("chat", strings.Repeat("word ", 130000), ""), "invalid_request_error", "prompt is too long: 1"},
	} {
		code, got := callMessages(s, c.body)
		body := readTree(t, got)
		if code != messagesStatus[c.kind] || textAt(body, "type") != "error" || textAt(body, "error.type") != c.kind || !strings.Contains(textAt(body, "error.message"), c.want) || textAt(body, "request_id") == "" {
			t.Errorf("%s: %d %s", c.name, code, got)
		}
	}
}

var messagesStatus = map[string]int{"invalid_request_error": 400, "not_found_error": 404}

func TestMessagesHeaders(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Key: "k"})
	for _, c := range []struct {
		name, path, headers, body string
		code                      int
		want                      string
	}{
		{"key", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: k", messagesBody("chat", "a", ""), 200, `"type":"message"`},
		{"bearer", "/anthropic/v1/messages", "anthropic-version: 2026-10-21\nAuthorization: Bearer k", messagesBody("chat", "a", ""), 200, `"type":"message"`},
		{"wrong key", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: no", messagesBody("chat", "a", ""), 401, `"authentication_error"`},
		{"no version", "/v1/messages", "x-api-key: k", messagesBody("chat", "a", ""), 400, "anthropic-version: header is required"},
		{"odd version", "/v1/messages", "anthropic-version: 1999-01-01\nx-api-key: k", messagesBody("chat", "a", ""), 400, "is not a valid version"},
		{"new version", "/v1/messages", "anthropic-version: 2026-10-21\nx-api-key: k", messagesBody("chat", "a", `"temperature":1`), 400, "temperature: Extra inputs are not permitted"},
		{"beta", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: k\nanthropic-beta: context-management-2025-06-27", messagesBody("chat", "a", `"context_management":{"edits":[]}`), 200, `"type":"message"`},
		{"another beta", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: k\nanthropic-beta: effort-2025-11-24", messagesBody("chat", "a", `"context_management":{"edits":[]}`), 400, "context_management: Extra inputs are not permitted"},
		{"two betas", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: k\nanthropic-beta: effort-2025-11-24,compact-2026-01-12", messagesBody("chat", "a", `"context_management":{"edits":[]}`), 200, `"type":"message"`},
		{"thread", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: k\nanthropic-beta: message-threads-2026-08-12", messagesBody("chat", "a", `"thread":{"type":"create"}`), 400, `"details":{"error_code":"thread_unsupported_request"}`},
		{"thread without id", "/v1/messages", "anthropic-version: 2023-06-01\nx-api-key: k\nanthropic-beta: message-threads-2026-08-12", messagesBody("chat", "a", `"thread":{"type":"continue"}`), 400, "thread.continue.previous_message_id: Field required"},
		{"count", "/v1/messages/count_tokens", "anthropic-version: 2023-06-01\nx-api-key: k", `{"model":"chat","messages":[{"role":"user","content":"Hello world"}]}`, 200, `{"input_tokens":9}`},
		{"count with max_tokens", "/v1/messages/count_tokens", "anthropic-version: 2023-06-01\nx-api-key: k", messagesBody("chat", "a", ""), 400, "max_tokens: Extra inputs are not permitted"},
		{"no path", "/anthropic/v1/complete", "x-api-key: k", "{}", 404, `"not_found_error"`},
	} {
		w := post(s, "POST", c.path, c.headers, c.body)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	list := readTree(t, post(s, "GET", "/v1/models", "anthropic-version: 2023-06-01\nAuthorization: Bearer k", "").Body.Bytes())
	if textAt(list, "data.0.type") != "model" || textAt(list, "first_id") != "chat" {
		t.Errorf("%v", list)
	}
	w := post(s, "DELETE", "/v1/messages", "x-api-key: k", "")
	if w.Code != 405 || !strings.Contains(w.Body.String(), `"type":"error"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// An instruction may follow what the user said.
func TestMessagesSystemTurn(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	askMessages(t, s, `{"model":"chat","max_tokens":50,"messages":[{"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"b"}]},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`)
	askMessages(t, s, `{"model":"chat","max_tokens":50,"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`)
}
