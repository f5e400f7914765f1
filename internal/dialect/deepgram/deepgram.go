// Package deepgram is the dialect of Deepgram's transcription wire: the request body is the audio, the options are in the query, and the
// answer has words, utterances and speakers. It has no chat. It must not keep audio in memory or choose endpoints.
package deepgram

import (
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// Dialect implements dialect.Dialect and dialect.Performer. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Dialect   = (*Dialect)(nil)
	_ dialect.Performer = (*Dialect)(nil)
)

// Header gives the credential with the scheme Token, and the provider's own fields, which win.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	return dialect.Credential(p, "Authorization", "Token")
}

// Failure classifies an answer that is not 2xx: {"err_code":"...","err_msg":"...","request_id":"..."}, or the newer
// {"category":"...","message":"...","details":"..."}.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.Refusal{Status: status, Header: header}
	if rawjson.Valid(body) {
		r.Raw = string(body)
		for _, name := range [...]string{"err_msg", "message", "error"} {
			if r.Message == "" {
				r.Message = rawjson.TextAt(body, name)
			}
		}
		for _, name := range [...]string{"err_code", "category", "error_code"} {
			if r.Code == "" {
				r.Code = rawjson.TextAt(body, name)
			}
		}
	}
	return r.Fault(ep)
}

// Perform transcribes.
func (d *Dialect) Perform(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error] {
	t, ok := req.Task.(*task.Transcription)
	switch {
	case !ok:
		return dialect.NotServed(ep)
	case t.Translate:
		return dialect.NoTranslation(ep)
	case t.Logprobs:
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not return log probabilities."))
	case len(t.SpeakerRefs) > 0:
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not support known speakers."))
	}
	return func(yield func(*completion.Event, error) bool) {
		body, err := dialect.Object(ask, call(ep, t))
		if err != nil {
			yield(nil, err)
			return
		}
		ev, err := read(ep, t, body)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(ev, nil)
	}
}

// options are the fields of a form that are sent as parameters of the same name: none of them costs more, sets a callback or changes the
// shape of the answer.
var options = map[string]bool{
	"dictation": true, "filler_words": true, "keywords": true, "measurements": true, "numerals": true, "profanity_filter": true, "replace": true, "utt_split": true,
}

// takes returns the options of a model. Nova-3 and Flux refuse keywords. Their keyterm is no option: it costs more.
func takes(model string) map[string]bool {
	if !strings.HasPrefix(model, "nova-3") && !strings.HasPrefix(model, "flux") {
		return options
	}
	fewer := maps.Clone(options)
	delete(fewer, "keywords")
	return fewer
}

func call(ep *catalog.Endpoint, t *task.Transcription) dialect.Call {
	q := url.Values{"model": {ep.UpstreamID}, "smart_format": {"true"}, "punctuate": {"true"}, "utterances": {"true"}}
	if t.Language != "" {
		q.Set("language", t.Language)
	} else {
		q.Set("detect_language", "true")
	}
	if t.Response == "diarized_json" {
		q.Set("diarize", "true")
	}
	known := takes(ep.UpstreamID)
	for _, x := range t.Extra {
		if known[x.Name] {
			q.Add(x.Name, x.Value)
		}
	}
	return dialect.Call{
		Path: "/v1/listen?" + q.Encode(), Header: http.Header{"Content-Type": {t.MediaType}},
		Unsent:  dialect.LeftOut(t, known),
		Content: func() (io.Reader, int64) { return io.NewSectionReader(t.File, 0, t.File.Size()), t.File.Size() },
	}
}

// read reads {"metadata":{"request_id","duration"},"results":{"channels":[{"alternatives":[{"transcript","words":[...]}],
// "detected_language"}],"utterances":[...]}}. With language=multi the languages are a list of the alternative, most words first.
func read(ep *catalog.Endpoint, t *task.Transcription, body []byte) (*completion.Event, error) {
	channels := rawjson.ElementsOf(rawjson.FindPath(body, "results", "channels"))
	if !channels.Next() {
		return nil, dialect.Broken(ep, errors.New("the answer has no channel"))
	}
	alternatives := rawjson.ElementsOf(rawjson.Find(channels.Value, "alternatives"))
	if !alternatives.Next() || rawjson.KindOf(rawjson.Find(alternatives.Value, "transcript")) != rawjson.String {
		return nil, dialect.Broken(ep, errors.New("the answer has no transcript"))
	}
	said := &task.Transcript{
		Final: true, Text: rawjson.TextAt(alternatives.Value, "transcript"),
		Language: rawjson.TextAt(channels.Value, "detected_language"),
		Duration: dialect.RecordedSeconds(rawjson.FindPath(body, "metadata", "duration")),
	}
	if l := rawjson.ElementsOf(rawjson.Find(alternatives.Value, "languages")); said.Language == "" && l.Next() {
		said.Language = rawjson.Text(l.Value)
	}
	for w := rawjson.ElementsOf(rawjson.Find(alternatives.Value, "words")); w.Next(); {
		said.Words = append(said.Words, readWord(w.Value))
	}
	for u := rawjson.ElementsOf(rawjson.FindPath(body, "results", "utterances")); u.Next(); {
		said.Segments = append(said.Segments, task.Segment{
			Start: dialect.RecordedSeconds(rawjson.Find(u.Value, "start")), End: dialect.RecordedSeconds(rawjson.Find(u.Value, "end")),
			Text: rawjson.TextAt(u.Value, "transcript"), Speaker: speaker(u.Value),
		})
	}
	if said.Segments == nil {
		said.Segments = task.Segments(said.Words, " ")
	}
	task.Letters(said.Segments, said.Words)
	var u usage.Usage
	if said.Duration > 0 {
		u.Millis = usage.Of(said.Duration.Milliseconds())
	}
	head := &completion.Head{ID: rawjson.Text(rawjson.FindPath(body, "metadata", "request_id"))}
	return &completion.Event{Head: head, Choice: -1, Result: &task.Result{Transcript: said}, Usage: &u, Done: true}, nil
}

func readWord(v []byte) task.Word {
	text := rawjson.TextAt(v, "punctuated_word")
	if text == "" {
		text = rawjson.TextAt(v, "word")
	}
	return task.Word{Text: text, Start: dialect.RecordedSeconds(rawjson.Find(v, "start")), End: dialect.RecordedSeconds(rawjson.Find(v, "end")), Speaker: speaker(v)}
}

// speaker is the number of the speaker as text, "" missing.
func speaker(v []byte) string {
	if n := rawjson.Find(v, "speaker"); rawjson.KindOf(n) == rawjson.Number {
		return string(n)
	}
	return ""
}
