// Package backup copies the state of a node into a folder while the node runs, and puts such a folder back.
//
// The order makes a copy consistent without stopping anything. Charges go to the journal first and from there to the database, so the
// journal is copied before the database: each charge of the time before the copy is in one of the two, and a charge that is in both is
// posted once. Files that rows name are copied after the database; what was deleted meanwhile is missing as if it had expired.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/disk"
	"weir/internal/ledger/journal"
)

// Names in a backup.
const (
	Database = "weir.db"
	Journal  = "journal"
	prefix   = "weir-"
	unended  = ".unfinished"
	layout   = "20060102T150405Z"
)

// Part is a folder or a file of a node's state, and its name in a backup.
type Part struct {
	Name string
	Path string
}

// State is what a node has.
type State struct {
	Dir      string                                       // its data directory
	Journal  string                                       // the folder of its journal
	Snapshot func(ctx context.Context, path string) error // writes the database of one moment to a new file; nil: it is not in a file
	Parts    []Part                                       // everything else, which may be missing
}

// Backup is a finished copy.
type Backup struct {
	Path    string
	At      time.Time // when it was begun, to the second, UTC
	Version string    // of the program that made it
	Files   []File    // by name
}

// File is a file of a backup.
type File struct {
	Name   string // with slashes
	SHA256 string // in hexadecimal digits
}

// HasDatabase reports whether the database is part of the backup.
func (b *Backup) HasDatabase() bool {
	return slices.ContainsFunc(b.Files, func(f File) bool { return f.Name == Database })
}

// Make copies a state into a new folder in into, which is made when it is missing. A folder whose name ends in .unfinished is what an
// interrupted run left, and is removed by the next one.
func Make(ctx context.Context, into string, s State, version string, now time.Time) (Backup, error) {
	b := Backup{At: now.UTC().Truncate(time.Second), Version: version}
	b.Path = filepath.Join(into, prefix+b.At.Format(layout))
	if err := apart(into, s); err != nil {
		return b, err
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return b, err
	}
	if _, err := os.Lstat(b.Path); err == nil {
		return b, fmt.Errorf("%s exists: a backup was made in the same second", b.Path)
	}
	old, err := filepath.Glob(filepath.Join(into, prefix+"*"+unended))
	if err != nil {
		return b, err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return b, err
		}
	}
	dir := b.Path + unended
	if err := os.Mkdir(dir, 0o700); err != nil {
		return b, err
	}
	if err := b.fill(ctx, dir, s); err != nil {
		return b, errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Rename(dir, b.Path); err != nil {
		return b, err
	}
	return b, disk.SyncFolder(into)
}

// apart checks that a backup would not become a part of itself.
func apart(into string, s State) error {
	for _, p := range append(slices.Clone(s.Parts), Part{Path: s.Dir}, Part{Path: s.Journal}) {
		target, err := filepath.Abs(into)
		if err != nil {
			return err
		}
		source, err := filepath.Abs(p.Path)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(source, target); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return fmt.Errorf("%s is in %s: name a folder outside of what is backed up", into, p.Path)
		}
	}
	return nil
}

func (b *Backup) fill(ctx context.Context, dir string, s State) error {
	if err := journal.Copy(s.Journal, filepath.Join(dir, Journal)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.Snapshot != nil {
		if err := s.Snapshot(ctx, filepath.Join(dir, Database)); err != nil {
			return fmt.Errorf("the database: %w", err)
		}
	}
	for _, p := range s.Parts {
		if err := copyTree(ctx, p.Path, filepath.Join(dir, p.Name)); err != nil {
			return err
		}
	}
	files, err := sums(ctx, dir)
	if err != nil {
		return err
	}
	b.Files = files
	return writeList(dir, b)
}

// copyTree copies a file, or a folder with its regular files. What is missing, or disappears meanwhile, is left out.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		if err := copyFile(path, filepath.Join(to, rel)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// sums lists the files of a folder with their checksums.
func sums(ctx context.Context, dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if e.IsDir() {
			return disk.SyncFolder(path)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == listName {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a file", path)
		}
		sum, err := sumOf(path)
		files = append(files, File{Name: filepath.ToSlash(rel), SHA256: sum})
		return err
	})
	slices.SortFunc(files, func(x, y File) int { return strings.Compare(x.Name, y.Name) })
	return files, err
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Prune removes the oldest backups in a folder until keep are left, and returns the paths of those that it removed. It touches nothing
// that has no list of a backup.
func Prune(into string, keep int) (removed []string, err error) {
	all, err := filepath.Glob(filepath.Join(into, prefix+"*", listName))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, list := range all {
		path := filepath.Dir(list)
		if _, err := time.Parse(prefix+layout, filepath.Base(path)); err == nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths[:max(0, len(paths)-keep)] {
		// First its list, without which it is not taken for a backup any more.
		if err := errors.Join(os.Remove(filepath.Join(path, listName)), os.RemoveAll(path)); err != nil {
			return removed, err
		}
		removed = append(removed, path)
	}
	return removed, nil
}
