// Package folder stores files in a folder of this machine, or in one that nodes share. A file has the content that was put, followed by a
// short note. The folder must not contain anything else.
package folder

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"weir/internal/blob"
	"weir/internal/disk"
	"weir/internal/fault"
)

// Folder is a blob.Store.
type Folder struct {
	root    *os.Root
	minFree uint64
	free    func(path string) (uint64, error)
	path    string
}

var _ blob.Store = (*Folder)(nil)

const (
	unfinished  = "unfinished" // folder of files that are still being written
	checkEvery  = 16 << 20     // bytes between checks of the free space
	copyBytes   = 256 << 10
	folderMode  = 0o700
	fileMode    = 0o600
	separator   = "~" // replaces the slashes of a key, which cannot contain it
	maxFanout   = 256
	dirsAtATime = 256
)

// Open opens the folder, and makes it if it is missing. minFree bytes of its volume stay free, because the database and the settlement
// journal may be on the same volume.
func Open(path string, minFree int64) (*Folder, error) {
	if err := os.MkdirAll(path, folderMode); err != nil {
		return nil, blob.Unavailable("folder.Open", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, blob.Unavailable("folder.Open", err)
	}
	f := &Folder{root: root, minFree: uint64(max(minFree, 0)), free: FreeBytes, path: path}
	if err := f.mkdir(unfinished); err != nil {
		return nil, errors.Join(blob.Unavailable("folder.Open", err), root.Close())
	}
	return f, nil
}

// Close closes the folder. Open readers still work.
func (f *Folder) Close() error { return f.root.Close() }

func (f *Folder) mkdir(name string) error {
	err := f.root.Mkdir(name, folderMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.sync(".")
}

// sync waits until the names in a folder are on the disk.
func (f *Folder) sync(name string) error {
	dir, err := f.root.Open(name)
	if err != nil {
		return err
	}
	return disk.Sync(dir)
}

// place returns the path of a key's file: one of 256 folders, and a unique name in it.
func place(op, key string) (dir, name string, err error) {
	if err := blob.CheckKey(key); err != nil {
		return "", "", fault.Wrap(op, err)
	}
	sum := sha256.Sum256([]byte(key))
	dir = hex.EncodeToString(sum[:1])
	return dir, path.Join(dir, strings.ReplaceAll(key, "/", separator)), nil
}

// Ready implements blob.Store: it fails if the volume is nearly full.
func (f *Folder) Ready(context.Context) error {
	free, err := f.free(f.path)
	if err != nil {
		return blob.Unavailable("folder.Ready", err)
	}
	if free < f.minFree {
		return blob.Unavailable("folder.Ready", errFull)
	}
	return nil
}

var errFull = errors.New("the volume has less free space than is to be left")

// Put implements blob.Store. After a power failure the disk has either the whole new file or the previous one.
func (f *Folder) Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error) {
	const op = "folder.Put"
	dir, name, err := place(op, key)
	if err != nil {
		return 0, "", err
	}
	temp := path.Join(unfinished, rand.Text())
	out, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return 0, "", blob.Unavailable(op, err)
	}
	w := writing{f: f, ctx: ctx, out: out, sum: sha256.New()}
	if err = w.all(r, blob.MediaType(mediaType)); err == nil {
		err = f.finish(temp, dir, name)
	}
	if err != nil {
		_ = f.root.Remove(temp) // Sweep removes it if this fails
		return 0, "", err
	}
	return w.size, hex.EncodeToString(w.sum.Sum(nil)), nil
}

func (f *Folder) finish(temp, dir, name string) error {
	err := f.mkdir(dir)
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err == nil {
		err = f.sync(dir)
	}
	if err != nil {
		return blob.Unavailable("folder.Put", err)
	}
	return nil
}

// writing is a file that is being written.
type writing struct {
	f    *Folder
	ctx  context.Context
	out  *os.File
	sum  hash.Hash
	size int64
}

// all writes the content of r and the note, and closes the file.
func (w *writing) all(r io.Reader, mediaType string) error {
	err := w.copy(r)
	if err == nil {
		n := note{size: w.size, sum: w.sum.Sum(nil), mediaType: mediaType}
		if _, err = w.out.Write(n.bytes()); err == nil {
			err = w.out.Sync()
		}
		if err != nil {
			err = blob.Unavailable("folder.Put", err)
		}
	}
	if closing := w.out.Close(); err == nil && closing != nil {
		err = blob.Unavailable("folder.Put", closing)
	}
	return err
}

func (w *writing) copy(r io.Reader) error {
	buf := make([]byte, copyBytes)
	for next := int64(0); ; {
		if w.size >= next {
			if err := w.f.Ready(w.ctx); err != nil {
				return err
			}
			next = w.size + checkEvery
		}
		if err := w.ctx.Err(); err != nil {
			return fault.New(fault.Canceled, "folder.Put", "The request was cancelled.").Because(context.Cause(w.ctx))
		}
		n, err := r.Read(buf)
		_, _ = w.sum.Write(buf[:n]) // never fails
		w.size += int64(n)
		if _, failed := w.out.Write(buf[:n]); failed != nil {
			return blob.Unavailable("folder.Put", failed)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Open implements blob.Store.
func (f *Folder) Open(_ context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error) {
	const op = "folder.Open"
	_, name, err := place(op, key)
	if err != nil {
		return nil, blob.Info{}, err
	}
	file, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, blob.Info{}, blob.NotFound(op)
	}
	if err != nil {
		return nil, blob.Info{}, blob.Unavailable(op, err)
	}
	n, err := readNote(file)
	if err == nil && (offset < 0 || offset > n.size) {
		err = blob.PastEnd(op)
	}
	if err != nil {
		return nil, blob.Info{}, errors.Join(err, file.Close())
	}
	if left := n.size - offset; length < 0 || length > left {
		length = left
	}
	return section{io.NewSectionReader(file, offset, length), file}, n.info(), nil
}

// section is a part of a file, and closes it.
type section struct {
	*io.SectionReader
	io.Closer
}

// Delete implements blob.Store.
func (f *Folder) Delete(_ context.Context, key string) error {
	const op = "folder.Delete"
	_, name, err := place(op, key)
	if err != nil {
		return err
	}
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return blob.Unavailable(op, err)
	}
	return nil
}

// Sweep implements blob.Store. It also deletes unfinished files from before that time, without counting them.
func (f *Folder) Sweep(ctx context.Context, before time.Time, n int) (gone int, err error) {
	dirs, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return 0, blob.Unavailable("folder.Sweep", err)
	}
	for _, d := range dirs {
		left := n - gone
		if d.Name() == unfinished {
			left = dirsAtATime * maxFanout
		}
		swept, err := f.sweepDir(ctx, d, before, left)
		if d.Name() != unfinished {
			gone += swept
		}
		if err != nil {
			return gone, blob.Unavailable("folder.Sweep", err)
		}
	}
	return gone, nil
}

func (f *Folder) sweepDir(ctx context.Context, d fs.DirEntry, before time.Time, n int) (gone int, err error) {
	if !d.IsDir() || n <= 0 {
		return 0, nil
	}
	dir, err := f.root.Open(d.Name())
	if err != nil {
		return 0, err
	}
	defer func() { _ = dir.Close() }()
	for {
		list, err := dir.ReadDir(dirsAtATime)
		if err == io.EOF {
			return gone, nil
		}
		if err != nil || ctx.Err() != nil {
			return gone, errors.Join(err, ctx.Err())
		}
		for _, e := range list {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
				continue // it was removed meanwhile, or is too new
			}
			if err := f.root.Remove(path.Join(d.Name(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return gone, err
			}
			if gone++; gone == n {
				return gone, nil
			}
		}
	}
}

// note follows the content of a file: size, SHA-256, length of the media type, the type, zeros, and the mark. Video players do not read
// that far.
type note struct {
	size      int64
	sum       []byte
	mediaType string
}

const (
	mark      = "weirfil1"
	typeAt    = 8 + sha256.Size + 1
	noteBytes = 160
)

func (n *note) bytes() []byte {
	b := make([]byte, 0, noteBytes)
	b = binary.BigEndian.AppendUint64(b, uint64(n.size))
	b = append(b, n.sum...)
	b = append(b, byte(len(n.mediaType)))
	b = append(b, n.mediaType...)
	return append(b[:noteBytes-len(mark)], mark...)
}

func (n *note) info() blob.Info {
	return blob.Info{Size: n.size, MediaType: n.mediaType, ETag: hex.EncodeToString(n.sum)}
}

// readNote reads the note of a file. It fails for a truncated or foreign file.
func readNote(file *os.File) (n note, err error) {
	const op = "folder.Open"
	info, err := file.Stat()
	if err != nil {
		return n, blob.Unavailable(op, err)
	}
	if info.Size() < noteBytes {
		return n, fault.Wrap(op, errNote)
	}
	b := make([]byte, noteBytes)
	if _, err := file.ReadAt(b, info.Size()-noteBytes); err != nil {
		return n, blob.Unavailable(op, err)
	}
	n, ok := parseNote(b, info.Size())
	if !ok {
		return n, fault.Wrap(op, errNote)
	}
	return n, nil
}

var errNote = errors.New("the file was cut, or was not put here by this program")

func parseNote(b []byte, fileSize int64) (n note, ok bool) {
	if len(b) != noteBytes || string(b[noteBytes-len(mark):]) != mark {
		return n, false
	}
	length := int(b[typeAt-1])
	if typeAt+length > noteBytes-len(mark) {
		return n, false
	}
	n = note{size: int64(binary.BigEndian.Uint64(b)), sum: b[8 : 8+sha256.Size], mediaType: string(b[typeAt : typeAt+length])}
	return n, n.size == fileSize-noteBytes
}
