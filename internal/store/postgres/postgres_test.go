package postgres_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/store/postgres/pgtest"
	"weir/internal/store/storetest"
)

func TestMain(m *testing.M) {
	// Each random schedule has a database of its own, and SQLite has run a hundred of them through the same code.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(pgtest.Main(m).Run())
}

// openStore gives a store in a database of its own.
func openStore(t *testing.T, opts ...postgres.Option) (s *store.Store, dsn string) {
	t.Helper()
	dsn = pgtest.New(t)
	return openDSN(t, dsn, opts...), dsn
}

func openDSN(t *testing.T, dsn string, opts ...postgres.Option) *store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	storetest.Accounts(t, func(t *testing.T) storetest.AccountStore {
		s, _ := openStore(t)
		return s
	})
}

func TestLedger(t *testing.T) {
	t.Parallel()
	storetest.RunLedger(t, func(t *testing.T, now func() time.Time) storetest.LedgerStore {
		s, _ := openStore(t, postgres.WithClock(now))
		return s
	})
}
