package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"weir/internal/store/sqldb"
)

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
