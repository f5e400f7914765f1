// Package journal is a local append-only log of settlements: its records survive a killed process, in order. It must not interpret them:
// records are bytes.
package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/fault"
	"weir/internal/loop"
)

// Sync is when written records are forced to the disk.
type Sync uint8

// The policies. Under each a record is with the kernel before Append returns, so a killed process loses nothing.
const (
	Interval Sync = iota // every Options.SyncEvery while there is something new; a power cut loses at most that
	Always               // before Append returns
	Never                // whenever the kernel likes
)

const (
	// MaxRecordBytes is the size of the largest record.
	MaxRecordBytes = 1 << 20
	maxLooseBytes  = 4 << 20 // most that Add leaves unwritten
)

var policies = [...]string{Interval: "interval", Always: "always", Never: "never"}

func (s Sync) String() string { return policies[s] }

// UnmarshalText sets the policy by its name in the configuration.
func (s *Sync) UnmarshalText(text []byte) error {
	i := slices.Index(policies[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(policies[:], ", "))
	}
	*s = Sync(i)
	return nil
}

// File is a file as Options.Allocate sees it.
type File = os.File

// Options of a journal. They begin with Default.
type Options struct {
	Sync         Sync          `yaml:"sync"`
	SyncEvery    time.Duration `constant:"interval"`
	MaxUnsynced  time.Duration `constant:"max_unsynced"`            // under Interval, Append waits while a record that is older is not on the disk
	SegmentBytes int64         `constant:"segment_bytes" as:"size"` // of a preallocated file

	Base  int64  // everything before this position is settled elsewhere: such files are removed, new records come after it
	Books string // whose charges these are: files of others are refused; "": not looked at
	// Allocate makes a file of a size, with the blocks on the disk. nil: the operating system's way. Tests fill disks with it.
	Allocate func(f *File, bytes int64) error
	// Now reads a clock with a monotonic reading. nil: MaxUnsynced is not looked at.
	Now func() time.Time
	// DataSync forces written data of a file to the disk. nil: the operating system's way. Tests stall it.
	DataSync func(f *File) error
	// OnSyncError is called when the disk fails to store written data. May be nil.
	OnSyncError func(error)
	// OnTorn is called when Open finds the beginning of a record that the former process was writing when it ended. It was not confirmed that it
	// was kept, and it is passed over. May be nil.
	OnTorn func(path string, bytes int64)
}

// Default has the usual times and size.
func Default() Options {
	return Options{SyncEvery: 10 * time.Millisecond, MaxUnsynced: 100 * time.Millisecond, SegmentBytes: 16 << 20}
}

// Journal is an open log. Positions in it only grow; they are byte counts over all files since the first.
// It is safe for concurrent use, with one reader.
type Journal struct {
	dir string
	o   Options

	mu   sync.Mutex // guards next and free
	next *batch     // collects records for the next write
	free []byte     // a buffer that the writer is done with

	writing sync.Mutex // held by the writer; the others wait for it and find their record written
	tail    int64      // guarded by writing: position after the last record
	file    *os.File   // guarded by writing: the last segment
	base    int64      // guarded by writing: its first position
	rotate  bool       // guarded by writing: the file is not to be trusted with more
	closed  bool       // guarded by writing
	kept    int64      // guarded by writing: with Always, the position that the last good sync covers
	syncing sync.Mutex // taken under writing; keeps the file open while syncRound syncs it

	written atomic.Int64 // tail, for readers
	dirty   atomic.Bool  // written since the last sync
	lag     lag
	ailing  atomic.Bool // the last sync failed
	spare   atomic.Bool // a preallocated file waits; changed under segments
	short   atomic.Bool // the disk had no room for the last one that was tried
	space   room        // of the one reader

	segments struct {
		sync.Mutex
		bases   []int64 // ascending, the last one is being written
		reading *os.File
		readAt  int64 // base of reading
		first   int64 // where its records begin
	}

	stop   context.CancelFunc
	over   <-chan struct{} // closed by stop
	syncer *loop.Loop
}

// batch is the content of one write. good and err are set under Journal.writing.
type batch struct {
	frames []byte // headers without checksum, payloads
	done   bool
	good   int // bytes of frames that are written
	err    error
}

// Open opens the journal in dir, which must exist and belong to this process alone (see Claim). It finds the end of the written records,
// accepts a record that was cut off by the end of the former process, and begins a new file there.
func Open(dir string, o Options) (*Journal, error) {
	o.SegmentBytes = max(o.SegmentBytes, headBytes+frameBytes+1)
	if o.Allocate == nil {
		o.Allocate = allocate
	}
	if o.DataSync == nil {
		o.DataSync = dataSync
	}
	if o.OnSyncError == nil {
		o.OnSyncError = func(error) {}
	}
	if o.OnTorn == nil {
		o.OnTorn = func(string, int64) {}
	}
	j := &Journal{dir: dir, o: o, next: &batch{}}
	j.syncer = loop.New(loop.UntilWoken, j.syncRound)
	if o.Now != nil {
		j.lag.start = o.Now()
	}
	bases, tail, err := survey(dir, o.Books, o.OnTorn)
	if err != nil {
		return nil, err
	}
	if o.Base >= tail {
		tail = o.Base
		if err := remove(dir, bases); err != nil {
			return nil, fault.Wrap("journal.Open", err)
		}
		bases = nil
	}
	if n := len(bases); n > 0 && bases[n-1] == tail { // an empty last file: it gives way to the new one
		bases = bases[:n-1]
	}
	j.segments.bases = bases
	_, err = os.Stat(filepath.Join(dir, spareName))
	j.spare.Store(err == nil)
	j.tail = tail
	if err := j.begin(tail); err != nil {
		return nil, err
	}
	_ = j.Prepare() // Ready reports when it failed
	ctx, cancel := context.WithCancel(context.Background())
	j.stop, j.over = cancel, ctx.Done()
	if o.Sync == Interval {
		j.syncer.Start()
	}
	return j, nil
}

// Append writes rec, which must not be empty, and returns when it is with the kernel, or on the disk under Always.
// An error means that the record is not in the journal. When no other goroutine appends, the caller's goroutine does the write itself.
func (j *Journal) Append(rec []byte) error {
	if len(rec) == 0 || len(rec) > j.maxRecord() {
		return fault.Wrap("journal.Append", fmt.Errorf("a record of %d bytes", len(rec)))
	}
	j.mu.Lock()
	b := j.next
	b.frames = appendFrame(b.frames, rec)
	end := len(b.frames)
	j.mu.Unlock()

	j.writing.Lock()
	if !b.done {
		j.write(b)
	}
	good, err := end <= b.good, b.err
	j.writing.Unlock()
	if !good {
		return err
	}
	j.await()
	return nil
}

// Add takes rec without waiting. It is written by the next Append or Write, and lost if the process ends before that. It reports whether
// there was room.
func (j *Journal) Add(rec []byte) bool {
	if len(rec) == 0 || len(rec) > j.maxRecord() {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.next.frames)+len(rec) > maxLooseBytes {
		return false
	}
	j.next.frames = appendFrame(j.next.frames, rec)
	return true
}

// Write writes the records that Add took.
func (j *Journal) Write() error {
	j.mu.Lock()
	b := j.next
	empty := len(b.frames) == 0
	j.mu.Unlock()
	j.writing.Lock() // even with nothing to write: another writer may be writing records that were added before
	defer j.writing.Unlock()
	if !empty && !b.done {
		j.write(b)
	}
	return b.err
}

func (j *Journal) maxRecord() int {
	return int(min(MaxRecordBytes, j.o.SegmentBytes-headBytes-frameBytes))
}

// write puts the batch into files, under j.writing.
func (j *Journal) write(b *batch) {
	j.mu.Lock()
	j.next = &batch{frames: j.free[:0]}
	j.free = nil
	j.mu.Unlock()

	b.done = true
	for rest := b.frames; len(rest) > 0 && b.err == nil; rest = b.frames[b.good:] {
		n := j.fit(rest)
		if n == 0 {
			b.err = j.turn()
			continue
		}
		if b.err = j.put(rest[:n]); b.err == nil {
			b.good += n
		}
	}
	if j.o.Sync == Always {
		j.keep(b)
	}
	j.mu.Lock()
	if cap(b.frames) <= maxLooseBytes {
		j.free = b.frames[:0]
	}
	j.mu.Unlock()
	b.frames = nil
}

// keep is the end of a write under Always: records that are not on the disk count as not written, and no reader sees them.
func (j *Journal) keep(b *batch) {
	before := j.kept
	if err := j.sync(); err != nil {
		b.good -= int(j.tail - before)
		b.err = errors.Join(b.err, err)
		j.tail = before
		return
	}
	j.kept = j.tail
	j.written.Store(j.tail)
}

// fit is how many bytes of whole frames the current file has room for.
func (j *Journal) fit(frames []byte) int {
	if j.rotate || j.closed {
		return 0
	}
	room := j.base + j.o.SegmentBytes - j.tail
	n := 0
	for n < len(frames) {
		size := frameBytes + payloadLen(frames[n:])
		if int64(n+size) > room {
			break
		}
		n += size
	}
	return n
}

// put writes whole frames at the tail.
func (j *Journal) put(frames []byte) error {
	seal(frames, j.tail)
	at := j.tail - j.base
	if _, err := j.file.WriteAt(frames, at); err != nil {
		// The part that was written must not be read as a record, should the process die before the next write covers it.
		_, _ = j.file.WriteAt(make([]byte, len(frames)), at)
		return noRoom("journal.Append", err)
	}
	j.tail += int64(len(frames))
	if j.o.Sync != Always {
		j.written.Store(j.tail)
	}
	if j.o.Sync == Interval && !j.dirty.Load() && !j.dirty.Swap(true) {
		if j.o.Now != nil {
			j.lag.wrote(j.o.Now())
		}
		j.syncer.Wake()
	}
	return nil
}

// turn ends the current file and begins the next.
func (j *Journal) turn() error {
	if j.closed {
		return fault.New(fault.StorageUnavailable, "journal.Append", "The server is shutting down.")
	}
	if j.o.Sync != Never && !j.rotate {
		if err := j.sync(); err != nil {
			return err
		}
	}
	return j.begin(j.tail)
}

// End is the position after the last written record.
func (j *Journal) End() int64 { return j.written.Load() }

// Loose reports whether Add left something that is not written yet.
func (j *Journal) Loose() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.next.frames) > 0
}

// First is the position of the first record that is still here.
func (j *Journal) First() int64 {
	j.segments.Lock()
	defer j.segments.Unlock()
	return j.segments.bases[0]
}

// Ready reports whether the journal has room for running calls, and a disk that works. While it is false no new work should be taken on;
// Prepare makes it true again when the trouble is over.
func (j *Journal) Ready() bool {
	return !j.short.Load() && !j.ailing.Load()
}

// Prepare makes the next file beforehand, so that the change of files costs nothing and a full disk is known while there is
// still room for the work under way. It does nothing when that is done.
func (j *Journal) Prepare() error {
	if j.ailing.Load() {
		if err := j.Sync(); err != nil {
			return err
		}
	}
	j.segments.Lock()
	defer j.segments.Unlock()
	if j.spare.Load() {
		return nil
	}
	if err := j.makeSpare(); err != nil {
		return noRoom("journal.Prepare", err)
	}
	return nil
}

// Sync forces everything written to the disk.
func (j *Journal) Sync() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.closed {
		return nil
	}
	if j.ailing.Load() { // the kernel forgets pages that it could not write: start over in another file
		if err := j.turn(); err != nil {
			return err
		}
	}
	return j.sync()
}

// sync forces the current file to the disk, under j.writing.
func (j *Journal) sync() error {
	err := j.o.DataSync(j.file)
	j.synced(err)
	if err != nil {
		j.rotate = true
		return noRoom("journal.Sync", err)
	}
	j.setMark(j.file, j.tail)
	return nil
}

// setMark notes in a file how far it is on the disk. That it need not be there itself makes it never say too much.
func (j *Journal) setMark(f *os.File, position int64) {
	_, _ = f.WriteAt(appendMark(nil, position), markAt)
}

func (j *Journal) synced(err error) {
	j.ailing.Store(err != nil)
	if err != nil {
		j.o.OnSyncError(err)
	}
}

// syncRound syncs written records within SyncEvery of the first one, without delaying writers.
func (j *Journal) syncRound(ctx context.Context) time.Duration {
	if loop.Wait(ctx, j.o.SyncEvery) != nil {
		return loop.UntilWoken
	}
	j.writing.Lock()
	j.dirty.Store(false)
	j.lag.syncing()
	file, tail := j.file, j.tail
	j.syncing.Lock()
	j.writing.Unlock()
	err := j.o.DataSync(file)
	if err == nil {
		j.setMark(file, tail)
	}
	j.syncing.Unlock()
	j.lag.synced()
	if err != nil {
		j.writing.Lock()
		j.rotate = true
		j.writing.Unlock()
	}
	j.synced(err)
	return loop.UntilWoken
}

// Close writes and syncs the remaining records and closes the files.
func (j *Journal) Close() error {
	err := j.Write()
	if j.o.Sync != Never {
		err = errors.Join(err, j.Sync())
	}
	return errors.Join(err, j.Abandon())
}

// Abandon closes the files without writing the records that Add took, like the end of the process.
func (j *Journal) Abandon() error {
	j.stop()
	j.syncer.Stop()
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	j.segments.Lock()
	defer j.segments.Unlock()
	if j.segments.reading != nil {
		_ = j.segments.reading.Close()
		j.segments.reading = nil
	}
	return j.file.Close()
}

func noRoom(op string, cause error) error {
	e := fault.New(fault.StorageUnavailable, op, "The charge cannot be recorded at present. Try again.").Because(cause)
	e.RetryAfter = time.Second
	return e
}
