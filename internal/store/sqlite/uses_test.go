package sqlite_test

import (
	"testing"
	"time"

	"weir/internal/limit/quota"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/store/storetest"
)

func TestUses(t *testing.T) {
	t.Parallel()
	storetest.Uses(t, func(t *testing.T, now func() time.Time) quota.Exchange {
		s, err := sqlite.Open(t.Context(), sqlitetest.New(t, t.TempDir()), sqlite.WithClock(now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
