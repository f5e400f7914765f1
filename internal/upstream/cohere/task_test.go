package cohere_test

import (
	"fmt"
	"testing"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/cohere"
	"weir/internal/upstream/upstreamtest"
)

func texts(list ...string) (out []task.Input) {
	for _, s := range list {
		out = append(out, task.Input{Parts: []task.Part{{Text: s}}})
	}
	return out
}

// What is sent for a task, and what is read of the answer.
func TestPerform(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                        string
		task                        task.Task
		path, request, answer, want string // want: the result as Go prints it
	}{
		{`texts`, &task.Embedding{Inputs: texts("a", "b"), InputType: "query", Dimensions: 2}, `/v2/embed`, `{"model":"acme-large","input_type":"search_query","embedding_types":["base64"],"output_dimension":2,"texts":["a","b"]}`, `{"id":"x","embeddings":{"base64":["AACAPwAAAEA=","AACAPwAAAEA="]},"meta":{"billed_units":{"input_tokens":7}}}`, `[{0 [1 2]} {1 [1 2]}] [] {7 true} {0 false}`},
		{`a picture, and numbers in the answer`, &task.Embedding{Inputs: []task.Input{{Parts: []task.Part{{Text: "a"}, {ImageURL: "data:image/png;base64,AA"}}}}}, `/v2/embed`, `{"model":"acme-large","input_type":"search_document","embedding_types":["base64"],"inputs":[{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`, `{"embeddings":{"float":[[1,2]]},"meta":{"billed_units":{"images":1,"input_tokens":2,"image_tokens":5}}}`, `[{0 [1 2]}] [] {7 true} {0 false}`},
		{`ranks`, &task.Rerank{Query: "q", Documents: []string{"a", "b"}, TopN: 1}, `/v2/rerank`, `{"model":"acme-large","query":"q","documents":["a","b"],"top_n":1}`, `{"id":"x","results":[{"index":1,"relevance_score":0.9}],"meta":{"billed_units":{"search_units":3}}}`, `[] [{1 0.9}] {0 false} {3 true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(cohere.Dialect), p, func(ep *catalog.Endpoint) { ep.Provider.Key = "" }, tt.task)
			if got.Err != nil || !got.Done || len(got.All) != 1 {
				t.Fatalf("%+v", got)
			}
			if seen := p.Seen(); len(seen) != 1 || seen[0].Path != tt.path || seen[0].Body != tt.request {
				t.Errorf("sent %+v", seen)
			}
			if s := fmt.Sprint(got.All[0].Vectors, got.All[0].Ranks, got.Usage.Prompt, got.Usage.Requests); s != tt.want {
				t.Errorf("%s, want %s", s, tt.want)
			}
		})
	}
}

// What this wire cannot do, and answers that are none.
func TestPerformRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		task   task.Task
		answer string
		kind   fault.Kind
	}{
		"no JSON":                         {&task.Embedding{Inputs: texts("a", "b")}, `{`, fault.ProviderUnavailable},
		"nothing":                         {&task.Embedding{Inputs: texts("a", "b")}, `{"embeddings":{"base64":[]}}`, fault.ProviderUnavailable},
		"one vector too few":              {&task.Embedding{Inputs: texts("a", "b")}, `{"embeddings":{"base64":["AACAPw=="]}}`, fault.ProviderUnavailable},
		"tokens":                          {&task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, `{}`, fault.Invalid},
		"another kind of task":            {&task.Speech{Input: "a"}, `{}`, fault.Invalid},
		"a purpose that it does not know": {&task.Embedding{Inputs: texts("a"), InputType: "poetry"}, `{}`, fault.Invalid},
		"one rank too few":                {&task.Rerank{Query: "q", Documents: []string{"a", "b"}}, `{"results":[{"index":1,"relevance_score":1}]}`, fault.ProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(cohere.Dialect), p, func(ep *catalog.Endpoint) { ep.Provider.Key = "" }, tt.task)
			if f := fault.From(got.Err); got.Err == nil || f.Kind != tt.kind || f.Next != fault.NextEndpoint {
				t.Errorf("%+v", got)
			}
		})
	}
}
