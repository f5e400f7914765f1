package sim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/internal/sim"
)

func callGemini(s *sim.Server, model, body string) (int, []byte) {
	w := post(s, "POST", "/v1beta/models/"+model+":generateContent", "x-goog-api-key: any", body)
	return w.Code, w.Body.Bytes()
}

func askGemini(t testing.TB, s *sim.Server, model, body string) tree {
	t.Helper()
	code, got := callGemini(s, model, body)
	if code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	return readTree(t, got)
}

func geminiBody(prompt, more string) string {
	text, _ := json.Marshal(prompt)
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%s}]}]%s}`, text, more)
}

const geminiTools = `"tools":[{"functionDeclarations":[
	{"name":"weather","description":"of a city","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING"},"days":{"type":"integer","minimum":1,"maximum":3}},"required":["city","days"]}},
	{"name":"clock","parametersJsonSchema":{"type":"object","properties":{"zone":{"const":"UTC"}},"required":["zone"],"additionalProperties":false}}]}]`

// joinGemini puts a stream together: texts are joined, everything else is taken as it comes, and the last event has the rest.
func joinGemini(t testing.TB, events []tree) tree {
	t.Helper()
	var parts []any
	for i, e := range events {
		if at(e, "usageMetadata") == nil || textAt(e, "responseId") != textAt(events[0], "responseId") {
			t.Fatalf("event %v", e)
		}
		if (textAt(e, "candidates.0.finishReason") != "") != (i == len(events)-1) {
			t.Fatalf("event %d of %d: %v", i, len(events), e)
		}
		list, _ := at(e, "candidates.0.content.parts").([]any)
		for _, p := range list {
			part := p.(tree)
			if len(parts) > 0 {
				last := parts[len(parts)-1].(tree)
				if last["text"] != nil && part["text"] != nil && last["thought"] == part["thought"] {
					last["text"] = last["text"].(string) + part["text"].(string)
					if part["thoughtSignature"] != nil {
						last["thoughtSignature"] = part["thoughtSignature"]
					}
					continue
				}
			}
			if part["text"] == "" && part["thoughtSignature"] == nil {
				continue
			}
			parts = append(parts, part)
		}
	}
	out := events[len(events)-1]
	at(out, "candidates.0.content").(tree)["parts"] = parts
	return out
}

func TestGeminiStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ model, body string }{
		"text":    {"chat", geminiBody("Tell me, о река", "")},
		"tools":   {"chat", geminiBody("weather in Paris and the clock", geminiTools)},
		"thought": {"reason", geminiBody("Think", `"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}}`)},
		"signed":  {"reason", geminiBody("weather", geminiTools)},
		"schema":  {"chat", geminiBody("a person", `"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"age":{"type":"INTEGER"}},"required":["age"]}}`)},
		"image":   {"image", geminiBody("draw", "")},
		"audio":   {"audio", geminiBody("say", "")},
		"cut":     {"chat", geminiBody("Hello", `"generationConfig":{"maxOutputTokens":5}`)},
		"search":  {"chat", geminiBody("news?", `"tools":[{"google_search":{}}]`)},
		"safety":  {"chat@finish=content_filter", geminiBody("news?", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			whole := askGemini(t, s, c.model, c.body)
			w := post(s, "POST", "/v1beta/models/"+c.model+":streamGenerateContent?alt=sse", "", c.body)
			var events []tree
			for _, e := range readEvents(t, strings.ReplaceAll(w.Body.String(), "\r\n", "\n")) {
				events = append(events, e.data)
			}
			same(t, "events", joinGemini(t, events), whole)
			var array []tree
			w = post(s, "POST", "/v1/projects/p/locations/l/publishers/google/models/"+c.model+":streamGenerateContent", "", c.body)
			if err := json.Unmarshal(w.Body.Bytes(), &array); err != nil {
				t.Fatal(err)
			}
			same(t, "array", joinGemini(t, array), whole)
		})
	}
}

func TestGeminiAnswers(t *testing.T) {
	t.Parallel()
	s := fixed()
	for _, c := range []struct{ name, model, body, path, want string }{
		{"stop", "chat", geminiBody("Hello", ""), "candidates.0.finishReason", "STOP"},
		{"echo", "echo", geminiBody("go", ""), "candidates.0.content.parts.0.text", "go"},
		{"vertex's role", "echo", geminiBody("go", ""), "candidates.0.content.role", "model"},
		{"named tool", "chat", geminiBody("the clock", geminiTools), "candidates.0.content.parts.0.functionCall.name", "clock"},
		{"const", "chat", geminiBody("the clock", geminiTools), "candidates.0.content.parts.0.functionCall.args.zone", "UTC"},
		{"any", "echo", geminiBody("go", geminiTools+`,"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["clock"]}}`), "candidates.0.content.parts.0.functionCall.name", "clock"},
		{"none", "chat", geminiBody("go", geminiTools+`,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`), "candidates.0.finishReason", "STOP"},
		{"blocked", "chat@finish=refusal", geminiBody("go", ""), "promptFeedback.blockReason", "PROHIBITED_CONTENT"},
		{"search", "chat", geminiBody("news?", `"tools":[{"googleSearch":{}}]`), "candidates.0.groundingMetadata.webSearchQueries.0", "news?"},
		{"second", "echo", geminiBody("go", `"generationConfig":{"candidateCount":2}`), "candidates.1.content.parts.0.text", "go"},
		{"snake", "echo", `{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"` + png8 + `"}},{"text":"go"}]}],"system_instruction":{"parts":[{"text":"be kind"}]}}`, "candidates.0.content.parts.0.text", "go"},
		{"picture", "vision", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"` + png8 + `"}}]}]}`, "candidates.0.content.parts.0.text", "I was given 1: image png 8x8 (75 bytes)."},
	} {
		got := textAt(askGemini(t, s, c.model, c.body), c.path)
		if got != c.want && !(c.name == "picture" && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s is %q, want %q", c.name, c.path, got, c.want)
		}
	}
	usage := askGemini(t, s, "reason", geminiBody("Think", ""))["usageMetadata"]
	if thought, said, all := numberAt(usage, "thoughtsTokenCount"), numberAt(usage, "candidatesTokenCount"), numberAt(usage, "totalTokenCount"); thought != 48 || all != numberAt(usage, "promptTokenCount")+thought+said {
		t.Errorf("%v", usage)
	}
	long := geminiBody(strings.Repeat("a long prompt ", 600), "")
	askGemini(t, s, "chat", long)
	if n := numberAt(askGemini(t, s, "chat", long), "usageMetadata.cachedContentTokenCount"); n < 1024 {
		t.Errorf("%v cached", n)
	}
	count := post(s, "POST", "/v1beta/models/chat:countTokens", "", geminiBody("Hello world", ""))
	if count.Body.String() != `{"totalTokens":9}` {
		t.Errorf("%s", count.Body)
	}
}

// geminiLoop is a tool loop up to the results, with what was answered changed.
func geminiLoop(t testing.TB, s *sim.Server, model string, change func(parts []any) []any) string {
	t.Helper()
	first := askGemini(t, s, model, geminiBody("weather clock", geminiTools))
	parts := at(first, "candidates.0.content.parts").([]any)
	var results []any
	for _, p := range parts {
		results = append(results, tree{"functionResponse": tree{
			"name": textAt(p, "functionCall.name"), "id": textAt(p, "functionCall.id"), "response": tree{"result": "it is fine"},
			"parts": []any{tree{"inlineData": tree{"mimeType": "image/png", "data": png8}}},
		}})
	}
	if change != nil {
		parts = change(parts)
	}
	contents, _ := json.Marshal([]any{
		tree{"role": "user", "parts": []any{tree{"text": "weather clock"}}}, tree{"role": "model", "parts": parts}, tree{"role": "user", "parts": results},
	})
	return `{"contents":` + string(contents) + `,` + geminiTools + `}`
}

func TestGeminiSignatures(t *testing.T) {
	t.Parallel()
	s := fixed()
	got := textAt(askGemini(t, s, "reason", geminiLoop(t, s, "reason", nil)), "candidates.0.content.parts.0.text")
	if !strings.Contains(got, "weather: it is fine; clock: it is fine") || !strings.Contains(got, "png 8x8") {
		t.Errorf("%q", got)
	}
	foreign := askMessages(t, s, messagesBody("reason", "x", thinks))["content"].([]any)[0]
	for name, c := range map[string]struct {
		change func(parts []any) []any
		want   string
	}{
		"dropped":    {func(p []any) []any { delete(p[0].(tree), "thoughtSignature"); return p }, "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:weather` , position 2."},
		"altered":    {func(p []any) []any { p[0].(tree)["thoughtSignature"] = "AAAA"; return p }, "Corrupted thought signature."},
		"other args": {func(p []any) []any { at(p[0], "functionCall.args").(tree)["city"] = "Rome"; return p }, "Corrupted thought signature."},
		"moved": {func(p []any) []any {
			p[1].(tree)["thoughtSignature"] = p[0].(tree)["thoughtSignature"]
			return p
		}, "Corrupted thought signature."},
		"other wire": {func(p []any) []any { p[0].(tree)["thoughtSignature"] = textAt(foreign, "signature"); return p }, "Corrupted thought signature."},
		"one fewer":  {func(p []any) []any { return p[:1] }, "the number of function response parts is equal to the number of function call parts"},
	} {
		code, body := callGemini(s, "reason", geminiLoop(t, s, "reason", c.change))
		if code != 400 || !strings.Contains(textAt(readTree(t, body), "error.message"), c.want) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	skipped := func(p []any) []any {
		p[0].(tree)["thoughtSignature"] = "skip_thought_signature_validator"
		return p
	}
	askGemini(t, s, "reason", geminiLoop(t, s, "reason", skipped))
	askGemini(t, s, "chat", geminiLoop(t, s, "chat", nil)) // without thoughts, without signatures
	body := geminiLoop(t, s, "reason", nil)
	if code, _ := callGemini(s, "chat", body); code != 400 {
		t.Errorf("a signature of another model: %d", code)
	}
}

func TestGeminiRefuses(t *testing.T) {
	t.Parallel()
	s := fixed()
	config := func(s string) string { return geminiBody("a", `"generationConfig":{`+s+`}`) }
	parameters := func(s string) string {
		return geminiBody("a", `"tools":[{"functionDeclarations":[{"name":"f","parameters":`+s+`}]}]`)
	}
	for _, c := range []struct {
		name, model, body string
		code              int
		status, want      string
	}{
		{"no JSON", "chat", `{`, 400, "INVALID_ARGUMENT", "Invalid JSON payload received."},
		{"no contents", "chat", `{}`, 400, "INVALID_ARGUMENT", "* GenerateContentRequest.contents: contents is not specified"},
		{"model", "gemini-9", geminiBody("a", ""), 404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta"},
		{"unknown", "chat", geminiBody("a", `"messages":[]`), 400, "INVALID_ARGUMENT", `Unknown name "messages": Cannot find field.`},
		{"unknown inside", "chat", config(`"max_tokens":1`), 400, "INVALID_ARGUMENT", `Unknown name "max_tokens" at 'generation_config': Cannot find field.`},
		{"role", "chat", `{"contents":[{"role":"assistant","parts":[{"text":"a"}]}]}`, 400, "INVALID_ARGUMENT", "Please use a valid role: user, model."},
		{"no parts", "chat", `{"contents":[{"role":"user","parts":[]}]}`, 400, "INVALID_ARGUMENT", "contents[0].parts: contents.parts must not be empty."},
		{"empty part", "chat", `{"contents":[{"role":"user","parts":[{}]}]}`, 400, "INVALID_ARGUMENT", "contents[0].parts[0].data: required oneof field 'data' must have one initialized field"},
		{"two in one", "chat", `{"contents":[{"role":"user","parts":[{"text":"a","fileData":{"fileUri":"x"}}]}]}`, 400, "INVALID_ARGUMENT", "oneof field 'data' is already set"},
		{"temperature", "chat", config(`"temperature":3`), 400, "INVALID_ARGUMENT", "generation_config.temperature: must be in the range [0, 2]"},
		{"type", "chat", config(`"maxOutputTokens":"many"`), 400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32)"},
		{"many tokens", "chat", config(`"maxOutputTokens":99999`), 400, "INVALID_ARGUMENT", "has a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 65537 (exclusive)"},
		{"schema without type", "chat", config(`"responseSchema":{"type":"OBJECT"}`), 400, "INVALID_ARGUMENT", "response_schema can only be set when response_mime_type is application/json"},
		{"both thinkings", "chat", config(`"thinkingConfig":{"thinkingBudget":100,"thinkingLevel":"HIGH"}`), 400, "INVALID_ARGUMENT", "only one of thinking budget and thinking level"},
		{"budget", "chat", config(`"thinkingConfig":{"thinkingBudget":99999}`), 400, "INVALID_ARGUMENT", "The thinking budget 99999 is invalid."},
		{"level", "chat", config(`"thinkingConfig":{"thinkingLevel":"most"}`), 400, "INVALID_ARGUMENT", "thinking_level' (TYPE_ENUM), \"most\""},
		{"logprobs", "chat", config(`"responseLogprobs":true`), 400, "INVALID_ARGUMENT", "Logprobs is not enabled"},
		{"modality", "echo", config(`"responseModalities":["IMAGE"]`), 400, "INVALID_ARGUMENT", "response modalities is not supported by the model"},
		{"JSON Schema", "chat", parameters(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`), 400, "INVALID_ARGUMENT", `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters': Cannot find field.`},
		{"const", "chat", parameters(`{"type":"object","properties":{"a":{"const":1}}}`), 400, "INVALID_ARGUMENT", `Unknown name "const"`},
		{"items", "chat", parameters(`{"type":"object","properties":{"a":{"type":"array"}}}`), 400, "INVALID_ARGUMENT", "items: missing field."},
		{"required", "chat", parameters(`{"type":"object","properties":{},"required":["a"]}`), 400, "INVALID_ARGUMENT", "required[0]: property is not defined"},
		{"format", "chat", parameters(`{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`), 400, "INVALID_ARGUMENT", "only 'enum' and 'date-time' are supported for STRING type"},
		{"name", "chat", geminiBody("a", `"tools":[{"functionDeclarations":[{"name":"1 f"}]}]`), 400, "INVALID_ARGUMENT", "Invalid function name."},
		{"twice", "chat", geminiBody("a", `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"f"}]}]`), 400, "INVALID_ARGUMENT", "Duplicate function declaration found: f"},
		{"search and functions", "chat", geminiBody("a", `"tools":[{"functionDeclarations":[{"name":"f"}]},{"googleSearch":{}}]`), 400, "INVALID_ARGUMENT", "Tool use with function calling is unsupported"},
		{"allowed without ANY", "chat", geminiBody("a", geminiTools+`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["clock"]}}`), 400, "INVALID_ARGUMENT", "mode is not ANY"},
		{"response without call", "chat", `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, 400, "INVALID_ARGUMENT", "comes immediately after a function call turn"},
		{"call at the end", "chat", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]}`, 400, "INVALID_ARGUMENT", "the number of function response parts"},
		{"MIME type", "chat", `{"contents":[{"parts":[{"inlineData":{"mimeType":"application/zip","data":"AAAA"}}]}]}`, 400, "INVALID_ARGUMENT", "Unsupported MIME type: application/zip"},
		{"base64", "chat", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"%"}}]}]}`, 400, "INVALID_ARGUMENT", "Base64 decoding failed"},
		{"image", "chat", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`, 400, "INVALID_ARGUMENT", "Unable to process input image."},
		{"cache", "chat", geminiBody("a", `"cachedContent":"cachedContents/x"`), 403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)"},
		{"labels", "chat", geminiBody("a", `"labels":{}`), 400, "INVALID_ARGUMENT", `Unknown name "labels"`},
		{"long", "chat", geminiBody(strings.Repeat("word ", 130000), ""), 400, "INVALID_ARGUMENT", "exceeds the maximum number of tokens allowed (128000)."},
		{"marker", "chat", geminiBody("[[sim no=1]]", ""), 400, "INVALID_ARGUMENT", "has no setting 'no'"},
	} {
		code, got := callGemini(s, c.model, c.body)
		body := readTree(t, got)
		if code != c.code || numberAt(body, "error.code") != float64(c.code) || textAt(body, "error.status") != c.status || !strings.Contains(textAt(body, "error.message"), c.want) {
			t.Errorf("%s: %d %s", c.name, code, got)
		}
	}
}

func TestGeminiKeys(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Key: "k"})
	for _, c := range []struct {
		path, headers string
		code          int
		want          string
	}{
		{"/v1beta/models/echo:generateContent", "x-goog-api-key: k", 200, "STOP"},
		{"/v1beta/models/echo:generateContent?key=k", "", 200, "STOP"},
		{"/v1/projects/p/locations/l/publishers/google/models/echo:generateContent", "Authorization: Bearer k", 200, "STOP"},
		{"/v1beta/models/echo:generateContent", "x-goog-api-key: no", 400, "API_KEY_INVALID"},
		{"/v1beta/models/echo:generateContent", "Authorization: Bearer no", 401, "UNAUTHENTICATED"},
		{"/v1beta/models/echo:doContent", "x-goog-api-key: k", 404, "NOT_FOUND"},
	} {
		w := post(s, "POST", c.path, c.headers, geminiBody("a", ""))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	list := readTree(t, post(s, "GET", "/v1beta/models", "x-goog-api-key: k", "").Body.Bytes())
	one := readTree(t, post(s, "GET", "/v1beta/models/chat", "x-goog-api-key: k", "").Body.Bytes())
	same(t, "model", at(list, "models.0"), one)
}
