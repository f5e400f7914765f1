package transcriptions

import (
	"bytes"
	"encoding/base64"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/audio"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

// The formats of an answer.
const (
	formatJSON     = "json"
	formatText     = "text"
	formatSRT      = "srt"
	formatVTT      = "vtt"
	formatVerbose  = "verbose_json"
	formatDiarized = "diarized_json"
)

var formats = []string{formatJSON, formatText, formatSRT, formatVerbose, formatVTT, formatDiarized}

// table lists the formats that models support, by the beginning of their names without the vendor; the first match counts.
var table = []struct {
	prefix  string
	formats []string
}{
	{"gpt-4o-transcribe-diarize", []string{formatJSON, formatText, formatDiarized}},
	{"gpt-4o-transcribe", []string{formatJSON, formatText}},
	{"gpt-4o-mini-transcribe", []string{formatJSON, formatText}},
	{"whisper", []string{formatJSON, formatText, formatSRT, formatVerbose, formatVTT}},
	{"", formats},
}

const (
	defaultVendor = "openai" // of a model's name without a vendor
	maxPrompt     = 32_000   // characters
	maxSpeakers   = 4
	maxLanguage   = 16
	maxUser       = 256 // characters
	maxSlug       = 256
	minReference  = 2 * time.Second
	maxReference  = 10 * time.Second
)

// decoder reads the fields of a form.
type decoder struct {
	form *wire.Form
	req  *completion.Request
	t    *task.Transcription
	seen map[string]bool
	err  *fault.Error
}

// Decode makes a request from a form. It fails with fault.Invalid, whose Param is the field's name.
func Decode(f *wire.Form) (*completion.Request, error) {
	d := decoder{form: f, t: &task.Transcription{Response: formatJSON, File: f.File}, seen: map[string]bool{}}
	d.req = &completion.Request{Task: d.t, N: 1}
	d.req.Needs.Input = catalog.Audio
	for i := range f.Fields {
		if d.field(&f.Fields[i]); d.err != nil {
			return nil, d.err
		}
	}
	if d.check(); d.err != nil {
		return nil, d.err
	}
	if err := d.recording(); err != nil {
		return nil, err
	}
	if d.t.Chunking == "" && d.diarizes() {
		d.t.Chunking = "auto" // without it, such models refuse audio longer than 30 seconds
	}
	return d.req, nil
}

// onlySpoken are the fields of a transcription that a translation does not have: its language is English, and it is neither streamed nor timed by words.
var onlySpoken = []string{"language", "stream", "chunking_strategy", "include", "timestamp_granularities", "known_speaker_names", "known_speaker_references"}

// DecodeTranslation makes a request for a recording in English from a form. It fails as Decode does.
func DecodeTranslation(f *wire.Form) (*completion.Request, error) {
	for i := range f.Fields {
		if name := strings.TrimSuffix(f.Fields[i].Name, "[]"); slices.Contains(onlySpoken, name) && !(name == "stream" && strings.EqualFold(f.Fields[i].Value, "false")) {
			return nil, fault.Field(op, name, "A translation has no %s. Leave it out, or send the form to /v1/audio/transcriptions.", name)
		}
	}
	req, err := Decode(f)
	if err != nil {
		return nil, err
	}
	t := req.Task.(*task.Transcription)
	if t.Response == formatDiarized {
		return nil, fault.Field(op, "response_format", "response_format of a translation must be one of json, text, srt, verbose_json, vtt.")
	}
	if _, name, _ := strings.Cut(req.Models[0], "/"); strings.HasPrefix(name, "gpt-4o-") {
		return nil, fault.Field(op, "model", "The model %s does not translate. Name a Whisper model, such as openai/whisper-1.", req.Models[0])
	}
	t.Translate = true
	return req, nil
}

func (d *decoder) fail(field, format string, args ...any) {
	if d.err == nil {
		d.err = fault.Field(op, field, format, args...)
	}
}

// once refuses a second value of a field that has only one.
func (d *decoder) once(name string) {
	if d.seen[name] {
		d.fail(name, "%s occurs twice.", name)
	}
	d.seen[name] = true
}

func (d *decoder) field(f *task.Field) {
	if !utf8.ValidString(f.Value) || strings.ContainsRune(f.Value, 0) {
		d.fail(f.Name, "%s is not valid UTF-8.", f.Name)
		return
	}
	if path := wire.DivertedBy(f.Name, rawjson.AppendText(nil, f.Value)); path != "" {
		if d.err == nil {
			d.err = wire.Diverted(op, path)
		}
		return
	}
	switch name := strings.TrimSuffix(f.Name, "[]"); name {
	case "timestamp_granularities":
		d.granularity(f.Value)
	case "include":
		d.oneOf(name, f.Value, []string{"logprobs"})
		d.t.Logprobs = true
	case "known_speaker_names":
		d.t.SpeakerNames = d.speaker(name, f.Value, d.t.SpeakerNames)
	case references:
		d.t.SpeakerRefs = d.speaker(name, f.Value, d.t.SpeakerRefs)
	case "model", "language", "prompt", "response_format", "temperature", "stream", "chunking_strategy", "provider", "user":
		d.once(name)
		d.single(name, f.Value)
	case "file":
		d.fail(f.Name, "Send one file, as file.")
	default:
		if !completion.GatewayOnly(name) {
			d.t.Extra = append(d.t.Extra, *f)
		}
	}
}

func (d *decoder) single(name, value string) {
	switch name {
	case "model":
		d.model(value)
	case "language":
		if len(value) > maxLanguage {
			d.fail(name, "language must be an ISO 639-1 code, such as en.")
		}
		d.t.Language = value
	case "prompt":
		if utf8.RuneCountInString(value) > maxPrompt {
			d.fail(name, "The prompt is longer than %d characters.", maxPrompt)
		}
		d.t.Prompt = value
	case "response_format":
		if value != "" {
			d.oneOf(name, value, formats)
			d.t.Response = value
		}
	case "temperature":
		d.temperature(value)
	case "stream":
		d.stream(value)
	case "chunking_strategy":
		d.chunking(value)
	case "provider":
		d.provider(value)
	case "user":
		if utf8.RuneCountInString(value) > maxUser {
			d.fail(name, "The user is longer than %d characters.", maxUser)
		}
		d.req.User = value
	}
}

func (d *decoder) oneOf(name, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		d.fail(name, "%s must be one of %s.", name, strings.Join(allowed, ", "))
		d.allowed(allowed)
	}
}

func (d *decoder) allowed(list []string) {
	if d.err.Details == nil {
		d.err.Details = map[string]any{"allowed": list}
	}
}

func (d *decoder) model(value string) {
	switch {
	case value == "":
		d.fail("model", "model must not be empty.")
	case len(value) > maxSlug:
		d.fail("model", "model is longer than %d bytes.", maxSlug)
	case !strings.Contains(value, "/"):
		value = defaultVendor + "/" + value
	}
	d.req.Models = []string{value}
}

func (d *decoder) temperature(value string) {
	if n, err := strconv.ParseFloat(value, 64); err != nil || !(n >= 0 && n <= 1) || !rawjson.IsNumber([]byte(value)) {
		d.fail("temperature", "temperature must be a number from 0 to 1.")
	}
	d.t.Temperature = value
}

func (d *decoder) stream(value string) {
	switch strings.ToLower(value) {
	case "true", "1":
		d.req.Stream = true
	case "false", "0", "":
	default:
		d.fail("stream", "stream must be true or false.")
	}
}

func (d *decoder) granularity(value string) {
	d.oneOf("timestamp_granularities", value, []string{"word", "segment"})
	d.t.Words = d.t.Words || value == "word"
	d.t.Segments = d.t.Segments || value == "segment"
}

func (d *decoder) speaker(name, value string, list []string) []string {
	switch {
	case len(list) == maxSpeakers:
		d.fail(name, "%s has more than %d entries.", name, maxSpeakers)
	case value == "":
		d.fail(name, "%s must not have an empty entry.", name)
	case name == references:
		d.reference(value)
	}
	return append(list, value)
}

// reference checks a data URL with a speaker's voice.
func (d *decoder) reference(url string) {
	head, encoded, _ := strings.Cut(url, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, packed := strings.CutSuffix(media, ";base64")
	kind, _, err := mime.ParseMediaType(media)
	recording, bad := base64.StdEncoding.DecodeString(encoded)
	if !isData || !packed || err != nil || bad != nil || !strings.HasPrefix(kind, "audio/") && !strings.HasPrefix(kind, "video/") {
		d.fail(references, "Each of "+references+" must be a data URL with a recording in base64, such as data:audio/wav;base64,UklG...")
		return
	}
	info, err := audio.Probe(bytes.NewReader(recording), int64(len(recording)))
	switch {
	case err != nil:
		d.fail(references, "A recording of "+references+" has an unknown format. Send one of the formats of file.")
	case info.Exact && (info.Duration < minReference || info.Duration > maxReference):
		d.fail(references, "Each recording of "+references+" must last from %d to %d seconds.", minReference/time.Second, maxReference/time.Second)
	}
}

// chunking passes on "auto" and an object of settings.
func (d *decoder) chunking(value string) {
	raw := []byte(value)
	if value != "auto" && (rawjson.Check(raw, rawjson.Defaults) != nil || rawjson.KindOf(raw) != rawjson.Object) {
		d.fail("chunking_strategy", `chunking_strategy must be auto, or an object such as {"type": "server_vad"}.`)
	}
	d.t.Chunking = value
}

func (d *decoder) provider(value string) {
	raw := []byte(value)
	if rawjson.Check(raw, rawjson.Defaults) != nil {
		d.fail("provider", "provider must be a JSON object.")
		return
	}
	r := wire.NewReader(raw, op)
	d.req.Preferences = r.Preferences()
	if err := r.Err(); err != nil && d.err == nil {
		err.Param = strings.Trim("provider."+err.Param, ".")
		d.err = err
	}
}

// check checks fields that depend on each other.
func (d *decoder) check() {
	if d.req.Models == nil {
		d.fail("model", "model is required: a slug such as openai/whisper-1.")
		return
	}
	name := d.name()
	for _, row := range table {
		if strings.HasPrefix(name, row.prefix) {
			if !slices.Contains(row.formats, d.t.Response) {
				d.fail("response_format", "response_format of the model %s must be one of %s.", d.req.Models[0], strings.Join(row.formats, ", "))
				d.allowed(row.formats)
			}
			break
		}
	}
	diarize := d.diarizes()
	own := strings.HasPrefix(name, "gpt-4o-")
	switch {
	case (d.t.Words || d.t.Segments) && d.t.Response != formatVerbose:
		d.fail("timestamp_granularities", "timestamp_granularities requires response_format verbose_json.")
	case d.t.Logprobs && (d.t.Response != formatJSON || own && diarize || strings.HasPrefix(name, "whisper")):
		d.fail("include", "logprobs requires response_format json and the model gpt-4o-transcribe or gpt-4o-mini-transcribe.")
	case d.t.Prompt != "" && diarize:
		d.fail("prompt", "A model that separates speakers takes no prompt.")
	case d.t.SpeakerNames != nil && len(d.t.SpeakerNames) != len(d.t.SpeakerRefs):
		d.fail("known_speaker_references", "known_speaker_references and known_speaker_names must have the same length.")
	case len(d.t.SpeakerRefs) > 0 && own && !diarize, len(d.t.SpeakerRefs) > 0 && strings.HasPrefix(name, "whisper"):
		d.fail("known_speaker_references", "Only models that separate speakers accept this field.")
	}
	if d.t.SpeakerNames == nil {
		for i := range d.t.SpeakerRefs {
			d.t.SpeakerNames = append(d.t.SpeakerNames, "speaker_"+strconv.Itoa(i+1)) // strangers get letters, which must not be those of a reference
		}
	}
	if d.t.Response == formatVerbose && !d.t.Words {
		d.t.Segments = true
	}
	if strings.HasPrefix(name, "whisper") {
		d.req.Stream = false // as at the provider that this name comes from
	}
	if d.req.Stream && d.t.Response != formatJSON && d.t.Response != formatDiarized {
		d.fail("stream", "stream requires response_format json or diarized_json.")
	}
}

// name is the model's, without vendor and variant.
func (d *decoder) name() string {
	_, name, _ := strings.Cut(d.req.Models[0], "/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// diarizes reports whether the model distinguishes speakers and takes the parameters of OpenAI's models that do.
func (d *decoder) diarizes() bool { return strings.Contains(d.name(), "diarize") }

// recording checks the file: its name, its declared type, and its bytes.
func (d *decoder) recording() error {
	if d.t.File.Size() == 0 {
		return fault.Field(op, "file", "The file is empty.")
	}
	named, known := audio.ByFileName(d.form.FileName)
	if i := strings.LastIndexByte(d.form.FileName, '.'); i >= 0 && !known {
		return d.unknownFormat(d.form.FileName[i+1:])
	}
	if !known {
		media, _, _ := mime.ParseMediaType(d.form.FileType)
		if named, known = audio.ByMIMEType(media); !known && strings.HasPrefix(media, "audio/") {
			return d.unknownFormat(media)
		}
	}
	info, err := audio.Probe(d.t.File, d.t.File.Size())
	if err != nil {
		return err
	}
	if !known || !named.Names(info.Format) { // providers that look at the name refuse a file whose name misleads
		named = info.Format
	}
	d.t.Format, d.t.MediaType = named.String(), named.MIMEType()
	d.t.Duration, d.t.Measured = info.Duration, info.Exact
	d.req.Needs.PromptTokens, d.req.Needs.Longest = d.t.Most().Prompt.N, 1
	if d.t.Measured { // the upper bound would exclude models that can take the audio
		d.req.Needs.Longest = max(d.t.Usual().Prompt.N, 1)
	}
	return nil
}

func (d *decoder) unknownFormat(name string) error {
	list := audio.Names()
	e := fault.Field(op, "file", "The format %q is not one of %s.", strings.ToValidUTF8(name[:min(len(name), 32)], ""), strings.Join(list, ", "))
	e.Details = map[string]any{"allowed": list}
	return e
}
