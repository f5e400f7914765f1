package sqlite_test

import (
	"database/sql"
	"testing"

	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func TestUnpacking(t *testing.T) {
	t.Parallel()
	path, calls := storetest.PackedFile(t)
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	storetest.Unpacking(t, s, calls, func(text string) (n int) {
		if err := db.QueryRowContext(t.Context(), text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
}
