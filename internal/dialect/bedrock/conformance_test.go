package bedrock_test

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/bedrock"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/chat"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	upstreamtest.Run(t, upstreamtest.Wire{
		Name: "bedrock", New: func() dialect.Texter { return new(bedrock.Dialect) }, Whole: renderWhole, Stream: renderStream,
		Error: func(code, message string) string {
			return `{"__type":` + q("com.amazon#"+exceptionOf(code)) + `,"message":` + q(message) + `}`
		},
		StreamError: func(code, message string) string {
			name := exceptionOf(code)
			return messageOf("exception", strings.ToLower(name[:1])+name[1:], `{"message":`+q(message)+`}`)
		},
		Finishes: map[string]completion.FinishReason{
			"end_turn": completion.Stop, "stop_sequence": completion.Stop, "max_tokens": completion.Length, "model_context_window_exceeded": completion.Length,
			"tool_use": completion.ToolCalls, "guardrail_intervened": completion.ContentFilter, "content_filtered": completion.ContentFilter,
			"malformed_tool_use": completion.Failed, "malformed_model_output": completion.Failed, "whatever": completion.Failed,
		},
		Request: func(t testing.TB, stream bool) *completion.Request {
			req, err := chat.Decode([]byte(`{"model":"x/y","stream":` + strconv.FormatBool(stream) + `,"messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			return req
		},
		Binary: &upstreamtest.Binary{
			Idle:  event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":""}}`),
			Long:  func(size int) string { return event("contentBlockDelta", `{"p":`+q(strings.Repeat("x", size))+`}`) },
			Wrong: event("contentBlockDelta", `{"a":`),
		},
	})
}

// exceptionOf names the codes of the suite as Amazon does.
func exceptionOf(code string) string {
	switch code {
	case "rate_limit_exceeded":
		return "ThrottlingException"
	case "overloaded_error":
		return "ServiceUnavailableException"
	case "server_error":
		return "InternalServerException"
	}
	return "ValidationException"
}

func q(s string) string { return string(rawjson.AppendText(nil, s)) }

// event is one message of the binary stream.
func event(name, payload string) string { return messageOf("event", name, payload) }

func messageOf(kind, name, payload string) string {
	header := func(name, value string) string {
		return string([]byte{byte(len(name))}) + name + "\x07" + string(binary.BigEndian.AppendUint16(nil, uint16(len(value)))) + value
	}
	return message(header(":"+kind+"-type", name)+header(":content-type", "application/json")+header(":message-type", kind), payload)
}

func message(headers, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func renderUsage(a upstreamtest.Answer) string {
	if a.Usage == nil {
		return `"metrics":{"latencyMs":1}`
	}
	prompt, completion := strconv.FormatInt(a.Usage.Prompt.N, 10), strconv.FormatInt(a.Usage.Completion.N, 10)
	return `"usage":{"inputTokens":` + prompt + `,"outputTokens":` + completion + `,"totalTokens":0},"metrics":{"latencyMs":1}`
}

func renderWhole(a upstreamtest.Answer) string {
	var list []string
	if len(a.Reasoning) > 0 {
		list = append(list, `{"reasoningContent":{"reasoningText":{"text":`+q(strings.Join(a.Reasoning, ""))+`,"signature":"c2ln"}}}`)
	}
	if len(a.Text) > 0 {
		list = append(list, `{"text":`+q(strings.Join(a.Text, ""))+`}`)
	}
	for _, c := range a.Calls {
		list = append(list, `{"toolUse":{"toolUseId":`+q(c.ID)+`,"name":`+q(c.Name)+`,"input":`+string(c.Arguments)+`}}`)
	}
	return `{"output":{"message":{"role":"assistant","content":[` + strings.Join(list, ",") + `]}},"stopReason":` + q(a.Finish) + `,` + renderUsage(a) + `}`
}

func renderStream(a upstreamtest.Answer) []string {
	frames := []string{event("messageStart", `{"role":"assistant","p":"abc"}`)}
	n := 0
	block := func(start string, deltas ...string) {
		head := `{"contentBlockIndex":` + strconv.Itoa(n)
		if start != "" {
			frames = append(frames, event("contentBlockStart", head+`,"start":`+start+`}`))
		}
		for _, d := range deltas {
			frames = append(frames, event("contentBlockDelta", head+`,"delta":`+d+`,"p":"ab"}`))
		}
		frames = append(frames, event("contentBlockStop", head+`}`))
		n++
	}
	var reasoning, texts []string
	for _, s := range a.Reasoning {
		reasoning = append(reasoning, `{"reasoningContent":{"text":`+q(s)+`}}`)
	}
	for _, s := range a.Text {
		texts = append(texts, `{"text":`+q(s)+`}`)
	}
	if reasoning != nil {
		block("", append(reasoning, `{"reasoningContent":{"signature":"c2ln"}}`)...)
	}
	if texts != nil {
		block("", texts...)
	}
	for _, c := range a.Calls {
		half := len(c.Arguments) / 2
		for half > 0 && c.Arguments[half] >= 0x80 {
			half--
		}
		input := func(s string) string { return `{"toolUse":{"input":` + q(s) + `}}` }
		block(`{"toolUse":{"toolUseId":`+q(c.ID)+`,"name":`+q(c.Name)+`}}`, input(""), input(string(c.Arguments[:half])), input(string(c.Arguments[half:])))
	}
	return append(frames, event("messageStop", `{"stopReason":`+q(a.Finish)+`}`), event("metadata", `{`+renderUsage(a)+`}`))
}
