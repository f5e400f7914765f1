package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
	"unsafe"
)

// compare measures two builds of Weir and the hand-tuned handler in turn, in slices so short that what else the machine does meets all of them
// alike, and prints the medians of the CPU time per request. It is for a change whose effect is below the noise of two runs.
func compare(ctx context.Context, s settings, other string) error {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mock, err := startSelf(ctx, dir, "mock", "")
	if err != nil {
		return err
	}
	defer mock.stop()
	yardstick, err := startSelf(ctx, dir, "handtuned", mock.address)
	if err != nil {
		return err
	}
	defer yardstick.stop()
	targets := []target{{name: targetHandtuned, vendor: benchVendor, process: yardstick}}
	for i, binary := range []string{other, s.weir} {
		home := filepath.Join(dir, fmt.Sprint("build", i))
		if err := os.Mkdir(home, 0o700); err != nil {
			return err
		}
		one := s
		one.weir = binary
		t, err := startWeir(ctx, one, home, mock)
		if err != nil {
			return err
		}
		defer t.stop()
		t.name = binary
		targets = append(targets, t)
	}
	for _, sc := range scenarios(s) {
		if sc.load.ramp > 0 || sc.load.rate > 0 { // take their own time
			continue
		}
		if err := slicesOf(ctx, targets, sc, s.passes); err != nil {
			return err
		}
	}
	return nil
}

const slice = 400 * time.Millisecond

// turn is what one server gets to do in its slices.
type turn struct {
	name string
	target
	work load
}

func slicesOf(ctx context.Context, targets []target, sc scenario, passes int) error {
	var turns []turn
	for _, t := range targets {
		work := sc.load
		work.address, work.warm, work.time, work.patience = t.address, 0, slice, 20*time.Second
		work.request = request(t.address, t.key, sc.body(newBodies(), t.vendor+sc.of))
		turns = append(turns, turn{t.name, t, work})
	}
	spent, err := inTurns(ctx, turns, passes)
	if err != nil {
		return err
	}
	for i, t := range turns {
		fmt.Printf("%-9s %-32s %8.1f us CPU each  %5.2f x\n", sc.name, t.name, float64(spent[i])/1e3, ratio(spent[i], spent[0]))
	}
	return nil
}

// inTurns does all works one after another, many times, and returns the CPU time of a request in each.
func inTurns(ctx context.Context, turns []turn, passes int) ([]time.Duration, error) {
	spent := make([][]time.Duration, len(turns))
	for round := range 10*passes + 1 {
		for i, t := range turns {
			before, err := cpuOf(t.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			f := t.work.run(ctx)
			after, err := cpuOf(t.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			if f.Errors > 0 {
				return nil, fmt.Errorf("%s: %s", t.name, f.FirstError)
			}
			if round > 0 { // the first one warms up
				spent[i] = append(spent[i], (after-before)/time.Duration(max(f.Requests, 1)))
			}
		}
	}
	each := make([]time.Duration, len(turns))
	for i := range spent {
		each[i] = quartile(spent[i])
	}
	return each, nil
}

// quartile is a quarter of the way up: noise only adds, but the smallest value may be a slice without a background task.
func quartile(d []time.Duration) time.Duration {
	slices.SortFunc(d, cmp.Compare)
	return d[len(d)/4]
}

// cpuOf is the CPU time of a process so far, to the nanosecond.
func cpuOf(pid int) (time.Duration, error) {
	const perProcess = 2 // CPUCLOCK_SCHED of the kernel: the id of a process's clock has the complement of its number above three bits
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|perProcess), uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return 0, e
	}
	return time.Duration(t.Nano()), nil
}
