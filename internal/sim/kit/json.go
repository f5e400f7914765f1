package kit

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

// Kind is the type of a JSON value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	Array
	Object
)

var kindNames = [...]string{Null: "null", Boolean: "a boolean", Number: "a number", Text: "a string", Array: "an array", Object: "an object"}

// Node is one JSON value. The tree is the simulator's; the syntax is checked by a library, which the gateway uses too.
type Node struct {
	Kind  Kind
	Raw   []byte // as written
	Text  string // of a text, decoded
	Names []string
	Items []Node // elements of an array, values of an object, in the order of names
}

const maxDepth = 256

var (
	errSyntax    = errors.New("the body is not valid JSON")
	errUTF8      = errors.New("the body is not valid UTF-8")
	errSurrogate = errors.New("a string holds half of a surrogate pair")
	errDeep      = errors.New("the body is nested too deeply")
)

// duplicateError is the name of a member that an object has twice.
type duplicateError string

func (e duplicateError) Error() string { return "the member '" + string(e) + "' is given twice" }

// Parse reads exactly one JSON value: RFC 8259, UTF-8, no duplicate names, nothing after it.
// The raw bytes of its nodes are slices of b.
func Parse(b []byte) (*Node, error) {
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

func (p *parser) value(depth int) (n Node, err error) {
	if depth > maxDepth {
		return n, errDeep
	}
	switch p.dec.PeekKind() {
	case '{', '[':
		return p.container(depth)
	case '"':
		n.Kind = Text
	case '0':
		n.Kind = Number
	case 't', 'f':
		n.Kind = Boolean
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return n, syntaxError(err)
	}
	end := int(p.dec.InputOffset())
	n.Raw = p.b[end-len(raw) : end]
	if n.Kind == Text {
		s, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return n, syntaxError(err)
		}
		n.Text = string(s)
	}
	return n, nil
}

func (p *parser) container(depth int) (n Node, err error) {
	open, err := p.dec.ReadToken()
	if err != nil {
		return n, syntaxError(err)
	}
	start := int(p.dec.InputOffset()) - 1
	end := jsontext.Kind(']')
	n.Kind = Array
	if open.Kind() == '{' {
		n.Kind, end = Object, '}'
	}
	for p.dec.PeekKind() != end {
		if n.Kind == Object {
			name, err := p.dec.ReadToken()
			if err != nil {
				return n, syntaxError(err)
			}
			n.Names = append(n.Names, name.String())
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return n, err
		}
		n.Items = append(n.Items, v)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return n, syntaxError(err)
	}
	n.Raw = p.b[start:p.dec.InputOffset()]
	return n, nil
}

// syntaxError reduces an error of the decoder to the ones that answers distinguish.
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

// Get returns the value of a member, or nil where there is no such member or n is not an object.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Names {
		if n.Names[i] == name {
			return &n.Items[i]
		}
	}
	return nil
}

// Given is Get, but returns nil for null.
func (n *Node) Given(name string) *Node {
	if v := n.Get(name); v != nil && v.Kind != Null {
		return v
	}
	return nil
}

// Has reports whether an object has a member.
func (n *Node) Has(name string) bool { return n.Get(name) != nil }

// Is reports whether n is not nil and has that kind.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Str returns the text of a string, "" for anything else.
func (n *Node) Str() string {
	if n == nil {
		return ""
	}
	return n.Text
}

// IsTrue reports whether a value is true.
func (n *Node) IsTrue() bool { return n != nil && n.Kind == Boolean && n.Raw[0] == 't' }

// Int returns a number as an integer; false when it has a fraction or an exponent or does not fit.
func (n *Node) Int() (int64, bool) {
	if !n.Is(Number) {
		return 0, false
	}
	v, err := strconv.ParseInt(string(n.Raw), 10, 64)
	return v, err == nil
}

func (n *Node) float() (float64, bool) {
	if !n.Is(Number) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(n.Raw), 64)
	return v, err == nil
}

// HexDigits are the hexadecimal digits in their order.
const HexDigits = "0123456789abcdef"

// AppendText appends s, which is valid UTF-8, as a JSON string.
func AppendText(dst []byte, s string) []byte {
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
			dst = append(dst, '\\', 'u', '0', '0', HexDigits[c>>4], HexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// Itoa is strconv.Itoa.
func Itoa(n int) string { return strconv.Itoa(n) }

// AppendInt writes a whole number.
func AppendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// Canonical appends a value in canonical form: sorted names, and numbers and strings in one spelling.
func Canonical(dst []byte, n *Node) []byte {
	switch n.Kind {
	case Object:
		order := make([]int, len(n.Names))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(n.Names[a], n.Names[b]) })
		dst = append(dst, '{')
		for at, i := range order {
			if at > 0 {
				dst = append(dst, ',')
			}
			dst = Canonical(append(AppendText(dst, n.Names[i]), ':'), &n.Items[i])
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		for i := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Canonical(dst, &n.Items[i])
		}
		return append(dst, ']')
	case Text:
		return AppendText(dst, n.Text)
	case Number:
		if x, ok := n.float(); ok {
			return strconv.AppendFloat(dst, x, 'g', -1, 64)
		}
	}
	return append(dst, n.Raw...)
}

// AppendCompact appends a value without the white space between its parts, so that it fits into a line.
func AppendCompact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := StringEnd(raw, i)
			dst = append(dst, raw[i:end+1]...)
			i = end
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}

// StringEnd returns the offset of the quote that ends the string beginning at i, or -1.
func StringEnd(b []byte, i int) int {
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
