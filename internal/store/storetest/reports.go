package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/store/ledgerdb"
	"weir/internal/usage"
	"weir/internal/zone"
)

// Reports checks what pages ask of a store against calls that are counted one by one. open gives an empty store that reads that clock, and
// closes it after the test.
func Reports(t *testing.T, open Open) {
	t.Run("UTC", func(t *testing.T) { reportsIn(t, open) })
	// One zone after the other while the calls were made, an hour that a midnight cuts among them.
	t.Run("elsewhere", func(t *testing.T) {
		reportsIn(t, open, "Europe/Moscow", "Asia/Kolkata", "America/New_York", "Asia/Tokyo")
	})
}

func reportsIn(t *testing.T, open Open, zones ...string) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	b := &reports{t: t, s: open(t, func() time.Time { return now }), now: now, random: rand.New(rand.NewPCG(7, 9))}
	b.fill(zones)
	t.Run("usage", b.usage)
	t.Run("lists", b.lists)
	t.Run("statements", b.statements)
	t.Run("keys", b.keys)
	t.Run("people", b.people)
	t.Run("rebuilt", func(t *testing.T) {
		if err := b.s.Ledger.RebuildRollUps(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := ledger.Verify(t.Context(), b.s.Ledger, "", ledger.Anchor{}, now)
		if err != nil {
			t.Fatal(err)
		}
		sameBy(t, b.s, r, 3)
		for _, c := range r.Checks {
			if !c.OK && c.Name != "charges" { // the lines of these calls follow from nothing
				t.Errorf("%s: %s", c.Name, c.Detail)
			}
		}
	})
}

type reports struct {
	t      *testing.T
	s      *store.Store
	now    time.Time
	random *rand.Rand
	zones  zone.History  // of wal_1
	calls  []record.Call // of wal_1, the newest first
	back   map[string]money.Nano
	posted []ledger.Movement

	refunds []refund
}

// refund is one refund of a call.
type refund struct {
	at          time.Time
	percent     string
	amount, tax money.Nano
}

// versions are those of prices without VAT, with several, and of names that only look like it.
var versions = []string{"", "autumn usd=90 margin=0.1", "usd=90 margin=0 vat=20", "usd=90 margin=0 vat=+22", "cbr-2026-02-21@81.2345+0.15 vat=+22", "rub vat=22", "rub vat=0.7", "mine vat=22"}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// fill makes calls of two wallets in ten days, some of them at the same moment, top-ups and refunds.
func (b *reports) fill(zones []string) {
	ctx, s := b.t.Context(), b.s
	for i := range 2 {
		u := account.User{ID: fmt.Sprint("usr_", i+1), Name: "u", Wallet: fmt.Sprint("wal_", i+1), CreatedAt: b.now}
		if err := s.Accounts.CreateUser(ctx, u, audit.Event{}); err != nil {
			b.t.Fatal(err)
		}
	}
	for i, user := range []string{"usr_1", "usr_1", "usr_1", "usr_2"} { // the third one is never used
		k := apikey.Key{ID: fmt.Sprint("key_", i+1), Hash: fmt.Sprint("h", i+1), Label: fmt.Sprint("sk-weir-v1-", i+1), Name: "k", User: user, Creator: user, CreatedAt: b.now}
		if err := s.Accounts.InsertKey(ctx, k, 5, audit.Event{}); err != nil {
			b.t.Fatal(err)
		}
	}
	for i, name := range zones {
		var err error
		if b.zones, err = s.Accounts.SetZone(ctx, "wal_1", name, b.now.AddDate(0, 0, -9+2*i), audit.Event{}); err != nil {
			b.t.Fatal(err)
		}
	}
	if _, err := s.Ledger.Position(ctx, "node"); err != nil {
		b.t.Fatal(err)
	}
	b.back = map[string]money.Nano{}
	batch := ledger.Batch{Node: "node", Now: b.now}
	for i := range 600 {
		at := b.now.Add(-time.Duration(b.random.IntN(10*24*3600)) * time.Second)
		if i%5 == 0 {
			at = at.Truncate(6 * time.Hour) // several at one moment
		}
		c := record.Call{Generation: fmt.Sprintf("gen-%d-%020d", at.Unix(), b.random.Uint64()), Request: "req_1", User: pick(b.random, "usr_1", "usr_1", "usr_3"), Wallet: pick(b.random, "wal_1", "wal_1", "wal_2"), At: at,
			Key: pick(b.random, "key_1", "key_2", ""), API: pick(b.random, "completions", "messages", "videos"), Model: pick(b.random, "a/x", "a/y", "b/z"), Provider: pick(b.random, "p", "q"),
			Endpoint: pick(b.random, "e1", "e2"), Status: 200, Rate: pick(b.random, versions...), Usage: usage.Usage{Prompt: usage.Of(b.random.Int64N(1000)), Completion: usage.Of(b.random.Int64N(1000)), Reasoning: usage.Of(3), CacheRead: usage.Of(2)},
			FirstContent: time.Duration(b.random.IntN(2)) * time.Millisecond, Duration: time.Second, Settled: true, Cost: money.Nano(b.random.Int64N(1e12))}
		if n := b.random.IntN(4); n > 0 {
			month := ledger.Monthly.Period(b.zones.Local(at))
			c.Funds = []record.Fund{{ID: "bud_1", Kind: month.Kind, Start: month.Start}, {ID: "key_0", Kind: ledger.PeriodTotal}, {ID: "bud_2", Kind: ledger.PeriodDay, Start: 86400 * int64(b.random.IntN(3))}}[:n]
		}
		switch b.random.IntN(6) {
		case 0:
			c.Error, c.Settled, c.Cost, c.Model, c.Provider, c.Endpoint = pick(b.random, "timeout", "rate_limit_exceeded"), false, 0, "", "", ""
		case 1:
			c.Error, c.Cancelled = pick(b.random, "", "canceled"), true
		}
		if c.Settled {
			c.Lines = []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(c.Cost)}}
		}
		batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: c}))
		if c.Wallet == "wal_1" {
			b.calls = append(b.calls, c)
		}
		if len(batch.Items) == 97 || i == 599 {
			batch.To = batch.From + int64(len(batch.Items))
			if to, err := s.Ledger.Apply(ctx, &batch); err != nil || to != batch.To {
				b.t.Fatalf("%d, %v", to, err)
			}
			batch.From, batch.Items = batch.To, nil
		}
	}
	slices.SortFunc(b.calls, func(x, y record.Call) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(y.Generation, x.Generation)) })
	post := func(p ledger.Posting) {
		done, err := s.Ledger.Post(ctx, p)
		if err != nil {
			b.t.Fatal(err)
		}
		if done.Wallet == "wal_1" {
			b.posted = append(b.posted, done.Movement)
		}
	}
	for i := range 60 {
		at := b.now.Add(-time.Duration(b.random.IntN(12*24*3600)) * time.Second)
		post(ledger.Posting{Kind: ledger.TopUpKind, Ref: fmt.Sprint("topup:test:", i), Wallet: pick(b.random, "wal_1", "wal_2"), Against: "topup:test", Amount: money.Nano(1 + b.random.Int64N(1e12)), At: at})
		c := &b.calls[b.random.IntN(len(b.calls))]
		for part := range 1 + b.random.IntN(3) {
			n := c.Cost / 3
			if part == 2 {
				n = c.Cost - b.back[c.Generation] // all of it is given back
			}
			if n <= 0 || b.back[c.Generation]+n > c.Cost {
				break
			}
			at := at.Add(time.Duration(b.random.IntN(48)) * time.Hour)
			v := rate.PartsOf(c.Rate).VAT
			tax := v.Part(b.back[c.Generation]+n) - v.Part(b.back[c.Generation])
			b.back[c.Generation] += n
			b.refunds = append(b.refunds, refund{at, v.Percent, n, tax})
			post(ledger.Posting{Kind: ledger.RefundKind, Ref: fmt.Sprint("refund:", i, ":", part), Against: ledger.RefundAccount + c.Generation, Amount: n, Reason: "r", At: at})
		}
	}
	slices.SortFunc(b.posted, func(x, y ledger.Movement) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Transaction, y.Transaction))
	})
}

// floor is the hour that has a moment, or the account's day or month.
func (b *reports) floor(bucket report.Bucket, t time.Time) time.Time {
	if bucket == report.Hour {
		return bucket.Floor(t)
	}
	return bucket.Floor(b.zones.Day(t))
}

func fits(c *record.Call, f *report.Filter) bool {
	result := c.Result()
	same := func(want, got string) bool {
		return want == "" || want == got || want == report.Nothing && got == ""
	}
	return same(f.Model, c.Model) && same(f.Key, c.Key) && same(f.Member, c.User) && same(f.Provider, c.Provider) && same(f.Kind, c.API) &&
		(same(f.Result, result) || f.Result == report.Failed && result != record.OK && result != record.Canceled)
}

func valueOf(c *record.Call, p report.Part) string {
	switch p {
	case report.Model:
		return c.Model
	case report.Key:
		return c.Key
	case report.Member:
		return c.User
	case report.Provider:
		return c.Provider
	case report.Kind:
		return c.API
	case report.Result:
		return c.Result()
	}
	return ""
}

// filter is a random one.
func (b *reports) filter() (f report.Filter) {
	for _, x := range []struct {
		to     *string
		values []string
	}{{&f.Model, []string{"a/x", "none", report.Nothing}}, {&f.Key, []string{"key_1"}}, {&f.Member, []string{"usr_3"}}, {&f.Provider, []string{"p", report.Nothing}}, {&f.Kind, []string{"messages"}},
		{&f.Result, []string{report.Failed, record.OK, record.Canceled, "timeout"}}} {
		if b.random.IntN(4) == 0 {
			*x.to = pick(b.random, x.values...)
		}
	}
	return f
}

func (b *reports) sums(c *record.Call) report.Sums {
	s := report.Sums{Calls: 1, Prompt: c.Usage.Prompt.N, CacheRead: c.Usage.CacheRead.N, Completion: c.Usage.Completion.N, Reasoning: c.Usage.Reasoning.N, Cost: c.Cost, Refunded: b.back[c.Generation],
		FirstContent: c.FirstContent, LastAt: c.At}
	if c.FirstContent > 0 {
		s.FirstContents = 1
	}
	if c.Settled {
		s.Charged = 1
	}
	switch c.Result() {
	case record.OK:
	case record.Canceled:
		s.Canceled = 1
	default:
		s.Failed = 1
	}
	return s
}

func (b *reports) usage(t *testing.T) {
	parts := []report.Part{report.None, report.Model, report.Key, report.Member, report.Provider, report.Kind, report.Result}
	for i := range 200 {
		q := report.Query{Wallet: "wal_1", Part: parts[i%len(parts)], Bucket: pick(b.random, report.Hour, report.Day, report.Month), Zones: b.zones}
		if i >= 2*len(parts) {
			q.Filter = b.filter()
		}
		q.From = b.floor(q.Bucket, b.now.Add(-time.Duration(b.random.IntN(12*24))*time.Hour))
		q.To = q.From
		for range 1 + b.random.IntN(48) {
			q.To = q.Bucket.Next(q.To)
		}
		read := b.s.Ledger.Usage
		if b.zones != nil {
			read = report.New(b.s.Ledger, flushed{b.s.Ledger}).Rows
			if q.Bucket != report.Hour {
				q.From, q.To = b.zones.Start(q.From), b.zones.Start(q.To)
			}
		}
		if q.Bucket == report.Day && i%2 == 0 { // of days elsewhere, which are parts of two in UTC
			q.From, q.To = q.From.Add(time.Duration(b.random.IntN(24))*time.Hour), q.To.Add(time.Duration(b.random.IntN(24))*time.Hour)
			read = report.New(b.s.Ledger, flushed{b.s.Ledger}).Rows
		}
		want := []report.Row{}
		for j := range b.calls {
			c := &b.calls[j]
			if !fits(c, &q.Filter) || c.At.Before(q.From) || !c.At.Before(q.To) {
				continue
			}
			at, value := b.floor(q.Bucket, c.At), valueOf(c, q.Part)
			k := slices.IndexFunc(want, func(r report.Row) bool { return r.At.Equal(at) && r.Value == value })
			if k < 0 {
				k = len(want)
				want = append(want, report.Row{At: at, Value: value})
			}
			s := b.sums(c)
			want[k].Add(&s)
		}
		slices.SortFunc(want, func(x, y report.Row) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Value, y.Value)) })
		if i%3 == 2 { // one figure alone
			q.Metric = pick(b.random, report.Cost, report.Calls, report.Errors, report.TokensIn, report.TokensOut, report.TokensCached, report.TokensReasoning, report.FirstToken, report.Outcomes)
			for j := range want {
				want[j].Sums = only(q.Metric, want[j].Sums)
			}
		}
		got, err := read(t.Context(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v: %s", q, diff)
		}
		b.before(t, q)
	}
}

// before compares the total of the period before a query's with the calls.
func (b *reports) before(t *testing.T, q report.Query) {
	m := cmp.Or(q.Metric, report.Cost)
	if m == report.Outcomes {
		m = report.Calls
	}
	got, err := report.New(b.s.Ledger, flushed{b.s.Ledger}).Usage(t.Context(), q, m, 8)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	var want report.Sums
	for i := range b.calls {
		if c := &b.calls[i]; fits(c, &q.Filter) && !c.At.Before(got.PreviousFrom) && c.At.Before(q.From) {
			s := b.sums(c)
			want.Add(&s)
		}
	}
	if diff := gocmp.Diff(only(m, want), got.PreviousTotal); diff != "" {
		t.Fatalf("%+v, from %s: %s", q, got.PreviousFrom, diff)
	}
}

func ids(calls []record.Call) (list []string) {
	for i := range calls {
		list = append(list, calls[i].Generation)
	}
	return list
}

func (b *reports) lists(t *testing.T) {
	for range 120 / every(3) {
		s := report.Search{Wallet: "wal_1", Filter: b.filter(), Charged: b.random.IntN(3) == 0, From: b.now.Add(-time.Duration(b.random.IntN(10*24*60)) * time.Minute), Limit: 1 + b.random.IntN(9)}
		s.To = s.From.Add(time.Duration(b.random.IntN(10*24*60)) * time.Minute)
		if b.random.IntN(3) == 0 {
			s.MinCost = 5e11
		}
		var want []record.Call
		for i := range b.calls {
			c := &b.calls[i]
			if fits(c, &s.Filter) && !c.At.Before(s.From) && c.At.Before(s.To) && (!s.Charged || c.Settled) && c.Cost >= s.MinCost {
				want = append(want, *c)
			}
		}
		most := 1 + b.random.IntN(40)
		var got []record.Call
		next := s
		for {
			w, err := b.s.Ledger.SearchCalls(t.Context(), next, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Calls) > s.Limit {
				t.Fatalf("a page of %d calls, the limit is %d", len(w.Calls), s.Limit)
			}
			got = append(got, w.Calls...)
			if w.End == (report.Place{}) {
				break
			}
			next.After = w.End
		}
		if diff := gocmp.Diff(ids(want), ids(got)); diff != "" {
			t.Fatalf("%+v: %s", s, diff)
		}
		if len(want) > 0 {
			whole, _, err := b.s.Ledger.Call(t.Context(), "wal_1", want[0].Generation)
			if diff := gocmp.Diff(*whole, got[0]); diff != "" || err != nil {
				t.Fatalf("a call in a list is another than by its id: %s, %v", diff, err)
			}
		}
		b.lastHour(t, s)
		b.pages(t, s, want)
	}
}

// lastHour compares the hour that roll-ups have with that of the newest call.
func (b *reports) lastHour(t *testing.T, s report.Search) {
	t.Helper()
	var want time.Time
	for i := range b.calls {
		c := &b.calls[i]
		if hour := report.Hour.Floor(c.At); fits(c, &s.Filter) && !hour.Before(report.Hour.Floor(s.From)) && hour.Before(s.To) {
			want = hour
			break
		}
	}
	got, err := b.s.Ledger.LastHour(t.Context(), "wal_1", s.Filter, s.From, s.To)
	if err != nil || !got.Equal(want) {
		t.Fatalf("%+v: the last hour is %s, want %s, %v", s, got, want, err)
	}
}

// pages reads the same through a Reporter, which skips hours without calls that fit.
func (b *reports) pages(t *testing.T, s report.Search, want []record.Call) {
	t.Helper()
	r := report.New(b.s.Ledger, flushed{b.s.Ledger})
	var got []record.Call
	if err := r.All(t.Context(), s, func(c *record.Call) bool { got = append(got, *c); return true }); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(ids(want), ids(got)); diff != "" {
		t.Fatalf("%+v: %s", s, diff)
	}
}

// flushed is a book of a node without calls of its own.
type flushed struct{ *ledgerdb.Ledger }

func (flushed) CatchUp(context.Context) (late, err error) { return nil, nil }
func (flushed) Running(string) (int, money.Nano)          { return 0, 0 }

func (b *reports) statements(t *testing.T) {
	r := report.New(b.s.Ledger, flushed{b.s.Ledger})
	balance, err := b.s.Ledger.Balance(t.Context(), "wal_1")
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		from := b.zones.Day(b.now).AddDate(0, 0, -b.random.IntN(14))
		to := from.AddDate(0, 0, b.random.IntN(14))
		begin, after := b.zones.Start(from), b.zones.Start(to.AddDate(0, 0, 1))
		var opening, credited, debited money.Nano
		sum := func(at time.Time, n money.Nano) {
			switch {
			case at.Before(begin):
				opening += n
			case at.Before(after) && n > 0:
				credited += n
			case at.Before(after):
				debited -= n
			}
		}
		for i := range b.posted {
			sum(b.posted[i].At, b.posted[i].Amount)
		}
		for i := range b.calls {
			sum(b.calls[i].At, -b.calls[i].Cost)
		}
		s, err := r.Statement(t.Context(), "wal_1", from, to)
		if err != nil {
			t.Fatal(err)
		}
		if s.Opening != opening || s.Credited != credited || s.Debited != debited || s.Closing != opening+credited-debited || s.Balance != balance.Balance || !s.Agrees {
			t.Fatalf("%s to %s: %+v, want %s + %s - %s", from, to, s, opening, credited, debited)
		}
		if n := len(s.Lines); n > 0 && s.Lines[n-1].Balance != s.Closing {
			t.Fatalf("the last row has the balance %s, not %s", s.Lines[n-1].Balance, s.Closing)
		}
		b.taxes(t, s, begin, after)
		day, err := r.DayOf(t.Context(), "wal_1", from)
		if err != nil || day.Opening != opening {
			t.Fatalf("the day %s opens with %s, want %s, %v", from, day.Opening, opening, err)
		}
	}
	for _, wallet := range []string{"wal_none"} {
		if _, err := r.Statement(t.Context(), wallet, b.now, b.now); err == nil {
			t.Errorf("%s has a statement", wallet)
		}
	}
}

// taxes compares the VAT of a statement, and of its rows, with that of calls and refunds one by one.
func (b *reports) taxes(t *testing.T, s *report.Statement, from, after time.Time) {
	t.Helper()
	all := map[string]*report.Tax{}
	type row struct {
		day           time.Time
		kind, percent string
	}
	rows := map[row]report.Portion{}
	in := func(at time.Time) bool { return !at.Before(from) && at.Before(after) }
	add := func(at time.Time, kind, percent string, n, tax money.Nano) {
		k := row{b.zones.Day(at), kind, percent}
		p := rows[k]
		rows[k] = report.Portion{Percent: percent, Count: p.Count + 1, Gross: p.Gross + n, VAT: p.VAT + tax}
		if all[percent] == nil {
			all[percent] = &report.Tax{Percent: percent}
		}
	}
	for i := range b.calls {
		c := &b.calls[i]
		if !c.Settled || !in(c.At) {
			continue
		}
		v := rate.PartsOf(c.Rate).VAT
		add(c.At, report.CallsKind, v.Percent, c.Cost, v.Part(c.Cost))
		all[v.Percent].Add(&report.Tax{Calls: 1, Charged: c.Cost, ChargedTax: v.Part(c.Cost)})
	}
	for _, x := range b.refunds {
		if in(x.at) {
			add(x.at, ledger.RefundKind, x.percent, x.amount, x.tax)
			all[x.percent].Add(&report.Tax{Refunds: 1, Refunded: x.amount, RefundedTax: x.tax})
		}
	}
	for i := range s.Taxes {
		got := &s.Taxes[i]
		if want := all[got.Percent]; want == nil || *got != *want {
			t.Fatalf("VAT of %s to %s: %+v, want %+v", from, after, got, want)
		}
		delete(all, got.Percent)
	}
	if len(all) > 0 {
		t.Fatalf("VAT of %s to %s is missing: %v", from, after, all)
	}
	for i := range s.Lines {
		l := &s.Lines[i]
		var sum money.Nano
		for _, p := range l.Taxes {
			k := row{l.Day, l.Kind, p.Percent}
			if p != rows[k] {
				t.Fatalf("row %v: %+v, want %+v", k, p, rows[k])
			}
			sum += p.Gross
			delete(rows, k)
		}
		if len(l.Taxes) > 0 && sum != max(l.Amount, -l.Amount) {
			t.Fatalf("the parts of a row of %s sum to %s", l.Amount, sum)
		}
	}
	if len(rows) > 0 {
		t.Fatalf("VAT of rows is missing: %v", rows)
	}
}

// keys: each key of a user that was used has the time of its last call, whichever user it was made for, until it is deleted.
func (b *reports) keys(t *testing.T) {
	want := map[string]time.Time{}
	for i := len(b.calls) - 1; i >= 0; i-- {
		want[b.calls[i].Key] = b.calls[i].At
	}
	delete(want, "") // calls without a key
	same := func() {
		t.Helper()
		spends, err := b.s.Ledger.KeySpends(t.Context(), "usr_1", "wal_1")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]time.Time{}
		for key, spend := range spends {
			got[key] = spend.LastAt
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	same()
	if err := b.s.Accounts.DeleteKey(t.Context(), "usr_1", "h2", b.now, audit.Event{}); err != nil {
		t.Fatal(err)
	}
	delete(want, "key_2")
	same()
	if ok, err := b.s.Ledger.ToppedUp(t.Context(), "wal_1"); !ok || err != nil {
		t.Errorf("topped up: %t, %v", ok, err)
	}
	if holds, err := b.s.Ledger.JobHolds(t.Context(), "wal_1"); len(holds) > 0 || err != nil {
		t.Errorf("held: %v, %v", holds, err)
	}
}

// people are listed with what their calls of the month cost, as their own clock counts it.
func (b *reports) people(t *testing.T) {
	ctx, s := t.Context(), b.s.Ledger
	month := b.zones.Day(b.now)
	month = month.AddDate(0, 0, 1-month.Day())
	var spent money.Nano
	for i := range b.calls {
		if c := &b.calls[i]; !b.zones.Day(c.At).Before(month) {
			spent += c.Cost
		}
	}
	balance, err := s.Balance(ctx, "wal_1")
	if err != nil {
		t.Fatal(err)
	}
	first := report.Person{ID: "usr_1", Name: "u", Role: "user", Wallet: "wal_1", Balance: balance.Balance, Spent: spent, LastCall: b.calls[0].At, CreatedAt: b.now}
	find := func(q report.PeopleSearch) (ids string) {
		t.Helper()
		if q.Limit == 0 {
			q.Limit = 10
		}
		list, err := s.People(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.ID == "usr_1" {
				if d := gocmp.Diff(first, p); d != "" {
					t.Error(d)
				}
			}
			ids += p.Name + p.ID[4:] + " "
		}
		return ids
	}
	if got := find(report.PeopleSearch{}); got != "u2 u1 " { // one moment: by id
		t.Error(got)
	}
	u := account.User{ID: "usr_3", Name: "Анна Петрова 50%_\\", Wallet: "wal_3", CreatedAt: b.now.Add(-time.Hour)}
	if err := b.s.Accounts.CreateUser(ctx, u, audit.Event{}); err != nil {
		t.Fatal(err)
	}
	if err := b.s.People.AddLogin(ctx, auth.Login{User: "usr_3", Email: "anna@example.org", CreatedAt: b.now}, ""); err != nil {
		t.Fatal(err)
	}
	key := apikey.Key{ID: "key_9", Hash: "h9", Label: "sk-weir-v1-9...x4Q", Name: "k", User: "usr_3", Creator: "usr_3", CreatedAt: b.now}
	if err := b.s.Accounts.InsertKey(ctx, key, 5, audit.Event{}); err != nil {
		t.Fatal(err)
	}
	third := u.Name + "3 "
	for _, typed := range []string{"анна", "Петрова", "АННА", "анна п", "50%_\\", "ANNA@ex", "usr_3", "key_9", "sk-weir-v1-9...x4Q", "sk-weir-v1-9…x4Q", "x4Q", "ax4Q", "…x4Q"} {
		var q report.PeopleSearch
		q.Looked(typed)
		if got := find(q); got != third {
			t.Errorf("%q: %q", typed, got)
		}
	}
	for _, typed := range []string{"x4q", "50%%", "5__", "usr_", "key_", "sk-weir-v1-8...x4Q", "Petrova"} {
		var q report.PeopleSearch
		q.Looked(typed)
		if got := find(q); got != "" {
			t.Errorf("%q: %q", typed, got)
		}
	}
	if one, two, three := find(report.PeopleSearch{Limit: 1}), find(report.PeopleSearch{Limit: 1, After: "usr_2"}), find(report.PeopleSearch{After: "usr_1"}); one != "u2 " || two != "u1 " || three != third {
		t.Errorf("%q, %q, %q", one, two, three)
	}
	if _, err := s.People(ctx, report.PeopleSearch{After: "usr_none", Limit: 1}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	event := audit.Event{Actor: audit.Actor{Name: "operator"}}
	if err := b.s.Accounts.SetUserDisabled(ctx, "usr_3", true, b.now, event); err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	if blocked, free := find(report.PeopleSearch{Disabled: &yes}), find(report.PeopleSearch{Disabled: &no}); blocked != third || free != "u2 u1 " {
		t.Errorf("%q, %q", blocked, free)
	}
	if boss := find(report.PeopleSearch{Role: "administrator"}); boss != "" {
		t.Error(boss)
	}
}

// only leaves the figures that a metric needs, and how many calls there were.
func only(m report.Metric, s report.Sums) report.Sums {
	one := report.Sums{Calls: s.Calls}
	switch m {
	case report.Cost:
		one.Cost = s.Cost
	case report.Errors:
		one.Failed = s.Failed
	case report.Outcomes:
		one.Failed, one.Canceled, one.Cost = s.Failed, s.Canceled, s.Cost
	case report.TokensIn:
		one.Prompt = s.Prompt
	case report.TokensOut:
		one.Completion = s.Completion
	case report.TokensCached:
		one.CacheRead = s.CacheRead
	case report.TokensReasoning:
		one.Reasoning = s.Reasoning
	case report.FirstToken:
		one.FirstContent, one.FirstContents = s.FirstContent, s.FirstContents
	}
	return one
}
