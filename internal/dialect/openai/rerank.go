package openai

import (
	"iter"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/rerank"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// rerank requests a ranking of documents at /rerank. OpenAI does not have this route: it is Jina's, and vLLM and others have it in
// addition to those of this wire.
func (d *Dialect) rerank(ask dialect.Ask, ep *catalog.Endpoint, t *task.Rerank) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		w := rawjson.Writer{B: make([]byte, 0, rerank.Size(t))}
		w.Object()
		w.Name("model").Text(ep.UpstreamID)
		rerank.WriteQuery(&w, t)
		if t.TopN > 0 {
			w.Name("top_n").Int(int64(t.TopN))
		}
		w.Name("return_documents").Bool(false)
		unsent := dialect.WriteExtra(&w, t.Extra, &ep.Provider.Quirks, "query", "documents", "top_n", "return_documents")
		w.EndObject()
		body, err := dialect.Object(ask, dialect.Call{Path: "/rerank", Body: w.B, Unsent: unsent})
		if err != nil {
			yield(nil, err)
			return
		}
		ranks, err := rerank.Read(ep, rawjson.Find(body, "results"), t)
		if err != nil {
			yield(nil, err)
			return
		}
		head := &completion.Head{ID: text(rawjson.Find(body, "id")), Model: text(rawjson.Find(body, "model"))}
		used := taskUsage(body, &ep.Provider.Quirks)
		yield(&completion.Event{Head: head, Choice: -1, Result: &task.Result{Ranks: ranks}, Usage: &used, Done: true}, nil)
	}
}
