package speech_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/speech"
	"weir/internal/wire/sse"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body  string
		model string
		want  task.Speech
	}{
		"the least":   {`{"model":"tts-1","input":"Hi","voice":"alloy"}`, "openai/tts-1", task.Speech{Input: "Hi", Voice: "alloy", Format: "mp3"}},
		"everything":  {`{"model":"a/b:nitro","input":"Привет","voice":{"id":"voice_1"},"instructions":"Softly","response_format":"opus","speed":1.50,"stream_format":"sse","user":"u"}`, "a/b:nitro", task.Speech{Input: "Привет", Voice: "voice_1", VoiceID: true, Instructions: "Softly", Format: "opus", Speed: "1.5", SSE: true}},
		"nulls":       {`{"model":"a/b","input":"Hi","voice":"v","instructions":null,"response_format":null,"speed":null,"stream_format":null,"more":null}`, "a/b", task.Speech{Input: "Hi", Voice: "v", Format: "mp3"}},
		"its own":     {`{"model":"a/b","input":"Hi","voice":"v","voice_settings":{"stability":0.5},"seed":7}`, "a/b", task.Speech{Input: "Hi", Voice: "v", Format: "mp3", Extra: []task.Extra{{Name: "voice_settings", Value: []byte(`{"stability":0.5}`)}, {Name: "seed", Value: []byte(`7`)}}}},
		"long":        {`{"model":"a/b","input":"` + strings.Repeat("я", 100_000) + `","voice":"v"}`, "a/b", task.Speech{Input: strings.Repeat("я", 100_000), Voice: "v", Format: "mp3"}},
		"bare sound":  {`{"model":"a/b","input":"Hi","voice":"v","stream_format":"audio"}`, "a/b", task.Speech{Input: "Hi", Voice: "v", Format: "mp3"}},
		"most of tts": {`{"model":"openai/tts-1-hd","input":"` + strings.Repeat("я", 4096) + `","voice":"v"}`, "openai/tts-1-hd", task.Speech{Input: strings.Repeat("я", 4096), Voice: "v", Format: "mp3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := speech.Decode([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, req.Task); diff != "" {
				t.Error(diff)
			}
			if req.Models[0] != tt.model || !req.Stream || req.Needs.PromptTokens <= 0 {
				t.Errorf("%+v", req)
			}
			var text []byte
			for piece := range speech.PromptText(req) {
				text = append(text, piece...)
			}
			if string(text) != tt.want.Input+tt.want.Instructions {
				t.Errorf("text %q", text)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body  string
		kind  fault.Kind
		param string
	}{
		"no JSON":          {`{`, fault.Invalid, ""},
		"a list":           {`[]`, fault.Invalid, ""},
		"no model":         {`{"input":"Hi","voice":"v"}`, fault.Invalid, "model"},
		"no input":         {`{"model":"a/b","voice":"v"}`, fault.Invalid, "input"},
		"an empty input":   {`{"model":"a/b","input":"","voice":"v"}`, fault.Invalid, "input"},
		"no voice":         {`{"model":"a/b","input":"Hi"}`, fault.Invalid, "voice"},
		"a voice of words": {`{"model":"a/b","input":"Hi","voice":{"name":"v"}}`, fault.Invalid, "voice"},
		"a voice, a list":  {`{"model":"a/b","input":"Hi","voice":["v"]}`, fault.Invalid, "voice"},
		"too long":         {`{"model":"a/b","input":"` + strings.Repeat("a", 100_001) + `","voice":"v"}`, fault.StringTooLong, "input"},
		"too long for tts": {`{"model":"tts-1","input":"` + strings.Repeat("a", 4097) + `","voice":"v"}`, fault.StringTooLong, "input"},
		"a format":         {`{"model":"a/b","input":"Hi","voice":"v","response_format":"ogg"}`, fault.Invalid, "response_format"},
		"speed":            {`{"model":"a/b","input":"Hi","voice":"v","speed":5}`, fault.Invalid, "speed"},
		"stream_format":    {`{"model":"a/b","input":"Hi","voice":"v","stream_format":"chunked"}`, fault.Invalid, "stream_format"},
		"instructions":     {`{"model":"a/b","input":"Hi","voice":"v","instructions":"` + strings.Repeat("a", 4097) + `"}`, fault.StringTooLong, "instructions"},
		"twice":            {`{"model":"a/b","input":"Hi","input":"Ho","voice":"v"}`, fault.DuplicateKey, "input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := speech.Decode([]byte(tt.body))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != tt.kind || f.Param != tt.param || f.Public == "" {
				t.Errorf("%v", err)
			}
		})
	}
}

// taken is what a Bytes has written.
type taken struct {
	bytes.Buffer
	kinds []string
}

func (b *taken) Begin(kind string) { b.kinds = append(b.kinds, kind) }

func event(data, kind string) *completion.Event {
	return &completion.Event{Choice: -1, Result: &task.Result{Audio: &task.AudioPiece{Data: []byte(data), MediaType: kind}}}
}

func play(t *testing.T, to relay.Sink, events ...*completion.Event) {
	t.Helper()
	if err := to.Start(relay.Served{}); err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if err := to.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(20), Characters: usage.Of(9)}, Cost: 2_000_000}); err != nil {
		t.Fatal(err)
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	var b taken
	play(t, speech.NewBytes(&b), event("RIFF", "audio/wav"), event("more", ""), &completion.Event{Choice: -1, Done: true})
	if b.String() != "RIFFmore" || !cmp.Equal(b.kinds, []string{"audio/wav"}) {
		t.Errorf("%q of %q", b.String(), b.kinds)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := speech.NewStream(&b)
	if err := s.KeepAlive(); err != nil {
		t.Fatal(err)
	}
	play(t, s, event("RIFF", "audio/wav"), event("m", ""))
	want := sse.KeepAlive + `data: {"type":"speech.audio.delta","audio":"UklGRg=="}` + "\n\n" + `data: {"type":"speech.audio.delta","audio":"bQ=="}` + "\n\n" +
		`data: {"type":"speech.audio.done","usage":{"input_tokens":3,"output_tokens":20,"total_tokens":23,"characters":9,"cost":0.002,"currency":"RUB","is_byok":false,` +
		`"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0,"upstream_inference_completions_cost":0.002,"upstream_inference_input_cost":0,"upstream_inference_output_cost":0.002}}}` + "\n\ndata: [DONE]\n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	s.Close()
	if err := s.Fail([]byte(`{}`)); err != nil || b.String() != want {
		t.Errorf("%v: something came behind the end: %s", err, b.String())
	}
	b.Reset()
	if err := speech.NewStream(&b).Fail([]byte(`{"code":502}`)); err != nil || b.String() != "data: {\"error\":{\"code\":502}}\n\ndata: [DONE]\n\n" {
		t.Errorf("%v: %q", err, b.String())
	}
}

// Whatever comes, it is decoded or refused with a sentence.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"tts-1","input":"Hi","voice":"alloy","speed":1.5,"response_format":"pcm","stream_format":"sse"}`))
	f.Add([]byte(`{"model":"a/b","input":"\ud800","voice":{"id":"x"},"provider":{"order":["x"]},"seed":[1,{"a":null}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := speech.Decode(body)
		if err != nil {
			var known *fault.Error
			if !errors.As(err, &known) || known.Public == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		got := req.Task.(*task.Speech)
		if got.Input == "" || got.Voice == "" || got.Format == "" || len(req.Models) != 1 {
			t.Fatalf("%+v", got)
		}
		for _, x := range got.Extra {
			if !json.Valid(x.Value) {
				t.Fatalf("%s is not JSON: %q", x.Name, x.Value)
			}
		}
	})
}
