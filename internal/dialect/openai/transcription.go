package openai

import (
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/sse"
)

// transcribe sends the audio to /audio/transcriptions. It requests JSON with the data that the client's format needs: times for
// subtitles, speakers where they are distinguished.
func (d *Dialect) transcribe(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request, t *task.Transcription) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		call := transcriptionCall(ep, req, t)
		call.Stream = req.Stream
		answer, err := ask.Do(call)
		if err != nil {
			yield(nil, inClientsWords(err, t))
			return
		}
		defer answer.Close()
		if first, err := answer.Body.Peek(); err != nil || first == '{' { // also true of servers that do not stream
			if ev, err := d.wholeTranscript(answer); err != nil {
				yield(nil, err)
			} else {
				yield(ev, nil)
			}
			return
		}
		d.streamTranscript(answer, yield)
	}
}

// inClientsWords changes a refusal of a format that the gateway requested in the place of the client's: subtitles are written here, from
// verbose_json.
func inClientsWords(err error, t *task.Transcription) error {
	var f *fault.Error
	if t.Response == upstreamFormat(t) || !errors.As(err, &f) || f.Kind != fault.Invalid || f.Upstream == nil || !strings.Contains(f.Upstream.Raw+f.Public, verboseJSON) {
		return err
	}
	named := *f
	named.Param, named.Next = "response_format", fault.NextEndpoint
	named.Public = "response_format " + t.Response + " needs the times of what is said, and the provider of this model does not report them. Request json or text, or choose another model."
	upstream := *f.Upstream
	upstream.Raw = "" // it speaks of a format that the client did not request
	named.Upstream = &upstream
	return &named
}

// verboseJSON is the format with times.
const verboseJSON = "verbose_json"

// upstreamFormat is the format to request.
func upstreamFormat(t *task.Transcription) string {
	switch t.Response {
	case "srt", "vtt", verboseJSON:
		return verboseJSON
	case "diarized_json":
		return t.Response
	}
	return "json"
}

func transcriptionCall(ep *catalog.Endpoint, req *completion.Request, t *task.Transcription) dialect.Call {
	f := dialect.NewForm()
	field := func(name, value string) {
		if value != "" {
			f.Field(name, value)
		}
	}
	field("model", ep.UpstreamID)
	field("response_format", upstreamFormat(t))
	field("language", t.Language)
	field("prompt", t.Prompt)
	field("temperature", t.Temperature)
	field("chunking_strategy", t.Chunking)
	if req.Stream {
		field("stream", "true")
	}
	if t.Logprobs {
		field("include[]", "logprobs")
	}
	if upstreamFormat(t) == verboseJSON && !t.Translate {
		if t.Words {
			field("timestamp_granularities[]", "word")
		}
		if t.Segments || !t.Words {
			field("timestamp_granularities[]", "segment")
		}
	}
	for _, name := range t.SpeakerNames {
		field("known_speaker_names[]", name)
	}
	for _, ref := range t.SpeakerRefs {
		field("known_speaker_references[]", ref)
	}
	for _, x := range t.Extra {
		if !completion.Diverts(x.Name) {
			field(x.Name, x.Value)
		}
	}
	f.File("file", "audio."+t.Format, t.MediaType, t.File) // the name shows the format; the provider does not get the client's file name
	if t.Translate {
		return f.Call("/audio/translations")
	}
	return f.Call("/audio/transcriptions")
}

func (d *Dialect) wholeTranscript(answer *dialect.Answer) (*completion.Event, error) {
	body, err := answer.ReadAll(nil)
	if err != nil {
		return nil, err
	}
	if rawjson.Valid(body) && !rawjson.IsNull(rawjson.Find(body, "error")) {
		return nil, d.Failure(answer.Endpoint, http.StatusOK, nil, body)
	}
	if !rawjson.Valid(body) || rawjson.KindOf(rawjson.Find(body, "text")) != rawjson.String {
		return nil, dialect.Broken(answer.Endpoint, errors.New("the answer has no text"))
	}
	u := transcriptUsage(body)
	return &completion.Event{Head: new(completion.Head), Choice: -1, Result: &task.Result{Transcript: readTranscript(body)}, Usage: &u, Done: true}, nil
}

// readTranscript reads {"text", "language", "duration", "segments", "words", "logprobs"}.
func readTranscript(body []byte) *task.Transcript {
	t := &task.Transcript{Final: true, Text: text(rawjson.Find(body, "text")), Language: text(rawjson.Find(body, "language")), Duration: dialect.RecordedSeconds(rawjson.Find(body, "duration"))}
	t.Words = readWords(nil, rawjson.Find(body, "words"))
	apart := len(t.Words) > 0
	for e := rawjson.ElementsOf(rawjson.Find(body, "segments")); e.Next(); {
		t.Segments = append(t.Segments, readSegment(e.Value))
		if !apart { // whisper.cpp has the words inside their segments
			t.Words = readWords(t.Words, rawjson.Find(e.Value, "words"))
		}
	}
	if v := rawjson.Find(body, "logprobs"); rawjson.KindOf(v) == rawjson.Array {
		t.Logprobs = v
	}
	return t
}

func readWords(to []task.Word, list []byte) []task.Word {
	for e := rawjson.ElementsOf(list); e.Next(); {
		to = append(to, task.Word{Text: text(rawjson.Find(e.Value, "word")), Start: dialect.RecordedSeconds(rawjson.Find(e.Value, "start")), End: dialect.RecordedSeconds(rawjson.Find(e.Value, "end"))})
	}
	return to
}

func readSegment(v []byte) task.Segment {
	s := task.Segment{Start: dialect.RecordedSeconds(rawjson.Find(v, "start")), End: dialect.RecordedSeconds(rawjson.Find(v, "end")), Text: text(rawjson.Find(v, "text")), Speaker: text(rawjson.Find(v, "speaker"))}
	if id := rawjson.Find(v, "id"); rawjson.KindOf(id) == rawjson.String {
		s.ID = text(id)
		return s
	}
	number := func(name string) float64 {
		x, _ := rawjson.Float(rawjson.Find(v, name))
		return x
	}
	w := &task.Whisper{Temperature: number("temperature"), AvgLogprob: number("avg_logprob"), CompressionRatio: number("compression_ratio"), NoSpeechProb: number("no_speech_prob")}
	seek, _ := rawjson.Int(rawjson.Find(v, "seek"))
	w.Seek = int(seek)
	for e := rawjson.ElementsOf(rawjson.Find(v, "tokens")); e.Next(); {
		n, _ := rawjson.Int(e.Value)
		w.Tokens = append(w.Tokens, int32(min(max(n, 0), math.MaxInt32)))
	}
	s.Whisper = w
	return s
}

// transcriptUsage reads tokens or a duration, which Mistral names prompt_audio_seconds.
func transcriptUsage(body []byte) (u usage.Usage) {
	v := rawjson.Find(body, "usage")
	for _, name := range [...]string{"seconds", "prompt_audio_seconds"} {
		if d := dialect.RecordedSeconds(rawjson.Find(v, name)); d > 0 {
			u.Millis = usage.Of(d.Milliseconds())
			break
		}
	}
	set(&u.Prompt, rawjson.Find(v, "input_tokens"))
	set(&u.Completion, rawjson.Find(v, "output_tokens"))
	set(&u.PromptAudio, rawjson.FindPath(v, "input_token_details", "audio_tokens"))
	return u
}

// streamTranscript reads the events transcript.text.delta, .segment and .done. The mark of the end is transcript.text.done: a stream that
// ends before it was cut off.
func (d *Dialect) streamTranscript(answer *dialect.Answer, yield func(*completion.Event, error) bool) {
	frames := sse.NewReader(answer.Body, sse.Limits{Line: int64(answer.Limits.Line), Total: answer.Limits.Stream})
	head := new(completion.Head)
	var chunks chunked
	for {
		frame, err := frames.Next()
		if err != nil {
			yield(nil, dialect.Broken(answer.Endpoint, cut(answer, err)))
			return
		}
		if string(frame.Data) == "[DONE]" {
			if chunks.finished {
				ev := chunks.end()
				ev.Head = head
				yield(ev, nil)
			} else {
				yield(nil, dialect.Ended(answer.Endpoint))
			}
			return
		}
		if ev, is := chunks.read(frame.Data); is {
			if ev != nil {
				ev.Head, head = head, nil
				if !yield(ev, nil) {
					return
				}
			}
			continue
		}
		ev, err := d.transcriptEvent(answer, frame.Data)
		if err != nil {
			yield(nil, err)
			return
		}
		if ev == nil {
			continue
		}
		ev.Head, head = head, nil
		if !yield(ev, nil) || ev.Done {
			return
		}
	}
}

// chunked reads the stream of vLLM (OpenAI-compatible server, Transcriptions API): chunks like those of chat, whose text adds up. The last
// choice has a finish_reason, the usage may follow, and [DONE] ends it.
type chunked struct {
	all      strings.Builder
	usage    usage.Usage
	finished bool
}

// read takes in a chunk; is reports that the frame was one.
func (c *chunked) read(data []byte) (ev *completion.Event, is bool) {
	if !rawjson.Valid(data) || !rawjson.IsNull(rawjson.Find(data, "error")) {
		return nil, false
	}
	if object := text(rawjson.Find(data, "object")); object != "transcription.chunk" && object != "translation.chunk" {
		return nil, false
	}
	if v := rawjson.Find(data, "usage"); !rawjson.IsNull(v) {
		set(&c.usage.Prompt, rawjson.Find(v, "prompt_tokens"))
		set(&c.usage.Completion, rawjson.Find(v, "completion_tokens"))
	}
	said := ""
	for e := rawjson.ElementsOf(rawjson.Find(data, "choices")); e.Next(); {
		said += text(rawjson.FindPath(e.Value, "delta", "content"))
		c.finished = c.finished || !rawjson.IsNull(rawjson.Find(e.Value, "finish_reason"))
	}
	if said == "" {
		return nil, true
	}
	c.all.WriteString(said)
	return &completion.Event{Choice: -1, Result: &task.Result{Transcript: &task.Transcript{Delta: said}}}, true
}

func (c *chunked) end() *completion.Event {
	return &completion.Event{Choice: -1, Result: &task.Result{Transcript: &task.Transcript{Final: true, Text: c.all.String()}}, Usage: &c.usage, Done: true}
}

// cut is the fault of a stream that was cut off.
func cut(answer *dialect.Answer, err error) error {
	var limit *sse.LimitError
	switch {
	case err == io.EOF:
		return dialect.Ended(answer.Endpoint)
	case errors.As(err, &limit):
		return dialect.TooLarge(answer.Endpoint, err)
	}
	return err
}

func (d *Dialect) transcriptEvent(answer *dialect.Answer, data []byte) (*completion.Event, error) {
	if !rawjson.Valid(data) {
		return nil, dialect.Broken(answer.Endpoint, errors.New("an event is not JSON"))
	}
	kind := text(rawjson.Find(data, "type"))
	piece := new(task.Transcript)
	if v := rawjson.Find(data, "logprobs"); rawjson.KindOf(v) == rawjson.Array {
		piece.Logprobs = append([]byte(nil), v...)
	}
	switch kind {
	case "transcript.text.delta":
		piece.Delta, piece.SegmentID = text(rawjson.Find(data, "delta")), text(rawjson.Find(data, "segment_id"))
		return &completion.Event{Choice: -1, Result: &task.Result{Transcript: piece}}, nil
	case "transcript.text.segment":
		segment := readSegment(data)
		piece.Segment = &segment
		return &completion.Event{Choice: -1, Result: &task.Result{Transcript: piece}}, nil
	case "transcript.text.done":
		piece.Final, piece.Text = true, text(rawjson.Find(data, "text"))
		u := transcriptUsage(data)
		return &completion.Event{Choice: -1, Result: &task.Result{Transcript: piece}, Usage: &u, Done: true}, nil
	}
	if reportsError(data) {
		return nil, d.Failure(answer.Endpoint, http.StatusOK, nil, data)
	}
	return nil, nil // an unknown event
}

// reportsError reports whether an event of audio is of an error: it has one, or its type says so ("error", "speech.audio.error").
func reportsError(data []byte) bool {
	kind := rawjson.TextAt(data, "type")
	return !rawjson.IsNull(rawjson.Find(data, "error")) || kind == "error" || strings.HasSuffix(kind, ".error")
}
