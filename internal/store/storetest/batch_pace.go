package storetest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pace is the time of a node's workers. It goes on only while all of them wait, by the shortest of their waits. So neither a slow store nor a
// busy processor makes a batch late.
type pace struct {
	clock *clock

	mu      sync.Mutex
	workers int // that have begun and not ended
	asleep  []*sleeper
}

type sleeper struct {
	until time.Time
	woken chan struct{}
}

// work begins a worker.
func (p *pace) work(all *sync.WaitGroup, do func()) {
	p.count(1)
	all.Go(func() {
		defer p.count(-1)
		do()
	})
}

// apart performs what may take a worker for ever: time goes on meanwhile.
func (p *pace) apart(do func()) {
	p.count(-1)
	defer p.count(1)
	do()
}

func (p *pace) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers += n
	p.turn()
}

// wait returns after d, or when ctx ends.
func (p *pace) wait(ctx context.Context, d time.Duration) error {
	s := &sleeper{p.clock.Now().Add(d), make(chan struct{})}
	p.mu.Lock()
	p.asleep = append(p.asleep, s)
	p.turn()
	p.mu.Unlock()
	select {
	case <-s.woken:
	case <-ctx.Done():
		p.mu.Lock()
		p.asleep = slices.DeleteFunc(p.asleep, func(o *sleeper) bool { return o == s })
		p.mu.Unlock()
	}
	return ctx.Err()
}

// turn wakes the next sleeper when no worker works.
func (p *pace) turn() {
	if len(p.asleep) == 0 || len(p.asleep) < p.workers {
		return
	}
	next := slices.MinFunc(p.asleep, func(a, b *sleeper) int { return a.until.Compare(b.until) })
	p.asleep = slices.DeleteFunc(p.asleep, func(o *sleeper) bool { return o == next })
	p.clock.Advance(max(0, next.until.Sub(p.clock.Now())))
	close(next.woken)
}
