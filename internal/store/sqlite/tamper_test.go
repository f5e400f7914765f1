package sqlite_test

import (
	"database/sql"
	"testing"

	"weir/internal/store/storetest"
)

func TestTampering(t *testing.T) {
	t.Parallel()
	storetest.Tampering(t, func(t *testing.T) storetest.Books {
		s, path := openAccounts(t)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() })
		run := func(text string, args ...any) error { _, err := db.Exec(text, args...); return err }
		return storetest.Books{Store: s, SQL: run,
			Unlock: func() error {
				return run(`PRAGMA foreign_keys = 0; DROP TRIGGER entries_fixed; DROP TRIGGER entries_kept; DROP TRIGGER transactions_kept; DROP TRIGGER generations_fixed;
					DROP TRIGGER audit_keep_rows; DROP TRIGGER audit_keep_all; DROP TRIGGER video_jobs_states; DROP TRIGGER video_jobs_ended`)
			},
			Record: func(generation string) (rec []byte) {
				if err := db.QueryRow("SELECT record FROM generations WHERE id = $1", generation).Scan(&rec); err != nil {
					t.Fatal(err)
				}
				return rec
			}}
	})
}
