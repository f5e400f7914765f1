package budget

import (
	"context"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"weir/internal/loop"
)

// Loop is an agent that repeats itself: so many of its calls in a row asked for the same tools in the same order.
type Loop struct {
	Key   string
	Tools []string // in their order, once
	Times int64    // how often
	Calls int64    // in which
	Since time.Time
	Until time.Time
}

const (
	leastLoop  = 20     // calls in a row, before it is called a loop
	leastTimes = 3      // repetitions of its tools
	longest    = 8      // calls, until a loop begins anew
	watched    = 10_000 // keys
	maxTools   = 200    // bytes of the tools of one call
)

// LoopStore keeps the last loop of each key.
type LoopStore interface {
	SaveLoops(ctx context.Context, list []Loop) error
}

// Loops notices agents that repeat themselves, by the names of the tools that their answers ask for. It is safe for concurrent use, and forgets what it
// has not written when the node ends: it explains, and decides nothing.
type Loops struct {
	store  LoopStore
	report func(error)
	writes *loop.Loop

	mu   sync.Mutex
	runs *lru.Cache[string, *run]
	due  map[string]Loop
}

// run is what the last calls of a key asked for.
type run struct {
	last [longest]string // the newest first
	at   [longest]time.Time
	same [longest + 1]int64 // by length: calls in a row that asked for what the call so many before did
	from [longest + 1]time.Time
}

// NewLoops makes Loops over a store.
func NewLoops(s LoopStore, every time.Duration, report func(error)) *Loops {
	l := &Loops{store: s, report: report, due: map[string]Loop{}}
	l.runs, _ = lru.New[string, *run](watched) // it fails for sizes below 1 alone
	l.writes = loop.Every(every, l.Write)
	return l
}

// Start begins to write.
func (l *Loops) Start() { l.writes.Start() }

// Stop ends it.
func (l *Loops) Stop() { l.writes.Stop() }

// Called notes the tools that an answer to a key asked for; none ends a loop.
func (l *Loops) Called(key string, at time.Time, tools []string) {
	said := strings.Join(tools, " ")
	if len(said) > maxTools {
		said = said[:maxTools]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.runs.Get(key)
	if said == "" {
		l.runs.Remove(key)
		return
	}
	if !ok {
		r = &run{}
		l.runs.Add(key, r)
	}
	if found, ok := r.next(said, at); ok {
		found.Key = key
		l.due[key] = found
	}
}

// next adds a call, and returns the loop that it belongs to.
func (r *run) next(said string, at time.Time) (found Loop, ok bool) {
	size := 0
	for n := 1; n <= longest; n++ {
		if r.last[n-1] != said {
			r.same[n] = 0
			continue
		}
		if r.same[n] == 0 {
			r.from[n] = r.at[n-1]
		}
		r.same[n]++
		if size == 0 && r.same[n]+int64(n) >= max(leastLoop, int64(leastTimes*n)) {
			size = n
		}
	}
	copy(r.last[1:], r.last[:])
	copy(r.at[1:], r.at[:])
	r.last[0], r.at[0] = said, at
	if size == 0 {
		return found, false
	}
	calls := r.same[size] + int64(size)
	found.Tools = make([]string, size)
	for i := range size { // in the order of the loop's first calls
		found.Tools[(calls-1-int64(i))%int64(size)] = r.last[i]
	}
	found.Times, found.Calls, found.Since, found.Until = calls/int64(size), calls, r.from[size], at
	return found, true
}

// Write writes what is due.
func (l *Loops) Write(ctx context.Context) {
	l.mu.Lock()
	list := make([]Loop, 0, len(l.due))
	for _, x := range l.due {
		list = append(list, x)
	}
	clear(l.due)
	l.mu.Unlock()
	if len(list) == 0 {
		return
	}
	if err := l.store.SaveLoops(ctx, list); err != nil && ctx.Err() == nil {
		l.report(err)
	}
}
