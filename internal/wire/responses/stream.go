package responses

import (
	"io"
	"slices"
	"strconv"
	"sync"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
	"weir/internal/wire/sse"
)

// Stream writes an answer as server-sent events, one Write for each frame. It is a relay.Sink; KeepAlive may be called concurrently.
type Stream struct {
	to wire.Output
	o  Options

	mu     sync.Mutex
	begun  bool // response.created was written
	closed bool
	err    error
	c      composer
	seq    int64
	buf    []byte
	native []byte // the response object of an upstream of this wire, when it has ended
	passed ending // its items that have ended
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes to w.
func NewStream(w io.Writer, o Options) *Stream {
	s := &Stream{to: wire.NewOutput(w), o: o}
	s.c = newComposer(&s.o, relay.Served{})
	s.c.tell = s.event
	return s
}

// Close ends the use of the stream.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Start stores who serves the request; nothing is written before the first event.
func (s *Stream) Start(served relay.Served) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.served = served
	return s.err
}

// Event writes an event.
func (s *Stream) Event(ev *completion.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case len(ev.Frames) > 0:
		for i := range ev.Frames {
			s.pass(&ev.Frames[i])
		}
	case ev.Choice <= 0:
		s.start()
		s.c.event(ev)
	}
	return s.err
}

// start writes the two events that every stream of this wire begins with.
func (s *Stream) start() {
	if s.begun {
		return
	}
	s.begun = true
	object := s.c.appendResponse(nil, &ending{status: "in_progress"}, nil)
	for _, name := range [...]string{"response.created", "response.in_progress"} {
		s.event(name, append([]byte(`,"response":`), object...))
	}
}

// event writes one frame; members begin with a comma.
func (s *Stream) event(name string, members []byte) {
	b := append(append(append(s.buf[:0], "event: "...), name...), "\ndata: {\"type\":\""...)
	b = append(append(b, name...), `","sequence_number":`...)
	b = strconv.AppendInt(b, s.seq, 10)
	b = append(append(b, members...), "}\n\n"...)
	s.seq++
	s.buf = b
	s.send(b)
}

func (s *Stream) send(b []byte) {
	if s.err != nil || s.closed {
		return
	}
	if _, s.err = s.to.Write(b); s.err != nil {
		s.closed = true
	}
}

// pass forwards one event of the upstream with our sequence number. The response object is the gateway's: the upstream's own is held
// until the settlement.
func (s *Stream) pass(f *completion.Frame) {
	s.start()
	switch f.Name {
	case "response.created", "response.in_progress", "response.queued":
		return
	case "": // the whole answer of a provider that did not stream: its content has come as events
		return
	case "response.completed", "response.incomplete", "response.failed":
		s.native = slices.Clone(rawjson.Find(f.Data, "response"))
		return
	}
	members := make([]byte, 0, len(f.Data))
	for m := rawjson.MembersOf(f.Data); m.Next(); {
		switch string(m.Name) {
		case "type", "sequence_number", "obfuscation":
			continue
		case "item":
			members = s.c.appendShown(append(members, `,"item":`...), m.Value)
			if f.Name == "response.output_item.done" {
				s.c.add(&s.passed, m.Value)
			}
		default:
			members = rawjson.AppendOneLine(append(members, ','), f.Data[m.Start:m.End])
		}
	}
	s.event(f.Name, members)
}

// End writes the last events.
func (s *Stream) End(receipt relay.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.start()
	var e *ending
	if s.native != nil {
		said := s.c.said
		if e = s.c.native(s.native); len(e.output) == 0 { // some servers leave out of the end what has come by (Codex's)
			e.output, e.kept, e.ids, s.c.said = s.passed.output, s.passed.kept, s.passed.ids, said
		}
	} else {
		e = s.c.end()
	}
	s.last(e.status, s.c.settle(e, &receipt))
	return s.err
}

// last writes the event that ends a stream, and the end mark after it.
func (s *Stream) last(status string, object []byte) {
	s.event("response."+status, append([]byte(`,"response":`), object...))
	s.send([]byte(sse.Done))
	s.closed = true
}

// Fail ends the stream with an error: {"error":{"code","message"},"error_type"}. After End it does nothing.
func (s *Stream) Fail(failure []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.start()
	s.c.close("incomplete")
	output := s.c.items
	if len(s.passed.output) > 0 {
		output = s.passed.output
	}
	s.last("failed", s.c.appendResponse(nil, &ending{status: "failed", output: output, failure: failure}, nil))
	return s.err
}

// Flush shows the client all frames so far. The end of a stream is shown when its request ends.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *Stream) flush() error {
	if !s.closed {
		s.err = s.to.Flush()
		s.closed = s.err != nil
	}
	return s.err
}

// KeepAlive writes a comment: clients of this wire refuse unknown events.
func (s *Stream) KeepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.send([]byte(sse.KeepAlive))
	}
	return s.flush()
}
