package sim

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the type of a JSON value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

var kindNames = [...]string{null: "null", boolean: "a boolean", number: "a number", text: "a string", array: "an array", object: "an object"}

// node is one JSON value. The simulator reads requests with a parser of its own, so that a mistake in the gateway's
// parser is met by something that does not share it.
type node struct {
	kind  kind
	raw   []byte // as written
	text  string // of a text, decoded
	names []string
	items []node // elements of an array, values of an object beside names
}

const maxDepth = 256

var (
	errSyntax    = errors.New("the body is not valid JSON")
	errUTF8      = errors.New("the body is not valid UTF-8")
	errSurrogate = errors.New("a string holds half of a surrogate pair")
	errDeep      = errors.New("the body is nested too deeply")
)

// duplicateError is a name that an object has twice.
type duplicateError string

func (e duplicateError) Error() string { return "the member '" + string(e) + "' is given twice" }

// parse reads exactly one JSON value: RFC 8259, UTF-8, no duplicate names, nothing behind it.
func parse(b []byte) (*node, error) {
	if !utf8.Valid(b) {
		return nil, errUTF8
	}
	p := parser{b: b}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at != len(b) {
		return nil, errSyntax
	}
	return &n, nil
}

type parser struct {
	b  []byte
	at int
}

func (p *parser) space() {
	for p.at < len(p.b) {
		switch p.b[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.at == len(p.b) {
		return 0
	}
	return p.b[p.at]
}

func (p *parser) value(depth int) (n node, err error) {
	if depth > maxDepth {
		return n, errDeep
	}
	c := p.next()
	start := p.at
	switch {
	case c == '{':
		n, err = p.object(depth)
	case c == '[':
		n, err = p.array(depth)
	case c == '"':
		n.kind = text
		n.text, err = p.string()
	case c == '-' || c >= '0' && c <= '9':
		n.kind = number
		err = p.number()
	case c == 't':
		n.kind = boolean
		err = p.word("true")
	case c == 'f':
		n.kind = boolean
		err = p.word("false")
	case c == 'n':
		err = p.word("null")
	default:
		err = errSyntax
	}
	n.raw = p.b[start:p.at]
	return n, err
}

func (p *parser) word(w string) error {
	if len(p.b)-p.at < len(w) || string(p.b[p.at:p.at+len(w)]) != w {
		return errSyntax
	}
	p.at += len(w)
	return nil
}

func (p *parser) object(depth int) (node, error) {
	n := node{kind: object}
	p.at++
	if p.next() == '}' {
		p.at++
		return n, nil
	}
	var seen map[string]bool
	for {
		if p.next() != '"' {
			return n, errSyntax
		}
		name, err := p.string()
		if err != nil {
			return n, err
		}
		if seen == nil && n.has(name) || seen[name] {
			return n, duplicateError(name)
		}
		if p.next() != ':' {
			return n, errSyntax
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return n, err
		}
		n.names, n.items = append(n.names, name), append(n.items, v)
		if seen = remember(seen, n.names); seen != nil {
			seen[name] = true
		}
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return n, nil
		default:
			return n, errSyntax
		}
	}
}

// remember changes from comparing names one by one to a map once an object grows large.
func remember(seen map[string]bool, names []string) map[string]bool {
	if seen != nil || len(names) < 32 {
		return seen
	}
	seen = make(map[string]bool, 2*len(names))
	for _, name := range names {
		seen[name] = true
	}
	return seen
}

func (p *parser) array(depth int) (node, error) {
	n := node{kind: array}
	p.at++
	if p.next() == ']' {
		p.at++
		return n, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, v)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return n, nil
		default:
			return n, errSyntax
		}
	}
}

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.b) && p.b[p.at] >= '0' && p.b[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

func (p *parser) peek() byte {
	if p.at == len(p.b) {
		return 0
	}
	return p.b[p.at]
}

func (p *parser) number() error {
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return errSyntax
	}
	if p.peek() == '.' {
		if p.at++; !p.digits() {
			return errSyntax
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return errSyntax
		}
	}
	return nil
}

func (p *parser) string() (string, error) {
	p.at++
	start := p.at
	for p.at < len(p.b) {
		switch c := p.b[p.at]; {
		case c == '"':
			p.at++
			return string(p.b[start : p.at-1]), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", errSyntax
		default:
			p.at++
		}
	}
	return "", errSyntax
}

// escaped goes on with a string in which an escape was met.
func (p *parser) escaped(start int) (string, error) {
	out := append([]byte(nil), p.b[start:p.at]...)
	for p.at < len(p.b) {
		c := p.b[p.at]
		p.at++
		switch {
		case c == '"':
			return string(out), nil
		case c < 0x20:
			return "", errSyntax
		case c != '\\':
			out = append(out, c)
		default:
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return "", errSyntax
}

func (p *parser) escape() (rune, error) {
	c := p.peek()
	p.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return p.codePoint()
	}
	return 0, errSyntax
}

func (p *parser) codePoint() (rune, error) {
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.word(`\u`) != nil {
		return 0, errSurrogate
	}
	low, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, errSurrogate
	}
	return r, nil
}

func (p *parser) hex4() (rune, error) {
	if len(p.b)-p.at < 4 {
		return 0, errSyntax
	}
	v, err := strconv.ParseUint(string(p.b[p.at:p.at+4]), 16, 16)
	if err != nil || p.b[p.at] == '+' || p.b[p.at] == '-' {
		return 0, errSyntax
	}
	p.at += 4
	return rune(v), nil
}

// get is the value of a member, nil when there is none or n is no object.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.names {
		if n.names[i] == name {
			return &n.items[i]
		}
	}
	return nil
}

// given is get, but a null counts as absent.
func (n *node) given(name string) *node {
	if v := n.get(name); v != nil && v.kind != null {
		return v
	}
	return nil
}

func (n *node) has(name string) bool { return n.get(name) != nil }

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// str is the text of a string, "" of anything else.
func (n *node) str() string {
	if n == nil {
		return ""
	}
	return n.text
}

func (n *node) yes() bool { return n != nil && n.kind == boolean && n.raw[0] == 't' }

// whole is the number as an integer; false when it is written in any other way or does not fit.
func (n *node) whole() (int64, bool) {
	if !n.is(number) {
		return 0, false
	}
	v, err := strconv.ParseInt(string(n.raw), 10, 64)
	return v, err == nil
}

func (n *node) float() (float64, bool) {
	if !n.is(number) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	return v, err == nil
}

const hexDigits = "0123456789abcdef"

// appendText appends s, which is valid UTF-8, as a JSON string.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

func itoa(n int) string { return strconv.Itoa(n) }

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// canonical writes a value in the one form that all its spellings share: names in order, numbers and strings written again.
func canonical(dst []byte, n *node) []byte {
	switch n.kind {
	case object:
		order := make([]int, len(n.names))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(n.names[a], n.names[b]) })
		dst = append(dst, '{')
		for at, i := range order {
			if at > 0 {
				dst = append(dst, ',')
			}
			dst = canonical(append(appendText(dst, n.names[i]), ':'), &n.items[i])
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		for i := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = canonical(dst, &n.items[i])
		}
		return append(dst, ']')
	case text:
		return appendText(dst, n.text)
	case number:
		if x, ok := n.float(); ok {
			return strconv.AppendFloat(dst, x, 'g', -1, 64)
		}
	}
	return append(dst, n.raw...)
}

// appendCompact appends a value without the white space between its parts, so that it fits into a line.
func appendCompact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := stringEnd(raw, i)
			dst = append(dst, raw[i:end+1]...)
			i = end
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}
