package cohere_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/cohere"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/upstreamtest"
)

func declare(ep *catalog.Endpoint) {
	ep.Provider.Key = ""
}

// What is sent for a task, and what is read of the answer.
func TestPerform(t *testing.T) {
	t.Parallel()
	upstreamtest.Exchanges(t, new(cohere.Dialect), declare, []upstreamtest.Exchange{
		{Name: `texts`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b"), InputType: "query", Dimensions: 2, Base64: true}, Path: `/v2/embed`,
			Request: `{"model":"acme-large","input_type":"search_query","embedding_types":["base64"],"output_dimension":2,"texts":["a","b"]}`,
			Answer:  `{"id":"x","embeddings":{"base64":["AACAPwAAAEA=","AACAPwAAAEA="]},"meta":{"billed_units":{"input_tokens":7}}}`,
			Want:    `[{0 [1 2]} {1 [1 2]}] [] {7 true} {0 false}`},
		{Name: `an image, and numbers`, Task: &task.Embedding{Inputs: []task.Input{{Parts: []task.Part{{Text: "a"}, {ImageURL: "data:image/png;base64,AA"}}}}}, Path: `/v2/embed`,
			Request: `{"model":"acme-large","input_type":"search_document","embedding_types":["float"],"inputs":[{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`,
			Answer:  `{"embeddings":{"float":[[1,2]]},"meta":{"billed_units":{"images":1,"input_tokens":2,"image_tokens":5}}}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
		{Name: `ranks`, Task: &task.Rerank{Query: "q", Documents: []string{"a", "b"}, TopN: 1}, Path: `/v2/rerank`,
			Request: `{"model":"acme-large","query":"q","documents":["a","b"],"top_n":1}`,
			Answer:  `{"id":"x","results":[{"index":1,"relevance_score":0.9}],"meta":{"billed_units":{"search_units":3}}}`,
			Want:    `[] [{1 0.9}] {0 false} {3 true}`},
	})
}

// What this wire cannot do, and answers that are none.
func TestPerformRefuses(t *testing.T) {
	t.Parallel()
	upstreamtest.Refusals(t, new(cohere.Dialect), declare, map[string]upstreamtest.Refused{
		"no JSON":                         {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{`, Kind: fault.ProviderUnavailable},
		"nothing":                         {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"embeddings":{"base64":[]}}`, Kind: fault.ProviderUnavailable},
		"one vector too few":              {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"embeddings":{"base64":["AACAPw=="]}}`, Kind: fault.ProviderUnavailable},
		"tokens":                          {Task: &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, Answer: `{}`, Kind: fault.Invalid},
		"another kind of task":            {Task: &task.Speech{Input: "a"}, Answer: `{}`, Kind: fault.Invalid},
		"a purpose that it does not know": {Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), InputType: "poetry"}, Answer: `{}`, Kind: fault.Invalid},
		"one rank too few":                {Task: &task.Rerank{Query: "q", Documents: []string{"a", "b"}}, Answer: `{"results":[{"index":1,"relevance_score":1}]}`, Kind: fault.ProviderUnavailable},
	})
}
