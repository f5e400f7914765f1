package ledger_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

// watchedStore lets a test act at the moment when a question was answered and the answer is on its way.
type watchedStore struct {
	*ledgerdb.Ledger
	answered func(ledger.Grant)
}

func (s *watchedStore) Borrow(ctx context.Context, q ledger.Borrow) (ledger.Grant, error) {
	g, err := s.Ledger.Borrow(ctx, q)
	if s.answered != nil {
		s.answered(g)
	}
	return g, err
}

// The store says that there is too little, but a hold ends before the answer arrives: then there is enough.
func TestHoldEndsDuringRefusal(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]struct{ first, second money.Nano }{
		"the lease has it":               {100, 60}, // all was lent
		"lease and store have it in all": {10, 95},  // forty were lent, of which thirty are free before and forty after
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			kept, err := sqlite.Open(ctx, sqlitetest.New(t, t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			s := &watchedStore{Ledger: kept.Ledger}
			const wallet = "wal_0123456789abcdefghij"
			if err := kept.Accounts.CreateUser(ctx, account.User{ID: "usr_0", Name: "u", Wallet: wallet, CreatedAt: time.Now()}, audit.Event{}); err != nil {
				t.Fatal(err)
			}
			if _, err := ledger.Credit(ctx, s, ledger.TopUp{Wallet: wallet, Source: "test", ExternalID: "1", Amount: 100}, time.Now()); err != nil {
				t.Fatal(err)
			}
			cfg := ledger.Default(filepath.Join(t.TempDir(), "journal"), time.Now)
			cfg.StoreFor = time.Minute
			book, err := ledger.Start(ctx, s, cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = book.Close(context.Background())
				_ = kept.Close()
			})
			first, err := book.Hold(ctx, ledger.HoldRequest{Wallet: wallet, Key: "key_0", Amount: n.first})
			if err != nil {
				t.Fatal(err)
			}
			refused := false
			s.answered = func(g ledger.Grant) {
				if g.Granted == 0 && !refused {
					refused = true
					first.Release()
				}
			}
			second, err := book.Hold(ctx, ledger.HoldRequest{Wallet: wallet, Key: "key_0", Amount: n.second})
			if err != nil {
				t.Fatalf("refused, although the first hold has ended: %v", err)
			}
			if !refused {
				t.Error("the store was not asked")
			}
			second.Release()
		})
	}
}
