package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestHints(t *testing.T) {
	t.Parallel()
	storetest.Hints(t, true, func(t *testing.T) (here, there storetest.HintStore) {
		s, dsn := openStore(t)
		return s, openDSN(t, dsn)
	})
}
