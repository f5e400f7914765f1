package openai_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/task"
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
	const vectors = `{"object":"list","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":"AACAPwAAAEA="}],"model":"m","usage":{"prompt_tokens":7,"total_tokens":7}}`
	for _, tt := range []struct {
		name          string
		task          task.Task
		quirks        catalog.Quirks
		path, request string
		answer, want  string // the result as Go prints it
	}{
		{"vectors in any order and form", &task.Embedding{Inputs: texts("a", "b"), InputType: "search_query", Base64: true}, catalog.Quirks{Drop: []string{"input_type"}}, "/embeddings",
			`{"model":"acme-large","input":["a","b"],"encoding_format":"base64"}`, vectors, "[{0 [1 2]} {1 [3 4]}]"},
		{"tokens and parts", &task.Embedding{Inputs: []task.Input{{Tokens: []int32{1, 2}}, {Parts: []task.Part{{Text: "a"}, {ImageURL: "https://x.y/z"}}}}, Dimensions: 2}, catalog.Quirks{}, "/embeddings",
			`{"model":"acme-large","input":[[1,2],{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://x.y/z"}}]}],"encoding_format":"float","dimensions":2}`, vectors, "[{0 [1 2]} {1 [3 4]}]"},
		{"a server with names of its own", &task.Embedding{Inputs: texts("a", "b"), InputType: "passage", Dimensions: 2}, catalog.Quirks{Drop: []string{"encoding_format"}, Rename: map[string]string{"dimensions": "output_dimension"}}, "/embeddings",
			`{"model":"acme-large","input":["a","b"],"output_dimension":2,"input_type":"passage"}`, vectors, "[{0 [1 2]} {1 [3 4]}]"},
		{"members of its own", &task.Embedding{Inputs: texts("a", "b"), Numbers: "int8", Base64: true, Asked: task.Extra{Name: "embedding_type", Value: []byte(`"int8"`)},
			Extra: []task.Extra{{Name: "late_chunking", Value: []byte("true")}, {Name: "task", Value: []byte(`"text-matching"`)}}}, catalog.Quirks{}, "/embeddings",
			`{"model":"acme-large","input":["a","b"],"encoding_format":"float","late_chunking":true,"task":"text-matching","embedding_type":"int8"}`, vectors, "[{0 [1 2]} {1 [3 4]}]"},
		{"one bare text to judge", &task.Moderation{Inputs: []task.ModerationInput{{Parts: []task.Part{{Text: "a"}}}}, Single: true}, catalog.Quirks{}, "/moderations",
			`{"model":"acme-large","input":"a"}`, `{"id":"modr-1","results":[{"categories":{"violence":true,"hate":null},"category_scores":{"violence":0.9}}]}`,
			"[{true [false false false false false false false false false false false true false] [0 0 0 0 0 0 0 0 0 0 0 0.9 0] [false false false false false false false false false false false true false] [false false false false false false false false false false false false false] []}]"},
		{"ranks", &task.Rerank{Query: "q", Documents: []string{"a", "b", "c"}, TopN: 2}, catalog.Quirks{}, "/rerank",
			`{"model":"acme-large","query":"q","documents":["a","b","c"],"top_n":2,"return_documents":false}`, `{"results":[{"index":0,"relevance_score":0.1},{"index":2,"relevance_score":0.7}],"usage":{"total_tokens":7}}`, "[{2 0.7} {0 0.1}]"},
		{"ranks of a server that calls them scores", &task.Rerank{Query: "q", Documents: []string{"a", "b"}}, catalog.Quirks{}, "/rerank",
			`{"model":"acme-large","query":"q","documents":["a","b"],"return_documents":false}`, `{"results":[{"index":0,"document":null,"score":-8.5},{"index":1,"document":null,"score":0.7}],"usage":{"total_tokens":7},"meta":{"billed_units":null}}`, "[{1 0.7} {0 -8.5}]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(openai.Dialect), p, func(ep *catalog.Endpoint) { ep.Provider.Quirks = tt.quirks }, tt.task)
			if got.Err != nil || !got.Done || len(got.All) != 1 {
				t.Fatalf("%+v", got)
			}
			seen := p.Seen()
			if len(seen) != 1 || seen[0].Path != tt.path || seen[0].Body != tt.request {
				t.Errorf("sent %+v", seen)
			}
			var result any
			switch r := got.All[0]; tt.task.(type) {
			case *task.Embedding:
				result = upstreamtest.Numbers(r.Vectors)
			case *task.Moderation:
				result = r.Verdicts
			default:
				result = r.Ranks
			}
			if s := fmt.Sprint(result); s != tt.want {
				t.Errorf("%s, want %s", s, tt.want)
			}
			if _, moderation := tt.task.(*task.Moderation); !moderation && (!got.Usage.Prompt.Reported || got.Usage.Prompt.N != 7) {
				t.Errorf("usage %+v", got.Usage)
			}
			if e, is := tt.task.(*task.Embedding); is && (got.Head.Notice == "") == (e.InputType == "search_query") {
				t.Errorf("notice %q", got.Head.Notice)
			}
		})
	}
}

// An answer that is not one for what was asked is a fault of the provider, and another may serve.
func TestPerformRefuses(t *testing.T) {
	t.Parallel()
	embedding, moderation := &task.Embedding{Inputs: texts("a", "b")}, &task.Moderation{Inputs: make([]task.ModerationInput, 2)}
	ranking := &task.Rerank{Query: "q", Documents: []string{"a", "b"}}
	for name, tt := range map[string]struct {
		task   task.Task
		answer string
		kind   fault.Kind
	}{
		"no JSON":                     {embedding, `{"data":[`, fault.ProviderUnavailable},
		"a list":                      {embedding, `[]`, fault.ProviderUnavailable},
		"no vectors":                  {embedding, `{"data":[]}`, fault.ProviderUnavailable},
		"one vector too few":          {embedding, `{"data":[{"index":0,"embedding":[1]}]}`, fault.ProviderUnavailable},
		"one vector too many":         {embedding, `{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, fault.ProviderUnavailable},
		"one vector twice":            {embedding, `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, fault.ProviderUnavailable},
		"vectors of two sizes":        {embedding, `{"data":[{"embedding":[1]},{"embedding":[1,2]}]}`, fault.ProviderUnavailable},
		"another size than asked for": {&task.Embedding{Inputs: texts("a"), Dimensions: 2}, `{"data":[{"embedding":[1]}]}`, fault.Invalid},
		"an error with status 200":    {embedding, `{"error":{"code":429,"message":"slow down"}}`, fault.RateLimited},
		"one verdict too few":         {moderation, `{"results":[{"categories":{}}]}`, fault.ProviderUnavailable},
		"a verdict of nothing":        {moderation, `{"results":[{},{}]}`, fault.ProviderUnavailable},
		"no verdicts":                 {moderation, `{}`, fault.ProviderUnavailable},
		"one rank too few":            {ranking, `{"results":[{"index":0,"relevance_score":1}]}`, fault.ProviderUnavailable},
		"a rank of no document":       {ranking, `{"results":[{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}]}`, fault.ProviderUnavailable},
		"no ranks":                    {ranking, `{"results":[]}`, fault.ProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(tt.answer)))
			got := upstreamtest.Perform(t, new(openai.Dialect), p, nil, tt.task)
			if f := fault.From(got.Err); got.Err == nil || f.Kind != tt.kind || f.Next != fault.NextEndpoint {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Whatever the server's limits, and however the answers of its calls overtake one another, there is one vector for each input, in order, and
// usage is the sum.
func TestEmbeddingBatches(t *testing.T) {
	t.Parallel()
	p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
		var asked struct{ Input []string }
		if err := json.Unmarshal(c.Body, &asked); err != nil {
			t.Error(err)
		}
		answer := strings.Builder{}
		for i := range asked.Input {
			if i > 0 {
				answer.WriteByte(',')
			}
			at := len(asked.Input) - 1 - i // last first
			fmt.Fprintf(&answer, `{"index":%d,"embedding":[%s]}`, at, strings.TrimLeft(asked.Input[at], "x"))
		}
		c.Send(upstreamtest.JSON(fmt.Sprintf(`{"data":[%s],"usage":{"prompt_tokens":%d}}`, answer.String(), len(asked.Input))))
	})
	rapid.Check(t, func(rt *rapid.T) {
		var list []string
		for i := range rapid.IntRange(1, 60).Draw(rt, "n") {
			list = append(list, strings.Repeat("x", rapid.IntRange(0, 30).Draw(rt, "long"))+strconv.Itoa(i))
		}
		inputs, tokens := rapid.IntRange(0, 20).Draw(rt, "inputs"), rapid.IntRange(0, 50).Draw(rt, "tokens")
		got := upstreamtest.Perform(t, new(openai.Dialect), p, func(ep *catalog.Endpoint) {
			ep.Provider.Quirks.MaxInputs, ep.Provider.Quirks.MaxInputTokens = inputs, tokens
		}, &task.Embedding{Inputs: texts(list...)})
		if got.Err != nil || len(got.All) != 1 || len(got.All[0].Vectors) != len(list) || got.Usage.Prompt.N != int64(len(list)) {
			rt.Fatalf("%+v", got)
		}
		for i, v := range upstreamtest.Numbers(got.All[0].Vectors) {
			if v.Index != i || v.Values[0] != float32(i) {
				rt.Fatalf("vector %d is %+v", i, v)
			}
		}
	})
}

// A server that answers with numbers although base64 was asked for is asked for numbers from then on; the client gets base64 all the same.
func TestEmbeddingFormRemembered(t *testing.T) {
	t.Parallel()
	p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(`{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":7}}`)))
	d := new(openai.Dialect)
	for i, format := range []string{"base64", "float", "float"} {
		got := upstreamtest.Perform(t, d, p, nil, &task.Embedding{Inputs: texts("a"), Base64: true})
		if got.Err != nil || len(got.All) != 1 || string(got.All[0].Vectors[0].Numbers.AppendBase64(nil)) != `"AACAPwAAAEA="` {
			t.Fatalf("%+v", got)
		}
		if want := `{"model":"acme-large","input":["a"],"encoding_format":"` + format + `"}`; p.Seen()[i].Body != want {
			t.Errorf("call %d sent %s, want %s", i, p.Seen()[i].Body, want)
		}
	}
}
