package sim

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fault is one way in which a provider fails. It knows bytes, not wires: the same faults serve every wire.
type fault struct {
	does string   // for the table of faults
	hows []string // variants, the default first
	play func(x *exchange, r *reply)
}

// faults by name. The names are those of the failure matrix that the gateway is tested against.
var faults = map[string]fault{
	"u2":  {"closes or resets the connection before any byte of the answer", []string{"close", "reset"}, silentEnd},
	"u3":  {"reads the request and sends nothing", nil, func(x *exchange, _ *reply) { x.stall() }},
	"u4":  {"sends the head and nothing more", nil, headOnly},
	"u5":  {"sends part of the body and stalls", nil, partly((*exchange).stall)},
	"u6":  {"sends part of the body and resets the connection", nil, partly((*exchange).reset)},
	"u7":  {"ends early: clean end without finish or [DONE], short Content-Length, or no last chunk", []string{"", "clean", "length", "chunk"}, earlyEnd},
	"u8":  {"ends a stream without [DONE]", nil, withoutDone},
	"u9":  {"429 with Retry-After", nil, tooMany("7")},
	"u10": {"429 without Retry-After", nil, tooMany("")},
	"u11": {"429 with an odd Retry-After", []string{"date", "past", "negative", "huge", "rubbish", "fraction"}, tooManyOddly},
	"u12": {"says that the request is bad: 400, 413 or 422", []string{"", "model", "context", "secret"}, badRequest},
	"u13": {"says that the account is bad: 401, 402 or 403", nil, badAccount},
	"u14": {"404", []string{"json", "html"}, notFound},
	"u15": {"500, 502, 504, 520-526, 529", []string{"json", "html", "empty"}, serverError},
	"u16": {"503", []string{"json", "html", "empty"}, unavailable},
	"u17": {"redirects", nil, redirect},
	"u18": {"200 with a body that is no answer", []string{"empty", "truncated", "html", "text", "array", "null", "object", "nochoices"}, noAnswer},
	"u19": {"200 with an error object", []string{"error", "failed"}, errorInside},
	"u20": {"200 with the wrong content type", []string{"", "plain", "json", "html", "none"}, wrongType},
	"u21": {"a bad gzip body", []string{"truncated", "rubbish", "valid"}, badGzip},
	"u22": {"far too large a body", []string{"bomb", "big"}, tooMuch},
	"u23": {"drips", nil, drip},
	"u24": {"too many or too large headers, or informational answers", []string{"headers", "line", "1xx"}, headerFlood},
	"u25": {"too long a line in a stream", []string{"content", "comment", "endless"}, longLine},
	"u26": {"all that the event stream format allows", []string{"all", "crlf", "cr", "bom", "comments", "fields", "nospace", "multiline", "split", "empty"}, oddStream},
	"u27": {"invalid JSON in one frame", []string{"cut", "text", "utf8"}, badFrame},
	"u28": {"frames behind [DONE]", []string{"frames", "twice"}, afterDone},
	"u29": {"an answer without content and finish reason", []string{"role", "done", "empty", "comments"}, noContent},
	"u30": {"bad usage", []string{"missing", "negative", "huge", "strings", "floats"}, badUsage},
	"u31": {"headers that are nobody's business", nil, foreignHeaders},
}

// check refuses variants that a fault does not have, and settles those that are not faults of transport.
func (k *knobs) check() error {
	f := faults[k.fault]
	if k.fault == "" {
		if k.how != "" {
			return fmt.Errorf("the simulator's setting 'how' needs a fault")
		}
		return nil
	}
	if k.how != "" && !slices.Contains(f.hows, k.how) {
		return fmt.Errorf("the simulator's fault '%s' has no variant '%s'", k.fault, k.how)
	}
	if k.how == "" && len(f.hows) > 0 {
		k.how = f.hows[0]
	}
	if s := statusesOf[k.fault]; k.status != 0 && !slices.Contains(s, k.status) {
		return fmt.Errorf("the simulator's fault '%s' cannot have status %d", k.fault, k.status)
	}
	return nil
}

// statusesOf lists the statuses that a fault may be told to send, its default first.
var statusesOf = map[string][]int{
	"u9": {429}, "u10": {429}, "u11": {429}, "u12": {400, 413, 422}, "u13": {401, 402, 403}, "u14": {404},
	"u15": {500, 501, 502, 504, 520, 521, 522, 523, 524, 525, 526, 529}, "u16": {503},
	"u17": {302, 301, 303, 307, 308},
}

func (k *knobs) statusOr(fallback int) int {
	if k.status != 0 {
		return k.status
	}
	return fallback
}

func (k *knobs) afterOr(fallback int) int {
	if k.after >= 0 {
		return k.after
	}
	return fallback
}

func (k *knobs) bytesOr(fallback int64) int64 {
	if k.bytes > 0 {
		return k.bytes
	}
	return fallback
}

// hijack takes the connection over; nil when there is none to take, which the client is told.
func (x *exchange) hijack() net.Conn {
	h, ok := x.w.(http.Hijacker)
	if !ok {
		x.wire.refuse(x.w, &refusal{status: 501, kind: "server_error", message: "This fault needs an HTTP/1.1 connection of its own."})
		return nil
	}
	conn, _, err := h.Hijack()
	if err != nil {
		x.gone = true
		return nil
	}
	return conn
}

// cut ends the connection as it is.
func (x *exchange) cut() {
	if conn := x.hijack(); conn != nil {
		conn.Close()
	}
}

// beforeReset lets what was sent reach the client: a reset discards what is still on the way. On Linux it is repeated until nothing is.
const beforeReset = 5 * time.Millisecond

func (x *exchange) reset() {
	x.wait(beforeReset)
	conn := x.hijack()
	if conn == nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		for unsent(tcp) && x.wait(beforeReset) {
		}
		tcp.SetLinger(0) //nolint:errcheck // then it is closed, not reset
	}
	conn.Close()
}

func silentEnd(x *exchange, _ *reply) {
	if x.k.how == "reset" {
		x.reset()
		return
	}
	x.cut()
}

func headOnly(x *exchange, r *reply) {
	x.head(r, len(r.body()))
	x.flushNow()
	x.stall()
}

// head sends the head of a good answer, with a length for one that is not streamed.
func (x *exchange) head(r *reply, length int) {
	if r.stream {
		x.openStream()
		return
	}
	x.typed(r)
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(length)}
	x.w.WriteHeader(cmp.Or(r.status, 200))
}

const framesBefore = 2 // content frames before a fault inside an answer, unless told

// partly sends the first half of a body, or some frames, and then does what is told.
func partly(then func(*exchange)) func(*exchange, *reply) {
	return func(x *exchange, r *reply) {
		if r.stream {
			x.openStream()
			if x.upTo(r, framesBefore) {
				x.flushNow()
				then(x)
			}
			return
		}
		body := r.body()
		x.head(r, len(body))
		if x.put(body[:len(body)/2]) {
			then(x)
		}
	}
}

// upTo sends frames until so many of content are out, or nothing but the ending is left.
func (x *exchange) upTo(r *reply, fallback int) bool {
	return x.inserting(r, fallback, func() bool { return false }) != broken
}

type outcome uint8

const (
	complete outcome = iota
	stopped          // by what was inserted
	broken           // nobody to send to
)

// inserting sends the frames and, after the first so many of content, does what is told; it goes on when that returns true.
func (x *exchange) inserting(r *reply, fallback int, what func() bool) outcome {
	at, sent, inserted := x.k.afterOr(fallback), 0, false
	for f := range r.frames {
		if !inserted && f.kind != opening && (sent >= at || f.kind >= ending) {
			inserted = true
			if !what() {
				return stopped
			}
		}
		if f.kind == content {
			sent++
		}
		if !x.emit(f) {
			return broken
		}
	}
	return complete
}

func earlyEnd(x *exchange, r *reply) {
	how := x.k.how
	if how == "" && r.stream {
		how = "clean"
	}
	switch {
	case how == "chunk":
		chunkless(x, r)
	case r.stream && how == "clean":
		x.openStream()
		x.upTo(r, framesBefore)
	case r.stream:
		// more is announced than comes, so net/http closes the connection after it
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(1 << 20)}
		x.openStream()
		x.upTo(r, framesBefore)
	case how == "clean":
		body := r.body()
		x.typed(r)
		x.put(body[:len(body)/2])
	default:
		body := r.body()
		x.head(r, len(body))
		x.put(body[:len(body)/2])
	}
}

// chunkless ends a chunked body without its last chunk.
func chunkless(x *exchange, r *reply) {
	if !r.stream {
		body := r.body()
		x.typed(r)
		if x.put(body[:len(body)/2]) {
			x.cut()
		}
		return
	}
	x.openStream()
	if x.upTo(r, framesBefore) {
		x.flushNow()
		x.cut()
	}
}

func withoutDone(x *exchange, r *reply) {
	if !r.stream {
		x.plain(r)
		return
	}
	x.openStream()
	for f := range r.frames {
		if f.kind == done || !x.emit(f) {
			return
		}
	}
}

func (x *exchange) fail(r refusal) {
	if x.wire.beside != nil {
		x.wire.beside(x.w.Header(), &r)
	}
	x.status(r.status, x.wire.fail(&r))
}

func tooMany(retryAfter string) func(*exchange, *reply) {
	return func(x *exchange, _ *reply) {
		after := retryAfter
		if x.k.hasRetry {
			after = x.k.retry
		}
		if after != "" {
			x.w.Header().Set("Retry-After", after)
		}
		x.fail(refusal{429, "requests", "rate_limit_exceeded", "", "Rate limit reached for requests. Please try again later."})
	}
}

func tooManyOddly(x *exchange, r *reply) {
	after := map[string]string{
		"date": x.s.config.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat),
		"past": "Wed, 21 Oct 2015 07:28:00 GMT", "negative": "-5", "huge": "99999999999999999999", "rubbish": "soon", "fraction": "1.5",
	}[x.k.how]
	tooMany(after)(x, r)
}

// leaked stands for what a provider's error text must never carry on to a client.
const leaked = "sk-sim-canary-0123456789abcdef0123456789abcdef"

func badRequest(x *exchange, _ *reply) {
	f := refusal{x.k.statusOr(400), "invalid_request_error", "", "messages", "The simulator was told to find this request bad."}
	switch x.k.how {
	case "model":
		f.code, f.param, f.message = "model_not_found", "model", "The requested model does not exist."
	case "context":
		f.code, f.message = "context_length_exceeded", x.wire.tooLong
	case "secret":
		f.message = "Bad request with key " + leaked + " at http://upstream.internal:8443/v1/chat/completions."
	}
	x.fail(f)
}

func badAccount(x *exchange, _ *reply) {
	switch x.k.statusOr(401) {
	case 402:
		x.fail(refusal{402, "insufficient_quota", "insufficient_quota", "", "You exceeded your current quota, please check your plan and billing details."})
	case 403:
		x.fail(refusal{403, "invalid_request_error", "unsupported_country_region_territory", "", "Country, region, or territory not supported."})
	default:
		x.fail(refusal{401, "invalid_request_error", "invalid_api_key", "", "Incorrect API key provided: " + leaked + "."})
	}
}

const htmlPage = "<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Error</h1><p>sim</p></body></html>\n"

// failAs sends an error as JSON in the provider's shape, as a page of whatever stands before it, or with nothing at all.
func (x *exchange) failAs(f refusal) {
	switch x.k.how {
	case "html":
		x.w.Header().Set("Content-Type", "text/html")
		x.status(f.status, []byte(htmlPage))
	case "empty":
		x.status(f.status, nil)
	default:
		x.fail(f)
	}
}

func notFound(x *exchange, _ *reply) {
	x.failAs(refusal{404, "invalid_request_error", "model_not_found", "model", "The model does not exist or you do not have access to it."})
}

func serverError(x *exchange, _ *reply) {
	x.failAs(refusal{x.k.statusOr(500), "server_error", "", "", "The server had an error while processing your request."})
}

func unavailable(x *exchange, _ *reply) {
	if x.k.retry != "" {
		x.w.Header().Set("Retry-After", x.k.retry)
	}
	x.failAs(refusal{503, "server_error", "overloaded", "", "The engine is currently overloaded, please try again later."})
}

func redirect(x *exchange, _ *reply) {
	to := x.k.to
	if to == "" {
		to = "http://" + x.r.Host + "/sim/redirected"
	}
	x.w.Header().Set("Location", to)
	x.status(x.k.statusOr(302), nil)
}

func noAnswer(x *exchange, r *reply) {
	var body []byte
	page := false
	switch x.k.how {
	case "truncated":
		body = r.body()
		body = body[:len(body)/2]
	case "html":
		body, page = []byte(htmlPage), true
	case "text":
		body, page = []byte("upstream connect error or disconnect/reset before headers"), true
	case "array":
		body = []byte(`[]`)
	case "null":
		body = []byte(`null`)
	case "object":
		body = []byte(`{}`)
	case "nochoices":
		body = x.wire.shapeless
	}
	if !r.stream {
		if x.k.how == "truncated" {
			x.typed(r)
		}
		x.status(200, body)
		return
	}
	x.openStream()
	switch {
	case len(body) == 0:
	case page:
		x.put(body)
	default:
		x.send(frame{event: x.wire.idle.event, data: body})
	}
}

// errorInside is an error under status 200. In a stream it may come late.
func errorInside(x *exchange, r *reply) {
	code := x.k.code
	if code == 0 {
		code = 502
	}
	f := &refusal{status: code, kind: "server_error", code: strconv.Itoa(code), message: "The simulator failed inside its answer."}
	if !r.stream {
		x.status(200, x.wire.fail(f))
		return
	}
	x.openStream()
	if x.k.afterOr(0) > 0 && !x.upTo(r, 0) {
		return
	}
	if x.send(x.wire.inside(f, x.k.how, x.events)) && x.wire.last != nil {
		x.send(frame{data: x.wire.last, kind: done})
	}
}

func wrongType(x *exchange, r *reply) {
	h := x.w.Header()
	how := x.k.how
	if how == "" {
		how = "plain"
		if r.stream {
			how = "json"
		}
	}
	switch how {
	case "html":
		h.Set("Content-Type", "text/html; charset=utf-8")
		x.status(200, []byte(htmlPage))
	case "json": // an answer of the other kind than was asked for
		x.status(200, r.body())
	case "none":
		h["Content-Type"] = []string{}
		x.plain(r)
	default:
		h.Set("Content-Type", "text/plain; charset=utf-8")
		x.plain(r)
	}
}

// badUsage works through the reply, which writes its usage only now.
func badUsage(x *exchange, r *reply) {
	x.k.usage = x.k.how
	x.plain(r)
}

func foreignHeaders(x *exchange, r *reply) {
	for _, line := range foreign {
		name, value, _ := strings.Cut(line, ": ")
		x.w.Header().Add(name, value)
	}
	x.plain(r)
}

var foreign = []string{
	"Set-Cookie: __cf_bm=sim; path=/; HttpOnly; Secure",
	"Set-Cookie: session=sim",
	"Server: sim/1.0",
	"Via: 1.1 sim",
	"Location: http://upstream.internal/",
	"Alt-Svc: h3=\":443\"; ma=86400",
	"Access-Control-Allow-Origin: https://sim.invalid",
	"Access-Control-Expose-Headers: X-Sim",
	"Strict-Transport-Security: max-age=31536000",
	"Connection: X-Sim-Hop",
	"X-Sim-Hop: 1",
	"Keep-Alive: timeout=5",
	"Proxy-Authenticate: Basic realm=\"sim\"",
	"Upgrade: h2c",
	"X-Request-Id: sim-upstream-request",
	"X-Ratelimit-Remaining-Requests: 41",
	"X-Powered-By: sim",
	"Openai-Organization: sim-org",
	"Cf-Ray: sim",
}
