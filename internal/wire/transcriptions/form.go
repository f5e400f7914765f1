// Package transcriptions is the style of transcriptions: the request is a form with audio, the answer is its text as JSON, plain text,
// subtitles or a stream of events. It must not keep the audio in memory, or know its endpoint.
package transcriptions

import (
	"io"

	"weir/internal/wire"
)

const op = "transcriptions.Decode"

const (
	references    = "known_speaker_references"
	maxReferences = 8 << 20 // bytes of all of them
)

// ReadForm is wire.ReadForm of a form with a recording; the references of its speakers may be larger than other fields.
func ReadForm(body io.Reader, contentType string, room wire.Room) (*wire.Form, error) {
	room.Large, room.MaxAll = references, maxReferences
	return wire.ReadForm(body, contentType, room)
}
