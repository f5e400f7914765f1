package transcriptions_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/wire/transcriptions"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	refs := []string{reference(2 * time.Second), reference(10 * time.Second)}
	for name, tt := range map[string]struct {
		parts  []string
		model  string
		stream bool
		want   task.Transcription
	}{
		"the least":       {parts: []string{field("model", "whisper-1")}, model: "openai/whisper-1", want: task.Transcription{Response: "json"}},
		"a vendor":        {parts: []string{field("model", "groq/whisper-large-v3:nitro")}, model: "groq/whisper-large-v3:nitro", want: task.Transcription{Response: "json"}},
		"hints":           {parts: []string{field("model", "whisper-1"), field("language", "ru"), field("prompt", "Плотина"), field("temperature", "0.2")}, model: "openai/whisper-1", want: task.Transcription{Response: "json", Language: "ru", Prompt: "Плотина", Temperature: "0.2"}},
		"an empty format": {parts: []string{field("model", "whisper-1"), field("response_format", "")}, model: "openai/whisper-1", want: task.Transcription{Response: "json"}},
		"segments are what verbose_json has": {
			parts: []string{field("model", "whisper-1"), field("response_format", "verbose_json")}, model: "openai/whisper-1", want: task.Transcription{Response: "verbose_json", Segments: true},
		},
		"words alone": {
			parts: []string{field("model", "whisper-1"), field("response_format", "verbose_json"), field("timestamp_granularities[]", "word")}, model: "openai/whisper-1",
			want: task.Transcription{Response: "verbose_json", Words: true},
		},
		"both, without brackets": {
			parts: []string{field("model", "whisper-1"), field("timestamp_granularities", "word"), field("response_format", "verbose_json"), field("timestamp_granularities", "segment")},
			model: "openai/whisper-1", want: task.Transcription{Response: "verbose_json", Words: true, Segments: true},
		},
		"whisper does not stream": {parts: []string{field("model", "whisper-1"), field("stream", "true")}, model: "openai/whisper-1", want: task.Transcription{Response: "json"}},
		"a stream":                {parts: []string{field("model", "gpt-4o-transcribe"), field("stream", "1"), field("include[]", "logprobs")}, model: "openai/gpt-4o-transcribe", stream: true, want: task.Transcription{Response: "json", Logprobs: true}},
		"no stream":               {parts: []string{field("model", "gpt-4o-transcribe"), field("stream", "False")}, model: "openai/gpt-4o-transcribe", want: task.Transcription{Response: "json"}},
		"speakers are told apart in chunks": {
			parts: []string{field("model", "gpt-4o-transcribe-diarize"), field("response_format", "diarized_json")}, model: "openai/gpt-4o-transcribe-diarize",
			want: task.Transcription{Response: "diarized_json", Chunking: "auto"},
		},
		"chunks as asked": {
			parts: []string{field("model", "gpt-4o-transcribe-diarize"), field("chunking_strategy", `{"type":"server_vad"}`)}, model: "openai/gpt-4o-transcribe-diarize",
			want: task.Transcription{Response: "json", Chunking: `{"type":"server_vad"}`},
		},
		"known speakers": {
			parts: []string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_names[]", "Ann"), field("known_speaker_references[]", refs[0]), field("known_speaker_names[]", "Bob"), field("known_speaker_references[]", refs[1])},
			model: "openai/gpt-4o-transcribe-diarize", want: task.Transcription{Response: "json", Chunking: "auto", SpeakerNames: []string{"Ann", "Bob"}, SpeakerRefs: refs},
		},
		"references without names": {
			parts: []string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", refs[0]), field("known_speaker_references", refs[1])},
			model: "openai/gpt-4o-transcribe-diarize", want: task.Transcription{Response: "json", Chunking: "auto", SpeakerNames: []string{"speaker_1", "speaker_2"}, SpeakerRefs: refs},
		},
		"fields of its own": {
			parts: []string{field("model", "a/b"), field("vad[]", "x"), field("vad[]", "y")}, model: "a/b", want: task.Transcription{Response: "json", Extra: []task.Field{{Name: "vad[]", Value: "x"}, {Name: "vad[]", Value: "y"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := mustDecode(t, append(tt.parts, file("said.WAV", wave(1500*time.Millisecond)))...)
			tt.want.Format, tt.want.MediaType, tt.want.Duration, tt.want.Measured = "wav", "audio/wav", 1500*time.Millisecond, true
			if diff := cmp.Diff(&tt.want, req.Task, cmpopts.IgnoreFields(task.Transcription{}, "File")); diff != "" {
				t.Error(diff)
			}
			if req.Models[0] != tt.model || req.Stream != tt.stream || req.Needs.PromptTokens <= 0 {
				t.Errorf("model %q, stream %t, %+v", req.Models[0], req.Stream, req.Needs)
			}
		})
	}
}

// The kind of a file follows from its name, then from the type of its part, then from its bytes.
func TestDecodeFormat(t *testing.T) {
	t.Parallel()
	part := func(name, kind, data string) string {
		return "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\nContent-Type: " + kind + "\r\n\r\n" + data + "\r\n"
	}
	for name, tt := range map[string]struct{ part, want string }{
		"name":                 {part("a.wav", "audio/mpeg", wave(1e9)), "wav"},
		"type":                 {part("recording", "audio/x-wav", wave(1e9)), "wav"},
		"bytes":                {part("recording", "application/octet-stream", wave(1e9)), "wav"},
		"a misleading name":    {part("a.mp3", "audio/mpeg", wave(1e9)), "wav"},
		"a misleading type":    {part("recording", "audio/ogg", wave(1e9)), "wav"},
		"two names of one":     {part("a.mpeg", "audio/mpeg", strings.Repeat("\xff\xf3\x84\xc4"+strings.Repeat("\x00", 188), 10)), "mpeg"},
		"a voice message":      {part("voice.oga", "audio/ogg", voice(t)), "ogg"},
		"another":              {part("PTT-20260101-WA0001.opus", "audio/ogg; codecs=opus", voice(t)), "ogg"},
		"a name of no kind":    {part("a.amr", "audio/wav", wave(1e9)), ""},
		"a type of no kind":    {part("recording", "audio/amr", wave(1e9)), ""},
		"bytes of no kind":     {part("recording", "application/octet-stream", "fLaC and so on"), ""},
		"a name that promises": {part("a.wav", "audio/wav", "fLaC and so on"), ""},
		"nothing":              {part("a.wav", "audio/wav", ""), ""},
	} {
		req, err := decode(field("model", "whisper-1"), tt.part)
		if tt.want == "" {
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != "file" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || req.Task.(*task.Transcription).Format != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// voice is a voice message, in Opus.
func voice(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "audio", "testdata", "voice.ogg"))
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	three := reference(3 * time.Second)
	for name, tt := range map[string]struct {
		parts []string
		param string
		says  string
	}{
		"no model":                {nil, "model", "required"},
		"an empty model":          {[]string{field("model", "")}, "model", "empty"},
		"a model twice":           {[]string{field("model", "whisper-1"), field("model", "whisper-1")}, "model", "twice"},
		"no such format":          {[]string{field("model", "whisper-1"), field("response_format", "pdf")}, "response_format", "json, text"},
		"whisper, diarized":       {[]string{field("model", "whisper-1"), field("response_format", "diarized_json")}, "response_format", "json, text, srt, verbose_json, vtt"},
		"gpt, srt":                {[]string{field("model", "openai/gpt-4o-mini-transcribe"), field("response_format", "srt")}, "response_format", "json, text"},
		"gpt, verbose":            {[]string{field("model", "gpt-4o-transcribe"), field("response_format", "verbose_json")}, "response_format", "json, text"},
		"diarize, vtt":            {[]string{field("model", "gpt-4o-transcribe-diarize"), field("response_format", "vtt")}, "response_format", "json, text, diarized_json"},
		"temperature":             {[]string{field("model", "whisper-1"), field("temperature", "1.1")}, "temperature", "0 to 1"},
		"temperature of words":    {[]string{field("model", "whisper-1"), field("temperature", "NaN")}, "temperature", "0 to 1"},
		"language":                {[]string{field("model", "whisper-1"), field("language", strings.Repeat("e", 17))}, "language", "ISO 639-1"},
		"stream":                  {[]string{field("model", "gpt-4o-transcribe"), field("stream", "yes")}, "stream", "true or false"},
		"stream of text":          {[]string{field("model", "gpt-4o-transcribe"), field("stream", "true"), field("response_format", "text")}, "stream", "json or diarized_json"},
		"granularity":             {[]string{field("model", "whisper-1"), field("response_format", "verbose_json"), field("timestamp_granularities[]", "letter")}, "timestamp_granularities", "word, segment"},
		"granularity of json":     {[]string{field("model", "whisper-1"), field("timestamp_granularities[]", "word")}, "timestamp_granularities", "verbose_json"},
		"include":                 {[]string{field("model", "gpt-4o-transcribe"), field("include[]", "usage")}, "include", "logprobs"},
		"log probs of whisper":    {[]string{field("model", "whisper-1"), field("include[]", "logprobs")}, "include", "gpt-4o-transcribe"},
		"log probs of text":       {[]string{field("model", "gpt-4o-transcribe"), field("include[]", "logprobs"), field("response_format", "text")}, "include", "response_format json"},
		"prompt for diarize":      {[]string{field("model", "gpt-4o-transcribe-diarize"), field("prompt", "Hello")}, "prompt", "no prompt"},
		"chunks":                  {[]string{field("model", "gpt-4o-transcribe-diarize"), field("chunking_strategy", "some")}, "chunking_strategy", "server_vad"},
		"names without voices":    {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_names[]", "Ann")}, "known_speaker_references", "the same length"},
		"more voices than names":  {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_names[]", "Ann"), field("known_speaker_references[]", three), field("known_speaker_references[]", three)}, "known_speaker_references", "the same length"},
		"voices for whisper":      {[]string{field("model", "whisper-1"), field("known_speaker_references[]", three)}, "known_speaker_references", "separate speakers"},
		"five voices":             {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", three), field("known_speaker_references", three), field("known_speaker_references", three), field("known_speaker_references", three), field("known_speaker_references", three)}, "known_speaker_references", "4"},
		"a voice by address":      {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", "https://example.com/a.wav")}, "known_speaker_references", "data URL"},
		"a voice that is no data": {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", "data:audio/wav;base64,!!!")}, "known_speaker_references", "data URL"},
		"a voice that is none":    {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", "data:audio/wav;base64,aGVsbG8=")}, "known_speaker_references", "formats"},
		"a voice of a second":     {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", reference(time.Second))}, "known_speaker_references", "2 to 10"},
		"a voice of 11 seconds":   {[]string{field("model", "gpt-4o-transcribe-diarize"), field("known_speaker_references", reference(11*time.Second))}, "known_speaker_references", "2 to 10"},
		"preferences":             {[]string{field("model", "whisper-1"), field("provider", `{"order":1}`)}, "provider.order", "array"},
		"preferences of no JSON":  {[]string{field("model", "whisper-1"), field("provider", `openai`)}, "provider", "JSON"},
		"bytes of no text":        {[]string{field("model", "whisper-1"), field("prompt", "\xff")}, "prompt", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(append(tt.parts, file("a.wav", wave(time.Second)))...)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Param != tt.param || !strings.Contains(f.Public, tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "srt", "vtt"} {
		if got := transcriptions.ContentType(format); got != "text/plain; charset=utf-8" {
			t.Errorf("%s: %q", format, got)
		}
	}
	for _, format := range []string{"json", "verbose_json", "diarized_json"} {
		if got := transcriptions.ContentType(format); got != "application/json; charset=utf-8" {
			t.Errorf("%s: %q", format, got)
		}
	}
}
