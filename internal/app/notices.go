package app

import (
	"context"

	"weir/internal/accountapi"
	"weir/internal/notify"
	"weir/internal/report"
)

// makeNotices starts the notifications; nil when the operator has switched them off.
func (g *Gateway) makeNotices() *notify.Manager {
	c := g.cfg.Notify
	if !c.Enabled {
		return nil
	}
	var mailer notify.Mailer
	if g.mail != nil {
		mailer = g.mail
	}
	c.Now, c.Encode, c.Wake = g.clock, accountapi.EncodeFact, g.events.Wake
	c.Report = func(what, account string, cause notify.Cause, attempts int, err error) {
		g.slog.Warn(what, "account", account, "cause", string(cause), "attempts", attempts, "error", err)
	}
	m := notify.NewManager(g.store.Notices, g.store.People, mailer, c)
	w := notify.NewWatcher(m, report.New(g.store.Ledger, g.book), g.store.Accounts, g.catalog.Load)
	w.Start()
	g.onClose(func(context.Context) { w.Stop() })
	return m
}
