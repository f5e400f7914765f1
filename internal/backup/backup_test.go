package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/backup"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// state is a node's state in a folder, without a journal; its database is a text.
func state(dir string) backup.State {
	return backup.State{Dir: dir, Journal: filepath.Join(dir, "journal"), Parts: []backup.Part{
		{Name: "health", Path: filepath.Join(dir, "health")}, {Name: "content", Path: filepath.Join(dir, "videos")},
	}, Snapshot: func(_ context.Context, path string) error { return os.WriteFile(path, []byte("the database"), 0o600) }}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func made(t *testing.T) backup.Backup {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "health"), "well")
	write(t, filepath.Join(dir, "videos", "ab", "one"), "video 1")
	write(t, filepath.Join(dir, "master.key"), "secret")
	b, err := backup.Make(t.Context(), filepath.Join(t.TempDir(), "backups"), state(dir), "v1", noon)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestABackupComesBack(t *testing.T) {
	t.Parallel()
	b := made(t)
	if filepath.Base(b.Path) != "weir-20261124T120000Z" {
		t.Error(b.Path)
	}
	got, err := backup.Open(t.Context(), b.Path)
	if err != nil || !got.At.Equal(noon) || got.Version != "v1" || len(got.Files) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	dir := t.TempDir()
	database := filepath.Join(dir, "weir.db")
	err = backup.Restore(t.Context(), &got, state(dir), database, func(_ context.Context, path string) error {
		if path == database {
			t.Error("it has its name before it was checked")
		}
		if is := read(t, path); is != "the database" {
			t.Errorf("checked %q", is)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"weir.db": "the database", "health": "well", "videos/ab/one": "video 1"} {
		if is := read(t, filepath.Join(dir, name)); is != want {
			t.Errorf("%s is %q", name, is)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "master.key")); err == nil {
		t.Error("the master key was in the backup")
	}
}

// What is not as it was made is refused before anything is written.
func TestADamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, path string)
		says string
	}{
		"changed byte":          {func(t *testing.T, p string) { write(t, filepath.Join(p, "weir.db"), "the Database") }, "weir.db has changed"},
		"cut short":             {func(t *testing.T, p string) { write(t, filepath.Join(p, "content/ab/one"), "video") }, "one has changed"},
		"missing file":          {func(_ *testing.T, p string) { _ = os.Remove(filepath.Join(p, "health")) }, "health is missing"},
		"file of another":       {func(t *testing.T, p string) { write(t, filepath.Join(p, "content/zz"), "x") }, "zz is not a part"},
		"no list":               {func(_ *testing.T, p string) { _ = os.Remove(filepath.Join(p, "SHA256SUMS")) }, "is not a backup"},
		"a newer format":        {func(t *testing.T, p string) { edit(t, p, "# weir backup 1", "# weir backup 2") }, "cannot be read"},
		"a list without a time": {func(t *testing.T, p string) { edit(t, p, "# made", "# Made") }, "cannot be read"},
		"a path outside":        {func(t *testing.T, p string) { edit(t, p, "  health", "  ../health") }, "cannot be read"},
		"names out of order":    {func(t *testing.T, p string) { edit(t, p, "  health", "  a") }, "cannot be read"},
		"a link": {func(t *testing.T, p string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(p, "content", "link")); err != nil {
				t.Fatal(err)
			}
		}, "is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := made(t)
			c.harm(t, b.Path)
			if _, err := backup.Open(t.Context(), b.Path); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func edit(t *testing.T, path, from, to string) {
	t.Helper()
	list := filepath.Join(path, "SHA256SUMS")
	text := read(t, list)
	if !strings.Contains(text, from) {
		t.Fatalf("%q is not in %s", from, text)
	}
	write(t, list, strings.Replace(text, from, to, 1))
}

// A backup is restored to where nothing is, and a database that is not accepted does not get its name.
func TestRestoreIsRefused(t *testing.T) {
	t.Parallel()
	refused := errors.New("not balanced")
	for name, c := range map[string]struct {
		before func(t *testing.T, dir string, s *backup.State, b *backup.Backup)
		check  error
		says   string
	}{
		"a database is there": {before: func(t *testing.T, dir string, _ *backup.State, _ *backup.Backup) {
			write(t, filepath.Join(dir, "weir.db"), "live")
		}, says: "weir.db exists"},
		"a journal is there": {before: func(t *testing.T, dir string, _ *backup.State, _ *backup.Backup) {
			write(t, filepath.Join(dir, "journal", "node"), "live")
		}, says: "journal exists"},
		"videos are there": {before: func(t *testing.T, dir string, _ *backup.State, _ *backup.Backup) {
			write(t, filepath.Join(dir, "videos", "x"), "live")
		}, says: "videos exists"},
		"an interrupted restore": {before: func(t *testing.T, dir string, _ *backup.State, _ *backup.Backup) {
			write(t, filepath.Join(dir, "weir.db.restored"), "half")
		}, says: "weir.db.restored exists"},
		"the database is elsewhere": {before: func(_ *testing.T, _ string, s *backup.State, _ *backup.Backup) { s.Snapshot = nil }, says: "names PostgreSQL"},
		"it has no database":        {before: func(_ *testing.T, _ string, _ *backup.State, b *backup.Backup) { b.Files = nil }, says: "has no database"},
		"the ledger is wrong":       {before: func(*testing.T, string, *backup.State, *backup.Backup) {}, check: refused, says: "not balanced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, dir := made(t), t.TempDir()
			s := state(dir)
			c.before(t, dir, &s, &b)
			checked := false
			err := backup.Restore(t.Context(), &b, s, filepath.Join(dir, "weir.db"), func(context.Context, string) error { checked = true; return c.check })
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if checked != (c.check != nil) {
				t.Error("something was written before it was refused")
			}
			if text, err := os.ReadFile(filepath.Join(dir, "weir.db")); err == nil && string(text) != "live" {
				t.Errorf("the database is %q", text)
			}
		})
	}
}

// What an interrupted run left is no backup, and goes with the next one; a failure leaves nothing.
func TestAnUnfinishedBackup(t *testing.T) {
	t.Parallel()
	dir, into := t.TempDir(), filepath.Join(t.TempDir(), "b")
	write(t, filepath.Join(into, "weir-20261124T110000Z.unfinished", "weir.db"), "half")
	s := state(dir)
	full := errors.New("no space left")
	s.Snapshot = func(_ context.Context, path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), full) }
	if _, err := backup.Make(t.Context(), into, s, "v1", noon); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(into); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := backup.Make(t.Context(), into, state(dir), "v1", noon); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Make(t.Context(), into, state(dir), "v1", noon); err == nil || !strings.Contains(err.Error(), "same second") {
		t.Errorf("the second one: %v", err)
	}
}

func TestABackupIsNotAPartOfItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, into := range []string{dir, filepath.Join(dir, "backups"), filepath.Join(dir, "videos", "x"), filepath.Join(dir, "..", filepath.Base(dir), "b")} {
		if _, err := backup.Make(t.Context(), into, state(dir), "v1", noon); err == nil || !strings.Contains(err.Error(), "outside") {
			t.Errorf("%s: %v", into, err)
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dir, into := t.TempDir(), t.TempDir()
	for day := range 4 {
		if _, err := backup.Make(t.Context(), into, state(dir), "v1", noon.AddDate(0, 0, day)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(into, "weir-photos", "SHA256SUMS"), "of somebody else")
	write(t, filepath.Join(into, "weir-20200101T000000Z", "note"), "without a list")
	gone, err := backup.Prune(into, 2)
	if err != nil || len(gone) != 2 || filepath.Base(gone[0]) != "weir-20261124T120000Z" || filepath.Base(gone[1]) != "weir-20261125T120000Z" {
		t.Errorf("removed %v, %v", gone, err)
	}
	left, err := os.ReadDir(into)
	if err != nil || len(left) != 4 {
		t.Errorf("%v is left, %v", left, err)
	}
	if gone, err := backup.Prune(into, 2); err != nil || len(gone) != 0 {
		t.Errorf("again: %v, %v", gone, err)
	}
}
