package cohere

import (
	"iter"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/rerank"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// rank requests a ranking of documents at /v2/rerank, which is billed in search units.
func rank(ask dialect.Ask, ep *catalog.Endpoint, t *task.Rerank) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		w := rawjson.Writer{B: make([]byte, 0, rerank.Size(t))}
		w.Object()
		w.Name("model").Text(ep.UpstreamID)
		rerank.WriteQuery(&w, t)
		if t.TopN > 0 {
			w.Name("top_n").Int(int64(t.TopN))
		}
		unsent := dialect.WriteExtra(&w, t.Extra, &ep.Provider.Quirks, append([]string{"query", "documents", "top_n", "return_documents"}, foreign...)...)
		w.EndObject()
		body, err := dialect.Object(ask, dialect.Call{Path: "/v2/rerank", Body: w.B, Unsent: unsent})
		if err != nil {
			yield(nil, err)
			return
		}
		ranks, err := rerank.Read(ep, rawjson.Find(body, "results"), t)
		if err != nil {
			yield(nil, err)
			return
		}
		used := usage.Usage{Requests: count(rawjson.FindPath(body, "meta", "billed_units", "search_units")), Completion: usage.Of(0)}
		head := &completion.Head{ID: rawjson.TextAt(body, "id")}
		yield(&completion.Event{Head: head, Choice: -1, Result: &task.Result{Ranks: ranks}, Usage: &used, Done: true}, nil)
	}
}
