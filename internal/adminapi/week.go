package adminapi

import (
	"context"
	"sync"
	"time"

	"weir/internal/catalog/edit"
)

// Sales knows what endpoints were used for.
type Sales interface {
	SoldByEndpoint(ctx context.Context, from, to time.Time) (map[string]edit.Sold, error)
}

// week keeps the sums of the last seven days for a while: they are of all accounts, and a page asks for them at each step.
type week struct {
	sales Sales
	mu    sync.Mutex
	read  time.Time
	from  time.Time
	sold  map[string]edit.Sold
}

// weekFor is how long the sums are kept.
const weekFor = time.Minute

// at returns what was sold in the seven days before the hour of a time, and since when.
func (w *week) at(ctx context.Context, now time.Time) (map[string]edit.Sold, time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sold != nil && now.Sub(w.read) < weekFor {
		return w.sold, w.from, nil
	}
	from := now.UTC().Truncate(time.Hour).Add(-7 * 24 * time.Hour)
	sold, err := w.sales.SoldByEndpoint(ctx, from, now.UTC().Truncate(time.Hour).Add(time.Hour))
	if err != nil {
		return nil, from, err
	}
	w.sold, w.from, w.read = sold, from, now
	return sold, from, nil
}
