package media_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/money"
)

// Each provider returns each format of its models, and is charged by time or by tokens.
func TestTranscriptions(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareListeners(t, &s.Declared) })
	t.Run("each", func(t *testing.T) {
		for i := range apptest.Listeners {
			t.Run(apptest.Listeners[i].Name, func(t *testing.T) {
				t.Parallel()
				apptest.Listeners[i].WantTranscripts(t, gw)
			})
		}
	})
	gw.WantBalanced(t)
}

// Voice messages of messengers are heard by each provider, under a name that it takes: OpenAI refuses ".opus", and takes the same bytes as
// ".ogg". Reports: diegosouzapw/OmniRoute#10588, DevEmperor/DictateKeyboard#322.
func TestVoiceMessages(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareListeners(t, &s.Declared) })
	a := gw.NewAccount(t)
	for name, recording := range map[string]string{"voice.oga": "voice.ogg", "PTT-20260101-WA0001.opus": "voice.ogg", "memo.ogg": "voice.ogg", "memo.flac": "plain.flac"} {
		file, err := os.ReadFile(filepath.Join("..", "..", "audio", "testdata", recording))
		if err != nil {
			t.Fatal(err)
		}
		for i := range apptest.Listeners {
			l := &apptest.Listeners[i]
			got := a.SendForm(t, nil, append(apptest.FormFields("model", l.At("")), apptest.Part{Name: "file", File: name, Value: string(file)})...)
			if l.Dialect == "yandex" && recording == "plain.flac" {
				if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "wav, mp3 and ogg only") {
					t.Errorf("%s of %s: %d %s", name, l.Name, got.Status, got.Body)
				}
				continue
			}
			if got.Transcript(t).Text == "" {
				t.Errorf("%s of %s: %s", name, l.Name, got.Body)
			}
		}
	}
	gw.WantBalanced(t)
}

// Options of OpenAI's wire: log probabilities, known speakers, an idempotency key, a missing usage.
func TestTranscriptionOptions(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		apptest.DeclareListeners(t, &s.Declared)
		for _, l := range apptest.Listeners[:2] {
			apptest.AddAudio(t, &s.Declared, catalog.TypeTranscription, l.Name+"-quiet", l.Dialect, l.Base, l.Prices(t), map[string]string{l.At("") + "-quiet": l.Model + "@usage=missing"})
		}
	})
	a := gw.NewAccount(t)
	gpt, diarize := &apptest.Listeners[1], &apptest.Listeners[2]
	if is := a.Transcribe(t, gpt.At(""), "include[]", "logprobs").Transcript(t); len(is.Logprobs) < 5 {
		t.Errorf("log probabilities: %+v", is)
	}
	reference := "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(apptest.Wave(3*time.Second))
	for name, more := range map[string][]string{
		"Agent": {"known_speaker_names[]", "Agent", "known_speaker_references[]", reference}, "speaker_1": {"known_speaker_references", reference},
	} {
		got := a.Transcribe(t, diarize.At(""), append(more, "response_format", "diarized_json")...)
		if is := got.Transcript(t); is.Segments[0].Speaker != name {
			t.Errorf("speaker %q, want %q", is.Segments[0].Speaker, name)
		}
	}
	stream := a.Transcribe(t, diarize.At(""), "response_format", "diarized_json", "stream", "true").Frames(t)
	if !slices.ContainsFunc(stream, func(f map[string]any) bool {
		return f["type"] == "transcript.text.segment" && f["speaker"] == "A" && f["id"] == "seg_001"
	}) {
		t.Errorf("no segments in the stream: %v", stream)
	}
	for i := range apptest.Listeners[:2] {
		l := &apptest.Listeners[i]
		is := a.Transcribe(t, l.At("")+"-quiet").Transcript(t)
		if l.Tokens { // the usage is estimated
			if u := is.Usage; u.InputTokens != 100 || u.Details.AudioTokens != 100 || u.OutputTokens < 10 || apptest.Parse(t, u.Cost) <= 0 {
				t.Errorf("missing usage: %+v", u)
			}
			continue
		}
		l.WantCost(t, is)
	}
	a.WantNothingHeld(t)
	gw.WantBalanced(t)
}

// A request with an idempotency key is answered once, even if the boundary of its form changes.
func TestTranscriptionNamed(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareListeners(t, &s.Declared) })
	a, l := gw.NewAccount(t), &apptest.Listeners[0]
	name := map[string]string{"Idempotency-Key": "hear-this"}
	file := apptest.Part{Name: "file", File: "speech.wav", Value: string(apptest.Wave(10 * time.Second))}
	first := a.SendForm(t, name, append(apptest.FormFields("model", l.At("")), file)...)
	spent := a.Credits(t).TotalUsage
	again := a.SendForm(t, name, append(apptest.FormFields("model", l.At("")), file)...)
	if first.Status != http.StatusOK || again.Status != http.StatusOK || !bytes.Equal(first.Body, again.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s, then %d %s", first.Status, first.Body, again.Status, again.Body)
	}
	other := a.SendForm(t, name, append(apptest.FormFields("model", l.At("")), apptest.Part{Name: "file", File: "speech.wav", Value: string(apptest.Wave(11 * time.Second))})...)
	if other.Status != http.StatusUnprocessableEntity {
		t.Errorf("another recording: %d %s", other.Status, other.Body)
	}
	if now := a.Credits(t).TotalUsage; now != spent {
		t.Errorf("spent %s, then %s", spent, now)
	}
	streamed := map[string]string{"Idempotency-Key": "hear-that"}
	parts := append(apptest.FormFields("model", apptest.Listeners[1].At(""), "stream", "true"), file)
	one, two := a.SendForm(t, streamed, parts...), a.SendForm(t, streamed, parts...)
	if one.Status != http.StatusOK || !bytes.Equal(one.Body, two.Body) {
		t.Errorf("%s, then %s", one.Body, two.Body)
	}
}

// A fault of an upstream gives the status that the matrix promises. It is not charged, and the request falls back to the next model's
// provider.
func TestTranscriptionMatrix(t *testing.T) {
	t.Parallel()
	var faults []string
	for i := range apptest.Matrix {
		if c := &apptest.Matrix[i]; !c.Waits && !c.Closed {
			faults = append(faults, c.Fault)
		}
	}
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareListeners(t, &s.Declared, faults...) })
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range apptest.Matrix {
		c := &apptest.Matrix[i]
		if c.Waits || c.Closed {
			continue
		}
		for j := range apptest.Listeners {
			l := &apptest.Listeners[j]
			for _, stream := range []bool{false, true} {
				if j > 0 && (i+j)%3 != 0 || !apptest.Shown(i, j) { // the first wire runs all cells, the others a third each
					continue
				}
				if stream && !l.Streams || !stream && c.Whole == 0 || l.Name == "hear-groq" || l.Name == "hear-diarize" { // groq and diarize use the same wire as others
					continue
				}
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(l.Name+"/"+c.Name(t)+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) { l.CheckCell(t, gw, c, stream) })
				})
			}
		}
	}
	all.Wait()
	gw.WantBalanced(t)
}

// A bad request is refused before a hold is made.
func TestTranscriptionRefusals(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		apptest.DeclareListeners(t, &s.Declared)
		apptest.AddAudio(t, &s.Declared, catalog.TypeTranscription, "own", "openai", "/v1", apptest.Listeners[0].Prices(t), map[string]string{"own/ears": "gpt-4o-transcribe"})
	})
	a := gw.NewAccount(t)
	file := apptest.Part{Name: "file", File: "speech.wav", Value: string(apptest.Wave(time.Second))}
	for name, tt := range map[string]struct {
		parts  []apptest.Part
		status int
		says   string
	}{
		"no file":           {apptest.FormFields("model", "hear-gpt/gpt-4o-transcribe"), 400, "is missing"},
		"no model":          {[]apptest.Part{file}, 400, "model"},
		"unknown model":     {append(apptest.FormFields("model", "none/such"), file), 404, "model_not_found"},
		"a format it lacks": {append(apptest.FormFields("model", "hear-gpt/gpt-4o-transcribe", "response_format", "srt"), file), 400, `"allowed":["json","text"]`},
		"srt upstream":      {append(apptest.FormFields("model", "own/ears", "response_format", "srt"), file), 400, `"message":"response_format srt needs`},
		"vtt upstream":      {append(apptest.FormFields("model", "own/ears", "response_format", "vtt"), file), 400, `"message":"response_format vtt needs`},
		"verbose upstream":  {append(apptest.FormFields("model", "own/ears", "response_format", "verbose_json"), file), 400, `verbose_json`},
		"flac":              {append(apptest.FormFields("model", "hear-whisper/whisper-1"), apptest.Part{Name: "file", File: "a.flac", Value: "fLaC"}), 400, "no audio"},
		"no sound":          {append(apptest.FormFields("model", "hear-whisper/whisper-1"), apptest.Part{Name: "file", File: "a.wav", Value: "no sound at all"}), 400, "file"},
	} {
		got := a.SendForm(t, nil, tt.parts...)
		if got.Status != tt.status || !strings.Contains(string(got.Body), tt.says) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if tt.says != `verbose_json` && strings.Contains(string(got.Body), `verbose_json`) {
			t.Errorf("%s speaks of another format: %s", name, got.Body)
		}
		got.WantEnvelope(t)
	}
	if got := a.Do(t, http.MethodPost, "/v1/audio/transcriptions", map[string]any{"model": "x"}); got.Status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d %s", got.Status, got.Body)
	}
	a.WantSpent(t, false)
	a.WantNothingHeld(t)
}

// Each provider returns each of its formats, as bytes and as events with the same bytes, and is charged by characters or tokens.
func TestSpeech(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareSpeakers(t, &s.Declared) })
	t.Run("each", func(t *testing.T) {
		for i := range apptest.Speakers {
			t.Run(apptest.Speakers[i].Name, func(t *testing.T) {
				t.Parallel()
				apptest.Speakers[i].WantAudio(t, gw)
			})
		}
	})
	gw.WantBalanced(t)
}

// Options that a client may send, and those that are refused.
func TestSpeechOptions(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareSpeakers(t, &s.Declared) })
	a := gw.NewAccount(t)
	gpt, eleven := &apptest.Speakers[0], &apptest.Speakers[2]
	for name, tt := range map[string]struct {
		body   map[string]any
		status int
		says   string
	}{
		"instructions":      {gpt.Asks(gpt.At(""), map[string]any{"instructions": "Whisper.", "speed": 1.5}), 200, ""},
		"a voice by its id": {gpt.Asks(gpt.At(""), map[string]any{"voice": map[string]any{"id": "voice_1234"}}), 200, ""},
		"speed":             {eleven.Asks(eleven.At(""), map[string]any{"speed": 1.1}), 200, ""},
		"settings":          {eleven.Asks(eleven.At(""), map[string]any{"voice_settings": map[string]any{"stability": 0.5}, "seed": 7}), 200, ""},
		"too fast":          {eleven.Asks(eleven.At(""), map[string]any{"speed": 2}), 400, "0.7 to 1.2"},
		"a voice by name":   {eleven.Asks(eleven.At(""), map[string]any{"voice": "../x"}), 400, "must be an id"},
		"no voice":          {eleven.Asks(eleven.At(""), map[string]any{"voice": nil}), 400, "voice"},
		"too long":          {gpt.Asks(gpt.At(""), map[string]any{"input": strings.Repeat("a", 4097)}), 400, "string_too_long"},
		"longer, elsewhere": {eleven.Asks(eleven.At(""), map[string]any{"input": strings.Repeat("a", 4097)}), 200, ""},
		"unknown member":    {gpt.Asks(gpt.At(""), map[string]any{"pitch": 1}), 400, "pitch"},
		"another type":      {map[string]any{"model": "test/next", "input": "x", "voice": "alloy"}, 400, "wrong_endpoint"},
	} {
		if got := a.Speak(t, tt.body); got.Status != tt.status || !strings.Contains(string(got.Body), tt.says) {
			t.Errorf("%s: %d %.300s", name, got.Status, got.Body)
		}
	}
	named := func(body map[string]any) *apptest.Answer {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return a.Send(t, http.MethodPost, "/v1/audio/speech", b, map[string]string{"Idempotency-Key": "say-it"})
	}
	one := named(gpt.Asks(gpt.At(""), nil))
	spent := a.Credits(t).TotalUsage
	two := named(gpt.Asks(gpt.At(""), nil))
	if one.Status != 200 || two.Status != 200 || !bytes.Equal(one.Body, two.Body) || two.Header.Get("Idempotent-Replayed") != "true" || two.Header.Get("Content-Type") != "audio/mpeg" {
		t.Errorf("named: %d, then %d %v", one.Status, two.Status, two.Header)
	}
	if now := a.Credits(t).TotalUsage; now != spent {
		t.Errorf("spent %s, then %s", spent, now)
	}
	a.WantNothingHeld(t)
	gw.WantBalanced(t)
}

// A fault of an upstream before the first audio gives the status that the matrix promises. After it, the response is cut without a regular
// end.
func TestSpeechMatrix(t *testing.T) {
	t.Parallel()
	var faults []string
	for i := range apptest.Matrix {
		if c := &apptest.Matrix[i]; !c.Waits && !c.Closed {
			faults = append(faults, c.Fault)
		}
	}
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { apptest.DeclareSpeakers(t, &s.Declared, faults...) })
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range apptest.Matrix {
		c := &apptest.Matrix[i]
		if c.Waits || c.Closed {
			continue
		}
		for j := range apptest.Speakers {
			if j > 0 && (i+j)%2 != 0 || !apptest.Shown(i, j/2) { // the first wire runs all cells, the others half each
				continue
			}
			for _, events := range []bool{false, true} {
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(apptest.Speakers[j].Name+"/"+c.Name(t)+map[bool]string{true: "/events", false: "/bytes"}[events], func(t *testing.T) { apptest.Speakers[j].CheckCell(t, gw, c, events) })
				})
			}
		}
	}
	all.Wait()
	gw.WantBalanced(t)
}

// A client that leaves in the middle of audio pays for the text, and no hold remains.
func TestSpeechGone(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		for _, sp := range apptest.Speakers[1:] {
			apptest.AddAudio(t, &s.Declared, catalog.TypeSpeech, sp.Name, sp.Dialect, sp.Base, catalog.Pricing{List: "test", Rates: catalog.Rates{Characters: apptest.Price(t, "1.5")}}, map[string]string{sp.At(""): sp.Model + "@fault=u5"})
		}
	})
	for i := range apptest.Speakers[1:] {
		sp := &apptest.Speakers[1+i]
		a := gw.NewAccount(t)
		b, err := json.Marshal(sp.Asks(sp.At(""), map[string]any{"response_format": "wav"}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, gw.URL+"/v1/audio/speech", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.Key)
		res, err := gw.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(res.Body, make([]byte, 4)); err != nil { // the first bytes arrive although the rest does not
			t.Fatalf("%s: %d %v", sp.Name, res.StatusCode, err)
		}
		leave()
		_ = res.Body.Close()
		want := money.Nano(len(apptest.SpokenText)) * 1_500_000
		apptest.WaitFor(t, "the charge", func() bool { return apptest.Parse(t, a.Credits(t).TotalUsage) == want })
		a.WantNothingHeld(t)
	}
	gw.WantBalanced(t)
}
