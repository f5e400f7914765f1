package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"weir/internal/store/storetest"
)

func TestTampering(t *testing.T) {
	t.Parallel()
	storetest.Tampering(t, func(t *testing.T) storetest.Books {
		s, dsn := openStore(t)
		conn := connect(t, dsn)
		run := func(text string, args ...any) error { _, err := conn.Exec(t.Context(), text, args...); return err }
		return storetest.Books{Store: s, SQL: run,
			Unlock:      func() error { return run("SET session_replication_role = replica") },
			Lock:        func() error { return run("SET session_replication_role = origin") },
			DropTrigger: func(table, name string) string { return "DROP TRIGGER " + name + " ON " + table },
			Record: func(generation string) (rec []byte) {
				if err := conn.QueryRow(t.Context(), "SELECT record FROM generations WHERE id = $1", generation).Scan(&rec); err != nil {
					t.Fatal(err)
				}
				return rec
			}}
	})
}

// connect is a connection beside the store's.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
