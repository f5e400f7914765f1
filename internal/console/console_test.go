package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/figures"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/rate"
)

// books are checked.
type books struct {
	sum string
	err error
}

func (b *books) Totals(context.Context) (ledger.Totals, error) {
	return ledger.Totals{Entries: 7, Sum: b.sum}, nil
}

func (b *books) VerifyAudit(context.Context, audit.Mark) (audit.Mark, error) {
	return audit.Mark{Seq: 3}, b.err
}

// bench is a node with a clock that stands.
type bench struct {
	*console.Console
	now    time.Time
	health *health.Registry
	books  books
	text   string
	ahead  time.Duration
	ep     catalog.Endpoint
}

func newBench() *bench {
	b := &bench{now: time.Unix(1_700_000_000, 0).UTC(), books: books{sum: "0"}, ep: catalog.Endpoint{ID: "p/v/m", Provider: &catalog.Provider{BaseURL: "http://p"}}}
	clock := func() time.Time { return b.now }
	b.health = health.New(health.Default(clock))
	b.Console = console.New(console.Deps{
		Node: "n1", Health: b.health, Books: &b.books, StaleAge: 30 * 24 * time.Hour, Now: clock,
		Gather: func() (*figures.Scrape, error) { return figures.Read(strings.NewReader(b.text), b.now) },
		Clock:  func(context.Context) (time.Time, error) { return b.now.Add(-b.ahead), nil },
		Self:   func() console.Node { return console.Node{Version: "v1"} },
		Others: func() []console.Node {
			return []console.Node{{ID: "n2", Report: console.Report{LagBytes: 2 << 20, Aside: 1}}}
		},
	})
	return b
}

func (b *bench) attempt(result health.Result) {
	if p, why, _ := b.health.Admit(&b.ep, ""); why == health.None {
		p.End(health.Sample{Result: result, Took: time.Second})
	}
}

// An endpoint that is ejected and returns is two events, each once, with their effect.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := newBench()
	sample := func(text string) {
		t.Helper()
		b.text = text
		if err := b.Sample(); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		b.attempt(health.Served)
	}
	sample("weir_calls_saved_total 5\n")
	for range 5 {
		b.attempt(health.Unreachable)
	}
	sample("weir_calls_saved_total 5\n")
	sample("weir_calls_saved_total 9\n")
	report := b.Report()
	if len(report.Events) != 1 || report.Events[0].Returned || report.Events[0].Calls != 4 || report.Events[0].Endpoint != "p/v/m" {
		t.Fatalf("%+v", report.Events)
	}
	if len(report.Endpoints) != 1 || !report.Endpoints[0].Ejected || !report.Endpoints[0].Until.Equal(b.now.Add(30*time.Second)) || !report.Endpoints[0].Since.Equal(b.now) {
		t.Errorf("%+v", report.Endpoints)
	}
	b.now = b.now.Add(31 * time.Second)
	b.attempt(health.Served)
	sample("weir_calls_saved_total 12\nweir_http_requests_total{route=\"POST /v1/messages\",class=\"5xx\"} 2\n")
	sample("weir_calls_saved_total 12\n")
	if events := b.Report().Events; len(events) != 2 || !events[0].Returned || events[0].Took != 31*time.Second || events[0].Saved != 7 || events[0].Failed != 2 {
		t.Errorf("%+v", events)
	}
}

// A law that does not hold at one node does not hold, and what was not looked at yet has no time.
func TestChecks(t *testing.T) {
	t.Parallel()
	b := newBench()
	of := func(r rate.Effective, asOf time.Time) map[string]console.Check {
		out := map[string]console.Check{}
		for _, c := range b.Checks(b.Nodes(), &r, asOf) {
			out[c.Kind] = c
		}
		return out
	}
	r := rate.Effective{Source: rate.CBR, Version: "cbr-x", From: b.now.Add(-24 * time.Hour)}
	is := of(r, b.now.Add(-48*time.Hour))
	if c := is[console.LedgerCheck]; !c.At.IsZero() || !is[console.AuditCheck].At.IsZero() {
		t.Errorf("what was not checked has a time: %+v", is)
	}
	if is[console.JournalCheck].OK || is[console.AsideCheck].OK || !is[console.PricesCheck].OK || is[console.PricesCheck].Value != 2 || !is[console.RateCheck].OK || is[console.RateCheck].Value != 1 {
		t.Errorf("%+v", is)
	}
	r.From = b.now.Add(-10 * 24 * time.Hour)
	if is = of(r, b.now.Add(-31*24*time.Hour)); is[console.PricesCheck].OK || is[console.RateCheck].OK {
		t.Errorf("old prices and an old rate are well: %+v", is)
	}
	if err := b.CheckBooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is = of(r, b.now); !is[console.LedgerCheck].OK || !is[console.LedgerCheck].At.Equal(b.now) || !is[console.AuditCheck].OK || is[console.AuditCheck].Value != 3 {
		t.Errorf("%+v", is)
	}
	b.books.sum, b.books.err = "-0.5", fault.New(fault.Conflict, "audit.Check", "Row 2 was changed.")
	if err := b.CheckBooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is = of(r, b.now); is[console.LedgerCheck].OK || !strings.Contains(is[console.LedgerCheck].Detail, "-0.5") || is[console.AuditCheck].OK {
		t.Errorf("%+v", is)
	}
}

// The clock of the node is compared with the database's.
func TestClock(t *testing.T) {
	t.Parallel()
	b := newBench()
	if b.Report().Known {
		t.Error("a difference is known that nobody measured")
	}
	b.ahead = 1500 * time.Millisecond
	if err := b.MeasureClock(t.Context()); err != nil || !b.Report().Known || b.Report().Ahead != b.ahead {
		t.Errorf("%v, %+v", err, b.Report().Ahead)
	}
}
