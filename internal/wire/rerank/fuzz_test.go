package rerank_test

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
	"weir/internal/wire/rerank"
)

// Whatever a client sends is either a request that can be answered, in JSON, or an error that it can read.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"model":"a/b","query":"x","documents":["y",{"text":"z"}],"top_n":1,"return_documents":false}`, `{"model":"a/b","query":"x","documents":[]}`, `{}`, `[`, `{"model":null,"input":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := rerank.Decode(body)
		if err != nil {
			if e := fault.From(err); e.Public == "" || e.Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		for range rerank.PromptText(req) {
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
	give(t, rerank.NewWhole(out, req, "gen-1"), &task.Result{Ranks: []task.Rank{{Index: 0, Score: 0.5}}})
}

func TestWhole(t *testing.T) {
	t.Parallel()
	req, err := rerank.Decode([]byte(`{"model":"a/b","query":"x","documents":["y"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	answer(t, req, &out)
	want := `{"id":"gen-1","object":"list","model":"a/b","results":[{"index":0,"relevance_score":0.5,"document":{"text":"y"}}],"usage":{"prompt_tokens":3,"total_tokens":3,"search_units":1,"cost":5,`
	if !bytes.HasPrefix(out.Bytes(), []byte(want)) {
		t.Errorf("%s", out.Bytes())
	}
}

// A document of many tokens is billed as several, with the query in each.
func TestChunks(t *testing.T) {
	t.Parallel()
	req, err := rerank.Decode([]byte(`{"model":"a/b","query":"x","documents":["y","` + string(bytes.Repeat([]byte("a"), 3000)) + `"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := req.Task.(*task.Rerank); r.Chunks != 4 || !r.Return || r.Usual().Requests.N != 1 {
		t.Errorf("%+v", r)
	}
}
