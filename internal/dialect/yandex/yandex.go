// Package yandex is the dialect of those wires of Yandex Cloud that its own models have in addition to the chat wire: text embeddings,
// images and audio to text. It has no chat. It must not choose endpoints.
package yandex

import (
	"iter"
	"net/http"
	"strings"

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

// Header gives the credential with the scheme Api-Key, or with the scheme of a quirk: an IAM token needs Bearer. The provider's own
// fields win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Credential(p, "Authorization", "Api-Key")
}

// Perform does a task that Yandex has a wire for.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	switch t := req.Task.(type) {
	case *task.Embedding:
		return embedding(ask, ep, t)
	case *task.Transcription:
		if t.Translate {
			return dialect.NoTranslation(ep)
		}
		return transcribe(ask, ep, t)
	case *task.Image:
		return art(ask, ep, t)
	}
	return dialect.NotServed(ep)
}

// Failure classifies an answer that is not 2xx: {"error":{"grpcCode":3,"httpCode":400,"message":"..."}}, {"error":"..."} or the same
// object without error around it.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if !rawjson.Valid(body) {
		return r.Fault(ep)
	}
	v := body
	if inner := rawjson.Find(body, "error"); !rawjson.IsNull(inner) {
		v = inner
	}
	r.Raw = string(body)
	if r.Message = rawjson.TextAt(v, "message"); rawjson.KindOf(v) == rawjson.String {
		r.Message = rawjson.Text(v)
	}
	if status == http.StatusTooManyRequests && header.Get("Retry-After") == "" && strings.Contains(r.Message, "PerSecond") {
		r.Header = http.Header{"Retry-After": {"1"}} // the name of the quota says how long it lasts
	}
	if status >= 200 && status <= 299 {
		for _, name := range [...]string{"httpCode", "code"} {
			if code := rawjson.Find(v, name); rawjson.KindOf(code) == rawjson.Number {
				r.Code = string(code)
				break
			} else if code != nil {
				r.Code = rawjson.Text(code)
			}
		}
	}
	return r.Fault(ep)
}
