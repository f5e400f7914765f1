package images

import (
	"io"
	"strconv"
	"sync"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
	"weir/internal/wire/sse"
)

// Stream writes pictures as server-sent events, one Write for each. A finished picture waits until the next one comes or until the end, because the
// last one tells the usage, and what it costs must be kept before the client has it. It is a relay.Sink; KeepAlive and Fail may be called from
// other goroutines meanwhile.
type Stream struct {
	w      io.Writer
	o      Options
	prefix string // of the events' names

	mu     sync.Mutex
	closed bool
	err    error
	served relay.Served
	held   []*task.Picture // finished, and not yet given
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes to w, which flushes after each Write.
func NewStream(w io.Writer, o Options) *Stream {
	s := &Stream{w: w, o: o, prefix: "image_generation."}
	if o.Task != nil && o.Task.Edit {
		s.prefix = "image_edit."
	}
	return s
}

// Close ends the stream for whatever still wants to write.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.held = true, nil
}

// Start takes in who serves; nothing is written before the first event.
func (s *Stream) Start(served relay.Served) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = served
	return s.err
}

// Event writes what an event tells.
func (s *Stream) Event(ev *completion.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	if len(ev.Reasoning) > 0 {
		s.text("reasoning", ev.Reasoning)
	}
	if len(ev.Text) > 0 {
		s.text("content", ev.Text)
	}
	if ev.Result == nil || ev.Result.Picture == nil {
		return s.err
	}
	if p := ev.Result.Picture; p.Partial {
		s.preview(p)
	} else {
		s.held = append(s.held, p) // a picture is given when it is paid for
	}
	return s.err
}

// begin begins an event, behind its type.
func (s *Stream) begin(name string, room int) []byte {
	b := append(make([]byte, 0, room+512), "event: "...)
	b = append(append(b, s.prefix...), name...)
	b = append(b, "\ndata: {\"type\":\""...)
	b = append(append(b, s.prefix...), name...)
	return append(b, `",`...)
}

func (s *Stream) preview(p *task.Picture) {
	b := appendBase64(s.begin("partial_image", len(p.Data)*4/3), p)
	b = strconv.AppendInt(append(b, `,"partial_image_index":`...), int64(p.Preview), 10)
	b = strconv.AppendInt(append(b, `,"created_at":`...), s.o.Created, 10)
	s.send(append(appendSettings(b, p), "}\n\n"...))
}

// text writes what a model says beside its pictures, or draws in words.
func (s *Stream) text(phase string, text []byte) {
	b := append(s.begin("text_chunk", len(text)), `"phase":"`...)
	b = rawjson.AppendString(append(append(b, phase...), `","text":`...), text)
	s.send(append(b, "}\n\n"...))
}

// completed writes a finished picture. The last of an answer has its receipt.
func (s *Stream) completed(p *task.Picture, receipt *relay.Receipt) {
	b := appendType(appendBase64(s.begin("completed", len(p.Data)*4/3), p), p)
	b = strconv.AppendInt(append(b, `,"created":`...), s.o.Created, 10)
	b = strconv.AppendInt(append(b, `,"created_at":`...), s.o.Created, 10)
	b = appendSettings(b, p)
	if p.Revised != "" {
		b = rawjson.AppendText(append(b, `,"revised_prompt":`...), p.Revised)
	}
	if receipt != nil {
		b = appendUsage(append(b, `,"usage":`...), receipt)
		b = wire.AppendNotice(b, s.served.Head.Notice)
	}
	s.send(append(b, "}\n\n"...))
}

// End writes the pictures, the last with the usage, and the end.
func (s *Stream) End(receipt relay.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	for i, p := range s.held {
		if i < len(s.held)-1 {
			s.completed(p, nil)
		} else {
			s.completed(p, &receipt)
		}
	}
	return s.done()
}

// Fail ends the stream with an error. failure is the JSON value of the member error. After End it does nothing.
func (s *Stream) Fail(failure []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.held = nil // an answer that failed is not charged, and not given
	b := append([]byte(nil), "event: error\ndata: {\"type\":\"error\",\"error\":"...)
	b = rawjson.AppendOneLine(b, failure)
	s.send(append(b, "}\n\n"...))
	return s.done()
}

// KeepAlive writes a comment. After the end it does nothing.
func (s *Stream) KeepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.send([]byte(sse.KeepAlive))
	}
	return s.err
}

func (s *Stream) done() error {
	s.send([]byte(sse.Done))
	s.closed = true
	return s.err
}

// send writes one frame. After a write that failed there is nobody to write to.
func (s *Stream) send(frame []byte) {
	if s.err != nil || s.closed {
		return
	}
	if _, s.err = s.w.Write(frame); s.err != nil {
		s.closed = true
	}
}
