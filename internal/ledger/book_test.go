package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/usage"
)

func benchBook(b *testing.B) (*ledger.Book, []string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlitetest.New(b, b.TempDir()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	var wallets []string
	for i := range 4 {
		w := fmt.Sprint("wal_0123456789abcdefghi", i)
		if err := s.Accounts.CreateUser(ctx, account.User{ID: fmt.Sprint("usr_", i), Name: "u", Wallet: w, CreatedAt: time.Now()}, audit.Event{}); err != nil {
			b.Fatal(err)
		}
		if _, err := ledger.Credit(ctx, s.Ledger, ledger.TopUp{Wallet: w, Source: "bench", ExternalID: w, Amount: 1_000_000_000_000_000}, time.Now()); err != nil {
			b.Fatal(err)
		}
		wallets = append(wallets, w)
	}
	book, err := ledger.Start(ctx, s.Ledger, ledger.Default(filepath.Join(b.TempDir(), "journal"), time.Now))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = book.Close(ctx) })
	return book, wallets
}

func benchCall(n int64, wallet string) *record.Call {
	c := &record.Call{Generation: fmt.Sprintf("gen-%d-%020d", time.Now().Unix(), n), Request: "req_0123456789abcdefghij", User: "usr_0123456789abcdefghij", Wallet: wallet,
		Key: "key_" + wallet, API: "completions", At: time.Now(), ModelAsked: "vendor/model", Model: "vendor/model", Provider: "provider",
		ProviderName: "Provider", Endpoint: "provider/vendor/model", UpstreamModel: "model-2026", UpstreamID: "chatcmpl-0123456789abcdef", Streamed: true, Status: 200,
		Finish: "stop", NativeFinish: "stop", Lines: []usage.Line{{Kind: 1, Quantity: 250, Price: 25_000_000}, {Kind: 7, Quantity: 100, Price: 75_000_000}}, Cost: 13_750_000,
		Settled: true, PriceList: "2026-03-01", Rate: "92.5*1.15", SourcePrice: "0.25", Hold: 50_000_000, FirstContent: 200 * time.Millisecond, Duration: 2 * time.Second,
		Generating: 1800 * time.Millisecond, Candidates: []record.Candidate{{Endpoint: "provider/vendor/model", Order: 1, Score: 1, Reason: "weight"}},
		Attempts:  []record.Attempt{{Endpoint: "provider/vendor/model", Provider: "provider", Status: 200, FirstContent: 200 * time.Millisecond, Ended: 2 * time.Second}},
		UserAgent: "openai-go/3.4.0"}
	c.Usage.Prompt, c.Usage.Completion, c.Usage.CacheRead = usage.Of(250), usage.Of(100), usage.Of(0)
	return c
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCall is the whole way of a call's money: hold, settle, journal, apply. cpu-ns/op is what the process used for it, in all goroutines.
func BenchmarkCall(b *testing.B) {
	for _, limits := range []int{0, 1, 5} {
		b.Run(fmt.Sprintf("limits=%d", limits), func(b *testing.B) {
			book, wallets := benchBook(b)
			ctx := context.Background()
			var all []ledger.Limit // budgets of an organization, a team, a member, a tag and a session
			for i, reset := range []ledger.Reset{ledger.Monthly, ledger.Monthly, ledger.Weekly, ledger.Daily, ledger.Never} {
				all = append(all, ledger.Limit{ID: fmt.Sprint("bud_0123456789abcdefghijklm", i), Amount: 1_000_000_000_000_000, Reset: reset})
			}
			var n atomic.Int64
			b.ReportAllocs()
			start := cpu()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					w := wallets[i%4]
					c := benchCall(i, w)
					r := ledger.HoldRequest{Wallet: w, Key: c.Key, Amount: c.Hold, Limits: all[:limits]}
					if limits == 1 {
						r.Limits = []ledger.Limit{{ID: c.Key, Amount: 1_000_000_000_000_000, Reset: ledger.Monthly}}
					}
					h, err := book.Hold(ctx, r)
					if err != nil {
						b.Error(err)
						return
					}
					if err := book.Settle(ctx, h, c); err != nil {
						b.Error(err)
						return
					}
				}
			})
			if err := book.Flush(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkHold is what admission costs on the path of a request.
func BenchmarkHold(b *testing.B) {
	book, wallets := benchBook(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		h, err := book.Hold(ctx, ledger.HoldRequest{Wallet: wallets[0], Amount: 50_000_000})
		if err != nil {
			b.Fatal(err)
		}
		h.Release()
	}
}
