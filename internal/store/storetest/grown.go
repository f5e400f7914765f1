package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/organization"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/tag"
)

// spenders compares what values cost on a day, and on days before it, with the calls, one by one.
func (x *sales) spenders(rt *rapid.T) {
	wallet := fmt.Sprint("wal_", rapid.IntRange(0, 2).Draw(rt, "spenders of wallet"))
	zones, err := x.s.Ledger.Zones(rt.Context(), wallet)
	if err != nil {
		rt.Fatal(err)
	}
	q := report.SpenderQuery{
		Wallet: wallet, Most: rapid.SampledFrom([]int{1, 3, 1000}).Draw(rt, "most"), Least: money.Nano(rapid.SampledFrom([]int64{0, 1, 50_000_000}).Draw(rt, "least")),
		Day: report.Day.Floor(x.now.AddDate(0, 0, -rapid.IntRange(0, 40).Draw(rt, "day"))),
		Of: rapid.SampledFrom([][]report.Sorted{
			{{Part: report.TagNames}}, {{Part: report.Session}, {Part: report.TagNamed("project"), Value: "atlas"}}, {{Part: report.Key}, {Part: report.TagNames}}, {{Part: report.TagNamed("beta"), Value: tag.Alone}},
		}).Draw(rt, "spenders of"),
	}
	for i := rapid.IntRange(0, 28).Draw(rt, "days before"); i > 0; i-- {
		q.Before = append(q.Before, q.Day.AddDate(0, 0, -i))
	}
	type on struct {
		v   report.Sorted
		day time.Time
	}
	cost, seen := map[on]money.Nano{}, map[report.Sorted]bool{}
	for i := range x.calls {
		c := &x.calls[i]
		if c.Wallet != wallet {
			continue
		}
		values := []report.Sorted{{Part: report.Session, Value: c.Session}, {Part: report.Key, Value: c.Key}}
		for _, t := range c.Tags {
			name, value := tag.Split(t)
			values = append(values, report.Sorted{Part: report.TagNamed(name), Value: value})
		}
		day := zones.Day(c.At.Truncate(time.Hour))
		for _, v := range values {
			cost[on{v, day}] += c.Cost
			_, tagged := v.Part.TagName()
			if day.Equal(q.Day) && v.Value != "" && slices.ContainsFunc(q.Of, func(o report.Sorted) bool {
				return (o.Part == v.Part || o.Part == report.TagNames && tagged) && (o.Value == "" || o.Value == v.Value)
			}) {
				seen[v] = true
			}
		}
	}
	var want []report.Spender
	for v := range seen {
		s := report.Spender{Part: v.Part, Value: v.Value, Cost: cost[on{v, q.Day}]}
		for _, day := range q.Before {
			s.Before = append(s.Before, cost[on{v, day}])
		}
		if s.Cost >= q.Least {
			want = append(want, s)
		}
	}
	slices.SortFunc(want, report.Dearest)
	want = want[:min(len(want), q.Most)]
	got, err := report.New(x.s.Ledger, flushed{x.s.Ledger}).Spenders(rt.Context(), q)
	if err != nil {
		rt.Fatal(err)
	}
	for i := range got {
		if len(got[i].Before) == 0 {
			got[i].Before = nil
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		rt.Errorf("%+v: %s", q, diff)
	}
}

// grownCalls makes eleven days of an account: the usual, and today a session of one project and key that spends far more.
func grownCalls(t *testing.T, s *store.Store, account, wallet string, today time.Time) {
	t.Helper()
	if _, err := s.Ledger.Position(t.Context(), "node "+account); err != nil {
		t.Fatal(err)
	}
	batch := ledger.Batch{Node: "node " + account, Now: today}
	call := func(at time.Time, key, session string, cost money.Nano, tags ...string) {
		n := len(batch.Items)
		batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: record.Call{
			Generation: fmt.Sprintf("gen-%d-%s%04d", at.Unix(), account, n), Wallet: wallet, User: account, Key: key, Session: session, Tags: tags,
			API: "completions", At: at, Model: "a/x", Provider: "p", Status: 200, Settled: true, Cost: cost,
		}}))
	}
	for day := 10; day >= 0; day-- {
		at := today.AddDate(0, 0, -day)
		call(at, "key_a"+account, "s-old", 60*money.Ruble+1, "env=prod", "project=atlas")
		call(at, "key_b"+account, "s-old", 20*money.Ruble, "env=prod", "project=beta")
	}
	call(today, "key_b"+account, "s-new", 500*money.Ruble+7, "env=prod", "project=beta")
	call(today, "key_a"+account, "s-new", 3*money.Ruble, "project=atlas")
	batch.To = int64(len(batch.Items))
	if to, err := s.Ledger.Apply(t.Context(), &batch); err != nil || to != batch.To {
		t.Fatal(to, err)
	}
}

// grownFacts are the facts of the only mail about spending since the last time.
func (w *town) grownFacts() []notify.Fact {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mails = slices.DeleteFunc(w.mails, func(m notify.Mail) bool { return m.Cause != notify.Spending }) // these accounts have no money
	if len(w.mails) != 1 {
		w.t.Fatalf("%d mails: %+v", len(w.mails), w.mails)
	}
	facts := w.mails[0].Facts
	w.mails = nil
	slices.SortFunc(facts, func(a, b notify.Fact) int { return cmp.Compare(a.Ref, b.Ref) })
	return facts
}

// noticeGrown checks what an account and an organization get of a day that costs far more than usual: of the whole, with the tags, the session and the keys that
// grew, and of the tags that are watched by themselves, with the keys within. Amounts are those of the calls, to the nano-ruble.
func noticeGrown(t *testing.T, s *store.Store) {
	w := newTown(t, s)
	w.reports = report.New(s.Ledger, flushed{s.Ledger})
	anna := w.resident("anna")
	o := mustOrg(t, s, w.resident("boris").ID)
	clara := w.resident("clara")
	ok(t, s.Organizations.AddMember(t.Context(), organization.Member{Org: o.ID, User: clara.ID, Role: apikey.OrgMember, JoinedAt: payAt}, 10, event("org.joined")))
	_, n := w.node()
	w.watch(n)
	w.want()
	for _, a := range []account.User{{ID: anna.ID, Wallet: anna.Wallet}, {ID: o.ID, Wallet: o.Wallet}} {
		for _, name := range []string{"a", "b"} {
			k := apikey.Key{ID: "key_" + name + a.ID, Hash: "hash-" + name + a.ID, Label: "label " + name, Name: "key " + name, User: a.ID, Creator: anna.ID, CreatedAt: payAt, UpdatedAt: payAt}
			if a.ID == o.ID {
				k.Member = map[string]string{"a": clara.ID, "b": o.Creator}[name]
			}
			ok(t, s.Accounts.InsertKey(t.Context(), k, 10, event("key.created")))
		}
		grownCalls(t, s, a.ID, a.Wallet, w.now())
		ok(t, s.Notices.SaveNotifySettings(t.Context(), a.ID, payAt, saved(notify.Settings{Tags: []string{"project", "env=test"}})))
		w.pass(5 * time.Minute)
		w.watch(n)
		const r = money.Ruble
		day := report.Day.Floor(w.now())
		grew := notify.Growth{By: notify.ByKey, Ref: "hash-b" + a.ID, Name: "key b", Spent: 520*r + 7, Usual: 20 * r}
		want := []notify.Fact{
			{Kind: notify.UnusualSpending, At: day, Amount: 583*r + 8, Usual: 80*r + 1, Episode: day.Format(time.DateOnly), Grown: []notify.Growth{
				{By: notify.ByTag, Name: "env=prod", Spent: 580*r + 8, Usual: 80*r + 1}, {By: notify.ByTag, Name: "project=beta", Spent: 520*r + 7, Usual: 20 * r},
				{By: notify.BySession, Name: "s-new", Spent: 503*r + 7}, grew,
			}},
			{Kind: notify.UnusualSpending, Ref: "project=beta", Name: "project=beta", Tag: "project=beta", At: day, Amount: 520*r + 7, Usual: 20 * r, Episode: day.Format(time.DateOnly), Grown: []notify.Growth{grew}},
		}
		if diff := gocmp.Diff(want, w.grownFacts()); diff != "" {
			t.Errorf("%s: %s", a.ID, diff)
		}
		w.pass(5 * time.Minute)
		w.watch(n)
		w.want()
	}
	w.grownOf(o.ID, o.Wallet, clara.ID)
}

// grownOf checks that a member who sees own calls alone reads nothing of those of others.
func (w *town) grownOf(org, wallet, member string) {
	w.t.Helper()
	day := report.Day.Floor(w.now())
	q := report.SpenderQuery{
		Wallet: wallet, Day: day, Before: []time.Time{day.AddDate(0, 0, -1)}, Most: 100, Filter: report.Filter{Org: org, Sees: apikey.Sight{Member: member}},
		Of: []report.Sorted{{Part: report.TagNames}, {Part: report.Session}, {Part: report.Key}},
	}
	all, err := w.reports.Spenders(w.t.Context(), q)
	ok(w.t, err)
	var got []string
	for _, v := range all {
		got = append(got, fmt.Sprint(v.Part, " ", v.Value, " ", v.Cost, " ", v.Before[0]))
	}
	want := []string{
		"key key_a" + org + " 63.000000001 60.000000001", "tag:project atlas 63.000000001 60.000000001", "session s-old 60.000000001 60.000000001", "tag:env prod 60.000000001 60.000000001", "session s-new 3 0",
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%q, want %q", got, want)
	}
}
