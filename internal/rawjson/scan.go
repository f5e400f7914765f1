package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// verdict is the outcome of a scan.
type verdict uint8

const (
	valid verdict = iota
	malformed
	tooDeep
	tooManyKeys
	tooManyValues
	duplicate
	unsure // names with escapes: they must be compared as text
)

// scanner reads JSON once, from left to right, and keeps nothing of it but the names of the objects that are open.
type scanner struct {
	b      []byte
	strict bool // unique names, no lone surrogates, limits of keys and values
	lim    Limits
	values int
	at     int // where the scan stopped
	bad    verdict
	depth  int
	open   [hardDepth]level
	names  []span // of the open objects, the innermost last
	mapped bool   // some level has a map of its names
}

// level is an open object or array.
type level struct {
	closer byte
	keys   int
	first  int                 // where its names begin
	seen   map[string]struct{} // its names, once there are too many to compare each with each
}

type span struct{ start, end int }

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// keepNames is how many names a scanner keeps room for.
const keepNames = 1 << 10

// wideBlock is how many bytes wideText and wideClose look at together.
const wideBlock = 64

// manyNames is where comparing each name with each costs more than a map.
const manyNames = 24

// Valid reports whether b is exactly one JSON value in UTF-8, nested at most 256 deep. It is kinder than Check: names may repeat
// and an escape may be half a surrogate pair, because models do produce such text and a broken emoji must not end an answer.
func Valid(b []byte) bool {
	return scan(b, false, Limits{Depth: hardDepth}).bad == valid
}

// found is what a scan says.
type found struct {
	bad verdict
	at  int
}

// scan checks b.
func scan(b []byte, strict bool, lim Limits) found {
	s := scanners.Get().(*scanner)
	s.b, s.strict, s.lim = b, strict, lim
	s.values, s.at, s.bad, s.depth, s.names = 0, 0, valid, 0, s.names[:0]
	s.run()
	f := found{s.bad, s.at}
	s.b = nil
	if s.mapped {
		s.mapped = false
		for i := range s.open {
			s.open[i].seen = nil
		}
	}
	if cap(s.names) > keepNames {
		s.names = nil
	}
	scanners.Put(s)
	return f
}

func (s *scanner) run() {
	for i := s.value(skipSpace(s.b, 0)); ; i = s.value(i) {
		if i < 0 {
			return
		}
		if i = s.behind(i); i < 0 {
			return
		}
		if i == len(s.b) {
			return
		}
	}
}

// stop ends the scan.
func (s *scanner) stop(bad verdict, at int) int {
	if s.bad == valid || s.bad == unsure {
		s.bad, s.at = bad, at
	}
	return -1
}

// value passes the scalar or the empty container at i, or enters a container until its first scalar.
func (s *scanner) value(i int) int {
	b := s.b
	for i < len(b) {
		if s.values++; s.strict && s.values > s.lim.Values {
			return s.stop(tooManyValues, i)
		}
		switch c := b[i]; {
		case c == '"':
			return s.text(i)
		case c == '{' || c == '[':
			if s.depth == s.lim.Depth {
				return s.stop(tooDeep, i)
			}
			l := &s.open[s.depth]
			l.closer, l.keys, l.first, l.seen = c+2, 0, len(s.names), nil // '{'+2 is '}', '['+2 is ']'
			s.depth++
			if i = skipSpace(b, i+1); i < len(b) && b[i] == c+2 {
				return i // empty: behind closes it
			}
			if c == '{' {
				if i = s.name(i); i < 0 {
					return i
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			return s.number(i)
		case c == 't' && bytes.HasPrefix(b[i:], []byte("true")), c == 'n' && bytes.HasPrefix(b[i:], []byte("null")):
			return i + 4
		case c == 'f' && bytes.HasPrefix(b[i:], []byte("false")):
			return i + 5
		default:
			return s.stop(malformed, i)
		}
	}
	return s.stop(malformed, i)
}

// behind closes what ends at i and passes the comma, and the name after it. It returns where the next value begins, or len(b) at the end.
func (s *scanner) behind(i int) int {
	b := s.b
	for {
		i = skipSpace(b, i)
		if s.depth == 0 {
			if i < len(b) {
				return s.stop(malformed, i)
			}
			return i
		}
		if i >= len(b) {
			return s.stop(malformed, i)
		}
		l := &s.open[s.depth-1]
		if b[i] == l.closer {
			s.names = s.names[:l.first]
			s.depth--
			i++
			continue
		}
		if b[i] != ',' {
			return s.stop(malformed, i)
		}
		i = skipSpace(b, i+1)
		if l.closer == '}' {
			return s.name(i)
		}
		if i == len(b) {
			return s.stop(malformed, i)
		}
		return i
	}
}

// name passes a name and its colon, and returns where the value begins.
func (s *scanner) name(i int) int {
	b := s.b
	if i >= len(b) || b[i] != '"' {
		return s.stop(malformed, i)
	}
	start := i
	if i = s.text(i); i < 0 {
		return i
	}
	if s.strict && !s.fresh(start+1, i-1) {
		return -1
	}
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return s.stop(malformed, i)
	}
	if i = skipSpace(b, i+1); i == len(b) {
		return s.stop(malformed, i)
	}
	return i
}

// fresh notes a name of the innermost object and reports whether it is its first of that name.
func (s *scanner) fresh(start, end int) bool {
	l := &s.open[s.depth-1]
	if l.keys++; l.keys > s.lim.Keys {
		s.stop(tooManyKeys, start)
		return false
	}
	name := s.b[start:end]
	if bytes.IndexByte(name, '\\') >= 0 {
		s.bad = unsure
		return true
	}
	if l.seen == nil {
		for _, n := range s.names[l.first:] {
			if n.end-n.start == len(name) && string(s.b[n.start:n.end]) == string(name) {
				s.stop(duplicate, start)
				return false
			}
		}
		s.names = append(s.names, span{start, end})
		if l.keys < manyNames {
			return true
		}
		l.seen, s.mapped = make(map[string]struct{}, 2*manyNames), true
		for _, n := range s.names[l.first:] {
			l.seen[string(s.b[n.start:n.end])] = struct{}{}
		}
		return true
	}
	if _, twice := l.seen[string(name)]; twice {
		s.stop(duplicate, start)
		return false
	}
	l.seen[string(name)] = struct{}{}
	return true
}

// text passes the string at i.
func (s *scanner) text(i int) int {
	b := s.b
	i++
	if i+8 <= len(b) { // most names and many texts are shorter
		if m := odd(binary.LittleEndian.Uint64(b[i:])) & highs; m != 0 {
			if at := i + bits.TrailingZeros64(m)>>3; b[at] == '"' {
				return at + 1
			}
		}
	}
	for {
		if wide && len(b)-i >= wideBlock && i >= 3 && b[i] != '\\' {
			n, ok := wideText(&b[i], len(b)-i)
			if !ok {
				return s.stop(malformed, i)
			}
			for i += n; i < len(b) && b[i]&0xC0 == 0x80; i-- { // no text begins inside a character
			}
		}
		n, ok := plainText(b[i:])
		if i += n; i >= len(b) || !ok {
			return s.stop(malformed, i)
		}
		if b[i] == '"' {
			return i + 1
		}
		if b[i] != '\\' || i+1 >= len(b) {
			return s.stop(malformed, i)
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			r := hex4(b[i+2:])
			if r < 0 {
				return s.stop(malformed, i)
			}
			i += 6
			if !s.strict || !utf16.IsSurrogate(r) {
				continue
			}
			if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' || utf16.DecodeRune(r, hex4(b[i+2:])) == utf8.RuneError {
				return s.stop(malformed, i-6)
			}
			i += 6
		default:
			return s.stop(malformed, i)
		}
	}
}

// number passes the number at i.
func (s *scanner) number(i int) int {
	b := s.b
	digits := func() bool {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return s.stop(malformed, i)
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return s.stop(malformed, i)
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return s.stop(malformed, i)
		}
	}
	return i
}

// hex4 is the value of four hexadecimal digits, or -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// View is the text of the string v of valid JSON: a view into v or, when it has escapes, into buf, which grows. Anything else has no text.
func View(buf *[]byte, v []byte) []byte {
	if len(v) < 3 || v[0] != '"' {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1 : len(v)-1]
	}
	at := len(*buf)
	*buf = AppendMended(*buf, v)
	return (*buf)[at:len(*buf):len(*buf)]
}

// AppendMended appends the text of the string v of valid JSON, quotes included, to dst. Half a surrogate pair becomes U+FFFD.
func AppendMended(dst, v []byte) []byte {
	if len(v) < 2 {
		return dst
	}
	for v = v[1 : len(v)-1]; ; {
		at := bytes.IndexByte(v, '\\')
		if at < 0 || at+1 >= len(v) {
			return append(dst, v...)
		}
		dst = append(dst, v[:at]...)
		c := v[at+1]
		v = v[at+2:]
		switch c {
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'r':
			c = '\r'
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'u':
			var r rune
			r, v = escaped(v)
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// Mended is the valid JSON v in the form that Check takes: of equal names in an object the last stays, as parsers have it, and half a surrogate pair
// becomes U+FFFD. What has that form is returned as it is.
func Mended(v []byte) []byte {
	if scan(v, true, Defaults).bad == valid {
		return v
	}
	w := Writer{B: make([]byte, 0, len(v))}
	mend(&w, v)
	return w.B
}

// Compact is the valid JSON v without white space between its values, and with its texts escaped in one way, so that what says the same in the same
// order is the same.
func Compact(v []byte) []byte {
	w := Writer{B: make([]byte, 0, len(v))}
	mend(&w, v)
	return w.B
}

func mend(w *Writer, v []byte) {
	switch KindOf(v) {
	case Object:
		last := map[string][]byte{}
		var order []string
		c := At(v, 0)
		c.Enter()
		for c.next('}') { // not Member, which stops at a name with half a pair
			end := stringEnd(v, c.i)
			name := string(AppendMended(nil, v[c.i:end]))
			if _, known := last[name]; !known {
				order = append(order, name)
			}
			c.i = skipSpace(v, skipSpace(v, end)+1)
			last[name] = c.Skip()
		}
		w.Object()
		for _, name := range order {
			w.Name(name)
			mend(w, last[name])
		}
		w.EndObject()
	case Array:
		w.Array()
		for e := ElementsOf(v); e.Next(); {
			mend(w, e.Value)
		}
		w.EndArray()
	case String:
		w.Bytes(AppendMended(nil, v))
	default:
		w.Raw(v)
	}
}

// escaped reads what follows \u, with the second half of a pair when there is one.
func escaped(v []byte) (rune, []byte) {
	r := hex4(v)
	if r < 0 {
		return utf8.RuneError, v
	}
	v = v[4:]
	if !utf16.IsSurrogate(r) {
		return r, v
	}
	if len(v) >= 6 && v[0] == '\\' && v[1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(v[2:])); pair != utf8.RuneError {
			return pair, v[6:]
		}
	}
	return utf8.RuneError, v
}
