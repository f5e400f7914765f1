package yandex

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/task"
)

var kit = &catalog.Endpoint{Provider: &catalog.Provider{Name: "Yandex"}, UpstreamID: "general"}

// The body is JSON of exactly the length that is announced, with the whole recording in it, whatever its length.
func TestSubmission(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Repeat([]byte{0, 1, 254, 255, 7}, rapid.IntRange(0, 4000).Draw(t, "fives"))
		data = data[rapid.IntRange(0, min(4, len(data))).Draw(t, "cut"):]
		c := submission(kit, &task.Transcription{File: bytes.NewReader(data), Format: "mp3", Response: "diarized_json", Language: "ru"})
		r, size := c.Content()
		b, err := io.ReadAll(r)
		if err != nil || int64(len(b)) != size {
			t.Fatalf("%d bytes of %d, %v", len(b), size, err)
		}
		var body struct {
			Content          string
			SpeakerLabeling  struct{ SpeakerLabeling string }
			RecognitionModel struct {
				Model       string
				AudioFormat struct {
					ContainerAudio struct{ ContainerAudioType string }
				}
				LanguageRestriction struct{ LanguageCode []string }
			}
		}
		if err := json.Unmarshal(b, &body); err != nil {
			t.Fatal(err)
		}
		got, err := base64.StdEncoding.DecodeString(body.Content)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(data), err)
		}
		m := body.RecognitionModel
		if m.Model != "general" || m.AudioFormat.ContainerAudio.ContainerAudioType != "MP3" || m.LanguageRestriction.LanguageCode[0] != "ru-RU" || body.SpeakerLabeling.SpeakerLabeling != "SPEAKER_LABELING_ENABLED" {
			t.Fatalf("%+v", body)
		}
	})
}

func TestInBase64(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("weir"), 5000)
	got, err := io.ReadAll(iotest.OneByteReader(&inBase64{r: iotest.HalfReader(bytes.NewReader(data))}))
	if err != nil || string(got) != base64.StdEncoding.EncodeToString(data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := io.ReadAll(&inBase64{r: iotest.ErrReader(io.ErrClosedPipe)}); err != io.ErrClosedPipe {
		t.Errorf("%v", err)
	}
}

func TestOperationURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://stt.api.cloud.yandex.net": "https://operation.api.cloud.yandex.net/operations/f8%2F1",
		"http://127.0.0.1:1/yandex":        "http://127.0.0.1:1/yandex/operations/f8%2F1",
	} {
		if got := operationURL(base, "f8/1"); got != want {
			t.Errorf("%s: %s", base, got)
		}
	}
}

const recognition = `{"result":{"audioCursors":{"finalIndex":"0"},"final":{"alternatives":[{"words":[{"text":"is","startTimeMs":"100","endTimeMs":"300"}],"text":"is it","startTimeMs":"100","endTimeMs":"600","languages":[{"languageCode":"en-US"}]}]},"channelTag":"1"}}
{"result":{"audioCursors":{"finalIndex":"0"},"finalRefinement":{"finalIndex":"0","normalizedText":{"alternatives":[{"text":"Is it?"}]}},"channelTag":"1"}}
{"result":{"audioCursors":{"finalIndex":"1"},"final":{"alternatives":[{"words":[],"text":"yes","startTimeMs":"2000","endTimeMs":"2500"}]},"channelTag":"0"}}

{"result":{"audioCursors":{},"eouUpdate":{"timeMs":"2500"},"channelTag":"0"}}
`

func TestReadRecognition(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	want := &task.Transcript{
		Final: true, Text: "Is it? yes", Language: "en-US",
		Segments: []task.Segment{{Start: ms(100), End: ms(600), Text: "Is it?", Speaker: "A"}, {Start: ms(2000), End: ms(2500), Text: "yes", Speaker: "B"}},
		Words:    []task.Word{{Text: "is", Start: ms(100), End: ms(300), Speaker: "A"}},
	}
	ev, err := readRecognition(kit, &task.Transcription{Response: "diarized_json"}, []byte(recognition))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, ev.Result.Transcript); diff != "" {
		t.Error(diff)
	}
	if ev, err = readRecognition(kit, &task.Transcription{Response: "json"}, []byte(recognition)); err != nil || ev.Result.Transcript.Segments[0].Speaker != "" {
		t.Errorf("%v: a channel is no speaker: %+v", err, ev)
	}
	for _, broken := range []string{"", "{}", "<html>", "{\"result\":{}}\n", recognition + "{"} {
		if _, err := readRecognition(kit, &task.Transcription{}, []byte(broken)); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

// A recording of several channels, whose texts may be numbered apart, and a distribution over languages (Yandex Cloud, SpeechKit API v3:
// AsyncRecognizer.GetRecognition). Numbers that are 0 may be missing, as in all JSON of protocol buffers.
func TestReadChannels(t *testing.T) {
	t.Parallel()
	const lines = `{"result":{"audioCursors":{"finalIndex":"0"},"final":{"alternatives":[{"words":[{"text":"yes","startTimeMs":"2000","endTimeMs":"2400"}],"text":"yes","startTimeMs":"2000","endTimeMs":"2500","languages":[{"languageCode":"en-US","probability":0.08},{"languageCode":"ru-RU","probability":"0.91"}]}],"channelTag":"1"},"channelTag":"1"}}
{"result":{"audioCursors":{},"final":{"alternatives":[{"words":[{"text":"is","endTimeMs":"300"}],"text":"is it","endTimeMs":"600"}],"channelTag":"0"}}}
{"result":{"audioCursors":{},"finalRefinement":{"normalizedText":{"alternatives":[{"text":"Is it?"}],"channelTag":"0"}}}}
{"result":{"audioCursors":{},"finalRefinement":{"finalIndex":"0","normalizedText":{"alternatives":[{"text":"Yes."}],"channelTag":"1"}},"channelTag":"1"}}
`
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	ev, err := readRecognition(kit, &task.Transcription{Response: "json"}, []byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	want := &task.Transcript{
		Final: true, Text: "Is it? Yes.", Language: "ru-RU",
		Segments: []task.Segment{{End: ms(600), Text: "Is it?"}, {Start: ms(2000), End: ms(2500), Text: "Yes."}},
		Words:    []task.Word{{Text: "is", End: ms(300)}, {Text: "yes", Start: ms(2000), End: ms(2400)}},
	}
	if diff := cmp.Diff(want, ev.Result.Transcript); diff != "" {
		t.Error(diff)
	}
}

// Whatever a provider sends, it is a transcript or a fault.
func FuzzReadRecognition(f *testing.F) {
	f.Add([]byte(recognition))
	f.Add([]byte(`{"result":{"audioCursors":{"finalIndex":-1},"final":{"alternatives":[{"startTimeMs":"99999999999999999999","words":[{"endTimeMs":-5}]}]}}}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		ev, err := readRecognition(kit, &task.Transcription{Response: "diarized_json"}, lines)
		if (err == nil) != (ev != nil && ev.Done && ev.Result.Transcript.Final) {
			t.Fatalf("%+v, %v", ev, err)
		}
	})
}
