package audio

import (
	"embed"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/sim/kit"
)

// audioFiles are half a second of a tone of 440 Hz (FLAC: a tenth) in the formats that are not written by code.
//
//go:embed sounds
var audioFiles embed.FS

// audioTypes are the content types of formats.
var audioTypes = map[string]string{
	"mp3": "audio/mpeg", "opus": "audio/opus", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav", "pcm": "audio/pcm", "ulaw": "audio/basic", "alaw": "audio/basic",
}

// tone returns audio in a format. pcm has 16 bits at 24 kHz, little-endian; the tone of wav and pcm depends on the text.
func tone(format, text string) []byte {
	switch format {
	case "wav":
		return kit.NewSpeech("wav", text, kit.Fingerprint(text)).Data
	case "pcm":
		return kit.NewSpeech("pcm16", text, kit.Fingerprint(text)).Data
	case "ulaw", "alaw":
		pcm := kit.NewSpeech("pcm16", text, kit.Fingerprint(text)).Data
		out := make([]byte, len(pcm)/6) // a sixth of the samples is a third of the rate: 8 kHz
		for i := range out {
			if out[i] = 0x9e; pcm[6*i+1]&0x80 != 0 {
				out[i] = 0x1e
			}
		}
		return out
	}
	data, err := audioFiles.ReadFile("sounds/tone." + format)
	if err != nil {
		panic("sim: a format without a sound: " + format)
	}
	return data
}

// audioWire streams bytes of a format in the place of events.
func audioWire(on *kit.Wire, format string) *kit.Wire {
	out := *on
	out.Raw, out.Binary = true, true
	out.Stream = []string{audioTypes[format]}
	out.Frame = func(dst []byte, f kit.Frame) []byte { return append(dst, f.Data...) }
	out.TextFrame = func(s string) kit.Frame { return kit.Frame{Data: []byte(s)} }
	out.LastData, out.IdleFrame = nil, kit.Frame{}
	return &out
}

// audioFrames cuts audio into frames: as many as asked for, else four.
func audioFrames(data []byte, k *kit.Knobs, write func(piece []byte) []byte) func(yield func(kit.Frame) bool) {
	n := 4
	if k.Frames > 0 {
		n = k.Frames
	}
	size := max(1, (len(data)+n-1)/n)
	return func(yield func(kit.Frame) bool) {
		for at := 0; at < len(data); at += size {
			if !yield(kit.Frame{Data: write(data[at:min(at+size, len(data))]), Kind: kit.Content}) {
				return
			}
		}
	}
}

// audioReply sends audio in pieces, without a Content-Length.
func audioReply(on *kit.Wire, format, text string, k *kit.Knobs) *kit.Reply {
	data := tone(format, text)
	return &kit.Reply{
		Wire: audioWire(on, format), Stream: true, Kind: []string{audioTypes[format]},
		Body: func() []byte { return data }, EmptyBody: func() []byte { return nil },
		Frames: audioFrames(data, k, func(piece []byte) []byte { return piece }),
	}
}

// speechModel describes a model that makes speech.
type speechModel struct {
	steered bool // takes instructions, and streams events
	most    int  // characters
}

var speechModels = map[string]*speechModel{
	"speech": {steered: true, most: 4096}, "gpt-4o-mini-tts": {steered: true, most: 4096}, "gpt-4o-mini-tts-2025-12-15": {steered: true, most: 4096},
	"tts-1": {most: 4096}, "tts-1-hd": {most: 4096},
}

var voices = []string{"alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar"}

// speechWire is POST /v1/audio/speech.
var speechWire = func() *kit.Wire {
	on := kit.NewWholeWire("speech", &kit.OpenAIPhrases, (*kit.Refusal).JSON, kit.ChatWire.Admit, "Input too long: the maximum is 2000 tokens.", `{"type":"speech.audio.none"}`)
	on.TextFrame = func(s string) kit.Frame {
		return kit.Frame{Data: []byte(`{"type":"speech.audio.delta","audio":"` + s + `"}`)}
	}
	on.IdleFrame = kit.Frame{Data: []byte(`{"type":"speech.audio.idle"}`)}
	return on
}()

// speechRequest is a request for speech.
type speechRequest struct {
	kit.Checker
	model  *speechModel
	input  string
	format string
	events bool
}

// speak serves POST /v1/audio/speech.
func (s *Wires) speak(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(speechWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(speechWire, body)
		if refused != nil {
			return refused
		}
		q := &speechRequest{Checker: *c, format: "mp3"}
		if q.read(); q.Fault != nil {
			return q.Fault
		}
		if !q.events {
			return s.Serve(w, r, started, &q.Checker, audioReply(speechWire, q.format, q.input, &q.Request.Knobs))
		}
		return s.Serve(w, r, started, &q.Checker, q.reply())
	})
}

func (q *speechRequest) read() {
	steering := ""
	kit.Members(&q.Checker, q, q.Root, "", map[string]kit.Field[*speechRequest]{
		"model": func(q *speechRequest, v *kit.Node, p string) {
			if q.ExpectKind(v, kit.Text, p) {
				q.model = kit.FindModel(&q.Checker, v.Text, speechModels, kit.UnknownModel)
			}
		},
		"input": func(q *speechRequest, v *kit.Node, p string) {
			if q.ExpectKind(v, kit.Text, p) {
				q.input = v.Text
			}
		},
		"voice": func(q *speechRequest, v *kit.Node, p string) {
			if v.Is(kit.Object) {
				kit.Members(&q.Checker, q, v, p, map[string]kit.Field[*speechRequest]{"id": func(q *speechRequest, v *kit.Node, p string) { q.ExpectText(v, p) }}, "id")
				return
			}
			q.OneOf(v, p, voices...)
		},
		"instructions": func(q *speechRequest, v *kit.Node, p string) {
			if steering = p; q.ExpectKind(v, kit.Text, p) && utf8.RuneCountInString(v.Text) > 4096 {
				q.Refuse(p, "string_above_max_length", "Invalid 'instructions': string too long. Expected a string with maximum length 4096.")
			}
		},
		"response_format": func(q *speechRequest, v *kit.Node, p string) {
			q.format = q.OneOf(v, p, "mp3", "opus", "aac", "flac", "wav", "pcm")
		},
		"speed":         func(q *speechRequest, v *kit.Node, p string) { q.Decimal(v, p, 0.25, 4) },
		"stream_format": func(q *speechRequest, v *kit.Node, p string) { q.events = q.OneOf(v, p, "sse", "audio") == "sse" },
	}, "model", "input", "voice")
	if q.Fault != nil {
		return
	}
	switch n := utf8.RuneCountInString(q.input); {
	case n == 0:
		q.Refuse("input", "string_too_short", "Invalid 'input': empty string. Expected a string with minimum length 1, but got an empty string instead.")
	case n > q.model.most:
		q.Refuse("input", "string_above_max_length", "Invalid 'input': string too long. Expected a string with maximum length "+kit.Itoa(q.model.most)+", but got a string with length "+kit.Itoa(n)+" instead.")
	case q.events && !q.model.steered:
		q.Refuse("stream_format", "unsupported_value", "stream_format 'sse' is not supported for this model.")
	case steering != "" && !q.model.steered:
		q.Refuse("instructions", "unsupported_parameter", "'instructions' is not supported for this model.")
	}
	q.input = q.StripMarkers(q.input, "input")
}

// speechTokensPerSecond is how many tokens a second of speech counts.
const speechTokensPerSecond = 20

// reply is speech as events.
func (q *speechRequest) reply() *kit.Reply {
	data := tone(q.format, q.input)
	r := &kit.Reply{Wire: speechWire, Stream: true, Kind: []string{audioTypes[q.format]}, Body: func() []byte { return data }, EmptyBody: func() []byte { return nil }}
	deltas := audioFrames(data, &q.Request.Knobs, func(piece []byte) []byte {
		dst := base64.StdEncoding.AppendEncode([]byte(`{"type":"speech.audio.delta","audio":"`), piece)
		return append(dst, `"}`...)
	})
	r.Frames = func(yield func(kit.Frame) bool) {
		going := true
		deltas(func(f kit.Frame) bool {
			going = yield(f)
			return going
		})
		if !going {
			return
		}
		in, out := kit.CountTokens(q.input), max(1, kit.CountTokens(q.input)*speechTokensPerSecond/tokensPerSecond)
		dst := kit.AppendCounts([]byte(`{"type":"speech.audio.done"`), "usage", q.Request.Knobs.Usage,
			kit.UsageCount{Name: "input_tokens", N: in}, kit.UsageCount{Name: "output_tokens", N: out}, kit.UsageCount{Name: "total_tokens", N: in + out})
		yield(kit.Frame{Data: append(dst, '}'), Kind: kit.Ending})
	}
	return r
}

var elevenVoices = map[string]*speechModel{
	"speech": {most: 10_000}, "eleven_multilingual_v2": {most: 10_000}, "eleven_flash_v2_5": {most: 40_000}, "eleven_turbo_v2_5": {most: 40_000}, "eleven_v3": {most: 5000},
}

// elevenFormats are codec, rate and bit rate.
var elevenFormats = []string{
	"mp3_22050_32", "mp3_24000_48", "mp3_44100_32", "mp3_44100_64", "mp3_44100_96", "mp3_44100_128", "mp3_44100_192", "pcm_8000", "pcm_16000", "pcm_22050", "pcm_24000",
	"pcm_32000", "pcm_44100", "pcm_48000", "ulaw_8000", "alaw_8000", "opus_48000_32", "opus_48000_64", "opus_48000_96", "opus_48000_128", "opus_48000_192", "wav_24000",
	"wav_8000", "wav_16000", "wav_22050", "wav_32000", "wav_44100", "wav_48000",
}

// elevenSpeak serves POST /v1/text-to-speech/{voice}, and /stream, whose bytes are the same. Sound is at 24 kHz whatever rate is asked for.
func (s *Wires) elevenSpeak(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(elevenWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(elevenWire, body)
		if refused != nil {
			if refused.Status = 422; refused.Param == "" {
				refused.Param = "body"
			}
			return refused
		}
		q := &speechRequest{Checker: *c, format: "mp3"}
		q.Status = 422
		if q.eleven(r); q.Fault != nil {
			return q.Fault
		}
		out := audioReply(elevenWire, q.format, q.input, &q.Request.Knobs)
		out.Wire.StreamHeader = http.Header{"Character-Cost": {strconv.Itoa(utf8.RuneCountInString(q.input))}, "Request-Id": {kit.HexOf(kit.Fingerprint(q.input))}}
		return s.Serve(w, r, started, &q.Checker, out)
	})
}

func (q *speechRequest) eleven(r *http.Request) {
	anything := func(_ *speechRequest, _ *kit.Node, _ string) {}
	model := "eleven_multilingual_v2"
	kit.Members(&q.Checker, q, q.Root, "", map[string]kit.Field[*speechRequest]{
		"text": func(q *speechRequest, v *kit.Node, p string) {
			if q.ExpectKind(v, kit.Text, p) {
				q.input = v.Text
			}
		},
		"model_id": func(q *speechRequest, v *kit.Node, p string) {
			if q.ExpectKind(v, kit.Text, p) {
				model = v.Text
			}
		},
		"language_code": func(q *speechRequest, v *kit.Node, p string) { q.ExpectText(v, p) },
		"voice_settings": func(q *speechRequest, v *kit.Node, p string) {
			unit := func(q *speechRequest, v *kit.Node, p string) { q.Decimal(v, p, 0, 1) }
			kit.Members(&q.Checker, q, v, p, map[string]kit.Field[*speechRequest]{
				"stability": unit, "similarity_boost": unit, "style": unit, "use_speaker_boost": func(q *speechRequest, v *kit.Node, p string) { q.ExpectBool(v, p) },
				"speed": func(q *speechRequest, v *kit.Node, p string) { q.Decimal(v, p, 0.7, 1.2) },
			})
		},
		"seed":                              func(q *speechRequest, v *kit.Node, p string) { q.Integer(v, p, 0, 1<<32-1) },
		"previous_text":                     func(q *speechRequest, v *kit.Node, p string) { q.ExpectText(v, p) },
		"next_text":                         func(q *speechRequest, v *kit.Node, p string) { q.ExpectText(v, p) },
		"pronunciation_dictionary_locators": anything, "previous_request_ids": anything, "next_request_ids": anything, "use_pvc_as_ivc": anything,
		"apply_text_normalization":          func(q *speechRequest, v *kit.Node, p string) { q.OneOf(v, p, "auto", "on", "off") },
		"apply_language_text_normalization": func(q *speechRequest, v *kit.Node, p string) { q.ExpectBool(v, p) },
	}, "text")
	if q.Fault != nil {
		return
	}
	if q.model = kit.FindModel(&q.Checker, model, elevenVoices, elevenUnknown); q.Fault != nil {
		return
	}
	if voice := r.PathValue("voice"); len(voice) < 3 {
		q.Fault = &kit.Refusal{Status: 404, Code: "voice_not_found", Message: "A voice with voice_id " + voice + " was not found."}
	}
	format := r.URL.Query().Get("output_format")
	if format != "" {
		if q.format, _, _ = strings.Cut(format, "_"); kit.OneWord(format, elevenFormats) == "" {
			q.Refuse("output_format", "invalid_value", "Input should be one of the supported formats")
		}
	}
	if n := utf8.RuneCountInString(q.input); n > q.model.most {
		q.Fault = &kit.Refusal{Status: 400, Code: "text_too_long", Message: "The text is " + kit.Itoa(n) + " characters long, at most " + kit.Itoa(q.model.most) + " are allowed for this model."}
	} else if n == 0 {
		q.Fault = &kit.Refusal{Status: 400, Code: "input_text_empty", Message: "Input text is empty."}
	}
	q.input = q.StripMarkers(q.input, "text")
}
