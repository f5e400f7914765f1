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
	t, err := c.parse(address, &c.cfg.Callbacks, nil)
	if err != nil {
		return 0, 0, notCalled(err)
	}
	req := (&http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(payload)), ContentLength: int64(len(payload)),
	}).WithContext(ctx)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	answer, err := c.send(req, t)
	if err != nil {
		return 0, 0, notCalled(err)
	}
	answer.Body.Close()
	seconds, err := strconv.ParseInt(answer.Header.Get("Retry-After"), 10, 32)
	if err != nil || seconds < 0 {
		seconds = 0
	}
	return answer.StatusCode, min(time.Duration(seconds)*time.Second, maxRetryAfter), nil
}

func notCalled(err error) error {
	const op = "fetch.Post"
	var r refusal
	if errors.As(err, &r) {
		return fault.New(fault.Invalid, op, "The URL may not be called.").Because(err)
	}
	return fault.New(fault.ProviderUnavailable, op, "The URL did not answer.").Because(err)
}
