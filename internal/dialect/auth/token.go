package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/rawjson"
)

const (
	fetchFor   = 30 * time.Second
	retryAfter = 5 * time.Second // between two attempts to renew a token
	shortLife  = time.Minute     // lifetime of a token that is already expired, or whose lifetime is unknown
)

// Issuer exchanges a credential for tokens.
type Issuer struct {
	// Ask makes the request for a token.
	Ask func(now time.Time) (*Call, error)
	// Read decodes the answer: a token and its expiry.
	Read func(body []byte, now time.Time) (token string, until time.Time, err error)
	// Secrets are the secret parts of the credential.
	Secrets []string
}

// Tokens is the Method of tokens that an Issuer gives, as bearer tokens. A token is renewed in the background while it is still valid;
// calls use the old one meanwhile. Without a valid token, calls wait: the issuer is asked once for all of them.
type Tokens struct {
	issuer  Issuer
	deps    Deps
	current atomic.Pointer[token] // nil: none

	mu      sync.Mutex
	asking  *asking // nil: no request for a token is running
	retryAt time.Time
}

// token is one token. It is immutable.
type token struct {
	value  string
	fields http.Header
	given  time.Time
	renew  time.Time // from when it is renewed
	until  time.Time
}

// asking is a running request for a token.
type asking struct {
	done chan struct{} // closed at the end of the request
	got  *token
	err  error
}

// NewTokens makes the method. It fetches the first token when it is needed.
func NewTokens(i Issuer, d Deps) *Tokens { return &Tokens{issuer: i, deps: d} }

// Fields implements Method.
func (t *Tokens) Fields(ctx context.Context, _ *Request) (http.Header, error) {
	now := t.deps.Now()
	have := t.current.Load()
	if have != nil && now.Before(have.renew) {
		return have.fields, nil
	}
	a := t.ask(have, now)
	if have != nil && now.Before(have.until) {
		return have.fields, nil
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if a.err != nil {
		return nil, a.err
	}
	return a.got.fields, nil
}

// ask starts a request for a token, unless one is running. The caller has seen that have must be renewed; if another token has replaced
// it meanwhile, no request starts.
func (t *Tokens) ask(have *token, now time.Time) *asking {
	t.mu.Lock()
	defer t.mu.Unlock()
	if newer := t.current.Load(); newer != nil && newer != have {
		return settled(newer)
	}
	if have != nil && now.Before(have.until) && now.Before(t.retryAt) {
		return settled(have)
	}
	if t.asking == nil {
		a := &asking{done: make(chan struct{})}
		t.asking = a
		t.deps.Go(func(ctx context.Context) { t.fetch(ctx, a) })
	}
	return t.asking
}

func settled(got *token) *asking {
	done := make(chan struct{})
	close(done)
	return &asking{done: done, got: got}
}

// fetch asks the issuer. It continues when the call that started it ends, because other calls wait for it, too.
func (t *Tokens) fetch(ctx context.Context, a *asking) {
	ctx, cancel := context.WithTimeout(ctx, fetchFor)
	defer cancel()
	a.got, a.err = t.fetched(ctx)
	t.mu.Lock()
	if a.err == nil {
		t.current.Store(a.got)
	} else {
		t.retryAt = t.deps.Now().Add(retryAfter)
	}
	t.asking = nil
	t.mu.Unlock()
	close(a.done)
}

func (t *Tokens) fetched(ctx context.Context) (*token, error) {
	call, err := t.issuer.Ask(t.deps.Now())
	if err != nil {
		return nil, err
	}
	host := ""
	if u, err := url.Parse(call.URL); err == nil {
		host = u.Host
	}
	status, body, err := t.deps.Fetch(ctx, call)
	if err != nil {
		return nil, &HostError{host, err}
	}
	if status < 200 || status > 299 {
		return nil, &RefusedError{Host: host, Status: status, Reason: reason(body)}
	}
	now := t.deps.Now()
	if !rawjson.Valid(body) {
		return nil, &HostError{host, errors.New("the answer to a token request is not JSON")}
	}
	value, until, err := t.issuer.Read(body, now)
	if err != nil {
		return nil, &HostError{host, err}
	}
	if !sendable(value) {
		return nil, &HostError{host, errors.New("the answer to a token request has no token")}
	}
	life := max(until.Sub(now), shortLife)
	return &token{value: value, fields: bearer(value), given: now, renew: now.Add(life - life/6), until: now.Add(life - min(life/10, 30*time.Second))}, nil
}

// reason is the text of an error answer, from the members that issuers write. It contains nothing of the request.
func reason(body []byte) string {
	if !rawjson.Valid(body) {
		return ""
	}
	for _, name := range [...]string{"error_description", "message", "error"} {
		if s := rawjson.TextAt(body, name); s != "" {
			return s[:min(len(s), 200)]
		}
	}
	return ""
}

// sendable reports whether a text can be part of a header field.
func sendable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7F {
			return false
		}
	}
	return s != ""
}

func bearer(value string) http.Header { return http.Header{"Authorization": {"Bearer " + value}} }

// Refused drops the token in fields, so that a new one is fetched. A token that was fetched only a moment ago is kept: the next one would
// be refused as well, and each call would ask the issuer.
func (t *Tokens) Refused(fields http.Header) bool {
	have := t.current.Load()
	if have == nil || !slices.Equal(have.fields["Authorization"], fields["Authorization"]) {
		return true
	}
	if t.deps.Now().Before(have.given.Add(retryAfter)) {
		return false
	}
	t.current.CompareAndSwap(have, nil)
	return true
}

// Secrets implements Method.
func (t *Tokens) Secrets() []string {
	list := slices.Clone(t.issuer.Secrets)
	if have := t.current.Load(); have != nil {
		list = append(list, have.value)
	}
	return list
}
