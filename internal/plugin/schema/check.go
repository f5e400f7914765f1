package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Check tells how doc fails the schema: the place of the first thing that is wrong, from the root $, and what. It returns nil for a document
// that conforms, and ErrTooLarge when it took too many steps to say. The error quotes names of the document, never its values.
func (s *Schema) Check(doc []byte) error {
	if !rawjson.Valid(doc) {
		return errors.New("$ is no JSON")
	}
	k := checker{left: maxWork}
	wrong := k.check(s.root, bytes.TrimSpace(doc), 0)
	if k.left <= 0 {
		return ErrTooLarge
	}
	if wrong == nil {
		return nil
	}
	return errors.New("$" + wrong.path + " " + wrong.what)
}

type checker struct{ left int }

// wrong is what does not conform. Its path grows from the inside.
type wrong struct{ path, what string }

func (w *wrong) in(step string) *wrong {
	if w != nil && len(w.path) < 200 {
		w.path = step + w.path
	}
	return w
}

func is(format string, args ...any) *wrong { return &wrong{what: fmt.Sprintf(format, args...)} }

func (k *checker) spend(n int) bool {
	k.left -= n
	return k.left > 0
}

func (k *checker) check(n *node, v []byte, depth int) *wrong {
	if !k.spend(1 + len(v)/256) {
		return nil
	}
	if depth > maxDepth {
		k.left = 0
		return nil
	}
	if n.never {
		return is("is not allowed")
	}
	if w := k.value(n, v); w != nil {
		return w
	}
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		if w := k.object(n, v, depth); w != nil {
			return w
		}
	case rawjson.Array:
		if w := k.list(n, v, depth); w != nil {
			return w
		}
	case rawjson.String:
		if w := text(n, v); w != nil {
			return w
		}
	case rawjson.Number:
		if w := number(n, v); w != nil {
			return w
		}
	default:
	}
	return k.combined(n, v, depth)
}

// value checks what holds for values of any type.
func (k *checker) value(n *node, v []byte) *wrong {
	if n.types != nil && !slices.ContainsFunc(n.types, func(t string) bool { return isOf(t, v) }) {
		return is("must be %s", list(n.types))
	}
	if n.one != nil && !k.equal(n.one, v, 0) {
		return is("must be the constant of the schema")
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(e []byte) bool { return k.equal(e, v, 0) }) {
		return is("must be one of the values of the schema")
	}
	return nil
}

func list(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += " or "
		}
		out += w
	}
	return out
}

func isOf(name string, v []byte) bool {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return name == "object"
	case rawjson.Array:
		return name == "array"
	case rawjson.String:
		return name == "string"
	case rawjson.True, rawjson.False:
		return name == "boolean"
	case rawjson.Null:
		return name == "null"
	case rawjson.Number:
		return name == "number" || name == "integer" && isWhole(v)
	default:
		return false
	}
}

func (k *checker) object(n *node, v []byte, depth int) *wrong {
	count := int64(0)
	for m := rawjson.MembersOf(v); m.Next(); {
		count++
		known := false
		if p := n.properties[string(m.Name)]; p != nil {
			known = true
			if w := k.check(p, m.Value, depth+1); w != nil {
				return w.in(step(m.Name))
			}
		}
		for i := range n.patterns {
			if p := &n.patterns[i]; k.spend(1+len(m.Name)/16) && p.name.Match(m.Name) {
				known = true
				if w := k.check(p.schema, m.Value, depth+1); w != nil {
					return w.in(step(m.Name))
				}
			}
		}
		if !known && n.others != nil {
			if w := k.check(n.others, m.Value, depth+1); w != nil {
				return w.in(step(m.Name))
			}
		}
	}
	for _, name := range n.required {
		if !k.spend(1 + int(count)) {
			return nil
		}
		if rawjson.Find(v, name) == nil {
			return is("is required").in(step([]byte(name)))
		}
	}
	return bounds(count, n.minProperties, n.maxProperties, "members")
}

func step(name []byte) string {
	return "." + string(bytes.ToValidUTF8(name[:min(len(name), 64)], nil))
}

func bounds(count, least, most int64, what string) *wrong {
	switch {
	case least >= 0 && count < least:
		return is("must have at least %d %s", least, what)
	case most >= 0 && count > most:
		return is("must have at most %d %s", most, what)
	}
	return nil
}

func (k *checker) list(n *node, v []byte, depth int) *wrong {
	count, found := 0, int64(0)
	var seen [][]byte
	for e := rawjson.ElementsOf(v); e.Next(); count++ {
		at := "[" + strconv.Itoa(count) + "]"
		s := n.items
		if count < len(n.prefix) {
			s = n.prefix[count]
		}
		if s != nil {
			if w := k.check(s, e.Value, depth+1); w != nil {
				return w.in(at)
			}
		}
		if n.contains != nil && k.check(n.contains, e.Value, depth+1) == nil {
			found++
		}
		if n.unique {
			if slices.ContainsFunc(seen, func(other []byte) bool { return k.equal(other, e.Value, 0) }) {
				return is("must not repeat an element").in(at)
			}
			seen = append(seen, e.Value)
		}
		if !k.spend(1) {
			return nil
		}
	}
	if n.contains != nil {
		if w := bounds(found, max(n.minContains, 0), n.maxContains, "of the elements demanded"); w != nil || found == 0 && n.minContains < 0 {
			return is("does not have the elements demanded")
		}
	}
	return bounds(int64(count), n.minItems, n.maxItems, "elements")
}

func text(n *node, v []byte) *wrong {
	if n.minLength < 0 && n.maxLength < 0 && n.pattern == nil {
		return nil
	}
	plain, _ := rawjson.Unquote(v)
	if w := bounds(int64(utf8.RuneCount(plain)), n.minLength, n.maxLength, "characters"); w != nil {
		return w
	}
	if n.pattern != nil && !n.pattern.Match(plain) {
		return is("must match its pattern")
	}
	return nil
}

func number(n *node, v []byte) *wrong {
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return nil
	}
	switch {
	case n.minimum != nil && compare(v, n.minimum) < 0:
		return is("must be at least %s", n.minimum)
	case n.maximum != nil && compare(v, n.maximum) > 0:
		return is("must be at most %s", n.maximum)
	case n.above != nil && compare(v, n.above) <= 0:
		return is("must be above %s", n.above)
	case n.below != nil && compare(v, n.below) >= 0:
		return is("must be below %s", n.below)
	case n.multiple != nil && !divides(n.multiple, v):
		return is("must be a multiple of %s", n.multiple)
	}
	return nil
}

// maxDigits bounds the numbers that are compared exactly: an exponent may stand for a million digits.
const maxDigits = 64

// exact is a number as a fraction, nil for one that is too long to be worth it.
func exact(v []byte) *big.Rat {
	if len(v) > maxDigits {
		return nil
	}
	if i := bytes.IndexAny(v, "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(v[i+1:])); err != nil || e > maxDigits || e < -maxDigits {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(string(v))
	if !ok {
		return nil
	}
	return r
}

func compare(a, b []byte) int {
	if x, y := exact(a), exact(b); x != nil && y != nil {
		return x.Cmp(y)
	}
	x, _ := strconv.ParseFloat(string(a), 64) // beyond its range it is infinite, which compares well
	y, _ := strconv.ParseFloat(string(b), 64)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func divides(part, v []byte) bool {
	p, x := exact(part), exact(v)
	if p == nil || x == nil || p.Sign() == 0 {
		return true // nobody can tell
	}
	return x.Quo(x, p).IsInt()
}

func isWhole(v []byte) bool {
	if x := exact(v); x != nil {
		return x.IsInt()
	}
	return !bytes.ContainsAny(v, ".eE")
}

// equal compares values as JSON does: spelling and order of members do not count.
func (k *checker) equal(a, b []byte, depth int) bool {
	if !k.spend(1+(len(a)+len(b))/256) || depth > maxDepth {
		return true
	}
	if bytes.Equal(a, b) {
		return true
	}
	kind := rawjson.KindOf(a)
	if kind != rawjson.KindOf(b) {
		return false
	}
	switch kind {
	case rawjson.Number:
		return compare(a, b) == 0
	case rawjson.String:
		x, _ := rawjson.Unquote(a)
		y, _ := rawjson.Unquote(b)
		return bytes.Equal(x, y)
	case rawjson.Array:
		x, y := rawjson.ElementsOf(a), rawjson.ElementsOf(b)
		for {
			more := x.Next()
			if more != y.Next() {
				return false
			}
			if !more {
				return true
			}
			if !k.equal(x.Value, y.Value, depth+1) {
				return false
			}
		}
	case rawjson.Object:
		count := 0
		for m := rawjson.MembersOf(a); m.Next(); count++ {
			other := rawjson.Find(b, string(m.Name))
			if !k.spend(1+len(b)/256) || other == nil || !k.equal(m.Value, other, depth+1) {
				return false
			}
		}
		for m := rawjson.MembersOf(b); m.Next(); {
			count--
		}
		return count == 0
	default:
		return false
	}
}

// combined checks what is said through other schemas.
func (k *checker) combined(n *node, v []byte, depth int) *wrong {
	if n.ref != nil {
		if w := k.check(n.ref, v, depth+1); w != nil {
			return w
		}
	}
	for _, s := range n.all {
		if w := k.check(s, v, depth+1); w != nil {
			return w
		}
	}
	if n.any != nil && !slices.ContainsFunc(n.any, func(s *node) bool { return k.check(s, v, depth+1) == nil }) {
		return is("fits none of the forms that the schema allows")
	}
	if n.exactly != nil {
		fits := 0
		for _, s := range n.exactly {
			if k.check(s, v, depth+1) == nil {
				fits++
			}
		}
		if fits != 1 {
			return is("must fit exactly one of the forms of the schema and fits %d", fits)
		}
	}
	if n.not != nil && k.check(n.not, v, depth+1) == nil {
		return is("has a form that the schema forbids")
	}
	if n.when != nil {
		branch := n.otherwise
		if k.check(n.when, v, depth+1) == nil {
			branch = n.then
		}
		if branch != nil {
			return k.check(branch, v, depth+1)
		}
	}
	return nil
}
