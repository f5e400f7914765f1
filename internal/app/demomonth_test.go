package app

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/config"
	"weir/internal/demo"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
)

// demoNow is a Monday, in the morning.
var demoNow = time.Date(2026, 11, 30, 3, 14, 15, 161718, time.UTC)

// openDemo opens a demo in a folder, whose calls have a clock that stands still.
func openDemo(t testing.TB, dir string, now time.Time) *Gateway {
	t.Helper()
	cfg, err := config.Load("", func(string) (string, bool) { return "", false }, config.Overlay{"data_dir": dir, "server.admin_listen": "off", "price_lists.publish": "off"})
	if err != nil {
		t.Fatal(err)
	}
	const origin = "http://127.0.0.1:1"
	declared := simDeclared(origin)
	vendors, err := demoVendors(origin)
	if err != nil {
		t.Fatal(err)
	}
	declared.Append(vendors)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := open(context.Background(), cfg, extra{declared: declared, logTo: io.Discard, listener: l, demo: true, clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fillDemo makes the month of a demo.
func fillDemo(t testing.TB, g *Gateway) demo.Made {
	t.Helper()
	made, err := demo.Fill(context.Background(), g.monthStores(), demo.Month{Seed: demoSeed, Now: g.clock(), Catalog: g.catalog.Load(), Keep: 1000 * money.Ruble})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// callsOf are all calls of an account, the oldest first.
func callsOf(t *testing.T, g *Gateway, wallet string) []record.Call {
	t.Helper()
	var all []record.Call
	search := report.Search{Wallet: wallet, From: demoNow.AddDate(0, 0, -40), To: demoNow.AddDate(0, 0, 40), Limit: 100}
	for reports := report.New(g.store.Ledger, g.book); ; {
		page, err := reports.Calls(context.Background(), search)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Calls...)
		if page.Next == (report.Place{}) {
			slices.Reverse(all)
			return all
		}
		search.After = page.Next
	}
}

// TestDemoMonth checks the month by the books, and by adding up what its calls say.
func TestDemoMonth(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := openDemo(t, t.TempDir(), demoNow)
	defer g.close(ctx)
	made := fillDemo(t, g)
	books, err := g.book.Verify(ctx, nil)
	if err != nil || !books.OK() {
		t.Fatalf("%+v %v", books.Checks, err)
	}
	users, err := g.store.Accounts.ListUsers(ctx)
	if err != nil || len(users) != made.Accounts {
		t.Fatalf("%d accounts of %d: %v", len(users), made.Accounts, err)
	}
	var calls, failovers, failed int
	var charged money.Nano
	for _, u := range users {
		sum, days := money.Nano(0), map[string]bool{}
		all := callsOf(t, g, u.Wallet)
		for i := range all {
			c := &all[i]
			sum += c.Cost
			days[c.At.Format(time.DateOnly)] = true
			if end := c.At.Add(c.Duration); end.After(demoNow) || c.At.Before(demoNow.AddDate(0, 0, -demo.Days)) {
				t.Errorf("%s is not in the month: %s to %s", c.Generation, c.At, end)
			}
			if !strings.HasPrefix(c.ModelAsked, "sim/") {
				t.Errorf("%s asked for %s, which is not marked as the simulator's", c.Generation, c.ModelAsked)
			}
			for _, a := range c.Attempts {
				if a.Ended < a.Started || a.Ended > c.Duration && c.API != "video" {
					t.Errorf("%s has an attempt from %s to %s and lasted %s", c.Generation, a.Started, a.Ended, c.Duration)
				}
			}
			switch {
			case !c.Settled:
				failed++
			case len(c.Attempts) > 1:
				failovers++
			}
		}
		calls, charged = calls+len(all), charged+sum
		b, err := g.book.Balance(ctx, u.Wallet)
		if err != nil {
			t.Fatal(err)
		}
		if b.Charged != sum || b.Balance < 0 || b.Held != 0 {
			t.Errorf("%s: calls cost %s, and the books have %+v", u.Name, sum, b)
		}
		if len(days) < demo.Days*2/3 {
			t.Errorf("%s was used on %d days", u.Name, len(days))
		}
		if u.ID == made.Owner.ID && b.Balance < 1000*money.Ruble {
			t.Errorf("the owner has %s left", b.Balance)
		}
	}
	if calls != made.Calls || charged != made.Charged || failovers != made.Failovers || failed != made.Failed || failovers < 50 || failed < 10 {
		t.Errorf("%d calls of %s, %d failovers, %d failed; made %+v", calls, charged, failovers, failed, made)
	}
	// The month must not become work that a first start waits for: each batch is one transaction, and so is each of the rest.
	if writes := made.Batches + 2*made.Payments + made.TopUps; made.Calls > 6000 || made.Batches > 2*demo.Days || writes > 120 {
		t.Errorf("%d calls in %d batches, %d transactions", made.Calls, made.Batches, writes)
	}
}

// TestDemoMonthKeepsLimits: what a key has spent in a day is within the limit that it has for a day.
func TestDemoMonthKeepsLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := openDemo(t, t.TempDir(), demoNow)
	defer g.close(ctx)
	fillDemo(t, g)
	keys, err := g.store.Accounts.ListKeys(ctx, apikey.Filter{IncludeDisabled: true})
	if err != nil {
		t.Fatal(err)
	}
	users, err := g.store.Accounts.ListUsers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	limited, refused := 0, 0
	for _, u := range users {
		type dayOf struct{ key, day string }
		spent := map[dayOf]money.Nano{}
		for _, c := range callsOf(t, g, u.Wallet) {
			spent[dayOf{c.Key, c.At.Format(time.DateOnly)}] += c.Cost
			if c.Error == "payment_required" {
				refused++
			}
		}
		for _, k := range keys {
			if k.User != u.ID || k.Limit == nil || k.Limit.Reset != apikey.Daily {
				continue
			}
			limited++
			for d, sum := range spent {
				if d.key == k.ID && sum > k.Limit.Amount {
					t.Errorf("%s of %s spent %s on %s", k.Name, u.Name, sum, d.day)
				}
			}
		}
	}
	if limited == 0 || refused == 0 {
		t.Errorf("%d keys with a limit for a day, %d calls beyond one", limited, refused)
	}
}

// TestDemoMonthIsTheSame: two demos that begin at the same moment have the same figures, whatever their ids are, and one that begins later has
// later days.
func TestDemoMonthIsTheSame(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	figures := func(now time.Time) (demo.Made, map[string]money.Nano) {
		g := openDemo(t, t.TempDir(), now)
		defer g.close(ctx)
		made := fillDemo(t, g)
		days := map[string]money.Nano{}
		for _, c := range callsOf(t, g, made.Owner.Wallet) {
			days[c.At.Format(time.DateOnly)] += c.Cost
		}
		made.Owner.ID, made.Owner.Wallet = "", ""
		return made, days
	}
	first, days := figures(demoNow)
	second, again := figures(demoNow)
	if first.Charged != second.Charged || !slices.Equal(first.Statements, second.Statements) || first.Failovers != second.Failovers || !maps.Equal(days, again) {
		t.Errorf("%+v and %+v", first, second)
	}
	_, later := figures(demoNow.AddDate(0, 0, 3))
	if last := slices.Max(slices.Collect(maps.Keys(later))); last != "2026-12-03" {
		t.Errorf("a demo of 3 December ends on %s", last)
	}
}

// TestDemoAgain: a demo that starts again has the keys that it printed and no second month. A key that does not work any more is replaced, alone.
func TestDemoAgain(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	start := func(now time.Time, o *DemoOptions) (demoAccess, int, []apikey.Key) {
		g := openDemo(t, dir, now)
		defer g.close(ctx)
		o.Balance = cmp.Or(o.Balance, "1000")
		a, err := g.demoAccess(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		d := g.demo.Load()
		if d.Key != a.key || d.Until.IsZero() || d.Until.After(demoNow) {
			t.Errorf("the pages get %+v", d)
		}
		keys, err := g.store.Accounts.ListKeys(ctx, apikey.Filter{User: d.Owner, IncludeDisabled: true})
		if err != nil {
			t.Fatal(err)
		}
		u, err := g.store.Accounts.UserByID(ctx, d.Owner)
		if err != nil {
			t.Fatal(err)
		}
		return a, len(callsOf(t, g, u.Wallet)), keys
	}
	first, calls, keys := start(demoNow, &DemoOptions{})
	if info, err := os.Stat(filepath.Join(dir, demoKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	second, again, same := start(demoNow.Add(time.Hour), &DemoOptions{})
	if second.key != first.key || second.management != first.management || again != calls || len(same) != len(keys) || calls == 0 {
		t.Errorf("%+v with %d calls and %d keys, then %+v with %d and %d", first, calls, len(keys), second, again, len(same))
	}
	g := openDemo(t, dir, demoNow)
	if err := apikey.NewManager(g.store.Accounts, nil, g.clock, 0).Delete(ctx, "", apikey.Hash(first.key), demo.Actor); err != nil {
		t.Error(err)
	}
	g.close(ctx)
	third, _, _ := start(demoNow.Add(2*time.Hour), &DemoOptions{Empty: true})
	if third.key == first.key || third.management != first.management {
		t.Errorf("after the key was deleted: %+v", third)
	}
	if fourth, _, _ := start(demoNow.Add(3*time.Hour), &DemoOptions{Balance: "5000"}); fourth.key != third.key || fourth.balance != 5000*money.Ruble {
		t.Errorf("%+v, then %+v", third, fourth)
	}
}

// TestDemoVendors: the models under known names are the simulator's, and say so in their own names and in those of their providers.
func TestDemoVendors(t *testing.T) {
	t.Parallel()
	d, err := demoVendors("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.Models {
		if !strings.HasPrefix(m.Slug, "sim/") || !strings.Contains(m.Name, "simulated") || m.DescriptionRU == "" {
			t.Errorf("%+v", m)
		}
	}
	for _, p := range d.Providers {
		if !p.Simulated || !strings.Contains(p.Name, "simulated") || !strings.HasPrefix(p.BaseURL, "http://127.0.0.1:1/") {
			t.Errorf("%+v", p)
		}
	}
}

// BenchmarkDemoMonth measures what a first start waits for.
func BenchmarkDemoMonth(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		g := openDemo(b, b.TempDir(), demoNow)
		b.StartTimer()
		fillDemo(b, g)
		b.StopTimer()
		g.close(context.Background())
		b.StartTimer()
	}
}
