package sqlite_test

import (
	"testing"

	"weir/internal/history"
	"weir/internal/store/storetest"
)

func TestResponses(t *testing.T) {
	t.Parallel()
	storetest.Responses(t, func(t *testing.T) history.Store {
		s, _ := openAccounts(t)
		return s
	})
}
