package httpapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"os"
	"sync/atomic"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/task"
)

const (
	// spoolMemory is how much of a file that a client sends stays in memory: what is longer goes to a file on disk, so that memory does not
	// grow with what people upload.
	spoolMemory = 256 << 10
	// spoolStep is how much disk a file takes at a time.
	spoolStep = 1 << 20
)

// disk is where files of clients wait, and how much of it they take. The volume may be that of the journal and the database.
type disk struct {
	dir     string
	uploads *limit.Budget // files under way, by user
	bytes   *limit.Budget // of files, by user
	minFree int64
	free    func() (int64, error) // nil: not known
	promise atomic.Int64          // bytes that were taken and are not written yet
}

func newDisk(c *Config, free func() (int64, error)) *disk {
	return &disk{
		dir: c.SpoolDir, minFree: c.SpoolMinFree, free: free,
		uploads: limit.NewBudget(c.MaxUploads, quota.Share(c.MaxUploads, c.MaxUserShare, 1)),
		bytes:   limit.NewBudget(c.SpoolBudget, quota.Share(c.SpoolBudget, c.MaxUserShare, maxRecording+spoolStep)),
	}
}

var errDiskFull = errors.New("the volume has less free space than is to be left")

// room fails when the volume would not keep its free space.
func (d *disk) room(n int64) error {
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

// spool takes in a file of a form. The file on disk has no name, so that nothing is left of it whatever happens to the process.
type spool struct {
	x      *request
	disk   *disk
	b      []byte
	file   *os.File
	size   int64
	taken  limit.Tab // bytes that the file may have on disk
	onDisk int64     // bytes that it has there
	digest hash.Hash // nil: it is not needed
}

// newSpool makes room for the file of an upload, which must be closed.
func (x *request) newSpool() (*spool, error) {
	d := x.api.disk
	switch d.uploads.Take(x.caller.User, 1) {
	case limit.OfName:
		return nil, quota.Crowded(d.uploads.Each(), "max_user_share", "This user has reached the limit of concurrent uploads. Wait for one to end.")
	case limit.OfAll:
		return nil, fault.New(fault.Overloaded, "httpapi.newSpool", "The gateway is at its limit of concurrent uploads.")
	}
	s := &spool{x: x, disk: d}
	s.taken.Open(d.bytes, x.caller.User)
	if x.named != nil {
		s.digest = sha256.New()
	}
	return s, nil
}

// Write takes in the next piece.
func (s *spool) Write(p []byte) (int, error) {
	if s.digest != nil {
		s.digest.Write(p)
	}
	n := int64(len(p))
	if s.file == nil && s.size+n <= spoolMemory {
		if err := s.x.charge(n); err != nil {
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
func (s *spool) take(size int64) error {
	for s.taken.Taken() < size {
		switch s.taken.Take(spoolStep) {
		case limit.OfName:
			return quota.Crowded(s.disk.bytes.Each(), "max_user_share", "The uploads of this user have reached the disk space of one user. Wait for one to end.")
		case limit.OfAll:
			return fault.New(fault.Overloaded, "httpapi.spool", "The gateway's disk space for uploads is full. Try again later.")
		}
		if err := s.disk.room(spoolStep); err != nil {
			s.taken.Give(spoolStep)
			return err
		}
	}
	return nil
}

// open moves what is in memory to disk, unless it is there.
func (s *spool) open() error {
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
	s.x.memory.Give(int64(len(s.b)))
	s.b = nil
	return err
}

func (s *spool) write(p []byte) error {
	n, err := s.file.Write(p)
	s.disk.promise.Add(-int64(n))
	s.onDisk += int64(n)
	return err
}

// SpoolPrefix begins the name that a file has for the moment before it has none.
const SpoolPrefix = "weir-upload-"

func unspooled(err error) error {
	return fault.New(fault.StorageUnavailable, "httpapi.spool", "The file could not be stored during the request.").Because(err)
}

// File is what was written.
func (s *spool) File() task.File { return spooled{s} }

// Close gives the disk back. What is in memory stays: a request to a provider that was broken off may still read it.
func (s *spool) Close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is kept
	}
	s.disk.promise.Add(s.onDisk - s.taken.Taken())
	s.taken.Close()
	s.disk.uploads.Give(s.x.caller.User, 1)
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
