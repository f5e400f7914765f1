package kit

import (
	"cmp"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// Reply is an answer in the bytes of its wire: all that transport and faults need.
type Reply struct {
	Wire      *Wire
	Stream    bool
	Body      func() []byte   // the whole answer, also for a request that asks for a stream
	EmptyBody func() []byte   // a whole answer without content
	Kind      []string        // content type of a whole answer; nil: JSON
	Status    int             // of a whole answer; 0: 200
	Frames    iter.Seq[Frame] // the stream
}

// Frame is one event of a stream. Its bytes are valid until the next frame.
type Frame struct {
	Event string // "": the wire has no event names
	Data  []byte
	Kind  FrameKind

	Comment string // instead of an event: a comment of the event stream
}

// FrameKind is what a frame of a stream is for. Faults count and choose frames by it.
type FrameKind uint8

// The kinds of frames.
const (
	Opening   FrameKind = iota // before any content
	Structure                  // begins or ends a piece of content
	Content
	Ending // finish reason, usage
	Done   // the data that ends the stream, such as [DONE]
)

// Content types of answers.
var (
	JSONType   = []string{"application/json"}
	StreamType = []string{"text/event-stream; charset=utf-8"}
	noCache    = []string{"no-cache"}
)

// Exchange is one request that is being answered.
type Exchange struct {
	s       *Host
	wire    *Wire
	w       http.ResponseWriter
	r       *http.Request
	flush   http.Flusher // nil: the writer cannot flush
	Knobs   *Knobs
	c       *counters
	started time.Time
	stream  bool
	gone    bool // the client left before the end of the answer
	aborted bool // the server ended the answer
	timer   *time.Timer
	Buf     []byte
	dressed *Shape
	sent    int // content frames
	events  int // frames of all kinds
}

// Exchange begins the answer to a request that was read. End must follow.
func (s *Host) Exchange(on *Wire, w http.ResponseWriter, r *http.Request, model string, stream bool, k *Knobs, started time.Time) *Exchange {
	x := &Exchange{s: s, wire: on, w: w, r: r, Knobs: k, c: s.Stats.Of(model), started: started, stream: stream}
	x.flush, _ = w.(http.Flusher)
	if k.Delay == 0 {
		k.Delay = s.Config.Delay
	}
	if k.First == 0 {
		k.First = s.Config.First
	}
	if !k.hasGap {
		k.Gap = s.Config.Gap
	}
	x.c.Begin(stream)
	return x
}

// End frees the exchange and counts its outcome.
func (x *Exchange) End() {
	if x.timer != nil {
		x.timer.Stop()
	}
	x.c.End(x.stream)
	if x.gone {
		x.c.cancel(time.Since(x.started))
	} else if x.aborted {
		x.cut() // if the handler returned, the answer would end as if it were complete
	}
}

// Wait waits for d. It returns false when the client left or the server closed meanwhile.
func (x *Exchange) Wait(d time.Duration) bool {
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

// left reports whether the client has left or the server is closing, and records which.
func (x *Exchange) left() bool {
	if x.s.abort.Err() != nil {
		x.aborted = true
	} else if x.r.Context().Err() != nil {
		x.gone = true
	}
	return x.gone || x.aborted
}

// stall waits until the client leaves or the server closes.
func (x *Exchange) stall() {
	select {
	case <-x.r.Context().Done():
		x.gone = true
	case <-x.s.Stalls.Done():
		x.cut()
	}
}

// Play sends the answer: with the fault that the request asks for, if this call is to have it, else as it is. It reports whether an answer was begun that
// would be billed.
func (x *Exchange) Play(r *Reply) bool {
	if !x.Wait(x.Knobs.Delay) {
		return false
	}
	if x.dressed = x.shape(r); x.dressed != nil {
		r = x.dressed.dress(r)
	}
	if f := Faults[x.Knobs.Fault]; f.play != nil && x.s.turns.due(x.Knobs) {
		x.c.faults.Add(1)
		f.play(x, r)
		return false
	}
	x.plain(r)
	return true
}

func (x *Exchange) plain(r *Reply) {
	if !r.Stream {
		x.SendWhole(r)
		return
	}
	x.OpenStream()
	for f := range r.Frames {
		if !x.emit(f) {
			return
		}
	}
}

// SendWhole sends an answer as one body, in its time.
func (x *Exchange) SendWhole(r *Reply) {
	if x.Wait(x.Knobs.First) {
		x.setContentType(r)
		x.status(cmp.Or(r.Status, 200), r.Body())
	}
}

// setContentType sets the content type of a whole answer, unless a fault has set another.
func (x *Exchange) setContentType(r *Reply) {
	switch h := x.w.Header(); {
	case h["Content-Type"] != nil:
	case r.Kind != nil:
		h["Content-Type"] = r.Kind
	default:
		h["Content-Type"] = JSONType
	}
}

// status sends a JSON body with its Content-Length.
func (x *Exchange) status(status int, body []byte) {
	if status == http.StatusNoContent {
		x.w.Header()["Content-Type"] = nil
		x.w.WriteHeader(status)
		return
	}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	if x.w.Header()["Content-Type"] == nil {
		x.w.Header()["Content-Type"] = JSONType
	}
	x.w.WriteHeader(status)
	x.write(body)
}

// OpenStream sends the head of a streamed answer.
func (x *Exchange) OpenStream() {
	h := x.w.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = x.wire.Stream
	}
	h["Cache-Control"] = noCache
	for name, values := range x.wire.StreamHeader {
		h[name] = values
	}
	x.w.WriteHeader(200)
}

// emit waits for the frame's time and sends it with one write. It returns false when nothing more can be sent.
func (x *Exchange) emit(f Frame) bool {
	if !x.pace(f.Kind) {
		return false
	}
	x.events++
	return x.send(f)
}

// pace waits as long as the settings require before a frame of this kind.
func (x *Exchange) pace(kind FrameKind) bool {
	if kind != Content {
		return !x.left()
	}
	x.sent++
	if x.sent > 1 {
		return x.Wait(x.Knobs.Gap)
	}
	if x.Knobs.First > 0 {
		x.FlushNow() // what precedes the first content is sent without its delay
	}
	return x.Wait(x.Knobs.First)
}

func (x *Exchange) send(f Frame) bool {
	x.Buf = x.wire.append(x.Buf[:0], f)
	if x.dressed != nil && x.dressed.split > 0 {
		return x.dressed.pieces(x, x.Buf)
	}
	return x.Put(x.Buf)
}

// Put writes and flushes. It returns false when the client cannot be reached.
func (x *Exchange) Put(b []byte) bool {
	if !x.write(b) {
		return false
	}
	x.FlushNow()
	return true
}

// FlushNow sends what was written.
func (x *Exchange) FlushNow() {
	if x.flush != nil {
		x.flush.Flush()
	}
}

func (x *Exchange) write(b []byte) bool {
	if _, err := x.w.Write(b); err != nil {
		if !x.left() {
			x.gone = true
		}
		return false
	}
	return true
}
