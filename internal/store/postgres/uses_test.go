package postgres_test

import (
	"testing"
	"time"

	"weir/internal/limit/quota"
	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

func TestUses(t *testing.T) {
	t.Parallel()
	storetest.Uses(t, func(t *testing.T, now func() time.Time) quota.Exchange {
		s, _ := openStore(t, postgres.WithClock(now))
		return s
	})
}
