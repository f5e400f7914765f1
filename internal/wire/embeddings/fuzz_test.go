package embeddings_test

import (
	"bytes"
	"testing"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/vector"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/wiretest"
)

var style = wiretest.Style{
	Seeds: []string{
		`{"model":"a/b","input":"x"}`, `{"model":"a/b","input":["x","y"],"dimensions":3,"encoding_format":"base64"}`, `{"model":"a/b","input":[1,2]}`, `{"model":"a/b","input":[[1],[2]]}`,
		`{"model":"a/b","input":[{"content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}],"provider":{"only":["c"]}}`,
	},
	Decode: embeddings.Decode,
	Texts:  embeddings.PromptText,
	Whole: func(out *bytes.Buffer, req *completion.Request) relay.Sink {
		return embeddings.NewWhole(out, req, "gen-1")
	},
	Result: task.Result{Vectors: []task.Vector{{Numbers: vector.Of([]float32{0.25, -1e-9})}}},
}

func FuzzDecode(f *testing.F) { style.Fuzz(f) }

func TestWhole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ body, want string }{
		"numbers": {`{"model":"a/b","input":"x"}`, `{"id":"gen-1","object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-1e-09]}],"model":"a/b","usage":{"prompt_tokens":3,"total_tokens":3,"cost":5,`},
		"base64":  {`{"model":"a/b","input":"x","encoding_format":"base64"}`, `{"id":"gen-1","object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPl9wibA="}],"model":"a/b","usage":{"prompt_tokens":3,"total_tokens":3,"cost":5,`},
	} {
		got := style.Answer(t, tt.body)
		if !bytes.HasPrefix(got, []byte(tt.want)) || !bytes.HasSuffix(got, []byte(`"metadata":{"notice":"Something \"else\"."}}`)) {
			t.Errorf("%s: %s", name, got)
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
