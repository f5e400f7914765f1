package httpserver

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/fault"
	"weir/internal/limit"
)

// What was written is read again, whether it stayed in memory or not, and a large file has no name on the disk.
func TestSpool(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, spoolMemory, spoolMemory + 1, 3 * spoolMemory} {
		s := testSpool(t, t.TempDir(), nil)
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
		if names, err := os.ReadDir(s.disk.dir); err != nil || len(names) != 0 {
			t.Errorf("%d files have a name, %v", len(names), err)
		}
		s.Close()
		if d := s.disk; d.bytes.Used() != 0 || d.uploads.Used() != 0 || d.promise.Load() != 0 {
			t.Errorf("%d bytes of disk, %d uploads and %d promised bytes are left", d.bytes.Used(), d.uploads.Used(), d.promise.Load())
		}
		m := s.memory.(*taken)
		m.Close()
		if used := m.budget.Used(); used != 0 {
			t.Errorf("%d bytes of memory are left", used)
		}
	}
}

// taken is the memory of a request of a user alone.
type taken struct {
	limit.Tab
	budget *limit.Budget
}

func (m *taken) Charge(n int64) error {
	if m.Take(n) != limit.None {
		return fault.New(fault.Overloaded, "taken.Charge", "The memory is taken.")
	}
	return nil
}

func newMemory() *taken {
	m := &taken{budget: limit.NewBudget(1<<20, 0)}
	m.Open(m.budget, "usr_1")
	return m
}

// testSpool is the file of an upload with a share of 3 MiB of the disk and one upload. edit may be nil.
func testSpool(t *testing.T, dir string, edit func(*Disk)) *Spool {
	t.Helper()
	d := &Disk{dir: dir, uploads: limit.NewBudget(2, 1), bytes: limit.NewBudget(4<<20, 3<<20)}
	if edit != nil {
		edit(d)
	}
	s, err := d.NewSpool("usr_1", newMemory(), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// One user has a part of the disk and of the uploads, the last of the volume is left alone, and what is refused is given back.
func TestSpoolIsShared(t *testing.T) {
	t.Parallel()
	piece := make([]byte, 64<<10)
	fill := func(s *Spool) (n int64, err error) {
		for err == nil {
			_, err = s.Write(piece)
			n += int64(len(piece))
		}
		return n - int64(len(piece)), err
	}
	free := int64(10 << 20)
	for name, c := range map[string]struct {
		edit func(*Disk)
		most int64
		kind fault.Kind
	}{
		"user":   {nil, 3 << 20, fault.RateLimited},
		"node":   {func(d *Disk) { d.bytes = limit.NewBudget(2<<20, 0) }, 2 << 20, fault.Overloaded},
		"volume": {func(d *Disk) { d.minFree, d.free = 8<<20, func() (int64, error) { return free, nil } }, 2 << 20, fault.StorageUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testSpool(t, t.TempDir(), c.edit)
			if name == "volume" { // what is written is gone from the volume
				written := &s.onDisk
				s.disk.free = func() (int64, error) { return free - *written, nil }
			}
			if _, err := s.disk.NewSpool("usr_1", newMemory(), false); !fault.Is(err, fault.RateLimited) {
				t.Errorf("a second upload: %v", err)
			}
			n, err := fill(s)
			if n != c.most || !fault.Is(err, c.kind) {
				t.Errorf("%d bytes, then %v; want %d and %s", n, err, c.most, c.kind)
			}
			s.Close()
			if d := s.disk; d.bytes.Used() != 0 || d.uploads.Used() != 0 || d.promise.Load() != 0 {
				t.Errorf("%d bytes of disk, %d uploads and %d promised bytes are left", d.bytes.Used(), d.uploads.Used(), d.promise.Load())
			}
		})
	}
}

// A disk that is full, or not there, is no fault of the client.
func TestSpoolFull(t *testing.T) {
	t.Parallel()
	missing := testSpool(t, filepath.Join(t.TempDir(), "none"), nil)
	if _, err := missing.Write(make([]byte, spoolMemory+1)); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no device that is always full here")
	}
	s := testSpool(t, "", nil)
	s.file = full
	defer s.Close()
	if _, err := s.Write([]byte("x")); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%v", err)
	}
}
