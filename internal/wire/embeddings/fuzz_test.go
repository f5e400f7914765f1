package embeddings_test

import (
	"bytes"
	"testing"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/embeddings"
)

// Whatever a client sends is either a request that can be answered, in JSON, or an error that it can read.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"model":"a/b","input":"x"}`, `{"model":"a/b","input":["x","y"],"dimensions":3,"encoding_format":"base64"}`, `{"model":"a/b","input":[1,2]}`, `{"model":"a/b","input":[[1],[2]]}`, `{"model":"a/b","input":[{"content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}],"provider":{"only":["c"]}}`, `{}`, `[`, `{"model":null,"input":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := embeddings.Decode(body)
		if err != nil {
			if e := fault.From(err); e.Public == "" || e.Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		for range embeddings.PromptText(req) {
		}
		if len(req.Models) != 1 || req.Needs.PromptTokens < 0 || req.Needs.Longest > req.Needs.PromptTokens {
			t.Fatalf("%+v", req.Needs)
		}
		var out bytes.Buffer
		answer(t, req, &out)
		if !rawjson.Valid(out.Bytes()) {
			t.Fatalf("not JSON: %s", out.Bytes())
		}
	})
}

// give writes an answer with one event.
func give(t *testing.T, sink relay.Sink, result *task.Result) {
	t.Helper()
	for _, err := range []error{
		sink.Start(relay.Served{Model: "a/b", Head: completion.Head{Notice: "Something \"else\"."}}),
		sink.Event(&completion.Event{Result: result}),
		sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(0)}, Cost: 5 * money.Ruble}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func answer(t *testing.T, req *completion.Request, out *bytes.Buffer) {
	t.Helper()
	give(t, embeddings.NewWhole(out, req, "gen-1"), &task.Result{Vectors: []task.Vector{{Values: []float32{0.25, -1e-9}}}})
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ body, want string }{
		"numbers": {`{"model":"a/b","input":"x"}`, `{"id":"gen-1","object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-1e-09]}],"model":"a/b","usage":{"prompt_tokens":3,"total_tokens":3,"cost":5,`},
		"base64":  {`{"model":"a/b","input":"x","encoding_format":"base64"}`, `{"id":"gen-1","object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPl9wibA="}],"model":"a/b","usage":{"prompt_tokens":3,"total_tokens":3,"cost":5,`},
	} {
		req, err := embeddings.Decode([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		answer(t, req, &out)
		if !bytes.HasPrefix(out.Bytes(), []byte(tt.want)) || !bytes.HasSuffix(out.Bytes(), []byte(`"metadata":{"notice":"Something \"else\"."}}`)) {
			t.Errorf("%s: %s", name, out.Bytes())
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	req, err := embeddings.Decode([]byte(`{"model":"a/b","input":["abcabcabc","abc"],"input_type":"search_query","user":"me","unknown":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := req.Needs; n.PromptTokens != 6 || n.Longest != 1 || n.Tokenized || req.User != "me" || req.Task.(*task.Embedding).InputType != "search_query" {
		t.Errorf("%+v", req)
	}
}
