package storetest

import (
	"fmt"
	"slices"
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
	"weir/internal/tag"
)

// Tags checks that usage over each property by which accounts sort their calls is the sum of the calls that have it, and with those that have none and
// those beyond the bound is what the ledger charged, to the nano-ruble: as applied, when refunds follow, rebuilt, and when calls were dropped.
func Tags(t *testing.T, open Open) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	x := &sales{s: open(t, func() time.Time { return now }), now: now, batch: ledger.Batch{Node: "node", Now: now}}
	for i := range 3 {
		u := account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: fmt.Sprint("wal_", i), CreatedAt: now}
		ok(t, x.s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{})))
	}
	if _, err := x.s.Ledger.Position(t.Context(), "node"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.s.Accounts.SetZone(t.Context(), "wal_1", "Asia/Kolkata", now.AddDate(0, 0, -9), audit.Event{Action: audit.UserTimezone, Target: "usr_1"}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			x.call(rt)
			x.sort(rt, &x.calls[len(x.calls)-1])
		}
		x.apply(t)
		for range rapid.IntRange(0, 3).Draw(rt, "refunds") {
			x.refund(t, rt)
		}
		x.sortedBy(rt, x.tagQuery(rt))
		x.spenders(rt)
		x.largest(rt)
	})
	check := func(what string) {
		t.Helper()
		for wallet := range 3 {
			for _, part := range []report.Part{report.Team, report.Member, report.Session, report.ClientUser, report.TagNamed("project"), report.TagNamed("env"), report.TagNamed("never")} {
				for _, bucket := range []report.Bucket{report.Day, report.Month} {
					q := report.Query{Wallet: fmt.Sprint("wal_", wallet), Part: part, Bucket: bucket}
					q.From, q.To = bucket.Floor(now.AddDate(0, 0, -75)), bucket.Next(bucket.Floor(now.AddDate(0, 0, 1)))
					x.sortedBy(t, q)
				}
			}
		}
		x.verified(t, what)
	}
	check("as applied")
	ok(t, x.s.Ledger.RebuildRollUps(t.Context()))
	check("rebuilt")
	ok(t, x.s.Ledger.FillSales(t.Context(), audit.Actor{Name: "test"}, payAt))
	check("filled")
	dropped := report.Day.Floor(now.AddDate(0, 0, -4))
	for after, more := "", true; more; more = after != "" {
		var err error
		if after, _, err = x.s.Ledger.SweepCalls(t.Context(), dropped, after, 50); err != nil {
			t.Fatal(err)
		}
	}
	check("after calls were dropped")
	ok(t, x.s.Ledger.FillSales(t.Context(), audit.Actor{Name: "test"}, payAt))
	check("filled after calls were dropped")
}

// sort gives a call some of the properties by which accounts sort.
func (x *sales) sort(rt *rapid.T, c *record.Call) {
	any := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, "", "")).Draw(rt, name)
	}
	c.Session, c.ClientUser = any("session", "s-1", "s-2", `a"b\c%_`), any("client user", "u-1", "ю")
	c.Key = any("key", "key_1", "key_2")
	if c.Wallet == "wal_2" { // an organization's
		c.Member, c.Team = any("member", "usr_7", "usr_8", "svc_1"), any("team", "team_1", "team_2")
	}
	var s tag.Set
	for _, name := range []string{"project", "env", "beta"} {
		if value := any(name, "atlas", "b=c", tag.Alone); value != "" {
			s.Add(tag.Join(name, value))
		}
	}
	c.Tags = s.List()
	x.batch.Items[len(x.batch.Items)-1] = ledger.Encode(ledger.Item{Call: *c})
}

func (x *sales) tagQuery(rt *rapid.T) report.Query {
	q := report.Query{Wallet: fmt.Sprint("wal_", rapid.IntRange(0, 2).Draw(rt, "of wallet")), Bucket: rapid.SampledFrom([]report.Bucket{report.Day, report.Month}).Draw(rt, "bucket")}
	q.From = q.Bucket.Floor(x.now.AddDate(0, 0, -rapid.IntRange(0, 70).Draw(rt, "from")))
	q.To = q.Bucket.Next(q.Bucket.Floor(q.From.AddDate(0, 0, rapid.IntRange(0, 70).Draw(rt, "days"))))
	f := &q.Filter
	switch rapid.IntRange(0, 3).Draw(rt, "about") {
	case 0:
		f.Tag = rapid.SampledFrom([]string{"project=atlas", "env=b=c", "beta", "project=(none)", "never"}).Draw(rt, "only tag")
	case 1:
		f.Session = rapid.SampledFrom([]string{"s-1", `a"b\c%_`, report.Nothing}).Draw(rt, "only session")
	case 2:
		q.Part = rapid.SampledFrom([]report.Part{report.TagNamed("project"), report.Session, report.ClientUser}).Draw(rt, "part")
	case 3:
		q.Part = report.Team
	}
	if q.Part == report.None {
		q.Part = rapid.SampledFrom([]report.Part{report.None, report.Model, report.Provider, report.Kind, report.Result, report.Team, report.Member}).Draw(rt, "by")
	}
	f.Model = rapid.SampledFrom([]string{"", "", "a/x", report.Nothing}).Draw(rt, "only model")
	f.Result = rapid.SampledFrom([]string{"", "", record.OK, report.Failed}).Draw(rt, "only result")
	f.Team = rapid.SampledFrom([]string{"", "", "team_1", report.Nothing}).Draw(rt, "only team")
	f.Member = rapid.SampledFrom([]string{"", "", "", "usr_0", "usr_7", report.Nothing}).Draw(rt, "only member")
	return q
}

// sortedBy compares usage with the calls, one by one.
func (x *sales) sortedBy(t failing, q report.Query) {
	t.Helper()
	got, err := x.s.Ledger.Usage(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	zones, err := x.s.Ledger.Zones(t.Context(), q.Wallet)
	if err != nil {
		t.Fatal(err)
	}
	refunded := map[int]money.Nano{}
	for _, r := range x.refunds {
		refunded[r.call] += r.amount
	}
	type group struct {
		at    time.Time
		value string
	}
	want := map[group]report.Sums{}
	var ledgerSays, found money.Nano
	for i := range x.calls {
		c := &x.calls[i]
		at := zones.Day(c.At.Truncate(time.Hour))
		if c.Wallet != q.Wallet || at.Before(q.From) || !at.Before(q.To) {
			continue
		}
		f := q.Filter
		if m := valuesIn(c, report.Member)[0]; f.Member != "" && f.Member != m && (f.Member != report.Nothing || m != "") {
			continue
		}
		f.Member = ""
		if !f.Fits(c) || f.Model != "" && f.Model != c.Model && (f.Model != report.Nothing || c.Model != "") || f.Result == report.Failed && !wentWrong(c) || f.Result == record.OK && c.Result() != record.OK {
			continue
		}
		ledgerSays += c.Cost
		for _, value := range valuesIn(c, q.Part) {
			k := group{q.Bucket.Floor(at), value}
			s := want[k]
			s.Add(&report.Sums{Calls: 1, Charged: bit(c.Settled), Failed: bit(wentWrong(c)), Canceled: bit(c.Result() == record.Canceled), Prompt: c.Usage.Prompt.N, CacheRead: c.Usage.CacheRead.N, Completion: c.Usage.Completion.N, Cost: c.Cost, Refunded: refunded[i]})
			want[k] = s
		}
	}
	is := map[group]report.Sums{}
	for i := range got {
		s := got[i].Sums
		s.LastAt = time.Time{}
		is[group{got[i].At, got[i].Value}] = s
		found += s.Cost
	}
	if diff := gocmp.Diff(want, is, gocmp.AllowUnexported(group{})); diff != "" {
		t.Errorf("%+v: %s", q, diff)
	}
	if found != ledgerSays {
		t.Errorf("%+v: the groups have %s together, the calls cost %s", q, found, ledgerSays)
	}
}

// wentWrong reports whether a call counts as one with an error: one that its client stopped does not.
func wentWrong(c *record.Call) bool { return c.Result() != record.OK && c.Result() != record.Canceled }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// valuesIn are the values by which a call is grouped.
func valuesIn(c *record.Call, p report.Part) []string {
	if name, is := p.TagName(); is {
		for _, t := range c.Tags {
			if n, value := tag.Split(t); n == name {
				return []string{value}
			}
		}
		return []string{""}
	}
	member := c.Member
	if c.Wallet != "wal_2" { // without members: the user
		member = c.User
	}
	return []string{map[report.Part]string{report.None: "", report.Model: c.Model, report.Provider: c.Provider, report.Kind: c.API, report.Result: c.Result(), report.Team: c.Team, report.Member: member,
		report.Session: c.Session, report.ClientUser: c.ClientUser}[p]}
}

// TagBounds checks that a day has rows for a bounded number of values and names, that what is beyond is counted as others, and that nothing of it is lost.
func TagBounds(t *testing.T, open Open) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	x := &sales{s: open(t, func() time.Time { return now }), now: now, batch: ledger.Batch{Node: "node", Now: now}}
	u := account.User{ID: "usr_0", Name: "u", Wallet: "wal_0", CreatedAt: now}
	ok(t, x.s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{})))
	if _, err := x.s.Ledger.Position(t.Context(), "node"); err != nil {
		t.Fatal(err)
	}
	const calls = 1300
	for i := range calls {
		c := record.Call{Generation: fmt.Sprintf("gen-%d-%020d", now.Unix(), i), Wallet: "wal_0", User: "usr_0", API: "completions", At: now, Model: "a/x", Status: 200, Session: fmt.Sprint("s-", i),
			Tags: []string{fmt.Sprintf("z%02d=x", i%60), "project=" + fmt.Sprint("p-", i%7)}}
		x.calls = append(x.calls, c)
		x.batch.Items = append(x.batch.Items, ledger.Encode(ledger.Item{Call: c}))
		if len(x.batch.Items) == 100 {
			x.apply(t)
		}
	}
	q := report.Query{Wallet: "wal_0", Part: report.Session, Bucket: report.Day, From: report.Day.Floor(now), To: report.Day.Next(report.Day.Floor(now))}
	usage := func(p report.Part) map[string]int64 {
		t.Helper()
		q.Part = p
		rows, err := x.s.Ledger.Usage(t.Context(), q)
		ok(t, err)
		all := map[string]int64{}
		for _, r := range rows {
			all[r.Value] = r.Calls
		}
		return all
	}
	sessions := usage(report.Session)
	if sessions[tag.Other] != calls-1000 || sessions[""] != 0 || len(sessions) != 1001 {
		t.Errorf("%d sessions, %d calls of others, %d of none", len(sessions), sessions[tag.Other], sessions[""])
	}
	names := usage(report.TagNames)
	if len(names) != 51 || names["project"] != calls || names[tag.Other] == 0 {
		t.Errorf("names %v", names)
	}
	sum := int64(0)
	for name, n := range names {
		if name == "project" {
			continue
		}
		if sum += n; name != tag.Other {
			if have := usage(report.TagNamed(name)); have["x"] != n || have[""] != calls-n {
				t.Errorf("%s: %v of %d", name, have, n)
			}
		}
	}
	if sum != calls {
		t.Errorf("all names but one have %d calls", sum)
	}
	if projects := usage(report.TagNamed("project")); len(projects) != 7 || projects["p-0"] != 186 {
		t.Errorf("projects %v", projects)
	}
	// a call whose value is among the others is found all the same
	missing := slices.IndexFunc(x.calls, func(c record.Call) bool { return sessions[c.Session] == 0 })
	r := report.New(x.s.Ledger, flushed{x.s.Ledger})
	p, err := r.Calls(t.Context(), report.Search{Wallet: "wal_0", Filter: report.Filter{Session: x.calls[missing].Session, Tag: x.calls[missing].Tags[0]}, From: now.Add(-time.Hour), To: now.Add(time.Hour), Limit: 10})
	if err != nil || len(p.Calls) != 1 || p.Calls[0].Generation != x.calls[missing].Generation {
		t.Errorf("calls of a session among others: %v, %v", p, err)
	}
	x.verified(t, "beyond the bounds")
}
