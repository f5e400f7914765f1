package app

import (
	"context"
	"encoding/pem"
	"slices"
	"time"

	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/apikey"
	"weir/internal/catalog/builtin"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/litellmapi"
	"weir/internal/notify"
	"weir/internal/operation"
	"weir/internal/payment/yookassa"
	"weir/internal/report"
	"weir/internal/view"
	"weir/internal/voucher"
)

// operations are those of accounts, operators and of what everybody sees. of has the parts that others use, too.
func (g *Gateway) operations(of accountapi.Deps) []operation.Operation {
	of.Books, of.Views, of.Vouchers, of.People, of.Agents, of.History = g.book, view.NewManager(g.store.Pages, time.Now), voucher.NewManager(g.store.Payments, time.Now), g.people, g.agents, g.history
	of.Docs, of.Rankings, of.Demo, of.Log = g.cfg.Web.Docs, g.cfg.Web.Rankings, g.demo.Load, g.slog
	of.ReadNotice = yookassa.ReadNotice
	of.Rates, of.Catalog, of.Videos, of.Batches = g.editor, g.catalog.Load, g.videos, g.batches
	return slices.Concat(
		accountapi.Operations(of),
		g.catalogPages.Operations(),
		litellmapi.Operations(litellmapi.Deps{Of: of, Names: g.store.Accounts}),
		adminapi.Operations(adminapi.Deps{Reconciliations: reconciler(g.store, g.editor, g.clock), Of: of, Editor: g.editor, Console: g.console, Alerts: g.alerts, MailReady: g.mail != nil, Ledger: adminapi.LedgerDeps{Checks: g.bookChecks, Books: g.store.Ledger}, Audit: g.store.Accounts, Settings: g.settings, Jobs: &console.Jobs{Work: g.store.Jobs, Notes: g.store.Notices, Videos: g.videos, Now: time.Now}, Accounts: of.Accounts, Sales: g.store.Ledger, Corrections: g.book, Vouchers: of.Vouchers, Payments: of.Payments, Invoices: of.Invoices, Fetch: priceFetch{g}, Test: g.testProvider, TestKey: g.testProviderKey, DeclaredKeys: declaredKeys, KeyVariables: builtin.KeyVariables}),
	)
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

// pageEvents are the streams that pages follow.
func (g *Gateway) pageEvents(reports *report.Reporter, keys *apikey.Manager, notices *notify.Manager) *accountapi.Events {
	c := accountapi.DefaultEvents()
	c.Most, c.MostByUser = g.cfg.Server.MaxEvents, g.cfg.Server.MaxEventsByUser
	c.KeepAlive, c.Now = g.cfg.Stream.KeepAliveEvery, g.clock
	d := accountapi.EventsDeps{Books: g.book, Reports: reports, Keys: keys, Videos: g.videos, Batches: g.batches, Status: g.statusTag(g.clock)}
	if notices != nil {
		d.Notices = notices
	}
	return accountapi.NewEvents(d, c)
}

// longestProviderTest bounds the test of a provider in the browser, where a person waits for it.
const longestProviderTest = 2 * time.Minute

// testOf is a trial as operators see it.
func testOf(t *Trial) adminapi.ProviderTest {
	one := adminapi.ProviderTest{
		Type: t.Type, Address: t.Address, Model: accountapi.OrNull(t.Model), Credential: t.Key, Skipped: accountapi.OrNull(t.Skipped), Way: t.Way, Took: t.Took.Milliseconds(),
		Wrong: accountapi.OrNull(t.Wrong), Detail: accountapi.OrNull(t.Detail), Advice: append([]string{}, t.Advice...),
	}
	if t.Usage != nil && t.Usage.Prompt.Reported {
		one.Tokens = new(t.Usage.Prompt.N + t.Usage.Completion.N)
	}
	if c := t.Authority; c != nil {
		one.Authority = &adminapi.Authority{Name: authorityName(c), Fingerprint: fingerprint(c), Ends: c.NotAfter, PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))}
	}
	return one
}

// testProvider calls a provider of the current catalog.
func (g *Gateway) testProvider(ctx context.Context, id string) ([]adminapi.ProviderTest, error) {
	ctx, stop := context.WithTimeout(ctx, longestProviderTest)
	defer stop()
	list := []adminapi.ProviderTest{}
	found, err := g.finder.once(ctx, g.built.Load().Provider(id), g.dialer)
	if err != nil {
		return nil, err
	}
	if found != nil {
		if list = append(list, testOf(found)); g.catalog.Load().ModelsOf(id) == 0 {
			return list, nil
		}
	}
	err = testProvider(ctx, g.cfg, g.dialer, g.catalog.Load(), id, false, func(t Trial) bool {
		list = append(list, testOf(&t))
		return t.Wrong != wrongAddress && t.Wrong != wrongProxy && (t.Wrong != wrongKey || t.Key > 0) // the other calls would fail alike
	})
	if err != nil {
		return nil, fault.New(fault.NotFound, "app.testProvider", "This provider serves no model yet: give it a key first.").Because(err)
	}
	return list, nil
}
