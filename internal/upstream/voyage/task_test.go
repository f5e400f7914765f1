package voyage_test

import (
	"fmt"
	"testing"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/upstream/voyage"
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
		{`texts`, &task.Embedding{Inputs: texts("a", "b"), InputType: "search_document", Dimensions: 2}, `/embeddings`, `{"model":"acme-large","encoding_format":"base64","truncation":false,"output_dimension":2,"input_type":"document","input":["a","b"]}`, `{"data":[{"index":1,"embedding":"AABAQAAAgEA="},{"index":0,"embedding":"AACAPwAAAEA="}],"usage":{"total_tokens":7}}`, `[{0 [1 2]} {1 [3 4]}] [] {7 true} {0 false}`},
		{`ranks`, &task.Rerank{Query: "q", Documents: []string{"a", "b"}}, `/rerank`, `{"model":"acme-large","query":"q","documents":["a","b"],"truncation":true}`, `{"data":[{"index":0,"relevance_score":0.1},{"index":1,"relevance_score":0.9}],"usage":{"total_tokens":7}}`, `[] [{1 0.9} {0 0.1}] {7 true} {0 false}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(voyage.Dialect), p, func(ep *catalog.Endpoint) { ep.Provider.Key = "" }, tt.task)
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
		"no JSON":              {&task.Embedding{Inputs: texts("a", "b")}, `{`, fault.ProviderUnavailable},
		"nothing":              {&task.Embedding{Inputs: texts("a", "b")}, `{"data":[]}`, fault.ProviderUnavailable},
		"one vector too few":   {&task.Embedding{Inputs: texts("a", "b")}, `{"data":[{"index":0,"embedding":[1]}]}`, fault.ProviderUnavailable},
		"tokens":               {&task.Embedding{Inputs: []task.Input{{Tokens: []int32{1}}}}, `{}`, fault.Invalid},
		"another kind of task": {&task.Speech{Input: "a"}, `{}`, fault.Invalid},
		"one vector twice":     {&task.Embedding{Inputs: texts("a", "b")}, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, fault.ProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(voyage.Dialect), p, func(ep *catalog.Endpoint) { ep.Provider.Key = "" }, tt.task)
			if f := fault.From(got.Err); got.Err == nil || f.Kind != tt.kind || f.Next != fault.NextEndpoint {
				t.Errorf("%+v", got)
			}
		})
	}
}
