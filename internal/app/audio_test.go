package app_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
)

// listener is a transcription provider, on a wire of the simulator.
type listener struct {
	name    string // of the provider; also the vendor of its models
	dialect string
	base    string // path on the simulator
	model   string // the simulator's name of the model
	slug    string // the model's name here; the catalog knows the parameters of that name
	tokens  bool   // priced by tokens; else by the minute
	words   bool
	letters bool // labels speakers
	streams bool
	notice  bool // has no field for a prompt, so that the client gets a notice
}

var listeners = []listener{
	{name: "hear-whisper", dialect: "openai", base: "/v1", model: "whisper-1", slug: "whisper-1", words: true},
	{name: "hear-gpt", dialect: "openai", base: "/v1", model: "gpt-4o-transcribe", slug: "gpt-4o-transcribe", tokens: true, streams: true},
	{name: "hear-diarize", dialect: "openai", base: "/v1", model: "gpt-4o-transcribe-diarize", slug: "gpt-4o-transcribe-diarize", tokens: true, streams: true, letters: true},
	{name: "hear-groq", dialect: "openai", base: "/groq/openai/v1", model: "whisper-large-v3", slug: "whisper-large-v3", words: true},
	{name: "hear-deepgram", dialect: "deepgram", base: "/deepgram", model: "nova-3", slug: "nova-3", words: true, letters: true, notice: true},
	{name: "hear-eleven", dialect: "elevenlabs", base: "/elevenlabs", model: "scribe_v2", slug: "scribe_v2", words: true, letters: true, notice: true},
	{name: "hear-yandex", dialect: "yandex", base: "/yandex", model: "general", slug: "general", words: true, letters: true, notice: true},
}

func (l *listener) at(fault string) string {
	if fault == "" {
		return l.name + "/" + l.slug
	}
	return l.name + "/" + l.slug + strings.TrimPrefix((&cell{fault: fault}).slug(), "test/")
}

// prices are per token or per minute.
func (l *listener) prices(t *testing.T) catalog.Pricing {
	if l.tokens {
		return catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: price(t, "0.1"), Audio: price(t, "0.2"), Completion: price(t, "0.4")}}
	}
	return catalog.Pricing{List: "test", Minute: price(t, "0.6")}
}

// addAudio adds the providers, each with a working model and one model per fault.
func addAudio(t *testing.T, d *catalog.Declared, kind, name, dialect, base string, prices catalog.Pricing, models map[string]string) {
	t.Helper()
	at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
	origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	d.Providers = append(d.Providers, catalog.Provider{ID: name, Name: name, Dialect: dialect, BaseURL: origin + base, Key: "sk-upstream-key"})
	for slug, model := range models {
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: kind})
		d.Offers = append(d.Offers, catalog.Offer{Provider: name, Model: slug, UpstreamID: model, Pricing: prices})
	}
}

func declareListeners(t *testing.T, d *catalog.Declared, faults ...string) {
	for i := range listeners {
		l := &listeners[i]
		models := map[string]string{l.at(""): l.model}
		for _, f := range faults {
			models[l.at(f)] = l.model + "@fault=" + f
		}
		addAudio(t, d, catalog.TypeTranscription, l.name, l.dialect, l.base, l.prices(t), models)
	}
}

// wave returns a silent WAV file, 8 kHz and 8 bits.
func wave(length time.Duration) []byte {
	size := uint32(length.Milliseconds() * 8)
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+size)...)
	b = append(append(b, "WAVEfmt \x10\x00\x00\x00"...), 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0)
	b = binary.LittleEndian.AppendUint32(append(b, "data"...), size)
	return append(b, bytes.Repeat([]byte{0x80}, int(size))...)
}

// part is a field of a form; with a file name it is a file.
type part struct{ name, file, value string }

func formFields(pairs ...string) (out []part) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, part{name: pairs[i], value: pairs[i+1]})
	}
	return out
}

func form(t *testing.T, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file != "" {
			h = textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"; filename="` + p.file + `"`}, "Content-Type": {"audio/wav"}}
		}
		pw, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pw.Write([]byte(p.value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// transcribe sends a recording of ten seconds.
func (a *account) transcribe(t *testing.T, model string, more ...string) *answer {
	t.Helper()
	return a.sendForm(t, nil, append(formFields(append([]string{"model", model}, more...)...), part{"file", "speech.wav", string(wave(10 * time.Second))})...)
}

func (a *account) sendForm(t *testing.T, header map[string]string, parts ...part) *answer {
	t.Helper()
	body, contentType := form(t, parts...)
	all := map[string]string{"Content-Type": contentType}
	for k, v := range header {
		all[k] = v
	}
	return a.send(t, http.MethodPost, "/v1/audio/transcriptions", body, all)
}

type transcript struct {
	Task     string
	Language string
	Duration float64
	Text     string
	Segments []struct {
		ID         json.RawMessage
		Type       string
		Start, End float64
		Text       string
		Speaker    string
	}
	Words []struct {
		Word       string
		Start, End float64
	}
	Logprobs []struct{ Token string }
	Usage    struct {
		Type         string
		Seconds      float64
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
		TotalTokens  int64 `json:"total_tokens"`
		Details      struct {
			AudioTokens int64 `json:"audio_tokens"`
			TextTokens  int64 `json:"text_tokens"`
		} `json:"input_token_details"`
		Cost json.Number
	}
	Metadata struct{ Notice string }
}

func (a *answer) transcript(t *testing.T) *transcript {
	t.Helper()
	var out transcript
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("status %d, %v, %s: %.500s", a.status, err, a.header.Get("Content-Type"), a.body)
	}
	return &out
}

// wantCost checks that a transcript costs its usage times the price.
func (l *listener) wantCost(t *testing.T, is *transcript) money.Nano {
	t.Helper()
	u := &is.Usage
	cost := parse(t, u.Cost)
	if !l.tokens {
		if want := money.Nano(100_000_000); u.Type != "duration" || u.Seconds != 10 || cost != want { // a sixth of a minute at 0.6 rubles
			t.Errorf("usage %+v, want %d", u, want)
		}
		return cost
	}
	want := money.Nano(u.Details.TextTokens*100_000 + u.Details.AudioTokens*200_000 + u.OutputTokens*400_000)
	if u.Type != "tokens" || u.InputTokens < 90 || u.OutputTokens < 10 || u.TotalTokens != u.InputTokens+u.OutputTokens || cost != want {
		t.Errorf("usage %+v, want %d", u, want)
	}
	return cost
}

// Each provider returns each format of its models, and is charged by time or by tokens.
func TestTranscriptions(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareListeners(t, &s.Declared) })
	t.Run("each", func(t *testing.T) {
		for i := range listeners {
			t.Run(listeners[i].name, func(t *testing.T) {
				t.Parallel()
				listeners[i].wantTranscripts(t, gw)
			})
		}
	})
	gw.wantBalanced(t)
}

func (l *listener) wantTranscripts(t *testing.T, gw *gateway) {

	a := gw.newAccount(t)
	first := a.transcribe(t, l.at(""))
	is := first.transcript(t)
	spent := l.wantCost(t, is)
	if is.Text == "" || is.Segments != nil || is.Words != nil || is.Task != "" {
		t.Errorf("json: %s", first.body)
	}
	if g := a.generation(t, first.header.Get("X-Generation-Id")); parse(t, g.TotalCost) != spent {
		t.Errorf("generation %+v, spent %d", g, spent)
	}
	text := a.transcribe(t, l.at(""), "response_format", "text")
	if got := string(text.body); text.status != http.StatusOK || text.header.Get("Content-Type") != "text/plain; charset=utf-8" || got != is.Text+"\n" {
		t.Errorf("text: %d %s %q, want %q", text.status, text.header.Get("Content-Type"), got, is.Text)
	}
	if l.words {
		l.wantVerbose(t, a, is.Text)
		l.wantSubtitles(t, a)
	}
	if l.letters {
		l.wantSpeakers(t, a)
	}
	if !l.streams && !strings.HasPrefix(l.slug, "whisper") || l.streams {
		l.wantStream(t, a, is.Text)
	}
	if l.notice {
		if is := a.transcribe(t, l.at(""), "prompt", "Weirs.").transcript(t); !strings.Contains(is.Metadata.Notice, "prompt") {
			t.Errorf("notice %q", is.Metadata.Notice)
		}
	}
	a.wantNothingHeld(t)
}

func (l *listener) wantVerbose(t *testing.T, a *account, text string) {
	t.Helper()
	got := a.transcribe(t, l.at(""), "response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
	is := got.transcript(t)
	l.wantCost(t, is)
	if is.Task != "transcribe" || is.Language == "" || is.Duration != 10 || is.Text != text || len(is.Segments) == 0 || len(is.Words) < 5 {
		t.Fatalf("verbose_json: %s", got.body)
	}
	if string(is.Segments[0].ID) != "0" || is.Segments[0].Speaker != "" {
		t.Errorf("segment %s, speaker %q", is.Segments[0].ID, is.Segments[0].Speaker)
	}
	at := 0.0
	for _, s := range is.Segments {
		if s.Start < at || s.End < s.Start || s.End > 10.01 || strings.TrimSpace(s.Text) == "" {
			t.Errorf("segment %+v after %v", s, at)
		}
		at = s.Start
	}
	strict := a.sendForm(t, map[string]string{"X-Response-Schema": "strict"}, append(formFields("model", l.at(""), "response_format", "verbose_json"), part{"file", "speech.wav", string(wave(10 * time.Second))})...).transcript(t)
	if len(strict.Segments) == 0 || string(strict.Segments[0].ID) != `"0"` || strict.Words != nil {
		t.Errorf("strict: %+v", strict)
	}
}

func (l *listener) wantSubtitles(t *testing.T, a *account) {
	t.Helper()
	for format, begin := range map[string]string{"srt": "1\n00:00:00,000 --> 00:00:", "vtt": "WEBVTT\n\n00:00:00.000 --> 00:00:"} {
		got := a.transcribe(t, l.at(""), "response_format", format)
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(string(got.body), begin) {
			t.Errorf("%s: %d %s %s", format, got.status, got.header.Get("Content-Type"), got.body)
		}
	}
}

func (l *listener) wantSpeakers(t *testing.T, a *account) {
	t.Helper()
	got := a.transcribe(t, l.at(""), "response_format", "diarized_json")
	is := got.transcript(t)
	if is.Task != "transcribe" || is.Duration != 10 || len(is.Segments) < 2 {
		t.Fatalf("diarized_json: %s", got.body)
	}
	for i, want := range []string{"A", "B"} {
		if s := is.Segments[i]; s.Type != "transcript.text.segment" || s.Speaker != want || string(s.ID) != []string{`"seg_001"`, `"seg_002"`}[i] || s.Text == "" {
			t.Errorf("segment %d: %+v", i, s)
		}
	}
}

func (l *listener) wantStream(t *testing.T, a *account, text string) {
	t.Helper()
	got := a.transcribe(t, l.at(""), "stream", "true")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("stream: %d %s", got.status, got.body)
	}
	all, said := got.frames(t), ""
	for i, f := range all {
		last := i == len(all)-1
		if kind, _ := f["type"].(string); kind != map[bool]string{true: "transcript.text.done", false: "transcript.text.delta"}[last] {
			t.Errorf("frame %d: %v", i, f)
		}
		delta, _ := f["delta"].(string)
		said += delta
	}
	end := all[len(all)-1]
	if said != text || end["text"] != text || end["usage"] == nil || l.streams && len(all) < 3 {
		t.Errorf("said %q, want %q: %s", said, text, got.body)
	}
}

// Options of OpenAI's wire: log probabilities, known speakers, an idempotency key, a missing usage.
func TestTranscriptionOptions(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) {
		declareListeners(t, &s.Declared)
		for _, l := range listeners[:2] {
			addAudio(t, &s.Declared, catalog.TypeTranscription, l.name+"-quiet", l.dialect, l.base, l.prices(t), map[string]string{l.at("") + "-quiet": l.model + "@usage=missing"})
		}
	})
	a := gw.newAccount(t)
	gpt, diarize := &listeners[1], &listeners[2]
	if is := a.transcribe(t, gpt.at(""), "include[]", "logprobs").transcript(t); len(is.Logprobs) < 5 {
		t.Errorf("log probabilities: %+v", is)
	}
	reference := "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(wave(3*time.Second))
	for name, more := range map[string][]string{
		"Agent": {"known_speaker_names[]", "Agent", "known_speaker_references[]", reference}, "A": {"known_speaker_references", reference},
	} {
		got := a.transcribe(t, diarize.at(""), append(more, "response_format", "diarized_json")...)
		if is := got.transcript(t); is.Segments[0].Speaker != name {
			t.Errorf("speaker %q, want %q", is.Segments[0].Speaker, name)
		}
	}
	stream := a.transcribe(t, diarize.at(""), "response_format", "diarized_json", "stream", "true").frames(t)
	if !slices.ContainsFunc(stream, func(f map[string]any) bool {
		return f["type"] == "transcript.text.segment" && f["speaker"] == "A" && f["id"] == "seg_001"
	}) {
		t.Errorf("no segments in the stream: %v", stream)
	}
	for i := range listeners[:2] {
		l := &listeners[i]
		is := a.transcribe(t, l.at("")+"-quiet").transcript(t)
		if l.tokens { // the usage is estimated
			if u := is.Usage; u.InputTokens != 100 || u.Details.AudioTokens != 100 || u.OutputTokens < 10 || parse(t, u.Cost) <= 0 {
				t.Errorf("missing usage: %+v", u)
			}
			continue
		}
		l.wantCost(t, is)
	}
	a.wantNothingHeld(t)
	gw.wantBalanced(t)
}

// A request with an idempotency key is answered once, even if the boundary of its form changes.
func TestTranscriptionNamed(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareListeners(t, &s.Declared) })
	a, l := gw.newAccount(t), &listeners[0]
	name := map[string]string{"Idempotency-Key": "hear-this"}
	file := part{"file", "speech.wav", string(wave(10 * time.Second))}
	first := a.sendForm(t, name, append(formFields("model", l.at("")), file)...)
	spent := a.credits(t).TotalUsage
	again := a.sendForm(t, name, append(formFields("model", l.at("")), file)...)
	if first.status != http.StatusOK || again.status != http.StatusOK || !bytes.Equal(first.body, again.body) || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s, then %d %s", first.status, first.body, again.status, again.body)
	}
	other := a.sendForm(t, name, append(formFields("model", l.at("")), part{"file", "speech.wav", string(wave(11 * time.Second))})...)
	if other.status != http.StatusUnprocessableEntity {
		t.Errorf("another recording: %d %s", other.status, other.body)
	}
	if now := a.credits(t).TotalUsage; now != spent {
		t.Errorf("spent %s, then %s", spent, now)
	}
	streamed := map[string]string{"Idempotency-Key": "hear-that"}
	parts := append(formFields("model", listeners[1].at(""), "stream", "true"), file)
	one, two := a.sendForm(t, streamed, parts...), a.sendForm(t, streamed, parts...)
	if one.status != http.StatusOK || !bytes.Equal(one.body, two.body) {
		t.Errorf("%s, then %s", one.body, two.body)
	}
}

// A fault of an upstream gives the status that the matrix promises. It is not charged, and the request falls back to the next model's
// provider.
func TestTranscriptionMatrix(t *testing.T) {
	t.Parallel()
	var faults []string
	for i := range matrix {
		if c := &matrix[i]; !c.waits && !c.closed {
			faults = append(faults, c.fault)
		}
	}
	gw := startGateway(t, func(s *setup) { declareListeners(t, &s.Declared, faults...) })
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range matrix {
		c := &matrix[i]
		if c.waits || c.closed {
			continue
		}
		for j := range listeners {
			l := &listeners[j]
			for _, stream := range []bool{false, true} {
				if j > 0 && (i+j)%3 != 0 || !shown(i, j) { // the first wire runs all cells, the others a third each
					continue
				}
				if stream && !l.streams || !stream && c.whole == 0 || l.name == "hear-groq" || l.name == "hear-diarize" { // groq and diarize use the same wire as others
					continue
				}
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(l.name+"/"+c.name(t)+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) { l.checkCell(t, gw, c, stream) })
				})
			}
		}
	}
	all.Wait()
	gw.wantBalanced(t)
}

func (l *listener) checkCell(t *testing.T, gw *gateway, c *cell, stream bool) {
	a := gw.newAccount(t)
	more := []string{}
	if stream {
		more = []string{"stream", "true"}
	}
	got := a.transcribe(t, l.at(c.fault), more...)
	if want := c.want(t, l.name, stream); got.status != want {
		t.Fatalf("status %d, want %d: %s", got.status, want, got.body)
	}
	switch {
	case got.status >= 400:
		got.wantEnvelope(t)
		a.wantSpent(t, false)
	case stream && c.broken:
		got.wantErrorEvent(t)
		a.wantSpent(t, false) // a transcript that the provider broke off is not charged
	case stream:
		if frames := got.frames(t); frames[len(frames)-1]["type"] != "transcript.text.done" {
			t.Errorf("%s", got.body)
		}
		a.wantSpent(t, true)
	default:
		if is := got.transcript(t); is.Text == "" && !strings.HasPrefix(c.fault, "u20") {
			t.Errorf("%s", got.body)
		}
		a.wantSpent(t, true)
	}
	got.wantNoForeignHeaders(t)
	a.wantNothingHeld(t)
}

// A bad request is refused before a hold is made.
func TestTranscriptionRefusals(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareListeners(t, &s.Declared) })
	a := gw.newAccount(t)
	file := part{"file", "speech.wav", string(wave(time.Second))}
	for name, tt := range map[string]struct {
		parts  []part
		status int
		says   string
	}{
		"no file":           {formFields("model", "hear-gpt/gpt-4o-transcribe"), 400, "is missing"},
		"no model":          {[]part{file}, 400, "model"},
		"unknown model":     {append(formFields("model", "none/such"), file), 404, "model_not_found"},
		"a format it lacks": {append(formFields("model", "hear-gpt/gpt-4o-transcribe", "response_format", "srt"), file), 400, `"allowed":["json","text"]`},
		"flac":              {append(formFields("model", "hear-whisper/whisper-1"), part{"file", "a.flac", "fLaC"}), 400, "flac"},
		"no sound":          {append(formFields("model", "hear-whisper/whisper-1"), part{"file", "a.wav", "no sound at all"}), 400, "file"},
	} {
		got := a.sendForm(t, nil, tt.parts...)
		if got.status != tt.status || !strings.Contains(string(got.body), tt.says) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		got.wantEnvelope(t)
	}
	if got := a.do(t, http.MethodPost, "/v1/audio/transcriptions", map[string]any{"model": "x"}); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d %s", got.status, got.body)
	}
	a.wantSpent(t, false)
	a.wantNothingHeld(t)
}

// speaker is a speech provider, on a wire of the simulator.
type speaker struct {
	name, dialect, base, model, slug string

	voice   string
	tokens  bool // priced by tokens; else by characters
	formats []string
}

var speakers = []speaker{
	{name: "say-gpt", dialect: "openai", base: "/v1", model: "gpt-4o-mini-tts", slug: "gpt-4o-mini-tts", voice: "alloy", tokens: true, formats: []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}},
	{name: "say-tts", dialect: "openai", base: "/v1", model: "tts-1", slug: "tts-1", voice: "alloy", formats: []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}},
	{name: "say-eleven", dialect: "elevenlabs", base: "/elevenlabs", model: "eleven_flash_v2_5", slug: "eleven_flash_v2_5", voice: "JBFqnCBsd6RMkjVDRZzb", formats: []string{"mp3", "opus", "wav", "pcm"}},
}

func (s *speaker) at(fault string) string {
	if fault == "" {
		return s.name + "/" + s.slug
	}
	return s.name + "/" + s.slug + "-" + strings.TrimPrefix((&cell{fault: fault}).slug(), "test/")
}

func declareSpeakers(t *testing.T, d *catalog.Declared, faults ...string) {
	for i := range speakers {
		s := &speakers[i]
		models := map[string]string{s.at(""): s.model}
		for _, f := range faults {
			models[s.at(f)] = s.model + "@fault=" + f
		}
		prices := catalog.Pricing{List: "test", Characters: price(t, "1.5")}
		if s.tokens {
			prices = catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: price(t, "0.1"), AudioOutput: price(t, "0.4")}}
		}
		addAudio(t, d, catalog.TypeSpeech, s.name, s.dialect, s.base, prices, models)
	}
}

const spokenText = "A weir is a low dam across a river."

func (s *speaker) asks(model string, more map[string]any) map[string]any {
	body := map[string]any{"model": model, "input": spokenText, "voice": s.voice}
	for k, v := range more {
		body[k] = v
	}
	return body
}

func (a *account) speak(t *testing.T, body map[string]any) *answer {
	t.Helper()
	return a.do(t, http.MethodPost, "/v1/audio/speech", body)
}

var audioTypes = map[string]string{"mp3": "audio/mpeg", "opus": "audio/opus", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav", "pcm": "audio/pcm"}

// Each provider returns each of its formats, as bytes and as events with the same bytes, and is charged by characters or tokens.
func TestSpeech(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareSpeakers(t, &s.Declared) })
	t.Run("each", func(t *testing.T) {
		for i := range speakers {
			t.Run(speakers[i].name, func(t *testing.T) {
				t.Parallel()
				speakers[i].wantAudio(t, gw)
			})
		}
	})
	gw.wantBalanced(t)
}

func (s *speaker) wantAudio(t *testing.T, gw *gateway) {
	a := gw.newAccount(t)
	for format, kind := range audioTypes {
		got := a.speak(t, s.asks(s.at(""), map[string]any{"response_format": format}))
		if !slices.Contains(s.formats, format) {
			if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "must be mp3") {
				t.Errorf("%s: %d %s", format, got.status, got.body)
			}
			continue
		}
		if got.status != http.StatusOK || got.header.Get("Content-Type") != kind || len(got.body) < 100 || got.header.Get("X-Generation-Id") == "" {
			t.Fatalf("%s: %d %v %.100q", format, got.status, got.header, got.body)
		}
		events := a.speak(t, s.asks(s.at(""), map[string]any{"response_format": format, "stream_format": "sse"}))
		s.wantEvents(t, events, got.body)
		g, again := a.generation(t, got.header.Get("X-Generation-Id")), a.generation(t, events.header.Get("X-Generation-Id"))
		if g.TotalCost != again.TotalCost || parse(t, g.TotalCost) <= 0 {
			t.Errorf("%s: costs %s as bytes and %s as events", format, g.TotalCost, again.TotalCost)
		}
	}
	a.wantNothingHeld(t)
}

func (s *speaker) wantEvents(t *testing.T, got *answer, audio []byte) {
	t.Helper()
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("events: %d %s", got.status, got.body)
	}
	var said []byte
	all := got.frames(t)
	for _, f := range all[:len(all)-1] {
		piece, _ := f["audio"].(string)
		b, err := base64.StdEncoding.DecodeString(piece)
		if err != nil || f["type"] != "speech.audio.delta" {
			t.Errorf("%v: %v", err, f)
		}
		said = append(said, b...)
	}
	if !bytes.Equal(said, audio) {
		t.Errorf("%d bytes in events, %d bare", len(said), len(audio))
	}
	end := all[len(all)-1]
	u, _ := end["usage"].(map[string]any)
	number := func(name string) money.Nano { n, _ := u[name].(float64); return money.Nano(n) }
	want := money.Nano(len(spokenText)) * 1_500_000
	if s.tokens {
		want = number("input_tokens")*100_000 + number("output_tokens")*400_000
	}
	if cost, _ := u["cost"].(float64); end["type"] != "speech.audio.done" || money.Nano(cost*1e9+0.5) != want || want == 0 {
		t.Errorf("%v, want a cost of %d", end, want)
	}
}

// Options that a client may send, and those that are refused.
func TestSpeechOptions(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) { declareSpeakers(t, &s.Declared) })
	a := gw.newAccount(t)
	gpt, eleven := &speakers[0], &speakers[2]
	for name, tt := range map[string]struct {
		body   map[string]any
		status int
		says   string
	}{
		"instructions":      {gpt.asks(gpt.at(""), map[string]any{"instructions": "Whisper.", "speed": 1.5}), 200, ""},
		"a voice by its id": {gpt.asks(gpt.at(""), map[string]any{"voice": map[string]any{"id": "voice_1234"}}), 200, ""},
		"speed":             {eleven.asks(eleven.at(""), map[string]any{"speed": 1.1}), 200, ""},
		"settings":          {eleven.asks(eleven.at(""), map[string]any{"voice_settings": map[string]any{"stability": 0.5}, "seed": 7}), 200, ""},
		"too fast":          {eleven.asks(eleven.at(""), map[string]any{"speed": 2}), 400, "0.7 to 1.2"},
		"a voice by name":   {eleven.asks(eleven.at(""), map[string]any{"voice": "../x"}), 400, "must be an id"},
		"no voice":          {eleven.asks(eleven.at(""), map[string]any{"voice": nil}), 400, "voice"},
		"too long":          {gpt.asks(gpt.at(""), map[string]any{"input": strings.Repeat("a", 4097)}), 400, "string_too_long"},
		"longer, elsewhere": {eleven.asks(eleven.at(""), map[string]any{"input": strings.Repeat("a", 4097)}), 200, ""},
		"unknown member":    {gpt.asks(gpt.at(""), map[string]any{"pitch": 1}), 400, "pitch"},
		"another type":      {map[string]any{"model": "test/next", "input": "x", "voice": "alloy"}, 400, "wrong_endpoint"},
	} {
		if got := a.speak(t, tt.body); got.status != tt.status || !strings.Contains(string(got.body), tt.says) {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		}
	}
	named := func(body map[string]any) *answer {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return a.send(t, http.MethodPost, "/v1/audio/speech", b, map[string]string{"Idempotency-Key": "say-it"})
	}
	one := named(gpt.asks(gpt.at(""), nil))
	spent := a.credits(t).TotalUsage
	two := named(gpt.asks(gpt.at(""), nil))
	if one.status != 200 || two.status != 200 || !bytes.Equal(one.body, two.body) || two.header.Get("Idempotent-Replayed") != "true" || two.header.Get("Content-Type") != "audio/mpeg" {
		t.Errorf("named: %d, then %d %v", one.status, two.status, two.header)
	}
	if now := a.credits(t).TotalUsage; now != spent {
		t.Errorf("spent %s, then %s", spent, now)
	}
	a.wantNothingHeld(t)
	gw.wantBalanced(t)
}

// A fault of an upstream before the first audio gives the status that the matrix promises. After it, the response is cut without a regular
// end.
func TestSpeechMatrix(t *testing.T) {
	t.Parallel()
	var faults []string
	for i := range matrix {
		if c := &matrix[i]; !c.waits && !c.closed {
			faults = append(faults, c.fault)
		}
	}
	gw := startGateway(t, func(s *setup) { declareSpeakers(t, &s.Declared, faults...) })
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range matrix {
		c := &matrix[i]
		if c.waits || c.closed {
			continue
		}
		for j := range speakers {
			if j > 0 && (i+j)%2 != 0 || !shown(i, j/2) { // the first wire runs all cells, the others half each
				continue
			}
			for _, events := range []bool{false, true} {
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(speakers[j].name+"/"+c.name(t)+map[bool]string{true: "/events", false: "/bytes"}[events], func(t *testing.T) { speakers[j].checkCell(t, gw, c, events) })
				})
			}
		}
	}
	all.Wait()
	gw.wantBalanced(t)
}

func (s *speaker) checkCell(t *testing.T, gw *gateway, c *cell, events bool) {
	a := gw.newAccount(t)
	body := s.asks(s.at(c.fault), nil)
	if events {
		body["stream_format"] = "sse"
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gw.url+"/v1/audio/speech", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	res, err := gw.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	audio, cut := io.ReadAll(res.Body)
	got := &answer{status: res.StatusCode, header: res.Header, body: audio}
	if want := c.want(t, s.name, true); got.status != want { // audio is always streamed
		t.Fatalf("status %d, want %d: %.500s", got.status, want, got.body)
	}
	switch {
	case got.status >= 400:
		got.wantEnvelope(t)
		a.wantSpent(t, false)
	case events && strings.Contains(string(audio), `"error":`):
		got.wantErrorEvent(t)
		a.wantSpent(t, false)
	case cut != nil:
		a.wantSpent(t, false)
	default:
		if c.broken && s.tokens { // bare bytes have no end mark
			t.Errorf("a broken stream ended well: %.200q", audio)
		}
		if len(audio) == 0 {
			t.Error("no audio")
		}
		a.wantSpent(t, true)
	}
	got.wantNoForeignHeaders(t)
	a.wantNothingHeld(t)
}

// A client that leaves in the middle of audio pays for the text, and no hold remains.
func TestSpeechGone(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) {
		for _, sp := range speakers[1:] {
			addAudio(t, &s.Declared, catalog.TypeSpeech, sp.name, sp.dialect, sp.base, catalog.Pricing{List: "test", Characters: price(t, "1.5")}, map[string]string{sp.at(""): sp.model + "@fault=u5"})
		}
	})
	for i := range speakers[1:] {
		sp := &speakers[1+i]
		a := gw.newAccount(t)
		b, err := json.Marshal(sp.asks(sp.at(""), map[string]any{"response_format": "wav"}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, gw.url+"/v1/audio/speech", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.key)
		res, err := gw.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(res.Body, make([]byte, 4)); err != nil { // the first bytes arrive although the rest does not
			t.Fatalf("%s: %d %v", sp.name, res.StatusCode, err)
		}
		leave()
		_ = res.Body.Close()
		want := money.Nano(len(spokenText)) * 1_500_000
		waitFor(t, "the charge", func() bool { return parse(t, a.credits(t).TotalUsage) == want })
		a.wantNothingHeld(t)
	}
	gw.wantBalanced(t)
}
