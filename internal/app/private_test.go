package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/config"
)

// A node closes those of its files that are open to other users, and logs it. It does not follow links.
func TestDataIsClosedToOthers(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"", "weir.db", "weir.db-wal", "weir.db-shm", "weir.db-journal", "journal", "journal/0001.log", "journal/lock", "spool", "spool/upload-1", "content", "content/ab/file", "health", "health.new", "master.key", "responses", "responses/waiting-0",
	} {
		t.Run("open "+name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			for _, folder := range []string{"journal", "spool", "content/ab", "responses"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, name)
			if filepath.Ext(name) != "" || strings.Contains(name, "/") || strings.HasPrefix(name, "health") {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(elsewhere, filepath.Join(dir, "journal", "link")); err != nil {
				t.Fatal(err)
			}
			if mended, err := app.CloseToOthers(dir); err != nil || len(mended) != 0 {
				t.Fatalf("nothing is open: %v, %v", mended, err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, info.Mode().Perm()|0o044); err != nil {
				t.Fatal(err)
			}
			mended, err := app.CloseToOthers(dir)
			if err != nil || len(mended) != 1 || filepath.Base(mended[0]) != filepath.Base(path) {
				t.Fatalf("mended %v, %v", mended, err)
			}
			if after, err := os.Stat(path); err != nil || after.Mode().Perm() != info.Mode().Perm() {
				t.Errorf("%v, %v", after.Mode(), err)
			}
			if linked, err := os.Stat(elsewhere); err != nil || linked.Mode().Perm() != 0o644 {
				t.Errorf("a link was followed: %v, %v", linked.Mode(), err)
			}
		})
	}
}

// A directory that also holds other users' files is not closed.
func TestAnOpenDirectoryOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := app.CloseToOthers(dir); err == nil || !strings.Contains(err.Error(), "letter.txt") || !strings.Contains(err.Error(), "chmod 700 "+dir) {
		t.Errorf("an open directory with a letter: %v", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("it was changed: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if mended, err := app.CloseToOthers(dir); err != nil || mended != nil {
		t.Errorf("a closed one: %v, %v", mended, err)
	}
}

// A node knows all that it makes itself: its open directory is closed, not refused.
func TestANodeKnowsItsOwnFiles(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	gw.NewAccount(t)
	c := config.Config{DataDir: gw.Dir}
	for _, dir := range []string{c.FileFolder(), c.ContentFolder(), c.PriceDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(gw.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := app.CloseToOthers(gw.Dir); err != nil {
		t.Error(err)
	}
}
