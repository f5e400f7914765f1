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
	// KeepAlive writes what tells the client that the answer is still coming.
	KeepAlive() error
	// Fail ends the stream with an error; envelope is the value of the error member.
	Fail(envelope []byte) error
	Close()
}

// stream is the answer of one streamed call: the head is written with the first frame, each frame is flushed on its own, and
// silence is broken by keep-alives.
type stream struct {
	x     *exchange
	to    frames
	timer *time.Timer
	last  atomic.Int64 // time of the last frame, from the exchange's beginning

	mu     sync.Mutex // keeps the timer's function apart from the end
	quiet  time.Duration
	closed bool
}

// openStream begins a stream whose frames go to what to makes. Silence must be ended before the handler chooses its answer.
func (x *exchange) openStream(to func(w *frameWriter) frames) *stream {
	s := &stream{x: x, quiet: x.api.cfg.KeepAliveAfter}
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
func (s *stream) committed() bool { return s.x.status != 0 }

// fail ends the stream with an error.
func (s *stream) fail(e *fault.Error) {
	if e.Kind != fault.Canceled { // nobody is left to read it
		_ = s.to.Fail(s.x.api.Redact(ErrorObject(e, s.x.id)))
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
			return // the client is gone: the request's context tells the relay
		}
		s.quiet, silent = s.x.api.cfg.KeepAliveEvery, 0
	}
	s.timer.Reset(s.quiet - silent)
}

// frameWriter writes one frame at a time to the client. The style's lock is held around each Write.
type frameWriter struct{ s *stream }

// Write sends one frame, before the first one the head.
func (w *frameWriter) Write(frame []byte) (int, error) {
	x := w.s.x
	x.beforeWrite()
	if x.status == 0 {
		h := x.w.Header()
		h["Content-Type"] = streamType
		h["Cache-Control"] = noCache
		h["X-Accel-Buffering"] = noBuffer
		if x.r.ProtoMajor == 1 && h["Connection"] == nil {
			h["Connection"] = keepAlive
		}
		x.writeHead(http.StatusOK)
	}
	n, err := x.w.Write(frame)
	x.sent += int64(n)
	if err != nil {
		return n, err
	}
	if f, ok := x.w.(interface{ FlushError() error }); ok {
		err = f.FlushError()
	} else if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
	w.s.last.Store(int64(x.api.Now().Sub(x.at)))
	return n, err
}
