package transcriptions_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"weir/internal/completion"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/sse"
	"weir/internal/wire/transcriptions"
)

var (
	byMinute = relay.Receipt{Usage: usage.Usage{Millis: usage.Of(3250)}, Cost: 33_000_000}
	byTokens = relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(40), PromptAudio: usage.Of(33), Completion: usage.Of(9)}, Cost: 1_250_000_000, PromptCost: 1_000_000_000}
)

const (
	minuteUsage = `"usage":{"type":"duration","seconds":3.25,"cost":0.033,"currency":"RUB","is_byok":false,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0,"upstream_inference_completions_cost":0.033,"upstream_inference_input_cost":0,"upstream_inference_output_cost":0.033}}`
	tokenUsage  = `"usage":{"type":"tokens","input_tokens":40,"output_tokens":9,"total_tokens":49,"input_token_details":{"audio_tokens":33,"text_tokens":7},"cost":1.25,"currency":"RUB","is_byok":false,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":1,"upstream_inference_completions_cost":0.25,"upstream_inference_input_cost":1,"upstream_inference_output_cost":0.25}}`
)

// said is a transcript with everything that one can have.
func said() *task.Transcript {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return &task.Transcript{
		Final: true, Text: "Is this \"a\" weir?\nYes.", Language: "english", Duration: ms(3250),
		Segments: []task.Segment{
			{Start: 0, End: ms(1500), Text: ` Is this "a" weir?`, Speaker: "A", Whisper: &task.Whisper{Seek: 3, Tokens: []int32{50364, 13}, Temperature: 0.2, AvgLogprob: -0.25, CompressionRatio: 1.5, NoSpeechProb: 0.01}},
			{Start: ms(1500), End: ms(3250), Text: " Yes.", Speaker: "B"},
		},
		Words:    []task.Word{{Text: "Is", Start: 0, End: ms(300)}, {Text: "Yes", Start: ms(1500), End: ms(1999)}},
		Logprobs: []byte(`[{"token":"Is","logprob":-0.5,"bytes":[73,115]}]`),
	}
}

// Every format of an answer, byte for byte.
func TestWhole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		task    task.Transcription
		strict  bool
		receipt relay.Receipt
		want    string
	}{
		"json": {task: task.Transcription{Response: "json"}, receipt: byMinute, want: `{"language":"english","text":"Is this \"a\" weir?\nYes.",` + minuteUsage + `}`},
		"json with log probabilities": {
			task: task.Transcription{Response: "json", Logprobs: true}, receipt: byTokens,
			want: `{"language":"english","text":"Is this \"a\" weir?\nYes.","logprobs":[{"token":"Is","logprob":-0.5,"bytes":[73,115]}],` + tokenUsage + `}`,
		},
		"text": {task: task.Transcription{Response: "text"}, receipt: byMinute, want: "Is this \"a\" weir?\nYes.\n"},
		"srt":  {task: task.Transcription{Response: "srt"}, receipt: byMinute, want: "1\n00:00:00,000 --> 00:00:01,500\nIs this \"a\" weir?\n\n2\n00:00:01,500 --> 00:00:03,250\nYes.\n\n"},
		"vtt":  {task: task.Transcription{Response: "vtt"}, receipt: byMinute, want: "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nIs this \"a\" weir?\n\n00:00:01.500 --> 00:00:03.250\nYes.\n\n"},
		"verbose_json": {
			task: task.Transcription{Response: "verbose_json", Segments: true}, receipt: byMinute,
			want: `{"task":"transcribe","language":"english","duration":3.25,"text":"Is this \"a\" weir?\nYes.","segments":[` +
				`{"id":0,"seek":3,"start":0,"end":1.5,"text":" Is this \"a\" weir?","tokens":[50364,13],"temperature":0.2,"avg_logprob":-0.25,"compression_ratio":1.5,"no_speech_prob":0.01},` +
				`{"id":1,"seek":0,"start":1.5,"end":3.25,"text":" Yes.","tokens":[],"temperature":0,"avg_logprob":0,"compression_ratio":0,"no_speech_prob":0}],` + minuteUsage + `}`,
		},
		"verbose_json with words alone, strict": {
			task: task.Transcription{Response: "verbose_json", Words: true}, strict: true, receipt: byMinute,
			want: `{"task":"transcribe","language":"english","duration":3.25,"text":"Is this \"a\" weir?\nYes.","words":[{"word":"Is","start":0,"end":0.3},{"word":"Yes","start":1.5,"end":1.999}],` + minuteUsage + `}`,
		},
		"diarized_json": {
			task: task.Transcription{Response: "diarized_json"}, receipt: byTokens,
			want: `{"task":"transcribe","duration":3.25,"text":"Is this \"a\" weir?\nYes.","segments":[` +
				`{"type":"transcript.text.segment","id":"seg_001","start":0,"end":1.5,"text":" Is this \"a\" weir?","speaker":"A"},` +
				`{"type":"transcript.text.segment","id":"seg_002","start":1.5,"end":3.25,"text":" Yes.","speaker":"B"}],` + tokenUsage + `}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			tt.task.Language, tt.task.Duration = "fr", 9*time.Second // what the provider reported counts
			w := transcriptions.NewWhole(&b, &tt.task, tt.strict)
			play(t, w, tt.receipt, &task.Result{Transcript: said()})
			if got := b.String(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func play(t *testing.T, to relay.Sink, receipt relay.Receipt, results ...*task.Result) {
	t.Helper()
	if err := to.Start(relay.Served{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := to.Event(&completion.Event{Choice: -1, Result: r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.End(receipt); err != nil {
		t.Fatal(err)
	}
}

// When a provider reports only a text, the rest comes from the request and from measuring.
func TestWholeBare(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"json":         `{"text":"Yes.",` + minuteUsage + `}`,
		"verbose_json": `{"task":"transcribe","language":"fr","duration":9,"text":"Yes.","segments":[],` + minuteUsage + `}`,
		"srt":          "1\n00:00:00,000 --> 00:00:09,000\nYes.\n\n",
		"text":         "Yes.\n",
	} {
		var b bytes.Buffer
		w := transcriptions.NewWhole(&b, &task.Transcription{Response: format, Segments: true, Language: "fr", Duration: 9 * time.Second}, false)
		play(t, w, byMinute, &task.Result{Transcript: &task.Transcript{Final: true, Text: "Yes."}})
		if b.String() != want {
			t.Errorf("%s: %s", format, b.String())
		}
	}
}

// What came of an attempt that failed is not in the answer of the next, and pieces come to one text.
func TestWholeOfPieces(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := transcriptions.NewWhole(&b, &task.Transcription{Response: "json", Logprobs: true}, false)
	if err := w.Start(relay.Served{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Event(&completion.Event{Result: &task.Result{Transcript: &task.Transcript{Delta: "No."}}}); err != nil {
		t.Fatal(err)
	}
	w2 := &task.Transcript{Delta: "Y", Logprobs: []byte(`[{"token":"Y"}]`)}
	w3 := &task.Transcript{Delta: "es.", Logprobs: []byte(`[{"token":"es."}]`)}
	play(t, w, byTokens, &task.Result{Transcript: w2}, &task.Result{Transcript: w3})
	if want := `{"text":"Yes.","logprobs":[{"token":"Y"},{"token":"es."}],` + tokenUsage + `}`; b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	segment := &task.Segment{ID: "seg_7", Start: 0, End: 1500 * time.Millisecond, Text: "Is it?", Speaker: "Ann"}
	for name, tt := range map[string]struct {
		task    task.Transcription
		results []*task.Result
		want    []string
	}{
		"pieces": {
			task:    task.Transcription{Response: "json"},
			results: []*task.Result{{Transcript: &task.Transcript{Delta: "Is "}}, {Transcript: &task.Transcript{Delta: "it?"}}, {Transcript: &task.Transcript{Final: true, Text: "Is it?"}}},
			want:    []string{`{"type":"transcript.text.delta","delta":"Is "}`, `{"type":"transcript.text.delta","delta":"it?"}`, `{"type":"transcript.text.done","text":"Is it?",` + tokenUsage + `}`},
		},
		"speakers": {
			task:    task.Transcription{Response: "diarized_json"},
			results: []*task.Result{{Transcript: &task.Transcript{Delta: "Is it?", SegmentID: "seg_7"}}, {Transcript: &task.Transcript{Segment: segment}}, {Transcript: &task.Transcript{Final: true, Text: "Is it?"}}},
			want: []string{`{"type":"transcript.text.delta","delta":"Is it?","segment_id":"seg_7"}`, `{"type":"transcript.text.segment","id":"seg_7","start":0,"end":1.5,"text":"Is it?","speaker":"Ann"}`,
				`{"type":"transcript.text.done","text":"Is it?",` + tokenUsage + `}`},
		},
		"segments that nobody asked for": {
			task:    task.Transcription{Response: "json"},
			results: []*task.Result{{Transcript: &task.Transcript{Delta: "Is it?"}}, {Transcript: &task.Transcript{Segment: segment}}, {Transcript: &task.Transcript{Final: true}}},
			want:    []string{`{"type":"transcript.text.delta","delta":"Is it?"}`, `{"type":"transcript.text.done","text":"Is it?",` + tokenUsage + `}`},
		},
		"a provider that does not stream": {
			task:    task.Transcription{Response: "diarized_json"},
			results: []*task.Result{{Transcript: &task.Transcript{Final: true, Text: "Is it?", Segments: []task.Segment{{End: 1500 * time.Millisecond, Text: "Is it?", Speaker: "A"}}}}},
			want: []string{`{"type":"transcript.text.delta","delta":"Is it?"}`, `{"type":"transcript.text.segment","id":"seg_001","start":0,"end":1.5,"text":"Is it?","speaker":"A"}`,
				`{"type":"transcript.text.done","text":"Is it?",` + tokenUsage + `}`},
		},
		"log probabilities": {
			task:    task.Transcription{Response: "json", Logprobs: true},
			results: []*task.Result{{Transcript: &task.Transcript{Delta: "Is", Logprobs: []byte(`[{"token":"Is"}]`)}}, {Transcript: &task.Transcript{Final: true, Text: "Is"}}},
			want:    []string{`{"type":"transcript.text.delta","delta":"Is","logprobs":[{"token":"Is"}]}`, `{"type":"transcript.text.done","text":"Is","logprobs":[{"token":"Is"}],` + tokenUsage + `}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			play(t, transcriptions.NewStream(&b, &tt.task), byTokens, tt.results...)
			want := "data: " + strings.Join(append(tt.want, "[DONE]"), "\n\ndata: ") + "\n\n"
			if b.String() != want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

// A stream that breaks ends with its error and nothing after it.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := transcriptions.NewStream(&b, &task.Transcription{Response: "json"})
	if err := s.KeepAlive(); err != nil {
		t.Fatal(err)
	}
	if err := s.Fail([]byte("{\"code\":502,\n\"message\":\"broke off\"}")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.KeepAlive(); err != nil {
		t.Fatal(err)
	}
	if want := sse.KeepAlive + "data: {\"error\":{\"code\":502, \"message\":\"broke off\"}}\n\ndata: [DONE]\n\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
	if !json.Valid([]byte(strings.TrimPrefix(strings.Split(b.String(), "\n\n")[0], sse.KeepAlive+"data: "))) {
		t.Error("the error is not JSON")
	}
}
