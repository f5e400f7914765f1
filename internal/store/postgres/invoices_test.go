package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestInvoices(t *testing.T) {
	t.Parallel()
	storetest.Invoices(t, func(t *testing.T) storetest.InvoiceStore {
		s, _ := openStore(t)
		return s
	})
}
