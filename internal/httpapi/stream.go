package httpapi

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/fault"
	"weir/internal/relay"
)

// frames is a style's side of an event stream: a sink that writes frames, each with one Write. It is safe for concurrent use.
type frames interface {
	relay.Sink
	relay.Flusher
	// KeepAlive writes something that shows the client that the answer is still coming.
	KeepAlive() error
	// Fail ends the stream with an error, which the style's rendering has written.
	Fail(failure []byte) error
	Close()
}

// stream is the answer of one streamed call: the head is written with the first frame, frames that arrive together are flushed together, and
// silence is broken by keep-alives.
type stream struct {
	x     *request
	to    frames
	tell  rendering
	timer *time.Timer
	kind  []string     // content type
	last  atomic.Int64 // time of the last frame, from the request's beginning

	mu     sync.Mutex // keeps the timer's function apart from the end
	quiet  time.Duration
	closed bool
}

// rendering writes a fault as a style shows it inside a stream: ErrorObject, ResponsesFailure, MessagesErrorBody, GeminiErrorBody.
type rendering func(e *fault.Error, requestID string) []byte

// openStream begins a stream. Its frames go to the sink that to makes; tell writes its faults. Silence must be ended before the handler
// chooses its answer.
func (x *request) openStream(tell rendering, to func(w *frameWriter) frames) *stream {
	s := &stream{x: x, tell: tell, kind: streamType, quiet: x.api.cfg.KeepAliveAfter}
	s.to = to(&frameWriter{s})
	x.stream = s
	s.mu.Lock() // the timer's function must find the timer
	s.timer = time.AfterFunc(s.quiet, s.tick)
	s.mu.Unlock()
	return s
}

// silence ends the keep-alives: what has not begun to answer may still become a plain error.
func (s *stream) silence() {
	s.timer.Stop()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// committed reports whether the client has seen the head. It is for the time after silence.
func (s *stream) committed() bool { return s.x.w.Status() != 0 }

// fail ends the stream with an error.
func (s *stream) fail(e *fault.Error) {
	if e.Kind != fault.Canceled { // the client is gone
		_ = s.to.Fail(s.x.api.Redact(s.tell(e, s.x.id)))
	}
}

// tick breaks the silence if there was one, and looks again when the next may be due. Frames do not touch the timer.
func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.x.r.Context().Err() != nil {
		return
	}
	silent := s.x.api.Now().Sub(s.x.at) - time.Duration(s.last.Load())
	if silent >= s.quiet {
		if s.to.KeepAlive() != nil {
			return // the client is gone: the request's context informs the relay
		}
		s.quiet, silent = s.x.api.cfg.KeepAliveEvery, 0
	}
	s.timer.Reset(s.quiet - silent)
}

// sink is what the relay answers into.
func (s *stream) sink() relay.Sink {
	if s.x.named != nil {
		return namedSink{s}
	}
	return s.to
}

func (x *request) writeStreamHead(kind []string) {
	h := x.w.Header()
	h["Content-Type"] = kind
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffer
	if x.r.ProtoMajor == 1 && h["Connection"] == nil {
		h["Connection"] = keepAlive
	}
	x.w.WriteHeader(http.StatusOK)
}

// frameWriter writes frames to the client. The server keeps some kilobytes of them until Flush. The style's lock is held around each call.
type frameWriter struct{ s *stream }

// Write sends one frame, before the first one the head.
func (w *frameWriter) Write(frame []byte) (int, error) {
	if n := w.s.x.named; n != nil && n.frame(frame) {
		return len(frame), nil
	}
	return w.send(frame)
}

func (w *frameWriter) send(frame []byte) (int, error) {
	x := w.s.x
	if x.w.Status() == 0 {
		x.writeStreamHead(w.s.kind)
	}
	return x.w.Write(frame)
}

// Flush sends what was written.
func (w *frameWriter) Flush() (err error) {
	x := w.s.x
	if x.w.Status() == 0 {
		return nil // a named answer holds its frames back
	}
	err = x.w.Flush()
	w.s.last.Store(int64(x.api.Now().Sub(x.at)))
	return err
}
