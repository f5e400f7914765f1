package httpserver

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/limit/quota"
)

const (
	// spoolMemory is how much of a file that a client sends stays in memory: what is longer goes to a file on disk, so that memory does not
	// grow with what people upload.
	spoolMemory = 256 << 10
	// spoolStep is how much disk a file takes at a time.
	spoolStep = 1 << 20
)

// Disk is where files of clients wait, and how much of it they take. The volume may be that of the journal and the database.
type Disk struct {
	dir     string
	uploads *limit.Budget // files under way, by user
	bytes   *limit.Budget // of files, by user
	minFree int64
	free    func() (int64, error) // nil: not known
	promise atomic.Int64          // bytes that were taken and are not written yet
}

// DiskConfig is how much of a folder files of clients may take.
type DiskConfig struct {
	SpoolLimits
	Dir     string                // "": the system's place for temporary files
	Share   int64                 // percent of the limits that one user may take; 0: all
	Largest int64                 // bytes of a file that every user may send
	Free    func() (int64, error) // bytes that are free on the volume; nil: not known
}

// NewDisk makes the Disk of a folder.
func NewDisk(c DiskConfig) *Disk {
	return &Disk{
		dir: c.Dir, minFree: c.SpoolMinFree, free: c.Free,
		uploads: limit.NewBudget(c.MaxUploads, quota.Share(c.MaxUploads, c.Share, 1)),
		bytes:   limit.NewBudget(c.SpoolBudget, quota.Share(c.SpoolBudget, c.Share, c.Largest+spoolStep)),
	}
}

// Used is how many uploads are under way, and how many bytes they have taken.
func (d *Disk) Used() (uploads, bytes int64) { return d.uploads.Used(), d.bytes.Used() }

var errDiskFull = errors.New("the volume has less free space than is to be left")

// room fails when the volume would not keep its free space.
func (d *Disk) room(n int64) error {
	promised := d.promise.Add(n)
	if d.free == nil {
		return nil
	}
	free, err := d.free()
	if err == nil && free-promised < d.minFree {
		err = errDiskFull
	}
	if err != nil {
		d.promise.Add(-n)
		return unspooled(err)
	}
	return nil
}

// Memory is what a request may take of its user's and the node's memory for bytes of clients and providers.
type Memory interface {
	// Charge takes bytes, or fails with what to answer.
	Charge(n int64) error
	// Give gives bytes back.
	Give(n int64)
}

// Spool takes in a file of a form. The file on disk has no name, so that nothing is left of it whatever happens to the process.
type Spool struct {
	disk   *Disk
	user   string
	memory Memory
	b      []byte
	file   *os.File
	size   int64
	taken  limit.Tab // bytes that the file may have on disk
	onDisk int64     // bytes that it has there
	digest hash.Hash // nil: it is not needed
}

// NewSpool makes room for the file of an upload, which must be closed. What stays in memory is taken from memory; digested says that Sum is asked.
func (d *Disk) NewSpool(user string, memory Memory, digested bool) (*Spool, error) {
	switch d.uploads.Take(user, 1) {
	case limit.OfName:
		return nil, quota.Crowded(d.uploads.Each(), "max_user_share", "This user has reached the limit of concurrent uploads. Wait for one to end.")
	case limit.OfAll:
		return nil, fault.New(fault.Overloaded, "httpserver.NewSpool", "The gateway is at its limit of concurrent uploads.")
	}
	s := &Spool{disk: d, user: user, memory: memory}
	s.taken.Open(d.bytes, user)
	if digested {
		s.digest = sha256.New()
	}
	return s, nil
}

// Sum appends to b what two files with the same content have in common.
func (s *Spool) Sum(b []byte) []byte { return s.digest.Sum(b) }

// Write takes in the next piece.
func (s *Spool) Write(p []byte) (int, error) {
	if s.digest != nil {
		s.digest.Write(p)
	}
	n := int64(len(p))
	if s.file == nil && s.size+n <= spoolMemory {
		if err := s.memory.Charge(n); err != nil {
			return 0, err
		}
		s.size += n
		s.b = append(s.b, p...)
		return len(p), nil
	}
	if err := s.take(s.size + n); err != nil {
		return 0, err
	}
	if err := s.open(); err != nil {
		return 0, unspooled(err)
	}
	if err := s.write(p); err != nil {
		return 0, unspooled(err)
	}
	s.size += n
	return len(p), nil
}

// take makes sure that the file may grow to so many bytes.
func (s *Spool) take(size int64) error {
	for s.taken.Taken() < size {
		switch s.taken.Take(spoolStep) {
		case limit.OfName:
			return quota.Crowded(s.disk.bytes.Each(), "max_user_share", "The uploads of this user have reached the disk space of one user. Wait for one to end.")
		case limit.OfAll:
			return fault.New(fault.Overloaded, "httpserver.Spool", "The gateway's disk space for uploads is full. Try again later.")
		}
		if err := s.disk.room(spoolStep); err != nil {
			s.taken.Give(spoolStep)
			return err
		}
	}
	return nil
}

// open moves what is in memory to disk, unless it is there.
func (s *Spool) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.disk.dir, SpoolPrefix)
	if err != nil {
		return err
	}
	s.file = f
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	err = s.write(s.b)
	s.memory.Give(int64(len(s.b)))
	s.b = nil
	return err
}

func (s *Spool) write(p []byte) error {
	n, err := s.file.Write(p)
	s.disk.promise.Add(-int64(n))
	s.onDisk += int64(n)
	return err
}

// SpoolPrefix begins the name that a file has for the moment before it has none.
const SpoolPrefix = "weir-upload-"

func unspooled(err error) error {
	return fault.New(fault.StorageUnavailable, "httpserver.Spool", "The file could not be stored during the request.").Because(err)
}

// File is what was written.
func (s *Spool) File() *io.SectionReader {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return io.NewSectionReader(bytes.NewReader(s.b), 0, s.size)
}

// Close gives the disk back. What is in memory stays: a request to a provider that was broken off may still read it.
func (s *Spool) Close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is kept
	}
	s.disk.promise.Add(s.onDisk - s.taken.Taken())
	s.taken.Close()
	s.disk.uploads.Give(s.user, 1)
}
