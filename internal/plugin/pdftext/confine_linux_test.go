package pdftext_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/plugin/pdftext"
)

// childrenOf are the processes that a process began and that still are.
func childrenOf(pid int) (list []int) {
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, path := range tasks {
		b, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(word)
			list = append(list, n)
		}
	}
	return list
}

func procFile(pid int, name string) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + name)
	return string(b)
}

// confined reports whether a child has done the last thing that it does before it reads: it may never gain privileges any more. With the race
// detector that is so of some of its threads only.
func confined(pid int) bool {
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
	have := 0
	for _, path := range tasks {
		if b, _ := os.ReadFile(path); strings.Contains(string(b), "NoNewPrivs:\t1") {
			have++
		}
	}
	return have > 0 && (have == len(tasks) || pdftext.RaceDetector)
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for !done() {
		if ctx.Err() != nil {
			t.Fatalf("waited in vain: %s", what)
		}
		runtime.Gosched()
	}
}

// A child has given itself its limits before it reads a byte, and it has nothing that it could give away.
func TestConfined(t *testing.T) {
	t.Setenv("WEIR_SECRET", "x") // and so not parallel
	file, hold := io.Pipe()
	ended := make(chan error, 1)
	const size = 1_234_567 // by which this test recognizes its child
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := pdftext.Read(ctx, file, size, limits())
		ended <- err
	}()
	child := 0
	until(t, "the child's limits", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the child ended at once: %v", err)
		default:
		}
		for _, pid := range childrenOf(os.Getpid()) {
			if strings.Contains(procFile(pid, "cmdline"), "pdftext\x001234567\x00") && confined(pid) {
				child = pid
			}
		}
		return child != 0
	})
	want := ""
	if pdftext.RaceDetector {
		want = "GORACE=atexit_sleep_ms=0\x00"
	}
	if env := procFile(child, "environ"); env != want {
		t.Errorf("environment %q", env)
	}
	if dir, err := os.Readlink("/proc/" + strconv.Itoa(child) + "/cwd"); dir != "/" || err != nil {
		t.Errorf("in %q, %v", dir, err)
	}
	have := map[string]string{}
	for line := range strings.Lines(procFile(child, "limits")) {
		if len(line) > 36 {
			if words := strings.Fields(line[26:]); len(words) > 1 {
				have[strings.TrimSpace(line[:26])] = words[1] // the hard limit
			}
		}
	}
	for name, want := range map[string]string{"Max cpu time": "11", "Max file size": "0", "Max core file size": "0", "Max open files": "16"} {
		if have[name] != want {
			t.Errorf("%s is %q, want %s", name, have[name], want)
		}
	}
	for name, most := range map[string]int64{"Max data size": 4 << 30, "Max address space": 1 << 50} { // the race detector has much
		if n, err := strconv.ParseInt(have[name], 10, 64); err != nil || n > most {
			t.Errorf("%s is %q", name, have[name])
		}
	}
	if score := procFile(child, "oom_score_adj"); score != "1000\n" {
		t.Errorf("oom_score_adj is %q", score)
	}
	cancel()
	_ = hold.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if procFile(child, "status") != "" {
		t.Error("the child is still there")
	}
}

// A child does not outlive its parent, however that ends.
func TestChildOfKilledParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command("/proc/self/exe", "parent")
	if _, err := parent.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := 0
	until(t, "the child", func() bool {
		if list := childrenOf(parent.Process.Pid); len(list) > 0 && confined(list[0]) {
			child = list[0]
		}
		return child != 0
	})
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	until(t, "the child's end", func() bool {
		status := procFile(child, "status")
		return status == "" || strings.Contains(status, "State:\tZ")
	})
}

// Memory that a file takes is bounded by the system, whatever the reader does.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const size = 4 << 30
	lim := limits(unbound, func(l *pdftext.Limits) { l.PDF.Bytes = size })
	_, err := pdftext.Read(t.Context(), zeros{}, size, lim)
	if !errors.Is(err, pdftext.ErrCostly) {
		t.Errorf("a child with 256 MiB has read 4 GiB: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
