package openai_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
)

// eventsOf are the events of a stream of these frames, and whether it failed. Where apart is set, each frame has a time of its own, which means
// nothing, and makes its form another than that of the frame before.
func eventsOf(t *testing.T, ep *catalog.Endpoint, frames [][]byte, apart bool) (events []completion.Event, failed bool) {
	t.Helper()
	var body bytes.Buffer
	for i, f := range frames {
		body.WriteString("data: ")
		if apart {
			fmt.Fprintf(&body, `{"created":%d`, i)
			if inner := bytes.TrimSpace(f[1:]); inner[0] != '}' {
				body.WriteByte(',')
			}
			f = f[1:]
		}
		body.Write(f)
		body.WriteString("\n\n")
	}
	for ev, err := range decode(ep, body.Bytes()) {
		if err != nil {
			return events, true
		}
		events = append(events, copied(ev))
	}
	return events, false
}

// copied is an event without views into its frame.
func copied(ev *completion.Event) completion.Event {
	e := *ev
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Type() == reflect.TypeFor[[]byte]() {
			f.SetBytes(bytes.Clone(f.Bytes()))
		}
	}
	e.ToolCalls = nil
	for _, c := range ev.ToolCalls {
		c.Arguments = bytes.Clone(c.Arguments)
		e.ToolCalls = append(e.ToolCalls, c)
	}
	if e.Head != nil {
		head := *e.Head
		e.Head = &head
	}
	if e.Usage != nil {
		u := *e.Usage
		e.Usage = &u
	}
	return e
}

// sameEvents checks that frames are decoded alike whether or not their forms repeat.
func sameEvents(t *testing.T, ep *catalog.Endpoint, frames [][]byte) {
	t.Helper()
	got, failed := eventsOf(t, ep, frames, false)
	want, failedApart := eventsOf(t, ep, frames, true)
	if failed != failedApart || len(got) != len(want) {
		t.Fatalf("%d events, failed %t; with forms of their own %d, failed %t", len(got), failed, len(want), failedApart)
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("event %d of %q:\n%+v\n%+v", i, frames, got[i], want[i])
		}
	}
}

// Frames that repeat the form of the one before have the events that they would have by themselves, whatever stands beside the text.
func TestFormsOfFrames(t *testing.T) {
	t.Parallel()
	texts := []string{`"<think>"`, `"a"`, `"b</th"`, `"ink>"`, `"c"`, `"c"`, `""`, `" c \"d\" \n\\"`, `"\ud83d\ude00 ж"`, `"\ud800"`, `"e\\"`, `"f\\\""`, `null`, `"g\",\"x\":\""`, `7`, `[{"text":"h"}]`, `"i"`, `"j"`}
	for _, quirks := range []string{"{}", "think_tags: true", "cost_field: cost"} {
		ep := endpoint(t, []byte(quirks+"\n"))
		for name, form := range map[string]string{
			"text alone":                `{"choices":[{"index":0,"delta":{"content":TEXT}}]}`,
			"as OpenAI writes it":       `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"f","choices":[{"index":0,"delta":{"content":TEXT},"logprobs":null,"finish_reason":null}],"usage":null}`,
			"as vLLM writes it":         `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":TEXT,"tool_calls":[]},"stop_reason":null,"token_ids":null,"finish_reason":null}],"prompt_token_ids":null}`,
			"reasoning":                 `{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":TEXT}}]}`,
			"reasoning, spelled twice":  `{"choices":[{"index":0,"delta":{"reasoning":TEXT,"reasoning_content":TEXT}}]}`,
			"reasoning, twice apart":    `{"choices":[{"index":0,"delta":{"reasoning":"r","reasoning_content":TEXT}}]}`,
			"text and reasoning":        `{"choices":[{"index":0,"delta":{"reasoning":"r","content":TEXT}}]}`,
			"text twice":                `{"choices":[{"index":0,"delta":{"content":"x","content":TEXT}}]}`,
			"text twice, the other way": `{"choices":[{"index":0,"delta":{"content":TEXT,"content":"x"}}]}`,
			"delta twice":               `{"choices":[{"index":0,"delta":{"content":"x"},"delta":{"content":TEXT}}]}`,
			"a message beside":          `{"choices":[{"index":0,"delta":{"content":TEXT},"message":{"content":"m"}}]}`,
			"choices twice":             `{"choices":[{"delta":{"content":"x"}}],"choices":[{"delta":{"content":TEXT}}]}`,
			"two choices":               `{"choices":[{"index":0,"delta":{"content":TEXT}},{"index":1,"delta":{"content":"b"}}]}`,
			"another choice":            `{"choices":[{"index":3,"delta":{"content":TEXT}}]}`,
			"logprobs":                  `{"choices":[{"delta":{"content":TEXT},"logprobs":{"content":[]}}]}`,
			"usage":                     `{"choices":[{"delta":{"content":TEXT}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
			"usage inside":              `{"choices":[{"delta":{"content":TEXT},"usage":{"prompt_tokens":3,"completion_tokens":1}}]}`,
			"a cost":                    `{"choices":[{"delta":{"content":TEXT}}],"cost":0.1}`,
			"refusal":                   `{"choices":[{"delta":{"refusal":"no","content":TEXT}}]}`,
			"a call of a tool":          `{"choices":[{"delta":{"content":TEXT,"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}]}`,
			"an end":                    `{"choices":[{"delta":{"content":TEXT},"finish_reason":"stop"}]}`,
			"an empty end":              `{"choices":[{"delta":{"content":TEXT},"finish_reason":""}]}`,
			"spaces":                    ` { "choices" : [ { "delta" : { "content" : TEXT } } ] } `,
			"a name with an escape":     `{"choices":[{"delta":{"cont\u0065nt":"x","content":TEXT}}]}`,
			"long":                      `{"x":"` + strings.Repeat("y", 5000) + `","choices":[{"delta":{"content":TEXT}}]}`,
		} {
			t.Run(quirks+" "+name, func(t *testing.T) {
				t.Parallel()
				var frames [][]byte
				for i, text := range texts {
					frames = append(frames, []byte(strings.TrimSpace(strings.ReplaceAll(form, "TEXT", text))))
					if i == 13 { // between the others
						frames = append(frames, []byte(`{"choices":[{"index":0,"delta":{"content":"between"}}],"service_tier":"flex"}`))
					}
				}
				frames = append(frames, []byte(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`), []byte(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9}}`))
				sameEvents(t, ep, frames)
			})
		}
	}
}

// Whatever frames come one after another, a form that repeats changes no event.
func FuzzForms(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a"}}]}`+"\n"+`{"choices":[{"delta":{"content":"b\\"}}]}`+"\n"+`{"choices":[{"delta":{"content":"c","reasoning":"d"}}]}`), false)
	f.Add([]byte(`{"choices":[{"delta":{"reasoning":"a"},"x":1}],"y":[2]}`+"\n"+`{"choices":[{"delta":{"reasoning":"b"},"x":1}],"y":[2]}`+"\n"+`{"choices":[{"delta":{},"finish_reason":"stop"}]}`), true)
	plain, tags := endpoint(f, nil), endpoint(f, []byte("think_tags: true\n"))
	f.Fuzz(func(t *testing.T, lines []byte, thinks bool) {
		var frames [][]byte
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' && !bytes.ContainsAny(line, "\r") && rawjson.Valid(line) {
				frames = append(frames, line, line) // each twice: the second has the form of the first
			}
		}
		ep := plain
		if thinks {
			ep = tags
		}
		sameEvents(t, ep, frames)
	})
}
