package app

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/config"
)

const mb = 1 << 20

// The more is in use, the less garbage may be beside it, in percent.
func TestCollectorFollowsTheLoad(t *testing.T) {
	t.Parallel()
	m := &memory{gogc: 400, percent: 400}
	for i, step := range []struct {
		live    int64
		large   int64
		percent int64
		changed bool
	}{
		{12 * mb, 0, 400, false}, {64 * mb, 0, 100, true}, {60 * mb, 0, 100, false}, {600 * mb, 0, 25, true}, {0, 0, 400, true}, {16 * mb, 0, 400, false}, {18 * mb, 0, 400, false},
		{20 * mb, 0, 320, true}, {16 * mb, 0, 400, true},
		{40 * mb, 30 * mb, 100, true}, {128 * mb, 96 * mb, 50, true}, // large buffers allow for no garbage
		{40 * mb, 80 * mb, 20, true}, {4000 * mb, 4000 * mb, 1, true}, // some are gone already, or too new to be seen as in use
		{1 * mb, 0, 400, true},
	} {
		if percent, changed := m.follow(step.live, step.large); percent != step.percent || changed != step.changed {
			t.Errorf("step %d: %d percent, changed %v", i, percent, changed)
		}
	}
}

// A node gives memory back when it has some to give and has done little for two rounds.
func TestSpareMemory(t *testing.T) {
	t.Parallel()
	m := &memory{}
	for i, step := range []struct {
		h     heap
		spare bool
	}{
		{heap{live: 12 * mb, used: 40 * mb, free: 300 * mb, allocs: 2801 * mb}, false}, // has worked
		{heap{live: 12 * mb, used: 40 * mb, free: 300 * mb, allocs: 2802 * mb}, false},
		{heap{live: 12 * mb, used: 40 * mb, free: 300 * mb, allocs: 3802 * mb}, false}, // and again
		{heap{live: 12 * mb, used: 40 * mb, free: 300 * mb, allocs: 3803 * mb}, false},
		{heap{live: 12 * mb, used: 41 * mb, free: 300 * mb, allocs: 3804 * mb}, true},
		{heap{live: 12 * mb, used: 13 * mb, free: 2 * mb, allocs: 3805 * mb}, false}, // nothing to give
		{heap{live: 12 * mb, used: 14 * mb, free: 2 * mb, allocs: 3805 * mb}, false},
		{heap{live: 12 * mb, used: 14 * mb, free: 2 * mb, allocs: 3805 * mb}, false},
	} {
		if spare := m.spare(step.h); spare != step.spare {
			t.Errorf("step %d: %v", i, spare)
		}
	}
	if h := readHeap(); h.live == 0 && h.used == 0 || h.allocs == 0 {
		t.Errorf("the runtime reports %+v", h)
	}
}

func TestAfterCollections(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 100)
	stop := afterCollections(func() {
		select {
		case called <- struct{}{}:
		default:
		}
	})
	for range 2 {
		runtime.GC()
		<-called
	}
	stop()
}

// What a start leaves behind is collected soon after it, however little of it the figures show. Other tests collect, too: this one runs alone.
func TestStartIsTidied(t *testing.T) {
	forced := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	synctest.Test(t, func(t *testing.T) {
		l := tidying(config.Runtime{GOGC: 100})
		l.Start()
		defer l.Stop()
		before := forced()
		time.Sleep(afterStart)
		synctest.Wait()
		first := forced()
		if first == before {
			t.Error("the first round has not collected")
		}
		time.Sleep(memoryEvery)
		synctest.Wait()
		if forced() != first {
			t.Error("the second round has collected, with nothing to give back")
		}
	})
}
