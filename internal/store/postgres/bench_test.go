package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

func BenchmarkApply(b *testing.B) {
	storetest.ApplyBench(b, func(b *testing.B) storetest.LedgerStore {
		s, err := postgres.Open(b.Context(), migrated(b))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func BenchmarkPages(b *testing.B) {
	storetest.PagesBench(b, func(b *testing.B, now func() time.Time) storetest.PagesDB {
		dsn := storetest.PagesAt()
		if dsn == "" {
			dsn = migrated(b)
		}
		s, err := postgres.Open(b.Context(), dsn, postgres.WithClock(now))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		run := func(text string, args ...any) error {
			conn, err := pgx.Connect(b.Context(), dsn)
			if err != nil {
				return err
			}
			_, err = conn.Exec(b.Context(), text, args...)
			return errors.Join(err, conn.Close(b.Context()))
		}
		return storetest.PagesDB{Store: s, SQL: run, Settle: func() error { return run("ANALYZE") }, // as autovacuum does
			Reopen: func() error {
				other, err := postgres.Open(b.Context(), dsn, postgres.WithClock(now))
				if err != nil {
					return err
				}
				return other.Close()
			}}
	})
}

func BenchmarkSpace(b *testing.B) {
	storetest.SpaceBench(b, func(b *testing.B) (storetest.LedgerStore, func() (map[string]int64, error)) {
		dsn := migrated(b)
		s, err := postgres.Open(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s, func() (map[string]int64, error) { return sizes(b, dsn) }
	})
}

// sizes are the bytes of each table and index.
func sizes(b *testing.B, dsn string) (map[string]int64, error) {
	conn, err := pgx.Connect(b.Context(), dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(b.Context()) }()
	rows, err := conn.Query(b.Context(), `SELECT relname::text, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i', 't') AND relnamespace = 'public'::regnamespace`)
	if err != nil {
		return nil, err
	}
	all := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		all[name] = n
	}
	return all, rows.Err()
}
