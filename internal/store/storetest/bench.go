package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/usage"
)

// ApplyBench measures what a settled call costs on its way from the journal to the tables, by the number of wallets and of calls in a batch.
func ApplyBench(b *testing.B, open func(*testing.B) LedgerStore) {
	for _, size := range []struct{ wallets, calls int64 }{{1, 50}, {1, 200}, {1, 1000}, {10, 1000}, {1000, 1000}} {
		wallets, calls := size.wallets, size.calls
		b.Run(fmt.Sprintf("wallets=%d,calls=%d", wallets, calls), func(b *testing.B) {
			ctx := context.Background()
			s := open(b)
			at := time.Unix(1e9, 0)
			for i := range wallets {
				u := account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: fmt.Sprint("wal_", i), CreatedAt: at}
				if err := s.CreateUser(ctx, u, audit.Event{}); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := s.Position(ctx, "node"); err != nil {
				b.Fatal(err)
			}
			batch := ledger.Batch{Node: "node", Now: at}
			for b.Loop() {
				b.StopTimer()
				batch.From, batch.To, batch.Items = batch.To, batch.To+calls, batch.Items[:0]
				for i := range calls {
					w := fmt.Sprint("wal_", i%wallets)
					c := record.Call{Generation: fmt.Sprintf("gen-%d", batch.From+i), Request: "req_0123456789abcdefghij", User: "usr_0123456789abcdefghij", Wallet: w,
						Key: "key_" + w, API: "completions", At: at, ModelAsked: "vendor/model", Model: "vendor/model", Provider: "provider", Endpoint: "provider/vendor/model",
						Status: 200, Lines: []usage.Line{{Kind: 1, Quantity: 250, Price: 25_000_000}}, Cost: 6_250_000, Usage: usage.Usage{Prompt: usage.Of(250)}, Settled: true}
					batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: c}))
				}
				b.StartTimer()
				if to, err := s.Apply(ctx, &batch); err != nil || to != batch.To {
					b.Fatalf("%d, %v", to, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(calls), "us/call")
		})
	}
}
