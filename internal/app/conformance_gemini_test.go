package app_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// geminiStyle is POST /v1beta/models/{model}:generateContent and :streamGenerateContent.
type geminiStyle struct{}

func (geminiStyle) name() string { return "gemini" }

func (geminiStyle) path(model string, stream bool) string {
	if stream {
		return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
	}
	return "/v1beta/models/" + model + ":generateContent"
}

func (geminiStyle) header() map[string]string { return nil }

func (s geminiStyle) encode(a *ask) map[string]any {
	names := map[string]string{} // of calls
	var contents []any
	for i := range a.turns {
		contents = append(contents, s.turn(&a.turns[i], names))
	}
	body := map[string]any{"contents": contents}
	config := map[string]any{}
	put := func(name string, given bool, v any) {
		if given {
			body[name] = v
		}
	}
	set := func(name string, given bool, v any) {
		if given {
			config[name] = v
		}
	}
	put("systemInstruction", a.system != "", map[string]any{"parts": []any{map[string]any{"text": a.system}}})
	var tools []any
	if a.tools != nil {
		var declared []any
		for _, name := range a.tools {
			declared = append(declared, map[string]any{"name": name, "description": "Tells of a city.", "parametersJsonSchema": raw(toolSchema)})
		}
		tools = append(tools, map[string]any{"functionDeclarations": declared})
	}
	if a.search {
		tools = append(tools, map[string]any{"googleSearch": map[string]any{}})
	}
	put("tools", tools != nil, tools)
	calling := map[string]any{"mode": "ANY"}
	switch a.must {
	case "*":
	case "-":
		calling["mode"] = "NONE"
	default:
		calling["allowedFunctionNames"] = []string{a.must}
	}
	put("toolConfig", a.must != "", map[string]any{"functionCallingConfig": calling})
	set("responseMimeType", a.schema != "" || a.json, "application/json")
	set("responseJsonSchema", a.schema != "", raw(a.schema))
	set("maxOutputTokens", a.maxTokens > 0, a.maxTokens)
	set("stopSequences", a.stop != nil, a.stop)
	set("responseModalities", a.images, []string{"TEXT", "IMAGE"})
	set("thinkingConfig", a.effort == "none", map[string]any{"thinkingBudget": 0})
	set("thinkingConfig", a.effort != "" && a.effort != "none", map[string]any{"includeThoughts": true, "thinkingLevel": strings.ToUpper(a.effort)})
	put("generationConfig", len(config) > 0, config)
	return body
}

func (geminiStyle) turn(u *turn, names map[string]string) any {
	if u.back != nil {
		for _, part := range u.back.(map[string]any)["parts"].([]any) {
			if call, ok := part.(map[string]any)["functionCall"].(map[string]any); ok {
				names[call["id"].(string)] = call["name"].(string)
			}
		}
		return u.back
	}
	var parts []any
	for _, c := range u.calls {
		names[c.id] = c.name
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": c.id, "name": c.name, "args": raw(c.arguments)}})
	}
	image := map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": samples["image"]}}
	for _, r := range u.results {
		response := map[string]any{"id": r.id, "name": names[r.id], "response": map[string]any{"output": r.text}}
		if r.image {
			response["parts"] = []any{image}
		}
		parts = append(parts, map[string]any{"functionResponse": response})
	}
	if u.text != "" {
		parts = append(parts, map[string]any{"text": u.text})
	}
	for _, m := range u.media {
		kind := map[string]string{"image": "image/png", "pdf": "application/pdf", "audio": "audio/wav"}[m]
		parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": kind, "data": samples[m]}})
	}
	return map[string]any{"role": map[string]string{"user": "user", "assistant": "model"}[u.role], "parts": parts}
}

type geminiReply struct {
	Candidates []struct {
		Content struct {
			Role  string
			Parts []map[string]any
		}
		FinishReason string
		Index        int
	}
	UsageMetadata *struct {
		PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, CachedContentTokenCount, TotalTokenCount int64
		Cost                                                                                                 *json.Number
	}
	ModelVersion, ResponseID string
	Metadata                 struct{ Notice string }
	Error                    any
}

func (s geminiStyle) whole(t *testing.T, body []byte) *said {
	t.Helper()
	r := decode[geminiReply](t, body)
	if len(r.Candidates) != 1 || r.Candidates[0].FinishReason == "" {
		t.Fatalf("not an answer: %s", body)
	}
	return s.said(t, &r)
}

// chunks returns the pieces of a stream.
func (geminiStyle) chunks(t *testing.T, body []byte) (list []geminiReply) {
	t.Helper()
	for frame := range strings.SplitSeq(strings.Trim(string(body), "\n"), "\n\n") {
		data, ok := strings.CutPrefix(strings.Trim(frame, "\n"), "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not an event: %q", frame)
		}
		list = append(list, decode[geminiReply](t, []byte(data)))
	}
	return list
}

// stream joins pieces as the SDKs do.
func (s geminiStyle) stream(t *testing.T, body []byte) *said {
	t.Helper()
	var all geminiReply
	for i, r := range s.chunks(t, body) {
		if r.Error != nil || len(r.Candidates) != 1 || len(r.Candidates[0].Content.Parts) == 0 {
			t.Fatalf("piece %d: %s", i, body)
		}
		if i == 0 {
			all = r
			continue
		}
		c, more := &all.Candidates[0], &r.Candidates[0]
		if c.FinishReason != "" {
			t.Fatalf("piece %d comes after the end: %s", i, body)
		}
		for _, part := range more.Content.Parts {
			s.join(&c.Content.Parts, part)
		}
		c.FinishReason, all.UsageMetadata, all.Metadata = more.FinishReason, r.UsageMetadata, r.Metadata
	}
	if len(all.Candidates) == 0 || all.Candidates[0].FinishReason == "" {
		t.Fatalf("a stream without its end: %s", body)
	}
	return s.said(t, &all)
}

// join adds a part: pieces of one text become one part.
func (geminiStyle) join(parts *[]map[string]any, part map[string]any) {
	text, textual := part["text"].(string)
	if n := len(*parts); textual && n > 0 {
		last := (*parts)[n-1]
		if before, ok := last["text"].(string); ok && fmt.Sprint(last["thought"]) == fmt.Sprint(part["thought"]) && (last["thoughtSignature"] == nil || part["thoughtSignature"] == nil) {
			last["text"] = before + text
			if s := part["thoughtSignature"]; s != nil {
				last["thoughtSignature"] = s
			}
			return
		}
	}
	*parts = append(*parts, part)
}

func (geminiStyle) said(t *testing.T, r *geminiReply) *said {
	t.Helper()
	u, c := r.UsageMetadata, &r.Candidates[0]
	if u == nil || u.Cost == nil || r.ResponseID == "" || c.Content.Role != "model" {
		t.Fatalf("not an answer: %+v", r)
	}
	out := &said{
		id: r.ResponseID, model: r.ModelVersion, native: c.FinishReason, notice: r.Metadata.Notice,
		finish: map[string]string{"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filter"}[c.FinishReason],
		prompt: u.PromptTokenCount, answer: u.CandidatesTokenCount + u.ThoughtsTokenCount, read: u.CachedContentTokenCount, reasoned: u.ThoughtsTokenCount,
	}
	if u.TotalTokenCount != out.prompt+out.answer {
		t.Errorf("usage %+v", u)
	}
	var back []any
	for _, p := range c.Content.Parts {
		back = append(back, p)
		text, _ := p["text"].(string)
		switch call, _ := p["functionCall"].(map[string]any); {
		case call != nil:
			arguments, err := json.Marshal(call["args"])
			if err != nil {
				t.Error(err)
			}
			id, _ := call["id"].(string)
			out.calls = append(out.calls, called{id, call["name"].(string), string(arguments)})
			out.finish = "tools"
		case p["thought"] == true:
			out.reasoning += text
		case p["inlineData"] != nil:
			out.images++
		default:
			out.text += text
		}
		if signature, _ := p["thoughtSignature"].(string); signature != "" {
			out.signatures = append(out.signatures, unsealed(t, signature)...)
		}
	}
	out.back = map[string]any{"role": "model", "parts": back}
	return out
}

// unsealed returns the signatures of providers in one of an answer. SDKs require base64.
func unsealed(t *testing.T, signature string) []string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		t.Errorf("the signature %q is not base64", signature)
	}
	if !strings.HasPrefix(string(b), "weir.1.") {
		return []string{signature}
	}
	return strings.Split(string(b), ",")
}

func (geminiStyle) failure(body []byte) (kind, message string) {
	var e struct {
		Error struct {
			Code            int
			Message, Status string
			Details         []struct {
				Type     string `json:"@type"`
				Metadata struct {
					ErrorType string `json:"error_type"`
				}
			}
		}
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Status == "" || e.Error.Code == 0 || len(e.Error.Details) == 0 {
		return "", ""
	}
	return e.Error.Details[0].Metadata.ErrorType, e.Error.Message
}

// If the provider uses the client's wire, it gets the request byte for byte, without what is for the gateway, and its answer comes back byte for byte.
func TestGeminiPassesThrough(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	const body = `{ "session_id":"s", "contents" : [{"parts":[{"text":"K-pass \u0416 \"weir\""}],"role":"user"}],"labels":{"team":"a"},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}], "models":["gemini/echo"],` +
		`"generationConfig":{"topK": 4.0,"mediaResolution":"MEDIA_RESOLUTION_LOW"} }`
	const want = `{"contents" : [{"parts":[{"text":"K-pass \u0416 \"weir\""}],"role":"user"}],"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],"generationConfig":{"topK": 4.0,"mediaResolution":"MEDIA_RESOLUTION_LOW"}}`
	for _, stream := range []bool{false, true} {
		got := a.send(t, http.MethodPost, geminiStyle{}.path("gemini/echo", stream), []byte(body), nil)
		if got.status != http.StatusOK || !strings.Contains(string(got.body), `"createTime"`) || strings.Contains(string(got.body), "notice") || !strings.Contains(string(got.body), `"modelVersion":"gemini/echo"`) {
			t.Errorf("status %d: %s", got.status, got.body)
		}
		all := c.received("K-pass")
		if last := all[len(all)-1]; string(last.body) != want {
			t.Errorf("the provider got\n%s, want\n%s", last.body, want)
		}
	}
	odd := strings.Replace(body, `"labels"`, `"odd":{"x":1},"labels"`, 1)
	got := a.send(t, http.MethodPost, geminiStyle{}.path("gemini/echo", false), []byte(odd), nil)
	if got.status != http.StatusOK || !strings.Contains(string(got.body), "does not take generationConfig.mediaResolution, odd") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if all := c.received("K-pass"); strings.Contains(string(all[len(all)-1].body), "odd") || !strings.Contains(string(all[len(all)-1].body), `"safetySettings"`) {
		t.Errorf("the provider got %s", all[len(all)-1].body)
	}
}

// A provider of this wire counts the tokens of a whole request; the gateway counts for others.
func TestGeminiCountsTokens(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	count := func(model, body string) int64 {
		got := a.send(t, http.MethodPost, "/v1beta/models/"+model+":countTokens", []byte(body), nil)
		if got.status != http.StatusOK {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		return decode[struct{ TotalTokens int64 }](t, got.body).TotalTokens
	}
	const contents = `{"contents":[{"role":"user","parts":[{"text":"K-count Over the weir"}]}]}`
	n := count("gemini/chat", contents)
	all := c.received("K-count")
	if len(all) != 1 || all[0].path != "/v1beta/models/chat:countTokens" || !strings.HasPrefix(string(all[0].body), `{"generateContentRequest":{"model":"models/chat","contents":`) {
		t.Errorf("the provider was asked %+v", all)
	}
	if again := count("gemini/chat", `{"generate_content_request":{"model":"models/gemini/chat","contents":[{"role":"user","parts":[{"text":"K-count Over the weir"}]}]}}`); n == 0 || again != n {
		t.Errorf("%d tokens, and %d in the other form", n, again)
	}
	if own := count("openai/chat", contents); own == 0 || own == n {
		t.Errorf("%d tokens by our own count", own)
	}
	if spent := parse(t, a.credits(t).TotalUsage); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}

// A prompt that a provider refuses because of its content has an answer that says so, on every dialect, and costs nothing.
func TestGeminiPromptFeedback(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	for _, path := range []string{"gemini/chat:generateContent", "gemini/chat:streamGenerateContent?alt=sse", "gemini/chat:streamGenerateContent"} {
		got := a.send(t, http.MethodPost, "/v1beta/models/"+path, []byte(`{"contents":[{"role":"user","parts":[{"text":"[[sim finish=refusal]] hm"}]}]}`), nil)
		if got.status != http.StatusOK || !strings.Contains(string(got.body), `"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"`) {
			t.Errorf("%s: status %d: %s", path, got.status, got.body)
		}
	}
	if spent := parse(t, a.credits(t).TotalUsage); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}

// A key in the address reaches no log, no metric, no record, no provider and no answer.
func TestKeyInAddressStaysSecret(t *testing.T) {
	t.Parallel()
	c := startConformer(t, func(s *setup) { s.Server.AdminListen, s.Log.Level = "127.0.0.1:0", "debug" })
	a := c.newAccount(t)
	query := "key=" + url.QueryEscape(a.key)
	for _, try := range []struct{ method, path, body string }{
		{"POST", "/v1beta/models/gemini/chat:generateContent?" + query, `{"contents":[{"parts":[{"text":"hi"}]}]}`},
		{"POST", "/v1beta/models/openai/chat:streamGenerateContent?alt=sse&" + query, `{"contents":[{"parts":[{"text":"[[sim fault=u15,status=500]] hi"}]}]}`},
		{"POST", "/v1beta/models/openai/chat:generateContent?" + query, `{`},
		{"POST", "/v1beta/models/openai/chat:nothing?" + query, `{}`},
		{"GET", "/v1beta/models?pageSize=1&" + query, ""}, {"GET", "/v1beta/models?pageSize=x&" + query, ""}, {"GET", "/v1beta/nothing?" + query, ""},
		{"GET", "/v1beta/models/?" + query, ""}, {"GET", "/v1beta//models?" + query, ""}, {"GET", "/v1/models?page=1&per_page=1&" + query, ""},
	} {
		got := a.send(t, try.method, try.path, []byte(try.body), map[string]string{"Authorization": ""})
		if strings.Contains(string(got.body)+fmt.Sprint(got.header), a.key) {
			t.Errorf("%s %s: the answer shows the key: %v %s", try.method, try.path, got.header, got.body)
		}
		if got.status >= 300 && got.status < 400 {
			t.Errorf("%s %s redirects to %s", try.method, try.path, got.header.Get("Location"))
		}
	}
	if spent := parse(t, a.credits(t).TotalUsage); spent == 0 {
		t.Error("the key in the address was not used")
	}
	c.mu.Lock()
	for _, s := range c.sent {
		if strings.Contains(s.path+fmt.Sprint(s.header)+string(s.body), a.key) {
			t.Errorf("the provider got the key: %s %v", s.path, s.header)
		}
	}
	c.mu.Unlock()
	for place, text := range map[string]string{"the log": c.log.String(), "metrics": c.metrics(t), "the disk": c.disk(t)} {
		if at := strings.Index(text, a.key); at >= 0 {
			t.Errorf("the key was found in %s: ...%s", place, text[max(0, at-200):at])
		}
	}
}
