package folder

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/internal/blob"
	"weir/internal/blob/blobtest"
	"weir/internal/fault"
)

func openIn(t *testing.T, path string) *Folder {
	t.Helper()
	f, err := Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return openIn(t, t.TempDir()) })
}

// files lists all files below a folder.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// On a full volume existing files can be read, and new ones are accepted again when there is space.
func TestFullVolume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openIn(t, dir)
	if _, _, err := f.Put(t.Context(), "old", "", strings.NewReader("kept")); err != nil {
		t.Fatal(err)
	}
	free := uint64(30 << 20)
	f.minFree, f.free = 10<<20, func(string) (uint64, error) { return free, nil }
	half := readerFunc(func(p []byte) (int, error) { free = 5 << 20; return len(p), nil })
	_, _, err := f.Put(t.Context(), "new", "", io.LimitReader(half, 64<<20))
	if !fault.Is(err, fault.StorageUnavailable) || !fault.Is(f.Ready(t.Context()), fault.StorageUnavailable) {
		t.Errorf("%v", err)
	}
	if _, _, err := f.Put(t.Context(), "newer", "", strings.NewReader("x")); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%v", err)
	}
	if list := files(t, dir); len(list) != 1 {
		t.Errorf("something is left over: %q", list)
	}
	r, _, err := f.Open(t.Context(), "old", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	free = 30 << 20
	if _, _, err := f.Put(t.Context(), "new", "", strings.NewReader("x")); err != nil {
		t.Error(err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestFreeBytes(t *testing.T) {
	t.Parallel()
	if n, err := FreeBytes(t.TempDir()); err != nil || n == 0 {
		t.Errorf("%d %v", n, err)
	}
}

// A file that was being written when the process was killed does not exist afterwards, and Sweep removes its data.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openIn(t, dir)
	if err := os.WriteFile(filepath.Join(dir, unfinished, "X"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Sweep(t.Context(), time.Now().Add(-time.Hour), 1); n != 0 || err != nil || len(files(t, dir)) != 1 {
		t.Errorf("%d %v: what is being written was taken away", n, err)
	}
	if n, err := f.Sweep(t.Context(), time.Now().Add(time.Hour), 1); n != 0 || err != nil || len(files(t, dir)) != 0 {
		t.Errorf("%d %v, %q", n, err, files(t, dir))
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "content")
	f := openIn(t, dir)
	if _, _, err := f.Put(t.Context(), "k", "", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A truncated, extended or foreign file is not served.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openIn(t, dir)
	if _, _, err := f.Put(t.Context(), "k", "video/mp4", strings.NewReader("0123456789")); err != nil {
		t.Fatal(err)
	}
	path := files(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(whole, []byte("0123456789")) || len(whole) != 10+noteBytes {
		t.Errorf("%q", whole)
	}
	for name, data := range map[string][]byte{"empty": {}, "cut": whole[:len(whole)-1], "cut in front": whole[1:], "longer": append([]byte("x"), whole...), "foreign": bytes.Repeat([]byte("x"), 500), "only the note": whole[10:]} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Open(t.Context(), "k", 0, -1); !fault.Is(err, fault.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	f := openIn(t, dir)
	d, name, err := place("test", "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, d)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Put(t.Context(), "k", "", strings.NewReader("x")); err == nil {
		t.Errorf("%s was put outside of the folder", name)
	}
	if list := files(t, other); len(list) != 0 {
		t.Errorf("%q", list)
	}
}

// Memory use does not depend on the size of a file.
func TestAllocations(t *testing.T) { // not parallel: it counts the allocations of the whole process
	f := openIn(t, t.TempDir())
	endless := readerFunc(func(p []byte) (int, error) { return len(p), nil })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := f.Put(t.Context(), "k", "", io.LimitReader(endless, 64<<20)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("putting 64 MiB allocates %d bytes", n)
	}
}

func FuzzNote(f *testing.F) {
	good := note{size: 10, sum: make([]byte, 32), mediaType: "video/mp4"}
	f.Add(good.bytes(), int64(10+noteBytes))
	f.Add([]byte(strings.Repeat("x", noteBytes-len(mark))+mark), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		n, ok := parseNote(b, size)
		if !ok {
			return
		}
		again, ok := parseNote(n.bytes(), size)
		if !ok || fmt.Sprint(again) != fmt.Sprint(n) {
			t.Errorf("%+v and %+v", n, again)
		}
	})
}
