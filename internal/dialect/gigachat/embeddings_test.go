package gigachat_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/gigachat"
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
	upstreamtest.Exchanges(t, new(gigachat.Dialect), declare, []upstreamtest.Exchange{
		{Name: `texts`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Path: `/embeddings`,
			Request: `{"model":"acme-large","input":["a","b"]}`,
			Answer:  `{"data":[{"index":1,"embedding":[3,4],"usage":{"prompt_tokens":3}},{"index":0,"embedding":[1,2],"usage":{"prompt_tokens":4}}],"model":"Embeddings"}`,
			Want:    `[{0 [1 2]} {1 [3 4]}] [] {7 true} {0 false}`},
	})
}

// What this wire cannot do, and answers that are none.
func TestEmbedRefuses(t *testing.T) {
	t.Parallel()
	upstreamtest.Refusals(t, new(gigachat.Dialect), declare, map[string]upstreamtest.Refused{
		"no JSON":              {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{`, Kind: fault.ProviderUnavailable},
		"nothing":              {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"data":[]}`, Kind: fault.ProviderUnavailable},
		"one vector too few":   {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"data":[{"index":0,"embedding":[1]}]}`, Kind: fault.ProviderUnavailable},
		"tokens":               {Task: &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, Answer: `{}`, Kind: fault.Invalid},
		"another kind of task": {Task: &task.Speech{Input: "a"}, Answer: `{}`, Kind: fault.Invalid},
		"a size of its own":    {Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), Dimensions: 3}, Answer: `{}`, Kind: fault.Invalid},
	})
}
