package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/store"
)

// ApplyBench measures what a settled call costs on its way from the journal to the tables, by the number of accounts that take turns and of calls in
// a batch.
func ApplyBench(b *testing.B, open func(*testing.B) *store.Store) {
	for _, size := range []struct{ accounts, calls int }{{1, 50}, {1, 200}, {1, 1000}, {1, 3000}, {10, 3000}, {200, 200}, {1000, 3000}} {
		b.Run(fmt.Sprintf("accounts=%d,calls=%d", size.accounts, size.calls), func(b *testing.B) {
			ctx := context.Background()
			s := open(b)
			at := time.Unix(1.79e9, 0)
			random := rand.New(rand.NewPCG(3, 4))
			world := newWorld(random, size.accounts)
			for i := range world.wallets {
				if err := s.Accounts.CreateUser(ctx, account.User{ID: world.users[i], Name: "u", Wallet: world.wallets[i], CreatedAt: at}, audit.Event{}); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := s.Ledger.Position(ctx, "node"); err != nil {
				b.Fatal(err)
			}
			batch := ledger.Batch{Node: "node", Now: at}
			for b.Loop() {
				b.StopTimer()
				batch.From, batch.To, batch.Items = batch.To, batch.To+int64(size.calls), batch.Items[:0]
				for range size.calls {
					at = at.Add(66 * time.Microsecond) // 15,000 a second; they end in another order than they began
					began := at.Add(-time.Duration(random.IntN(2000)) * time.Microsecond)
					batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: world.call(random, began)}))
				}
				b.StartTimer()
				if to, err := s.Ledger.Apply(ctx, &batch); err != nil || to != batch.To {
					b.Fatalf("%d, %v", to, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(size.calls), "us/call")
		})
	}
}
