package sqlite_test

import (
	"database/sql"
	"testing"

	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	_, path := openStore(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	run := func(text string) error { _, err := db.Exec(text); return err }
	open := func(weir string) error {
		s, err := sqlite.Open(t.Context(), path, sqlite.WithVersion(weir))
		if err != nil {
			return err
		}
		return s.Close()
	}
	storetest.NewerIsRefused(t, run, open)
	storetest.VersionsAreNoted(t, run, open, func() (noted []string) {
		rows, err := db.Query(`SELECT number || ' ' || weir FROM schema_versions ORDER BY number`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var n string
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			noted = append(noted, n)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return noted
	})
}
