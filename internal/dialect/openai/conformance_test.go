package openai_test

import (
	"strconv"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	upstreamtest.Run(t, upstreamtest.Wire{
		Name: "openai", New: func() dialect.Texter { return new(openai.Dialect) }, Whole: renderWhole, Stream: renderStream,
		Error: func(code, message string) string {
			return `{"error":{"code":` + q(code) + `,"message":` + q(message) + `}}`
		},
		StreamError: func(code, message string) string {
			return "data: {\"error\":{\"code\":" + q(code) + ",\"message\":" + q(message) + "}}\n\n"
		},
		Finishes: map[string]completion.FinishReason{
			"stop": completion.Stop, "end_turn": completion.Stop, "STOP": completion.Stop, "eos": completion.Stop, "length": completion.Length, "max_tokens": completion.Length, "tool_calls": completion.ToolCalls,
			"function_call": completion.ToolCalls, "content_filter": completion.ContentFilter, "SAFETY": completion.ContentFilter, "error": completion.Failed, "whatever": completion.Failed,
		},
		Request: func(t testing.TB, stream bool) *completion.Request {
			return request(t, []byte(`{"model":"x/y","stream":`+strconv.FormatBool(stream)+`,"messages":[{"role":"user","content":"hi"}]}`))
		},
	})
}

func q(s string) string { return string(rawjson.AppendText(nil, s)) }

func renderCalls(calls []completion.ToolCall) string {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = `{"index":` + strconv.Itoa(i) + `,"id":` + q(c.ID) + `,"type":"function","function":{"name":` + q(c.Name) + `,"arguments":` + q(string(c.Arguments)) + `}}`
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func renderUsage(a upstreamtest.Answer) string {
	if a.Usage == nil {
		return ""
	}
	return `,"usage":{"prompt_tokens":` + strconv.FormatInt(a.Usage.Prompt.N, 10) + `,"completion_tokens":` + strconv.FormatInt(a.Usage.Completion.N, 10) + `}`
}

func renderWhole(a upstreamtest.Answer) string {
	s := `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":` + q(strings.Join(a.Text, ""))
	if len(a.Reasoning) > 0 {
		s += `,"reasoning_content":` + q(strings.Join(a.Reasoning, ""))
	}
	if len(a.Calls) > 0 {
		s += `,"tool_calls":` + renderCalls(a.Calls)
	}
	return s + `},"finish_reason":` + q(a.Finish) + `}]` + renderUsage(a) + `}`
}

func renderStream(a upstreamtest.Answer) []string {
	var frames []string
	delta := func(d, finish string) {
		frames = append(frames, `data: {"id":"c","choices":[{"index":0,"delta":{`+d+`},"finish_reason":`+finish+`}]}`+"\n\n")
	}
	delta(`"role":"assistant","content":""`, "null")
	for _, r := range a.Reasoning {
		delta(`"reasoning_content":`+q(r), "null")
	}
	for _, s := range a.Text {
		delta(`"content":`+q(s), "null")
	}
	for i, c := range a.Calls {
		head := c
		head.Arguments = nil
		delta(`"tool_calls":[{"index":`+strconv.Itoa(i)+`,`+strings.TrimPrefix(renderCalls([]completion.ToolCall{head}), `[{"index":0,`), "null")
		half := len(c.Arguments) / 2
		for half > 0 && c.Arguments[half] >= 0x80 {
			half--
		}
		for _, piece := range []string{string(c.Arguments[:half]), string(c.Arguments[half:])} {
			delta(`"tool_calls":[{"index":`+strconv.Itoa(i)+`,"function":{"arguments":`+q(piece)+`}}]`, "null")
		}
	}
	delta("", q(a.Finish))
	if a.Usage != nil {
		frames = append(frames, `data: {"id":"c","choices":[]`+renderUsage(a)+"}\n\n")
	}
	return append(frames, "data: [DONE]\n\n")
}
