package sim

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Of SpeechKit's interfaces this is the third version's recognition of files, over REST: it is the one that takes a file of 25 MB in the
// request itself. The first version ends at 1 MB and 30 seconds, the second wants files in a bucket of the caller, and streams are
// gRPC. A file is submitted, its operation is polled, and the result is fetched as one line of JSON for each event.

// recognition is one file that was submitted.
type recognition struct {
	id      string
	created time.Time
	knobs   knobs
	heard   *transcript
	labels  bool // speakers are told
	norm    bool // the text comes once more, written well
	polls   int
}

// defaultRecognitionPolls is the poll that finds an operation done, unless told.
const defaultRecognitionPolls = 2

// done reports whether the operation has come to its end.
func (r *recognition) done() bool {
	return r.polls >= cmp.Or(r.knobs.job.polls, defaultRecognitionPolls)
}

// failed reports whether it will come to nothing.
func (r *recognition) failed() bool { return r.knobs.job.end == "fail" || r.knobs.job.end == "lost" }

// recognitions are the newest that were submitted.
type recognitions struct {
	mu    sync.Mutex
	byID  map[string]*recognition
	order []string
}

const maxRecognitions = 1024

func (h *recognitions) put(r *recognition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = make(map[string]*recognition)
	}
	r.id = amazonID(r.heard.text + strconv.Itoa(len(h.order)) + r.created.String())[:20]
	h.byID[r.id] = r
	if h.order = append(h.order, r.id); len(h.order) > maxRecognitions {
		delete(h.byID, h.order[0])
		h.order = h.order[1:]
	}
}

// look is a copy of a recognition; a poll is counted. False when there is none.
func (h *recognitions) look(id string, poll bool) (recognition, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.byID[id]
	if r == nil {
		return recognition{}, false
	}
	if poll {
		r.polls++
	}
	return *r, true
}

func (h *recognitions) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byID, id)
}

func (h *recognitions) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byID, h.order = nil, nil
}

var speechkitModels = map[string]*transcriber{"speechkit": whisper, "general": whisper, "general:rc": whisper, "general:deprecated": whisper, "deferred-general": whisper}

// recognizing is what a request comes to.
type recognizing struct {
	checker
	data      []byte
	container string // of the sound, as sniff names it
	languages []string
	labels    bool
	norm      bool
	full      bool
}

type speechkitField = field[*recognizing]

var (
	speechkitText speechkitField = func(r *recognizing, v *node, p string) { r.aText(v, p) }
	speechkitBool speechkitField = func(r *recognizing, v *node, p string) { r.aBool(v, p) }
)

// recognizeFile serves POST /stt/v3/recognizeFileAsync.
func (s *audioWires) recognizeFile(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(yandexTaskWire, w, r, func(body []byte) *refusal {
		c, refused := reader(yandexTaskWire, body)
		if refused != nil {
			return refused
		}
		q := &recognizing{checker: *c}
		if q.read(); q.fault != nil {
			return q.fault
		}
		if err := q.ask.knobs.check(); err != nil {
			return &refusal{status: 400, message: err.Error() + "."}
		}
		language := "ru-RU"
		if len(q.languages) > 0 && q.languages[0] != "auto" {
			language = q.languages[0]
		}
		made := &recognition{created: s.config.Now(), knobs: q.ask.knobs, heard: hear(q.data, language, &q.ask.knobs), labels: q.labels, norm: q.norm}
		q.ask.knobs = *made.knobs.at(stepSubmit)
		return s.perform(w, r, started, &q.checker, whole(yandexTaskWire, `{"done":false}`, func() []byte {
			s.heard.put(made) // only what is answered was submitted
			return made.operation()
		}))
	})
}

func (q *recognizing) read() {
	members(&q.checker, q, q.root, "", map[string]speechkitField{
		"content": func(q *recognizing, v *node, p string) {
			if !q.typed(v, text, p) {
				return
			}
			data, err := base64.StdEncoding.DecodeString(v.text)
			if q.data = data; err != nil || len(data) == 0 {
				q.refuse(p, "", "Invalid JSON in request body: field '"+p+"' is not base64")
			}
		},
		"uri": func(q *recognizing, _ *node, p string) {
			q.refuse(p, "", "The simulator has no object storage: send the file as content.")
		},
		"folderId": speechkitText,
		"recognitionModel": func(q *recognizing, v *node, p string) {
			members(&q.checker, q, v, p, map[string]speechkitField{
				"model": func(q *recognizing, v *node, p string) {
					if q.typed(v, text, p) {
						asked(&q.checker, v.text, speechkitModels, func(name string) *refusal {
							return &refusal{status: 400, message: "Unknown recognition model: " + name}
						})
					}
				},
				"audioFormat": (*recognizing).audioFormat,
				"textNormalization": func(q *recognizing, v *node, p string) {
					members(&q.checker, q, v, p, map[string]speechkitField{
						"textNormalization": func(q *recognizing, v *node, p string) {
							q.norm = q.words(v, p, "TEXT_NORMALIZATION_UNSPECIFIED", "TEXT_NORMALIZATION_ENABLED", "TEXT_NORMALIZATION_DISABLED") == "TEXT_NORMALIZATION_ENABLED"
						},
						"profanityFilter": speechkitBool, "literatureText": speechkitBool,
						"phoneFormattingMode": func(q *recognizing, v *node, p string) {
							q.words(v, p, "PHONE_FORMATTING_MODE_UNSPECIFIED", "PHONE_FORMATTING_MODE_DISABLED")
						},
					})
				},
				"languageRestriction": func(q *recognizing, v *node, p string) {
					members(&q.checker, q, v, p, map[string]speechkitField{
						"restrictionType": func(q *recognizing, v *node, p string) {
							q.words(v, p, "LANGUAGE_RESTRICTION_TYPE_UNSPECIFIED", "WHITELIST", "BLACKLIST")
						},
						"languageCode": func(q *recognizing, v *node, p string) {
							q.each(v, p, func(v *node, p string) {
								if q.typed(v, text, p) {
									q.languages = append(q.languages, v.text)
								}
							})
						},
					})
				},
				"audioProcessingType": func(q *recognizing, v *node, p string) {
					q.full = q.words(v, p, "AUDIO_PROCESSING_TYPE_UNSPECIFIED", "REAL_TIME", "FULL_DATA") == "FULL_DATA"
				},
			}, "audioFormat")
		},
		"recognitionClassifier": func(q *recognizing, v *node, p string) { q.anObject(v, p) },
		"speechAnalysis":        func(q *recognizing, v *node, p string) { q.anObject(v, p) },
		"summarization":         func(q *recognizing, v *node, p string) { q.anObject(v, p) },
		"speakerLabeling": func(q *recognizing, v *node, p string) {
			members(&q.checker, q, v, p, map[string]speechkitField{"speakerLabeling": func(q *recognizing, v *node, p string) {
				q.labels = q.words(v, p, "SPEAKER_LABELING_UNSPECIFIED", "SPEAKER_LABELING_ENABLED", "SPEAKER_LABELING_DISABLED") == "SPEAKER_LABELING_ENABLED"
			}})
		},
	}, "content", "recognitionModel")
	if q.fault == nil {
		q.together()
	}
}

// audioFormat reads which container there is. Sound without one needs a rate.
func (q *recognizing) audioFormat(v *node, param string) {
	members(&q.checker, q, v, param, map[string]speechkitField{
		"containerAudio": func(q *recognizing, v *node, p string) {
			members(&q.checker, q, v, p, map[string]speechkitField{"containerAudioType": func(q *recognizing, v *node, p string) {
				kind := q.words(v, p, "WAV", "OGG_OPUS", "MP3")
				q.container = map[string]string{"WAV": "wav", "OGG_OPUS": "ogg", "MP3": "mp3"}[kind]
			}}, "containerAudioType")
		},
		"rawAudio": func(q *recognizing, _ *node, p string) {
			q.refuse(p, "", "The simulator hears containers only: WAV, OGG_OPUS, MP3.")
		},
	})
	if q.fault == nil && q.container == "" {
		q.missing(under(param, "containerAudio"))
	}
}

func (q *recognizing) together() {
	switch {
	case q.ask.name == "": // "general" unless told
		asked(&q.checker, "general", speechkitModels, elevenUnknown)
	case q.labels && !q.full:
		q.refuse("speakerLabeling", "", "Speaker labeling is only available with audio_processing_type FULL_DATA")
	}
	if sniff(q.data) != q.container || seconds(q.data) == 0 {
		q.refuse("content", "", "Failed to decode audio: the content is not in the given format")
	}
	if q.fault == nil {
		markedInside(&q.checker, q.data)
	}
}

// operation is the state of a recognition.
func (r *recognition) operation() []byte {
	at := r.created.UTC().Format(time.RFC3339)
	dst := appendText([]byte(`{"id":`), r.id)
	dst = appendText(append(dst, `,"description":"STT v3 async recognition","createdAt":`...), at)
	dst = append(appendText(append(dst, `,"createdBy":"sim","modifiedAt":`...), at), `,"done":`...)
	dst = appendBool(dst, r.done())
	switch {
	case r.done() && r.failed():
		return append(dst, `,"metadata":null,"error":{"code":3,"message":"Recognition failed: the audio could not be processed","details":[]}}`...)
	case r.done():
		return append(dst, `,"metadata":null,"response":{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}}`...)
	}
	return append(dst, `,"metadata":null}`...)
}

func operationNotFound(id string) *refusal {
	return &refusal{status: 404, message: "Operation " + id + " not found"}
}

// ofRecognition plays the answer to a call about a recognition that is there.
func (s *audioWires) ofRecognition(w http.ResponseWriter, r *http.Request, id, step string, poll bool, answer func(*recognition) ([]byte, *refusal)) {
	started := time.Now()
	made, ok := s.heard.look(id, poll)
	if !ok {
		s.refuse(yandexTaskWire, w, operationNotFound(id))
		return
	}
	body, refused := answer(&made)
	if refused != nil {
		s.refuse(yandexTaskWire, w, refused)
		return
	}
	c := newChecker(yandexTaskWire.say)
	c.ask.knobs, c.ask.name = *made.knobs.at(step), made.knobs.name
	if refused := s.perform(w, r, started, &c, whole(yandexTaskWire, `{}`, func() []byte { return body })); refused != nil {
		s.refuse(yandexTaskWire, w, refused)
	}
}

// operations serves GET /operations/{id}: each is a poll.
func (s *audioWires) operations(w http.ResponseWriter, r *http.Request) {
	s.ofRecognition(w, r, r.PathValue("id"), stepPoll, true, func(made *recognition) ([]byte, *refusal) { return made.operation(), nil })
}

func operationOf(r *http.Request) string {
	q := r.URL.Query()
	return cmp.Or(q.Get("operationId"), q.Get("operation_id"))
}

// getRecognition serves GET /stt/v3/getRecognition: lines of JSON, once the operation is done.
func (s *audioWires) getRecognition(w http.ResponseWriter, r *http.Request) {
	id := operationOf(r)
	s.ofRecognition(w, r, id, stepContent, false, func(made *recognition) ([]byte, *refusal) {
		if !made.done() || made.failed() {
			return nil, operationNotFound(id)
		}
		return made.lines(), nil
	})
}

// deleteRecognition serves DELETE /stt/v3/deleteRecognition.
func (s *audioWires) deleteRecognition(w http.ResponseWriter, r *http.Request) {
	id := operationOf(r)
	s.ofRecognition(w, r, id, stepCancel, false, func(*recognition) ([]byte, *refusal) {
		s.heard.drop(id)
		return []byte(`{}`), nil
	})
}

func ms(seconds float64) string { return `"` + strconv.FormatInt(int64(seconds*1000+0.5), 10) + `"` }

// lines are the events of a recognition: for each utterance its words as heard, its text as written if that is wanted, and its end.
func (r *recognition) lines() []byte {
	var dst []byte
	h := r.heard
	event := func(i int, u *utterance, inside func(dst []byte) []byte) {
		channel := `"0"`
		if r.labels {
			channel = `"` + itoa(u.speaker) + `"`
		}
		dst = append(appendText(append(dst, `{"result":{"sessionUuid":{"uuid":`...), amazonID(h.text)), `,"userRequestId":"`...)
		dst = append(append(dst, r.id...), `"},"audioCursors":{"receivedDataMs":`...)
		dst = append(append(dst, ms(h.seconds)...), `,"resetTimeMs":"0","partialTimeMs":`...)
		dst = append(append(append(append(dst, ms(h.seconds)...), `,"finalTimeMs":`...), ms(u.end)...), `,"finalIndex":"`...)
		dst = append(append(appendInt(dst, i), `","eouTimeMs":`...), ms(u.end)...)
		dst = append(dst, `},"responseWallTimeMs":"100",`...)
		dst = inside(dst)
		dst = append(append(append(dst, `,"channelTag":`...), channel...), "}}\n"...)
	}
	for i := range h.utterances {
		u := &h.utterances[i]
		alternatives := func(dst []byte, text string) []byte {
			dst = listed(append(dst, `{"alternatives":[{"words":`...), u.words, func(dst []byte, _ int, w spoken) []byte {
				dst = appendText(append(dst, `{"text":`...), bareWord(w.text))
				return append(append(append(append(append(dst, `,"startTimeMs":`...), ms(w.start)...), `,"endTimeMs":`...), ms(w.end)...), '}')
			})
			dst = append(appendText(append(dst, `,"text":`...), text), `,"startTimeMs":`...)
			dst = append(append(append(append(dst, ms(u.start)...), `,"endTimeMs":`...), ms(u.end)...), `,"confidence":1,"languages":[{"languageCode":"`...)
			return append(append(dst, h.locale...), `","probability":1}]}],"channelTag":"0"}`...)
		}
		event(i, u, func(dst []byte) []byte { return alternatives(append(dst, `"final":`...), bareWord(u.text)) })
		if r.norm {
			event(i, u, func(dst []byte) []byte {
				dst = append(appendInt(append(dst, `"finalRefinement":{"finalIndex":"`...), i), `","normalizedText":`...)
				return append(alternatives(dst, u.text), '}')
			})
		}
		event(i, u, func(dst []byte) []byte {
			return append(append(append(dst, `"eouUpdate":{"timeMs":`...), ms(u.end)...), '}')
		})
	}
	return []byte(strings.TrimSuffix(string(dst), "\n") + "\n")
}
