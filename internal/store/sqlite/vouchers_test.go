package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestVouchers(t *testing.T) {
	t.Parallel()
	storetest.Vouchers(t, func(t *testing.T) storetest.VoucherStore {
		s, _ := openAccounts(t)
		return s
	})
}
