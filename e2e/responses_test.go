package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// inquire returns the shortest request for a response: one text.
func inquire(model, input string) responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(input)}}
}

// respond makes a response that must succeed.
func respond(t *testing.T, client *openai.Client, params responses.ResponseNewParams) *responses.Response {
	t.Helper()
	response, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatalf("response: %v", explain(err))
	}
	if response.Status != "completed" || !strings.HasPrefix(response.ID, "resp_") || response.Usage.TotalTokens != response.Usage.InputTokens+response.Usage.OutputTokens {
		t.Fatalf("response: %s", response.RawJSON())
	}
	return response
}

// listen reads the stream of a response that must succeed, and returns its events.
func listen(t *testing.T, client *openai.Client, params responses.ResponseNewParams) (events []responses.ResponseStreamEventUnion, last responses.Response) {
	t.Helper()
	stream := client.Responses.NewStreaming(t.Context(), params)
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		if event.SequenceNumber != int64(len(events)) {
			t.Errorf("event %d has the number %d", len(events), event.SequenceNumber)
		}
		events, last = append(events, event), event.Response
	}
	if err := stream.Err(); err != nil || len(events) < 3 || events[0].Type != "response.created" || events[1].Type != "response.in_progress" {
		t.Fatalf("stream of %d events: %v", len(events), err)
	}
	return events, last
}

func TestResponse(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	params := inquire("sim/chat", "What is a weir?")
	params.Instructions, params.Metadata = openai.String("Be brief."), shared.Metadata{"a": "b"}
	whole := respond(t, client, params)
	if whole.OutputText() == "" || whole.Model != "sim/chat" || whole.Metadata["a"] != "b" || whole.Instructions.OfString != "Be brief." {
		t.Errorf("%s", whole.RawJSON())
	}
	if field := whole.Usage.JSON.ExtraFields["cost"]; nanos(t, field.Raw()) <= 0 {
		t.Errorf("usage has no cost: %s", whole.Usage.RawJSON())
	}
	events, last := listen(t, client, params)
	said := ""
	for _, event := range events {
		if event.Type == "response.output_text.delta" {
			said += event.Delta
		}
	}
	if said != whole.OutputText() || last.OutputText() != said || last.Status != "completed" {
		t.Errorf("streamed %q, in the end %q, whole %q", said, last.OutputText(), whole.OutputText())
	}
	params.MaxOutputTokens = openai.Int(3)
	if _, cut := listen(t, client, params); cut.Status != "incomplete" || cut.IncompleteDetails.Reason != "max_output_tokens" {
		t.Errorf("%s", cut.RawJSON())
	}
}

var gauge = responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
	Name: "water_level", Description: openai.String("The level of a river."), Strict: openai.Bool(false),
	Parameters: map[string]any{"type": "object", "properties": map[string]any{"river": map[string]any{"type": "string"}}, "required": []string{"river"}},
}}

// calls returns the function calls of a response.
func calls(response *responses.Response) (list []responses.ResponseFunctionToolCall) {
	for _, item := range response.Output {
		if item.Type == "function_call" {
			list = append(list, item.AsFunctionCall())
		}
	}
	return list
}

// Three turns continue by the id of the last response; the second has the result of a tool.
func TestContinuedResponse(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	params := inquire("sim/tools", "How high is the Thames?")
	params.Tools = []responses.ToolUnionParam{gauge}
	params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsRequired)}
	first := respond(t, client, params)
	asked := calls(first)
	if len(asked) != 1 || asked[0].Name != "water_level" || !json.Valid([]byte(asked[0].Arguments)) {
		t.Fatalf("%s", first.RawJSON())
	}
	second := respond(t, client, responses.ResponseNewParams{Model: "sim/tools", PreviousResponseID: openai.String(first.ID), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
		{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(asked[0].CallID), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String("1.7 m")}}},
	}}})
	if !strings.Contains(second.OutputText(), "1.7 m") {
		t.Errorf("the result of the tool is not in %q", second.OutputText())
	}
	params = inquire("sim/echo", "Thank you.")
	params.PreviousResponseID = openai.String(second.ID)
	third := respond(t, client, params)
	if third.PreviousResponseID != second.ID || third.OutputText() != "Thank you." {
		t.Errorf("%s", third.RawJSON())
	}

	page, err := client.Responses.InputItems.List(t.Context(), third.ID, responses.InputItemListParams{Order: "asc"})
	if err != nil || len(page.Data) != 5 || page.Data[2].Type != "function_call_output" {
		t.Errorf("%v: %s", err, page.RawJSON())
	}
	read, err := client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	if err != nil || read.OutputText() != second.OutputText() {
		t.Errorf("%v: %s", err, read.RawJSON())
	}
	if err := client.Responses.Delete(t.Context(), second.ID); err != nil {
		t.Fatal(explain(err))
	}
	_, err = client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	refused(t, err, 404, "not_found")
	params.PreviousResponseID = openai.String(third.ID)
	_, err = client.Responses.New(t.Context(), params)
	if _, said := refused(t, err, 400, "previous_response_not_found"); said.Metadata["param"] != "previous_response_id" {
		t.Errorf("%v", said)
	}
}

func TestStreamedCalls(t *testing.T) {
	t.Parallel()
	params := inquire("sim/tools", "How high are they? [[sim calls=2]]")
	params.Tools = []responses.ToolUnionParam{gauge}
	params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsRequired)}
	events, last := listen(t, theDemo.client(t), params)
	pieces := map[string]string{}
	for _, event := range events {
		switch event.Type {
		case "response.function_call_arguments.delta":
			pieces[event.ItemID] += event.Delta
		case "response.function_call_arguments.done":
			if event.Arguments != pieces[event.ItemID] {
				t.Errorf("arguments %q of pieces %q", event.Arguments, pieces[event.ItemID])
			}
		}
	}
	if got := calls(&last); len(got) != 2 || len(pieces) != 2 || got[0].Arguments != pieces[got[0].ID] || got[0].CallID == got[1].CallID {
		t.Errorf("%s", last.RawJSON())
	}
}

func TestResponseSchema(t *testing.T) {
	t.Parallel()
	params := inquire("sim/json", "Describe a river.")
	params.Text = responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{
		Name: "river", Strict: openai.Bool(true), Schema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}, "km": map[string]any{"type": "integer"}}, "required": []string{"name", "km"}, "additionalProperties": false},
	}}}
	var river struct {
		Name *string
		KM   *int
	}
	response := respond(t, theDemo.client(t), params)
	if err := json.Unmarshal([]byte(response.OutputText()), &river); err != nil || river.Name == nil || river.KM == nil {
		t.Errorf("%v: %s", err, response.OutputText())
	}
}

func TestResponseReasoning(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	params := inquire("sim/reason", "Why is water wet?")
	params.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortHigh}
	whole := respond(t, client, params)
	if whole.Output[0].Type != "reasoning" || len(whole.Output[0].AsReasoning().Content) == 0 || whole.Usage.OutputTokensDetails.ReasoningTokens <= 0 {
		t.Errorf("%s", whole.RawJSON())
	}
	// the client sends the whole answer back
	history := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("Why is water wet?", responses.EasyInputMessageRoleUser)}
	for _, item := range whole.Output {
		history = append(history, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
	}
	history = append(history, responses.ResponseInputItemParamOfMessage("And dry?", responses.EasyInputMessageRoleUser))
	respond(t, client, responses.ResponseNewParams{Model: "sim/reason", Store: openai.Bool(false), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: history}})
}

func TestResponseInBackground(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	begin := func(input string) *responses.Response {
		t.Helper()
		params := inquire("sim/echo", input)
		params.Background = openai.Bool(true)
		response, err := client.Responses.New(t.Context(), params)
		if err != nil || response.Status != "queued" {
			t.Fatalf("%v: %s", err, response.RawJSON())
		}
		return response
	}
	await := func(id string) *responses.Response {
		t.Helper()
		for deadline := time.After(3 * time.Minute); ; {
			response, err := client.Responses.Get(t.Context(), id, responses.ResponseGetParams{})
			if err != nil {
				t.Fatal(explain(err))
			}
			if response.Status != "queued" && response.Status != "in_progress" {
				return response
			}
			select {
			case <-deadline:
				t.Fatalf("still %s", response.Status)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	if done := await(begin("Hello.").ID); done.OutputText() != "Hello." || done.Status != "completed" {
		t.Errorf("%s", done.RawJSON())
	}
	slow := begin("[[sim delay=30s]] Never.")
	cancelled, err := client.Responses.Cancel(t.Context(), slow.ID)
	if err != nil || cancelled.Status != "cancelled" {
		t.Errorf("%v: %s", err, cancelled.RawJSON())
	}
	if got := await(slow.ID); got.Status != "cancelled" {
		t.Errorf("%s", got.RawJSON())
	}
}

func TestResponseErrors(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	for input, want := range map[string]struct {
		model  string
		status int
		kind   string
	}{
		"unknown model":                {"sim/none", 404, "model_not_found"},
		"[[sim fault=u15 status=500]]": {"sim/chat", 502, "provider_unavailable"},
	} {
		_, err := client.Responses.New(t.Context(), inquire(want.model, input))
		refused(t, err, want.status, want.kind)
	}
	// a stream that breaks ends with a failed response, and is not just cut
	params := inquire("sim/chat", "[[sim fault=u6]] What is a weir?")
	events, last := listen(t, client, params)
	if events[len(events)-1].Type != "response.failed" || last.Status != "failed" || last.Error.Code != "server_error" {
		t.Errorf("%s", last.RawJSON())
	}
}

func TestCountedInput(t *testing.T) {
	t.Parallel()
	count, err := theDemo.client(t).Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{Model: openai.String("sim/chat"), Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String("What is a weir?")}})
	if err != nil || count.InputTokens < 3 {
		t.Errorf("%v %v", err, count)
	}
}
