package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/config"
	"weir/internal/httpserver"
	"weir/internal/loop"
)

// The collector may let garbage grow to GOGC percent of what is in use, which is little for an idle node and hundreds of megabytes for a busy one;
// and when work ends it does not run again for minutes, because nothing is allocated. So the percentage falls while much is in use, and what an
// idle node does not need goes back to the system. Large buffers of bodies allow for no garbage: they are used again, and have nothing to look through.
const (
	memoryEvery = 5 * time.Second
	// mostGarbage is how much more than what is in use the heap may grow before it is collected.
	mostGarbage = 64 << 20
	leastGOGC   = 25
	// leastUse is what garbage is measured by at the least: large buffers that are newer than the collection are no part of what it found in use.
	leastUse = 2 << 20
	// keptFree is how much an idle node keeps of what it does not use.
	keptFree = 12 << 20
	// afterStart is when the first round gives back what the start has left behind, which is more than an idle node has. No figure shows how
	// much it is: the last collection may have met the start in its middle.
	afterStart = 250 * time.Millisecond
	// idleRounds is how many rounds a node must do little before it gives memory back.
	idleRounds = 2
)

// memory decides what the collector should do.
type memory struct {
	gogc    int64 // as configured: the largest
	percent int64 // as set last
	allocs  uint64
	idle    int
}

// heap is what the runtime says of its memory, in bytes.
type heap struct {
	live   uint64 // after the last collection
	used   uint64 // live and garbage
	free   uint64 // not used, and not returned to the system
	allocs uint64 // allocated since the start
}

var heapMetrics = []string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes", "/gc/heap/allocs:bytes"}

func readHeap() (h heap) {
	s := make([]metrics.Sample, len(heapMetrics))
	for i, name := range heapMetrics {
		s[i].Name = name
	}
	metrics.Read(s)
	value := func(i int) uint64 {
		if s[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return s[i].Value.Uint64()
	}
	return heap{live: value(0), used: value(1), free: value(2) + value(3), allocs: value(4)}
}

// follow returns the percentage for the collector, and whether it has changed. Large is the part of live that is in large buffers.
func (m *memory) follow(live, large int64) (percent int64, changed bool) {
	percent = m.gogc
	if live > 0 {
		small := min(live, max(live-large, leastUse))
		garbage := min(m.gogc*small/100, max(mostGarbage, leastGOGC*small/100))
		percent = max(garbage*100/live, 1)
	}
	if less := m.percent - percent; less <= m.percent/8 && -less <= m.percent/8 && percent != m.gogc {
		return m.percent, false // a change stops the world: not for a small difference
	}
	changed = percent != m.percent
	m.percent = percent
	return percent, changed
}

// spare reports whether the node does little, and has memory that it should give back.
func (m *memory) spare(h heap) bool {
	excess := h.free + (h.used - min(h.live, h.used))
	allocated := h.allocs - m.allocs
	m.allocs = h.allocs
	if excess <= keptFree || allocated > excess/4 {
		m.idle = 0
		return false
	}
	if m.idle++; m.idle < idleRounds {
		return false
	}
	m.idle = 0
	return true
}

// tidying follows the load with the collector, and returns memory to the system without load, until the loop is stopped.
func tidying(r config.Runtime) *loop.Loop {
	var mu sync.Mutex
	m := &memory{gogc: r.GOGC, percent: r.GOGC}
	follow := func() {
		mu.Lock()
		defer mu.Unlock()
		if percent, changed := m.follow(int64(readHeap().live), httpserver.LargeBuffers()); changed {
			debug.SetGCPercent(int(percent))
		}
	}
	var stop func()
	return loop.New(afterStart, func(ctx context.Context) time.Duration {
		mu.Lock()
		spare := m.spare(readHeap())
		mu.Unlock()
		if stop == nil {
			spare = true
			stop = afterCollections(follow)
			context.AfterFunc(ctx, stop) // the rounds have one context, which ends with the loop
		}
		if !spare {
			return memoryEvery
		}
		runtime.GC() // empties half of the pools, the next one the rest
		debug.FreeOSMemory()
		trim()
		mu.Lock()
		m.allocs = readHeap().allocs
		mu.Unlock()
		return memoryEvery
	})
}

// afterCollections calls do after each garbage collection, until stop is called. It uses the cleanup of an unreachable object, which runs after
// the collection that finds it.
func afterCollections(do func()) (stop func()) {
	var stopped atomic.Bool
	var await func()
	await = func() {
		runtime.AddCleanup(new(sentinel), func(struct{}) {
			if !stopped.Load() {
				do()
				await()
			}
		}, struct{}{})
	}
	await()
	return func() { stopped.Store(true) }
}

// sentinel has a pointer, because small objects without one share their memory with others.
type sentinel struct{ _ *sentinel }
