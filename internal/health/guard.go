package health

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/fault"
)

// Result is what an attempt shows about its endpoint.
type Result uint8

// The results.
const (
	Neutral     Result = iota // nothing: the client left before any content, the request was bad, or the trouble was ours
	Served                    // it answered
	Limited                   // it refused because of its rate limit
	Refused                   // it refused with another 4xx that the request did not cause: our account, a model that no longer exists
	Failed                    // it broke, timed out or was invalid
	Unreachable               // no connection could be made
	Abandoned                 // the client left after a long silence: counted as a failure, but not one for which an endpoint gets no calls
)

// Judge returns what an attempt's error shows about its endpoint; content reports whether an answer had begun.
func Judge(err *fault.Error, content bool) Result {
	switch {
	case err == nil:
		return Served
	case err.Upstream == nil && content:
		return Served // it did its part
	case err.Upstream == nil:
		return Neutral
	case err.Upstream.Unreachable:
		return Unreachable
	case err.Kind == fault.RateLimited:
		return Limited
	}
	switch err.Kind {
	case fault.ProviderUnavailable, fault.ProviderOverloaded, fault.Timeout:
		if s := err.Upstream.Status; s >= 400 && s <= 499 {
			return Refused
		}
		return Failed
	}
	return Neutral
}

// verdict is what a result means to a guard.
type verdict uint8

const (
	silent  verdict = iota // changes nothing
	success                // ends the row of failures
	failure                // makes it longer
)

// ofEndpoint: a 4xx other than 429 shows neither that an endpoint works nor that it fails.
func (r Result) ofEndpoint() verdict {
	switch r {
	case Served:
		return success
	case Limited, Failed, Unreachable:
		return failure
	}
	return silent
}

// ofHost: any answer over a connection shows that the host works.
func (r Result) ofHost() verdict {
	switch r {
	case Neutral, Abandoned:
		return silent
	case Unreachable:
		return failure
	}
	return success
}

// state of a guard. docs/routing.md draws the transitions.
type state uint8

const (
	steady  state = iota // gets calls
	cooling              // gets calls, after all others until the cool-down is over
	ejected              // gets no calls until the ejection is over; the first one after it is a probe
	probing              // a probe is under way; no other attempt is admitted
)

// guard is the state machine of an endpoint, or of a host.
type guard struct {
	troubled atomic.Bool   // anything but a steady state without failures: only then the lock is needed
	epoch    atomic.Uint32 // counts ejections: attempts that entered before one do not count after it
	probed   atomic.Int64  // when a call was last let through in spite of the ejection

	mu    sync.Mutex
	state state
	row   row
	times int   // ejections since the last success
	until int64 // end of the cool-down or ejection
}

// row is a series of failures, by account. Failures that one account's requests alone provoke, by their inputs and limits, do not show
// how others would be served: they count only together with another account's, and then only a few of each of the first two accounts.
type row struct {
	of     [2]uint64 // accounts
	counts [2]int
	rest   int // of others, and those that no request can have provoked
}

// noAccount is the account of failures that no request can have caused.
const noAccount = uint64(0)

func (r *row) add(account uint64) {
	if account != noAccount {
		for i := range r.of {
			if r.of[i] == account || r.counts[i] == 0 {
				r.of[i] = account
				r.counts[i] = min(r.counts[i]+1, 1<<20)
				return
			}
		}
	}
	r.rest = min(r.rest+1, 1<<20)
}

// length is how many failures count, when one account may count for at most most.
func (r *row) length(most int) int {
	if r.counts[1] == 0 && r.rest == 0 {
		return 0
	}
	return min(r.counts[0], most) + min(r.counts[1], most) + r.rest
}

// ofOne is how many failures one account may add to a row: not enough to eject with one more.
func (c *Config) ofOne() int { return max(c.EjectAfter-2, 1) }

// ticket is what a guard returns to an attempt that enters.
type ticket struct {
	epoch uint32
	probe bool
}

// wait is how long no attempt is admitted, 0 when one is. The caller has locked the guard.
func (g *guard) wait(now int64) int64 {
	switch {
	case g.state == probing:
		return betweenProbes // the probe may end at any time
	case g.state == ejected && now < g.until:
		return g.until - now
	}
	return 0
}

// enter lets an attempt in that need not wait. The caller has locked the guard.
func (g *guard) enter() ticket {
	t := ticket{epoch: g.epoch.Load()}
	if g.state == ejected {
		g.state, t.probe = probing, true
	}
	return t
}

// leave records the result of an attempt.
func (g *guard) leave(t ticket, v verdict, by uint64, now int64, cfg *Config) (recovered bool) {
	if !t.probe && v != failure && !g.troubled.Load() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	current := t.epoch == g.epoch.Load()
	probe := t.probe && current && g.state == probing
	switch v {
	case success:
		if g.state == steady || g.state == cooling || current {
			recovered = g.times > 0
			g.state, g.row, g.times, g.until = steady, row{}, 0, 0
		}
	case failure:
		g.fail(probe, by, now, cfg)
	case silent:
		if probe {
			g.state = ejected // its time is over: the next call is a probe again
		}
	}
	g.troubled.Store(g.state != steady || g.row != row{})
	return recovered
}

// fail counts a failure. Those of calls that entered before an ejection, or in spite of it, do not prolong it.
func (g *guard) fail(probe bool, by uint64, now int64, cfg *Config) {
	if g.state == ejected || g.state == probing && !probe {
		return
	}
	g.row.add(by)
	n := g.row.length(cfg.ofOne())
	switch {
	case probe || n >= cfg.EjectAfter:
		g.times++
		g.state = ejected
		g.until = now + int64(min(time.Duration(g.times)*cfg.Ejection, cfg.MaxEjection))
		g.epoch.Add(1)
	case n >= cfg.CoolDownAfter:
		g.state = cooling
		g.until = now + int64(min(cfg.CoolDown<<min(n-cfg.CoolDownAfter, 16), cfg.MaxCoolDown))
	}
}

// look returns the state for routing.
func (g *guard) look(now int64) (coolDown, isEjected bool) {
	if !g.troubled.Load() {
		return false, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == cooling && now < g.until, g.wait(now) > 0
}

// ends is when an ejection is over; 0 without one.
func (g *guard) ends() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == ejected || g.state == probing {
		return g.until
	}
	return 0
}
