package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir/internal/invalidate"
)

// Engine has the operations that differ between databases.
type Engine struct {
	Places   int           // questions that users may ask at a time, half of them one user; fewer than there are connections
	Read     *sql.DB       // runs queries outside of writing transactions
	QueryFor time.Duration // bounds queries outside of writing transactions, so that no list or search holds a connection for long
	Snapshot sql.TxOptions // of a transaction that only reads, and sees one moment

	// What follows a SELECT of a row that the transaction is about to change; of one whose key and being it relies on until it ends;
	// and the statement, with %s for the name, that keeps all other writers of a table out. Empty where a transaction that writes is alone
	// anyway.
	ForUpdate, ForKeyShare, LockTable string

	// Skewed comes before the arguments of a query whose best plan depends on how much the account has, so that it is planned for each; nil
	// where every account has the same plan.
	Skewed any

	// Sorts says that the database sorts rows to group them, unless an index has them in that order.
	Sorts bool

	// Clock is a statement that gives the time of the server's clock in Unix microseconds; empty where the database has none but this machine's.
	Clock string

	// Unhurried lifts the time limit of statements for the rest of a transaction; empty where the database has no such limit.
	Unhurried string

	// Triggers lists the triggers that work, and rules where there are any: table, name, and all that they do as text.
	Triggers string
	// Guards are the triggers that the migrations make, by name, in the same words.
	Guards func(ctx context.Context) (map[string]Guard, error)

	// Write runs f in a transaction that can change rows, and commits it. An error of f rolls back and is returned unchanged. f runs again
	// when the database aborted the transaction in favour of others. When Write returns the commit is on the disk; with lazy it need not
	// be there yet, if only a power failure of this machine can undo it. A client that hangs up does not interrupt a transaction that has
	// begun; ctx's deadline does. Unavailable makes the errors of the engine itself.
	Write func(ctx context.Context, lazy bool, f func(Runner) error) error

	// Scrub removes deleted data from the database's other files, as far as nothing blocks that at the moment; nil where the
	// database does that at its own time.
	Scrub func(ctx context.Context) error

	// Shrink gives space that deleted rows have left back to the system, a bounded part of it; nil: the database uses it for new rows.
	Shrink func(ctx context.Context) error
	// Size is a query for the bytes of the database, and how many of them are free for new rows.
	Size string

	// Tell is a statement that passes a note, its one parameter, to all who Listen, when its transaction commits; equal notes of a transaction
	// arrive once. Empty: there is no listener.
	Tell string
	// Listen is hint.Source.Listen; nil where there is no Tell.
	Listen func(ctx context.Context, joined func(), heard func(note string)) error

	// Duplicate reports whether a row could not be inserted because there is one with that key.
	Duplicate func(error) bool
	// Refused reports whether the database can never store the given values, however often it is tried: a number out of range, a violated
	// constraint of a table.
	Refused func(error) bool

	Copier Copier

	Close func() error
}

// Scanner is a row, or rows at one of them.
type Scanner interface{ Scan(into ...any) error }

// Table is where rows are put by the thousand.
type Table struct {
	Name    string
	Columns []string
	Merge   string // the end of an INSERT that merges a row with one that is there; "": there must be none
}

// Runner runs statements in a transaction. Parameters are $1, $2, ... Where args hold several rows, they follow one another,
// each of the same width.
type Runner interface {
	Exec(text string, args []any) (changed int64, err error)
	Row(text string, args []any) Scanner
	Rows(text string, args []any) (*sql.Rows, error)
	// ExecEach runs a statement with each row of args, and returns how many rows each changed.
	ExecEach(text string, width int, args []any) (changed []int64, err error)
	// RowEach runs a query with each row of args, and calls scan with the result of each, numbered from 0.
	RowEach(text string, width int, args []any, scan func(i int, row Scanner) error) error
	// Insert adds that many rows to a table, in their order, or merges them with rows of it. row appends row i, from 0, to args; further args belong to the engine.
	Insert(into *Table, rows int, row func(args []any, i int) []any) error
}

// tx is a transaction that can change rows. Everything locks rows in the same order, or two transactions could wait for one another:
// nodes; wallets by id; key_spend by key, wallet, period and start; leases, which take a lockedFund; roll-ups by their keys; the audit chain
// last.
type tx struct {
	Runner
	engine *Engine
	zones  zones
}

// scrub ends a sweep of content: the deleted data is removed from the disk as well.
func (s *db) scrub(ctx context.Context) error {
	if s.engine.Scrub == nil {
		return nil
	}
	return failure("store.Scrub", s.engine.Scrub(ctx))
}

// write runs f in a transaction, and returns when it is on the disk. f may run more than once.
func (s *db) write(ctx context.Context, f func(*tx) error) error { return s.transact(ctx, false, f) }

// writeLazily is write without waiting for this machine's disk: for data that the journal or the next start restores after a power
// failure.
func (s *db) writeLazily(ctx context.Context, f func(*tx) error) error {
	return s.transact(ctx, true, f)
}

func (s *db) transact(ctx context.Context, lazy bool, f func(*tx) error) error {
	leave, err := s.take(ctx, "store.Write")
	if err != nil {
		return err
	}
	defer leave()
	z, err := s.zonesNow(ctx)
	if err != nil {
		return err
	}
	return failure("store.Write", s.engine.Write(ctx, lazy, func(r Runner) error { return f(&tx{r, &s.engine, z}) }))
}

func (t *tx) exec(text string, args ...any) (changed int64, err error) {
	return t.Exec(text, clean(args))
}

func (t *tx) row(text string, args ...any) Scanner { return t.Row(text, clean(args)) }

// lockedRow is row, and prevents others from changing the result.
func (t *tx) lockedRow(text string, args ...any) Scanner {
	return t.Row(text+t.engine.ForUpdate, clean(args))
}

// one is exec of a change that must meet one row; its error is sql.ErrNoRows when it meets none.
func (t *tx) one(text string, args ...any) error {
	if n, err := t.exec(text, args...); err != nil || n == 1 {
		return err
	}
	return sql.ErrNoRows
}

// tell has other nodes look again at what they remember of a user, "" for all.
func (t *tx) tell(topic invalidate.Topic, user string) error {
	if t.engine.Tell == "" {
		return nil
	}
	_, err := t.Exec(t.engine.Tell, []any{invalidate.Hint{Topic: topic, User: user}.String()})
	return err
}

// lockTable keeps others from writing into a table.
func (t *tx) lockTable(name string) error {
	if t.engine.LockTable == "" {
		return nil
	}
	_, err := t.Exec(fmt.Sprintf(t.engine.LockTable, name), nil)
	return err
}

// Plain is the Runner that works on any database: one statement after another. Engines use it where they have nothing faster.
type Plain struct {
	Ctx context.Context
	Tx  *sql.Tx
}

// Exec is Runner.Exec.
func (p *Plain) Exec(text string, args []any) (changed int64, err error) {
	r, err := p.Tx.ExecContext(p.Ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Row is Runner.Row.
func (p *Plain) Row(text string, args []any) Scanner {
	return p.Tx.QueryRowContext(p.Ctx, text, args...)
}

// Rows is Runner.Rows.
func (p *Plain) Rows(text string, args []any) (*sql.Rows, error) {
	return p.Tx.QueryContext(p.Ctx, text, args...)
}
