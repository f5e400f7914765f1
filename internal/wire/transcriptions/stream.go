package transcriptions

import (
	"io"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Stream writes a transcript as server-sent events. It is a relay.Sink.
type Stream struct {
	wire.Stream
	t        *task.Transcription
	got      transcript
	segments int
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes the answer to t to w, which flushes after each Write.
func NewStream(w io.Writer, t *task.Transcription) *Stream {
	return &Stream{Stream: wire.NewStream(w), t: t}
}

// Event writes an event.
func (s *Stream) Event(ev *completion.Event) error {
	if ev.Result == nil || ev.Result.Transcript == nil {
		return nil
	}
	return s.Do(func() { s.piece(ev.Result.Transcript) })
}

func (s *Stream) piece(p *task.Transcript) {
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
func (s *Stream) frame(b []byte) { s.Send(append(b, "}\n\n"...)) }

// End writes the last event and closes the stream.
func (s *Stream) End(receipt relay.Receipt) error {
	return s.Do(func() {
		all := s.got.whole()
		b := rawjson.AppendText([]byte(`data: {"type":"transcript.text.done","text":`), all.Text)
		b = s.probabilities(b, all.Logprobs)
		b = appendUsage(append(b, `,"usage":`...), &receipt)
		s.frame(wire.AppendNotice(b, s.Served().Head.Notice))
		s.Finish()
	})
}
