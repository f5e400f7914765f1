package yandex_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/yandex"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/upstreamtest"
)

func declare(ep *catalog.Endpoint) {
	ep.UpstreamID = "gpt://folder/text-search-doc/latest"
}

// What is sent for a task, and what is read of the answer.
func TestPerform(t *testing.T) {
	t.Parallel()
	upstreamtest.Exchanges(t, new(yandex.Dialect), declare, []upstreamtest.Exchange{
		{Name: `a document`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Path: `/foundationModels/v1/textEmbedding`,
			Request: `{"modelUri":"emb://folder/text-search-doc/latest","text":"a"}`,
			Answer:  `{"embedding":[1,2],"numTokens":"7","modelVersion":"1"}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
		{Name: `a query of two numbers`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), InputType: "search_query", Dimensions: 2}, Path: `/foundationModels/v1/textEmbedding`,
			Request: `{"modelUri":"emb://folder/text-search-query/latest","text":"a","dim":"2"}`,
			Answer:  `{"embedding":[1,2],"numTokens":7}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
	})
}

// What this wire cannot do, and answers that are none.
func TestPerformRefuses(t *testing.T) {
	t.Parallel()
	upstreamtest.Refusals(t, new(yandex.Dialect), declare, map[string]upstreamtest.Refused{
		"no JSON":                {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{`, Kind: fault.ProviderUnavailable},
		"nothing":                {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"embedding":[]}`, Kind: fault.ProviderUnavailable},
		"tokens":                 {Task: &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, Answer: `{}`, Kind: fault.Invalid},
		"texts in a vector":      {Task: &task.Embedding{Inputs: upstreamtest.Texts("a")}, Answer: `{"embedding":["1"]}`, Kind: fault.ProviderUnavailable},
		"a size that it has not": {Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), Dimensions: 3}, Answer: `{"embedding":[1,2]}`, Kind: fault.Invalid},
	})
}
