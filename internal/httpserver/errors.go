package httpserver

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/redact"
)

// StatusClientGone appears in records and logs for a request whose client went away; it is never sent.
const StatusClientGone = 499

// statuses is the one table of what clients see. Sources: completions of the specification 1.4, contract 2.
var statuses = map[fault.Kind]int{
	fault.Internal:             500,
	fault.Invalid:              400,
	fault.DuplicateKey:         400,
	fault.TooDeep:              400,
	fault.InvalidPrompt:        400,
	fault.ModelNotFound:        404,
	fault.WrongEndpoint:        400,
	fault.ContextLength:        400,
	fault.StringTooLong:        400,
	fault.Authentication:       401,
	fault.PaymentRequired:      402,
	fault.PermissionDenied:     403,
	fault.ContentPolicy:        403,
	fault.Refusal:              400,
	fault.NotFound:             404,
	fault.PreviousNotFound:     400,
	fault.NoEndpoints:          404,
	fault.MethodNotAllowed:     405,
	fault.UpgradeRefused:       426,
	fault.SocketBusy:           409,
	fault.SocketEnds:           400,
	fault.RequestTimeout:       408,
	fault.PayloadTooLarge:      413,
	fault.HeaderTooLarge:       431,
	fault.UnsupportedMediaType: 415,
	fault.Unprocessable:        422,
	fault.Conflict:             409,
	fault.IdempotencyMismatch:  422,
	fault.IdempotencyInFlight:  409,
	fault.IdempotencyNotKept:   422, // not 409, which clients send again
	fault.RateLimited:          429,
	fault.ProviderUnavailable:  502,
	fault.ProviderOverloaded:   503,
	fault.NoProvider:           503,
	fault.Timeout:              504,
	fault.Overloaded:           503,
	fault.Draining:             503,
	fault.StorageUnavailable:   503,
	fault.Canceled:             StatusClientGone,
	fault.VideoNotReady:        404,
	fault.VideoExpired:         404,
	fault.VideoNotAvailable:    404,
	fault.RangeNotSatisfiable:  416,
}

// requestLine is the Param of the one HeaderTooLarge with another status.
const requestLine = "request_line"

// Status is the HTTP status of a fault, where the style of a route knows no other.
func Status(e *fault.Error) int {
	switch {
	case e.Kind == fault.ContentPolicy && e.Upstream != nil: // the provider's own block, not ours
		return http.StatusBadRequest
	case e.Kind == fault.HeaderTooLarge && e.Param == requestLine:
		return http.StatusRequestURITooLong
	}
	if status, ok := statuses[e.Kind]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// generic is what clients read of a bug of ours, or of a fault without a message.
var generic = map[fault.Kind]string{
	fault.Internal:            "The server failed. Report the request id to its operator.",
	fault.ProviderUnavailable: "The provider sent no usable answer.",
	fault.Canceled:            "The client closed the connection.",
}

// Sentence is the sentence for the client, after the path of the wrong field if the sentence has not got name: many clients show nothing
// else. A provider's own sentence stays as it is.
func Sentence(e *fault.Error, name string) string {
	if e.Public == "" || e.Kind == fault.Internal {
		return cmp.Or(generic[e.Kind], "The request failed: "+e.Kind.String()+".")
	}
	if e.Param == "" || e.Upstream != nil || e.Kind == fault.HeaderTooLarge || strings.Contains(e.Public, name) {
		return e.Public
	}
	return e.Param + ": " + e.Public
}

// FieldName is the last name of a path.
func FieldName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// ErrorBody is the standard envelope of a fault: {"error":{"code","message","metadata"}}, without secrets. It is the body of an HTTP
// error; ErrorObject is its inside, for frames of a stream.
func ErrorBody(e *fault.Error, requestID string) []byte { return errorBody(e, requestID, false) }

// CodedErrorBody is ErrorBody with the code of a field, for pages that say it in the language of their reader.
func CodedErrorBody(e *fault.Error, requestID string) []byte { return errorBody(e, requestID, true) }

func errorBody(e *fault.Error, requestID string, coded bool) []byte {
	b := append(make([]byte, 0, 512), `{"error":`...)
	b = append(b, errorObject(e, requestID, coded)...)
	return append(b, '}')
}

// ErrorObject is the value of the envelope's member "error".
func ErrorObject(e *fault.Error, requestID string) []byte { return errorObject(e, requestID, false) }

func errorObject(e *fault.Error, requestID string, coded bool) []byte {
	w := rawjson.Writer{B: make([]byte, 0, 512)}
	w.Object()
	w.Name("code").Int(int64(Status(e)))
	w.Name("message").Text(Sentence(e, FieldName(e.Param)))
	w.Name("metadata").Object()
	w.Name("error_type").Text(e.Kind.String())
	if requestID != "" {
		w.Name("request_id").Text(requestID)
	}
	if e.Param != "" && e.Kind != fault.HeaderTooLarge {
		w.Name("param").Text(e.Param)
	}
	if coded && e.Code != "" {
		w.Name("code").Text(e.Code)
		w.Name("params").Any(e.Params)
	}
	if s := RetryAfter(e); s > 0 {
		w.Name("retry_after").Int(s)
	}
	if e.Kind != fault.Internal {
		appendUpstream(&w, e.Upstream)
		for _, name := range slices.Sorted(maps.Keys(e.Details)) {
			w.Name(name).Any(e.Details[name])
		}
	}
	w.EndObject()
	w.EndObject()
	return redact.Redact(w.B)
}

const maxRaw = 1 << 10

func appendUpstream(w *rawjson.Writer, u *fault.Upstream) {
	if u == nil {
		return
	}
	if u.Provider != "" {
		w.Name("provider_name").Text(u.Provider)
	}
	if u.Code != "" {
		w.Name("provider_code").Text(u.Code)
	}
	if raw := u.Raw; raw != "" {
		// redacted before the cut: half a secret looks like none
		raw = string(redact.Redact([]byte(raw)))
		w.Name("raw").Text(raw[:min(len(raw), maxRaw)])
	}
}

// RetryAfter is the Retry-After of a fault in seconds, 0 when it has none. 429 and 503 always have one: clients without it hammer.
func RetryAfter(e *fault.Error) int64 {
	d := e.RetryAfter
	if d <= 0 {
		switch e.Kind {
		case fault.RateLimited, fault.ProviderOverloaded, fault.NoProvider, fault.Draining:
			d = 5 * time.Second
		case fault.Overloaded, fault.StorageUnavailable:
			d = time.Second
		default:
			return 0
		}
	}
	return min(max(int64((d+time.Second-1)/time.Second), 1), 3600)
}
