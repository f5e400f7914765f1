package adminapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

// readChange reads what is to be changed of a row. Members are merged into it, lists replaced as a whole, and null unsets. id is "" for a new row.
func readChange(k edit.Kind, id string, body operation.Raw) (*edit.Change, error) {
	c := &changeReader{Change: edit.Change{Kind: k, Create: id == "", Set: edit.Spec{}}}
	for m := rawjson.MembersOf(body); m.Next(); {
		if err := c.member(string(m.Name), m.Value); err != nil {
			return nil, err
		}
	}
	switch {
	case id != "":
		c.ID = id
	case k == edit.Endpoint:
		c.ID = edit.EndpointID(c.Set)
	case c.ID == "":
		return nil, missing("id")
	}
	return &c.Change, nil
}

// changeReader turns a body into the flat names and texts of a change.
type changeReader struct{ edit.Change }

// member reads a member of the body itself.
func (c *changeReader) member(name string, v []byte) error {
	kind := rawjson.KindOf(v)
	switch {
	case c.Kind == edit.Provider && name == "api_key" && (kind == rawjson.String || kind == rawjson.Null):
		key := rawjson.Text(v)
		c.Key = &key
		return nil
	case c.Kind == edit.Provider && name == "id" && c.Create && kind == rawjson.String:
		c.ID = rawjson.Text(v)
		return nil
	case c.Kind == edit.Provider && (name == "api_key" || name == "id" && c.Create):
		return operation.WrongType(name, kind.String())
	}
	return c.value(name, v)
}

func (c *changeReader) value(name string, v []byte) error {
	kind := rawjson.KindOf(v)
	t := edit.FieldType(c.Kind, name)
	switch {
	case t == edit.None && !edit.IsGroup(c.Kind, name):
		// an unknown field: the error has its path, and its value is not read
		return operation.UnknownField(name)
	case kind == rawjson.Null:
		if !c.Create {
			c.Unset = append(c.Unset, name)
		}
		return nil
	case t == edit.None && kind == rawjson.Object && !edit.Lists(name):
		return c.members(name, v)
	case t == edit.None && kind == rawjson.Array && edit.Lists(name):
		return c.objects(name, v)
	case t == edit.List && kind == rawjson.Array:
		return c.words(name, v)
	}
	text, ok := scalar(t, kind, v)
	if !ok {
		return operation.WrongType(name, kind.String())
	}
	c.Set[name] = text
	return nil
}

func (c *changeReader) members(group string, v []byte) error {
	for m := rawjson.MembersOf(v); m.Next(); {
		if err := c.value(group+"."+string(m.Name), m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *changeReader) objects(list string, v []byte) error {
	c.Unset = append(c.Unset, list)
	i := 0
	for e := rawjson.ElementsOf(v); e.Next(); i++ {
		at := list + "." + strconv.Itoa(i)
		if rawjson.KindOf(e.Value) != rawjson.Object {
			return operation.WrongType(at, rawjson.KindOf(e.Value).String())
		}
		for m := rawjson.MembersOf(e.Value); m.Next(); {
			if err := c.inList(list, at, string(m.Name), m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// inList reads a member of a list's object; thresholds have groups of prices in theirs.
func (c *changeReader) inList(list, at, name string, v []byte) error {
	full := at + "." + name
	if (list == "thresholds" || list == "hours") && (name == "prices" || name == "price_usd") && rawjson.KindOf(v) == rawjson.Object {
		return c.members(full, v)
	}
	return c.value(full, v)
}

func (c *changeReader) words(name string, v []byte) error {
	var words []string
	for e := rawjson.ElementsOf(v); e.Next(); {
		word := rawjson.Text(e.Value)
		if word == "" || strings.ContainsRune(word, ',') {
			return fault.Field("adminapi.readChange", name, "%s must be a list of strings.", name).Coded("text_list")
		}
		words = append(words, word)
	}
	c.Set[name] = strings.Join(words, ",")
	return nil
}

// scalar is the text of a value that a field of that type may have.
func scalar(t edit.Type, kind rawjson.Kind, v []byte) (string, bool) {
	switch {
	case kind == rawjson.String && (t == edit.Text || t == edit.Decimal || t == edit.Duration || t == edit.Certificates):
		return rawjson.Text(v), true
	case kind == rawjson.Number && t == edit.Decimal:
		return operation.PlainDecimal(string(v)), true
	case kind == rawjson.Number && t == edit.Integer:
		return string(v), true
	case (kind == rawjson.True || kind == rawjson.False) && t == edit.Boolean:
		return string(v), true
	}
	return "", false
}

// tree is a spec with its names taken apart.
type tree struct {
	inner map[string]*tree
	text  string
	kind  edit.Type
}

// specOf is a spec as the nested JSON that it was read from; nil for none.
func specOf(k edit.Kind, s edit.Spec) map[string]any {
	if s == nil {
		return nil
	}
	root := &tree{inner: map[string]*tree{}}
	for name, text := range s {
		at := root
		for part := range strings.SplitSeq(name, ".") {
			if at.inner == nil {
				at.inner = map[string]*tree{}
			}
			if at.inner[part] == nil {
				at.inner[part] = &tree{}
			}
			at = at.inner[part]
		}
		at.text, at.kind = text, edit.FieldType(k, name)
	}
	return root.members()
}

func (t *tree) members() map[string]any {
	all := map[string]any{}
	for part, inner := range t.inner {
		all[part] = inner.value(part)
	}
	return all
}

func (t *tree) value(name string) any {
	switch {
	case edit.Lists(name) && t.inner != nil:
		list := []any{}
		for _, part := range slices.SortedFunc(maps.Keys(t.inner), byNumber) {
			list = append(list, t.inner[part].value(""))
		}
		return list
	case t.inner != nil:
		return t.members()
	case t.kind == edit.Integer, t.kind == edit.Boolean:
		return operation.Raw(t.text)
	case t.kind == edit.List:
		list := []string{}
		for word := range strings.SplitSeq(t.text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				list = append(list, word)
			}
		}
		return list
	}
	return t.text
}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
