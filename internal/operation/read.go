package operation

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
)

const op = "operation.read"

// Maybe is a member that may be left out, and may be null, which is something else.
type Maybe[T any] struct {
	Given bool
	Value *T // nil: null
}

// UnmarshalJSONFrom reads the member. It is called for members that are there.
func (m *Maybe[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	m.Given = true
	return json.UnmarshalDecode(d, &m.Value)
}

func (Maybe[T]) maybe() reflect.Type { return reflect.TypeFor[T]() }

// MaybeOf is the type T of a Maybe[T], nil for other types.
func MaybeOf(t reflect.Type) reflect.Type {
	if m, ok := reflect.Zero(t).Interface().(interface{ maybe() reflect.Type }); ok {
		return m.maybe()
	}
	return nil
}

// As is JSON as it was sent or is stored, which is described as a T and read by who knows more of it.
type As[T any] struct{ Raw }

func (As[T]) as() reflect.Type { return reflect.TypeFor[T]() }

// AsOf is the type T of an As[T], nil for other types.
func AsOf(t reflect.Type) reflect.Type {
	if a, ok := reflect.Zero(t).Interface().(interface{ as() reflect.Type }); ok {
		return a.as()
	}
	return nil
}

// plan is how requests of a type are read.
type plan struct {
	path  [][]int // the field of each segment in braces
	query []parameter
	heads []parameter // header fields, which are texts
	body  bool
	raw   []int // the field of the whole body; nil: the body is read member by member
	shape *shape
}

type parameter struct {
	name  string
	index []int
	most  int64 // of a whole number
}

// shape is what a value of the body must have for its type, beyond what the JSON library checks: which members must be there, and where null may
// stand.
type shape struct {
	null    bool // may be null
	members map[string]*shape
	must    []string
	each    *shape // of the elements of a list, or of the values of a map
}

func planOf(t reflect.Type, path string) (*plan, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is no struct", t)
	}
	p := &plan{body: t == reflect.TypeFor[Empty]()}
	for segment := range strings.SplitSeq(path, "/") {
		name, ok := strings.CutPrefix(segment, "{")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, "}")
		i := slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Tag.Get("path") == name })
		if i < 0 {
			return nil, fmt.Errorf("no field has the tag path:%q", name)
		}
		p.path = append(p.path, reflect.VisibleFields(t)[i].Index)
	}
	for _, f := range reflect.VisibleFields(t) {
		switch query, of := f.Tag.Get("query"), f.Tag.Get("path"); {
		case f.Tag.Get("header") != "":
			p.heads = append(p.heads, parameter{name: f.Tag.Get("header"), index: f.Index})
		case f.Tag.Get("body") != "":
			p.body, p.raw = true, f.Index
		case query != "":
			q := parameter{name: query, index: f.Index}
			if most := f.Tag.Get("most"); most != "" {
				n, err := strconv.ParseInt(most, 10, 64)
				if err != nil {
					return nil, err
				}
				q.most = n
			}
			p.query = append(p.query, q)
		case of == "" && f.Tag.Get("json") != "" && f.Tag.Get("json") != "-":
			p.body = true
		case f.Anonymous && !f.IsExported():
			return nil, fmt.Errorf("%s is embedded and not exported, so that its fields are not described", f.Name)
		case of == "" && !f.Anonymous && f.Tag.Get("json") == "":
			return nil, fmt.Errorf("field %s has no tag", f.Name)
		}
	}
	var err error
	p.shape, err = shapeOf(t)
	return p, err
}

func shapeOf(t reflect.Type) (*shape, error) {
	if inner := MaybeOf(t); inner != nil {
		s, err := shapeOf(inner)
		if s != nil {
			s.null = true
		}
		return s, err
	}
	if AsOf(t) != nil {
		return &shape{null: true}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.Slice, reflect.Map:
		if t == rawType {
			return &shape{null: true}, nil
		}
		each, err := shapeOf(t.Elem())
		return &shape{each: each}, err
	case reflect.Struct:
		if t == timeType {
			return &shape{}, nil
		}
		s := &shape{members: map[string]*shape{}}
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			member, err := shapeOf(f.Type)
			if err != nil {
				return nil, err
			}
			member.null = member.null || f.Tag.Get("null") == "none"
			s.members[name] = member
			switch may := strings.HasPrefix(options, "omit"); {
			case f.Type.Kind() == reflect.Pointer && !may:
				return nil, fmt.Errorf("%s: a pointer is what may be left out and needs omitempty; what may be null is a Maybe", f.Name)
			case !may && MaybeOf(f.Type) == nil:
				s.must = append(s.must, name)
			}
		}
		return s, nil
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Float64:
		return &shape{}, nil
	default:
	}
	return nil, fmt.Errorf("%s cannot be read", t)
}

var (
	rawType  = reflect.TypeFor[Raw]()
	timeType = reflect.TypeFor[time.Time]()
)

// Raw is JSON as it was sent, or as it is to be answered.
type Raw = jsontext.Value

// read fills v, a struct, from a request.
func (p *plan) read(v reflect.Value, c *Call) error {
	for i, index := range p.path {
		v.FieldByIndex(index).SetString(c.Values[i])
	}
	for _, q := range p.query {
		if err := q.read(v.FieldByIndex(q.index), c.Query); err != nil {
			return err
		}
	}
	for _, h := range p.heads {
		v.FieldByIndex(h.index).SetString(c.Request.Get(h.name))
	}
	if !p.body {
		return nil
	}
	if p.raw != nil {
		v.FieldByIndex(p.raw).SetBytes(c.Content)
		return nil
	}
	if err := p.shape.check(c.Content, ""); err != nil {
		return err
	}
	return explain(json.Unmarshal(c.Content, v.Addr().Interface(), reading))
}

// reading refuses members that a type does not have, and names that differ in case, as the library does by itself.
var reading = json.JoinOptions(json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readAmount), json.UnmarshalFromFunc(readDecimal))))

// readAmount reads rubles, which come as a number or as decimal text, in exact digits.
func readAmount(d *jsontext.Decoder, n *money.Nano) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n': // where null is as good as none
		return nil
	case '"':
		*n, err = money.Parse(rawjson.Text(v))
	default:
		*n, err = money.ParseNumber(string(v))
	}
	if err != nil {
		return errAmount
	}
	return nil
}

// Decimal is a decimal number as text, which may come as a JSON number; "" was left out.
type Decimal string

func readDecimal(d *jsontext.Decoder, to *Decimal) error {
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case v.Kind() == '"':
		*to = Decimal(rawjson.Text(v))
	case v.Kind() == '0':
		*to = Decimal(PlainDecimal(string(v)))
	case v.Kind() != 'n':
		return errDecimal
	}
	return nil
}

// PlainDecimal is a JSON number without an exponent, where nine decimals can say it.
func PlainDecimal(v string) string {
	if n, err := money.ParseNumber(v); err == nil && strings.ContainsAny(v, "eE") {
		return n.String()
	}
	return v
}

var errDecimal = errors.New("no decimal number")

var errAmount = errors.New("no amount")

// check looks for members that are missing, unknown or null, in the order of the body.
func (s *shape) check(v []byte, at string) error {
	switch kind := rawjson.KindOf(v); {
	case kind == rawjson.Null && !s.null:
		return WrongType(at, kind.String())
	case kind == rawjson.Object && s.members != nil:
		return s.checkMembers(v, at)
	case kind == rawjson.Object && s.each != nil:
		for m := rawjson.MembersOf(v); m.Next(); {
			if err := s.each.check(m.Value, join(at, string(m.Name))); err != nil {
				return err
			}
		}
	case kind == rawjson.Array && s.each != nil:
		i := 0
		for e := rawjson.ElementsOf(v); e.Next(); i++ {
			if err := s.each.check(e.Value, at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shape) checkMembers(v []byte, at string) error {
	var found []string
	for m := rawjson.MembersOf(v); m.Next(); {
		name := string(m.Name)
		member := s.members[name]
		if member == nil {
			return UnknownField(join(at, clip(name)))
		}
		if err := member.check(m.Value, join(at, name)); err != nil {
			return err
		}
		found = append(found, name)
	}
	for _, name := range s.must {
		if !slices.Contains(found, name) {
			name = join(at, name)
			return fault.Field(op, name, "%s is missing.", name).Coded("missing")
		}
	}
	return nil
}

// UnknownField refuses a member that an operation does not have, at its path.
func UnknownField(at string) error {
	return fault.Field(op, clip(at), "This route has no field of this name.").Coded("unknown_field")
}

// WrongType refuses a member of another type than it may have: "a number".
func WrongType(at, is string) error {
	return fault.Field(op, clip(at), "%s has the wrong type: it is %s.", clip(at), is).Coded("wrong_type", "type", is)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// clip bounds what an error repeats of a name that a client chose.
func clip(s string) string { return s[:min(len(s), 64)] }

// explain says of which member the JSON library's refusal is.
func explain(err error) error {
	var e *json.SemanticError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return fault.New(fault.Invalid, op, "The body could not be read.").Because(err)
	}
	at := ""
	for token := range e.JSONPointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			at += "[" + token + "]"
		} else {
			at = join(at, clip(token))
		}
	}
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		return UnknownField(at)
	case errors.Is(e.Err, errAmount):
		return fault.Field(op, at, "%s must be an amount of rubles with at most nine decimals, such as 12.5.", at).Coded("amount")
	case errors.Is(e.Err, errDecimal):
		return fault.Field(op, at, "%s must be a decimal number.", at).Coded("decimal")
	case e.GoType == timeType:
		return fault.Field(op, at, "%s must be a time in RFC 3339, such as 2026-01-31T12:00:00Z.", at).Coded("time")
	case e.JSONKind == '0' && e.GoType != nil && e.GoType.Kind() <= reflect.Int64:
		return fault.Field(op, at, "%s must be a whole number.", at).Coded("whole_number")
	}
	return WrongType(at, rawjson.KindOf([]byte{byte(e.JSONKind)}).String())
}
