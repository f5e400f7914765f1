package httpapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/redact"
)

// outcome is what a kind of fault becomes on the wire.
type outcome struct {
	status   int
	messages string // error.type of the messages style
	code     string // error.code of a response that failed: a closed enumeration of the responses style
}

// StatusClientGone appears in records and logs for a request whose client went away; it is never sent.
const StatusClientGone = 499

// outcomes is the one table of what clients see. Sources: completions of the specification 1.4, contract 2.
var outcomes = map[fault.Kind]outcome{
	fault.Internal:             {500, "api_error", "server_error"},
	fault.Invalid:              {400, "invalid_request_error", "invalid_prompt"},
	fault.DuplicateKey:         {400, "invalid_request_error", "invalid_prompt"},
	fault.TooDeep:              {400, "invalid_request_error", "invalid_prompt"},
	fault.InvalidPrompt:        {400, "invalid_request_error", "invalid_prompt"},
	fault.ModelNotFound:        {404, "not_found_error", "invalid_prompt"},
	fault.WrongEndpoint:        {400, "invalid_request_error", "invalid_prompt"},
	fault.ContextLength:        {400, "invalid_request_error", "invalid_prompt"},
	fault.StringTooLong:        {400, "invalid_request_error", "invalid_prompt"},
	fault.Authentication:       {401, "authentication_error", "server_error"},
	fault.PaymentRequired:      {402, "billing_error", "server_error"},
	fault.PermissionDenied:     {403, "permission_error", "server_error"},
	fault.ContentPolicy:        {403, "invalid_request_error", "invalid_prompt"},
	fault.Refusal:              {400, "invalid_request_error", "invalid_prompt"},
	fault.NotFound:             {404, "not_found_error", "invalid_prompt"},
	fault.PreviousNotFound:     {400, "invalid_request_error", "invalid_prompt"},
	fault.NoEndpoints:          {404, "not_found_error", "server_error"},
	fault.MethodNotAllowed:     {405, "invalid_request_error", "invalid_prompt"},
	fault.RequestTimeout:       {408, "timeout_error", "invalid_prompt"},
	fault.PayloadTooLarge:      {413, "request_too_large", "invalid_prompt"},
	fault.HeaderTooLarge:       {431, "invalid_request_error", "invalid_prompt"},
	fault.UnsupportedMediaType: {415, "invalid_request_error", "invalid_prompt"},
	fault.Unprocessable:        {422, "invalid_request_error", "invalid_prompt"},
	fault.Conflict:             {409, "invalid_request_error", "invalid_prompt"},
	fault.IdempotencyMismatch:  {422, "invalid_request_error", "invalid_prompt"},
	fault.IdempotencyInFlight:  {409, "invalid_request_error", "invalid_prompt"},
	fault.IdempotencyNotKept:   {422, "invalid_request_error", "invalid_prompt"}, // not 409, which clients send again
	fault.RateLimited:          {429, "rate_limit_error", "rate_limit_exceeded"},
	fault.ProviderUnavailable:  {502, "api_error", "server_error"},
	fault.ProviderOverloaded:   {503, "overloaded_error", "server_error"},
	fault.NoProvider:           {503, "overloaded_error", "server_error"},
	fault.Timeout:              {504, "timeout_error", "server_error"},
	fault.Overloaded:           {503, "overloaded_error", "server_error"},
	fault.Draining:             {503, "overloaded_error", "server_error"},
	fault.StorageUnavailable:   {503, "overloaded_error", "server_error"},
	fault.Canceled:             {StatusClientGone, "api_error", "server_error"},
	fault.VideoNotReady:        {404, "not_found_error", "invalid_prompt"},
	fault.VideoExpired:         {404, "not_found_error", "invalid_prompt"},
	fault.VideoNotAvailable:    {404, "not_found_error", "invalid_prompt"},
	fault.RangeNotSatisfiable:  {416, "invalid_request_error", "invalid_prompt"},
}

// requestLine is the Param of the one HeaderTooLarge with another status.
const requestLine = "request_line"

// Status is the HTTP status of a fault on every route but messages.
func Status(e *fault.Error) int {
	switch {
	case e.Kind == fault.ContentPolicy && e.Upstream != nil: // the provider's own block, not ours
		return http.StatusBadRequest
	case e.Kind == fault.HeaderTooLarge && e.Param == requestLine:
		return http.StatusRequestURITooLong
	}
	if o, ok := outcomes[e.Kind]; ok {
		return o.status
	}
	return http.StatusInternalServerError
}

// MessagesStatus is the HTTP status of a fault on messages routes, whose clients expect 529 for a provider without capacity.
func MessagesStatus(e *fault.Error) int {
	if e.Kind == fault.ProviderOverloaded {
		return 529
	}
	return Status(e)
}

// generic is what clients read of a bug of ours, or of a fault without a message.
var generic = map[fault.Kind]string{
	fault.Internal:            "The server failed. Report the request id to its operator.",
	fault.ProviderUnavailable: "The provider sent no usable answer.",
	fault.Canceled:            "The client closed the connection.",
}

// message is the sentence for the client, after the path of the wrong field if the sentence has not got name: many clients show nothing
// else. A provider's own sentence stays as it is.
func message(e *fault.Error, name string) string {
	if e.Public == "" || e.Kind == fault.Internal {
		return cmp.Or(generic[e.Kind], "The request failed: "+e.Kind.String()+".")
	}
	if e.Param == "" || e.Upstream != nil || e.Kind == fault.HeaderTooLarge || strings.Contains(e.Public, name) {
		return e.Public
	}
	return e.Param + ": " + e.Public
}

// field is the last name of a path.
func field(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// ErrorBody is the standard envelope of a fault: {"error":{"code","message","metadata"}}, without secrets. It is the body of an HTTP
// error; ErrorObject is its inside, for frames of a stream.
func ErrorBody(e *fault.Error, requestID string) []byte { return errorBody(e, requestID, false) }

func errorBody(e *fault.Error, requestID string, coded bool) []byte {
	b := append(make([]byte, 0, 512), `{"error":`...)
	b = append(b, errorObject(e, requestID, coded)...)
	return append(b, '}')
}

// ErrorObject is the value of the envelope's member "error".
func ErrorObject(e *fault.Error, requestID string) []byte { return errorObject(e, requestID, false) }

// errorObject writes the code of a field where coded, for pages that say it in the language of their reader.
func errorObject(e *fault.Error, requestID string, coded bool) []byte {
	o := newObject(512)
	o.Object()
	o.integer("code", int64(Status(e)))
	o.text("message", message(e, field(e.Param)))
	o.Name("metadata").Object()
	o.text("error_type", e.Kind.String())
	if requestID != "" {
		o.text("request_id", requestID)
	}
	if e.Param != "" && e.Kind != fault.HeaderTooLarge {
		o.text("param", e.Param)
	}
	if coded && e.Code != "" {
		o.text("code", e.Code)
		o.Name("params")
		o.any(e.Params)
	}
	if s := retryAfter(e); s > 0 {
		o.integer("retry_after", s)
	}
	if e.Kind != fault.Internal {
		appendUpstream(&o, e.Upstream)
		for _, name := range slices.Sorted(maps.Keys(e.Details)) {
			o.Name(name)
			o.any(e.Details[name])
		}
	}
	o.EndObject()
	o.EndObject()
	return redact.Redact(o.B)
}

// ResponsesFailure is how a response object shows the fault that ended it: {"error":{"code","message"},"error_type"}.
func ResponsesFailure(e *fault.Error, _ string) []byte {
	o := newObject(256)
	o.Object()
	o.Name("error").Object()
	o.text("code", cmp.Or(outcomes[e.Kind].code, "server_error"))
	o.text("message", message(e, field(e.Param)))
	o.EndObject()
	o.text("error_type", e.Kind.String())
	o.EndObject()
	return redact.Redact(o.B)
}

const maxRaw = 1 << 10

func appendUpstream(o *object, u *fault.Upstream) {
	if u == nil {
		return
	}
	if u.Provider != "" {
		o.text("provider_name", u.Provider)
	}
	if u.Code != "" {
		o.text("provider_code", u.Code)
	}
	if raw := u.Raw; raw != "" {
		// redacted before the cut: half a secret looks like none
		raw = string(redact.Redact([]byte(raw)))
		o.text("raw", raw[:min(len(raw), maxRaw)])
	}
}

// MessagesErrorBody is the envelope of messages routes.
func MessagesErrorBody(e *fault.Error, requestID string) []byte {
	o := newObject(256)
	o.Object()
	o.text("type", "error")
	o.Name("error").Object()
	kind := outcomes[e.Kind].messages
	if kind == "" {
		kind = "api_error"
	}
	o.text("type", kind)
	o.text("message", messagesMessage(e))
	o.text("error_type", e.Kind.String())
	appendErrorCode(&o, e)
	o.EndObject()
	if requestID != "" {
		o.text("request_id", requestID)
	}
	o.EndObject()
	return redact.Redact(o.B)
}

// messagesMessage is the sentence for clients of the messages style. This envelope has no other place for the path of a field. Of a request
// that is too long it begins with Anthropic's own words: coding agents know no others, and shorten the conversation at the first form, the
// answer they ask for at the second.
func messagesMessage(e *fault.Error) string {
	said := message(e, e.Param)
	if e.Kind != fault.ContextLength {
		return said
	}
	const tooLong, together = "prompt is too long: ", "input length and `max_tokens` exceed context limit: "
	o := e.Overflow
	switch {
	case strings.HasPrefix(said, tooLong) && len(said) > len(tooLong) && said[len(tooLong)] >= '0' && said[len(tooLong)] <= '9', strings.HasPrefix(said, together):
		return said
	case o.Output > 0 && o.Prompt <= o.Limit:
		return fmt.Sprintf("%s%d + %d > %d, decrease input length or `max_tokens` and try again. %s", together, o.Prompt, o.Output, o.Limit, said)
	case o.Prompt > 0:
		return fmt.Sprintf("%s%d tokens > %d maximum. %s", tooLong, o.Prompt, o.Limit, said)
	}
	return tooLong + said
}

// appendErrorCode writes the details of an error that clients of the messages style recognise by its code, and recover from.
func appendErrorCode(o *object, e *fault.Error) {
	code, coded := e.Details["error_code"]
	if !coded {
		return
	}
	o.Name("details").Object()
	o.Name("error_code")
	o.any(code)
	if list := e.Details["unsupported"]; list != nil {
		o.Name("unsupported")
		o.any(list)
	}
	o.EndObject()
}

// retryAfter is the Retry-After of a fault in seconds, 0 when it has none. 429 and 503 always have one: clients without it hammer.
func retryAfter(e *fault.Error) int64 {
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

// writeError answers with e in the envelope of the route. The head must not have been written.
func (x *request) writeError(e *fault.Error) {
	status, body := Status(e), errorBody(e, x.id, x.session != nil || x.route != nil && strings.HasPrefix(x.route.Pattern, "/api/"))
	switch x.envelope() {
	case messagesEnvelope:
		status, body = MessagesStatus(e), MessagesErrorBody(e, x.id)
	case geminiEnvelope:
		body = GeminiErrorBody(e, x.id)
	case standardEnvelope:
	}
	h := x.w.Header()
	if s := retryAfter(e); s > 0 {
		h.Set("Retry-After", strconv.FormatInt(s, 10))
	}
	showLimit(h, e, x.at)
	if e.Kind == fault.Authentication {
		h.Set("Www-Authenticate", "Bearer")
	}
	if e.Kind == fault.Overloaded || e.Kind == fault.RateLimited {
		x.leaveBody()
	}
	x.refuseBody()
	x.writeBody(status, jsonType, x.api.Redact(body))
}

// detail is what an operator needs about a fault, for the log. Causes of client errors stay out: they may quote the request.
func detail(e *fault.Error) string {
	s := e.Op
	switch e.Kind {
	case fault.Internal, fault.StorageUnavailable:
		if e.Cause != nil {
			s += ": " + e.Cause.Error()
		}
	case fault.ProviderUnavailable, fault.ProviderOverloaded, fault.Timeout, fault.RateLimited:
		if e.Upstream != nil {
			s += fmt.Sprintf(": %s answered %d %s", e.Upstream.Provider, e.Upstream.Status, e.Upstream.Code)
		}
	}
	return s
}
