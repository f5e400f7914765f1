package pdftext

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// program is the file that runs, also when another was put in its place.
func program() (string, error) { return "/proc/self/exe", nil }

// attributes end a child with its parent, and keep the keyboard's signals from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

const (
	prNoNewPrivs = 38
	threads      = 64 << 20 // address space for thread stacks and the runtime's reservations
)

// confine bounds this process for good.
func confine(lim Limits) error {
	used, err := addressSpace()
	if err != nil {
		return err
	}
	// when memory is short, the system kills this process first: otherwise it might choose the gateway
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	seconds, memory := uint64(lim.CPU.Seconds()), shadow*uint64(lim.Memory)+threads
	for _, l := range []struct {
		what      int
		soft, max uint64
	}{
		{syscall.RLIMIT_CORE, 0, 0},
		{syscall.RLIMIT_FSIZE, 0, 0},
		{syscall.RLIMIT_NOFILE, 16, 16},
		{syscall.RLIMIT_CPU, seconds, seconds + 1},
		{syscall.RLIMIT_DATA, memory, memory},
		{syscall.RLIMIT_AS, used + memory, used + memory},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.what, &now); err != nil {
			return err
		}
		// a lower limit of the gateway itself is kept
		if err := syscall.Setrlimit(l.what, &syscall.Rlimit{Cur: min(l.soft, now.Max), Max: min(l.max, now.Max)}); err != nil {
			return err
		}
	}
	return noNewPrivileges()
}

// noNewPrivileges is an attribute of threads, and this process has several by now. With cgo, which only the race detector brings, the runtime
// cannot reach them all: then it holds for this one and those that it begins.
func noNewPrivileges() error {
	_, _, e := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, prNoNewPrivs, 1, 0)
	if e == syscall.ENOTSUP {
		_, _, e = syscall.RawSyscall(syscall.SYS_PRCTL, prNoNewPrivs, 1, 0)
	}
	if e != 0 {
		return e
	}
	return nil
}

// addressSpace is how many bytes are mapped: a Go program reserves much that it never uses.
func addressSpace() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, _, _ := bytes.Cut(b, []byte(" "))
	n, err := strconv.ParseUint(string(pages), 10, 64)
	return n * uint64(os.Getpagesize()), err
}
