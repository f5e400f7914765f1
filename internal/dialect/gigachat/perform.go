package gigachat

import (
	"iter"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/task"
)

var _ dialect.Performer = (*Dialect)(nil)

// Perform does a task that this wire has a route for.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	switch t := req.Task.(type) {
	case *task.Embedding:
		return embedding(ask, ep, t)
	}
	return dialect.NotServed(ep)
}
