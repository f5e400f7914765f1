// Package auth authenticates requests where a fixed header field is not enough: with tokens that are fetched and expire, and with
// signatures. It must not open connections or know a model's wire: requests for tokens go through the caller's function, and a token
// leaves it only as a header field.
package auth

import (
	"context"
	"net/http"
	"time"
)

// Request is a request that is about to be sent.
type Request struct {
	Host string
	Path string   // as sent, with its query if it has one
	Body [][]byte // in pieces
}

// Method authenticates the requests with one credential. It is safe for concurrent use.
type Method interface {
	// Fields returns the header fields that authenticate r. The caller must not change them. It may wait for a token, until ctx ends.
	Fields(ctx context.Context, r *Request) (http.Header, error)
	// Refused reports whether the same credential can get new fields, after the provider refused these.
	Refused(fields http.Header) bool
	// Secrets returns the strings that must not be shown: parts of the credential, tokens in use.
	Secrets() []string
}

// Call is a request for a token.
type Call struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Fetch sends a Call and returns status and body of the answer, whatever the status. The body is cut at some tens of KiB.
type Fetch func(ctx context.Context, c *Call) (status int, body []byte, err error)

// Deps has the functions that methods need from their client.
type Deps struct {
	Fetch Fetch
	Now   func() time.Time
	// Go runs a function in the background, with a context that ends when the client is closed.
	Go func(run func(ctx context.Context))
}

// RefusedError is the error of a request for a token that the provider refused.
type RefusedError struct {
	Host   string
	Status int // HTTP status
	Reason string
}

// HostError is the error of a request for a token that the host of tokens, which is often another than that of the calls, has not answered as one.
type HostError struct {
	Host  string
	Cause error // of the connection, or what is wrong with the answer
}

func (e *HostError) Error() string { return "auth: no token from " + e.Host + ": " + e.Cause.Error() }

func (e *HostError) Unwrap() error { return e.Cause }

func (e *RefusedError) Error() string {
	s := "auth: no token was granted: " + http.StatusText(e.Status)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}
