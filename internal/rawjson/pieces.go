package rawjson

import (
	"bytes"
	"errors"
	"strconv"
)

// Pieces is an object that comes value by value, each with the path at which it belongs, as Vertex streams the arguments of calls
// (streamFunctionCallArguments). Pieces of a text at one path are joined; any other value replaces the one before it.
type Pieces struct {
	root node
	gaps int // elements of lists that no value has had a path for
}

// node is a value within Pieces.
type node struct {
	kind    Kind    // Null: a gap, or what has nothing yet
	name    []byte  // in its object
	value   []byte  // escaped text, or JSON as it came
	members []*node // of an object in order, or the elements of a list
	byName  map[string]*node
}

const (
	maxPiecesDepth = 64
	maxPiecesGaps  = 1024
)

var errPieces = errors.New("rawjson: not a piece of an object")

// Add adds a list of pieces: {"jsonPath": "$.a[0]", "stringValue": "x"} or with numberValue, boolValue or nullValue. One without a value adds nothing.
func (p *Pieces) Add(list []byte) error {
	for e := ElementsOf(list); e.Next(); {
		if err := p.piece(e.Value); err != nil {
			return err
		}
	}
	return nil
}

// Set adds members of an object that came whole.
func (p *Pieces) Set(object []byte) {
	p.root.kind = Object
	for m := MembersOf(object); m.Next(); {
		n := p.root.member(m.Name)
		*n = node{kind: KindOf(m.Value), name: n.name, value: bytes.Clone(m.Value)}
		if n.kind == String {
			n.value = n.value[1 : len(n.value)-1]
		}
	}
}

func (p *Pieces) piece(v []byte) error {
	var path, value []byte
	for m := MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "jsonPath":
			path, _ = Unquote(m.Value)
		case "stringValue", "numberValue", "boolValue":
			value = m.Value
		case "nullValue":
			value = []byte("null")
		}
	}
	if value == nil {
		return nil
	}
	n, err := p.at(path)
	kind := KindOf(value)
	switch {
	case err != nil:
		return err
	case len(n.members) > 0 || kind == Object || kind == Array:
		return errPieces
	case kind != String:
		n.kind, n.value = kind, bytes.Clone(value)
	case n.kind == kind:
		n.value = append(n.value, value[1:len(value)-1]...)
	default:
		n.kind, n.value = kind, bytes.Clone(value[1:len(value)-1])
	}
	return nil
}

// at is the value at a path of RFC 9535: names behind dots or quoted in brackets, and places in lists.
func (p *Pieces) at(path []byte) (*node, error) {
	n := &p.root
	n.kind = Object
	if len(path) < 2 || path[0] != '$' {
		return nil, errPieces
	}
	for depth, rest := 0, path[1:]; len(rest) > 0; depth++ {
		name, place, after, err := step(rest)
		if err != nil || depth == maxPiecesDepth {
			return nil, errPieces
		}
		want := Object
		if name == nil {
			want = Array
		}
		if n.kind == Null && len(n.value) == 0 {
			n.kind = want
		}
		if n.kind != want || len(n.value) > 0 {
			return nil, errPieces
		}
		if rest = after; name != nil {
			n = n.member(name)
		} else if n, err = p.element(n, place); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// step cuts the first name or place off a path. A place has no name.
func step(path []byte) (name []byte, place int, rest []byte, err error) {
	if path[0] == '.' {
		end := bytes.IndexAny(path[1:], ".[") + 1
		if end == 0 {
			end = len(path)
		}
		if end == 1 {
			return nil, 0, nil, errPieces
		}
		return path[1:end], 0, path[end:], nil
	}
	if path[0] != '[' || len(path) < 3 {
		return nil, 0, nil, errPieces
	}
	if quote := path[1]; quote == '\'' || quote == '"' {
		return quotedName(path, quote)
	}
	end := bytes.IndexByte(path, ']')
	if end < 0 {
		return nil, 0, nil, errPieces
	}
	n, err := strconv.ParseUint(string(path[1:end]), 10, 31)
	return nil, int(n), path[end+1:], err
}

// quotedName reads ['name'], whose backslashes are those of JSON.
func quotedName(path []byte, quote byte) (name []byte, place int, rest []byte, err error) {
	text := []byte{'"'}
	for i := 2; i+1 < len(path); i++ {
		switch c := path[i]; {
		case c == quote && path[i+1] == ']':
			if name, ok := Unquote(append(text, '"')); ok && Valid(append(text, '"')) {
				return append([]byte{}, name...), 0, path[i+2:], nil
			}
			return nil, 0, nil, errPieces
		case c == '\\' && path[i+1] == '\'':
		case c == '\\':
			text = append(text, c, path[i+1])
			i++
		case c == '"':
			text = append(text, '\\', c)
		default:
			text = append(text, c)
		}
	}
	return nil, 0, nil, errPieces
}

func (n *node) member(name []byte) *node {
	if m := n.byName[string(name)]; m != nil {
		return m
	}
	if n.byName == nil {
		n.byName = map[string]*node{}
	}
	m := &node{kind: Null, name: bytes.Clone(name)}
	n.byName[string(name)] = m
	n.members = append(n.members, m)
	return m
}

// element is an element of a list. Those before it that had no value stay null: an empty object has none.
func (p *Pieces) element(n *node, place int) (*node, error) {
	if missing := place - len(n.members); missing > 0 {
		if p.gaps += missing; p.gaps > maxPiecesGaps {
			return nil, errPieces
		}
	}
	for len(n.members) <= place {
		n.members = append(n.members, &node{kind: Null})
	}
	return n.members[place], nil
}

// Append appends the object as far as it has come.
func (p *Pieces) Append(b []byte) []byte {
	p.root.kind = Object
	return p.root.append(b)
}

func (n *node) append(b []byte) []byte {
	switch {
	case n.kind == String:
		return append(append(append(b, '"'), n.value...), '"')
	case len(n.value) > 0:
		return append(b, n.value...)
	case n.kind == Null:
		return append(b, "null"...)
	}
	brackets := "{}"
	if n.kind == Array {
		brackets = "[]"
	}
	b = append(b, brackets[0])
	for i, m := range n.members {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == Object {
			b = append(AppendString(b, m.name), ':')
		}
		b = m.append(b)
	}
	return append(b, brackets[1])
}
