package sim

import (
	"cmp"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// reply is an answer in the bytes of its wire: all that transport and faults need to know of it.
type reply struct {
	wire   *wire
	stream bool
	body   func() []byte   // the whole answer, also when a stream was asked for
	hollow func() []byte   // a whole answer with nothing in it
	kind   []string        // content type of a whole answer; nil: JSON
	status int             // of a whole answer; 0: 200
	frames iter.Seq[frame] // the stream
}

// frame is one event of a stream. Its bytes are good until the next frame.
type frame struct {
	event string // its name; "" where a wire has none
	data  []byte
	kind  frameKind
}

type frameKind uint8

const (
	opening   frameKind = iota // before any content
	structure                  // begins or ends a piece of content
	content
	ending // finish reason, usage
	done   // the wire's last word
)

var (
	jsonType   = []string{"application/json"}
	streamType = []string{"text/event-stream; charset=utf-8"}
	noCache    = []string{"no-cache"}
)

// exchange is one request on its way to an answer.
type exchange struct {
	s       *Host
	wire    *wire
	w       http.ResponseWriter
	r       *http.Request
	flush   http.Flusher // nil: the writer has none
	k       *knobs
	c       *counters
	started time.Time
	stream  bool
	gone    bool // the client went away before the answer's end
	aborted bool // the server ended the answer
	timer   *time.Timer
	buf     []byte
	sent    int // content frames
	events  int // frames of all kinds
}

func (s *Host) exchange(on *wire, w http.ResponseWriter, r *http.Request, model string, stream bool, k *knobs, started time.Time) *exchange {
	x := &exchange{s: s, wire: on, w: w, r: r, k: k, c: s.stats.of(model), started: started, stream: stream}
	x.flush, _ = w.(http.Flusher)
	if k.delay == 0 {
		k.delay = s.config.Delay
	}
	if k.first == 0 {
		k.first = s.config.First
	}
	if !k.hasGap {
		k.gap = s.config.Gap
	}
	x.c.begin(stream)
	return x
}

func (x *exchange) end() {
	if x.timer != nil {
		x.timer.Stop()
	}
	x.c.end(x.stream)
	if x.gone {
		x.c.cancel(time.Since(x.started))
	} else if x.aborted {
		x.cut() // a handler that returned would end the answer as if it were whole
	}
}

// wait passes d; false when the client left or the server closed meanwhile.
func (x *exchange) wait(d time.Duration) bool {
	ctx := x.r.Context()
	if d <= 0 {
		return !x.left()
	}
	if x.timer == nil {
		x.timer = time.NewTimer(d)
	} else {
		x.timer.Reset(d)
	}
	select {
	case <-x.timer.C:
		return true
	case <-ctx.Done():
	case <-x.s.abort.Done():
	}
	return !x.left()
}

// left reports whether there is nobody to answer any more, and remembers a client that went by itself.
func (x *exchange) left() bool {
	if x.s.abort.Err() != nil {
		x.aborted = true
	} else if x.r.Context().Err() != nil {
		x.gone = true
	}
	return x.gone || x.aborted
}

// stall waits until the client leaves or the server closes.
func (x *exchange) stall() {
	select {
	case <-x.r.Context().Done():
		x.gone = true
	case <-x.s.stalls.Done():
		x.cut()
	}
}

// play answers: with a fault when one is asked for and its turn has come, else as it should be.
func (x *exchange) play(r *reply) {
	if !x.wait(x.k.delay) {
		return
	}
	if f := faults[x.k.fault]; f.play != nil && x.s.turns.due(x.k) {
		x.c.faults.Add(1)
		f.play(x, r)
		return
	}
	x.plain(r)
}

func (x *exchange) plain(r *reply) {
	if !r.stream {
		x.whole(r)
		return
	}
	x.openStream()
	for f := range r.frames {
		if !x.emit(f) {
			return
		}
	}
}

func (x *exchange) whole(r *reply) {
	if x.wait(x.k.first) {
		x.typed(r)
		x.status(cmp.Or(r.status, 200), r.body())
	}
}

// typed sets the content type of a whole answer, unless a fault has set another.
func (x *exchange) typed(r *reply) {
	switch h := x.w.Header(); {
	case h["Content-Type"] != nil:
	case r.kind != nil:
		h["Content-Type"] = r.kind
	default:
		h["Content-Type"] = jsonType
	}
}

// status sends a JSON body. Its length is told.
func (x *exchange) status(status int, body []byte) {
	if status == http.StatusNoContent {
		x.w.Header()["Content-Type"] = nil
		x.w.WriteHeader(status)
		return
	}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	if x.w.Header()["Content-Type"] == nil {
		x.w.Header()["Content-Type"] = jsonType
	}
	x.w.WriteHeader(status)
	x.write(body)
}

func (x *exchange) openStream() {
	h := x.w.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = x.wire.stream
	}
	h["Cache-Control"] = noCache
	for name, values := range x.wire.head {
		h[name] = values
	}
	x.w.WriteHeader(200)
}

// emit sends a frame in its time, with one write; false when there is nobody to send to.
func (x *exchange) emit(f frame) bool {
	if !x.pace(f.kind) {
		return false
	}
	x.events++
	return x.send(f)
}

// pace waits as long as a frame of that kind should let wait.
func (x *exchange) pace(kind frameKind) bool {
	if kind != content {
		return !x.left()
	}
	x.sent++
	if x.sent > 1 {
		return x.wait(x.k.gap)
	}
	if x.k.first > 0 {
		x.flushNow() // what came before the first content is not held back by it
	}
	return x.wait(x.k.first)
}

func (x *exchange) send(f frame) bool {
	x.buf = x.wire.frame(x.buf[:0], f)
	return x.put(x.buf)
}

// put writes and flushes.
func (x *exchange) put(b []byte) bool {
	if !x.write(b) {
		return false
	}
	x.flushNow()
	return true
}

func (x *exchange) flushNow() {
	if x.flush != nil {
		x.flush.Flush()
	}
}

func (x *exchange) write(b []byte) bool {
	if _, err := x.w.Write(b); err != nil {
		if !x.left() {
			x.gone = true
		}
		return false
	}
	return true
}
