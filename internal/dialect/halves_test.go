package dialect_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
)

// wires are the streams of texts and arguments of each wire: a beginning, a frame for a piece, and an end.
var wires = map[string]struct{ dialect, begin, piece, end string }{
	"chat, content":   {"openai", ``, `{"choices":[{"index":0,"delta":{"content":"%s"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}|[DONE]`},
	"chat, reasoning": {"openai", ``, `{"choices":[{"index":0,"delta":{"reasoning":"%[1]s","reasoning_details":[{"type":"reasoning.text","text":"%[1]s","index":0}]}}]}`, `{"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}|[DONE]`},
	"chat, arguments": {"openai", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}|[DONE]`},
	"messages, text": {"anthropic", `{"type":"message_start","message":{"id":"m","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`, `{"type":"content_block_stop","index":0}|{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}|{"type":"message_stop"}`},
	"messages, arguments": {"anthropic", `{"type":"message_start","message":{"id":"m","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}|{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}`, `{"type":"content_block_stop","index":0}|{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}|{"type":"message_stop"}`},
	"responses, text": {"responses", `{"type":"response.created","response":{"id":"r","model":"m","output":[]}}|{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"%s"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}|{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`},
	"gemini": {"gemini", ``, `{"candidates":[{"content":{"role":"model","parts":[{"text":"%s"}]}}]}`, `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}`},
}

// A character that a server has cut between UTF-16 code units arrives whole, on every wire and wherever it stands; half a character is
// U+FFFD.
func TestHalves(t *testing.T) {
	t.Parallel()
	texts := map[string][]string{ // pieces of JSON strings, and the text of all
		"two frames":                  {`\ud83d`, `\ude00 ok`, "😀 ok"},
		"in capitals":                 {`a\uD83D`, `\uDE00`, "a😀"},
		"cut again":                   {`\ud83d`, `\ude00\ud83d`, `\ude01`, "😀😁"},
		"whole":                       {`\ud83d\ude00`, `b`, "😀b"},
		"no second half":              {`a\ud83d`, `b`, "a\uFFFDb"},
		"no first half":               {`a`, `\ude00b`, "a\uFFFDb"},
		"half a character at the end": {`a`, `b\ud83d`, "ab\uFFFD"},
		"half a character inside":     {`a\ud83db`, `c`, "a\uFFFDbc"},
		"a backslash":                 {`a\\ud83d`, `\\ude00`, `a\ud83d\ude00`},
	}
	for wire, w := range wires {
		for name, pieces := range texts {
			t.Run(wire+"/"+name, func(t *testing.T) {
				t.Parallel()
				want := pieces[len(pieces)-1]
				var frames []string
				for _, piece := range pieces[:len(pieces)-1] {
					frames = append(frames, fmt.Sprintf(w.piece, piece))
				}
				if got := read(t, w.dialect, w.begin, frames, w.end); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

// However a text is cut, it arrives whole.
func TestHalvesOfEveryUnit(t *testing.T) {
	t.Parallel()
	const want = "Привет 👩‍👩‍👧 a😀😁b"
	for wire, w := range wires {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			var frames []string
			for _, unit := range utf16.Encode([]rune(want)) {
				frames = append(frames, fmt.Sprintf(w.piece, fmt.Sprintf(`\u%04x`, unit)))
			}
			if got := read(t, w.dialect, w.begin, frames, w.end); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Calls whose fragments take turns keep their characters.
func TestHalvesOfTwoCalls(t *testing.T) {
	t.Parallel()
	piece := func(index int, text string) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%[1]d","function":{"name":"f","arguments":"%s"}}]}}]}`, index, text)
	}
	frames := []string{piece(0, `a\ud83d`), piece(1, `b`), piece(0, `\ude00`), piece(1, `c`)}
	if got := read(t, "openai", "", frames, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}|[DONE]`); got != "a😀bc" && got != "abc😀" && got != "ab😀c" {
		t.Errorf("got %q", got)
	}
}

// read is the text, the reasoning and the arguments of the answer that frames make.
func read(t *testing.T, name, begin string, frames []string, end string) string {
	t.Helper()
	var body strings.Builder
	for _, frame := range append(append(strings.Split(begin, "|"), frames...), strings.Split(end, "|")...) {
		if frame != "" {
			body.WriteString("data: " + frame + "\n\n")
		}
	}
	ep := &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Dialect: name}, UpstreamID: "acme-large", Params: catalog.AllParams}
	a := &dialect.Answer{Endpoint: ep, Length: -1, Limits: dialect.Limits{Whole: 1 << 20, Stream: 16 << 20, Line: 4 << 20}, Body: dialect.NewBody(strings.NewReader(body.String()))}
	var got strings.Builder
	for ev, err := range all.Dialects()[name].(dialect.Texter).Events(a) {
		if err != nil {
			t.Fatal(err)
		}
		got.Write(ev.Reasoning)
		if len(ev.Reasoning) == 0 && string(ev.Text) != "." || len(ev.Text) > 1 {
			got.Write(ev.Text)
		}
		for _, call := range ev.ToolCalls {
			got.Write(call.Arguments)
		}
	}
	return got.String()
}

// A frame with very many strings, halves and indexes costs no more than reading it: each of them in turn with all others would take hours.
func TestHalvesOfHostileFrames(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for name, inside := range map[string]string{
		"strings": strings.Repeat(`"",`, n) + `"\ud83d"`,
		"halves":  strings.Repeat(`"\ud83d",`, n) + `""`,
		"indexes": strings.Repeat(`{"index":1},`, n) + `"\ud83d"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wires["chat, content"]
			odd := `{"choices":[{"index":0,"delta":{"content":"a"}}],"odd":[` + inside + `]}`
			if got := read(t, w.dialect, w.begin, []string{odd, odd, fmt.Sprintf(w.piece, "b")}, w.end); got != "aab" {
				t.Errorf("got %.100q", got)
			}
		})
	}
}
