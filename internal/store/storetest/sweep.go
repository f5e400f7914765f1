package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/usage"
)

// Sweeps checks that after any step of dropping calls, in whatever order and begun again at any place, the books are balanced, and pages,
// statements and limits of keys have the same sums as before. open gives an empty store that reads that clock, and closes it after the test.
func Sweeps(t *testing.T, open Open) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	s := open(t, func() time.Time { return now })
	b := &reports{t: t, s: s, now: now, random: rand.New(rand.NewPCG(7, 9))}
	b.fill([]string{"Europe/Moscow", "Asia/Kolkata"})
	if since, err := s.Ledger.KeptSince(t.Context()); err != nil || !since.IsZero() {
		t.Fatalf("kept since %s, %v", since, err)
	}
	random := rand.New(rand.NewPCG(1, 3))
	after, all := "", 0
	for step := range 40 {
		before := now.AddDate(0, 0, -9).Add(time.Duration(step) * 3 * time.Hour)
		if random.IntN(3) == 0 {
			after = "" // as after a start
		}
		next, n, err := s.Ledger.SweepCalls(t.Context(), before, after, 1+random.IntN(25))
		if err != nil {
			t.Fatal(err)
		}
		after, all = next, all+n
		if (step+1)%(4*every(3)) == 0 {
			b.balanced("")
		}
	}
	cut := now.AddDate(0, 0, -4)
	for after = "x"; after != ""; {
		if after == "x" {
			after = ""
		}
		next, n, err := s.Ledger.SweepCalls(t.Context(), cut, after, 40)
		if err != nil {
			t.Fatal(err)
		}
		after, all = next, all+n
	}
	if since, err := s.Ledger.KeptSince(t.Context()); err != nil || !since.Equal(cut) {
		t.Errorf("kept since %s, %v", since, err)
	}
	if all < 250 {
		t.Errorf("%d calls were dropped", all)
	}
	if k, err := s.Ledger.Kept(t.Context()); err != nil || k.Dropped != int64(all) || k.Calls != int64(600-all) || !k.Since.Equal(cut) || k.Bytes < 100_000 || k.Tables < 30 {
		t.Errorf("%+v, %v", k, err)
	}
	b.balanced(fmt.Sprintf("%d calls before 2026-02-28 were dropped", all))
	t.Run("usage", b.usage)
	t.Run("statements", b.statements)
	t.Run("keys", b.keys)
	t.Run("calls", func(t *testing.T) { b.callsSince(t, cut) })
	t.Run("late calls", func(t *testing.T) { b.late(t, s, cut) })
	t.Run("refunds meanwhile", func(t *testing.T) { b.refundsMeanwhile(t, s) })
	if err := s.Ledger.RebuildRollUps(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Errorf("rebuilt: %v", err)
	}
}

// balanced verifies the books. part is in the detail of the settlements.
func (b *reports) balanced(part string) {
	b.t.Helper()
	r, err := ledger.Verify(b.t.Context(), b.s.Ledger, "", ledger.Anchor{}, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	sameBy(b.t, b.s, r, 3)
	for _, c := range r.Checks {
		if !c.OK && c.Name != "charges" { // the lines of these calls follow from nothing
			b.t.Errorf("%s: %s", c.Name, c.Detail)
		}
		if c.Name == "settlements" && !strings.Contains(c.Detail, part) {
			b.t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// callsSince checks that calls before a time are gone, and say so, and the others are there.
func (b *reports) callsSince(t *testing.T, cut time.Time) {
	refunded := false
	kept := 0
	for i := range b.calls {
		c := &b.calls[i]
		_, entries, err := b.s.Ledger.Call(t.Context(), c.Wallet, c.Generation)
		if !c.At.Before(cut) {
			if kept++; err != nil || c.Settled != (len(entries) == 1) {
				t.Fatalf("%s: %v", c.Generation, err)
			}
			continue
		}
		if !fault.Is(err, fault.NotFound) || !strings.Contains(fault.From(err).Public, "before 2026-02-28") {
			t.Fatalf("%s: %v", c.Generation, err)
		}
		if c.Settled && !refunded {
			refunded = true
			_, err := b.s.Ledger.Post(t.Context(), ledger.Posting{Kind: ledger.RefundKind, Ref: "refund:late", Against: ledger.RefundAccount + c.Generation, Amount: 1, Reason: "r", At: b.now})
			if !fault.Is(err, fault.Unprocessable) || !strings.Contains(fault.From(err).Public, "before 2026-02-28") {
				t.Errorf("a refund: %v", err)
			}
		}
	}
	r := report.New(b.s.Ledger, flushed{b.s.Ledger})
	for _, f := range []report.Filter{{}, {Model: "a/x"}, {Result: report.Failed}} {
		want := 0
		for i := range b.calls {
			if c := &b.calls[i]; !c.At.Before(cut) && fits(c, &f) {
				want++
			}
		}
		got := 0
		err := r.All(t.Context(), report.Search{Wallet: "wal_1", Filter: f, From: b.now.AddDate(0, 0, -30), To: b.now.Add(time.Hour), Limit: 20}, func(*record.Call) bool { got++; return true })
		if err != nil || got != want {
			t.Errorf("%+v: %d calls, want %d, %v", f, got, want, err)
		}
	}
	if kept == 0 || !refunded {
		t.Error("nothing was kept, or nothing was dropped that was charged")
	}
}

// late applies calls from before the horizon, as a node does that was down for long. They are kept until the next sweep.
func (b *reports) late(t *testing.T, s *store.Store, cut time.Time) {
	batch := ledger.Batch{Node: "late", Now: b.now, To: 2}
	if _, err := s.Ledger.Position(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		at := cut.AddDate(0, 0, -2).Add(time.Duration(i) * time.Hour)
		c := record.Call{Generation: fmt.Sprintf("gen-%d-late", at.Unix()), Request: "req_1", User: "usr_1", Wallet: "wal_1", Key: "key_1", API: "messages", Model: "a/x", Provider: "p", Endpoint: "e1", At: at,
			Settled: true, Cost: 3 * money.Ruble, Rate: "usd=90 margin=0 vat=20", Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(3 * money.Ruble)}}}
		batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: c}))
	}
	if to, err := s.Ledger.Apply(t.Context(), &batch); err != nil || to != 2 {
		t.Fatal(to, err)
	}
	b.balanced("")
	if _, err := s.Ledger.Post(t.Context(), ledger.Posting{Kind: ledger.RefundKind, Ref: "refund:late", Against: ledger.RefundAccount + batch.Items[0].Call.Generation, Amount: money.Ruble, Reason: "r", At: b.now}); err != nil {
		t.Error(err)
	}
	b.balanced("")
	if _, n, err := s.Ledger.SweepCalls(t.Context(), cut, "", 100); err != nil || n != 2 {
		t.Errorf("%d dropped, %v", n, err)
	}
	b.balanced("")
}

// refundsMeanwhile refunds calls while they are dropped: each refund is counted, or finds its call gone.
func (b *reports) refundsMeanwhile(t *testing.T, s *store.Store) {
	ended := make(chan error, 1)
	go func() {
		after := ""
		for {
			next, _, err := s.Ledger.SweepCalls(t.Context(), b.now.AddDate(0, 0, -1), after, 3)
			if after = next; err != nil || next == "" {
				ended <- err
				return
			}
		}
	}()
	posted := 0
	for i := len(b.calls) - 1; i >= 0; i-- {
		c := &b.calls[i]
		_, err := s.Ledger.Post(t.Context(), ledger.Posting{Kind: ledger.RefundKind, Ref: "refund:meanwhile:" + c.Generation, Against: ledger.RefundAccount + c.Generation, Amount: 1, Reason: "r", At: b.now})
		switch {
		case err == nil:
			posted++
		case !fault.Is(err, fault.Unprocessable):
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if posted == 0 {
		t.Error("nothing was refunded")
	}
	b.balanced("")
}

// sweptTamperings are changes after calls were dropped, each with the check that finds it.
var sweptTamperings = map[string]struct{ text, check string }{
	"nothing":                      {"SELECT 1", ""},
	"an old call gone":             {"DELETE FROM generations WHERE id = 'gen-4'", "chain"},
	"an hour's cost changed":       {"UPDATE usage_hourly SET cost = cost + 1", "usage by hour"},
	"an hour gone":                 {"DELETE FROM usage_hourly WHERE cost > 0", "usage by hour"},
	"cost moved between columns":   {"UPDATE usage_hourly SET prompt = prompt + 1, completion = completion - 1", "usage by hour"},
	"a day changed":                {"UPDATE usage_daily SET cost = cost + 1", "usage by day"},
	"a key's spending forgotten":   {"UPDATE key_spend SET spent = 0 WHERE period = 'month'", "spending of keys and budgets"},
	"VAT changed":                  {"UPDATE usage_taxes SET cost = cost + 1", "VAT by day"},
	"sales changed":                {"UPDATE sales SET dollars = dollars + 1; UPDATE sales_parts SET dollars = dollars + 1", "sales"},
	"calls by result added":        {"INSERT INTO call_results (part, span, value, at, beside, api, status, result, calls, requests, cost, tax, upstream, unknown, unknown_net) VALUES ('all', 86400, '', 1772668800, '', 'completions', 200, 'ok', 1, 1, 0, 0, 0, 0, 0)", "calls by result"},
	"what remains of funds others": {"UPDATE ledger_sweeps SET funds = taxes", "chain"},
	"a budget's rest changed":      {"UPDATE key_spend SET spent = spent + 1, dropped = dropped + 1 WHERE key_id = 'bud_1'", "spending of keys and budgets"},
	"a budget's rest forgotten":    {"UPDATE key_spend SET dropped = 0 WHERE key_id = 'bud_1'", "spending of keys and budgets"},
	"what remains of sales others": {"UPDATE ledger_sweeps SET sales = taxes", "chain"},
	"a charge gone":                {"DELETE FROM entries WHERE ref = 'settle:gen-1'", "settlements"},
	"a charge changed":             {"UPDATE entries SET amount = amount + 1 WHERE ref = 'settle:gen-1'", "settlements"},
	"a refund above its charge":    {"UPDATE entries SET amount = 80 WHERE ref = 'refund:1' AND line = 0; UPDATE entries SET amount = -80 WHERE ref = 'refund:1' AND line = 1", "refunds"},
	"what remains of calls gone":   {"DELETE FROM ledger_sweeps", "chain"},
	"what remains of calls less":   {"UPDATE ledger_sweeps SET settled = settled - 1", "chain"},
	"what remains of hours others": {"UPDATE ledger_sweeps SET hours = taxes", "chain"},
}

func sweptBooks(t *testing.T, open func(*testing.T) Books) {
	for name, c := range sweptTamperings {
		t.Run("swept/"+name, func(t *testing.T) {
			t.Parallel()
			b := kept(t, open(t))
			_, noted := failed(t, &b, ledger.Anchor{})
			next, n, err := b.Store.Ledger.SweepCalls(t.Context(), time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC), "", 3)
			if err != nil || n != 3 || next == "" {
				t.Fatalf("%q, %d, %v", next, n, err)
			}
			found, end := failed(t, &b, noted)
			if len(found) > 0 || end.Length != noted.Length+1 {
				t.Fatalf("after the sweep: %v, %d links", found, end.Length)
			}
			for _, text := range []string{"DELETE FROM ledger_sweeps", "UPDATE ledger_sweeps SET calls = 0"} {
				if err := b.SQL(text); err == nil || !strings.Contains(err.Error(), "never") {
					t.Errorf("%s: %v", text, err)
				}
			}
			b.change(t, c.text)
			if found, _ := failed(t, &b, noted); c.check != "" && found[c.check] == "" || (c.check == "") != (len(found) == 0) {
				t.Errorf("found %v", found)
			}
		})
	}
}
