package schema

import (
	"errors"
	"slices"

	"weir/internal/rawjson"
)

// keyword reads one member of a schema. Unknown names are ignored; keywords that are known but not supported are refused.
func (c *compiler) keyword(n *node, name string, v []byte, depth int) (err error) {
	switch name {
	case "$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties":
		return foreign(name)
	case "$id":
		// it changes where references lead, and at the root they still lead into it
		if n != c.root {
			return foreign(name)
		}
	case "type":
		n.types, err = types(v)
	case "enum":
		if rawjson.KindOf(v) != rawjson.Array {
			return errors.New("enum must be a list")
		}
		n.enum = [][]byte{}
		for e := rawjson.ElementsOf(v); e.Next(); {
			if err := c.keep(wordSize); err != nil {
				return err
			}
			n.enum = append(n.enum, e.Value)
		}
	case "const":
		n.one = v
	case "required":
		n.required, err = c.words(v)
	case "properties":
		n.properties, err = c.named(v, depth)
	case "$ref":
		return c.reference(n, v)
	case "pattern":
		if rawjson.KindOf(v) != rawjson.String {
			return errors.New("a pattern must be text")
		}
		n.pattern, err = c.compile(rawjson.Text(v))
	case "uniqueItems":
		n.unique = string(v) == "true"
	case "additionalProperties":
		n.others, err = c.child(v, depth)
	case "items":
		if rawjson.KindOf(v) == rawjson.Array { // an older way to write prefixItems
			n.prefix, err = c.list(v, depth)
			return err
		}
		n.items, err = c.child(v, depth)
	case "prefixItems":
		n.prefix, err = c.list(v, depth)
	case "anyOf":
		n.any, err = c.list(v, depth)
	case "oneOf":
		n.exactly, err = c.list(v, depth)
	case "allOf":
		n.all, err = c.list(v, depth)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return c.number(n, name, v)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return c.length(n, name, v)
	case "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies", "contains", "not", "if":
		if n.rare == nil {
			if err := c.keep(rareSize); err != nil {
				return err
			}
			n.rare = &rare{}
		}
		return c.rarely(n.rare, name, v, depth)
	}
	return err
}

func (c *compiler) rarely(r *rare, name string, v []byte, depth int) (err error) {
	switch name {
	case "patternProperties":
		return c.patterned(r, v, depth)
	case "propertyNames":
		r.names, err = c.child(v, depth)
	case "contains":
		r.contains, err = c.child(v, depth)
	case "not":
		r.not, err = c.child(v, depth)
	case "if":
		r.when, err = c.child(v, depth)
	case "dependentSchemas":
		r.with, err = c.named(v, depth)
	case "dependentRequired", "dependencies": // the older keyword has both forms
		return c.depends(r, name, v, depth)
	}
	return err
}

func (c *compiler) depends(r *rare, keyword string, v []byte, depth int) (err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return errors.New(keyword + " must be an object")
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		if err := c.keep(mapSize + 2*entrySize + len(m.Name)); err != nil {
			return err
		}
		name := string(m.Name)
		if rawjson.KindOf(m.Value) == rawjson.Array {
			if r.needs == nil {
				r.needs = map[string][]string{}
			}
			if r.needs[name], err = c.words(m.Value); err != nil {
				return err
			}
			continue
		}
		if keyword == "dependentRequired" {
			return errors.New("dependentRequired must hold lists")
		}
		if r.with == nil {
			r.with = map[string]*node{}
		}
		if r.with[name], err = c.child(m.Value, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) patterned(r *rare, v []byte, depth int) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return errors.New("patternProperties must be an object")
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		name, err := c.compile(string(m.Name))
		if err != nil {
			return err
		}
		s, err := c.child(m.Value, depth)
		if err != nil {
			return err
		}
		r.patterns = append(r.patterns, patterned{name, s})
	}
	return nil
}

// named are schemas by name.
func (c *compiler) named(v []byte, depth int) (map[string]*node, error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return nil, errors.New("schemas by name must be an object")
	}
	if err := c.keep(mapSize); err != nil {
		return nil, err
	}
	out := map[string]*node{}
	for m := rawjson.MembersOf(v); m.Next(); {
		if err := c.keep(entrySize + len(m.Name)); err != nil {
			return nil, err
		}
		s, err := c.child(m.Value, depth)
		if err != nil {
			return nil, err
		}
		out[string(m.Name)] = s
	}
	return out, nil
}

func (c *compiler) list(v []byte, depth int) ([]*node, error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, errors.New("a list of schemas must be a list")
	}
	list := []*node{}
	for e := rawjson.ElementsOf(v); e.Next(); {
		s, err := c.child(e.Value, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// words are texts.
func (c *compiler) words(v []byte) ([]string, error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, errors.New("names must be a list")
	}
	list := []string{}
	for e := rawjson.ElementsOf(v); e.Next(); {
		if rawjson.KindOf(e.Value) != rawjson.String {
			return nil, errors.New("names must be texts")
		}
		if err := errors.Join(c.spend(1), c.keep(wordSize+len(e.Value))); err != nil {
			return nil, err
		}
		list = append(list, rawjson.Text(e.Value))
	}
	return list, nil
}

// typeOf is a set of types.
type typeOf uint8

const (
	anObject typeOf = 1 << iota
	anArray
	aString
	aNumber
	anInteger
	aBoolean
	aNull
)

var typeNames = [...]string{"object", "array", "string", "number", "integer", "boolean", "null"}

func types(v []byte) (set typeOf, err error) {
	add := func(v []byte) {
		i := slices.Index(typeNames[:], rawjson.Text(v))
		if rawjson.KindOf(v) != rawjson.String || i < 0 {
			err = errors.New("there is no such type")
			return
		}
		set |= 1 << i
	}
	if rawjson.KindOf(v) != rawjson.Array {
		add(v)
		return set, err
	}
	for e := rawjson.ElementsOf(v); e.Next() && err == nil; {
		add(e.Value)
	}
	if set == 0 && err == nil {
		err = errors.New("there must be a type")
	}
	return set, err
}

func (t typeOf) String() string {
	out := ""
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			if out != "" {
				out += " or "
			}
			out += name
		}
	}
	return out
}

func (c *compiler) number(n *node, name string, v []byte) error {
	if !rawjson.IsNumber(v) {
		return errors.New("a bound must be a number")
	}
	if exact(v) == nil {
		return ErrTooLarge
	}
	if n.numbers == nil {
		if err := c.keep(128); err != nil {
			return err
		}
		n.numbers = &numbers{}
	}
	switch name {
	case "minimum":
		n.numbers.least = v
	case "maximum":
		n.numbers.most = v
	case "exclusiveMinimum":
		n.numbers.above = v
	case "exclusiveMaximum":
		n.numbers.below = v
	default:
		if exact(v).Sign() <= 0 {
			return errors.New("multipleOf must be above 0")
		}
		n.numbers.multiple = v
	}
	return nil
}

func (c *compiler) length(n *node, name string, v []byte) error {
	length, ok := whole(v)
	if !ok {
		return errors.New("a length must be a whole number")
	}
	if n.lengths == nil {
		if err := c.keep(64); err != nil {
			return err
		}
		n.lengths = &lengths{-1, -1, -1, -1, -1, -1, -1, -1}
	}
	switch name {
	case "minLength":
		n.lengths.minText = length
	case "maxLength":
		n.lengths.maxText = length
	case "minItems":
		n.lengths.minItems = length
	case "maxItems":
		n.lengths.maxItems = length
	case "minProperties":
		n.lengths.minMembers = length
	case "maxProperties":
		n.lengths.maxMembers = length
	case "minContains":
		n.lengths.minFound = length
	case "maxContains":
		n.lengths.maxFound = length
	}
	return nil
}

// whole is a length, however it is written.
func whole(v []byte) (int64, bool) {
	if !rawjson.IsNumber(v) {
		return 0, false
	}
	x := exact(v)
	if x == nil || !x.IsInt() || !x.Num().IsInt64() || x.Sign() < 0 {
		return 0, false
	}
	return x.Num().Int64(), true
}
