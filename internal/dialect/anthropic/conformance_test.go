package anthropic_test

import (
	"strconv"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/chat"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	upstreamtest.Run(t, upstreamtest.Wire{
		Name: "anthropic", New: func() dialect.Texter { return new(anthropic.Dialect) }, Whole: renderWhole, Stream: renderStream,
		Error: func(code, message string) string {
			return `{"type":"error","error":{"type":` + q(code) + `,"message":` + q(message) + `}}`
		},
		StreamError: func(code, message string) string {
			return event("error", `"error":{"type":`+q(code)+`,"message":`+q(message)+`}`)
		},
		Finishes: map[string]completion.FinishReason{
			"end_turn": completion.Stop, "stop_sequence": completion.Stop, "pause_turn": completion.Stop, "max_tokens": completion.Length, "model_context_window_exceeded": completion.Length,
			"tool_use": completion.ToolCalls, "refusal": completion.ContentFilter, "whatever": completion.Failed,
		},
		Request: func(t testing.TB, stream bool) *completion.Request {
			req, err := chat.Decode([]byte(`{"model":"x/y","stream":` + strconv.FormatBool(stream) + `,"messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			return req
		},
	})
}

func q(s string) string { return string(rawjson.AppendText(nil, s)) }

func event(name, members string) string {
	if members != "" {
		members = "," + members
	}
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
}

func renderUsage(a upstreamtest.Answer) string {
	if a.Usage == nil {
		return `{}`
	}
	return `{"input_tokens":` + strconv.FormatInt(a.Usage.Prompt.N, 10) + `,"output_tokens":` + strconv.FormatInt(a.Usage.Completion.N, 10) + `}`
}

func blocks(a upstreamtest.Answer) (list []string) {
	if len(a.Reasoning) > 0 {
		list = append(list, `{"type":"thinking","thinking":`+q(strings.Join(a.Reasoning, ""))+`,"signature":"c2ln"}`)
	}
	if len(a.Text) > 0 {
		list = append(list, `{"type":"text","text":`+q(strings.Join(a.Text, ""))+`}`)
	}
	for _, c := range a.Calls {
		list = append(list, `{"type":"tool_use","id":`+q(c.ID)+`,"name":`+q(c.Name)+`,"input":`+string(c.Arguments)+`}`)
	}
	return list
}

func renderWhole(a upstreamtest.Answer) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"acme-large","content":[` + strings.Join(blocks(a), ",") + `],"stop_reason":` + q(a.Finish) + `,"stop_sequence":null,"usage":` + renderUsage(a) + `}`
}

func renderStream(a upstreamtest.Answer) []string {
	first := `{}`
	if a.Usage != nil {
		first = `{"input_tokens":` + strconv.FormatInt(a.Usage.Prompt.N, 10) + `,"output_tokens":1}`
	}
	frames := []string{event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"acme-large","content":[],"stop_reason":null,"usage":`+first+`}`), event("ping", "")}
	n := 0
	block := func(start string, deltas ...string) {
		index := `"index":` + strconv.Itoa(n)
		frames = append(frames, event("content_block_start", index+`,"content_block":`+start))
		for _, d := range deltas {
			frames = append(frames, event("content_block_delta", index+`,"delta":`+d))
		}
		frames = append(frames, event("content_block_stop", index))
		n++
	}
	each := func(pieces []string, kind, member string) (deltas []string) {
		for _, s := range pieces {
			deltas = append(deltas, `{"type":"`+kind+`","`+member+`":`+q(s)+`}`)
		}
		return deltas
	}
	if len(a.Reasoning) > 0 {
		block(`{"type":"thinking","thinking":"","signature":""}`, append(each(a.Reasoning, "thinking_delta", "thinking"), `{"type":"signature_delta","signature":"c2ln"}`)...)
	}
	if len(a.Text) > 0 {
		block(`{"type":"text","text":""}`, each(a.Text, "text_delta", "text")...)
	}
	for _, c := range a.Calls {
		half := len(c.Arguments) / 2
		for half > 0 && c.Arguments[half] >= 0x80 {
			half--
		}
		block(`{"type":"tool_use","id":`+q(c.ID)+`,"name":`+q(c.Name)+`,"input":{}}`, each([]string{"", string(c.Arguments[:half]), string(c.Arguments[half:])}, "input_json_delta", "partial_json")...)
	}
	frames = append(frames, event("message_delta", `"delta":{"stop_reason":`+q(a.Finish)+`,"stop_sequence":null},"usage":`+renderUsage(a)))
	return append(frames, event("message_stop", ""))
}
