// Package compact reads the records of calls that older versions have packed: what a record repeated of the columns of its row, of itself
// and of words that many records have is a reference to it. Nothing writes them any more; the package goes one version later.
package compact

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A packed record: the mark, the number of its words (0: the built-in ones alone), the length of the record and a checksum of it, then
// sequences. A sequence is a byte with two lengths, literal bytes, and, unless the record is complete, how far back its match begins: in
// the record so far, in the names before it, or in the words before those. Lengths of 15 and more continue in a number.
const (
	// mark is no version of a record of a journal.
	mark = 0xC1

	least    = 4        // bytes of a match
	longest  = 48 << 10 // of records and names; longer ones are not packed
	mostText = 12 << 10 // of learned words
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is what Expand returns of bytes that were not packed with these names and words.
var errDamaged = errors.New("a packed record does not fit its row")

// Words are texts that many records have.
type Words struct {
	id   int64
	text string
}

// New makes words of those that were learned; the built-in ones come before them.
func New(id int64, learned []byte) *Words {
	return &Words{id, builtIn + string(learned[:min(len(learned), mostText)])}
}

// builtIn are texts of nearly all records. They never change: packed records refer to places in them.
const builtIn = "anthropic/claude-openai/gpt-google/gemini-deepseek/deepseek-qwen/qwen3-default\x00\x00\x00image_generationembeddingsmessagesresponsescompletions" +
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" +
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/ Safari/537.36anthropic-sdk-python/AsyncOpenAI/Python Anthropic/JS OpenAI/JS OpenAI/Python " +
	"\x90\x03\x0fcontext_length\x00\x11provider_overloaded\x13rate_limit_exceeded\x0frequest_timeout\x14provider_unavailable\x06canceled\x06lengthtool_use\x0atool_calls\x08end_turn" +
	"\x08end_turn\x06length\x06length\x0atool_calls\x0atool_calls\x90\x03\x00\x04stop\x04stop\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05price\x06weight\x06single\x07default\x00\x03\x00\x0dmsg_\x0echatcmpl-\x26resp_\x1creq_"

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

// Expand adds the record to dst that was packed. It fails when names or words are others, or the bytes are damaged.
func (w *Words) Expand(dst, names, packed []byte) ([]byte, error) {
	r := reader{rest: packed}
	if r.byte() != mark || r.number(1<<62) != int(w.id) {
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
