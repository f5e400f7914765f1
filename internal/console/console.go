// Package console is what operators see of a running gateway, of all its nodes: figures, how endpoints stand, what happened, and whether the
// money checks hold. It reads what other packages know and measures nothing of its own.
package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/figures"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/rate"
)

// Node is what a node reports of itself.
type Node struct {
	ID      string
	Seen    time.Time // its last sign of life
	Version string    // of the program
	Prices  string    // version of its price list, "" for that of the program
	Rate    string    // version of the rate that it charges by
	Differs string    // in which respects it serves something else than this node, "" in none
	Report
}

// Report is the part of it that changes all the time. It is bounded: nodes write it to the database every few seconds.
type Report struct {
	At        time.Time // when it was measured, by the clock of the node
	Ahead     time.Duration
	Known     bool // Ahead was measured: how far its clock is ahead of the database's
	InFlight  float64
	LagBytes  float64
	Aside     float64
	Now       figures.Grown
	Over      []figures.Grown // within each of figures.Ranges; of an older version none
	Newest    int64           // number of the last of Points
	Points    []figures.Point
	Endpoints []Endpoint // in use or not well, at most MaxReported
	Events    []Event    // the newest first, at most MaxEvents

	DiskFull        float64   // percent of the volume of its data, 0: not known
	CertificateFrom time.Time // of its listener, zero: it has none
	CertificateEnds time.Time
	Keys            []KeyUse // of the operators', the busiest first, at most MaxKeys
}

// Bounds of what a node reports.
const (
	MaxReported = 100
	MaxEvents   = 20
	MaxKeys     = 50
)

// Endpoint is how an endpoint stands at a node.
type Endpoint struct {
	ID       string
	InFlight int64
	Ejected  bool
	Since    time.Time // of an ejection
	Until    time.Time
	Slow     bool  // it gets calls after others, or fails
	Limited  int64 // attempts of the last five minutes that its rate limit refused

	Served, Failed         int64 // attempts of the last five minutes
	ServedLong, FailedLong int64 // of the last half hour
}

// KeyUse is what a credential of a provider did at a node within the last hour, and how it stands there.
type KeyUse struct {
	Provider, Tag string    // see catalog.KeyTag
	Calls         int64     // attempts with it
	Failed        int64     // of them, other than those that its rate limit refused
	Limited       int64     // of them, that its rate limit refused
	Running       int64     // attempts under way
	Until         time.Time // it rests until then, for some model or for all; zero: it does not
	Model         string    // the provider's id of the model that it rests for; "" for all
	RefusedAt     time.Time // its last refusal, zero without one
	Status        int       // of that
	Words         string    // what the provider said then, without secrets
}

// Event is something that happened to an endpoint at a node.
type Event struct {
	At       time.Time
	Endpoint string
	Returned bool          // it gets calls again; else it gets none
	Took     time.Duration // of a return: how long it got none

	// Of an ejection: calls that it had served in the last half hour. Of a return: what the node counted meanwhile, of all endpoints.
	Calls, Saved, Failed float64
}

// The kinds of checks.
const (
	LedgerCheck  = "ledger"  // all entries sum to zero
	JournalCheck = "journal" // the database has taken what nodes have written
	AsideCheck   = "aside"   // no charge waits for a decision
	PricesCheck  = "prices"  // age of the price list
	RateCheck    = "rate"    // what a dollar costs, and since when
	AuditCheck   = "audit"   // the chain of the audit log is whole
)

// Check is whether a law about money holds.
type Check struct {
	Kind   string
	OK     bool
	At     time.Time // when it was found out; zero: it has not been yet
	Detail string    // what is wrong, in a sentence; or a version
	Value  float64   // bytes of the journal, charges set aside, age in days
}

// Books are checked in the background.
type Books interface {
	// Totals adds up the entries of the ledger by kind of account.
	Totals(ctx context.Context) (ledger.Totals, error)
	// VerifyAudit walks the chain of the audit log, which must still have the noted row, and returns its last good row; see audit.Check.
	VerifyAudit(ctx context.Context, noted audit.Mark) (audit.Mark, error)
}

// Deps are what a Console works with.
type Deps struct {
	Node     string
	Gather   func() (*figures.Scrape, error) // the node's own metrics
	Health   *health.Registry
	History  *health.History
	Built    func() *edit.Built // the catalog in use
	Books    Books
	Clock    func(context.Context) (time.Time, error) // of the database
	Keys     func() []KeyUse                          // of this node; nil: none are known
	Self     func() Node                              // what this node serves, without Report
	Others   func() []Node                            // as they last reported
	Gone     func() []Node                            // that have stopped to report, without an end
	Machine  func(*Report)                            // adds what is known of the node's disk and certificate
	StaleAge time.Duration                            // of price lists
	Now      func() time.Time
}

// Console is what operators see. It is safe for concurrent use.
type Console struct {
	Deps
	past   figures.Past
	ledger atomic.Pointer[Check] // the last ones
	chain  atomic.Pointer[Check]
	totals atomic.Pointer[ledger.Totals]
	ahead  atomic.Pointer[time.Duration]

	mu     sync.Mutex
	out    map[string]ejection
	events []Event // the newest first
}

// ejection is an endpoint that gets no calls, and what the node had counted when that began.
type ejection struct {
	at     time.Time
	before figures.Totals
}

// New makes a Console.
func New(d Deps) *Console { return &Console{Deps: d, out: map[string]ejection{}} }

// Sample looks at the node's metrics and at its endpoints. It is called every figures.Every.
func (c *Console) Sample() error {
	s, err := c.Gather()
	if err != nil {
		return err
	}
	t := s.Totals()
	c.past.Add(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.Health.Known() {
		was, known := c.out[id]
		switch now := c.Health.Standing(id).Ejected; {
		case now && !known:
			c.out[id] = ejection{t.At, t}
			f := c.Health.Window(id, health.HalfHour)
			c.note(Event{At: t.At, Endpoint: id, Calls: float64(f.Served)})
		case !now && known:
			delete(c.out, id)
			g := figures.Between(&was.before, &t, t.At.Sub(was.at).Seconds())
			c.note(Event{At: t.At, Endpoint: id, Returned: true, Took: t.At.Sub(was.at), Saved: g.Saved, Failed: g.Failed})
		}
	}
	return nil
}

func (c *Console) note(e Event) {
	c.events = append([]Event{e}, c.events[:min(len(c.events), MaxEvents-1)]...)
}

// MeasureClock compares the node's clock with the database's. What took long says little, and is left out.
func (c *Console) MeasureClock(ctx context.Context) error {
	before := c.Now()
	at, err := c.Clock(ctx)
	if err != nil {
		return err
	}
	after := c.Now()
	if took := after.Sub(before); took <= time.Second {
		ahead := before.Add(took / 2).Sub(at).Round(time.Millisecond)
		c.ahead.Store(&ahead)
	}
	return nil
}

// CheckBooks finds out whether the ledger sums to zero and the audit log is whole. It reads all of both.
func (c *Console) CheckBooks(ctx context.Context) error {
	totals, err := c.Books.Totals(ctx)
	if err != nil {
		return err
	}
	books := Check{Kind: LedgerCheck, OK: totals.Sum == "0", At: c.Now(), Value: float64(totals.Entries)}
	if !books.OK {
		books.Detail = fmt.Sprintf("The sum of all entries is %s rubles. Run: weir ledger verify", totals.Sum)
	}
	if _, _, err = c.CheckAudit(ctx, audit.Mark{}); err != nil {
		return err
	}
	c.totals.Store(&totals)
	c.ledger.Store(&books)
	return nil
}

// LedgerTotals are the sums of the ledger as they were found last, and when; nil before the first time.
func (c *Console) LedgerTotals() (*ledger.Totals, time.Time) {
	if k := c.ledger.Load(); k != nil {
		return c.totals.Load(), k.At
	}
	return nil, time.Time{}
}

// CheckAudit walks the whole audit log, which must still have the noted row. It returns the last good row. A log that was tampered with is no error: the check says
// so, and is what Checks show until the next one, unless it was compared with a mark.
func (c *Console) CheckAudit(ctx context.Context, noted audit.Mark) (Check, audit.Mark, error) {
	end, err := c.Books.VerifyAudit(ctx, noted)
	chain := Check{Kind: AuditCheck, OK: err == nil, At: c.Now(), Value: float64(end.Seq)}
	if err != nil {
		if !fault.Is(err, fault.Conflict) {
			return chain, end, err
		}
		chain.Detail = fault.From(err).Public
	}
	if noted == (audit.Mark{}) {
		c.chain.Store(&chain)
	}
	return chain, end, nil
}

// Chain is the last check of the audit log; its time is zero before the first.
func (c *Console) Chain() Check {
	if known := c.chain.Load(); known != nil {
		return *known
	}
	return Check{Kind: AuditCheck, OK: true}
}

// Report is what this node reports of itself.
func (c *Console) Report() Report {
	g, last := c.past.Now()
	t := Report{At: last.At, InFlight: last.InFlight, LagBytes: last.LagBytes, Aside: last.Aside, Now: g}
	t.Over = c.past.Over()
	t.Newest, t.Points = c.past.Points()
	if c.Machine != nil {
		c.Machine(&t)
	}
	if ahead := c.ahead.Load(); ahead != nil {
		t.Ahead, t.Known = *ahead, true
	}
	c.mu.Lock()
	since := maps.Clone(c.out)
	t.Events = slices.Clone(c.events)
	c.mu.Unlock()
	for _, id := range c.Health.Known() {
		s := c.Health.Standing(id)
		five, half := c.Health.Window(id, health.FiveMinutes), c.Health.Window(id, health.HalfHour)
		e := Endpoint{
			ID: id, Since: since[id].at, InFlight: s.InFlight, Ejected: s.Ejected, Until: s.Until, Slow: s.CoolDown || s.Failing, Limited: five.Limited,
			Served: five.Served, Failed: five.Failed, ServedLong: half.Served, FailedLong: half.Failed,
		}
		if e.Ejected || e.Slow || e.InFlight > 0 || e.Limited > 0 || e.ServedLong+e.FailedLong > 0 {
			t.Endpoints = append(t.Endpoints, e)
		}
	}
	slices.SortFunc(t.Endpoints, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.InFlight, a.InFlight), cmp.Compare(b.ServedLong+b.FailedLong, a.ServedLong+a.FailedLong), cmp.Compare(a.ID, b.ID))
	})
	t.Endpoints = t.Endpoints[:min(len(t.Endpoints), MaxReported)]
	if c.Keys != nil {
		t.Keys = c.Keys()
		slices.SortStableFunc(t.Keys, func(a, b KeyUse) int { return cmp.Compare(b.Calls, a.Calls) })
		t.Keys = t.Keys[:min(len(t.Keys), MaxKeys)]
	}
	return t
}

func rank(e *Endpoint) int {
	switch {
	case e.Ejected:
		return 0
	case e.Slow:
		return 1
	}
	return 2
}

// Nodes are all nodes, this one first.
func (c *Console) Nodes() []Node {
	self := c.Self()
	self.ID, self.Report, self.Seen = c.Node, c.Report(), c.Now()
	return append([]Node{self}, c.Others()...)
}

// Checks are the laws about money, as the nodes and this one's background work know them.
func (c *Console) Checks(nodes []Node, r *rate.Effective, asOf time.Time) []Check {
	now := c.Now()
	out := []Check{{Kind: LedgerCheck, OK: true}, {Kind: JournalCheck, At: now}, {Kind: AsideCheck, At: now}, {Kind: PricesCheck, OK: true, At: now}, {Kind: RateCheck, OK: true, At: r.From, Detail: r.Version}, {}}
	for i := range nodes {
		out[1].Value += nodes[i].LagBytes
		out[2].Value += nodes[i].Aside
	}
	out[1].OK, out[2].OK = out[1].Value <= maxLag, out[2].Value == 0
	if !asOf.IsZero() {
		out[3].Value, out[3].Detail = float64(int(now.Sub(asOf).Hours()/24)), asOf.Format(time.DateOnly)
		out[3].OK = now.Sub(asOf) <= c.StaleAge
	}
	if r.Source == rate.CBR {
		out[4].OK = now.Sub(r.From) <= maxRateAge
	}
	out[4].Value = float64(int(max(now.Sub(r.From), 0).Hours() / 24))
	if r.From.IsZero() {
		out[4].Value = 0
	}
	if known := c.ledger.Load(); known != nil {
		out[0] = *known
	}
	out[5] = c.Chain()
	return out
}

const (
	maxLag     = 1 << 20 // bytes of the journal: seconds of a busy node
	maxRateAge = 5 * 24 * time.Hour
)
