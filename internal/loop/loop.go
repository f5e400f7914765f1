// Package loop runs work in the background: in rounds that never overlap, until it is stopped. Apart from it, the domain has no timers.
package loop

import (
	"context"
	"sync"
	"time"
)

// UntilWoken is the pause of a round after which only Wake begins the next one.
const UntilWoken time.Duration = -1

// Loop is work that is done in rounds. It is safe for concurrent use. A panic in a round ends the process, as in any other goroutine: a round
// that contains its panic leaves a known state.
type Loop struct {
	first time.Duration
	round func(ctx context.Context) time.Duration
	wake  chan struct{}

	mu      sync.Mutex
	cancel  context.CancelFunc // nil before Start
	stopped bool
	done    sync.WaitGroup
}

// New makes a loop. Its first round begins first after the start, 0 at once. A round returns the pause before the next one. The context of a
// round ends when the loop is stopped.
func New(first time.Duration, round func(ctx context.Context) (pause time.Duration)) *Loop {
	return &Loop{first: first, round: round, wake: make(chan struct{}, 1)}
}

// Every makes a loop that works each time d has passed since the start or the end of the last round.
func Every(d time.Duration, work func(ctx context.Context)) *Loop {
	return New(d, func(ctx context.Context) time.Duration {
		work(ctx)
		return d
	})
}

// Wake begins a round at once, or after the one under way. It never blocks; several calls before a round begins bring one round.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Start begins the rounds. Only the first call does anything, and none after Stop.
func (l *Loop) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil || l.stopped {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.done.Go(func() { l.Run(ctx) })
}

// Stop ends the loop, and the context of a round that is under way, and waits for its end. A loop that is stopped before Start never runs.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.stopped = true
	cancel := l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	l.done.Wait()
}

// Run does the rounds in the caller's goroutine, until ctx ends. It is for loops without Start.
func (l *Loop) Run(ctx context.Context) {
	timer := time.NewTimer(max(l.first, 0))
	defer timer.Stop()
	if l.first < 0 {
		timer.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.wake:
		}
		if ctx.Err() != nil { // both were ready
			return
		}
		if pause := l.round(ctx); pause >= 0 {
			timer.Reset(pause)
		} else {
			timer.Stop()
		}
	}
}

// Sweep repeats a step that removes at most most things, until one removes fewer or fails, so that a backlog does not wait for the next
// round. Each step has at most within.
func Sweep(ctx context.Context, within time.Duration, most int, step func(ctx context.Context, most int) (removed int, err error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, within)
		n, err := step(short, most)
		cancel()
		if err != nil || n < most {
			return err
		}
	}
}

// Wait waits for d, or fails when ctx ends before.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Finish waits for work to end. When ctx ends before, it has the work hurry, and waits on.
func Finish(ctx context.Context, work *sync.WaitGroup, hurry func()) {
	ended := make(chan struct{})
	go func() {
		work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		hurry()
		<-ended
	}
}
