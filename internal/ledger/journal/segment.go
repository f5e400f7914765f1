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

	"weir/internal/fault"
)

// A file begins with a head: magic, first position, checksum of both. Frames follow: payload length, checksum, payload.
// The checksum covers the frame's position, so that bytes of another life of the disk never pass for a record.
// A length of zero is untouched, preallocated space.
const (
	magic      = "WEIRJNL1"
	headBytes  = 20
	frameBytes = 8
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

// seal fills in the checksums of whole frames, the first of which stands at pos.
func seal(frames []byte, pos int64) {
	for len(frames) > 0 {
		size := frameBytes + payloadLen(frames)
		binary.LittleEndian.PutUint32(frames[4:], checksum(frames[:size], pos))
		frames = frames[size:]
		pos += int64(size)
	}
}

func checksum(frame []byte, pos int64) uint32 {
	crc := ^uint32(0) // byte by byte: what is handed to crc32 moves to the heap
	for i := range 8 {
		crc = castagnoli[byte(crc)^byte(pos>>(8*i))] ^ crc>>8
	}
	for _, b := range frame[:4] {
		crc = castagnoli[byte(crc)^b] ^ crc>>8
	}
	return crc32.Update(^crc, castagnoli, frame[frameBytes:])
}

// frame finds the record at the start of b, which stands at pos. need is how many bytes of b it takes, more than there are
// when b must be longer to tell; ok is false when there is no record.
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

func head(base int64) []byte {
	h := binary.LittleEndian.AppendUint64([]byte(magic), uint64(base))
	return binary.LittleEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
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
	if _, err := f.WriteAt(head(pos), 0); err != nil {
		return noRoom("journal.begin", errors.Join(err, f.Close()))
	}
	if err := os.Rename(f.Name(), filepath.Join(j.dir, fileName(pos))); err != nil {
		return noRoom("journal.begin", errors.Join(err, f.Close()))
	}
	j.spare.Store(false)
	if j.o.Sync != Never {
		if err := errors.Join(dataSync(f), syncDir(j.dir)); err != nil {
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

// survey lists the files in dir and finds the position after the last whole record.
func survey(dir string) (bases []int64, tail int64, err error) {
	bases, err = list(dir)
	if err != nil {
		return nil, 0, fault.Wrap("journal.Open", err)
	}
	for len(bases) > 0 {
		last := bases[len(bases)-1]
		tail, err = end(filepath.Join(dir, fileName(last)), last)
		if err == nil {
			return bases, tail, nil
		}
		if !errors.Is(err, errHead) {
			return nil, 0, fault.Wrap("journal.Open", err)
		}
		// A power cut can take the head of the newest file; then it has no record either.
		bases = bases[:len(bases)-1]
		if len(bases) > 0 {
			return bases, last, nil
		}
	}
	return bases, 0, nil
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

var errHead = errors.New("the file does not begin as a journal")

// end reads a file to its last whole record.
func end(path string, base int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if err := checkHead(f, base); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	pos, err := each(f, &room{}, base, base+headBytes, base+info.Size(), func([]byte, int64) error { return nil })
	if errors.Is(err, errBad) {
		err = nil
	}
	return pos, err
}

func checkHead(r io.ReaderAt, base int64) error {
	h := make([]byte, headBytes)
	if _, err := r.ReadAt(h, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(h) != string(head(base)) {
		return errHead
	}
	return nil
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

// Read hands over the written records from a position on, with the position after each, until the end, an error of f, or the end of a file.
// It returns the position to go on from. rec is valid only during the call. A bad record before the end is an error
// that says what an operator can do.
func (j *Journal) Read(from int64, f func(rec []byte, next int64) error) (int64, error) {
	base, limit, err := j.locate(from)
	if err != nil || limit == 0 {
		return from, err
	}
	from = max(from, base+headBytes)
	if from >= limit {
		return max(from, limit), nil
	}
	file, err := j.open(base)
	if err != nil {
		return from, fault.Wrap("journal.Read", err)
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
		return pos, corrupt(filepath.Join(j.dir, fileName(base)), pos-base)
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

func (j *Journal) open(base int64) (*os.File, error) {
	j.segments.Lock()
	defer j.segments.Unlock()
	if j.segments.reading != nil {
		if j.segments.readAt == base {
			return j.segments.reading, nil
		}
		_ = j.segments.reading.Close()
		j.segments.reading = nil
	}
	f, err := os.Open(filepath.Join(j.dir, fileName(base)))
	if err != nil {
		return nil, err
	}
	if err := checkHead(f, base); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w; restore it from a copy, or move it away to give up what it holds", f.Name(), err)
	}
	j.segments.reading, j.segments.readAt = f, base
	return f, nil
}

func corrupt(path string, offset int64) error {
	return fault.Wrap("journal.Read", fmt.Errorf("%s has a damaged record at byte %d, and whole ones after it: the disk changed what was written. "+
		"Restore the file from a copy; or move it out of the folder, which gives up the settlements in it that the store lacks, and start again", path, offset))
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

// Droppable tells whether Drop would remove something.
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

// Tail is what Inspect finds.
type Tail struct {
	Records int64 // whole records from the position on
	Bytes   int64
}

// Inspect reads the journal in dir from a position on without opening it for writing, and changes nothing. A missing folder is an
// empty journal. It fails as Read does on a damaged record that whole files follow.
func Inspect(dir string, from int64) (Tail, error) {
	var t Tail
	bases, err := list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, fault.Wrap("journal.Inspect", err)
	}
	for i, base := range bases {
		last := i+1 == len(bases)
		if !last && bases[i+1] <= from {
			continue
		}
		if err := t.count(filepath.Join(dir, fileName(base)), base, from, bases[i+1:]); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *Tail) count(path string, base, from int64, later []int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fault.Wrap("journal.Inspect", err)
	}
	defer func() { _ = f.Close() }()
	if err := checkHead(f, base); err != nil {
		if errors.Is(err, errHead) && len(later) == 0 {
			return nil
		}
		return fault.Wrap("journal.Inspect", fmt.Errorf("%s: %w", path, err))
	}
	info, err := f.Stat()
	if err != nil {
		return fault.Wrap("journal.Inspect", err)
	}
	limit := base + info.Size()
	if len(later) > 0 {
		limit = later[0]
	}
	start := max(from, base+headBytes)
	pos, err := each(f, &room{}, base, start, limit, func(rec []byte, _ int64) error {
		t.Records++
		t.Bytes += int64(len(rec))
		return nil
	})
	if errors.Is(err, errBad) {
		if len(later) == 0 {
			return nil
		}
		return corrupt(path, pos-base)
	}
	return err
}
