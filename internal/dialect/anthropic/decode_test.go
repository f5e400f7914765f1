package anthropic_test

import (
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
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
