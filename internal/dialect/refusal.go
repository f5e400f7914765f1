package dialect

import (
	"cmp"
	"strings"

	"weir/internal/rawjson"
)

// maxNesting bounds how deep errors are followed that quote the error of another server.
const maxNesting = 8

// ReadRefusal finds code and message in an error of any shape that servers send: {"error":{...}} or the inside of it, {"error":"text"},
// {"message":...,"code":...}, {"detail":...}, {"base_resp":{...}}, a list with one of these, and each of them as JSON inside a string, where
// a server quotes another one. Text that is not JSON has neither.
func ReadRefusal(raw []byte) Refusal {
	if !rawjson.Valid(raw) {
		return Refusal{}
	}
	r := readNested(raw, maxNesting)
	r.Raw = string(raw)
	return r
}

func readNested(v []byte, depth int) Refusal {
	var r Refusal
	if depth == 0 {
		return r
	}
	if el := rawjson.ElementsOf(v); el.Next() {
		v = el.Value
	}
	if rawjson.KindOf(v) == rawjson.String {
		text := told(v)
		if inner := strings.TrimSpace(text); strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
			if quoted := []byte(inner); rawjson.Valid(quoted) {
				return readNested(quoted, depth-1)
			}
		}
		r.Message = text
		return r
	}
	var inner Refusal // of a member that has the error itself
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "code", "status_code":
			r.Code = word(m.Value)
		case "type", "status", "__type":
			if w := word(m.Value); w != "" && w != "error" && (r.Kind == "" || string(m.Name) != "status") {
				r.Kind = w
			}
		case "message", "Message", "detail", "msg", "status_msg", "error_description", "errorMessage":
			if r.Message == "" {
				said := readNested(m.Value, depth-1)
				r.Message, inner.Code, inner.Kind = said.Message, cmp.Or(inner.Code, said.Code), cmp.Or(inner.Kind, said.Kind)
			}
		case "error", "errors", "base_resp", "detail_error":
			if said := readNested(m.Value, depth-1); inner.Message == "" && (said.Message != "" || said.Code != "" || said.Kind != "") {
				inner = said
			}
		case "metadata":
			// OpenRouter's own sentence is "Provider returned error"; raw has the provider's.
			if said := readNested(rawjson.Find(m.Value, "raw"), depth-1); said.Message != "" {
				r.Message, inner.Kind = said.Message, cmp.Or(inner.Kind, said.Code, said.Kind)
			}
		}
	}
	if inner.Message != "" {
		r.Message = inner.Message
		r.Code, r.Kind = cmp.Or(inner.Code, r.Code), cmp.Or(inner.Kind, r.Kind)
		return r
	}
	r.Code, r.Kind = cmp.Or(r.Code, inner.Code), cmp.Or(r.Kind, inner.Kind)
	return r
}

// word is a string's text, or a number as written.
func word(v []byte) string {
	if rawjson.KindOf(v) == rawjson.Number {
		return string(v)
	}
	return told(v)
}

func told(v []byte) string {
	if rawjson.KindOf(v) != rawjson.String {
		return ""
	}
	return string(rawjson.AppendMended(nil, v))
}
