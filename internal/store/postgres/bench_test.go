package postgres_test

import (
	"testing"
	"time"

	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

func BenchmarkApply(b *testing.B) {
	storetest.ApplyBench(b, func(b *testing.B) storetest.LedgerStore {
		s, err := postgres.Open(b.Context(), migrated(b))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func BenchmarkPages(b *testing.B) {
	storetest.PagesBench(b, func(b *testing.B, now func() time.Time) storetest.ReportStore {
		s, err := postgres.Open(b.Context(), migrated(b), postgres.WithClock(now))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}
