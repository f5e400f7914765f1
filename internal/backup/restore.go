package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weir/internal/disk"
)

// Restore puts a backup where a node will look for its state. Each place must be missing or empty. The database comes last, and only
// after check has accepted its file: until then no node can start on what is there. Where s has no Snapshot, the database is elsewhere.
func Restore(ctx context.Context, b *Backup, s State, database string, check func(ctx context.Context, database string) error) error {
	parts := append([]Part{{Name: Journal, Path: s.Journal}}, s.Parts...)
	for _, p := range parts {
		if err := vacant(p.Path); err != nil {
			return err
		}
	}
	inFile := s.Snapshot != nil
	switch {
	case inFile && !b.HasDatabase():
		return errors.New("the backup has no database: it was made with PostgreSQL. Restore the database first, and name it in the configuration (store.dsn)")
	case !inFile && b.HasDatabase():
		return errors.New("the backup has a SQLite database, and the configuration names PostgreSQL: restore it with a configuration for SQLite")
	case inFile:
		for _, path := range []string{database, database + unchecked} {
			if err := vacant(path); err != nil {
				return err
			}
		}
	}
	if err := put(ctx, b, parts, inFile, database, check); err != nil {
		return fmt.Errorf("the restore is not complete, so remove what it wrote before you try again: %w", err)
	}
	return nil
}

func put(ctx context.Context, b *Backup, parts []Part, inFile bool, database string, check func(ctx context.Context, database string) error) error {
	for _, p := range parts {
		if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
			return err
		}
		if err := copyTree(ctx, filepath.Join(b.Path, p.Name), p.Path); err != nil {
			return err
		}
	}
	if !inFile {
		return check(ctx, "")
	}
	if err := os.MkdirAll(filepath.Dir(database), 0o700); err != nil {
		return err
	}
	fresh := database + unchecked
	if err := copyFile(filepath.Join(b.Path, Database), fresh); err != nil {
		return err
	}
	if err := check(ctx, fresh); err != nil {
		return err
	}
	for _, suffix := range besides { // closed without these, the file is whole
		if _, err := os.Lstat(fresh + suffix); err == nil {
			return fmt.Errorf("%s was left behind by the check: the database is still in use", fresh+suffix)
		}
	}
	if err := os.Rename(fresh, database); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(database))
}

// unchecked is added to the name of a database until it has been checked.
const unchecked = ".restored"

// besides are the names of files that SQLite keeps beside an open database.
var besides = []string{"-wal", "-shm"}

// vacant checks that nothing is at a path, or an empty folder.
func vacant(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return errors.Join(err, occupied(path))
	}
	switch names, err := f.Readdirnames(1); {
	case len(names) > 0:
		return occupied(path)
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func occupied(path string) error {
	return fmt.Errorf("%s exists: move it away, or restore into another data directory (--data)", path)
}
