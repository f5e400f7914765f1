package yandex_test

import (
	"fmt"
	"testing"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/upstream/yandex"
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
		{`a document`, &task.Embedding{Inputs: texts("a")}, `/foundationModels/v1/textEmbedding`, `{"modelUri":"emb://folder/text-search-doc/latest","text":"a"}`, `{"embedding":[1,2],"numTokens":"7","modelVersion":"1"}`, `[{0 [1 2]}] [] {7 true} {0 false}`},
		{`a query of two numbers`, &task.Embedding{Inputs: texts("a"), InputType: "search_query", Dimensions: 2}, `/foundationModels/v1/textEmbedding`, `{"modelUri":"emb://folder/text-search-query/latest","text":"a","dim":"2"}`, `{"embedding":[1,2],"numTokens":7}`, `[{0 [1 2]}] [] {7 true} {0 false}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(yandex.Dialect), p, func(ep *catalog.Endpoint) { ep.UpstreamID = "gpt://folder/text-search-doc/latest" }, tt.task)
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
		"no JSON":                {&task.Embedding{Inputs: texts("a", "b")}, `{`, fault.ProviderUnavailable},
		"nothing":                {&task.Embedding{Inputs: texts("a", "b")}, `{"embedding":[]}`, fault.ProviderUnavailable},
		"tokens":                 {&task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, `{}`, fault.Invalid},
		"texts in a vector":      {&task.Embedding{Inputs: texts("a")}, `{"embedding":["1"]}`, fault.ProviderUnavailable},
		"a size that it has not": {&task.Embedding{Inputs: texts("a"), Dimensions: 3}, `{"embedding":[1,2]}`, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(yandex.Dialect), p, func(ep *catalog.Endpoint) { ep.UpstreamID = "gpt://folder/text-search-doc/latest" }, tt.task)
			if f := fault.From(got.Err); got.Err == nil || f.Kind != tt.kind || f.Next != fault.NextEndpoint {
				t.Errorf("%+v", got)
			}
		})
	}
}
