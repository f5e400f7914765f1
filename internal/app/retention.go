package app

import (
	"context"
	"time"

	"weir/internal/ledger"
	"weir/internal/loop"
	"weir/internal/store"
	"weir/internal/store/ledgerdb"
)

const (
	dropCallsEvery = time.Hour
	dropCallsAt    = 500 // calls of one transaction
	// Other writers have their turn between two transactions, and a backlog does not take more than a part of the disk's time.
	dropCallsPause = 50 * time.Millisecond
	dropCallsFor   = 10 * time.Second // one transaction
)

// droppingCalls drops details of calls when they are older than they are kept.
func (g *Gateway) droppingCalls() *loop.Loop {
	return loop.New(time.Minute, func(ctx context.Context) time.Duration {
		began := time.Now()
		n, err := dropCalls(ctx, g.store.Ledger, began, g.cfg.Store.Retention)
		switch {
		case err != nil && ctx.Err() == nil:
			g.slog.Warn("details of old calls cannot be dropped; it is tried again", "dropped", n, "error", err)
		case n > 0:
			g.slog.Info("details of old calls were dropped; their charges stay", "calls", n, "took", time.Since(began).Round(time.Second))
		}
		return dropCallsEvery
	})
}

// unpackingCalls gives details that can be read to the calls of older versions, and ends its work with the last of them. Nodes of such a version
// may still write some, so it looks again. It goes one version later, with package store/compact.
func (g *Gateway) unpackingCalls() *loop.Loop {
	return loop.New(time.Minute, func(ctx context.Context) time.Duration {
		n, err := unpackCalls(ctx, g.store)
		switch {
		case err != nil && ctx.Err() == nil:
			g.slog.Warn("records of older versions cannot be rewritten; it is tried again", "rewritten", n, "error", err)
		case n > 0:
			g.slog.Info("records of older versions were rewritten", "calls", n)
		}
		return dropCallsEvery
	})
}

func unpackCalls(ctx context.Context, s *store.Store) (all int, err error) {
	var at ledgerdb.Unpacked
	for more := true; more; {
		step, cancel := context.WithTimeout(ctx, dropCallsFor)
		var n int
		at, n, more, err = s.Ledger.UnpackCalls(step, at, dropCallsAt)
		cancel()
		if all += n; err != nil {
			return all, err
		}
		if more {
			if err := loop.Wait(ctx, dropCallsPause); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// dropCalls drops whole days, so that what pages say of a day is all of it or nothing.
func dropCalls(ctx context.Context, s ledger.Sweeper, now time.Time, retention time.Duration) (all int, err error) {
	before := now.Add(-retention).UTC().Truncate(24 * time.Hour)
	for after := ""; ; {
		step, cancel := context.WithTimeout(ctx, dropCallsFor)
		next, n, err := s.SweepCalls(step, before, after, dropCallsAt)
		cancel()
		all += n
		if err != nil || next == "" {
			return all, err
		}
		after = next
		if n > 0 {
			if err := loop.Wait(ctx, dropCallsPause); err != nil {
				return all, err
			}
		}
	}
}
