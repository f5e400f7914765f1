package e2e_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// recording returns a silent WAV file, 8 kHz and 8 bits.
func recording(length time.Duration) []byte {
	size := uint32(length.Milliseconds() * 8)
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+size)...)
	b = append(append(b, "WAVEfmt \x10\x00\x00\x00"...), 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0)
	b = binary.LittleEndian.AppendUint32(append(b, "data"...), size)
	return append(b, bytes.Repeat([]byte{0x80}, int(size))...)
}

func spokenFile() io.Reader {
	return openai.File(bytes.NewReader(recording(10*time.Second)), "speech.wav", "audio/wav")
}

func TestTranscriptions(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	for _, model := range []string{"sim/whisper", "sim/transcribe", "sim/diarize", "sim/listen", "sim/scribe", "sim/speechkit"} {
		answer, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{Model: model, File: spokenFile()})
		if err != nil {
			t.Fatalf("%s: %v", model, explain(err))
		}
		var is struct {
			Text  string
			Usage struct{ Cost json.Number }
		}
		if err := json.Unmarshal([]byte(answer.RawJSON()), &is); err != nil || is.Text == "" || answer.Text != is.Text || is.Usage.Cost == "" || is.Usage.Cost == "0" {
			t.Errorf("%s: %s", model, answer.RawJSON())
		}
	}
	verbose, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{
		Model: "sim/whisper", File: spokenFile(), ResponseFormat: openai.AudioResponseFormatVerboseJSON, TimestampGranularities: []string{"word", "segment"},
	})
	if err != nil {
		t.Fatal(explain(err))
	}
	if is := verbose.AsTranscriptionVerbose(); is.Duration != 10 || len(is.Segments) == 0 || is.Segments[0].ID != 0 || len(is.Words) < 5 || is.Language != "english" {
		t.Errorf("%s", verbose.RawJSON())
	}
	diarized, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{
		Model: "sim/diarize", File: spokenFile(), ResponseFormat: openai.AudioResponseFormatDiarizedJSON,
	})
	if err != nil {
		t.Fatal(explain(err))
	}
	var speakers struct {
		Segments []struct{ ID, Speaker string }
	}
	if err := json.Unmarshal([]byte(diarized.RawJSON()), &speakers); err != nil || len(speakers.Segments) < 2 || speakers.Segments[1].Speaker != "B" || speakers.Segments[1].ID != "seg_002" {
		t.Errorf("%v: %s", err, diarized.RawJSON())
	}
	for format, begin := range map[openai.AudioResponseFormat]string{
		openai.AudioResponseFormatText: "", openai.AudioResponseFormatSRT: "1\n00:00:00,000 --> ", openai.AudioResponseFormatVTT: "WEBVTT\n\n00:00:00.000 --> ",
	} {
		var plain []byte
		_, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{Model: "sim/whisper", File: spokenFile(), ResponseFormat: format}, option.WithResponseBodyInto(&plain))
		if err != nil || !strings.HasPrefix(string(plain), begin) || len(plain) < 10 {
			t.Errorf("%s: %v %s", format, err, plain)
		}
	}
}

func TestTranscriptionStream(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	stream := client.Audio.Transcriptions.NewStreaming(t.Context(), openai.AudioTranscriptionNewParams{Model: "sim/transcribe", File: spokenFile(), Include: []openai.TranscriptionInclude{openai.TranscriptionIncludeLogprobs}})
	defer stream.Close()
	said, ended := "", ""
	for stream.Next() {
		switch ev := stream.Current(); ev.Type {
		case "transcript.text.delta":
			said += ev.Delta
		case "transcript.text.done":
			if ended = ev.Text; ev.Usage.TotalTokens <= 0 {
				t.Errorf("usage %+v", ev.Usage)
			}
		}
	}
	if err := stream.Err(); err != nil || said == "" || said != ended {
		t.Errorf("%v: said %q, ended %q", err, said, ended)
	}
}

func TestSpeech(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	for model, voice := range map[string]string{"sim/speech": "alloy", "sim/speech-elevenlabs": "JBFqnCBsd6RMkjVDRZzb"} {
		res, err := client.Audio.Speech.New(t.Context(), openai.AudioSpeechNewParams{
			Model: model, Input: "A weir steers a river.", Voice: openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String(voice)}, ResponseFormat: openai.AudioSpeechNewParamsResponseFormatWAV,
		})
		if err != nil {
			t.Fatalf("%s: %v", model, explain(err))
		}
		audio, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.Header.Get("Content-Type") != "audio/wav" || !bytes.HasPrefix(audio, []byte("RIFF")) {
			t.Errorf("%s: %v, %s, %d bytes", model, err, res.Header.Get("Content-Type"), len(audio))
		}
	}
}
