package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/ledger/ledgertest"
	"weir/internal/money"
	"weir/internal/record"
)

// treeModel is what a tree of budgets should have: what each has spent and holds, kept as plain sums.
type treeModel struct {
	parent      []int // of each budget; -1: none above it
	limits      []ledger.Limit
	spent, held []money.Nano
	credit      money.Nano
	charged     money.Nano
	on          money.Nano // on hold in the wallet
}

// path are a budget and all above it.
func (m *treeModel) path(i int) (all []int) {
	for ; i >= 0; i = m.parent[i] {
		all = append(all, i)
	}
	return all
}

// fits reports whether an amount is left in the wallet and in each budget from one upwards.
func (m *treeModel) fits(i int, n money.Nano) bool {
	if m.charged+m.on+n > m.credit {
		return false
	}
	for _, j := range m.path(i) {
		if m.spent[j]+m.held[j]+n > m.limits[j].Amount {
			return false
		}
	}
	return true
}

func (m *treeModel) hold(i int, n money.Nano) {
	m.on += n
	for _, j := range m.path(i) {
		m.held[j] += n
	}
}

func (m *treeModel) settle(i int, held, cost money.Nano) {
	m.hold(i, -held)
	m.charged += cost
	for _, j := range m.path(i) {
		m.spent[j] += cost
	}
}

// TestTreeOfBudgets: holds, their growth and what is charged for them, in random trees of budgets, agree with plain sums at each step: what fits everywhere
// is held, what does not fit somewhere is not and leaves nothing behind, and at the end each budget has spent the sum of the calls below it.
func TestTreeOfBudgets(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &treeModel{credit: money.Nano(rapid.Int64Range(0, 2000).Draw(rt, "credit"))}
		for i := range rapid.IntRange(1, 12).Draw(rt, "budgets") {
			m.parent = append(m.parent, rapid.IntRange(-1, i-1).Draw(rt, "parent"))
			m.limits = append(m.limits, ledger.Limit{ID: fmt.Sprint("bud_", i), Amount: money.Nano(rapid.Int64Range(0, 1000).Draw(rt, "amount"))})
		}
		m.spent, m.held = make([]money.Nano, len(m.limits)), make([]money.Nano, len(m.limits))
		store := ledgertest.New()
		store.AddWallet("wal_1")
		cfg := ledger.Default(fmt.Sprint(dir, "/", n), time.Now)
		cfg.Journal.Sync, cfg.Journal.SegmentBytes, cfg.ApplyEvery, cfg.TickEvery = journal.Never, 64<<10, time.Hour, time.Hour
		book, err := ledger.Start(t.Context(), store, cfg)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = book.Abandon() }()
		if _, err := ledger.Credit(t.Context(), store, ledger.TopUp{Wallet: "wal_1", Source: "s", ExternalID: "1", Amount: m.credit, Actor: simActor}, time.Now()); m.credit > 0 && err != nil {
			rt.Fatal(err)
		}
		walkTree(t, rt, book, m)
		if err := book.Flush(t.Context()); err != nil {
			rt.Fatal(err)
		}
		for i := range m.limits {
			if is := store.Spent(book.Fund("wal_1", m.limits[i])); is != m.spent[i] {
				rt.Errorf("%s has spent %d, want %d", m.limits[i].ID, is, m.spent[i])
			}
		}
		if b, err := book.Balance(t.Context(), "wal_1"); err != nil || b.Charged != m.charged || b.Held != 0 || b.Balance != m.credit-m.charged {
			rt.Errorf("%+v %v, want %d charged of %d", b, err, m.charged, m.credit)
		}
	})
}

// walkTree makes random calls, and ends all of them.
func walkTree(t *testing.T, rt *rapid.T, book *ledger.Book, m *treeModel) {
	type call struct {
		at   int
		hold *ledger.Hold
		held money.Nano
	}
	var open []call
	serial := 0
	end := func(k int, cost money.Nano) {
		c := open[k]
		open = append(open[:k], open[k+1:]...)
		m.settle(c.at, c.held, cost)
		if cost == 0 {
			c.hold.Release()
			return
		}
		serial++
		if err := book.Settle(t.Context(), c.hold, &record.Call{Generation: fmt.Sprint("gen-", serial), Wallet: "wal_1", Cost: cost, Settled: true, At: time.Now()}); err != nil {
			rt.Fatal(err)
		}
	}
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		amount := money.Nano(rapid.Int64Range(1, 400).Draw(rt, "amount"))
		if len(open) == 0 || rapid.Bool().Draw(rt, "begins") {
			at := rapid.IntRange(0, len(m.limits)-1).Draw(rt, "at")
			var limits []ledger.Limit
			for _, j := range m.path(at) {
				limits = append(limits, m.limits[j])
			}
			fits := m.fits(at, amount)
			h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: "wal_1", Limits: limits, Amount: amount})
			if (err == nil) != fits {
				rt.Fatalf("%d below %d: %v, it fits: %t, %+v", amount, at, err, fits, m)
			}
			if err == nil {
				m.hold(at, amount)
				open = append(open, call{at, h, amount})
			}
			continue
		}
		k := rapid.IntRange(0, len(open)-1).Draw(rt, "call")
		if c := &open[k]; rapid.Bool().Draw(rt, "grows") {
			fits := m.fits(c.at, amount)
			if err := c.hold.Grow(t.Context(), amount); (err == nil) != fits {
				rt.Fatalf("%d more below %d: %v, it fits: %t, %+v", amount, c.at, err, fits, m)
			}
			if fits {
				m.hold(c.at, amount)
				c.held += amount
			}
			continue
		}
		end(k, money.Nano(rapid.Int64Range(0, int64(open[k].held)).Draw(rt, "cost")))
	}
	for len(open) > 0 {
		end(0, 0)
	}
}
