// Package elevenlabs is the dialect of ElevenLabs' wires: audio to text, and text to speech. It has no chat. It must not keep audio in
// memory or choose endpoints.
package elevenlabs

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

// Header gives the credential in the field xi-api-key, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Credential(p, "Xi-Api-Key", "")
}

// Perform serves transcriptions and speech.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	switch t := req.Task.(type) {
	case *task.Transcription:
		if t.Translate {
			return dialect.NoTranslation(ep)
		}
		return transcribe(ask, ep, t)
	case *task.Speech:
		return speak(ask, ep, t)
	}
	return dialect.NotServed(ep)
}

// Failure classifies an answer that is not 2xx: {"detail":{"status":"...","message":"..."}}, since 2026 with "type" and "code",
// {"detail":[{"loc":[...],"msg":"..."}]} from its validator, or {"detail":"..."}.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if !rawjson.Valid(body) {
		return r.Fault(ep)
	}
	r.Raw = string(body)
	v := rawjson.Find(body, "detail")
	switch rawjson.KindOf(v) {
	case rawjson.String:
		r.Message = rawjson.Text(v)
	case rawjson.Array:
		if e := rawjson.ElementsOf(v); e.Next() {
			r.Message = rawjson.TextAt(e.Value, "msg")
		}
	case rawjson.Object:
		r.Code, r.Kind, r.Message = rawjson.TextAt(v, "code"), rawjson.TextAt(v, "status"), rawjson.TextAt(v, "message")
	}
	return r.Fault(ep)
}
