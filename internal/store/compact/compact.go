// Package compact makes the records of calls small: what a record repeats of the columns of its row, of itself and of words that many
// records have becomes a reference to it. It knows no field of a record, gives every byte back, and keeps no state.
package compact

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/bits"
	"sync"
)

// A packed record: the mark, the number of its words (0: the built-in ones alone), the length of the record and a checksum of it, then
// sequences. A sequence is a byte with two lengths, literal bytes, and, unless the record is complete, how far back its match begins: in
// the record so far, in the names before it, or in the words before those. Lengths of 15 and more continue in a number.
const (
	// mark is no version of a record of a journal.
	mark = 0xC1

	least   = 4        // bytes of a match
	longest = 48 << 10 // of records and names; longer ones are not packed
	// MostWords is how long learned words may be: with it nearly all distances take two bytes.
	MostWords = 12 << 10

	localBits = 10
	wordBits  = 13
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is what Expand returns of bytes that Append has not made with these names and words.
var errDamaged = errors.New("a packed record does not fit its row")

// Words are texts that many records have, prepared to be found.
type Words struct {
	ID   int64 // by which they are found again; 0 of the built-in ones
	text string
	at   [1 << wordBits]uint16 // place + 1 by hash
}

// New prepares learned words; the built-in ones come before them. Text beyond MostWords is not used.
func New(id int64, learned []byte) *Words {
	w := &Words{ID: id, text: builtIn + string(learned[:min(len(learned), MostWords)])}
	for i := 0; i+least <= len(w.text); i++ {
		w.at[hash(load(w.text, i), wordBits)] = uint16(i + 1)
	}
	return w
}

func load[T string | []byte](b T, i int) uint32 {
	return uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16 | uint32(b[i+3])<<24
}

func hash(n uint32, size uint) uint32 { return n * 2654435761 >> (32 - size) }

// state is what packing one record needs.
type state struct {
	at  [1 << localBits]uint16 // place + 1 in buf by hash
	buf []byte                 // names and record
}

var states = sync.Pool{New: func() any { return new(state) }}

// Append adds the packed form of a record to dst; names are those that Expand will be given. It adds the record itself where that is not
// longer.
func (w *Words) Append(dst, names, rec []byte) []byte {
	if len(names)+len(rec) > longest || len(rec) == 0 || rec[0] == mark {
		return append(dst, rec...)
	}
	begin := len(dst)
	dst = append(dst, mark)
	dst = binary.AppendUvarint(dst, uint64(w.ID))
	dst = binary.AppendUvarint(dst, uint64(len(rec)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(rec, castagnoli))
	s, _ := states.Get().(*state)
	dst = s.pack(dst, w, names, rec, nil)
	states.Put(s)
	if len(dst)-begin >= len(rec) {
		return append(dst[:begin], rec...)
	}
	return dst
}

// pack appends sequences. It calls literal, unless that is nil, with each piece of the record that is in no match.
func (s *state) pack(dst []byte, w *Words, names, rec []byte, literal func(from, to int)) []byte {
	clear(s.at[:])
	s.buf = append(append(s.buf[:0], names...), rec...)
	buf := s.buf
	for i := 0; i+least <= len(names); i++ {
		s.at[hash(load(buf, i), localBits)] = uint16(i + 1)
	}
	done := len(names) // all before is packed
	for i := done; i+least <= len(buf); {
		n := load(buf, i)
		slot := &s.at[hash(n, localBits)]
		length, distance := 0, 0
		if p := int(*slot) - 1; p >= 0 && load(buf, p) == n {
			length, distance = least+same(buf[p+least:], buf[i+least:]), i-p
		}
		if p := int(w.at[hash(n, wordBits)]) - 1; p >= 0 && load(w.text, p) == n {
			if more := least + same(w.text[p+least:], buf[i+least:]); more > length {
				length, distance = more, len(w.text)+i-p
			}
		}
		*slot = uint16(i + 1)
		if length == 0 {
			i++
			continue
		}
		if literal != nil && i > done {
			literal(done-len(names), i-len(names))
		}
		dst = sequence(dst, buf[done:i], length-least)
		dst = binary.AppendUvarint(dst, uint64(distance))
		i += length
		done = i
	}
	if literal != nil && done < len(buf) {
		literal(done-len(names), len(buf)-len(names))
	}
	if done < len(buf) {
		dst = sequence(dst, buf[done:], 0)
	}
	return dst
}

func sequence(dst, literals []byte, match int) []byte {
	dst = append(dst, byte(min(len(literals), 15)<<4|min(match, 15)))
	if len(literals) >= 15 {
		dst = binary.AppendUvarint(dst, uint64(len(literals)-15))
	}
	if match >= 15 {
		dst = binary.AppendUvarint(dst, uint64(match-15))
	}
	return append(dst, literals...)
}

// same counts the bytes with which both begin.
func same[T string | []byte](a T, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		x := uint64(load(a, i)) | uint64(load(a, i+4))<<32
		if y := binary.LittleEndian.Uint64(b[i:]); x != y {
			return i + bits.TrailingZeros64(x^y)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Packed reports whether a stored record is packed, and with which words.
func Packed(stored []byte) (words int64, packed bool) {
	if len(stored) == 0 || stored[0] != mark {
		return 0, false
	}
	n, size := binary.Uvarint(stored[1:])
	if size <= 0 || n > 1<<62 {
		return 0, true
	}
	return int64(n), true
}

// Expand adds the record to dst that Append made packed of. It fails when names or words are others, or the bytes are damaged.
func (w *Words) Expand(dst, names, packed []byte) ([]byte, error) {
	r := reader{rest: packed}
	if r.byte() != mark || r.number(1<<62) != int(w.ID) {
		return dst, errDamaged
	}
	size := r.number(longest)
	if len(r.rest) < 4 {
		return dst, errDamaged
	}
	sum := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	begin, out := len(dst), dst
	for len(out)-begin < size {
		lengths := r.byte()
		literals, match := int(lengths>>4), int(lengths&15)
		if literals == 15 {
			literals += r.number(longest)
		}
		if match == 15 {
			match += r.number(longest)
		}
		if left := size - (len(out) - begin); r.bad || literals > left || literals > len(r.rest) {
			return dst, errDamaged
		}
		out = append(out, r.rest[:literals]...)
		r.rest = r.rest[literals:]
		left := size - (len(out) - begin)
		if left == 0 {
			break
		}
		match += least
		back := r.number(1 << 20)
		if r.bad || match > left {
			return dst, errDamaged
		}
		var ok bool
		if out, ok = w.copy(out, begin, names, back, match); !ok {
			return dst, errDamaged
		}
	}
	if r.bad || len(r.rest) != 0 || crc32.Checksum(out[begin:], castagnoli) != sum {
		return dst, errDamaged
	}
	return out, nil
}

// copy appends a match. A match in words or names does not reach beyond their end; one in the record may overlap itself.
func (w *Words) copy(out []byte, begin int, names []byte, back, n int) ([]byte, bool) {
	at := len(out) - begin - back // in the record; below zero: before it
	switch {
	case back == 0:
		return out, false
	case at >= 0:
		for i := range n {
			out = append(out, out[begin+at+i])
		}
		return out, true
	}
	if at += len(names); at >= 0 {
		if k := min(n, len(names)-at); k > 0 {
			out = append(out, names[at:at+k]...)
			n -= k
		}
		for i := range n { // it goes on in the record
			out = append(out, out[begin+i])
		}
		return out, true
	}
	at += len(w.text)
	if at < 0 || at+n > len(w.text) {
		return out, false
	}
	return append(out, w.text[at:at+n]...), true
}

// reader reads a packed record. After the first invalid value bad is true.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

func (r *reader) number(most uint64) int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}
