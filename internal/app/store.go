package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"weir/internal/config"
	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/store/sqldb"
	"weir/internal/store/sqlite"
)

// Version is the version of this program, set by the build.
var Version = "dev"

// openStore opens the database that cfg names, and migrates its tables to the current version. It refuses a ledger that was moved elsewhere:
// what it were changed to would be in no other place.
func openStore(ctx context.Context, cfg config.Config, opts ...postgres.Option) (*store.Store, error) {
	s, err := openEngine(ctx, cfg, opts...)
	if err != nil {
		return nil, err
	}
	moved, err := s.Mark(ctx, store.MarkMoved)
	if err == nil && moved != "" {
		err = errors.New(moved)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// patience is how long a call may wait for the store where d is the usual time: an operator who lets calls wait longer has a slow store.
func patience(cfg *config.Config, d time.Duration) time.Duration { return max(d, cfg.Ledger.StoreFor) }

func openEngine(ctx context.Context, cfg config.Config, opts ...postgres.Option) (*store.Store, error) {
	queryFor := patience(&cfg, sqldb.QueryFor)
	if cfg.Store.DSN.Postgres() {
		opts = append(opts, postgres.AllowDataLoss(cfg.Store.AllowDataLoss), postgres.WithQueryTime(queryFor), postgres.WithVersion(Version))
		return postgres.Open(ctx, cfg.Store.DSN.Reveal(), opts...)
	}
	s, err := sqlite.Open(ctx, cfg.StorePath(), sqlite.WithQueryTime(queryFor), sqlite.WithVersion(Version))
	return s, explained(cfg.StorePath(), err)
}

// openExisting is openStore where a store must be already. Without one it fails with noLedger and makes nothing: a dump can be restored into a
// database of PostgreSQL only as long as that is empty.
func openExisting(ctx context.Context, cfg config.Config) (*store.Store, error) {
	if err := hasLedger(&cfg); err != nil {
		return nil, err
	}
	s, err := openStore(ctx, cfg, postgres.Existing())
	if errors.Is(err, postgres.ErrEmpty) {
		return nil, noLedger("in the database that store.dsn names")
	}
	return s, err
}

// hasLedger fails when the file of SQLite is missing.
func hasLedger(cfg *config.Config) error {
	if cfg.Store.DSN.Postgres() {
		return nil
	}
	path := cfg.StorePath()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return noLedger("at " + path)
	}
	return nil
}

// noLedger is where a store is missing, as an error: "at" a path, or "in" a database.
type noLedger string

func (place noLedger) Error() string {
	return "there is no ledger " + string(place) + ": run this where weir runs, or give --data or -c"
}

// IsNoLedger reports whether a command failed because there is no ledger where it looked.
func IsNoLedger(err error) bool { return errors.As(err, new(noLedger)) }

// checkDemo keeps play money and real money apart: a demo marks a ledger that is new, goes on with one that it has marked, and refuses any
// other; a real gateway refuses a demo's.
func checkDemo(ctx context.Context, s *store.Store, place string, demo bool) error {
	mark, err := s.Mark(ctx, store.MarkDemo)
	switch {
	case err != nil:
		return err
	case !demo && mark != "":
		return fmt.Errorf("%s has a demo's ledger, whose money is play money: name another folder in data_dir (--data), or run weir demo --data %s", place, place)
	case !demo || mark != "":
		return nil
	}
	used, err := s.Used(ctx)
	if err != nil {
		return err
	}
	if used {
		return fmt.Errorf("%s has a ledger that is not a demo's: give the demo a folder of its own, such as weir demo --data weir-demo", place)
	}
	return s.SetMark(ctx, store.MarkDemo, "1")
}
