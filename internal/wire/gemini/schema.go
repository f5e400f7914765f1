package gemini

import (
	"strings"

	"weir/internal/rawjson"
)

// jsonSchema writes a schema of this wire, which is a part of OpenAPI's, as JSON Schema: types in small letters, nullable as a type, and
// numbers where protocol buffers allow strings. It reads each byte once, however deep the schema is.
func jsonSchema(v []byte) []byte {
	s := schemaWriter{cur: rawjson.At(v, 0)}
	s.w.B = make([]byte, 0, len(v)+32)
	s.schema()
	return s.w.B
}

type schemaWriter struct {
	cur rawjson.Cursor
	w   rawjson.Writer
}

func (s *schemaWriter) schema() {
	if s.cur.Kind() != rawjson.Object {
		s.w.Raw(s.cur.Skip())
		return
	}
	s.cur.Enter()
	s.w.Object()
	kind, nullable := "", false
	for name, ok := s.cur.Member(); ok; name, ok = s.cur.Member() {
		s.cur.Kind() // moves to the value
		switch member := string(name); member {
		case "type":
			kind = strings.ToLower(rawjson.Text(s.cur.Skip()))
		case "nullable":
			nullable, _ = rawjson.Bool(s.cur.Skip())
		case "propertyOrdering", "example":
			s.cur.Skip()
		case "properties", "defs":
			s.w.Name(strings.Replace(member, "defs", "$defs", 1))
			s.properties()
		case "items":
			s.w.Name(member)
			s.schema()
		case "anyOf":
			s.w.Name(member)
			s.list()
		case "ref":
			s.w.Name("$ref").Raw(s.cur.Skip())
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			s.w.Name(member)
			s.count()
		default:
			s.w.Name(member).Raw(s.cur.Skip())
		}
	}
	switch {
	case kind == "" || kind == "type_unspecified":
	case nullable && kind != "null":
		s.w.Name("type").Texts([]string{kind, "null"})
	default:
		s.w.Name("type").Text(kind)
	}
	s.w.EndObject()
}

func (s *schemaWriter) properties() {
	if s.cur.Kind() != rawjson.Object {
		s.w.Raw(s.cur.Skip())
		return
	}
	s.cur.Enter()
	s.w.Object()
	for name, ok := s.cur.Member(); ok; name, ok = s.cur.Member() {
		s.w.Name(string(name))
		s.schema()
	}
	s.w.EndObject()
}

func (s *schemaWriter) list() {
	if s.cur.Kind() != rawjson.Array {
		s.w.Raw(s.cur.Skip())
		return
	}
	s.cur.Enter()
	s.w.Array()
	for s.cur.Element() {
		s.schema()
	}
	s.w.EndArray()
}

// count writes a number that may be written as a string, as protocol buffers have 64-bit integers.
func (s *schemaWriter) count() {
	v := s.cur.Skip()
	if text := rawjson.Text(v); text != "" && rawjson.IsNumber([]byte(text)) {
		s.w.Literal(text)
		return
	}
	s.w.Raw(v)
}
