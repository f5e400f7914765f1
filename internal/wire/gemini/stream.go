package gemini

import (
	"io"
	"slices"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Stream writes an answer piece by piece, one Write for each: as server-sent events, or as the elements of one JSON array. It is a relay.Sink;
// KeepAlive may be called concurrently. There is no mark of the end: the last piece has the finish reasons, the usage and the cost.
type Stream struct {
	wire.Stream
	o     Options
	array bool

	begun    bool
	all      []*composer
	parts    []byte // of the event
	passed   bool   // pieces of the upstream pass through
	progress progress
	held     [][]byte // pieces of the upstream that are sent after the settlement
	buf      []byte
}

var _ relay.Sink = (*Stream)(nil)

// NewStream writes server-sent events to w or, with array, one JSON array.
func NewStream(w io.Writer, o Options, array bool) *Stream {
	return &Stream{Stream: wire.NewStream(w), o: o, array: array}
}

// Event writes the content of an event.
func (s *Stream) Event(ev *completion.Event) error {
	return s.Do(func() {
		switch {
		case len(ev.Frames) > 0:
			s.pass(ev)
		case !s.passed && ev.Choice >= 0 && ev.Choice < s.o.N:
			s.event(ev)
		}
	})
}

// pass forwards pieces. Those with the end are held: the charge is on the disk before the client sees the end of the answer.
func (s *Stream) pass(ev *completion.Event) {
	s.passed = true
	for i := range ev.Frames {
		data := ev.Frames[i].Data
		if len(s.held) > 0 && hasCandidates(data) {
			continue // nothing of a candidate comes after its end
		}
		if ended := s.progress.add(data); ended || len(s.held) > 0 {
			s.held = append(s.held, slices.Clone(data))
			continue
		}
		s.send(appendPassed(s.begin(), data, s.Served(), nil))
	}
}

func (s *Stream) event(ev *completion.Event) {
	for len(s.all) <= ev.Choice {
		s.all = append(s.all, new(newComposer(&s.o, s.put)))
	}
	s.parts = s.parts[:0]
	s.all[ev.Choice].event(ev)
	if len(s.parts) == 0 {
		return
	}
	b := append(append(append(s.begin(), `{"candidates":[{"content":{"parts":[`...), s.parts...), `],"role":"model"},"index":`...)
	b = append(strconv.AppendInt(b, int64(ev.Choice), 10), "}]"...)
	s.send(append(appendNames(b, &s.o, s.Served()), '}'))
}

func (s *Stream) put(p *output) {
	if len(s.parts) > 0 {
		s.parts = append(s.parts, ',')
	}
	s.parts = p.append(s.parts)
}

// begin begins a piece.
func (s *Stream) begin() []byte {
	switch {
	case !s.array:
		return append(s.buf[:0], "data: "...)
	case s.begun:
		return append(s.buf[:0], ",\r\n"...)
	}
	return append(s.buf[:0], '[')
}

// send ends a piece and writes it.
func (s *Stream) send(b []byte) {
	if !s.array {
		b = append(b, "\n\n"...)
	}
	s.begun = true
	s.buf = b
	s.Send(b)
}

// End writes the last piece.
func (s *Stream) End(receipt relay.Receipt) error {
	return s.Do(func() {
		switch {
		case !s.passed:
			s.end(&receipt)
		case len(s.held) == 0: // the upstream ended without a finish reason
			s.send(append(appendUsage(append(s.begin(), `{"candidates":[]`...), &receipt), '}'))
		default:
			for i, data := range s.held {
				var r *relay.Receipt
				if i == len(s.held)-1 {
					r = &receipt
				}
				s.send(appendPassed(s.begin(), data, s.Served(), r))
			}
		}
		if s.array {
			s.Send([]byte("]"))
		}
		s.Over()
	})
}

func (s *Stream) end(receipt *relay.Receipt) {
	b := append(s.begin(), `{"candidates":[`...)
	for i, c := range s.all {
		s.parts = s.parts[:0]
		c.rest()
		if len(s.parts) == 0 {
			s.put(&output{})
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"content":{"parts":[`...), s.parts...), `],"role":"model"}`...)
		b = append(c.appendEnd(b, i), '}')
	}
	b = appendUsage(append(b, ']'), receipt)
	b = wire.AppendNotice(appendNames(b, &s.o, s.Served()), s.Served().Head.Notice)
	s.send(append(b, '}'))
}

// Fail ends the stream with an error. envelope is the whole envelope of this style. After End it does nothing.
//
// The envelope comes twice: as an event, and bare, as Google's servers send errors and as older SDKs require. Readers of server-sent events
// ignore the second, which is no field of an event.
func (s *Stream) Fail(envelope []byte) error {
	return s.Do(func() {
		b := rawjson.AppendOneLine(s.begin(), envelope)
		if s.array {
			s.Send(append(b, ']'))
		} else {
			b = rawjson.AppendOneLine(append(b, "\n\n"...), envelope)
			s.Send(append(b, "\n\n"...))
		}
		s.Over()
	})
}

// KeepAlive writes white space: SDKs of this style fail at a comment.
func (s *Stream) KeepAlive() error { return s.Pad([]byte("\n\n")) }
