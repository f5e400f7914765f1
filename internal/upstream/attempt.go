package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/upstream/h1"
)

const (
	maxDrainBytes = 64 << 10 // after the end of a stream
	drainTime     = time.Second
	lingerGrace   = 50 * time.Millisecond // the longest time in which a read finds data that has already arrived
)

// attempt is one call of one endpoint, from dialling to the last byte: one HTTP request, or several where the provider refuses
// credentials.
//
// It does not end with the caller's context as such: usage and the end mark of a stream are read even after the caller has gone, so that
// the connection can be used again. Attempts are pooled, with their timer and their closures.
type attempt struct {
	client *Client
	own    own
	gone   func() // called when the caller's context ends

	ep       *catalog.Endpoint
	dialect  dialect.Dialect
	caller   context.Context
	leave    func() bool // stops watching the caller
	left     bool        // the end of the caller's context has no effect any more
	x        exchange
	head     h1.Head
	raw      watched      // over x
	body     dialect.Body // over raw, or over its decompression
	answer   dialect.Answer
	done     bool              // the provider's own end was seen
	limit    int64             // of a whole answer; 0: the client's limit
	reader   Flusher           // of what was yielded; nil: none, or none that keeps anything
	reported func(http.Header) // gets the header of each answer; may be nil
	use      *keyUse           // of the credential that it is under way with

	start          time.Time
	headersBy      time.Duration // since start
	idle           time.Duration
	firstBy        time.Duration // idle, until the first byte of the body
	waiting        atomic.Int64  // when the current read began, nanoseconds since start; 0: no read
	headersArrived atomic.Bool
	bodyArrived    atomic.Bool
	lingering      atomic.Bool // lingerBy is set

	mu       sync.Mutex // guards the fields below
	timer    *time.Timer
	totalBy  time.Duration // since start
	lingerBy time.Duration // when waiting for usage and the end mark stops, since start; 0: the answer is still arriving
	cause    error         // why it was aborted
	over     bool
	wake     context.CancelFunc // ends the waiting for a token; nil: nothing waits
}

// expired is the cause of an abort by the watchdog.
type expired struct {
	phase string
	after time.Duration
}

func (e *expired) Error() string { return fmt.Sprintf("no %s within %v", e.phase, e.after) }

var (
	errCallerGone = errors.New("the caller has gone")
	errEnded      = errors.New("the attempt has ended")
	errLingered   = errors.New("the provider sent nothing more")
)

// open sends the request and waits for the headers of a 2xx answer, which the returned Texter can read. After an error nothing is left
// open.
func (c *Client) open(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*attempt, dialect.Texter, *dialect.Answer, error) {
	if ctx.Err() != nil {
		return nil, nil, nil, callerFault(ctx)
	}
	t, err := c.target(ep.Provider)
	if err != nil {
		return nil, nil, nil, err
	}
	texter := t.speak(req.Style)
	if texter == nil {
		return nil, nil, nil, dialect.NoText(ep)
	}
	call, err := texter.Request(ep, req)
	if err != nil {
		return nil, nil, nil, err
	}
	call.Header = traced(call.Header, req)
	a := c.newAttempt(ctx, ep, texter, req, req.Stream, t.group.standard)
	answer, err := a.ask(t, req, &call)
	if err != nil {
		a.end()
		return nil, nil, nil, err
	}
	return a, texter, answer, nil
}

// traced is the header of a call with the name of the span that it is made in.
func traced(h http.Header, req *completion.Request) http.Header {
	if req.Traceparent == "" {
		return h
	}
	if h = h.Clone(); h == nil {
		h = make(http.Header, 1)
	}
	h["Traceparent"] = []string{req.Traceparent}
	return h
}

// newAttempt begins an attempt over a transport of the standard library, or over our own client where that is nil. From then on the caller's leaving
// aborts it.
func (c *Client) newAttempt(caller context.Context, ep *catalog.Endpoint, d dialect.Dialect, req *completion.Request, stream bool, over *http.Transport) *attempt {
	a, ok := c.attempts.Get().(*attempt)
	if !ok {
		a = &attempt{client: c}
		a.gone = func() { a.abort(errCallerGone) }
		a.timer = time.AfterFunc(time.Hour, a.watch) // set below
	}
	a.ep, a.dialect, a.caller, a.start = ep, d, caller, time.Now()
	a.x = &a.own
	if over != nil {
		a.x = &standard{transport: over}
	}
	total := c.cfg.Timeouts.Total
	a.idle, a.headersBy = c.cfg.Timeouts.Idle, c.cfg.Timeouts.patience(ep, req, stream)
	if stream {
		total = c.cfg.Timeouts.StreamTotal
	}
	a.firstBy = a.idle
	if req != nil && req.Elsewhere {
		a.firstBy = min(a.idle, a.headersBy)
	}
	a.mu.Lock()
	a.over, a.cause, a.totalBy, a.lingerBy = false, nil, total, 0
	a.timer.Reset(min(a.headersBy, a.firstBy, total))
	a.mu.Unlock()
	a.leave = context.AfterFunc(caller, a.gone)
	return a
}

// ask sends the request. While the provider refuses the credential, it tries the next one.
func (a *attempt) ask(t *target, req *completion.Request, call *dialect.Call) (*dialect.Answer, error) {
	answer, _, err := a.askAny(t, req, call)
	return answer, err
}

// askAny is ask that also returns the accepted credential.
func (a *attempt) askAny(t *target, req *completion.Request, call *dialect.Call) (*dialect.Answer, *credential, error) {
	var (
		refusal error
		tried   []*credential
		now     = a.client.cfg.Now
		model   = a.ep.UpstreamID
	)
	for {
		key := t.keys.pick(model, tried, now)
		if key == nil && refusal == nil {
			return nil, nil, noKeyInUse(a.ep)
		}
		if key == nil {
			if f := fault.From(refusal); f.Kind == fault.RateLimited {
				f.RetryAfter = dialect.ClampRetry(t.keys.soonest(model, now).Seconds())
			}
			return nil, nil, refusal
		}
		answer, err := a.askWith(t, key, req, call)
		if err == nil {
			t.keys.accept(key, model)
			return answer, key, nil
		}
		a.note(key, fault.From(err))
		refused, rest := t.keys.refuse(key, model, fault.From(err), now)
		if !refused {
			return nil, nil, err
		}
		if rest.For > 0 && a.client.cfg.Resting != nil {
			rest.Provider, rest.Key = t.provider.ID, 1+slices.Index(t.keys.all, key)
			a.client.cfg.Resting(rest)
		}
		if tried = append(tried, key); refusal == nil || fault.From(refusal).Kind != fault.RateLimited { // which says when a call will pass, and so counts before others
			refusal = err
		}
		if a.again(); a.why() != nil {
			return nil, nil, refusal
		}
	}
}

// askWith sends the request with a credential, and counts that.
func (a *attempt) askWith(t *target, key *credential, req *completion.Request, call *dialect.Call) (*dialect.Answer, error) {
	a.uses(key.use)
	if req != nil {
		req.Used.Set(&key.known)
	}
	answer, err := a.askLane(t, key, req, call)
	var f *fault.Error
	if err != nil {
		f = fault.From(err)
	}
	key.use.count(a.client.cfg.Now(), f)
	return answer, err
}

// uses says which credential the attempt is under way with; nil: none any more.
func (a *attempt) uses(k *keyUse) {
	if a.use != nil {
		a.use.running.Add(-1)
	}
	if a.use = k; k != nil {
		k.running.Add(1)
	}
}

// note keeps what the provider said when it refused a credential.
func (a *attempt) note(key *credential, f *fault.Error) {
	if !againstKey(f) {
		return
	}
	said := *f
	about := *f.Upstream
	said.Upstream = &about
	f = a.client.polish(a.ep, &said)
	key.use.refused(a.client.cfg.Now(), f.Upstream.Status, string(cut([]byte(cmp.Or(f.Upstream.Words, f.Upstream.Raw, f.Public)), maxKeyWords)))
}

func (a *attempt) askLane(t *target, key *credential, req *completion.Request, call *dialect.Call) (*dialect.Answer, error) {
	l := &key.whole
	if req.Stream && req.Chats() || call.Stream {
		l = &key.stream
	}
	l, err := l.with(call.Header, t.host)
	if err != nil {
		return nil, fault.Wrap("upstream.lane", err)
	}
	if key.method != nil {
		return a.admitted(t, key.method, l, req, call)
	}
	return a.askOver(t, l, req, call)
}

func (a *attempt) askOver(t *target, l *lane, req *completion.Request, call *dialect.Call) (_ *dialect.Answer, err error) {
	if a.head, err = a.x.send(t, l, call); err != nil {
		a.head.Status = 0
		return nil, a.sendFault(err)
	}
	a.headersArrived.Store(true)
	return a.accept(req, call)
}

// again prepares another request of the same attempt.
func (a *attempt) again() {
	a.x.Close()
	a.headersArrived.Store(false)
	a.bodyArrived.Store(false)
	a.raw, a.body = watched{}, dialect.Body{}
}

// abort ends whatever the attempt is waiting for. The first cause counts.
func (a *attempt) abort(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over && a.cause == nil {
		a.cut(cause)
	}
}

// cut ends whatever the attempt is waiting for. The lock is held.
func (a *attempt) cut(cause error) {
	a.cause = cause
	a.x.Abort()
	if a.wake != nil {
		a.wake()
	}
}

// why returns the cause of the abort, or nil.
func (a *attempt) why() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cause
}

// watch runs when the timer fires. Reads only store when they began; watch checks that and sets the timer to the next moment at which
// something could be late, so that frames cost no timer work.
func (a *attempt) watch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.cause != nil {
		return
	}
	now := time.Since(a.start)
	next, late := a.look(now)
	if late != nil {
		a.cut(late)
		return
	}
	a.timer.Reset(next - now)
}

// look returns when to check again, or what is late.
func (a *attempt) look(now time.Duration) (next time.Duration, late error) {
	next = a.totalBy
	if now >= next {
		return 0, &expired{"complete answer", next}
	}
	waiting := time.Duration(a.waiting.Load())
	if a.lingerBy > 0 {
		// data that has already arrived is still read: only a read that finds none ends the answer
		if until := max(a.lingerBy, waiting+lingerGrace); waiting > 0 && now >= until {
			return 0, errLingered
		} else if waiting > 0 {
			next = min(next, until)
		} else {
			next = min(next, max(a.lingerBy, now+lingerGrace))
		}
	}
	idle := a.idle
	if !a.bodyArrived.Load() {
		idle = a.firstBy
	}
	switch {
	case !a.headersArrived.Load():
		if now >= a.headersBy {
			return 0, &expired{"response headers", a.headersBy}
		}
		next = min(next, a.headersBy, now+idle) // the first read may begin at any time
	case waiting == 0: // the consumer is busy: a read that begins now is late after one idle time
		next = min(next, now+idle)
	case now >= waiting+idle:
		return 0, &expired{"further bytes", idle}
	default:
		next = min(next, waiting+idle)
	}
	return next, nil
}

// Linger is called when the answer is complete except for usage and the end mark, which are waited for only until the deadline that it
// sets. Calls after the first have no effect.
func (a *attempt) Linger() {
	if a.lingering.Swap(true) {
		return
	}
	wait := a.client.cfg.Timeouts.Linger
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lingerBy = time.Since(a.start) + wait
	a.timer.Reset(wait)
}

// accept turns the head of an answer into an Answer, or into a fault when it is not 2xx.
func (a *attempt) accept(req *completion.Request, call *dialect.Call) (*dialect.Answer, error) {
	limits := a.client.cfg.Limits
	if a.limit > 0 {
		limits.Whole = a.limit
	}
	limit := limits.Whole
	if req.Stream && req.Chats() || call.Stream {
		limit = limits.Stream
	}
	a.raw = watched{a: a, left: limit}
	a.body.Reset(&a.raw)
	status, length := a.head.Status, a.head.Length
	fine := status >= 200 && status <= 299
	var header http.Header
	if !fine {
		header = a.x.Header() // before the body, which uses the same buffer
	}
	if a.reported != nil {
		a.reported(a.x.Header())
	}
	how, known := encodingOf(a.head.Encoding)
	switch {
	case !known:
		return nil, dialect.Unavailable(a.ep, dialect.Unreadable, fmt.Errorf("content encoding %q", a.head.Encoding))
	case how != nil:
		a.body.Reset(&decoded{a: a, src: &a.raw, how: how, left: limit})
		length = -1
	}
	if !fine {
		// The body may be cut off or fail: the status alone is enough.
		text, _ := io.ReadAll(io.LimitReader(&a.body, dialect.MaxFailureBytes))
		if err := a.interrupted(); err != nil && a.caller.Err() != nil {
			return nil, err
		}
		_, _ = a.body.Read(make([]byte, 1)) // finds the end, so that the connection can be used again
		return nil, a.dialect.Failure(a.ep, status, header, text)
	}
	if length > limit {
		return nil, dialect.TooLarge(a.ep, fmt.Errorf("declared length %d", length))
	}
	a.answer = dialect.Answer{Endpoint: a.ep, Request: req, Length: length, Limits: limits, Notice: call.Notice, Body: &a.body, Exchange: a}
	return &a.answer, nil
}

// end releases everything. A connection whose answer was read to its end is kept. One that was left after the provider's own end is read
// for a moment more in the background, without delaying the caller, unless the request is still being sent, whose body belongs to the caller; any
// other is closed.
func (a *attempt) end() {
	a.reader = nil
	a.left = a.leave()
	if !a.done || a.body.AtEnd() || a.x.Drained() || !a.x.Sent() {
		a.finish()
		return
	}
	a.mu.Lock()
	a.totalBy = time.Since(a.start) + drainTime
	a.timer.Reset(drainTime)
	a.mu.Unlock()
	a.client.drains.Add(1)
	go func() {
		defer a.client.drains.Done()
		stop := context.AfterFunc(a.client.closing, func() { a.abort(errEnded) })
		_, _ = io.CopyN(io.Discard, a.x, maxDrainBytes)
		a.left = stop() && a.left
		a.finish()
	}()
}

// finish returns the attempt to the pool when neither the timer nor the end of a context can reach it any more.
func (a *attempt) finish() {
	a.x.Close()
	a.uses(nil)
	a.mu.Lock()
	a.over = true
	stopped := a.timer.Stop()
	a.mu.Unlock()
	if stopped && a.left {
		a.forget()
		a.client.attempts.Put(a)
	}
}

// forget clears the data of one call.
func (a *attempt) forget() {
	a.ep, a.dialect, a.caller, a.leave, a.x = nil, nil, nil, nil, nil
	a.raw, a.body, a.answer, a.head, a.done, a.limit = watched{}, dialect.Body{}, dialect.Answer{}, h1.Head{}, false, 0
	a.reported, a.reader = nil, nil
	a.waiting.Store(0)
	a.headersArrived.Store(false)
	a.bodyArrived.Store(false)
	a.lingering.Store(false)
}

// watched reads the body, records for the watchdog when it waits, and counts bytes.
type watched struct {
	a     *attempt
	left  int64
	begun bool // something was read
}

func (w *watched) Read(p []byte) (int, error) {
	if w.a.reader != nil && !w.a.x.Buffered() {
		_ = w.a.reader.Flush() // a client that has gone ends the caller's context
	}
	w.a.waiting.Store(max(1, int64(time.Since(w.a.start))))
	n, err := w.a.x.Read(p)
	w.a.waiting.Store(0)
	if n > 0 && !w.begun {
		w.begun = true
		w.a.bodyArrived.Store(true)
	}
	if w.left -= int64(n); w.left < 0 {
		return 0, dialect.TooLarge(w.a.ep, nil)
	}
	if err != nil && err != io.EOF {
		if w.a.why() == errLingered {
			return n, io.EOF
		}
		err = w.a.readFault(err)
	}
	return n, err
}

// interrupted is the fault of an attempt that the gateway ended, nil for any other.
func (a *attempt) interrupted() error {
	if a.caller.Err() != nil {
		return callerFault(a.caller)
	}
	var late *expired
	if errors.As(a.why(), &late) {
		f := dialect.Fault(a.ep, fault.Timeout, "The provider did not answer in time.", late)
		f.Next = fault.NextEndpoint
		return f
	}
	return nil
}

// sendFault classifies an error before the response headers.
func (a *attempt) sendFault(err error) error {
	if f := a.interrupted(); f != nil {
		return taken(f, a.head.Written)
	}
	public := "The provider closed the connection without an answer."
	var op *net.OpError
	if errors.As(err, new(*outbound.Failure)) || errors.As(err, &op) && op.Op == "dial" {
		public = "The provider cannot be reached."
	} else if a.head.Answered {
		public = dialect.Unreadable
	}
	f := dialect.Unavailable(a.ep, public, err)
	f.Upstream.Silent, f.Upstream.Unreachable = !a.head.Answered, !a.head.Connected
	f.Upstream.Reused = a.head.Reused && f.Upstream.Silent
	return f
}

// readFault classifies an error inside the body.
func (a *attempt) readFault(err error) error {
	if f := a.interrupted(); f != nil {
		return taken(f, true)
	}
	return dialect.Unavailable(a.ep, "The provider's answer broke off.", err)
}

// taken notes in the fault of a call that its client gave up whether the provider had all of the request by then.
func taken(err error, whole bool) error {
	f := fault.From(err)
	if f.Kind != fault.Canceled || !whole {
		return err
	}
	out := *f // it may be the cause of the caller's context
	out.Taken = true
	return &out
}

// callerFault is the fault of a call whose own context has ended. No other endpoint is tried then.
func callerFault(ctx context.Context) error {
	cause := context.Cause(ctx)
	var f *fault.Error
	if errors.As(cause, &f) {
		return f
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return fault.New(fault.Timeout, "upstream.Complete", "The request took too long.").Because(cause)
	}
	return fault.New(fault.Canceled, "upstream.Complete", "The client closed the connection.").Because(cause)
}

// Header gives the header fields of the answer.
func (a *attempt) Header() http.Header { return a.x.Header() }
