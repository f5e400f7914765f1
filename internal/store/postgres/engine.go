package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"weir/internal/store/sqldb"
)

// engine is an open database.
type engine struct {
	pool *pgxpool.Pool
	db   *sql.DB // over the pool
}

func (e *engine) close() error {
	err := e.db.Close()
	e.pool.Close()
	return err
}

// writeFor bounds a transaction whose caller sets no deadline.
const writeFor = 10 * time.Second

// attempts is how often a transaction is tried that the server aborts, or whose connection is closed before it has begun.
const attempts = 5

// write implements store.Engine. Transactions see the commits of others meanwhile, and lock the rows on which they decide. Every commit
// waits for the server's disk: other nodes rely on it, and they do not end when the server does.
func (e *engine) write(ctx context.Context, _ bool, f func(sqldb.Runner) error) error {
	deadline, set := ctx.Deadline()
	if !set {
		deadline = time.Now().Add(writeFor)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	var err error
	for range attempts {
		var again bool
		if again, err = e.try(ctx, f); !again || ctx.Err() != nil {
			break
		}
	}
	return err
}

// try runs a transaction once, and reports whether it is worth running again.
func (e *engine) try(ctx context.Context, f func(sqldb.Runner) error) (again bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return false, sqldb.Unavailable("postgres.Write", err)
	}
	defer func() { _ = conn.Close() }()
	// Where the context of a transaction ends, database/sql rolls back beside f and takes the connection away, on which Raw panics. So this
	// one ends with ctx only while f does not run; what f asks for has ctx itself.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unbind := context.AfterFunc(ctx, cancel)
	tx, err := conn.BeginTx(own, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		e.pool.Reset() // the server was unavailable: the other connections are broken as well
		return true, sqldb.Unavailable("postgres.Write", err)
	}
	defer func() {
		defer context.AfterFunc(ctx, cancel)()
		_ = tx.Rollback() // after a commit it does nothing
	}()
	if !unbind() {
		return false, sqldb.Unavailable("postgres.Write", ctx.Err())
	}
	if err := f(&runner{sqldb.Plain{Ctx: ctx, Tx: tx}, conn}); err != nil {
		return gaveUp(err), err
	}
	if deadline, _ := ctx.Deadline(); ctx.Err() != nil || !time.Now().Before(deadline) { // on a busy node its timer comes later
		return false, sqldb.Unavailable("postgres.Write", context.DeadlineExceeded)
	}
	defer context.AfterFunc(ctx, cancel)()
	if err := tx.Commit(); err != nil {
		return gaveUp(err), sqldb.Unavailable("postgres.Write", err)
	}
	return false, nil
}

// gaveUp reports whether the server rolled back to let other transactions through.
func gaveUp(err error) bool {
	const serialization, deadlock = "40001", "40P01"
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == serialization || e.Code == deadlock)
}

func isDuplicate(err error) bool {
	const unique = "23505"
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == unique
}

// isRefused recognizes the classes of errors that lie in the data: data exceptions, broken constraints, raised exceptions, exceeded limits.
func isRefused(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) || len(e.Code) != 5 {
		return false
	}
	switch e.Code[:2] {
	case "22", "23", "54", "P0":
		return true
	}
	return false
}

// runner runs the statements of one transaction.
type runner struct {
	sqldb.Plain
	conn *sql.Conn // of the transaction
}

// raw returns the connection as a pgx connection.
func (r *runner) raw(f func(*pgx.Conn) error) error {
	return r.conn.Raw(func(c any) error {
		conn, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is no connection of pgx", c)
		}
		return f(conn.Conn())
	})
}

// ExecEach is store.Runner.ExecEach: all statements travel at once.
func (r *runner) ExecEach(text string, width int, args []any) (changed []int64, err error) {
	changed = make([]int64, 0, len(args)/width)
	err = r.batch(text, width, args, func(results pgx.BatchResults, _ int) error {
		tag, err := results.Exec()
		changed = append(changed, tag.RowsAffected())
		return err
	})
	return changed, err
}

// RowEach is store.Runner.RowEach: all queries travel at once.
func (r *runner) RowEach(text string, width int, args []any, scan func(i int, row sqldb.Scanner) error) error {
	return r.batch(text, width, args, func(results pgx.BatchResults, i int) error { return scan(i, results.QueryRow()) })
}

func (r *runner) batch(text string, width int, args []any, read func(results pgx.BatchResults, i int) error) error {
	if len(args) == 0 {
		return nil
	}
	return r.raw(func(conn *pgx.Conn) error {
		var b pgx.Batch
		for rest := args; len(rest) > 0; rest = rest[width:] {
			b.Queue(text, rest[:width:width]...)
		}
		results := conn.SendBatch(r.Ctx, &b)
		for i := range b.Len() {
			if err := read(results, i); err != nil {
				_ = results.Close()
				return err
			}
		}
		return results.Close()
	})
}

// Insert is store.Runner.Insert: by COPY where nothing is merged.
func (r *runner) Insert(into *sqldb.Table, rows int, row func([]any, int) []any) error {
	if into.Merge != "" {
		return r.merge(into, rows, row)
	}
	return r.raw(func(conn *pgx.Conn) error {
		args := make([]any, 0, len(into.Columns))
		_, err := conn.CopyFrom(r.Ctx, pgx.Identifier{into.Name}, into.Columns, pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			args = row(args[:0], i)
			return args, nil
		}))
		return err
	})
}

// merge is Insert for rows that may be there, by one statement that takes an array for each column. It locks rows in their order.
func (r *runner) merge(into *sqldb.Table, rows int, row func([]any, int) []any) error {
	if rows == 0 {
		return nil
	}
	columns := make([]struct {
		numbers []int64
		texts   []string
		bytes   [][]byte
		truths  []bool
	}, len(into.Columns))
	var args []any
	for i := range rows {
		args = row(args[:0], i)
		for c, v := range args {
			switch v := v.(type) {
			case int64:
				columns[c].numbers = append(columns[c].numbers, v)
			case string:
				columns[c].texts = append(columns[c].texts, v)
			case []byte:
				columns[c].bytes = append(columns[c].bytes, v)
			case bool:
				columns[c].truths = append(columns[c].truths, v)
			default:
				return fmt.Errorf("%s.%s: %T cannot be merged", into.Name, into.Columns[c], v)
			}
		}
	}
	arrays := make([]string, len(columns))
	args = args[:0]
	for c, v := range columns {
		var array any
		kind := "bigint"
		switch {
		case v.texts != nil:
			array, kind = v.texts, "text"
		case v.bytes != nil:
			array, kind = v.bytes, "bytea"
		case v.truths != nil:
			array, kind = v.truths, "boolean"
		default:
			array = v.numbers
		}
		arrays[c] = "$" + strconv.Itoa(c+1) + "::" + kind + "[]"
		args = append(args, array)
	}
	_, err := r.Exec("INSERT INTO "+into.Name+" ("+strings.Join(into.Columns, ", ")+") SELECT * FROM unnest("+strings.Join(arrays, ", ")+") "+into.Merge, args)
	return err
}
