package limit_test

import (
	"context"
	"testing"
	"testing/synctest"

	"weir/internal/limit"
)

func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSlots(3, 2)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		enter := func(name string, want limit.Entry) {
			t.Helper()
			if got := s.Enter(now, name); got != want {
				t.Errorf("%s: %d, want %d", name, got, want)
			}
		}
		enter("a", limit.Entered)
		enter("a", limit.Entered)
		enter("a", limit.ShareTaken) // one is left for others
		enter("b", limit.Entered)
		enter("c", limit.NoneFree)
		enter("a", limit.ShareTaken)

		// waiting calls are let in as they came, but a name that has its share delays no other
		let := make(chan string, 8)
		wait := func(name string) {
			go func() {
				if s.Enter(t.Context(), name) == limit.Entered {
					let <- name
				}
			}()
			synctest.Wait()
		}
		wait("a")
		wait("c")
		wait("d")
		s.Leave("b")
		synctest.Wait()
		s.Leave("a")
		synctest.Wait()
		if got := <-let + <-let; got != "ca" {
			t.Errorf("let in: %q, want c and a", got)
		}
		if s.Busy() != 3 {
			t.Errorf("%d are busy", s.Busy())
		}
		s.Leave("c")
		synctest.Wait()
		s.Leave("a")
		s.Leave("a")
		s.Leave(<-let)
		if s.Busy() != 0 {
			t.Errorf("%d are busy", s.Busy())
		}
	})
}

// The queue is bounded, for each name and in all.
func TestSlotsQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSlots(2, 1)
		ctx, cancel := context.WithCancel(t.Context())
		answers := make(chan limit.Entry, 100)
		for range 100 {
			go func() { answers <- s.Enter(ctx, "a") }()
		}
		synctest.Wait()
		if n := len(answers); n != 100-8 {
			t.Errorf("%d of 100 were answered at once, want all but the eight in the queue", n)
		}
		if got := s.Enter(ctx, "b"); got != limit.Entered {
			t.Errorf("another name: %d", got)
		}
		cancel()
		synctest.Wait()
		entered := 0
		for range 100 {
			if <-answers == limit.Entered {
				entered++
			}
		}
		if entered != 1 || s.Busy() != 2 {
			t.Errorf("%d have entered, %d are busy", entered, s.Busy())
		}
	})
}
