// Package fault is the one error type that crosses package borders, and the closed set of its kinds. It must not depend on HTTP: only
// package httpapi turns a kind into a status and an envelope.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of an error, in a word on which clients may switch. Its String is the public error_type; the zero value is a bug of
// the gateway.
type Kind uint8

// The kinds. One table in package httpapi has the HTTP status of each.
const (
	Internal Kind = iota
	Invalid
	DuplicateKey
	TooDeep
	InvalidPrompt
	ModelNotFound
	WrongEndpoint
	ContextLength
	StringTooLong
	Authentication
	PaymentRequired
	PermissionDenied
	ContentPolicy
	Refusal
	NotFound
	PreviousNotFound
	NoEndpoints
	MethodNotAllowed
	UpgradeRefused
	SocketBusy
	SocketEnds
	RequestTimeout
	PayloadTooLarge
	HeaderTooLarge
	UnsupportedMediaType
	Unprocessable
	Conflict
	IdempotencyMismatch
	IdempotencyInFlight
	IdempotencyNotKept
	RateLimited
	ProviderUnavailable
	ProviderOverloaded
	NoProvider
	Timeout
	Overloaded
	Draining
	StorageUnavailable
	Canceled
	VideoNotReady
	VideoExpired
	VideoNotAvailable
	RangeNotSatisfiable
	kinds
)

var words = [kinds]string{
	Internal:             "server",
	Invalid:              "invalid_request",
	DuplicateKey:         "duplicate_key",
	TooDeep:              "too_deep",
	InvalidPrompt:        "invalid_prompt",
	ModelNotFound:        "model_not_found",
	WrongEndpoint:        "wrong_endpoint",
	ContextLength:        "context_length_exceeded",
	StringTooLong:        "string_too_long",
	Authentication:       "authentication",
	PaymentRequired:      "payment_required",
	PermissionDenied:     "permission_denied",
	ContentPolicy:        "content_policy_violation",
	Refusal:              "refusal",
	NotFound:             "not_found",
	PreviousNotFound:     "previous_response_not_found",
	NoEndpoints:          "no_endpoints",
	MethodNotAllowed:     "method_not_allowed",
	UpgradeRefused:       "upgrade_refused",
	SocketBusy:           "response_in_progress",
	SocketEnds:           "websocket_connection_limit_reached",
	RequestTimeout:       "request_timeout",
	PayloadTooLarge:      "payload_too_large",
	HeaderTooLarge:       "header_too_large",
	UnsupportedMediaType: "unsupported_media_type",
	Unprocessable:        "unprocessable",
	Conflict:             "conflict",
	IdempotencyMismatch:  "idempotency_mismatch",
	IdempotencyInFlight:  "idempotency_in_flight",
	IdempotencyNotKept:   "idempotency_not_kept",
	RateLimited:          "rate_limit_exceeded",
	ProviderUnavailable:  "provider_unavailable",
	ProviderOverloaded:   "provider_overloaded",
	NoProvider:           "no_provider",
	Timeout:              "timeout",
	Overloaded:           "overloaded",
	Draining:             "draining",
	StorageUnavailable:   "storage_unavailable",
	Canceled:             "canceled",
	VideoNotReady:        "video_not_ready",
	VideoExpired:         "video_expired",
	VideoNotAvailable:    "video_not_available",
	RangeNotSatisfiable:  "range_not_satisfiable",
}

// String is the word clients see as error_type.
func (k Kind) String() string {
	if k < kinds {
		return words[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Kinds lists every kind, for tables that must be complete.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Next is what may be tried after a failed attempt. It is data, so that routing never reads message text.
type Next uint8

const (
	// Stop: the same request can succeed nowhere. The zero value, so that our own errors never fall back.
	Stop Next = iota
	// NextEndpoint: another endpoint of the same model may do better, and after them the next model.
	NextEndpoint
	// NextModel: the model's other endpoints would refuse too; only another model is worth trying.
	NextModel
)

// Upstream is the provider's report of its own failure. It is shown to clients only after redaction.
type Upstream struct {
	Provider string // display name of the provider
	Status   int    // HTTP status; 0 when no answer came
	Code     string // HTTP status; 0 without an answer
	Raw      string // its error text, at most 1 KiB; empty unless the answer was JSON
	Words    string // its error sentence, redacted, for operators alone; "" none
	Request  string // the provider's id of the request, for questions to its support; "" missing
	Reused   bool   // no byte arrived over a connection that had been used before: worth one more try at once

	Silent           bool // whether or not there was a connection, no byte of an answer arrived: the same endpoint may be tried again
	Unreachable      bool // no connection could be made
	OfAccount        bool // it refused the operator's credential or account, whatever was asked
	RefusedReasoning bool // it refused reasoning of earlier turns, because another provider made it or it was altered: without it the request may succeed
}

// Overflow is by how much a request was too long, in tokens. Zero numbers are unknown.
type Overflow struct {
	Prompt int64 // of the request
	Output int64 // that it asked for
	Limit  int64 // for both, or for the prompt where Output is 0
}

// Error is the one error type that crosses package borders.
type Error struct {
	Kind       Kind
	Op         string         // where: "sqlite.Lease"
	Public     string         // a sentence the client may read; empty for Internal
	Param      string         // JSON path of the offending field, "" when none
	Code       string         // what is wrong with the field, in a word that does not change with the sentence; "" none
	Params     map[string]any // the values that the sentence has for the code: text and numbers
	RetryAfter time.Duration  // zero: unknown
	Next       Next           // what may be tried after it
	Upstream   *Upstream      // nil unless a provider failed
	Overflow   Overflow       // of a ContextLength
	Taken      bool           // of a Canceled: a provider had the whole request by then, and had not refused it
	Details    map[string]any // further public facts, such as required and available
	Cause      error          // logged, never sent
}

// New makes an error of kind k with a sentence for the client.
func New(k Kind, op, public string) *Error { return &Error{Kind: k, Op: op, Public: public} }

// Newf is New with a formatted sentence.
func Newf(k Kind, op, format string, args ...any) *Error {
	return &Error{Kind: k, Op: op, Public: fmt.Sprintf(format, args...)}
}

// Wrap makes an Internal error around a cause that the client must not see.
func Wrap(op string, cause error) *Error { return &Error{Op: op, Cause: cause} }

// Field is an Invalid error about one field; param is its JSON path, such as "messages[2].role".
func Field(op, param, format string, args ...any) *Error {
	e := Newf(Invalid, op, format, args...)
	e.Param = param
	return e
}

// Coded sets the code of what is wrong with a field, and its values by name, and returns e. The interface says a code in the language of its
// reader, so that the sentence may be improved at any time.
func (e *Error) Coded(code string, pairs ...any) *Error {
	e.Code = code
	for i := 0; i+1 < len(pairs); i += 2 {
		if e.Params == nil {
			e.Params = map[string]any{}
		}
		e.Params[pairs[i].(string)] = pairs[i+1]
	}
	return e
}

// Because sets the cause and returns e.
func (e *Error) Because(cause error) *Error { e.Cause = cause; return e }

func (e *Error) Error() string {
	s := e.Op + ": " + e.Kind.String()
	if e.Public != "" {
		s += ": " + e.Public
	}
	if e.Upstream != nil && e.Upstream.Status != 0 {
		s += fmt.Sprintf(" (status %d)", e.Upstream.Status)
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// From finds the *Error in err, or wraps err as Internal. It returns nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap("unknown", err)
}

// Is reports whether err is a fault of kind k.
func Is(err error, k Kind) bool {
	if err == nil { // calls that succeed ask, too, and need no memory for it
		return false
	}
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
