package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/storetest"
)

func TestOneSchema(t *testing.T) {
	t.Parallel()
	storetest.OneSchema(t, storetest.Chain{Files: os.DirFS("migrations"), Provider: sqlite.Provider, Empty: func(t *testing.T) storetest.Bare {
		return bare(t, filepath.Join(t.TempDir(), "weir.db"))
	}})
}

// bare is the database at path without a store.
func bare(t *testing.T, path string) storetest.Bare {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return storetest.Bare{DB: db, Tables: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`,
		Copy: func(t *testing.T) storetest.Bare {
			t.Helper()
			to := filepath.Join(t.TempDir(), "copy.db")
			if err := sqlite.Copy(t.Context(), path, to); err != nil {
				t.Fatal(err)
			}
			return bare(t, to)
		},
		Open: func(t *testing.T, weir string) (*store.Store, error) {
			return sqlite.Open(t.Context(), path, sqlite.WithVersion(weir))
		},
		Schema: func(t *testing.T) string { return schema(t, db) },
	}
}

var (
	comments = regexp.MustCompile(`--[^\n]*`)
	space    = regexp.MustCompile(`\s+`)
	edges    = regexp.MustCompile(` ?([(),]) ?`)
	parts    = regexp.MustCompile(`,([a-z])`)
)

// schema is the statements that make tables, their columns in lines of their own, and then all of a table's indexes, in their order, and triggers. What
// columns and references SQLite has understood is in it, too.
func schema(t *testing.T, db *sql.DB) string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT name, COALESCE(sql, '') FROM sqlite_master WHERE type = 'table' ORDER BY name`,
		`SELECT tbl_name || ' ' || name, COALESCE(sql, 'of a constraint') FROM sqlite_master WHERE type = 'index' ORDER BY tbl_name, rowid`,
		`SELECT tbl_name || ' ' || name, sql FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY name`,
		`SELECT m.name, format('%s %s %d %s %d %d', c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden) FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`,
		`SELECT m.name, format('%s %s %s %s', f."from", f."table", f."to", f.on_delete) FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY m.name, f."from"`,
		`SELECT name, format('%s %d %d', type, wr, strict) FROM pragma_table_list ORDER BY name`,
	} {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name, text string
			if err := rows.Scan(&name, &text); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(text, "CREATE TABLE") { // otherwise in the same words
				text = parts.ReplaceAllString(edges.ReplaceAllString(space.ReplaceAllString(comments.ReplaceAllString(text, ""), " "), "$1"), ",\n  $1")
			}
			all = append(all, name+": "+text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(all, "\n")
}
