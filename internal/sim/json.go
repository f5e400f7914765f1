package sim

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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

// node is one JSON value. The tree is the simulator's own; a library, which the gateway reads with too, checks the syntax.
type node struct {
	kind  kind
	raw   []byte // as written
	text  string // of a text, decoded
	names []string
	items []node // elements of an array, values of an object, in the order of names
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

// parse reads exactly one JSON value: RFC 8259, UTF-8, no duplicate names, nothing after it.
// The raw bytes of its nodes are slices of b.
func parse(b []byte) (*node, error) {
	if !utf8.Valid(b) {
		return nil, errUTF8
	}
	p := parser{b: b, dec: jsontext.NewDecoder(bytes.NewBuffer(b))}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		return nil, errSyntax
	}
	return &n, nil
}

// parser builds nodes from the tokens of a decoder, which checks the syntax.
type parser struct {
	b   []byte
	dec *jsontext.Decoder
}

func (p *parser) value(depth int) (n node, err error) {
	if depth > maxDepth {
		return n, errDeep
	}
	switch p.dec.PeekKind() {
	case '{', '[':
		return p.container(depth)
	case '"':
		n.kind = text
	case '0':
		n.kind = number
	case 't', 'f':
		n.kind = boolean
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return n, syntaxError(err)
	}
	end := int(p.dec.InputOffset())
	n.raw = p.b[end-len(raw) : end]
	if n.kind == text {
		s, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return n, syntaxError(err)
		}
		n.text = string(s)
	}
	return n, nil
}

func (p *parser) container(depth int) (n node, err error) {
	open, err := p.dec.ReadToken()
	if err != nil {
		return n, syntaxError(err)
	}
	start := int(p.dec.InputOffset()) - 1
	end := jsontext.Kind(']')
	n.kind = array
	if open.Kind() == '{' {
		n.kind, end = object, '}'
	}
	for p.dec.PeekKind() != end {
		if n.kind == object {
			name, err := p.dec.ReadToken()
			if err != nil {
				return n, syntaxError(err)
			}
			n.names = append(n.names, name.String())
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, v)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return n, syntaxError(err)
	}
	n.raw = p.b[start:p.dec.InputOffset()]
	return n, nil
}

// syntaxError reduces an error of the decoder to the ones that answers tell apart.
func syntaxError(err error) error {
	var syntactic *jsontext.SyntacticError
	switch errors.As(err, &syntactic); {
	case syntactic == nil:
		return errSyntax
	case errors.Is(err, jsontext.ErrDuplicateName):
		return duplicateError(syntactic.JSONPointer.LastToken())
	case syntactic.Err != nil && strings.Contains(syntactic.Err.Error(), "surrogate"):
		return errSurrogate
	}
	return errSyntax
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

// stringEnd is the offset of the quote that ends the string that begins at i, -1 when there is none.
func stringEnd(b []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		end := from + n
		slashes := 0
		for b[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		from = end + 1
	}
}
