package sqlite_test

import (
	"testing"

	"weir/internal/health"
	"weir/internal/store/storetest"
)

func TestHours(t *testing.T) {
	t.Parallel()
	storetest.Hours(t, func(t *testing.T) health.HourStore {
		s, _ := openAccounts(t)
		return s
	})
}
