package wire

import (
	"io"
	"sync"

	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire/sse"
)

// Stream is the common part of streams of server-sent events: one Write for each frame, none after the end, and none after one that
// failed. Styles embed it. Its methods may be called concurrently; Send, Finish and Over only within Do.
type Stream struct {
	to     Output
	before string // text before the error object in a frame that ends the stream

	mu     sync.Mutex
	closed bool
	err    error
	served relay.Served
}

// Output is where the frames of a stream go. A writer with a method Flush() error may keep them until Flush.
type Output struct {
	w     io.Writer
	keeps interface{ Flush() error } // w, if it keeps what it got; nil otherwise
	kept  bool                       // something was written since the last Flush
}

// NewOutput writes to w.
func NewOutput(w io.Writer) Output {
	keeps, _ := w.(interface{ Flush() error })
	return Output{w: w, keeps: keeps}
}

// Write writes one frame.
func (o *Output) Write(frame []byte) (int, error) {
	o.kept = true
	return o.w.Write(frame)
}

// Flush shows the client what was written.
func (o *Output) Flush() error {
	if o.keeps == nil || !o.kept {
		return nil
	}
	o.kept = false
	return o.keeps.Flush()
}

// NewStream writes to w.
func NewStream(w io.Writer) Stream { return Stream{to: NewOutput(w), before: `data: {"error":`} }

// NewNamedStream is NewStream for a style whose frames have event names, errors too.
func NewNamedStream(w io.Writer) Stream {
	return Stream{to: NewOutput(w), before: "event: error\ndata: {\"type\":\"error\",\"error\":"}
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
	_, s.err = s.to.Write(frame)
	s.closed = s.err != nil
}

// Flush shows the client all frames so far. The end of a stream is shown when its request ends.
func (s *Stream) Flush() error { return s.Do(s.flush) }

func (s *Stream) flush() {
	if !s.closed {
		s.err = s.to.Flush()
		s.closed = s.err != nil
	}
}

// Finish writes the end mark.
func (s *Stream) Finish() {
	s.Send([]byte(sse.Done))
	s.Over()
}

// Over ends the stream without a mark.
func (s *Stream) Over() { s.closed = true }

// KeepAlive writes a comment, which clients ignore.
func (s *Stream) KeepAlive() error { return s.Pad([]byte(sse.KeepAlive)) }

// Pad writes text that clients of a style ignore, and shows it.
func (s *Stream) Pad(text []byte) error {
	return s.Do(func() {
		s.Send(text)
		s.flush()
	})
}

// Fail ends the stream with an error. failure is the JSON value of the member error.
func (s *Stream) Fail(failure []byte) error {
	return s.Do(func() {
		s.Send(append(rawjson.AppendOneLine([]byte(s.before), failure), "}\n\n"...))
		s.Finish()
	})
}

// Close ends the stream: later writes fail.
func (s *Stream) Close() { _ = s.Do(func() { s.closed = true }) }
