package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestOwnKeys(t *testing.T) {
	t.Parallel()
	storetest.OwnKeys(t, func(t *testing.T) storetest.OwnKeyStore {
		s, _ := openAccounts(t)
		return s
	})
}
