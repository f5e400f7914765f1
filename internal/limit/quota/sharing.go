package quota

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/limit"
	"weir/internal/loop"
)

// Exchange is where nodes tell one another what they have let in. The store implements it.
type Exchange interface {
	// ShareUses adds what this node has let in, names in ascending order, and returns the names that any node has changed since a moment that a
	// former call returned; zero: all whose allowances are not full. Some are returned twice.
	ShareUses(ctx context.Context, uses []limit.Use, since time.Time) (Shared, error)
	// SweepUses forgets names whose allowances are full.
	SweepUses(ctx context.Context) error
}

// Shared is what an exchange returns.
type Shared struct {
	Names []limit.Full
	Nodes int64     // that live, with this one; 0 where none is known
	At    time.Time // by the store's own clock
}

const (
	shareEvery = time.Second           // how often nodes tell one another
	sharePace  = 20 * time.Millisecond // between two exchanges, however many calls wait for one
	shareFor   = 2 * time.Second       // one exchange may take
	shareNames = 1000                  // of one exchange
	askFor     = 250 * time.Millisecond
	sweepEvery = 10 * time.Minute
)

// sharing makes the allowances of keys, and of users at free models, those of all nodes together.
type sharing struct {
	q     *Quotas
	store Exchange
	now   func() time.Time
	log   *slog.Logger
	loop  *loop.Loop

	nodes   atomic.Int64 // that live, when last heard; 0: nothing was heard yet
	seen    time.Time    // by the store's clock
	tried   time.Time    // by this node's
	swept   time.Time
	away    atomic.Bool // the last exchange failed
	mu      sync.Mutex
	waiting chan struct{} // closed after the next exchange
}

// Share makes this node one of several that share the allowances of keys, and of users at free models: see limit.Gate.Share. The loop that it
// returns exchanges what was let in. It must be called before the first visit.
func (q *Quotas) Share(store Exchange, now func() time.Time, log *slog.Logger) *loop.Loop {
	s := &sharing{q: q, store: store, now: now, log: log, tried: now(), swept: now(), waiting: make(chan struct{})}
	s.loop = loop.New(0, s.round)
	for _, g := range s.gates() {
		g.Share(1)
	}
	q.sharing = s
	return s.loop
}

// Nodes is how many nodes share allowances, as far as this one knows; 0 before the first exchange, and where none are shared.
func (q *Quotas) Nodes() int64 {
	if q.sharing == nil {
		return 0
	}
	return q.sharing.nodes.Load()
}

// gates are those that are shared, by what the names of the exchange begin with.
func (s *sharing) gates() map[string]*limit.Gate {
	return map[string]*limit.Gate{"key ": s.q.keys, "account ": s.q.allKeys, "free ": s.q.free}
}

// ask waits for the next exchange, but not for long. It reports whether this node may know more then.
func (s *sharing) ask() bool {
	if s == nil || s.away.Load() {
		return false
	}
	s.mu.Lock()
	next := s.waiting
	s.mu.Unlock()
	s.loop.Wake()
	ctx, stop := context.WithTimeout(context.Background(), askFor)
	defer stop()
	select {
	case <-next:
		return true
	case <-ctx.Done():
		return false
	}
}

// askMost is how often one request waits: other requests of its name may be faster.
const askMost = 4

// takeShared takes from an allowance that nodes may share. A node that has let its part in asks the others before it refuses.
func (q *Quotas) takeShared(g *limit.Gate, now time.Time, name string, r *limit.Rates, c limit.Cost) limit.Verdict {
	v := g.Take(now, name, r, c)
	for asked := 0; v.Part && asked < askMost && q.sharing.ask(); asked++ {
		v = g.Take(q.sharing.now(), name, r, c)
	}
	return v
}

func (s *sharing) round(ctx context.Context) time.Duration {
	s.mu.Lock()
	done := s.waiting
	s.waiting = make(chan struct{})
	s.mu.Unlock()
	more := s.exchange(ctx)
	close(done)
	_ = loop.Wait(ctx, sharePace)
	if more {
		return 0
	}
	return shareEvery
}

// exchange sends this node's uses and reads those of the others. more: there was too much for one exchange.
func (s *sharing) exchange(ctx context.Context) (more bool) {
	short, stop := context.WithTimeout(ctx, shareFor)
	defer stop()
	gates := s.gates()
	told := map[string][]limit.Use{}
	var uses []limit.Use
	for prefix, g := range gates {
		told[prefix] = g.Uses(shareNames)
		more = more || len(told[prefix]) == shareNames
		for _, u := range told[prefix] {
			u.Name = prefix + u.Name
			uses = append(uses, u)
		}
	}
	slices.SortFunc(uses, func(a, b limit.Use) int { return strings.Compare(a.Name, b.Name) })
	at := s.now()
	shared, err := s.store.ShareUses(short, uses, s.seen)
	if err != nil {
		nodes := max(s.nodes.Load(), 1)
		for prefix, g := range gates {
			g.Share(nodes) // its part of the rate: more is not reported to the others
			g.Unsent(told[prefix], at.Sub(s.tried))
		}
		s.tried = at
		if !s.away.Swap(true) && ctx.Err() == nil {
			s.log.Warn("nodes cannot tell one another at present what keys have used: each grants its part of the limits", "nodes", nodes, "error", err)
		}
		return false
	}
	s.tried, s.seen = at, shared.At
	if s.away.Swap(false) {
		s.log.Info("nodes tell one another again what keys have used")
	}
	now, nodes := s.now(), max(shared.Nodes, 1)
	for prefix, g := range gates {
		if g.Share(1); nodes > 1 {
			g.Share(2 * nodes) // what two nodes know is up to an exchange apart: half of each part is left for that
		}
		var of []limit.Full
		for _, f := range shared.Names {
			if name, ok := strings.CutPrefix(f.Name, prefix); ok {
				f.Name = name
				of = append(of, f)
			}
		}
		g.Learn(now, told[prefix], of)
	}
	s.nodes.Store(nodes)
	if at.Sub(s.swept) > sweepEvery {
		s.swept = at
		if err := s.store.SweepUses(short); err != nil {
			s.log.Warn("what keys have used was not tidied up", "error", err)
		}
	}
	return more
}
