package postgres_test

import (
	"testing"
	"time"

	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

func TestBatches(t *testing.T) {
	t.Parallel()
	storetest.Batches(t, func(t *testing.T, now func() time.Time) storetest.BatchStore {
		s, _ := openStore(t, postgres.WithClock(now))
		return s
	})
}
