package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"weir/internal/store/postgres"
	"weir/internal/store/postgres/pgtest"
	"weir/internal/store/sqldb"
)

// TestTransactionPastItsTime goes on with a transaction whose time is over, as a busy node does. Its connection stays its own until the end:
// were it rolled back beside, database/sql would take it away between two lines of the statement, and the node would panic.
func TestTransactionPastItsTime(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := postgres.Transact(ctx, t, dsn, func(r sqldb.Runner) error {
		<-ctx.Done()
		for range 3000 {
			err := r.RowEach("SELECT CAST($1 AS INT)", 1, []any{1}, func(_ int, row sqldb.Scanner) error { var n int; return row.Scan(&n) })
			if !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		}
		return ctx.Err()
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestTransactionAfterItsTime begins no transaction whose time is over, and commits none.
func TestTransactionAfterItsTime(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	over, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if err := postgres.Transact(over, t, dsn, func(sqldb.Runner) error { t.Error("it ran"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := postgres.Transact(ctx, t, dsn, func(r sqldb.Runner) error {
		if _, err := r.Exec("CREATE TABLE late (n INT)", nil); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}); err == nil {
		t.Error("it was committed after its time")
	}
}
