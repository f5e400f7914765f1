package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weir/internal/fault"
)

// Hole is a stretch of a file without a whole record, between positions, though something was written there.
type Hole struct{ From, To int64 }

// Segment describes the state of a file of the journal.
type Segment struct {
	Path    string
	Base    int64
	End     int64 // position after the last whole record
	Records int64
	Bytes   int64 // of records
	Head    bool  // the head can be read
	Holes   []Hole
	Given   []Hole // that a repair has given up before
	Torn    int64  // bytes after End of a record that was being written when its process ended; of the newest file

	books string
}

// Damaged reports whether something is missing from the file, or may be.
func (s *Segment) Damaged() bool { return len(s.Holes) > 0 || !s.Head }

// gap is how many bytes a repair has given up at the start of b, which is at pos: they are skipped. 0 when there is no such mark.
func gap(b []byte, pos int64) int64 {
	if len(b) < frameBytes {
		return 0
	}
	n := binary.LittleEndian.Uint32(b)
	if n&gapBit == 0 || binary.LittleEndian.Uint32(b[4:]) != checksum(b[:frameBytes], pos) {
		return 0
	}
	return frameBytes + int64(n&^gapBit)
}

// examine reads a file from its beginning to its end, also after damage. next is where the file after it begins, 0 for the newest.
func examine(path string, base, next int64) (s Segment, err error) {
	s = Segment{Path: path, Base: base, End: base, Head: true}
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	b, written, err := content(f, info.Size())
	if err != nil {
		return s, err
	}
	h, err := readHeader(f, base)
	if err != nil && !errors.Is(err, errHead) {
		return s, err
	}
	s.books, s.Head = h.books, err == nil
	limit := base + int64(len(b))
	if next != 0 {
		limit = next
	}
	must := max(h.mark, next) // all before that was written
	if err != nil {
		h.size = oldHead // look for records from where they can be
	}
	s.scan(b, base+h.size, base+written, min(limit, base+int64(len(b))), must)
	if next == 0 {
		s.Torn = max(0, base+written-s.End)
	}
	return s, nil
}

// unwritten is what a file has before something is written to it.
var unwritten [128 << 10]byte

// content reads a file of that size, of which most may be zeros still. These are not copied, so that they take no memory. What was written has
// the first bytes, up to the last that is not zero.
func content(f io.Reader, size int64) (b []byte, written int64, err error) {
	b = make([]byte, size)
	chunk := make([]byte, min(size, int64(len(unwritten))))
	for at := int64(0); at < size; {
		chunk = chunk[:min(int64(len(chunk)), size-at)]
		if _, err := io.ReadFull(f, chunk); err != nil {
			return nil, 0, err
		}
		if !bytes.Equal(chunk, unwritten[:len(chunk)]) {
			copy(b[at:], chunk)
			written = at + int64(len(bytes.TrimRight(chunk, "\x00")))
		}
		at += int64(len(chunk))
	}
	return b, written, nil
}

// headOf is examine of the head alone.
func headOf(path string, base, _ int64) (s Segment, err error) {
	s = Segment{Path: path, Base: base}
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	h, err := readHeader(f, base)
	s.books, s.Head = h.books, err == nil
	if errors.Is(err, errHead) {
		err = nil
	}
	return s, errors.Join(err, f.Close())
}

// looks is how often a file is read once more that somebody writes meanwhile.
const looks = 5

// observe is examine of a file that may be written meanwhile: a reader can be after the writer at one place and before it at the next. A hole
// that another look finds again is one.
func observe(path string, base, next int64) (Segment, error) {
	s, err := examine(path, base, next)
	for range looks {
		if err != nil || len(s.Holes) == 0 {
			break
		}
		before := s.Holes
		if s, err = examine(path, base, next); slices.Equal(before, s.Holes) {
			break
		}
	}
	return s, err
}

// scan finds the records of a file whose bytes are b, written up to a position, and the holes between them.
func (s *Segment) scan(b []byte, pos, written, limit, must int64) {
	s.End = pos
	for pos < limit {
		rest := b[pos-s.Base : limit-s.Base]
		if skip := gap(rest, pos); skip > 0 {
			s.Given = append(s.Given, Hole{pos, pos + skip})
			pos += skip // a file that was cut off ends before it
			s.End = pos
			continue
		}
		rec, size, ok := frame(rest, pos)
		if ok {
			s.Records++
			s.Bytes += int64(len(rec))
			pos += int64(size)
			s.End = pos
			continue
		}
		again := search(rest, pos, written)
		if again == 0 {
			break
		}
		if s.Head || s.Records > 0 { // else it is the lost head
			s.Holes = append(s.Holes, Hole{pos, again})
		}
		pos = again
	}
	if s.End < must {
		s.Holes = append(s.Holes, Hole{s.End, must})
		s.End = must
	}
}

// search finds the next whole record after the start of b, which is at pos and written up to a position, and returns its position, or 0.
func search(b []byte, pos, written int64) int64 {
	for i := 1; i+frameBytes < len(b) && pos+int64(i) < written; {
		if i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:]) == 0 {
			i += 6 // a length has three bytes, and none of these six begins one
			continue
		}
		if b[i]|b[i+1]|b[i+2] != 0 {
			if _, _, ok := frame(b[i:], pos+int64(i)); ok {
				return pos + int64(i)
			}
		}
		i++
	}
	return 0
}

const remedy = "Look at it with: weir ledger journal inspect. Restore the file from a copy; or give up what cannot be read, and keep all the rest, with: weir ledger journal repair"

func damaged(op, path string, s Segment) error {
	if !s.Head {
		return fault.Wrap(op, headDamaged(path, errHead))
	}
	h := s.Holes[0]
	return fault.Wrap(op, fmt.Errorf("%s lacks records from byte %d to byte %d that had been written: the disk changed or lost them. %s", path, h.From-s.Base, h.To-s.Base, remedy))
}

func corrupt(op, path string, offset int64) error {
	return fault.Wrap(op, fmt.Errorf("%s has a damaged record at byte %d, and whole ones after it: the disk changed what was written. %s", path, offset, remedy))
}

func headDamaged(path string, cause error) error {
	return fmt.Errorf("%s: %w. %s", path, cause, remedy)
}

// Survey examines all files of the journal in dir, the oldest first, and changes nothing. A missing folder has none.
func Survey(dir string) ([]Segment, error) {
	bases, err := list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("journal.Survey", err)
	}
	out := make([]Segment, 0, len(bases))
	for i, base := range bases {
		s, err := observe(filepath.Join(dir, fileName(base)), base, nextOf(bases, i))
		if err != nil {
			return nil, fault.Wrap("journal.Survey", err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Repair makes every file of the journal in dir readable from its beginning to its end: each hole is marked as given up. Before a file is
// changed a copy of it is put into the folder damaged. It claims dir, and fails with fault.Conflict when a node uses it. It returns the
// repaired files in their state before.
func Repair(dir string, now time.Time) (repaired []Segment, err error) {
	claim, err := Take(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	all, err := Survey(dir)
	if err != nil {
		return nil, err
	}
	books := ""
	for i := range all {
		books = max(books, all[i].books)
	}
	for i := range all {
		s := &all[i]
		if !s.Damaged() {
			continue
		}
		if err := s.repair(dir, books, now); err != nil {
			return repaired, fault.Wrap("journal.Repair", err)
		}
		repaired = append(repaired, *s)
	}
	return repaired, nil
}

func (s *Segment) repair(dir, books string, now time.Time) error {
	kept := filepath.Join(dir, "damaged")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return err
	}
	b, err := os.ReadFile(s.Path)
	if err != nil {
		return err
	}
	copied := filepath.Join(kept, fmt.Sprintf("%s.%d", filepath.Base(s.Path), now.UnixNano()))
	if err := replace(copied, string(b)); err != nil {
		return err
	}
	f, err := os.OpenFile(s.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	holes := s.Holes
	if !s.Head {
		h, first := header{base: s.Base, books: books}.bytes(), firstRecord(b, s.Base)
		if first != 0 && first < s.Base+headBytes { // of before there were books
			h = header{base: s.Base}.old()
		}
		if _, err := f.WriteAt(h, 0); err != nil {
			return errors.Join(err, f.Close())
		}
		holes = behind(holes, s.Base+int64(len(h)), first)
	}
	for _, h := range holes {
		g := binary.LittleEndian.AppendUint32(nil, uint32(h.To-h.From-frameBytes)|gapBit)
		g = append(g, 0, 0, 0, 0)
		binary.LittleEndian.PutUint32(g[4:], checksum(g, h.From))
		if _, err := f.WriteAt(g, h.From-s.Base); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

// behind returns the holes of a file whose head is lost: records begin at start, and the first whole one is at first, 0 when there is
// none.
func behind(holes []Hole, start, first int64) []Hole {
	var out []Hole
	if first > start {
		out = append(out, Hole{start, first})
	}
	for _, h := range holes {
		if h.From = max(h.From, start); h.To > h.From {
			out = append(out, h)
		}
	}
	return out
}

// firstRecord is the position of the first whole record of a file whose head is lost, or 0.
func firstRecord(b []byte, base int64) int64 {
	if len(b) < oldHead {
		return 0
	}
	return search(b[oldHead-1:], base+oldHead-1, base+int64(len(b)))
}

// Tail is the result of Inspect.
type Tail struct {
	Records int64 // whole records from the position on
	Bytes   int64
}

// Inspect reads the journal in dir from a position on without opening it for writing, and changes nothing. A missing folder is an empty
// journal. It fails on damage like Open and Read.
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
		next := nextOf(bases, i)
		if next != 0 && next <= from {
			continue
		}
		path := filepath.Join(dir, fileName(base))
		s, err := observe(path, base, next)
		if err != nil {
			return t, fault.Wrap("journal.Inspect", err)
		}
		if s.Damaged() {
			return t, damaged("journal.Inspect", path, s)
		}
		if err := t.count(path, base, from, s.End); err != nil {
			return t, fault.Wrap("journal.Inspect", err)
		}
	}
	return t, nil
}

func (t *Tail) count(path string, base, from, end int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h, err := readHeader(f, base)
	if err != nil {
		return err
	}
	start := max(from, base+h.size)
	if start >= end {
		return nil
	}
	_, err = each(f, &room{}, base, start, end, func(rec []byte, _ int64) error {
		t.Records++
		t.Bytes += int64(len(rec))
		return nil
	})
	return err
}
