package httpapi

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// bufferPool keeps large buffers that are not used. A sync.Pool would keep some for each processor, which no other processor takes, and megabytes of them
// are more than all the rest that a node needs.
type bufferPool struct {
	mu      sync.Mutex
	free    []pooled // the one used last is at the end, and is taken first
	waiting bool     // a sweep is due
}

type pooled struct {
	*buffer
	since time.Time
}

const (
	largeBuffer = 1 << 20 // from this size on a buffer is kept in the pool
	keepShelved = 5 * time.Second
)

var largeBytes atomic.Int64 // of the large buffers in use and in the pool

// LargeBuffers is how many bytes the large buffers have, those in use and those that wait for their next use.
func LargeBuffers() int64 { return largeBytes.Load() }

// take returns a buffer, or nil.
func (s *bufferPool) take() *buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free) - 1
	if n < 0 {
		return nil
	}
	b := s.free[n].buffer
	s.free[n] = pooled{}
	s.free = s.free[:n]
	return b
}

func (s *bufferPool) put(b *buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, pooled{b, time.Now()})
	s.later()
}

// later has the pool swept. The lock is held.
func (s *bufferPool) later() {
	if !s.waiting {
		s.waiting = true
		time.AfterFunc(keepShelved, s.sweep)
	}
}

// sweep drops the buffers that were not used for a while, and returns their memory to the system: nothing else would soon, since the collector waits
// for something to be allocated.
func (s *bufferPool) sweep() {
	if s.drop(time.Now().Add(-keepShelved)) > 0 {
		debug.FreeOSMemory()
	}
}

func (s *bufferPool) drop(before time.Time) (dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for dropped < len(s.free) && !s.free[dropped].since.After(before) {
		s.free[dropped].discard()
		dropped++
	}
	left := copy(s.free, s.free[dropped:])
	clear(s.free[left:])
	s.free = s.free[:left]
	if s.waiting = false; left > 0 {
		s.later()
	}
	return dropped
}
