package fetch

import (
	"context"
	"io"
	"net/http"
	"time"

	"weir/internal/fault"
)

// Transport makes single requests to the origin of a URL in the configuration, and to what that server names, by the rules for providers: the
// origin may have a private address, anything else must be public or allowed. Redirects are the caller's, each is checked like a first
// address. A body ends with an error after max bytes, and each request after a short time, because people wait for it.
func (c *Client) Transport(home string, max int64) http.RoundTripper {
	return &homeTransport{c, originOf(home), max}
}

const homeTotal = 15 * time.Second

type homeTransport struct {
	c    *Client
	home *origin
	max  int64
}

// RoundTrip implements http.RoundTripper.
func (h *homeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	t, err := h.c.parse(req.URL.String(), &h.c.cfg.ProviderMedia, h.home)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeoutCause(req.Context(), min(h.c.cfg.Total, homeTotal), errTotal)
	to := req.Clone(ctx) // the caller's request stays as it is
	to.URL, to.Host = t.url, t.url.Host
	resp, err := h.c.send(to, t)
	if err != nil {
		stop()
		return nil, err
	}
	resp.Body = &boundedBody{resp.Body, h.max, stop}
	return resp, nil
}

// boundedBody is a body of at most left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
	stop context.CancelFunc
}

// Read fails with fault.ProviderUnavailable when the body is longer.
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fault.New(fault.ProviderUnavailable, "fetch.Transport", "The answer is too large.")
	}
	return n, err
}

// Close ends the request.
func (b *boundedBody) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}
