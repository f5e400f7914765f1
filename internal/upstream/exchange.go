package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"

	"weir/internal/dialect"
	"weir/internal/upstream/h1"
)

// exchange is one request and its answer, over either client. After Close it can be used for another one. Only Abort may be called
// concurrently with another method.
type exchange interface {
	// send sends call and waits for the head of the answer. After an error, the head's facts about the connection are still valid.
	send(t *target, l *lane, call *dialect.Call) (h1.Head, error)
	// Header is the header of the answer, before the first Read.
	Header() http.Header
	// Read reads the body.
	io.Reader
	// Buffered reports whether the next Read need not wait, as far as that is known.
	Buffered() bool
	// Drained reports whether the rest of the body had already arrived, so that the connection can be used again.
	Drained() bool
	// Sent reports whether the whole request has been sent, so that nothing reads its body any more.
	Sent() bool
	// Abort ends at once whatever the exchange is waiting for.
	Abort()
	// Close ends the exchange: nothing reads the body of its request any more. Its connection is kept when the body was read to its end.
	Close()
}

// own is an exchange over our own client.
type own struct{ h1.Exchange }

func (x *own) send(t *target, l *lane, call *dialect.Call) (h1.Head, error) {
	r := h1.Request{Method: call.Verb(), Base: t.base, Path: call.Path, Fields: l.fields, Body: call.Body, More: call.More}
	if !plain(call.Path) {
		u, err := t.url(call)
		if err != nil {
			return h1.Head{}, err
		}
		r.Base, r.Path = "", u.RequestURI()
	}
	return x.Send(t.group.own, &r)
}

const maxInformational = 16 // 1xx answers before the real one

// standard is an exchange over net/http's client.
type standard struct {
	transport *http.Transport

	mu      sync.Mutex // guards the next two
	aborted bool
	cancel  context.CancelFunc

	resp *http.Response
	eof  bool
	body *pieces // of the request; nil: it is in one piece, and a copy
}

// pieces is the body of a request whose bytes may be views of what its client sent. The transport may hold its readers for longer than the
// exchange lasts, but none of them reads after that.
type pieces struct {
	call *dialect.Call

	mu    sync.Mutex
	sent  bool // a reader came to the end
	ended bool
}

// reader reads the body from its beginning.
func (p *pieces) reader() io.ReadCloser { return io.NopCloser(&piecesReader{p, p.call.Pieces()}) }

// end waits for a read that is under way, and lets no other begin.
func (p *pieces) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

type piecesReader struct {
	of   *pieces
	rest net.Buffers
}

func (r *piecesReader) Read(b []byte) (int, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.ended {
		return 0, errEnded
	}
	n, err := r.rest.Read(b)
	r.of.sent = r.of.sent || len(r.rest) == 0
	return n, err
}

// observed has the facts that only the connection sees. Each request has its own: the transport's goroutines may outlive it.
type observed struct {
	informational int // counted by the connection's reader alone
	reused        atomic.Bool
	connected     atomic.Bool
	written       atomic.Bool
	answered      atomic.Bool // at least one byte arrived
}

func (x *standard) send(t *target, l *lane, call *dialect.Call) (h1.Head, error) {
	u, err := t.url(call)
	if err != nil {
		return h1.Head{}, err
	}
	hr := &http.Request{
		Method: call.Verb(), URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: l.header,
	}
	switch {
	case call.Content != nil:
		hr.Body, hr.ContentLength = call.Reader()
		hr.GetBody = func() (io.ReadCloser, error) {
			body, _ := call.Reader()
			return body, nil
		}
	case len(call.More) > 0:
		body := &pieces{call: call}
		x.body = body
		hr.Body, hr.ContentLength = body.reader(), call.Size()
		hr.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	case len(call.Body) > 0:
		// The transport recognizes a bytes.Reader and sends it in the same write as the headers.
		hr.Body, hr.ContentLength = io.NopCloser(bytes.NewReader(call.Body)), int64(len(call.Body))
		hr.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Body)), nil }
	}
	seen := new(observed)
	x.resp, err = x.transport.RoundTrip(hr.WithContext(httptrace.WithClientTrace(x.context(), seen.trace())))
	head := h1.Head{Connected: seen.connected.Load(), Reused: seen.reused.Load(), Written: seen.written.Load(), Answered: seen.answered.Load()}
	if err != nil {
		return head, err
	}
	head.Status, head.Length, head.Encoding = x.resp.StatusCode, x.resp.ContentLength, x.resp.Header.Get("Content-Encoding")
	return head, nil
}

// context returns a context that Abort ends.
func (x *standard) context() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cancel = cancel
	if x.aborted {
		cancel()
	}
	return ctx
}

func (o *observed) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			o.reused.Store(info.Reused)
			o.connected.Store(true)
		},
		WroteRequest:         func(info httptrace.WroteRequestInfo) { o.written.Store(info.Err == nil) },
		GotFirstResponseByte: func() { o.answered.Store(true) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if o.informational++; o.informational > maxInformational {
				return errors.New("too many informational answers")
			}
			return nil
		},
	}
}

func (x *standard) Header() http.Header { return x.resp.Header }

func (x *standard) Read(p []byte) (int, error) {
	n, err := x.resp.Body.Read(p)
	x.eof = x.eof || err == io.EOF
	return n, err
}

func (x *standard) Buffered() bool { return false }

func (x *standard) Drained() bool { return x.eof }

func (x *standard) Sent() bool {
	if x.body == nil {
		return true
	}
	x.body.mu.Lock()
	defer x.body.mu.Unlock()
	return x.body.sent
}

func (x *standard) Abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aborted = true
	if x.cancel != nil {
		x.cancel()
	}
}

func (x *standard) Close() {
	if x.resp != nil {
		_ = x.resp.Body.Close()
	}
	x.mu.Lock()
	if x.cancel != nil {
		x.cancel()
	}
	x.aborted, x.cancel = false, nil
	x.mu.Unlock()
	if x.body != nil {
		x.body.end()
	}
	x.resp, x.eof, x.body = nil, false, nil
}
