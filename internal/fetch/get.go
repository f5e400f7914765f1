package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/outbound"
)

// Limits bounds one fetch, and names the user that it is for.
type Limits struct {
	MaxBytes int64         // of the body; 0: Config.MaxBytes
	Total    time.Duration // 0: Config.Total
	Types    []string      // allowed media types, or families such as "image/"; nil: any

	// Provider named the address; nil if a client did. Errors are attributed to it.
	Provider *Provider
	// Header has the client's headers. Only Range, If-Range, If-None-Match and Accept are sent.
	Header http.Header
}

// Provider is a provider that names addresses in its responses.
type Provider struct {
	Name string // for errors
	// Home is the base URL in the configuration. Its origin may have a private address. Only this origin gets Credentials, and only until the
	// first redirect elsewhere.
	Home        string
	Credentials http.Header
	Proxy       outbound.Proxy // the way to it and to what it names; not set: that of the whole gateway
}

var passed = [...]string{"Range", "If-Range", "If-None-Match", "Accept"}

// Response is the head of a response, and its body.
type Response struct {
	Status    int         // 200; 206 or 416 for a Range; 304 for If-None-Match
	Header    http.Header // as received: it must not be passed on to clients unchanged
	MediaType string      // in lower case, without parameters; "" if missing
	Start     int64       // offset of the first byte in the file
	Length    int64       // of the body, -1 if unknown
	Size      int64       // of the whole file, -1 if unknown
	// Body fails with a *fault.Error if it is cut, stalls, or is too large. It must be closed.
	Body io.ReadCloser
}

// Get requests a file. If a client named the address, errors are those of a request (fault.Invalid, fault.PayloadTooLarge); if a provider
// did, those of the provider (fault.ProviderUnavailable, fault.Timeout).
func (c *Client) Get(ctx context.Context, address string, lim Limits) (*Response, error) {
	f := &fetching{c: c, lim: lim, parent: ctx, allowed: &c.cfg.ClientMedia}
	if p := lim.Provider; p != nil {
		f.home, f.credentials, f.allowed = originOf(p.Home), p.Credentials, &c.cfg.ProviderMedia
	} else if !c.cfg.RemoteMedia {
		return nil, fault.New(fault.Invalid, op, "This gateway does not fetch URLs. Send the file as a data: URL.")
	}
	f.lim.MaxBytes = orDefault(lim.MaxBytes, c.cfg.MaxBytes)
	ctx, stop := context.WithTimeoutCause(ctx, orDefault(lim.Total, c.cfg.Total), errTotal)
	ctx, cancel := context.WithCancelCause(ctx)
	f.ctx, f.cancel = ctx, func(cause error) { cancel(cause); stop() }
	r, err := f.follow(address)
	if err != nil {
		f.cancel(nil)
		return nil, err
	}
	return r, nil
}

const op = "fetch.Get"

func orDefault[T int64 | time.Duration](v, byDefault T) T {
	if v == 0 {
		return byDefault
	}
	return v
}

// fetching is the state of one Get.
type fetching struct {
	c      *Client
	lim    Limits
	parent context.Context // the caller's

	allowed     *Allowed
	home        *origin // nil: none
	credentials http.Header

	ctx    context.Context
	cancel func(cause error)
}

func (f *fetching) follow(address string) (*Response, error) {
	t, err := f.parse(address)
	if err != nil {
		return nil, f.failed(0, err)
	}
	credentials := f.credentials
	for hop := 0; ; hop++ {
		if !f.home.is(t) {
			credentials = nil // not restored later, because a redirect could lead back to the origin
		}
		answer, err := f.ask(t, credentials)
		if err != nil {
			return nil, f.failed(0, err)
		}
		if !redirects(answer.StatusCode) {
			return f.accept(answer)
		}
		answer.Body.Close()
		if hop == maxRedirects {
			return nil, f.failed(answer.StatusCode, errors.New("too many redirects"))
		}
		if t, err = f.next(t, answer.Header.Get("Location")); err != nil {
			return nil, f.failed(answer.StatusCode, err)
		}
	}
}

func (f *fetching) parse(address string) (*target, error) {
	t, err := f.c.parse(address, f.allowed, f.home)
	if err == nil && f.lim.Provider != nil {
		t.proxy = f.lim.Provider.Proxy
	}
	return t, err
}

func redirects(status int) bool {
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308
}

// next parses the target of a redirect, with the same rules as the first address.
func (f *fetching) next(from *target, location string) (*target, error) {
	if location == "" || strings.ContainsAny(location, "\\") {
		return nil, refusal("leads nowhere")
	}
	ref, err := url.Parse(location)
	if err != nil {
		return nil, refusal("leads nowhere")
	}
	to, err := f.parse(from.url.ResolveReference(ref).String())
	if err == nil && from.url.Scheme == "https" && to.url.Scheme != "https" {
		return nil, refusal("leads from https to http")
	}
	return to, err
}

func (f *fetching) ask(t *target, credentials http.Header) (*http.Response, error) {
	req := (&http.Request{Method: http.MethodGet, URL: t.url, Host: t.url.Host, Header: http.Header{}}).WithContext(f.ctx)
	for name, values := range credentials {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	for _, name := range passed {
		if v := f.lim.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	req.Header.Set("Accept-Encoding", "identity")
	return f.c.send(req, t)
}

// accept checks the head of the final response.
func (f *fetching) accept(answer *http.Response) (*Response, error) {
	r := &Response{Status: answer.StatusCode, Header: answer.Header, Length: answer.ContentLength, Size: -1}
	if err := f.check(r); err != nil {
		answer.Body.Close()
		return nil, err
	}
	left := f.lim.MaxBytes
	if r.Length >= 0 {
		left = min(left, r.Length) // bytes after the declared length are ignored
	}
	r.Body = &body{f: f, src: answer.Body, left: left, short: r.Length >= 0}
	return r, nil
}

func (f *fetching) check(r *Response) error {
	ranged := f.lim.Header.Get("Range") != ""
	switch {
	case r.Status == http.StatusOK:
		r.Size = r.Length
	case r.Status == http.StatusNotModified && f.lim.Header.Get("If-None-Match") != "":
		r.Length = 0
		return nil
	case r.Status == http.StatusRequestedRangeNotSatisfiable && ranged:
		_, _, r.Size, _ = contentRange(r.Header.Get("Content-Range"))
		return nil
	case r.Status == http.StatusPartialContent && ranged:
		first, last, size, ok := contentRange(r.Header.Get("Content-Range"))
		if !ok || first < 0 || r.Length >= 0 && r.Length != last-first+1 {
			return f.failed(r.Status, errors.New("the answer has a wrong or missing Content-Range"))
		}
		r.Start, r.Length, r.Size = first, last-first+1, size
	default:
		return f.failed(r.Status, fmt.Errorf("status %d", r.Status))
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return f.failed(r.Status, errors.New("the answer is compressed"))
	}
	r.MediaType, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if !f.wanted(r.MediaType) {
		return f.failed(r.Status, fmt.Errorf("the answer has the media type %.60q", r.MediaType))
	}
	if r.Length > f.lim.MaxBytes {
		return f.tooLarge()
	}
	return nil
}

func (f *fetching) wanted(media string) bool {
	return f.lim.Types == nil || slices.ContainsFunc(f.lim.Types, func(t string) bool {
		return media == t || strings.HasSuffix(t, "/") && strings.HasPrefix(media, t)
	})
}

// contentRange parses "bytes 0-9/100", "bytes 0-9/*" and "bytes */100" (RFC 9110, section 14.4). Missing numbers are -1.
func contentRange(text string) (first, last, size int64, ok bool) {
	part, whole, found := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	if !found || !strings.HasPrefix(text, "bytes ") {
		return -1, -1, -1, false
	}
	if size, ok = number(whole); !ok && whole != "*" {
		return -1, -1, -1, false
	}
	if part == "*" {
		return -1, -1, size, size >= 0
	}
	from, to, _ := strings.Cut(part, "-")
	first, ok1 := number(from)
	last, ok2 := number(to)
	if !ok1 || !ok2 || last < first || size >= 0 && last >= size {
		return -1, -1, -1, false
	}
	return first, last, size, true
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return -1, false
	}
	return int64(n), true
}

// body bounds the reading of a response.
type body struct {
	f     *fetching
	src   io.ReadCloser
	left  int64
	short bool // left is the declared length, and an earlier end is an error
	err   error
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more, to detect a longer body
	}
	idle := time.AfterFunc(b.f.c.cfg.Idle, func() { b.f.cancel(errIdle) })
	n, err := b.src.Read(p)
	idle.Stop()
	switch {
	case int64(n) > b.left:
		n, b.err = int(b.left), b.f.tooLarge()
	case err == io.EOF && b.short && int64(n) < b.left:
		b.err = b.f.failed(0, io.ErrUnexpectedEOF)
	case err == io.EOF:
		b.err = io.EOF
	case err != nil:
		b.err = b.f.failed(0, err)
	}
	b.left -= int64(n)
	return n, b.err
}

func (b *body) Close() error {
	b.f.cancel(nil)
	return b.src.Close()
}

func (f *fetching) tooLarge() error {
	if f.lim.Provider == nil {
		return fault.Newf(fault.PayloadTooLarge, op, "The file at the URL is larger than %d bytes.", f.lim.MaxBytes)
	}
	return f.failed(0, fmt.Errorf("the file is larger than %d bytes", f.lim.MaxBytes))
}

// failed returns the error for the party that named the address. Its public text says nothing about the server; the cause is for the log.
func (f *fetching) failed(status int, cause error) error {
	if f.parent.Err() != nil {
		return gone(f.parent)
	}
	if why := context.Cause(f.ctx); why != nil {
		cause = why
	}
	if f.lim.Provider == nil {
		return fault.New(fault.Invalid, op, "The file at the URL could not be fetched.").Because(cause)
	}
	e := fault.New(fault.ProviderUnavailable, op, "The provider's file could not be fetched.").Because(cause)
	if timedOut(cause) {
		e = fault.New(fault.Timeout, op, "The provider's file did not come in time.").Because(cause)
	}
	e.Next, e.Upstream = fault.NextEndpoint, &fault.Upstream{Provider: f.lim.Provider.Name, Status: status}
	return e
}

// gone is the error for a caller that has cancelled or timed out.
func gone(ctx context.Context) error {
	kind, public := fault.Canceled, "The request was cancelled."
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind, public = fault.Timeout, "The file did not come in time."
	}
	return fault.New(kind, op, public).Because(context.Cause(ctx))
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, errIdle) || errors.Is(err, errTotal) || errors.As(err, &timeout) && timeout.Timeout()
}

// Bytes returns a file that a client named, with its media type.
func (c *Client) Bytes(ctx context.Context, address string, maxBytes int64) ([]byte, string, error) {
	return c.read(ctx, address, Limits{MaxBytes: maxBytes})
}

// ProviderBytes returns a file that a provider named, with its media type. home is the provider's base URL, by whose way all is fetched.
func (c *Client) ProviderBytes(ctx context.Context, provider string, home outbound.Home, address string, maxBytes int64) ([]byte, string, error) {
	return c.read(ctx, address, Limits{MaxBytes: maxBytes, Provider: &Provider{Name: provider, Home: home.URL, Proxy: home.Proxy}})
}

func (c *Client) read(ctx context.Context, address string, lim Limits) ([]byte, string, error) {
	r, err := c.Get(ctx, address, lim)
	if err != nil {
		return nil, "", err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, "", err
	}
	return data, r.MediaType, nil
}
