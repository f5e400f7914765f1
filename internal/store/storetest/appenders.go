package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/usage"
)

// Appenders checks that nodes which post to the same database at once, on the same wallets, all get through, and leave one whole chain. nodes are
// the same database, opened for each.
func Appenders(t *testing.T, nodes []*store.Store) {
	const rounds, wallets, calls = 12, 3, 6
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute) // what waits for longer waits for itself
	defer cancel()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	wallet := func(i int) string { return fmt.Sprint("wal_", i%wallets) }
	for i := range wallets {
		u := account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: wallet(i), CreatedAt: at}
		if err := nodes[0].Accounts.CreateUser(ctx, u, audit.Event{Action: audit.UserCreated}); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Credit(ctx, nodes[0].Ledger, ledger.TopUp{Wallet: u.Wallet, Source: "test", ExternalID: fmt.Sprint("first-", i), Amount: 1000}, at); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	each := func(what string, f func(node *store.Store, n, round int) error) {
		for n, node := range nodes {
			all.Go(func() {
				for round := range rounds {
					if err := f(node, n, round); err != nil {
						t.Errorf("%s, node %d, round %d: %v", what, n, round, err)
						return
					}
				}
			})
		}
	}
	for n, node := range nodes {
		if _, err := node.Ledger.Position(ctx, fmt.Sprint("node-", n)); err != nil {
			t.Fatal(err)
		}
	}
	each("apply", func(node *store.Store, n, round int) error {
		b := ledger.Batch{Node: fmt.Sprint("node-", n), From: int64(round), To: int64(round + 1), Now: at}
		for i := range calls {
			// wallets in another order for each, on keys that are the same for all
			c := record.Call{Generation: fmt.Sprintf("gen-%d-%d-%d", n, round, i), Wallet: wallet(n*round + i*(1+n%2)), Key: fmt.Sprint("key_", i%2), User: "usr_1", At: at, Model: fmt.Sprint("a/", i%2),
				Cost: 3, Settled: true, Lines: []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: 3}}}
			b.Items = append(b.Items, ledger.Encode(ledger.Item{Call: c}))
		}
		to, err := node.Ledger.Apply(ctx, &b)
		if err == nil && to != b.To {
			err = fmt.Errorf("the position is %d", to)
		}
		return err
	})
	each("top-up", func(node *store.Store, n, round int) error {
		_, err := ledger.Credit(ctx, node.Ledger, ledger.TopUp{Wallet: wallet(n + round), Source: "test", ExternalID: fmt.Sprintf("%d-%d", n, round), Amount: 10}, at)
		return err
	})
	each("adjustment", func(node *store.Store, n, round int) error {
		_, err := ledger.Adjust(ctx, node.Ledger, ledger.Adjustment{Wallet: wallet(2*n + round), ID: fmt.Sprintf("%d-%d", n, round), Amount: 2, Reason: "because"}, at)
		return err
	})
	each("the same top-up", func(node *store.Store, _, round int) error { // by all nodes at once: it is posted once
		_, err := ledger.Credit(ctx, node.Ledger, ledger.TopUp{Wallet: wallet(round), Source: "same", ExternalID: fmt.Sprint(round), Amount: 5}, at)
		return err
	})
	each("verify", func(node *store.Store, _, round int) error { // next to live nodes the books are whole at each moment
		if round%4 != 0 {
			return nil
		}
		r, err := ledger.Verify(ctx, node.Ledger, "", ledger.Anchor{}, at)
		for _, c := range r.Checks {
			if !c.OK {
				t.Errorf("%s: %s", c.Name, c.Detail)
			}
		}
		return err
	})
	all.Wait()
	r, err := ledger.Verify(ctx, nodes[0].Ledger, "", ledger.Anchor{}, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	if want := int64(wallets + len(nodes)*rounds*3 + rounds); r.Chain.Length != want {
		t.Errorf("the chain has %d links, want %d", r.Chain.Length, want)
	}
}
