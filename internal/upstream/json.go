package upstream

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep a provider's JSON may nest.
const maxDepth = 128

// ValidJSON reports whether b is exactly one JSON value in UTF-8, nested at most 128 deep. It is kinder than the check of a
// client's body: names may repeat and an escape may be half a surrogate pair, because models do produce such text and a
// broken emoji must not end an answer.
func ValidJSON(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	var stack [maxDepth]byte // the closing bracket of each open container
	depth := 0
	i := space(b, 0)
	for {
		// a value begins at i
		if i >= len(b) {
			return false
		}
		switch c := b[i]; {
		case c == '"':
			if i = stringEnd(b, i); i < 0 {
				return false
			}
		case c == '{' || c == '[':
			if depth == maxDepth {
				return false
			}
			stack[depth] = c + 2 // '{'+2 is '}', '['+2 is ']'
			depth++
			i = space(b, i+1)
			if i < len(b) && b[i] == c+2 {
				break // empty: the closing loop below takes it
			}
			if c == '{' {
				if i = nameEnd(b, i); i < 0 {
					return false
				}
			}
			continue
		case c == '-' || c >= '0' && c <= '9':
			if i = numberEnd(b, i); i < 0 {
				return false
			}
		case c == 't' && bytes.HasPrefix(b[i:], []byte("true")), c == 'n' && bytes.HasPrefix(b[i:], []byte("null")):
			i += 4
		case c == 'f' && bytes.HasPrefix(b[i:], []byte("false")):
			i += 5
		default:
			return false
		}
		for { // behind a value: close what ends here
			if i = space(b, i); depth == 0 {
				return i == len(b)
			}
			if i >= len(b) {
				return false
			}
			if b[i] == stack[depth-1] {
				depth--
				i++
				continue
			}
			break
		}
		if b[i] != ',' {
			return false
		}
		i = space(b, i+1)
		if stack[depth-1] == '}' {
			if i = nameEnd(b, i); i < 0 {
				return false
			}
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// nameEnd passes a name and its colon, and returns where the value begins, or -1.
func nameEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = stringEnd(b, i); i < 0 {
		return -1
	}
	if i = space(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return space(b, i+1)
}

// plain tells the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// stringEnd returns the offset behind the string at b[i], or -1.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		c := b[i]
		if plain[c] {
			continue
		}
		if c == '"' {
			return i + 1
		}
		if c != '\\' || i+1 >= len(b) {
			return -1
		}
		i++
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if hex4(b[i+1:]) < 0 {
				return -1
			}
			i += 4
		default:
			return -1
		}
	}
	return -1
}

// numberEnd returns the offset behind the number at b[i], or -1.
func numberEnd(b []byte, i int) int {
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
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
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
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

// AppendText appends the text of the valid JSON string v, quotes included, to dst. Half a surrogate pair becomes U+FFFD.
func AppendText(dst, v []byte) []byte {
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
