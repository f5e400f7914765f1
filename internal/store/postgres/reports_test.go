package postgres_test

import (
	"testing"
	"time"

	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

func TestReports(t *testing.T) {
	t.Parallel()
	storetest.Reports(t, func(t *testing.T, now func() time.Time) storetest.ReportStore {
		s, _ := openStore(t, postgres.WithClock(now))
		return s
	})
}

func TestSweeps(t *testing.T) {
	storetest.Sweeps(t, func(t *testing.T, now func() time.Time) storetest.SweepStore {
		s, _ := openStore(t, postgres.WithClock(now))
		return s
	})
}
