// Package sqldb is what the packages of the store share: the engine of a database, transactions, queries, and rows from structs. It must not
// know any table but those of users and of wallets' time zones, which are locked and read in the transactions of all.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/money"
)

// DB is what the parts of a store share: the engine, and what is remembered of it.
type DB struct {
	Engine Engine
	Now    func() time.Time
	turns  *limit.Turns // of users; work without a user waits for none
	zones  atomic.Pointer[knownZones]
}

// Open shares an open engine. now determines the current day, week and month.
func Open(e Engine, now func() time.Time) *DB {
	return &DB{Engine: e, Now: now, turns: limit.NewTurns(e.Places, max(e.Places/2, 1))}
}

// take waits for the turn of the user that ctx works for, so that one user's queries do not delay others'. leave gives it back.
func (s *DB) take(ctx context.Context, op string) (leave func(), err error) {
	user := limit.Name(ctx)
	if user == "" {
		return func() {}, nil
	}
	if err := s.turns.Enter(ctx, user); err != nil {
		return nil, Unavailable(op, err)
	}
	return func() { s.turns.Leave(user) }, nil
}

// QueryFor is how long a query may take unless the operator allows the store more.
const QueryFor = 5 * time.Second

// Find reads at most one row with scan, which gets sql.ErrNoRows when there is none.
func (s *DB) Find(ctx context.Context, scan func(Scanner) error, text string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, s.Engine.QueryFor)
	defer cancel()
	leave, err := s.take(ctx, "store.Read")
	if err != nil {
		return err
	}
	defer leave()
	return scan(s.Engine.Read.QueryRowContext(ctx, text, Clean(args)...))
}

// Read reads one value into a pointer. It fails with sql.ErrNoRows when there is no row.
func (s *DB) Read(ctx context.Context, into any, text string, args ...any) error {
	return s.Find(ctx, func(row Scanner) error { return row.Scan(into) }, text, args...)
}

// List reads all rows of a query with scan. The result is empty, not nil, without rows.
func List[T any](ctx context.Context, s *DB, op string, scan func(Scanner) (T, error), text string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Engine.QueryFor)
	defer cancel()
	leave, err := s.take(ctx, op)
	if err != nil {
		return nil, err
	}
	defer leave()
	rows, err := s.Engine.Read.QueryContext(ctx, text, Clean(args)...)
	all, err := Collect(rows, err, scan)
	return all, Failure(op, err)
}

// Snapshot runs f in a transaction that sees one moment of the database.
func (s *DB) Snapshot(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Engine.QueryFor)
	defer cancel()
	return s.readTx(ctx, "", f)
}

// Walk is Snapshot without a time limit, for reading whole tables.
func (s *DB) Walk(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	return s.readTx(ctx, s.Engine.Unhurried, f)
}

func (s *DB) readTx(ctx context.Context, first string, f func(context.Context, *sql.Tx) error) error {
	leave, err := s.take(ctx, "store.Read")
	if err != nil {
		return err
	}
	defer leave()
	tx, err := s.Engine.Read.BeginTx(ctx, &s.Engine.Snapshot)
	if err != nil {
		return Unavailable("store.Read", err)
	}
	defer func() { _ = tx.Rollback() }()
	if first != "" {
		if _, err := tx.ExecContext(ctx, first); err != nil {
			return Unavailable("store.Read", err)
		}
	}
	return Failure("store.Read", f(ctx, tx))
}

// Clock is the time of the database.
func (s *DB) Clock(ctx context.Context) (now time.Time, err error) {
	if s.Engine.Clock == "" {
		return s.Now(), nil
	}
	var micro int64
	err = s.Find(ctx, func(row Scanner) error { return row.Scan(&micro) }, s.Engine.Clock)
	return time.UnixMicro(micro), Failure("store.Clock", err)
}

// Scrub ends a sweep of content: the deleted data is removed from the disk as well.
func (s *DB) Scrub(ctx context.Context) error {
	if s.Engine.Scrub == nil {
		return nil
	}
	return Failure("store.Scrub", s.Engine.Scrub(ctx))
}

// Write runs f in a transaction, and returns when it is on the disk. f may run more than once.
func (s *DB) Write(ctx context.Context, f func(*Tx) error) error { return s.Transact(ctx, false, f) }

// WriteLazily is Write without waiting for this machine's disk: for data that the journal or the next start restores after a power
// failure.
func (s *DB) WriteLazily(ctx context.Context, f func(*Tx) error) error {
	return s.Transact(ctx, true, f)
}

// Exec is Write of one statement. It returns how many rows changed.
func (s *DB) Exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	return s.exec(ctx, false, text, args)
}

// ExecLazily is WriteLazily of one statement.
func (s *DB) ExecLazily(ctx context.Context, text string, args ...any) (changed int64, err error) {
	return s.exec(ctx, true, text, args)
}

func (s *DB) exec(ctx context.Context, lazy bool, text string, args []any) (changed int64, err error) {
	err = s.Transact(ctx, lazy, func(t *Tx) (err error) {
		changed, err = t.Exec(text, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// Transact is Write, or WriteLazily.
func (s *DB) Transact(ctx context.Context, lazy bool, f func(*Tx) error) error {
	leave, err := s.take(ctx, "store.Write")
	if err != nil {
		return err
	}
	defer leave()
	z, err := s.ZonesNow(ctx)
	if err != nil {
		return err
	}
	return Failure("store.Write", s.Engine.Write(ctx, lazy, func(r Runner) error { return f(&Tx{r, &s.Engine, z}) }))
}

// Refused classifies an error that the values themselves cause: repeating the write does not help then.
func (s *DB) Refused(op string, err error) error {
	if err == nil || !s.Engine.Refused(err) && !s.Engine.Duplicate(err) && !errors.Is(err, money.ErrOverflow) {
		return err
	}
	return fault.New(fault.Unprocessable, op, "The database can never take this record.").Because(err)
}
