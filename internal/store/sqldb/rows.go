package sqldb

import (
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// Collect reads all rows of a result with scan, and closes it. The list is empty, not nil, without rows.
func Collect[T any](rows *sql.Rows, err error, scan func(Scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// All is List in a transaction.
func All[T any](t *Tx, scan func(Scanner) (T, error), text string, args ...any) ([]T, error) {
	rows, err := t.Rows(text, args...)
	return Collect(rows, err, scan)
}

// Only scans a row of one column.
func Only[T any](row Scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// Columns makes a scan function of the places where the columns of a row go.
func Columns[T any](fields func(*T) []any) func(Scanner) (T, error) {
	return func(row Scanner) (v T, err error) {
		err = row.Scan(fields(&v)...)
		return v, err
	}
}

// InsertRow is an INSERT of one row, followed by tail.
func InsertRow(table string, columns []string, tail string) string {
	marks := make([]string, len(columns))
	for i := range marks {
		marks[i] = "$" + strconv.Itoa(i+1)
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ") " + tail
}

// NotNil is b, which a column that is never NULL can take.
func NotNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Micros is a time as it is stored, in microseconds; the zero one is NULL.
func Micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// Moment is the time that Micros has made.
func Moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

// orNone is NULL for the empty text.
func orNone(text string) sql.NullString { return sql.NullString{String: Text(text), Valid: text != ""} }
