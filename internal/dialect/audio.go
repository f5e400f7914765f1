package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"weir/internal/completion"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// audioPiece is the longest piece of audio that one event carries, in bytes.
const audioPiece = 16 << 10

// audioHead is how many bytes are needed to recognize an audio format.
const audioHead = 12

// sniffAudio returns the format of audio that begins with b, "" when it is not recognized.
func sniffAudio(b []byte) string {
	begins := func(with string) bool { return bytes.HasPrefix(b, []byte(with)) }
	switch {
	case begins("ID3"), len(b) > 1 && b[0] == 0xff && b[1]&0xe0 == 0xe0 && b[1]&0x06 != 0:
		return "mp3"
	case len(b) > 1 && b[0] == 0xff && b[1]&0xf6 == 0xf0, begins("ADIF"):
		return "aac"
	case begins("OggS"):
		return "opus"
	case begins("fLaC"):
		return "flac"
	case begins("RIFF") && len(b) >= audioHead && string(b[8:12]) == "WAVE":
		return "wav"
	}
	return ""
}

// StreamAudio yields the audio in r, the body of an answer, piece by piece as it arrives. It reports whether all of it arrived and the
// reader of events took it. Audio in another format than requested keeps its own type; a body that is no audio is a fault. The last event
// is left to the caller.
func StreamAudio(ask Ask, a *Answer, r *bufio.Reader, format string, yield func(*completion.Event, error) bool) bool {
	fail := func(err error) bool {
		yield(nil, err)
		return false
	}
	head, err := r.Peek(audioHead)
	if len(head) == 0 {
		if err == io.EOF {
			err = Empty(a.Endpoint)
		}
		return fail(err)
	}
	is := sniffAudio(head)
	if is == "" && (format != "pcm" || head[0] == '{' || head[0] == '<') {
		if err := noAudio(ask, a, r); err != nil {
			return fail(err)
		}
	}
	media := mediatype.Of(mediatype.Audio, format)
	if is != "" && format != "pcm" {
		media = mediatype.Of(mediatype.Audio, is)
	}
	first := new(completion.Head)
	for {
		piece := make([]byte, audioPiece)
		n, err := r.Read(piece)
		if n > 0 {
			ev := &completion.Event{Head: first, Choice: -1, Result: &task.Result{Audio: &task.AudioPiece{Data: piece[:n:n], MediaType: media}}}
			if first, media = nil, ""; !yield(ev, nil) {
				return false
			}
		}
		if err == io.EOF {
			return true
		}
		if err != nil {
			return fail(err)
		}
	}
}

// noAudio is the fault of an answer that does not begin like audio: the error that the body reports, if any. It is nil for raw samples,
// which may begin with any bytes.
func noAudio(ask Ask, a *Answer, r *bufio.Reader) error {
	head, _ := r.Peek(MaxFailureBytes)
	if rawjson.Valid(head) && rawjson.KindOf(head) == rawjson.Object {
		if !rawjson.IsNull(rawjson.Find(head, "error")) || !rawjson.IsNull(rawjson.Find(head, "detail")) {
			return ask.Failure(200, nil, bytes.Clone(head))
		}
		return Broken(a.Endpoint, errors.New("the provider sent JSON instead of audio"))
	}
	if bytes.HasPrefix(bytes.ToLower(head), []byte("<!doctype")) || bytes.HasPrefix(bytes.ToLower(head), []byte("<html")) {
		return Broken(a.Endpoint, errors.New("the provider sent HTML instead of audio"))
	}
	if t, ok := ask.Request().Task.(*task.Speech); ok && t.Format == "pcm" {
		return nil
	}
	return Broken(a.Endpoint, errors.New("the provider sent no audio"))
}

// AudioReader buffers a body of audio, so that its beginning can be inspected before it is passed on.
func AudioReader(a *Answer) *bufio.Reader { return bufio.NewReaderSize(a.Body, MaxFailureBytes) }
