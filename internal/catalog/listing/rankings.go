package listing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/loop"
)

// Usage reports how much models are used. The store does.
type Usage interface {
	// PaidTokens gives each the tokens that wallets paid for, by the slug that served, variant suffix kept, over the UTC days from..to
	// (YYYY-MM-DD, both included): all of a wallet one after the other.
	PaidTokens(ctx context.Context, from, to string, each func(wallet, model string, tokens int64)) error
}

// Periods are those of rankings, in days; the first is what the lists of models are sorted by.
var Periods = [...]struct {
	Name string
	Days int
}{{"7d", 7}, {"30d", 30}}

// Standing is a ranking of whole days, and the one of as many days before.
type Standing struct {
	From, To    string // YYYY-MM-DD, both included
	Now, Before Ranking
}

// Rankings ranks models by how much each was used lately. It is safe for concurrent use.
type Rankings struct {
	catalog func() *catalog.Snapshot
	now     func() time.Time
	log     *slog.Logger
	current atomic.Pointer[[len(Periods)]Standing]
}

// NewRankings makes rankings that are not known yet.
func NewRankings(catalog func() *catalog.Snapshot, now func() time.Time, log *slog.Logger) *Rankings {
	return &Rankings{catalog: catalog, now: now, log: log}
}

// Of is the standing of a period of Periods, nil until it is known.
func (r *Rankings) Of(period int) *Standing {
	if all := r.current.Load(); all != nil {
		return &all[period]
	}
	return nil
}

// Ranks are the places by which lists are sorted, nil until they are known.
func (r *Rankings) Ranks() Ranks {
	if s := r.Of(0); s != nil {
		return s.Now.Ranks()
	}
	return nil
}

// Follow makes the rankings at once, and then each time every has passed, and reports the ranks. Days that are not over do not count, so that the
// effect of a single call cannot be observed. While the store cannot be read, they stay as they are.
func (r *Rankings) Follow(from Usage, every time.Duration, report func(Ranks)) *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		all, err := r.read(ctx, from)
		if err == nil {
			r.current.Store(all)
			report(all[0].Now.Ranks())
		} else if ctx.Err() == nil {
			r.log.Warn("the ranks of models could not be read", "cause", err)
		}
		return every
	})
}

func (r *Rankings) read(ctx context.Context, from Usage) (*[len(Periods)]Standing, error) {
	today, offers := r.now().UTC(), Listed(r.catalog())
	ago := func(days int) string { return today.AddDate(0, 0, -days).Format(time.DateOnly) }
	read := func(first, last string) (Ranking, error) {
		var p Popularity
		err := from.PaidTokens(ctx, first, last, p.Add)
		return p.Ranking(func(id string) bool { return offers[id] != nil }), err
	}
	var all [len(Periods)]Standing
	for i, period := range Periods {
		s := &all[i]
		s.From, s.To = ago(period.Days), ago(1)
		var err error
		if s.Now, err = read(s.From, s.To); err != nil {
			return nil, err
		}
		if s.Before, err = read(ago(2*period.Days), ago(period.Days+1)); err != nil {
			return nil, err
		}
	}
	return &all, nil
}

// Listed are the models that some endpoint serves, by the id under which they are listed.
func Listed(s *catalog.Snapshot) map[string]*catalog.Model {
	all := map[string]*catalog.Model{}
	for _, m := range s.Models() {
		for _, o := range Offers(m) {
			if len(o.Endpoints) > 0 {
				all[o.ID] = m
			}
		}
	}
	return all
}
