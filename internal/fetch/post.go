package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"weir/internal/fault"
)

const maxRetryAfter = 24 * time.Hour

// Post sends a JSON body to a callback address. It returns the status and the duration in Retry-After, 0 without one; it does not read the
// body. It does not follow redirects. It fails with fault.Invalid if the address must not be called, and with fault.ProviderUnavailable
// without a response.
func (c *Client) Post(ctx context.Context, address string, header map[string]string, payload []byte) (status int, retryAfter time.Duration, err error) {
	answer, err := c.Exchange(ctx, Exchange{Address: address, Header: header, Payload: payload})
	return answer.Status, answer.RetryAfter, err
}

// Exchange is a JSON body that is sent to an address.
type Exchange struct {
	Address string
	Home    string // a base URL of the operator's configuration: its origin may have a private address
	Header  map[string]string
	Payload []byte
	Most    int64 // bytes of the response that are read
}

// Answer is the response.
type Answer struct {
	Status     int
	RetryAfter time.Duration // 0 without one
	Body       []byte        // cut at Most
}

// Exchange is Post, and reads some of the body. Its errors never contain the address, which may be a secret.
func (c *Client) Exchange(ctx context.Context, e Exchange) (a Answer, err error) {
	t, err := c.parse(e.Address, &c.cfg.Callbacks, originOf(e.Home))
	if err != nil {
		return a, notCalled(err)
	}
	req := (&http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(e.Payload)), ContentLength: int64(len(e.Payload)),
	}).WithContext(ctx)
	for name, value := range e.Header {
		req.Header.Set(name, value)
	}
	answer, err := c.send(req, t)
	if err != nil {
		return a, notCalled(err)
	}
	defer answer.Body.Close()
	if e.Most > 0 {
		a.Body, _ = io.ReadAll(io.LimitReader(answer.Body, e.Most)) // what came of it is said
	}
	seconds, err := strconv.ParseInt(answer.Header.Get("Retry-After"), 10, 32)
	if err != nil || seconds < 0 {
		seconds = 0
	}
	a.Status, a.RetryAfter = answer.StatusCode, min(time.Duration(seconds)*time.Second, maxRetryAfter)
	return a, nil
}

func notCalled(err error) error {
	const op = "fetch.Post"
	var r refusal
	if errors.As(err, &r) {
		return fault.New(fault.Invalid, op, "The URL may not be called.").Because(err)
	}
	return fault.New(fault.ProviderUnavailable, op, "The URL did not answer.").Because(err)
}
