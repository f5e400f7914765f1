package openai

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/dialect/embed"
	"weir/internal/dialect/rerank"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// What a server answers is read as results that there are, or not at all.
func FuzzTaskAnswers(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":1,"embedding":[1]},{"embedding":"AACAPw=="}],"usage":{"total_tokens":1e3}}`, `{"results":[{"categories":{"violence":true},"category_scores":{"violence":1},"category_applied_input_types":{"violence":["text"]}},{}]}`,
		`{"results":[{"index":1,"relevance_score":-1},{"index":0,"relevance_score":1}]}`, `{}`, `[`, `{"data":null}`} {
		f.Add([]byte(s))
	}
	ep := &catalog.Endpoint{Provider: &catalog.Provider{}}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !rawjson.Valid(body) {
			return
		}
		if d, err := embed.Read(body, 2); err == nil {
			if a, err := readEmbeddings(ep, &d, 2); err == nil && len(a.Vectors) != 2 {
				t.Fatalf("%d vectors", len(a.Vectors))
			}
		}
		if v, err := readVerdicts(ep, body, &task.Moderation{Inputs: make([]task.ModerationInput, 2)}); err == nil && len(v) != 2 {
			t.Fatalf("%d verdicts", len(v))
		}
		if r, err := rerank.Read(ep, rawjson.Find(body, "results"), &task.Rerank{Documents: []string{"a", "b"}}); err == nil && (len(r) != 2 || r[0].Score < r[1].Score || r[0].Index == r[1].Index) {
			t.Fatalf("%v", r)
		}
	})
}
