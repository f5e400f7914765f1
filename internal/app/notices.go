package app

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/notify"
	"weir/internal/report"
)

// makeNotices starts the notifications; nil when the operator has switched them off.
func (g *Gateway) makeNotices(budgets *budget.Manager) *notify.Manager {
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
	w.Budgets = standing{budgets, g.book, g.store.Accounts}
	w.Start()
	g.onClose(func(context.Context) { w.Stop() })
	return m
}

// writeLoopsEvery is how soon it is known that an agent repeats itself.
const writeLoopsEvery = 2 * time.Second

// standing says how budgets and agents of accounts stand.
type standing struct {
	budgets *budget.Manager
	book    *ledger.Book
	apikey.Store
}

// Standing is notify.Budgets.Standing.
func (s standing) Standing(ctx context.Context, account, wallet string) ([]notify.Standing, error) {
	list, err := s.budgets.List(ctx, account)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	limits := make([]ledger.Limit, len(list))
	for i := range list {
		limits[i] = ledger.Limit{ID: list[i].ID, Reset: list[i].Reset}
	}
	spent, err := s.budgets.Spent(ctx, s.book, wallet, limits)
	if err != nil {
		return nil, err
	}
	all := make([]notify.Standing, len(list))
	for i := range list {
		all[i] = notify.Standing{Budget: list[i], Spending: spent[i]}
	}
	return all, nil
}
