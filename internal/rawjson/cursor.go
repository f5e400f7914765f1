package rawjson

import "bytes"

// Cursor walks over JSON bytes once, from left to right, without allocating. It is meant for checked bytes; on others it may
// accept what is no JSON, but it neither panics nor reads out of range, and ends with Bad.
//
// A value is read by exactly one of Enter, Skip and the reading methods. Inside a container, Member or Element moves on to
// the next value; both return false after the last one, with the cursor after the closing bracket.
type Cursor struct {
	b      []byte
	i      int
	bad    bool
	inside bool // a value of the current container was passed: a comma comes before the next
	nameAt int
}

// At is a cursor before the value at b[i].
func At(b []byte, i int) Cursor {
	if i < 0 || i > len(b) {
		return Cursor{b: b, i: len(b), bad: true}
	}
	return Cursor{b: b, i: i}
}

// Bad reports whether the bytes turned out not to be JSON.
func (c *Cursor) Bad() bool { return c.bad }

// Pos is the offset of the next byte to read. Before a value, after Kind, it is the value's first byte.
func (c *Cursor) Pos() int { return c.i }

// NameAt is the offset of the opening quote of the name that Member returned last.
func (c *Cursor) NameAt() int { return c.nameAt }

// Kind is the kind of the value before the cursor, which moves over space alone.
func (c *Cursor) Kind() Kind {
	if c.bad {
		return Invalid
	}
	c.i = skipSpace(c.b, c.i)
	if c.i < len(c.b) {
		return kindOfByte(c.b[c.i])
	}
	return Invalid
}

// Enter goes into the object or array before the cursor. It returns false, without moving, before anything else.
func (c *Cursor) Enter() bool {
	if k := c.Kind(); k != Object && k != Array {
		return false
	}
	c.i++
	c.inside = false
	return true
}

// next moves to the next value or name of a container that closes with end.
func (c *Cursor) next(end byte) bool {
	if c.bad {
		return false
	}
	i := skipSpace(c.b, c.i)
	if i < len(c.b) && c.b[i] == end {
		c.i, c.inside = i+1, true
		return false
	}
	if c.inside {
		if i >= len(c.b) || c.b[i] != ',' {
			return c.fail()
		}
		i = skipSpace(c.b, i+1)
	}
	if i >= len(c.b) {
		return c.fail()
	}
	c.i, c.inside = i, true
	return true
}

func (c *Cursor) fail() bool {
	c.bad = true
	c.i = len(c.b)
	return false
}

// Member moves to the next member of an object and returns its name, unquoted: a view into the bytes, or a copy when the name
// is written with escapes.
func (c *Cursor) Member() (name []byte, ok bool) {
	if !c.next('}') {
		return nil, false
	}
	at := c.i
	if c.b[at] != '"' {
		return nil, c.fail()
	}
	end := stringEnd(c.b, at)
	if end < 0 {
		return nil, c.fail()
	}
	i := skipSpace(c.b, end)
	if i >= len(c.b) || c.b[i] != ':' {
		return nil, c.fail()
	}
	name = c.b[at+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		if name, ok = Unquote(c.b[at:end]); !ok {
			return nil, c.fail()
		}
	}
	c.nameAt, c.i = at, skipSpace(c.b, i+1)
	return name, true
}

// Element moves to the next element of an array.
func (c *Cursor) Element() bool { return c.next(']') }

// Skip passes the value before the cursor and returns its bytes, or nil.
func (c *Cursor) Skip() []byte {
	if c.Kind() == Invalid {
		c.fail()
		return nil
	}
	at := c.i
	end := valueEnd(c.b, at)
	if end < 0 {
		c.fail()
		return nil
	}
	c.i, c.inside = end, true
	return c.b[at:end:end]
}

// Members is an iterator over an object's members:
//
//	for m := rawjson.MembersOf(v); m.Next(); { use(m.Name, m.Value) }
type Members struct {
	Name  []byte // unquoted
	Value []byte
	Start int // offset of the name's opening quote in the object's bytes
	At    int // offset of the value
	End   int // offset after the value

	c  Cursor
	ok bool
}

// MembersOf iterates over the object that v begins with; anything else has no members.
func MembersOf(v []byte) Members {
	m := Members{c: At(v, 0)}
	m.ok = m.c.Kind() == Object && m.c.Enter()
	return m
}

// Next moves to the next member.
func (m *Members) Next() bool {
	if !m.ok {
		return false
	}
	if m.Name, m.ok = m.c.Member(); !m.ok {
		return false
	}
	m.Start, m.At = m.c.NameAt(), m.c.Pos()
	m.Value = m.c.Skip()
	m.End = m.c.Pos()
	m.ok = m.Value != nil
	return m.ok
}

// Bad reports whether the iteration ended at something that is no JSON.
func (m *Members) Bad() bool { return m.c.Bad() }

// Elements is an iterator over an array's elements.
type Elements struct {
	Value []byte
	At    int // offset of the value in the array's bytes

	c  Cursor
	ok bool
}

// ElementsOf iterates over the array that v begins with; anything else has no elements.
func ElementsOf(v []byte) Elements {
	e := Elements{c: At(v, 0)}
	e.ok = e.c.Kind() == Array && e.c.Enter()
	return e
}

// Next moves to the next element.
func (e *Elements) Next() bool {
	if !e.ok || !e.c.Element() {
		e.ok = false
		return false
	}
	e.Value = e.c.Skip()
	e.At = e.c.Pos() - len(e.Value)
	e.ok = e.Value != nil
	return e.ok
}

// Find is the value of the member of that exact name, nil when v is no object or has none.
func Find(v []byte, name string) []byte {
	for m := MembersOf(v); m.Next(); {
		if string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// FindPath follows member names into nested objects.
func FindPath(v []byte, names ...string) []byte {
	for _, name := range names {
		if v = Find(v, name); v == nil {
			return nil
		}
	}
	return v
}
