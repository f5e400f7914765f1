package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"weir/internal/blob"
	"weir/internal/disk"
	"weir/internal/fault"
)

// Dir is a folder in which other programs read the files: they are there under their own names, whole or not at all.
type Dir struct{ root *os.Root }

// OpenDir opens a folder, and makes it if it is missing.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root}, nil
}

// Close closes the folder.
func (d *Dir) Close() error { return d.root.Close() }

// Put is blob.Store.Put.
func (d *Dir) Put(_ context.Context, key, _ string, r io.Reader) (size int64, etag string, err error) {
	if err := blob.CheckKey(key); err != nil {
		return 0, "", err
	}
	if err := d.root.MkdirAll(path.Dir(key), 0o700); err != nil {
		return 0, "", err
	}
	temp := key + ".part"
	f, err := d.root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), r)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(temp, key)
	}
	if err != nil {
		return 0, "", errors.Join(err, d.root.Remove(temp))
	}
	return size, hex.EncodeToString(hash.Sum(nil)), d.sync(path.Dir(key))
}

// sync waits until the names in a folder are on the disk.
func (d *Dir) sync(name string) error {
	dir, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return disk.Sync(dir)
}

// Open is blob.Store.Open, from the beginning.
func (d *Dir) Open(_ context.Context, key string, _, length int64) (io.ReadCloser, blob.Info, error) {
	f, err := d.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.Info{}, fault.New(fault.NotFound, "export.Open", "There is no such file.")
	}
	if err != nil {
		return nil, blob.Info{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, blob.Info{}, errors.Join(err, f.Close())
	}
	return limited{io.LimitReader(f, length), f}, blob.Info{Size: info.Size()}, nil
}

type limited struct {
	io.Reader
	io.Closer
}
