package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"weir/internal/encoded"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainPrefix counts the leading bytes of b that need no escape inside a JSON string: no control character, quote or
// backslash. Bytes from 0x80 on count as plain; whether they are UTF-8 is not its question.
func plainPrefix(b []byte) int {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		w := b[i : i+32 : i+32]
		if special(w)|special(w[8:])|special(w[16:])|special(w[24:]) != 0 {
			break
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if m := special(b[i:]); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// special has the high bit set in the first of eight bytes that is a control character, quote or backslash, and none set when
// there is none. A borrow may set bits above the first.
func special(b []byte) uint64 {
	x := binary.LittleEndian.Uint64(b)
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// odd has the high bit set in the first of eight bytes that is a control character, quote, backslash or not ASCII, and none set when there is none. A
// borrow may set bits above the first.
func odd(x uint64) uint64 {
	return x | (x - ones*0x20) | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)
}

// AppendString appends s as a JSON string. It escapes what RFC 8259 demands and nothing else, no HTML; bytes that are not
// UTF-8 become U+FFFD.
func AppendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, s)
	return append(dst, '"')
}

// AppendText is AppendString for a Go string.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			dst = append(dst, s[:i]...)
			dst = AppendEscaped(dst, []byte(s[i:]))
			return append(dst, '"')
		}
	}
	dst = append(dst, s...)
	return append(dst, '"')
}

// AppendBase64 appends data as a JSON string, without looking at it: package encoded has checked it.
func AppendBase64(dst []byte, data encoded.Base64) []byte {
	return append(append(append(dst, '"'), data.Text()...), '"')
}

// AppendEscaped is AppendString without the quotes.
func AppendEscaped(dst, s []byte) []byte {
	if !ValidUTF8(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	for len(s) > 0 {
		n := plainPrefix(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			break
		}
		dst = appendEscape(dst, s[n])
		s = s[n+1:]
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendOneLine appends the valid JSON v without raw line ends, so that it fits into one line of an event stream.
func AppendOneLine(dst, v []byte) []byte {
	at := len(dst)
	dst = append(dst, v...)
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return dst
	}
	for i, c := range dst[at:] {
		if c == '\n' || c == '\r' { // valid JSON has them between tokens only
			dst[at+i] = ' '
		}
	}
	return dst
}
