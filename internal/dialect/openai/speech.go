package openai

import (
	"bufio"
	"encoding/base64"
	"errors"
	"iter"
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/sse"
)

// speak sends a text to /audio/speech. For a model that is priced by tokens it requests events, because only they report the count; for
// any other it requests bare bytes, which every server can send.
func (d *Dialect) speak(ask dialect.Ask, ep *catalog.Endpoint, t *task.Speech) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		prices := &ep.Pricing.Base
		events := prices.Completion.Set || prices.AudioOutput.Set
		call := dialect.Call{Path: "/audio/speech", Body: encodeSpeech(ep, t, events), Stream: true}
		if !events {
			call.Header = http.Header{"Accept": {"*/*"}} // a stream of audio, not of events
		}
		answer, err := ask.Do(call)
		if err != nil {
			yield(nil, err)
			return
		}
		defer answer.Close()
		body := dialect.AudioReader(answer)
		if events && isEvents(body) {
			d.spoken(answer, body, mediatype.Of(mediatype.Audio, t.Format), yield)
			return
		}
		if dialect.StreamAudio(ask, answer, body, t.Format, yield) {
			yield(&completion.Event{Choice: -1, Done: true}, nil)
		}
	}
}

func encodeSpeech(ep *catalog.Endpoint, t *task.Speech, events bool) []byte {
	b := append(make([]byte, 0, 256+len(t.Input)), `{"model":`...)
	b = rawjson.AppendText(b, ep.UpstreamID)
	b = rawjson.AppendText(append(b, `,"input":`...), t.Input)
	if t.VoiceID {
		b = append(rawjson.AppendText(append(b, `,"voice":{"id":`...), t.Voice), '}')
	} else {
		b = rawjson.AppendText(append(b, `,"voice":`...), t.Voice)
	}
	b = rawjson.AppendText(append(b, `,"response_format":`...), t.Format)
	if t.Instructions != "" {
		b = rawjson.AppendText(append(b, `,"instructions":`...), t.Instructions)
	}
	if t.Speed != "" {
		b = append(append(b, `,"speed":`...), t.Speed...)
	}
	for _, x := range t.Extra {
		if completion.Diverts(x.Name) {
			continue
		}
		b = append(append(rawjson.AppendText(append(b, ','), x.Name), ':'), x.Value...)
	}
	if events {
		b = append(b, `,"stream_format":"sse"`...)
	}
	return append(b, '}')
}

// isEvents reports whether a body is an event stream: some servers send bare audio even where events were requested.
func isEvents(body *bufio.Reader) bool {
	head, _ := body.Peek(8)
	for _, begin := range [...]string{"data:", "event:", "id:", "retry:", ":", "\n", "\r"} {
		if strings.HasPrefix(strings.TrimPrefix(string(head), "\ufeff"), begin) {
			return true
		}
	}
	return false
}

// spoken reads the events speech.audio.delta and speech.audio.done. The latter is the mark of the end.
func (d *Dialect) spoken(answer *dialect.Answer, body *bufio.Reader, media string, yield func(*completion.Event, error) bool) {
	frames := sse.NewReader(body, sse.Limits{Line: int64(answer.Limits.Line), Total: answer.Limits.Stream})
	head := new(completion.Head)
	for {
		frame, err := frames.Next()
		if err != nil {
			yield(nil, dialect.Broken(answer.Endpoint, cut(answer, err)))
			return
		}
		ev, err := d.speechEvent(answer, frame.Data, media)
		if err != nil {
			yield(nil, err)
			return
		}
		if ev == nil {
			continue
		}
		if ev.Result != nil {
			ev.Head, head, media = head, nil, ""
		}
		if !yield(ev, nil) || ev.Done {
			return
		}
	}
}

func (d *Dialect) speechEvent(answer *dialect.Answer, data []byte, media string) (*completion.Event, error) {
	if string(data) == "[DONE]" {
		return nil, dialect.Ended(answer.Endpoint)
	}
	if !rawjson.Valid(data) {
		return nil, dialect.Broken(answer.Endpoint, errors.New("an event is not JSON"))
	}
	switch rawjson.TextAt(data, "type") {
	case "speech.audio.delta":
		audio, err := base64.StdEncoding.DecodeString(rawjson.TextAt(data, "audio"))
		if err != nil {
			return nil, dialect.Broken(answer.Endpoint, err)
		}
		if len(audio) == 0 {
			return nil, nil
		}
		return &completion.Event{Choice: -1, Result: &task.Result{Audio: &task.AudioPiece{Data: audio, MediaType: media}}}, nil
	case "speech.audio.done":
		var u usage.Usage
		set(&u.Prompt, rawjson.FindPath(data, "usage", "input_tokens"))
		set(&u.Completion, rawjson.FindPath(data, "usage", "output_tokens"))
		u.OutputAudio = u.Completion
		return &completion.Event{Choice: -1, Usage: &u, Done: true}, nil
	}
	if reportsError(data) {
		return nil, d.Failure(answer.Endpoint, http.StatusOK, nil, data)
	}
	return nil, nil // an unknown event
}
