package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"weir/internal/store/sqldb"
)

// Provider is what runs migrations.
var Provider = provider

// WaitsFor is what the commits of a store's connections wait for.
func WaitsFor(t *testing.T, dsn string) (waits string) {
	t.Helper()
	cfg, err := configure(dsn, sqldb.QueryFor)
	if err != nil {
		t.Fatal(err)
	}
	if err := prepare(t.Context(), cfg, options{weir: "dev"}); err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cfg.ConnConfig)
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), "SELECT current_setting('synchronous_commit')").Scan(&waits); err != nil {
		t.Fatal(err)
	}
	return waits
}

// Transact runs f in a transaction of an engine of its own.
func Transact(ctx context.Context, t *testing.T, dsn string, f func(sqldb.Runner) error) error {
	t.Helper()
	cfg, err := configure(dsn, sqldb.QueryFor)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{pool: pool, db: stdlib.OpenDBFromPool(pool)}
	defer func() { _ = e.close() }()
	return e.write(ctx, false, f)
}
