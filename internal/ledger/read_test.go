package ledger_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/ledger/ledgertest"
	"weir/internal/money"
)

// What is read after a call has ended never shows its hold, whatever the node has under way with the store at that moment: a lease that goes back
// is still counted there and no longer here, or the other way round.
func TestReadsShowNoHoldOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	for _, stalled := range []string{"Return", "Apply", "Beat"} {
		t.Run(stalled, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				store := ledgertest.New()
				store.AddWallet("wal_1")
				cfg := ledger.Default(dir, time.Now)
				cfg.Journal.Sync, cfg.Journal.SegmentBytes, cfg.ApplyEvery, cfg.TickEvery = journal.Never, 4<<20, time.Hour, time.Hour
				book, err := ledger.Start(t.Context(), store, cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = book.Abandon() }()
				if _, err := ledger.Credit(t.Context(), store, ledger.TopUp{Wallet: "wal_1", Source: "s", ExternalID: "1", Amount: 1000, Actor: simActor}, time.Now()); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: "wal_1", Amount: 100})
					if err != nil {
						t.Fatal(err)
					}
					h.Release()
					time.Sleep(4 * time.Second) // what was borrowed is not needed any more
					if err := book.Tick(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				h, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: "wal_1", Amount: 100})
				if err != nil {
					t.Fatal(err)
				}
				h.Release()
				time.Sleep(4 * time.Second)
				if err := book.Tick(t.Context()); err != nil { // after it the lease has been idle for long enough
					t.Fatal(err)
				}
				time.Sleep(4 * time.Second)
				resume, stalls := make(chan struct{}), false
				store.Fate = func(method, _ string) ledgertest.Outcome {
					if method == stalled && !stalls {
						stalls = true
						<-resume
					}
					return ledgertest.Answered
				}
				go func() { _ = book.Tick(context.Background()) }() // the upkeep of a busy node, which hangs in the middle
				synctest.Wait()
				read := make(chan money.Nano, 1)
				go func() {
					b, err := book.Balance(context.Background(), "wal_1")
					if err != nil {
						t.Error(err)
					}
					read <- b.Held
				}()
				synctest.Wait()
				close(resume)
				if held := <-read; held != 0 {
					t.Errorf("%d are shown as held, and nothing is under way", held)
				}
				time.Sleep(time.Minute)
				if b, err := book.Balance(t.Context(), "wal_1"); err != nil || b.Held != 0 {
					t.Errorf("%+v %v", b, err)
				}
			})
		})
	}
}

// A loan whose outcome is unknown is no hold of the call that was refused for it.
func TestReadsShowNoHoldOfALostLoan(t *testing.T) {
	t.Parallel()
	store := ledgertest.New()
	store.AddWallet("wal_1")
	cfg := ledger.Default(t.TempDir(), time.Now)
	cfg.Journal.Sync, cfg.Journal.SegmentBytes, cfg.ApplyEvery, cfg.TickEvery = journal.Never, 4<<20, time.Hour, time.Hour
	book, err := ledger.Start(t.Context(), store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Abandon() }()
	if _, err := ledger.Credit(t.Context(), store, ledger.TopUp{Wallet: "wal_1", Source: "s", ExternalID: "1", Amount: 1000, Actor: simActor}, time.Now()); err != nil {
		t.Fatal(err)
	}
	store.Fate = func(method, _ string) ledgertest.Outcome {
		if method == "Borrow" {
			return ledgertest.Lost
		}
		return ledgertest.Answered
	}
	if _, err := book.Hold(t.Context(), ledger.HoldRequest{Wallet: "wal_1", Amount: 100}); !fault.Is(err, fault.StorageUnavailable) {
		t.Fatal(err)
	}
	if b, err := book.Balance(t.Context(), "wal_1"); err != nil || b.Held != 0 || b.Leased < 100 {
		t.Errorf("%+v %v, want nothing held, and 100 or more lent", b, err)
	}
}
