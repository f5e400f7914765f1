package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

func TestPlainAnswer(t *testing.T) {
	t.Parallel()
	var raw *http.Response
	answer := complete(t, theDemo.client(t), ask("sim/chat", "What is a weir?"), option.WithResponseInto(&raw))
	text(t, answer)
	choice := answer.Choices[0]
	if answer.Object != "chat.completion" || choice.FinishReason != "stop" || choice.Index != 0 || choice.Message.Role != "assistant" {
		t.Errorf("not the shape of a chat completion: %s", answer.RawJSON())
	}
	if answer.Model != "sim/chat" {
		t.Errorf("model is %q, want the public slug", answer.Model)
	}
	if !strings.HasPrefix(answer.ID, "gen-") || raw.Header.Get("X-Generation-Id") != answer.ID {
		t.Errorf("id is %q and X-Generation-Id %q; want the same gen-...", answer.ID, raw.Header.Get("X-Generation-Id"))
	}
	if created := time.Unix(answer.Created, 0); time.Since(created).Abs() > time.Hour {
		t.Errorf("created is %v", created)
	}
	u := answer.Usage
	if u.PromptTokens <= 0 || u.CompletionTokens <= 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage does not add up: %s", u.RawJSON())
	}
	if costOf(t, u) <= 0 || u.JSON.ExtraFields["currency"].Raw() != `"RUB"` {
		t.Errorf("usage has no cost in rubles: %s", u.RawJSON())
	}
	if got := raw.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("Content-Type is %q", got)
	}
	if choice.Message.JSON.ToolCalls.Valid() {
		t.Errorf("tool_calls must be absent when there are none: %s", answer.RawJSON())
	}
}

func TestSystemAndHistory(t *testing.T) {
	t.Parallel()
	messages := []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be brief."),
		openai.DeveloperMessage("Answer in English."),
		openai.UserMessage("What is a weir?"),
		openai.AssistantMessage("A low dam."),
		openai.UserMessage("And a mill?"),
	}
	short := complete(t, theDemo.client(t), ask("sim/chat", "And a mill?"))
	long := complete(t, theDemo.client(t), openai.ChatCompletionNewParams{Model: "sim/chat", Messages: messages})
	text(t, long)
	if long.Usage.PromptTokens <= short.Usage.PromptTokens {
		t.Errorf("five messages count %d prompt tokens, the last alone %d", long.Usage.PromptTokens, short.Usage.PromptTokens)
	}
}

func TestEchoKeepsEveryCharacter(t *testing.T) {
	t.Parallel()
	const prompt = "Плотина «Weir» — 水坝 \"quoted\" back\\slash\ttab 🌊 e\u0301"
	client := theDemo.client(t)
	if got := text(t, complete(t, client, ask("sim/echo", prompt))); !strings.Contains(got, prompt) {
		t.Errorf("plain: %q lacks the prompt", got)
	}
	whole, _ := stream(t, client, ask("sim/echo", prompt))
	if got := text(t, &whole.ChatCompletion); !strings.Contains(got, prompt) {
		t.Errorf("streamed: %q lacks the prompt", got)
	}
}

func TestStreamEqualsPlain(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	plain := complete(t, client, ask("sim/chat", "Tell me about rivers."))
	whole, chunks := stream(t, client, ask("sim/chat", "Tell me about rivers."))
	if got, want := text(t, &whole.ChatCompletion), text(t, plain); got != want {
		t.Errorf("streamed %q, plain %q: the simulator answers both alike", got, want)
	}
	if len(chunks) < 4 {
		t.Errorf("only %d chunks: the answer was not streamed", len(chunks))
	}
	first := chunks[0]
	if first.Choices[0].Delta.Role != "assistant" {
		t.Errorf("the first chunk has no role: %s", first.RawJSON())
	}
	for _, c := range chunks {
		if c.ID != first.ID || c.Model != "sim/chat" || c.Created != first.Created || c.Object != "chat.completion.chunk" {
			t.Errorf("a chunk differs from the first in id, model or time: %s", c.RawJSON())
		}
		if len(c.Choices) != 1 {
			t.Errorf("unrequested chunk without choices: %s", c.RawJSON())
		}
	}
	last := chunks[len(chunks)-1]
	if last.Choices[0].FinishReason != "stop" {
		t.Errorf("the last chunk does not finish: %s", last.RawJSON())
	}
	if last.Usage.TotalTokens != plain.Usage.TotalTokens || costOf(t, last.Usage) != costOf(t, plain.Usage) {
		t.Errorf("usage on the last chunk is %s, plain %s", last.Usage.RawJSON(), plain.Usage.RawJSON())
	}
}

func TestIncludeUsage(t *testing.T) {
	t.Parallel()
	params := ask("sim/chat", "Tell me about mills.")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	whole, chunks := stream(t, theDemo.client(t), params)
	last := chunks[len(chunks)-1]
	if len(last.Choices) != 0 || last.Usage.TotalTokens == 0 {
		t.Errorf("the last chunk is usage with no choices: %s", last.RawJSON())
	}
	for _, c := range chunks[:len(chunks)-1] {
		if c.JSON.Usage.Valid() || c.JSON.Usage.Raw() != "" {
			t.Errorf("usage before the end: %s", c.RawJSON())
		}
	}
	if whole.Usage.TotalTokens != last.Usage.TotalTokens || costOf(t, last.Usage) <= 0 {
		t.Errorf("usage: %s", last.Usage.RawJSON())
	}
}

func TestSeveralAnswers(t *testing.T) {
	t.Parallel()
	params := ask("sim/chat", "Name a river.")
	params.N = openai.Int(3)
	client := theDemo.client(t)
	answer := complete(t, client, params)
	whole, _ := stream(t, client, params)
	for name, choices := range map[string][]openai.ChatCompletionChoice{"plain": answer.Choices, "streamed": whole.Choices} {
		if len(choices) != 3 {
			t.Fatalf("%s: %d choices, want 3", name, len(choices))
		}
		for i, choice := range choices {
			if choice.Index != int64(i) || choice.Message.Content == "" || choice.FinishReason != "stop" {
				t.Errorf("%s: choice %d is %s", name, i, choice.RawJSON())
			}
		}
	}
	if one := complete(t, client, ask("sim/chat", "Name a river.")); answer.Usage.CompletionTokens <= one.Usage.CompletionTokens {
		t.Errorf("three answers count %d tokens, one %d", answer.Usage.CompletionTokens, one.Usage.CompletionTokens)
	}
}

func TestLogprobs(t *testing.T) {
	t.Parallel()
	params := ask("sim/chat", "Name a stone.")
	params.Logprobs, params.TopLogprobs = openai.Bool(true), openai.Int(3)
	client := theDemo.client(t)
	answer := complete(t, client, params)
	checkLogprobs(t, "plain", answer.Choices[0].Logprobs.Content, text(t, answer))
	whole, _ := stream(t, client, params)
	checkLogprobs(t, "streamed", whole.Choices[0].Logprobs.Content, text(t, &whole.ChatCompletion))

	without := complete(t, client, ask("sim/chat", "Name a stone."))
	if raw := without.Choices[0].JSON.Logprobs.Raw(); raw != "null" {
		t.Errorf("unrequested logprobs are %q, want null", raw)
	}
}

func checkLogprobs(t *testing.T, name string, entries []openai.ChatCompletionTokenLogprob, content string) {
	t.Helper()
	var joined strings.Builder
	for _, entry := range entries {
		joined.WriteString(entry.Token)
		if entry.Logprob > 0 || len(entry.TopLogprobs) != 3 || len(entry.Bytes) != len(entry.Token) {
			t.Errorf("%s: entry %s", name, entry.RawJSON())
		}
	}
	if joined.String() != content {
		t.Errorf("%s: the tokens make %q, the answer is %q", name, joined.String(), content)
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	params := ask("sim/chat", "Tell me a long story.")
	params.MaxCompletionTokens = openai.Int(5)
	answer := complete(t, theDemo.client(t), params)
	if answer.Choices[0].FinishReason != "length" || answer.Usage.CompletionTokens > 5 {
		t.Errorf("five tokens allowed: %s", answer.RawJSON())
	}
}

func TestSamplingFields(t *testing.T) {
	t.Parallel()
	params := ask("sim/chat", "Name a bird.")
	params.Temperature, params.TopP, params.Seed = openai.Float(0.2), openai.Float(0.9), openai.Int(7)
	params.FrequencyPenalty, params.PresencePenalty = openai.Float(0.1), openai.Float(-0.1)
	params.Stop = openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"\n\n\n"}}
	params.LogitBias = map[string]int64{"50256": -100}
	params.User = openai.String("user-1")
	params.Metadata = shared.Metadata{"team": "e2e"}
	params.ServiceTier = openai.ChatCompletionNewParamsServiceTierAuto
	params.Store = openai.Bool(false)
	text(t, complete(t, theDemo.client(t), params))
}

func TestJSONSchema(t *testing.T) {
	t.Parallel()
	params := ask("sim/json", "Describe a river as JSON.")
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "river", Strict: openai.Bool(true),
			Schema: map[string]any{
				"type": "object",
				"properties": map[string]any{
					"name":   map[string]any{"type": "string"},
					"length": map[string]any{"type": "integer", "minimum": 1},
					"tidal":  map[string]any{"type": "boolean"},
					"towns":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1},
				},
				"required": []string{"name", "length", "tidal", "towns"}, "additionalProperties": false,
			},
		},
	}}
	client := theDemo.client(t)
	answer := complete(t, client, params)
	whole, _ := stream(t, client, params)
	for name, content := range map[string]string{"plain": text(t, answer), "streamed": text(t, &whole.ChatCompletion)} {
		var river struct {
			Name   *string
			Length *int
			Tidal  *bool
			Towns  []string
		}
		decoder := json.NewDecoder(strings.NewReader(content))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&river); err != nil {
			t.Fatalf("%s: %v: %s", name, err, content)
		}
		if river.Name == nil || river.Length == nil || *river.Length < 1 || river.Tidal == nil || len(river.Towns) == 0 {
			t.Errorf("%s: not what the schema says: %s", name, content)
		}
	}
}

func TestJSONObject(t *testing.T) {
	t.Parallel()
	params := ask("sim/chat", "Answer as JSON.")
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONObject: &shared.ResponseFormatJSONObjectParam{}}
	var object map[string]any
	if err := json.Unmarshal([]byte(text(t, complete(t, theDemo.client(t), params))), &object); err != nil {
		t.Error(err)
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	params := ask("sim/reason", "Why does a weir hum?")
	params.ReasoningEffort = shared.ReasoningEffortHigh
	client := theDemo.client(t)
	answer := complete(t, client, params)
	text(t, answer)
	reasoning := extraString(t, answer.Choices[0].Message.JSON.ExtraFields["reasoning"].Raw())
	if reasoning == "" || reasoning != extraString(t, answer.Choices[0].Message.JSON.ExtraFields["reasoning_content"].Raw()) {
		t.Errorf("reasoning must stand under both names: %s", answer.RawJSON())
	}
	if answer.Usage.CompletionTokensDetails.ReasoningTokens <= 0 {
		t.Errorf("no reasoning tokens: %s", answer.Usage.RawJSON())
	}
	_, chunks := stream(t, client, params)
	var streamed strings.Builder
	content := false
	for _, chunk := range chunks {
		for _, choice := range chunk.Choices {
			piece := extraString(t, choice.Delta.JSON.ExtraFields["reasoning"].Raw())
			if piece != extraString(t, choice.Delta.JSON.ExtraFields["reasoning_content"].Raw()) {
				t.Errorf("the two names of reasoning differ: %s", chunk.RawJSON())
			}
			if piece != "" && content {
				t.Errorf("reasoning after content: %s", chunk.RawJSON())
			}
			content = content || choice.Delta.Content != ""
			streamed.WriteString(piece)
		}
	}
	if streamed.String() != reasoning {
		t.Errorf("streamed reasoning %q, plain %q", streamed.String(), reasoning)
	}
}

func TestReasoningExcluded(t *testing.T) {
	t.Parallel()
	answer := complete(t, theDemo.client(t), ask("sim/reason", "Why does a weir hum?"),
		option.WithJSONSet("reasoning", map[string]any{"effort": "low", "exclude": true}))
	text(t, answer)
	for _, name := range []string{"reasoning", "reasoning_content", "reasoning_details"} {
		if field, ok := answer.Choices[0].Message.JSON.ExtraFields[name]; ok {
			t.Errorf("%s is %s although it was excluded", name, field.Raw())
		}
	}
}

// extraString returns the text of a field that the SDK does not know; "" if it is missing.
func extraString(t *testing.T, raw string) string {
	t.Helper()
	if raw == "" || raw == "null" {
		return ""
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return s
}

func TestStrictSchema(t *testing.T) {
	t.Parallel()
	var raw []byte
	err := theDemo.client(t).Post(t.Context(), "chat/completions", ask("sim/chat", "Hello."), &raw, option.WithHeader("X-Response-Schema", "strict"))
	if err != nil {
		t.Fatal(explain(err))
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content []struct{ Type, Text string }
			}
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("content must be an array of parts: %v: %s", err, raw)
	}
	if parts := answer.Choices[0].Message.Content; len(parts) != 1 || parts[0].Type != "text" || parts[0].Text == "" {
		t.Errorf("content: %s", raw)
	}
}

func TestPauseBeforeAndInsideStream(t *testing.T) {
	t.Parallel()
	// Long enough for several pieces to be late, short enough for a test. Keep-alive comments have a unit test in the gateway.
	whole, _ := stream(t, theDemo.client(t), ask("sim/chat", "Slowly, please. [[sim first=300ms gap=30ms frames=5]]"))
	text(t, &whole.ChatCompletion)
}

func TestUnknownFieldsTravel(t *testing.T) {
	t.Parallel()
	text(t, complete(t, theDemo.client(t), ask("sim/chat", "Hello."),
		option.WithJSONSet("top_k", 40), option.WithJSONSet("min_p", 0.05), option.WithJSONSet("unheard_of", map[string]any{"a": []int{1}})))
}

func TestModels(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(explain(err))
	}
	seen := map[string]bool{}
	for _, model := range page.Data {
		seen[model.ID] = true
	}
	for _, model := range theDemo.Models {
		if seen[model] {
			continue
		}
		if known, err := client.Models.Get(t.Context(), model); err != nil || known.ID != model { // models of other types are in other lists
			t.Errorf("the demo announces %s, the catalog lacks it: %v", model, err)
		}
	}
	for _, model := range []string{"sim/chat", "sim/echo", "sim/tools", "sim/reason", "sim/json"} {
		if !seen[model] {
			t.Errorf("the list lacks %s", model)
		}
	}
}
