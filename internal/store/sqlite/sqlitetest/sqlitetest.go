// Package sqlitetest gives tests an empty database that has its tables already. The migrations run once in a test program and not for
// each of hundreds of tests. It is for tests alone.
package sqlitetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"weir/internal/store/sqlite"
)

// migrated returns the file of an empty database as the newest migration leaves it.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "weir-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "weir.db")
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // which moves the write-ahead log into the file
		return nil, err
	}
	return os.ReadFile(path)
})

// New puts the database "weir.db" into dir and returns its path.
func New(t testing.TB, dir string) string {
	t.Helper()
	file, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "weir.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
