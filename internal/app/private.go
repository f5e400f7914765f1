package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"weir/internal/config"
)

// openToOthers are the permissions that are removed from state files: those of group and others.
const openToOthers = 0o077

// ownNames are prefixes of the names that a node makes in its data directory.
var ownNames = []string{"weir.db", "journal", healthFile, "spool", "content", "files", "prices", responsesFolder, "master.key", setupFile, "lost+found"}

// closeToOthers removes the permissions of group and others from a data directory and from the node's files in it, and returns the paths
// that it changed. It refuses a directory whose mode it may not change, and an open directory with files that are not Weir's: closing
// /var/lib would do more harm than good. It closes the directory before its content, so that other users cannot replace a file by a link meanwhile.
// It does not follow links.
func closeToOthers(dir string) (mended []string, err error) {
	if runtime.GOOS == "windows" { // has no such permissions
		return nil, nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, explained(dir, err)
	}
	if info.Mode().Perm()&openToOthers != 0 {
		for _, e := range entries {
			if !own(e.Name()) {
				return nil, fmt.Errorf("data_dir: %s may be used by others (mode %04o) and holds %s, which is not Weir's: run chmod 700 %s, or choose a directory for Weir alone",
					dir, info.Mode().Perm(), e.Name(), dir)
			}
		}
		if err := closeOne(dir, info); err != nil {
			return nil, err
		}
		mended = append(mended, dir)
	}
	for _, e := range entries {
		if !own(e.Name()) || e.Name() == "lost+found" {
			continue
		}
		err := filepath.WalkDir(filepath.Join(dir, e.Name()), func(path string, e fs.DirEntry, err error) error {
			var info fs.FileInfo
			if err == nil {
				info, err = e.Info()
			}
			if errors.Is(err, fs.ErrNotExist) { // a temporary file that was removed meanwhile
				return nil
			}
			if err != nil || !info.Mode().IsRegular() && !info.IsDir() || info.Mode().Perm()&openToOthers == 0 {
				return err
			}
			mended = append(mended, path)
			return closeOne(path, info)
		})
		if err != nil {
			return mended, err
		}
	}
	return mended, nil
}

func own(name string) bool {
	for _, n := range ownNames {
		if strings.HasPrefix(name, n) {
			return true
		}
	}
	return false
}

func closeOne(path string, info fs.FileInfo) error {
	if err := os.Chmod(path, info.Mode().Perm()&^openToOthers); err != nil {
		return fmt.Errorf("data_dir: %s may be used by others (mode %04o), and that cannot be changed (%w): run chmod -R go= on it as its owner, or choose a directory that belongs to Weir's user",
			path, info.Mode().Perm(), err)
	}
	return nil
}

// closeData closes the data directory to other users, and logs what was open. For folders elsewhere it only logs a warning.
func (g *Gateway) closeData() error {
	mended, err := closeToOthers(g.cfg.DataDir)
	if len(mended) > 0 {
		g.slog.Warn("data_dir was open to other users of this machine and is closed now: they may have read it", "files", len(mended), "first", mended[0])
	}
	if err != nil {
		return err
	}
	for setting, path := range map[string]string{"store.dsn": filepath.Dir(g.cfg.StorePath()), "video.folder": g.cfg.ContentFolder()} {
		if setting == "store.dsn" && g.cfg.Store.DSN.Postgres() || setting == "video.folder" && g.cfg.Video.Keep != config.KeepFolder {
			continue
		}
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&openToOthers != 0 {
			g.slog.Warn("the folder of "+setting+" is open to other users of this machine; run chmod 700 on it", "folder", path)
		}
	}
	return nil
}

// warnOfSecrets logs a warning if the configuration file holds a secret and other users may read it.
func (g *Gateway) warnOfSecrets(path string) {
	if holdsSecrets(&g.cfg, path) {
		g.slog.Warn("the configuration holds secrets, and other users of this machine may read it: run chmod 600 on it, or name files or variables instead (api_key_env)", "file", path)
	}
}
