package sqlite_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestInvoices(t *testing.T) {
	t.Parallel()
	storetest.Invoices(t, func(t *testing.T) storetest.InvoiceStore {
		s, _ := openAccounts(t)
		return s
	})
}
