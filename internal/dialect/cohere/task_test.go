package cohere_test

import (
	"strings"
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

// What Cohere's wire was reported to do. It refuses what it does not know with 422 (HKUDS/LightRAG#1813); embedding_types is a list
// (BerriAI/litellm#10939); models since version 3 need an input_type (chroma-core/chroma#1385, langchain-ai/langchainjs#3900); documents of
// a ranking may be null (cohere-ai/notebooks#202).
func TestPerformAsReported(t *testing.T) {
	t.Parallel()
	others := []task.Extra{{Name: "truncation", Value: []byte("false")}, {Name: "task", Value: []byte(`"x"`)}, {Name: "rank_fields", Value: []byte(`["a"]`)}, {Name: "max_chunks_per_doc", Value: []byte("1")}, {Name: "unknown", Value: []byte("1")}}
	upstreamtest.Exchanges(t, new(cohere.Dialect), declare, []upstreamtest.Exchange{
		{Name: "members of other wires, for vectors", Task: &task.Embedding{Inputs: upstreamtest.Texts("a"), Extra: others}, Path: `/v2/embed`,
			Request: `{"model":"acme-large","input_type":"search_document","embedding_types":["float"],"unknown":1,"texts":["a"]}`,
			Answer:  `{"id":"x","embeddings":{"float":[[1,2]],"int8":null},"meta":{"billed_units":{"input_tokens":7}}}`,
			Want:    `[{0 [1 2]}] [] {7 true} {0 false}`},
		{Name: "members of other wires, for ranks", Task: &task.Rerank{Query: "q", Documents: []string{"a"}, Extra: others}, Path: `/v2/rerank`,
			Request: `{"model":"acme-large","query":"q","documents":["a"],"unknown":1}`,
			Answer:  `{"id":"x","results":[{"index":0,"relevance_score":0.9,"document":null}],"meta":{"billed_units":{"search_units":1}}}`,
			Want:    `[] [{0 0.9}] {0 false} {1 true}`},
		{Name: "an image of the purpose image", Task: &task.Embedding{Inputs: []task.Input{{Parts: []task.Part{{ImageURL: "data:image/png;base64,AA"}}}}, InputType: "image"}, Path: `/v2/embed`,
			Request: `{"model":"acme-large","input_type":"image","embedding_types":["float"],"images":["data:image/png;base64,AA"]}`,
			Answer:  `{"embeddings":{"float":[[1,2]]},"meta":{"billed_units":{"images":1}}}`,
			Want:    `[{0 [1 2]}] [] {0 false} {0 false}`},
	})
}

// A call has one image where all images of a call would give one vector (stdapi-ai/stdapi.ai#198), and for the models of version 3, which
// have no other form of images (cohere-ai/cohere-developer-experience#375, BerriAI/litellm#6413).
func TestImagesAlone(t *testing.T) {
	t.Parallel()
	image := task.Input{Parts: []task.Part{{ImageURL: "data:image/png;base64,AA"}}}
	answer := func(n int) upstreamtest.Script {
		return upstreamtest.Send(upstreamtest.JSON(`{"embeddings":{"float":[` + strings.Repeat(`[1],`, n-1) + `[1]]}}`))
	}
	for name, tt := range map[string]struct {
		model, purpose string
		answers        []upstreamtest.Script
		member         string
	}{
		"the purpose image":     {"embed-v4.0", "image", []upstreamtest.Script{answer(1), answer(1)}, `"images":["data`},
		"version 3":             {"embed-multilingual-v3.0", "", []upstreamtest.Script{answer(1), answer(1)}, `"input_type":"image"`},
		"version 3, as a query": {"embed-english-v3.0", "search_query", []upstreamtest.Script{answer(1), answer(1)}, `"images":["data`},
		"version 4":             {"embed-v4.0", "", []upstreamtest.Script{answer(2)}, `"inputs":[{`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, tt.answers...)
			got := upstreamtest.Perform(t, new(cohere.Dialect), p, func(ep *catalog.Endpoint) { ep.UpstreamID = tt.model }, &task.Embedding{Inputs: []task.Input{image, image}, InputType: tt.purpose})
			if got.Err != nil || len(got.All) != 1 || len(got.All[0].Vectors) != 2 {
				t.Fatalf("%+v", got)
			}
			for _, sent := range p.Seen() {
				if !strings.Contains(sent.Body, tt.member) {
					t.Errorf("%s", sent.Body)
				}
			}
			if told := strings.Contains(got.Head.Notice, "input_type"); told != (tt.purpose == "search_query") {
				t.Errorf("notice %q", got.Head.Notice)
			}
		})
	}
}
