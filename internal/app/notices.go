package app

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/notify"
	"weir/internal/report"
)

// noticesPoll is the pause between looks for accounts to check and mails to send.
const noticesPoll = 5 * time.Second

// makeNotices starts the notifications; nil when the operator has switched them off.
func (g *Gateway) makeNotices() (*notify.Manager, error) {
	c := &g.cfg.Notify
	if !c.Enabled {
		return nil, nil //nolint:nilnil // the configuration has no notifications
	}
	low, err := c.Low()
	if err != nil {
		return nil, err
	}
	var mailer notify.Mailer
	if g.mail != nil {
		mailer = g.mail
	}
	m := notify.NewManager(g.store.Notices, g.store.People, mailer, notify.Config{
		Now: g.clock, Defaults: c.Defaults(), Threshold: low, TestsADay: int(c.TestsPerDay), CheckEvery: c.CheckEvery, Poll: min(noticesPoll, c.CheckEvery),
		MailEvery: time.Minute / time.Duration(c.MailsPerMinute), Encode: accountapi.EncodeFact, Wake: g.events.Wake,
		Report: func(what, account string, cause notify.Cause, attempts int, err error) {
			g.slog.Warn(what, "account", account, "cause", string(cause), "attempts", attempts, "error", err)
		},
	})
	w := notify.NewWatcher(m, report.New(g.store.Ledger, g.book), g.store.Accounts, g.catalog.Load)
	w.Start()
	g.onClose(func(context.Context) { w.Stop() })
	return m, nil
}
