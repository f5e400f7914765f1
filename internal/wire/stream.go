package wire

import (
	"io"
	"sync"

	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire/sse"
)

// Stream is the common part of streams of server-sent events: one Write for each frame, none after the end, and none after one that
// failed. Styles embed it. Its methods may be called concurrently; Send and Finish only within Do.
type Stream struct {
	w      io.Writer
	before string // text before the error object in a frame that ends the stream

	mu     sync.Mutex
	closed bool
	err    error
	served relay.Served
}

// NewStream writes to w, which flushes after each Write.
func NewStream(w io.Writer) Stream { return Stream{w: w, before: `data: {"error":`} }

// NewNamedStream is NewStream for a style whose frames have event names, errors too.
func NewNamedStream(w io.Writer) Stream {
	return Stream{w: w, before: "event: error\ndata: {\"type\":\"error\",\"error\":"}
}

// Start stores who serves the request; nothing is written before the first event.
func (s *Stream) Start(served relay.Served) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = served
	return s.err
}

// Do calls write, unless the stream has ended, and returns the error of the Write that failed.
func (s *Stream) Do(write func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		write()
	}
	return s.err
}

// Served is what Start received.
func (s *Stream) Served() *relay.Served { return &s.served }

// Send writes one frame.
func (s *Stream) Send(frame []byte) {
	if s.closed {
		return
	}
	_, s.err = s.w.Write(frame)
	s.closed = s.err != nil
}

// Finish writes the end mark.
func (s *Stream) Finish() {
	s.Send([]byte(sse.Done))
	s.closed = true
}

// KeepAlive writes a comment, which clients ignore.
func (s *Stream) KeepAlive() error { return s.Do(func() { s.Send([]byte(sse.KeepAlive)) }) }

// Fail ends the stream with an error. failure is the JSON value of the member error.
func (s *Stream) Fail(failure []byte) error {
	return s.Do(func() {
		s.Send(append(rawjson.AppendOneLine([]byte(s.before), failure), "}\n\n"...))
		s.Finish()
	})
}

// Close ends the stream: later writes fail.
func (s *Stream) Close() { _ = s.Do(func() { s.closed = true }) }
