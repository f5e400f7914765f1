package health

import (
	"math"
	"sync/atomic"
	"time"
)

// crowd counts an endpoint's attempts under way by groups of accounts, so that one account does not take all that the endpoint may have while
// others need some. Two accounts that fall into one group by chance share one part.
type crowd struct {
	groups [groups]atomic.Int32
	last   atomic.Int32 // group that asked last, counted from 1
	mixed  atomic.Int64 // until then others are assumed to need some, too
}

const (
	groups   = 64
	mixedFor = time.Minute // after two accounts asked one after the other
)

func group(account string) int32 { return int32(hash(account) % groups) }

// SameGroup reports whether endpoints count two accounts as one, which is so for one pair in 64.
func SameGroup(a, b string) bool { return group(a) == group(b) }

// of is the count of an account's group.
func (c *crowd) of(account string) *atomic.Int32 { return &c.groups[group(account)] }

// enter counts an attempt of an account, unless it has its share and others need theirs.
func (c *crowd) enter(account string, share int64, r *Registry) bool {
	g := group(account)
	if c.last.Load() != g+1 && c.last.Swap(g+1) != 0 && int64(c.groups[g].Load()) < share { // a user with more has no claim
		c.mixed.Store(r.now() + int64(mixedFor))
	}
	if int64(c.groups[g].Add(1)) > share && c.mixed.Load() > r.now() {
		c.groups[g].Add(-1)
		return false
	}
	return true
}

// leave reverses enter, and ends the attempt itself.
func (e *endpoint) leave(account string) {
	e.inFlight.Add(-1)
	e.crowd.of(account).Add(-1)
}

// share is how many attempts of most one account may have.
func (r *Registry) share(most int64) int64 {
	if r.cfg.UserShare <= 0 || r.cfg.UserShare >= 100 {
		return math.MaxInt64
	}
	return max(most*r.cfg.UserShare/100, 1)
}
