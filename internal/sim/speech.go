package sim

import (
	"embed"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// sounds are half a second of a tone of 440 Hz (FLAC: a tenth) in the formats that are not written by code.
//
//go:embed sounds
var sounds embed.FS

// soundTypes are the content types of formats.
var soundTypes = map[string]string{
	"mp3": "audio/mpeg", "opus": "audio/opus", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav", "pcm": "audio/pcm", "ulaw": "audio/basic", "alaw": "audio/basic",
}

// tone is sound in a format; pcm is 16 bits at 24 kHz, least byte first, and the tone of wav and pcm goes by the text.
func tone(format, said string) []byte {
	switch format {
	case "wav":
		return speech("wav", said, fingerprint(said)).data
	case "pcm":
		return speech("pcm16", said, fingerprint(said)).data
	case "ulaw", "alaw":
		pcm := speech("pcm16", said, fingerprint(said)).data
		out := make([]byte, len(pcm)/6) // a sixth of the samples is a third of the rate: 8 kHz
		for i := range out {
			if out[i] = 0x9e; pcm[6*i+1]&0x80 != 0 {
				out[i] = 0x1e
			}
		}
		return out
	}
	data, err := sounds.ReadFile("sounds/tone." + format)
	if err != nil {
		panic("sim: a format without a sound: " + format)
	}
	return data
}

// soundWire streams bytes of a format in the place of events.
func soundWire(on *wire, format string) *wire {
	out := *on
	out.raw, out.binary = true, true
	out.stream = []string{soundTypes[format]}
	out.frame = func(dst []byte, f frame) []byte { return append(dst, f.data...) }
	out.text = func(s string) frame { return frame{data: []byte(s)} }
	out.last, out.idle = nil, frame{}
	return &out
}

// soundFrames cuts sound into frames: as many as told, else four.
func soundFrames(data []byte, k *knobs, write func(piece []byte) []byte) func(yield func(frame) bool) {
	n := 4
	if k.frames > 0 {
		n = k.frames
	}
	size := max(1, (len(data)+n-1)/n)
	return func(yield func(frame) bool) {
		for at := 0; at < len(data); at += size {
			if !yield(frame{data: write(data[at:min(at+size, len(data))]), kind: content}) {
				return
			}
		}
	}
}

// soundReply is sound in pieces, without a length before it.
func soundReply(on *wire, format, said string, k *knobs) *reply {
	data := tone(format, said)
	return &reply{
		wire: soundWire(on, format), stream: true, kind: []string{soundTypes[format]},
		body: func() []byte { return data }, hollow: func() []byte { return nil },
		frames: soundFrames(data, k, func(piece []byte) []byte { return piece }),
	}
}

// voicing is a model that speaks.
type voicing struct {
	steered bool // takes instructions, and streams events
	most    int  // characters
}

var speakingModels = map[string]*voicing{
	"speech": {steered: true, most: 4096}, "gpt-4o-mini-tts": {steered: true, most: 4096}, "gpt-4o-mini-tts-2025-12-15": {steered: true, most: 4096},
	"tts-1": {most: 4096}, "tts-1-hd": {most: 4096},
}

var voices = []string{"alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"}

// speechWire is POST /v1/audio/speech.
var speechWire = func() *wire {
	on := wholeWire("speech", &openAIPhrases, (*refusal).json, chatWire.admit, "Input too long: the maximum is 2000 tokens.", `{"type":"speech.audio.none"}`)
	on.text = func(s string) frame { return frame{data: []byte(`{"type":"speech.audio.delta","audio":"` + s + `"}`)} }
	on.idle = frame{data: []byte(`{"type":"speech.audio.idle"}`)}
	return on
}()

// speaking is what a request comes to.
type speaking struct {
	checker
	model  *voicing
	input  string
	format string
	events bool
}

// speak serves POST /v1/audio/speech.
func (s *audioWires) speak(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(speechWire, w, r, func(body []byte) *refusal {
		c, refused := reader(speechWire, body)
		if refused != nil {
			return refused
		}
		q := &speaking{checker: *c, format: "mp3"}
		if q.read(); q.fault != nil {
			return q.fault
		}
		if !q.events {
			return s.perform(w, r, started, &q.checker, soundReply(speechWire, q.format, q.input, &q.ask.knobs))
		}
		return s.perform(w, r, started, &q.checker, q.reply())
	})
}

func (q *speaking) read() {
	steering := ""
	members(&q.checker, q, q.root, "", map[string]field[*speaking]{
		"model": func(q *speaking, v *node, p string) {
			if q.typed(v, text, p) {
				q.model = asked(&q.checker, v.text, speakingModels, unknownModel)
			}
		},
		"input": func(q *speaking, v *node, p string) {
			if q.typed(v, text, p) {
				q.input = v.text
			}
		},
		"voice": func(q *speaking, v *node, p string) {
			if v.is(object) {
				members(&q.checker, q, v, p, map[string]field[*speaking]{"id": func(q *speaking, v *node, p string) { q.aText(v, p) }}, "id")
				return
			}
			q.words(v, p, voices...)
		},
		"instructions": func(q *speaking, v *node, p string) {
			if steering = p; q.typed(v, text, p) && utf8.RuneCountInString(v.text) > 4096 {
				q.refuse(p, "string_above_max_length", "Invalid 'instructions': string too long. Expected a string with maximum length 4096.")
			}
		},
		"response_format": func(q *speaking, v *node, p string) {
			q.format = q.words(v, p, "mp3", "opus", "aac", "flac", "wav", "pcm")
		},
		"speed":         func(q *speaking, v *node, p string) { q.decimal(v, p, 0.25, 4) },
		"stream_format": func(q *speaking, v *node, p string) { q.events = q.words(v, p, "sse", "audio") == "sse" },
	}, "model", "input", "voice")
	if q.fault != nil {
		return
	}
	switch n := utf8.RuneCountInString(q.input); {
	case n == 0:
		q.refuse("input", "string_too_short", "Invalid 'input': empty string. Expected a string with minimum length 1, but got an empty string instead.")
	case n > q.model.most:
		q.refuse("input", "string_above_max_length", "Invalid 'input': string too long. Expected a string with maximum length "+itoa(q.model.most)+", but got a string with length "+itoa(n)+" instead.")
	case q.events && !q.model.steered:
		q.refuse("stream_format", "unsupported_value", "stream_format 'sse' is not supported for this model.")
	case steering != "" && !q.model.steered:
		q.refuse("instructions", "unsupported_parameter", "'instructions' is not supported for this model.")
	}
	q.input = q.plain(q.input, "input")
}

// speechTokensPerSecond is how sound is counted that is spoken.
const speechTokensPerSecond = 20

// reply is speech as events.
func (q *speaking) reply() *reply {
	data := tone(q.format, q.input)
	r := &reply{wire: speechWire, stream: true, kind: []string{soundTypes[q.format]}, body: func() []byte { return data }, hollow: func() []byte { return nil }}
	deltas := soundFrames(data, &q.ask.knobs, func(piece []byte) []byte {
		dst := base64.StdEncoding.AppendEncode([]byte(`{"type":"speech.audio.delta","audio":"`), piece)
		return append(dst, `"}`...)
	})
	r.frames = func(yield func(frame) bool) {
		going := true
		deltas(func(f frame) bool {
			going = yield(f)
			return going
		})
		if !going {
			return
		}
		in, out := countTokens(q.input), max(1, countTokens(q.input)*speechTokensPerSecond/tokensPerSecond)
		dst := appendCounts([]byte(`{"type":"speech.audio.done"`), "usage", q.ask.knobs.usage,
			counted{"input_tokens", in}, counted{"output_tokens", out}, counted{"total_tokens", in + out})
		yield(frame{data: append(dst, '}'), kind: ending})
	}
	return r
}

var elevenVoices = map[string]*voicing{
	"speech": {most: 10_000}, "eleven_multilingual_v2": {most: 10_000}, "eleven_flash_v2_5": {most: 40_000}, "eleven_turbo_v2_5": {most: 40_000}, "eleven_v3": {most: 5000},
}

// elevenFormats are codec, rate and bit rate.
var elevenFormats = []string{
	"mp3_22050_32", "mp3_24000_48", "mp3_44100_32", "mp3_44100_64", "mp3_44100_96", "mp3_44100_128", "mp3_44100_192", "pcm_8000", "pcm_16000", "pcm_22050", "pcm_24000",
	"pcm_32000", "pcm_44100", "pcm_48000", "ulaw_8000", "alaw_8000", "opus_48000_32", "opus_48000_64", "opus_48000_96", "opus_48000_128", "opus_48000_192", "wav_24000",
	"wav_8000", "wav_16000", "wav_22050", "wav_32000", "wav_44100", "wav_48000",
}

// elevenSpeak serves POST /v1/text-to-speech/{voice}, and /stream, whose bytes are the same. Sound is at 24 kHz whatever rate is asked for.
func (s *audioWires) elevenSpeak(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(elevenWire, w, r, func(body []byte) *refusal {
		c, refused := reader(elevenWire, body)
		if refused != nil {
			if refused.status = 422; refused.param == "" {
				refused.param = "body"
			}
			return refused
		}
		q := &speaking{checker: *c, format: "mp3"}
		q.status = 422
		if q.eleven(r); q.fault != nil {
			return q.fault
		}
		out := soundReply(elevenWire, q.format, q.input, &q.ask.knobs)
		out.wire.head = http.Header{"Character-Cost": {strconv.Itoa(utf8.RuneCountInString(q.input))}, "Request-Id": {hexOf(fingerprint(q.input))}}
		return s.perform(w, r, started, &q.checker, out)
	})
}

func (q *speaking) eleven(r *http.Request) {
	anything := func(_ *speaking, _ *node, _ string) {}
	model := "eleven_multilingual_v2"
	members(&q.checker, q, q.root, "", map[string]field[*speaking]{
		"text": func(q *speaking, v *node, p string) {
			if q.typed(v, text, p) {
				q.input = v.text
			}
		},
		"model_id": func(q *speaking, v *node, p string) {
			if q.typed(v, text, p) {
				model = v.text
			}
		},
		"language_code": func(q *speaking, v *node, p string) { q.aText(v, p) },
		"voice_settings": func(q *speaking, v *node, p string) {
			unit := func(q *speaking, v *node, p string) { q.decimal(v, p, 0, 1) }
			members(&q.checker, q, v, p, map[string]field[*speaking]{
				"stability": unit, "similarity_boost": unit, "style": unit, "use_speaker_boost": func(q *speaking, v *node, p string) { q.aBool(v, p) },
				"speed": func(q *speaking, v *node, p string) { q.decimal(v, p, 0.7, 1.2) },
			})
		},
		"seed":                              func(q *speaking, v *node, p string) { q.integer(v, p, 0, 1<<32-1) },
		"previous_text":                     func(q *speaking, v *node, p string) { q.aText(v, p) },
		"next_text":                         func(q *speaking, v *node, p string) { q.aText(v, p) },
		"pronunciation_dictionary_locators": anything, "previous_request_ids": anything, "next_request_ids": anything, "use_pvc_as_ivc": anything,
		"apply_text_normalization":          func(q *speaking, v *node, p string) { q.words(v, p, "auto", "on", "off") },
		"apply_language_text_normalization": func(q *speaking, v *node, p string) { q.aBool(v, p) },
	}, "text")
	if q.fault != nil {
		return
	}
	if q.model = asked(&q.checker, model, elevenVoices, elevenUnknown); q.fault != nil {
		return
	}
	if voice := r.PathValue("voice"); len(voice) < 3 {
		q.fault = &refusal{status: 404, code: "voice_not_found", message: "A voice with voice_id " + voice + " was not found."}
	}
	format := r.URL.Query().Get("output_format")
	if format != "" {
		if q.format, _, _ = strings.Cut(format, "_"); oneWord(format, elevenFormats) == "" {
			q.refuse("output_format", "invalid_value", "Input should be one of the supported formats")
		}
	}
	if n := utf8.RuneCountInString(q.input); n > q.model.most {
		q.fault = &refusal{status: 400, code: "text_too_long", message: "The text is " + itoa(n) + " characters long, at most " + itoa(q.model.most) + " are allowed for this model."}
	} else if n == 0 {
		q.fault = &refusal{status: 400, code: "input_text_empty", message: "Input text is empty."}
	}
	q.input = q.plain(q.input, "text")
}
