package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestPayments(t *testing.T) {
	t.Parallel()
	storetest.Payments(t, func(t *testing.T) storetest.PaymentStore {
		s, _ := openStore(t)
		return s
	})
}
