package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Described is a key of the file with what the example file says of it.
type Described struct {
	Key     string // with dots; elements of lists have []: providers[].id
	Type    string // in a word or two
	Value   string // the default as YAML, or for an element of a list an example of a value
	Example bool   // Value is an example
	Means   string // "" if the example file says nothing
	Live    bool   // a running node applies a change
}

// inactive are the lines of the example file that are settings in comments.
var inactive = regexp.MustCompile(`(?m)^#(\S|  )`)

// Describe lists all keys in the order of the example file, with its comments. Tests compare the file with the struct, so both agree.
func Describe(example []byte) ([]Described, error) {
	text := inactive.ReplaceAllString(string(example), "$1")
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return nil, fmt.Errorf("the example of the configuration: %w", err)
	}
	d := describer{lines: strings.Split(text, "\n"), seen: map[string]bool{}, live: map[string]bool{}}
	settings(reflect.TypeFor[Config](), func(s option) { d.live[s.key] = s.reload == "live" })
	d.mapping(doc.Content[0], reflect.TypeFor[Config](), "", false, false)
	return d.all, nil
}

type describer struct {
	lines []string
	seen  map[string]bool // keys of elements are listed once
	live  map[string]bool
	all   []Described
}

func (d *describer) mapping(n *yaml.Node, t reflect.Type, path string, example, live bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at, of := key.Value, reflect.Type(nil)
		if path != "" {
			at = path + "." + at
		}
		if t != nil {
			of = memberType(t, key.Value)
		}
		d.value(key, value, of, at, example, live || d.live[at])
	}
}

func (d *describer) value(key, value *yaml.Node, t reflect.Type, path string, example, live bool) {
	block := value.Style&yaml.FlowStyle == 0
	switch {
	case value.Kind == yaml.MappingNode && block:
		d.mapping(value, t, path, example, live)
	case value.Kind == yaml.SequenceNode && block && len(value.Content) > 0 && value.Content[0].Kind == yaml.MappingNode:
		var of reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			of = t.Elem()
		}
		for _, element := range value.Content {
			d.mapping(element, of, path+"[]", true, live)
		}
	case !d.seen[path]:
		d.seen[path] = true
		d.all = append(d.all, Described{Key: path, Type: typeWord(t), Value: asYAML(value), Example: example, Means: d.comment(key, value), Live: live})
	}
}

// memberType is the type of a key's value, nil if the struct or map has no such key.
func memberType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		if e, ok := entryNamed(t, key); ok && !e.constant {
			return e.read
		}
	}
	return nil
}

// comment is what stands after a value, with the lines that continue it.
func (d *describer) comment(key, value *yaml.Node) string {
	text := value.LineComment
	if text == "" {
		text = key.LineComment
	}
	if text == "" {
		return ""
	}
	words := []string{strings.TrimSpace(strings.TrimLeft(text, "#"))}
	column := strings.LastIndex(d.lines[key.Line-1], text)
	for _, line := range d.lines[key.Line:] {
		rest := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(rest, "#") || len(line)-len(rest) < max(column-2, 8) {
			break
		}
		words = append(words, strings.TrimSpace(strings.TrimLeft(rest, "#")))
	}
	return strings.Join(words, " ")
}

// asYAML is a value in one line, without its comment.
func asYAML(n *yaml.Node) string {
	bare := *n
	bare.LineComment, bare.HeadComment, bare.FootComment = "", "", ""
	b, err := yaml.Marshal(&bare)
	if err != nil {
		return n.Value
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

func typeWord(t reflect.Type) string {
	switch t {
	case nil:
		return "any"
	case durationType:
		return "duration"
	case sizeType, intSizeType:
		return "size"
	case memoryType:
		return "size or auto"
	case decimalType, floatType, nanoType, kopecksType:
		return "decimal"
	case secretType:
		return "secret"
	case builtinType:
		return "boolean or list"
	}
	switch {
	case readsItself(t):
		return "text"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "integer"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		return "object"
	}
	return "text"
}
