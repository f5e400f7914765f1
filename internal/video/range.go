package video

import (
	"strconv"
	"strings"
)

// Range is the part of a file that a client requests: First to Last, both included. Last is -1 for everything from First on;
// First is -1 for the last Last bytes.
type Range struct{ First, Last int64 }

// ParseRange reads the value of a Range header. Only a single range of bytes is supported. For anything else it
// returns nil, since a server may ignore the header.
func ParseRange(header string) *Range {
	spec, ok := strings.CutPrefix(strings.TrimSpace(header), "bytes=")
	if !ok || strings.Contains(spec, ",") {
		return nil
	}
	first, last, ok := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok {
		return nil
	}
	r := Range{First: -1, Last: -1}
	if !place(first, &r.First) || !place(last, &r.Last) || r.First < 0 && r.Last < 0 || r.First >= 0 && r.Last >= 0 && r.Last < r.First {
		return nil
	}
	return &r
}

// place reads one end of a range; an empty one stays as it is. A number too large for a file is the largest there is.
func place(s string, to *int64) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return true
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	*to = n
	return true
}

// String is the range as a header has it.
func (r *Range) String() string {
	b := []byte("bytes=")
	if r.First >= 0 {
		b = strconv.AppendInt(b, r.First, 10)
	}
	b = append(b, '-')
	if r.Last >= 0 {
		b = strconv.AppendInt(b, r.Last, 10)
	}
	return string(b)
}

// Nothing reports whether the range is outside every file, because it requests the last zero bytes.
func (r *Range) Nothing() bool { return r.First < 0 && r.Last == 0 }

// In returns the offset and the length of the range in a file of that size; ok is false when the range is outside the file.
func (r *Range) In(size int64) (from, length int64, ok bool) {
	switch {
	case r.First < 0:
		length = min(r.Last, size)
		return size - length, length, length > 0
	case r.First >= size:
		return 0, 0, false
	case r.Last < 0 || r.Last >= size:
		return r.First, size - r.First, true
	default:
		return r.First, r.Last - r.First + 1, true
	}
}
