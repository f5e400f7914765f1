package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"weir/internal/config"
	"weir/internal/disk"
	"weir/internal/seal"
)

// masterKeys returns the keys that encrypt the secrets of the database, nil if there are none. The first start of a node that has a database of its
// own makes one: else no provider could be connected in the browser before somebody has used a terminal. Nodes that share a database are given
// theirs, because each must have the same.
func masterKeys(cfg config.Config, shares bool, log *slog.Logger) (*seal.Ring, error) {
	ring, err := cfg.Ring(os.LookupEnv)
	if err != nil || ring != nil || shares {
		return ring, err
	}
	if err := makeDataDir(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := makeMasterKey(cfg.OwnMasterKey()); err != nil {
		return nil, err
	}
	log.Info("made a master key, which encrypts the keys of providers in the database; keep a copy of it apart from the backups, which do not contain it", "file", cfg.OwnMasterKey())
	return cfg.Ring(os.LookupEnv)
}

// makeMasterKey makes a file with a new key. The file is there whole or not at all, and one that is there stays.
func makeMasterKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".master.key-") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	_, err = f.WriteString(hex.EncodeToString(key[:]) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}
