package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/store/postgres/pgtest"
	"weir/internal/store/storetest"
)

func BenchmarkApply(b *testing.B) {
	storetest.ApplyBench(b, func(b *testing.B) *store.Store {
		s, err := postgres.Open(b.Context(), migrated(b))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func BenchmarkOpenNew(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dsn := pgtest.New(b)
		b.StartTimer()
		s, err := postgres.Open(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
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
		watch, err := pgx.Connect(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = watch.Close(context.Background()) })
		return storetest.PagesDB{Store: s, SQL: run, Processor: func() (time.Duration, error) { return processor(b.Context(), watch) }, Settle: func() error { return run("ANALYZE") }, // as autovacuum does
			Reopen: func() error {
				other, err := postgres.Open(b.Context(), dsn, postgres.WithClock(now))
				if err != nil {
					return err
				}
				return other.Close()
			}}
	})
}

// processor is the processor time of the processes that serve this database, which must run on this machine.
func processor(ctx context.Context, conn *pgx.Conn) (all time.Duration, err error) {
	rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		return 0, err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid)) // nanoseconds on a processor come first
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended
		}
		var n time.Duration
		if _, err := fmt.Sscan(string(text), &n); err != nil {
			return 0, err
		}
		all += n
	}
	return all, err
}

func BenchmarkSpace(b *testing.B) {
	storetest.SpaceBench(b, func(b *testing.B) (*store.Store, func() (map[string]int64, error)) {
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
