package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"weir/internal/fault"
)

// Limits bound what a body may hold. A zero field means the default.
type Limits struct {
	Depth  int // nested objects and arrays
	Keys   int // members of one object
	Values int // values of all kinds together
}

// Defaults are the limits of a client's body.
var Defaults = Limits{Depth: 128, Keys: 10_000, Values: 2_000_000}

// hardDepth is the deepest nesting that Check can be told to allow.
const hardDepth = 128

const op = "rawjson.Check"

// Check accepts exactly one RFC 8259 value in valid UTF-8, with unique names in every object, no lone surrogate escapes, no
// byte order mark, nothing but space around it, and within lim. It returns nil or a fault of kind Invalid, DuplicateKey or
// TooDeep whose sentence names the offset; it never panics. Passing it is what makes bytes "checked" elsewhere.
//
// The judge is jsontext. What it is shown is an outline of b, in which long runs of plain text inside string values are
// replaced by one letter: that changes nothing about validity, and makes prose and base64 cost next to nothing.
func Check(b []byte, lim Limits) *fault.Error {
	if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
		return fault.New(fault.Invalid, op, "The body begins with a byte order mark; send plain UTF-8 JSON.")
	}
	if !utf8.Valid(b) {
		return explain(b)
	}
	o := outlines.Get().(*outline)
	defer o.free()
	// sizes first: they bound the work of the judge
	if err := o.measure(b, lim.orDefaults()); err != nil {
		return err
	}
	if !jsontext.Value(o.of(b)).IsValid() {
		return explain(b)
	}
	return nil
}

// outline is a body without its long runs of plain text. In it and in the body, tokens begin and end alike.
type outline struct {
	kept []byte
	upTo int // what of the body is in kept, or left out
}

var outlines = sync.Pool{New: func() any { return new(outline) }}

const (
	minRun     = 64        // bytes: a shorter run is not worth leaving out
	maxShort   = 8         // so many short runs one after another, and the rest of the string is not worth looking at
	maxOutline = 256 << 10 // bytes: a larger buffer is not kept for reuse
)

func (o *outline) free() {
	if cap(o.kept) > maxOutline {
		o.kept = nil
	}
	o.kept, o.upTo = o.kept[:0], 0
	outlines.Put(o)
}

// of completes the outline of b.
func (o *outline) of(b []byte) []byte {
	if o.upTo == 0 {
		return b
	}
	o.kept, o.upTo = append(o.kept, b[o.upTo:]...), len(b)
	return o.kept
}

// text leaves out the long runs of b[i:end], the inside of a string value. Escapes stay, and with them at least one letter
// of each run, so that two halves of a surrogate pair do not meet across it.
func (o *outline) text(b []byte, i, end int) {
	for short := 0; i < end && short < maxShort; {
		n := plainPrefix(b[i:end])
		if short++; n >= minRun {
			short = 0
			o.kept = append(append(o.kept, b[o.upTo:i]...), 'x')
			o.upTo = i + n
		}
		i += n + 2 // the backslash and what it escapes; a control character stays too, and is the judge's to find
		if i <= end && b[i-1] == 'u' {
			i += 4 // its digits
		}
	}
}

func (l Limits) orDefaults() Limits {
	if l.Depth <= 0 || l.Depth > hardDepth {
		l.Depth = Defaults.Depth
	}
	if l.Keys <= 0 {
		l.Keys = Defaults.Keys
	}
	if l.Values <= 0 {
		l.Values = Defaults.Values
	}
	return l
}

// measure counts depth, names and values, and makes the outline. The bytes may be no JSON at all; then the figures do not
// matter, and the outline is no JSON either: up to the first error both lexers see the same tokens.
func (o *outline) measure(b []byte, lim Limits) *fault.Error {
	var keys [hardDepth + 1]int
	depth, values := 0, 1
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if end < 0 {
				return nil // unterminated: the judge tells where
			}
			if end-i > minRun {
				// names stay whole: the judge compares them
				if next := skipSpace(b, end); next == len(b) || b[next] != ':' {
					o.text(b, i+1, end-1)
				}
			}
			i = end
			continue
		case '{', '[':
			if depth++; depth > lim.Depth {
				return fault.Newf(fault.TooDeep, op, "The body is nested deeper than %d levels at byte %d.", lim.Depth, i)
			}
			keys[depth] = 0
			if j := skipSpace(b, i+1); j < len(b) && b[j] != '}' && b[j] != ']' {
				values++
			}
		case '}', ']':
			if depth--; depth < 0 {
				return nil
			}
		case ',':
			values++
		case ':':
			if keys[depth]++; keys[depth] > lim.Keys {
				return fault.Newf(fault.Invalid, op, "An object has more than %d names at byte %d.", lim.Keys, i)
			}
		}
		i++
	}
	if values > lim.Values {
		return fault.Newf(fault.Invalid, op, "The body holds more than %d values.", lim.Values)
	}
	return nil
}

// explain finds out what is wrong with bytes that are known to be invalid. It need not be fast.
func explain(b []byte) *fault.Error {
	if len(bytes.TrimLeft(b, " \t\r\n")) == 0 {
		return fault.New(fault.Invalid, op, "The body is empty; a JSON value was expected.")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(b))
	_, err := d.ReadValue()
	if err == nil {
		return fault.Newf(fault.Invalid, op, "The body goes on after its JSON value, at byte %d.", d.InputOffset())
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fault.Newf(fault.Invalid, op, "The body is not valid JSON: it ends too early, at byte %d.", len(b))
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		path := pointerPath(string(syntax.JSONPointer))
		e := fault.Newf(fault.DuplicateKey, op, "The name %q occurs twice in one object, at byte %d.", path, syntax.ByteOffset)
		e.Param = path
		return e
	}
	e := fault.Newf(fault.Invalid, op, "The body is not valid JSON: %s, at byte %d.", reason(syntax.Err), syntax.ByteOffset)
	return e.Because(err)
}

func reason(err error) string {
	if err == nil {
		return "syntax error"
	}
	return fmt.Sprint(err)
}

// maxPath bounds a path made of the client's own names, in bytes.
const maxPath = 256

// pointerPath turns an RFC 6901 pointer into the form of error parameters: /messages/3/role becomes messages[3].role.
func pointerPath(pointer string) string {
	var path strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			path.WriteString("[" + token + "]")
		case path.Len() > 0:
			path.WriteString("." + token)
		default:
			path.WriteString(token)
		}
		if path.Len() > maxPath {
			return strings.ToValidUTF8(path.String()[:maxPath], "")
		}
	}
	return path.String()
}
