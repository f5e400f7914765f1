// Package postgres is the engine of a store in PostgreSQL, for one node or many that share it.
// It must hold nothing that another engine could share: that is in store, and storetest says how a store behaves.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/store/sqldb"
)

//go:embed migrations/*.sql migrations/before1.0/*.sql
var migrations embed.FS

// oldest is the first version of PostgreSQL that is served, as the server numbers it.
const oldest = 13_00_00

// The server ends a statement after the time of a query, and a transaction whose node has fallen silent after idleFor: a node that is
// frozen must not keep the rows that it has locked from the others.
const idleFor = 10 * time.Second

// Option changes how a store is opened.
type Option func(*options)

type options struct {
	now      func() time.Time
	clock    string // statement that asks the server for the time
	queryFor time.Duration
	unsafe   bool
	weir     string
	existing bool
}

// WithClock sets the clock that determines the current day, week and month, and the time of the database. The defaults are time.Now, and
// the server's own.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now, o.clock = now, "" }
}

// WithQueryTime sets how long a query or another statement may take; the default is store.QueryFor.
func WithQueryTime(d time.Duration) Option { return func(o *options) { o.queryFor = d } }

// AllowDataLoss also opens a server that can lose commits when it crashes.
func AllowDataLoss(allow bool) Option { return func(o *options) { o.unsafe = allow } }

// WithVersion sets the version of this program, which is noted beside the migrations that it applies; the default is "dev".
func WithVersion(weir string) Option { return func(o *options) { o.weir = weir } }

// Existing does not make tables where none are: Open fails with ErrEmpty, and the database stays as it is.
func Existing() Option { return func(o *options) { o.existing = true } }

// ErrEmpty is what Open fails with when the database exists and has no tables of a store.
var ErrEmpty = errors.New("the database has no tables of Weir")

// Open opens the database of dsn, postgres://user:password@host/name, and applies missing migrations; of several nodes that do so at once, one does it.
// An interrupted migration is rolled back and applied again at the next Open. Its errors contain no password.
func Open(ctx context.Context, dsn string, opts ...Option) (*store.Store, error) {
	o := options{now: time.Now, queryFor: sqldb.QueryFor, weir: "dev", clock: "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"}
	for _, opt := range opts {
		opt(&o)
	}
	cfg, err := configure(dsn, o.queryFor)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, cfg, o); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fault.Wrap("postgres.Open", err)
	}
	e := &engine{pool: pool, db: stdlib.OpenDBFromPool(pool)}
	s := store.New(sqldb.Engine{
		Skewed: pgx.QueryExecModeCacheDescribe,
		Size:   `SELECT pg_database_size(current_database()), CAST(0 AS BIGINT)`,
		Places: max(int(cfg.MaxConns)-2, 1), // two are left to the ledger and to upkeep
		Read:   e.db, QueryFor: o.queryFor, Snapshot: sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		ForUpdate: " FOR UPDATE", ForKeyShare: " FOR KEY SHARE", LockTable: "LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE",
		Triggers: triggers, Guards: e.guards,
		Clock:     o.clock,
		Unhurried: "SET LOCAL statement_timeout = 0",
		Tell:      tell, Listen: e.listen,
		Write: e.write, Duplicate: isDuplicate, Refused: isRefused, Close: e.close, Copier: copier,
	}, o.now)
	if err := errors.Join(s.Ledger.TakeOver(ctx), s.Ledger.FillRollUps(ctx)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// configure reads the DSN, which overrides our defaults.
func configure(dsn string, queryFor time.Duration) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil { // the error repeats the DSN, and hides a password only where it understands the rest
		return nil, fault.New(fault.Invalid, "postgres.Open", "The DSN is not understood. Write postgres://user:password@host:port/database, with special characters of the password percent-encoded.")
	}
	given := func(string) bool { return false }
	if u, err := url.Parse(dsn); err == nil {
		given = u.Query().Has
	}
	if !given("pool_max_conns") {
		cfg.MaxConns = int32(max(10, 4*runtime.GOMAXPROCS(0)))
	}
	cfg.PingTimeout = 500 * time.Millisecond
	c := cfg.ConnConfig
	if !given("connect_timeout") {
		c.ConnectTimeout = 5 * time.Second
	}
	for name, value := range map[string]string{
		"application_name":                    "weir",
		"statement_timeout":                   milliseconds(queryFor),
		"idle_in_transaction_session_timeout": milliseconds(idleFor),
		"jit":                                 "off", // compiling takes longer than any query of ours, and begins where rows are overestimated
	} {
		if _, set := c.RuntimeParams[name]; !set {
			c.RuntimeParams[name] = value
		}
	}
	c.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}).DialContext
	// The server is asked to cancel a query whose caller no longer waits, so that it releases the query's locks.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 200 * time.Millisecond}
	}
	return cfg, nil
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// prepare looks whether the server is fit, and brings the tables up to date, on connections whose statements may take their time.
func prepare(ctx context.Context, cfg *pgxpool.Config, o options) error {
	slow := cfg.ConnConfig.Copy()
	slow.RuntimeParams["statement_timeout"] = "0"
	slow.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	db := stdlib.OpenDB(*slow)
	defer func() { _ = db.Close() }()
	if err := fit(ctx, db); err != nil {
		return err
	}
	if err := lasting(ctx, db, cfg.ConnConfig.RuntimeParams, o.unsafe); err != nil {
		return err
	}
	if o.existing {
		var empty bool
		if err := db.QueryRowContext(ctx, `SELECT to_regclass('goose_db_version') IS NULL`).Scan(&empty); err != nil {
			return sqldb.Unavailable("postgres.Open", err)
		} else if empty {
			return ErrEmpty
		}
	}
	if err := migrate(ctx, db, o.weir); err != nil {
		return fault.Wrap("postgres.Open", err)
	}
	return nil
}

func fit(ctx context.Context, db *sql.DB) error {
	var version int
	var encoding string
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`).Scan(&version, &encoding)
	switch {
	case err != nil:
		return fault.New(fault.StorageUnavailable, "postgres.Open", "PostgreSQL cannot be reached, or refuses the user.").Because(err)
	case version < oldest:
		return fault.Newf(fault.Invalid, "postgres.Open", "The server is PostgreSQL %d; version %d or later is needed.", version/10_000, oldest/10_000)
	case encoding != "UTF8":
		return fault.Newf(fault.Invalid, "postgres.Open", "The database has the encoding %s; it must be UTF8.", encoding)
	}
	return nil
}

// commits is the parameter for what a commit waits for; on and remote_apply wait for the server's disk.
const commits = "synchronous_commit"

// lasting checks whether the server keeps commits after a crash, and makes the connections wait for the disk at each commit.
func lasting(ctx context.Context, db *sql.DB, params map[string]string, unsafe bool) error {
	var fsync, pages, waits string
	err := db.QueryRowContext(ctx, `SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`).Scan(&fsync, &pages, &waits)
	if err != nil {
		return sqldb.Unavailable("postgres.Open", err)
	}
	_, chosen := params[commits]
	for _, x := range []struct {
		name, value string
		wrong       bool
	}{
		{"fsync", fsync, fsync != "on"}, {"full_page_writes", pages, pages != "on"}, {commits, waits, chosen && waits != "on" && waits != "remote_apply"},
	} {
		if x.wrong && !unsafe {
			return fault.Newf(fault.Invalid, "postgres.Open", "The server has %s = %s: a crash can lose charges and top-ups that it has committed. Set it to on; "+
				"or accept the loss with store.allow_data_loss: true.", x.name, x.value)
		}
	}
	if !chosen && waits != "remote_apply" {
		params[commits] = "on"
	}
	return nil
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
		// one lock for the whole database, held by a session: when that node dies the server lets go of it
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, err
		}
		return goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
	}
}
