package httpserver

import (
	"testing"
	"testing/synctest"
	"time"
)

// Large buffers are used again, the warmest first, and dropped when they were not used for a while.
func TestShelf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s bufferPool
		first, second := &buffer{}, &buffer{}
		if s.take() != nil {
			t.Fatal("there is a buffer in an empty pool")
		}
		s.put(first)
		time.Sleep(keepShelved / 2)
		s.put(second)
		if b := s.take(); b != second {
			t.Error("the buffer used last is not taken first")
		}
		s.put(second)
		time.Sleep(keepShelved*3/4 + time.Nanosecond)
		synctest.Wait()
		left := func() (list []*buffer, waiting bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, one := range s.free {
				list = append(list, one.buffer)
			}
			return list, s.waiting
		}
		if list, _ := left(); len(list) != 1 || list[0] != second {
			t.Errorf("%d buffers are left, want the second", len(list))
		}
		time.Sleep(2 * keepShelved)
		synctest.Wait()
		if list, waiting := left(); len(list) != 0 || waiting {
			t.Errorf("%d buffers are left, and a sweep is due: %v", len(list), waiting)
		}
	})
}

// Each size has the smallest buffer that holds it, with at most a quarter to spare, and a buffer goes back to where it came from.
func TestBufferSizes(t *testing.T) {
	t.Parallel()
	for size := int64(1); size <= maxBuffer+2; size += 1 + size/97 {
		full := bufferSize(size)
		if full < size || size > minBuffer && full > size+size/4+1 {
			t.Fatalf("%d bytes get a buffer of %d", size, full)
		}
		if full <= maxBuffer {
			class, again := classOf(full)
			if of, _ := classOf(size); of != class || again != full || class >= classes {
				t.Fatalf("%d bytes are of class %d, their buffer of %d is of class %d and size %d", size, of, full, class, again)
			}
		}
		if b := takeBuffer(int(size)); int64(cap(b.b)) != full || len(b.b) != 0 {
			t.Fatalf("%d bytes got a buffer of %d, want %d", size, cap(b.b), full)
		} else {
			b.release()
		}
	}
}
