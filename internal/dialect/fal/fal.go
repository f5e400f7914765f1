// Package fal is the dialect of fal's queue: a request is submitted, polled until it is done, and cancelled when its client has gone. It
// must not choose endpoints, and must not leave a request running after its client has gone.
package fal

import (
	"iter"
	"net/http"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// Dialect implements dialect.Dialect and dialect.Performer. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Dialect   = (*Dialect)(nil)
	_ dialect.Performer = (*Dialect)(nil)
)

// Header gives the credential after the word Key, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Credential(p, "Authorization", "Key")
}

// Perform makes images.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	if t, ok := req.Task.(*task.Image); ok {
		return paint(ask, ep, t)
	}
	return dialect.NotServed(ep)
}

// Failure classifies an answer that is not 2xx, and the error of a failed request: {"detail":"..."}, {"detail":[{"msg":...,"type":...}]}
// or {"error":"...","error_type":"..."}.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		r.Raw = string(body)
		r.Code, r.Message = why(body)
	}
	return r.Fault(ep)
}

// why reads code and message of an error.
func why(body []byte) (code, message string) {
	code, message = rawjson.TextAt(body, "error_type"), rawjson.TextAt(body, "error")
	switch detail := rawjson.Find(body, "detail"); rawjson.KindOf(detail) {
	case rawjson.String:
		message = rawjson.Text(detail)
	case rawjson.Array:
		if first := rawjson.ElementsOf(detail); first.Next() {
			code, message = rawjson.TextAt(first.Value, "type"), rawjson.TextAt(first.Value, "msg")
		}
	}
	return code, message
}
