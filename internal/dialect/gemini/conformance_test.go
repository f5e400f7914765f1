package gemini_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/chat"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	upstreamtest.Run(t, upstreamtest.Wire{
		Name: "gemini", New: func() dialect.Texter { return new(gemini.Dialect) },
		Whole: func(a upstreamtest.Answer) string {
			return frame(a, parts(a), ending(a))
		},
		Stream: renderStream,
		Error: func(code, message string) string {
			return `{"error":{"code":400,"status":` + q(code) + `,"message":` + q(message) + `}}`
		},
		StreamError: func(code, message string) string {
			return "data: {\"error\":{\"status\":" + q(code) + ",\"message\":" + q(message) + "}}\n\n"
		},
		Finishes: map[string]completion.FinishReason{
			"STOP": completion.Stop, "FINISH_REASON_UNSPECIFIED": completion.Stop, "MAX_TOKENS": completion.Length, "SAFETY": completion.ContentFilter, "RECITATION": completion.ContentFilter,
			"MALFORMED_FUNCTION_CALL": completion.Failed, "OTHER": completion.Failed,
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

// ending is the wire's word for the end. It has none for tool calls.
func ending(a upstreamtest.Answer) string { return cmp.Or(a.Finish, "STOP") }

func frame(a upstreamtest.Answer, parts []string, finish string) string {
	s := `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
	if finish != "" {
		s += `,"finishReason":` + q(finish)
	}
	s += `,"index":0}],"modelVersion":"gemini","responseId":"r"`
	if a.Usage != nil && finish != "" {
		s += `,"usageMetadata":{"promptTokenCount":` + strconv.FormatInt(a.Usage.Prompt.N, 10) + `,"candidatesTokenCount":` + strconv.FormatInt(a.Usage.Completion.N, 10) + `}`
	}
	return s + `}`
}

func parts(a upstreamtest.Answer) (list []string) {
	for _, s := range a.Reasoning {
		list = append(list, `{"text":`+q(s)+`,"thought":true}`)
	}
	for _, s := range a.Text {
		list = append(list, `{"text":`+q(s)+`}`)
	}
	for _, c := range a.Calls {
		list = append(list, `{"functionCall":{"id":`+q(c.ID)+`,"name":`+q(c.Name)+`,"args":`+string(c.Arguments)+`}}`)
	}
	return list
}

func renderStream(a upstreamtest.Answer) (frames []string) {
	for _, part := range parts(a) {
		frames = append(frames, "data: "+frame(a, []string{part}, "")+"\n\n")
	}
	return append(frames, "data: "+frame(a, nil, ending(a))+"\n\n")
}
