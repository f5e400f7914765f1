package openai

import (
	"net/http"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.ReadRefusal(body)
	r.Status, r.Header = status, header
	return r.Fault(ep)
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
