package elevenlabs

import (
	"iter"
	"net/http"
	"strconv"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// formats maps audio formats to this wire's names. It has neither AAC nor FLAC.
var formats = map[string]string{"mp3": "mp3_44100_128", "opus": "opus_48000_64", "pcm": "pcm_24000", "wav": "wav_24000"}

// The range of a voice's speed.
const (
	slowest = 0.7
	fastest = 1.2
)

// speak sends a text to /v1/text-to-speech/{voice}/stream, which streams the audio while it is made.
func speak(ask dialect.Ask, ep *catalog.Endpoint, t *task.Speech) iter.Seq2[*completion.Event, error] {
	speed, _ := strconv.ParseFloat(t.Speed, 64)
	switch {
	case !isVoice(t.Voice):
		return dialect.Fails(dialect.Unsupported(ep, "voice must be an id of the provider of this model, such as JBFqnCBsd6RMkjVDRZzb."))
	case formats[t.Format] == "":
		return dialect.Fails(dialect.Unsupported(ep, "response_format must be mp3, opus, wav or pcm for the provider of this model."))
	case t.Instructions != "":
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not take instructions."))
	case t.Speed != "" && (speed < slowest || speed > fastest):
		return dialect.Fails(dialect.Unsupported(ep, "speed must be from 0.7 to 1.2 for the provider of this model."))
	}
	return func(yield func(*completion.Event, error) bool) {
		answer, err := ask.Do(speechCall(ep, t))
		if err != nil {
			yield(nil, err)
			return
		}
		defer answer.Close()
		if dialect.StreamAudio(ask, answer, dialect.AudioReader(answer), t.Format, yield) {
			yield(&completion.Event{Choice: -1, Done: true}, nil) // the usage is known: the characters of the text
		}
	}
}

// isVoice reports whether a name can be a voice's id, which becomes a part of the address.
func isVoice(name string) bool {
	for _, c := range []byte(name) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(name) >= 3 && len(name) <= 64
}

func speechCall(ep *catalog.Endpoint, t *task.Speech) dialect.Call {
	b := rawjson.AppendText([]byte(`{"text":`), t.Input)
	b = rawjson.AppendText(append(b, `,"model_id":`...), ep.UpstreamID)
	settings := false
	for _, x := range t.Extra {
		if completion.Diverts(x.Name) {
			continue
		}
		switch x.Name {
		case "text", "model_id":
			continue
		case "voice_settings":
			settings = true // the client's own settings, including the speed
		}
		b = append(append(rawjson.AppendText(append(b, ','), x.Name), ':'), x.Value...)
	}
	if t.Speed != "" && !settings {
		b = append(append(append(b, `,"voice_settings":{"speed":`...), t.Speed...), '}')
	}
	return dialect.Call{
		Path: "/v1/text-to-speech/" + t.Voice + "/stream?output_format=" + formats[t.Format], Body: append(b, '}'), Stream: true,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}}, // a stream of audio, not of events
	}
}
