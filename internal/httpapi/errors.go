package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/rawjson"
	"weir/internal/redact"
	"weir/internal/wire/scim"
)

// outcome is what a kind of fault is called in the styles that have names of their own; statuses and the standard envelope are httpserver's.
type outcome struct {
	messages string // error.type of the messages style
	code     string // error.code of a response that failed: a closed enumeration of the responses style
}

var outcomes = map[fault.Kind]outcome{
	fault.Internal:             {"api_error", "server_error"},
	fault.Invalid:              {"invalid_request_error", "invalid_prompt"},
	fault.DuplicateKey:         {"invalid_request_error", "invalid_prompt"},
	fault.TooDeep:              {"invalid_request_error", "invalid_prompt"},
	fault.InvalidPrompt:        {"invalid_request_error", "invalid_prompt"},
	fault.ModelNotFound:        {"not_found_error", "invalid_prompt"},
	fault.WrongEndpoint:        {"invalid_request_error", "invalid_prompt"},
	fault.ContextLength:        {"invalid_request_error", "invalid_prompt"},
	fault.StringTooLong:        {"invalid_request_error", "invalid_prompt"},
	fault.Authentication:       {"authentication_error", "server_error"},
	fault.PaymentRequired:      {"billing_error", "server_error"},
	fault.PermissionDenied:     {"permission_error", "server_error"},
	fault.ContentPolicy:        {"invalid_request_error", "invalid_prompt"},
	fault.Refusal:              {"invalid_request_error", "invalid_prompt"},
	fault.NotFound:             {"not_found_error", "invalid_prompt"},
	fault.PreviousNotFound:     {"invalid_request_error", "invalid_prompt"},
	fault.NoEndpoints:          {"not_found_error", "server_error"},
	fault.MethodNotAllowed:     {"invalid_request_error", "invalid_prompt"},
	fault.UpgradeRefused:       {"invalid_request_error", "invalid_prompt"},
	fault.SocketBusy:           {"invalid_request_error", "invalid_prompt"},
	fault.SocketEnds:           {"invalid_request_error", "invalid_prompt"},
	fault.RequestTimeout:       {"timeout_error", "invalid_prompt"},
	fault.PayloadTooLarge:      {"request_too_large", "invalid_prompt"},
	fault.HeaderTooLarge:       {"invalid_request_error", "invalid_prompt"},
	fault.UnsupportedMediaType: {"invalid_request_error", "invalid_prompt"},
	fault.Unprocessable:        {"invalid_request_error", "invalid_prompt"},
	fault.Conflict:             {"invalid_request_error", "invalid_prompt"},
	fault.IdempotencyMismatch:  {"invalid_request_error", "invalid_prompt"},
	fault.IdempotencyInFlight:  {"invalid_request_error", "invalid_prompt"},
	fault.IdempotencyNotKept:   {"invalid_request_error", "invalid_prompt"},
	fault.RateLimited:          {"rate_limit_error", "rate_limit_exceeded"},
	fault.ProviderUnavailable:  {"api_error", "server_error"},
	fault.ProviderOverloaded:   {"overloaded_error", "server_error"},
	fault.NoProvider:           {"overloaded_error", "server_error"},
	fault.Timeout:              {"timeout_error", "server_error"},
	fault.Overloaded:           {"overloaded_error", "server_error"},
	fault.Draining:             {"overloaded_error", "server_error"},
	fault.StorageUnavailable:   {"overloaded_error", "server_error"},
	fault.Canceled:             {"api_error", "server_error"},
	fault.VideoNotReady:        {"not_found_error", "invalid_prompt"},
	fault.VideoExpired:         {"not_found_error", "invalid_prompt"},
	fault.VideoNotAvailable:    {"not_found_error", "invalid_prompt"},
	fault.RangeNotSatisfiable:  {"invalid_request_error", "invalid_prompt"},
}

// MessagesStatus is the HTTP status of a fault on messages routes, whose clients expect 529 for a provider without capacity.
func MessagesStatus(e *fault.Error) int {
	if e.Kind == fault.ProviderOverloaded {
		return 529
	}
	return httpserver.Status(e)
}

// ResponsesFailure is how a response object shows the fault that ended it: {"error":{"code","message"},"error_type"}.
func ResponsesFailure(e *fault.Error, _ string) []byte {
	o := newObject(256)
	o.Object()
	o.Name("error").Object()
	o.text("code", cmp.Or(outcomes[e.Kind].code, "server_error"))
	o.text("message", httpserver.Sentence(e, httpserver.FieldName(e.Param)))
	o.EndObject()
	o.text("error_type", e.Kind.String())
	o.EndObject()
	return redact.Redact(o.B)
}

// socketError is the message of a WebSocket for a fault: {"type":"error","status","error":{"type","code","message","param","metadata"},"headers"}.
// It belongs to a turn, whose head has been made, or to none.
func socketError(e *fault.Error, requestID string, t *turn) []byte {
	status, kind := httpserver.Status(e), "invalid_request_error"
	switch {
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	}
	o := newObject(512)
	o.Object()
	o.text("type", "error")
	o.integer("status", int64(status))
	if t != nil && t.frame.Stream != "" {
		o.text("stream_id", t.frame.Stream)
	}
	o.Name("error").Object()
	o.text("type", kind)
	o.text("code", e.Kind.String())
	o.text("message", httpserver.Sentence(e, httpserver.FieldName(e.Param)))
	o.textOrNull("param", e.Param)
	o.raw("metadata", string(rawjson.Find(httpserver.ErrorObject(e, requestID), "metadata")))
	o.EndObject()
	if t != nil {
		o.Name("headers")
		t.writeHead(&o)
	}
	o.EndObject()
	return redact.Redact(o.B)
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

// LiteLLMErrorBody is the envelope of LiteLLM's routes: {"error":{"message","type","param","code"}}, whose code is the status as text.
func LiteLLMErrorBody(e *fault.Error) []byte {
	o := newObject(256)
	o.Object()
	o.Name("error").Object()
	o.text("message", httpserver.Sentence(e, e.Param))
	o.text("type", e.Kind.String())
	o.textOrNull("param", e.Param)
	o.text("code", strconv.Itoa(httpserver.Status(e)))
	o.EndObject()
	o.EndObject()
	return redact.Redact(o.B)
}

// messagesMessage is the sentence for clients of the messages style. This envelope has no other place for the path of a field. Of a request
// that is too long it begins with Anthropic's own words: coding agents know no others, and shorten the conversation at the first form, the
// answer they ask for at the second.
func messagesMessage(e *fault.Error) string {
	said := httpserver.Sentence(e, e.Param)
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
	o.Name("error_code").Any(code)
	if list := e.Details["unsupported"]; list != nil {
		o.Name("unsupported").Any(list)
	}
	o.EndObject()
}

// writeError answers with e in the envelope of the route. The head must not have been written.
func (x *request) writeError(e *fault.Error) {
	status := httpserver.Status(e)
	var body []byte
	media := jsonType
	switch envelope, capped := x.envelope(), x.capped(e); {
	case capped != nil:
		e, status = capped, http.StatusTooManyRequests
		body = MessagesErrorBody(e, x.id)
	case envelope == messagesEnvelope:
		status, body = MessagesStatus(e), MessagesErrorBody(e, x.id)
	case envelope == geminiEnvelope:
		body = GeminiErrorBody(e, x.id)
	case envelope == oauthEnvelope:
		body = OAuthErrorBody(e)
	case envelope == scimEnvelope:
		media, body = scimType, scim.ErrorBody(status, httpserver.Sentence(e, httpserver.FieldName(e.Param)))
	case envelope == liteLLMEnvelope:
		body = LiteLLMErrorBody(e)
	case x.session != nil || x.route != nil && strings.HasPrefix(x.route.Pattern, "/api/"):
		body = httpserver.CodedErrorBody(e, x.id)
	default:
		body = httpserver.ErrorBody(e, x.id)
	}
	h := x.w.Header()
	if s := httpserver.RetryAfter(e); s > 0 {
		h.Set("Retry-After", strconv.FormatInt(s, 10))
	}
	showLimit(h, e, x.at)
	if e.Kind == fault.Authentication {
		h.Set("Www-Authenticate", "Bearer")
		if x.envelope() == messagesEnvelope {
			h.Set("X-Should-Retry", "false") // or Claude Code tries for three minutes before it asks its person to sign in again
		}
	}
	if e.Kind == fault.Overloaded || e.Kind == fault.RateLimited {
		x.body.Leave()
	}
	x.body.Refuse()
	if x.turn != nil {
		body = socketError(e, x.id, x.turn)
	}
	x.writeBody(status, media, x.api.Redact(body))
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
		switch {
		case e.Upstream == nil:
		case e.Upstream.Unreachable && e.Cause != nil: // there was no connection, so that nothing of the request is in it
			s += fmt.Sprintf(": no connection to %s: %v", e.Upstream.Provider, e.Cause)
		default:
			s += fmt.Sprintf(": %s answered %d %s", e.Upstream.Provider, e.Upstream.Status, e.Upstream.Code)
		}
	}
	return s
}
