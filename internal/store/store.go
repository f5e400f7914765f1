// Package store keeps all data in a database: one implementation of the domain's interfaces, written once for both engines. It must not
// know its engine beyond what Engine reports, and decides nothing: rules are in the domain.
package store

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/batch"
	"weir/internal/catalog/edit"
	"weir/internal/chat"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/history"
	"weir/internal/idempotency"
	"weir/internal/invalidate"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/notify"
	"weir/internal/ownkey"
	"weir/internal/payment"
	"weir/internal/preset"
	"weir/internal/report"
	"weir/internal/video"
	"weir/internal/view"
	"weir/internal/voucher"
	"weir/internal/webhook"
)

// Store is an open database, by what is kept. It is safe for concurrent use.
type Store struct {
	Ledger   *Ledger
	Accounts *Accounts
	People   *People
	Catalog  *Catalog
	Jobs     *Jobs
	Payments *Payments
	Pages    *Pages
	Notices  *Notices
	Nodes    *Nodes

	*db
}

// db is what the parts of a store share: the engine, and what is remembered of it.
type db struct {
	engine Engine
	now    func() time.Time
	turns  *limit.Turns // of users; work without a user waits for none
	zones  atomic.Pointer[knownZones]
}

type (
	// Ledger has wallets, calls, what they cost, and sums of it.
	Ledger struct{ *db }
	// Accounts has users, their keys, and the audit chain.
	Accounts struct{ *db }
	// People has those who sign in, and how.
	People struct{ *db }
	// Catalog has providers, models and price lists.
	Catalog struct{ *db }
	// Jobs has what outlives a call: batches with their files, and video jobs.
	Jobs struct{ *db }
	// Payments has payments, vouchers, invoices and acts.
	Payments struct{ *db }
	// Pages has what users keep: chats, responses, answers to named calls, presets and views.
	Pages struct{ *db }
	// Notices has what is sent to users: mails, and events that go to their webhooks.
	Notices struct{ *db }
	// Nodes has what nodes report to one another.
	Nodes struct{ *db }
)

var (
	_ ledger.Store   = (*Ledger)(nil)
	_ ledger.Sweeper = (*Ledger)(nil)
	_ report.Store   = (*Ledger)(nil)

	_ account.Store = (*Accounts)(nil)
	_ apikey.Store  = (*Accounts)(nil)
	_ ownkey.Store  = (*Accounts)(nil)

	_ auth.Store = (*People)(nil)
	_ edit.Store = (*Catalog)(nil)

	_ batch.Store = (*Jobs)(nil)
	_ video.Store = (*Jobs)(nil)

	_ payment.Store = (*Payments)(nil)
	_ voucher.Store = (*Payments)(nil)
	_ invoice.Store = (*Payments)(nil)

	_ chat.Store        = (*Pages)(nil)
	_ history.Store     = (*Pages)(nil)
	_ idempotency.Store = (*Pages)(nil)
	_ preset.Store      = (*Pages)(nil)
	_ view.Store        = (*Pages)(nil)

	_ notify.Store        = (*Notices)(nil)
	_ webhook.Outbox      = (*Notices)(nil)
	_ webhook.SecretStore = (*Notices)(nil)

	_ health.HourStore  = (*Nodes)(nil)
	_ invalidate.Source = (*Nodes)(nil)
)

// New makes a store of an open engine. now determines the current day, week and month.
func New(e Engine, now func() time.Time) *Store {
	d := &db{engine: e, now: now, turns: limit.NewTurns(e.Places, max(e.Places/2, 1))}
	return &Store{
		Ledger: &Ledger{d}, Accounts: &Accounts{d}, People: &People{d}, Catalog: &Catalog{d}, Jobs: &Jobs{d}, Payments: &Payments{d}, Pages: &Pages{d},
		Notices: &Notices{d}, Nodes: &Nodes{d}, db: d,
	}
}

// take waits for the turn of the user that ctx works for, so that one user's queries do not delay others'. leave gives it back.
func (s *db) take(ctx context.Context, op string) (leave func(), err error) {
	user := limit.Name(ctx)
	if user == "" {
		return func() {}, nil
	}
	if err := s.turns.Enter(ctx, user); err != nil {
		return nil, Unavailable(op, err)
	}
	return func() { s.turns.Leave(user) }, nil
}

// Listen is hint.Source.Listen.
func (s *Nodes) Listen(ctx context.Context, joined func(), heard func(note string)) error {
	if s.engine.Listen == nil {
		return errors.ErrUnsupported
	}
	return failure("store.Listen", s.engine.Listen(ctx, joined, heard))
}

// Close closes the database. Calls still running fail.
func (s *Store) Close() error { return s.engine.Close() }

// QueryFor is how long a query may take unless the operator allows the store more.
const QueryFor = 5 * time.Second

// find reads at most one row with scan, which gets sql.ErrNoRows when there is none.
func (s *db) find(ctx context.Context, scan func(Scanner) error, text string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, s.engine.QueryFor)
	defer cancel()
	leave, err := s.take(ctx, "store.Read")
	if err != nil {
		return err
	}
	defer leave()
	return scan(s.engine.Read.QueryRowContext(ctx, text, clean(args)...))
}

// list reads all rows of a query with scan. The result is empty, not nil, without rows.
func list[T any](ctx context.Context, s *db, op string, scan func(Scanner) (T, error), text string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.engine.QueryFor)
	defer cancel()
	leave, err := s.take(ctx, op)
	if err != nil {
		return nil, err
	}
	defer leave()
	rows, err := s.engine.Read.QueryContext(ctx, text, clean(args)...)
	all, err := collect(rows, err, scan)
	return all, failure(op, err)
}

func collect[T any](rows *sql.Rows, err error, scan func(Scanner) (T, error)) ([]T, error) {
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

// columns makes a scan function of the places where the columns of a row go.
func columns[T any](fields func(*T) []any) func(Scanner) (T, error) {
	return func(row Scanner) (v T, err error) {
		err = row.Scan(fields(&v)...)
		return v, err
	}
}

// snapshot runs f in a transaction that sees one moment of the database.
func (s *db) snapshot(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.engine.QueryFor)
	defer cancel()
	return s.readTx(ctx, "", f)
}

// walk is snapshot without a time limit, for reading whole tables.
func (s *db) walk(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	return s.readTx(ctx, s.engine.Unhurried, f)
}

func (s *db) readTx(ctx context.Context, first string, f func(context.Context, *sql.Tx) error) error {
	leave, err := s.take(ctx, "store.Read")
	if err != nil {
		return err
	}
	defer leave()
	tx, err := s.engine.Read.BeginTx(ctx, &s.engine.Snapshot)
	if err != nil {
		return Unavailable("store.Read", err)
	}
	defer func() { _ = tx.Rollback() }()
	if first != "" {
		if _, err := tx.ExecContext(ctx, first); err != nil {
			return Unavailable("store.Read", err)
		}
	}
	return failure("store.Read", f(ctx, tx))
}

// Unavailable says that the database failed.
func Unavailable(op string, cause error) error {
	e := fault.New(fault.StorageUnavailable, op, "The store cannot be reached at the moment.").Because(cause)
	e.RetryAfter = time.Second
	return e
}

// failure turns an error of the driver into a fault: a missing row is NotFound, everything else means that the store failed.
// Faults pass unchanged.
func failure(op string, err error) error {
	var f *fault.Error
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return fault.New(fault.NotFound, op, "There is no such thing.").Because(err)
	}
	return Unavailable(op, err)
}
