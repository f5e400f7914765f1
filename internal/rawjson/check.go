package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

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
var Defaults = Limits{Depth: 256, Keys: 10_000, Values: 2_000_000}

// hardDepth is the deepest nesting that a scan follows.
const hardDepth = 256

const op = "rawjson.Check"

// Check accepts exactly one RFC 8259 value in valid UTF-8, with unique names in every object, no lone surrogate escapes, no
// byte order mark, nothing but space around it, and within lim. It returns nil or a fault of kind Invalid, DuplicateKey or
// TooDeep whose sentence names the offset; it never panics. Passing it is what makes bytes "checked" elsewhere.
//
// One scan decides. Only names that are written with escapes go to jsontext, to be compared as text; it also reports what is wrong
// with a body that is refused.
func Check(b []byte, lim Limits) *fault.Error {
	if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
		return fault.New(fault.Invalid, op, "The body begins with a byte order mark; send plain UTF-8 JSON.")
	}
	lim = lim.orDefaults()
	switch f := scan(b, true, lim); f.bad {
	case valid:
		return nil
	case tooDeep:
		return fault.Newf(fault.TooDeep, op, "The body is nested deeper than %d levels at byte %d.", lim.Depth, f.at)
	case tooManyKeys:
		return fault.Newf(fault.Invalid, op, "An object has more than %d members, at byte %d.", lim.Keys, f.at)
	case tooManyValues:
		return fault.Newf(fault.Invalid, op, "The body has more than %d values.", lim.Values)
	case unsure:
		if jsontext.Value(b).IsValid() {
			return nil
		}
	}
	return explain(b)
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

// explain finds out what is wrong with bytes that are known to be invalid. It need not be fast.
func explain(b []byte) *fault.Error {
	if len(bytes.TrimLeft(b, " \t\r\n")) == 0 {
		return fault.New(fault.Invalid, op, "The body is empty; a JSON value was expected.")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(b))
	_, err := d.ReadValue()
	if err == nil {
		return fault.Newf(fault.Invalid, op, "The body has data after its JSON value, at byte %d.", d.InputOffset())
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
