package app

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/backup"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/ledger/journal"
	"weir/internal/store/sqlite"
)

// state is what a node with a configuration keeps on its machine. What it keeps in a bucket or in PostgreSQL is not part of it, nor are
// its secrets: the master key, and the token of the first start.
func state(cfg *config.Config) backup.State {
	s := backup.State{Dir: cfg.DataDir, Journal: ledger.JournalDir(cfg.DataDir), Parts: []backup.Part{
		{Name: healthFile, Path: filepath.Join(cfg.DataDir, healthFile)},
		{Name: "prices", Path: cfg.PriceDir()},
	}}
	if cfg.Video.Keep == config.KeepFolder {
		s.Parts = append(s.Parts, backup.Part{Name: "content", Path: cfg.ContentFolder()})
	}
	if cfg.Batch.Keep == config.KeepFolder {
		s.Parts = append(s.Parts, backup.Part{Name: "files", Path: cfg.FileFolder()})
	}
	if !cfg.Store.DSN.Postgres() {
		s.Snapshot = func(ctx context.Context, path string) error { return sqlite.Copy(ctx, cfg.StorePath(), path) }
	}
	return s
}

// Backup copies the state of the node that cfg describes to a new folder in into, whether the node runs or not.
func Backup(ctx context.Context, cfg config.Config, into, version string) (backup.Backup, error) {
	if err := hasLedger(&cfg); err != nil {
		return backup.Backup{}, err
	}
	return backup.Make(ctx, into, state(&cfg), version, time.Now())
}

// Restore puts a backup where a node with cfg will find it, and recomputes its ledger before. A report that is not in order fails it.
func Restore(ctx context.Context, cfg config.Config, b *backup.Backup, report func(ledger.Report) error) error {
	if err := makeDataDir(cfg.DataDir); err != nil {
		return err
	}
	s := state(&cfg)
	if s.Snapshot == nil && !b.HasDatabase() {
		if err := restored(ctx, cfg, b); err != nil {
			return err
		}
	}
	return backup.Restore(ctx, b, s, cfg.StorePath(), func(ctx context.Context, database string) error {
		if s.Snapshot != nil {
			cfg.Store.DSN = config.DSN(database)
		}
		store, err := openExisting(ctx, cfg)
		if err != nil {
			return err
		}
		r, err := ledger.Verify(ctx, store.Ledger, s.Journal, ledger.Anchor{}, time.Now())
		if err := errors.Join(err, store.Close()); err != nil {
			return err
		}
		return report(r)
	})
}

// restored checks that PostgreSQL has the ledger that the journal of a backup belongs to, before anything is written.
func restored(ctx context.Context, cfg config.Config, b *backup.Backup) error {
	store, err := openExisting(ctx, cfg)
	if errors.As(err, new(noLedger)) {
		return errors.New("the database that store.dsn names is empty: restore the dump into it first (pg_restore), then this backup")
	}
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	books, err := store.Ledger.Books(ctx, "books_"+strings.ToLower(rand.Text()))
	if err != nil {
		return err
	}
	if err := journal.CheckBooks(filepath.Join(b.Path, backup.Journal), books); !errors.Is(err, os.ErrNotExist) { // a node that never served has none
		return err
	}
	return nil
}
