package httpapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"weir/internal/accesslog"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/organization"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/trace"
)

// Actor is who changes something, for the audit chain.
type Actor = audit.Actor

// request is one request and its answer.
type request struct {
	api    *API
	w      httpserver.Answer
	r      *http.Request
	at     time.Time
	id     string // "req_..."
	table  *routeTable
	route  *Route // nil until found
	values [2]string
	caller *apikey.Caller // nil on public routes
	// session and person are whose browser it is; nil for programs with a key
	session *auth.Session
	acts    *organization.Membership // in whose account the person acts; nil: their own
	person  *auth.Person
	work    limit.Named // the request's context, once it is the caller's

	generation string
	record     *record.Call // nil unless the call reached the relay
	stream     *stream      // nil unless the answer is an event stream
	asked      string       // model asked for
	named      *named       // nil unless the client has named the request with an Idempotency-Key
	visit      quota.Visit  // what it counts for
	trace      *trace.Call  // nil: it is not traced

	preset        string // that the request uses, "" none
	presetVersion int64

	turn      *turn       // the message of a WebSocket that it came in; nil: none
	part      *batch.Call // request of a batch, made by this node; nil: none
	call      *relay.Call // of part; nil before the relay has it
	memory    memory
	body      httpserver.Body
	sent      []byte // of the body, when it is JSON and was read
	lent      httpserver.Lent
	fault     *fault.Error // what the client was sent, nil on success
	idHeader  [1]string
	genHeader [1]string
}

var (
	jsonType   = []string{"application/json; charset=utf-8"}
	streamType = []string{"text/event-stream"}
	noCache    = []string{"no-cache"}
	noBuffer   = []string{"no"}
	closeConn  = []string{"close"}
	keepAlive  = []string{"keep-alive"}
	anyOrigin  = []string{"*"}
	exposed    = []string{corsExpose}
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendID adds n random base62 characters. The generator is seeded by the system and not to be foreseen, but these are names, not secrets.
func appendID(b []byte, n int) []byte {
	for n > 0 {
		bits := rand.Uint64()
		for range 10 { // ten digits of 62 are 59.5 bits
			b = append(b, base62[bits%62])
			bits /= 62
			if n--; n == 0 {
				break
			}
		}
	}
	return b
}

// newGeneration names an answer: "gen-<unix seconds>-<20 base62>". The first four digits are the microsecond, so that an index takes new ids at its
// end, where that costs less; the others are random.
func newGeneration(now time.Time) string {
	b := append(make([]byte, 0, 40), "gen-"...)
	b = strconv.AppendInt(b, now.Unix(), 10)
	us := now.Nanosecond() / 1000
	b = append(b, '-', base62[us/(62*62*62)], base62[us/(62*62)%62], base62[us/62%62], base62[us%62])
	return string(appendID(b, 16))
}

// client is the address of the client, the zero one when it is unknown.
func (x *request) client() netip.Addr { return x.api.cfg.TrustedProxies.Client(x.r) }

// addressName is the client's name in limits by address.
func (x *request) addressName() string { return httpserver.Counted(x.client()).String() }

// context is the request's context, with the user who is charged.
func (x *request) context() context.Context {
	if x.caller == nil {
		return x.r.Context()
	}
	if x.work.Context == nil {
		user := &x.caller.User
		if x.session != nil {
			user = &x.session.User // as in counted
		}
		x.work = limit.For(x.r.Context(), user)
	}
	return &x.work
}

// noSniff has browsers take an answer for what its type says, whatever text of a user it begins with.
var noSniff = []string{"nosniff"}

// begin names the request and sets the headers that every answer has.
func (x *request) begin() {
	var raw [28]byte
	x.id = string(appendID(record.AppendRequest(raw[:0], x.at), 18))
	x.idHeader[0] = x.id
	h := x.w.Header()
	h["X-Request-Id"], h["X-Content-Type-Options"] = x.idHeader[:], noSniff
	if len(x.r.Header["Origin"]) > 0 && x.cors() {
		h["Access-Control-Allow-Origin"] = anyOrigin
		h["Access-Control-Expose-Headers"] = exposed
	}
	// After a chunked body the connection ends: a proxy before us may have read the framing in another way.
	if x.r.ContentLength < 0 || x.api.draining.Load() {
		h["Connection"] = closeConn
	}
	x.api.Metrics.inFlight.Add(1)
}

// startGeneration names the answer of an inference route.
func (x *request) startGeneration() {
	x.generation = newGeneration(x.at)
	x.genHeader[0] = x.generation
	x.w.Header()["X-Generation-Id"] = x.genHeader[:]
}

// writeBody writes a whole answer: head and body in one go.
func (x *request) writeBody(status int, contentType []string, body []byte) {
	if x.named != nil {
		x.named.keep(status, contentType, body)
	}
	h := x.w.Header()
	if contentType != nil {
		h["Content-Type"] = contentType
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.w.WriteHeader(status)
	if len(body) > 0 && x.r.Method != http.MethodHead {
		if _, err := x.w.Write(body); err != nil { // a client that is gone shows in the request's context, too
			x.lent.Forget()
		}
	}
}

// fail answers with e, if an answer can still be chosen, and keeps e for the log.
func (x *request) fail(e *fault.Error) {
	e = spread(e)
	x.fault = e
	if e.Kind == fault.Internal {
		x.api.Slog.Error("request failed", "request_id", x.id, "op", e.Op, "cause", e.Cause)
	}
	switch {
	case x.stream != nil && x.stream.committed():
		x.stream.fail(e)
	case e.Kind == fault.Canceled:
		panic(http.ErrAbortHandler) // the client is gone, and an empty answer would be a lie
	case x.w.Status() != 0:
		// the head was sent and no frame can carry the fault: cut the answer, so that it is not taken for a whole one
		panic(http.ErrAbortHandler)
	default:
		x.writeError(e)
	}
}

// panicked answers for a handler that panicked. The value may quote anything, so only what the runtime says of itself is logged.
func (x *request) panicked(p any) {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	x.api.Metrics.panics.Inc()
	what := fmt.Sprintf("%T", p)
	if e, ok := p.(runtime.Error); ok {
		what = e.Error()
	}
	x.api.Slog.Error("panic in a handler", "request_id", x.id, "value", what, "stack", string(debug.Stack()))
	x.fail(fault.New(fault.Internal, "httpapi.panic", ""))
}

// deferred reports whether the request is, or is to be, a part of a provider's batch.
func (x *request) deferred() bool { return x.part != nil && x.part.Deferred != nil }

// finish gives back what the request held and records it.
func (x *request) finish() {
	if x.trace != nil {
		x.endTrace(x.outcome())
	}
	x.memory.Close()
	x.lent.Release()
	x.body.Release()
	if x.stream != nil {
		x.stream.to.Close()
	}
	if !x.deferred() {
		x.visit.Correct(x.api.Now(), x.record)
	}
	if x.named != nil {
		x.named.end(x.record)
	}
	m := x.api.Metrics
	m.inFlight.Add(-1)
	if x.deferred() && x.part.Deferred.Prepares() {
		return // its answer is what counts
	}
	status := x.outcome()
	took := x.api.Now().Sub(x.at)
	if x.route != nil {
		x.route.metrics.observe(status, took, traceID(x.trace))
	} else {
		m.unrouted.observe(status, took, "")
	}
	m.call(x.record, traceID(x.trace))
	if l := x.api.Log; l != nil && (x.route == nil || x.route.access != unlimited || status >= 400) {
		r := x.logRecord(status, took)
		l.Access(&r)
	}
}

// outcome is the HTTP status that counts: that of the fault where the head of a stream could not have it.
func (x *request) outcome() int {
	if x.fault != nil && x.fault.Kind == fault.Canceled || x.record != nil && x.record.Cancelled {
		return httpserver.StatusClientGone
	}
	if x.fault != nil {
		return httpserver.Status(x.fault)
	}
	return x.w.Status()
}

func (x *request) logRecord(status int, took time.Duration) accesslog.Record {
	r := accesslog.Record{
		At: x.at, Level: "INFO", RequestID: x.id, Generation: x.generation, Method: x.r.Method, Status: status,
		ModelAsked: x.asked, Duration: took, BytesIn: x.body.Came(), BytesOut: x.w.Sent(), Address: x.api.served.LogAddress(x.client()),
	}
	if ids := x.r.Header["X-Request-Id"]; len(ids) > 0 {
		r.ClientID = ids[0]
	}
	r.Trace = traceID(x.trace)
	if x.turn != nil {
		r.Socket = x.turn.s.id
	}
	if x.route != nil {
		r.Route = x.route.Pattern
	}
	if c := x.caller; c != nil {
		r.User, r.Key = c.User, c.Key
	}
	if e := x.fault; e != nil {
		r.Reason, r.Param, r.Detail, r.Level = e.Kind.String(), e.Param, detail(e), logLevel(e)
		r.Canceled = e.Kind == fault.Canceled
	}
	if c := x.record; c != nil {
		r.Model, r.Provider, r.Attempts, r.Streamed = c.Model, c.Provider, len(c.Attempts), c.Streamed
		r.PromptTokens, r.CompletionTokens, r.Estimated = c.Usage.Prompt.N, c.Usage.Completion.N, c.Usage.Source != 0
		r.Cost, r.Hold, r.FirstContent = c.Cost, c.Hold, c.FirstContent
		r.Canceled = r.Canceled || c.Cancelled
	}
	return r
}

// logLevel: what a client did wrong is information, what an upstream did is a warning, what we did is an error.
func logLevel(e *fault.Error) string {
	switch {
	case e.Kind == fault.Internal:
		return "ERROR"
	case e.Upstream != nil || httpserver.Status(e) >= 500:
		return "WARN"
	}
	return "INFO"
}

func (x *request) actor() Actor {
	if x.session != nil {
		return Actor{Name: "user:" + x.session.User, From: httpserver.ShowAddress(x.client())}
	}
	return Actor{Name: "key:" + x.caller.Key, From: httpserver.ShowAddress(x.client())}
}

// reply writes 200 with a JSON body.
func (x *request) reply(o *object) error {
	x.writeBody(http.StatusOK, jsonType, o.B)
	return nil
}

var (
	_ Completer = (*relay.Relay)(nil)
	_ Verifier  = (*apikey.Verifier)(nil)
	_ Keys      = (*apikey.Manager)(nil)

	_ http.Handler = (*API)(nil)
)
