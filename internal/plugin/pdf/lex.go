package pdf

import (
	"bytes"
	"strconv"
)

// The values of a file. Numbers are float64, true and false bool, null is nil, text is []byte.
type (
	name    string
	array   []any
	dict    map[name]any
	ref     int    // number of an object; generations do not matter where the last object of a number wins
	keyword string // an operator, or a word of the file's structure
)

// maxNesting of arrays and dictionaries.
const maxNesting = 64

// lexer reads values. It never fails: invalid data is skipped, and the end of the budget counts as the end of the data.
type lexer struct {
	in   []byte
	at   int
	paid int // up to where bytes were paid for
	*budget
	held int // bytes of the values read, since they were released last
}

// keep takes memory for what was read from the budget, and holds it until drop.
func (l *lexer) keep(bytes int) {
	l.held += bytes
	l.hold(bytes)
	l.pay(0)
}

// pay spends steps, and those for the bytes that were passed.
func (l *lexer) pay(steps int) bool {
	steps += max(l.at-l.paid, 0)
	l.paid = l.at
	return l.spend(steps)
}

// drop gives back the bytes of the values that were read so far: they are not used any more.
func (l *lexer) drop() {
	l.release(l.held)
	l.held = 0
}

// end is the value that a lexer returns at its end.
type end struct{}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// space passes over white space and comments.
func (l *lexer) space() {
	for l.at < len(l.in) {
		switch c := l.in[l.at]; {
		case isSpace(c):
			l.at++
		case c == '%':
			for l.at < len(l.in) && l.in[l.at] != '\n' && l.in[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// value reads the next value. It reads references only if refs is set, because in page contents "1 0 R" is three values.
func (l *lexer) value(depth int, refs bool) any {
	l.space()
	if !l.pay(tokenWork) {
		l.at = len(l.in)
	}
	if l.at >= len(l.in) {
		return end{}
	}
	switch c := l.in[l.at]; {
	case c == '/':
		return l.name()
	case c == '(':
		return l.text()
	case c == '[':
		l.at++
		return l.array(depth, refs)
	case c == '<' && l.at+1 < len(l.in) && l.in[l.at+1] == '<':
		l.at += 2
		return l.dict(depth, refs)
	case c == '<':
		return l.hex()
	case c == '>' && l.at+1 < len(l.in) && l.in[l.at+1] == '>':
		l.at += 2
		return keyword(">>")
	case isDelimiter(c):
		l.at++
		return keyword(c)
	}
	return l.word(refs)
}

func (l *lexer) array(depth int, refs bool) array {
	l.keep(2 * valueRoom)
	list := array{}
	for depth < maxNesting {
		switch v := l.value(depth+1, refs).(type) {
		case end:
			return list
		case keyword:
			if v == "]" {
				return list
			}
			if v == "endobj" || v == "endstream" || v == ">>" { // the bracket was forgotten
				return list
			}
		default:
			l.keep(valueRoom)
			list = append(list, v)
		}
	}
	return list
}

func (l *lexer) dict(depth int, refs bool) dict {
	l.keep(memberRoom)
	d := dict{}
	for depth < maxNesting {
		switch k := l.value(depth+1, refs).(type) {
		case end:
			return d
		case keyword:
			if k == ">>" || k == "endobj" || k == "stream" {
				return d
			}
		case name:
			switch v := l.value(depth+1, refs).(type) {
			case end:
				return d
			case keyword:
				if v == ">>" {
					return d
				}
			default:
				l.keep(memberRoom + len(k))
				d[k] = v
			}
		}
	}
	return d
}

func (l *lexer) name() name {
	l.at++
	begin := l.at
	for l.at < len(l.in) && !isSpace(l.in[l.at]) && !isDelimiter(l.in[l.at]) {
		l.at++
	}
	raw := l.in[begin:min(l.at, begin+256)]
	l.keep(valueRoom + len(raw))
	if bytes.IndexByte(raw, '#') < 0 {
		return name(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if hi, lo := nibble(raw[i+1]), nibble(raw[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return name(out)
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// text reads a string in parentheses.
func (l *lexer) text() []byte {
	l.at++
	out := []byte{}
	for depth := 1; l.at < len(l.in); l.at++ {
		switch c := l.in[l.at]; c {
		case '(':
			depth++
			out = append(out, c)
		case ')':
			if depth--; depth == 0 {
				l.at++
				l.keep(valueRoom + cap(out))
				return out
			}
			out = append(out, c)
		case '\\':
			out = l.escape(out)
		default:
			out = append(out, c)
		}
	}
	l.at = len(l.in) // an escape may have led beyond it
	l.keep(valueRoom + cap(out))
	return out
}

// escape reads an escape sequence up to its last byte.
func (l *lexer) escape(out []byte) []byte {
	l.at++
	if l.at >= len(l.in) {
		return out
	}
	switch c := l.in[l.at]; c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b', 'f':
		return append(out, ' ')
	case '\r': // a continued line
		if l.at+1 < len(l.in) && l.in[l.at+1] == '\n' {
			l.at++
		}
		return out
	case '\n':
		return out
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 0
		for i := 0; i < 3 && l.at < len(l.in) && l.in[l.at] >= '0' && l.in[l.at] <= '7'; i++ {
			n = n<<3 | int(l.in[l.at]-'0')
			l.at++
		}
		l.at--
		return append(out, byte(n))
	default:
		return append(out, c)
	}
}

// hex reads a string in angle brackets.
func (l *lexer) hex() []byte {
	l.at++
	out, half := []byte{}, -1
	for ; l.at < len(l.in); l.at++ {
		c := l.in[l.at]
		if c == '>' {
			l.at++
			break
		}
		n := nibble(c)
		switch {
		case n < 0:
		case half < 0:
			half = n
		default:
			out, half = append(out, byte(half<<4|n)), -1
		}
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	l.keep(valueRoom + cap(out))
	return out
}

// word reads a number, a reference or a keyword.
func (l *lexer) word(refs bool) any {
	raw := l.run()
	if len(raw) == 0 { // a byte that begins nothing
		l.at++
		return keyword("")
	}
	switch string(raw) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	n, ok := number(raw)
	if !ok {
		return keyword(raw[:min(len(raw), 64)])
	}
	if refs && n >= 0 && n == float64(int(n)) && raw[0] >= '0' && raw[0] <= '9' {
		if l.refers() {
			return ref(int(n))
		}
	}
	return n
}

func (l *lexer) run() []byte {
	begin := l.at
	for l.at < len(l.in) && !isSpace(l.in[l.at]) && !isDelimiter(l.in[l.at]) {
		l.at++
	}
	return l.in[begin:l.at]
}

// refers reads "0 R" if that follows a number.
func (l *lexer) refers() bool {
	back := l.at
	l.space()
	generation := l.run()
	if _, err := strconv.Atoi(string(generation[:min(len(generation), 8)])); err != nil {
		l.at = back
		return false
	}
	l.space()
	if l.at < len(l.in) && l.in[l.at] == 'R' && (l.at+1 == len(l.in) || isSpace(l.in[l.at+1]) || isDelimiter(l.in[l.at+1])) {
		l.at++
		return true
	}
	l.at = back
	return false
}

func number(raw []byte) (float64, bool) {
	if c := raw[0]; c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') || len(raw) > 32 {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && n < 1e15 && n > -1e15
}
