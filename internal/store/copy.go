package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/store/sqldb"
)

// Kinds of columns. A truth is an integer, 0 or 1, where an engine has no such kind, and JSON a text.
const (
	KindInteger = "integer"
	KindBytes   = "bytes"
	KindTruth   = "truth"
	KindJSON    = "json"
)

type column struct{ name, kind string }

// Copied is a table that was copied.
type Copied struct {
	Table string
	Rows  int64
}

// copyFor bounds a copy.
const copyFor = 7 * 24 * time.Hour

// used are tables that have a row as soon as a database was used for anything.
var used = []string{"nodes", "users", "wallets", "transactions", "generations", "audit", "catalog_rows"}

// CopyTo copies all rows to another store, which must be new, in one transaction: it has all of them afterwards, or none. Then every row is
// read again from both, and compared. The rows of this store are those of one moment; it stays as it is. Both must have the tables of this
// version. It returns Invalid when the other store is not new.
func (s *Store) CopyTo(ctx context.Context, to *Store, done func(Copied)) error {
	ctx, cancel := context.WithTimeout(ctx, copyFor)
	defer cancel()
	from, err := s.db.Engine.Read.BeginTx(ctx, &s.db.Engine.Snapshot)
	if err != nil {
		return sqldb.Unavailable("store.CopyTo", err)
	}
	defer func() { _ = from.Rollback() }()
	source := &sqldb.Plain{Ctx: ctx, Tx: from}
	m := copying{from: source, fromCopier: &s.db.Engine.Copier, toCopier: &to.db.Engine.Copier}
	err = to.db.Engine.Write(ctx, false, func(r sqldb.Runner) error {
		m.to = r
		return m.run()
	})
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return known
	case err != nil:
		return fault.Wrap("store.CopyTo", err)
	}
	for _, table := range m.tables {
		done(Copied{Table: table, Rows: m.sums[table].rows})
	}
	return nil
}

// asker is what is needed of a transaction that only reads.
type asker interface {
	Exec(text string, args []any) (changed int64, err error)
	Rows(text string, args []any) (*sql.Rows, error)
}

type copying struct {
	from                 asker
	to                   sqldb.Runner
	fromCopier, toCopier *sqldb.Copier

	columns map[string][]column // of the target
	kinds   map[string][]column // of the source, in the target's order
	tables  []string            // a table comes after those that it refers to
	sums    map[string]rowSum
}

func (m *copying) run() error {
	for _, text := range m.fromCopier.Unhurried {
		if _, err := m.from.Exec(text, nil); err != nil {
			return err
		}
	}
	for _, text := range m.toCopier.Unhurried {
		if _, err := m.to.Exec(text, nil); err != nil {
			return err
		}
	}
	if err := m.learn(); err != nil {
		return err
	}
	for _, table := range used {
		var n int64
		if err := m.to.Row("SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) AS first", nil).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fault.Newf(fault.Invalid, "store.CopyTo", "The other database is in use: its table %s has rows. Give an empty database.", table)
		}
	}
	resume, err := m.toCopier.Suspend(m.to)
	if err != nil {
		return err
	}
	for _, table := range slices.Backward(m.tables) { // what a new database has is replaced
		if _, err := m.to.Exec("DELETE FROM "+table, nil); err != nil {
			return err
		}
	}
	m.sums = map[string]rowSum{}
	for _, table := range m.tables {
		if m.sums[table], err = m.fill(table); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	if m.toCopier.Renumber != nil {
		if err := m.toCopier.Renumber(m.to); err != nil {
			return err
		}
	}
	if err := resume(); err != nil {
		return err
	}
	for _, table := range m.tables {
		there, err := m.read(m.to, table, m.columns[table], func([]any) error { return nil })
		if err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
		if there != m.sums[table] {
			return fault.New(fault.Internal, "store.CopyTo", "").Because(fmt.Errorf("table %s has other rows than before: %d and %d", table, there.rows, m.sums[table].rows))
		}
	}
	return nil
}

// learn reads which tables and columns there are. Both databases must have the same.
func (m *copying) learn() (err error) {
	if m.columns, err = tableColumns(m.to, m.toCopier.Columns); err != nil {
		return err
	}
	kinds, err := tableColumns(m.from, m.fromCopier.Columns)
	if err != nil {
		return err
	}
	m.kinds = map[string][]column{}
	if here, there := slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(m.columns)); !slices.Equal(here, there) {
		return fmt.Errorf("the databases have different tables: %v and %v", here, there)
	}
	for table, columns := range m.columns {
		for at, c := range columns {
			i := slices.IndexFunc(kinds[table], func(k column) bool { return k.name == c.name })
			if i < 0 || len(columns) != len(kinds[table]) {
				return fmt.Errorf("the databases have different columns in %s: %v and %v", table, kinds[table], columns)
			}
			k := kinds[table][i]
			if c.kind == KindJSON || k.kind == KindJSON { // compared as JSON in both: one may keep it in another order
				columns[at].kind, k.kind = KindJSON, KindJSON
			}
			m.kinds[table] = append(m.kinds[table], k)
		}
	}
	m.tables, err = m.order()
	return err
}

// order puts each table after those that it refers to.
func (m *copying) order() ([]string, error) {
	rows, err := m.to.Rows(m.toCopier.References, nil)
	refs, err := sqldb.Collect(rows, err, sqldb.Columns(func(r *[2]string) []any { return []any{&r[0], &r[1]} }))
	if err != nil {
		return nil, err
	}
	var out []string
	left := slices.Sorted(maps.Keys(m.columns))
	for len(left) > 0 {
		before := len(left)
		left = slices.DeleteFunc(left, func(table string) bool {
			for _, r := range refs {
				if r[0] == table && r[1] != table && !slices.Contains(out, r[1]) {
					return false
				}
			}
			out = append(out, table)
			return true
		})
		if len(left) == before {
			return nil, fmt.Errorf("tables refer to one another in a circle: %v", left)
		}
	}
	return out, nil
}

func tableColumns(r asker, query string) (map[string][]column, error) {
	type row struct {
		table string
		column
	}
	rows, err := r.Rows(query, nil)
	all, err := sqldb.Collect(rows, err, sqldb.Columns(func(c *row) []any { return []any{&c.table, &c.name, &c.kind} }))
	if err != nil {
		return nil, err
	}
	out := map[string][]column{}
	for _, c := range all {
		if !slices.Contains([]string{sqldb.KindText, KindInteger, KindBytes, KindTruth, KindJSON}, c.kind) {
			return nil, fmt.Errorf("column %s of %s has the kind %s, which cannot be copied", c.name, c.table, c.kind)
		}
		out[c.table] = append(out[c.table], c.column)
	}
	return out, nil
}

// rowSum is a sum over rows in any order.
type rowSum struct {
	rows int64
	sum  [4]uint64
}

func (t *rowSum) add(values []any, columns []column) error {
	h := sha256.New()
	var size [8]byte
	put := func(kind byte, b []byte) {
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		h.Write([]byte{kind})
		h.Write(size[:])
		h.Write(b)
	}
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			put('n', nil)
		case int64:
			put('i', binary.BigEndian.AppendUint64(nil, uint64(v)))
		case string:
			if columns[i].kind == KindJSON {
				put('j', appendCanonical(nil, []byte(v)))
				continue
			}
			put('t', []byte(v))
		case []byte:
			put('b', v)
		default:
			return fmt.Errorf("a value of type %T", v)
		}
	}
	sum := h.Sum(nil)
	for i := range t.sum {
		t.sum[i] += binary.BigEndian.Uint64(sum[8*i:])
	}
	t.rows++
	return nil
}

// appendCanonical appends JSON in the one form that equal values have.
func appendCanonical(b, v []byte) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		var members [][]byte
		for m := rawjson.MembersOf(v); m.Next(); {
			members = append(members, appendCanonical(append(rawjson.AppendString(nil, m.Name), ':'), m.Value))
		}
		slices.SortFunc(members, bytes.Compare)
		return append(append(append(b, '{'), bytes.Join(members, []byte{','})...), '}')
	case rawjson.Array:
		b = append(b, '[')
		for e := rawjson.ElementsOf(v); e.Next(); {
			b = append(appendCanonical(b, e.Value), ',')
		}
		return append(b, ']')
	case rawjson.String:
		text, _ := rawjson.Unquote(v)
		return rawjson.AppendString(b, text)
	case rawjson.Number:
		if n, ok := new(big.Rat).SetString(string(v)); ok {
			return append(b, n.RatString()...)
		}
	}
	return append(b, bytes.TrimSpace(v)...)
}

// read hands over each row of a table, with truths as integers. The values are valid until the next row.
func (m *copying) read(r asker, table string, columns []column, f func([]any) error) (t rowSum, err error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	rows, err := r.Rows("SELECT "+strings.Join(names, ", ")+" FROM "+table, nil)
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }()
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range into {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return t, err
		}
		for i, c := range columns {
			if values[i], err = plainValue(values[i], c.kind); err != nil {
				return t, fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		if err := errors.Join(t.add(values, columns), f(values)); err != nil {
			return t, err
		}
	}
	return t, rows.Err()
}

// plainValue brings a value to the type that its kind has here.
func plainValue(v any, kind string) (any, error) {
	switch v := v.(type) {
	case nil, int64:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case []byte:
		switch {
		case kind == sqldb.KindText || kind == KindJSON:
			return string(v), nil
		case v == nil: // an empty value; NULL has no type
			return []byte{}, nil
		}
		return v, nil
	case string:
		if kind == sqldb.KindText || kind == KindJSON {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%T is no %s", v, kind)
}

// atOnce is how many rows are sent together.
const atOnce = 256

// fill copies the rows of a table.
func (m *copying) fill(table string) (rowSum, error) {
	columns := m.columns[table]
	names, places := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], places[i] = c.name, fmt.Sprint("$", i+1)
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(places, ", "))
	var waiting []any
	send := func() error {
		if len(waiting) == 0 {
			return nil
		}
		_, err := m.to.ExecEach(insert, len(columns), waiting)
		waiting = waiting[:0]
		return err
	}
	t, err := m.read(m.from, table, m.kinds[table], func(values []any) error {
		for i, c := range columns {
			v := values[i]
			if n, ok := v.(int64); ok && c.kind == KindTruth {
				if n != 0 && n != 1 {
					return fmt.Errorf("column %s: %d is neither 0 nor 1", c.name, n)
				}
				v = n == 1
			}
			if b, ok := v.([]byte); ok {
				v = slices.Clone(b)
			}
			waiting = append(waiting, v)
		}
		if len(waiting) < atOnce*len(columns) {
			return nil
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return t, err
}

// NodesUnderWay lists the nodes that have begun and not ended. A node that was killed is one of them.
func (s *Store) NodesUnderWay(ctx context.Context) ([]string, error) {
	return sqldb.List(ctx, s.db, "store.NodesUnderWay", sqldb.Only[string], `SELECT id FROM nodes WHERE live <> 0 ORDER BY id`)
}
