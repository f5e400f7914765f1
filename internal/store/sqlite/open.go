// Package sqlite is the engine of a store in one SQLite file: the default, for one machine.
// It must hold nothing that another engine could share: that is in store, and storetest says how a store behaves.
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
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/store/sqldb"
)

//go:embed migrations/*.sql migrations/before1.0/*.sql
var migrations embed.FS

// engine is an open database.
type engine struct {
	// Two connections write, never at once: writing needs one token. durable waits for the disk at each commit, lazy does not (a crash of
	// the process loses nothing either way, a power failure loses what the journal still has).
	durable *sql.DB
	lazy    *sql.DB
	writing chan struct{}
	read    *sql.DB
	scrubs  *sql.DB // empties the log without waiting long for readers
	stmts   statements
}

// Option changes how a store is opened.
type Option func(*options)

type options struct {
	now      func() time.Time
	queryFor time.Duration
	weir     string
}

// busyFor is how long to wait for another process that writes.
const busyFor = 5 * time.Second

// WithClock sets the clock that determines the current day, week and month, and the time of the database; the default is time.Now.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithQueryTime sets how long a query may take; the default is store.QueryFor.
func WithQueryTime(d time.Duration) Option { return func(o *options) { o.queryFor = d } }

// WithVersion sets the version of this program, which is noted beside the migrations that it applies; the default is "dev".
func WithVersion(weir string) Option { return func(o *options) { o.weir = weir } }

// Open opens the database file at path, makes it when it is missing, and applies the migrations that it lacks.
// An interrupted migration is rolled back and applied again at the next Open.
func Open(ctx context.Context, path string, opts ...Option) (*store.Store, error) {
	o := options{now: time.Now, queryFor: sqldb.QueryFor, weir: "dev"}
	for _, opt := range opts {
		opt(&o)
	}
	if path == "" {
		return nil, fault.New(fault.Invalid, "sqlite.Open", "The database needs a file name.")
	}
	if err := prepareFile(ctx, path); err != nil {
		return nil, fault.Wrap("sqlite.Open", err)
	}
	e := &engine{writing: make(chan struct{}, 1)}
	if err := e.connect(ctx, path, o.weir); err != nil {
		return nil, errors.Join(fault.Wrap("sqlite.Open", err), e.close())
	}
	s := store.New(sqldb.Engine{
		Places: readers(), Read: e.read, QueryFor: o.queryFor, Snapshot: sql.TxOptions{ReadOnly: true}, Sorts: true, Triggers: `SELECT tbl_name, name, COALESCE(sql, '') FROM sqlite_master WHERE type = 'trigger'`,
		Guards: func(context.Context) (map[string]sqldb.Guard, error) { return store.Guards(migrations, "END;") }, Write: e.write, Scrub: e.scrub, Shrink: e.shrink, Size: `SELECT page_count * page_size, freelist_count * page_size FROM pragma_page_count(), pragma_page_size(), pragma_freelist_count()`, Duplicate: isDuplicate, Refused: isRefused, Close: e.close, Copier: copier,
	}, o.now)
	if err := errors.Join(s.Ledger.TakeOver(ctx), s.Ledger.FillRollUps(ctx)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepareFile makes the folder and the file, readable by this user alone: SQLite gives its WAL the mode of the main file.
func prepareFile(ctx context.Context, path string) error {
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
	return setPageSize(ctx, path)
}

// setPageSize gives a new file pages of 8 KiB: each page is two writes, and rows of calls fill them. Pages that become free can be given back. The driver runs the pragmas of a
// connection in alphabetical order, which is too late for this one.
func setPageSize(ctx context.Context, path string) error {
	db, err := open(path, url.Values{"_pragma": {busyTimeout()}}, 1)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL`)
	return errors.Join(err, db.Close())
}

func busyTimeout() string {
	return fmt.Sprintf("busy_timeout(%d)", busyFor.Milliseconds())
}

func (e *engine) connect(ctx context.Context, path, weir string) (err error) {
	if e.read, err = pool(path, "NORMAL", true, readers()); err != nil {
		return err
	}
	if e.durable, err = pool(path, "FULL", false, 1); err != nil {
		return err
	}
	if e.lazy, err = pool(path, "NORMAL", false, 1); err != nil {
		return err
	}
	if e.scrubs, err = open(path, url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", scrubFor.Milliseconds())}}, 1); err != nil {
		return err
	}
	if err := migrate(ctx, e.durable, weir); err != nil {
		return err
	}
	return e.stmts.prepare(ctx, e.lazy)
}

// readers is how many connections read at a time.
func readers() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

func pool(path, synchronous string, queryOnly bool, size int) (*sql.DB, error) {
	v := url.Values{}
	v.Add("_pragma", busyTimeout())
	v.Add("_pragma", "journal_mode(WAL)")
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
		// deleted data is overwritten with zeros, in the pages that stay and in those that become free
		v.Add("_pragma", "secure_delete(1)")
		// Indexes by an expression make SQLite keep the former pages of each statement that inserts many rows: in memory, not in a file.
		v.Add("_pragma", "temp_store(MEMORY)")
		v.Add("_txlock", "immediate") // the write lock is taken before the first read, so no transaction fails half-way
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

func migrate(ctx context.Context, db *sql.DB, weir string) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return store.Migrate(ctx, dir, provider(db), db, weir)
}

// provider makes what runs the migrations of a folder on db.
func provider(db *sql.DB) func(fs.FS) (*goose.Provider, error) {
	return func(dir fs.FS) (*goose.Provider, error) {
		return goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	}
}

func (e *engine) close() error {
	var errs []error
	if e.lazy != nil {
		errs = append(errs, e.stmts.close(context.Background(), e.lazy))
	}
	for _, db := range []*sql.DB{e.scrubs, e.lazy, e.durable, e.read} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func isDuplicate(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && slices.Contains([]int{sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID}, e.Code())
}

// scrubFor is how long a writer may have to wait because of a reader while the log is emptied.
const scrubFor = 100 * time.Millisecond

// scrub implements store.Engine.Scrub: the log still has the pages from before a deletion. All of it is written to the file, and the log
// is truncated. Where a reader prevents that, the next scrub does it.
func (e *engine) scrub(ctx context.Context) error {
	select {
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return sqldb.Unavailable("sqlite.Scrub", ctx.Err())
	}
	var busy, log, done int
	if err := e.scrubs.QueryRowContext(context.WithoutCancel(ctx), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &done); err != nil {
		return sqldb.Unavailable("sqlite.Scrub", err)
	}
	return nil
}

// shrinkAtOnce is how many free pages are given back at a time: 4 MiB.
const shrinkAtOnce = 512

// shrink implements store.Engine.Shrink. A file that an older version made keeps its free pages for new rows.
func (e *engine) shrink(ctx context.Context) error {
	select {
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return sqldb.Unavailable("sqlite.Shrink", ctx.Err())
	}
	// Each row of the result is a page that was given back.
	rows, err := e.lazy.QueryContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkAtOnce))
	if err != nil {
		return sqldb.Unavailable("sqlite.Shrink", err)
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

func isRefused(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && slices.Contains([]int{sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE}, e.Code()&0xff)
}

// write implements store.Engine. The transaction has the write lock from its start; f must use only its runner, because a second
// transaction would wait for the lock forever. A commit that waits for the disk also covers all earlier ones.
func (e *engine) write(ctx context.Context, lazy bool, f func(sqldb.Runner) error) error {
	db, stmts := e.durable, (*statements)(nil)
	if lazy {
		db, stmts = e.lazy, &e.stmts
	}
	select {
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return sqldb.Unavailable("sqlite.Write", ctx.Err())
	}
	// A transaction that has begun is never cut off: it is short, and the lock has been waited for.
	ctx = context.WithoutCancel(ctx)
	conn, err := db.Conn(ctx)
	if err != nil {
		return sqldb.Unavailable("sqlite.Write", err)
	}
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return sqldb.Unavailable("sqlite.Write", err)
	}
	defer func() {
		if p := recover(); p != nil {
			_ = tx.Rollback()
			panic(p)
		}
	}()
	if err := f(&runner{sqldb.Plain{Ctx: ctx, Tx: tx}, conn, stmts}); err != nil {
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		return sqldb.Unavailable("sqlite.Write", err)
	}
	return nil
}
