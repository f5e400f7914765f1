package sqlite_test

import (
	"testing"
	"time"

	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/store/storetest"
)

func TestReports(t *testing.T) {
	t.Parallel()
	storetest.Reports(t, func(t *testing.T, now func() time.Time) storetest.ReportStore {
		s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()), sqlite.WithClock(now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestSweeps(t *testing.T) {
	storetest.Sweeps(t, func(t *testing.T, now func() time.Time) storetest.SweepStore {
		s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()), sqlite.WithClock(now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
