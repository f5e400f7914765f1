package openai

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
		return d.embed(ask, ep, req, t)
	case *task.Moderation:
		return d.moderate(ask, ep, t)
	case *task.Rerank:
		return d.rerank(ask, ep, t)
	case *task.Transcription:
		return d.transcribe(ask, ep, req, t)
	case *task.Speech:
		return d.speak(ask, ep, t)
	case *task.Image:
		return d.paint(ask, ep, req, t)
	}
	return dialect.NotServed(ep)
}
