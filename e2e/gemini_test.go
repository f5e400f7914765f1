package e2e_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"
)

// gemini returns Google's unmodified SDK. What passes it must be as the OpenAPI document says.
func (d *demo) gemini(t *testing.T) *genai.Client {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: d.APIKey, Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: &checked{t, d.contract}, Timeout: time.Minute},
		HTTPOptions: genai.HTTPOptions{BaseURL: d.site()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// byAnyWire is byWire with all wires.
func byAnyWire(t *testing.T, persona string, check func(t *testing.T, model string)) {
	t.Helper()
	for _, wire := range []string{"", "-anthropic", "-gemini", "-bedrock", "-responses", "-gigachat"} {
		model := "sim/" + persona + wire
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			check(t, model)
		})
	}
}

// piecesOf reads a stream: its parts, and the last piece.
func piecesOf(ctx context.Context, client *genai.Client, model string, contents []*genai.Content, config *genai.GenerateContentConfig) (parts []*genai.Part, last *genai.GenerateContentResponse, err error) {
	for piece, err := range client.Models.GenerateContentStream(ctx, model, contents, config) {
		if err != nil {
			return parts, last, err
		}
		for _, c := range piece.Candidates {
			parts = append(parts, c.Content.Parts...)
		}
		last = piece
	}
	return parts, last, nil
}

func spokenBy(parts []*genai.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestGeminiText(t *testing.T) {
	t.Parallel()
	client := theDemo.gemini(t)
	byAnyWire(t, "chat", func(t *testing.T, model string) {
		config := &genai.GenerateContentConfig{MaxOutputTokens: 500, SystemInstruction: genai.NewContentFromText("Be kind.", genai.RoleUser)}
		whole, err := client.Models.GenerateContent(t.Context(), model, genai.Text("What is a weir?"), config)
		if err != nil {
			t.Fatal(err)
		}
		u := whole.UsageMetadata
		if whole.Text() == "" || whole.ModelVersion != model || whole.Candidates[0].FinishReason != genai.FinishReasonStop || u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount || u.PromptTokenCount == 0 {
			t.Errorf("%+v of %+v", whole, u)
		}
		if id := whole.SDKHTTPResponse.Headers.Get("X-Generation-Id"); !strings.HasPrefix(id, "gen-") {
			t.Errorf("generation %q", id)
		}
		parts, last, err := piecesOf(t.Context(), client, model, genai.Text("What is a weir?"), config)
		if err != nil || spokenBy(parts) != whole.Text() || last.Candidates[0].FinishReason != genai.FinishReasonStop || last.UsageMetadata.TotalTokenCount != u.TotalTokenCount || len(parts) < 4 {
			t.Errorf("%v: %q, whole %q", err, spokenBy(parts), whole.Text())
		}
		n, err := client.Models.CountTokens(t.Context(), model, genai.Text("What is a weir?"), nil)
		if err != nil || n.TotalTokens < 3 {
			t.Errorf("%+v, %v", n, err)
		}
	})
}

// The SDK keeps signatures as bytes: they must be base64, and the same when they come back.
func TestGeminiToolsAndThoughts(t *testing.T) {
	t.Parallel()
	client := theDemo.gemini(t)
	tools := []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "water_level", Description: "Returns the height of a river.",
		Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"river": {Type: genai.TypeString, Enum: []string{"Kama"}}}, Required: []string{"river"}},
	}}}}
	byAnyWire(t, "reason", func(t *testing.T, model string) {
		for _, stream := range []bool{false, true} {
			contents := genai.Text("How high is it?")
			config := &genai.GenerateContentConfig{Tools: tools, MaxOutputTokens: 4000, ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr[int32](1024)}}
			send := func() []*genai.Part {
				if stream {
					parts, _, err := piecesOf(t.Context(), client, model, contents, config)
					if err != nil {
						t.Fatal(err)
					}
					return parts
				}
				answer, err := client.Models.GenerateContent(t.Context(), model, contents, config)
				if err != nil {
					t.Fatal(err)
				}
				return answer.Candidates[0].Content.Parts
			}
			for range 2 {
				parts := send()
				var call *genai.FunctionCall
				thought := false
				for _, p := range parts {
					thought = thought || p.Thought && p.Text != ""
					if p.FunctionCall != nil {
						call = p.FunctionCall
					}
				}
				if call == nil || call.ID == "" || call.Args["river"] != "Kama" || !thought {
					t.Fatalf("call %+v, thought %t", call, thought)
				}
				result := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"output": "three metres"}}}
				contents = append(contents, genai.NewContentFromParts(parts, genai.RoleModel), genai.NewContentFromParts([]*genai.Part{result}, genai.RoleUser))
				after := send()
				if !strings.Contains(spokenBy(after), "three metres") {
					t.Errorf("%q", spokenBy(after))
				}
				contents = append(contents, genai.NewContentFromParts(after, genai.RoleModel), genai.NewContentFromText("And now?", genai.RoleUser))
			}
		}
	})
}

func TestGeminiSchemaImageAndVectors(t *testing.T) {
	t.Parallel()
	client := theDemo.gemini(t)
	byAnyWire(t, "chat", func(t *testing.T, model string) {
		schema := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString, Enum: []string{"Perm"}}}, Required: []string{"city"}}
		answer, err := client.Models.GenerateContent(t.Context(), model, genai.Text("Answer in JSON."), &genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseSchema: schema})
		if err != nil || strings.ReplaceAll(answer.Text(), " ", "") != `{"city":"Perm"}` {
			t.Errorf("%+v, %v", answer, err)
		}
	})
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	seen := []*genai.Content{genai.NewContentFromParts([]*genai.Part{{Text: "What is this?"}, genai.NewPartFromBytes(png, "image/png")}, genai.RoleUser)}
	if answer, err := client.Models.GenerateContent(t.Context(), "sim/vision", seen, nil); err != nil || !strings.Contains(answer.Text(), "image png 1x1") {
		t.Errorf("%+v, %v", answer, err)
	}
	drawn, err := client.Models.GenerateContent(t.Context(), "sim/image", genai.Text("Draw a weir."), &genai.GenerateContentConfig{ResponseModalities: []string{"TEXT", "IMAGE"}})
	if err != nil {
		t.Fatal(err)
	}
	images := 0
	for _, p := range drawn.Candidates[0].Content.Parts {
		if p.InlineData != nil && len(p.InlineData.Data) > 0 {
			images++
		}
	}
	if images != 1 {
		t.Errorf("%d images", images)
	}
	for _, model := range []string{"sim/embed", "sim/embed-gemini", "sim/embed-voyage"} {
		vectors, err := client.Models.EmbedContent(t.Context(), model, append(genai.Text("A weir."), genai.Text("A mill.")...), nil)
		if err != nil || len(vectors.Embeddings) != 2 || len(vectors.Embeddings[1].Values) < 4 {
			t.Errorf("%s: %+v, %v", model, vectors, err)
		}
	}
}

func TestGeminiModels(t *testing.T) {
	t.Parallel()
	client := theDemo.gemini(t)
	seen := map[string]bool{}
	for m, err := range client.Models.All(t.Context()) {
		if err != nil || seen[m.Name] {
			t.Fatalf("%+v, %v", m, err)
		}
		seen[m.Name] = true
	}
	m, err := client.Models.Get(t.Context(), "sim/chat", nil)
	if err != nil || m.Name != "models/sim/chat" || m.InputTokenLimit == 0 || !seen[m.Name] {
		t.Errorf("%+v, %v; %d models", m, err, len(seen))
	}
}

func TestGeminiErrors(t *testing.T) {
	t.Parallel()
	d := ownDemo(t)
	client := d.gemini(t)
	for fault, want := range map[string]int{"u12": 400, "u9": 429, "u16": 503} {
		_, err := client.Models.GenerateContent(t.Context(), "sim/chat-anthropic", genai.Text("[[sim fault="+fault+"]] Hello."), nil)
		_, _, streamed := piecesOf(t.Context(), client, "sim/chat-anthropic", genai.Text("[[sim fault="+fault+"]] Hello."), nil)
		for _, err := range []error{err, streamed} {
			var e genai.APIError
			if !errors.As(err, &e) || e.Code != want || e.Status == "" || len(e.Details) == 0 {
				t.Errorf("%s: %v", fault, err)
			}
		}
	}
	for _, model := range []string{"sim/chat", "sim/chat-gemini", "sim/chat-anthropic", "sim/chat-bedrock"} {
		parts, _, err := piecesOf(t.Context(), client, model, genai.Text("[[sim fault=u6 after=3]] Hello."), nil)
		var e genai.APIError
		if len(parts) == 0 || !errors.As(err, &e) || e.Code != 502 {
			t.Errorf("%s broke after %d parts with %v", model, len(parts), err)
		}
	}
}
