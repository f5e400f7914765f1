package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/routing"
	"weir/internal/store"
)

// Budgets checks what a store does for budgets. open gives an empty store, and closes it after the test.
func Budgets(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"changes":              budgetChanges,
		"bounds":               budgetBounds,
		"only their account's": budgetAccounts,
		"put":                  budgetPuts,
		"undone":               budgetUndone,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, func() time.Time { return payAt }))
		})
	}
	t.Run("children", func(t *testing.T) {
		t.Parallel()
		children(t, newDesk(t, open))
	})
	t.Run("amounts of children", func(t *testing.T) {
		t.Parallel()
		amountsOfChildren(t, newDesk(t, open))
	})
	t.Run("calls while one is deleted", func(t *testing.T) {
		t.Parallel()
		callsOfDeleted(t, newDesk(t, open))
	})
}

// amountsOfChildren checks that the amount of an agent's key is raised within what the keys above it have left, and lowered at any time, while calls run:
// it spends at most the largest amount that it had, those above it at most theirs, and what was set last holds.
func amountsOfChildren(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	user, s, b, now := "usr_"+w[len("wal_"):], d.store.Accounts, d.node(), d.clock.Now()
	root, _ := apikey.Make(apikey.NewKey{Name: "ci", User: user, Creator: user, Limit: &apikey.Limit{Amount: 12 * ruble}}, now)
	if err := s.InsertKey(d.ctx, root, 9, apikey.CreatedEvent(&root, actor)); err != nil {
		t.Fatal(err)
	}
	agent, _ := apikey.Make(apikey.NewKey{Name: "agent", User: user, Creator: user, Limit: &apikey.Limit{Amount: 2 * ruble}}, now)
	agent.Child = apikey.Child{Parent: root.ID, Tree: agent.ID}
	if err := s.InsertChild(d.ctx, agent, now, apikey.CreatedEvent(&agent, actor)); err != nil {
		t.Fatal(err)
	}
	keys := apikey.NewManager(s, nil, d.clock.Now, 0)
	set := func(to *apikey.Limit) error {
		_, err := keys.Change(d.ctx, user, agent.Hash, apikey.Change{Limit: &to}, actor)
		return err
	}
	call := func(amount money.Nano) error {
		f, err := s.KeyByID(d.ctx, agent.ID)
		if err != nil {
			return err
		}
		h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: agent.ID, Amount: amount, Limits: []ledger.Limit{{ID: agent.ID, Amount: f.Limit.Amount}, {ID: root.ID, Amount: 12 * ruble}}})
		if err != nil {
			return err
		}
		return b.Settle(d.ctx, h, d.call(w, agent.ID, amount))
	}
	for _, to := range []*apikey.Limit{nil, {Amount: 3 * ruble, Reset: apikey.Daily}, {}, {Amount: 12*ruble + 1}} {
		if err := set(to); fault.From(err).Param != "limit" || fault.From(err).Code == "" {
			t.Errorf("%v: %v", to, err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 8 {
				if err := call(ruble / 2); err != nil && !fault.Is(err, fault.PaymentRequired) {
					t.Error(err)
				}
			}
		})
	}
	for _, to := range []money.Nano{6, 3, 8, 5, 8} {
		if err := set(&apikey.Limit{Amount: to * ruble}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	d.flush(b)
	spent, err := b.KeySpend(d.ctx, agent.ID)
	if err != nil || spent.Total > 8*ruble || spent.Total < 2*ruble {
		t.Fatalf("%s spent of at most 8, %v", spent.Total, err)
	}
	if err := set(&apikey.Limit{Amount: 12 * ruble}); err != nil {
		t.Errorf("all that is left above it, and what it has spent: %v", err)
	}
	if err := set(&apikey.Limit{Amount: 12*ruble + 1}); fault.From(err).Param != "limit" {
		t.Errorf("more than is left above it: %v", err)
	}
	if err := call(12*ruble - spent.Total + 1); !fault.Is(err, fault.PaymentRequired) {
		t.Errorf("more than is left: %v", err)
	}
	if err := call(12*ruble - spent.Total); err != nil {
		t.Errorf("all that is left: %v", err)
	}
	if up, err := b.KeySpend(d.ctx, root.ID); err != nil || up.Total != 12*ruble {
		t.Errorf("%s, %v", up.Total, err)
	}
	if err := set(&apikey.Limit{Amount: ruble}); err != nil {
		t.Errorf("less than is spent: %v", err)
	}
	if err := call(1); !fault.Is(err, fault.PaymentRequired) {
		t.Errorf("less than is spent: %v", err)
	}
	d.balanced()
}

// callsOfDeleted checks that a budget which was deleted and brought back has counted the calls that ran then, those that began before and those that began
// meanwhile, and that it refuses nothing while it is deleted.
func callsOfDeleted(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	account, b := "usr_"+w[len("wal_"):], d.node()
	m := budget.NewManager(d.store.Accounts, d.clock.Now)
	made, err := m.Add(d.ctx, budget.Budget{Account: account, Scope: budget.Scope{Kind: budget.Organization}, Amount: 5 * ruble, Hard: true, Rules: budget.Rules{Models: []string{"acme/*"}}}, actor)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(amount money.Nano) (*ledger.Hold, error) {
		t.Helper()
		bound, err := m.Of(d.ctx, &budget.Call{Account: account})
		if err != nil || len(bound) != 1 {
			t.Fatal(bound, err)
		}
		if narrowed := len(budget.Narrow(bound, routing.Preferences{}).Models) > 0; narrowed != bound[0].Refuses() {
			t.Errorf("a deleted budget narrows calls: %+v", bound[0])
		}
		return b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: budget.Limits(bound, ""), Amount: amount})
	}
	must := func(h *ledger.Hold, err error) *ledger.Hold {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	settle := func(h *ledger.Hold, cost money.Nano) {
		t.Helper()
		if err := b.Settle(d.ctx, h, d.call(w, "key_1", cost)); err != nil {
			t.Fatal(err)
		}
	}
	settle(must(hold(ruble)), ruble)
	before, after := must(hold(ruble)), must(hold(ruble))
	if err := m.Delete(d.ctx, account, made.ID, actor); err != nil {
		t.Fatal(err)
	}
	settle(before, ruble)
	meanwhile := must(hold(50 * ruble)) // more than it has
	settle(must(hold(ruble)), ruble)
	if back, err := m.Restore(d.ctx, account, made.ID, actor); err != nil || cmp.Diff(made, back) != "" {
		t.Fatalf("%v: %s", err, cmp.Diff(made, back))
	}
	settle(after, ruble)
	settle(meanwhile, ruble/2)
	d.flush(b) // what was spent meanwhile was not on hold in the budget: it is known once it is in the books
	if _, err := hold(ruble/2 + 1); !fault.Is(err, fault.PaymentRequired) {
		t.Errorf("more than is left: %v", err)
	}
	settle(must(hold(ruble/2)), ruble/2)
	if stands, err := m.Spent(d.ctx, b, w, budget.Limits([]*budget.Budget{&made}, "")); err != nil || stands[0].Spent != 5*ruble || stands[0].Held != 0 {
		t.Errorf("%+v, %v", stands, err)
	}
	d.balanced()
}

// children checks that keys which other keys made are bounded, end together, and are found when their money has ended.
func children(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	user, s, b, now := "usr_"+w[len("wal_"):], d.store.Accounts, d.node(), d.clock.Now()
	root, _ := apikey.Make(apikey.NewKey{Name: "ci", User: user, Creator: user, Limit: &apikey.Limit{Amount: 10 * ruble}}, now)
	if err := s.InsertKey(d.ctx, root, 9, apikey.CreatedEvent(&root, actor)); err != nil {
		t.Fatal(err)
	}
	made := 0
	child := func(parent *apikey.Key, amount money.Nano) (apikey.Key, error) {
		made++
		k, _ := apikey.Make(apikey.NewKey{Name: fmt.Sprint("agent ", made), User: user, Creator: user, Limit: &apikey.Limit{Amount: amount}}, now.Add(time.Duration(made)*time.Microsecond))
		if k.Child = (apikey.Child{Parent: parent.ID, Tree: parent.Child.Tree, Depth: 1, Tools: []string{"a", "b"}}); k.Child.Tree == "" {
			k.Child.Tree = k.ID
		}
		return k, s.InsertChild(d.ctx, k, now, apikey.CreatedEvent(&k, actor))
	}
	must := func(parent *apikey.Key, amount money.Nano) apikey.Key {
		t.Helper()
		k, err := child(parent, amount)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	top := must(&root, 8*ruble)
	leaf := must(&top, 5*ruble)
	if _, err := child(&root, 10*ruble+1); fault.From(err).Param != "amount" {
		t.Errorf("more than its parent has: %v", err)
	}
	if f, err := s.KeyByID(d.ctx, leaf.ID); err != nil || len(f.Above) != 2 || f.Above[0].Key != top.ID || f.Above[1].Key != root.ID || cmp.Diff(leaf.Child, f.Child) != "" {
		t.Errorf("%+v, %v", f, err)
	}
	limits := []ledger.Limit{{ID: leaf.ID, Amount: 5 * ruble}, {ID: top.ID, Amount: 8 * ruble}, {ID: root.ID, Amount: 10 * ruble}}
	h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: leaf.ID, Limits: limits, Amount: 4960 * money.Ruble / 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(d.ctx, h, d.call(w, leaf.ID, 4960*money.Ruble/1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CatchUp(d.ctx); err != nil {
		t.Fatal(err)
	}
	tree, err := s.Tree(d.ctx, user, top.ID)
	if err != nil || len(tree) != 2 || tree[0].Spent != tree[1].Spent || tree[1].Spent != 4960*money.Ruble/1000 || tree[1].Calls != 1 || tree[0].Calls != 0 {
		t.Errorf("%+v, %v", tree, err)
	}
	if out, err := s.OutOfMoney(d.ctx, user, now, 9); err != nil || len(out) != 1 || out[0].ID != leaf.ID || out[0].Top != top.Name {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := child(&root, 6*ruble); fault.From(err).Param != "amount" {
		t.Errorf("more than its parent has left: %v", err)
	}
	for range apikey.MaxChildren {
		must(&leaf, 1)
	}
	if _, err := child(&leaf, 1); !fault.Is(err, fault.Invalid) {
		t.Errorf("one child too many: %v", err)
	}
	if ids, err := s.StopBelow(d.ctx, user, leaf.ID, now, apikey.CreatedEvent(&leaf, actor)); err != nil || len(ids) != apikey.MaxChildren+1 {
		t.Errorf("%d were stopped, %v", len(ids), err)
	}
	if ids, err := s.StopBelow(d.ctx, user, leaf.ID, now, apikey.CreatedEvent(&leaf, actor)); err != nil || len(ids) != 0 {
		t.Errorf("%d were stopped again, %v", len(ids), err)
	}
	if _, err := child(&leaf, 1); !fault.Is(err, fault.NotFound) {
		t.Errorf("a child of one that has ended: %v", err)
	}
	if out, err := s.OutOfMoney(d.ctx, user, now, 9); err != nil || len(out) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	off := true
	if _, err := s.ChangeKey(d.ctx, user, root.Hash, apikey.Change{Disabled: &off}, now, apikey.CreatedEvent(&root, actor)); err != nil {
		t.Fatal(err)
	}
	if f, err := s.KeyByHash(d.ctx, top.Hash); err != nil || !f.UserDisabled {
		t.Errorf("%+v, %v", f, err)
	}
	if tops, err := s.Tops(d.ctx, user, "", apikey.Sight{}, 9); err != nil || len(tops) != 1 || tops[0].ID != top.ID {
		t.Errorf("%+v, %v", tops, err)
	}
	if list, err := s.ListKeys(d.ctx, apikey.Filter{User: user, IncludeDisabled: true, IncludeDeleted: true}); err != nil || len(list) != 1 {
		t.Errorf("%d keys among those of people, %v", len(list), err)
	}
	d.balanced()
}

func budgetManager(s *store.Store) *budget.Manager {
	return budget.NewManager(s.Accounts, func() time.Time { return payAt })
}

func budgetChanges(t *testing.T, s *store.Store) {
	account, m := viewUser(t, s), budgetManager(s)
	key := hintKey(t, s, account)
	made := []budget.Budget{}
	for _, b := range []budget.Budget{
		{Scope: budget.Scope{Kind: budget.Session}, Amount: 5 * ruble, Hard: true},
		{Scope: budget.Scope{Kind: budget.Tag, ID: "project=атлас"}, Amount: 7*ruble + 1, Reset: ledger.Weekly, Hard: true, Alarms: []int{95, 80, 80}},
		{Scope: budget.Scope{Kind: budget.Organization}, Name: "All", Amount: 300 * ruble, Reset: ledger.Monthly, Alarms: []int{50}},
		{Scope: budget.Scope{Kind: budget.Key, ID: key.ID}, Hard: true, Rules: budget.Rules{Models: []string{"acme/*", "b/c"}, Providers: []string{"acme"}, DenyCollection: true, ZDR: true}},
	} {
		b.Account = account
		got, err := m.Add(t.Context(), b, actor)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, got)
	}
	want := []budget.Budget{made[2], made[3], made[1], made[0]}
	if all, err := m.List(t.Context(), account); err != nil || cmp.Diff(want, all) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(want, all))
	}
	if want := []int{80, 95}; cmp.Diff(want, made[1].Alarms) != "" {
		t.Error(made[1].Alarms)
	}
	again := budget.Budget{Account: account, Scope: made[1].Scope, Amount: 1, Reset: ledger.Weekly, Hard: true}
	if _, err := m.Add(t.Context(), again, actor); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same scope and period: %v", err)
	}
	again.Reset = ledger.Daily
	if _, err := m.Add(t.Context(), again, actor); err != nil {
		t.Errorf("another period: %v", err)
	}
	got, err := m.Change(t.Context(), account, made[1].ID, func(b *budget.Budget) {
		b.Amount, b.Alarms, b.Hard, b.Scope, b.Reset = 9*ruble, []int{10}, false, budget.Scope{Kind: budget.Organization}, ledger.Never
	}, actor)
	want[2].Amount, want[2].Alarms, want[2].Hard = 9*ruble, []int{10}, false
	if err != nil || cmp.Diff(want[2], got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(want[2], got))
	}
	if kept, err := m.List(t.Context(), account); err != nil || !slices.ContainsFunc(kept, func(b budget.Budget) bool { return cmp.Equal(want[2], b) }) {
		t.Errorf("%v: %+v", err, kept)
	}
	if _, err := m.Change(t.Context(), account, made[1].ID, func(b *budget.Budget) { b.Amount = -1 }, actor); !fault.Is(err, fault.Invalid) {
		t.Errorf("below zero: %v", err)
	}
	if err := m.Delete(t.Context(), account, made[1].ID, actor); err != nil {
		t.Error(err)
	}
	if err := m.Delete(t.Context(), account, made[1].ID, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	acts := map[string]int{}
	for row, err := range s.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		acts[row.Action]++
	}
	if acts[audit.BudgetMade] != 5 || acts[audit.BudgetChanged] != 1 || acts[audit.BudgetRemoved] != 1 {
		t.Error(acts)
	}
}

// budgetUndone checks who brings back which deleted budget, until when, and that it has its place as before.
func budgetUndone(t *testing.T, s *store.Store) {
	account, other := viewUser(t, s), viewUser(t, s)
	now := payAt
	m := budget.NewManager(s.Accounts, func() time.Time { return now })
	made := func(tag string) budget.Budget {
		t.Helper()
		b, err := m.Add(t.Context(), budget.Budget{Account: account, Scope: budget.Scope{Kind: budget.Tag, ID: tag}, Amount: ruble, Hard: true, Alarms: []int{80}}, actor)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	gone := func(b *budget.Budget) {
		t.Helper()
		if err := m.Delete(t.Context(), account, b.ID, actor); err != nil {
			t.Fatal(err)
		}
	}
	acts := func() (n int) {
		t.Helper()
		for row, err := range s.Accounts.AuditRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Action == audit.BudgetRestored {
				n++
			}
		}
		return n
	}
	b := made("a")
	gone(&b)
	if _, err := m.Restore(t.Context(), other, b.ID, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's: %v", err)
	}
	if _, err := m.Change(t.Context(), account, b.ID, func(b *budget.Budget) { b.Amount++ }, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("a deleted one was changed: %v", err)
	}
	if all, err := m.List(t.Context(), account); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := m.Deleted(t.Context(), account); err != nil || len(all) != 1 || all[0].ID != b.ID || !all[0].DeletedAt.Equal(payAt) {
		t.Errorf("%+v, %v", all, err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if back, err := m.Restore(t.Context(), account, b.ID, actor); err != nil || cmp.Diff(b, back) != "" {
				t.Errorf("%v: %s", err, cmp.Diff(b, back))
			}
		})
	}
	wg.Wait()
	if n := acts(); n != 1 {
		t.Errorf("brought back by four at once: %d audit lines", n)
	}
	gone(&b)
	if made("a").ID == b.ID {
		t.Error("a new budget has the count of a deleted one")
	}
	if _, err := m.Restore(t.Context(), account, b.ID, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("another has taken its place: %v", err)
	}
	b = made("b")
	gone(&b)
	for i := range budget.MaxPerAccount - 1 {
		made(fmt.Sprint("n=", i))
	}
	if _, err := m.Restore(t.Context(), account, b.ID, actor); !fault.Is(err, fault.Invalid) {
		t.Errorf("no room: %v", err)
	}
	now = payAt.Add(budget.Kept)
	if _, err := m.Restore(t.Context(), account, b.ID, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("too late: %v", err)
	}
	if all, err := m.Deleted(t.Context(), account); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	all, err := m.List(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all[:101] {
		now = now.Add(time.Second)
		gone(&all[i])
	}
	if kept, err := m.Deleted(t.Context(), account); err != nil || len(kept) != 100 || kept[0].ID != all[100].ID {
		t.Errorf("%d deleted budgets are kept, %v", len(kept), err)
	}
	if rows, err := s.Accounts.Budgets(t.Context(), account); err != nil || len(rows) != budget.MaxPerAccount-1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// Accounts have room for so many budgets, whatever is made at one time.
func budgetBounds(t *testing.T, s *store.Store) {
	account, m := viewUser(t, s), budgetManager(s)
	add := func(i int) error {
		_, err := m.Add(t.Context(), budget.Budget{Account: account, Scope: budget.Scope{Kind: budget.Tag, ID: fmt.Sprint("n=", i)}, Hard: true}, actor)
		return err
	}
	for i := range budget.MaxPerAccount - 1 {
		if err := add(i); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { errs[i] = add(budget.MaxPerAccount + i) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !fault.Is(err, fault.Invalid) {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d budgets found room for one", made)
	}
}

// budgetPuts checks that a budget which is put is made once, changed where it says something else, and otherwise left as it is, also by several at once.
func budgetPuts(t *testing.T, s *store.Store) {
	account, m := viewUser(t, s), budgetManager(s)
	b := budget.Budget{Account: account, Scope: budget.Scope{Kind: budget.Tag, ID: "project=atlas"}, Amount: ruble, Reset: ledger.Monthly, Hard: true, Alarms: []int{90, 80}, Rules: budget.Rules{Models: []string{"acme/*"}}}
	var wg sync.WaitGroup
	var made, changed [4]bool
	var ids [4]string
	for i := range ids {
		wg.Go(func() {
			got, new, other, err := m.Put(t.Context(), b, actor)
			if ids[i], made[i], changed[i] = got.ID, new, other; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(made[:], func(x bool) bool { return !x })); n != 1 || ids[0] != ids[1] || ids[1] != ids[2] || ids[2] != ids[3] {
		t.Errorf("%d were made: %v", n, ids)
	}
	b.Amount, b.Rules = 2*ruble, budget.Rules{}
	for i, want := range []bool{true, false} {
		if got, made, changed, err := m.Put(t.Context(), b, actor); err != nil || made || changed != want || got.ID != ids[0] || got.Amount != 2*ruble || !got.Rules.Empty() {
			t.Errorf("%d: %+v, %t, %t, %v", i, got, made, changed, err)
		}
	}
	if all, err := m.List(t.Context(), account); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	b.Amount = -1
	if _, _, _, err := m.Put(t.Context(), b, actor); !fault.Is(err, fault.Invalid) {
		t.Errorf("below zero: %v", err)
	}
	acts := map[string]int{}
	for row, err := range s.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		acts[row.Action]++
	}
	if acts[audit.BudgetMade] != 1 || acts[audit.BudgetChanged] != 1 {
		t.Error(acts)
	}
}

func budgetAccounts(t *testing.T, s *store.Store) {
	one, other, m := viewUser(t, s), viewUser(t, s), budgetManager(s)
	key := hintKey(t, s, one)
	b, err := m.Add(t.Context(), budget.Budget{Account: one, Scope: budget.Scope{Kind: budget.Organization}, Hard: true, Amount: ruble}, actor)
	if err != nil {
		t.Fatal(err)
	}
	for kind, id := range map[budget.Kind]string{budget.Key: key.ID, budget.Team: "team_none", budget.Member: one} {
		if _, err := m.Add(t.Context(), budget.Budget{Account: other, Scope: budget.Scope{Kind: kind, ID: id}, Hard: true}, actor); fault.From(err) == nil || fault.From(err).Param != "scope.id" || fault.From(err).Code == "" {
			t.Errorf("of another's %s: %v", kind, err)
		}
	}
	if _, err := m.Change(t.Context(), other, b.ID, func(*budget.Budget) {}, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("another changes it: %v", err)
	}
	if err := m.Delete(t.Context(), other, b.ID, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("another deletes it: %v", err)
	}
	if all, err := m.List(t.Context(), other); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := m.Add(t.Context(), budget.Budget{Account: "usr_none", Scope: budget.Scope{Kind: budget.Organization}, Hard: true}, actor); !fault.Is(err, fault.NotFound) {
		t.Errorf("of no account: %v", err)
	}
}
