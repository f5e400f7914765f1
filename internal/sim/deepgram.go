package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deepgramWire is Deepgram's transcription: sound as the body, all else in the address.
var deepgramWire = wholeWire("deepgram", &deepgramPhrases, deepgramError, byScheme("Invalid credentials.", "Token "),
	"Bad Request: the media file exceeds the maximum duration.", `{"metadata":{"request_id":"x"}}`)

var deepgramCodes = map[int]string{
	400: "Bad Request", 401: "INVALID_AUTH", 402: "ASR_PAYMENT_REQUIRED", 403: "INSUFFICIENT_PERMISSIONS", 404: "Not Found", 413: "Payload Too Large",
	415: "Unsupported Media Type", 429: "TOO_MANY_REQUESTS", 503: "SERVICE_UNAVAILABLE", 504: "SLOW_UPLOAD",
}

func deepgramError(f *refusal) []byte {
	code := deepgramCodes[f.status]
	if code == "" {
		code = "INTERNAL_SERVER_ERROR"
	}
	dst := appendText(append(appendText([]byte(`{"err_code":`), code), `,"err_msg":`...), f.message)
	return append(appendText(append(dst, `,"request_id":`...), amazonID(f.message)), '}')
}

var deepgramPhrases = phrases{
	item:    openAIPhrases.item,
	missing: func(param string) string { return "Bad Request: missing query parameter: " + param },
	unknown: func(param string) string { return "Bad Request: unknown query parameter: " + param },
	wrongType: func(param, got, want string) string {
		return "Bad Request: Failed to deserialize " + param + ": expected " + want
	},
	wrongValue: func(param, want string) string {
		return "Bad Request: Failed to deserialize " + param + ": expected " + want
	},
	outOfRange: func(param, low, high string) string {
		return "Bad Request: " + param + " must be from " + low + " to " + high
	},
	readable: func(err error) string { return "Invalid JSON submitted: " + err.Error() },
}

// deepgramBools are the parameters that are true or false, the others by what they may be.
var (
	deepgramBools = []string{
		"detect_entities", "detect_language", "diarize", "dictation", "filler_words", "intents", "measurements", "mip_opt_out", "multichannel", "numerals",
		"paragraphs", "profanity_filter", "punctuate", "sentiment", "smart_format", "topics", "utterances",
	}
	deepgramTexts = []string{
		"callback", "callback_method", "custom_intent", "custom_intent_mode", "custom_topic", "custom_topic_mode", "encoding", "extra", "keyterm", "keywords",
		"language", "model", "redact", "replace", "search", "summarize", "tag", "utt_split", "version", "diarize_model",
	}
)

// deepgramModels are whole names; a family such as "nova-3" may be followed by "-general" and the like.
var deepgramModels = map[string]*transcriber{"listen": whisper, "nova-3": whisper, "nova-2": whisper, "nova": whisper, "enhanced": whisper, "base": whisper, "whisper": whisper}

const deepgramMost = 2 << 30

// listen serves POST /v1/listen.
func (s *audioWires) listen(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.takeAs(anyType, deepgramWire, w, r, func(body []byte) *refusal {
		l := &listening{checker: newChecker(deepgramWire.say), on: map[string]bool{}}
		if l.read(r, body); l.fault != nil {
			return l.fault
		}
		return s.perform(w, r, started, &l.checker, whole(deepgramWire, `{"metadata":{"request_id":"x"},"results":{"channels":[]}}`, func() []byte {
			return l.body(s.config.Now())
		}))
	})
}

type listening struct {
	checker
	on    map[string]bool // what is switched on
	base  string
	heard *transcript
}

func (l *listening) read(r *http.Request, body []byte) {
	query := r.URL.Query()
	for name, all := range query {
		switch {
		case slices.Contains(deepgramBools, name):
			yes, err := strconv.ParseBool(all[0])
			if l.on[name] = yes; err != nil {
				l.wrongType(name, &node{kind: text}, "a boolean")
			}
		case !slices.Contains(deepgramTexts, name):
			l.unknown(name)
		}
	}
	name := query.Get("model")
	if name == "" {
		name = "base"
	}
	family := strings.TrimSuffix(name, "-general")
	asked(&l.checker, family, deepgramModels, func(string) *refusal {
		return &refusal{status: 400, message: "Bad Request: No such model/language/tier combination found."}
	})
	l.ask.name, l.base = name, l.ask.knobs.base
	for _, term := range append(query["keyterm"], query["keywords"]...) {
		l.plain(term, "keyterm")
	}
	switch kind := sniff(body); {
	case l.fault != nil:
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		l.refuse("", "", "Bad Request: the simulator fetches no URLs: send the sound itself.")
	case len(body) == 0:
		l.refuse("", "", "Bad Request: Payload was empty. Audio sent must be non-empty.")
	case len(body) > deepgramMost:
		l.fault = &refusal{status: 413, message: "Payload Too Large: the maximum file size is 2 GB."}
	case kind == "" || seconds(body) == 0:
		l.refuse("", "", "Bad Request: failed to process audio: corrupt or unsupported data")
	}
	if l.fault != nil {
		return
	}
	markedInside(&l.checker, body)
	l.heard = hear(body, query.Get("language"), &l.ask.knobs)
}

func (l *listening) body(now time.Time) []byte {
	h := l.heard
	id := amazonID(h.text)
	dst := appendText([]byte(`{"metadata":{"transaction_key":"deprecated","request_id":`), id)
	dst = appendText(append(dst, `,"sha256":`...), strings.Repeat(hexOf(uint64(h.seed)), 4))
	dst = appendText(append(dst, `,"created":`...), now.UTC().Format("2006-01-02T15:04:05.000Z"))
	switch style := l.ask.knobs.usage; style { // what is billed is the duration
	case "missing":
	case "":
		dst = appendNumber(append(dst, `,"duration":`...), h.seconds)
	default:
		dst = appendCount(append(dst, ','), "duration", int(h.seconds), style)
	}
	dst = appendText(append(dst, `,"channels":1,"models":[`...), amazonID(l.base))
	dst = append(appendText(append(dst, `],"model_info":{`...), amazonID(l.base)), `:{"name":`...)
	dst = appendText(dst, l.base)
	dst = append(dst, `,"version":"2025-01-01.0","arch":"sim"}}},"results":{"channels":[{"alternatives":[{"transcript":`...)
	dst = append(appendText(dst, l.said(h.text)), `,"confidence":0.98,"words":`...)
	var all []spoken
	var speakers []int
	for _, u := range h.utterances {
		for _, w := range u.words {
			all, speakers = append(all, w), append(speakers, u.speaker)
		}
	}
	dst = listed(dst, all, func(dst []byte, i int, w spoken) []byte { return l.appendWord(dst, &w, speakers[i]) })
	if l.on["paragraphs"] || l.on["smart_format"] {
		dst = l.appendParagraphs(append(dst, `,"paragraphs":`...))
	}
	dst = append(dst, "}]"...)
	if l.on["detect_language"] {
		dst = append(appendText(append(dst, `,"detected_language":`...), h.code), `,"language_confidence":0.99`...)
	}
	dst = append(dst, "}]"...)
	if l.on["utterances"] {
		dst = listed(append(dst, `,"utterances":`...), h.utterances, func(dst []byte, i int, u utterance) []byte {
			dst = appendTimes(append(dst, `{"channel":0,"confidence":0.98`...), u.start, u.end)
			dst = appendText(append(dst, `,"transcript":`...), l.said(u.text))
			dst = listed(append(dst, `,"words":`...), u.words, func(dst []byte, _ int, w spoken) []byte { return l.appendWord(dst, &w, u.speaker) })
			if l.on["diarize"] {
				dst = appendInt(append(dst, `,"speaker":`...), u.speaker)
			}
			return append(appendText(append(dst, `,"id":`...), amazonID(u.text+itoa(i))), '}')
		})
	}
	return append(dst, "}}"...)
}

// said is a text as it is heard: stops and capitals come only when they are asked for.
func (l *listening) said(s string) string {
	if l.on["punctuate"] || l.on["smart_format"] {
		return s
	}
	return bareWord(s)
}

func bareWord(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(".,。，", r) {
			return -1
		}
		return r
	}, s))
}

func (l *listening) appendWord(dst []byte, w *spoken, speaker int) []byte {
	dst = appendText(append(dst, `{"word":`...), bareWord(w.text))
	dst = append(appendTimes(dst, w.start, w.end), `,"confidence":0.98`...)
	if l.on["diarize"] {
		dst = append(appendInt(append(dst, `,"speaker":`...), speaker), `,"speaker_confidence":0.9`...)
	}
	if l.on["punctuate"] || l.on["smart_format"] {
		dst = appendText(append(dst, `,"punctuated_word":`...), w.text)
	}
	return append(dst, '}')
}

func (l *listening) appendParagraphs(dst []byte) []byte {
	dst = appendText(append(dst, `{"transcript":`...), "\n"+l.heard.text)
	dst = listed(append(dst, `,"paragraphs":`...), l.heard.utterances, func(dst []byte, _ int, u utterance) []byte {
		dst = appendText(append(dst, `{"sentences":[{"text":`...), u.text)
		dst = append(appendTimes(dst, u.start, u.end), `}]`...)
		dst = appendInt(append(dst, `,"num_words":`...), len(u.words))
		if l.on["diarize"] {
			dst = appendInt(append(dst, `,"speaker":`...), u.speaker)
		}
		return append(appendTimes(dst, u.start, u.end), '}')
	})
	return append(dst, '}')
}
