package wire

import (
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// DivertedBy is the path of what in a field of a form, or in a top-level member of a request, would divert the request; "" nothing.
func DivertedBy(name string, value []byte) string {
	if completion.Diverts(name) {
		return name
	}
	if !mayHold(name) {
		return ""
	}
	return DivertsIn(name, value)
}

// mayHold reports whether a top-level member of a request is one that DivertsIn looks into.
func mayHold(member string) bool {
	if at := strings.IndexAny(member, "[."); at > 0 {
		member = member[:at]
	}
	switch member {
	case "metadata", "image_config", "parameters", "provider":
		return true
	}
	return false
}

// DivertsIn is the path of a field that diverts inside the value of a request's top-level member, where servers look for such fields or where they
// are taken out of to be sent on; "" when there is none. A member of a form may itself name what is inside: metadata[name].
func DivertsIn(member string, value []byte) string {
	if at := strings.IndexAny(member, "[."); at > 0 {
		inner := rawjson.AppendText([]byte{'{'}, strings.TrimSuffix(member[at+1:], "]"))
		member, value = member[:at], append(inner, ":0}"...)
	}
	if rawjson.KindOf(value) == rawjson.String { // as forms write objects
		if value = []byte(rawjson.Text(value)); !rawjson.Valid(value) {
			return ""
		}
	}
	switch member {
	case "metadata":
		return within(member, value, completion.DivertsAsNote)
	case "image_config", "parameters":
		return within(member, value, completion.Diverts)
	case "provider":
		for p := rawjson.MembersOf(rawjson.Find(value, "options")); p.Next(); {
			if path := within("provider.options."+string(p.Name), p.Value, completion.Diverts); path != "" {
				return path
			}
		}
	}
	return ""
}

func within(at string, object []byte, diverts func(string) bool) string {
	for m := rawjson.MembersOf(object); m.Next(); {
		if diverts(string(m.Name)) {
			return at + "." + string(m.Name)
		}
	}
	return ""
}

// Diverted is the fault of a request with a field that would divert it.
func Diverted(op, path string) *fault.Error {
	path = clip([]byte(path))
	return fault.Field(op, path, "%s cannot be set in a request: the gateway decides where requests go and with which credentials. Leave the field out.", path)
}
