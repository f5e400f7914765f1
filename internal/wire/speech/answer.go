package speech

import (
	"encoding/base64"
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/wire"
)

// Head is the response writer of an answer of bare audio.
type Head interface {
	io.Writer // sends a piece at once
	// Begin is called with the type of the audio before the first Write.
	Begin(mediaType string)
}

// Bytes writes audio while it arrives. The format has no place for an error: after a failure the caller must break the connection, so
// that no client takes the audio for complete. It is a relay.Sink.
type Bytes struct {
	w     Head
	begun bool
}

var _ relay.Sink = (*Bytes)(nil)

// NewBytes writes audio to w.
func NewBytes(w Head) *Bytes { return &Bytes{w: w} }

// Start does nothing: the first piece has the type.
func (b *Bytes) Start(relay.Served) error { return nil }

// Event writes a piece of audio.
func (b *Bytes) Event(ev *completion.Event) error {
	if ev.Result == nil || ev.Result.Audio == nil {
		return nil
	}
	if !b.begun {
		b.w.Begin(ev.Result.Audio.MediaType)
		b.begun = true
	}
	_, err := b.w.Write(ev.Result.Audio.Data)
	return err
}

// End does nothing: the end of the bytes is the end of the answer.
func (b *Bytes) End(relay.Receipt) error { return nil }

// Stream writes audio as server-sent events. It is a relay.Sink.
type Stream struct{ wire.Stream }

var _ relay.Sink = (*Stream)(nil)

// NewStream writes events to w, which flushes after each Write.
func NewStream(w io.Writer) *Stream { return &Stream{wire.NewStream(w)} }

// Event writes a piece of audio.
func (s *Stream) Event(ev *completion.Event) error {
	if ev.Result == nil || ev.Result.Audio == nil {
		return nil
	}
	return s.Do(func() {
		data := ev.Result.Audio.Data
		b := append(make([]byte, 0, 64+base64.StdEncoding.EncodedLen(len(data))), `data: {"type":"speech.audio.delta","audio":"`...)
		s.Send(append(base64.StdEncoding.AppendEncode(b, data), "\"}\n\n"...))
	})
}

// End writes the last event, with usage and cost, and closes the stream.
func (s *Stream) End(receipt relay.Receipt) error {
	return s.Do(func() {
		u := &receipt.Usage
		b := append([]byte(nil), `data: {"type":"speech.audio.done","usage":{"input_tokens":`...)
		b = strconv.AppendInt(b, u.Prompt.N, 10)
		b = strconv.AppendInt(append(b, `,"output_tokens":`...), u.Completion.N, 10)
		b = strconv.AppendInt(append(b, `,"total_tokens":`...), u.Prompt.N+u.Completion.N, 10)
		b = strconv.AppendInt(append(b, `,"characters":`...), u.Characters.N, 10)
		b = append(wire.AppendCost(append(b, ','), &receipt), '}')
		s.Send(append(wire.AppendNotice(b, s.Served().Head.Notice), "}\n\n"...))
		s.Finish()
	})
}
