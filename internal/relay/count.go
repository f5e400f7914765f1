package relay

import (
	"context"

	"weir/internal/catalog"
	"weir/internal/completion"
)

// Counter is an Upstream that can ask a provider how long a prompt is.
type Counter interface {
	// CountTokens asks ep for the number of tokens of req's prompt. It fails when the provider cannot be asked, or does not answer.
	CountTokens(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (int64, error)
}

// CountTokens asks the endpoint that would serve the call how long its prompt is; ok is false when that is unknown. Nothing is held,
// charged or recorded, and a failure does not count against the endpoint.
func (r *Relay) CountTokens(ctx context.Context, c *Call) (n int64, ok bool) {
	counter, able := r.Upstream.(Counter)
	if !able {
		return 0, false
	}
	c.prefer()
	x := &run{relay: r, call: c, rec: newRecord(c)}
	plan, refused := x.plan(ctx)
	if refused != nil || len(plan.Attempts) == 0 {
		return 0, false
	}
	at := &plan.Attempts[0]
	n, err := counter.CountTokens(ctx, at.Endpoint, c.Request.As(at.Variant))
	return n, err == nil
}
