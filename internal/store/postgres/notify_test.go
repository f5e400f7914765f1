package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestNotify(t *testing.T) {
	t.Parallel()
	storetest.Notify(t, func(t *testing.T) storetest.NotifyStore {
		s, _ := openStore(t)
		return s
	})
}
