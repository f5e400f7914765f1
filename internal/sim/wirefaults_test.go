package sim_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/sim"
)

// speaker is a wire in these tests.
type speaker struct {
	name string
	send func(t testing.TB, s *sim.Server, prompt string, stream bool) *httptest.ResponseRecorder
	text string                                                  // path of a whole answer's text
	join func(t testing.TB, w *httptest.ResponseRecorder) string // the text of a stream
	fail func(w *httptest.ResponseRecorder, body tree) string    // the word by which the wire names an error
	last string                                                  // in the last event of a good stream
	use  string                                                  // path of a count in a whole answer
}

// deltas joins what a path gives in each event of a stream.
func deltas(path string) func(t testing.TB, w *httptest.ResponseRecorder) string {
	return func(t testing.TB, w *httptest.ResponseRecorder) (said string) {
		for _, data := range events(w.Body.String()) {
			var v tree
			if json.Unmarshal([]byte(data), &v) == nil {
				said += textAt(v, path)
			}
		}
		return said
	}
}

func word(path string) func(*httptest.ResponseRecorder, tree) string {
	return func(_ *httptest.ResponseRecorder, body tree) string { return textAt(body, path) }
}

func withStream(body string, stream bool) string {
	if stream {
		return strings.TrimSuffix(body, "}") + `,"stream":true}`
	}
	return body
}

var speakers = []speaker{
	{
		name: "messages", text: "content.0.text", join: deltas("delta.text"), fail: word("error.type"), last: "message_stop", use: "usage.output_tokens",
		send: func(_ testing.TB, s *sim.Server, prompt string, stream bool) *httptest.ResponseRecorder {
			return post(s, "POST", "/v1/messages", messagesHead, withStream(messagesBody("chat", prompt, ""), stream))
		},
	},
	{
		name: "responses", text: "output.0.content.0.text", join: deltas("delta"), fail: word("error.type"), last: "response.completed", use: "usage.output_tokens",
		send: func(_ testing.TB, s *sim.Server, prompt string, stream bool) *httptest.ResponseRecorder {
			return post(s, "POST", "/v1/responses", "", withStream(responsesBody("chat", prompt, ""), stream))
		},
	},
	{
		name: "gemini", text: "candidates.0.content.parts.0.text", join: deltas("candidates.0.content.parts.0.text"), fail: word("error.status"), last: "finishReason", use: "usageMetadata.candidatesTokenCount",
		send: func(_ testing.TB, s *sim.Server, prompt string, stream bool) *httptest.ResponseRecorder {
			method := "generateContent"
			if stream {
				method = "streamGenerateContent?alt=sse"
			}
			return post(s, "POST", "/v1beta/models/chat:"+method, "", geminiBody(prompt, ""))
		},
	},
	{
		name: "bedrock", text: "output.message.content.0.text", last: "metadata", use: "usage.outputTokens",
		fail: func(w *httptest.ResponseRecorder, _ tree) string {
			kind, _, _ := strings.Cut(w.Header().Get("X-Amzn-Errortype"), ":")
			return kind
		},
		join: func(t testing.TB, w *httptest.ResponseRecorder) (said string) {
			for _, e := range readBinary(t, w.Body.Bytes()) {
				said += textAt(e.payload, "delta.text")
			}
			return said
		},
		send: func(_ testing.TB, s *sim.Server, prompt string, stream bool) *httptest.ResponseRecorder {
			method := "converse"
			if stream {
				method = "converse-stream"
			}
			return post(s, "POST", "/model/chat/"+method, "Authorization: Bearer any", bedrockBody(prompt, ""))
		},
	},
	{
		name: "gigachat", text: "choices.0.message.content", join: deltas("choices.0.delta.content"), last: "[DONE]", use: "usage.completion_tokens",
		fail: func(w *httptest.ResponseRecorder, body tree) string {
			if numberAt(body, "status") == float64(w.Code) {
				return "status"
			}
			return ""
		},
		send: func(t testing.TB, s *sim.Server, prompt string, stream bool) *httptest.ResponseRecorder {
			return callGigaChat(t, s, withStream(request("chat", prompt, ""), stream))
		},
	},
}

// named is how each wire names the errors of a fault.
var namedFaults = []struct {
	fault  string
	status int
	words  map[string]string
}{
	{"u9", 429, map[string]string{"messages": "rate_limit_error", "responses": "requests", "gemini": "RESOURCE_EXHAUSTED", "bedrock": "ThrottlingException"}},
	{"u12", 400, map[string]string{"messages": "invalid_request_error", "responses": "invalid_request_error", "gemini": "INVALID_ARGUMENT", "bedrock": "ValidationException"}},
	{"u13", 401, map[string]string{"messages": "authentication_error", "responses": "invalid_request_error", "gemini": "UNAUTHENTICATED", "bedrock": "UnrecognizedClientException"}},
	{"u13 status=403", 403, map[string]string{"messages": "permission_error", "responses": "invalid_request_error", "gemini": "PERMISSION_DENIED", "bedrock": "AccessDeniedException"}},
	{"u14", 404, map[string]string{"messages": "not_found_error", "responses": "invalid_request_error", "gemini": "NOT_FOUND", "bedrock": "ResourceNotFoundException"}},
	{"u15", 500, map[string]string{"messages": "api_error", "responses": "server_error", "gemini": "INTERNAL", "bedrock": "InternalServerException"}},
	{"u15 status=529", 529, map[string]string{"messages": "overloaded_error", "responses": "server_error", "gemini": "INTERNAL", "bedrock": "InternalServerException"}},
	{"u16", 503, map[string]string{"messages": "api_error", "responses": "server_error", "gemini": "UNAVAILABLE", "bedrock": "ServiceUnavailableException"}},
}

func TestWireFaults(t *testing.T) {
	t.Parallel()
	for _, on := range speakers {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			s := fixed()
			call := func(fault string, stream bool) *httptest.ResponseRecorder {
				return on.send(t, s, "[[sim fault="+fault+"]] "+prompt, stream)
			}
			plain := on.send(t, s, prompt, false)
			want := textAt(readTree(t, plain.Body.Bytes()), on.text)
			if got := on.join(t, on.send(t, s, prompt, true)); got != want || want == "" {
				t.Fatalf("the stream says %q, the answer %q", got, want)
			}
			for _, f := range namedFaults {
				for _, stream := range []bool{false, true} {
					w := call(f.fault, stream)
					is := f.words[on.name]
					if on.name == "gigachat" {
						is = "status"
					}
					if got := on.fail(w, readTree(t, w.Body.Bytes())); w.Code != f.status || got != is {
						t.Errorf("%s: %d %q, want %d %q", f.fault, w.Code, got, f.status, is)
					}
				}
			}
			if got := call("u9", true).Header().Get("Retry-After"); got != "7" {
				t.Errorf("Retry-After %q", got)
			}
			if w := call("u12-context", false); w.Code != 400 || !strings.Contains(w.Body.String(), map[string]string{
				"messages": "prompt is too long", "responses": "exceeds the context window", "gemini": "input token count", "bedrock": "Input is too long", "gigachat": "Tokens limit",
			}[on.name]) {
				t.Errorf("u12-context: %d %s", w.Code, w.Body)
			}

			cut := call("u7-clean", true)
			if got := on.join(t, cut); got == "" || got == want || !strings.HasPrefix(want, got) || strings.Contains(cut.Body.String(), on.last) {
				t.Errorf("u7 gave %q", got)
			}
			if got := on.join(t, call("u8", true)); got != want {
				t.Errorf("u8 gave %q", got)
			}
			for _, how := range []string{"all", "crlf", "cr", "bom", "comments", "fields", "nospace", "multiline", "split", "empty"} {
				if got := on.join(t, call("u26-"+how, true)); got != want {
					t.Errorf("u26-%s gave %q", how, got)
				}
			}
			if w := call("u28", true); !strings.HasPrefix(on.join(t, w), want) || strings.Count(w.Body.String(), on.last) < 2 {
				t.Errorf("u28 gave %q", w.Body)
			}
			if w := call("u19", false); w.Code != 200 || textAt(readTree(t, w.Body.Bytes()), on.text) != "" {
				t.Errorf("u19: %d %s", w.Code, w.Body)
			}
			w := call("u19 after=2", true)
			if w.Code != 200 || !strings.Contains(w.Body.String(), "The simulator failed inside its answer.") || strings.Contains(w.Body.String(), `"`+on.last+`"`) {
				t.Errorf("u19 in a stream: %d %q", w.Code, w.Body)
			}
			if got := on.join(t, call("u29", true)); got != "" {
				t.Errorf("u29 gave %q", got)
			}
			if w := call("u29", false); textAt(readTree(t, w.Body.Bytes()), on.text) != "" {
				t.Errorf("u29 gave %s", w.Body)
			}
			good := at(readTree(t, plain.Body.Bytes()), on.use)
			for _, how := range []string{"missing", "negative", "huge", "strings", "floats"} {
				if got := at(readTree(t, call("u30-"+how, false).Body.Bytes()), on.use); got == good {
					t.Errorf("u30-%s counts %v", how, got)
				}
			}
			if w := call("u18-nochoices", false); w.Code != 200 || textAt(readTree(t, w.Body.Bytes()), on.text) != "" {
				t.Errorf("u18: %d %s", w.Code, w.Body)
			}
			if w := call("u31", false); w.Header().Get("Set-Cookie") == "" || textAt(readTree(t, w.Body.Bytes()), on.text) != want {
				t.Errorf("u31: %v", w.Header())
			}
			if w := call("u25 bytes=100000", true); w.Body.Len() < 100_000 {
				t.Errorf("u25 gave %d bytes", w.Body.Len())
			}
			if w := call("u22-big bytes=100000", true); w.Body.Len() < 100_000 {
				t.Errorf("u22 gave %d bytes", w.Body.Len())
			}
			for _, how := range []string{"cut", "text", "utf8"} {
				bad := call("u27-"+how, true).Body.Bytes()
				if mark := map[string]string{"cut": "cut", "text": "Internal Server Error", "utf8": "\xff\xfe"}[how]; !bytes.Contains(bad, []byte(mark)) {
					t.Errorf("u27-%s gave %q", how, bad)
				}
			}
		})
	}
}

func TestResponsesFailedEvent(t *testing.T) {
	t.Parallel()
	w := post(fixed(), "POST", "/v1/responses", "", withStream(responsesBody("chat", "[[sim fault=u19-failed after=1]] Hello", ""), true))
	all := readEvents(t, w.Body.String())
	last := all[len(all)-1]
	if last.name != "response.failed" || textAt(last.data, "response.status") != "failed" || textAt(last.data, "response.error.code") != "server_error" || numberAt(last.data, "sequence_number") != float64(len(all)-1) {
		t.Errorf("%v", last)
	}
}

func TestBedrockException(t *testing.T) {
	t.Parallel()
	w := post(fixed(), "POST", "/model/chat/converse-stream", "Authorization: Bearer any", bedrockBody("[[sim fault=u19 code=429 after=1]] Hello", ""))
	all := readBinary(t, w.Body.Bytes())
	last := all[len(all)-1]
	if last.headers[":message-type"] != "exception" || last.headers[":exception-type"] != "throttlingException" {
		t.Errorf("%v", last)
	}
}
