package sqldb

import (
	"context"
	"database/sql"
	"time"
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

// Guard is a trigger that keeps rows as they are.
type Guard struct{ Table, Text string }

// Copier is what an engine knows of its tables, to fill them from another engine's.
type Copier struct {
	// Columns is a query for the columns of all tables but those of the migrations: table, column, kind; in the order of the table.
	// Kinds are those below.
	Columns string
	// References is a query for tables that refer to others: table, other table.
	References string
	// Unhurried are statements that lift the limits of time for the rest of a transaction.
	Unhurried []string
	// Suspend switches the triggers off that keep rows from being changed, until resume.
	Suspend func(r Runner) (resume func() error, err error)
	// Renumber makes the numbers that a table gives to new rows go on after the highest that it has; nil: they do so anyway.
	Renumber func(r Runner) error
}

// KindText is the kind of columns that hold text.
const KindText = "text"
