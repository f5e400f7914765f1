package sqlite_test

import (
	"database/sql"
	"testing"

	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func TestNewerIsRefused(t *testing.T) {
	t.Parallel()
	_, path := openAccounts(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	storetest.NewerIsRefused(t, func(text string) error { _, err := db.Exec(text); return err }, func() error {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			return err
		}
		return s.Close()
	})
}
