package sqlite_test

import (
	"path/filepath"
	"testing"

	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func BenchmarkApply(b *testing.B) {
	storetest.ApplyBench(b, func(b *testing.B) storetest.LedgerStore {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "weir.db"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}
