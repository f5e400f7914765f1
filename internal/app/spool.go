package app

import (
	"math"
	"os"
	"path/filepath"

	"weir/internal/blob/folder"
	"weir/internal/config"
	"weir/internal/httpserver"
)

// spoolDir returns the folder of recordings that are too large for memory.
func spoolDir(dataDir string) string { return filepath.Join(dataDir, "spool") }

// makeSpool makes the folder of recordings, and removes files that a killed process left in it.
func makeSpool(cfg config.Config) error {
	dir := spoolDir(cfg.DataDir)
	if err := makeDataDir(dir); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(dir, httpserver.SpoolPrefix+"*"))
	for _, path := range left {
		_ = os.Remove(path) // a failure only costs disk space
	}
	return err
}

// freeDisk returns a function that measures the free space of a folder's volume, in bytes.
func freeDisk(dir string) func() (int64, error) {
	return func() (int64, error) {
		free, err := folder.FreeBytes(dir)
		return int64(min(free, math.MaxInt64)), err
	}
}
