package httpapi

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"os"

	"weir/internal/fault"
	"weir/internal/task"
)

// spoolMemory is how much of a file that a client sends stays in memory: what is longer goes to a file on disk, so that memory does not grow
// with what people upload.
const spoolMemory = 256 << 10

// spool takes in a file of a form. The file on disk has no name, so that nothing is left of it whatever happens to the process.
type spool struct {
	dir    string
	b      []byte
	file   *os.File
	size   int64
	digest hash.Hash // nil: nobody will ask
}

func (x *exchange) newSpool() *spool {
	s := &spool{dir: x.api.cfg.SpoolDir}
	if x.named != nil {
		s.digest = sha256.New()
	}
	return s
}

// Write takes in the next piece.
func (s *spool) Write(p []byte) (int, error) {
	if s.digest != nil {
		s.digest.Write(p)
	}
	s.size += int64(len(p))
	if s.file == nil && s.size <= spoolMemory {
		s.b = append(s.b, p...)
		return len(p), nil
	}
	if err := s.open(); err != nil {
		return 0, unspooled(err)
	}
	if _, err := s.file.Write(p); err != nil {
		return 0, unspooled(err)
	}
	return len(p), nil
}

// open moves what is in memory to disk, unless it is there.
func (s *spool) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.dir, "weir-upload-")
	if err != nil {
		return err
	}
	s.file = f
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	_, err = f.Write(s.b)
	s.b = nil
	return err
}

func unspooled(err error) error {
	return fault.New(fault.StorageUnavailable, "httpapi.spool", "The file could not be stored for the time of the request.").Because(err)
}

// File is what was written.
func (s *spool) File() task.File { return spooled{s} }

// Close gives the disk back. What is in memory stays: a request to a provider that was broken off may still read it.
func (s *spool) Close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is kept
	}
}

type spooled struct{ *spool }

// Size is how long the file is, in bytes.
func (s spooled) Size() int64 { return s.size }

// ReadAt reads from the file.
func (s spooled) ReadAt(p []byte, at int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, at)
	}
	return bytes.NewReader(s.b).ReadAt(p, at)
}
