package openai

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/task"
)

var hearing = &catalog.Endpoint{Provider: &catalog.Provider{Name: "OpenAI"}, UpstreamID: "gpt-4o-transcribe"}

func TestTranscriptionCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		task   task.Transcription
		stream bool
		want   map[string][]string
	}{
		"the least": {task: task.Transcription{Response: "text"}, want: map[string][]string{"model": {"gpt-4o-transcribe"}, "response_format": {"json"}}},
		"subtitles": {task: task.Transcription{Response: "srt", Language: "ru", Temperature: "0"}, want: map[string][]string{
			"model": {"gpt-4o-transcribe"}, "response_format": {"verbose_json"}, "language": {"ru"}, "temperature": {"0"}, "timestamp_granularities[]": {"segment"}}},
		"words and segments": {task: task.Transcription{Response: "verbose_json", Words: true, Segments: true}, want: map[string][]string{
			"model": {"gpt-4o-transcribe"}, "response_format": {"verbose_json"}, "timestamp_granularities[]": {"word", "segment"}}},
		"speakers, streamed": {
			stream: true, task: task.Transcription{Response: "diarized_json", Chunking: "auto", SpeakerNames: []string{"Ann", "Bob"}, SpeakerRefs: []string{"data:1", "data:2"}, Extra: []task.Field{{Name: "own[]", Value: "1"}, {Name: "own[]", Value: "2"}}},
			want: map[string][]string{
				"model": {"gpt-4o-transcribe"}, "response_format": {"diarized_json"}, "chunking_strategy": {"auto"}, "stream": {"true"}, "known_speaker_names[]": {"Ann", "Bob"},
				"known_speaker_references[]": {"data:1", "data:2"}, "own[]": {"1", "2"}}},
		"probabilities": {task: task.Transcription{Response: "json", Logprobs: true, Prompt: "Weirs"}, want: map[string][]string{
			"model": {"gpt-4o-transcribe"}, "response_format": {"json"}, "prompt": {"Weirs"}, "include[]": {"logprobs"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.task.File, tt.task.Format, tt.task.MediaType = bytes.NewReader([]byte("RIFF")), "wav", "audio/wav"
			c := transcriptionCall(hearing, &completion.Request{Stream: tt.stream}, &tt.task)
			for range 2 { // afresh for each try
				body, size := c.Content()
				b, err := io.ReadAll(body)
				if err != nil || int64(len(b)) != size {
					t.Fatalf("%d bytes of %d, %v: %s", len(b), size, err, b)
				}
				_, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
				if err != nil {
					t.Fatal(err)
				}
				form, err := multipart.NewReader(bytes.NewReader(b), params["boundary"]).ReadForm(1 << 20)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, form.Value); diff != "" {
					t.Error(diff)
				}
				if f := form.File["file"]; len(f) != 1 || f[0].Filename != "audio.wav" || f[0].Size != 4 {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestEncodeSpeech(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		task   task.Speech
		events bool
	}{
		`{"model":"gpt-4o-transcribe","input":"Hi","voice":"alloy","response_format":"mp3"}`: {task: task.Speech{Input: "Hi", Voice: "alloy", Format: "mp3"}},
		`{"model":"gpt-4o-transcribe","input":"\"Привет\"","voice":{"id":"v"},"response_format":"wav","instructions":"Softly","speed":1.5,"seed":7,"stream_format":"sse"}`: {
			events: true, task: task.Speech{Input: `"Привет"`, Voice: "v", VoiceID: true, Format: "wav", Instructions: "Softly", Speed: "1.5", Extra: []task.Extra{{Name: "seed", Value: []byte("7")}}},
		},
	} {
		if got := encodeSpeech(hearing, &tt.task, tt.events); string(got) != want {
			t.Errorf("%s", got)
		}
	}
}

// collect gives the events of a decoder and its error.
func collect(decode func(yield func(*completion.Event, error) bool)) (all []*completion.Event, failed error) {
	decode(func(ev *completion.Event, err error) bool {
		if err != nil {
			failed = err
			return false
		}
		all = append(all, ev)
		return true
	})
	return all, failed
}

func answerOf(body string) *dialect.Answer {
	return &dialect.Answer{Endpoint: hearing, Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 1 << 16}, Body: dialect.NewBody(strings.NewReader(body))}
}

// vLLM streams chunks like those of chat; whisper.cpp puts the words into their segments.
func TestTranscriptsOfOtherServers(t *testing.T) {
	t.Parallel()
	chunk := func(text, finish string) string {
		return `data: {"id":"trsc-1","object":"transcription.chunk","created":1,"model":"whisper","choices":[{"delta":{"content":"` + text + `"},"finish_reason":` + finish + "}]}\n\n"
	}
	d := new(Dialect)
	whole := chunk("Is ", "null") + chunk("it?", "null") + chunk("", `"stop"`)
	all, err := collect(func(yield func(*completion.Event, error) bool) {
		d.streamTranscript(answerOf(whole+"data: [DONE]\n\n"), yield)
	})
	if err != nil || len(all) != 3 || all[0].Head == nil || all[1].Result.Transcript.Delta != "it?" || !all[2].Done || all[2].Result.Transcript.Text != "Is it?" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, broken := range []string{whole, chunk("Is ", "null") + "data: [DONE]\n\n", chunk("Is ", "null") + "data: {\"error\":{\"message\":\"no\"}}\n\n"} {
		if _, err := collect(func(yield func(*completion.Event, error) bool) { d.streamTranscript(answerOf(broken), yield) }); err == nil {
			t.Errorf("%s is whole", broken)
		}
	}
	nested := readTranscript([]byte(`{"text":"Is it?","segments":[{"id":0,"text":"Is","words":[{"word":"Is","start":0,"end":0.5}]},{"id":1,"text":"it?","words":[{"word":"it?","start":0.5,"end":1}]}]}`))
	// vLLM writes the length as a text (vllm-project/vllm#24209); OVH has the text alone (BerriAI/litellm#25633).
	if is := readTranscript([]byte(`{"duration":"17.653125","language":"en","text":"Hey","segments":[{"id":42,"avg_logprob":-1.0,"end":11.54,"start":0.0,"text":"Hey","tokens":null}]}`)); is.Duration != 17653125*time.Microsecond || is.Segments[0].End != 11540*time.Millisecond {
		t.Errorf("%+v", is)
	}
	if is := readTranscript([]byte(`{"text":"Hey","segments":null,"words":null,"duration":null,"usage":null}`)); is.Text != "Hey" || is.Duration != 0 || is.Segments != nil {
		t.Errorf("%+v", is)
	}
	if len(nested.Words) != 2 || nested.Words[1].Text != "it?" || nested.Words[1].End.Seconds() != 1 {
		t.Errorf("%+v", nested.Words)
	}
}

func TestTranscriptStream(t *testing.T) {
	t.Parallel()
	const stream = "data: {\"type\":\"transcript.text.delta\",\"delta\":\"Is\",\"logprobs\":[{\"token\":\"Is\"}]}\n\n: idle\n\ndata: {\"type\":\"transcript.text.unknown\"}\n\n" +
		"data: {\"type\":\"transcript.text.segment\",\"id\":\"seg_1\",\"start\":0.5,\"end\":\"1.5\",\"text\":\"Is\",\"speaker\":\"A\"}\n\n"
	const done = "data: {\"type\":\"transcript.text.done\",\"text\":\"Is\",\"usage\":{\"type\":\"tokens\",\"input_tokens\":14,\"output_tokens\":2,\"input_token_details\":{\"audio_tokens\":10}}}\n\n"
	all, err := collect(func(y func(*completion.Event, error) bool) { (&Dialect{}).streamTranscript(answerOf(stream+done), y) })
	if err != nil || len(all) != 3 || all[0].Head == nil || all[1].Head != nil {
		t.Fatalf("%d events, %v", len(all), err)
	}
	if s := all[1].Result.Transcript.Segment; s.ID != "seg_1" || s.Start != 500*time.Millisecond || s.End != 1500*time.Millisecond || s.Speaker != "A" {
		t.Errorf("%+v", s)
	}
	if u := all[2].Usage; !all[2].Done || u.Prompt.N != 14 || u.PromptAudio.N != 10 || u.Completion.N != 2 || all[2].Result.Transcript.Text != "Is" {
		t.Errorf("%+v", u)
	}
	for name, end := range map[string]string{"cut": "", "the mark alone": "data: [DONE]\n\n", "an error": "data: {\"error\":{\"message\":\"no\",\"code\":\"server_error\"}}\n\n", "no JSON": "data: {\n\n", "an event of an error": "data: {\"type\":\"error\",\"message\":\"no\"}\n\n"} {
		if _, err := collect(func(y func(*completion.Event, error) bool) { (&Dialect{}).streamTranscript(answerOf(stream+end), y) }); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stream of speech as OpenAI and vLLM-Omni send it (vllm-project/vllm-omni#4490): more members, and errors in the middle.
func TestSpeechStream(t *testing.T) {
	t.Parallel()
	const stream = "event: speech.audio.delta\ndata: {\"type\":\"speech.audio.delta\",\"audio\":\"UklGRg==\",\"response_format\":\"wav\"}\n\n: idle\n\ndata: {\"type\":\"speech.audio.delta\",\"audio\":\"\"}\n\n"
	speak := func(body string) ([]*completion.Event, error) {
		a := answerOf(body)
		return collect(func(y func(*completion.Event, error) bool) {
			new(Dialect).spoken(a, dialect.AudioReader(a), "audio/wav", y)
		})
	}
	all, err := speak(stream + "data: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":14,\"output_tokens\":101,\"total_tokens\":115}}\n\n")
	if err != nil || len(all) != 2 || string(all[0].Result.Audio.Data) != "RIFF" || !all[1].Done || all[1].Usage.Completion.N != 101 {
		t.Errorf("%+v, %v", all, err)
	}
	for name, end := range map[string]string{
		"cut": "", "the mark alone": "data: [DONE]\n\n", "an error": "data: {\"type\":\"speech.audio.error\",\"error\":{\"message\":\"no\"}}\n\n",
		"an error that says no more": "data: {\"type\":\"speech.audio.error\",\"message\":\"no\"}\n\n", "no base64": "data: {\"type\":\"speech.audio.delta\",\"audio\":\"!\"}\n\n",
	} {
		if _, err := speak(stream + end); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a server sends as a transcript or as speech, it is understood or a fault.
func FuzzAudioAnswers(f *testing.F) {
	f.Add("data: {\"type\":\"transcript.text.delta\",\"delta\":\"a\"}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":\"a\",\"usage\":{\"input_tokens\":-1}}\n\n")
	f.Add("data: {\"type\":\"speech.audio.delta\",\"audio\":\"UklGRg==\"}\n\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"output_tokens\":1e99}}\n\n")
	f.Add(`{"text":"a","duration":1e300,"segments":[{"id":0,"start":-1,"tokens":[1,2.5,99999999999]}],"words":[{"word":"a"}],"usage":{"seconds":"3"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		d := &Dialect{}
		for _, decode := range []func(func(*completion.Event, error) bool){
			func(y func(*completion.Event, error) bool) { d.streamTranscript(answerOf(body), y) },
			func(y func(*completion.Event, error) bool) {
				a := answerOf(body)
				d.spoken(a, dialect.AudioReader(a), "audio/mpeg", y)
			},
			func(y func(*completion.Event, error) bool) { y(d.wholeTranscript(answerOf(body))) },
		} {
			all, err := collect(decode)
			if ended := len(all) > 0 && all[len(all)-1].Done; ended == (err != nil) {
				t.Fatalf("%d events, %v", len(all), err)
			}
		}
	})
}
