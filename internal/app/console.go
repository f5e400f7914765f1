package app

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/console"
	"weir/internal/figures"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/loop"
	"weir/internal/store"
)

// checkedBooks reads what the console checks in the background.
type checkedBooks struct{ *store.Store }

func (b checkedBooks) Totals(ctx context.Context) (ledger.Totals, error) { return b.Ledger.Totals(ctx) }

func (b checkedBooks) VerifyAudit(ctx context.Context, noted audit.Mark) (audit.Mark, error) {
	return audit.Check(b.Accounts.AuditRows(ctx), noted)
}

// makeConsole makes what operators see.
func (g *Gateway) makeConsole(metrics *httpapi.Metrics) *console.Console {
	return console.New(console.Deps{
		Node: g.book.Node(), Health: g.health, History: g.hours, Built: g.built.Load, Books: checkedBooks{g.store}, Clock: g.store.Jobs.Clock,
		StaleAge: g.cfg.PriceLists.StaleAfter, Now: time.Now,
		Gather: func() (*figures.Scrape, error) {
			families, err := metrics.Gather()
			if err != nil {
				return nil, err
			}
			return figures.Of(families, time.Now())
		},
		Keys: func() (list []console.KeyUse) {
			for _, k := range g.upstream.KeyUses() {
				list = append(list, console.KeyUse(k))
			}
			return list
		},
		Self:   func() console.Node { return g.serves().node() },
		Others: g.others.Nodes, Gone: g.others.Gone, Machine: g.machine,
	})
}

// node is what a node serves, as operators see it.
func (s serving) node() console.Node {
	return console.Node{Version: s[servesProgram], Prices: s[servesPrices], Rate: s[servesRate], Report: readReport(s[servesFigures])}
}

// sampling returns a loop that looks at the node's own metrics and clock.
func (g *Gateway) sampling() *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		if err := g.console.Sample(); err != nil {
			g.slog.Warn("the node's own metrics cannot be gathered", "error", err)
		}
		_ = g.console.MeasureClock(ctx) // a database that is away is reported by others
		return figures.Every
	})
}

const (
	checkBooksFirst = time.Minute // a node that begins has other work
	checkBooksEvery = time.Hour
)

// checkingBooks returns a loop that finds out whether the ledger sums to zero and the audit log is whole.
func (g *Gateway) checkingBooks() *loop.Loop {
	return loop.New(checkBooksFirst, func(ctx context.Context) time.Duration {
		if err := g.console.CheckBooks(ctx); err != nil && ctx.Err() == nil {
			g.slog.Warn("the books cannot be checked; it is tried again", "error", err)
		}
		return checkBooksEvery
	})
}

// askedBookChecks returns a loop within which operators may have the books checked.
func (g *Gateway) askedBookChecks() *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		g.bookChecks.Run(ctx)
		return checkBooksEvery
	})
}
