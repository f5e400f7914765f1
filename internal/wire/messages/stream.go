package messages

import (
	"io"
	"strconv"
	"sync"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire"
	"weir/internal/wire/sse"
)

// Stream writes an answer as server-sent events, one Write for each frame. It is a relay.Sink; KeepAlive may be called concurrently.
type Stream struct {
	to wire.Output
	o  Options

	mu     sync.Mutex
	begun  bool // message_start was written
	closed bool
	passed bool // frames of the upstream pass through
	err    error
	served relay.Served
	c      composer
	index  int    // of the open block
	kind   kind   // of the open block
	last   []byte // the frames that end the message: they are sent after the settlement
	buf    []byte
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes to w.
func NewStream(w io.Writer, o Options) *Stream {
	s := &Stream{to: wire.NewOutput(w), o: o, index: -1}
	s.c = newComposer(s, &s.o)
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
	s.served = served
	return s.err
}

// Event writes the content of an event.
func (s *Stream) Event(ev *completion.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case len(ev.Frames) > 0:
		s.pass(ev)
	case ev.Choice <= 0:
		s.start(ev)
		s.c.event(ev)
	}
	return s.err
}

// pass forwards frames. The last ones are held: the charge is on the disk before the client sees the end of the answer.
func (s *Stream) pass(ev *completion.Event) {
	s.passed = true
	for i := range ev.Frames {
		f := &ev.Frames[i]
		b := append(append(append(s.buf[:0], "event: "...), f.Name...), "\ndata: "...)
		if f.Name == "message_start" {
			b = s.renamed(b, f.Data)
			s.begun = true
		} else {
			b = rawjson.AppendOneLine(b, f.Data)
		}
		b = append(b, "\n\n"...)
		if s.buf = b; ev.Done {
			s.last = append(s.last, b...)
			continue
		}
		s.send(b)
	}
}

// renamed is message_start with the public name of the model.
func (s *Stream) renamed(b, data []byte) []byte {
	for m := rawjson.MembersOf(data); m.Next(); {
		if string(m.Name) == "message" {
			b = rawjson.AppendOneLine(b, data[:m.At])
			b = rawjson.AppendOneLine(b, renamed(nil, m.Value, &s.served))
			return rawjson.AppendOneLine(b, data[m.End:])
		}
	}
	return rawjson.AppendOneLine(b, data)
}

func (s *Stream) send(b []byte) {
	if s.err != nil || s.closed {
		return
	}
	if _, s.err = s.to.Write(b); s.err != nil {
		s.closed = true
	}
}

// frame begins a frame up to the members after its type.
func (s *Stream) frame(name string) []byte {
	b := append(append(append(s.buf[:0], "event: "...), name...), "\ndata: {\"type\":\""...)
	return append(append(b, name...), '"')
}

func (s *Stream) close(b []byte) {
	s.buf = append(b, "}\n\n"...)
	s.send(s.buf)
}

// start writes message_start. Many providers report the prompt's tokens at the end: message_start has our own estimate then, and
// message_delta the provider's count.
func (s *Stream) start(ev *completion.Event) {
	if s.begun {
		return
	}
	s.begun = true
	b := append(s.frame("message_start"), `,"message":`...)
	b = appendHead(b, &s.o, &s.served)
	b = append(b, `],"stop_reason":null,"stop_sequence":null,"usage":`...)
	r := relay.Receipt{}
	if ev.Usage != nil && ev.Usage.Prompt.N > 0 {
		r.Usage = *ev.Usage
		r.Usage.Completion.N = 0
	} else if req := s.o.Request; req != nil {
		r.Usage.Prompt = usage.Of(likelyTokens(req))
	}
	s.close(append(wire.AppendNotice(appendUsage(b, &r), s.served.Head.Notice), '}'))
}

// begin writes content_block_start.
func (s *Stream) begin(b *block) {
	s.index++
	s.kind = b.kind
	f := append(s.frame("content_block_start"), `,"index":`...)
	f = append(strconv.AppendInt(f, int64(s.index), 10), `,"content_block":`...)
	switch b.kind {
	case thinkingBlock:
		f = append(f, `{"type":"thinking","thinking":"","signature":""}`...)
	case redactedBlock:
		f = append(rawjson.AppendText(append(f, `{"type":"redacted_thinking","data":`...), b.data), '}')
	case toolBlock:
		f = rawjson.AppendText(append(f, `{"type":"tool_use","id":`...), b.id)
		f = append(rawjson.AppendText(append(f, `,"name":`...), b.name), `,"input":{}}`...)
	default:
		f = append(f, `{"type":"text","text":""}`...)
	}
	s.close(f)
}

// text writes content_block_delta.
func (s *Stream) text(delta []byte) {
	switch s.kind {
	case thinkingBlock:
		s.delta("thinking_delta", "thinking", delta)
	case toolBlock:
		s.delta("input_json_delta", "partial_json", delta)
	default:
		s.delta("text_delta", "text", delta)
	}
}

func (s *Stream) sign(signature string) { s.delta("signature_delta", "signature", []byte(signature)) }

// cite writes a citation of the open text.
func (s *Stream) cite(citation []byte) {
	f := append(s.frame("content_block_delta"), `,"index":`...)
	f = append(strconv.AppendInt(f, int64(s.index), 10), `,"delta":{"type":"citations_delta","citation":`...)
	s.close(append(append(f, citation...), '}'))
}

func (s *Stream) delta(kind, member string, text []byte) {
	f := append(s.frame("content_block_delta"), `,"index":`...)
	f = append(strconv.AppendInt(f, int64(s.index), 10), `,"delta":{"type":"`...)
	f = append(append(append(append(f, kind...), `","`...), member...), `":`...)
	s.close(append(rawjson.AppendString(f, text), '}'))
}

// end writes content_block_stop.
func (s *Stream) end() {
	f := append(s.frame("content_block_stop"), `,"index":`...)
	s.close(strconv.AppendInt(f, int64(s.index), 10))
}

// End writes the frames that end the message.
func (s *Stream) End(receipt relay.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	if s.passed {
		s.send(s.last)
		s.closed = true
		return s.err
	}
	s.start(&completion.Event{})
	s.c.close()
	b := append(s.frame("message_delta"), `,"delta":{"stop_reason":"`...)
	b = append(append(b, s.c.stopReason()...), `","stop_sequence":null},"usage":`...)
	s.close(appendUsage(b, &receipt))
	s.close(s.frame("message_stop"))
	s.closed = true
	return s.err
}

// Fail ends the stream with an error. envelope is the whole envelope of this style. After End it does nothing.
func (s *Stream) Fail(envelope []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	b := rawjson.AppendOneLine(append(s.buf[:0], "event: error\ndata: "...), envelope)
	s.send(append(b, "\n\n"...))
	s.closed = true
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

// KeepAlive writes a ping or, before the message has begun, a comment: clients refuse any event before message_start.
func (s *Stream) KeepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case !s.begun:
		s.send([]byte(sse.KeepAlive))
	default:
		s.close(s.frame("ping"))
	}
	return s.flush()
}
