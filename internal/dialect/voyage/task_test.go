package voyage_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/voyage"
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
	upstreamtest.Exchanges(t, new(voyage.Dialect), declare, []upstreamtest.Exchange{
		{Name: `texts`, Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b"), InputType: "search_document", Dimensions: 2, Base64: true}, Path: `/embeddings`,
			Request: `{"model":"acme-large","encoding_format":"base64","truncation":false,"output_dimension":2,"input_type":"document","input":["a","b"]}`,
			Answer:  `{"data":[{"index":1,"embedding":"AABAQAAAgEA="},{"index":0,"embedding":"AACAPwAAAEA="}],"usage":{"total_tokens":7}}`,
			Want:    `[{0 [1 2]} {1 [3 4]}] [] {7 true} {0 false}`},
		{Name: `ranks`, Task: &task.Rerank{Query: "q", Documents: []string{"a", "b"}}, Path: `/rerank`,
			Request: `{"model":"acme-large","query":"q","documents":["a","b"],"truncation":true}`,
			Answer:  `{"data":[{"index":0,"relevance_score":0.1},{"index":1,"relevance_score":0.9}],"usage":{"total_tokens":7}}`,
			Want:    `[] [{1 0.9} {0 0.1}] {7 true} {0 false}`},
	})
}

// What this wire cannot do, and answers that are none.
func TestPerformRefuses(t *testing.T) {
	t.Parallel()
	upstreamtest.Refusals(t, new(voyage.Dialect), declare, map[string]upstreamtest.Refused{
		"no JSON":              {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{`, Kind: fault.ProviderUnavailable},
		"nothing":              {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"data":[]}`, Kind: fault.ProviderUnavailable},
		"one vector too few":   {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"data":[{"index":0,"embedding":[1]}]}`, Kind: fault.ProviderUnavailable},
		"tokens":               {Task: &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, Answer: `{}`, Kind: fault.Invalid},
		"another kind of task": {Task: &task.Speech{Input: "a"}, Answer: `{}`, Kind: fault.Invalid},
		"one vector twice":     {Task: &task.Embedding{Inputs: upstreamtest.Texts("a", "b")}, Answer: `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, Kind: fault.ProviderUnavailable},
	})
}

// Voyage refuses arguments that it does not know (410979729/scope-recall-hermes#88, diegosouzapw/OmniRoute#7809) and encoding_format float
// (garrytan/gbrain#735), has no prompt_tokens, and knows the purposes query and document only (embeddings-benchmark/mteb#1681). Documents
// are strings there (volcengine/OpenViking#3291).
func TestPerformAsReported(t *testing.T) {
	t.Parallel()
	others := []task.Extra{{Name: "truncate", Value: []byte(`"END"`)}, {Name: "task", Value: []byte(`"x"`)}, {Name: "max_tokens_per_doc", Value: []byte("9")}, {Name: "unknown", Value: []byte("1")}}
	upstreamtest.Exchanges(t, new(voyage.Dialect), declare, []upstreamtest.Exchange{
		{Name: "numbers", Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), InputType: "passage", Dimensions: 2, Extra: others}, Path: `/embeddings`,
			Request: `{"model":"acme-large","truncation":false,"output_dimension":2,"input_type":"document","input":["a"],"unknown":1}`,
			Answer:  `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1,2]}],"model":"m","usage":{"total_tokens":7}}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
		{Name: "ranks", Task: &task.Rerank{Query: "q", Documents: []string{"a", "b"}, TopN: 1, Extra: append(others, task.Extra{Name: "return_documents", Value: []byte("true")})}, Path: `/rerank`,
			Request: `{"model":"acme-large","query":"q","documents":["a","b"],"top_k":1,"truncation":true,"unknown":1}`,
			Answer:  `{"object":"list","data":[{"relevance_score":0.86,"index":0}],"model":"rerank-2.5-lite","usage":{"total_tokens":57}}`,
			Want:    `[] [{0 0.86}] {57 true} {0 false}`},
	})
}
