package httpapi

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/rawjson"
)

// readObject reads a body that must be one small JSON object.
func (x *exchange) readObject() ([]byte, error) { return x.readObjectWithin(formLimits) }

func (x *exchange) readObjectWithin(most rawjson.Limits) ([]byte, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	if err := rawjson.Check(body, most); err != nil {
		return nil, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, fault.New(fault.Invalid, "httpapi.readObject", "The body must be a JSON object.")
	}
	return body, nil
}

// readChange reads what is to be changed of a row. Members are merged into it, lists replaced as a whole, and null unsets.
func (x *exchange) readChange(k edit.Kind, creating bool) (*edit.Change, error) {
	body, err := x.readObject()
	if err != nil {
		return nil, err
	}
	c := &changeReader{Change: edit.Change{Kind: k, Create: creating, Set: edit.Spec{}}}
	for m := rawjson.MembersOf(body); m.Next(); {
		if err := c.member(string(m.Name), m.Value); err != nil {
			return nil, err
		}
	}
	switch {
	case !creating:
		c.ID = x.values[0]
	case k == edit.Endpoint:
		c.ID = edit.EndpointID(c.Set)
	case c.ID == "":
		return nil, fault.Field("httpapi.readChange", "id", "id is missing.")
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
		return wrongKind(name, kind)
	}
	return c.value(name, v)
}

func wrongKind(name string, kind rawjson.Kind) error {
	return fault.Field("httpapi.readChange", clip(name), "%s has the wrong type: it is %s.", clip(name), kind)
}

func (c *changeReader) value(name string, v []byte) error {
	kind := rawjson.KindOf(v)
	t := edit.FieldType(c.Kind, name)
	switch {
	case t == edit.None && !edit.IsGroup(c.Kind, name):
		// an unknown field: the error has its path, and its value is not read
		return fault.Field("httpapi.readChange", clip(name), "This route has no field of this name.")
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
		return wrongKind(name, kind)
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
			return wrongKind(at, rawjson.KindOf(e.Value))
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
			return fault.Field("httpapi.readChange", name, "%s must be a list of strings.", name)
		}
		words = append(words, word)
	}
	c.Set[name] = strings.Join(words, ",")
	return nil
}

// scalar is the text of a value that a field of that type may have.
func scalar(t edit.Type, kind rawjson.Kind, v []byte) (string, bool) {
	switch {
	case kind == rawjson.String && (t == edit.Text || t == edit.Decimal || t == edit.Duration):
		return rawjson.Text(v), true
	case kind == rawjson.Number && t == edit.Decimal:
		if n, err := money.ParseNumber(string(v)); err == nil && bytes.ContainsAny(v, "eE") {
			return n.String(), true
		}
		return string(v), true
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

// appendSpec writes a spec as the nested JSON that it was read from; null for none.
func appendSpec(o *object, k edit.Kind, s edit.Spec) {
	if s == nil {
		o.Null()
		return
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
	root.append(o, "")
}

func (t *tree) append(o *object, name string) {
	switch {
	case edit.Lists(name) && t.inner != nil:
		o.Array()
		for _, part := range slices.SortedFunc(maps.Keys(t.inner), byNumber) {
			t.inner[part].append(o, "")
		}
		o.EndArray()
	case t.inner != nil:
		o.Object()
		for _, part := range slices.Sorted(maps.Keys(t.inner)) {
			o.Name(part)
			t.inner[part].append(o, part)
		}
		o.EndObject()
	case t.kind == edit.Integer, t.kind == edit.Boolean:
		o.Literal(t.text)
	case t.kind == edit.List:
		o.Array()
		for word := range strings.SplitSeq(t.text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				o.any(word)
			}
		}
		o.EndArray()
	default:
		o.Text(t.text)
	}
}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// appendEffective writes what holds of rate and margin.
func appendEffective(o *object, e *rate.Effective) {
	o.Object()
	o.text("version", e.Version)
	o.text("rate", e.RubPerUSD)
	o.text("margin", e.Margin)
	o.Name("vat")
	appendVAT(o, e.VAT)
	o.text("source", e.Source)
	o.moment("from", e.From)
	o.EndObject()
}

func (x *exchange) getAdminRates() error { return x.replyRates(http.StatusOK) }

// maxRates is how many records a list shows: years of daily ones.
const maxRates = 1000

// replyRates writes what holds, who owns it, and the records, the newest first.
func (x *exchange) replyRates(status int) error {
	b, err := x.api.Editor.Built(x.context())
	if err != nil {
		return err
	}
	records, err := x.api.Editor.Rates(x.context())
	if err != nil {
		return err
	}
	declared := x.api.Editor.DeclaredRate()
	if declared.FromBank {
		declared.RateAt = ""
	}
	var o object
	o.Object()
	o.Name("current")
	appendEffective(&o, &b.Rate)
	o.Name("declared") // where the configuration says it, and so keeps it from being changed here
	o.Object()
	o.textOrNull("rate", declared.RateAt)
	o.textOrNull("margin", declared.MarginAt)
	o.boolean("from_bank", declared.FromBank)
	o.EndObject()
	o.Name("data").Array()
	for i := len(records) - 1; i >= max(0, len(records)-maxRates); i-- {
		appendRate(&o, &records[i])
	}
	o.EndArray()
	o.EndObject()
	x.writeBody(status, jsonType, o.B)
	return nil
}

func appendRate(o *object, r *rate.Record) {
	o.Object()
	o.integer("version", r.Version)
	o.textOrNull("rate", r.RubPerUSD)
	o.textOrNull("margin", r.Margin)
	o.text("source", r.Source)
	o.textOrNull("day", r.Day)
	o.moment("from", r.From)
	o.moment("at", r.At)
	o.text("actor", r.Actor)
	o.EndObject()
}

func (x *exchange) postAdminRate() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	r := rate.Record{Source: rate.Manual}
	for m := rawjson.MembersOf(body); m.Next(); {
		if err := readRate(&r, string(m.Name), m.Value); err != nil {
			return err
		}
	}
	if !r.From.IsZero() && r.From.Before(x.at) {
		return fault.Field("httpapi.postAdminRate", "from", "from must not be in the past: calls were charged at the rate of that time.")
	}
	if err := x.api.Editor.SetRate(x.context(), r, x.actor()); err != nil {
		return err
	}
	return x.replyRates(http.StatusCreated)
}

func readRate(r *rate.Record, name string, v []byte) error {
	kind := rawjson.KindOf(v)
	text, decimal := scalar(edit.Decimal, kind, v)
	switch {
	case name == "rate" && decimal:
		r.RubPerUSD = text
	case name == "margin" && decimal:
		r.Margin = text
	case name == "from" && kind == rawjson.String:
		from, err := time.Parse(time.RFC3339, rawjson.Text(v))
		if err != nil || from.Year() > 9999 {
			return fault.Field("httpapi.postAdminRate", "from", "from must be a time such as 2030-01-31T00:00:00Z.")
		}
		r.From = from
	case name == "rate", name == "margin", name == "from":
		if kind != rawjson.Null {
			return wrongKind(name, kind)
		}
	default:
		return fault.Field("httpapi.postAdminRate", clip(name), "This route has no field of this name.")
	}
	return nil
}
