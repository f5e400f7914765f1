// Package disk makes names in folders last.
package disk

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// SyncFolder waits until the names in a folder are on the disk: a file that was made, renamed or removed there stays so when the machine loses
// power. Some file systems cannot sync folders and say so, and Windows allows no program to: they order names themselves.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return Sync(d)
}

// Sync is SyncFolder for a folder that is open. It closes it.
func Sync(d *os.File) error {
	var err error
	if runtime.GOOS != "windows" {
		err = d.Sync()
	}
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
