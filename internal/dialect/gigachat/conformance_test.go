package gigachat_test

import (
	"strconv"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/gigachat"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/chat"
)

const oauth = "/api/v2/oauth"

func TestConformance(t *testing.T) {
	t.Parallel()
	upstreamtest.Run(t, upstreamtest.Wire{
		Name: "gigachat", New: func() dialect.Texter { return new(gigachat.Dialect) }, Stream: renderStream,
		Whole: func(a upstreamtest.Answer) string {
			return frame("message", members(a), `,"finish_reason":`+q(a.Finish), renderUsage(a))
		},
		Error:       renderError,
		StreamError: func(code, message string) string { return "data: " + renderError(code, message) + "\n\n" },
		Finishes: map[string]completion.FinishReason{
			"stop": completion.Stop, "length": completion.Length, "function_call": completion.ToolCalls, "blacklist": completion.ContentFilter, "error": completion.Failed, "whatever": completion.Failed,
		},
		Request: func(t testing.TB, stream bool) *completion.Request {
			req, err := chat.Decode([]byte(`{"model":"x/y","stream":` + strconv.FormatBool(stream) + `,"messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			return req
		},
		Serial:  true,
		Declare: func(p *catalog.Provider) { p.Quirks.AuthURL = p.BaseURL + oauth },
		Aside: func(c *upstreamtest.Conn) bool {
			if c.Request.URL.Path != oauth {
				return false
			}
			c.Send(upstreamtest.JSON(`{"access_token":"a-token","expires_at":99999999999999}`))
			return true
		},
	})
}

func renderError(code, message string) string {
	status := map[string]string{"rate_limit_exceeded": "429", "overloaded_error": "503", "server_error": "500"}[code]
	if status == "" {
		status = "400"
	}
	return `{"status":` + status + `,"message":` + q(message) + `}`
}

func q(s string) string { return string(rawjson.AppendText(nil, s)) }

func members(a upstreamtest.Answer) string {
	s := `"role":"assistant","content":` + q(strings.Join(a.Text, ""))
	if len(a.Reasoning) > 0 {
		s += `,"reasoning_content":` + q(strings.Join(a.Reasoning, ""))
	}
	for _, c := range a.Calls {
		s += call(c)
	}
	return s
}

func call(c completion.ToolCall) string {
	return `,"function_call":{"name":` + q(c.Name) + `,"arguments":` + string(c.Arguments) + `},"functions_state_id":"state"`
}

func frame(member, members, ending, usage string) string {
	return `{"choices":[{"` + member + `":{` + members + `},"index":0` + ending + `}],"created":1,"model":"GigaChat:2.0","object":"chat.completion"` + usage + `}`
}

func renderUsage(a upstreamtest.Answer) string {
	if a.Usage == nil {
		return ""
	}
	return `,"usage":{"prompt_tokens":` + strconv.FormatInt(a.Usage.Prompt.N, 10) + `,"completion_tokens":` + strconv.FormatInt(a.Usage.Completion.N, 10) + `,"total_tokens":0}`
}

func renderStream(a upstreamtest.Answer) (frames []string) {
	delta := func(members, ending, usage string) {
		frames = append(frames, "data: "+frame("delta", members, ending, usage)+"\n\n")
	}
	delta(`"role":"assistant","content":""`, "", "")
	for _, s := range a.Reasoning {
		delta(`"reasoning_content":`+q(s), "", "")
	}
	for _, s := range a.Text {
		delta(`"content":`+q(s), "", "")
	}
	for _, c := range a.Calls {
		delta(`"content":""`+call(c), "", "")
	}
	delta(`"content":""`, `,"finish_reason":`+q(a.Finish), renderUsage(a))
	return append(frames, "data: [DONE]\n\n")
}
