package sqlite_test

import (
	"testing"
	"time"

	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Engine{Raw: raw, Books: books,
		Open: func(t *testing.T, now func() time.Time) *store.Store {
			if now == nil {
				now = time.Now
			}
			return openFile(t, sqlitetest.New(t, t.TempDir()), sqlite.WithClock(now))
		},
		Nodes: func(t *testing.T, n int) (nodes []*store.Store) {
			path := sqlitetest.New(t, t.TempDir())
			for range n {
				nodes = append(nodes, openFile(t, path))
			}
			return nodes
		},
	})
}

func openFile(t *testing.T, path string, opts ...sqlite.Option) *store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openStore gives an empty store and the path of its file.
func openStore(t *testing.T) (*store.Store, string) {
	t.Helper()
	path := sqlitetest.New(t, t.TempDir())
	return openFile(t, path), path
}
