package apptest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
)

// listener is a transcription provider, on a wire of the simulator.
type listener struct {
	Name    string // of the provider; also the vendor of its models
	Dialect string
	Base    string // path on the simulator
	Model   string // the simulator's name of the model
	slug    string // the model's name here; the catalog knows the parameters of that name
	Tokens  bool   // priced by tokens; else by the minute
	words   bool
	letters bool // labels speakers
	Streams bool
	notice  bool // has no field for a prompt, so that the client gets a notice
}

var Listeners = []listener{
	{Name: "hear-whisper", Dialect: "openai", Base: "/v1", Model: "whisper-1", slug: "whisper-1", words: true},
	{Name: "hear-gpt", Dialect: "openai", Base: "/v1", Model: "gpt-4o-transcribe", slug: "gpt-4o-transcribe", Tokens: true, Streams: true},
	{Name: "hear-diarize", Dialect: "openai", Base: "/v1", Model: "gpt-4o-transcribe-diarize", slug: "gpt-4o-transcribe-diarize", Tokens: true, Streams: true, letters: true},
	{Name: "hear-groq", Dialect: "openai", Base: "/groq/openai/v1", Model: "whisper-large-v3", slug: "whisper-large-v3", words: true},
	{Name: "hear-deepgram", Dialect: "deepgram", Base: "/deepgram", Model: "nova-3", slug: "nova-3", words: true, letters: true, notice: true},
	{Name: "hear-eleven", Dialect: "elevenlabs", Base: "/elevenlabs", Model: "scribe_v2", slug: "scribe_v2", words: true, letters: true, notice: true},
	{Name: "hear-yandex", Dialect: "yandex", Base: "/yandex", Model: "general", slug: "general", words: true, letters: true, notice: true},
}

// Translates reports whether the provider writes down in English what is said in another language.
func (l *listener) Translates() bool { return strings.HasPrefix(l.Model, "whisper") }

func (l *listener) At(fault string) string {
	if fault == "" {
		return l.Name + "/" + l.slug
	}
	return l.Name + "/" + l.slug + strings.TrimPrefix((&Cell{Fault: fault}).Slug(), "test/")
}

// Prices are per token or per minute.
func (l *listener) Prices(t *testing.T) catalog.Pricing {
	if l.Tokens {
		return catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: Price(t, "0.1"), Audio: Price(t, "0.2"), Completion: Price(t, "0.4")}}
	}
	return catalog.Pricing{List: "test", Rates: catalog.Rates{Minute: Price(t, "0.6")}}
}

// AddAudio adds the providers, each with a working model and one model per fault.
func AddAudio(t *testing.T, d *catalog.Declared, kind, name, dialect, base string, prices catalog.Pricing, models map[string]string) {
	t.Helper()
	at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
	origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
	d.Providers = append(d.Providers, catalog.Provider{ID: name, Name: name, Dialect: dialect, BaseURL: origin + base, Key: "sk-upstream-key"})
	for slug, model := range models {
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: kind})
		d.Offers = append(d.Offers, catalog.Offer{Provider: name, Model: slug, UpstreamID: model, Pricing: prices})
	}
}

func DeclareListeners(t *testing.T, d *catalog.Declared, faults ...string) {
	for i := range Listeners {
		l := &Listeners[i]
		models := map[string]string{l.At(""): l.Model}
		for _, f := range faults {
			models[l.At(f)] = l.Model + "@fault=" + f
		}
		AddAudio(t, d, catalog.TypeTranscription, l.Name, l.Dialect, l.Base, l.Prices(t), models)
	}
}

// Wave returns a silent WAV file, 8 kHz and 8 bits.
func Wave(length time.Duration) []byte {
	size := uint32(length.Milliseconds() * 8)
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+size)...)
	b = append(append(b, "WAVEfmt \x10\x00\x00\x00"...), 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0)
	b = binary.LittleEndian.AppendUint32(append(b, "data"...), size)
	return append(b, bytes.Repeat([]byte{0x80}, int(size))...)
}

// Part is a field of a form; with a file name it is a file.
type Part struct{ Name, File, Value string }

func FormFields(pairs ...string) (out []Part) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Part{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func form(t *testing.T, parts ...Part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.Name + `"`}}
		if p.File != "" {
			h = textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.Name + `"; filename="` + p.File + `"`}, "Content-Type": {"audio/wav"}}
		}
		pw, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pw.Write([]byte(p.Value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// Transcribe sends a recording of ten seconds.
func (a *Account) Transcribe(t *testing.T, model string, more ...string) *Answer {
	t.Helper()
	return a.SendForm(t, nil, append(FormFields(append([]string{"model", model}, more...)...), Part{"file", "speech.wav", string(Wave(10 * time.Second))})...)
}

// SendForm sends a form to the route of transcriptions.
func (a *Account) SendForm(t *testing.T, header map[string]string, parts ...Part) *Answer {
	t.Helper()
	return a.SendFormTo(t, "/v1/audio/transcriptions", header, parts...)
}

// SendFormTo sends a form to any route.
func (a *Account) SendFormTo(t *testing.T, path string, header map[string]string, parts ...Part) *Answer {
	t.Helper()
	body, contentType := form(t, parts...)
	all := map[string]string{"Content-Type": contentType}
	for k, v := range header {
		all[k] = v
	}
	return a.Send(t, http.MethodPost, path, body, all)
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

func (a *Answer) Transcript(t *testing.T) *transcript {
	t.Helper()
	var out transcript
	if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("status %d, %v, %s: %.500s", a.Status, err, a.Header.Get("Content-Type"), a.Body)
	}
	return &out
}

// WantCost checks that a transcript costs its usage times the price.
func (l *listener) WantCost(t *testing.T, is *transcript) money.Nano {
	t.Helper()
	u := &is.Usage
	cost := Parse(t, u.Cost)
	if !l.Tokens {
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

func (l *listener) WantTranscripts(t *testing.T, gw *Gateway) {

	a := gw.NewAccount(t)
	first := a.Transcribe(t, l.At(""))
	is := first.Transcript(t)
	spent := l.WantCost(t, is)
	if is.Text == "" || is.Segments != nil || is.Words != nil || is.Task != "" {
		t.Errorf("json: %s", first.Body)
	}
	if g := a.Generation(t, first.Header.Get("X-Generation-Id")); Parse(t, g.TotalCost) != spent {
		t.Errorf("generation %+v, spent %d", g, spent)
	}
	text := a.Transcribe(t, l.At(""), "response_format", "text")
	if got := string(text.Body); text.Status != http.StatusOK || text.Header.Get("Content-Type") != "text/plain; charset=utf-8" || got != is.Text+"\n" {
		t.Errorf("text: %d %s %q, want %q", text.Status, text.Header.Get("Content-Type"), got, is.Text)
	}
	if l.words {
		l.wantVerbose(t, a, is.Text)
		l.wantSubtitles(t, a)
	}
	if l.letters {
		l.wantSpeakers(t, a)
	}
	if !l.Streams && !strings.HasPrefix(l.slug, "whisper") || l.Streams {
		l.wantStream(t, a, is.Text)
	}
	if l.notice {
		if is := a.Transcribe(t, l.At(""), "prompt", "Weirs.").Transcript(t); !strings.Contains(is.Metadata.Notice, "prompt") {
			t.Errorf("notice %q", is.Metadata.Notice)
		}
	}
	a.WantNothingHeld(t)
}

func (l *listener) wantVerbose(t *testing.T, a *Account, text string) {
	t.Helper()
	got := a.Transcribe(t, l.At(""), "response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
	is := got.Transcript(t)
	l.WantCost(t, is)
	if is.Task != "transcribe" || is.Language == "" || is.Duration != 10 || is.Text != text || len(is.Segments) == 0 || len(is.Words) < 5 {
		t.Fatalf("verbose_json: %s", got.Body)
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
	strict := a.SendForm(t, map[string]string{"X-Response-Schema": "strict"}, append(FormFields("model", l.At(""), "response_format", "verbose_json"), Part{"file", "speech.wav", string(Wave(10 * time.Second))})...).Transcript(t)
	if len(strict.Segments) == 0 || string(strict.Segments[0].ID) != `"0"` || strict.Words != nil {
		t.Errorf("strict: %+v", strict)
	}
}

func (l *listener) wantSubtitles(t *testing.T, a *Account) {
	t.Helper()
	for format, begin := range map[string]string{"srt": "1\n00:00:00,000 --> 00:00:", "vtt": "WEBVTT\n\n00:00:00.000 --> 00:00:"} {
		got := a.Transcribe(t, l.At(""), "response_format", format)
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(string(got.Body), begin) {
			t.Errorf("%s: %d %s %s", format, got.Status, got.Header.Get("Content-Type"), got.Body)
		}
	}
}

func (l *listener) wantSpeakers(t *testing.T, a *Account) {
	t.Helper()
	got := a.Transcribe(t, l.At(""), "response_format", "diarized_json")
	is := got.Transcript(t)
	if is.Task != "transcribe" || is.Duration != 10 || len(is.Segments) < 2 {
		t.Fatalf("diarized_json: %s", got.Body)
	}
	for i, want := range []string{"A", "B"} {
		if s := is.Segments[i]; s.Type != "transcript.text.segment" || s.Speaker != want || string(s.ID) != []string{`"seg_001"`, `"seg_002"`}[i] || s.Text == "" {
			t.Errorf("segment %d: %+v", i, s)
		}
	}
}

func (l *listener) wantStream(t *testing.T, a *Account, text string) {
	t.Helper()
	got := a.Transcribe(t, l.At(""), "stream", "true")
	if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("stream: %d %s", got.Status, got.Body)
	}
	all, said := got.Frames(t), ""
	for i, f := range all {
		last := i == len(all)-1
		if kind, _ := f["type"].(string); kind != map[bool]string{true: "transcript.text.done", false: "transcript.text.delta"}[last] {
			t.Errorf("frame %d: %v", i, f)
		}
		delta, _ := f["delta"].(string)
		said += delta
	}
	end := all[len(all)-1]
	if said != text || end["text"] != text || end["usage"] == nil || l.Streams && len(all) < 3 {
		t.Errorf("said %q, want %q: %s", said, text, got.Body)
	}
}

func (l *listener) CheckCell(t *testing.T, gw *Gateway, c *Cell, stream bool) {
	a := gw.NewAccount(t)
	more := []string{}
	if stream {
		more = []string{"stream", "true"}
	}
	got := a.Transcribe(t, l.At(c.Fault), more...)
	if want := c.Want(t, l.Name, stream); got.Status != want {
		t.Fatalf("status %d, want %d: %s", got.Status, want, got.Body)
	}
	switch {
	case got.Status >= 400:
		got.WantEnvelope(t)
		a.WantSpent(t, false)
	case stream && c.Broken:
		got.WantErrorEvent(t)
		a.WantSpent(t, false) // a transcript that the provider broke off is not charged
	case stream:
		if frames := got.Frames(t); frames[len(frames)-1]["type"] != "transcript.text.done" {
			t.Errorf("%s", got.Body)
		}
		a.WantSpent(t, true)
	default:
		if is := got.Transcript(t); is.Text == "" && !strings.HasPrefix(c.Fault, "u20") {
			t.Errorf("%s", got.Body)
		}
		a.WantSpent(t, true)
	}
	got.WantNoForeignHeaders(t)
	a.WantNothingHeld(t)
}

// speaker is a speech provider, on a wire of the simulator.
type speaker struct {
	Name, Dialect, Base, Model, slug string

	voice   string
	tokens  bool // priced by tokens; else by characters
	formats []string
}

var Speakers = []speaker{
	{Name: "say-gpt", Dialect: "openai", Base: "/v1", Model: "gpt-4o-mini-tts", slug: "gpt-4o-mini-tts", voice: "alloy", tokens: true, formats: []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}},
	{Name: "say-tts", Dialect: "openai", Base: "/v1", Model: "tts-1", slug: "tts-1", voice: "alloy", formats: []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}},
	{Name: "say-eleven", Dialect: "elevenlabs", Base: "/elevenlabs", Model: "eleven_flash_v2_5", slug: "eleven_flash_v2_5", voice: "JBFqnCBsd6RMkjVDRZzb", formats: []string{"mp3", "opus", "wav", "pcm"}},
}

func (s *speaker) At(fault string) string {
	if fault == "" {
		return s.Name + "/" + s.slug
	}
	return s.Name + "/" + s.slug + "-" + strings.TrimPrefix((&Cell{Fault: fault}).Slug(), "test/")
}

func DeclareSpeakers(t *testing.T, d *catalog.Declared, faults ...string) {
	for i := range Speakers {
		s := &Speakers[i]
		models := map[string]string{s.At(""): s.Model}
		for _, f := range faults {
			models[s.At(f)] = s.Model + "@fault=" + f
		}
		prices := catalog.Pricing{List: "test", Rates: catalog.Rates{Characters: Price(t, "1.5")}}
		if s.tokens {
			prices = catalog.Pricing{List: "test", Base: catalog.Prices{Prompt: Price(t, "0.1"), AudioOutput: Price(t, "0.4")}}
		}
		AddAudio(t, d, catalog.TypeSpeech, s.Name, s.Dialect, s.Base, prices, models)
	}
}

const SpokenText = "A weir is a low dam across a river."

func (s *speaker) Asks(model string, more map[string]any) map[string]any {
	body := map[string]any{"model": model, "input": SpokenText, "voice": s.voice}
	for k, v := range more {
		body[k] = v
	}
	return body
}

func (a *Account) Speak(t *testing.T, body map[string]any) *Answer {
	t.Helper()
	return a.Do(t, http.MethodPost, "/v1/audio/speech", body)
}

var audioTypes = map[string]string{"mp3": "audio/mpeg", "opus": "audio/opus", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav", "pcm": "audio/pcm"}

func (s *speaker) WantAudio(t *testing.T, gw *Gateway) {
	a := gw.NewAccount(t)
	for format, kind := range audioTypes {
		got := a.Speak(t, s.Asks(s.At(""), map[string]any{"response_format": format}))
		if !slices.Contains(s.formats, format) {
			if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "must be mp3") {
				t.Errorf("%s: %d %s", format, got.Status, got.Body)
			}
			continue
		}
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != kind || len(got.Body) < 100 || got.Header.Get("X-Generation-Id") == "" {
			t.Fatalf("%s: %d %v %.100q", format, got.Status, got.Header, got.Body)
		}
		events := a.Speak(t, s.Asks(s.At(""), map[string]any{"response_format": format, "stream_format": "sse"}))
		s.wantEvents(t, events, got.Body)
		g, again := a.Generation(t, got.Header.Get("X-Generation-Id")), a.Generation(t, events.Header.Get("X-Generation-Id"))
		if g.TotalCost != again.TotalCost || Parse(t, g.TotalCost) <= 0 {
			t.Errorf("%s: costs %s as bytes and %s as events", format, g.TotalCost, again.TotalCost)
		}
	}
	a.WantNothingHeld(t)
}

func (s *speaker) wantEvents(t *testing.T, got *Answer, audio []byte) {
	t.Helper()
	if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("events: %d %s", got.Status, got.Body)
	}
	var said []byte
	all := got.Frames(t)
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
	want := money.Nano(len(SpokenText)) * 1_500_000
	if s.tokens {
		want = number("input_tokens")*100_000 + number("output_tokens")*400_000
	}
	if cost, _ := u["cost"].(float64); end["type"] != "speech.audio.done" || money.Nano(cost*1e9+0.5) != want || want == 0 {
		t.Errorf("%v, want a cost of %d", end, want)
	}
}

func (s *speaker) CheckCell(t *testing.T, gw *Gateway, c *Cell, events bool) {
	a := gw.NewAccount(t)
	body := s.Asks(s.At(c.Fault), nil)
	if events {
		body["stream_format"] = "sse"
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gw.URL+"/v1/audio/speech", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	res, err := gw.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	audio, cut := io.ReadAll(res.Body)
	got := &Answer{Status: res.StatusCode, Header: res.Header, Body: audio}
	if want := c.Want(t, s.Name, true); got.Status != want { // audio is always streamed
		t.Fatalf("status %d, want %d: %.500s", got.Status, want, got.Body)
	}
	switch {
	case got.Status >= 400:
		got.WantEnvelope(t)
		a.WantSpent(t, false)
	case events && strings.Contains(string(audio), `"error":`):
		got.WantErrorEvent(t)
		a.WantSpent(t, false)
	case cut != nil:
		a.WantSpent(t, false)
	default:
		if c.Broken && s.tokens { // bare bytes have no end mark
			t.Errorf("a broken stream ended well: %.200q", audio)
		}
		if len(audio) == 0 {
			t.Error("no audio")
		}
		a.WantSpent(t, true)
	}
	got.WantNoForeignHeaders(t)
	a.WantNothingHeld(t)
}
