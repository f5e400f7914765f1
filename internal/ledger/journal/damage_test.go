package journal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/ledger/journal"
)

// filled makes a journal of a few files whose records are all on the disk, as the end of its process leaves it.
func filled(t testing.TB, dir string, records int) (want []string) {
	t.Helper()
	j := open(t, dir, journal.Options{SegmentBytes: 1024, Sync: journal.Always, Books: "books_1"})
	for i := range records {
		if err := j.Append(record(i)); err != nil {
			t.Fatal(err)
		}
		want = append(want, string(record(i)))
	}
	if err := j.Abandon(); err != nil {
		t.Fatal(err)
	}
	return want
}

// Whatever happens to one stretch of one file: either every record that was on the disk is read, or the journal refuses, naming what to do. After
// a repair it opens, lacks only what the damage reached, and what was damaged is kept.
func TestNoDamageGoesUnnoticed(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	want := filled(t, whole, 60)
	names := files(t, whole)
	if len(names) < 3 {
		t.Fatalf("%d files", len(names))
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			rt.Fatal(err)
		}
		name := rapid.SampledFrom(files(t, dir)).Draw(rt, "file")
		b, err := os.ReadFile(name)
		if err != nil {
			rt.Fatal(err)
		}
		from := rapid.IntRange(0, len(b)-1).Draw(rt, "from")
		length := rapid.SampledFrom([]int{1, 1, 2, 8, 100, 512, len(b)}).Draw(rt, "length")
		to := min(len(b), from+length)
		switch rapid.SampledFrom([]string{"flip", "random", "zero", "truncate"}).Draw(rt, "how") {
		case "flip":
			b[from] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		case "random":
			copy(b[from:to], rapid.SliceOfN(rapid.Byte(), to-from, to-from).Draw(rt, "bytes"))
		case "zero":
			clear(b[from:to])
		case "truncate":
			b = b[:from]
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			rt.Fatal(err)
		}
		read := func() ([]string, error) {
			j, err := journal.Open(dir, usual(journal.Options{SegmentBytes: 1024, Sync: journal.Always, Books: "books_1"}))
			if err != nil {
				return nil, err
			}
			defer func() { _ = j.Abandon() }()
			return tryAll(j, 0)
		}
		got, err := read()
		if err == nil {
			if !slices.Equal(got, want) {
				rt.Fatalf("%d of %d records were read without a word", len(got), len(want))
			}
			return
		}
		if !strings.Contains(err.Error(), "weir ledger journal repair") || !strings.Contains(err.Error(), filepath.Base(name)) {
			rt.Fatalf("the error says not what to do: %v", err)
		}
		repaired, err := journal.Repair(dir, time.Unix(1e9, 0))
		if err != nil || len(repaired) != 1 {
			rt.Fatalf("%+v, %v", repaired, err)
		}
		if copies, err := filepath.Glob(filepath.Join(dir, "damaged", filepath.Base(name)+".*")); err != nil || len(copies) != 1 {
			rt.Fatalf("%q, %v", copies, err)
		} else if kept, err := os.ReadFile(copies[0]); err != nil || !slices.Equal(kept, b) {
			rt.Fatalf("what was damaged is not kept: %v", err)
		}
		if got, err = read(); err != nil {
			rt.Fatal(err)
		}
		at := 0
		for _, rec := range got { // in order, each once, and none that never was
			next := slices.Index(want[at:], rec)
			if next < 0 {
				rt.Fatalf("%q was read, which is not next", rec)
			}
			at += next + 1
		}
		if len(want)-len(got) > 1024/frame {
			rt.Fatalf("%d of %d records are left", len(got), len(want))
		}
	})
}

// frame is about the least that a record of these tests takes.
const frame = 16

// After one flipped byte in the newest file there are whole records: they are found, and only one is given up.
func TestRepairGivesUpOnlyWhatIsDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := filled(t, dir, 8)
	name := files(t, dir)[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[strings.Index(string(b), want[3])] ^= 4
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	o := journal.Options{SegmentBytes: 1024, Books: "books_1"}
	if _, err := journal.Open(dir, usual(o)); err == nil || !strings.Contains(err.Error(), "weir ledger journal inspect") {
		t.Fatalf("%v", err)
	}
	found, err := journal.Survey(dir)
	if err != nil || len(found) != 1 || len(found[0].Holes) != 1 || found[0].Records != 7 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, repaired := range []int{1, 0} {
		if r, err := journal.Repair(dir, time.Unix(1e9, 0)); err != nil || len(r) != repaired {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	j := open(t, dir, o)
	if got := all(t, j, 0); !slices.Equal(got, slices.Delete(slices.Clone(want), 3, 4)) {
		t.Fatalf("%q", got)
	}
	if tail, err := journal.Inspect(dir, 0); err != nil || tail.Records != 7 {
		t.Fatalf("%+v, %v", tail, err)
	}
	found, err = journal.Survey(dir)
	if err != nil || len(found[0].Given) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
}

// A journal is for the books that it was written for.
func TestAnotherLedgersJournalIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filled(t, dir, 3)
	before := files(t, dir)
	_, err := journal.Open(dir, usual(journal.Options{Books: "books_2", Base: 1 << 40}))
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "books_1") || !strings.Contains(err.Error(), "books_2") {
		t.Fatalf("%v", err)
	}
	if !slices.Equal(before, files(t, dir)) {
		t.Error("files were changed")
	}
	open(t, dir, journal.Options{Books: "books_1"})
}

// Files of before there were books are read, and new ones follow them.
func TestFilesOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/version1.wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "0000000000000000.wal"), append(text, make([]byte, 100)...), 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, journal.Options{SegmentBytes: 1024, Books: "books_1"})
	if err := j.Append([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := all(t, j, 0); !slices.Equal(got, []string{"one", "two", "three", "new"}) {
		t.Fatalf("%q", got)
	}
}

// Looking at a journal that is being written finds no damage.
func TestInspectDuringWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, journal.Options{SegmentBytes: 1 << 20})
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for i := range 2000 {
				if err := j.Append(record(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	for {
		if _, err := journal.Inspect(dir, 0); err != nil {
			t.Error(err)
			break
		}
		select {
		case <-done:
			if tail, err := journal.Inspect(dir, 0); err != nil || tail.Records != 8000 {
				t.Errorf("%+v, %v", tail, err)
			}
			return
		default:
		}
	}
	<-done
}
