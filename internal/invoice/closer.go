package invoice

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/loop"
)

// Closer makes the acts of all accounts when their month can be closed. Several nodes may each have one: an act is made once, whichever comes
// first, and one that was made by hand is not made again.
type Closer struct {
	m      *Manager
	report func(account string, made []Act, err error)
	done   string // the last month of which this one has made all acts
}

// closerActor makes acts by itself.
var closerActor = audit.Actor{Name: "system"}

const (
	lookEvery  = time.Hour        // also shorter than any clock that is set may be wrong
	retryAfter = 10 * time.Minute // what failed is tried again
)

// NewCloser makes a Closer. report is called with the acts of each account, or what kept them from being made; account is "" for what kept
// all of them.
func (m *Manager) NewCloser(report func(account string, made []Act, err error)) *Closer {
	return &Closer{m: m, report: report}
}

// Loop is the work of the closer in the background.
func (c *Closer) Loop() *loop.Loop { return loop.New(0, c.Round) }

// Round makes the acts of each month that can be closed, unless this closer has made them, and returns when to look again.
func (c *Closer) Round(ctx context.Context) time.Duration {
	month := Closed(c.m.now())
	if month == c.done {
		return c.pause()
	}
	failed := false
	err := c.m.MakeAllActs(ctx, month, closerActor, func(account string, made []Act, err error) {
		failed = failed || err != nil
		c.report(account, made, err)
	})
	if err != nil {
		c.report("", nil, err)
		failed = true
	}
	if failed {
		return retryAfter
	}
	c.done = month
	return c.pause()
}

// pause is the time until the next month can be closed, at most an hour.
func (c *Closer) pause() time.Duration {
	next := monthStart(nextMonth(nextMonth(c.done))).Add(ClosedAfter)
	return min(max(next.Sub(c.m.now()), time.Second), lookEvery)
}
