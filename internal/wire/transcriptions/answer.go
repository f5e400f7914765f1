package transcriptions

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/subtitle"
	"weir/internal/task"
	"weir/internal/wire"
)

// ContentType is the type of a whole answer in a format.
func ContentType(format string) string {
	switch format {
	case formatText, formatSRT, formatVTT:
		return "text/plain; charset=utf-8"
	}
	return "application/json; charset=utf-8"
}

// transcript collects the pieces of a transcript.
type transcript struct {
	deltas   strings.Builder
	logprobs []byte // entries after an opening bracket, of deltas
	segments []task.Segment
	final    *task.Transcript
}

func (t *transcript) add(p *task.Transcript) {
	if p.Final {
		t.final = p
		return
	}
	t.deltas.WriteString(p.Delta)
	if p.Segment != nil {
		t.segments = append(t.segments, *p.Segment)
	}
	for e := rawjson.ElementsOf(p.Logprobs); e.Next(); {
		if len(t.logprobs) == 0 {
			t.logprobs = append(t.logprobs, '[')
		} else {
			t.logprobs = append(t.logprobs, ',')
		}
		t.logprobs = append(t.logprobs, e.Value...)
	}
}

// whole is the complete transcript.
func (t *transcript) whole() task.Transcript {
	var all task.Transcript
	if t.final != nil {
		all = *t.final
	}
	if all.Text == "" {
		all.Text = t.deltas.String()
	}
	if len(all.Segments) == 0 {
		all.Segments = t.segments
	}
	if len(all.Logprobs) == 0 && len(t.logprobs) > 0 {
		all.Logprobs = append(t.logprobs, ']')
	}
	return all
}

// Whole collects a transcript and writes it in the requested format, in one Write, when it has ended. It is a relay.Sink.
type Whole struct {
	w      io.Writer
	t      *task.Transcription
	strict bool
	got    transcript
	served relay.Served
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes the answer to t to w. strict makes the ids of segments strings in every format.
func NewWhole(w io.Writer, t *task.Transcription, strict bool) *Whole {
	return &Whole{w: w, t: t, strict: strict}
}

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.served, x.got = served, transcript{}
	return nil
}

// Event takes in one event.
func (x *Whole) Event(ev *completion.Event) error {
	if ev.Result != nil && ev.Result.Transcript != nil {
		x.got.add(ev.Result.Transcript)
	}
	return nil
}

// End writes the answer.
func (x *Whole) End(receipt relay.Receipt) error {
	all := x.got.whole()
	var b []byte
	switch x.t.Response {
	case formatText:
		b = append([]byte(strings.TrimRight(all.Text, "\n")), '\n')
	case formatSRT:
		b = subtitle.WriteSRT(nil, cues(&all, x.t.Duration))
	case formatVTT:
		b = subtitle.WriteVTT(nil, cues(&all, x.t.Duration))
	default:
		b = x.document(&all, &receipt)
	}
	_, err := x.w.Write(b)
	return err
}

// cues are the segments as subtitles; a transcript without any is one cue for the whole time.
func cues(t *task.Transcript, length time.Duration) []subtitle.Cue {
	list := make([]subtitle.Cue, 0, max(len(t.Segments), 1))
	for i := range t.Segments {
		s := &t.Segments[i]
		list = append(list, subtitle.Cue{Start: s.Start, End: s.End, Text: strings.TrimSpace(s.Text)})
	}
	if len(list) == 0 && t.Text != "" {
		list = append(list, subtitle.Cue{End: lengthOf(t, length), Text: t.Text})
	}
	return list
}

// lengthOf is the length of the audio as the provider reports it, or else as measured.
func lengthOf(t *task.Transcript, measured time.Duration) time.Duration {
	if t.Duration > 0 {
		return t.Duration
	}
	return measured
}

// document is the answer in one of the formats that are JSON.
func (x *Whole) document(all *task.Transcript, receipt *relay.Receipt) []byte {
	b := make([]byte, 0, 512+len(all.Text)*2)
	b = append(b, '{')
	if x.t.Response != formatJSON {
		word := "transcribe"
		if x.t.Translate {
			word = "translate"
		}
		b = append(append(append(b, `"task":"`...), word...), `",`...)
	}
	switch {
	case x.t.Response == formatVerbose:
		b = append(b, `"language":`...)
		b = append(rawjson.AppendText(b, language(all.Language, x.t.Language)), ',')
		fallthrough
	case x.t.Response == formatDiarized:
		b = append(b, `"duration":`...)
		b = append(appendSeconds(b, lengthOf(all, x.t.Duration)), ',')
	case all.Language != "":
		b = append(b, `"language":`...)
		b = append(rawjson.AppendText(b, all.Language), ',')
	}
	b = append(b, `"text":`...)
	b = rawjson.AppendText(b, all.Text)
	switch {
	case x.t.Response == formatVerbose && x.t.Segments:
		b = appendVerbose(b, all.Segments, x.strict)
	case x.t.Response == formatDiarized:
		b = appendDiarized(b, all.Segments)
	}
	if x.t.Response == formatVerbose && x.t.Words {
		b = appendWords(b, all.Words)
	}
	if x.t.Logprobs && len(all.Logprobs) > 0 {
		b = rawjson.AppendOneLine(append(b, `,"logprobs":`...), all.Logprobs)
	}
	b = appendUsage(append(b, `,"usage":`...), receipt)
	return append(wire.AppendNotice(b, x.served.Head.Notice), '}')
}

func language(reported, asked string) string {
	if reported != "" {
		return reported
	}
	return asked
}

// appendSeconds appends a duration as a number of seconds, to the millisecond.
func appendSeconds(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, math.Round(float64(d)/1e6)/1000, 'f', -1, 64)
}

func appendVerbose(b []byte, segments []task.Segment, strict bool) []byte {
	quote := ""
	if strict {
		quote = `"`
	}
	b = append(b, `,"segments":[`...)
	for i := range segments {
		s := &segments[i]
		w := s.Whisper
		if w == nil {
			w = new(task.Whisper)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"id":`...), quote...)
		b = append(strconv.AppendInt(b, int64(i), 10), quote...)
		b = append(b, `,"seek":`...)
		b = strconv.AppendInt(b, int64(w.Seek), 10)
		b = appendSpan(b, s)
		b = append(b, `,"tokens":[`...)
		for j, n := range w.Tokens {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(n), 10)
		}
		b = append(b, ']')
		for _, f := range [...]struct {
			name  string
			value float64
		}{
			{"temperature", w.Temperature}, {"avg_logprob", w.AvgLogprob}, {"compression_ratio", w.CompressionRatio}, {"no_speech_prob", w.NoSpeechProb},
		} {
			b = append(append(append(b, `,"`...), f.name...), `":`...)
			b = strconv.AppendFloat(b, f.value, 'f', -1, 64)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendSpan appends the times and the text of a segment.
func appendSpan(b []byte, s *task.Segment) []byte {
	b = appendSeconds(append(b, `,"start":`...), s.Start)
	b = appendSeconds(append(b, `,"end":`...), s.End)
	return rawjson.AppendText(append(b, `,"text":`...), s.Text)
}

func appendDiarized(b []byte, segments []task.Segment) []byte {
	b = append(b, `,"segments":[`...)
	for i := range segments {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendSegment(append(b, '{'), &segments[i], i), '}')
	}
	return append(b, ']')
}

// appendSegment appends the members of a segment with its speaker.
func appendSegment(b []byte, s *task.Segment, number int) []byte {
	b = append(b, `"type":"transcript.text.segment","id":`...)
	if s.ID != "" {
		b = rawjson.AppendText(b, s.ID)
	} else {
		b = append(b, `"seg_`...)
		b = append(b, zeros[min(len(strconv.Itoa(number+1)), len(zeros)):]...)
		b = append(strconv.AppendInt(b, int64(number)+1, 10), '"')
	}
	b = appendSpan(b, s)
	return rawjson.AppendText(append(b, `,"speaker":`...), s.Speaker)
}

const zeros = "000" // a segment's number has three digits

func appendWords(b []byte, words []task.Word) []byte {
	b = append(b, `,"words":[`...)
	for i := range words {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"word":`...), words[i].Text)
		b = appendSeconds(append(b, `,"start":`...), words[i].Start)
		b = append(appendSeconds(append(b, `,"end":`...), words[i].End), '}')
	}
	return append(b, ']')
}

// appendUsage appends the usage: tokens where it is billed by them, else seconds.
func appendUsage(b []byte, receipt *relay.Receipt) []byte {
	u := &receipt.Usage
	if u.Prompt.N == 0 && u.Millis.N > 0 {
		b = append(b, `{"type":"duration","seconds":`...)
		b = appendSeconds(b, time.Duration(u.Millis.N)*time.Millisecond)
		b = append(b, ',')
		return append(wire.AppendCost(b, receipt), '}')
	}
	b = append(b, `{"type":"tokens","input_tokens":`...)
	b = strconv.AppendInt(b, u.Prompt.N, 10)
	b = append(b, `,"output_tokens":`...)
	b = strconv.AppendInt(b, u.Completion.N, 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, u.Prompt.N+u.Completion.N, 10)
	b = append(b, `,"input_token_details":{"audio_tokens":`...)
	b = strconv.AppendInt(b, u.PromptAudio.N, 10)
	b = append(b, `,"text_tokens":`...)
	b = strconv.AppendInt(b, max(u.Prompt.N-u.PromptAudio.N, 0), 10)
	b = append(b, "},"...)
	return append(wire.AppendCost(b, receipt), '}')
}
