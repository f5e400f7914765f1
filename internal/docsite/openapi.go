package docsite

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"weir/internal/rawjson"
)

// spec reads the description of the API. References are followed, and members keep their order.
type spec struct{ root *yaml.Node }

// resolve follows an alias or a $ref. name is that of the last $ref's target.
func (s *spec) resolve(n *yaml.Node) (to *yaml.Node, name string) {
	for range 8 { // a description that refers in circles would be refused by the tests of the API
		switch {
		case n == nil:
			return nil, name
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode:
			n = n.Content[0]
		case member(n, "$ref") != nil:
			ref := member(n, "$ref").Value
			name = ref[strings.LastIndexByte(ref, '/')+1:]
			n = s.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		default:
			return n, name
		}
	}
	return nil, name
}

// at is a node by the names that lead to it.
func (s *spec) at(names ...string) *yaml.Node {
	n := s.root
	for _, name := range names {
		n = s.get(n, name)
	}
	return n
}

// get is a member of an object, which may be a reference.
func (s *spec) get(n *yaml.Node, name string) *yaml.Node {
	n, _ = s.resolve(n)
	return member(n, name)
}

func member(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// members calls f for each member of an object.
func (s *spec) members(n *yaml.Node, f func(name string, value *yaml.Node)) {
	n, _ = s.resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i].Value, n.Content[i+1])
	}
}

func (s *spec) items(n *yaml.Node) []*yaml.Node {
	n, _ = s.resolve(n)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func (s *spec) text(n *yaml.Node, name string) string {
	v, _ := s.resolve(s.get(n, name))
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return v.Value
}

// methods are those of operations, in the order in which a resource is used.
var methods = []string{"get", "post", "put", "patch", "delete"}

const (
	referenceName = "reference"
	objectsFile   = "objects.md"
)

// reference makes the pages of the API from its description: first what there is, then a page for each tag, last the objects.
func reference(document []byte) ([]*page, error) {
	s := &spec{root: &yaml.Node{}}
	if err := yaml.Unmarshal(document, s.root); err != nil {
		return nil, fmt.Errorf("docsite: the description of the API: %w", err)
	}
	var index strings.Builder
	index.WriteString("# API reference\n\n    curl " + writtenBase + "/openapi.yaml\n\n" + sentence(s.text(s.at("info"), "description")) +
		"\n\nThese pages are made from the OpenAPI document of the Weir that serves them. [Using the API](../api.md) explains how to use it.\n")
	first := &page{deepest: 2, name: referenceName, file: referenceName + "/README.md", origin: "docs/" + referenceName + "/README.md"}
	pages := []*page{first}
	for _, tag := range s.items(s.at("tags")) {
		name, about := s.text(tag, "name"), s.text(tag, "description")
		index.WriteString("\n## [" + upper(name) + "](" + name + ".md)\n\n" + sentence(about) + ".\n\n| Operation | Does |\n|---|---|\n")
		var b strings.Builder
		b.WriteString("# " + upper(name) + "\n\n" + sentence(about) + ".\n")
		s.members(s.at("paths"), func(path string, item *yaml.Node) {
			for _, method := range methods {
				op := s.get(item, method)
				if op == nil || len(s.items(s.get(op, "tags"))) == 0 || s.items(s.get(op, "tags"))[0].Value != name {
					continue
				}
				title := strings.ToUpper(method) + " " + path
				index.WriteString("| [" + code(title) + "](" + name + ".md#" + fragment(title) + ") | " + cell(sentence(s.text(op, "summary"))) + " |\n")
				s.operation(&b, method, path, item, op)
			}
		})
		pages = append(pages, &page{deepest: 2, name: referenceName + "/" + name, file: referenceName + "/" + name + ".md", origin: "docs/" + referenceName + "/" + name + ".md", source: b.String(), about: about + "."})
	}
	index.WriteString("\n## [Objects](" + objectsFile + ")\n\nThe objects that several operations have in common.\n")
	first.source = index.String()
	var b strings.Builder
	b.WriteString("# Objects\n\nThe objects that several operations have in common, by name.\n")
	s.members(s.at("components", "schemas"), func(name string, schema *yaml.Node) {
		b.WriteString("\n## " + name + "\n\n")
		s.object(&b, schema)
	})
	return append(pages, &page{deepest: 2, name: referenceName + "/objects", file: referenceName + "/" + objectsFile, origin: "docs/" + referenceName + "/" + objectsFile, source: b.String(), about: "The objects that several operations have in common."}), nil
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// operation writes one operation.
func (s *spec) operation(b *strings.Builder, method, path string, item, op *yaml.Node) {
	b.WriteString("\n## " + strings.ToUpper(method) + " " + path + "\n\n" + sentence(s.text(op, "summary")) + ".\n")
	if d := s.text(op, "description"); d != "" {
		b.WriteString("\n" + sentence(d) + "\n")
	}
	if keys := s.keys(op); keys != "" {
		b.WriteString("\n" + keys + "\n")
	}
	s.example(b, method, path, item, op)
	s.parameters(b, item, op)
	body := s.get(op, "requestBody")
	if body != nil {
		b.WriteString("\n### Body\n\n")
		if d := s.text(body, "description"); d != "" {
			b.WriteString(sentence(d) + "\n\n")
		}
		s.members(s.get(body, "content"), func(kind string, media *yaml.Node) {
			b.WriteString(code(kind) + s.reference(s.get(media, "schema")) + "\n\n")
			s.object(b, s.get(media, "schema"))
		})
	}
	s.answers(b, op)
}

// keys says who may call an operation.
func (s *spec) keys(op *yaml.Node) string {
	list := s.get(op, "security")
	if list == nil {
		list = s.at("security")
	}
	var names []string
	open, role := len(s.items(list)) == 0, ""
	for _, one := range s.items(list) {
		n := 0
		s.members(one, func(name string, roles *yaml.Node) {
			n++
			for _, r := range s.items(roles) {
				role = r.Value
			}
			scheme := s.at("components", "securitySchemes", name)
			switch {
			case s.text(scheme, "type") == "http":
				names = append(names, "`Authorization: Bearer`")
			case s.text(scheme, "in") == "cookie":
				names = append(names, "a session")
			default:
				names = append(names, code(s.text(scheme, "name"))+" ("+s.text(scheme, "in")+")")
			}
		})
		open = open || n == 0
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return "Needs no key."
	case open:
		return "Works without a key, and with one: " + strings.Join(names, " or ") + "."
	}
	said := "Key: " + strings.Join(names, " or ")
	switch role {
	case "":
		return said + "."
	case "administrator":
		return said + ", of an administrator."
	}
	return said + ", of an " + role + " or an administrator."
}

// example writes a request that can be pasted.
func (s *spec) example(b *strings.Builder, method, path string, item, op *yaml.Node) {
	address, query := path, ""
	for _, p := range s.all(item, op) {
		value := s.get(p, "example")
		if value == nil {
			value = s.get(s.get(p, "schema"), "example")
		}
		if value == nil {
			continue
		}
		switch v := value.Value; s.text(p, "in") {
		case "path":
			address = strings.ReplaceAll(address, "{"+s.text(p, "name")+"}", v)
		case "query":
			sign := "&"
			if query == "" {
				sign = "?"
			}
			query += sign + s.text(p, "name") + "=" + v
		}
	}
	b.WriteString("\n```sh\ncurl ")
	if method != "get" && method != "post" || method == "post" && s.get(op, "requestBody") == nil {
		b.WriteString("-X " + strings.ToUpper(method) + " ")
	}
	b.WriteString(quoteURL("$BASE" + address + query))
	if s.keys(op) != "Needs no key." {
		name := "$KEY"
		if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/keys") || strings.HasPrefix(path, "/v1/activity") {
			name = "$MANAGEMENT_KEY"
		}
		b.WriteString(` -H "Authorization: Bearer ` + name + `"`)
	}
	s.members(s.get(s.get(op, "requestBody"), "content"), func(kind string, media *yaml.Node) {
		value := s.get(media, "example")
		if value == nil {
			s.members(s.get(media, "examples"), func(_ string, one *yaml.Node) {
				if value == nil {
					value = s.get(one, "value")
				}
			})
		}
		if value == nil || kind != "application/json" {
			return
		}
		b.WriteString(` -H "Content-Type: application/json" \` + "\n  -d '" + strings.ReplaceAll(string(s.json(nil, value)), "'", `'\''`) + "'")
	})
	b.WriteString("\n```\n")
}

// quoteURL quotes an address that a shell would change.
func quoteURL(u string) string {
	if strings.ContainsAny(u, "&?{}*;()'") {
		return `"` + u + `"`
	}
	return u
}

// json writes a value of the description as JSON.
func (s *spec) json(b []byte, n *yaml.Node) []byte {
	n, _ = s.resolve(n)
	if n == nil {
		return append(b, "null"...)
	}
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(rawjson.AppendText(b, n.Content[i].Value), ':')
			b = s.json(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.json(b, c)
		}
		return append(b, ']')
	}
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool":
		return append(b, n.Value...)
	case "!!null":
		return append(b, "null"...)
	}
	return rawjson.AppendText(b, n.Value)
}

// all are the parameters of an operation and of its path.
func (s *spec) all(item, op *yaml.Node) []*yaml.Node {
	return append(slices.Clone(s.items(s.get(item, "parameters"))), s.items(s.get(op, "parameters"))...)
}

func (s *spec) parameters(b *strings.Builder, item, op *yaml.Node) {
	list := s.all(item, op)
	if len(list) == 0 {
		return
	}
	b.WriteString("\n### Parameters\n\n| Name | In | Type | Meaning |\n|---|---|---|---|\n")
	for _, p := range list {
		schema := s.get(p, "schema")
		about := s.text(p, "description")
		if about == "" {
			about = s.text(schema, "description")
		}
		b.WriteString("| " + code(s.text(p, "name")) + " | " + s.text(p, "in") + " | " + s.kind(schema) + " | " + cell(s.meaning(schema, about, s.text(p, "required") == "true")) + " |\n")
	}
}

func (s *spec) answers(b *strings.Builder, op *yaml.Node) {
	b.WriteString("\n### Answers\n\n| Status | Meaning | Body |\n|---|---|---|\n")
	s.members(s.get(op, "responses"), func(status string, answer *yaml.Node) {
		body := ""
		s.members(s.get(answer, "content"), func(kind string, media *yaml.Node) {
			if body != "" {
				body += ", "
			}
			body += code(kind) + s.reference(s.get(media, "schema"))
		})
		if body == "" {
			body = "none"
		}
		b.WriteString("| " + status + " | " + cell(sentence(s.text(answer, "description"))) + " | " + body + " |\n")
	})
	s.members(s.get(op, "responses"), func(status string, answer *yaml.Node) {
		if !strings.HasPrefix(status, "2") {
			return
		}
		s.members(s.get(answer, "content"), func(kind string, media *yaml.Node) {
			schema := s.get(media, "schema")
			if _, name := s.resolve(schema); name != "" || s.get(schema, "properties") == nil {
				return
			}
			b.WriteString("\nThe body of " + status + ":\n\n")
			s.object(b, schema)
		})
	})
}

// reference is a link to an object that has a name, after a colon; "" for others.
func (s *spec) reference(schema *yaml.Node) string {
	if _, name := s.resolve(schema); name != "" {
		return ": " + link(name)
	}
	return ""
}

func link(name string) string { return "[" + name + "](" + objectsFile + "#" + fragment(name) + ")" }

// Members of members are listed down to this depth; objects with names have sections of their own.
const deepest = 3

// object writes the members of a schema.
func (s *spec) object(b *strings.Builder, schema *yaml.Node) {
	n, _ := s.resolve(schema)
	if d := s.text(n, "description"); d != "" {
		b.WriteString(sentence(d) + ".\n\n")
	}
	var rows strings.Builder
	s.rows(&rows, n, "", 1)
	if rows.Len() > 0 {
		b.WriteString("| Member | Type | Meaning |\n|---|---|---|\n" + rows.String() + "\n")
	} else if kind := s.kind(n); kind != "object" {
		b.WriteString("Type: " + kind + ". " + s.meaning(n, "", false) + "\n\n")
	}
	if e := s.get(n, "example"); e != nil && rows.Len() > 0 {
		b.WriteString("```json\n" + string(s.json(nil, e)) + "\n```\n\n")
	}
}

func (s *spec) rows(b *strings.Builder, schema *yaml.Node, prefix string, depth int) {
	required := map[string]bool{}
	for _, r := range s.items(s.get(schema, "required")) {
		required[r.Value] = true
	}
	for _, part := range s.items(s.get(schema, "allOf")) {
		s.rows(b, part, prefix, depth)
	}
	s.members(s.get(schema, "properties"), func(name string, value *yaml.Node) {
		n, named := s.resolve(value)
		if named != "" && s.simple(n) { // a name for a number or a text needs no section
			named = ""
		}
		b.WriteString("| " + code(prefix+name) + " | " + s.kind(value) + " | " + cell(s.meaning(n, s.text(value, "description"), required[name])) + " |\n")
		if named != "" || depth >= deepest {
			return
		}
		if s.get(n, "properties") != nil {
			s.rows(b, n, prefix+name+".", depth+1)
		}
		if items := s.get(n, "items"); items != nil {
			if in, name2 := s.resolve(items); name2 == "" && s.get(in, "properties") != nil {
				s.rows(b, in, prefix+name+"[].", depth+1)
			}
		}
	})
}

func (s *spec) simple(n *yaml.Node) bool {
	return s.get(n, "properties") == nil && s.get(n, "allOf") == nil && s.get(n, "oneOf") == nil && s.get(n, "anyOf") == nil && s.text(n, "type") != "object" && s.text(n, "type") != "array"
}

// kind is the type of a schema in words, with links.
func (s *spec) kind(schema *yaml.Node) string {
	n, name := s.resolve(schema)
	if n == nil {
		return "any"
	}
	if name != "" && !s.simple(n) {
		return link(name)
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		list := s.items(s.get(n, word))
		if len(list) == 0 {
			continue
		}
		var kinds []string
		for _, one := range list {
			if k := s.kind(one); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		return strings.Join(kinds, " or ")
	}
	var types []string
	if t := s.get(n, "type"); t != nil {
		if t.Kind == yaml.SequenceNode {
			for _, one := range t.Content {
				types = append(types, one.Value)
			}
		} else {
			types = append(types, t.Value)
		}
	}
	for i, t := range types {
		if t == "array" && s.get(n, "items") != nil {
			types[i] = "array of " + s.kind(s.get(n, "items"))
		}
	}
	switch {
	case len(types) > 0:
		return strings.Join(types, " or ")
	case s.get(n, "enum") != nil || s.get(n, "const") != nil:
		return "string"
	}
	return "any"
}

// meaning is what a value means and what it may be.
func (s *spec) meaning(schema *yaml.Node, about string, required bool) string {
	n, _ := s.resolve(schema)
	if about == "" {
		about = s.text(n, "description")
	}
	var parts []string
	if required {
		parts = append(parts, "**Required.**")
	}
	if about != "" {
		parts = append(parts, strings.TrimSuffix(sentence(about), ".")+".")
	}
	if list := s.items(s.get(n, "enum")); len(list) > 0 {
		var values []string
		for _, v := range list {
			values = append(values, code(v.Value))
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if v := s.get(n, "const"); v != nil {
		parts = append(parts, "Always "+code(v.Value)+".")
	}
	var bounds []string
	for _, bound := range []struct{ name, before, after string }{
		{"minimum", "at least ", ""}, {"exclusiveMinimum", "more than ", ""}, {"maximum", "at most ", ""}, {"maxLength", "at most ", " characters"}, {"maxItems", "at most ", " elements"},
	} {
		if v := s.text(n, bound.name); v != "" {
			bounds = append(bounds, bound.before+v+bound.after)
		}
	}
	if len(bounds) > 0 {
		parts = append(parts, upper(strings.Join(bounds, ", "))+".")
	}
	if v := s.get(n, "default"); v != nil {
		parts = append(parts, "Default: "+code(string(s.json(nil, v)))+".")
	}
	return strings.Join(parts, " ")
}
