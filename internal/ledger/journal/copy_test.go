package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir/internal/ledger/journal"
)

// Copies are made while records are appended and files are dropped. Each has every record that was written before and not dropped, and can
// be opened: nothing is missing between its records.
func TestCopyOfAJournalInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	claim, err := journal.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = claim.Release() })
	if err := claim.SetLives("life_2", "life_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Keep(dir, "gen-1", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, journal.Options{SegmentBytes: 4 << 10, Sync: journal.Never})
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Add(1)
	go func() {
		defer writer.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := j.Append(record(i)); err != nil {
				t.Error(err)
				return
			}
			if i%50 == 49 {
				if err := j.Drop(j.End() - 8<<10); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	defer writer.Wait()
	defer close(stop)
	for range rounds {
		written := j.End()
		to := filepath.Join(t.TempDir(), "copy")
		if err := journal.Copy(dir, to); err != nil {
			t.Fatal(err)
		}
		c, err := journal.Open(to, usual(journal.Options{SegmentBytes: 4 << 10, Sync: journal.Never}))
		if err != nil {
			t.Fatal(err)
		}
		if kept := j.First(); c.First() > kept || c.End() < written {
			t.Errorf("the copy has records from %d to %d; %d was written before it, and what is from %d on was not dropped while it was made", c.First(), c.End(), written, kept)
		}
		recs := all(t, c, c.First())
		for i, rec := range recs {
			var n, first int
			if _, err := fmt.Sscanf(rec, "record %d", &n); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscanf(recs[0], "record %d", &first); err != nil {
				t.Fatal(err)
			}
			if n != first+i || rec != string(record(n)) {
				t.Fatalf("record %d is %q, and the first is %q", i, rec, recs[0])
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(to, "lock")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the lock was copied, or: %v", err)
		}
		if rec, err := os.ReadFile(filepath.Join(to, "aside", "gen-1.record")); string(rec) != "kept" {
			t.Errorf("the record that was set aside is %q, %v", rec, err)
		}
		again, err := journal.Take(to)
		if err != nil {
			t.Fatal(err)
		}
		if again.Node != claim.Node || strings.Join(again.Lives, " ") != "life_2 life_1" {
			t.Errorf("the copy is %s with %v, and the original %s", again.Node, again.Lives, claim.Node)
		}
		_ = again.Release()
	}
}

func TestCopyOfNoJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := journal.Copy(filepath.Join(dir, "none"), filepath.Join(dir, "copy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
