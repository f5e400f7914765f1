package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/store"
)

// actsByThemselves has three nodes close months for more than a year. They start again, are stopped in the middle of a round and work at the
// same time; people make some acts by hand. Each month in which something was spent has one act, the numbers have no gap, and all acts of an
// account are what it spent, to the kopeck.
func actsByThemselves(t *testing.T, s *store.Store) {
	r := rand.New(rand.NewPCG(5, 7))
	begin := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	at := begin
	now := func(c *invoice.Config) { c.Now = func() time.Time { return at } }
	users := make([]account.User, 3)
	for k := range users {
		users[k] = client(t, s)
		bill(t, s, users[k], biller(s, at), 100*money.Ruble)
	}
	start := func() *invoice.Closer {
		return biller(s, at, now).NewCloser(func(account string, made []invoice.Act, err error) {
			if err != nil && t.Context().Err() == nil && account != "" {
				t.Logf("%s: %v", account, err) // a round that was stopped
			}
		})
	}
	nodes := []*invoice.Closer{start(), start(), start()}
	spent, months := map[string]money.Nano{}, map[string]map[string]bool{}
	for step := range 90 {
		at = at.Add(time.Duration(r.Int64N(int64(9 * 24 * time.Hour)))).Truncate(time.Microsecond)
		k := r.IntN(len(users))
		u, cost := users[k], money.Nano(r.Int64N(5e9)+2e7)
		spend(t, s, fmt.Sprint("node", step), u, map[time.Time]money.Nano{at: cost})
		spent[u.ID] += cost
		if months[u.ID] == nil {
			months[u.ID] = map[string]bool{}
		}
		months[u.ID][invoice.MonthsOf(nil).Of(at)] = true
		switch r.IntN(5) {
		case 0: // a node starts again
			nodes[r.IntN(3)] = start()
		case 1: // a node is stopped in its round
			ctx, stop := context.WithCancel(t.Context())
			go stop()
			nodes[r.IntN(3)].Round(ctx)
			nodes[r.IntN(3)] = start()
		case 2: // by hand
			if _, err := biller(s, at).MakeActs(t.Context(), u.ID, u.Wallet, invoice.Closed(at), invoiceBy); err != nil && at.Sub(begin) > 60*24*time.Hour {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for _, n := range nodes[:1+r.IntN(3)] {
			wg.Go(func() {
				if p := n.Round(t.Context()); p <= 0 || p > time.Hour {
					t.Errorf("a pause of %s", p)
				}
			})
		}
		wg.Wait()
	}
	at = at.AddDate(0, 2, 0)
	nodes[0].Round(t.Context())
	all, err := s.Payments.Acts(t.Context(), "", "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	numbers, acted, made := map[string]bool{}, map[string]money.Nano{}, map[string]map[string]bool{}
	last := map[int64]int64{}
	for i := range all {
		a := &all[i]
		if numbers[a.Number] || made[a.Account][a.Month] {
			t.Errorf("%s of %s in %s is there twice", a.Number, a.Account, a.Month)
		}
		numbers[a.Number] = true
		acted[a.Account] += a.Amount
		if made[a.Account] == nil {
			made[a.Account] = map[string]bool{}
		}
		made[a.Account][a.Month] = true
		last[a.Year] = max(last[a.Year], a.Seq)
	}
	if total := last[2026] + last[2027]; int(total) != len(all) || last[2026] == 0 {
		t.Errorf("%d acts, the last numbers are %v", len(all), last)
	}
	for _, u := range users {
		if left := spent[u.ID] - acted[u.ID]; left < 0 || left >= invoice.Kopeck {
			t.Errorf("%s: acts of %s, %s was spent", u.ID, acted[u.ID], spent[u.ID])
		}
		if len(made[u.ID]) != len(months[u.ID]) {
			t.Errorf("%s: acts of %v, calls in %v", u.ID, made[u.ID], months[u.ID])
		}
	}
}
