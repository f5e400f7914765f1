// Package adminapi is the part of the HTTP API that the operators of a gateway run it with. Operations are declared like those of accounts, in
// package accountapi, whose types they show with what operators see beside.
package adminapi

import (
	"slices"

	"weir/internal/accountapi"
	"weir/internal/console"
	"weir/internal/invoice"
	"weir/internal/operation"
	"weir/internal/payment"
	"weir/internal/voucher"
)

// Deps are what the operations work with.
type Deps struct {
	Editor      Editor
	Console     *console.Console
	Accounts    Accounts
	Corrections Corrections

	// Of has what the pages of an account are made of: operators see the same of others.
	Of accountapi.Deps

	Vouchers *voucher.Manager
	Payments *payment.Service // nil: payments are off
	Invoices *invoice.Manager // nil: absent
}

// Operations lists the operations. With empty Deps they can be described, not performed.
func Operations(d Deps) []operation.Operation {
	return slices.Concat(users(d.Of), userActs(d.Of), nowRoutes(d.Editor, d.Console), catalogRoutes(d.Editor), rateRoutes(d.Editor), corrections(d.Corrections, d.Accounts), vouchers(d.Vouchers), payments(d.Payments), invoices(d.Invoices))
}
