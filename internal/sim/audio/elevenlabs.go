package audio

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// elevenWire is ElevenLabs': transcription and speech.
var elevenWire = kit.NewWholeWire("elevenlabs", &elevenPhrases, elevenError, func(s *kit.Host, r *http.Request) *kit.Refusal {
	if key := r.Header.Get("Xi-Api-Key"); key != "" && s.HasKey(key) {
		return nil
	}
	return &kit.Refusal{Status: 401, Code: "invalid_api_key", Message: "Invalid API key"}
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
func elevenError(f *kit.Refusal) []byte {
	if f.Status == 422 {
		dst := kit.AppendText([]byte(`{"detail":[{"type":`), cmp.Or(elevenFaults[f.Code], "value_error"))
		dst = kit.AppendText(append(dst, `,"loc":["body",`...), f.Param)
		return append(kit.AppendText(append(dst, `],"msg":`...), f.Message), "}]}"...)
	}
	status := f.Code
	if known := elevenStatuses[f.Status]; status == "" || f.Kind != "" {
		status = known
	}
	if status == "" {
		status = "internal_server_error"
	}
	dst := kit.AppendText(append(kit.AppendText([]byte(`{"detail":{"status":`), status), `,"message":`...), f.Message)
	return append(dst, "}}"...)
}

var elevenPhrases = kit.Phrases{
	Item:    kit.OpenAIPhrases.Item,
	Missing: func(string) string { return "Field required" },
	Unknown: func(string) string { return "Extra inputs are not permitted" },
	WrongType: func(_, _, want string) string {
		return "Input should be a valid " + strings.TrimPrefix(strings.TrimPrefix(want, "a "), "an ")
	},
	WrongValue: func(_, want string) string { return "Input should be " + want },
	OutOfRange: func(_, low, high string) string { return "Input should be from " + low + " to " + high },
	Readable:   func(error) string { return "JSON decode error" },
}

func elevenUnknown(name string) *kit.Refusal {
	return &kit.Refusal{Status: 400, Code: "invalid_model_id", Message: "'" + name + "' is not a valid model_id."}
}

var elevenTranscribers = map[string]*transcriber{"scribe": whisper, "scribe_v1": whisper, "scribe_v1_experimental": whisper, "scribe_v2": whisper}

// elevenFields are the names that a form may have.
var elevenFields = []string{
	"model_id", "language_code", "tag_audio_events", "num_speakers", "timestamps_granularity", "diarize", "diarization_threshold", "additional_formats", "file_format",
	"cloud_storage_url", "source_url", "webhook", "webhook_id", "webhook_metadata", "temperature", "seed", "use_multi_channel", "entity_detection", "entity_redaction",
	"entity_redaction_mode", "keyterms", "no_verbatim", "detect_speaker_roles", "multichannel_output_style",
}

// scribeRequest is a request for a transcript.
type scribeRequest struct {
	kit.Checker
	form       *form
	diarize    bool
	detail     string // word, character, none
	recognized *transcript
}

// scribe serves POST /v1/speech-to-text.
func (s *Wires) scribe(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	noForm := kit.Refusal{Status: 422, Code: "missing_required_parameter", Param: "model_id", Message: "Field required"}
	s.HandleBody(formed(noForm), elevenWire, w, r, func(body []byte) *kit.Refusal {
		f, ok := readForm(r, body)
		if !ok {
			return &noForm
		}
		e := &scribeRequest{Checker: kit.NewChecker(elevenWire.Phrases), form: f, detail: "word"}
		e.Status = 422
		if e.read(); e.Fault != nil {
			return e.Fault
		}
		return s.Serve(w, r, started, &e.Checker, kit.WholeReply(elevenWire, `{"language_code":"eng","text":"","words":[]}`, e.body))
	})
}

func (e *scribeRequest) read() {
	f := e.form
	for _, name := range f.names {
		if !slices.Contains(elevenFields, name) {
			e.Unknown(name)
		}
	}
	if f.values["model_id"] == nil {
		e.Missing("model_id")
		return
	}
	kit.FindModel(&e.Checker, f.get("model_id"), elevenTranscribers, elevenUnknown)
	flag := func(name string) bool {
		v := f.get(name)
		yes, err := strconv.ParseBool(v)
		if v != "" && err != nil {
			e.WrongType(name, &kit.Node{Kind: kit.Text}, "a boolean")
		}
		return yes
	}
	e.diarize = flag("diarize")
	flag("tag_audio_events")
	flag("use_multi_channel")
	if flag("webhook") {
		e.Refuse("webhook", "", "The simulator calls nobody back.")
	}
	if v := f.get("timestamps_granularity"); v != "" {
		if e.detail = kit.OneWord(v, []string{"none", "word", "character"}); e.detail == "" {
			e.WrongValue("timestamps_granularity", "'none', 'word' or 'character'")
		}
	}
	if v := f.get("num_speakers"); v != "" {
		if _, err := kit.ParseInt(v, 1, 32); err != nil {
			e.Refuse("num_speakers", "", e.Phrases.OutOfRange("", "1", "32"))
		}
	}
	if v := f.get("temperature"); v != "" {
		if x, err := strconv.ParseFloat(v, 64); err != nil || !(x >= 0 && x <= 2) {
			e.Refuse("temperature", "", e.Phrases.OutOfRange("", "0", "2"))
		}
	}
	for _, term := range f.values["keyterms"] {
		e.StripMarkers(term, "keyterms")
	}
	e.file()
}

func (e *scribeRequest) file() {
	files := e.form.files["file"]
	if e.Fault != nil {
		return
	}
	if len(files) != 1 {
		e.Fault = &kit.Refusal{Status: 400, Code: "invalid_parameters", Message: "Must provide either file or cloud_storage_url parameter."}
		return
	}
	data := files[0].data
	switch {
	case len(data) == 0:
		e.Fault = &kit.Refusal{Status: 400, Code: "empty_file", Message: "The uploaded file is empty."}
	case sniff(data) == "":
		e.Fault = &kit.Refusal{Status: 400, Code: "invalid_content", Message: "File upload is corrupted. Please ensure it is playable audio."}
	case seconds(data) < 0.1:
		e.Fault = &kit.Refusal{Status: 400, Code: "audio_too_short", Message: "Audio is too short. Minimum length is 100ms."}
	default:
		markedInside(&e.Checker, data)
		e.recognized = recognize(data, e.form.get("language_code"), &e.Request.Knobs)
	}
}

func (e *scribeRequest) body() []byte {
	h := e.recognized
	dst := kit.AppendText([]byte(`{"language_code":`), h.longCode)
	dst = kit.AppendText(append(dst, `,"language_probability":0.98,"text":`...), h.text)
	var entries []byte
	entry := func(s, kind string, start, end float64, speaker int) {
		if len(entries) > 0 {
			entries = append(entries, ',')
		}
		entries = kit.AppendText(append(entries, `{"text":`...), s)
		entries = kit.AppendText(append(appendTimes(entries, start, end), `,"type":`...), kind)
		if e.diarize {
			entries = append(kit.AppendInt(append(entries, `,"speaker_id":"speaker_`...), speaker), '"')
		}
		entries = append(entries, `,"logprob":-0.01`...)
		if e.detail == "character" {
			letters := strings.Split(s, "")
			entries = kit.AppendArray(append(entries, `,"characters":`...), letters, func(dst []byte, i int, s string) []byte {
				each := (end - start) / float64(len(letters))
				dst = kit.AppendText(append(dst, `{"text":`...), s)
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
	dst = kit.AppendText(append(dst, `,"transcription_id":`...), kit.HexOf(uint64(h.seed)))
	switch style := e.Request.Knobs.Usage; style { // what is billed is the duration
	case "missing":
	case "":
		dst = kit.AppendNumber(append(dst, `,"audio_duration_secs":`...), h.seconds)
	default:
		dst = kit.AppendCount(append(dst, ','), "audio_duration_secs", int(math.Ceil(h.seconds)), style)
	}
	return append(dst, '}')
}
