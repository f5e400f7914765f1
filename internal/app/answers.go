package app

import (
	"context"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/idempotency"
)

// makeHistory makes the keeper of responses that may be continued.
func (g *Gateway) makeHistory() *history.Manager {
	c := g.cfg.Responses
	c.Now, c.StoreFor = g.clock, patience(&g.cfg, c.StoreFor)
	c.Report = func(what string, err error) { g.slog.Error(what, "error", err) }
	return history.New(g.store.Pages, c)
}

// makeNamed makes the keeper of answers to requests with a name. It sets RunFor above the longest time that a call may take: an older call is no
// longer running.
func (g *Gateway) makeNamed() *idempotency.Manager {
	c := g.cfg.Idempotency
	c.Now, c.Node, c.Life, c.StoreFor = time.Now, g.book.Node(), apikey.NewID(""), patience(&g.cfg, c.StoreFor)
	c.Settled = func(ctx context.Context, wallet, generation string) (bool, error) {
		c, _, err := g.book.Call(ctx, wallet, generation)
		if fault.Is(err, fault.NotFound) { // a job that is still running is charged later, and so are the requests of a batch
			found, err := g.store.Jobs.HasJob(ctx, wallet, generation)
			if err != nil || found {
				return found, err
			}
			return g.store.Jobs.HasBatch(ctx, wallet, generation)
		}
		return err == nil && c.Settled, err
	}
	c.RunFor = max(g.cfg.Upstream.Total, g.cfg.Upstream.StreamTotal) + g.cfg.Relay.AttemptBudget + time.Minute
	c.Report = func(what string, err error) { g.slog.Error(what, "error", err) }
	return idempotency.New(g.store.Pages, c)
}
