package describe

import (
	"bytes"
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"
)

// nodeOf is what huma writes as JSON, as YAML in the order that people read a description in.
func nodeOf(v any) (*yaml.Node, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil {
		return nil, err
	}
	arrange(n.Content[0], 0)
	return n.Content[0], nil
}

// first are the members that come before others.
var first = []string{"operationId", "tags", "summary", "description", "type", "security", "name", "in", "required", "parameters", "requestBody", "responses"}

func arrange(n *yaml.Node, depth int) {
	n.Style = 0
	if n.Kind == yaml.MappingNode {
		sortMembers(n, first)
	}
	small := n.Kind != yaml.ScalarNode && len(n.Content) <= 6
	for _, c := range n.Content {
		arrange(c, depth+1)
		small = small && (c.Kind == yaml.ScalarNode || len(c.Content) == 0) && len(c.Value) < 80
	}
	if small && depth > 0 {
		n.Style = yaml.FlowStyle
	}
}

// sortMembers puts those of order first, and leaves the others in theirs.
func sortMembers(n *yaml.Node, order []string) {
	if i := slices.IndexFunc(n.Content, func(c *yaml.Node) bool { return c.Value == "properties" }); i >= 0 && i%2 == 0 && n.Content[i+1].Kind == yaml.MappingNode && len(order) > 0 && order[0] != first[0] {
		sortMembers(n.Content[i+1], order)
		return
	}
	type pair struct{ name, value *yaml.Node }
	var pairs []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, pair{n.Content[i], n.Content[i+1]})
	}
	rank := func(p pair) int {
		if i := slices.Index(order, p.name.Value); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return rank(a) - rank(b) })
	n.Content = n.Content[:0]
	for _, p := range pairs {
		n.Content = append(n.Content, p.name, p.value)
	}
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// member finds the mapping of a name, or adds it.
func member(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	m := &yaml.Node{Kind: yaml.MappingNode}
	n.Content = append(n.Content, text(name), m)
	return m
}

// render writes a mapping with so many spaces before each line.
func render(n *yaml.Node, indent int) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	margin := bytes.Repeat([]byte(" "), indent)
	var out []byte
	for line := range bytes.Lines(b.Bytes()) {
		out = append(append(out, margin...), line...)
	}
	return out, nil
}
