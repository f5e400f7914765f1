package elevenlabs

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/task"
)

var endpoint = &catalog.Endpoint{Provider: &catalog.Provider{Name: "ElevenLabs", Key: "k"}, UpstreamID: "scribe_v2"}

// formOf reads the form of a call: its fields, and its files.
func formOf(t *testing.T, c dialect.Call) (fields map[string][]string, files map[string]string) {
	t.Helper()
	body, size := c.Content()
	b, err := io.ReadAll(body)
	if err != nil || int64(len(b)) != size {
		t.Fatalf("%d bytes of %d, %v", len(b), size, err)
	}
	_, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(bytes.NewReader(b), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for name, headers := range form.File {
		f, err := headers[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = headers[0].Filename + " " + headers[0].Header.Get("Content-Type") + " " + string(data)
	}
	return form.Value, files
}

func TestTranscriptionCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		task task.Transcription
		want map[string][]string
	}{
		"the least": {task.Transcription{Response: "json"}, map[string][]string{"model_id": {"scribe_v2"}, "timestamps_granularity": {"word"}, "tag_audio_events": {"false"}}},
		"all": {
			task.Transcription{Response: "diarized_json", Language: "ru", Temperature: "0.5", Extra: []task.Field{{Name: "num_speakers", Value: "2"}, {Name: "tag_audio_events", Value: "true"}, {Name: "webhook", Value: "true"}}},
			map[string][]string{"model_id": {"scribe_v2"}, "timestamps_granularity": {"word"}, "tag_audio_events": {"true"}, "language_code": {"ru"}, "temperature": {"0.5"}, "diarize": {"true"}, "num_speakers": {"2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.task.File, tt.task.Format, tt.task.MediaType = bytes.NewReader([]byte("RIFF")), "wav", "audio/wav"
			fields, files := formOf(t, transcriptionCall(endpoint, &tt.task))
			if diff := cmp.Diff(tt.want, fields); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"file": "audio.wav audio/wav RIFF"}, files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadTranscript(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	ev, err := readTranscript(endpoint, []byte(`{"language_code":"eng","language_probability":0.98,"text":"Is it? Yes.","transcription_id":"t-1","audio_duration_secs":3.25,"words":[
		{"text":"Is","start":0.1,"end":0.3,"type":"word","speaker_id":"speaker_1"},{"text":" ","start":0.3,"end":0.35,"type":"spacing","speaker_id":"speaker_1"},
		{"text":"it?","start":0.35,"end":0.6,"type":"word","speaker_id":"speaker_1"},{"text":" ","start":0.6,"end":2,"type":"spacing","speaker_id":"speaker_1"},
		{"text":"Yes.","start":2,"end":2.5,"type":"word","speaker_id":"speaker_0"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &task.Transcript{
		Final: true, Text: "Is it? Yes.", Language: "eng", Duration: ms(3250),
		Segments: []task.Segment{{Start: ms(100), End: ms(600), Text: "Is it?", Speaker: "A"}, {Start: ms(2000), End: ms(2500), Text: "Yes.", Speaker: "B"}},
		Words:    []task.Word{{Text: "Is", Start: ms(100), End: ms(300), Speaker: "A"}, {Text: "it?", Start: ms(350), End: ms(600), Speaker: "A"}, {Text: "Yes.", Start: ms(2000), End: ms(2500), Speaker: "B"}},
	}
	if diff := cmp.Diff(want, ev.Result.Transcript); diff != "" {
		t.Error(diff)
	}
	if ev.Head.ID != "t-1" || ev.Usage.Millis.N != 3250 || !ev.Done {
		t.Errorf("%+v, usage %+v", ev.Head, ev.Usage)
	}
	if _, err := readTranscript(endpoint, []byte(`{"words":[]}`)); !fault.Is(err, fault.ProviderUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestSpeechCall(t *testing.T) {
	t.Parallel()
	c := speechCall(endpoint, &task.Speech{Input: "Привет \"мир\"", Voice: "abc", Format: "opus", Speed: "1.1", Extra: []task.Extra{{Name: "seed", Value: []byte("7")}, {Name: "model_id", Value: []byte(`"other"`)}}})
	if want := `{"text":"Привет \"мир\"","model_id":"scribe_v2","seed":7,"voice_settings":{"speed":1.1}}`; string(c.Body) != want || !json.Valid(c.Body) {
		t.Errorf("%s", c.Body)
	}
	if c.Path != "/v1/text-to-speech/abc/stream?output_format=opus_48000_64" || !c.Stream {
		t.Errorf("%+v", c)
	}
	own := speechCall(endpoint, &task.Speech{Input: "x", Voice: "abc", Format: "mp3", Speed: "1.1", Extra: []task.Extra{{Name: "voice_settings", Value: []byte(`{"speed":0.9}`)}}})
	if want := `{"text":"x","model_id":"scribe_v2","voice_settings":{"speed":0.9}}`; string(own.Body) != want {
		t.Errorf("%s", own.Body)
	}
	for voice, want := range map[string]bool{"JBFqnCBsd6RMkjVDRZzb": true, "": false, "ab": false, "../admin": false, "a b": false, "a?b=c": false, "голос": false} {
		if isVoice(voice) != want {
			t.Errorf("%q", voice)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		kind   fault.Kind
		public string
	}{
		{400, `{"detail":{"status":"text_too_long","message":"The text is too long."}}`, fault.Invalid, "The text is too long."},
		{422, `{"detail":[{"type":"missing","loc":["body","text"],"msg":"Field required"}]}`, fault.Invalid, "Field required"},
		{400, `{"detail":"Nothing to say."}`, fault.Invalid, "Nothing to say."},
		{401, `{"detail":{"status":"invalid_api_key","message":"Invalid API key"}}`, fault.ProviderUnavailable, "The provider did not accept the gateway's request."},
		// elevenlabs/elevenlabs-docs#1317, skapadia3214/groq-voice#1 and elevenlabs/elevenlabs-python#293: three forms of one mistake
		{404, `{"detail":{"status":"voice_not_found","message":"A voice with the voice_id foo was not found."}}`, fault.Invalid, "A voice with the voice_id foo was not found."},
		{400, `{"detail":{"status":"voice_not_found","message":"A voice for the voice_id foo was not found."}}`, fault.Invalid, "A voice for the voice_id foo was not found."},
		{400, `{"detail":{"status":"voice_does_not_exist","message":"A voice with voice_id foo does not exist."}}`, fault.Invalid, "A voice with voice_id foo does not exist."},
		{404, `{"detail":{"type":"not_found","code":"voice_not_found","message":"Not here.","status":"not_found"}}`, fault.Invalid, "Not here."},
		{404, `{"detail":"Not Found"}`, fault.ProviderUnavailable, "The provider does not serve this model at present."},
		// dograh-hq/dograh#290, OWASP/Nest#3861, ENTERPILOT/GoModel#787: the account's plan, which is none of the client's business
		{402, `{"detail":{"type":"payment_required","code":"paid_plan_required","message":"Free users cannot use library voices via the API.","status":"payment_required","request_id":"0"}}`, fault.ProviderUnavailable, "The provider did not accept the gateway's request."},
		{401, `{"detail":{"status":"detected_unusual_activity","message":"Unusual activity detected. Free Tier usage disabled."}}`, fault.ProviderUnavailable, "The provider did not accept the gateway's request."},
		{403, `{"detail":{"status":"output_format_not_allowed","message":"Output format 'pcm_44100' is only available on the Pro tier and above"}}`, fault.ProviderUnavailable, "The provider did not accept the gateway's request."},
		{500, `<html>`, fault.ProviderUnavailable, "The provider failed."},
	} {
		f := (&Dialect{}).Failure(endpoint, tt.status, nil, []byte(tt.body))
		if f.Kind != tt.kind || f.Public != tt.public {
			t.Errorf("%d %s: %v", tt.status, tt.body, f)
		}
		if strings.Contains(tt.body, "voice_") && f.Next != fault.NextEndpoint { // another provider may have the voice
			t.Errorf("%d %s: next %d", tt.status, tt.body, f.Next)
		}
	}
}

// The formats that every plan has: 44.1 kHz are refused below Pro (ENTERPILOT/GoModel#787).
func TestFormatsOfEveryPlan(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"mp3": "mp3_44100_128", "opus": "opus_48000_64", "pcm": "pcm_24000", "wav": "wav_24000"} {
		if c := speechCall(endpoint, &task.Speech{Input: "x", Voice: "abc", Format: format}); !strings.HasSuffix(c.Path, "?output_format="+want) {
			t.Errorf("%s: %s", format, c.Path)
		}
	}
}

// Whatever a provider sends, it is a transcript or a fault.
func FuzzReadTranscript(f *testing.F) {
	f.Add([]byte(`{"language_code":"eng","text":"a b","words":[{"text":"a","start":0,"end":1e300,"type":"word"},{"text":" ","type":"spacing"},{"text":"b","start":"1","speaker_id":"x"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		ev, err := readTranscript(endpoint, body)
		if (err == nil) != (ev != nil && ev.Done && ev.Result.Transcript.Final) {
			t.Fatalf("%+v, %v", ev, err)
		}
		_ = (&Dialect{}).Failure(endpoint, 400, nil, body)
	})
}
