package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
)

// team is a call of a key that comes from another, in a team of an organization: its key's own limit first, and one that only counts.
func team(w string) ledger.HoldRequest {
	return ledger.HoldRequest{Wallet: w, Key: "key_child", Amount: ruble, Limits: []ledger.Limit{
		{ID: "key_child", Amount: 9 * ruble}, {ID: "key_parent", Amount: 8 * ruble, Reset: ledger.Monthly},
		{ID: "bud_team", Amount: 7 * ruble, Reset: ledger.Weekly}, {ID: "bud_day", Amount: 6 * ruble, Reset: ledger.Daily}, {ID: "bud_alarm", Amount: 1, Reset: ledger.Daily, Open: true}}}
}

// pay is a hold and a charge of that much under limits.
func (d *books) pay(b *ledger.Book, r ledger.HoldRequest, cost money.Nano) *record.Call {
	d.t.Helper()
	r.Amount = cost
	h, err := b.Hold(d.ctx, r)
	if err != nil {
		d.t.Fatal(err, fault.From(err).Details)
	}
	c := d.call(r.Wallet, r.Key, cost)
	if err := b.Settle(d.ctx, h, c); err != nil {
		d.t.Fatal(err)
	}
	return c
}

// states are what funds of limits have at present.
func (d *books) states(b *ledger.Book, r *ledger.HoldRequest) (spent, held []money.Nano) {
	d.t.Helper()
	var funds []ledger.Fund
	for _, l := range r.Limits {
		funds = append(funds, b.Fund(r.Wallet, l))
	}
	all, err := b.FundStates(d.ctx, funds)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range all {
		spent, held = append(spent, s.Spent), append(held, s.Held)
	}
	return spent, held
}

func (d *books) wantStates(b *ledger.Book, r *ledger.HoldRequest, spent, held []money.Nano) {
	d.t.Helper()
	gotSpent, gotHeld := d.states(b, r)
	if diff := cmp.Diff([][]money.Nano{spent, held}, [][]money.Nano{gotSpent, gotHeld}); diff != "" {
		d.t.Fatal(diff)
	}
}

func all(n money.Nano, open money.Nano) []money.Nano { return []money.Nano{n, n, n, n, open} }

// manyLimits: a call takes from each of its limits or from none, whether it is held, grown, settled above its hold, released or refunded.
func manyLimits(t *testing.T, d *books) {
	w, b, other := d.wallet(100*ruble), d.node(), d.node()
	r := team(w)
	beat := func() { d.clock.Advance(2 * time.Second); d.tick(b); d.tick(other) }
	h, err := b.Hold(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Grow(d.ctx, 2*ruble); err != nil {
		t.Fatal(err)
	}
	beat()
	d.wantStates(other, &r, all(0, 0), all(3*ruble, 0))
	err = h.Grow(d.ctx, 3*ruble+1)
	if f := fault.From(err); f.Kind != fault.PaymentRequired || f.Details["budget"] != "bud_day" || f.Details["available"] != "3" || h.Amount() != 3*ruble {
		t.Errorf("%v, %v, holding %s", err, f.Details, h.Amount())
	}
	beat()
	d.wantStates(other, &r, all(0, 0), all(3*ruble, 0))
	d.balanced()
	c := d.call(w, r.Key, 4*ruble) // more than was held
	if err := b.Settle(d.ctx, h, c); err != nil {
		t.Fatal(err)
	}
	beat()
	d.wantStates(b, &r, all(4*ruble, 4*ruble), all(0, 0))
	d.balanced()

	refused := r
	refused.Amount = 2*ruble + 1
	d.refused(other, refused)
	beat()
	d.wantStates(b, &r, all(4*ruble, 4*ruble), all(0, 0)) // the refusal has left nothing held
	d.pay(other, r, 2*ruble)
	d.flush(other)
	if _, err := b.GiveBack(d.ctx, ledger.Refund{Generation: c.Generation, ID: "1", Amount: ruble, Reason: "r", Actor: actor}); err != nil {
		t.Fatal(err)
	}
	d.wantStates(b, &r, all(5*ruble, 5*ruble), all(0, 0))

	// A charge says in what it counts.
	x, err := ledger.Explain(d.ctx, b, w, c.Generation)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	_, _ = x.WriteTo(&text)
	for _, line := range []string{"key_parent  month from 2026-03-01", "bud_team    week from 2026-03-02", "bud_day     day from 2026-03-04", "bud_alarm   day from 2026-03-04, only counted"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is missing in\n%s", line, text.String())
		}
	}
	// Calls of a key that comes from another count there as its own do, in every interval; a call that is not settled counts nowhere.
	b.Note(&record.Call{Generation: "gen-note", Wallet: w, Key: r.Key, At: d.clock.Now(), Funds: c.Funds})
	if got, err := b.KeySpend(d.ctx, "key_parent"); err != nil || got != (ledger.KeySpend{Total: 5 * ruble, Daily: 5 * ruble, Weekly: 5 * ruble, Monthly: 5 * ruble}) {
		t.Errorf("%+v, %v", got, err)
	}
	h, err = b.Hold(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
	for range 4 {
		d.clock.Advance(4 * time.Second)
		d.tick(b)
		d.tick(other)
	}
	d.wantBalance(d.store.Ledger, w, 101*ruble, 6*ruble, 0)
	d.balanced()
}

// strictest: of several limits that refuse the one is named that leaves least, and one that lasts before one that only running calls cause.
func strictest(t *testing.T, d *books) {
	w, b := d.wallet(100*ruble), d.node()
	for name, c := range map[string]struct {
		limits []ledger.Limit
		want   map[string]any
		retry  bool
	}{
		"the key itself": {[]ledger.Limit{{ID: "key_1", Amount: 3, Reset: ledger.Daily}, {ID: "bud_1", Amount: 4}},
			map[string]any{"reason": "key_limit", "available": "0.000000003", "renews_at": "2026-03-05T00:00:00Z"}, false},
		"a key above": {[]ledger.Limit{{ID: "key_1", Amount: 3}, {ID: "key_0", Amount: 2, Reset: ledger.Weekly}},
			map[string]any{"reason": "key_limit", "key": "key_0", "available": "0.000000002", "renews_at": "2026-03-09T00:00:00Z"}, false},
		"the last of three": {[]ledger.Limit{{ID: "bud_1", Amount: 5}, {ID: "bud_2", Amount: 2000}, {ID: "bud_3", Amount: 4, Reset: ledger.Monthly}},
			map[string]any{"reason": "budget", "budget": "bud_3", "available": "0.000000004", "renews_at": "2026-04-01T00:00:00Z"}, false},
		"an open one refuses nothing": {[]ledger.Limit{{ID: "bud_4", Open: true}, {ID: "bud_5", Amount: 1}},
			map[string]any{"reason": "budget", "budget": "bud_5", "available": "0.000000001"}, false},
		"running calls": {[]ledger.Limit{{ID: "bud_full", Amount: 1000}},
			map[string]any{"reason": "budget", "budget": "bud_full", "available": "0", "reserved": "0.000001"}, true},
		"one that lasts before running calls": {[]ledger.Limit{{ID: "bud_full", Amount: 1000}, {ID: "bud_6", Amount: 999}},
			map[string]any{"reason": "budget", "budget": "bud_6", "available": "0.000000999"}, false},
	} {
		running, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Amount: 1000, Limits: []ledger.Limit{{ID: "bud_full", Amount: 1000}}})
		if err != nil {
			t.Fatal(err)
		}
		f := d.refused(b, ledger.HoldRequest{Wallet: w, Key: "key_1", Amount: 1000, Limits: c.limits})
		c.want["required"] = "0.000001"
		if diff := cmp.Diff(c.want, f.Details); diff != "" || f.Kind != fault.PaymentRequired || (f.RetryAfter > 0) != c.retry {
			t.Errorf("%s: %s\n%v", name, diff, f)
		}
		running.Release()
	}
	d.topUp(w, 1)
	f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 200 * ruble, Limits: []ledger.Limit{{ID: "bud_1", Amount: 1}}})
	if f.Details["reason"] != nil || f.Details["available"] != "100.000000001" {
		t.Errorf("the wallet: %v", f.Details)
	}
	for name, bad := range map[string][]ledger.Limit{
		"twice":    {{ID: "bud_1", Amount: 1}, {ID: "bud_1", Amount: 2}},
		"nameless": {{Amount: 1}},
		"too many": slices.Repeat([]ledger.Limit{{ID: "x", Amount: 1}}, ledger.MaxLimits+1),
		"long":     {{ID: strings.Repeat("x", record.MaxID+1), Amount: 1}},
	} {
		if f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 1, Limits: bad}); f.Kind != fault.Internal {
			t.Errorf("%s: %v", name, f)
		}
	}
	for range 4 {
		d.clock.Advance(4 * time.Second)
		d.tick(b)
	}
	d.wantBalance(d.store.Ledger, w, 100*ruble+1, 0, 0)
	d.balanced()
}

// renewedLimits: at midnight of the account a budget of a day is whole again. A call that runs then counts in the day that its hold is of, and that
// is the next one from when it grows; neither day is passed.
func renewedLimits(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	if _, err := d.store.Accounts.SetZone(d.ctx, w, "Europe/Moscow", d.clock.Now(), audit.Event{Actor: actor, Action: audit.UserTimezone, Target: w}); err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(36 * time.Hour) // the zone begins with a midnight
	b := d.node()
	day := ledger.HoldRequest{Wallet: w, Key: "key_1", Amount: 4 * ruble, Limits: []ledger.Limit{{ID: "bud_day", Amount: 10 * ruble, Reset: ledger.Daily}}}
	stays, err := b.Hold(d.ctx, day)
	if err != nil {
		t.Fatal(err)
	}
	grows, err := b.Hold(d.ctx, day)
	if err != nil {
		t.Fatal(err)
	}
	at, ok := b.Renews(w, ledger.Daily)
	if f := d.refused(b, day); !ok || f.Details["renews_at"] != at.Format(time.RFC3339) || at.Hour() != 21 {
		t.Fatalf("renews at %s, %v", at, f.Details)
	}
	d.clock.Advance(at.Sub(d.clock.Now()))
	d.tick(b)
	whole := day
	whole.Amount = 5 * ruble
	late, err := b.Hold(d.ctx, whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := grows.Grow(d.ctx, 2*ruble); err == nil {
		t.Error("a call that grows took more than the new day has beside others")
	}
	if err := grows.Grow(d.ctx, ruble); err != nil {
		t.Fatal(err)
	}
	for h, cost := range map[*ledger.Hold]money.Nano{stays: 4 * ruble, grows: 5 * ruble, late: 5 * ruble} {
		if err := b.Settle(d.ctx, h, d.call(w, "key_1", cost)); err != nil {
			t.Fatal(err)
		}
	}
	today := b.Fund(w, day.Limits[0])
	yesterday := today
	yesterday.Period.Start -= 24 * 3600
	states, err := b.FundStates(d.ctx, []ledger.Fund{yesterday, today})
	if err != nil || states[0].Spent != 4*ruble || states[1].Spent != 10*ruble {
		t.Errorf("%+v, %v", states, err)
	}
	d.balanced()
}

// lostLimits: what a node that died held of a budget, or borrowed, is there again when others have seen that it is dead. A node that slept through
// that holds nothing from leases that it lost.
func lostLimits(t *testing.T, d *books) {
	w, dead, alive := d.wallet(100*ruble), d.node(), d.node()
	r := team(w)
	r.Amount = 5 * ruble
	old, err := dead.Hold(d.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	d.tick(dead)
	d.tick(alive)
	d.refused(alive, r)
	for range 30 { // it sleeps
		d.clock.Advance(5 * time.Second)
		d.tick(alive)
	}
	h, err := alive.Hold(d.ctx, r)
	if err != nil {
		t.Fatal("what a dead node held is gone: ", err)
	}
	if err := old.Grow(d.ctx, 1); err == nil {
		t.Error("a hold grew in leases that its node has lost")
	}
	old.Release()
	d.tick(dead)
	r.Amount = 2 * ruble
	if f := d.refused(dead, r); f.Details["budget"] != "bud_day" {
		t.Error(f, f.Details)
	}
	if err := alive.Settle(d.ctx, h, d.call(w, r.Key, 5*ruble)); err != nil {
		t.Fatal(err)
	}
	d.flush(alive)
	d.pay(dead, r, ruble)
	d.refused(alive, r)
	d.wantStates(dead, &r, all(6*ruble, 6*ruble), all(0, 0))
	d.balanced()
}

// childKeys: of a tree of keys none spends more than any key above it has, and what one does not spend the others can.
func childKeys(t *testing.T, d *books) {
	w := d.wallet(1000 * ruble)
	nodes := []*ledger.Book{d.node(), d.node()}
	root := ledger.Limit{ID: "key_root", Amount: 20 * ruble}
	var spent money.Nano
	for i := range 40 {
		agent := ledger.Limit{ID: fmt.Sprint("key_agent", i%4), Amount: 6 * ruble}
		key := fmt.Sprint("key_sub", i)
		r := ledger.HoldRequest{Wallet: w, Key: key, Amount: ruble, Limits: []ledger.Limit{{ID: key, Amount: ruble}, agent, root}}
		b := nodes[i%2]
		h, err := b.Hold(d.ctx, r)
		if i >= 20 {
			if f := fault.From(err); err == nil || f.Details["key"] != "key_root" || f.Details["available"] != "0" {
				t.Fatalf("call %d: %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(i, err)
		}
		if err := b.Settle(d.ctx, h, d.call(w, key, ruble)); err != nil {
			t.Fatal(err)
		}
		spent += ruble
	}
	for _, b := range nodes {
		d.flush(b)
	}
	if got, err := nodes[0].KeySpend(d.ctx, "key_root"); err != nil || got.Total != spent {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := nodes[1].KeySpend(d.ctx, "key_agent1"); err != nil || got.Total != spent/4 {
		t.Errorf("%+v, %v", got, err)
	}
	d.balanced()
}

// handedLimits: a hold that outlives its call takes its part of each limit with it, and gives back what the job does not spend.
func handedLimits(t *testing.T, s *studio) {
	k, c := s.crew(s.node()), s.user(100*ruble)
	c.Limit = nil
	r := ledger.HoldRequest{Wallet: c.Wallet, Key: c.Key, Limits: []ledger.Limit{{ID: "key_0", Amount: 30 * ruble, Reset: ledger.Weekly}, {ID: "bud_1", Amount: 20 * ruble, Reset: ledger.Daily}, {ID: "bud_2", Open: true}}}
	v := s.newVideo(c, "v/film")
	v.Limits = r.Limits
	j, err := k.Submit(s.ctx, v)
	if err != nil {
		t.Fatal(err)
	}
	again := s.newVideo(c, "v/film")
	again.Limits = r.Limits
	if _, err := k.Submit(s.ctx, again); !fault.Is(err, fault.PaymentRequired) || fault.From(err).Details["budget"] != "bud_1" {
		t.Fatalf("a second job in a budget that is held: %v", err)
	}
	s.wantStates(k.book, &r, []money.Nano{0, 0, 0}, []money.Nano{16 * ruble, 16 * ruble, 0})
	s.balanced()
	k.finished(j, "completed")
	s.wantStates(k.book, &r, []money.Nano{8 * ruble, 8 * ruble, 8 * ruble}, []money.Nano{0, 0, 0})
	s.balanced()
}

// unappliedLimits: charges that a dead process left in its journal count in budgets once, however often they are applied.
func unappliedLimits(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	cfg := d.config(t.TempDir())
	b := d.start(cfg)
	r := team(w)
	d.pay(b, r, 3*ruble)
	d.pay(b, r, 2*ruble)
	if err := b.Abandon(); err != nil {
		t.Fatal(err)
	}
	b = d.start(cfg)
	d.wantStates(b, &r, all(5*ruble, 5*ruble), all(0, 0))
	r.Amount = ruble + 1
	if f := d.refused(b, r); f.Details["budget"] != "bud_day" {
		t.Error(f, f.Details)
	}
	d.balanced()
}
