package dialect

import (
	"bytes"

	"weir/internal/rawjson"
)

// unsupported are the schema keywords that services refuse which generate by a schema. They only narrow what is allowed; an answer for
// which the client asked strict checking is checked against the whole schema afterwards.
var unsupported = map[string]bool{
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true, "minLength": true, "maxLength": true,
	"maxItems": true, "uniqueItems": true, "minProperties": true, "maxProperties": true, "$schema": true,
}

// ClosedSchema prepares a schema for services that generate by it, Anthropic's models above all: every object forbids further members,
// and refused keywords are removed. Without a schema it is that of an object.
func ClosedSchema(schema []byte) []byte {
	if schema == nil {
		return []byte(`{"type":"object","additionalProperties":false}`)
	}
	return appendClosed(make([]byte, 0, len(schema)+128), schema, true)
}

// appendClosed copies v. schema is false when v is a map of schemas by name.
func appendClosed(out, v []byte, schema bool) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
	case rawjson.Array:
		out = append(out, '[')
		begin := len(out)
		for e := rawjson.ElementsOf(v); e.Next(); {
			if len(out) > begin {
				out = append(out, ',')
			}
			out = appendClosed(out, e.Value, schema)
		}
		return append(out, ']')
	default:
		return append(out, v...)
	}
	out = append(out, '{')
	begin := len(out)
	object := false
	for m := rawjson.MembersOf(v); m.Next(); {
		name := string(m.Name)
		if schema && (unsupported[name] || name == "additionalProperties" || name == "minItems" && string(m.Value) != "0" && string(m.Value) != "1") {
			continue
		}
		if len(out) > begin {
			out = append(out, ',')
		}
		out = append(out, v[m.Start:m.At]...)
		switch {
		case !schema:
			out = appendClosed(out, m.Value, true)
		case name == "properties" || name == "$defs" || name == "definitions":
			out = appendClosed(out, m.Value, false)
			object = object || name == "properties"
		case name == "items" || name == "anyOf" || name == "allOf" || name == "oneOf":
			out = appendClosed(out, m.Value, true)
		default: // enum, const, default, type, description: values, not schemas
			object = object || name == "type" && string(m.Value) == `"object"`
			out = append(out, m.Value...)
		}
	}
	if schema && object {
		if len(out) > begin {
			out = append(out, ',')
		}
		out = append(out, `"additionalProperties":false`...)
	}
	return append(out, '}')
}

const noParameters = `{"type":"object","properties":{}}`

// ObjectSchema is a schema of a function's parameters with type object, which most services require: one without a type gets it, and none is
// that of an object without members.
func ObjectSchema(schema []byte) []byte {
	schema = bytes.TrimSpace(schema)
	switch {
	case rawjson.KindOf(schema) != rawjson.Object:
		return []byte(noParameters)
	case !rawjson.IsNull(rawjson.Find(schema, "type")):
		return schema
	}
	var w rawjson.Writer
	w.Object()
	w.Name("type").Text("object")
	properties := false
	for m := rawjson.MembersOf(schema); m.Next(); {
		if name := string(m.Name); name != "type" {
			w.Member(schema[m.Start:m.End])
			properties = properties || name == "properties"
		}
	}
	if !properties {
		w.Name("properties").Literal("{}")
	}
	w.EndObject()
	return w.B
}
