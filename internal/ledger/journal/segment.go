package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/internal/disk"
	"weir/internal/fault"
)

// A file begins with a head, see header. Frames follow: payload length, checksum, payload. The checksum covers the frame's position, so that
// bytes of another life of the disk never pass for a record. A length of zero is untouched, preallocated space. A length with gapBit is a
// stretch that a repair has given up: as many bytes after the frame's head are passed over.
const (
	headBytes  = 80 // of new files
	frameBytes = 8
	gapBit     = 1 << 31
	suffix     = ".wal"
	spareName  = "spare"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func fileName(base int64) string { return fmt.Sprintf("%016x%s", base, suffix) }

func appendFrame(to, payload []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(len(payload)))
	to = append(to, 0, 0, 0, 0)
	return append(to, payload...)
}

func payloadLen(frame []byte) int { return int(binary.LittleEndian.Uint32(frame)) }

// seal fills in the checksums of whole frames, the first of which is at pos.
func seal(frames []byte, pos int64) {
	for len(frames) > 0 {
		size := frameBytes + payloadLen(frames)
		binary.LittleEndian.PutUint32(frames[4:], checksum(frames[:size], pos))
		frames = frames[size:]
		pos += int64(size)
	}
}

func checksum(frame []byte, pos int64) uint32 {
	crc := ^uint32(0) // byte by byte: a slice passed to crc32 would be allocated on the heap
	for i := range 8 {
		crc = castagnoli[byte(crc)^byte(pos>>(8*i))] ^ crc>>8
	}
	for _, b := range frame[:4] {
		crc = castagnoli[byte(crc)^b] ^ crc>>8
	}
	return crc32.Update(^crc, castagnoli, frame[frameBytes:])
}

// frame finds the record at the start of b, which is at pos. need is how many bytes of b it takes, more than len(b) when b is too short
// to decide; ok is false when there is no record.
func frame(b []byte, pos int64) (payload []byte, need int, ok bool) {
	if len(b) < frameBytes {
		return nil, frameBytes, false
	}
	n := payloadLen(b)
	if n == 0 || n > MaxRecordBytes {
		return nil, 0, false
	}
	need = frameBytes + n
	if len(b) < need {
		return nil, need, false
	}
	if binary.LittleEndian.Uint32(b[4:]) != checksum(b[:need], pos) {
		return nil, 0, false
	}
	return b[frameBytes:need:need], need, true
}

// makeSpare preallocates a file under a name that survey does not read. It is called with the lock on segments.
func (j *Journal) makeSpare() error {
	err := j.newSpare()
	j.spare.Store(err == nil)
	j.short.Store(err != nil)
	return err
}

func (j *Journal) newSpare() error {
	f, err := os.OpenFile(filepath.Join(j.dir, spareName), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(j.o.Allocate(f, j.o.SegmentBytes), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// begin starts a new file at pos, under j.writing, from the spare one when there is one.
func (j *Journal) begin(pos int64) error {
	j.segments.Lock()
	defer j.segments.Unlock()
	if !j.spare.Load() {
		if err := j.makeSpare(); err != nil {
			return noRoom("journal.begin", err)
		}
	}
	f, err := os.OpenFile(filepath.Join(j.dir, spareName), os.O_RDWR, 0)
	if err != nil {
		j.spare.Store(false)
		return noRoom("journal.begin", err)
	}
	if _, err := f.WriteAt(header{base: pos, books: j.o.Books}.bytes(), 0); err != nil {
		return noRoom("journal.begin", errors.Join(err, f.Close()))
	}
	// The head is on the disk before the file has its name: so an empty file has lost its content.
	if err := j.o.DataSync(f); err != nil {
		j.synced(err)
		return noRoom("journal.begin", errors.Join(err, f.Close()))
	}
	if err := os.Rename(f.Name(), filepath.Join(j.dir, fileName(pos))); err != nil {
		return noRoom("journal.begin", errors.Join(err, f.Close()))
	}
	j.spare.Store(false)
	if j.o.Sync != Never {
		if err := disk.SyncFolder(j.dir); err != nil {
			j.synced(err)
		}
	}
	if j.file != nil {
		j.syncing.Lock()
		_ = j.file.Close()
		j.syncing.Unlock()
	}
	j.file, j.base, j.rotate = f, pos, false
	j.tail = pos + headBytes
	j.kept = j.tail
	j.written.Store(j.tail)
	if n := len(j.segments.bases); n == 0 || j.segments.bases[n-1] != pos {
		j.segments.bases = append(j.segments.bases, pos)
	}
	return nil
}

// survey lists the files in dir and finds the position after the last whole record. It fails where the newest file lacks something that was
// on the disk, and where a file is of other books.
func survey(dir, books string, torn func(path string, bytes int64)) (bases []int64, tail int64, err error) {
	bases, err = list(dir)
	if err != nil {
		return nil, 0, fault.Wrap("journal.Open", err)
	}
	for i, base := range bases {
		path := filepath.Join(dir, fileName(base))
		last := i+1 == len(bases)
		look := examine
		if !last { // damage inside is found when it is read
			look = headOf
		}
		r, err := look(path, base, nextOf(bases, i))
		switch {
		case err != nil:
			return nil, 0, fault.Wrap("journal.Open", err)
		case foreign(&r, books):
			return nil, 0, otherBooks(dir, r.books, books)
		case r.Damaged():
			return nil, 0, damaged("journal.Open", path, r)
		case last:
			if r.Torn > 0 {
				torn(path, r.Torn)
			}
			return bases, r.End, nil
		}
	}
	return bases, 0, nil
}

func foreign(s *Segment, books string) bool { return books != "" && s.books != "" && s.books != books }

func otherBooks(dir, has, want string) error {
	return fault.Newf(fault.Conflict, "journal.Open", "The journal in %s belongs to other books (%s) than the database (%s): its charges must not be posted there. "+
		"Use the database that it was written for, or another data_dir for this one.", dir, has, want)
}

// CheckBooks fails with fault.Conflict when the journal in dir was written for other books. It changes nothing.
func CheckBooks(dir, books string) error {
	bases, err := list(dir)
	if err != nil {
		return fault.Wrap("journal.CheckBooks", err)
	}
	for _, base := range bases {
		s, err := headOf(filepath.Join(dir, fileName(base)), base, 0)
		if err != nil {
			return fault.Wrap("journal.CheckBooks", err)
		}
		if foreign(&s, books) {
			return otherBooks(dir, s.books, books)
		}
	}
	return nil
}

// nextOf is where the records of a file end, 0 for the newest.
func nextOf(bases []int64, i int) int64 {
	if i+1 < len(bases) {
		return bases[i+1]
	}
	return 0
}

func list(dir string) ([]int64, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var bases []int64
	for _, e := range names {
		hex, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		base, err := strconv.ParseInt(hex, 16, 64)
		if err == nil && fileName(base) == e.Name() {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases, nil
}

var errBad = errors.New("no whole record here")

const readBytes = 256 << 10

// room is a buffer for each.
type room struct{ buf []byte }

func (r *room) of(size int) []byte {
	if cap(r.buf) < size {
		r.buf = make([]byte, size)
	}
	return r.buf[:size]
}

// each hands over the records between two positions of a file that begins at base, and returns the position after the last
// one that f took. It fails with errBad where there is no whole record, and with f's error.
func each(r io.ReaderAt, space *room, base, from, to int64, f func(rec []byte, next int64) error) (int64, error) {
	want := readBytes
	for pos := from; pos < to; {
		size := int(min(int64(want), to-pos))
		buf := space.of(size)
		n, err := r.ReadAt(buf, pos-base)
		if err != nil && !errors.Is(err, io.EOF) {
			return pos, err
		}
		got := buf[:n]
		start := pos
		var need int
		for {
			if skip := gap(got, pos); skip > 0 {
				pos = min(pos+skip, to)
				got = got[min(skip, int64(len(got))):]
				if pos == to {
					return pos, nil
				}
				if len(got) == 0 {
					need = -1 // go on after it
					break
				}
				continue
			}
			rec, size, ok := frame(got, pos)
			if !ok {
				need = size
				break
			}
			if err := f(rec, pos+int64(size)); err != nil {
				return pos, err
			}
			pos += int64(size)
			got = got[size:]
			if pos == to {
				return pos, nil
			}
		}
		switch {
		case need < 0:
		case need == 0 || int64(need) > to-pos || n < size:
			return pos, errBad
		case pos == start: // one record is longer than the buffer
			want = max(readBytes, need)
		}
	}
	return from, nil
}

// ErrEnough makes Read stop after the record that it was given.
var ErrEnough = errors.New("enough")

// Read passes on the written records from a position on, with the position after each, until the end, an error of f, or the end of a
// file. It returns the position at which to continue. rec is valid only during the call. A bad record before the end is an error that
// says what an operator can do.
func (j *Journal) Read(from int64, f func(rec []byte, next int64) error) (int64, error) {
	base, limit, err := j.locate(from)
	if err != nil || limit == 0 {
		return from, err
	}
	file, first, err := j.open(base)
	if err != nil {
		return from, fault.Wrap("journal.Read", err)
	}
	from = max(from, first)
	if from >= limit {
		return max(from, limit), nil
	}
	enough := int64(0)
	pos, err := each(file, &j.space, base, from, limit, func(rec []byte, next int64) error {
		err := f(rec, next)
		if errors.Is(err, ErrEnough) {
			enough = next
		}
		return err
	})
	switch {
	case enough != 0:
		return enough, nil
	case errors.Is(err, errBad):
		return pos, corrupt("journal.Read", filepath.Join(j.dir, fileName(base)), pos-base)
	case err != nil:
		return pos, err
	}
	return limit, nil
}

// locate finds the file that holds a position, and where its records end. A position before the first file moves to it.
// limit is 0 when nothing follows.
func (j *Journal) locate(from int64) (base, limit int64, err error) {
	written := j.written.Load()
	j.segments.Lock()
	defer j.segments.Unlock()
	if from >= written {
		return 0, 0, nil
	}
	for i, b := range j.segments.bases {
		limit = written
		if i+1 < len(j.segments.bases) {
			limit = j.segments.bases[i+1]
		}
		if from < limit {
			return b, limit, nil
		}
	}
	return 0, 0, nil
}

func (j *Journal) open(base int64) (f *os.File, first int64, err error) {
	j.segments.Lock()
	defer j.segments.Unlock()
	if j.segments.reading != nil {
		if j.segments.readAt == base {
			return j.segments.reading, j.segments.first, nil
		}
		_ = j.segments.reading.Close()
		j.segments.reading = nil
	}
	f, err = os.Open(filepath.Join(j.dir, fileName(base)))
	if err != nil {
		return nil, 0, err
	}
	h, err := readHeader(f, base)
	if err != nil {
		return nil, 0, errors.Join(headDamaged(f.Name(), err), f.Close())
	}
	j.segments.reading, j.segments.readAt, j.segments.first = f, base, base+h.size
	return f, j.segments.first, nil
}

// Drop removes the files that hold nothing after a position.
func (j *Journal) Drop(before int64) error {
	j.segments.Lock()
	defer j.segments.Unlock()
	n := 0
	for n+1 < len(j.segments.bases) && j.segments.bases[n+1] <= before {
		n++
	}
	if n == 0 {
		return nil
	}
	if f := j.segments.reading; f != nil && j.segments.readAt < j.segments.bases[n] {
		_ = f.Close()
		j.segments.reading = nil
	}
	gone := j.segments.bases[:n]
	j.segments.bases = slices.Clone(j.segments.bases[n:])
	return remove(j.dir, gone)
}

// Droppable reports whether Drop would remove something.
func (j *Journal) Droppable(before int64) bool {
	j.segments.Lock()
	defer j.segments.Unlock()
	return len(j.segments.bases) > 1 && j.segments.bases[1] <= before
}

func remove(dir string, bases []int64) error {
	var errs []error
	for _, b := range bases {
		if err := os.Remove(filepath.Join(dir, fileName(b))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
