package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

var levelTool = openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name:        "water_level",
	Description: openai.String("The level of a river at a place."),
	Parameters: shared.FunctionParameters{
		"type": "object",
		"properties": map[string]any{
			"river": map[string]any{"type": "string"},
			"unit":  map[string]any{"type": "string", "enum": []string{"m", "ft"}},
		},
		"required": []string{"river", "unit"},
	},
})

var weatherTool = openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name:       "weather",
	Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"town": map[string]any{"type": "string"}}, "required": []string{"town"}},
})

func withTools(prompt string) openai.ChatCompletionNewParams {
	params := ask("sim/tools", prompt)
	params.Tools = []openai.ChatCompletionToolUnionParam{levelTool, weatherTool}
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	return params
}

// checkCalls checks that a program could execute the calls.
func checkCalls(t *testing.T, name string, choice openai.ChatCompletionChoice, want int) {
	t.Helper()
	if choice.FinishReason != "tool_calls" {
		t.Errorf("%s: finish_reason is %q: %s", name, choice.FinishReason, choice.RawJSON())
	}
	calls := choice.Message.ToolCalls
	if len(calls) != want {
		t.Fatalf("%s: %d calls, want %d: %s", name, len(calls), want, choice.RawJSON())
	}
	ids := map[string]bool{}
	for _, call := range calls {
		if call.ID == "" || ids[call.ID] || call.Type != "function" {
			t.Errorf("%s: id %q, type %q", name, call.ID, call.Type)
		}
		ids[call.ID] = true
		var arguments map[string]any
		if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
			t.Errorf("%s: arguments %q: %v", name, call.Function.Arguments, err)
		}
		switch call.Function.Name {
		case "water_level":
			if unit := arguments["unit"]; unit != "m" && unit != "ft" {
				t.Errorf("%s: unit is %v", name, unit)
			}
		case "weather":
			if _, ok := arguments["town"].(string); !ok {
				t.Errorf("%s: town is %v", name, arguments["town"])
			}
		default:
			t.Errorf("%s: unknown tool %q", name, call.Function.Name)
		}
	}
}

func TestToolCall(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	params := withTools("How high is the Thames? [[sim calls=1]]")
	checkCalls(t, "plain", complete(t, client, params).Choices[0], 1)
	whole, _ := stream(t, client, params)
	checkCalls(t, "streamed", whole.Choices[0], 1)
}

func TestParallelToolCalls(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	params := withTools("How high is the Thames, and is it raining? [[sim calls=3]]")
	params.ParallelToolCalls = openai.Bool(true)
	checkCalls(t, "plain", complete(t, client, params).Choices[0], 3)
	whole, chunks := stream(t, client, params)
	checkCalls(t, "streamed", whole.Choices[0], 3)

	// Clients join the pieces of ids and names, so these may only be in the first piece of a call. Pieces of different calls are not mixed.
	next := int64(0)
	for _, chunk := range chunks {
		for _, choice := range chunk.Choices {
			for _, piece := range choice.Delta.ToolCalls {
				if piece.Index == next {
					next++
					if piece.ID == "" || piece.Function.Name == "" || piece.Type != "function" {
						t.Errorf("the first piece of a call lacks its id, name or type: %s", chunk.RawJSON())
					}
				} else if piece.Index != next-1 || piece.ID != "" || piece.Function.Name != "" {
					t.Errorf("a later piece of call %d has an id or name, or is out of order: %s", next-1, chunk.RawJSON())
				}
			}
		}
	}
}

func TestNamedTool(t *testing.T) {
	t.Parallel()
	params := withTools("Anything. [[sim calls=1]]")
	params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "weather"})
	choice := complete(t, theDemo.client(t), params).Choices[0]
	checkCalls(t, "named", choice, 1)
	if got := choice.Message.ToolCalls[0].Function.Name; got != "weather" {
		t.Errorf("called %q, want the tool that was named", got)
	}
}

func TestToolLoop(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	params := withTools("How high is the Thames? [[sim calls=2]]")
	first := complete(t, client, params)
	checkCalls(t, "first turn", first.Choices[0], 2)

	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam())
	for _, call := range first.Choices[0].Message.ToolCalls {
		params.Messages = append(params.Messages, openai.ToolMessage(`{"level":1.7}`, call.ID))
	}
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("none")}
	second := complete(t, client, params)
	text(t, second)
	if second.Choices[0].FinishReason != "stop" {
		t.Errorf("the second turn ends with %q", second.Choices[0].FinishReason)
	}
}

func TestToolResultWithoutItsCall(t *testing.T) {
	t.Parallel()
	params := withTools("How high?")
	params.Messages = append(params.Messages, openai.ToolMessage("1.7", "call_nobody_made"))
	_, err := theDemo.client(t).Chat.Completions.New(t.Context(), params)
	_, said := refused(t, err, 400, "invalid_prompt")
	if !strings.Contains(said.Message, "call_nobody_made") && said.Metadata["param"] == nil {
		t.Errorf("the message does not say which: %v", said)
	}
}
