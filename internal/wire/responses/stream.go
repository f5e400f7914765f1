package responses

import (
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire/sse"
)

// Stream writes an answer as server-sent events, one Write for each frame. It is a relay.Sink; KeepAlive may be called from another
// goroutine meanwhile.
type Stream struct {
	w io.Writer
	o Options

	mu     sync.Mutex
	begun  bool // response.created was written
	closed bool
	err    error
	c      composer
	seq    int64
	buf    []byte
	native []byte // the response object of an upstream of this wire, when it has ended
	name   string // of the event that brought it
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes to w, which flushes after each Write.
func NewStream(w io.Writer, o Options) *Stream {
	s := &Stream{w: w, o: o}
	s.c.o = &s.o
	s.c.tell = s.event
	return s
}

// Close ends the use of the stream.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Start takes in who serves; nothing is written before the first event.
func (s *Stream) Start(served relay.Served) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.served = served
	return s.err
}

// Event writes what an event tells.
func (s *Stream) Event(ev *completion.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case len(ev.Frames) > 0:
		for i := range ev.Frames {
			s.pass(&ev.Frames[i])
		}
		s.c.said = append(s.c.said, ev.Text...)
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
	object := s.c.appendResponse(nil, "in_progress", "", nil, nil, nil, 0)
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
	if _, s.err = s.w.Write(b); s.err != nil {
		s.closed = true
	}
}

// pass hands one event of the upstream through, under our numbers. The object of the response is ours: the upstream's own waits for the
// settlement.
func (s *Stream) pass(f *completion.Frame) {
	switch f.Name {
	case "response.created", "response.in_progress", "response.queued":
		s.start()
		return
	case "response.completed", "response.incomplete", "response.failed":
		s.name, s.native = f.Name, slices.Clone(rawjson.Find(f.Data, "response"))
		return
	}
	s.start()
	members := make([]byte, 0, len(f.Data))
	for m := rawjson.MembersOf(f.Data); m.Next(); {
		if name := string(m.Name); name != "type" && name != "sequence_number" {
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
	status, reason, output := s.c.end(s.native)
	object := s.c.appendResponse(nil, status, reason, output, nil, &receipt, time.Now().Unix())
	if s.o.Keep != nil {
		s.o.Keep(list(output), object)
	}
	s.event("response."+status, append([]byte(`,"response":`), object...))
	s.done()
	return s.err
}

func (s *Stream) done() {
	s.send([]byte(sse.Done))
	s.closed = true
}

// list is a JSON list of items.
func list(items []byte) []byte { return append(append([]byte{'['}, items...), ']') }

// end closes what is open and tells how the answer ended, and its items. An upstream of this wire has told both itself.
func (c *composer) end(native []byte) (status, reason string, output []byte) {
	if native != nil {
		status = rawjson.Text(rawjson.Find(native, "status"))
		if status != "incomplete" && status != "failed" {
			status = "completed"
		}
		reason = rawjson.Text(rawjson.FindPath(native, "incomplete_details", "reason"))
		if v := rawjson.Find(native, "output"); rawjson.KindOf(v) == rawjson.Array {
			output = rawjson.AppendOneLine(nil, v[1:len(v)-1])
		}
		return status, reason, output
	}
	status, reason = c.ending()
	last := "completed"
	if status != "completed" {
		last = "incomplete"
	}
	c.close(last)
	return status, reason, c.items
}

// Fail ends the stream with an error. failure is the value of the response's error: {code, message}. After End it does nothing.
func (s *Stream) Fail(failure []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.start()
	s.c.close("incomplete")
	object := s.c.appendResponse(nil, "failed", "", s.c.items, failure, nil, 0)
	s.event("response.failed", append([]byte(`,"response":`), object...))
	s.done()
	return s.err
}

// KeepAlive writes a comment: clients of this wire refuse events that they do not know.
func (s *Stream) KeepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.send([]byte(sse.KeepAlive))
	}
	return s.err
}
