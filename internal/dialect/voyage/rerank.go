package voyage

import (
	"iter"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/rerank"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// rank requests a ranking of documents at /rerank. Documents that are too long are cut, as by every other wire.
func rank(ask dialect.Ask, ep *catalog.Endpoint, t *task.Rerank) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		w := rawjson.Writer{B: make([]byte, 0, rerank.Size(t))}
		w.Object()
		w.Name("model").Text(ep.UpstreamID)
		rerank.WriteQuery(&w, t)
		if t.TopN > 0 {
			w.Name("top_k").Int(int64(t.TopN))
		}
		if !dialect.HasExtra(t.Extra, "truncation") {
			w.Name("truncation").Bool(true)
		}
		unsent := dialect.WriteExtra(&w, t.Extra, &ep.Provider.Quirks, append([]string{"query", "documents", "top_k", "return_documents"}, foreign...)...)
		w.EndObject()
		body, err := dialect.Object(ask, dialect.Call{Path: "/rerank", Body: w.B, Unsent: unsent})
		if err != nil {
			yield(nil, err)
			return
		}
		ranks, err := rerank.Read(ep, rawjson.Find(body, "data"), t)
		if err != nil {
			yield(nil, err)
			return
		}
		u := used(body)
		head := &completion.Head{Model: rawjson.TextAt(body, "model")}
		yield(&completion.Event{Head: head, Choice: -1, Result: &task.Result{Ranks: ranks}, Usage: &u, Done: true}, nil)
	}
}
