package audio

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// deepgramWire is Deepgram's transcription: the audio is the body, all else is in the URL's query.
var deepgramWire = kit.NewWholeWire("deepgram", &deepgramPhrases, deepgramError, kit.ByScheme("Invalid credentials.", "Token "),
	"Bad Request: the media file exceeds the maximum duration.", `{"metadata":{"request_id":"x"}}`)

var deepgramCodes = map[int]string{
	400: "Bad Request", 401: "INVALID_AUTH", 402: "ASR_PAYMENT_REQUIRED", 403: "INSUFFICIENT_PERMISSIONS", 404: "Not Found", 413: "Payload Too Large",
	415: "Unsupported Media Type", 429: "TOO_MANY_REQUESTS", 503: "SERVICE_UNAVAILABLE", 504: "SLOW_UPLOAD",
}

func deepgramError(f *kit.Refusal) []byte {
	code := deepgramCodes[f.Status]
	if code == "" {
		code = "INTERNAL_SERVER_ERROR"
	}
	dst := kit.AppendText(append(kit.AppendText([]byte(`{"err_code":`), code), `,"err_msg":`...), f.Message)
	return append(kit.AppendText(append(dst, `,"request_id":`...), kit.AmazonID(f.Message)), '}')
}

var deepgramPhrases = kit.Phrases{
	Item:    kit.OpenAIPhrases.Item,
	Missing: func(param string) string { return "Bad Request: missing query parameter: " + param },
	Unknown: func(param string) string { return "Bad Request: unknown query parameter: " + param },
	WrongType: func(param, got, want string) string {
		return "Bad Request: Failed to deserialize " + param + ": expected " + want
	},
	WrongValue: func(param, want string) string {
		return "Bad Request: Failed to deserialize " + param + ": expected " + want
	},
	OutOfRange: func(param, low, high string) string {
		return "Bad Request: " + param + " must be from " + low + " to " + high
	},
	Readable: func(err error) string { return "Invalid JSON submitted: " + err.Error() },
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
func (s *Wires) listen(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleBody(anyType, deepgramWire, w, r, func(body []byte) *kit.Refusal {
		l := &deepgramRequest{Checker: kit.NewChecker(deepgramWire.Phrases), on: map[string]bool{}}
		if l.read(r, body); l.Fault != nil {
			return l.Fault
		}
		return s.Serve(w, r, started, &l.Checker, kit.WholeReply(deepgramWire, `{"metadata":{"request_id":"x"},"results":{"channels":[]}}`, func() []byte {
			return l.body(s.Config.Now())
		}))
	})
}

type deepgramRequest struct {
	kit.Checker
	on         map[string]bool // what is switched on
	base       string
	recognized *transcript
}

func (l *deepgramRequest) read(r *http.Request, body []byte) {
	query := r.URL.Query()
	for name, all := range query {
		switch {
		case slices.Contains(deepgramBools, name):
			yes, err := strconv.ParseBool(all[0])
			if l.on[name] = yes; err != nil {
				l.WrongType(name, &kit.Node{Kind: kit.Text}, "a boolean")
			}
		case !slices.Contains(deepgramTexts, name):
			l.Unknown(name)
		}
	}
	name := query.Get("model")
	if name == "" {
		name = "base"
	}
	family := strings.TrimSuffix(name, "-general")
	kit.FindModel(&l.Checker, family, deepgramModels, func(string) *kit.Refusal {
		return &kit.Refusal{Status: 400, Message: "Bad Request: No such model/language/tier combination found."}
	})
	l.Request.Name, l.base = name, l.Request.Knobs.Base
	for _, term := range append(query["keyterm"], query["keywords"]...) {
		l.StripMarkers(term, "keyterm")
	}
	switch kind := sniff(body); {
	case l.Fault != nil:
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		l.Refuse("", "", "Bad Request: the simulator fetches no URLs: send the sound itself.")
	case len(body) == 0:
		l.Refuse("", "", "Bad Request: Payload was empty. Audio sent must be non-empty.")
	case len(body) > deepgramMost:
		l.Fault = &kit.Refusal{Status: 413, Message: "Payload Too Large: the maximum file size is 2 GB."}
	case kind == "" || seconds(body) == 0:
		l.Refuse("", "", "Bad Request: failed to process audio: corrupt or unsupported data")
	}
	if l.Fault != nil {
		return
	}
	markedInside(&l.Checker, body)
	l.recognized = recognize(body, query.Get("language"), &l.Request.Knobs)
}

func (l *deepgramRequest) body(now time.Time) []byte {
	h := l.recognized
	id := kit.AmazonID(h.text)
	dst := kit.AppendText([]byte(`{"metadata":{"transaction_key":"deprecated","request_id":`), id)
	dst = kit.AppendText(append(dst, `,"sha256":`...), strings.Repeat(kit.HexOf(uint64(h.seed)), 4))
	dst = kit.AppendText(append(dst, `,"created":`...), now.UTC().Format("2006-01-02T15:04:05.000Z"))
	switch style := l.Request.Knobs.Usage; style { // what is billed is the duration
	case "missing":
	case "":
		dst = kit.AppendNumber(append(dst, `,"duration":`...), h.seconds)
	default:
		dst = kit.AppendCount(append(dst, ','), "duration", int(h.seconds), style)
	}
	dst = kit.AppendText(append(dst, `,"channels":1,"models":[`...), kit.AmazonID(l.base))
	dst = append(kit.AppendText(append(dst, `],"model_info":{`...), kit.AmazonID(l.base)), `:{"name":`...)
	dst = kit.AppendText(dst, l.base)
	dst = append(dst, `,"version":"2025-01-01.0","arch":"sim"}}},"results":{"channels":[{"alternatives":[{"transcript":`...)
	dst = append(kit.AppendText(dst, l.said(h.text)), `,"confidence":0.98,"words":`...)
	var all []timedWord
	var speakers []int
	for _, u := range h.utterances {
		for _, w := range u.words {
			all, speakers = append(all, w), append(speakers, u.speaker)
		}
	}
	dst = kit.AppendArray(dst, all, func(dst []byte, i int, w timedWord) []byte { return l.appendWord(dst, &w, speakers[i]) })
	if l.on["paragraphs"] || l.on["smart_format"] {
		dst = l.appendParagraphs(append(dst, `,"paragraphs":`...))
	}
	dst = append(dst, "}]"...)
	if l.on["detect_language"] {
		dst = append(kit.AppendText(append(dst, `,"detected_language":`...), h.code), `,"language_confidence":0.99`...)
	}
	dst = append(dst, "}]"...)
	if l.on["utterances"] {
		dst = kit.AppendArray(append(dst, `,"utterances":`...), h.utterances, func(dst []byte, i int, u utterance) []byte {
			dst = appendTimes(append(dst, `{"channel":0,"confidence":0.98`...), u.start, u.end)
			dst = kit.AppendText(append(dst, `,"transcript":`...), l.said(u.text))
			dst = kit.AppendArray(append(dst, `,"words":`...), u.words, func(dst []byte, _ int, w timedWord) []byte { return l.appendWord(dst, &w, u.speaker) })
			if l.on["diarize"] {
				dst = kit.AppendInt(append(dst, `,"speaker":`...), u.speaker)
			}
			return append(kit.AppendText(append(dst, `,"id":`...), kit.AmazonID(u.text+kit.Itoa(i))), '}')
		})
	}
	return append(dst, "}}"...)
}

// said is the transcript: punctuation and capitals come only when they are asked for.
func (l *deepgramRequest) said(s string) string {
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

func (l *deepgramRequest) appendWord(dst []byte, w *timedWord, speaker int) []byte {
	dst = kit.AppendText(append(dst, `{"word":`...), bareWord(w.text))
	dst = append(appendTimes(dst, w.start, w.end), `,"confidence":0.98`...)
	if l.on["diarize"] {
		dst = append(kit.AppendInt(append(dst, `,"speaker":`...), speaker), `,"speaker_confidence":0.9`...)
	}
	if l.on["punctuate"] || l.on["smart_format"] {
		dst = kit.AppendText(append(dst, `,"punctuated_word":`...), w.text)
	}
	return append(dst, '}')
}

func (l *deepgramRequest) appendParagraphs(dst []byte) []byte {
	dst = kit.AppendText(append(dst, `{"transcript":`...), "\n"+l.recognized.text)
	dst = kit.AppendArray(append(dst, `,"paragraphs":`...), l.recognized.utterances, func(dst []byte, _ int, u utterance) []byte {
		dst = kit.AppendText(append(dst, `{"sentences":[{"text":`...), u.text)
		dst = append(appendTimes(dst, u.start, u.end), `}]`...)
		dst = kit.AppendInt(append(dst, `,"num_words":`...), len(u.words))
		if l.on["diarize"] {
			dst = kit.AppendInt(append(dst, `,"speaker":`...), u.speaker)
		}
		return append(appendTimes(dst, u.start, u.end), '}')
	})
	return append(dst, '}')
}
