package httpapi

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi/h1server"
)

// gate keeps a node useful that is asked for more than its processors can do. It measures how much work is ready and waits for a processor. While
// that is too much, requests of models wait at their heads, before anything was made of them, and only so many are let in that those under
// way are not delayed: users in turn, and of each user the newest request first, because its client is the likeliest to be there still. Who
// has waited for the configured time is refused with an answer that was made before. A refusal costs a fifth of an answer.
//
// A burst only waits. A sustained overload is more than the node can ever serve, and keeping thousands of requests that will be refused anyway costs
// processor time, too: from the first refusal until no request waits, requests beyond a short line are refused at once.
type gate struct {
	api    *API
	most   time.Duration // a request waits
	routes map[string]*Route

	crowded  atomic.Bool  // requests wait
	entered  atomic.Int64 // requests let in
	asleep   atomic.Bool  // nothing happens: run waits for wake
	wake     chan struct{}
	delay    atomic.Int64 // nanoseconds, the last measured
	probed   atomic.Int64 // what the process had worked when the probe under way began, in nanoseconds; 0: none is
	turned   atomic.Int64 // requests refused
	inLine   atomic.Int64 // requests waiting
	quietFor int          // ticks since the delay was too long

	mu     sync.Mutex
	names  map[string]*line
	order  []*line   // those with waiting requests, the one whose turn is next first
	cost   float64   // processor time of a request, in nanoseconds: all that the process works, by request let in
	spent  int64     // what it had worked when the cost was last computed
	since  int64     // and how many requests it had let in
	last   time.Time // tick
	credit float64   // requests that may be let in
	// sustained says that the overload lasts: a request was refused after its wait, and since then there was always one waiting.
	sustained bool

	refusals [geminiEnvelope + 1][refusalSpread]*refusal // by envelope and seconds
}

// line has the waiting requests of a user, the oldest first.
type line struct {
	name    string
	waiting []*waiter
}

type waiter struct {
	since time.Time
	in    chan bool // true: let in; false: refused
}

const (
	gateTick   = time.Millisecond
	probeTicks = 4
	// targetDelay is how long ready work may wait for a processor. A request waits three or four times.
	targetDelay = 5 * time.Millisecond
	// calmTicks is how long the delay must be short, and no request wait, before requests pass again without waiting.
	calmTicks = 50
	// sleepTicks is how long a gate without requests goes on measuring.
	sleepTicks = 1000
	// leastRate is how many requests are let in by tick in any case: none should be refused where few come.
	leastRate = 0.1
	// costTicks is how often the cost of a request is computed anew, and firstCost what it is before.
	costTicks     = 100
	firstCost     = float64(150 * time.Microsecond)
	refusalSpread = 4 // seconds over which refused clients come back
	// shortWait is the part of the longest wait that lines may take in a sustained overload: above 0, so that work is ready when processors are.
	shortWait = 0.1
)

func newGate(a *API) *gate {
	g := &gate{api: a, most: a.cfg.MaxWait, routes: map[string]*Route{}, names: map[string]*line{}, cost: firstCost, wake: make(chan struct{}, 1)}
	for _, r := range a.routes {
		if r.Method == http.MethodPost && r.access == inference && !strings.Contains(r.Pattern, "{") {
			g.routes[r.Pattern] = r
			g.routes["/api"+r.Pattern] = r
		}
	}
	g.asleep.Store(true)
	a.Metrics.gauge("weir_requests_waiting", "Requests of models that wait for processor time, before anything was made of them.", nil,
		func() float64 { return float64(g.inLine.Load()) })
	for style := range g.refusals {
		for i := range g.refusals[style] {
			g.refusals[style][i] = a.madeRefusal(envelope(style), time.Duration(i+1)*time.Second)
		}
	}
	return g
}

// check is the h1server's Gate.
func (g *gate) check(c net.Conn, h *h1server.Head) h1server.Refusal {
	if string(h.Method) != http.MethodPost {
		return nil
	}
	target, _, _ := bytes.Cut(h.Target, []byte("?"))
	route := g.routes[string(target)]
	if route == nil {
		if !g.crowded.Load() || !ofGemini(string(target)) {
			return nil
		}
		route, _, _ = g.api.table.find(http.MethodPost, &url.URL{Path: string(target)})
		if route == nil || route.access != inference {
			return nil
		}
	}
	if g.asleep.Load() {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
	if !g.crowded.Load() {
		g.entered.Add(1)
		return nil
	}
	began := time.Now()
	if g.wait(g.nameOf(c, h), began) {
		return nil
	}
	g.turned.Add(1)
	route.metrics.observe(http.StatusServiceUnavailable, time.Since(began), "")
	return g.refusals[route.envelope][rand.IntN(refusalSpread)]
}

// nameOf is the user of a request, if its key was used lately, else its client's address.
func (g *gate) nameOf(c net.Conn, h *h1server.Head) string {
	for _, text := range [...][]byte{h.APIKey, h.GoogleKey, h.Authorization} {
		if len(text) > len("bearer ") && strings.EqualFold(string(text[:len("bearer ")]), "bearer ") {
			text = bytes.TrimSpace(text[len("bearer "):])
		}
		if k, ok := g.api.Verifier.(interface{ Known(string) *apikey.Caller }); ok && apikey.Ours(string(text)) {
			if caller := k.Known(string(text)); caller != nil {
				return caller.User
			}
		}
	}
	return counted(g.api.cfg.clientBehind(peerOf(c.RemoteAddr().String()), []string{string(h.Forwarded)})).String()
}

// wait waits for a turn of name, and reports whether it came.
func (g *gate) wait(name string, now time.Time) bool {
	g.mu.Lock()
	if !g.crowded.Load() { // by now
		g.mu.Unlock()
		return true
	}
	l := g.names[name]
	if l == nil {
		l = &line{name: name}
		g.names[name] = l
	}
	if g.sustained && float64(len(l.waiting)*len(g.order)) >= g.shortLine() {
		g.mu.Unlock()
		return false
	}
	w := &waiter{since: now, in: make(chan bool, 1)}
	if l.waiting = append(l.waiting, w); len(l.waiting) == 1 {
		g.order = append(g.order, l)
	}
	g.inLine.Add(1)
	g.mu.Unlock()
	return <-w.in
}

// shortLine is how many requests the processors serve in shortWait of the longest wait. Users have equal shares of it, and each has at least one place.
func (g *gate) shortLine() float64 {
	return max(1, shortWait*float64(g.most)*float64(runtime.GOMAXPROCS(0))/g.cost)
}

// run measures and lets requests in until ctx ends.
func (g *gate) run(ctx context.Context) {
	r, w, err := os.Pipe()
	if err != nil {
		g.api.Slog.Error("requests are never kept waiting: the node cannot measure how busy it is", "error", err)
		return
	}
	defer func() { _ = r.Close(); _ = w.Close() }()
	go g.answerProbes(r)
	ticker := time.NewTicker(gateTick)
	defer ticker.Stop()
	idle, seen, told := 0, int64(0), time.Time{}
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			g.open()
			return
		case <-ticker.C:
		}
		if (n%probeTicks == 0 || g.crowded.Load()) && g.probed.CompareAndSwap(0, processorTime()) {
			_, _ = w.Write([]byte{0})
		}
		entered := g.entered.Load()
		g.tick()
		if n%costTicks == 0 {
			g.learn()
		}
		if turned := g.turned.Load(); turned > 0 && time.Since(told) > time.Second {
			g.turned.Add(-turned)
			told = time.Now()
			g.api.Slog.Warn("requests were refused, because the node has more to do than its processors can", "refused", turned, "waiting", g.inLine.Load())
		}
		if idle++; entered != seen || g.crowded.Load() {
			idle = 0
		}
		seen = entered
		if idle < sleepTicks {
			continue
		}
		ticker.Stop()
		g.asleep.Store(true)
		select {
		case <-ctx.Done():
			return
		case <-g.wake:
		}
		g.asleep.Store(false)
		ticker.Reset(gateTick)
		idle = 0
	}
}

// answerProbes notes how much the process worked until each byte came from the one end of a pipe to the other: that is what was ready before it,
// because every connection's bytes wait like this one until they are noticed, and every goroutine until it runs. What other programs do
// meanwhile does not count: it would not end sooner if requests waited.
func (g *gate) answerProbes(r *os.File) {
	var b [1]byte
	for {
		if _, err := r.Read(b[:]); err != nil {
			return
		}
		g.delay.Store((processorTime() - g.probed.Load()) / int64(runtime.GOMAXPROCS(0)))
		g.probed.Store(0)
	}
}

// delayed is how long ready work waits for processors that are the node's alone.
func (g *gate) delayed() time.Duration {
	d := g.delay.Load()
	if sent := g.probed.Load(); sent > 0 {
		d = max(d, (processorTime()-sent)/int64(runtime.GOMAXPROCS(0))) // it waits still
	}
	return time.Duration(d)
}

// tick is one step of control. It lets in one and a half times what the processors can do in a tick when nothing is ready and waits, nothing
// when as much is ready as should be, and in between in proportion: so some work is always ready, and never much.
func (g *gate) tick() {
	d := g.delayed()
	if g.quietFor++; d > targetDelay {
		g.quietFor = 0
	}
	if !g.crowded.Load() {
		if d <= 2*targetDelay {
			return
		}
		g.credit, g.spent, g.since = 0, processorTime(), g.entered.Load()
		g.crowded.Store(true)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.expire(now)
	late := min(max(now.Sub(g.last), gateTick), targetDelay/2) // the node may not have run meanwhile
	g.last = now
	n := 1.5 * float64(late) * float64(runtime.GOMAXPROCS(0)) / g.cost * (1 - float64(d)/float64(targetDelay))
	for g.credit += max(n, leastRate*float64(late)/float64(gateTick)); g.credit >= 1 && len(g.order) > 0; g.credit-- {
		g.letIn()
	}
	g.credit = min(g.credit, 1)
	if len(g.order) > 0 {
		return
	}
	g.sustained = false
	if g.quietFor > calmTicks {
		g.crowded.Store(false)
	}
}

// learn computes the cost of a request while the gate is crowded.
func (g *gate) learn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	spent, entered := processorTime(), g.entered.Load()
	if n := entered - g.since; n > 0 && g.crowded.Load() {
		cost := min(max(float64(spent-g.spent)/float64(n), 2e4), 1e8)
		g.cost += (cost - g.cost) / 4
	}
	g.spent, g.since = spent, entered
}

// letIn admits the newest request of the name whose turn it is.
func (g *gate) letIn() {
	l := g.order[0]
	n := len(l.waiting) - 1
	w := l.waiting[n]
	l.waiting[n] = nil
	l.waiting = l.waiting[:n]
	copy(g.order, g.order[1:])
	if n > 0 {
		g.order[len(g.order)-1] = l
	} else {
		g.order = g.order[:len(g.order)-1]
		delete(g.names, l.name)
	}
	g.inLine.Add(-1)
	g.entered.Add(1)
	w.in <- true
}

// expire refuses what has waited for too long.
func (g *gate) expire(now time.Time) {
	kept := g.order[:0]
	for _, l := range g.order {
		n := 0
		for n < len(l.waiting) && now.Sub(l.waiting[n].since) > g.most {
			l.waiting[n].in <- false
			n++
			g.sustained = true
		}
		g.inLine.Add(int64(-n))
		if n == len(l.waiting) {
			delete(g.names, l.name)
			continue
		}
		if n > 0 {
			l.waiting = append(l.waiting[:0], l.waiting[n:]...)
		}
		kept = append(kept, l)
	}
	clear(g.order[len(kept):])
	g.order = kept
}

// open lets everything in.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowded.Store(false)
	for len(g.order) > 0 {
		g.letIn()
	}
}

// refusal is an answer that was made before.
type refusal struct {
	text  []byte
	names []int // where the request's name belongs
}

// Append is h1server.Refusal.Append: the answer, with a name of its own.
func (r *refusal) Append(out []byte) []byte {
	var raw [28]byte
	id := appendID(append(raw[:0], "req_"...), 24)
	at := len(out)
	out = append(out, r.text...)
	for _, name := range r.names {
		copy(out[at+name:], id)
	}
	return out
}

// noID is the place of a request's name in a refusal.
const noID = "req_------------------------"

// madeRefusal is the whole answer, head and body, to a request that is turned away.
func (a *API) madeRefusal(style envelope, after time.Duration) *refusal {
	e := fault.New(fault.Overloaded, "httpapi.gate", "The gateway has more requests than it can serve now. Try again later.")
	e.RetryAfter = after
	id := noID
	status, body := Status(e), ErrorBody(e, id)
	own := ""
	switch style {
	case messagesEnvelope:
		status, body = MessagesStatus(e), MessagesErrorBody(e, id)
		own = "Request-Id: " + id + "\r\n"
	case geminiEnvelope:
		body = GeminiErrorBody(e, id)
	case standardEnvelope:
	}
	if a.cfg.CORS {
		own += "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: " + corsExpose + "\r\n"
	}
	r := &refusal{text: []byte("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\nContent-Type: " + jsonType[0] + "\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: " + id + "\r\n" + own +
		"Retry-After: " + strconv.FormatInt(retryAfter(e), 10) + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + string(body))}
	for at := 0; ; {
		i := bytes.Index(r.text[at:], []byte(noID))
		if i < 0 {
			return r
		}
		r.names = append(r.names, at+i)
		at += i + len(noID)
	}
}
