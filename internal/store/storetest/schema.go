package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"weir/internal/ledger"
	"weir/internal/store"
)

// Chain is the migrations of an engine, and databases without a store to run them on.
type Chain struct {
	Files    fs.FS // its folder migrations
	Provider func(*sql.DB) func(fs.FS) (*goose.Provider, error)
	Empty    func(*testing.T) Bare
}

// Bare is a database without a store.
type Bare struct {
	DB     *sql.DB
	Copy   func(*testing.T) Bare // another one, as this is now
	Open   func(t *testing.T, weir string) (*store.Store, error)
	Schema func(*testing.T) string // all that there is but rows, in one form for equal things
	Tables string                  // a query for the names of all tables
}

// one is the migration that makes all tables, and the last of those that were before it.
const one = 67

// later is a migration that no version has.
const later = "-- +goose Up\nALTER TABLE users ADD COLUMN later INT NOT NULL DEFAULT 7;\nCREATE INDEX users_later ON users (later);\n"

// OneSchema checks the file that makes a new database against the migrations that made it before, and the ways from them.
func OneSchema(t *testing.T, c Chain) {
	t.Run("one file makes what the chain makes", c.oneFile)
	t.Run("from every state", c.fromEveryState)
	t.Run("a newer database", c.newerDatabase)
	t.Run("a later migration", c.laterMigration)
}

func (c Chain) oneFile(t *testing.T) {
	t.Parallel()
	chain, fresh := c.Empty(t), c.Empty(t)
	c.UpTo(t, chain, one)
	c.migrate(t, fresh, c.files(t, "00067_schema.sql"))
	was, is := chain.Schema(t), fresh.Schema(t)
	if diff := cmp.Diff(strings.Split(was, "\n"), strings.Split(is, "\n")); diff != "" {
		t.Errorf("the one file makes something else than the chain:\n%s", diff)
	}
	tables := fresh.tables(t)
	if len(tables) < 100 || !strings.Contains(is, "tag_usage") {
		t.Fatalf("%d tables were compared", len(tables))
	}
	for _, table := range tables {
		if diff := cmp.Diff(chain.rows(t, table), fresh.rows(t, table)); diff != "" && table != "goose_db_version" && table != "schema_versions" {
			t.Errorf("other rows in %s:\n%s", table, diff)
		}
	}
	if got := fresh.rows(t, "ledger_horizon"); !slices.Equal(got, []string{"[1 0]"}) {
		t.Errorf("rows were not compared: %q", got)
	}
	if got := fresh.list(t, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY id`); !slices.Equal(got, []string{"67"}) {
		t.Errorf("a new database has the versions %q", got)
	}
}

// fromEveryState makes rows as soon as there is a table for them, and opens a copy of each state.
func (c Chain) fromEveryState(t *testing.T) {
	t.Parallel()
	fresh := c.Empty(t)
	c.migrate(t, fresh, c.Files)
	want := fresh.Schema(t)
	grows := c.Empty(t)
	for n := int64(1); n <= one; n++ {
		c.UpTo(t, grows, n)
		for _, s := range seeds {
			if s.since == n {
				s.plant(t, grows)
			}
		}
		// In short: the first state, the last, and those before migrations that change rows and tables.
		if testing.Short() && !slices.Contains([]int64{1, 14, 26, 46, 67}, n) {
			continue
		}
		if is := c.opened(t, grows, n); is != want {
			t.Fatalf("state %d: other tables than those of a new database:\n%s", n, cmp.Diff(strings.Split(want, "\n"), strings.Split(is, "\n")))
		}
	}
}

// opened opens a copy of the state n as a node does, and returns its schema. All rows are there, and the books are right.
func (c Chain) opened(t *testing.T, b Bare, n int64) (schema string) {
	t.Helper()
	b = b.Copy(t)
	s, err := b.Open(t, "v1.0.0")
	if err != nil {
		t.Fatalf("state %d: %v", n, err)
	}
	checks, _, err := s.Ledger.Checks(t.Context(), ledger.Anchor{}, nil)
	if err != nil || len(checks) == 0 {
		t.Fatalf("state %d: %d checks, %v", n, len(checks), err)
	}
	for _, k := range checks {
		if !k.OK && (n > 1 || k.Name != "top-ups") { // the first state has no audit chain that knows of top-ups
			t.Errorf("state %d: %s: %s", n, k.Name, k.Detail)
		}
	}
	call, _, err := s.Ledger.Call(t.Context(), "wal_0123456789abcdefghij", "gen-1772625600-0123456789abcdefghij")
	if err != nil || call.Cost != 13_750_000 || call.UpstreamModel != "model-2026" {
		t.Errorf("state %d: the call is %+v, %v", n, call, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		if seed.since > n {
			continue
		}
		if got := b.list(t, "SELECT COUNT(*) FROM "+seed.is); !slices.Equal(got, []string{"1"}) {
			t.Errorf("state %d: %q rows are %s", n, got, seed.is)
		}
	}
	if got, want := b.list(t, `SELECT MAX(version_id) FROM goose_db_version`), fmt.Sprint(c.newest(t)); !slices.Equal(got, []string{want}) {
		t.Errorf("state %d: the version is %q, want %s", n, got, want)
	}
	return b.Schema(t)
}

// newerDatabase says which versions know what of a database that began as one file, and of one that began before, and that both are refused
// when they are newer than the program.
func (c Chain) newerDatabase(t *testing.T) {
	t.Parallel()
	for first, until := range map[string]int64{"67": 0, "33": 40} {
		b := c.Empty(t)
		if until > 0 {
			c.UpTo(t, b, until)
		}
		run := func(text string) error { _, err := b.DB.ExecContext(t.Context(), text); return err }
		open := func(weir string) error {
			s, err := b.Open(t, weir)
			if err != nil {
				return err
			}
			return s.Close()
		}
		newerIsRefused(t, run, open)
		versionsAreNoted(t, first, run, open, func() []string { return b.list(t, `SELECT number || ' ' || weir FROM schema_versions ORDER BY number`) })
	}
}

func (c Chain) laterMigration(t *testing.T) {
	t.Parallel()
	files := c.files(t, "*.sql")
	number := c.newest(t) + 1
	files[fmt.Sprintf("%05d_later.sql", number)] = &fstest.MapFile{Data: []byte(later)}
	var schemas []string
	for name, prepare := range map[string]func(Bare){
		"a new one":                   func(Bare) {},
		"one of this version":         func(b Bare) { c.migrate(t, b, c.Files) },
		"one from before, with rows":  func(b Bare) { c.UpTo(t, b, 40); c.plantUntil(t, b, 2) },
		"one from before, up to date": func(b Bare) { c.UpTo(t, b, one) },
	} {
		b := c.Empty(t)
		prepare(b)
		for range 2 { // the second finds nothing to do
			c.migrate(t, b, files)
		}
		if got := b.list(t, `SELECT MAX(version_id) FROM goose_db_version`); !slices.Equal(got, []string{fmt.Sprint(number)}) {
			t.Errorf("%s: the version is %q, want %d", name, got, number)
		}
		if got := b.list(t, `SELECT COUNT(*) FROM users WHERE later <> 7`); !slices.Equal(got, []string{"0"}) {
			t.Errorf("%s: %q users are without the later column", name, got)
		}
		schemas = append(schemas, b.Schema(t))
	}
	for _, s := range schemas[1:] {
		if diff := cmp.Diff(strings.Split(schemas[0], "\n"), strings.Split(s, "\n")); diff != "" {
			t.Error(diff)
		}
	}
	if !strings.Contains(schemas[0], "users_later") {
		t.Error("nothing has the later index")
	}
}

// files are those of the migrations that fit a pattern, and all of those before 1.0.
func (c Chain) files(t *testing.T, pattern string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, p := range []string{pattern, "before1.0/*.sql"} {
		names, err := fs.Glob(c.Files, p)
		if err != nil || len(names) == 0 {
			t.Fatalf("%d migrations %s, %v", len(names), p, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(c.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = &fstest.MapFile{Data: text}
		}
	}
	return files
}

// newest is the number of the last migration.
func (c Chain) newest(t *testing.T) int64 {
	t.Helper()
	names, err := fs.Glob(c.Files, "*.sql") // in their order
	if err != nil {
		t.Fatal(err)
	}
	digits, _, _ := strings.Cut(names[len(names)-1], "_")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// UpTo brings a database to a state of the migrations before 1.0.
func (c Chain) UpTo(t *testing.T, b Bare, n int64) {
	t.Helper()
	dir, err := fs.Sub(c.Files, "before1.0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Provider(b.DB)(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

func (c Chain) migrate(t *testing.T, b Bare, files fs.FS) {
	t.Helper()
	if err := store.Migrate(t.Context(), files, c.Provider(b.DB), b.DB, "v1.0.0"); err != nil {
		t.Fatal(err)
	}
}

func (c Chain) plantUntil(t *testing.T, b Bare, n int64) {
	t.Helper()
	for _, s := range seeds {
		if s.since <= n {
			s.plant(t, b)
		}
	}
}

func (b Bare) tables(t *testing.T) []string {
	t.Helper()
	return b.list(t, b.Tables)
}

// rows are those of a table, each as text, sorted.
func (b Bare) rows(t *testing.T, table string) (all []string) {
	t.Helper()
	rows, err := b.DB.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// list is the first column of a query.
func (b Bare) list(t *testing.T, query string) (all []string) {
	t.Helper()
	rows, err := b.DB.QueryContext(context.WithoutCancel(t.Context()), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
