// Package describe writes the OpenAPI description of operations from their Go types. Names, kinds and bounds come from fields and their tags,
// sentences from the comments of types and fields, so that a field is spelled and explained once.
//
// Beside the tags that package operation reads, a field may have those of huma that bound a value: enum, minimum, maximum, minLength, maxLength,
// pattern, format, minItems, maxItems. They describe what the domain checks. A field with the tag schema is described by the schema of that name, which
// is written by hand.
package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"

	"weir/internal/apikey"
	"weir/internal/money"
	"weir/internal/operation"
)

// Document puts operations into a description that is written by hand: their paths at its line "# operations", their types at "# types", and the
// answers of refusals at each "# refused: 400 401".
// dirs are the folders with the source of their types.
func Document(base []byte, all []operation.Operation, dirs ...string) ([]byte, error) {
	huma.DefaultArrayNullable = false // a list without elements is written as []
	w := &writer{registry: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer), comments: map[string]string{}, types: map[string]reflect.Type{}, read: map[string]bool{}}
	w.registry.RegisterTypeAlias(reflect.TypeFor[money.Nano](), reflect.TypeFor[decimal]())
	w.registry.RegisterTypeAlias(reflect.TypeFor[money.Price](), reflect.TypeFor[decimal]())
	w.registry.RegisterTypeAlias(reflect.TypeFor[operation.Decimal](), reflect.TypeFor[decimalInput]())
	w.registry.RegisterTypeAlias(reflect.TypeFor[operation.Object](), reflect.TypeFor[members]())
	w.registry.RegisterTypeAlias(reflect.TypeFor[operation.Raw](), reflect.TypeFor[any]())
	w.registry.RegisterTypeAlias(reflect.TypeFor[operation.True](), reflect.TypeFor[always]())
	w.registry.RegisterTypeAlias(reflect.TypeFor[operation.Null](), reflect.TypeFor[null]())
	for _, dir := range append(dirs, filepath.Join("..")) {
		if err := w.readComments(dir); err != nil {
			return nil, err
		}
	}
	paths := &yaml.Node{Kind: yaml.MappingNode}
	for i := range all {
		if err := w.add(paths, &all[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].ID, err)
		}
	}
	types, err := w.schemas()
	if err != nil {
		return nil, err
	}
	for mark, part := range map[string]*yaml.Node{"  # operations\n": paths, "    # types\n": types} {
		text, err := render(part, strings.Index(mark, "#"))
		if err != nil {
			return nil, err
		}
		if bytes.Count(base, []byte(mark)) != 1 {
			return nil, fmt.Errorf("the description has no line %q", mark)
		}
		base = bytes.Replace(base, []byte(mark), text, 1)
	}
	base = spellRefusals(base)
	return append([]byte("# Made of openapi.base.yaml and the declarations of operations by `go test ./internal/operation/describe -update`. Change those.\n"), base...), nil
}

// decimal, always and null stand for types whose JSON is not what their Go kind says.
type (
	decimal string
	always  bool

	decimalInput string
	null         bool
	members      bool
)

func (decimal) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: decimals}
}
func (decimalInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/DecimalInput"}
}
func (always) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Extensions: map[string]any{"const": true}}
}

func (members) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}
func (null) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: "null"} }

// decimals is the schema of amounts, which is written by hand.
const decimals = "#/components/schemas/Decimal"

type writer struct {
	registry huma.Registry
	comments map[string]string // of "View" and "View.Name"
	types    map[string]reflect.Type
	read     map[string]bool // types of bodies of requests: they have no other members
}

// readComments takes the comments of the types in a folder.
func (w *writer) readComments(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			g, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					w.readType(t, g.Doc)
				}
			}
			return false
		})
		return nil
	})
}

func (w *writer) readType(t *ast.TypeSpec, doc *ast.CommentGroup) {
	if t.Doc != nil {
		doc = t.Doc
	}
	said := sentence(doc.Text())
	if rest, ok := strings.CutPrefix(said, t.Name.Name+" "); ok {
		said = sentence(strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are "))
	}
	w.comments[t.Name.Name] = said
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		said := f.Comment.Text()
		if f.Doc != nil {
			said = f.Doc.Text()
		}
		for _, name := range f.Names {
			w.comments[t.Name.Name+"."+name.Name] = sentence(said)
		}
	}
}

// sentence is a comment in one line, which begins as sentences do.
func sentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" || s[0] == '"' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// add describes one operation.
func (w *writer) add(paths *yaml.Node, o *operation.Operation) error {
	described := &huma.Operation{
		OperationID: o.ID, Tags: []string{o.Tag}, Summary: o.Summary, Description: o.Description, Security: security(o), Responses: map[string]*huma.Response{},
	}
	if o.Org != 0 {
		described.Extensions = map[string]any{"x-organization-roles": o.Org.Names()}
		described.Parameters = append(described.Parameters, &huma.Param{Ref: "#/components/parameters/Account"})
	}
	fields := reflect.VisibleFields(o.In())
	for segment := range strings.SplitSeq(o.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name, _, _ = strings.Cut(name, "}")
			described.Parameters = append(described.Parameters, w.parameter(o.In(), fields, "path", name))
		}
	}
	for _, f := range fields {
		if name := f.Tag.Get("query"); name != "" {
			described.Parameters = append(described.Parameters, w.parameter(o.In(), fields, "query", name))
		}
	}
	for _, f := range fields {
		if name := f.Tag.Get("header"); name != "" {
			described.Parameters = append(described.Parameters, w.parameter(o.In(), fields, "header", name))
		}
	}
	if o.Method != "GET" && !o.LiteLLM && o.Access != operation.Linked && o.Access != operation.Notifying {
		described.Parameters = append(described.Parameters, &huma.Param{Ref: "#/components/parameters/XWeir"})
	}
	if o.HasBody() {
		media := &huma.MediaType{}
		if o.In() == reflect.TypeFor[operation.Empty]() {
			media.Schema = &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false}
		} else if i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Tag.Get("body") != "" }); i >= 0 {
			media.Schema = &huma.Schema{Ref: "#/components/schemas/" + fields[i].Tag.Get("body")}
		} else {
			media.Schema = w.schema(o.In())
			w.noteRead(o.In())
		}
		if o.Example != "" {
			if err := json.Unmarshal([]byte(o.Example), &media.Example); err != nil {
				return fmt.Errorf("the example: %w", err)
			}
		}
		described.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": media}}
	}
	w.answers(described, o)
	node, err := nodeOf(described)
	if err != nil {
		return err
	}
	at := member(paths, o.Path)
	at.Content = append(at.Content, text(strings.ToLower(o.Method)), node)
	return nil
}

// answers are the success, and the refusals that each operation of its kind may have.
func (w *writer) answers(to *huma.Operation, o *operation.Operation) {
	success := answer(o.Answer)
	if o.Cookies {
		success.Headers["Set-Cookie"] = &huma.Param{Ref: "#/components/headers/SessionCookie"}
	}
	done, waits := operation.OrOf(o.Out())
	switch {
	case done != nil:
		success.Content = w.json(done)
		to.Responses["202"] = answer(o.Waits)
		to.Responses["202"].Content = w.json(waits)
	case operation.CachedOf(o.Out()) != nil:
		to.Parameters = append(to.Parameters, &huma.Param{Ref: "#/components/parameters/IfNoneMatch"})
		to.Responses["304"] = &huma.Response{Description: "The client has it"}
		success.Headers["ETag"] = &huma.Param{Schema: &huma.Schema{Type: huma.TypeString}}
		success.Content = w.json(operation.CachedOf(o.Out()))
	case o.Out() == reflect.TypeFor[operation.Stream]():
		data := make([]*huma.Schema, len(o.Events))
		for i := range o.Events {
			data[i] = w.schema(reflect.TypeOf(o.Events[i]))
		}
		s := &huma.Schema{Type: huma.TypeString, Description: "Events with `id`, `event` and `data`"}
		s.Extensions = map[string]any{"contentMediaType": "text/event-stream", "contentSchema": &huma.Schema{Description: "The data of an event", AnyOf: data}}
		success.Content = map[string]*huma.MediaType{"text/event-stream": {Schema: s}}
	case !o.HasAnswer():
	case o.Media != "":
		file := &huma.Schema{Type: huma.TypeString}
		if !strings.HasPrefix(o.Media, "text/") {
			file.Format = "binary"
		}
		success.Content = map[string]*huma.MediaType{o.Media: {Schema: file}}
	default:
		success.Content = w.json(o.Out())
	}
	to.Responses[strconv.Itoa(o.Status)] = success
	if o.Repeats {
		to.Responses["200"] = success
	}
	plain := []string{"400", "401", "403", "404", "500", "default"}
	if o.HasBody() {
		plain = append(plain, "408", "409", "413", "415")
	}
	for _, status := range append(plain, "429", "503") {
		to.Responses[status] = &huma.Response{Ref: refusal(status)}
		if o.LiteLLM {
			to.Responses[status] = &huma.Response{Ref: "#/components/responses/LiteLLMError"}
		}
	}
}

// refusal is what describes the answers of a status.
func refusal(status string) string {
	switch status {
	case "401":
		return "#/components/responses/Unauthorized"
	case "429", "503":
		return "#/components/responses/RetryLater"
	}
	return "#/components/responses/Error"
}

// spellRefusals puts the answers of refusals into a description by hand, at its lines "# refused: 400 401".
func spellRefusals(base []byte) (out []byte) {
	for line := range bytes.Lines(base) {
		indent, statuses, found := strings.Cut(string(line), "# refused: ")
		if !found {
			out = append(out, line...)
			continue
		}
		for _, status := range append(strings.Fields(statuses), "default") {
			out = fmt.Appendf(out, "%s'%s': {$ref: '%s'}\n", indent, status, refusal(status))
		}
	}
	return out
}

func answer(said string) *huma.Response {
	return &huma.Response{Description: said, Headers: map[string]*huma.Param{"X-Request-Id": {Ref: "#/components/headers/RequestId"}}}
}

func (w *writer) json(t reflect.Type) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: w.schema(t)}}
}

// security says what a request must have: one of the entries. What is in brackets is the least role.
func security(o *operation.Operation) []map[string][]string {
	bearer, session, none := map[string][]string{"bearer": {}}, map[string][]string{"session": {}}, map[string][]string{}
	if o.LiteLLM { // outside /api, where no cookie is looked at
		return []map[string][]string{bearer}
	}
	switch o.Access {
	case operation.Administration:
		return []map[string][]string{{"bearer": {string(apikey.Administrator)}}, {"session": {string(apikey.Administrator)}}}
	case operation.Operating:
		return []map[string][]string{{"bearer": {string(apikey.Operator)}}, {"session": {string(apikey.Operator)}}}
	case operation.Management:
		return []map[string][]string{bearer, session}
	case operation.SignedIn:
		return []map[string][]string{session}
	case operation.Visiting:
		return []map[string][]string{none, session}
	case operation.Public:
		return []map[string][]string{none, bearer, session}
	case operation.AnyKey:
		return []map[string][]string{bearer, session} // under /api
	case operation.Inference, operation.Provisioning:
		return []map[string][]string{bearer}
	case operation.Unlimited, operation.Notifying, operation.Linked:
	}
	return []map[string][]string{none}
}

func (w *writer) parameter(t reflect.Type, fields []reflect.StructField, in, name string) *huma.Param {
	f := fields[slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Tag.Get(in) == name })]
	s := huma.SchemaFromField(w.registry, f, "")
	s.Nullable, s.Examples = false, nil
	if f.Tag.Get("most") != "" {
		least, most := 1.0, 0.0
		_, _ = fmt.Sscan(f.Tag.Get("most"), &most)
		s.Minimum, s.Maximum = &least, &most
	}
	p := &huma.Param{Name: name, In: in, Required: in == "path", Description: w.comments[w.owner(t, f)+"."+f.Name], Schema: s}
	if example := f.Tag.Get("example"); example != "" {
		p.Example = example
	}
	return p
}

// schema describes a type: by a reference, except one that only wraps others.
func (w *writer) schema(t reflect.Type) *huma.Schema {
	w.learn(t)
	s := w.registry.Schema(t, !wraps(t), "")
	if wraps(t) {
		delete(w.registry.Map(), huma.DefaultSchemaNamer(t, ""))
		s.AdditionalProperties = nil
	}
	return s
}

// wraps reports whether a type has no name of its own in the description: {"data": ...}, and what every removal answers.
func wraps(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[operation.Deleted]().PkgPath() }

// typeName is the name of a type in the source.
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// learn notes a type and those of its fields, and how a Maybe is to be described.
func (w *writer) learn(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, "")
	if t.Kind() != reflect.Struct || w.types[name] == t || t.PkgPath() == "time" {
		return
	}
	if inner := operation.MaybeOf(t); inner != nil {
		w.registry.RegisterTypeAlias(t, reflect.PointerTo(inner))
		w.learn(inner)
		return
	}
	if as := operation.AsOf(t); as != nil {
		w.registry.RegisterTypeAlias(t, as)
		w.learn(as)
		return
	}
	w.types[name] = t
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("json") != "-" {
			w.learn(f.Type)
		}
	}
}

// noteRead notes a type of a request's body, and those of its members.
func (w *writer) noteRead(t reflect.Type) {
	if inner := operation.MaybeOf(t); inner != nil {
		t = inner
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, "")
	if t.Kind() != reflect.Struct || w.read[name] || operation.AsOf(t) != nil {
		return
	}
	w.read[name] = true
	for _, f := range reflect.VisibleFields(t) {
		w.noteRead(f.Type)
	}
}

// schemas are the types by name, with the comments of their fields in the order of the source.
func (w *writer) schemas() (*yaml.Node, error) {
	all := &yaml.Node{Kind: yaml.MappingNode}
	named := w.registry.Map()
	for _, name := range slices.Sorted(maps.Keys(named)) {
		s, t := named[name], w.types[name]
		if t == nil || wraps(t) {
			continue
		}
		s.Description = w.comments[typeName(t)]
		if !w.read[name] {
			s.AdditionalProperties = nil
		}
		var order []string
		for _, f := range reflect.VisibleFields(t) {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[member]
			if p == nil {
				continue
			}
			order = append(order, member)
			if p.Type == huma.TypeInteger {
				p.Format = ""
			}
			if w.read[name] && p.Ref == decimals {
				p = &huma.Schema{OneOf: []*huma.Schema{{Ref: decimals}, {Type: huma.TypeNumber}}}
				s.Properties[member] = p
			}
			if f.Tag.Get("null") == "none" && p.Type != "" {
				p.Nullable = true
				if p.Enum != nil {
					p.Enum = append(p.Enum, nil)
				}
			}
			p.Description = w.comments[w.owner(t, f)+"."+f.Name]
			if by := f.Tag.Get("schema"); by != "" {
				p = &huma.Schema{Ref: "#/components/schemas/" + by}
				if f.Type == reflect.TypeFor[*operation.Raw]() {
					p = &huma.Schema{OneOf: []*huma.Schema{p, {Type: "null"}}}
				}
				s.Properties[member], p = p, &huma.Schema{}
			}
			if inner := operation.MaybeOf(f.Type); inner != nil && p.Ref != "" {
				s.Properties[member] = &huma.Schema{OneOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}, Description: p.Description}
			}
			if f.Type.Kind() == reflect.Pointer && p.Ref != "" && !strings.Contains(f.Tag.Get("json"), ",omit") {
				s.Properties[member] = &huma.Schema{OneOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}, Description: p.Description}
			}
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Slice && p.Ref == "" && !w.read[name] && !strings.Contains(f.Tag.Get("json"), ",omit") {
				p.Nullable = true
			}
			if operation.MaybeOf(f.Type) != nil {
				s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == member })
			}
		}
		node, err := nodeOf(s)
		if err != nil {
			return nil, err
		}
		sortMembers(node, order)
		all.Content = append(all.Content, text(name), node)
	}
	return all, nil
}

// owner is the name of the type in which a field is declared, which may be embedded.
func (w *writer) owner(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return typeName(t)
}
