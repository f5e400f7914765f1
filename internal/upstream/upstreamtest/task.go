package upstreamtest

import (
	"context"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/usage"
)

// Done is what a task came to.
type Done struct {
	Head  completion.Head
	All   []task.Result
	Usage *usage.Usage
	Done  bool
	Err   error
}

// Perform does a task at a provider that is scripted. declare completes its declaration; nil: nothing is needed.
func Perform(t testing.TB, d upstream.Dialect, p *Provider, declare func(*catalog.Endpoint), want task.Task) (out Done) {
	t.Helper()
	w := Wire{Name: "tested", New: func() upstream.Dialect { return d }}
	ep := Endpoint(w, p.URL)
	ep.UpstreamID = "acme-large"
	if declare != nil {
		declare(ep)
	}
	c := newClient(t, w, upstream.Config{})
	for ev, err := range c.Complete(context.Background(), ep, &completion.Request{Task: want, Models: []string{"acme/large"}, N: 1}) {
		if err != nil {
			out.Err = err
			return out
		}
		if ev.Head != nil {
			out.Head = *ev.Head
		}
		if ev.Result != nil {
			out.All = append(out.All, *ev.Result)
		}
		if ev.Usage != nil {
			out.Usage = ev.Usage
		}
		out.Done = ev.Done
	}
	return out
}
