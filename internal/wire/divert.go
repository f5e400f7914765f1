package wire

import (
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// DivertedBy returns the path of the diverting field inside a form field or a top-level member of a request, or "".
func DivertedBy(name string, value []byte) string {
	if completion.Diverts(name) {
		return name
	}
	if !mayHold(name) {
		return ""
	}
	return DivertsIn(name, value)
}

// mayHold reports whether DivertsIn must inspect a top-level member of a request.
func mayHold(member string) bool {
	if at := strings.IndexAny(member, "[."); at > 0 {
		member = member[:at]
	}
	switch member {
	case "metadata", "image_config", "imageConfig", "parameters", "provider":
		return true
	}
	return false
}

// DivertsIn returns the path of a diverting field inside the value of a request's top-level member, in the places where servers look for
// such fields or from which the gateway copies fields to a provider, or "". The name of a form field may include a path:
// metadata[name].
func DivertsIn(member string, value []byte) string {
	if at := strings.IndexAny(member, "[."); at > 0 {
		inner := rawjson.AppendText([]byte{'{'}, strings.TrimSuffix(member[at+1:], "]"))
		member, value = member[:at], append(inner, ":0}"...)
	}
	if rawjson.KindOf(value) == rawjson.String { // forms have objects as strings
		if value = []byte(rawjson.Text(value)); !rawjson.Valid(value) {
			return ""
		}
	}
	switch member {
	case "metadata":
		return within(member, value, completion.DivertsAsNote)
	case "image_config", "imageConfig", "parameters":
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
	if path == "preset" {
		return fault.Field(op, path, "Presets work with text, embeddings, rerank and moderation, and not with this route. Leave preset out and name the model.")
	}
	path = clip([]byte(path))
	return fault.Field(op, path, "%s cannot be set in a request: the gateway decides where requests go and with which credentials. Leave the field out.", path)
}
