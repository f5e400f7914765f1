package ledger_test

import (
	"fmt"
	"slices"
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
	gone        []bool       // deleted: it counts what is charged, and refuses nothing
	free        []money.Nano // of spent what was charged to calls that began while it was deleted
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

// binding are those of a path that are not deleted.
func (m *treeModel) binding(i int) []int {
	return slices.DeleteFunc(m.path(i), func(j int) bool { return m.gone[j] })
}

// fits reports whether an amount is left in the wallet and in each budget that binds a call, and whether it could be in leases of this node, which do
// not know what was spent while their budget was deleted.
func (m *treeModel) fits(bound []int, n money.Nano) (fits, leased bool) {
	fits = m.charged+m.on+n <= m.credit
	leased = fits
	for _, j := range bound {
		over := m.spent[j] + m.held[j] + n - m.limits[j].Amount
		fits, leased = fits && over <= 0, leased && over <= m.free[j]
	}
	return fits, leased
}

// agrees fails where a hold was refused that fits, or made that could not be leased.
func (m *treeModel) agrees(rt *rapid.T, bound []int, n money.Nano, err error) {
	if fits, leased := m.fits(bound, n); err == nil && !leased || err != nil && fits {
		rt.Fatalf("%d in %v: %v, it fits: %t, %+v", n, bound, err, fits, m)
	}
}

func (m *treeModel) hold(bound []int, n money.Nano) {
	m.on += n
	for _, j := range bound {
		m.held[j] += n
	}
}

func (m *treeModel) settle(i int, bound []int, held, cost money.Nano) {
	m.hold(bound, -held)
	m.charged += cost
	for _, j := range m.path(i) {
		m.spent[j] += cost
		if !slices.Contains(bound, j) {
			m.free[j] += cost
		}
	}
}

// TestTreeOfBudgets: holds, their growth and what is charged for them, in random trees of budgets, agree with plain sums at each step: what fits everywhere
// is held, what does not fit somewhere is not and leaves nothing behind, and at the end each budget has spent the sum of the calls below it. Budgets are
// deleted and brought back meanwhile: they refuse nothing to calls that begin then, and have counted all of them.
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
		all := len(m.limits)
		m.spent, m.held, m.free, m.gone = make([]money.Nano, all), make([]money.Nano, all), make([]money.Nano, all), make([]bool, all)
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
		at    int
		bound []int // which budgets bound it when it began
		hold  *ledger.Hold
		held  money.Nano
	}
	var open []call
	serial := 0
	end := func(k int, cost money.Nano) {
		c := open[k]
		open = append(open[:k], open[k+1:]...)
		m.settle(c.at, c.bound, c.held, cost)
		if cost == 0 {
			c.hold.Release()
			return
		}
		serial++
		if err := book.Settle(t.Context(), c.hold, &record.Call{Generation: fmt.Sprint("gen-", serial), Wallet: "wal_1", Cost: cost, Settled: true, At: time.Now()}); err != nil {
			rt.Fatal(err)
		}
		if len(c.bound) < len(m.path(c.at)) { // what was not on hold is known once it is in the books
			if err := book.Flush(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
	}
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		if rapid.IntRange(0, 5).Draw(rt, "undo") == 0 {
			i := rapid.IntRange(0, len(m.limits)-1).Draw(rt, "deleted or brought back")
			m.gone[i] = !m.gone[i]
			m.limits[i].Open = m.gone[i]
			continue
		}
		amount := money.Nano(rapid.Int64Range(1, 400).Draw(rt, "amount"))
		if len(open) == 0 || rapid.Bool().Draw(rt, "begins") {
			at := rapid.IntRange(0, len(m.limits)-1).Draw(rt, "at")
			var limits []ledger.Limit
			for _, j := range m.path(at) {
				limits = append(limits, m.limits[j])
			}
			bound := m.binding(at)
			h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: "wal_1", Limits: limits, Amount: amount})
			if m.agrees(rt, bound, amount, err); err == nil {
				m.hold(bound, amount)
				open = append(open, call{at, bound, h, amount})
			}
			continue
		}
		k := rapid.IntRange(0, len(open)-1).Draw(rt, "call")
		if c := &open[k]; rapid.Bool().Draw(rt, "grows") {
			err := c.hold.Grow(t.Context(), amount)
			if m.agrees(rt, c.bound, amount, err); err == nil {
				m.hold(c.bound, amount)
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
