// Package adminapi is the part of the HTTP API that the operators of a gateway run it with. Operations are declared like those of accounts, in
// package accountapi, whose types they show with what operators see beside.
package adminapi

import (
	"slices"

	"weir/internal/invoice"
	"weir/internal/operation"
	"weir/internal/payment"
	"weir/internal/voucher"
)

// Deps are what the operations work with.
type Deps struct {
	Editor      Editor
	Accounts    Accounts
	Corrections Corrections

	Vouchers *voucher.Manager
	Payments *payment.Service // nil: payments are off
	Invoices *invoice.Manager // nil: absent
}

// Operations lists the operations. With empty Deps they can be described, not performed.
func Operations(d Deps) []operation.Operation {
	return slices.Concat(catalogRoutes(d.Editor), rateRoutes(d.Editor), corrections(d.Corrections, d.Accounts), vouchers(d.Vouchers), payments(d.Payments), invoices(d.Invoices))
}
