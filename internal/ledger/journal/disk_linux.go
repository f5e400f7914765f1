package journal

import (
	"errors"
	"os"
	"syscall"
)

// allocate gives f its size and its blocks, so that writing into it later never meets a full disk.
func allocate(f *os.File, bytes int64) error {
	var err error
	for range 16 { // a signal may interrupt it
		if err = syscall.Fallocate(int(f.Fd()), 0, 0, bytes); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return zeros(f, bytes)
	}
	return err
}

// dataSync waits until the data written to f is on the disk.
func dataSync(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			if failed = syscall.Fdatasync(int(fd)); !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, failed)
}

func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
