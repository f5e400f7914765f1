package ledger_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/ledger"
	"weir/internal/ledger/ledgertest"
	"weir/internal/money"
)

// TestSlowReturns has a store take long for money that comes back from many wallets. The node gives its signs of life all the while, so that
// other nodes do not count it as dead and its own calls go on, and in the end nothing is lent.
func TestSlowReturns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := ledgertest.New()
		returns := 0
		s.Fate = func(method, _ string) ledgertest.Outcome {
			if method == "Return" {
				returns++
				time.Sleep(20 * time.Second)
			}
			return ledgertest.Answered
		}
		const wallets = 100
		wallet := func(i int) string { return fmt.Sprintf("wal_%03d", i) }
		for i := range wallets + 1 {
			s.AddWallet(wallet(i))
			credit := ledger.TopUp{Wallet: wallet(i), Source: "test", ExternalID: wallet(i), Amount: 100 * money.Ruble}
			if _, err := ledger.Credit(t.Context(), s, credit, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		book, err := ledger.Start(t.Context(), s, ledger.Default(filepath.Join(dir, "journal"), time.Now))
		if err != nil {
			t.Fatal(err)
		}
		hold := func(i int) *ledger.Hold {
			h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: wallet(i), Key: "key", Amount: money.Ruble})
			if err != nil {
				t.Fatalf("%s after the start: %v", time.Since(began), err)
			}
			return h
		}
		var open []*ledger.Hold
		for i := range wallets { // the hold keeps its lease, of which the unused part goes back
			open = append(open, hold(i))
		}
		for range 300 {
			time.Sleep(time.Second)
			if err := book.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			hold(wallets).Release()
		}
		for _, h := range open {
			h.Release()
		}
		time.Sleep(10 * time.Minute)
		for wallet, n := range s.Lent() {
			if n != 0 {
				t.Errorf("%s of %s is still lent", n, wallet)
			}
		}
		if returns > wallets {
			t.Errorf("%d questions for the money of %d wallets", returns, wallets)
		}
		if err := book.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
