package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
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
	// Abort ends at once whatever the exchange is waiting for.
	Abort()
	// Close ends the exchange. Its connection is kept when the body was read to its end.
	Close()
}

// own is an exchange over our own client.
type own struct{ h1.Exchange }

func (x *own) send(t *target, l *lane, call *dialect.Call) (h1.Head, error) {
	r := h1.Request{Method: call.Verb(), Base: t.base, Path: call.Path, Fields: l.fields, Body: call.Body}
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
}

// observed has the facts that only the connection sees. Each request has its own: the transport's goroutines may outlive it.
type observed struct {
	informational int // counted by the connection's reader alone
	reused        atomic.Bool
	connected     atomic.Bool
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
	case len(call.Body) > 0:
		// The transport recognizes a bytes.Reader and sends it in the same write as the headers.
		hr.Body, hr.ContentLength = io.NopCloser(bytes.NewReader(call.Body)), int64(len(call.Body))
		hr.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Body)), nil }
	}
	seen := new(observed)
	x.resp, err = x.transport.RoundTrip(hr.WithContext(httptrace.WithClientTrace(x.context(), seen.trace())))
	head := h1.Head{Connected: seen.connected.Load(), Reused: seen.reused.Load(), Answered: seen.answered.Load()}
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
	x.resp, x.eof = nil, false
}
