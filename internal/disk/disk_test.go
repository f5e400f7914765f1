package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/disk"
)

func TestSyncFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := disk.SyncFolder(dir); err != nil {
		t.Error(err)
	}
	if err := disk.SyncFolder(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.Sync(d); err != nil {
		t.Error(err)
	}
	if err := d.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("it was not closed: %v", err)
	}
	// What cannot be synced at all, as a folder of some file systems, is no error.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if err := disk.Sync(r); err != nil {
		t.Errorf("a pipe: %v", err)
	}
}
