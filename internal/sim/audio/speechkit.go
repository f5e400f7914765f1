package audio

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/sim/kit"
)

// Of SpeechKit's interfaces this is the third version's recognition of files, over REST: it is the one that takes a file of 25 MB in the
// request itself. The first version ends at 1 MB and 30 seconds, the second requires files in a bucket of the caller, and streams are
// gRPC. A file is submitted, its operation is polled, and the result is fetched as one line of JSON for each event.

// recognition is one file that was submitted.
type recognition struct {
	id         string
	created    time.Time
	knobs      kit.Knobs
	recognized *transcript
	labels     bool // speakers are labelled
	norm       bool // the answer also has the text in normalized form
	polls      int
}

// defaultRecognitionPolls is the poll that finds an operation done, by default.
const defaultRecognitionPolls = 2

// done reports whether the operation has ended.
func (r *recognition) done() bool {
	return r.polls >= cmp.Or(r.knobs.Job.Polls, defaultRecognitionPolls)
}

// failed reports whether the operation ends with an error.
func (r *recognition) failed() bool { return r.knobs.Job.End == "fail" || r.knobs.Job.End == "lost" }

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
	r.id = kit.AmazonID(r.recognized.text + strconv.Itoa(len(h.order)) + r.created.String())[:20]
	h.byID[r.id] = r
	if h.order = append(h.order, r.id); len(h.order) > maxRecognitions {
		delete(h.byID, h.order[0])
		h.order = h.order[1:]
	}
}

// look returns a copy of a recognition and counts a poll; false when there is none.
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

// recognitionRequest is a request for a recognition.
type recognitionRequest struct {
	kit.Checker
	data      []byte
	container string // of the audio, as sniff names it
	languages []string
	labels    bool
	norm      bool
	full      bool
}

type speechkitField = kit.Field[*recognitionRequest]

var (
	speechkitText speechkitField = func(r *recognitionRequest, v *kit.Node, p string) { r.ExpectText(v, p) }
	speechkitBool speechkitField = func(r *recognitionRequest, v *kit.Node, p string) { r.ExpectBool(v, p) }
)

// recognizeFile serves POST /stt/v3/recognizeFileAsync.
func (s *Wires) recognizeFile(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(kit.YandexTaskWire, w, r, func(body []byte) *kit.Refusal {
		c, refused := kit.Reader(kit.YandexTaskWire, body)
		if refused != nil {
			return refused
		}
		q := &recognitionRequest{Checker: *c}
		if q.read(); q.Fault != nil {
			return q.Fault
		}
		if err := q.Request.Knobs.Check(); err != nil {
			return &kit.Refusal{Status: 400, Message: err.Error() + "."}
		}
		language := "ru-RU"
		if len(q.languages) > 0 && q.languages[0] != "auto" {
			language = q.languages[0]
		}
		rec := &recognition{created: s.Config.Now(), knobs: q.Request.Knobs, recognized: recognize(q.data, language, &q.Request.Knobs), labels: q.labels, norm: q.norm}
		q.Request.Knobs = *rec.knobs.AtStep(kit.StepSubmit)
		return s.Serve(w, r, started, &q.Checker, kit.WholeReply(kit.YandexTaskWire, `{"done":false}`, func() []byte {
			s.recognized.put(rec) // only what is answered was submitted
			return rec.operation()
		}))
	})
}

func (q *recognitionRequest) read() {
	kit.Members(&q.Checker, q, q.Root, "", map[string]speechkitField{
		"content": func(q *recognitionRequest, v *kit.Node, p string) {
			if !q.ExpectKind(v, kit.Text, p) {
				return
			}
			data, err := base64.StdEncoding.DecodeString(v.Text)
			if q.data = data; err != nil || len(data) == 0 {
				q.Refuse(p, "", "Invalid JSON in request body: field '"+p+"' is not base64")
			}
		},
		"uri": func(q *recognitionRequest, _ *kit.Node, p string) {
			q.Refuse(p, "", "The simulator has no object storage: send the file as content.")
		},
		"folderId": speechkitText,
		"recognitionModel": func(q *recognitionRequest, v *kit.Node, p string) {
			kit.Members(&q.Checker, q, v, p, map[string]speechkitField{
				"model": func(q *recognitionRequest, v *kit.Node, p string) {
					if q.ExpectKind(v, kit.Text, p) {
						kit.FindModel(&q.Checker, v.Text, speechkitModels, func(name string) *kit.Refusal {
							return &kit.Refusal{Status: 400, Message: "Unknown recognition model: " + name}
						})
					}
				},
				"audioFormat": (*recognitionRequest).audioFormat,
				"textNormalization": func(q *recognitionRequest, v *kit.Node, p string) {
					kit.Members(&q.Checker, q, v, p, map[string]speechkitField{
						"textNormalization": func(q *recognitionRequest, v *kit.Node, p string) {
							q.norm = q.OneOf(v, p, "TEXT_NORMALIZATION_UNSPECIFIED", "TEXT_NORMALIZATION_ENABLED", "TEXT_NORMALIZATION_DISABLED") == "TEXT_NORMALIZATION_ENABLED"
						},
						"profanityFilter": speechkitBool, "literatureText": speechkitBool,
						"phoneFormattingMode": func(q *recognitionRequest, v *kit.Node, p string) {
							q.OneOf(v, p, "PHONE_FORMATTING_MODE_UNSPECIFIED", "PHONE_FORMATTING_MODE_DISABLED")
						},
					})
				},
				"languageRestriction": func(q *recognitionRequest, v *kit.Node, p string) {
					kit.Members(&q.Checker, q, v, p, map[string]speechkitField{
						"restrictionType": func(q *recognitionRequest, v *kit.Node, p string) {
							q.OneOf(v, p, "LANGUAGE_RESTRICTION_TYPE_UNSPECIFIED", "WHITELIST", "BLACKLIST")
						},
						"languageCode": func(q *recognitionRequest, v *kit.Node, p string) {
							q.Each(v, p, func(v *kit.Node, p string) {
								if q.ExpectKind(v, kit.Text, p) {
									q.languages = append(q.languages, v.Text)
								}
							})
						},
					})
				},
				"audioProcessingType": func(q *recognitionRequest, v *kit.Node, p string) {
					q.full = q.OneOf(v, p, "AUDIO_PROCESSING_TYPE_UNSPECIFIED", "REAL_TIME", "FULL_DATA") == "FULL_DATA"
				},
			}, "audioFormat")
		},
		"recognitionClassifier": func(q *recognitionRequest, v *kit.Node, p string) { q.ExpectObject(v, p) },
		"speechAnalysis":        func(q *recognitionRequest, v *kit.Node, p string) { q.ExpectObject(v, p) },
		"summarization":         func(q *recognitionRequest, v *kit.Node, p string) { q.ExpectObject(v, p) },
		"speakerLabeling": func(q *recognitionRequest, v *kit.Node, p string) {
			kit.Members(&q.Checker, q, v, p, map[string]speechkitField{"speakerLabeling": func(q *recognitionRequest, v *kit.Node, p string) {
				q.labels = q.OneOf(v, p, "SPEAKER_LABELING_UNSPECIFIED", "SPEAKER_LABELING_ENABLED", "SPEAKER_LABELING_DISABLED") == "SPEAKER_LABELING_ENABLED"
			}})
		},
	}, "content", "recognitionModel")
	if q.Fault == nil {
		q.together()
	}
}

// audioFormat reads which container there is. Sound without one needs a rate.
func (q *recognitionRequest) audioFormat(v *kit.Node, param string) {
	kit.Members(&q.Checker, q, v, param, map[string]speechkitField{
		"containerAudio": func(q *recognitionRequest, v *kit.Node, p string) {
			kit.Members(&q.Checker, q, v, p, map[string]speechkitField{"containerAudioType": func(q *recognitionRequest, v *kit.Node, p string) {
				kind := q.OneOf(v, p, "WAV", "OGG_OPUS", "MP3")
				q.container = map[string]string{"WAV": "wav", "OGG_OPUS": "ogg", "MP3": "mp3"}[kind]
			}}, "containerAudioType")
		},
		"rawAudio": func(q *recognitionRequest, _ *kit.Node, p string) {
			q.Refuse(p, "", "The simulator hears containers only: WAV, OGG_OPUS, MP3.")
		},
	})
	if q.Fault == nil && q.container == "" {
		q.Missing(kit.Under(param, "containerAudio"))
	}
}

func (q *recognitionRequest) together() {
	switch {
	case q.Request.Name == "": // "general" by default
		kit.FindModel(&q.Checker, "general", speechkitModels, elevenUnknown)
	case q.labels && !q.full:
		q.Refuse("speakerLabeling", "", "Speaker labeling is only available with audio_processing_type FULL_DATA")
	}
	if sniff(q.data) != q.container || seconds(q.data) == 0 {
		q.Refuse("content", "", "Failed to decode audio: the content is not in the given format")
	}
	if q.Fault == nil {
		markedInside(&q.Checker, q.data)
	}
}

// operation is the state of a recognition.
func (r *recognition) operation() []byte {
	at := r.created.UTC().Format(time.RFC3339)
	dst := kit.AppendText([]byte(`{"id":`), r.id)
	dst = kit.AppendText(append(dst, `,"description":"STT v3 async recognition","createdAt":`...), at)
	dst = append(kit.AppendText(append(dst, `,"createdBy":"sim","modifiedAt":`...), at), `,"done":`...)
	dst = kit.AppendBool(dst, r.done())
	switch {
	case r.done() && r.failed():
		return append(dst, `,"metadata":null,"error":{"code":3,"message":"Recognition failed: the audio could not be processed","details":[]}}`...)
	case r.done():
		return append(dst, `,"metadata":null,"response":{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}}`...)
	}
	return append(dst, `,"metadata":null}`...)
}

func operationNotFound(id string) *kit.Refusal {
	return &kit.Refusal{Status: 404, Message: "Operation " + id + " not found"}
}

// ofRecognition plays the answer to a call about a recognition that is there.
func (s *Wires) ofRecognition(w http.ResponseWriter, r *http.Request, id, step string, poll bool, answer func(*recognition) ([]byte, *kit.Refusal)) {
	started := time.Now()
	rec, ok := s.recognized.look(id, poll)
	if !ok {
		s.Refuse(kit.YandexTaskWire, w, operationNotFound(id))
		return
	}
	body, refused := answer(&rec)
	if refused != nil {
		s.Refuse(kit.YandexTaskWire, w, refused)
		return
	}
	c := kit.NewChecker(kit.YandexTaskWire.Phrases)
	c.Request.Knobs, c.Request.Name = *rec.knobs.AtStep(step), rec.knobs.Name
	if refused := s.Serve(w, r, started, &c, kit.WholeReply(kit.YandexTaskWire, `{}`, func() []byte { return body })); refused != nil {
		s.Refuse(kit.YandexTaskWire, w, refused)
	}
}

// operations serves GET /operations/{id}: each is a poll.
func (s *Wires) operations(w http.ResponseWriter, r *http.Request) {
	s.ofRecognition(w, r, r.PathValue("id"), kit.StepPoll, true, func(rec *recognition) ([]byte, *kit.Refusal) { return rec.operation(), nil })
}

func operationOf(r *http.Request) string {
	q := r.URL.Query()
	return cmp.Or(q.Get("operationId"), q.Get("operation_id"))
}

// getRecognition serves GET /stt/v3/getRecognition: lines of JSON, once the operation is done.
func (s *Wires) getRecognition(w http.ResponseWriter, r *http.Request) {
	id := operationOf(r)
	s.ofRecognition(w, r, id, kit.StepContent, false, func(rec *recognition) ([]byte, *kit.Refusal) {
		if !rec.done() || rec.failed() {
			return nil, operationNotFound(id)
		}
		return rec.lines(), nil
	})
}

// deleteRecognition serves DELETE /stt/v3/deleteRecognition.
func (s *Wires) deleteRecognition(w http.ResponseWriter, r *http.Request) {
	id := operationOf(r)
	s.ofRecognition(w, r, id, kit.StepCancel, false, func(*recognition) ([]byte, *kit.Refusal) {
		s.recognized.drop(id)
		return []byte(`{}`), nil
	})
}

func ms(seconds float64) string { return `"` + strconv.FormatInt(int64(seconds*1000+0.5), 10) + `"` }

// lines are the events of a recognition: for each utterance its words as recognized, its text as written if that is asked for, and its end.
func (r *recognition) lines() []byte {
	var dst []byte
	h := r.recognized
	event := func(i int, u *utterance, inside func(dst []byte) []byte) {
		channel := `"0"`
		if r.labels {
			channel = `"` + kit.Itoa(u.speaker) + `"`
		}
		dst = append(kit.AppendText(append(dst, `{"result":{"sessionUuid":{"uuid":`...), kit.AmazonID(h.text)), `,"userRequestId":"`...)
		dst = append(append(dst, r.id...), `"},"audioCursors":{"receivedDataMs":`...)
		dst = append(append(dst, ms(h.seconds)...), `,"resetTimeMs":"0","partialTimeMs":`...)
		dst = append(append(append(append(dst, ms(h.seconds)...), `,"finalTimeMs":`...), ms(u.end)...), `,"finalIndex":"`...)
		dst = append(append(kit.AppendInt(dst, i), `","eouTimeMs":`...), ms(u.end)...)
		dst = append(dst, `},"responseWallTimeMs":"100",`...)
		dst = inside(dst)
		dst = append(append(append(dst, `,"channelTag":`...), channel...), "}}\n"...)
	}
	for i := range h.utterances {
		u := &h.utterances[i]
		alternatives := func(dst []byte, text string) []byte {
			dst = kit.AppendArray(append(dst, `{"alternatives":[{"words":`...), u.words, func(dst []byte, _ int, w timedWord) []byte {
				dst = kit.AppendText(append(dst, `{"text":`...), bareWord(w.text))
				return append(append(append(append(append(dst, `,"startTimeMs":`...), ms(w.start)...), `,"endTimeMs":`...), ms(w.end)...), '}')
			})
			dst = append(kit.AppendText(append(dst, `,"text":`...), text), `,"startTimeMs":`...)
			dst = append(append(append(append(dst, ms(u.start)...), `,"endTimeMs":`...), ms(u.end)...), `,"confidence":1,"languages":[{"languageCode":"`...)
			return append(append(dst, h.locale...), `","probability":1}]}],"channelTag":"0"}`...)
		}
		event(i, u, func(dst []byte) []byte { return alternatives(append(dst, `"final":`...), bareWord(u.text)) })
		if r.norm {
			event(i, u, func(dst []byte) []byte {
				dst = append(kit.AppendInt(append(dst, `"finalRefinement":{"finalIndex":"`...), i), `","normalizedText":`...)
				return append(alternatives(dst, u.text), '}')
			})
		}
		event(i, u, func(dst []byte) []byte {
			return append(append(append(dst, `"eouUpdate":{"timeMs":`...), ms(u.end)...), '}')
		})
	}
	return []byte(strings.TrimSuffix(string(dst), "\n") + "\n")
}
