package rate

import (
	"context"
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

// Keeper fetches the published rate once a day. If the fetch fails, or the list is invalid or implausible, the last rate remains.
type Keeper struct {
	Fetch  func(ctx context.Context) ([]byte, error) // returns the list; it bounds its time and size itself
	Book   Book
	Now    func() time.Time
	Report func(error) // called with the first error in a row, and with nil when a fetch succeeds again
	Failed func()      // called for each failure, for counting
}

const (
	daily  = 24 * time.Hour
	hourly = time.Hour
	fresh  = 20 * time.Hour // a rate that any node fetched within this time is not fetched again
)

// Loop returns a loop that fetches at once, unless the last published rate is fresh, and then every day. After a failure, and while the
// last rate is fresh, it checks again every hour.
func (k *Keeper) Loop() *loop.Loop {
	failing := false
	return loop.New(0, func(ctx context.Context) time.Duration {
		fetched, err := k.Once(ctx)
		if ctx.Err() != nil {
			return loop.UntilWoken
		}
		if err != nil {
			k.Failed()
		}
		if failed := err != nil; failed != failing {
			failing = failed
			k.Report(err)
		}
		if fetched {
			return daily
		}
		return hourly
	})
}

// Once fetches and stores the rate, unless the last one is fresh; then fetched is false. It returns the errors of the fetch and the book.
func (k *Keeper) Once(ctx context.Context) (fetched bool, err error) {
	records, err := k.Book.Rates(ctx)
	if err != nil {
		return false, err
	}
	last := Last(records)
	now := k.Now()
	if last != nil && last.Source == CBR && now.Sub(last.At) < fresh && !now.Before(last.At) {
		return false, nil
	}
	feed, err := k.Fetch(ctx)
	if err != nil {
		return false, err
	}
	quote, err := ParseQuote(feed)
	if err != nil {
		return false, err
	}
	if err := quote.Plausible(last, now); err != nil {
		return false, err
	}
	err = k.Book.SetRate(ctx, quote.Record(now))
	return err == nil, err
}
