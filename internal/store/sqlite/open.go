// Package sqlite keeps everything in one SQLite file: the default store, for one machine.
// It must not decide anything: rules stand in the domain, and storetest says how a store behaves.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"

	"weir/internal/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. It is safe for concurrent use.
type Store struct {
	// Two connections write, never at once: writing holds one token. durable waits for the disk at each commit, lazy does not
	// (a crash of the process loses nothing either way, a power cut loses what the journal still has).
	durable *sql.DB
	lazy    *sql.DB
	writing chan struct{}
	read    *sql.DB
	stmts   ledgerStatements
	now     func() time.Time
}

// Option changes how a store is opened.
type Option func(*options)

type options struct {
	readers     int
	busyTimeout time.Duration
	readOnly    bool
	now         func() time.Time
}

// WithReaders sets how many queries run at once; 0 means four or twice the processors, whichever is more.
func WithReaders(n int) Option { return func(o *options) { o.readers = n } }

// WithBusyTimeout sets how long to wait for another process that writes; the default is 5 s.
func WithBusyTimeout(d time.Duration) Option { return func(o *options) { o.busyTimeout = d } }

// WithClock sets the clock that says what the current day, week and month are; the default is time.Now.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// ReadOnly opens a database that must exist, applies no migrations, and refuses to write.
func ReadOnly() Option { return func(o *options) { o.readOnly = true } }

// Open opens the database file at path, makes it when it is missing, and applies the migrations that it lacks.
// An interrupted migration is rolled back and applied again at the next Open.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	o := options{busyTimeout: 5 * time.Second, now: time.Now}
	for _, opt := range opts {
		opt(&o)
	}
	if o.readers == 0 {
		o.readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if path == "" {
		return nil, fault.New(fault.Invalid, "sqlite.Open", "The database needs a file name.")
	}
	if err := prepareFile(ctx, path, o); err != nil {
		return nil, fault.Wrap("sqlite.Open", err)
	}
	s := &Store{writing: make(chan struct{}, 1), now: o.now}
	if err := s.connect(ctx, path, o); err != nil {
		return nil, errors.Join(fault.Wrap("sqlite.Open", err), s.Close())
	}
	return s, nil
}

// prepareFile makes the folder and the file, readable by this user alone: SQLite gives its WAL the mode of the main file.
func prepareFile(ctx context.Context, path string, o options) error {
	if o.readOnly {
		_, err := os.Stat(path)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil || info.Size() > 0 {
		return err
	}
	return setPageSize(ctx, path, o)
}

// setPageSize gives a new file pages of 8 KiB: each page is two writes, and rows of calls fill them. The driver runs the pragmas of a
// connection in alphabetical order, which is too late for this one.
func setPageSize(ctx context.Context, path string, o options) error {
	db, err := open(path, url.Values{"_pragma": {busyTimeout(o)}}, 1)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `PRAGMA page_size = 8192; PRAGMA journal_mode = WAL`)
	return errors.Join(err, db.Close())
}

func busyTimeout(o options) string {
	return fmt.Sprintf("busy_timeout(%d)", o.busyTimeout.Milliseconds())
}

func (s *Store) connect(ctx context.Context, path string, o options) (err error) {
	if s.read, err = pool(path, o, "NORMAL", true, o.readers); err != nil {
		return err
	}
	if o.readOnly {
		return s.read.PingContext(ctx)
	}
	if s.durable, err = pool(path, o, "FULL", false, 1); err != nil {
		return err
	}
	if s.lazy, err = pool(path, o, "NORMAL", false, 1); err != nil {
		return err
	}
	if err := migrate(ctx, s.durable); err != nil {
		return err
	}
	return s.stmts.prepare(ctx, s.lazy)
}

func pool(path string, o options, synchronous string, queryOnly bool, size int) (*sql.DB, error) {
	v := url.Values{}
	v.Add("_pragma", busyTimeout(o))
	if !o.readOnly {
		v.Add("_pragma", "journal_mode(WAL)")
	}
	v.Add("_pragma", "synchronous("+synchronous+")")
	// What the lazy connection refers to it has written just before, and Verify looks: searching a reference for each entry, and
	// keeping what would undo the statement that lacks one, is not worth its time.
	v.Add("_pragma", fmt.Sprintf("foreign_keys(%t)", synchronous == "FULL"))
	v.Add("_pragma", "cache_size(-4096)")
	if queryOnly {
		v.Add("_pragma", "query_only(1)")
	} else {
		// 16 MiB of log: the pages that every batch changes are copied into the file four times less often than by default
		v.Add("_pragma", "wal_autocheckpoint(2000)")
		v.Add("_txlock", "immediate") // the write lock comes before the first read, so no transaction fails half-way
	}
	return open(path, v, size)
}

func open(path string, v url.Values, size int) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: v.Encode()}
	connector, err := driver.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// Close closes the database. Calls still running fail.
func (s *Store) Close() error {
	var errs []error
	if s.lazy != nil {
		errs = append(errs, s.stmts.close(context.Background(), s.lazy))
	}
	for _, db := range []*sql.DB{s.lazy, s.durable, s.read} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// inTx runs f in a transaction that has the write lock from its start, and commits it to the disk before it returns.
// An error from f rolls back. f must use tx alone: the write lock is not to be had twice.
func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	return s.transact(ctx, s.durable, func(tx *sql.Tx, _ *sql.Conn) error { return f(tx) })
}

// inLazyTx is inTx without waiting for the disk: for what the journal or the next start makes good after a power cut.
// f gets the connection of the transaction, too.
func (s *Store) inLazyTx(ctx context.Context, f func(*sql.Tx, *sql.Conn) error) error {
	return s.transact(ctx, s.lazy, f)
}

func (s *Store) transact(ctx context.Context, db *sql.DB, f func(*sql.Tx, *sql.Conn) error) (err error) {
	if db == nil {
		return fault.New(fault.StorageUnavailable, "sqlite.Tx", "The database is open for reading only.")
	}
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return unavailable("sqlite.Tx", ctx.Err())
	}
	// A transaction that has begun is never cut off by a caller who hangs up; it is short, and the lock has been waited for.
	ctx = context.WithoutCancel(ctx)
	conn, err := db.Conn(ctx)
	if err != nil {
		return unavailable("sqlite.Tx", err)
	}
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return unavailable("sqlite.Tx", err)
	}
	defer func() {
		if p := recover(); p != nil {
			_ = tx.Rollback()
			panic(p)
		}
	}()
	if err := f(tx, conn); err != nil {
		_ = tx.Rollback()
		return failure("sqlite.Tx", err)
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		return unavailable("sqlite.Tx", err)
	}
	return nil
}

// inReadTx runs f in a transaction that sees one moment of the database.
func (s *Store) inReadTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return unavailable("sqlite.ReadTx", err)
	}
	defer func() { _ = tx.Rollback() }()
	return failure("sqlite.ReadTx", f(tx))
}

func unavailable(op string, cause error) error {
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
	return unavailable(op, err)
}
