package sqlite

import (
	"context"
	"database/sql"
	stdsql "database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
)

// runner runs the statements of one transaction. On the lazy connection it uses prepared ones.
type runner struct {
	sqldb.Plain
	conn  *sql.Conn   // of the transaction
	stmts *statements // nil: nothing is prepared
}

// statements are prepared once, on the lazy connection.
type statements struct {
	prepared map[string]*sql.Stmt
	inserts  map[*sqldb.Table]*many // made when they are needed first
	bulk     bulk
}

func (l *statements) prepare(ctx context.Context, db *sql.DB) error {
	l.prepared, l.inserts = map[string]*sql.Stmt{}, map[*sqldb.Table]*many{}
	for _, text := range ledgerdb.Hot {
		st, err := db.PrepareContext(ctx, positional(text))
		if err != nil {
			return err
		}
		l.prepared[text] = st
	}
	return nil
}

func (l *statements) close(ctx context.Context, db *sql.DB) error {
	for _, st := range l.prepared {
		_ = st.Close()
	}
	if l.prepared == nil {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(c any) error { return l.bulk.close(c) })
}

// statement is nil for a text that is not prepared.
func (r *runner) statement(text string) *sql.Stmt {
	if r.stmts == nil {
		return nil
	}
	return r.stmts.prepared[text]
}

// Exec is store.Runner.Exec.
func (r *runner) Exec(text string, args []any) (changed int64, err error) {
	st := r.statement(text)
	if st == nil {
		return r.Plain.Exec(text, args)
	}
	done, err := r.Tx.StmtContext(r.Ctx, st).ExecContext(r.Ctx, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// Row is store.Runner.Row.
func (r *runner) Row(text string, args []any) sqldb.Scanner {
	if st := r.statement(text); st != nil {
		return r.Tx.StmtContext(r.Ctx, st).QueryRowContext(r.Ctx, args...)
	}
	return r.Plain.Row(text, args)
}

// ExecEach is store.Runner.ExecEach.
func (r *runner) ExecEach(text string, width int, args []any) (changed []int64, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	changed = make([]int64, 0, len(args)/width)
	each := func(exec func(text string, args []any) (int64, error)) error {
		for ; len(args) > 0; args = args[width:] {
			n, err := exec(text, args[:width])
			if err != nil {
				return err
			}
			changed = append(changed, n)
		}
		return nil
	}
	if r.statement(text) == nil {
		err = each(r.Plain.Exec)
	} else {
		err = r.conn.Raw(func(c any) error {
			return each(func(text string, args []any) (int64, error) { return r.stmts.bulk.exec(r.Ctx, c, text, args) })
		})
	}
	return changed, err
}

// RowEach is store.Runner.RowEach.
func (r *runner) RowEach(text string, width int, args []any, scan func(i int, row sqldb.Scanner) error) error {
	for i := 0; len(args) > 0; i++ {
		if err := scan(i, r.Row(text, args[:width])); err != nil {
			return err
		}
		args = args[width:]
	}
	return nil
}

// Insert is store.Runner.Insert.
func (r *runner) Insert(into *sqldb.Table, rows int, row func([]any, int) []any) error {
	if r.stmts == nil {
		return insertMany(into).insert(rows, row, func(text string, args []any) error {
			_, err := r.Exec(text, args)
			return err
		})
	}
	all := r.stmts.inserts[into]
	if all == nil {
		all = insertMany(into)
		r.stmts.inserts[into] = all
	}
	return r.conn.Raw(func(c any) error {
		return all.insert(rows, row, func(text string, args []any) error {
			_, err := r.stmts.bulk.exec(r.Ctx, c, text, args)
			return err
		})
	})
}

// many is an INSERT in several sizes: most rows go in by the largest.
type many struct {
	width int
	sizes []int
	texts []string
}

// insertMany inserts rows. OR FAIL spares SQLite the journal from which it would undo one statement, where no index has an expression: an error here undoes the whole transaction.
func insertMany(t *sqldb.Table) *many {
	m := &many{width: len(t.Columns), sizes: []int{100, 25, 5, 1}}
	row := "(" + strings.Repeat(",?", m.width)[1:] + ")"
	for _, n := range m.sizes {
		m.texts = append(m.texts, "INSERT OR FAIL INTO "+t.Name+" ("+strings.Join(t.Columns, ", ")+") VALUES "+strings.Repeat(","+row, n)[1:]+" "+t.Merge)
	}
	return m
}

// insert has exec run the statements for that many rows.
func (m *many) insert(rows int, row func([]any, int) []any, exec func(text string, args []any) error) error {
	args := make([]any, 0, min(rows, m.sizes[0])*m.width)
	done := 0
	for i, size := range m.sizes {
		for ; rows-done >= size; done += size {
			args = args[:0]
			for n := range size {
				args = row(args, done+n)
			}
			if err := exec(m.texts[i], args); err != nil {
				return err
			}
		}
	}
	return nil
}

var numbered = regexp.MustCompile(`\$[0-9]+`)

// positional replaces parameters that are numbered in the order of their use by question marks: the driver looks each numbered one up by
// its name, from the start, which for twenty of them takes longer than the row. Any other text stays unchanged.
func positional(text string) string {
	for i, mark := range numbered.FindAllString(text, -1) {
		if mark != "$"+strconv.Itoa(i+1) {
			return text
		}
	}
	return numbered.ReplaceAllLiteralString(text, "?")
}

// bulk runs statements on the driver itself, for rows by the thousand: database/sql copies and checks each argument. Its users hold the write lock.
type bulk struct {
	conn     any // the connection of prepared
	prepared map[string]bulkStatement
	named    []stdsql.NamedValue
}

type bulkStatement interface {
	stdsql.Stmt
	stdsql.StmtExecContext
}

func (b *bulk) exec(ctx context.Context, conn any, text string, args []any) (changed int64, err error) {
	st, err := b.prepare(ctx, conn, text)
	if err != nil {
		return 0, err
	}
	b.named = b.named[:0]
	for i, a := range args {
		b.named = append(b.named, stdsql.NamedValue{Ordinal: i + 1, Value: a})
	}
	done, err := st.ExecContext(ctx, b.named)
	clear(b.named) // nothing of the rows is kept
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (b *bulk) prepare(ctx context.Context, conn any, text string) (bulkStatement, error) {
	if b.conn != conn { // the pool has made another: the statements went with the former
		b.conn, b.prepared = conn, map[string]bulkStatement{}
	}
	if st := b.prepared[text]; st != nil {
		return st, nil
	}
	preparer, ok := conn.(stdsql.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("%T does not prepare statements", conn)
	}
	made, err := preparer.PrepareContext(ctx, positional(text))
	if err != nil {
		return nil, err
	}
	st, ok := made.(bulkStatement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T does not run statements", made), made.Close())
	}
	b.prepared[text] = st
	return st, nil
}

// close ends the statements: with one left open the connection would not really end.
func (b *bulk) close(conn any) error {
	if b.conn != conn {
		return nil
	}
	var errs []error
	for _, st := range b.prepared {
		errs = append(errs, st.Close())
	}
	b.prepared = nil
	b.conn = nil
	return errors.Join(errs...)
}
