//go:build !linux

package pdftext

import (
	"os"
	"runtime/metrics"
	"syscall"
	"time"
)

func program() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return nil }

// confine watches this process, because the system does not bound it enough: it exits when it takes too much memory or time, or when its
// parent has ended.
func confine(lim Limits) error {
	parent := os.Getppid()
	end := time.Now().Add(lim.CPU)
	go func() {
		used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for range time.Tick(5 * time.Millisecond) {
			metrics.Read(used)
			if int64(used[0].Value.Uint64()-used[1].Value.Uint64()) > lim.Memory || time.Now().After(end) || os.Getppid() != parent {
				panic("pdftext: a limit was met") // nothing else ends a process from here
			}
		}
	}()
	return nil
}
