package openai

import (
	"iter"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/upstream/rank"
)

// rerank asks for an order of documents at /rerank, which OpenAI has not: it is Jina's route, and vLLM and others have it beside those of
// this wire.
func (d *Dialect) rerank(ask *upstream.Ask, ep *catalog.Endpoint, t *task.Rerank) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		b := rawjson.AppendText(append(make([]byte, 0, rank.Size(t)), `{"model":`...), ep.UpstreamID)
		b = rank.AppendQuery(append(b, ','), t)
		if t.TopN > 0 {
			b = strconv.AppendInt(append(b, `,"top_n":`...), int64(t.TopN), 10)
		}
		body, err := ask.Object(upstream.Call{Path: "/rerank", Body: append(b, `,"return_documents":false}`...)})
		if err != nil {
			yield(nil, err)
			return
		}
		ranks, err := rank.Read(ep, rawjson.Find(body, "results"), t)
		if err != nil {
			yield(nil, err)
			return
		}
		head := &completion.Head{ID: text(rawjson.Find(body, "id")), Model: text(rawjson.Find(body, "model"))}
		used := taskUsage(body, &ep.Provider.Quirks)
		yield(&completion.Event{Head: head, Choice: -1, Result: &task.Result{Ranks: ranks}, Usage: &used, Done: true}, nil)
	}
}
