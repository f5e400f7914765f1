package app

import (
	"slices"
	"time"

	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/httpapi"
	"weir/internal/operation"
	"weir/internal/view"
	"weir/internal/voucher"
)

// operations are those of accounts and of operators. of has the parts that others use, too; payments is nil where they are off.
func (g *Gateway) operations(of accountapi.Deps, payments *httpapi.Payments) []operation.Operation {
	if payments != nil {
		of.Payments = payments.Service
	}
	of.Books, of.Views, of.Vouchers, of.People, of.History = g.book, view.NewManager(g.store.Pages, time.Now), voucher.NewManager(g.store.Payments, time.Now), g.people, g.history
	of.Docs, of.Rankings, of.DemoKey, of.Log = g.cfg.Web.Docs, g.cfg.Web.Rankings, g.demoKeyText, g.slog
	of.Rates, of.Catalog, of.Videos = g.editor, g.catalog.Load, g.videos
	return slices.Concat(
		accountapi.Operations(of),
		adminapi.Operations(adminapi.Deps{Editor: g.editor, Accounts: of.Accounts, Corrections: g.book, Vouchers: of.Vouchers, Payments: of.Payments, Invoices: of.Invoices}),
	)
}

// demoKeyText is the key that a demo shows to browsers on its machine, "" for other gateways.
func (g *Gateway) demoKeyText() string {
	if key := g.demoKey.Load(); key != nil {
		return *key
	}
	return ""
}
