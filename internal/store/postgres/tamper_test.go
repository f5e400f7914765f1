package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"weir/internal/store/storetest"
)

// books is an empty store, and ways past it.
func books(t *testing.T) storetest.Books {
	t.Helper()
	s, dsn := openStore(t)
	conn := connect(t, dsn)
	run := func(text string, args ...any) error { _, err := conn.Exec(t.Context(), text, args...); return err }
	return storetest.Books{Store: s, SQL: run,
		Unlock: func() error { return run("SET session_replication_role = replica") },
		Lock:   func() error { return run("SET session_replication_role = origin") },
		Blunt: map[string]string{
			"when nothing":      "DROP TRIGGER entries_fixed ON entries; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries FOR EACH ROW WHEN (false) EXECUTE FUNCTION kept('entries are never changed')",
			"for statements":    "DROP TRIGGER entries_fixed ON entries; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries WHEN (false) EXECUTE FUNCTION kept('entries are never changed')",
			"switched off":      "ALTER TABLE entries DISABLE TRIGGER entries_fixed",
			"for replicas":      "ALTER TABLE entries ENABLE REPLICA TRIGGER entries_fixed",
			"of a column":       "DROP TRIGGER entries_fixed ON entries; CREATE TRIGGER entries_fixed BEFORE UPDATE OF line ON entries EXECUTE FUNCTION kept('entries are never changed')",
			"after it":          "DROP TRIGGER entries_fixed ON entries; CREATE TRIGGER entries_fixed AFTER UPDATE ON entries EXECUTE FUNCTION kept('entries are never changed')",
			"on another table":  "DROP TRIGGER entries_fixed ON entries; CREATE TRIGGER entries_fixed BEFORE UPDATE ON nodes EXECUTE FUNCTION kept('entries are never changed')",
			"it does nothing":   "CREATE OR REPLACE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; /* RAISE EXCEPTION '%', TG_ARGV[0]; */ END $$",
			"another function":  "CREATE FUNCTION let() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$; DROP TRIGGER entries_fixed ON entries; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries EXECUTE FUNCTION let('entries are never changed')",
			"another before":    "CREATE FUNCTION let() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER a BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION let()",
			"a rule before":     "CREATE RULE entries_fixed AS ON UPDATE TO entries DO INSTEAD NOTHING",
			"a rule of its own": "CREATE RULE a AS ON DELETE TO entries DO INSTEAD NOTHING",
		},
		DropTrigger: func(table, name string) string { return "DROP TRIGGER " + name + " ON " + table },
	}
}

// connect is a connection in addition to the store's.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
