package app

import (
	"math"
	"os"
	"path/filepath"

	"weir/internal/blob/folder"
	"weir/internal/config"
	"weir/internal/httpapi"
)

// spoolDir is where recordings wait that are too large for memory.
func spoolDir(dataDir string) string { return filepath.Join(dataDir, "spool") }

// makeSpool makes the folder of recordings, without what a killed process may have left in it.
func makeSpool(cfg config.Config) error {
	dir := spoolDir(cfg.DataDir)
	if err := makeDataDir(dir); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(dir, httpapi.SpoolPrefix+"*"))
	for _, path := range left {
		_ = os.Remove(path) // it takes disk, and nothing else
	}
	return err
}

// freeDisk measures the free space of a folder's volume.
func freeDisk(dir string) func() (int64, error) {
	return func() (int64, error) {
		free, err := folder.FreeBytes(dir)
		return int64(min(free, math.MaxInt64)), err
	}
}
