package elevenlabs

import (
	"errors"
	"iter"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// transcribe sends the audio to /v1/speech-to-text.
func transcribe(ask dialect.Ask, ep *catalog.Endpoint, t *task.Transcription) iter.Seq2[*completion.Event, error] {
	switch {
	case t.Logprobs:
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not return log probabilities."))
	case len(t.SpeakerRefs) > 0:
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not support known speakers."))
	}
	return func(yield func(*completion.Event, error) bool) {
		body, err := dialect.Object(ask, transcriptionCall(ep, t))
		if err != nil {
			yield(nil, err)
			return
		}
		ev, err := readTranscript(ep, body)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(ev, nil)
	}
}

// options are the fields of a form that are sent unchanged: none of them costs more or sets a callback.
var options = map[string]bool{"diarization_threshold": true, "no_verbatim": true, "num_speakers": true, "seed": true, "temperature": true, "tag_audio_events": true}

func transcriptionCall(ep *catalog.Endpoint, t *task.Transcription) dialect.Call {
	f := dialect.NewForm()
	f.Field("model_id", ep.UpstreamID)
	f.Field("timestamps_granularity", "word")
	if t.Language != "" {
		f.Field("language_code", t.Language)
	}
	if t.Temperature != "" {
		f.Field("temperature", t.Temperature)
	}
	if t.Response == "diarized_json" {
		f.Field("diarize", "true")
	}
	events := "false" // "(laughter)" is nothing that was said
	for _, x := range t.Extra {
		switch {
		case x.Name == "tag_audio_events":
			events = x.Value
		case options[x.Name]:
			f.Field(x.Name, x.Value)
		}
	}
	f.Field("tag_audio_events", events)
	f.File("file", "audio."+t.Format, t.MediaType, t.File)
	call := f.Call("/v1/speech-to-text")
	call.Unsent = dialect.LeftOut(t, options)
	return call
}

// readTranscript reads {"language_code","text","words":[{"text","start","end","type":"word","speaker_id"}],"audio_duration_secs"}. The
// list has an entry for each word, each space between words and each audio event such as laughter.
func readTranscript(ep *catalog.Endpoint, body []byte) (*completion.Event, error) {
	if rawjson.KindOf(rawjson.Find(body, "text")) != rawjson.String {
		return nil, dialect.Broken(ep, errors.New("the answer has no text"))
	}
	said := &task.Transcript{
		Final: true, Text: rawjson.TextAt(body, "text"), Language: rawjson.TextAt(body, "language_code"),
		Duration: dialect.RecordedSeconds(rawjson.Find(body, "audio_duration_secs")),
	}
	joint, space := "", false
	for e := rawjson.ElementsOf(rawjson.Find(body, "words")); e.Next(); {
		w := task.Word{
			Text: rawjson.TextAt(e.Value, "text"), Speaker: rawjson.TextAt(e.Value, "speaker_id"),
			Start: dialect.RecordedSeconds(rawjson.Find(e.Value, "start")), End: dialect.RecordedSeconds(rawjson.Find(e.Value, "end")),
		}
		if rawjson.TextAt(e.Value, "type") == "spacing" {
			space = true
			continue
		}
		said.Words = append(said.Words, w)
	}
	if space {
		joint = " "
	}
	said.Segments = task.Segments(said.Words, joint)
	task.Letters(said.Segments, said.Words)
	var u usage.Usage
	if said.Duration > 0 {
		u.Millis = usage.Of(said.Duration.Milliseconds())
	}
	head := &completion.Head{ID: rawjson.TextAt(body, "transcription_id")}
	return &completion.Event{Head: head, Choice: -1, Result: &task.Result{Transcript: said}, Usage: &u, Done: true}, nil
}
