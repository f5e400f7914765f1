package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
)

const (
	maxInformational = 16       // 1xx answers before the real one
	maxFailureBytes  = 64 << 10 // of a non-2xx body
	maxDrainBytes    = 64 << 10 // behind the end of a stream
	drainTime        = time.Second
	lingerGrace      = 50 * time.Millisecond // a read takes at most so long to find what has come already
)

// attempt is one HTTP request to one endpoint, from dialling to the last byte.
//
// Its context does not descend from the caller's: what comes behind the end of a stream is read after the caller has gone,
// so that the connection can serve again.
type attempt struct {
	client  *Client
	ep      *catalog.Endpoint
	dialect Dialect
	ctx     context.Context
	cancel  context.CancelCauseFunc
	caller  context.Context
	leave   func() bool // stops watching the caller

	rc     io.ReadCloser
	raw    watched // over rc
	body   Body    // over raw, or over its decompression
	answer Answer
	done   bool // the upstream's own end was seen

	start          time.Time
	timer          *time.Timer
	headersBy      time.Duration // since start
	idle           time.Duration
	totalBy        atomic.Int64 // since start, in nanoseconds
	waiting        atomic.Int64 // when the read under way began, nanoseconds since start; 0: no read
	lingerBy       atomic.Int64 // when nothing more is waited for, nanoseconds since start; 0: the answer is still coming
	headersArrived atomic.Bool

	informational int // counted by the connection's reader alone
	reused        atomic.Bool
	answered      atomic.Bool // some byte came back
}

// expired is the cause of a watchdog's cancel.
type expired struct {
	phase string
	after time.Duration
}

func (e *expired) Error() string { return fmt.Sprintf("no %s within %v", e.phase, e.after) }

var (
	errCallerGone = errors.New("the caller has gone")
	errEnded      = errors.New("the attempt has ended")
	errLingered   = errors.New("the provider had nothing more to say")
)

// open sends the request and waits for the headers of a 2xx answer. After an error nothing is left open.
func (c *Client) open(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*attempt, *Answer, error) {
	if ctx.Err() != nil {
		return nil, nil, callerFault(ctx)
	}
	t, err := c.target(ep.Provider)
	if err != nil {
		return nil, nil, err
	}
	call, err := t.dialect.Request(ep, req)
	if err != nil {
		return nil, nil, err
	}
	u, err := t.url(call.Path)
	if err != nil {
		return nil, nil, err
	}
	hr := &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: t.whole,
		// The transport knows a bytes.Reader and sends it in the same write as the headers.
		Body:          io.NopCloser(bytes.NewReader(call.Body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.Body)), nil },
		ContentLength: int64(len(call.Body)),
	}
	if req.Stream {
		hr.Header = t.stream
	}
	a := c.newAttempt(ctx, ep, t.dialect, req.Stream)
	hr = hr.WithContext(httptrace.WithClientTrace(a.ctx, a.trace()))
	resp, err := t.group.RoundTrip(hr)
	if err != nil {
		err = a.sendFault(err)
		a.end()
		return nil, nil, err
	}
	a.headersArrived.Store(true)
	a.rc = resp.Body
	answer, err := a.accept(resp, req)
	if err != nil {
		a.end()
		return nil, nil, err
	}
	return a, answer, nil
}

func (c *Client) newAttempt(caller context.Context, ep *catalog.Endpoint, d Dialect, stream bool) *attempt {
	a := &attempt{client: c, ep: ep, dialect: d, caller: caller, start: time.Now(), idle: c.cfg.Timeouts.Idle}
	total := c.cfg.Timeouts.Total
	a.headersBy = c.cfg.Timeouts.FirstByte
	if stream {
		total, a.headersBy = c.cfg.Timeouts.StreamTotal, c.cfg.Timeouts.StreamFirstByte
	}
	a.totalBy.Store(int64(total))
	a.ctx, a.cancel = context.WithCancelCause(context.Background())
	a.leave = context.AfterFunc(caller, func() { a.cancel(errCallerGone) })
	a.timer = time.AfterFunc(time.Hour, a.watch) // armed below: watch must not run before the field is set
	a.timer.Reset(min(a.headersBy, a.idle, total))
	return a
}

// trace counts what only the connection sees.
func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { a.reused.Store(info.Reused) },
		GotFirstResponseByte: func() { a.answered.Store(true) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if a.informational++; a.informational > maxInformational {
				return errors.New("too many informational answers")
			}
			return nil
		},
	}
}

// watch runs when the timer fires. Reads only note when they began; this looks at it and arms the timer for the
// next moment at which something could be late, so that frames cost no timer work.
func (a *attempt) watch() {
	now := time.Since(a.start)
	total := time.Duration(a.totalBy.Load())
	if a.ctx.Err() != nil {
		return
	}
	if now >= total {
		a.cancel(&expired{"complete answer", total})
		return
	}
	next := total
	waiting, lingerBy := time.Duration(a.waiting.Load()), time.Duration(a.lingerBy.Load())
	if lingerBy > 0 {
		// what lies in the connection unread is still wanted: only a read that finds nothing ends the answer
		if until := max(lingerBy, waiting+lingerGrace); waiting > 0 && now >= until {
			a.cancel(errLingered)
			return
		} else if waiting > 0 {
			next = min(next, until)
		} else {
			next = min(next, max(lingerBy, now+lingerGrace))
		}
	}
	switch {
	case !a.headersArrived.Load():
		if now >= a.headersBy {
			a.cancel(&expired{"response headers", a.headersBy})
			return
		}
		next = min(next, a.headersBy, now+a.idle) // the first read may begin at any time
	case waiting == 0: // the consumer is busy: a read that begins now is late one idle time from now
		next = min(next, now+a.idle)
	case now >= waiting+a.idle:
		a.cancel(&expired{"further bytes", a.idle})
		return
	default:
		next = min(next, waiting+a.idle)
	}
	a.timer.Reset(next - now)
	if by := time.Duration(a.lingerBy.Load()); by != lingerBy {
		a.timer.Reset(by - now) // set meanwhile
	}
}

// linger is told when the answer is complete but for what may come behind it: usage, the mark of the end. That is waited for only
// so long. Calls after the first do nothing.
func (a *attempt) linger() {
	if a.lingerBy.Load() != 0 {
		return
	}
	wait := a.client.cfg.Timeouts.Linger
	a.lingerBy.Store(int64(time.Since(a.start) + wait))
	a.timer.Reset(wait)
}

// accept turns the head of an answer into an Answer, or into a fault when it is not 2xx.
func (a *attempt) accept(resp *http.Response, req *completion.Request) (*Answer, error) {
	limit := a.client.cfg.Limits.Whole
	if req.Stream {
		limit = a.client.cfg.Limits.Stream
	}
	a.raw = watched{a: a, left: limit}
	a.body.r = &a.raw
	length := resp.ContentLength
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		a.body.r = &unzipped{a: a, src: &a.raw, left: limit}
		length = -1
	default:
		return nil, broken(a.ep, sentenceUnreadable, fmt.Errorf("content encoding %q", encoding))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// The body may be cut or fail: the status alone says enough.
		text, _ := io.ReadAll(io.LimitReader(&a.body, maxFailureBytes))
		if err := a.interrupted(); err != nil && a.caller.Err() != nil {
			return nil, err
		}
		_, _ = a.body.Read(make([]byte, 1)) // finds the end, so that the connection can serve again
		return nil, a.dialect.Failure(a.ep, resp.StatusCode, resp.Header, text)
	}
	if length > limit {
		return nil, TooLarge(a.ep, fmt.Errorf("declared length %d", length))
	}
	a.answer = Answer{Endpoint: a.ep, Request: req, Length: length, Limits: a.client.cfg.Limits, Body: &a.body, a: a}
	return &a.answer, nil
}

// end releases everything. A connection whose answer was read to its end serves again; one that was left
// behind the upstream's own end is read on for a moment, without holding up the caller; any other is closed.
func (a *attempt) end() {
	a.leave()
	if a.rc == nil || !a.done || a.body.sawEOF {
		a.finish()
		return
	}
	a.totalBy.Store(int64(time.Since(a.start) + drainTime))
	a.timer.Reset(drainTime)
	a.client.drains.Add(1)
	go func() {
		defer a.client.drains.Done()
		defer context.AfterFunc(a.client.closing, func() { a.cancel(errEnded) })()
		_, _ = io.CopyN(io.Discard, a.rc, maxDrainBytes)
		a.finish()
	}()
}

func (a *attempt) finish() {
	if a.rc != nil {
		_ = a.rc.Close()
	}
	a.cancel(errEnded)
	a.timer.Stop()
}

// watched reads the body, tells the watchdog when it waits, and counts.
type watched struct {
	a    *attempt
	left int64
}

func (w *watched) Read(p []byte) (int, error) {
	w.a.waiting.Store(max(1, int64(time.Since(w.a.start))))
	n, err := w.a.rc.Read(p)
	w.a.waiting.Store(0)
	if w.left -= int64(n); w.left < 0 {
		return 0, TooLarge(w.a.ep, nil)
	}
	if err != nil && err != io.EOF {
		if context.Cause(w.a.ctx) == errLingered {
			return n, io.EOF
		}
		err = w.a.readFault(err)
	}
	return n, err
}

var gzipReaders sync.Pool

// unzipped undoes a compression that nobody asked for. What comes out is counted too: a bomb ends at the limit.
type unzipped struct {
	a    *attempt
	src  io.Reader
	gz   *gzip.Reader
	left int64
}

func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, TooLarge(u.a.ep, nil)
	}
	if err != nil && u.gz != nil {
		gzipReaders.Put(u.gz)
		u.gz = nil
	}
	if err != nil && err != io.EOF {
		var f *fault.Error
		if !errors.As(err, &f) {
			err = broken(u.a.ep, sentenceUnreadable, err)
		}
	}
	return n, err
}

func (u *unzipped) read(p []byte) (int, error) {
	if u.gz == nil {
		gz, ok := gzipReaders.Get().(*gzip.Reader)
		if !ok {
			gz = new(gzip.Reader)
		}
		if err := gz.Reset(u.src); err != nil {
			gzipReaders.Put(gz)
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		u.gz = gz
	}
	return u.gz.Read(p)
}

// interrupted is the fault of an attempt that we ended ourselves, nil when we did not.
func (a *attempt) interrupted() error {
	if a.caller.Err() != nil {
		return callerFault(a.caller)
	}
	var late *expired
	if errors.As(context.Cause(a.ctx), &late) {
		f := newFault(a.ep, fault.Timeout, "The provider did not answer in time.", late)
		f.Next = fault.NextEndpoint
		return f
	}
	return nil
}

// sendFault classifies an error met before the response headers.
func (a *attempt) sendFault(err error) error {
	if f := a.interrupted(); f != nil {
		return f
	}
	public := "The provider closed the connection without an answer."
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		public = "The provider cannot be reached."
	} else if a.answered.Load() {
		public = sentenceUnreadable
	}
	f := broken(a.ep, public, err)
	f.Upstream.Reused = a.reused.Load() && !a.answered.Load()
	return f
}

// readFault classifies an error met inside the body.
func (a *attempt) readFault(err error) error {
	if f := a.interrupted(); f != nil {
		return f
	}
	return broken(a.ep, "The provider broke off its answer.", err)
}

// callerFault is the fault of a call whose own context has ended. Nothing else is tried then.
func callerFault(ctx context.Context) error {
	cause := context.Cause(ctx)
	var f *fault.Error
	if errors.As(cause, &f) {
		return f
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return fault.New(fault.Timeout, "upstream.Complete", "The request took too long.").Because(cause)
	}
	return fault.New(fault.Canceled, "upstream.Complete", "The client went away.").Because(cause)
}
