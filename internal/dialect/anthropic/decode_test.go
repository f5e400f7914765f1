package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/usage"
)

// answer is a body on its way in, for a request of a style.
func answer(body string, style completion.Style, stream bool) *dialect.Answer {
	return &dialect.Answer{Endpoint: endpoint(nil), Request: &completion.Request{Style: style, Stream: stream}, Length: -1,
		Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10}, Body: dialect.NewBody(strings.NewReader(body))}
}

// passed are the frames that a client of the messages style gets.
func passed(t testing.TB, body string, stream bool) (names []string, failed bool) {
	t.Helper()
	for ev, err := range new(anthropic.Dialect).Events(answer(body, completion.Messages, stream)) {
		if err != nil {
			return names, true
		}
		for _, f := range ev.Frames {
			if !rawjson.Valid(f.Data) {
				t.Errorf("frame %s has %q", f.Name, f.Data)
			}
			names = append(names, f.Name)
		}
	}
	return names, false
}

// What passes through is whole, in order and of the kind that the client asked for; anything else is rewritten.
func TestFrames(t *testing.T) {
	t.Parallel()
	a := upstreamtest.Answer{Text: []string{"Hel", "lo"}, Finish: "end_turn"}
	frames := renderStream(a)
	stream := strings.Join(frames, "")
	const all = "message_start ping content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop"
	for _, c := range []struct {
		name, body string
		stream     bool
		want       string
		fails      bool
	}{
		{"a stream", stream, true, all, false},
		{"many pings before content", frames[0] + strings.Repeat(frames[1], 1000) + strings.Join(frames[2:], ""), true, all, false},
		{"without its last word", strings.Join(frames[:len(frames)-1], ""), true, all, false},
		{"without an end", strings.Join(frames[:len(frames)-2], ""), true, "message_start ping content_block_start content_block_delta content_block_delta content_block_stop", true},
		{"a whole answer", renderWhole(a), false, "", false}, // which has no name
		{"a whole answer to who wanted a stream", renderWhole(a), true, "none", false},
		{"a stream to who wanted a whole answer", stream, false, "none", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			names, failed := passed(t, c.body, c.stream)
			got := strings.Join(names, " ")
			if len(names) == 0 {
				got = "none"
			}
			if got != c.want || failed != c.fails {
				t.Errorf("%q, failed %t", got, failed)
			}
		})
	}
}

// FuzzEvents reads what a provider may send, for clients of this style and of another.
func FuzzEvents(f *testing.F) {
	a := upstreamtest.Answer{Text: []string{"Hel", "lo"}, Reasoning: []string{"hm"}, Calls: []completion.ToolCall{{ID: "c", Name: "f", Arguments: []byte(`{"ö":1}`)}}, Finish: "tool_use"}
	f.Add(strings.Join(renderStream(a), ""), true)
	f.Add(renderWhole(a), false)
	f.Add(event("error", `"error":{"type":"overloaded_error","message":"no"}`), true)
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		got := upstreamtest.DumpAll(new(anthropic.Dialect).Events(answer(body, completion.Chat, stream)))
		if !strings.Contains(got, " done\n") && !strings.Contains(got, "fault ") {
			t.Errorf("neither an end nor a fault: %q", got)
		}
		passed(t, body, stream)
	})
}

// What is written to the cache grows in a stream whose first report alone has it by lifetime, and compatible servers begin the message twice.
func TestReportsThatGrow(t *testing.T) {
	t.Parallel()
	const start, block = `data: {"type":"message_start","message":{"id":"m","usage":USAGE}}` + "\n\n", `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}` + "\n\n"
	const end = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":USAGE}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	for _, c := range []struct {
		name, first, second, last string
		written, hour, prompt     int64
	}{
		{"all for five minutes", `{"input_tokens":4,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":0}}`, "", `{"cache_creation_input_tokens":900,"output_tokens":7}`, 900, 0, 904},
		{"all for an hour", `{"input_tokens":4,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":100}}`, "", `{"cache_creation_input_tokens":900,"output_tokens":7}`, 0, 900, 904},
		{"of both", `{"input_tokens":4,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60}}`, "", `{"cache_creation_input_tokens":900,"output_tokens":7}`, 840, 60, 904},
		{"a total below its parts", `{"input_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60}}`, "", `{"cache_creation_input_tokens":9,"output_tokens":7}`, 40, 60, 104},
		{"begun again", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":50,"cache_creation_input_tokens":20,"output_tokens":1}`, `{"output_tokens":7}`, 20, 0, 70},
		{"begun again with zeros", `{"input_tokens":50,"cache_creation_input_tokens":20,"output_tokens":1}`, `{"input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":0}`, `{"output_tokens":7}`, 20, 0, 70},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := strings.Replace(start, "USAGE", c.first, 1)
			if c.second != "" {
				body += strings.Replace(start, "USAGE", c.second, 1)
			}
			body += block + strings.Replace(end, "USAGE", c.last, 1)
			var u usage.Usage
			for ev, err := range new(anthropic.Dialect).Events(answer(body, completion.Chat, true)) {
				if err != nil {
					t.Fatal(err)
				}
				if ev.Usage != nil {
					u.Follow(ev.Usage, false)
				}
			}
			if u.CacheWrite.N != c.written || u.CacheWrite1h.N != c.hour || u.Prompt.N != c.prompt || u.Completion.N != 7 {
				t.Errorf("written %d and %d, prompt %d, answer %d; want %d, %d, %d, 7", u.CacheWrite.N, u.CacheWrite1h.N, u.Prompt.N, u.Completion.N, c.written, c.hour, c.prompt)
			}
			names, failed := passed(t, body, true)
			if got, want := strings.Join(names, " "), "message_start content_block_start message_delta message_stop"; got != want || failed {
				t.Errorf("passed on %s (failed: %t), want %s: clients refuse a second beginning", got, failed, want)
			}
		})
	}
}

// An answer that goes on with programmatic calls has its blocks and its end in message_start (langchain-ai/langchain#34406).
func TestContentInMessageStart(t *testing.T) {
	t.Parallel()
	const call, text, thought = `{"type":"tool_use","id":"t1","name":"f","input":{"a":1},"caller":{"type":"code_execution_20250825","tool_id":"s1"}}`, `{"type":"text","text":"Yes."}`, `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
	start := func(content, stop string) string {
		return `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[` + content + `],"stop_reason":` + stop + `,"usage":{"input_tokens":9,"output_tokens":5}}}` + "\n\n"
	}
	const stop, delta = `data: {"type":"message_stop"}` + "\n\n", `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}` + "\n\n"
	const more = `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t2","name":"g","input":{}}}` + "\n\n" + `data: {"type":"content_block_stop","index":1}` + "\n\n"
	for _, c := range []struct {
		name, body, want string
		frames           int
	}{
		{"a call and the end", start(call, `"tool_use"`) + stop, `f{"a":1} tool_calls 5`, 2},
		{"the end again", start(call, `"tool_use"`) + delta + stop, `f{"a":1} tool_calls 7`, 3},
		{"two calls and texts", start(text+","+call+","+thought+","+call, `null`) + delta + stop, `Yes.hmf{"a":1}f{"a":1} tool_calls 7`, 3},
		{"a block follows", start(text, `null`) + more + delta + stop, `Yes.g tool_calls 7`, 5},
	} {
		for _, style := range []completion.Style{completion.Chat, completion.Messages} {
			got, args, finish, usage, frames := "", "", "", int64(0), 0
			for ev, err := range new(anthropic.Dialect).Events(answer(c.body, style, true)) {
				if err != nil {
					t.Fatal(c.name, err)
				}
				frames += len(ev.Frames)
				got += string(ev.Text) + string(ev.Reasoning)
				for _, call := range ev.ToolCalls {
					args += call.Name + string(call.Arguments)
				}
				finish += string(ev.Finish)
				if ev.Usage != nil {
					usage = ev.Usage.Completion.N
				}
			}
			got += fmt.Sprintf("%s %s %d", args, finish, usage)
			want := c.want
			if style == completion.Messages && frames != c.frames {
				t.Errorf("%s: %d frames pass, want %d", c.name, frames, c.frames)
			}
			if style == completion.Messages { // the frame has the text: the events are for counting
				got, want = strings.TrimPrefix(got, "Yes."), strings.TrimPrefix(want, "Yes.")
			}
			if got != want {
				t.Errorf("%s, style %d: %s, want %s", c.name, style, got, want)
			}
		}
	}
}
