package sqlite_test

import (
	"testing"

	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/store/storetest"
)

func TestAppenders(t *testing.T) {
	t.Parallel()
	path := sqlitetest.New(t, t.TempDir())
	nodes := make([]storetest.LedgerStore, 3)
	for i := range nodes {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		nodes[i] = s
	}
	storetest.Appenders(t, nodes)
}
