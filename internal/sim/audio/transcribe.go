package audio

import (
	"encoding/base64"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// transcriber is a model that writes down speech.
type transcriber struct {
	formats    []string
	streams    bool
	byTokens   bool // usage is in tokens, else in seconds
	logprobs   bool
	diarizes   bool
	hints      bool    // takes languages and keywords
	maxSeconds float64 // 0: any
	groq       bool    // reports no usage, and an id of Groq's
}

var (
	whisperFormats = []string{"json", "text", "srt", "verbose_json", "vtt"}
	whisper        = &transcriber{formats: whisperFormats}
	transcribes    = &transcriber{formats: []string{"json", "text"}, streams: true, byTokens: true, logprobs: true, maxSeconds: 1400}
	hinted         = &transcriber{formats: []string{"json", "text"}, streams: true, byTokens: true, logprobs: true, maxSeconds: 1400, hints: true}
	diarizes       = &transcriber{formats: []string{"json", "text", "diarized_json"}, streams: true, byTokens: true, diarizes: true, maxSeconds: 1400}
	groqWhisper    = &transcriber{formats: []string{"json", "text", "verbose_json"}, groq: true}
)

var transcribers = map[string]*transcriber{
	"whisper": whisper, "whisper-1": whisper,
	"transcribe": transcribes, "gpt-4o-transcribe": transcribes, "gpt-4o-mini-transcribe": transcribes, "gpt-4o-mini-transcribe-2025-12-15": transcribes,
	"gpt-transcribe": hinted,
	"diarize":        diarizes, "gpt-4o-transcribe-diarize": diarizes,
}

var groqTranscribers = map[string]*transcriber{"whisper": groqWhisper, "whisper-large-v3": groqWhisper, "whisper-large-v3-turbo": groqWhisper}

// translators are the models that translate: Whisper alone.
var translators = map[string]*transcriber{"whisper": whisper, "whisper-1": whisper}

const maxUpload = 26_214_400

// transcriptionsWire is that of OpenAI, and of Groq, which has other words.
var (
	transcriptionsWire = transcriptionsFor("transcriptions", kit.ChatWire.Admit)
	groqWire           = transcriptionsFor("groq", kit.ByScheme("Invalid API Key", "Bearer "))
)

func transcriptionsFor(name string, admit func(*kit.Host, *http.Request) *kit.Refusal) *kit.Wire {
	on := kit.NewWholeWire(name, &kit.OpenAIPhrases, (*kit.Refusal).JSON, admit,
		"audio duration 1500.0 seconds is longer than 1400 seconds which is the maximum for this model", `{"usage":{"type":"duration","seconds":1}}`)
	on.TextFrame = func(s string) kit.Frame {
		return kit.Frame{Data: []byte(`{"type":"transcript.text.delta","delta":"` + s + `"}`)}
	}
	on.IdleFrame = kit.Frame{Data: []byte(`{"type":"transcript.text.idle"}`)}
	return on
}

// transcription is a request for a transcript.
type transcription struct {
	kit.Checker
	on         *kit.Wire
	model      *transcriber
	form       *form
	format     string
	stream     bool
	words      bool // the request asks for word times
	segments   bool // the request asks for segment times
	probable   bool // the request asks for log probabilities
	prompt     string
	speakers   []string
	recognized *transcript
	translate  bool
}

func (s *Wires) transcriptions(on *kit.Wire, models map[string]*transcriber) http.HandlerFunc {
	return s.writeDown(on, models, false)
}

// translations writes down in English.
func (s *Wires) translations(on *kit.Wire, models map[string]*transcriber) http.HandlerFunc {
	return s.writeDown(on, models, true)
}

func (s *Wires) writeDown(on *kit.Wire, models map[string]*transcriber, translate bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		noForm := kit.Refusal{Status: 400, Kind: "invalid_request_error", Message: "Could not parse multipart form"}
		s.HandleBody(formed(noForm), on, w, r, func(body []byte) *kit.Refusal {
			f, ok := readForm(r, body)
			if !ok {
				return &noForm
			}
			t := &transcription{Checker: kit.NewChecker(on.Phrases), on: on, form: f, translate: translate}
			if t.read(models); t.Fault != nil {
				return t.Fault
			}
			return s.Serve(w, r, started, &t.Checker, t.reply())
		})
	}
}

// transcriptionFields are the names that a form may have.
var transcriptionFields = []string{
	"model", "language", "languages", "keywords", "prompt", "response_format", "temperature", "include", "timestamp_granularities", "stream", "chunking_strategy",
	"known_speaker_names", "known_speaker_references",
}

// translationFields are those of a form for a translation.
var translationFields = []string{"model", "prompt", "response_format", "temperature"}

func (t *transcription) read(models map[string]*transcriber) {
	fields := transcriptionFields
	if t.translate {
		fields = translationFields
	}
	for _, name := range t.form.names {
		if !slices.Contains(fields, name) {
			t.Unknown(name)
		}
	}
	if t.form.values["model"] == nil {
		t.Refuse("model", "missing_required_parameter", "you must provide a model parameter")
		return
	}
	if t.model = kit.FindModel(&t.Checker, t.form.get("model"), models, kit.UnknownModel); t.model == nil {
		return
	}
	t.options()
	t.times()
	t.speakersKnown()
	t.file()
}

func (t *transcription) options() {
	f := t.form
	if t.format = f.get("response_format"); t.format == "" {
		t.format = "json"
	}
	all := append(slices.Clone(whisperFormats), "diarized_json")
	switch {
	case !slices.Contains(all, t.format):
		t.WrongValue("response_format", "one of '"+strings.Join(all, "', '")+"'")
	case !slices.Contains(t.model.formats, t.format):
		t.Refuse("response_format", "unsupported_value", "response_format '"+t.format+"' is not compatible with model '"+t.Request.Name+"'. Use '"+strings.Join(t.model.formats, "' or '")+"' instead.")
	}
	if v := f.get("temperature"); v != "" {
		if x, err := strconv.ParseFloat(v, 64); err != nil || !(x >= 0 && x <= 1) {
			t.Refuse("temperature", "decimal_out_of_range", t.Phrases.OutOfRange("temperature", "0", "1"))
		}
	}
	if v := f.get("language"); v != "" && (len(v) != 2 || strings.ToLower(v) != v) {
		t.Refuse("language", "invalid_language_format", "Invalid language '"+v+"'. Language parameter must be specified in ISO-639-1 format.")
	}
	if !t.model.hints && (f.values["languages"] != nil || f.values["keywords"] != nil) {
		t.Refuse("languages", "unsupported_parameter", "'languages' and 'keywords' are not supported by this model.")
	}
	if t.prompt = t.StripMarkers(f.get("prompt"), "prompt"); t.model.diarizes && f.values["prompt"] != nil {
		t.Refuse("prompt", "unsupported_parameter", "Prompt is not supported for diarization models")
	}
	switch f.get("stream") {
	case "", "false", "False", "0":
	case "true", "True", "1":
		t.stream = t.model.streams // others ignore it
	default:
		t.WrongType("stream", &kit.Node{Kind: kit.Text}, "a boolean")
	}
	if t.stream && t.format != "json" && t.format != "diarized_json" {
		t.Refuse("stream", "unsupported_value", "Streaming is not supported with response_format '"+t.format+"'.")
	}
}

func (t *transcription) times() {
	f := t.form
	t.segments = true
	if given := f.values["timestamp_granularities"]; given != nil {
		t.words, t.segments = slices.Contains(given, "word"), slices.Contains(given, "segment")
		for _, v := range given {
			if v != "word" && v != "segment" {
				t.WrongValue("timestamp_granularities", "one of 'word', 'segment'")
			}
		}
		if t.format != "verbose_json" {
			t.Refuse("timestamp_granularities", "", "timestamp_granularities is only supported with response_format 'verbose_json'.")
		}
	}
	for _, v := range f.values["include"] {
		switch t.probable = true; {
		case v != "logprobs":
			t.WrongValue("include", "'logprobs'")
		case !t.model.logprobs || t.format != "json":
			t.Refuse("include", "unsupported_parameter", "'logprobs' is only supported with response_format 'json' and models that have them.")
		}
	}
	switch v := f.get("chunking_strategy"); {
	case v == "" && t.model.diarizes:
		t.Refuse("chunking_strategy", "", "chunking_strategy is required for diarization models")
	case v != "" && v != "auto":
		n, err := kit.Parse([]byte(v))
		if err != nil || n.Get("type").Str() != "server_vad" {
			t.WrongValue("chunking_strategy", "'auto' or an object of type 'server_vad'")
		}
	}
}

func (t *transcription) speakersKnown() {
	names, references := t.form.values["known_speaker_names"], t.form.values["known_speaker_references"]
	switch {
	case len(names) == 0 && len(references) == 0:
		return
	case !t.model.diarizes:
		t.Refuse("known_speaker_names", "unsupported_parameter", "Known speakers are only supported for diarization models")
	case len(names) != len(references) || len(names) > 4:
		t.Refuse("known_speaker_names", "", "known_speaker_names and known_speaker_references must have the same number of elements, at most 4")
	}
	for _, url := range references {
		_, encoded, _ := strings.Cut(url, ";base64,")
		data, err := base64.StdEncoding.DecodeString(encoded)
		if !strings.HasPrefix(url, "data:audio/") || err != nil || sniff(data) == "" {
			t.Refuse("known_speaker_references", "invalid_value", "known_speaker_references must be data URLs of audio")
		} else if n := seconds(data); n < 2 || n > 10 {
			t.Refuse("known_speaker_references", "invalid_value", "Each known speaker reference must be between 2 and 10 seconds long")
		}
	}
	t.speakers = names
}

func (t *transcription) file() {
	files := t.form.files["file"]
	switch {
	case t.Fault != nil:
		return
	case len(files) == 0 && len(t.form.files) > 0:
		t.Unknown("a file of another name")
	case len(files) != 1:
		t.Missing("file")
	}
	if t.Fault != nil {
		return
	}
	u := &files[0]
	ext := extension(u.name)
	switch {
	case len(u.data) > maxUpload:
		n := kit.Itoa(len(u.data))
		t.Fault = &kit.Refusal{Status: 413, Kind: "server_error", Message: "Maximum content size limit (" + kit.Itoa(maxUpload) + ") exceeded (" + n + " bytes read)"}
	case containers[ext] == nil:
		t.Refuse("", "", "Unrecognized file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']")
	case !u.contains(ext) && t.model.groq:
		t.Refuse("", "", "could not process file - is it a valid media file?")
	case !u.contains(ext) && t.model.streams:
		t.Refuse("file", "invalid_value", "Audio file might be corrupted or unsupported")
	case !u.contains(ext):
		t.Refuse("", "", "The audio file could not be decoded or its format is not supported.")
	case seconds(u.data) < 0.1:
		t.Refuse("file", "audio_too_short", "Audio file is too short. Minimum audio length is 0.1 seconds.")
	}
	if n := seconds(u.data); t.model.maxSeconds > 0 && n > t.model.maxSeconds {
		t.Refuse("", "", "audio duration "+string(kit.AppendNumber(nil, n))+" seconds is longer than "+string(kit.AppendNumber(nil, t.model.maxSeconds))+" seconds which is the maximum for this model")
	}
	if markedInside(&t.Checker, u.data); t.Fault == nil {
		language := t.form.get("language")
		if t.translate {
			language = "en"
		}
		t.recognized = recognize(u.data, language, &t.Request.Knobs)
	}
}

var plainType = []string{"text/plain; charset=utf-8"}

func (t *transcription) reply() *kit.Reply {
	r := kit.WholeReply(t.on, `{"text":""}`, t.body)
	r.Stream, r.Frames = t.stream, t.frames
	if t.format == "text" || t.format == "srt" || t.format == "vtt" {
		r.Kind = plainType
		r.EmptyBody = func() []byte { return []byte("\n") }
	}
	return r
}

func (t *transcription) body() []byte {
	switch h := t.recognized; t.format {
	case "text":
		return []byte(h.text + "\n")
	case "srt":
		return subtitles("", h, ",", true)
	case "vtt":
		return subtitles("WEBVTT\n\n", h, ".", false)
	case "verbose_json":
		return t.verbose()
	case "diarized_json":
		dst := kit.AppendNumber([]byte(`{"task":"transcribe","duration":`), h.seconds)
		dst = kit.AppendText(append(dst, `,"text":`...), t.dialogue())
		dst = kit.AppendArray(append(dst, `,"segments":`...), h.utterances, func(dst []byte, i int, _ utterance) []byte { return t.appendSegment(dst, i) })
		return append(t.appendUsage(dst, false), '}')
	}
	dst := kit.AppendText([]byte(`{"text":`), t.recognized.text)
	if t.model.hints {
		dst = append(kit.AppendText(append(dst, `,"languages":[{"code":`...), t.recognized.code), "}]"...)
	}
	if t.probable {
		dst = t.appendLogprobs(append(dst, `,"logprobs":`...), t.recognized.text)
	}
	return append(t.appendUsage(dst, t.model.byTokens), '}')
}

func subtitles(head string, h *transcript, point string, numbered bool) []byte {
	dst := []byte(head)
	for i, u := range h.utterances {
		if numbered {
			dst = append(kit.AppendInt(dst, i+1), '\n')
		}
		dst = append(append(append(dst, clock(u.start, point)...), " --> "...), clock(u.end, point)...)
		dst = append(append(append(dst, '\n'), u.text...), "\n\n"...)
	}
	return dst
}

// verbose is Whisper's answer with all members.
func (t *transcription) verbose() []byte {
	h := t.recognized
	word := "transcribe"
	if t.translate {
		word = "translate"
	}
	dst := kit.AppendText([]byte(`{"task":"`+word+`","language":`), h.name)
	dst = kit.AppendText(append(kit.AppendNumber(append(dst, `,"duration":`...), h.seconds), `,"text":`...), h.text)
	if t.words {
		dst = kit.AppendArray(append(dst, `,"words":`...), h.words(), func(dst []byte, _ int, w timedWord) []byte {
			dst = kit.AppendText(append(dst, `{"word":`...), strings.Trim(w.text, ".。,，"))
			return append(appendTimes(dst, w.start, w.end), '}')
		})
	}
	if t.segments {
		dst = kit.AppendArray(append(dst, `,"segments":`...), h.utterances, func(dst []byte, i int, u utterance) []byte {
			dst = appendTimes(append(kit.AppendInt(append(dst, `{"id":`...), i), `,"seek":0`...), u.start, u.end)
			dst = kit.AppendText(append(dst, `,"text":`...), h.space+u.text)
			dst = kit.AppendArray(append(dst, `,"tokens":`...), pieces(u.text, 1), func(dst []byte, _ int, s string) []byte {
				return kit.AppendInt(dst, int(kit.Fingerprint(s)%50000))
			})
			return append(dst, `,"temperature":0.0,"avg_logprob":-0.25,"compression_ratio":1.25,"no_speech_prob":0.01}`...)
		})
	}
	return append(t.appendUsage(dst, false), '}')
}

func appendTimes(dst []byte, start, end float64) []byte {
	return kit.AppendNumber(append(kit.AppendNumber(append(dst, `,"start":`...), start), `,"end":`...), end)
}

// speaker is the name of a speaker: one that the caller gave, or a letter.
func (t *transcription) speaker(n int) string {
	if n < len(t.speakers) {
		return t.speakers[n]
	}
	return string(rune('A' + n - len(t.speakers)))
}

func (t *transcription) dialogue() string {
	var lines []string
	for _, u := range t.recognized.utterances {
		lines = append(lines, t.speaker(u.speaker)+": "+u.text)
	}
	return strings.Join(lines, "\n")
}

func segmentID(i int) string {
	n := kit.Itoa(i + 1)
	return "seg_" + strings.Repeat("0", max(0, 3-len(n))) + n
}

func (t *transcription) appendSegment(dst []byte, i int) []byte {
	u := &t.recognized.utterances[i]
	dst = kit.AppendText(append(dst, `{"type":"transcript.text.segment","id":`...), segmentID(i))
	dst = kit.AppendText(append(appendTimes(dst, u.start, u.end), `,"text":`...), u.text)
	return append(kit.AppendText(append(dst, `,"speaker":`...), t.speaker(u.speaker)), '}')
}

func (t *transcription) appendLogprobs(dst []byte, s string) []byte {
	return kit.AppendArray(dst, pieces(s, 1), func(dst []byte, _ int, token string) []byte {
		rnd := kit.Random(kit.Fingerprint(token))
		return append(kit.AppendLogprob(append(dst, '{'), token, rnd.Below(900)), '}')
	})
}

// audioTokensPerSecond is the rate for audio that is billed by tokens.
const audioTokensPerSecond = 10

// appendUsage writes tokens or seconds; Groq reports neither.
func (t *transcription) appendUsage(dst []byte, tokens bool) []byte {
	if t.model.groq {
		return append(append(append(dst, `,"x_groq":{"id":"req_`...), kit.HexOf(uint64(t.recognized.seed))...), `"}`...)
	}
	style := t.Request.Knobs.Usage
	switch {
	case style == "missing":
		return dst
	case !tokens:
		dst = kit.AppendCount(append(dst, `,"usage":{"type":"duration",`...), "seconds", int(math.Ceil(t.recognized.seconds)), style)
		return append(dst, '}')
	}
	audio, words, out := int(math.Ceil(t.recognized.seconds*audioTokensPerSecond)), kit.CountTokens(t.prompt), kit.CountTokens(t.recognized.text)
	dst = kit.AppendCount(append(dst, `,"usage":{"type":"tokens",`...), "input_tokens", audio+words, style)
	dst = kit.AppendCount(append(dst, `,"input_token_details":{`...), "text_tokens", words, style)
	dst = kit.AppendCount(append(dst, ','), "audio_tokens", audio, style)
	dst = kit.AppendCount(append(dst, `},`...), "output_tokens", out, style)
	return append(kit.AppendCount(append(dst, ','), "total_tokens", audio+words+out, style), '}')
}

// frames sends the events of a stream: deltas, segments with speakers if requested, and the whole text with the usage.
func (t *transcription) frames(yield func(kit.Frame) bool) {
	tokens := t.Request.Knobs.Chunk
	if n := t.Request.Knobs.Frames; n > 0 {
		tokens = (kit.CountTokens(t.recognized.text) + n - 1) / n
	}
	for i, u := range t.recognized.utterances {
		said := u.text
		if i > 0 {
			said = t.recognized.space + said
		}
		for _, piece := range pieces(said, tokens) {
			dst := kit.AppendText([]byte(`{"type":"transcript.text.delta","delta":`), piece)
			if t.probable {
				dst = t.appendLogprobs(append(dst, `,"logprobs":`...), piece)
			}
			if t.model.diarizes {
				dst = kit.AppendText(append(dst, `,"segment_id":`...), segmentID(i))
			}
			if !yield(kit.Frame{Data: append(dst, '}'), Kind: kit.Content}) {
				return
			}
		}
		if t.format == "diarized_json" && !yield(kit.Frame{Data: t.appendSegment(nil, i), Kind: kit.Structure}) {
			return
		}
	}
	dst := kit.AppendText([]byte(`{"type":"transcript.text.done","text":`), t.recognized.text)
	if t.probable {
		dst = t.appendLogprobs(append(dst, `,"logprobs":`...), t.recognized.text)
	}
	yield(kit.Frame{Data: append(t.appendUsage(dst, true), '}'), Kind: kit.Ending})
}
