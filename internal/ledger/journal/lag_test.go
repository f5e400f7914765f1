package journal_test

import (
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/ledger/journal"
)

// A disk that stalls makes answers wait once a record has not been on it for too long, and no longer than it stalls.
func TestAppendWaitsForAStalledDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stalled atomic.Bool
		release := make(chan struct{})
		j, err := journal.Open(t.TempDir(), usual(journal.Options{SegmentBytes: 4096, Now: time.Now, DataSync: func(f *os.File) error {
			if stalled.Load() {
				<-release
			}
			return nil
		}}))
		if err != nil {
			t.Fatal(err)
		}
		stalled.Store(true)
		var returned atomic.Int32
		appended := func() {
			if err := j.Append([]byte("record")); err != nil {
				t.Error(err)
			}
			returned.Add(1)
		}
		appended()
		time.Sleep(50 * time.Millisecond) // the sync of the first has begun, and hangs
		appended()                        // not late yet
		time.Sleep(60 * time.Millisecond)
		for range 3 {
			go appended()
		}
		synctest.Wait()
		if n := returned.Load(); n != 2 {
			t.Errorf("%d appends returned while a record of 110 ms ago was not on the disk", n)
		}
		close(release)
		synctest.Wait()
		if n := returned.Load(); n != 5 {
			t.Errorf("%d appends returned when the disk was back", n)
		}
		stalled.Store(false)
		time.Sleep(time.Second)
		appended()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
