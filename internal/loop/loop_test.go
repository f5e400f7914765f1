package loop_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pass lets d pass in a bubble, and what is due then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestEvery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int64
		l := loop.Every(time.Minute, func(context.Context) { rounds.Add(1) })
		l.Start()
		l.Start() // does nothing
		for want := range int64(4) {
			if got := rounds.Load(); got != want {
				t.Fatalf("%d rounds after %d minutes", got, want)
			}
			pass(time.Minute)
		}
		l.Stop()
		pass(time.Hour)
		if got := rounds.Load(); got != 4 {
			t.Errorf("%d rounds; it was stopped after 4", got)
		}
	})
}

// A round says when the next one is due; Wake is sooner, and several calls are one.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []string
		pauses := []time.Duration{time.Second, 0, loop.UntilWoken, time.Hour, time.Hour, loop.UntilWoken}
		var l *loop.Loop
		l = loop.New(2*time.Second, func(context.Context) time.Duration {
			at = append(at, time.Since(began).String())
			if len(at) == 4 {
				l.Wake()
				l.Wake()
			}
			return pauses[len(at)-1]
		})
		l.Start()
		pass(10 * time.Second) // 2 s, 3 s, 3 s, and then nothing
		l.Wake()               // 10 s, and once more
		pass(time.Minute)
		l.Wake() // 1m10s
		pass(24 * time.Hour)
		l.Stop()
		if got := fmt.Sprint(at); got != "[2s 3s 3s 10s 10s 1m10s]" {
			t.Error(got)
		}
	})
}

// A loop whose first round waits for Wake does nothing on its own.
func TestFirstUntilWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int64
		l := loop.New(loop.UntilWoken, func(context.Context) time.Duration { rounds.Add(1); return loop.UntilWoken })
		l.Start()
		pass(time.Hour)
		if got := rounds.Load(); got != 0 {
			t.Fatalf("%d rounds before Wake", got)
		}
		l.Wake()
		pass(time.Hour)
		l.Stop()
		if got := rounds.Load(); got != 1 {
			t.Errorf("%d rounds", got)
		}
	})
}

// Rounds that take longer than their pause, and are woken meanwhile, follow one another.
func TestRoundsDoNotOverlap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var under, rounds atomic.Int64
		l := loop.Every(time.Second, func(ctx context.Context) {
			if under.Add(1) > 1 {
				t.Error("two rounds at a time")
			}
			rounds.Add(1)
			_ = loop.Wait(ctx, 5*time.Second)
			under.Add(-1)
		})
		l.Start()
		var wakers sync.WaitGroup
		for range 8 {
			wakers.Go(func() {
				for range 100 {
					l.Wake()
					<-time.After(100 * time.Millisecond)
				}
			})
		}
		wakers.Wait() // 10 s
		l.Stop()
		if got := rounds.Load(); got < 2 || got > 4 {
			t.Errorf("%d rounds of 5 s in 10 s", got)
		}
	})
}

// Stop ends the context of the round that is under way, and returns after it.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cause error
		ended := false
		l := loop.New(0, func(ctx context.Context) time.Duration {
			<-ctx.Done()
			cause = ctx.Err()
			<-time.After(time.Minute)
			ended = true
			return 0
		})
		l.Start()
		synctest.Wait()
		l.Stop()
		if !ended || !errors.Is(cause, context.Canceled) {
			t.Errorf("ended %v, cause %v", ended, cause)
		}
		l.Stop() // once more does nothing
	})
}

func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loop.New(0, func(context.Context) time.Duration { t.Error("it runs"); return 0 })
		l.Stop()
		l.Wake()
		l.Start()
		pass(time.Hour)
	})
}

// Stop is certain even where a round is due all the time.
func TestStopOfABusyLoop(t *testing.T) {
	t.Parallel()
	l := loop.New(0, func(context.Context) time.Duration { return 0 })
	l.Start()
	for range 100 {
		l.Wake()
	}
	l.Stop()
}

func TestSweep(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		removed []int
		err     error // of the last step
		steps   int
	}{
		"nothing there":         {removed: []int{0}, steps: 1},
		"less than one step":    {removed: []int{9}, steps: 1},
		"more than one step":    {removed: []int{10, 10, 3}, steps: 3},
		"exactly two steps":     {removed: []int{10, 10, 0}, steps: 3},
		"a step that fails":     {removed: []int{10, 10}, err: broken, steps: 2},
		"the first step failed": {removed: []int{0}, err: broken, steps: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			err := loop.Sweep(t.Context(), time.Hour, 10, func(ctx context.Context, most int) (int, error) {
				if _, bounded := ctx.Deadline(); !bounded || most != 10 {
					t.Errorf("bounded %v, most %d", bounded, most)
				}
				steps++
				if steps == len(c.removed) {
					return c.removed[steps-1], c.err
				}
				return c.removed[steps-1], nil
			})
			if steps != c.steps || !errors.Is(err, c.err) {
				t.Errorf("%d steps, error %v", steps, err)
			}
		})
	}
}

// A store that always has more to remove does not hold up the end of the process.
func TestSweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	err := loop.Sweep(ctx, time.Hour, 10, func(context.Context, int) (int, error) {
		if steps++; steps == 3 {
			cancel()
		}
		return 10, nil
	})
	if steps != 3 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d steps, error %v", steps, err)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := loop.Wait(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := loop.Wait(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestFinish(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes, within time.Duration
		hurried       bool
		ended         time.Duration
	}{
		"in time": {takes: time.Second, within: time.Minute, ended: time.Second},
		"late":    {takes: time.Hour, within: time.Minute, hurried: true, ended: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				working, end := context.WithCancel(t.Context())
				defer end()
				var work sync.WaitGroup
				work.Go(func() { _ = loop.Wait(working, c.takes) })
				hurried := false
				began := time.Now()
				loop.Finish(ctx, &work, func() { hurried = true; end() })
				if hurried != c.hurried || time.Since(began) != c.ended {
					t.Errorf("hurried %v after %v", hurried, time.Since(began))
				}
			})
		})
	}
}
