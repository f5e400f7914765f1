package responses_test

import (
	"strconv"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/responses"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
	wire "weir/internal/wire/responses"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	upstreamtest.Run(t, upstreamtest.Wire{
		Name: "responses", New: func() dialect.Texter { return new(responses.Dialect) }, Whole: renderWhole, Stream: renderStream,
		Error: func(code, message string) string {
			return `{"error":{"code":` + q(code) + `,"message":` + q(message) + `}}`
		},
		StreamError: func(code, message string) string {
			return event("response.failed", `"response":{"status":"failed","error":{"code":`+q(code)+`,"message":`+q(message)+`}}`)
		},
		Finishes: map[string]completion.FinishReason{"completed": completion.Stop, "max_output_tokens": completion.Length, "content_filter": completion.ContentFilter},
		Request:  func(t testing.TB, stream bool) *completion.Request { return plain(t, stream) },
	})
}

func plain(t testing.TB, stream bool) *completion.Request {
	t.Helper()
	return request(t, `{"model":"x/y","stream":`+strconv.FormatBool(stream)+`,"input":"hi"}`)
}

func request(t testing.TB, body string) *completion.Request {
	t.Helper()
	req, err := wire.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req.Request
}

func q(s string) string { return string(rawjson.AppendText(nil, s)) }

func event(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"," + members + "}\n\n"
}

func itemsOf(a upstreamtest.Answer) (list []string) {
	if len(a.Reasoning) > 0 {
		list = append(list, `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":`+q(strings.Join(a.Reasoning, ""))+`}],"encrypted_content":"ZW5j","status":"completed"}`)
	}
	if len(a.Text) > 0 {
		list = append(list, `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":`+q(strings.Join(a.Text, ""))+`,"annotations":[],"logprobs":[]}]}`)
	}
	for i, c := range a.Calls {
		list = append(list, `{"id":"fc_`+strconv.Itoa(i)+`","type":"function_call","call_id":`+q(c.ID)+`,"name":`+q(c.Name)+`,"arguments":`+q(string(c.Arguments))+`,"status":"completed"}`)
	}
	return list
}

func renderObject(a upstreamtest.Answer, items []string) string {
	status, details, counts := "completed", "null", "null"
	if a.Finish != "completed" && a.Finish != "" {
		status, details = "incomplete", `{"reason":`+q(a.Finish)+`}`
	}
	if a.Usage != nil {
		counts = `{"input_tokens":` + strconv.FormatInt(a.Usage.Prompt.N, 10) + `,"output_tokens":` + strconv.FormatInt(a.Usage.Completion.N, 10) + `}`
	}
	return `{"id":"resp_1","object":"response","model":"acme-large","status":"` + status + `","error":null,"incomplete_details":` + details + `,"output":[` + strings.Join(items, ",") + `],"usage":` + counts + `}`
}

func renderWhole(a upstreamtest.Answer) string { return renderObject(a, itemsOf(a)) }

func renderStream(a upstreamtest.Answer) []string {
	begun := `"response":{"id":"resp_1","object":"response","model":"acme-large","status":"in_progress","output":[]}`
	frames := []string{event("response.created", begun), event("response.in_progress", begun)}
	items := itemsOf(a)
	n := 0
	add := func(start string, pieces ...string) {
		at := `"output_index":` + strconv.Itoa(n)
		frames = append(frames, event("response.output_item.added", at+`,"item":`+start))
		for _, p := range pieces {
			name, members, _ := strings.Cut(p, " ")
			frames = append(frames, event("response."+name, at+`,"item_id":"i",`+members))
		}
		frames = append(frames, event("response.output_item.done", at+`,"item":`+items[n]))
		n++
	}
	each := func(pieces []string, name, members string) (list []string) {
		for _, s := range pieces {
			list = append(list, name+" "+members+`"delta":`+q(s))
		}
		return list
	}
	if len(a.Reasoning) > 0 {
		add(`{"id":"rs_1","type":"reasoning","summary":[]}`, each(a.Reasoning, "reasoning_summary_text.delta", `"summary_index":0,`)...)
	}
	if len(a.Text) > 0 {
		add(`{"id":"msg_1","type":"message","role":"assistant","content":[]}`, each(a.Text, "output_text.delta", `"content_index":0,"logprobs":[],`)...)
	}
	for i, c := range a.Calls {
		half := len(c.Arguments) / 2
		for half > 0 && c.Arguments[half] >= 0x80 {
			half--
		}
		add(`{"id":"fc_`+strconv.Itoa(i)+`","type":"function_call","call_id":`+q(c.ID)+`,"name":`+q(c.Name)+`,"arguments":""}`,
			each([]string{string(c.Arguments[:half]), string(c.Arguments[half:])}, "function_call_arguments.delta", "")...)
	}
	object := renderObject(a, items)
	name := "response.completed"
	if strings.Contains(object, `"status":"incomplete"`) {
		name = "response.incomplete"
	}
	return append(frames, event(name, `"response":`+object))
}
