package dialect

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// MaxFailureBytes bounds how many bytes are read of a body that is not 2xx.
const MaxFailureBytes = 64 << 10

// MaxRetryAfter caps the wait that a provider asks for.
const MaxRetryAfter = time.Hour

const defaultRetryAfter = 10 * time.Second // where a provider asks to wait and does not say how long

// Unreadable is the public sentence for an answer that its wire does not allow.
const Unreadable = "The provider sent an invalid answer."

// Refusal is what a provider reported about a failure, in its error body or in an error inside a 2xx answer.
type Refusal struct {
	Status  int         // HTTP status of the answer
	Header  http.Header // nil inside a stream
	Code    string      // the provider's error code; a decimal number counts as a status when Status is 2xx
	Message string      // the provider's error message
	Raw     string      // its JSON error, empty when it was not JSON
}

// Fault decides which fault a refusal becomes and what may be tried after it. Client redacts and cuts the texts.
//
// A bad request is the client's affair and keeps the provider's sentence, because tools look for phrases such as "context length" in it.
// Anything about the operator's account with the provider is never shown.
func (r Refusal) Fault(ep *catalog.Endpoint) *fault.Error {
	status := r.Status
	inside := status >= 200 && status <= 299
	if inside {
		status = r.statusInside()
	}
	switch {
	case status == 401 || status == 402 || status == 403:
		f := r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider did not accept the gateway's request.")
		f.Details = map[string]any{"reason": "upstream_auth"}
		f.Upstream.Raw = "" // it is about the operator's account
		f.Cause = errors.New(r.Message)
		return f
	case status == 429:
		f := r.fault(ep, fault.RateLimited, fault.NextEndpoint, "The provider's rate limit is reached.")
		f.RetryAfter = r.retryAfter()
		return f
	case status == 503:
		f := r.fault(ep, fault.ProviderOverloaded, fault.NextEndpoint, "The provider is overloaded.")
		f.RetryAfter = r.retryAfter()
		return f
	case status == 408:
		return r.fault(ep, fault.Timeout, fault.NextEndpoint, "The provider did not answer in time.")
	case status == 400 || status == 413 || status == 415 || status == 422 || status == 451:
		return r.badRequest(ep, status, inside)
	case status >= 300 && status <= 399:
		return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider answered with a redirect.")
	case status == 404 || status == 410:
		return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider does not serve this model at present.")
	}
	return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider failed.")
}

// badRequest classifies a request that the provider calls invalid. Only another model may succeed, except where the provider merely does
// not have this model.
func (r Refusal) badRequest(ep *catalog.Endpoint, status int, inside bool) *fault.Error {
	text := strings.ToLower(r.Code + " " + r.Message)
	kind, next := fault.Invalid, fault.NextModel
	public := "The provider refused the request as invalid."
	switch {
	case containsAny(text, contextPhrases):
		kind, public = fault.ContextLength, "The request exceeds the model's context length."
	case containsAny(text, policyPhrases) || status == 451:
		kind, public = fault.ContentPolicy, "The provider's content policy does not allow this request."
	case containsAny(text, modelPhrases) || strings.Contains(text, "the model") && strings.Contains(text, "does not exist"):
		next = fault.NextEndpoint
	case strings.Contains(text, "string_above_max_length"):
		kind, public = fault.StringTooLong, "A string in the request is too long."
	case status == 413:
		kind, public = fault.PayloadTooLarge, "The request is too large for the provider."
	}
	if inside && kind == fault.Invalid { // it had begun to answer: not the client's mistake
		return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider failed.")
	}
	if r.Message != "" {
		public = r.Message
	}
	f := r.fault(ep, kind, next, public)
	if kind == fault.ContentPolicy && ep.Model != nil {
		f.Details = map[string]any{"model_slug": ep.Model.Slug}
	}
	return f
}

func (r Refusal) fault(ep *catalog.Endpoint, kind fault.Kind, next fault.Next, public string) *fault.Error {
	f := Fault(ep, kind, public, nil)
	f.Next = next
	f.Upstream.Status = r.Status
	f.Upstream.Code = r.Code
	f.Upstream.Raw = r.Raw
	return f
}

// Words of providers in error codes and messages, in lower case. Statuses alone do not distinguish these cases.
var (
	contextPhrases = []string{"context_length", "context length", "context window", "maximum context", "prompt is too long", "input is too long",
		"too many tokens", "reduce the length", "input length and", "exceeds the maximum number of tokens", "token count exceeds", "model_max_prompt_tokens"}
	policyPhrases = []string{"content_policy", "content policy", "content_filter", "content management policy", "responsibleaipolicyviolation",
		"safety system", "data_inspection_failed", "moderation_blocked", "flagged by"}
	modelPhrases = []string{"model_not_found", "model not found", "model_not_available", "unknown model", "no such model", "unknown_model", "invalid_model", "model does not exist",
		"model_not_supported", "not a valid model"}
)

func containsAny(text string, phrases []string) bool {
	for _, p := range phrases {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// statusInside is the status of an error inside a 2xx answer.
func (r Refusal) statusInside() int {
	if n, err := strconv.Atoi(r.Code); err == nil {
		return n
	}
	code := strings.ToLower(r.Code)
	switch {
	case strings.Contains(code, "rate_limit") || strings.Contains(code, "throttl") || strings.Contains(code, "too_many_requests") || strings.Contains(code, "resource_exhausted"):
		return 429
	case strings.Contains(code, "overloaded") || strings.Contains(code, "unavailable") || strings.Contains(code, "capacity"):
		return 503
	case strings.Contains(code, "timeout"):
		return 408
	case containsAny(code, contextPhrases) || containsAny(code, policyPhrases) || strings.Contains(code, "invalid") || strings.Contains(code, "validation"):
		return 400
	}
	return 500
}

// retryAfter is how long the provider asks to wait, kept within 1 s and 1 h.
func (r Refusal) retryAfter() time.Duration {
	if ms, err := strconv.ParseFloat(r.Header.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return ClampRetry(ms / 1000)
	}
	v := strings.TrimSpace(r.Header.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); (err == nil || errors.Is(err, strconv.ErrRange)) && s >= 0 {
		return ClampRetry(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		now := time.Now()
		if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
			now = date // the provider's own clock, which may differ from ours
		}
		return ClampRetry(at.Sub(now).Seconds())
	}
	return defaultRetryAfter
}

// ClampRetry turns seconds into a wait of whole seconds, at least one and at most MaxRetryAfter.
func ClampRetry(seconds float64) time.Duration {
	if seconds != seconds { // NaN
		return defaultRetryAfter
	}
	return time.Duration(min(max(math.Ceil(seconds), 1), MaxRetryAfter.Seconds())) * time.Second
}

// Broken is the fault of an answer that cannot be decoded: wrong JSON, wrong shape, an early end. Faults pass unchanged.
func Broken(ep *catalog.Endpoint, cause error) *fault.Error {
	var f *fault.Error
	if errors.As(cause, &f) {
		return f
	}
	return Unavailable(ep, Unreadable, cause)
}

// TooLarge is the fault of an answer that exceeds a size limit.
func TooLarge(ep *catalog.Endpoint, cause error) *fault.Error {
	f := Unavailable(ep, "The provider's answer is too large.", cause)
	f.Details = map[string]any{"reason": "upstream_too_large"}
	return f
}

// Ended is the fault of an answer that was cut off.
func Ended(ep *catalog.Endpoint) *fault.Error {
	return Unavailable(ep, "The provider ended its answer early.", nil)
}

// Empty is the fault of an answer that ended properly but is empty.
func Empty(ep *catalog.Endpoint) *fault.Error {
	return Unavailable(ep, "The provider sent an empty answer.", nil)
}

// Unavailable is the fault of a provider that failed; another one may be tried. public is the sentence for the client.
func Unavailable(ep *catalog.Endpoint, public string, cause error) *fault.Error {
	f := Fault(ep, fault.ProviderUnavailable, public, cause)
	f.Next = fault.NextEndpoint
	return f
}

// Fault is a fault of a provider.
func Fault(ep *catalog.Endpoint, kind fault.Kind, public string, cause error) *fault.Error {
	return &fault.Error{Kind: kind, Op: "upstream.Complete", Public: public, Cause: cause,
		Upstream: &fault.Upstream{Provider: ep.Provider.Name}}
}
