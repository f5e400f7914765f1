package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/store"
)

// NodesBench measures how many calls per second several nodes bring to one database, each with its own connections: calls of accounts that
// all of them serve, and of accounts that each serves alone. began is called before each measurement; what it returns reports it.
func NodesBench(b *testing.B, open func(*testing.B) (first *store.Store, another func() *store.Store, began func() func(calls int))) {
	const size, batches, accounts = 500, 16, 200
	for _, shared := range []bool{true, false} {
		for _, nodes := range []int{1, 2, 4, 8} {
			name := fmt.Sprintf("nodes=%d,accounts=own", nodes)
			if shared {
				name = fmt.Sprintf("nodes=%d,accounts=shared", nodes)
			}
			b.Run(name, func(b *testing.B) {
				ctx := context.Background()
				first, another, began := open(b)
				random := rand.New(rand.NewPCG(3, 4))
				at := time.Unix(1.79e9, 0)
				stores := []*store.Store{first}
				for len(stores) < nodes {
					stores = append(stores, another())
				}
				queues := make([][]ledger.Batch, nodes)
				world := newWorld(random, accounts)
				for n := range nodes {
					if !shared || n == 0 {
						if n > 0 {
							world = newWorld(random, accounts)
						}
						for i := range world.wallets {
							if err := first.Accounts.CreateUser(ctx, account.User{ID: world.users[i], Name: "u", Wallet: world.wallets[i], CreatedAt: at}, audit.Event{}); err != nil {
								b.Fatal(err)
							}
						}
					}
					node := fmt.Sprint("node-", n)
					if _, err := first.Ledger.Position(ctx, node); err != nil {
						b.Fatal(err)
					}
					for k := range int64(batches) {
						batch := ledger.Batch{Node: node, Now: at, From: k * size, To: (k + 1) * size}
						for i := range size {
							batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: world.call(random, at.Add(time.Duration(i)*time.Millisecond))}))
						}
						queues[n] = append(queues[n], batch)
					}
				}
				for b.Loop() {
					ended := began()
					errs := make(chan error, nodes)
					for n := range nodes {
						go func() { errs <- applyAll(ctx, stores[n], queues[n]) }()
					}
					for range nodes {
						if err := <-errs; err != nil {
							b.Fatal(err)
						}
					}
					ended(nodes * batches * size)
				}
			})
		}
	}
}

// applyAll applies batches one after another. As nodes do, it tries again when a statement has waited for too long.
func applyAll(ctx context.Context, s *store.Store, queue []ledger.Batch) error {
	for i := range queue {
		to, err := s.Ledger.Apply(ctx, &queue[i])
		for range 20 {
			if !fault.Is(err, fault.StorageUnavailable) {
				break
			}
			to, err = s.Ledger.Apply(ctx, &queue[i])
		}
		if err != nil || to != queue[i].To {
			return fmt.Errorf("%d, %w", to, err)
		}
	}
	return nil
}
