// Package schema checks a JSON document against a JSON schema, as far as structured answers of models use schemas. It must not repair
// anything, and its work is bounded whatever the schema and the document are.
package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"weir/internal/rawjson"
)

const (
	maxDepth = 100     // of nesting, of a schema and of a check
	maxNodes = 20_000  // of a schema
	maxWork  = 500_000 // steps of one check
)

// Schema is a compiled schema: type, enum, const, properties, required, additionalProperties, patternProperties, items, prefixItems,
// contains with its bounds, anyOf, oneOf, allOf, not, if with then and else, $ref into the schema itself, bounds of numbers, lengths and counts, uniqueItems, pattern.
// Other keywords, format among them, say nothing. It is safe for concurrent use.
type Schema struct{ root *node }

// node is one schema.
type node struct {
	never bool     // the schema false
	types []string // nil: any
	enum  [][]byte // raw values; nil: any
	one   []byte   // const

	properties map[string]*node
	patterns   []patterned
	required   []string
	others     *node // additionalProperties

	prefix   []*node
	items    *node
	contains *node

	any, exactly, all []*node
	not               *node
	when              *node // if
	then, otherwise   *node
	ref               *node

	minimum, maximum, above, below, multiple []byte // numbers as written

	minLength, maxLength, minItems, maxItems, minProperties, maxProperties, minContains, maxContains int64 // -1: none
	unique                                                                                           bool
	pattern                                                                                          *regexp.Regexp
}

type patterned struct {
	name   *regexp.Regexp
	schema *node
}

// ErrTooLarge is the failure of a check that took too many steps: nothing is known of the document then.
var ErrTooLarge = errors.New("the check took too many steps")

// Compile reads a schema. It fails for one that is not understood: a reference that leads nowhere, a pattern that is none, a keyword of the
// wrong type, or too much of it.
func Compile(raw []byte) (*Schema, error) {
	if !rawjson.Valid(raw) {
		return nil, errors.New("the schema is no JSON")
	}
	c := compiler{raw: raw, seen: map[string]*node{}}
	root, err := c.at("", raw, 0)
	if err != nil {
		return nil, err
	}
	return &Schema{root}, nil
}

type compiler struct {
	raw   []byte
	seen  map[string]*node // what references lead to, by their text; and the root
	nodes int
}

// at compiles the schema v; ref is the reference that led to it, which may lead to it again.
func (c *compiler) at(ref string, v []byte, depth int) (*node, error) {
	n := &node{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minProperties: -1, maxProperties: -1, minContains: -1, maxContains: -1}
	if depth == 0 || ref != "" {
		c.seen[ref] = n
	}
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return nil, errors.New("the schema is too large")
	}
	switch rawjson.KindOf(v) {
	case rawjson.True, rawjson.False:
		n.never = string(v) == "false"
		return n, nil
	case rawjson.Object:
	default:
		return nil, errors.New("a schema must be an object")
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		if err := c.keyword(n, string(m.Name), m.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (c *compiler) keyword(n *node, name string, v []byte, depth int) (err error) {
	switch name {
	case "type":
		n.types, err = words(v)
	case "enum":
		n.enum = [][]byte{}
		for e := rawjson.ElementsOf(v); e.Next(); {
			n.enum = append(n.enum, e.Value)
		}
	case "const":
		n.one = v
	case "required":
		n.required, err = words(v)
	case "properties":
		n.properties = map[string]*node{}
		for m := rawjson.MembersOf(v); m.Next(); {
			if n.properties[string(m.Name)], err = c.at("", m.Value, depth); err != nil {
				return err
			}
		}
	case "patternProperties":
		return c.patterns(n, v, depth)
	case "$ref":
		n.ref, err = c.reference(v, depth)
	case "pattern":
		n.pattern, err = compilePattern(v)
	case "minimum":
		n.minimum, err = numeral(v)
	case "maximum":
		n.maximum, err = numeral(v)
	case "exclusiveMinimum":
		n.above, err = numeral(v)
	case "exclusiveMaximum":
		n.below, err = numeral(v)
	case "multipleOf":
		n.multiple, err = numeral(v)
	case "uniqueItems":
		n.unique = string(v) == "true"
	default:
		if count := n.count(name); count != nil {
			*count, err = whole(v)
			return err
		}
		if one := n.child(name); one != nil {
			if rawjson.KindOf(v) == rawjson.Array && name == "items" { // an older way to write prefixItems
				n.prefix, err = c.list(v, depth)
				return err
			}
			*one, err = c.at("", v, depth)
			return err
		}
		if many := n.children(name); many != nil {
			*many, err = c.list(v, depth)
		}
	}
	return err
}

func (n *node) count(name string) *int64 {
	switch name {
	case "minLength":
		return &n.minLength
	case "maxLength":
		return &n.maxLength
	case "minItems":
		return &n.minItems
	case "maxItems":
		return &n.maxItems
	case "minProperties":
		return &n.minProperties
	case "maxProperties":
		return &n.maxProperties
	case "minContains":
		return &n.minContains
	case "maxContains":
		return &n.maxContains
	}
	return nil
}

func (n *node) child(name string) **node {
	switch name {
	case "additionalProperties":
		return &n.others
	case "items":
		return &n.items
	case "contains":
		return &n.contains
	case "not":
		return &n.not
	case "if":
		return &n.when
	case "then":
		return &n.then
	case "else":
		return &n.otherwise
	}
	return nil
}

func (n *node) children(name string) *[]*node {
	switch name {
	case "prefixItems":
		return &n.prefix
	case "anyOf":
		return &n.any
	case "oneOf":
		return &n.exactly
	case "allOf":
		return &n.all
	}
	return nil
}

func (c *compiler) list(v []byte, depth int) (list []*node, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, errors.New("a list of schemas must be a list")
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		n, err := c.at("", e.Value, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func (c *compiler) patterns(n *node, v []byte, depth int) error {
	for m := rawjson.MembersOf(v); m.Next(); {
		name, err := regexp.Compile(string(m.Name))
		if err != nil {
			return err
		}
		s, err := c.at("", m.Value, depth)
		if err != nil {
			return err
		}
		n.patterns = append(n.patterns, patterned{name, s})
	}
	return nil
}

// reference finds what "#", "#/$defs/name" and the like lead to.
func (c *compiler) reference(v []byte, depth int) (*node, error) {
	text := rawjson.Text(v)
	path, ok := strings.CutPrefix(text, "#")
	if !ok {
		return nil, fmt.Errorf("the reference %.64q leads out of the schema", text)
	}
	if n, ok := c.seen[path]; ok {
		return n, nil
	}
	at := c.raw
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$").Replace(step)
		if at = find(at, step); at == nil {
			return nil, fmt.Errorf("the reference %.64q leads nowhere", text)
		}
	}
	return c.at(path, at, depth)
}

// find is a member by name, or an element by number.
func find(v []byte, step string) []byte {
	if rawjson.KindOf(v) == rawjson.Object {
		return rawjson.Find(v, step)
	}
	i, ok := rawjson.Int([]byte(step))
	for e := rawjson.ElementsOf(v); ok && e.Next(); i-- {
		if i == 0 {
			return e.Value
		}
	}
	return nil
}

func compilePattern(v []byte) (*regexp.Regexp, error) {
	if rawjson.KindOf(v) != rawjson.String {
		return nil, errors.New("a pattern must be text")
	}
	return regexp.Compile(rawjson.Text(v))
}

// words are one or several texts.
func words(v []byte) (list []string, err error) {
	if rawjson.KindOf(v) == rawjson.String {
		return []string{rawjson.Text(v)}, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, errors.New("type and required must be texts")
	}
	list = []string{}
	for e := rawjson.ElementsOf(v); e.Next(); {
		if rawjson.KindOf(e.Value) != rawjson.String {
			return nil, errors.New("type and required must be texts")
		}
		list = append(list, rawjson.Text(e.Value))
	}
	return list, nil
}

func numeral(v []byte) ([]byte, error) {
	if !rawjson.IsNumber(v) {
		return nil, errors.New("a bound must be a number")
	}
	return v, nil
}

func whole(v []byte) (int64, error) {
	n, ok := rawjson.Int(v)
	if !ok || n < 0 {
		return -1, errors.New("a length must be a whole number")
	}
	return n, nil
}
