package app

import (
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/chat"
	"weir/internal/httpapi"
	"weir/internal/invoice"
	"weir/internal/operation"
	"weir/internal/payment"
	"weir/internal/view"
	"weir/internal/voucher"
)

// operations are those of accounts and of operators. payments and invoices are nil where they are off.
func (g *Gateway) operations(accounts *account.Manager, chats *chat.Manager, payments *httpapi.Payments, invoices *invoice.Manager) []operation.Operation {
	vouchers := voucher.NewManager(g.store, time.Now)
	var service *payment.Service
	if payments != nil {
		service = payments.Service
	}
	return slices.Concat(
		accountapi.Operations(accountapi.Deps{
			Books: g.book, Views: view.NewManager(g.store, time.Now), Vouchers: vouchers, Payments: service, Invoices: invoices, Accounts: accounts, Chats: chats, People: g.people, History: g.history,
		}),
		adminapi.Operations(adminapi.Deps{Editor: g.editor, Accounts: accounts, Corrections: g.book, Vouchers: vouchers, Payments: service, Invoices: invoices}),
	)
}
