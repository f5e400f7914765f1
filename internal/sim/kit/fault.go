package kit

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

// fault is one way in which a provider fails. It works on bytes and does not depend on the wire, so the same faults serve all wires.
type fault struct {
	does     string   // for the table of faults in docs/simulator.md
	Variants []string // the default first
	play     func(x *Exchange, r *Reply)
}

// Faults are the faults by name. The names are those of the failure matrix that the gateway is tested against.
var Faults = map[string]fault{
	"u2":  {"closes or resets the connection before any byte of the answer", []string{"close", "reset"}, silentEnd},
	"u3":  {"reads the request and sends nothing", nil, func(x *Exchange, _ *Reply) { x.stall() }},
	"u4":  {"sends the head and nothing more", nil, headOnly},
	"u5":  {"sends part of the body and stalls", nil, partThen((*Exchange).stall)},
	"u6":  {"sends part of the body and resets the connection", nil, partThen((*Exchange).reset)},
	"u7":  {"ends early: clean end without finish or [DONE], short Content-Length, or no last chunk", []string{"", "clean", "length", "chunk"}, earlyEnd},
	"u8":  {"ends a stream without [DONE]", nil, withoutDone},
	"u9":  {"429 with Retry-After", nil, rateLimited("7")},
	"u10": {"429 without Retry-After", nil, rateLimited("")},
	"u11": {"429 with an odd Retry-After", []string{"date", "past", "negative", "huge", "rubbish", "fraction"}, oddRetryAfter},
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
	"u22": {"far too large a body", []string{"bomb", "big"}, hugeBody},
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

// Check refuses a variant or a status that the fault does not have, and sets the default variant.
func (k *Knobs) Check() error {
	f := Faults[k.Fault]
	if k.Fault == "" {
		if k.how != "" {
			return fmt.Errorf("the simulator's setting 'how' needs a fault")
		}
		return nil
	}
	if k.how != "" && !slices.Contains(f.Variants, k.how) {
		return fmt.Errorf("the simulator's fault '%s' has no variant '%s'", k.Fault, k.how)
	}
	if k.how == "" && len(f.Variants) > 0 {
		k.how = f.Variants[0]
	}
	if s := statusesOf[k.Fault]; k.status != 0 && !slices.Contains(s, k.status) {
		return fmt.Errorf("the simulator's fault '%s' cannot have status %d", k.Fault, k.status)
	}
	return nil
}

// statusesOf lists the statuses that a request may select for a fault, the default first.
var statusesOf = map[string][]int{
	"u9": {429}, "u10": {429}, "u11": {429}, "u12": {400, 413, 422}, "u13": {401, 402, 403}, "u14": {404},
	"u15": {500, 501, 502, 504, 520, 521, 522, 523, 524, 525, 526, 529}, "u16": {503},
	"u17": {302, 301, 303, 307, 308},
}

func (k *Knobs) statusOr(fallback int) int {
	if k.status != 0 {
		return k.status
	}
	return fallback
}

func (k *Knobs) afterOr(fallback int) int {
	if k.After >= 0 {
		return k.After
	}
	return fallback
}

func (k *Knobs) bytesOr(fallback int64) int64 {
	if k.Bytes > 0 {
		return k.Bytes
	}
	return fallback
}

// hijack takes over the connection. It returns nil when that is impossible; then the client gets an error.
func (x *Exchange) hijack() net.Conn {
	h, ok := x.w.(http.Hijacker)
	if !ok {
		x.wire.Refuse(x.w, &Refusal{Status: 501, Kind: "server_error", Message: "This fault needs an HTTP/1.1 connection of its own."})
		return nil
	}
	conn, _, err := h.Hijack()
	if err != nil {
		x.gone = true
		return nil
	}
	return conn
}

// cut closes the connection without ending the answer.
func (x *Exchange) cut() {
	if conn := x.hijack(); conn != nil {
		conn.Close()
	}
}

// beforeReset gives sent data time to reach the client, because a reset discards what is in transit. On Linux it is repeated until the
// peer has acknowledged all.
const beforeReset = 5 * time.Millisecond

func (x *Exchange) reset() {
	x.Wait(beforeReset)
	conn := x.hijack()
	if conn == nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		for unsent(tcp) && x.Wait(beforeReset) {
		}
		tcp.SetLinger(0) //nolint:errcheck // then it is closed, not reset
	}
	conn.Close()
}

func silentEnd(x *Exchange, _ *Reply) {
	if x.Knobs.how == "reset" {
		x.reset()
		return
	}
	x.cut()
}

func headOnly(x *Exchange, r *Reply) {
	x.head(r, len(r.Body()))
	x.FlushNow()
	x.stall()
}

// head sends the head of a valid answer, with a Content-Length when it is not streamed.
func (x *Exchange) head(r *Reply, length int) {
	if r.Stream {
		x.OpenStream()
		return
	}
	x.setContentType(r)
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(length)}
	x.w.WriteHeader(cmp.Or(r.Status, 200))
}

const framesBefore = 2 // content frames before a fault inside an answer, unless the request sets "after"

// partThen sends the first half of a body, or some frames, and then calls then.
func partThen(then func(*Exchange)) func(*Exchange, *Reply) {
	return func(x *Exchange, r *Reply) {
		if r.Stream {
			x.OpenStream()
			if x.sendUntil(r, framesBefore) {
				x.FlushNow()
				then(x)
			}
			return
		}
		body := r.Body()
		x.head(r, len(body))
		if x.Put(body[:len(body)/2]) {
			then(x)
		}
	}
}

// sendUntil sends frames up to the given number of content frames, or up to the ending. It returns false when the client has left.
func (x *Exchange) sendUntil(r *Reply, fallback int) bool {
	return x.sendInserting(r, fallback, func() bool { return false }) != broken
}

type outcome uint8

const (
	complete outcome = iota
	stopped          // after the insertion
	broken           // the client has left
)

// sendInserting sends the frames and calls what after the given number of content frames; it continues when that returns true.
func (x *Exchange) sendInserting(r *Reply, fallback int, what func() bool) outcome {
	at, sent, inserted := x.Knobs.afterOr(fallback), 0, false
	for f := range r.Frames {
		if !inserted && f.Kind != Opening && (sent >= at || f.Kind >= Ending) {
			inserted = true
			if !what() {
				return stopped
			}
		}
		if f.Kind == Content {
			sent++
		}
		if !x.emit(f) {
			return broken
		}
	}
	return complete
}

func earlyEnd(x *Exchange, r *Reply) {
	how := x.Knobs.how
	if how == "" && r.Stream {
		how = "clean"
	}
	switch {
	case how == "chunk":
		withoutLastChunk(x, r)
	case r.Stream && how == "clean":
		x.OpenStream()
		x.sendUntil(r, framesBefore)
	case r.Stream:
		// the announced length is larger than the body, so net/http closes the connection after it
		x.w.Header()["Content-Length"] = []string{strconv.Itoa(1 << 20)}
		x.OpenStream()
		x.sendUntil(r, framesBefore)
	case how == "clean":
		body := r.Body()
		x.setContentType(r)
		x.Put(body[:len(body)/2])
	default:
		body := r.Body()
		x.head(r, len(body))
		x.Put(body[:len(body)/2])
	}
}

// withoutLastChunk ends a chunked body without its last chunk.
func withoutLastChunk(x *Exchange, r *Reply) {
	if !r.Stream {
		body := r.Body()
		x.setContentType(r)
		if x.Put(body[:len(body)/2]) {
			x.cut()
		}
		return
	}
	x.OpenStream()
	if x.sendUntil(r, framesBefore) {
		x.FlushNow()
		x.cut()
	}
}

func withoutDone(x *Exchange, r *Reply) {
	if !r.Stream {
		x.plain(r)
		return
	}
	x.OpenStream()
	for f := range r.Frames {
		if f.Kind == Done || !x.emit(f) {
			return
		}
	}
}

func (x *Exchange) fail(r Refusal) {
	if x.wire.ErrorHeader != nil {
		x.wire.ErrorHeader(x.w.Header(), &r)
	}
	x.status(r.Status, x.wire.ErrorBody(&r))
}

func rateLimited(retryAfter string) func(*Exchange, *Reply) {
	return func(x *Exchange, _ *Reply) {
		after := retryAfter
		if x.Knobs.hasRetry {
			after = x.Knobs.retry
		}
		if after != "" {
			x.w.Header().Set("Retry-After", after)
		}
		x.fail(Refusal{429, "requests", "rate_limit_exceeded", "", "Rate limit reached for requests. Please try again later."})
	}
}

func oddRetryAfter(x *Exchange, r *Reply) {
	after := map[string]string{
		"date": x.s.Config.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat),
		"past": "Wed, 21 Oct 2015 07:28:00 GMT", "negative": "-5", "huge": "99999999999999999999", "rubbish": "soon", "fraction": "1.5",
	}[x.Knobs.how]
	rateLimited(after)(x, r)
}

// leaked is a secret in a provider's error text, which must never reach a client.
const leaked = "sk-sim-canary-0123456789abcdef0123456789abcdef"

func badRequest(x *Exchange, _ *Reply) {
	f := Refusal{x.Knobs.statusOr(400), "invalid_request_error", "", "messages", "The simulator was told to find this request bad."}
	switch x.Knobs.how {
	case "model":
		f.Code, f.Param, f.Message = "model_not_found", "model", "The requested model does not exist."
	case "context":
		f.Code, f.Message = "context_length_exceeded", x.wire.TooLong
	case "secret":
		f.Message = "Bad request with key " + leaked + " at http://upstream.internal:8443/v1/chat/completions."
	}
	x.fail(f)
}

func badAccount(x *Exchange, _ *Reply) {
	switch x.Knobs.statusOr(401) {
	case 402:
		x.fail(Refusal{402, "insufficient_quota", "insufficient_quota", "", "You exceeded your current quota, please check your plan and billing details."})
	case 403:
		x.fail(Refusal{403, "invalid_request_error", "unsupported_country_region_territory", "", "Country, region, or territory not supported."})
	default:
		x.fail(Refusal{401, "invalid_request_error", "invalid_api_key", "", "Incorrect API key provided: " + leaked + "."})
	}
}

const htmlPage = "<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Error</h1><p>sim</p></body></html>\n"

// failAs sends an error as JSON in the provider's form, as an HTML page such as proxies send, or without a body.
func (x *Exchange) failAs(f Refusal) {
	switch x.Knobs.how {
	case "html":
		x.w.Header().Set("Content-Type", "text/html")
		x.status(f.Status, []byte(htmlPage))
	case "empty":
		x.status(f.Status, nil)
	default:
		x.fail(f)
	}
}

func notFound(x *Exchange, _ *Reply) {
	x.failAs(Refusal{404, "invalid_request_error", "model_not_found", "model", "The model does not exist or you do not have access to it."})
}

func serverError(x *Exchange, _ *Reply) {
	x.failAs(Refusal{x.Knobs.statusOr(500), "server_error", "", "", "The server had an error while processing your request."})
}

func unavailable(x *Exchange, _ *Reply) {
	if x.Knobs.retry != "" {
		x.w.Header().Set("Retry-After", x.Knobs.retry)
	}
	x.failAs(Refusal{503, "server_error", "overloaded", "", "The engine is currently overloaded, please try again later."})
}

func redirect(x *Exchange, _ *Reply) {
	to := x.Knobs.to
	if to == "" {
		to = "http://" + x.r.Host + "/sim/redirected"
	}
	x.w.Header().Set("Location", to)
	x.status(x.Knobs.statusOr(302), nil)
}

func noAnswer(x *Exchange, r *Reply) {
	var body []byte
	page := false
	switch x.Knobs.how {
	case "truncated":
		body = r.Body()
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
		body = x.wire.Incomplete
	}
	if !r.Stream {
		if x.Knobs.how == "truncated" {
			x.setContentType(r)
		}
		x.status(200, body)
		return
	}
	x.OpenStream()
	switch {
	case len(body) == 0:
	case page:
		x.Put(body)
	default:
		x.send(Frame{Event: x.wire.IdleFrame.Event, Data: body})
	}
}

// errorInside sends an error with status 200. In a stream it can follow content.
func errorInside(x *Exchange, r *Reply) {
	code := x.Knobs.code
	if code == 0 {
		code = 502
	}
	f := &Refusal{Status: code, Kind: "server_error", Code: strconv.Itoa(code), Message: "The simulator failed inside its answer."}
	if !r.Stream {
		x.status(200, x.wire.ErrorBody(f))
		return
	}
	x.OpenStream()
	if x.Knobs.afterOr(0) > 0 && !x.sendUntil(r, 0) {
		return
	}
	if x.send(x.wire.ErrorFrame(f, x.Knobs.how, x.events)) && x.wire.LastData != nil {
		x.send(Frame{Data: x.wire.LastData, Kind: Done})
	}
}

func wrongType(x *Exchange, r *Reply) {
	h := x.w.Header()
	how := x.Knobs.how
	if how == "" {
		how = "plain"
		if r.Stream {
			how = "json"
		}
	}
	switch how {
	case "html":
		h.Set("Content-Type", "text/html; charset=utf-8")
		x.status(200, []byte(htmlPage))
	case "json": // a whole answer instead of a stream, or the reverse
		x.status(200, r.Body())
	case "none":
		h["Content-Type"] = []string{}
		x.plain(r)
	default:
		h.Set("Content-Type", "text/plain; charset=utf-8")
		x.plain(r)
	}
}

// badUsage sets the usage style, which the reply reads when it is written.
func badUsage(x *Exchange, r *Reply) {
	x.Knobs.Usage = x.Knobs.how
	x.plain(r)
}

func foreignHeaders(x *Exchange, r *Reply) {
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
