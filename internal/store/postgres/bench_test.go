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
	storetest.PagesBench(b, func(b *testing.B, now func() time.Time) (storetest.ReportStore, func() error) {
		dsn := migrated(b)
		s, err := postgres.Open(b.Context(), dsn, postgres.WithClock(now))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s, func() error { // as autovacuum does
			conn, err := pgx.Connect(b.Context(), dsn)
			if err != nil {
				return err
			}
			_, err = conn.Exec(b.Context(), "ANALYZE")
			return errors.Join(err, conn.Close(b.Context()))
		}
	})
}
