package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"weir/internal/fault"
)

// Copy copies the journal in a folder, with its identity and the records that were set aside, to a new folder, while the process that
// owns it may be writing. The copy has each record that was written before the call and is not posted when it ends. It fails with
// fs.ErrNotExist when there is no journal.
func Copy(from, to string) error {
	files, err := openAll(from)
	if err != nil {
		return fault.Wrap("journal.Copy", err)
	}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fault.Wrap("journal.Copy", err)
	}
	for _, f := range files {
		if err := copyTo(filepath.Join(to, filepath.Base(f.Name())), f); err != nil {
			return fault.Wrap("journal.Copy", err)
		}
	}
	aside, err := os.ReadDir(filepath.Join(from, asideName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap("journal.Copy", err)
	}
	for _, e := range aside {
		if err := copyAside(from, to, e.Name()); err != nil {
			return fault.Wrap("journal.Copy", err)
		}
	}
	return nil
}

// copyTries bounds how often the files are listed anew: each time one more was removed, which takes 16 MiB of records.
const copyTries = 100

// openAll opens the files of a journal and of its identity. Files are removed from the oldest on; when one is removed between the list
// and its opening, an older one may have been opened that has gone as well, and between them there would be a gap.
func openAll(dir string) (files []*os.File, err error) {
	for range copyTries {
		if files, err = openOnce(dir); !errors.Is(err, fs.ErrNotExist) {
			return files, err
		}
	}
	return nil, err
}

func openOnce(dir string) (files []*os.File, err error) {
	bases, err := list(dir)
	if err != nil {
		return nil, err
	}
	names := []string{nodeName, livesName}
	for _, base := range bases {
		names = append(names, fileName(base))
	}
	for i, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && i < 2 { // no node has begun here yet
			continue
		}
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func copyTo(path string, f io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return errors.Join(err, out.Sync(), out.Close())
}

// copyAside copies a record that was set aside; one that has been decided about meanwhile is gone.
func copyAside(from, to, name string) error {
	f, err := os.Open(filepath.Join(from, asideName, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := os.MkdirAll(filepath.Join(to, asideName), 0o700); err != nil {
		return err
	}
	return copyTo(filepath.Join(to, asideName, name), f)
}
