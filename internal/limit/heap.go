package limit

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Heap tells whether memory is short. Whoever asks first after lookEvery has it measured; everybody else reads two words.
type Heap struct {
	most int64 // bytes
	used func() int64
	next atomic.Int64 // Unix nanoseconds of the next measurement
	over atomic.Bool
}

// lookEvery is how old a measurement may be.
const lookEvery = 100 * time.Millisecond

// NewHeap watches for more than percent of limit bytes in use; nil without a limit. used measures; nil asks the runtime.
func NewHeap(limit, percent int64, used func() int64) *Heap {
	if limit <= 0 || percent <= 0 {
		return nil
	}
	if used == nil {
		used = inUse
	}
	return &Heap{most: limit / 100 * percent, used: used}
}

// Short reports whether more is in use than there should be. It is safe for concurrent use, and false on nil.
func (h *Heap) Short(now time.Time) bool {
	if h == nil {
		return false
	}
	at, due := now.UnixNano(), h.next.Load()
	if at >= due && h.next.CompareAndSwap(due, at+int64(lookEvery)) {
		h.over.Store(h.used() > h.most)
	}
	return h.over.Load()
}

// inUse is what the collector found alive the last time, and the stacks. What has become garbage since then is no reason to refuse work: near
// its limit the collector runs as often as it must, and then this is the truth.
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
