package sqlite_test

import (
	"database/sql"
	"strings"
	"testing"

	"weir/internal/store/storetest"
)

// books is an empty store, and ways past it.
func books(t *testing.T) storetest.Books {
	t.Helper()
	s, path := openStore(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	var triggers []string
	run := func(text string, args ...any) error { _, err := db.Exec(text, args...); return err }
	return storetest.Books{Store: s, SQL: run,
		Unlock: func() error {
			rows, err := db.Query(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`)
			if err != nil {
				return err
			}
			triggers = nil
			drop := "PRAGMA foreign_keys = 0"
			for rows.Next() {
				var name, text string
				if err := rows.Scan(&name, &text); err != nil {
					return err
				}
				drop += "; DROP TRIGGER " + name
				triggers = append(triggers, text)
			}
			if err := rows.Err(); err != nil {
				return err
			}
			return run(drop)
		},
		Lock: func() error { return run(strings.Join(triggers, ";")) },
		Blunt: map[string]string{
			"when nothing":     "DROP TRIGGER entries_fixed; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries WHEN 0 BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END",
			"it does nothing":  "DROP TRIGGER entries_fixed; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries BEGIN SELECT 1; END",
			"in a comment":     "DROP TRIGGER entries_fixed; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries BEGIN SELECT 1 /* RAISE(ABORT, 'entries are never changed') */; END",
			"it ignores":       "DROP TRIGGER entries_fixed; CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries BEGIN SELECT RAISE(IGNORE); END",
			"on another table": "DROP TRIGGER entries_fixed; CREATE TRIGGER entries_fixed BEFORE UPDATE ON nodes BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END",
			"of a column":      "DROP TRIGGER entries_fixed; CREATE TRIGGER entries_fixed BEFORE UPDATE OF line ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END",
			"another before":   "CREATE TRIGGER a BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
		},
		DropTrigger: func(_, name string) string { return "DROP TRIGGER " + name },
	}
}
