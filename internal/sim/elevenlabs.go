package sim

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// elevenWire is ElevenLabs': transcription and speech.
var elevenWire = wholeWire("elevenlabs", &elevenPhrases, elevenError, func(s *Host, r *http.Request) *refusal {
	if key := r.Header.Get("Xi-Api-Key"); key != "" && s.hasKey(key) {
		return nil
	}
	return &refusal{status: 401, code: "invalid_api_key", message: "Invalid API key"}
}, "The text is too long.", `{"language_code":"eng"}`)

var elevenStatuses = map[int]string{
	400: "invalid_request", 401: "invalid_api_key", 402: "payment_required", 403: "missing_permissions", 404: "not_found", 413: "file_too_large",
	429: "too_many_concurrent_requests", 503: "system_busy",
}

// elevenFaults are the validator's names for what is wrong.
var elevenFaults = map[string]string{
	"missing_required_parameter": "missing", "unknown_parameter": "extra_forbidden", "invalid_type": "type_error", "invalid_value": "enum",
	"integer_out_of_range": "less_than_equal", "decimal_out_of_range": "less_than_equal",
}

// elevenError has two shapes: what a validator finds, and what anything else does.
func elevenError(f *refusal) []byte {
	if f.status == 422 {
		dst := appendText([]byte(`{"detail":[{"type":`), cmp.Or(elevenFaults[f.code], "value_error"))
		dst = appendText(append(dst, `,"loc":["body",`...), f.param)
		return append(appendText(append(dst, `],"msg":`...), f.message), "}]}"...)
	}
	status := f.code
	if known := elevenStatuses[f.status]; status == "" || f.kind != "" {
		status = known
	}
	if status == "" {
		status = "internal_server_error"
	}
	dst := appendText(append(appendText([]byte(`{"detail":{"status":`), status), `,"message":`...), f.message)
	return append(dst, "}}"...)
}

var elevenPhrases = phrases{
	item:    openAIPhrases.item,
	missing: func(string) string { return "Field required" },
	unknown: func(string) string { return "Extra inputs are not permitted" },
	wrongType: func(_, _, want string) string {
		return "Input should be a valid " + strings.TrimPrefix(strings.TrimPrefix(want, "a "), "an ")
	},
	wrongValue: func(_, want string) string { return "Input should be " + want },
	outOfRange: func(_, low, high string) string { return "Input should be from " + low + " to " + high },
	readable:   func(error) string { return "JSON decode error" },
}

func elevenUnknown(name string) *refusal {
	return &refusal{status: 400, code: "invalid_model_id", message: "'" + name + "' is not a valid model_id."}
}

var elevenTranscribers = map[string]*transcriber{"scribe": whisper, "scribe_v1": whisper, "scribe_v1_experimental": whisper, "scribe_v2": whisper}

// elevenFields are the names that a form may have.
var elevenFields = []string{
	"model_id", "language_code", "tag_audio_events", "num_speakers", "timestamps_granularity", "diarize", "diarization_threshold", "additional_formats", "file_format",
	"cloud_storage_url", "source_url", "webhook", "webhook_id", "webhook_metadata", "temperature", "seed", "use_multi_channel", "entity_detection", "entity_redaction",
	"entity_redaction_mode", "keyterms", "no_verbatim", "detect_speaker_roles", "multichannel_output_style",
}

// scribing is what a request for a transcript comes to.
type scribing struct {
	checker
	form    *form
	diarize bool
	detail  string // word, character, none
	heard   *transcript
}

// scribe serves POST /v1/speech-to-text.
func (s *audioWires) scribe(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	noForm := refusal{status: 422, code: "missing_required_parameter", param: "model_id", message: "Field required"}
	s.takeAs(formed(noForm), elevenWire, w, r, func(body []byte) *refusal {
		f, ok := readForm(r, body)
		if !ok {
			return &noForm
		}
		e := &scribing{checker: newChecker(elevenWire.say), form: f, detail: "word"}
		e.status = 422
		if e.read(); e.fault != nil {
			return e.fault
		}
		return s.perform(w, r, started, &e.checker, whole(elevenWire, `{"language_code":"eng","text":"","words":[]}`, e.body))
	})
}

func (e *scribing) read() {
	f := e.form
	for _, name := range f.names {
		if !slices.Contains(elevenFields, name) {
			e.unknown(name)
		}
	}
	if f.values["model_id"] == nil {
		e.missing("model_id")
		return
	}
	asked(&e.checker, f.get("model_id"), elevenTranscribers, elevenUnknown)
	flag := func(name string) bool {
		v := f.get(name)
		yes, err := strconv.ParseBool(v)
		if v != "" && err != nil {
			e.wrongType(name, &node{kind: text}, "a boolean")
		}
		return yes
	}
	e.diarize = flag("diarize")
	flag("tag_audio_events")
	flag("use_multi_channel")
	if flag("webhook") {
		e.refuse("webhook", "", "The simulator calls nobody back.")
	}
	if v := f.get("timestamps_granularity"); v != "" {
		if e.detail = oneWord(v, []string{"none", "word", "character"}); e.detail == "" {
			e.wrongValue("timestamps_granularity", "'none', 'word' or 'character'")
		}
	}
	if v := f.get("num_speakers"); v != "" {
		if _, err := among(v, 1, 32); err != nil {
			e.refuse("num_speakers", "", e.phrases.outOfRange("", "1", "32"))
		}
	}
	if v := f.get("temperature"); v != "" {
		if x, err := strconv.ParseFloat(v, 64); err != nil || !(x >= 0 && x <= 2) {
			e.refuse("temperature", "", e.phrases.outOfRange("", "0", "2"))
		}
	}
	for _, term := range f.values["keyterms"] {
		e.plain(term, "keyterms")
	}
	e.file()
}

func (e *scribing) file() {
	files := e.form.files["file"]
	if e.fault != nil {
		return
	}
	if len(files) != 1 {
		e.fault = &refusal{status: 400, code: "invalid_parameters", message: "Must provide either file or cloud_storage_url parameter."}
		return
	}
	data := files[0].data
	switch {
	case len(data) == 0:
		e.fault = &refusal{status: 400, code: "empty_file", message: "The uploaded file is empty."}
	case sniff(data) == "":
		e.fault = &refusal{status: 400, code: "invalid_content", message: "File upload is corrupted. Please ensure it is playable audio."}
	case seconds(data) < 0.1:
		e.fault = &refusal{status: 400, code: "audio_too_short", message: "Audio is too short. Minimum length is 100ms."}
	default:
		markedInside(&e.checker, data)
		e.heard = hear(data, e.form.get("language_code"), &e.ask.knobs)
	}
}

func (e *scribing) body() []byte {
	h := e.heard
	dst := appendText([]byte(`{"language_code":`), h.longCode)
	dst = appendText(append(dst, `,"language_probability":0.98,"text":`...), h.text)
	var entries []byte
	entry := func(s, kind string, start, end float64, speaker int) {
		if len(entries) > 0 {
			entries = append(entries, ',')
		}
		entries = appendText(append(entries, `{"text":`...), s)
		entries = appendText(append(appendTimes(entries, start, end), `,"type":`...), kind)
		if e.diarize {
			entries = append(appendInt(append(entries, `,"speaker_id":"speaker_`...), speaker), '"')
		}
		entries = append(entries, `,"logprob":-0.01`...)
		if e.detail == "character" {
			letters := strings.Split(s, "")
			entries = listed(append(entries, `,"characters":`...), letters, func(dst []byte, i int, s string) []byte {
				each := (end - start) / float64(len(letters))
				dst = appendText(append(dst, `{"text":`...), s)
				return append(appendTimes(dst, rounded(start+each*float64(i)), rounded(start+each*float64(i+1))), '}')
			})
		}
		entries = append(entries, '}')
	}
	last := 0.0
	for _, u := range h.utterances {
		for _, w := range u.words {
			if len(entries) > 0 && h.space != "" {
				entry(h.space, "spacing", last, w.start, u.speaker)
			}
			entry(w.text, "word", w.start, w.end, u.speaker)
			last = w.end
		}
	}
	if e.detail == "none" {
		entries = nil
	}
	dst = append(append(append(dst, `,"words":[`...), entries...), ']')
	dst = appendText(append(dst, `,"transcription_id":`...), hexOf(uint64(h.seed)))
	switch style := e.ask.knobs.usage; style { // what is billed is the duration
	case "missing":
	case "":
		dst = appendNumber(append(dst, `,"audio_duration_secs":`...), h.seconds)
	default:
		dst = appendCount(append(dst, ','), "audio_duration_secs", int(math.Ceil(h.seconds)), style)
	}
	return append(dst, '}')
}
