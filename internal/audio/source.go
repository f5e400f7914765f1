package audio

import (
	"errors"
	"io"
)

// windowBytes is how much of a file is in memory at a time.
const windowBytes = 16 << 10

// source is a file of which one window is in memory. Readers move forward, so that what is read in all stays in proportion to its size.
type source struct {
	r      io.ReaderAt
	size   int64
	err    error // what r failed with, other than by ending
	start  int64 // where the window lies
	window []byte
	buffer [windowBytes]byte
}

// at is the n bytes at pos, or fewer where the file ends. They hold until the next call; n is at most windowBytes.
func (s *source) at(pos int64, n int) []byte {
	if pos < 0 || pos >= s.size || s.err != nil {
		return nil
	}
	n = int(min(int64(n), s.size-pos))
	if pos < s.start || pos+int64(n) > s.start+int64(len(s.window)) {
		s.fill(pos)
	}
	offset := pos - s.start
	if offset >= int64(len(s.window)) {
		return nil
	}
	return s.window[offset:min(offset+int64(n), int64(len(s.window)))]
}

func (s *source) fill(pos int64) {
	want := s.buffer[:min(windowBytes, s.size-pos)]
	n, err := s.r.ReadAt(want, pos)
	if n < len(want) && err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.start, s.window = pos, s.buffer[:n]
}

// fields reads big-endian numbers one after the other. Past the end they are 0.
type fields struct{ b []byte }

func (f *fields) take(n int) []byte {
	if len(f.b) < n {
		f.b = nil
		return nil
	}
	taken := f.b[:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) uint32() uint32 { return uint32(number(f.take(4))) }
func (f *fields) uint64() uint64 { return number(f.take(8)) }

// number is a big-endian number of up to eight bytes.
func number(b []byte) uint64 {
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}
