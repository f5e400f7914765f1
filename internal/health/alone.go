package health

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// maxAlone is how many accounts are remembered, for an endpoint, that fail there.
const maxAlone = 64

// alone are the guards that an endpoint has for single accounts. Whose requests fail in a row gets no more calls there, as if it were ejected,
// while others' calls go on.
type alone struct {
	some atomic.Bool // there is a guard: only then the lock is needed
	mu   sync.Mutex
	of   map[uint64]*guard
}

var seed = maphash.MakeSeed()

// hash identifies an account; noAccount where there is none.
func hash(account string) uint64 {
	if account == "" {
		return noAccount
	}
	return max(maphash.String(seed, account), 1)
}

func (a *alone) find(account string) *guard {
	if !a.some.Load() || account == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[hash(account)]
}

// end reports the outcome of an attempt to the account's guard, and returns what the guard was doing before.
func (a *alone) end(by uint64, t ticket, v verdict, now int64, cfg *Config) (was state, length int) {
	if by == noAccount || v != failure && !a.some.Load() {
		return steady, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.of[by]
	if g == nil {
		if v != failure {
			return steady, 0
		}
		if a.of == nil {
			a.of = map[uint64]*guard{}
		}
		for other := range a.of { // any: it only starts again
			if len(a.of) < maxAlone {
				break
			}
			delete(a.of, other)
		}
		g = &guard{}
		a.of[by] = g
	}
	g.mu.Lock()
	was, length = g.state, g.row.rest
	g.mu.Unlock()
	g.leave(t, v, noAccount, now, cfg)
	if !g.troubled.Load() {
		delete(a.of, by)
	}
	a.some.Store(len(a.of) > 0)
	return was, length
}

// forgive forgets all: it was the endpoint's fault.
func (a *alone) forgive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of = nil
	a.some.Store(false)
}

// ejects reports whether somebody gets no calls.
func (a *alone) ejects(now int64) bool {
	if !a.some.Load() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.of {
		if _, ejected := g.look(now); ejected {
			return true
		}
	}
	return false
}

// lately are the last two accounts of which something was seen.
type lately struct {
	of [2]uint64
	at [2]int64
}

func (l *lately) see(account uint64, now int64) {
	i := 0
	if l.of[1] == account || l.of[0] != account && l.at[1] < l.at[0] {
		i = 1
	}
	l.of[i], l.at[i] = account, now
}

// both reports whether there were two, not long ago.
func (l *lately) both(now int64) bool {
	return l.at[0] > now-halfMinute && l.at[1] > now-halfMinute && l.of[0] != l.of[1]
}

const halfMinute = int64(30e9)
