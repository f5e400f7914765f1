package sim_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/sim"
)

func callBedrock(s *sim.Server, model, body string) *httptest.ResponseRecorder {
	return post(s, "POST", "/model/"+model+"/converse", "Authorization: Bearer any", body)
}

func askBedrock(t testing.TB, s *sim.Server, model, body string) tree {
	t.Helper()
	w := callBedrock(s, model, body)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return readTree(t, w.Body.Bytes())
}

func bedrockBody(prompt, more string) string {
	text, _ := json.Marshal(prompt)
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"messages":[{"role":"user","content":[{"text":%s}]}]%s}`, text, more)
}

const bedrockTools = `"toolConfig":{"tools":[
	{"toolSpec":{"name":"weather","description":"of a city","inputSchema":{"json":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}},
	{"toolSpec":{"name":"clock","inputSchema":{"json":{"type":"object"}}}}]}`

const bedrockThinks = `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048}}`

// binaryEvent is one of the event stream format.
type binaryEvent struct {
	headers map[string]string
	payload tree
}

// readBinary reads the format of application/vnd.amazon.eventstream and checks lengths and checksums.
func readBinary(t testing.TB, b []byte) (all []binaryEvent) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < 16 {
			t.Fatalf("%d bytes at the end", len(b))
		}
		total, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
		if int(total) > len(b) || crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]) || crc32.ChecksumIEEE(b[:total-4]) != binary.BigEndian.Uint32(b[total-4:]) {
			t.Fatalf("a broken message of %d bytes", total)
		}
		e := binaryEvent{headers: map[string]string{}}
		for h := b[12 : 12+headers]; len(h) > 0; {
			name := string(h[1 : 1+h[0]])
			h = h[1+h[0]:]
			if h[0] != 7 {
				t.Fatalf("header %s is of type %d", name, h[0])
			}
			n := binary.BigEndian.Uint16(h[1:])
			e.headers[name] = string(h[3 : 3+n])
			h = h[3+n:]
		}
		e.payload = readTree(t, b[12+headers:total-4])
		all = append(all, e)
		b = b[total:]
	}
	return all
}

// gather puts a stream together as a client does, and checks the order of its events.
func gather(t testing.TB, events []binaryEvent) tree {
	t.Helper()
	var content []any
	var names []string
	var block tree
	var partial string
	out := tree{}
	for _, e := range events {
		name := e.headers[":event-type"]
		names = append(names, name)
		if e.headers[":message-type"] != "event" || e.headers[":content-type"] != "application/json" {
			t.Fatalf("%v", e.headers)
		}
		if i := e.payload["contentBlockIndex"]; i != nil && i != float64(len(content)) {
			t.Fatalf("%s about block %v of %d", name, i, len(content))
		}
		if strings.HasPrefix(name, "contentBlock") && block == nil {
			block, partial = tree{}, ""
		}
		switch name {
		case "contentBlockStart":
			block["toolUse"] = at(e.payload, "start.toolUse")
		case "contentBlockDelta":
			for kind, v := range e.payload["delta"].(tree) {
				switch kind {
				case "text":
					said, _ := block["text"].(string)
					block["text"] = said + v.(string)
				case "toolUse":
					partial += textAt(v, "input")
				case "reasoningContent":
					if sealed := at(v, "redactedContent"); sealed != nil {
						block["reasoningContent"] = tree{"redactedContent": sealed}
						continue
					}
					if block["reasoningContent"] == nil {
						block["reasoningContent"] = tree{"reasoningText": tree{"text": ""}}
					}
					inner := at(block, "reasoningContent.reasoningText").(tree)
					inner["text"] = inner["text"].(string) + textAt(v, "text")
					if signature := at(v, "signature"); signature != nil {
						inner["signature"] = signature
					}
				}
			}
		case "contentBlockStop":
			if use, ok := block["toolUse"].(tree); ok {
				use["input"] = readTree(t, []byte(partial))
			}
			content, block = append(content, block), nil
		case "messageStop":
			out["stopReason"] = e.payload["stopReason"]
		case "metadata":
			out["usage"], out["metrics"] = e.payload["usage"], e.payload["metrics"]
		}
	}
	if n := len(names); names[0] != "messageStart" || names[n-2] != "messageStop" || names[n-1] != "metadata" {
		t.Fatalf("%v", names)
	}
	out["output"] = map[string]any{"message": map[string]any{"role": "assistant", "content": content}}
	return out
}

func TestBedrockStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text":     bedrockBody("Tell me, о река", ""),
		"tools":    bedrockBody("weather in Paris and the clock", bedrockTools),
		"thinking": bedrockBody("weather", bedrockTools+","+bedrockThinks),
		"redacted": bedrockBody("[[sim redact=1]] Think", bedrockThinks),
		"schema":   bedrockBody("a person", `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"p","schema":"{\"type\":\"object\",\"properties\":{\"age\":{\"type\":\"integer\"}},\"required\":[\"age\"],\"additionalProperties\":false}"}}}}`),
		"stop":     bedrockBody("Hello", `"inferenceConfig":{"stopSequences":["Hel"]}`),
		"cut":      bedrockBody("Hello", `"inferenceConfig":{"maxTokens":5}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			whole := askBedrock(t, s, "chat", body)
			w := post(s, "POST", "/model/chat/converse-stream", "Authorization: Bearer any", body)
			if kind := w.Header().Get("Content-Type"); kind != "application/vnd.amazon.eventstream" {
				t.Fatal(kind)
			}
			got := gather(t, readBinary(t, w.Body.Bytes()))
			same(t, "answer", got, whole)
		})
	}
}

func bedrockLoop(t testing.TB, s *sim.Server, model, more string, change func(content []any)) string {
	t.Helper()
	first := askBedrock(t, s, model, bedrockBody("weather clock", more))
	content := at(first, "output.message.content").([]any)
	var results []any
	for _, b := range content {
		if id := textAt(b, "toolUse.toolUseId"); id != "" {
			results = append(results, tree{"toolResult": tree{"toolUseId": id, "status": "success", "content": []any{
				tree{"text": "it is fine"}, tree{"image": tree{"format": "png", "source": tree{"bytes": png8}}},
			}}})
		}
	}
	if change != nil {
		change(content)
	}
	messages, _ := json.Marshal([]any{tree{"role": "user", "content": []any{tree{"text": "weather clock"}}}, tree{"role": "assistant", "content": content}, tree{"role": "user", "content": results}})
	return fmt.Sprintf(`{"messages":%s,%s}`, messages, more)
}

func TestBedrockSignatures(t *testing.T) {
	t.Parallel()
	s := fixed()
	more := bedrockTools + "," + bedrockThinks
	got := askBedrock(t, s, "chat", bedrockLoop(t, s, "chat", more, nil))
	if said := textAt(got, "output.message.content.1.text"); !strings.Contains(said, "weather: it is fine; clock: it is fine") || !strings.Contains(said, "png 8x8") {
		t.Errorf("%v", got)
	}
	foreign := textAt(askMessages(t, s, messagesBody("chat", "weather clock", weatherTools+","+thinks)), "content.0.signature")
	other := at(askBedrock(t, s, "reason", bedrockBody("weather clock", more)), "output.message.content.0")
	inner := func(c []any) tree { return at(c[0], "reasoningContent.reasoningText").(tree) }
	for name, c := range map[string]struct {
		change func(content []any)
		want   string
	}{
		"altered text": {func(c []any) { inner(c)["text"] = "nothing" }, "messages.1.content.0: Invalid `signature` in `thinking` block"},
		"other wire":   {func(c []any) { inner(c)["signature"] = foreign }, "Invalid `signature` in `thinking` block"},
		"other model":  {func(c []any) { c[0] = other }, "Invalid `signature` in `thinking` block"},
		"no signature": {func(c []any) { delete(inner(c), "signature") }, "thinking.signature: Field required"},
		"dropped":      {func(c []any) { c[0] = tree{"text": "I forgot"} }, "Expected `thinking` or `redacted_thinking`, but found `text`"},
	} {
		w := callBedrock(s, "chat", bedrockLoop(t, s, "chat", more, c.change))
		if w.Code != 400 || !strings.Contains(textAt(readTree(t, w.Body.Bytes()), "message"), c.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestBedrockCache(t *testing.T) {
	t.Parallel()
	s := fixed()
	body := fmt.Sprintf(`{"system":[{"text":%q},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"a"}]}]}`, strings.Repeat("a long prompt ", 600))
	first, second := askBedrock(t, s, "chat", body), askBedrock(t, s, "chat", body)
	written := numberAt(first, "usage.cacheWriteInputTokens")
	if written < 1024 || numberAt(first, "usage.cacheDetails.0.inputTokens") != written || numberAt(second, "usage.cacheReadInputTokens") != written || numberAt(second, "usage.cacheWriteInputTokens") != 0 {
		t.Errorf("%v, then %v", first["usage"], second["usage"])
	}
	if use := second["usage"]; numberAt(use, "totalTokens") != numberAt(use, "inputTokens")+numberAt(use, "outputTokens")+written {
		t.Errorf("%v", use)
	}
}

func TestBedrockRefuses(t *testing.T) {
	t.Parallel()
	s := fixed()
	three := func(assistant, then, more string) string {
		return `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[` + assistant + `]},{"role":"user","content":[` + then + `]}]` + more + `}`
	}
	const use = `{"toolUse":{"toolUseId":"t1","name":"weather","input":{}}}`
	user := func(block string) string { return `{"messages":[{"role":"user","content":[` + block + `]}]}` }
	for _, c := range []struct{ name, model, body, kind, want string }{
		{"no JSON", "chat", `{`, "SerializationException", "Malformed input request"},
		{"model", "claude", bedrockBody("a", ""), "ValidationException", "The provided model identifier is invalid."},
		{"no messages", "chat", `{}`, "ValidationException", "Value null at 'messages' failed to satisfy constraint: Member must not be null"},
		{"empty messages", "chat", `{"messages":[]}`, "ValidationException", "A conversation must start with a user message."},
		{"first role", "chat", `{"messages":[{"role":"assistant","content":[{"text":"a"}]}]}`, "ValidationException", "A conversation must start with a user message."},
		{"role", "chat", `{"messages":[{"role":"system","content":[{"text":"a"}]}]}`, "ValidationException", "Value 'system' at 'messages.1.member.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]"},
		{"same role", "chat", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"b"}]}]}`, "ValidationException", "A conversation must alternate between user and assistant roles."},
		{"plain content", "chat", `{"messages":[{"role":"user","content":"a"}]}`, "ValidationException", "Unexpected field type"},
		{"blank", "chat", bedrockBody(" ", ""), "ValidationException", "The text field in the ContentBlock object at messages.0.content.0 is blank."},
		{"empty", "chat", `{"messages":[{"role":"user","content":[]}]}`, "ValidationException", "The content field in the Message object at messages.0 is empty."},
		{"unknown", "chat", bedrockBody("a", `"max_tokens":5`), "ValidationException", "extraneous key [max_tokens] is not permitted"},
		{"two blocks in one", "chat", user(`{"text":"a","cachePoint":{"type":"default"}}`), "ValidationException", "must set one of the following keys"},
		{"temperature", "chat", bedrockBody("a", `"inferenceConfig":{"temperature":1.5}`), "ValidationException", "inferenceConfig.temperature"},
		{"max tokens", "chat", bedrockBody("a", `"inferenceConfig":{"maxTokens":200000}`), "ValidationException", "exceeds the model limit of 128000"},
		{"model field", "chat", bedrockBody("a", `"additionalModelRequestFields":{"logprobs":1}`), "ValidationException", "The model returned the following errors: logprobs: Extra inputs are not permitted"},
		{"budget", "chat", bedrockBody("a", `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1}}`), "ValidationException", "greater than or equal to 1024"},
		{"call without result", "chat", three(use, `{"text":"a"}`, ","+bedrockTools), "ValidationException", "Expected toolResult blocks at messages.2.content for the following Ids: t1"},
		{"call at the end", "chat", strings.Replace(three(use, "", ","+bedrockTools), `,{"role":"user","content":[]}`, "", 1), "ValidationException", "Expected toolResult blocks at messages.2.content"},
		{"result without call", "chat", user(`{"toolResult":{"toolUseId":"t1","content":[]}}`), "ValidationException", "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn."},
		{"empty error", "chat", three(use, `{"toolResult":{"toolUseId":"t1","status":"error","content":[]}}`, ","+bedrockTools), "ValidationException", "The content field at messages.2.content.0.toolResult cannot be empty when status value is error."},
		{"no tools", "chat", three(use, `{"toolResult":{"toolUseId":"t1","content":[{"text":"a"}]}}`, ""), "ValidationException", "The toolConfig field must be defined when using toolUse and toolResult content blocks."},
		{"tool name", "chat", bedrockBody("a", `"toolConfig":{"tools":[{"toolSpec":{"name":"a.b","inputSchema":{"json":{"type":"object"}}}}]}`), "ValidationException", "Value 'a.b' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern"},
		{"tool schema", "chat", bedrockBody("a", `"toolConfig":{"tools":[{"toolSpec":{"name":"a","inputSchema":{"json":{}}}}]}`), "ValidationException", "toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."},
		{"no tools in config", "chat", bedrockBody("a", `"toolConfig":{"tools":[]}`), "ValidationException", "length greater than or equal to 1"},
		{"cache points", "chat", `{"messages":[{"role":"user","content":[{"text":"a"}` + strings.Repeat(`,{"cachePoint":{"type":"default"}}`, 5) + `]}]}`, "ValidationException", "Found 5."},
		{"image format", "chat", user(`{"image":{"format":"jpg","source":{"bytes":"AAAA"}}}`), "ValidationException", "enum value set: [png"},
		{"image", "chat", user(`{"image":{"format":"png","source":{"bytes":"AAAA"}}}`), "ValidationException", "Could not process image"},
		{"document name", "chat", user(`{"document":{"format":"pdf","name":"a.pdf","source":{"bytes":"JVBERi0="}}}`), "ValidationException", "The document file name can only contain alphanumeric characters"},
		{"open schema", "chat", bedrockBody("a", `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\"}"}}}}`), "ValidationException", "'additionalProperties' must be explicitly set to false"},
		{"long", "chat", bedrockBody(strings.Repeat("word ", 130000), ""), "ValidationException", "Input is too long for requested model."},
	} {
		w := callBedrock(s, c.model, c.body)
		kind, _, _ := strings.Cut(w.Header().Get("X-Amzn-Errortype"), ":")
		if w.Code != 400 || kind != c.kind || !strings.Contains(textAt(readTree(t, w.Body.Bytes()), "message"), c.want) {
			t.Errorf("%s: %d %s %s", c.name, w.Code, kind, w.Body)
		}
	}
}

// signed is a request signed as AWS describes it, apart from the simulator's own reading of that.
func signed(path, body, key, secret string, at time.Time, change func(*http.Request)) *http.Request {
	r := httptest.NewRequest("POST", "http://bedrock.example"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	date := at.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", date)
	hash := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	canonical := "POST\n" + strings.ReplaceAll(path, "%", "%25") + "\n\ncontent-type:application/json\nhost:bedrock.example\nx-amz-date:" + date + "\n\ncontent-type;host;x-amz-date\n" + hash(body)
	scope := date[:8] + "/eu-central-1/bedrock/aws4_request"
	mac := func(key, s string) string {
		m := hmac.New(sha256.New, []byte(key))
		m.Write([]byte(s))
		return string(m.Sum(nil))
	}
	k := "AWS4" + secret
	for _, part := range strings.Split(scope, "/") {
		k = mac(k, part)
	}
	signature := mac(k, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hash(canonical))
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=content-type;host;x-amz-date, Signature=%x", key, scope, signature))
	if change != nil {
		change(r)
	}
	return r
}

func TestBedrockSignedRequests(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767225600, 0)
	s := sim.New(sim.Config{Key: "k", Now: func() time.Time { return now }})
	body := bedrockBody("a", "")
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
		kind   string
	}{
		{"good", signed("/model/echo/converse", body, sim.AWSKeyID, sim.AWSSecretKey, now, nil), 200, ""},
		{"escaped path", signed("/model/echo%40gap%3D0s/converse", body, sim.AWSKeyID, sim.AWSSecretKey, now, nil), 200, ""},
		{"wrong secret", signed("/model/echo/converse", body, sim.AWSKeyID, "x", now, nil), 403, "InvalidSignatureException"},
		{"unknown key", signed("/model/echo/converse", body, "AKIAX", sim.AWSSecretKey, now, nil), 403, "UnrecognizedClientException"},
		{"old", signed("/model/echo/converse", body, sim.AWSKeyID, sim.AWSSecretKey, now.Add(-time.Hour), nil), 403, "InvalidSignatureException"},
		{"altered header", signed("/model/echo/converse", body, sim.AWSKeyID, sim.AWSSecretKey, now, func(r *http.Request) { r.Host = "other" }), 403, "InvalidSignatureException"},
		{"unsigned", signed("/model/echo/converse", body, sim.AWSKeyID, sim.AWSSecretKey, now, func(r *http.Request) { r.Header.Del("Authorization") }), 403, "MissingAuthenticationTokenException"},
		{"bearer", signed("/model/echo/converse", body, "", "", now, func(r *http.Request) { r.Header.Set("Authorization", "Bearer k") }), 200, ""},
		{"wrong bearer", signed("/model/echo/converse", body, "", "", now, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }), 403, "AccessDeniedException"},
		{"half", signed("/model/echo/converse", body, "", "", now, func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x") }), 403, "IncompleteSignatureException"},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, c.r)
		kind, _, _ := strings.Cut(w.Header().Get("X-Amzn-Errortype"), ":")
		if w.Code != c.status || kind != c.kind {
			t.Errorf("%s: %d %s %s", c.name, w.Code, kind, w.Body)
		}
	}
}
