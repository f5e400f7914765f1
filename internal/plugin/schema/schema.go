// Package schema checks a JSON document against a JSON schema of draft 2020-12, or of drafts 6 and 7 where the schema declares them. Both
// are untrusted: it must not do more work, or keep more memory, than the constants below allow, whatever the schema and the document are,
// and it must end with its context. It reports a violation only when that is certain.
package schema

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"weir/internal/rawjson"
)

// What a schema and a check may take. A step is about the work of looking at 16 bytes.
const (
	maxBytes   = 1 << 20   // of a schema
	maxDepth   = 100       // of nesting, of a schema
	maxMemory  = 8 << 20   // bytes that a compiled schema keeps, about, in addition to its text
	maxPattern = 20_000    // instructions of all patterns of a schema
	maxReading = 2_000_000 // steps of compiling
	maxWork    = 4_000_000 // steps of one check
	maxNesting = 500       // schemas that are being checked at a time, one inside the other
)

// Schema is a compiled schema. It is safe for concurrent use, and refers to the bytes that it was compiled from.
type Schema struct{ root *node }

// node is one schema.
type node struct {
	never bool   // the schema false
	types typeOf // 0: any

	enum [][]byte // raw values; nil: any
	one  []byte   // const

	properties map[string]*node
	required   []string
	others     *node // additionalProperties
	items      *node // of those after prefix
	prefix     []*node
	any        []*node
	exactly    []*node
	all        []*node
	ref        *node
	lengths    *lengths
	numbers    *numbers
	pattern    *pattern
	rare       *rare
	unique     bool
}

// lengths are -1 where they are not set.
type lengths struct{ minText, maxText, minItems, maxItems, minMembers, maxMembers, minFound, maxFound int64 }

// numbers are as in the schema's text, nil where they are not set.
type numbers struct{ least, most, above, below, multiple []byte }

// rare has the keywords that few schemas use.
type rare struct {
	patterns []patterned
	names    *node
	needs    map[string][]string // dependentRequired
	with     map[string]*node    // dependentSchemas
	contains *node
	not      *node
	when     *node // if
	then     *node
	or       *node // else
}

type patterned struct {
	name   *pattern
	schema *node
}

// Sizes of these in memory, rounded up.
const (
	nodeSize  = 320
	rareSize  = 160
	mapSize   = 256
	entrySize = 48
	wordSize  = 24
)

var (
	// ErrTooLarge is the failure of a schema that is larger than is compiled, and of a check that took too many steps or compared numbers that
	// are too long: nothing is known of the document then.
	ErrTooLarge = errors.New("the schema, or the check, is too large")
	// ErrForeign is wrapped by the failure of a schema that is in order, as far as is known, and says something that is not understood here.
	ErrForeign = errors.New("not understood here")
)

// Compile reads a schema. It fails for one that is invalid, that uses what is not supported here (ErrForeign) or that is too large
// (ErrTooLarge), and when ctx ends. It loads nothing: a reference leads into the schema itself.
func Compile(ctx context.Context, raw []byte) (*Schema, error) {
	if len(raw) > maxBytes {
		return nil, ErrTooLarge
	}
	if !rawjson.Valid(raw) {
		return nil, errors.New("the schema is not JSON")
	}
	c := compiler{work: work{ctx: ctx, left: maxReading}, raw: raw, met: map[string]*node{}, indexes: map[string]map[string][]byte{}, memory: maxMemory, patterns: maxPattern}
	if err := c.dialect(); err != nil {
		return nil, err
	}
	root := &node{}
	c.root, c.met[""], c.open = root, root, []reading{{root, raw}}
	for len(c.open) > 0 { // targets of references, which may contain references
		next := c.open[0]
		c.open = c.open[1:]
		if err := c.fill(next.node, next.raw, 0); err != nil {
			return nil, err
		}
	}
	return &Schema{root}, nil
}

// compiler reads one schema.
type compiler struct {
	work
	raw      []byte
	root     *node
	older    bool                         // a draft before 2019: a schema with $ref says nothing else
	met      map[string]*node             // targets of references, by their path or anchor
	indexes  map[string]map[string][]byte // objects on the paths of references, by their path
	anchors  map[string][]byte
	open     []reading // targets in met that are not read yet
	memory   int
	patterns int
}

type reading struct {
	node *node
	raw  []byte
}

// spend pays for work before it is done.
func (c *compiler) spend(n int) error {
	if !c.work.spend(n) {
		return c.failure()
	}
	return nil
}

// keep pays for memory before it is taken.
func (c *compiler) keep(n int) error {
	if c.memory -= n; c.memory < 0 {
		return ErrTooLarge
	}
	return nil
}

func foreign(what string) error { return fmt.Errorf("%.64q is %w", what, ErrForeign) }

// dialect finds out which draft the schema is of.
func (c *compiler) dialect() error {
	text := rawjson.TextAt(c.raw, "$schema")
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://"), "#")
	switch name {
	case "", "json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema":
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema":
		c.older = true
	default:
		return foreign(text)
	}
	return nil
}

// child compiles the schema v.
func (c *compiler) child(v []byte, depth int) (*node, error) {
	n := &node{}
	return n, c.fill(n, v, depth)
}

func (c *compiler) fill(n *node, v []byte, depth int) error {
	if depth > maxDepth {
		return ErrTooLarge
	}
	if err := errors.Join(c.keep(nodeSize), c.spend(8+len(v)/8)); err != nil {
		return err
	}
	switch rawjson.KindOf(v) {
	case rawjson.True, rawjson.False:
		n.never = string(v) == "false"
		return nil
	case rawjson.Object:
	default:
		return errors.New("a schema must be an object")
	}
	if c.older {
		if ref := rawjson.Find(v, "$ref"); rawjson.KindOf(ref) == rawjson.String {
			return c.reference(n, ref)
		}
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		if err := c.spend(4); err != nil {
			return err
		}
		if err := c.keyword(n, string(m.Name), m.Value, depth+1); err != nil {
			return err
		}
	}
	return c.beside(n, v, depth+1)
}

// beside reads keywords that have a meaning only together with another keyword.
func (c *compiler) beside(n *node, v []byte, depth int) (err error) {
	if r := n.rare; r != nil && r.when != nil {
		if then := rawjson.Find(v, "then"); then != nil {
			if r.then, err = c.child(then, depth); err != nil {
				return err
			}
		}
		if or := rawjson.Find(v, "else"); or != nil {
			if r.or, err = c.child(or, depth); err != nil {
				return err
			}
		}
	}
	if n.prefix != nil && n.items == nil && rawjson.KindOf(rawjson.Find(v, "items")) == rawjson.Array { // as older drafts wrote it
		if more := rawjson.Find(v, "additionalItems"); more != nil {
			n.items, err = c.child(more, depth)
		}
	}
	return err
}

// reference makes n the target of v: "#", "#/$defs/name", "#anchor".
func (c *compiler) reference(n *node, v []byte) error {
	if rawjson.KindOf(v) != rawjson.String {
		return errors.New("a reference must be text")
	}
	text := rawjson.Text(v)
	path, ok := strings.CutPrefix(text, "#")
	if !ok {
		return foreign(text)
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return fmt.Errorf("the reference %.64q is none", text)
	}
	if n.ref = c.met[path]; n.ref != nil {
		return nil
	}
	at := c.raw
	if path[0] != '/' {
		if at, err = c.anchored(path); err != nil {
			return err
		}
	} else {
		parent := ""
		for step := range strings.SplitSeq(path[1:], "/") {
			if at, err = c.inside(parent, at, strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")); err != nil {
				return err
			}
			parent = path[:len(parent)+1+len(step)]
		}
	}
	if at == nil {
		return fmt.Errorf("the reference %.64q leads nowhere", text)
	}
	if err := c.keep(entrySize + len(path)); err != nil {
		return err
	}
	n.ref = &node{}
	c.met[path] = n.ref
	c.open = append(c.open, reading{n.ref, at})
	return nil
}

// inside is a member by name, or an element by number, of the value v, which is at path. Each value is looked through once, however many
// references lead into it.
func (c *compiler) inside(path string, v []byte, step string) ([]byte, error) {
	index := c.indexes[path]
	if index == nil {
		if err := errors.Join(c.spend(2+len(v)/8), c.keep(mapSize+len(path))); err != nil {
			return nil, err
		}
		index = map[string][]byte{}
		add := func(name string, v []byte) error {
			index[name] = v
			return errors.Join(c.spend(2), c.keep(entrySize+len(name)))
		}
		if rawjson.KindOf(v) == rawjson.Array {
			i := 0
			for e := rawjson.ElementsOf(v); e.Next(); i++ {
				if err := add(strconv.Itoa(i), e.Value); err != nil {
					return nil, err
				}
			}
		}
		for m := rawjson.MembersOf(v); m.Next(); {
			if err := add(string(m.Name), m.Value); err != nil {
				return nil, err
			}
		}
		c.indexes[path] = index
	}
	return index[step], nil
}

// anchored is the schema with a name. All objects are looked through once; a name that is given twice is not understood.
func (c *compiler) anchored(name string) ([]byte, error) {
	if c.anchors == nil {
		c.anchors = map[string][]byte{}
		if err := c.gather(c.raw); err != nil {
			return nil, err
		}
	}
	if at := c.anchors[name]; at != nil {
		return at, nil
	}
	return nil, foreign("#" + name)
}

func (c *compiler) gather(v []byte) error {
	if err := c.spend(1 + len(v)/16); err != nil {
		return err
	}
	if rawjson.KindOf(v) == rawjson.Array {
		for e := rawjson.ElementsOf(v); e.Next(); {
			if err := c.gather(e.Value); err != nil {
				return err
			}
		}
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		name := string(m.Name)
		if name == "enum" || name == "const" {
			continue
		}
		if name == "$anchor" && rawjson.KindOf(m.Value) == rawjson.String {
			anchor := rawjson.Text(m.Value)
			if c.anchors[anchor] != nil {
				return foreign(anchor)
			}
			if err := c.keep(mapSize + len(anchor)); err != nil {
				return err
			}
			c.anchors[anchor] = v
		}
		if err := c.gather(m.Value); err != nil {
			return err
		}
	}
	return nil
}

// pattern is a regular expression with the number of its instructions, which matching costs for each byte.
type pattern struct {
	re   *regexp.Regexp
	size int
}
