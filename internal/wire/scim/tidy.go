package scim

import (
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Attributes that are kept. What a directory sends beside them is left out: most send all that they have.
var (
	ofUsers  = []string{"userName", "externalId", "displayName", "name", "emails", "active", "roles"}
	ofGroups = []string{"displayName", "externalId", "members"}
)

// Attributes that have several values.
var many = map[string]bool{"emails": true, "roles": true, "members": true}

const (
	mostDepth  = 12
	mostValues = 50000
)

func check(body []byte) error {
	if err := rawjson.Check(body, rawjson.Limits{Depth: mostDepth, Keys: mostValues, Values: mostValues}); err != nil {
		return err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, "scim.check", "The body must be a JSON object.")
	}
	return nil
}

// member finds a member of an object, whose name may be in any case (RFC 7643, section 2.1).
func member(v []byte, name string) []byte {
	for m := rawjson.MembersOf(v); m.Next(); {
		if strings.EqualFold(string(m.Name), name) {
			return m.Value
		}
	}
	return nil
}

// tidyPatch writes the operations of a PATCH as the standard has them, from the forms that directories send:
//   - Entra ID writes names of operations with a capital, booleans as text, values of single attributes in arrays, keys of objects with a dot, and removes
//     members with a list of values;
//   - Okta gives an object and no path, with the id among its attributes;
//   - clients made with SCIM-SDK give the values of arrays as JSON in text.
//
// Each operation has a path then. Those on attributes that are not kept are left out; none reports that nothing is left.
func tidyPatch(body []byte, kept []string) (out []byte, none bool, err error) {
	if err := check(body); err != nil {
		return nil, false, err
	}
	list := member(body, "Operations")
	if rawjson.KindOf(list) != rawjson.Array {
		return nil, false, fault.Field("scim.tidyPatch", "Operations", "Operations must be an array of operations.")
	}
	var w rawjson.Writer
	w.Object()
	w.Name("schemas").Raw([]byte(`["urn:ietf:params:scim:api:messages:2.0:PatchOp"]`))
	w.Name("Operations").Array()
	none = true
	for e := rawjson.ElementsOf(list); e.Next(); {
		op := strings.ToLower(rawjson.Text(member(e.Value, "op")))
		if op != "add" && op != "replace" && op != "remove" {
			return nil, false, fault.Field("scim.tidyPatch", "op", "op must be add, replace or remove.")
		}
		path, value := rawjson.Text(member(e.Value, "path")), member(e.Value, "value")
		if path != "" {
			none = !operation(&w, kept, op, path, value) && none
			continue
		}
		if op == "remove" {
			return nil, false, fault.Field("scim.tidyPatch", "path", "path is missing: remove needs one.")
		}
		if rawjson.KindOf(value) != rawjson.Object {
			return nil, false, fault.Field("scim.tidyPatch", "value", "value must be an object where there is no path.")
		}
		for m := rawjson.MembersOf(value); m.Next(); {
			none = !operation(&w, kept, op, string(m.Name), m.Value) && none
		}
	}
	w.EndArray()
	w.EndObject()
	return w.B, none, nil
}

// attributeOf is the kept attribute of a path, "" none, and the path without the name of our schema.
func attributeOf(kept []string, path string) (attribute, rest string) {
	for _, urn := range []string{userSchema, groupSchema} {
		if len(path) > len(urn) && strings.EqualFold(path[:len(urn)], urn) && path[len(urn)] == ':' {
			path = path[len(urn)+1:]
		}
	}
	name := path
	if i := strings.IndexAny(path, ".["); i >= 0 {
		name = path[:i]
	}
	for _, k := range kept {
		if strings.EqualFold(k, name) {
			return k, k + path[len(name):]
		}
	}
	return "", ""
}

// operation writes one operation, and reports whether it did.
func operation(w *rawjson.Writer, kept []string, op, path string, value []byte) bool {
	attribute, path := attributeOf(kept, path)
	if attribute == "" {
		return false
	}
	whole := path == attribute && many[attribute] // the value is a list
	if !whole {
		value = single(value)
	}
	if rawjson.IsNull(value) {
		if op == "add" {
			return false
		}
		op = "remove"
	}
	w.Object()
	w.Name("op").Text(op)
	w.Name("path").Text(path)
	if !rawjson.IsNull(value) {
		w.Name("value")
		if whole {
			writeList(w, value)
		} else {
			w.Raw(value)
		}
	}
	w.EndObject()
	return true
}

// single is the value of an attribute that has one: ["x"] and [{"$ref":null,"value":"x"}] are "x", as older versions of Entra ID and SCIM-SDK write it.
func single(value []byte) []byte {
	if rawjson.KindOf(value) == rawjson.Array {
		var first []byte
		n := 0
		for e := rawjson.ElementsOf(value); e.Next(); n++ {
			first = e.Value
		}
		if n != 1 {
			return value
		}
		if rawjson.KindOf(first) == rawjson.Object {
			if inner := member(first, "value"); inner != nil {
				return inner
			}
		}
		return first
	}
	return value
}

// writeList writes the values of an attribute that has several, each as an object.
func writeList(w *rawjson.Writer, value []byte) {
	w.Array()
	if rawjson.KindOf(value) == rawjson.Array {
		for e := rawjson.ElementsOf(value); e.Next(); {
			writeValue(w, e.Value)
		}
	} else {
		writeValue(w, value)
	}
	w.EndArray()
}

// writeValue writes an object with a value: the text alone becomes one, and so does an object in text, as SCIM-SDK has those of members, and Entra ID
// the values of roles.
func writeValue(w *rawjson.Writer, v []byte) {
	text := v
	if rawjson.KindOf(v) == rawjson.Object {
		text = member(v, "value")
	}
	if rawjson.KindOf(text) != rawjson.String {
		w.Raw(v)
		return
	}
	plain := rawjson.Text(text)
	if strings.HasPrefix(plain, "{") {
		if inner := []byte(plain); check(inner) == nil {
			if value := member(inner, "value"); rawjson.KindOf(value) == rawjson.String {
				plain = rawjson.Text(value)
			}
		}
	}
	w.Object()
	w.Name("value").Text(plain)
	if rawjson.KindOf(v) == rawjson.Object {
		for m := rawjson.MembersOf(v); m.Next(); {
			if !strings.EqualFold(string(m.Name), "value") && !rawjson.IsNull(m.Value) {
				w.Name(string(m.Name)).Raw(m.Value)
			}
		}
	}
	w.EndObject()
}

// tidyFilter writes a filter as the standard has it. Entra ID asks for emails[type eq "work"].value eq "x" and for members eq "x", which the grammar does
// not have.
func tidyFilter(f string) string {
	const members = "members eq "
	for i := 0; i < len(f); i++ {
		switch {
		case f[i] == '"':
			i = textEnd(f, i) - 1
		case f[i] == ']' && i+1 < len(f) && f[i+1] == '.':
			name, rest, _ := strings.Cut(f[i+2:], " ")
			operator, rest, ok := strings.Cut(strings.TrimLeft(rest, " "), " ")
			rest = strings.TrimLeft(rest, " ")
			if !ok || rest == "" || rest[0] != '"' {
				return f
			}
			end := textEnd(rest, 0)
			return f[:i] + " and " + name + " " + operator + " " + rest[:end] + "]" + tidyFilter(rest[end:])
		case len(f)-i > len(members) && strings.EqualFold(f[i:i+len(members)], members) && f[i+len(members)] == '"' && (i == 0 || f[i-1] == ' ' || f[i-1] == '('):
			rest := f[i+len(members):]
			end := textEnd(rest, 0)
			return f[:i] + "members[value eq " + rest[:end] + "]" + tidyFilter(rest[end:])
		}
	}
	return f
}

// textEnd is where the text ends that begins with the quote at i.
func textEnd(f string, i int) int {
	for i++; i < len(f); i++ {
		switch f[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(f)
}

// tidyResource writes a whole resource with what is kept of it.
func tidyResource(body []byte, kept []string) ([]byte, error) {
	if err := check(body); err != nil {
		return nil, err
	}
	var w rawjson.Writer
	w.Object()
	seen := map[string]bool{}
	for m := rawjson.MembersOf(body); m.Next(); {
		name := string(m.Name)
		attribute, path := attributeOf(kept, name)
		if strings.EqualFold(name, "schemas") {
			attribute, path = "schemas", "schemas"
		}
		if attribute == "" || path != attribute || rawjson.IsNull(m.Value) {
			continue
		}
		if seen[attribute] {
			return nil, fault.Newf(fault.DuplicateKey, "scim.tidyResource", "%s comes twice.", attribute)
		}
		seen[attribute] = true
		w.Name(attribute)
		if many[attribute] {
			writeList(&w, m.Value)
			continue
		}
		w.Raw(m.Value)
	}
	w.EndObject()
	return w.B, nil
}
