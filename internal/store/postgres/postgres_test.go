package postgres_test

import (
	"context"
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
	if os.Getenv(nodeDSN) != "" {
		if err := ledgerNode(); err != nil {
			panic(err)
		}
		return
	}
	// Each random schedule has a separate database, and SQLite has run a hundred of them through the same code.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(pgtest.Main(m).Run())
}

// openStore gives a store in a new database.
func openStore(t *testing.T, opts ...postgres.Option) (s *store.Store, dsn string) {
	t.Helper()
	dsn = migrated(t)
	return openDSN(t, dsn, opts...), dsn
}

// migrated is the DSN of an empty database that has its tables.
func migrated(t testing.TB) string {
	t.Helper()
	return pgtest.Copied(t, func(dsn string) error {
		s, err := postgres.Open(context.Background(), dsn)
		if err != nil {
			return err
		}
		return s.Close()
	})
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

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Engine{Hints: true, Raw: raw, Books: books,
		Open: func(t *testing.T, now func() time.Time) *store.Store {
			s, _ := openStore(t, clock(now)...)
			return s
		},
		Nodes: func(t *testing.T, n int) (nodes []*store.Store) {
			dsn := with(migrated(t), "statement_timeout=120000") // nodes wait for one another, on a busy machine for longer than one may
			for range n {
				nodes = append(nodes, openDSN(t, dsn))
			}
			return nodes
		},
	})
}

// clock is WithClock; nil is the machine's clock and the server's.
func clock(now func() time.Time) []postgres.Option {
	if now == nil {
		return nil
	}
	return []postgres.Option{postgres.WithClock(now)}
}
