package journal

import (
	"sync"
	"sync/atomic"
	"time"
)

// lag is how long the oldest record that is not on the disk has waited for it, so that Append can wait when that is too long. What it costs
// an Append while the disk keeps up is the look at one number.
type lag struct {
	start time.Time
	// since is when the oldest such record was written, in nanoseconds after start and one; 0 without one.
	since atomic.Int64

	mu    sync.Mutex
	later int64         // the same for records written while a sync ran
	busy  bool          // a sync runs
	done  chan struct{} // closed at its end; nil without a waiter
}

// wrote notes that something was written after a sync began, or when none runs.
func (l *lag) wrote(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := int64(now.Sub(l.start)) + 1
	if l.busy {
		l.later = at
	} else if l.since.Load() == 0 {
		l.since.Store(at)
	}
}

// syncing records that a sync of everything written so far has begun.
func (l *lag) syncing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = true
}

// synced records that it has ended, even with an error: then no new calls are taken, and those that wait would wait for nothing.
func (l *lag) synced() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since.Store(l.later)
	l.later, l.busy = 0, false
	if l.done != nil {
		close(l.done)
		l.done = nil
	}
}

// late returns what to wait for, nil when nothing has waited for too long.
func (l *lag) late(now time.Time, most time.Duration) <-chan struct{} {
	if since := l.since.Load(); since == 0 || int64(now.Sub(l.start))-since < int64(most) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := l.since.Load(); since == 0 || int64(now.Sub(l.start))-since < int64(most) {
		return nil
	}
	if l.done == nil {
		l.done = make(chan struct{})
	}
	return l.done
}

// await waits while a record that was written too long ago is not on the disk.
func (j *Journal) await() {
	if j.o.Sync != Interval || j.lag.since.Load() == 0 {
		return
	}
	for {
		done := j.lag.late(j.o.Now(), j.o.MaxUnsynced)
		if done == nil {
			return
		}
		select {
		case <-done:
		case <-j.over:
			return
		}
	}
}
