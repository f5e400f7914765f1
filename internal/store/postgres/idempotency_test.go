package postgres_test

import (
	"testing"

	"weir/internal/idempotency"
	"weir/internal/store/storetest"
)

func TestIdempotency(t *testing.T) {
	t.Parallel()
	storetest.Idempotency(t, func(t *testing.T) idempotency.Store {
		s, _ := openStore(t)
		return s
	})
}
