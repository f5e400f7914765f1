package transcriptions

import (
	"io"
	"sync"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Stream writes a transcript as server-sent events, one Write for each frame. It is a relay.Sink; KeepAlive may be called from another
// goroutine meanwhile.
type Stream struct {
	w io.Writer
	t *task.Transcription

	mu       sync.Mutex
	closed   bool
	err      error
	got      transcript
	segments int
	served   relay.Served
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes the answer to t to w, which flushes after each Write.
func NewStream(w io.Writer, t *task.Transcription) *Stream { return &Stream{w: w, t: t} }

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
	if s.closed || ev.Result == nil || ev.Result.Transcript == nil {
		return s.err
	}
	p := ev.Result.Transcript
	s.got.add(p)
	switch {
	case p.Final && s.got.deltas.Len() == 0: // the provider does not stream: its answer is one delta
		s.delta(p.Text, "", p.Logprobs)
		for i := range p.Segments {
			s.segment(&p.Segments[i])
		}
	case p.Final:
	default:
		if p.Delta != "" {
			s.delta(p.Delta, p.SegmentID, p.Logprobs)
		}
		if p.Segment != nil {
			s.segment(p.Segment)
		}
	}
	return s.err
}

func (s *Stream) delta(text, segment string, logprobs []byte) {
	b := rawjson.AppendText([]byte(`data: {"type":"transcript.text.delta","delta":`), text)
	if segment != "" {
		b = rawjson.AppendText(append(b, `,"segment_id":`...), segment)
	}
	s.frame(s.probabilities(b, logprobs))
}

func (s *Stream) segment(one *task.Segment) {
	if s.t.Response != formatDiarized {
		return
	}
	s.frame(appendSegment([]byte(`data: {`), one, s.segments))
	s.segments++
}

func (s *Stream) probabilities(b, logprobs []byte) []byte {
	if s.t.Logprobs && len(logprobs) > 0 {
		b = rawjson.AppendOneLine(append(b, `,"logprobs":`...), logprobs)
	}
	return b
}

// frame closes an event's object and writes it.
func (s *Stream) frame(b []byte) { s.write(append(b, "}\n\n"...)) }

func (s *Stream) write(b []byte) {
	if s.err == nil && !s.closed {
		_, s.err = s.w.Write(b)
	}
	s.closed = s.closed || s.err != nil
}

// End writes the last event and closes the stream.
func (s *Stream) End(receipt relay.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.got.whole()
	b := rawjson.AppendText([]byte(`data: {"type":"transcript.text.done","text":`), all.Text)
	b = s.probabilities(b, all.Logprobs)
	b = appendUsage(append(b, `,"usage":`...), &receipt)
	s.frame(wire.AppendNotice(b, s.served.Head.Notice))
	s.done()
	return s.err
}

func (s *Stream) done() {
	s.write([]byte("data: [DONE]\n\n"))
	s.closed = true
}

// KeepAlive writes a comment, which clients pass over.
func (s *Stream) KeepAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write([]byte(": keep-alive\n\n"))
	return s.err
}

// Fail ends the stream with an error object.
func (s *Stream) Fail(failure []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(append(rawjson.AppendOneLine([]byte(`data: {"error":`), failure), "}\n\n"...))
	s.done()
	return s.err
}

// Close ends the use of the stream.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
