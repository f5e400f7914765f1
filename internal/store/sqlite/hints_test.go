package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestHints(t *testing.T) {
	t.Parallel()
	storetest.Hints(t, false, func(t *testing.T) (here, there storetest.HintStore) {
		s, _ := openAccounts(t)
		return s, s
	})
}
