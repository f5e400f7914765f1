package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func BenchmarkApply(b *testing.B) {
	storetest.ApplyBench(b, func(b *testing.B) storetest.LedgerStore {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "weir.db"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func BenchmarkPages(b *testing.B) {
	storetest.PagesBench(b, func(b *testing.B, now func() time.Time) (storetest.ReportStore, func() error) {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "weir.db"), sqlite.WithClock(now))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s, nil
	})
}
