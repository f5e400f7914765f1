package yandex

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// How often and for how long a recognition is polled.
const (
	firstPoll = 250 * time.Millisecond
	slowPoll  = 5 * time.Second
	mostPolls = 360
)

// containers are the file formats that SpeechKit takes, by our names of them.
var containers = map[string]string{"wav": "WAV", "mp3": "MP3", "ogg": "OGG_OPUS"}

// transcribe sends audio to SpeechKit v3's asynchronous API for files: it submits the audio, polls the operation, and reads and deletes
// the text.
func transcribe(ask dialect.Ask, ep *catalog.Endpoint, t *task.Transcription) iter.Seq2[*completion.Event, error] {
	switch {
	case containers[t.Format] == "":
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model takes files in wav, mp3 and ogg only."))
	case t.Logprobs:
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not return log probabilities."))
	case len(t.SpeakerRefs) > 0:
		return dialect.Fails(dialect.Unsupported(ep, "The provider of this model does not support known speakers."))
	}
	return func(yield func(*completion.Event, error) bool) {
		ev, err := recognize(ask, ep, t)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(ev, nil)
	}
}

func recognize(ask dialect.Ask, ep *catalog.Endpoint, t *task.Transcription) (*completion.Event, error) {
	operation, err := dialect.Object(ask, submission(ep, t))
	if err != nil {
		return nil, err
	}
	id := rawjson.TextAt(operation, "id")
	if id == "" {
		return nil, dialect.Broken(ep, errors.New("the operation has no id"))
	}
	wait, failed := firstPoll, 0
	for polls := 0; ; polls++ {
		if done, _ := rawjson.Bool(rawjson.Find(operation, "done")); done {
			break
		}
		if polls == mostPolls {
			return nil, dialect.Broken(ep, errors.New("the operation does not end"))
		}
		if err := ask.Wait(wait); err != nil {
			return nil, err
		}
		wait = min(wait*2, slowPoll)
		next, err := dialect.Object(ask, dialect.Call{Method: http.MethodGet, URL: operationURL(ep.Provider.BaseURL, id)})
		if rest, passing := dialect.Passing(err); passing && failed < dialect.MostFailedLooks { // polls have a quota of their own
			failed, wait = failed+1, max(wait, rest)
		} else if err != nil {
			return nil, operationFault(err) // also for an operation that has failed
		} else {
			operation, failed = next, 0
		}
	}
	query := "?operationId=" + url.QueryEscape(id)
	lines, err := dialect.Whole(ask, dialect.Call{Method: http.MethodGet, Path: "/stt/v3/getRecognition" + query})
	if err != nil {
		return nil, err
	}
	ev, err := readRecognition(ep, t, lines)
	if err != nil {
		return nil, err
	}
	_, _ = dialect.Whole(ask, dialect.Call{Method: http.MethodDelete, Path: "/stt/v3/deleteRecognition" + query}) // else the service deletes it after three days
	ev.Head = &completion.Head{ID: id}
	return ev, nil
}

// operationURL is the address of an operation. Operations have another host than recognition.
func operationURL(base, id string) string {
	id = url.PathEscape(id)
	if at := strings.Index(base, "://stt."); at > 0 {
		return base[:at] + "://operation." + strings.TrimPrefix(base[at+len("://stt."):], "/") + "/operations/" + id
	}
	return base + "/operations/" + id
}

// locales are the languages for which SpeechKit requires a country, too.
var locales = map[string]string{
	"ru": "ru-RU", "en": "en-US", "de": "de-DE", "es": "es-ES", "fi": "fi-FI", "fr": "fr-FR", "he": "he-IL", "it": "it-IT", "kk": "kk-KZ",
	"nl": "nl-NL", "pl": "pl-PL", "pt": "pt-PT", "sv": "sv-SE", "tr": "tr-TR", "uz": "uz-UZ",
}

// submission is the call that sends the audio, which is encoded as base64 while it is sent.
func submission(ep *catalog.Endpoint, t *task.Transcription) dialect.Call {
	language := t.Language
	if locales[language] != "" {
		language = locales[language]
	} else if language == "" {
		language = "auto"
	}
	b := rawjson.AppendText([]byte(`{"recognitionModel":{"model":`), ep.UpstreamID)
	b = rawjson.AppendText(append(b, `,"audioFormat":{"containerAudio":{"containerAudioType":`...), containers[t.Format])
	b = append(b, `}},"textNormalization":{"textNormalization":"TEXT_NORMALIZATION_ENABLED","profanityFilter":false,"literatureText":true},`...)
	b = rawjson.AppendText(append(b, `"languageRestriction":{"restrictionType":"WHITELIST","languageCode":[`...), language)
	b = append(b, `]},"audioProcessingType":"FULL_DATA"}`...)
	if t.Response == "diarized_json" {
		b = append(b, `,"speakerLabeling":{"speakerLabeling":"SPEAKER_LABELING_ENABLED"}`...)
	}
	b = append(b, `,"content":"`...)
	const end = `"}`
	size := int64(len(b)+len(end)) + (t.File.Size()+2)/3*4
	content := func() (io.Reader, int64) {
		file := &inBase64{r: io.NewSectionReader(t.File, 0, t.File.Size())}
		return io.MultiReader(bytes.NewReader(b), file, strings.NewReader(end)), size
	}
	return dialect.Call{Path: "/stt/v3/recognizeFileAsync", Header: http.Header{"Content-Type": {"application/json"}}, Content: content, Unsent: dialect.LeftOut(t, nil)}
}

// inBase64 reads the data of r as base64, a piece at a time.
type inBase64 struct {
	r    io.Reader
	raw  [3 << 10]byte
	text [4 << 10]byte
	left []byte // encoded, not yet read
	err  error
}

func (e *inBase64) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		var n int
		n, e.err = io.ReadFull(e.r, e.raw[:])
		if e.err == io.ErrUnexpectedEOF {
			e.err = io.EOF // the last piece is shorter, and padded
		}
		e.left = base64.StdEncoding.AppendEncode(e.text[:0], e.raw[:n])
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// readRecognition reads lines of {"result":{"final":{"alternatives":[...]},"channelTag"}}. If the text is normalized, each is followed by
// {"result":{"finalRefinement":{"finalIndex","normalizedText":{"alternatives":[...]}}}}.
func readRecognition(ep *catalog.Endpoint, t *task.Transcription, lines []byte) (*completion.Event, error) {
	said, some := &task.Transcript{Final: true}, false
	type final struct { // channels may count their texts apart
		channel string
		index   int64
	}
	var order []final // of the segments
	refined := map[final]string{}
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if !rawjson.Valid(line) {
			return nil, dialect.Broken(ep, errors.New("a line is not JSON"))
		}
		result := rawjson.Find(line, "result")
		if result == nil {
			result = line
		}
		some = some || rawjson.KindOf(result) == rawjson.Object && !rawjson.IsNull(rawjson.Find(result, "audioCursors"))
		index := numbered(rawjson.FindPath(result, "audioCursors", "finalIndex"))
		if a := rawjson.ElementsOf(rawjson.FindPath(result, "final", "alternatives")); a.Next() {
			channel := cmp.Or(rawjson.TextAt(result, "channelTag"), rawjson.Text(rawjson.FindPath(result, "final", "channelTag")))
			order = append(order, final{channel, index})
			addFinal(said, a.Value, channel)
		}
		if a := rawjson.ElementsOf(rawjson.FindPath(result, "finalRefinement", "normalizedText", "alternatives")); a.Next() {
			channel := cmp.Or(rawjson.TextAt(result, "channelTag"), rawjson.Text(rawjson.FindPath(result, "finalRefinement", "normalizedText", "channelTag")))
			refined[final{channel, numbered(rawjson.FindPath(result, "finalRefinement", "finalIndex"))}] = rawjson.TextAt(a.Value, "text")
		}
	}
	if !some {
		return nil, dialect.Empty(ep)
	}
	for i := range said.Segments {
		if well := refined[order[i]]; well != "" {
			said.Segments[i].Text = well
		}
	}
	inOrder(said)
	if t.Response != "diarized_json" { // otherwise a channel does not count as a speaker
		for i := range said.Segments {
			said.Segments[i].Speaker = ""
		}
		for i := range said.Words {
			said.Words[i].Speaker = ""
		}
	}
	task.Letters(said.Segments, said.Words)
	return &completion.Event{Choice: -1, Result: &task.Result{Transcript: said}, Usage: &usage.Usage{}, Done: true}, nil
}

// inOrder sorts what was said in several channels by time, and makes the whole text of it.
func inOrder(said *task.Transcript) {
	slices.SortStableFunc(said.Segments, func(a, b task.Segment) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortStableFunc(said.Words, func(a, b task.Word) int { return cmp.Compare(a.Start, b.Start) })
	texts := make([]string, len(said.Segments))
	for i := range said.Segments {
		texts[i] = said.Segments[i].Text
	}
	said.Text = strings.Join(texts, " ")
}

// addFinal adds an utterance.
func addFinal(said *task.Transcript, v []byte, speaker string) {
	said.Segments = append(said.Segments, task.Segment{
		Start: millis(rawjson.Find(v, "startTimeMs")), End: millis(rawjson.Find(v, "endTimeMs")),
		Text: rawjson.TextAt(v, "text"), Speaker: speaker,
	})
	for w := rawjson.ElementsOf(rawjson.Find(v, "words")); w.Next(); {
		said.Words = append(said.Words, task.Word{
			Text: rawjson.TextAt(w.Value, "text"), Start: millis(rawjson.Find(w.Value, "startTimeMs")), End: millis(rawjson.Find(w.Value, "endTimeMs")), Speaker: speaker,
		})
	}
	if said.Language == "" {
		said.Language = likeliest(rawjson.Find(v, "languages"))
	}
}

// likeliest reads a distribution over languages, in any order.
func likeliest(languages []byte) (code string) {
	best := -1.0
	for l := rawjson.ElementsOf(languages); l.Next(); {
		p := rawjson.Find(l.Value, "probability")
		if rawjson.KindOf(p) == rawjson.String {
			p = []byte(rawjson.Text(p))
		}
		if x, _ := rawjson.Float(p); x > best {
			code, best = rawjson.TextAt(l.Value, "languageCode"), x
		}
	}
	return code
}

// numbered reads a 64-bit number, which this wire writes as a string.
func numbered(v []byte) int64 {
	if rawjson.KindOf(v) == rawjson.String {
		v = []byte(rawjson.Text(v))
	}
	n, _ := rawjson.Int(v)
	return n
}

func millis(v []byte) time.Duration {
	return time.Duration(min(max(numbered(v), 0), int64(24*time.Hour/time.Millisecond))) * time.Millisecond
}
