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

// operations are those of accounts, operators and of what everybody sees. of has the parts that others use, too; payments is nil where they are off.
func (g *Gateway) operations(of accountapi.Deps, payments *httpapi.Payments) []operation.Operation {
	if payments != nil {
		of.Payments = payments.Service
	}
	of.Books, of.Views, of.Vouchers, of.People, of.History = g.book, view.NewManager(g.store.Pages, time.Now), voucher.NewManager(g.store.Payments, time.Now), g.people, g.history
	of.Docs, of.Rankings, of.DemoKey, of.Log = g.cfg.Web.Docs, g.cfg.Web.Rankings, g.demoKeyText, g.slog
	of.Rates, of.Catalog, of.Videos = g.editor, g.catalog.Load, g.videos
	return slices.Concat(
		accountapi.Operations(of),
		g.catalogPages.Operations(),
		adminapi.Operations(adminapi.Deps{Of: of, Editor: g.editor, Console: g.console, Accounts: of.Accounts, Corrections: g.book, Vouchers: of.Vouchers, Payments: of.Payments, Invoices: of.Invoices}),
	)
}

// demoKeyText is the key that a demo shows to browsers on its machine, "" for other gateways.
func (g *Gateway) demoKeyText() string {
	if key := g.demoKey.Load(); key != nil {
		return *key
	}
	return ""
}

// statusTag identifies what everybody is shown of the status of providers; nil: it is not shown.
func (g *Gateway) statusTag(now func() time.Time) func() string {
	if !g.cfg.Web.Status {
		return nil
	}
	return func() string {
		shown, err := g.catalogPages.ShownStatus(now())
		if err != nil {
			return ""
		}
		return shown.Tag()
	}
}
