package postgres_test

import (
	"database/sql"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/store/postgres/pgtest"
	"weir/internal/store/storetest"
)

var chain = storetest.Chain{Files: os.DirFS("migrations"), Provider: postgres.Provider, Empty: func(t *testing.T) storetest.Bare { return bare(t, pgtest.New(t)) }}

func TestOneSchema(t *testing.T) {
	t.Parallel()
	storetest.OneSchema(t, chain)
}

// bare is the database of dsn without a store.
func bare(t *testing.T, dsn string) storetest.Bare {
	t.Helper()
	db, err := sql.Open("pgx", with(dsn, "synchronous_commit=off"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0) // one that waits would keep the database from being copied
	t.Cleanup(func() { _ = db.Close() })
	return storetest.Bare{DB: db, Tables: `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`,
		Copy: func(t *testing.T) storetest.Bare { return bare(t, pgtest.Copy(t, dsn)) },
		Open: func(t *testing.T, weir string) (*store.Store, error) {
			return postgres.Open(t.Context(), dsn, postgres.WithVersion(weir))
		},
		Schema: func(t *testing.T) string { return schema(t, dsn) },
	}
}

// once is a line of pg_dump that each run has another of.
var once = regexp.MustCompile(`(?m)^\\(un)?restrict .*$`)

// schema is all but the rows, as pg_dump has it.
func schema(t *testing.T, dsn string) string {
	t.Helper()
	cmd := exec.Command(pgtest.Program(t, "pg_dump"), "--schema-only", dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return once.ReplaceAllString(string(out), "")
}
