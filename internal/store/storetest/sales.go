package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/usage"
)

// sales are calls and refunds as they were made, and what the ledger must say of them.
type sales struct {
	s       *store.Store
	now     time.Time
	calls   []record.Call
	refunds []refundMade
	batch   ledger.Batch
	since   time.Time // calls from before were dropped
}

type refundMade struct {
	call   int
	before money.Nano
	amount money.Nano
	at     time.Time
}

// Sales checks that sales over each of their dimensions are the sums of calls and refunds, and of the ledger, to the nano-ruble.
func Sales(t *testing.T, open Open) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	x := &sales{s: open(t, func() time.Time { return now }), now: now, batch: ledger.Batch{Node: "node", Now: now}}
	for i := range 3 {
		u := account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: fmt.Sprint("wal_", i), CreatedAt: now}
		ok(t, x.s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{})))
	}
	if _, err := x.s.Ledger.Position(t.Context(), "node"); err != nil {
		t.Fatal(err)
	}
	// days of accounts are not those of sales
	if _, err := x.s.Accounts.SetZone(t.Context(), "wal_1", "Asia/Kamchatka", now.AddDate(0, 0, -9), audit.Event{Action: audit.UserTimezone, Target: "usr_1"}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			x.call(rt)
		}
		x.apply(t)
		for range rapid.IntRange(0, 3).Draw(rt, "refunds") {
			x.refund(t, rt)
		}
		x.agrees(rt, x.query(rt), x.made)
		x.ended(rt, x.resultQuery(rt))
	})
	whole := report.SalesQuery{From: report.Day.Floor(now.AddDate(0, 0, -75)), To: report.Day.Floor(now.AddDate(0, 0, 1))}
	check := func(what string, made func(report.SalesQuery) map[report.SaleDay]report.Sale) {
		t.Helper()
		x.agrees(t, whole, made)
		x.endedWhole(t)
		x.ledger(t, whole)
		x.verified(t, what)
	}
	check("as applied", x.made)
	ok(t, x.s.Ledger.RebuildRollUps(t.Context()))
	check("rebuilt", x.made)
	ok(t, x.s.Ledger.FillSales(t.Context(), audit.Actor{Name: "test"}, payAt))
	check("filled", x.made)
	dropped := report.Day.Floor(now.AddDate(0, 0, -4))
	for after, more := "", true; more; more = after != "" {
		var err error
		if after, _, err = x.s.Ledger.SweepCalls(t.Context(), dropped, after, 50); err != nil {
			t.Fatal(err)
		}
	}
	x.since = dropped
	check("after calls were dropped", x.made)
	// of calls that were dropped before sales were kept, neither VAT nor cost is known, and refunds belong to the day of the call
	ok(t, x.s.Ledger.FillSales(t.Context(), audit.Actor{Name: "test"}, payAt))
	check("filled after calls were dropped", func(q report.SalesQuery) map[report.SaleDay]report.Sale {
		return x.sums(q, func(c *record.Call) bool { return c.At.Before(dropped) })
	})
	rows, err := x.s.Accounts.AuditFound(t.Context(), audit.Search{Action: audit.SalesFilled, Limit: 10})
	if err != nil || len(rows) != 2 || rows[0].Actor.Name != "test" {
		t.Errorf("the audit log: %+v, %v", rows, err)
	}
}

// call makes a call with tokens of a known or unknown price, charged or not.
func (x *sales) call(rt *rapid.T) {
	n := len(x.calls)
	wallet := rapid.IntRange(0, 2).Draw(rt, "wallet")
	at := x.now.Add(-time.Duration(rapid.Int64Range(0, int64(70*24*time.Hour)).Draw(rt, "at"))).Truncate(time.Microsecond)
	c := record.Call{
		Generation: fmt.Sprintf("gen-%d-%020d", at.Unix(), n), Wallet: fmt.Sprint("wal_", wallet), User: fmt.Sprint("usr_", wallet), API: rapid.SampledFrom([]string{"completions", "messages"}).Draw(rt, "api"), At: at,
		Model: rapid.SampledFrom([]string{"a/x", "a/y", "b/z"}).Draw(rt, "model"), Provider: rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "provider"), Status: 200, Settled: true,
		Rate: rapid.SampledFrom([]string{"usd=92.5 margin=0.1 vat=22", "usd=81.2345 margin=0 vat=+22", "usd=90 margin=0.05", "rub vat=20"}).Draw(rt, "rate"),
	}
	c.Endpoint = c.Provider + "/" + c.Model
	tokens := rapid.Int64Range(0, 50_000)
	prompt, cached, out := tokens.Draw(rt, "prompt"), tokens.Draw(rt, "cached"), tokens.Draw(rt, "out")
	c.Usage = usage.Usage{Prompt: usage.Of(prompt + cached), CacheRead: usage.Of(cached), Completion: usage.Of(out)}
	dollars := func(price string) string {
		if strings.HasPrefix(c.Rate, "rub") {
			return ""
		}
		return price
	}
	price := rapid.Int64Range(0, 3_000_000_000)
	c.Lines = []usage.Line{
		{Kind: usage.KindPrompt, Quantity: prompt, Price: price.Draw(rt, "price"), Dollars: dollars("3")}, {Kind: usage.KindCacheRead, Quantity: cached, Price: price.Draw(rt, "price of cache"), Dollars: dollars("0.3")},
		{Kind: usage.KindCompletion, Quantity: out, Price: price.Draw(rt, "price of completion"), Dollars: dollars("15.0000001")},
	}
	var err error
	if c.Cost, err = usage.Total(c.Lines); err != nil {
		rt.Fatal(err)
	}
	switch rapid.IntRange(0, 9).Draw(rt, "kind") {
	case 0:
		c.Usage.UpstreamCost = "0.123456789"
	case 1:
		c.OwnKey = "pk_1"
	case 2: // the provider asks for a call that failed
		c.Settled, c.Cost, c.Lines, c.Error, c.Status, c.Usage = false, 0, nil, "timeout", 504, usage.Usage{UpstreamCost: "0.01"}
	case 4:
		c.Error, c.Cancelled = "canceled", true
	case 3:
		c.Settled, c.Cost, c.Lines, c.Error, c.Status, c.Usage, c.Model, c.Provider, c.Endpoint = false, 0, nil, "provider_unavailable", 503, usage.Usage{}, "", "", ""
	}
	for _, tag := range rapid.SliceOfN(rapid.SampledFrom([]string{"", keyTag, otherTag}), 0, 3).Draw(rt, "attempts") {
		c.Attempts = append(c.Attempts, record.Attempt{Endpoint: "p/" + c.Model, Provider: "p", ProviderKey: tag, Status: 503, Reason: "provider_unavailable"})
	}
	x.calls = append(x.calls, c)
	x.batch.Items = append(x.batch.Items, ledger.Encode(ledger.Item{Call: c}))
}

func (x *sales) apply(t *testing.T) {
	x.batch.To = x.batch.From + int64(len(x.batch.Items))
	if to, err := x.s.Ledger.Apply(t.Context(), &x.batch); err != nil || to != x.batch.To {
		t.Fatal(to, err)
	}
	x.batch.From, x.batch.Items = x.batch.To, nil
}

// refund gives a part of a call back, on some day after it.
func (x *sales) refund(t *testing.T, rt *rapid.T) {
	i := rapid.IntRange(0, len(x.calls)-1).Draw(rt, "refunded")
	c := &x.calls[i]
	var before money.Nano
	last := c.At
	for _, r := range x.refunds {
		if r.call == i {
			before += r.amount
			last = r.at
		}
	}
	if c.Cost <= before {
		return
	}
	r := refundMade{i, before, money.Nano(rapid.Int64Range(1, int64(c.Cost-before)).Draw(rt, "amount")), last.Add(time.Duration(rapid.Int64Range(0, int64(x.now.Sub(last))).Draw(rt, "after"))).Truncate(time.Microsecond)}
	_, err := x.s.Ledger.Post(t.Context(), ledger.Posting{
		Wallet: c.Wallet, Kind: ledger.RefundKind, Ref: fmt.Sprint("refund:", len(x.refunds)), Against: ledger.RefundAccount + c.Generation, Amount: r.amount, Reason: "r", At: r.at,
	})
	if err != nil {
		t.Fatal(err)
	}
	x.refunds = append(x.refunds, r)
}

func (x *sales) query(rt *rapid.T) report.SalesQuery {
	from := report.Day.Floor(x.now).AddDate(0, 0, -rapid.IntRange(0, 70).Draw(rt, "from"))
	q := report.SalesQuery{From: from, To: from.AddDate(0, 0, rapid.SampledFrom([]int{1, 4, 11, 31, 45, 71}).Draw(rt, "days"))}
	q.Model = rapid.SampledFrom([]string{"", "", "a/x", report.Nothing}).Draw(rt, "only model")
	q.Provider = rapid.SampledFrom([]string{"", "", "p"}).Draw(rt, "only provider")
	q.Account = rapid.SampledFrom([]string{"", "", "wal_1"}).Draw(rt, "only account")
	return q
}

func (x *sales) made(q report.SalesQuery) map[report.SaleDay]report.Sale {
	return x.sums(q, func(*record.Call) bool { return false })
}

// sums adds calls and refunds up one by one. gone are those of which only what the hours have is known.
func (x *sales) sums(q report.SalesQuery, gone func(*record.Call) bool) map[report.SaleDay]report.Sale {
	rows := map[report.SaleDay]report.Sale{}
	fits := func(only, value string) bool {
		return only == "" || only == value || only == report.Nothing && value == ""
	}
	add := func(c *record.Call, at time.Time, s report.Sale) {
		day := report.Day.Floor(at)
		if day.Before(q.From) || !day.Before(q.To) || !fits(q.Model, c.Model) || !fits(q.Provider, c.Provider) || !fits(q.Account, c.Wallet) {
			return
		}
		k := report.SaleDay{Day: day, Wallet: c.Wallet, Model: c.Model, Provider: c.Provider}
		sum := rows[k]
		sum.Add(&s)
		rows[k] = sum
	}
	for i := range x.calls {
		c := &x.calls[i]
		u := &c.Usage
		s := report.Sale{Calls: 1, Prompt: u.Prompt.N, CacheRead: u.CacheRead.N, Completion: u.Completion.N, Sales: c.Cost}
		if c.Settled {
			s.Charged = 1
		}
		m, known := report.MarginOf(c)
		switch {
		case gone(c):
			s.Unknown, s.UnknownNet = s.Charged, c.Cost
		case !known:
			s.VAT, s.Unknown = report.VATOf(c), 1
			s.UnknownNet = c.Cost - s.VAT
		default:
			s.VAT, s.Upstream = m.VAT, m.Upstream
			if c.OwnKey == "" && (len(c.Lines) > 0 || c.Usage.UpstreamCost != "") {
				s.Dollars, _ = report.UpstreamDollars(c)
			}
			lost := map[report.Loss]*money.Nano{report.LossPrice: &s.LostPrice, report.LossCache: &s.LostCache, report.LossReported: &s.LostReported, report.LossUncharged: &s.LostUncharged}
			if m.Margin < 0 {
				s.Losing, *lost[report.LossOf(c, &m)] = 1, -m.Margin
			}
		}
		add(c, c.At, s)
	}
	for _, r := range x.refunds {
		c := &x.calls[r.call]
		if gone(c) {
			add(c, c.At, report.Sale{Refunded: r.amount})
			continue
		}
		part := *c
		part.Cost = r.before + r.amount
		vat := report.VATOf(&part)
		part.Cost = r.before
		add(c, r.at, report.Sale{Refunded: r.amount, RefundedVAT: vat - report.VATOf(&part)})
	}
	return rows
}

type failing interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Helper()
}

// agrees compares sales over each dimension, and as the rows of a file, with what was made.
func (x *sales) agrees(t failing, q report.SalesQuery, made func(report.SalesQuery) map[report.SaleDay]report.Sale) {
	t.Helper()
	rows := made(q)
	r := report.New(x.s.Ledger, flushed{x.s.Ledger})
	var total report.Sale
	for _, s := range rows {
		total.Add(&s)
	}
	for part, key := range map[report.Part]func(report.SaleDay) string{
		report.Model: func(k report.SaleDay) string { return k.Model }, report.Provider: func(k report.SaleDay) string { return k.Provider },
		report.ByAccount: func(k report.SaleDay) string { return k.Wallet }, report.ByDay: func(k report.SaleDay) string { return k.Day.Format(time.DateOnly) },
	} {
		want := map[string]report.Sale{}
		for k, s := range rows {
			sum := want[key(k)]
			sum.Add(&s)
			want[key(k)] = sum
		}
		q.Part = part
		got, err := r.Sold(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]report.Sale{}
		for _, row := range got.Rows {
			k := row.Value
			if part == report.ByDay {
				k = row.Day.Format(time.DateOnly)
			}
			found[k] = row.Sale
		}
		if diff := gocmp.Diff(want, found); diff != "" {
			t.Errorf("by %s: %s", part, diff)
		}
		if got.Total != total {
			t.Errorf("by %s: the total is %+v, want %+v", part, got.Total, total)
		}
		var days report.Sale
		for i := range got.Days {
			days.Add(&got.Days[i].Sale)
		}
		if days != total {
			t.Errorf("days add up to %+v, want %+v", days, total)
		}
		before := q
		before.From, before.To = q.From.Add(q.From.Sub(q.To)), q.From
		var previous report.Sale
		for _, s := range made(before) {
			previous.Add(&s)
		}
		if got.Previous != previous {
			t.Errorf("the period before is %+v, want %+v", got.Previous, previous)
		}
	}
	filed := map[report.SaleDay]report.Sale{}
	err := r.EachSale(t.Context(), q, func(list []report.SaleDay) (bool, error) {
		if !slices.IsSortedFunc(list, func(a, b report.SaleDay) int { return cmp.Compare(a.Wallet, b.Wallet) }) {
			t.Errorf("rows of a day are not in order")
		}
		for _, d := range list {
			filed[report.SaleDay{Day: d.Day, Wallet: d.Wallet, Model: d.Model, Provider: d.Provider}] = d.Sale
		}
		return true, nil
	})
	if diff := gocmp.Diff(rows, filed); diff != "" || err != nil {
		t.Errorf("the file: %s, %v", diff, err)
	}
}

// ledger compares all sales with the totals of the ledger's page.
func (x *sales) ledger(t *testing.T, q report.SalesQuery) {
	t.Helper()
	q.Part = report.Model
	got, err := report.New(x.s.Ledger, flushed{x.s.Ledger}).Sold(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	totals, err := x.s.Ledger.Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range totals.Kinds {
		switch k.Account {
		case ledger.RevenueAccount:
			if k.Amount != got.Total.Sales.String() {
				t.Errorf("sales are %s, the ledger's %s", got.Total.Sales, k.Amount)
			}
		case strings.TrimSuffix(ledger.RefundAccount, ":"):
			if k.Amount != (-got.Total.Refunded).String() {
				t.Errorf("refunds are %s, the ledger's %s", got.Total.Refunded, k.Amount)
			}
		}
	}
}

func (x *sales) verified(t *testing.T, what string) {
	t.Helper()
	v, err := ledger.Verify(t.Context(), x.s.Ledger, "", ledger.Anchor{}, x.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Checks {
		if !c.OK && c.Name != "charges" { // an own key's call is not charged by its lines
			t.Errorf("%s: %s: %s", what, c.Name, c.Detail)
		}
	}
}
