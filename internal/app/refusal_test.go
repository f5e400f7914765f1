package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/config"
	"weir/internal/fault"
)

// coded is an error of SQLite.
type coded int

func (c coded) Error() string { return fmt.Sprintf("sqlite (%d)", int(c)) }
func (c coded) Code() int     { return int(c) }

// Each error of a start has the path, and says what to do.
func TestExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		says []string
	}{
		"may not open":        {&fs.PathError{Op: "open", Path: "/data/weir.db", Err: syscall.EACCES}, []string{"user that runs this command", "ls -ld /data/weir.db", "data_dir", "permission denied"}},
		"may not, wrapped":    {fault.Wrap("sqlite.Open", &fs.PathError{Op: "open", Path: "/data/weir.db", Err: syscall.EPERM}), []string{"ls -ld /data/weir.db", "data_dir"}},
		"read-only folder":    {fault.Wrap("sqlite.Open", fmt.Errorf("migrating: %w", coded(1544))), []string{"or its folder", "ls -ld /data/weir.db"}},
		"read-only disk":      {fault.Wrap("x", syscall.EROFS), []string{"mounted read-only", "data_dir"}},
		"full disk":           {syscall.ENOSPC, []string{"no room on the disk", "Free some"}},
		"full disk, database": {coded(13), []string{"no room on the disk", "Free some"}},
		"not a database":      {errors.Join(fault.Wrap("sqlite.Open", coded(26)), nil), []string{"not a database", "weir restore"}},
		"damaged":             {coded(779), []string{"damaged", "weir restore"}},
		"busy":                {coded(517), []string{"another process", "fuser /data/weir.db"}},
		"a folder":            {syscall.EISDIR, []string{"is a folder", "Move it away"}},
		"a file":              {syscall.ENOTDIR, []string{"a part of its path is a file", "data_dir"}},
		"no folder":           {fs.ErrNotExist, []string{"Make its folder first"}},
		"something else":      {fault.Wrap("x", errors.New("who knows")), []string{"who knows"}},
	} {
		got := explained("/data/weir.db", c.err)
		for _, want := range append(c.says, "/data/weir.db") {
			if got == nil || !strings.Contains(got.Error(), want) {
				t.Errorf("%s: %v; want %q", name, got, want)
			}
		}
	}
	said := fault.New(fault.Conflict, "x", "It has a sentence.")
	if got := explained("/data", said); got != error(said) {
		t.Errorf("an error with a sentence: %v", got)
	}
	if got := explained("/data", nil); got != nil {
		t.Errorf("no error: %v", got)
	}
}

func TestStartNamesPathAndRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(dir string) error
		says  []string
	}{
		"no database":         {func(dir string) error { return os.WriteFile(filepath.Join(dir, "weir.db"), []byte("garbage"), 0o600) }, []string{"weir.db", "not a database", "weir restore"}},
		"a folder":            {func(dir string) error { return os.Mkdir(filepath.Join(dir, "weir.db"), 0o700) }, []string{"weir.db", "is a folder"}},
		"a file for a folder": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "journal"), nil, 0o600) }, []string{"journal", "data_dir"}},
	} {
		cfg := config.Default()
		cfg.DataDir, cfg.Server.Listen, cfg.Server.AdminListen = t.TempDir(), "127.0.0.1:0", config.Off
		if err := os.Chmod(cfg.DataDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(cfg.DataDir); err != nil {
			t.Fatal(err)
		}
		_, err := open(context.Background(), cfg, extra{logTo: t.Output()})
		for _, want := range append(c.says, cfg.DataDir) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
	}
}
