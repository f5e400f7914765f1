package app

import (
	"runtime"
	"testing"
)

const mb = 1 << 20

// The more is in use, the less garbage may be beside it, in percent.
func TestCollectorFollowsTheLoad(t *testing.T) {
	t.Parallel()
	m := &memory{gogc: 400, percent: 400}
	for i, step := range []struct {
		live    uint64
		percent int64
		changed bool
	}{
		{12 * mb, 400, false}, {64 * mb, 100, true}, {60 * mb, 100, false}, {600 * mb, 25, true}, {0, 400, true}, {16 * mb, 400, false}, {18 * mb, 400, false}, {20 * mb, 320, true}, {16 * mb, 400, true},
	} {
		if percent, changed := m.follow(step.live); percent != step.percent || changed != step.changed {
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
