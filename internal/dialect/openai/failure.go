package openai

import (
	"net/http"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	var r dialect.Refusal
	if rawjson.Valid(body) {
		r = readRefusal(body)
		r.Raw = string(body)
	}
	r.Status, r.Header = status, header
	if status != http.StatusForbidden || !blocked(r.Code+" "+r.Message) {
		return r.Fault(ep)
	}
	r.Status, r.Code = http.StatusUnavailableForLegalReasons, "content_policy_violation" // some servers report forbidden content with a 403
	f := r.Fault(ep)
	f.Upstream.Status = status
	return f
}

// blocked reports whether a refusal is about the content of the request and not about the account.
func blocked(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"moderation", "content_policy", "content policy", "content_filter", "safety system", "flagged"},
		func(phrase string) bool { return strings.Contains(text, phrase) })
}

// readRefusal finds code and message in an error of any of the shapes that compatible servers send: {"error":{...}} or the inside of it,
// {"error":"text"}, {"message":...,"code":...}, {"detail":...}, or a list with one of these.
func readRefusal(raw []byte) dialect.Refusal {
	r := dialect.Refusal{Raw: string(raw)}
	v := raw
	if el := rawjson.ElementsOf(v); el.Next() {
		v = el.Value
	}
	if inner := rawjson.Find(v, "error"); !rawjson.IsNull(inner) {
		v = inner
	}
	if rawjson.KindOf(v) == rawjson.String {
		r.Message = text(v)
		return r
	}
	var code, kind string
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "code":
			code = wordOf(m.Value)
		case "type", "status":
			if w := wordOf(m.Value); w != "" && (kind == "" || string(m.Name) == "type") {
				kind = w
			}
		case "message", "detail", "msg":
			if r.Message == "" {
				r.Message = sentence(m.Value)
			}
		}
	}
	if r.Code = code; code == "" {
		r.Code = kind
	}
	return r
}

// sentence is a string's text, or the msg of the first in a list of validation errors.
func sentence(v []byte) string {
	if el := rawjson.ElementsOf(v); el.Next() {
		v = rawjson.Find(el.Value, "msg")
	}
	if rawjson.KindOf(v) == rawjson.String {
		return text(v)
	}
	return ""
}

// wordOf is a string's text, or a number as written.
func wordOf(v []byte) string {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		return text(v)
	case rawjson.Number:
		return string(v)
	}
	return ""
}

func text(v []byte) string {
	if rawjson.KindOf(v) != rawjson.String {
		return ""
	}
	return string(rawjson.AppendMended(nil, v))
}
