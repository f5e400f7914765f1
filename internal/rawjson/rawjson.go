// Package rawjson exists so that bodies are checked once, strictly, and then read in place, without being turned into Go values.
// It must not do I/O, must not know any wire's field names, and must not read out of range on unchecked bytes.
package rawjson

import "bytes"

// Kind is the kind of a JSON value, named by the byte it usually begins with.
type Kind byte

// The kinds. Invalid is the end of the bytes or a byte that begins no value.
const (
	Invalid Kind = 0
	Null    Kind = 'n'
	False   Kind = 'f'
	True    Kind = 't'
	Number  Kind = '0'
	String  Kind = '"'
	Object  Kind = '{'
	Array   Kind = '['
)

// String is the kind in words for a sentence: "an object".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case False, True:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Object:
		return "an object"
	case Array:
		return "an array"
	}
	return "nothing"
}

func kindOfByte(c byte) Kind {
	switch c {
	case 'n', 'f', 't', '"', '{', '[':
		return Kind(c)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number
	}
	return Invalid
}

// KindOf is the kind of the value that v begins with, after space.
func KindOf(v []byte) Kind {
	if i := skipSpace(v, 0); i < len(v) {
		return kindOfByte(v[i])
	}
	return Invalid
}

// skipSpace returns the first index from i on that holds no JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// StringEnd returns the index after the closing quote of the string that opens at b[i], or -1 when it does not close. What is inside is not
// checked.
func StringEnd(b []byte, i int) int { return stringEnd(b, i) }

// stringEnd returns the index after the closing quote of the string that opens at b[i], or -1 when it does not close.
// In valid JSON a quote closes unless an odd number of backslashes precedes it, so plain text is skipped at the
// speed of IndexByte; each backslash is counted once at most, because counting stops at the quote before.
func stringEnd(b []byte, i int) int {
	first := i + 1
	for j := first; j <= len(b); {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		j += k
		p := j
		for p > first && b[p-1] == '\\' {
			p--
		}
		if (j-p)&1 == 0 {
			return j + 1
		}
		j++
		if wide && len(b)-j >= wideBlock { // where one quote is escaped, there are often many
			n, found := wideClose(&b[j], len(b)-j)
			if j += n; found {
				return j + 1
			}
			first = j
		}
	}
	return -1
}

// valueEnd returns the index after the value that begins at b[i], or -1. It trusts that brackets match.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch kindOfByte(b[i]) {
	case String:
		return stringEnd(b, i)
	case Object, Array:
		return containerEnd(b, i)
	case Number:
		for i++; i < len(b) && isNumberByte(b[i]); i++ {
		}
		return i
	case Null, True:
		return literalEnd(b, i, 4)
	case False:
		return literalEnd(b, i, 5)
	}
	return -1
}

func literalEnd(b []byte, i, n int) int {
	if len(b)-i < n {
		return -1
	}
	switch string(b[i : i+n]) {
	case "null", "true", "false":
		return i + n
	}
	return -1
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

func containerEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
