package app

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/resource"
)

// maxOwned is how many rows of the configuration a file's comment names.
const maxOwned = 20

// StateFile writes the resources of a kind as a file. refs has what earlier files say of secrets, by kind and id.
func StateFile(k *resource.Kind, l *resource.Listing, refs map[string]string) ([]byte, error) {
	head := slices.Clone(l.Notes)
	owned := 0
	for i := range l.Items {
		if x := &l.Items[i]; x.Where != "" {
			if owned++; owned <= maxOwned {
				head = append(head, fmt.Sprintf("Not here: %s, which is declared at %s.", x.ID, x.Where))
			}
		}
	}
	if owned > maxOwned {
		head = append(head, fmt.Sprintf("Not here: %d more that are declared in the configuration.", owned-maxOwned))
	}
	all := &yaml.Node{Kind: yaml.MappingNode}
	for i := range l.Items {
		x := &l.Items[i]
		if x.Where != "" {
			continue
		}
		v, err := treeNode(k.Tree(x.Fields))
		if err != nil {
			return nil, err
		}
		if x.HasKey {
			addSecret(v, k, x, refs[k.Name+" "+x.ID])
		}
		if k.Lone != "" {
			all = v
			break
		}
		all.Content = append(all.Content, textNode(x.ID), v)
	}
	var out bytes.Buffer
	for _, line := range head {
		fmt.Fprintf(&out, "# %s\n", strings.Map(oneLine, line))
	}
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	doc := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{textNode(k.Name), all}}
	err := errors.Join(e.Encode(doc), e.Close())
	return out.Bytes(), err
}

func oneLine(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

// addSecret says where the secret of a resource is: where earlier files have it, or at the gateway.
func addSecret(v *yaml.Node, k *resource.Kind, x *resource.Item, ref string) {
	says := textNode(keptSecret)
	if strings.HasPrefix(ref, "${") || strings.HasPrefix(ref, "file:") {
		says = textNode(ref)
	} else if x.Last4 != "" {
		says.LineComment = "..." + x.Last4
	}
	v.Content = append(v.Content, textNode(k.Key), says)
}

// textNode is a text, in quotes where it would be read as something else.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	_ = n.Encode(text) // of a string it cannot fail
	return n
}

// jsonNode is JSON in the form of YAML, its names in their order.
func jsonNode(v []byte) *yaml.Node {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for m := rawjson.MembersOf(v); m.Next(); {
			n.Content = append(n.Content, textNode(string(m.Name)), jsonNode(m.Value))
		}
		return n
	case rawjson.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for e := rawjson.ElementsOf(v); e.Next(); {
			n.Content = append(n.Content, jsonNode(e.Value))
		}
		return n
	case rawjson.String:
		return textNode(rawjson.Text(v))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(v)} // a number, true, false or null
}

// treeNode is the nested form of fields, their names in order.
func treeNode(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, err := treeNode(v[name])
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, textNode(name), inner)
		}
		return n, nil
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v {
			inner, err := treeNode(e)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, inner)
		}
		return n, nil
	case []string:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, word := range v {
			n.Content = append(n.Content, textNode(word))
		}
		return n, nil
	case operation.Raw:
		return jsonNode(v), nil
	case string:
		return textNode(v), nil
	}
	return nil, fmt.Errorf("%T is not written to files", v)
}
