package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/usage"
)

// spend applies calls of a wallet.
func spend(t *testing.T, s *store.Store, node string, u account.User, costs map[time.Time]money.Nano) (calls []record.Call) {
	t.Helper()
	from, err := s.Ledger.Position(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.Batch{Node: node, Now: payAt, From: from}
	for _, at := range slices.SortedFunc(maps.Keys(costs), time.Time.Compare) { // in an order: what is refunded depends on it
		cost := costs[at]
		c := record.Call{Generation: fmt.Sprintf("gen-%d-%s-%d", at.UnixMicro(), node, len(b.Items)), Request: "req_1", User: u.ID, Wallet: u.Wallet, At: at, Key: "key_1", API: "completions", Model: "a/x", Provider: "p", Endpoint: "e", Status: 200, Settled: true, Cost: cost,
			Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(cost)}}}
		b.Items = append(b.Items, ledger.Encode(ledger.Item{Call: c}))
		calls = append(calls, c)
	}
	b.To = b.From + int64(len(b.Items))
	if to, err := s.Ledger.Apply(t.Context(), &b); err != nil || to != b.To {
		t.Fatalf("%d, %v", to, err)
	}
	return calls
}

// actsAreStatements makes calls, refunds, adjustments and top-ups at random moments of half a year, the edges of months in Moscow among them, and
// those where the account moves, and compares each act with sums of its own: the statement of the month, and acts that together are what was spent, to the kopeck.
func actsAreStatements(t *testing.T, s *store.Store, moves bool) {
	r := rand.New(rand.NewPCG(11, 13))
	u := client(t, s)
	begin := time.Date(2026, 3, 31, 21, 0, 0, 0, time.UTC) // 1 April in Moscow
	if moves {
		for k, name := range []string{"Asia/Vladivostok", "America/New_York", "Asia/Kolkata"} {
			if _, err := s.Accounts.SetZone(t.Context(), u.Wallet, name, begin.AddDate(0, 1+k, 12), audit.Event{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	zones, err := s.Ledger.Zones(t.Context(), u.Wallet)
	if err != nil {
		t.Fatal(err)
	}
	in := invoice.MonthsOf(zones)
	bill(t, s, u, biller(s, begin.AddDate(0, 1, 9)), 100*money.Ruble)
	months := []string{"2026-04", "2026-05", "2026-06", "2026-07", "2026-08", "2026-09"}
	type flow struct{ topped, spent money.Nano }
	flows := map[string]*flow{}
	at := func() time.Time {
		edge := in.Start(time.Date(2026, time.Month(4+r.IntN(7)), 1, 0, 0, 0, 0, time.UTC).Format("2006-01"))
		switch r.IntN(4) {
		case 0:
			return edge
		case 1:
			return edge.Add(-time.Microsecond)
		}
		return begin.Add(time.Duration(r.Int64N(int64(183 * 24 * time.Hour)))).Truncate(time.Microsecond)
	}
	of := func(at time.Time) *flow {
		m := at.Add(3 * time.Hour).UTC().Format("2006-01")
		if moves {
			m = in.Of(at)
		}
		if flows[m] == nil {
			flows[m] = &flow{}
		}
		return flows[m]
	}
	n := 0
	events := func(some int) {
		costs := map[time.Time]money.Nano{}
		for range some {
			when, cost := at(), money.Nano(r.Int64N(5e9))
			if _, twice := costs[when]; !twice {
				costs[when] = cost
				of(when).spent += cost
			}
		}
		calls := spend(t, s, "node", u, costs)
		for k := range some / 3 {
			when := at()
			if _, err := ledger.Credit(t.Context(), s.Ledger, ledger.TopUp{Wallet: u.Wallet, Source: "test", ExternalID: fmt.Sprint(n, k), Amount: money.Nano(1 + r.Int64N(1e12)), Actor: invoiceBy}, when); err != nil {
				t.Fatal(err)
			}
			m, _ := topUpOf(t, s, u, when)
			of(when).topped += m
			when = at()
			amount := money.Nano(r.Int64N(2e9) - 1e9 - 1)
			if _, err := ledger.Adjust(t.Context(), s.Ledger, ledger.Adjustment{Wallet: u.Wallet, ID: fmt.Sprint(n, k), Amount: amount, Reason: "r", BelowZero: true, Actor: invoiceBy}, when); err != nil {
				t.Fatal(err)
			}
			of(when).spent -= amount
			c := &calls[k]
			if amount = c.Cost / money.Nano(1+r.Int64N(3)); amount > 0 {
				when = at()
				if _, err := ledger.GiveBack(t.Context(), s.Ledger, ledger.Refund{Generation: c.Generation, ID: fmt.Sprint(n, k), Amount: amount, Reason: "r", Actor: invoiceBy}, when); err != nil {
					t.Fatal(err)
				}
				of(when).spent -= amount
			}
			n++
		}
	}
	events(60)
	m := biller(s, time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC))
	due, err := m.ActsDue(t.Context(), u.ID)
	if err != nil || len(due) == 0 || due[0] != "2026-05" || due[len(due)-1] != "2026-11" {
		t.Errorf("%q, %v", due, err)
	}
	var acted, spent money.Nano
	opening := flows[months[0]].topped - flows[months[0]].spent
	if before := flows["2026-03"]; before != nil {
		opening += before.topped - before.spent
	}
	for k, month := range months[1:] {
		acts, err := m.MakeActs(t.Context(), u.ID, u.Wallet, month, invoiceBy)
		if err != nil || len(acts) != 1 {
			t.Fatalf("%s: %d, %v", month, len(acts), err)
		}
		a, f := acts[0], flows[month]
		if a.Number != fmt.Sprint("A-2026-", k+1) || a.Opening != opening || a.ToppedUp != f.topped || a.Spent != f.spent || a.Closing != opening+f.topped-f.spent {
			t.Errorf("%s: %s + %s - %s = %s; want %s + %s - %s", month, a.Opening, a.ToppedUp, a.Spent, a.Closing, opening, f.topped, f.spent)
		}
		opening = a.Closing
		acted, spent = acted+a.Amount, spent+f.spent
		if a.Amount%invoice.Kopeck != 0 || a.After < 0 || a.After >= invoice.Kopeck || acted+a.After != spent {
			t.Errorf("%s: all acts are %s, and %s is carried on; %s was spent", month, acted, a.After, spent)
		}
		if got, err := s.Payments.ActByID(t.Context(), a.ID); err != nil || got != a {
			t.Errorf("(-want +got), %v:\n%s", err, cmp.Diff(a, got))
		}
	}
	// What comes late is in the next act, and those that were made stay.
	before, err := s.Payments.Acts(t.Context(), u.ID, "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	late := time.Date(2026, 6, 5, 0, 0, 0, 0, time.UTC)
	spend(t, s, "late", u, map[time.Time]money.Nano{late: 7_000_000_003})
	if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-10", invoiceBy); err != nil {
		t.Fatal(err)
	}
	after, err := s.Payments.Acts(t.Context(), u.ID, "", "", 100)
	if d := cmp.Diff(before, after[1:]); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if f := flows["2026-10"]; f != nil {
		spent += f.spent
	}
	if a := after[0]; acted+a.Amount+a.After != spent+7_000_000_003 {
		t.Errorf("%s and %s, %s carried on; %s was spent", acted, a.Amount, a.After, spent+7_000_000_003)
	}
}

// topUpOf is the top-up of a wallet at a moment, the newest.
func topUpOf(t *testing.T, s *store.Store, u account.User, at time.Time) (money.Nano, bool) {
	t.Helper()
	zones, err := s.Ledger.Zones(t.Context(), u.Wallet)
	if err != nil {
		t.Fatal(err)
	}
	day := zones.Day(at)
	a, err := s.Ledger.Account(t.Context(), u.Wallet, day, day.AddDate(0, 0, 1), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var found *ledger.Movement
	for i := range a.Movements {
		if x := &a.Movements[i]; x.Kind == ledger.TopUpKind && x.At.Equal(at) && (found == nil || x.Transaction > found.Transaction) {
			found = x
		}
	}
	if found == nil {
		t.Fatal("no top-up")
	}
	return found.Amount, true
}

func actsRace(t *testing.T, s *store.Store) {
	var wg sync.WaitGroup
	m := biller(s, payAt)
	at := payAt.AddDate(0, -2, 0)
	users := make([]account.User, 4)
	for k := range users {
		users[k] = client(t, s)
		bill(t, s, users[k], biller(s, at), 100*money.Ruble)
		spend(t, s, fmt.Sprint("node", k), users[k], map[time.Time]money.Nano{at: 5 * money.Ruble, at.AddDate(0, 1, 0): 6 * money.Ruble})
	}
	for _, u := range users {
		for range 3 {
			wg.Go(func() {
				if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-10", invoiceBy); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	all, err := s.Payments.Acts(t.Context(), "", "", "", 100)
	if err != nil || len(all) != 8 {
		t.Fatalf("%d acts, %v", len(all), err)
	}
	numbers := map[int64]bool{}
	for i := range all {
		numbers[all[i].Seq] = true
	}
	if len(numbers) != 8 || !numbers[1] || !numbers[8] {
		t.Errorf("%v", numbers)
	}
	if some, err := s.Payments.Acts(t.Context(), "", "2026-09", "", 100); err != nil || len(some) != 4 {
		t.Errorf("%d, %v", len(some), err)
	}
}

func actsOfAll(t *testing.T, s *store.Store) {
	at := payAt.AddDate(0, -1, 0)
	want := map[string]bool{}
	if err := biller(s, payAt).MakeAllActs(t.Context(), "2026-11", invoiceBy, func(string, []invoice.Act, error) {}); !fault.Is(err, fault.Invalid) {
		t.Errorf("of nobody, too early: %v", err)
	}
	for k := range 3 {
		u := client(t, s)
		bill(t, s, u, biller(s, at), 100*money.Ruble)
		if k > 0 {
			spend(t, s, fmt.Sprint("node", k), u, map[time.Time]money.Nano{at: 5 * money.Ruble})
			want[u.ID] = true
		}
	}
	early := time.Date(2026, 11, 1, 20, 59, 59, 0, time.UTC) // the second begins in Moscow a second later
	all := func(at time.Time) (map[string]bool, error) {
		got := map[string]bool{}
		err := biller(s, at).MakeAllActs(t.Context(), "2026-10", invoiceBy, func(account string, acts []invoice.Act, err error) {
			if err != nil || len(acts) != 1 {
				t.Errorf("%d, %v", len(acts), err)
			}
			got[account] = true
		})
		return got, err
	}
	if got, err := all(early); !fault.Is(err, fault.Invalid) || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := all(early.Add(time.Second)); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := all(payAt); err != nil || len(got) != 0 {
		t.Errorf("made again: %v, %v", got, err)
	}
}

func actsOfNothing(t *testing.T, s *store.Store) {
	u := client(t, s)
	at := time.Date(2026, 7, 10, 0, 0, 0, 0, time.UTC)
	m := biller(s, payAt)
	if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-07", invoiceBy); !fault.Is(err, fault.Unprocessable) {
		t.Error(err)
	}
	bill(t, s, u, biller(s, at), 100*money.Ruble)
	for _, month := range []string{"2026-06", "2026-7", "2026-13", "", "2026-11", "2027-01"} {
		if _, err := m.MakeActs(t.Context(), u.ID, u.Wallet, month, invoiceBy); !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unprocessable) {
			t.Errorf("%q: %v", month, err)
		}
	}
	calls := spend(t, s, "n1", u, map[time.Time]money.Nano{at: 50 * money.Ruble})
	spend(t, s, "n2", u, map[time.Time]money.Nano{at.AddDate(0, 2, 0): 70 * money.Ruble, at.AddDate(0, 3, 0): 9_999_999})
	if made, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-07", invoiceBy); err != nil || len(made) != 1 || made[0].Amount != 50*money.Ruble {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := ledger.GiveBack(t.Context(), s.Ledger, ledger.Refund{Generation: calls[0].Generation, ID: "1", Reason: "r", Actor: invoiceBy}, at.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	made, err := m.MakeActs(t.Context(), u.ID, u.Wallet, "2026-10", invoiceBy)
	if err != nil || len(made) != 1 || made[0].Month != "2026-09" || made[0].Amount != 20*money.Ruble || made[0].Before != -50*money.Ruble || made[0].Number != "A-2026-2" {
		t.Errorf("%+v, %v", made, err)
	}
}
