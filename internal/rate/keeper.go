package rate

import (
	"context"
	"time"

	"weir/internal/loop"
)

// Book is where rates are kept.
type Book interface {
	// Rates lists all records in the order of their versions.
	Rates(ctx context.Context) ([]Record, error)
	// SetRate adds a record, unless the last one says the same.
	SetRate(ctx context.Context, r Record) error
}

// Keeper fetches the published rate once a day. A feed that fails or tells nonsense changes nothing: the last rate holds on.
type Keeper struct {
	Fetch  func(ctx context.Context) ([]byte, error) // the list; it bounds its own time and size
	Book   Book
	Now    func() time.Time
	Report func(error) // hears of the first failure in a row, nil when a fetch works again
	Failed func()      // hears of each failure, for counting
}

const (
	daily  = 24 * time.Hour
	hourly = time.Hour
	fresh  = 20 * time.Hour // a rate that some node fetched so short ago is not fetched again
)

// Loop fetches at once, unless the last published rate is fresh, and then every day. After a failure, and while the last rate is fresh, it
// looks again every hour.
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

// Once fetches the rate and has it kept, unless the last one is fresh; then fetched is false. It fails when the feed or the book does.
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
