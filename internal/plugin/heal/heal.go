// Package heal repairs JSON that a model has written almost correctly: between code fences or prose, with commas too many or too few,
// with other quotes or none, with Python's literals, or cut off. It never changes valid JSON. It must not depend on requests or schemas.
package heal

import (
	"bytes"
	"unicode/utf8"

	"weir/internal/rawjson"
)

const (
	maxDepth  = 100 // of nesting: deeper values are not repaired
	maxStarts = 32  // places at which an object or list may begin, in prose
)

// JSON returns the JSON object or list in text, repaired if necessary; ok is false, and text itself returned, when there is none. Text
// that is valid JSON of any kind is returned unchanged. The result is text itself or a view into it where nothing had to be repaired, and
// newly allocated otherwise. The work grows with the length of text.
func JSON(text []byte) (mended []byte, ok bool) {
	if rawjson.Valid(text) {
		return text, true
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	best, most := []byte(nil), 0
	for _, part := range fenced(text) {
		for at, starts := 0, 0; starts < maxStarts; starts++ {
			next := bytes.IndexAny(part[at:], "{[")
			if next < 0 {
				break
			}
			at += next
			m := mender{in: part, at: at, room: 4*len(part) + 1024}
			m.value(0)
			if m.failed {
				at++
				continue
			}
			out := m.out
			if rawjson.Valid(part[at:m.at]) {
				out = part[at:m.at:m.at]
			}
			if m.at-at > most && rawjson.Valid(out) {
				best, most = out, m.at-at
			}
			at = m.at
		}
		if best != nil {
			return best, true
		}
	}
	return text, false
}

// fenced are the places where the JSON may be: between code fences, unless something begins before them, and then everything.
func fenced(text []byte) [][]byte {
	before, inside, ok := bytes.Cut(text, []byte("```"))
	if !ok || bytes.ContainsAny(before, "{[") {
		return [][]byte{text}
	}
	line, rest, more := bytes.Cut(inside, []byte("\n"))
	if more && !bytes.ContainsAny(line, "{[") { // the name of a language
		inside = rest
	}
	if end := bytes.Index(inside, []byte("\n```")); end >= 0 {
		inside = inside[:end]
	} else if end := bytes.LastIndex(inside, []byte("```")); end >= 0 {
		inside = inside[:end]
	}
	return [][]byte{inside, text}
}

// mender reads a value as kindly as it can, and writes it as JSON.
type mender struct {
	in     []byte
	at     int
	out    []byte
	room   int  // bytes that the result may have
	failed bool // nothing can be made of it
}

func (m *mender) fail() { m.failed = true }

// space passes over white space, comments and byte order marks.
func (m *mender) space() {
	for m.at < len(m.in) {
		rest := m.in[m.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			m.at++
		case bytes.HasPrefix(rest, []byte("\uFEFF")):
			m.at += 3
		case bytes.HasPrefix(rest, []byte("\u00A0")):
			m.at += 2
		case bytes.HasPrefix(rest, []byte("//")):
			m.skipTo("\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			m.at += 2
			m.skipTo("*/")
		default:
			return
		}
	}
}

// skipTo passes over everything up to and with end.
func (m *mender) skipTo(end string) {
	if i := bytes.Index(m.in[m.at:], []byte(end)); i >= 0 {
		m.at += i + len(end)
		return
	}
	m.at = len(m.in)
}

// peek is the next byte after white space, 0 at the end.
func (m *mender) peek() byte {
	m.space()
	if m.at == len(m.in) {
		return 0
	}
	return m.in[m.at]
}

func (m *mender) value(depth int) {
	if depth > maxDepth || len(m.out) > m.room {
		m.fail()
		return
	}
	switch c := m.peek(); {
	case c == '{':
		m.object(depth)
	case c == '[':
		m.list(depth)
	case m.quote() != "":
		m.text(false)
	case c == 0:
		m.out = append(m.out, "null"...)
	default:
		m.word()
	}
}

func (m *mender) object(depth int) {
	m.at++
	m.out = append(m.out, '{')
	for first := true; !m.failed; {
		switch c := m.peek(); {
		case c == ',' || c == ';':
			m.at++
			continue
		case c == '}':
			m.at++
			m.out = append(m.out, '}')
			return
		case c == 0 || c == ']': // cut off, or ended by the bracket of the list around it
			m.out = append(m.out, '}')
			return
		}
		before := len(m.out)
		if !first {
			m.out = append(m.out, ',')
		}
		if !m.name() {
			m.out = m.out[:before]
			if m.peek() != 0 {
				m.fail()
			}
			continue
		}
		first = false
		m.out = append(m.out, ':')
		switch c := m.peek(); c {
		case ',', '}', ']', 0:
			m.out = append(m.out, "null"...)
		default:
			m.value(depth + 1)
		}
	}
}

// name reads the name of a member and the colon after it. Without a colon it is not a name, unless a value follows.
func (m *mender) name() bool {
	if m.quote() != "" {
		m.text(true)
	} else {
		begin := m.at
		for m.at < len(m.in) && bytes.IndexByte([]byte(" \t\r\n:,{}[]\"'="), m.in[m.at]) < 0 {
			m.at++
		}
		if m.at == begin {
			return false
		}
		m.out = rawjson.AppendString(m.out, m.in[begin:m.at])
	}
	switch c := m.peek(); {
	case c == ':':
		m.at++
	case bytes.HasPrefix(m.in[m.at:], []byte("=>")):
		m.at += 2
	case c == '=':
		m.at++
	case c == 0:
		return false // broken off inside the name
	case c == '{' || c == '[' || m.quote() != "" || c == '-' || c >= '0' && c <= '9':
	default:
		m.fail()
	}
	return true
}

func (m *mender) list(depth int) {
	m.at++
	m.out = append(m.out, '[')
	for first := true; !m.failed; {
		switch c := m.peek(); {
		case c == ',' || c == ';':
			m.at++
			continue
		case c == ']':
			m.at++
			m.out = append(m.out, ']')
			return
		case c == 0 || c == '}':
			m.out = append(m.out, ']')
			return
		}
		if !first {
			m.out = append(m.out, ',')
		}
		first = false
		if m.value(depth + 1); m.peek() == ':' { // a list that was not closed before the next member: its end is unknown
			m.fail()
		}
	}
}

// quotes are the marks that begin a text, with those that may end it.
var quotes = [...]struct{ open, end string }{
	{`"`, `"`}, {`'`, `'`}, {"`", "`"}, {"\u201C", "\u201D"}, {"\u2018", "\u2019"}, {"\u00AB", "\u00BB"},
}

// quote returns the mark that ends the text beginning here, "" when none begins.
func (m *mender) quote() string {
	rest := m.in[m.at:]
	for _, q := range quotes {
		if bytes.HasPrefix(rest, []byte(q.open)) {
			return q.end
		}
	}
	return ""
}

// text reads a text in quotes. An unescaped quote inside it is part of it, except in a name: the quote that ends it comes before a comma,
// a colon, a closing bracket or the end.
func (m *mender) text(name bool) {
	end := m.quote()
	_, width := utf8.DecodeRune(m.in[m.at:])
	m.at += width
	m.out = append(m.out, '"')
	for m.at < len(m.in) {
		c := m.in[m.at]
		switch {
		case c == '\\':
			m.escape()
		case bytes.HasPrefix(m.in[m.at:], []byte(end)):
			if name || m.ends(m.at+len(end)) {
				m.at += len(end)
				m.out = append(m.out, '"')
				return
			}
			m.out = rawjson.AppendEscaped(m.out, []byte(end))
			m.at += len(end)
		default:
			_, width := utf8.DecodeRune(m.in[m.at:])
			m.out = rawjson.AppendEscaped(m.out, m.in[m.at:m.at+width])
			m.at += width
		}
	}
	m.out = append(m.out, '"')
}

// lookAhead is how much white space may be between a quote that ends a text and the mark that shows it.
const lookAhead = 256

// ends reports whether a quote that ends at that place ends its text.
func (m *mender) ends(at int) bool {
	line := false
	for i := at; i < len(m.in) && i < at+lookAhead; i++ {
		switch m.in[i] {
		case ' ', '\t', '\r':
		case '\n':
			line = true
		case ',', ':', '}', ']', '"':
			return true
		case '\'', '/':
			return i > at
		default:
			return line
		}
	}
	return true
}

// escape reads an escape sequence: those of JSON are kept, an escape of another language becomes the character itself.
func (m *mender) escape() {
	if m.at+1 >= len(m.in) { // broken off inside it
		m.at = len(m.in)
		return
	}
	switch c := m.in[m.at+1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		m.out = append(m.out, '\\', c)
		m.at += 2
	case 'u':
		if end := m.at + 6; end <= len(m.in) && isHex(m.in[m.at+2:end]) {
			m.out = append(m.out, m.in[m.at:end]...)
			m.at = end
			return
		}
		m.out = append(m.out, `\\`...)
		m.at++
	case '\'', '`':
		m.out = append(m.out, c)
		m.at += 2
	case '\n': // a continued line
		m.at += 2
	default:
		m.out = append(m.out, `\\`...)
		m.at++
	}
}

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// literals maps the literals of other languages to JSON's.
var literals = map[string]string{
	"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false",
	"null": "null", "None": "null", "NULL": "null", "nil": "null", "undefined": "null", "NaN": "null", "Infinity": "null", "-Infinity": "null",
}

// word reads a value without quotes: a number, a literal, or a text up to the next comma, bracket or line.
func (m *mender) word() {
	begin := m.at
	for m.at < len(m.in) && bytes.IndexByte([]byte(",]}\n\r"), m.in[m.at]) < 0 && !bytes.HasPrefix(m.in[m.at:], []byte("//")) {
		m.at++
	}
	text := bytes.TrimSpace(m.in[begin:m.at])
	if len(text) == 0 { // a comma or bracket where a value should be, or a byte that nothing begins with
		m.at = max(m.at, begin+1)
		m.out = append(m.out, "null"...)
		return
	}
	if literal, ok := literals[string(text)]; ok {
		m.out = append(m.out, literal...)
		return
	}
	if number := number(text); rawjson.IsNumber(number) && rawjson.Valid(number) {
		m.out = append(m.out, number...)
		return
	}
	m.out = rawjson.AppendString(m.out, text)
}

// number is a number as JSON writes it, if it is one but for its spelling.
func number(text []byte) []byte {
	if rawjson.Valid(text) {
		return text
	}
	sign := []byte(nil)
	switch text[0] {
	case '+':
		text = text[1:]
	case '-':
		sign, text = []byte("-"), text[1:]
	}
	whole, fraction, point := bytes.Cut(bytes.ReplaceAll(text, []byte("_"), nil), []byte("."))
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) == 0 {
		whole = []byte("0")
	}
	out := append(append([]byte(nil), sign...), whole...)
	if point && len(fraction) > 0 {
		out = append(append(out, '.'), fraction...)
	}
	return out
}
