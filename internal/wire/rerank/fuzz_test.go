package rerank_test

import (
	"bytes"
	"testing"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire/rerank"
	"weir/internal/wire/wiretest"
)

var style = wiretest.Style{
	Seeds:  []string{`{"model":"a/b","query":"x","documents":["y",{"text":"z"}],"top_n":1,"return_documents":false}`, `{"model":"a/b","query":"x","documents":[]}`},
	Decode: rerank.Decode,
	Texts:  rerank.PromptText,
	Whole:  func(out *bytes.Buffer, req *completion.Request) relay.Sink { return rerank.NewWhole(out, req, "gen-1") },
	Result: task.Result{Ranks: []task.Rank{{Index: 0, Score: 0.5}}},
}

func FuzzDecode(f *testing.F) { style.Fuzz(f) }

func TestWhole(t *testing.T) {
	t.Parallel()
	got := style.Answer(t, `{"model":"a/b","query":"x","documents":["y"]}`)
	want := `{"id":"gen-1","object":"list","model":"a/b","results":[{"index":0,"relevance_score":0.5,"document":{"text":"y"}}],"usage":{"prompt_tokens":3,"total_tokens":3,"search_units":1,"cost":5,`
	if !bytes.HasPrefix(got, []byte(want)) {
		t.Errorf("%s", got)
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
