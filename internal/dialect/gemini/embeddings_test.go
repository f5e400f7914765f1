package gemini_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/gemini"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/upstreamtest"
)

func declare(ep *catalog.Endpoint) {
	ep.Provider.Key = ""
}

// What is sent for a task, and what is read of the answer.
func TestEmbed(t *testing.T) {
	t.Parallel()
	upstreamtest.Exchanges(t, new(gemini.Dialect), declare, []upstreamtest.Exchange{
		{Name: `shorter vectors are made as long as 1`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b"), InputType: "search_query", Dimensions: 2}, Path: `/models/acme-large:batchEmbedContents`,
			Request: `{"requests":[{"model":"models/acme-large","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":2},{"model":"models/acme-large","content":{"parts":[{"text":"b"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":2}]}`,
			Answer:  `{"embeddings":[{"values":[3,4]},{"values":[0,2]}]}`,
			Want:    `[{0 [0.6 0.8]} {1 [0 1]}] [] {0 false} {0 false}`},
		{Name: `usage`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Path: `/models/acme-large:batchEmbedContents`,
			Request: `{"requests":[{"model":"models/acme-large","content":{"parts":[{"text":"a"}]}}]}`,
			Answer:  `{"embeddings":[{"values":[3,4]}],"usageMetadata":{"promptTokenCount":7}}`,
			Want:    `[{0 [3 4]}] [] {7 true} {0 false}`},
	})
}

// A model that knows no field for the purpose reads it from the beginning of each text, once.
func TestEmbedPurposeAsPrefix(t *testing.T) {
	t.Parallel()
	declare := func(ep *catalog.Endpoint) { ep.Provider.Key, ep.Facts.InputType = "", catalog.Prefix }
	upstreamtest.Exchanges(t, new(gemini.Dialect), declare, []upstreamtest.Exchange{
		{Name: `query`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "task: search result | query: b"), InputType: "search_query"}, Path: `/models/acme-large:batchEmbedContents`,
			Request: `{"requests":[{"model":"models/acme-large","content":{"parts":[{"text":"task: search result | query: a"}]}},{"model":"models/acme-large","content":{"parts":[{"text":"task: search result | query: b"}]}}]}`,
			Answer:  `{"embeddings":[{"values":[3,4]},{"values":[0,2]}]}`, Want: `[{0 [3 4]} {1 [0 2]}] [] {0 false} {0 false}`},
		{Name: `document`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), InputType: "document"}, Path: `/models/acme-large:batchEmbedContents`,
			Request: `{"requests":[{"model":"models/acme-large","content":{"parts":[{"text":"title: none | text: a"}]}}]}`,
			Answer:  `{"embeddings":[{"values":[3,4]}]}`, Want: `[{0 [3 4]}] [] {0 false} {0 false}`},
		{Name: `no purpose`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Path: `/models/acme-large:batchEmbedContents`,
			Request: `{"requests":[{"model":"models/acme-large","content":{"parts":[{"text":"a"}]}}]}`,
			Answer:  `{"embeddings":[{"values":[3,4]}]}`, Want: `[{0 [3 4]}] [] {0 false} {0 false}`},
	})
}

// What this wire cannot do, and answers that are none.
func TestEmbedRefuses(t *testing.T) {
	t.Parallel()
	upstreamtest.Refusals(t, new(gemini.Dialect), declare, map[string]upstreamtest.Refused{
		"an error with status 200": {Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Answer: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down","details":[{"retryDelay":"9s"}]}}`, Kind: fault.RateLimited},
		"no JSON":                  {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{`, Kind: fault.ProviderUnavailable},
		"nothing":                  {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"embeddings":[]}`, Kind: fault.ProviderUnavailable},
		"one vector too few":       {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"embeddings":[{"values":[1]}]}`, Kind: fault.ProviderUnavailable},
		"tokens":                   {Task: &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, Answer: `{}`, Kind: fault.Invalid},
		"another kind of task":     {Task: &task.Speech{Input: "a"}, Answer: `{}`, Kind: fault.Invalid},
	})
}
