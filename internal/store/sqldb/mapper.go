package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/internal/fault"
)

// Mapper knows the columns of a table by the fields of a struct, and makes of them what SQL text and its parameters need. Its plan is made
// once, when the program starts. It is safe for concurrent use.
type Mapper[T any] struct {
	Names  string // of all columns, separated by commas
	Select string // the beginning of a query for rows, up to the table

	table, insert string
	written       []string // the columns that are not only read
	columns       []column[T]
}

// column is a column of a table, and the field that has its value.
type column[T any] struct {
	name, shown string
	value       func(*T) any // nil: it is never written
	into        func(*T) any // where a value goes that is read
	decode      func(*T, any) error
}

// Option says of a column what its field cannot.
type Option[T any] struct {
	column, shown string
	value         func(*T) any
	into          func() any
	decode        func(*T, any) error
}

// Encoded stores in a column what encode makes of a row. decode gets it back when all columns are read that are not encoded; among these the
// order is that of Row.
func Encoded[T, V any](column string, encode func(*T) V, decode func(*T, V) error) Option[T] {
	return Option[T]{
		column: column,
		value:  func(v *T) any { return encode(v) },
		into:   func() any { return new(V) },
		decode: func(v *T, at any) error { return decode(v, *at.(*V)) },
	}
}

// Computed reads a column as an expression. It is never written.
func Computed[T any](column, expression string) Option[T] {
	return Option[T]{column: column, shown: expression}
}

// Map maps rows of a table to a T. Row lists the columns: a field for each, in any order, which a T has with the same name and type. So all
// that is stored is spelled once, next to the SQL text, and T need not know that it is stored.
//
// A column is named as its field, in snake case, or as the field's tag says: `db:"user_id"`. The fields of a struct are columns themselves,
// with the tag of the struct before their names: `db:"buyer_"`. After a comma a tag says that the zero value is NULL (null), that a time is
// a date (date), or that a truth is 0 or 1 (number). Other times, and durations, are stored in microseconds; []byte that is nil is empty.
// Map panics where a Row does not fit.
func Map[T, Row any](table string, options ...Option[T]) *Mapper[T] {
	m := &Mapper[T]{table: table}
	m.add(reflect.TypeFor[Row](), reflect.TypeFor[T](), nil, "", options)
	var shown []string
	for _, c := range m.columns {
		if shown = append(shown, c.shown); c.value != nil {
			m.written = append(m.written, c.name)
		}
	}
	m.insert = InsertRow(table, m.written, "")
	m.Names = strings.Join(shown, ", ")
	m.Select = "SELECT " + m.Names + " FROM " + table + " "
	return m
}

// Scan reads a row of Names.
func (m *Mapper[T]) Scan(row Scanner) (T, error) { return m.ScanWith(row) }

// ScanWith reads a row of Names and of further columns.
func (m *Mapper[T]) ScanWith(row Scanner, more ...any) (v T, err error) {
	into := m.Into(&v)
	if err := row.Scan(append(into, more...)...); err != nil {
		return v, err
	}
	for i := range m.columns {
		c := &m.columns[i]
		if c.decode == nil {
			continue
		}
		if err := c.decode(&v, into[i]); err != nil {
			return v, err
		}
	}
	return v, nil
}

// Into is where the columns of a row go that has no Encoded ones.
func (m *Mapper[T]) Into(v *T) []any {
	into := make([]any, len(m.columns))
	for i := range m.columns {
		into[i] = m.columns[i].into(v)
	}
	return into
}

// Of is Names of a table that has another name in a query.
func (m *Mapper[T]) Of(alias string) string {
	return alias + "." + strings.ReplaceAll(m.Names, ", ", ", "+alias+".")
}

// Find reads the row that is found by what follows Select. It fails with sql.ErrNoRows when there is none.
func (m *Mapper[T]) Find(ctx context.Context, s *DB, tail string, args ...any) (v T, err error) {
	err = s.Find(ctx, func(row Scanner) (err error) { v, err = m.Scan(row); return err }, m.Select+tail, args...)
	return v, err
}

// List reads all rows that are found by what follows Select.
func (m *Mapper[T]) List(ctx context.Context, s *DB, op, tail string, args ...any) ([]T, error) {
	return List(ctx, s, op, m.Scan, m.Select+tail, args...)
}

// Row is Find in a transaction.
func (m *Mapper[T]) Row(t *Tx, tail string, args ...any) (T, error) {
	return m.Scan(t.Row(m.Select+tail, args...))
}

// LockedRow is Row, and prevents others from changing the result.
func (m *Mapper[T]) LockedRow(t *Tx, tail string, args ...any) (T, error) {
	return m.Scan(t.LockedRow(m.Select+tail, args...))
}

// Rows is List in a transaction.
func (m *Mapper[T]) Rows(t *Tx, tail string, args ...any) ([]T, error) {
	rows, err := t.Rows(m.Select+tail, args...)
	return Collect(rows, err, m.Scan)
}

// Written are the names of the columns that Args gives values of, and more after them.
func (m *Mapper[T]) Written(more ...string) []string { return slices.Concat(m.written, more) }

// Insert adds a row. more are names of further columns, each followed by its value.
func (m *Mapper[T]) Insert(t *Tx, v *T, more ...any) error {
	_, err := m.Put(t, v, "", more...)
	return err
}

// Put is Insert with an end of its statement, which says what to do if there is such a row already. It returns how many rows changed.
func (m *Mapper[T]) Put(t *Tx, v *T, tail string, more ...any) (changed int64, err error) {
	args := m.Args(v)
	if len(more) == 0 {
		return t.Exec(m.insert+tail, args...)
	}
	names := slices.Clone(m.written)
	for ; len(more) > 0; more = more[2:] {
		names, args = append(names, more[0].(string)), append(args, more[1])
	}
	return t.Exec(InsertRow(m.table, names, tail), args...)
}

// AddNew is Insert of a row whose key may be there already: that is a fault.Conflict, with a sentence.
func (m *Mapper[T]) AddNew(t *Tx, op, exists string, v *T, more ...any) error {
	n, err := m.Put(t, v, "ON CONFLICT DO NOTHING", more...)
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, op, exists)
	}
	return err
}

// Update changes the columns that are named after a ";" in the row that has those before it: "id; state, updated_at". It fails with
// sql.ErrNoRows unless there is one.
func (m *Mapper[T]) Update(t *Tx, v *T, names string) error {
	by, set, _ := strings.Cut(names, "; ")
	keys, change := strings.Split(by, ", "), strings.Split(set, ", ")
	return t.One("UPDATE "+m.table+" SET "+Equal(change, ", ", len(keys)+1)+" WHERE "+Equal(keys, " AND ", 1), m.Args(v, append(keys, change...)...)...)
}

// Equal sets names equal to parameters, of which the first has a number.
func Equal(names []string, between string, first int) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name + " = $" + strconv.Itoa(first+i)
	}
	return strings.Join(out, between)
}

// Excluded sets columns to those of a row that could not be inserted, for an ON CONFLICT: all that are not named.
func (m *Mapper[T]) Excluded(but ...string) string {
	var out []string
	for _, name := range m.written {
		if !slices.Contains(but, name) {
			out = append(out, name+" = excluded."+name)
		}
	}
	return strings.Join(out, ", ")
}

// Args are the values of the named columns, or of all that can be written.
func (m *Mapper[T]) Args(v *T, names ...string) []any {
	if len(names) == 0 {
		names = m.written
	}
	args := make([]any, len(names))
	for i, name := range names {
		at := slices.IndexFunc(m.columns, func(c column[T]) bool { return c.name == name })
		args[i] = m.columns[at].value(v)
	}
	return args
}

// add adds the columns of a struct, whose fields a T has at a path.
func (m *Mapper[T]) add(row, of reflect.Type, path []int, prefix string, options []Option[T]) {
	for f := range row.Fields() {
		tag, mode, _ := strings.Cut(f.Tag.Get("db"), ",")
		name := prefix + cmp.Or(tag, snake(f.Name))
		c := column[T]{name: name, shown: name}
		i := slices.IndexFunc(options, func(o Option[T]) bool { return o.column == name })
		if i >= 0 && options[i].decode != nil {
			o := options[i]
			c.value, c.into, c.decode = o.value, func(*T) any { return o.into() }, o.decode
			m.columns = append(m.columns, c)
			continue
		}
		its, ok := of.FieldByName(f.Name)
		at := append(slices.Clip(path), its.Index...)
		group := f.Type.Kind() == reflect.Struct && f.Type != timeType
		codec := codecOf(f.Type, mode)
		switch {
		case ok && group:
			m.add(f.Type, its.Type, at, prefix+tag, options)
			continue
		case !ok || its.Type != f.Type || codec.value == nil:
			panic(fmt.Sprintf("the table %s: a %v has no %v %s to be stored, %q", m.table, of, f.Type, f.Name, mode))
		}
		c.value = func(v *T) any { return codec.value(reflect.ValueOf(v).Elem().FieldByIndex(at)) }
		c.into = func(v *T) any { return codec.into(reflect.ValueOf(v).Elem().FieldByIndex(at).Addr()) }
		if i >= 0 {
			c.shown, c.value = options[i].shown, nil
		}
		m.columns = append(m.columns, c)
	}
}

// codec stores the values of a type.
type codec struct {
	value func(reflect.Value) any
	into  func(pointer reflect.Value) any
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// codecOf is the codec of a type in a mode of a tag, and has no functions where there is none.
func codecOf(t reflect.Type, mode string) codec {
	at := func(v reflect.Value) time.Time { return v.Interface().(time.Time) }
	switch {
	case t == timeType && mode == "":
		return codec{func(v reflect.Value) any { return at(v).UnixMicro() }, into(func(to *time.Time, v int64) error { *to = time.UnixMicro(v).UTC(); return nil })}
	case t == timeType && mode == "null":
		return codec{func(v reflect.Value) any { return Micros(at(v)) }, into(func(to *time.Time, v sql.NullInt64) error { *to = Moment(v); return nil })}
	case t == timeType && mode == "date":
		return codec{func(v reflect.Value) any { return at(v).Format(time.DateOnly) }, into(func(to *time.Time, v string) (err error) { *to, err = time.Parse(time.DateOnly, v); return err })}
	case t == durationType && mode == "":
		return codec{func(v reflect.Value) any { return v.Int() / int64(time.Microsecond) }, into(func(to *time.Duration, v int64) error { *to = time.Duration(v) * time.Microsecond; return nil })}
	case t.Kind() == reflect.String && mode == "":
		return codec{func(v reflect.Value) any { return v.String() }, as[string]}
	case t.Kind() == reflect.String && mode == "null":
		return codec{func(v reflect.Value) any { return orNone(v.String()) }, func(p reflect.Value) any {
			return into(func(to *string, v sql.NullString) error { *to = v.String; return nil })(reflect.ValueOf(as[string](p)))
		}}
	case t.Kind() == reflect.Int64 && mode == "":
		return codec{func(v reflect.Value) any { return v.Int() }, as[int64]}
	case t.Kind() == reflect.Int && mode == "":
		return codec{func(v reflect.Value) any { return v.Int() }, as[int]}
	case t.Kind() == reflect.Uint8 && mode == "":
		return codec{func(v reflect.Value) any { return int64(v.Uint()) }, as[uint8]}
	case t.Kind() == reflect.Bool && mode == "":
		return codec{func(v reflect.Value) any { return v.Bool() }, as[bool]}
	case t.Kind() == reflect.Bool && mode == "number":
		return codec{func(v reflect.Value) any { return number(v.Bool()) }, into(func(to *bool, v int64) error { *to = v != 0; return nil })}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && mode == "":
		return codec{func(v reflect.Value) any { return NotNil(v.Bytes()) }, as[[]byte]}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && mode == "null":
		return codec{func(v reflect.Value) any {
			if v.IsNil() {
				return nil
			}
			return v.Bytes()
		}, as[[]byte]}
	}
	return codec{}
}

func number(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// as is a pointer to a value of a type whose values are those of a V, such as money.Nano of int64.
func as[V any](pointer reflect.Value) any {
	return pointer.Convert(reflect.TypeFor[*V]()).Interface()
}

// into makes a place for a column that is stored as another type than its field has.
func into[F any, V any](read func(to *F, v V) error) func(pointer reflect.Value) any {
	return func(p reflect.Value) any { return &place[F, V]{p.Interface().(*F), read} }
}

// place is a place for a column.
type place[F, V any] struct {
	to   *F
	read func(*F, V) error
}

// Scan is sql.Scanner.Scan.
func (p *place[F, V]) Scan(from any) error {
	var v sql.Null[V]
	if err := v.Scan(from); err != nil {
		return err
	}
	return p.read(p.to, v.V)
}

// snake writes the name of a field in snake case: ProviderID is provider_id.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		after := i > 0 && !unicode.IsUpper(letters[i-1])
		before := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(r) && (after || before) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
