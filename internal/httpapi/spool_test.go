package httpapi

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/fault"
)

// What was written is read again, whether it stayed in memory or not, and a large file has no name on the disk.
func TestSpool(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, spoolMemory, spoolMemory + 1, 3 * spoolMemory} {
		s := &spool{dir: t.TempDir()}
		want := bytes.Repeat([]byte("weir!"), size/5+1)[:size]
		if _, err := io.Copy(s, bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		file := s.File()
		got, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size()))
		if err != nil || !bytes.Equal(got, want) || file.Size() != int64(size) {
			t.Errorf("%d bytes of %d, %v", len(got), size, err)
		}
		if onDisk := s.file != nil; onDisk != (size > spoolMemory) || onDisk && s.b != nil {
			t.Errorf("%d bytes: on disk %t, %d in memory", size, onDisk, len(s.b))
		}
		if names, err := os.ReadDir(s.dir); err != nil || len(names) != 0 {
			t.Errorf("%d files have a name, %v", len(names), err)
		}
		s.Close()
	}
}

// A disk that is full, or not there, is no fault of the client.
func TestSpoolFull(t *testing.T) {
	t.Parallel()
	missing := &spool{dir: filepath.Join(t.TempDir(), "none")}
	if _, err := missing.Write(make([]byte, spoolMemory+1)); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no device that is always full here")
	}
	s := &spool{file: full}
	defer s.Close()
	if _, err := s.Write([]byte("x")); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%v", err)
	}
}
