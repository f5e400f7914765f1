package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Check reports how doc violates the schema: an error with the path of the first violation, from the root $, and its description. It
// returns nil for a document that conforms. When that cannot be decided within the bounds it returns ErrTooLarge, and the error of ctx
// when that has ended; the result is unknown then. The error quotes names of the document, never its values.
func (s *Schema) Check(ctx context.Context, doc []byte) error {
	if !rawjson.Valid(doc) {
		return errors.New("$ is no JSON")
	}
	k := checker{work{ctx: ctx, left: maxWork}}
	wrong := k.check(s.root, bytes.TrimSpace(doc), 0)
	if k.ended {
		return k.failure()
	}
	if wrong == nil {
		return nil
	}
	return errors.New("$" + wrong.path + " " + wrong.what)
}

// checker checks one document. Once its budget of work is spent, its results mean nothing.
type checker struct{ work }

// wrong is a violation. Its path grows from the inside outwards.
type wrong struct{ path, what string }

func (w *wrong) in(step string) *wrong {
	if w != nil && len(w.path) < 200 {
		w.path = step + w.path
	}
	return w
}

func is(format string, args ...any) *wrong { return &wrong{what: fmt.Sprintf(format, args...)} }

// unknown gives up: the answer cannot be decided.
func (k *checker) unknown() { k.ended = true }

func (k *checker) check(n *node, v []byte, depth int) *wrong {
	if !k.spend(2 + len(v)/16) {
		return nil
	}
	if depth > maxNesting {
		k.unknown()
		return nil
	}
	if n.never {
		return is("is not allowed")
	}
	if w := k.value(n, v); w != nil {
		return w
	}
	var w *wrong
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		w = k.object(n, v, depth)
	case rawjson.Array:
		w = k.list(n, v, depth)
	case rawjson.String:
		w = k.text(n, v)
	case rawjson.Number:
		w = k.number(n, v)
	default:
	}
	if w != nil {
		return w
	}
	return k.combined(n, v, depth)
}

// value checks the keywords for values of any type.
func (k *checker) value(n *node, v []byte) *wrong {
	if n.types != 0 && n.types&k.kinds(v, n.types) == 0 {
		return is("must be %s", n.types)
	}
	if n.one != nil && !k.equal(n.one, v) {
		return is("must be the constant of the schema")
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(e []byte) bool { return k.equal(e, v) }) {
		return is("must be one of the values of the schema")
	}
	return nil
}

// kinds are the types of v among the wanted ones.
func (k *checker) kinds(v []byte, wanted typeOf) typeOf {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return anObject
	case rawjson.Array:
		return anArray
	case rawjson.String:
		return aString
	case rawjson.True, rawjson.False:
		return aBoolean
	case rawjson.Null:
		return aNull
	case rawjson.Number:
		if wanted&(aNumber|anInteger) != anInteger || !k.spend(numberSteps) {
			return aNumber
		}
		x := exact(v)
		if x == nil {
			k.unknown()
		} else if x.IsInt() {
			return aNumber | anInteger
		}
		return aNumber
	default:
		return 0
	}
}

func (k *checker) object(n *node, v []byte, depth int) *wrong {
	count := int64(0)
	r := n.rare
	if r == nil {
		r = &none
	}
	for m := rawjson.MembersOf(v); m.Next(); count++ {
		if !k.spend(2) {
			return nil
		}
		known := false
		if p := n.properties[string(m.Name)]; p != nil {
			known = true
			if w := k.check(p, m.Value, depth+1); w != nil {
				return w.in(step(m.Name))
			}
		}
		for i := range r.patterns {
			if p := &r.patterns[i]; k.matches(p.name, m.Name) {
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
		if w := k.called(r, m.Name, v, depth); w != nil {
			return w
		}
	}
	if w := k.required(n.required, v); w != nil {
		return w
	}
	if l := n.lengths; l != nil {
		return bounds(count, l.minMembers, l.maxMembers, "members")
	}
	return nil
}

var none rare

// called checks the keywords that apply by a member's name.
func (k *checker) called(r *rare, name, v []byte, depth int) *wrong {
	if r.names != nil {
		if !k.spend(1 + len(name)/16) {
			return nil
		}
		if w := k.check(r.names, rawjson.AppendString(nil, name), depth+1); w != nil {
			return is("has a member that the schema does not allow").in(step(name))
		}
	}
	if w := k.required(r.needs[string(name)], v); w != nil {
		return w
	}
	if s := r.with[string(name)]; s != nil {
		return k.check(s, v, depth+1)
	}
	return nil
}

func (k *checker) required(names []string, v []byte) *wrong {
	for _, name := range names {
		if !k.spend(1 + len(v)/16) {
			return nil
		}
		if rawjson.Find(v, name) == nil {
			return is("is required").in(step([]byte(name)))
		}
	}
	return nil
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
	var contains *node
	if n.rare != nil {
		contains = n.rare.contains
	}
	for e := rawjson.ElementsOf(v); e.Next(); count++ {
		if !k.spend(2) {
			return nil
		}
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
		if contains != nil && k.check(contains, e.Value, depth+1) == nil {
			found++
		}
		if n.unique {
			if slices.ContainsFunc(seen, func(other []byte) bool { return k.equal(other, e.Value) }) {
				return is("must not repeat an element").in(at)
			}
			seen = append(seen, e.Value)
		}
	}
	l := n.lengths
	if l == nil {
		l = &unlimited
	}
	if contains != nil {
		least := l.minFound
		if least < 0 {
			least = 1
		}
		if bounds(found, least, l.maxFound, "") != nil {
			return is("does not have the required elements")
		}
	}
	return bounds(int64(count), l.minItems, l.maxItems, "elements")
}

var unlimited = lengths{-1, -1, -1, -1, -1, -1, -1, -1}

func (k *checker) text(n *node, v []byte) *wrong {
	l := n.lengths
	if l == nil && n.pattern == nil {
		return nil
	}
	plain, _ := rawjson.Unquote(v)
	if l != nil {
		if w := bounds(int64(utf8.RuneCount(plain)), l.minText, l.maxText, "characters"); w != nil {
			return w
		}
	}
	if n.pattern != nil && !k.matches(n.pattern, plain) {
		return is("must match its pattern")
	}
	return nil
}

// numberSteps is the cost of comparing numbers exactly.
const numberSteps = 16

func (k *checker) number(n *node, v []byte) *wrong {
	b := n.numbers
	if b == nil || !k.spend(5*numberSteps) {
		return nil
	}
	switch {
	case b.least != nil && k.compare(v, b.least) < 0:
		return is("must be at least %s", b.least)
	case b.most != nil && k.compare(v, b.most) > 0:
		return is("must be at most %s", b.most)
	case b.above != nil && k.compare(v, b.above) <= 0:
		return is("must be above %s", b.above)
	case b.below != nil && k.compare(v, b.below) >= 0:
		return is("must be below %s", b.below)
	case b.multiple != nil && !k.divides(b.multiple, v):
		return is("must be a multiple of %s", b.multiple)
	}
	return nil
}

// Numbers are compared exactly up to this length and exponent: an exponent may make a million digits.
const (
	maxDigits   = 64
	maxExponent = 400
)

// exact is a number as a fraction, nil for one that is too long to be worth it.
func exact(v []byte) *big.Rat {
	if len(v) > maxDigits {
		return nil
	}
	if i := bytes.IndexAny(v, "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(v[i+1:])); err != nil || e > maxExponent || e < -maxExponent {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(string(v))
	if !ok {
		return nil
	}
	return r
}

func (k *checker) compare(a, b []byte) int {
	if x, y := exact(a), exact(b); x != nil && y != nil {
		return x.Cmp(y)
	}
	if !k.spend((len(a) + len(b)) / 16) {
		return 0
	}
	x, _ := strconv.ParseFloat(string(a), 64) // beyond its range it is infinite, which compares well
	y, _ := strconv.ParseFloat(string(b), 64)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	if !bytes.Equal(a, b) {
		k.unknown() // they differ only beyond the precision of a float
	}
	return 0
}

func (k *checker) divides(part, v []byte) bool {
	x := exact(v)
	if x == nil {
		k.unknown()
		return true
	}
	return x.Quo(x, exact(part)).IsInt()
}

// equal compares values as JSON does: spelling and order of members do not count.
func (k *checker) equal(a, b []byte) bool {
	if !k.spend(1 + min(len(a), len(b))/64) {
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
		return k.spend(numberSteps) && k.compare(a, b) == 0
	case rawjson.String:
		if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
			return false
		}
		if !k.spend((len(a) + len(b)) / 16) {
			return true
		}
		x, _ := rawjson.Unquote(a)
		y, _ := rawjson.Unquote(b)
		return bytes.Equal(x, y)
	case rawjson.Array:
		if !k.spend((len(a) + len(b)) / 16) {
			return true
		}
		x, y := rawjson.ElementsOf(a), rawjson.ElementsOf(b)
		for {
			more := x.Next()
			if more != y.Next() {
				return false
			}
			if !more {
				return true
			}
			if !k.equal(x.Value, y.Value) {
				return false
			}
		}
	case rawjson.Object:
		if !k.spend((len(a) + len(b)) / 16) {
			return true
		}
		count := 0
		for m := rawjson.MembersOf(a); m.Next(); count++ {
			if !k.spend(1 + len(b)/16) {
				return true
			}
			other := rawjson.Find(b, string(m.Name))
			if other == nil || !k.equal(m.Value, other) {
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

// combined checks the keywords that apply other schemas.
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
		return is("matches none of the schemas that are allowed")
	}
	if n.exactly != nil {
		fits := 0
		for _, s := range n.exactly {
			if k.check(s, v, depth+1) == nil {
				fits++
			}
		}
		if fits != 1 {
			return is("must match exactly one of the schemas and matches %d", fits)
		}
	}
	if n.rare != nil {
		return k.conditions(n.rare, v, depth)
	}
	return nil
}

func (k *checker) conditions(r *rare, v []byte, depth int) *wrong {
	if r.not != nil && k.check(r.not, v, depth+1) == nil {
		return is("matches a schema that is forbidden")
	}
	if r.when == nil {
		return nil
	}
	branch := r.or
	if k.check(r.when, v, depth+1) == nil {
		branch = r.then
	}
	if branch == nil {
		return nil
	}
	return k.check(branch, v, depth+1)
}
