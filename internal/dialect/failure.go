package dialect

import (
	"cmp"
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
	Kind    string      // its type of the error, where it has one apart from the code
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
	text := strings.ToLower(r.Code + " " + r.Kind + " " + r.Message)
	switch {
	case status == 401 || status == 402 || (status == 400 || status == 403 || status == 413 || status == 422) && containsAny(text, accountPhrases):
		return r.account(ep)
	case status == 403 && !r.Blocked():
		return r.account(ep)
	case status == 429 || status == 413 && containsAny(text, limitPhrases):
		return r.limited(ep, text)
	case status == 503 || status == 529 || status == 498: // 498: Groq's word for a flexible tier without capacity
		f := r.fault(ep, fault.ProviderOverloaded, fault.NextEndpoint, "The provider is overloaded.")
		f.RetryAfter = r.retryAfter()
		return f
	case status == 408:
		return r.fault(ep, fault.Timeout, fault.NextEndpoint, "The provider did not answer in time.")
	case status == 400 || status == 403 || status == 413 || status == 415 || status == 422 || status == 451:
		return r.badRequest(ep, status, inside, text)
	case status == 500 && containsAny(text, contextPhrases): // llama.cpp, and Google at times
		return r.badRequest(ep, status, inside, text)
	case status >= 300 && status <= 399:
		return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider answered with a redirect.")
	case status == 404 && containsAny(text, voicePhrases):
		return r.badRequest(ep, status, inside, text)
	case status == 404 || status == 410:
		return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider does not serve this model at present.")
	}
	return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider failed.")
}

// Blocked reports whether a refusal is about the content of the request.
func (r Refusal) Blocked() bool {
	text := strings.ToLower(r.Code + " " + r.Kind + " " + r.Message)
	return containsAny(text, policyPhrases) || strings.Contains(text, "moderation") || strings.Contains(text, "flagged")
}

// account is the fault of a refusal that is about the operator's account.
func (r Refusal) account(ep *catalog.Endpoint) *fault.Error {
	f := r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider did not accept the gateway's request.")
	f.Details = map[string]any{"reason": "upstream_auth"}
	f.Upstream.Raw, f.Upstream.OfAccount = "", true
	f.Cause = errors.New(r.Message)
	return f
}

// limited is the fault of a rate limit, or of a balance that some providers report as one. Its words say how much the operator may use.
func (r Refusal) limited(ep *catalog.Endpoint, text string) *fault.Error {
	f := r.fault(ep, fault.RateLimited, fault.NextEndpoint, "The provider's rate limit is reached.")
	f.RetryAfter = r.retryAfter()
	if containsAny(text, accountPhrases) {
		f.Upstream.Raw, f.Upstream.OfAccount = "", true
	}
	return f
}

// badRequest classifies a request that the provider calls invalid. Only another model may succeed, except where the provider merely does
// not have this model.
func (r Refusal) badRequest(ep *catalog.Endpoint, status int, inside bool, text string) *fault.Error {
	kind, next := fault.Invalid, fault.NextModel
	public := "The provider refused the request as invalid."
	switch {
	case containsAny(text, contextPhrases):
		kind, public = fault.ContextLength, "The request exceeds the model's context length."
	case containsAny(text, policyPhrases) || status == 403 || status == 451:
		kind, public = fault.ContentPolicy, "The provider's content policy does not allow this request."
	case containsAny(text, modelPhrases) || containsAny(text, voicePhrases) || strings.Contains(text, "the model") && strings.Contains(text, "does not exist"):
		next = fault.NextEndpoint
	case strings.Contains(text, "string_above_max_length"):
		kind, public = fault.StringTooLong, "A string in the request is too long."
	case status == 413:
		kind, public = fault.PayloadTooLarge, "The request is too large for the provider."
		if r.Raw == "" { // a proxy in front of it says so, not the provider
			next = fault.NextEndpoint
		}
	}
	if inside && kind == fault.Invalid { // it had begun to answer: not the client's mistake
		return r.fault(ep, fault.ProviderUnavailable, fault.NextEndpoint, "The provider failed.")
	}
	if r.Message != "" {
		public = r.Message
	}
	f := r.fault(ep, kind, next, public)
	switch {
	case kind == fault.ContextLength:
		f.Overflow = readOverflow(r.Message)
	case kind == fault.ContentPolicy && ep.Model != nil:
		f.Details = map[string]any{"model_slug": ep.Model.Slug}
	}
	return f
}

func (r Refusal) fault(ep *catalog.Endpoint, kind fault.Kind, next fault.Next, public string) *fault.Error {
	f := Fault(ep, kind, public, nil)
	f.Next = next
	f.Upstream.Status = r.Status
	f.Upstream.Code = cmp.Or(r.Code, r.Kind)
	f.Upstream.Raw, f.Upstream.Words = r.Raw, r.Message
	return f
}

// Words of providers in error codes and messages, in lower case. Statuses alone do not distinguish these cases. Each is as some provider was
// seen to write it: failures_test.go has the sentences and where they were read.
var (
	contextPhrases = []string{"context_length", "context length", "context window", "context_window", "context size", "context_size", "context limit", "context_exceeded",
		"context is too long", "maximum context", "max context", "prompt is too long", "prompt too long", "prompt exceeds", "prompt length exceeds", "maximum prompt length",
		"max_prompt_tokens", "prompt token count", "input is too long", "input too long", "input length and", "input length is too long", "range of input length",
		"maximum input length", "allowed input length", "input token length", "input tokens exceed", "input token exceed", "input token count", "number of input tokens",
		"too many input tokens", "input token limit", "too many tokens", "too many total text bytes", "total tokens exceed", "token count exceeds", "tokens limit exceeded",
		"token limit exceeded", "model token limit", "model_max_prompt_tokens", "exceeds the maximum number of tokens", "tokens, which exceeds the limit",
		"more than max tokens", "length of tokens in the request", "length of all messages", "reduce the length", "maximum model length", "`max_new_tokens` must be",
		"conversation length exceeded", "输入长度超过", "上下文长度", "超出上下文", "输入过长"}
	policyPhrases = []string{"content_policy", "content policy", "content_filter", "content management policy", "responsibleaipolicyviolation",
		"safety system", "data_inspection_failed", "moderation_blocked", "flagged by", "considered high risk", "usage guidelines", "usage policies", "violate the terms of us",
		"new_sensitive", "sensitive_words", "敏感内容"}
	modelPhrases = []string{"model_not_found", "model not found", "model_not_available", "unknown model", "no such model", "unknown_model", "invalid_model", "model does not exist",
		"model_not_supported", "not a valid model", "invalid model_uri", "parse model uri"}
	// voicePhrases are those of a voice that the provider does not have. It has the model, whatever the status.
	voicePhrases = []string{"voice_not_found", "voice_does_not_exist"}
	// limitPhrases are those of a rate limit that is reported as a request that is too large.
	limitPhrases = []string{"rate_limit", "tokens per min", "(tpm)"}
	// accountPhrases are those of refusals that are about the operator's credential or balance, with the status of a bad request or a rate limit.
	accountPhrases = []string{"credit balance", "insufficient_quota", "insufficient balance", "insufficient_balance", "insufficient credit", "insufficient_credit",
		"exceeded_current_quota_error", "billing_hard_limit", "billing hard limit", "billing_not_active", "used all available credits", "spending limit", "arrearage", "余额不足",
		"incorrect api key", "invalid api key", "invalid_api_key", "api_key_invalid", "api key not valid", "api key expired", "specified folder id"}
)

func containsAny(text string, phrases []string) bool {
	for _, p := range phrases {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// statusInside is the status of an error inside a 2xx answer: a code that is a status, or what the words mean.
func (r Refusal) statusInside() int {
	for _, w := range [...]string{r.Code, r.Kind} {
		if n, err := strconv.Atoi(w); err == nil && n >= 300 && n <= 599 {
			return n
		}
		if n := statusOf(strings.ToLower(w)); n != 0 {
			return n
		}
	}
	return cmp.Or(statusOf(strings.ToLower(r.Message)), 500)
}

// statusOf is the status that the words of an error mean, 0 where they mean none.
func statusOf(text string) int {
	switch {
	case containsAny(text, []string{"rate_limit", "rate limit", "throttl", "too_many_requests", "too many requests", "resource_exhausted"}):
		return 429
	case containsAny(text, []string{"overloaded", "unavailable", "capacity"}):
		return 503
	case containsAny(text, []string{"timeout", "timed out"}):
		return 408
	case containsAny(text, contextPhrases) || containsAny(text, policyPhrases):
		return 400
	case containsAny(text, accountPhrases) || strings.Contains(text, "authentication_error") || strings.Contains(text, "permission_error"):
		return 401
	case containsAny(text, []string{"invalid_", "validation", "invalidargument"}):
		return 400
	}
	return 0
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
	if wait, told := waitIn(r.Message); told {
		return ClampRetry(wait)
	}
	return defaultRetryAfter
}

// waitIn finds how many seconds a sentence asks to wait, such as "try again in 1m4.77s" or "retry after 20 seconds".
func waitIn(sentence string) (seconds float64, told bool) {
	text := strings.ToLower(sentence)
	for _, before := range [...]string{"try again in ", "retry in ", "try again after ", "retry after "} {
		_, after, found := strings.Cut(text, before)
		if !found {
			continue
		}
		words := strings.Fields(after)
		if len(words) == 0 {
			continue
		}
		if d, err := time.ParseDuration(strings.TrimRight(words[0], ".,;")); err == nil {
			return d.Seconds(), true
		}
		n, err := strconv.ParseFloat(words[0], 64)
		if err != nil || len(words) == 1 {
			continue
		}
		switch unit := words[1]; {
		case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "milli"):
			return n / 1000, true
		case strings.HasPrefix(unit, "s"):
			return n, true
		case strings.HasPrefix(unit, "m"):
			return 60 * n, true
		case strings.HasPrefix(unit, "h"):
			return 3600 * n, true
		}
	}
	return 0, false
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
