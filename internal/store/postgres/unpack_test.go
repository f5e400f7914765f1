package postgres_test

import (
	"testing"

	"weir/internal/store"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

// Rows that are packed move to PostgreSQL as they are, and those that are not as well.
func TestUnpacking(t *testing.T) {
	t.Parallel()
	path, calls := storetest.PackedFile(t)
	from, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() })
	s, dsn := openStore(t)
	if err := from.CopyTo(t.Context(), s, func(store.Copied) {}); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, dsn)
	storetest.Unpacking(t, s, calls, func(text string) (n int) {
		if err := conn.QueryRow(t.Context(), text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
	if _, n, _, err := from.Ledger.UnpackCalls(t.Context(), ledgerdb.Unpacked{}, 50); err != nil || n != 50 {
		t.Fatalf("%d, %v", n, err)
	}
	again, _ := openStore(t)
	if err := from.CopyTo(t.Context(), again, func(store.Copied) {}); err != nil {
		t.Fatal(err)
	}
	for _, id := range calls {
		if _, _, err := again.Ledger.Call(t.Context(), id[0], id[1]); err != nil {
			t.Error(err)
		}
	}
}
