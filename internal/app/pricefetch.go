package app

import (
	"context"
	"fmt"
	"time"

	"weir/internal/adminapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/store"
)

// priceFetch fetches the public price lists when an operator asks for it: one at a time, whatever number of nodes there is.
type priceFetch struct{ g *Gateway }

const (
	// longestPriceFetch bounds a fetch, for which a person waits.
	longestPriceFetch = 2 * time.Minute
	// fetchSilent is after which a fetch without a sign of life counts no more: its node has ended. One list takes less.
	fetchSilent = time.Minute
	// fetchEnded is the mark of a fetch that is over: seen long ago. An empty one would stand for none, and could not be replaced.
	fetchEnded = "0 0 0 0"
)

// Fetching is adminapi.PriceFetcher.Fetching.
func (f priceFetch) Fetching(ctx context.Context) (*adminapi.PriceFetching, error) {
	text, err := f.g.store.Mark(ctx, store.MarkFetch)
	if err != nil {
		return nil, err
	}
	return fetching(text, f.g.clock()), nil
}

// fetching reads a mark: "SEEN BEGAN DONE OF", moments in microseconds.
func fetching(text string, now time.Time) *adminapi.PriceFetching {
	var seen, began int64
	var out adminapi.PriceFetching
	if n, err := fmt.Sscanf(text, "%d %d %d %d", &seen, &began, &out.Done, &out.Of); err != nil || n != 4 || now.Sub(time.UnixMicro(seen)) >= fetchSilent {
		return nil
	}
	out.BeganAt = time.UnixMicro(began).UTC()
	return &out
}

// Fetch is adminapi.PriceFetcher.Fetch.
func (f priceFetch) Fetch(ctx context.Context, by audit.Actor) (notes []string, err error) {
	const op = "app.priceFetch"
	g, began := f.g, f.g.clock()
	mine, err := g.store.Mark(ctx, store.MarkFetch)
	if err != nil {
		return nil, err
	}
	taken := fault.New(fault.Conflict, op, "The price lists are being fetched already. Wait for it.").Coded("lists_fetched_now")
	if fetching(mine, began) != nil {
		return nil, taken
	}
	mark := func(ctx context.Context, next string) bool {
		done, err := g.store.SwapMark(ctx, store.MarkFetch, mine, next)
		if done {
			mine = next
		}
		return done && err == nil
	}
	step := func(done, of int) string {
		return fmt.Sprintf("%d %d %d %d", g.clock().UnixMicro(), began.UnixMicro(), done, of)
	}
	if !mark(ctx, step(0, 0)) {
		return nil, taken
	}
	defer func() { mark(context.WithoutCancel(ctx), fetchEnded) }()
	ctx, stop := context.WithTimeout(ctx, longestPriceFetch)
	defer stop()
	cfg := g.cfg
	cfg.PriceLists.Timeout = longestPriceFetch
	cfg.PriceLists.Progress = func(done, of int) { mark(ctx, step(done, of)) }
	d, err := updaterOf(&cfg, g.dialer, &priceStore{store: g.store.Catalog, editor: edit.NewEditor(g.store.Catalog, g.live, g.live.ring, time.Now, g.live.refresh), by: by}).Fetch(ctx)
	return d.Notes, err
}
