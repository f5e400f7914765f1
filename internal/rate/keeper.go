package rate

import (
	"context"
	"slices"
	"time"

	"weir/internal/loop"
)

// Book stores rates.
type Book interface {
	// Rates lists all records in the order of their versions.
	Rates(ctx context.Context) ([]Record, error)
	// SetRate adds a record, unless the last one says the same.
	SetRate(ctx context.Context, r Record) error
}

// Keeper fetches the published rates. If a fetch fails, or the list is invalid or implausible, the last rate remains.
type Keeper struct {
	Fetch    func(ctx context.Context) ([]byte, error) // returns the list; it bounds its time and size itself
	Book     Book
	Band     Band
	Now      func() time.Time
	Accepted func(last *Record, r Record) // called with each rate that is stored; last is nil for the first
	Report   func(error)                  // called with each error that differs from the one before, and with nil when a fetch succeeds again
	Failed   func()                       // called for each failure, for counting

	checked time.Time // the last successful fetch of this node
}

// The bank publishes the rate of the next day in the afternoon. From this hour in Moscow until it is stored, the list is fetched each hour.
const publishedFrom = 15

// Loop returns a loop that fetches at once and then hourly, as far as a list may have appeared that is not stored.
func (k *Keeper) Loop() *loop.Loop {
	said := ""
	return loop.New(0, func(ctx context.Context) time.Duration {
		err := k.Once(ctx)
		if ctx.Err() != nil {
			return loop.UntilWoken
		}
		says := ""
		if err != nil {
			k.Failed()
			says = err.Error()
		}
		if says != said {
			said = says
			k.Report(err)
		}
		return time.Hour
	})
}

// Once fetches and stores the rate, unless the present list is known. It returns the errors of the fetch and the book.
func (k *Keeper) Once(ctx context.Context) error {
	records, err := k.Book.Rates(ctx)
	if err != nil {
		return err
	}
	now := k.Now()
	if !k.due(published(records), now) {
		return nil
	}
	feed, err := k.Fetch(ctx)
	if err != nil {
		return err
	}
	quote, err := ParseQuote(feed)
	if err != nil {
		return err
	}
	last := Last(records)
	if err := quote.Plausible(last, k.Band, now); err != nil {
		return err
	}
	r := quote.Record(now)
	if !r.Same(last) {
		if err := k.Book.SetRate(ctx, r); err != nil {
			return err
		}
		k.Accepted(last, r)
	}
	k.checked = now
	return nil
}

// due reports whether there may be a newer list than the last record, which may be nil.
func (k *Keeper) due(last *Record, now time.Time) bool {
	today := now.In(moscow)
	day := today.Format(time.DateOnly)
	switch {
	case last != nil && last.Day > day:
		return false // tomorrow's rate is known
	case today.Hour() >= publishedFrom:
		return true
	case last != nil && last.Day == day:
		return false // and tomorrow's is not published yet
	}
	midnight := time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, moscow)
	return k.checked.Before(midnight.Add(-time.Hour)) // on days without a list of their own one look is enough
}

// published returns the newest record of the Bank of Russia, nil without any.
func published(records []Record) *Record {
	for _, r := range slices.Backward(records) {
		if r.Source == CBR {
			return &r
		}
	}
	return nil
}
