package limit

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Heap reports whether memory is short. The first call after lookEvery has it measured; all others read two words.
type Heap struct {
	most       int64 // bytes
	used       func() int64
	collect    func()
	next       atomic.Int64 // Unix nanoseconds of the next measurement
	over       atomic.Bool
	collected  atomic.Int64 // Unix nanoseconds of the last collection that was asked for
	collecting atomic.Bool
}

// lookEvery is how old a measurement may be.
const lookEvery = 100 * time.Millisecond

// collectEvery is how often a collection is asked for while memory is short.
const collectEvery = time.Second

// NewHeap watches for more than percent of limit bytes in use; nil without a limit. used measures, and collect runs the garbage
// collector; nil means the runtime's.
func NewHeap(limit, percent int64, used func() int64, collect func()) *Heap {
	if limit <= 0 || percent <= 0 {
		return nil
	}
	if used == nil {
		used = inUse
	}
	if collect == nil {
		collect = runtime.GC
	}
	return &Heap{most: limit / 100 * percent, used: used, collect: collect}
}

// Short reports whether more is in use than there should be. It is safe for concurrent use, and false on nil.
func (h *Heap) Short(now time.Time) bool {
	if h == nil {
		return false
	}
	at, due := now.UnixNano(), h.next.Load()
	if at >= due && h.next.CompareAndSwap(due, at+int64(lookEvery)) {
		over := h.used() > h.most
		h.over.Store(over)
		if over {
			h.tidy(at)
		}
	}
	return h.over.Load()
}

// tidy starts a garbage collection from time to time, in the background. The measured value is that of the last collection, and a node
// that refuses everything allocates nothing: the runtime would not collect again, and memory would seem short for minutes after it was
// freed.
func (h *Heap) tidy(at int64) {
	if at-h.collected.Load() < int64(collectEvery) || !h.collecting.CompareAndSwap(false, true) {
		return
	}
	h.collected.Store(at)
	go func() {
		defer h.collecting.Store(false)
		h.collect()
	}()
}

// inUse is the live heap of the last collection, and the stacks. Garbage since then is no reason to refuse work: near its limit the
// collector runs often enough to keep this value current.
func inUse() int64 {
	s := [...]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s[:])
	var sum int64
	for i := range s {
		if s[i].Value.Kind() == metrics.KindUint64 {
			sum += int64(s[i].Value.Uint64())
		}
	}
	return sum
}
