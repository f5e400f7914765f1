package httpserver

import (
	"math/bits"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// buffer is a body's memory. Buffers come in four sizes for each power of two, so that few sizes serve all bodies, and none has more than a quarter
// that its body does not need.
type buffer struct{ b []byte }

const (
	minBuffer = 1 << 10
	maxBuffer = 16 << 20 // larger ones are too rare to keep
	perDouble = 4        // sizes for each power of two
)

const classes = perDouble*14 + 1 // 14 times minBuffer doubled is maxBuffer

var (
	buffers      [classes]sync.Pool
	largeBuffers [classes]bufferPool // of large buffers
)

// bufferSize is how large the buffer is that takeBuffer gives for a size.
func bufferSize(size int64) int64 {
	if size > maxBuffer {
		return size
	}
	_, size = classOf(size)
	return size
}

// classOf is the pool of buffers for a size up to maxBuffer, and their size.
func classOf(size int64) (class int, full int64) {
	size = max(size, minBuffer)
	double := bits.Len64(uint64(size)) - bits.Len64(minBuffer) // so often minBuffer is doubled, and then some quarters of that are added
	step := int64(minBuffer/perDouble) << double
	quarters := (size - minBuffer<<double + step - 1) / step
	return perDouble*double + int(quarters), minBuffer<<double + quarters*step
}

func takeBuffer(size int) *buffer {
	if size > maxBuffer {
		return newBuffer(int64(size))
	}
	class, full := classOf(int64(size))
	if full >= largeBuffer {
		if b := largeBuffers[class].take(); b != nil {
			return b
		}
	} else if b, ok := buffers[class].Get().(*buffer); ok {
		return b
	}
	return newBuffer(full)
}

func newBuffer(size int64) *buffer {
	if size >= largeBuffer {
		largeBytes.Add(size)
	}
	return &buffer{make([]byte, 0, size)}
}

// discard leaves the buffer to the collector.
func (b *buffer) discard() {
	if size := int64(cap(b.b)); size >= largeBuffer {
		largeBytes.Add(-size)
	}
}

func (b *buffer) release() {
	size := int64(cap(b.b))
	if size > maxBuffer {
		b.discard()
		return
	}
	class, _ := classOf(size)
	b.b = b.b[:0]
	if size >= largeBuffer {
		largeBuffers[class].put(b)
		return
	}
	buffers[class].Put(b)
}

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
