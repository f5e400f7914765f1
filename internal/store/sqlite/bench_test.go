package sqlite_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func BenchmarkApply(b *testing.B) {
	storetest.ApplyBench(b, func(b *testing.B) *store.Store {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "weir.db"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func BenchmarkOpenNew(b *testing.B) {
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		s, err := sqlite.Open(b.Context(), filepath.Join(dir, fmt.Sprint(n, ".db")))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPages(b *testing.B) {
	storetest.PagesBench(b, func(b *testing.B, now func() time.Time) storetest.PagesDB {
		path := cmp.Or(storetest.PagesAt(), filepath.Join(b.TempDir(), "weir.db"))
		s, err := sqlite.Open(b.Context(), path, sqlite.WithClock(now))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		db, err := sql.Open("sqlite", path)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = db.Close() })
		return storetest.PagesDB{Store: s, SQL: func(text string, args ...any) error { _, err := db.ExecContext(b.Context(), text, args...); return err },
			Reopen: func() error {
				other, err := sqlite.Open(b.Context(), path, sqlite.WithClock(now))
				if err != nil {
					return err
				}
				return other.Close()
			}}
	})
}

func BenchmarkSpace(b *testing.B) {
	storetest.SpaceBench(b, func(b *testing.B) (*store.Store, func() (map[string]int64, error)) {
		path := filepath.Join(b.TempDir(), "weir.db")
		s, err := sqlite.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s, func() (map[string]int64, error) { return sizes(path) }
	})
}

// sizes are the bytes of the pages of each table and index.
func sizes(path string) (map[string]int64, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query(`SELECT name, SUM(pgsize) FROM dbstat GROUP BY name`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		all[name] = n
	}
	return all, rows.Err()
}
