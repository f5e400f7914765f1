//go:build unix

package httpapi

import "syscall"

// processorTime is the processor time of this process so far, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
