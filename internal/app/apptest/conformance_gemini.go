package apptest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// GeminiStyle is POST /v1beta/models/{model}:generateContent and :streamGenerateContent.
type GeminiStyle struct{}

func (GeminiStyle) Name() string { return "gemini" }

func (GeminiStyle) Path(model string, stream bool) string {
	if stream {
		return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
	}
	return "/v1beta/models/" + model + ":generateContent"
}

func (GeminiStyle) Header() map[string]string { return nil }

func (s GeminiStyle) Encode(a *Ask) map[string]any {
	names := map[string]string{} // of calls
	var contents []any
	for i := range a.Turns {
		contents = append(contents, s.turn(&a.Turns[i], names))
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
	put("systemInstruction", a.System != "", map[string]any{"parts": []any{map[string]any{"text": a.System}}})
	var tools []any
	if a.Tools != nil {
		var declared []any
		for _, name := range a.Tools {
			declared = append(declared, map[string]any{"name": name, "description": "Tells of a city.", "parametersJsonSchema": Raw(ToolSchema)})
		}
		tools = append(tools, map[string]any{"functionDeclarations": declared})
	}
	if a.Search {
		tools = append(tools, map[string]any{"googleSearch": map[string]any{}})
	}
	put("tools", tools != nil, tools)
	calling := map[string]any{"mode": "ANY"}
	switch a.Must {
	case "*":
	case "-":
		calling["mode"] = "NONE"
	default:
		calling["allowedFunctionNames"] = []string{a.Must}
	}
	put("toolConfig", a.Must != "", map[string]any{"functionCallingConfig": calling})
	set("responseMimeType", a.Schema != "" || a.JSON, "application/json")
	set("responseJsonSchema", a.Schema != "", Raw(a.Schema))
	set("maxOutputTokens", a.MaxTokens > 0, a.MaxTokens)
	set("stopSequences", a.Stop != nil, a.Stop)
	set("responseModalities", a.Images, []string{"TEXT", "IMAGE"})
	set("thinkingConfig", a.Effort == "none", map[string]any{"thinkingBudget": 0})
	set("thinkingConfig", a.Effort != "" && a.Effort != "none", map[string]any{"includeThoughts": true, "thinkingLevel": strings.ToUpper(a.Effort)})
	put("generationConfig", len(config) > 0, config)
	return body
}

func (GeminiStyle) turn(u *Turn, names map[string]string) any {
	if u.Back != nil {
		for _, part := range u.Back.(map[string]any)["parts"].([]any) {
			if call, ok := part.(map[string]any)["functionCall"].(map[string]any); ok {
				names[call["id"].(string)] = call["name"].(string)
			}
		}
		return u.Back
	}
	var parts []any
	for _, c := range u.Calls {
		names[c.ID] = c.Name
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": Raw(c.Arguments)}})
	}
	image := map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": Samples["image"]}}
	for _, r := range u.Results {
		response := map[string]any{"id": r.ID, "name": names[r.ID], "response": map[string]any{"output": r.Text}}
		if r.Image {
			response["parts"] = []any{image}
		}
		parts = append(parts, map[string]any{"functionResponse": response})
	}
	if u.Text != "" {
		parts = append(parts, map[string]any{"text": u.Text})
	}
	for _, m := range u.Media {
		kind := map[string]string{"image": "image/png", "pdf": "application/pdf", "audio": "audio/wav"}[m]
		parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": kind, "data": Samples[m]}})
	}
	return map[string]any{"role": map[string]string{"user": "user", "assistant": "model"}[u.Role], "parts": parts}
}

type GeminiReply struct {
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

func (s GeminiStyle) Whole(t *testing.T, body []byte) *Said {
	t.Helper()
	r := Decode[GeminiReply](t, body)
	if len(r.Candidates) != 1 || r.Candidates[0].FinishReason == "" {
		t.Fatalf("not an answer: %s", body)
	}
	return s.said(t, &r)
}

// Chunks returns the pieces of a stream.
func (GeminiStyle) Chunks(t *testing.T, body []byte) (list []GeminiReply) {
	t.Helper()
	for frame := range strings.SplitSeq(strings.Trim(string(body), "\n"), "\n\n") {
		data, ok := strings.CutPrefix(strings.Trim(frame, "\n"), "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not an event: %q", frame)
		}
		list = append(list, Decode[GeminiReply](t, []byte(data)))
	}
	return list
}

// Stream joins pieces as the SDKs do.
func (s GeminiStyle) Stream(t *testing.T, body []byte) *Said {
	t.Helper()
	var all GeminiReply
	for i, r := range s.Chunks(t, body) {
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
func (GeminiStyle) join(parts *[]map[string]any, part map[string]any) {
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

func (GeminiStyle) said(t *testing.T, r *GeminiReply) *Said {
	t.Helper()
	u, c := r.UsageMetadata, &r.Candidates[0]
	if u == nil || u.Cost == nil || r.ResponseID == "" || c.Content.Role != "model" {
		t.Fatalf("not an answer: %+v", r)
	}
	out := &Said{
		ID: r.ResponseID, Model: r.ModelVersion, Native: c.FinishReason, Notice: r.Metadata.Notice,
		Finish: map[string]string{"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filter"}[c.FinishReason],
		Prompt: u.PromptTokenCount, Answer: u.CandidatesTokenCount + u.ThoughtsTokenCount, Read: u.CachedContentTokenCount, Reasoned: u.ThoughtsTokenCount,
	}
	if u.TotalTokenCount != out.Prompt+out.Answer {
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
			out.Calls = append(out.Calls, Called{id, call["name"].(string), string(arguments)})
			out.Finish = "tools"
		case p["thought"] == true:
			out.Reasoning += text
		case p["inlineData"] != nil:
			out.Images++
		default:
			out.Text += text
		}
		if signature, _ := p["thoughtSignature"].(string); signature != "" {
			out.Signatures = append(out.Signatures, unsealed(t, signature)...)
		}
	}
	out.Back = map[string]any{"role": "model", "parts": back}
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

func (GeminiStyle) Failure(body []byte) (kind, message string) {
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
