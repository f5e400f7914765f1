package journal

import (
	"errors"
	"os"
	"syscall"
)

// zeros fills a file where the file system cannot promise blocks in another way.
func zeros(f *os.File, bytes int64) error {
	block := make([]byte, 1<<20)
	for at := int64(0); at < bytes; at += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(int64(len(block)), bytes-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}

// syncDir makes a new name in dir last. Some file systems cannot sync folders and say so; they order names themselves.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
