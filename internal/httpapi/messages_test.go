package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
)

func messagesBody(stream bool) string {
	if stream {
		return `{"model":"acme/small","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	}
	return `{"model":"acme/small","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
}

func TestMessages(t *testing.T) {
	t.Parallel()
	calls := make(chan *relay.Call, 4)
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		calls <- c
		return hello(ctx, c, sink)
	}), nil)
	r := n.do("POST", "/v1/messages?beta=true", messagesBody(false), "Anthropic-Version", "2026-10-21", "Anthropic-Beta", "effort-2025-11-24, gold-2027-01-01", "X-Session-Id", "s", "X-Provider-Preferences", `{"only":["acme"]}`)
	m := r.json(t)
	if r.StatusCode != 200 || at(m, "content", 0, "text") != "Hello" || at(m, "type") != "message" || at(m, "model") != "acme/small" {
		t.Fatalf("status %d, body %s", r.StatusCode, r.body)
	}
	if r.Header.Get("Request-Id") != r.Header.Get("X-Request-Id") || r.Header.Get("X-Generation-Id") == "" {
		t.Errorf("headers %v", r.Header)
	}
	if left := r.Header.Get("X-Left-Out-Betas"); left != "gold-2027-01-01" {
		t.Errorf("left out %q", left)
	}
	c := <-calls
	if q := c.Request; c.API != "messages" || q.Style != completion.Messages || q.Version != "2026-10-21" || len(q.Betas) != 1 || q.Query != "?beta=true" || q.SessionID != "s" || q.Preferences.Only[0] != "acme" {
		t.Errorf("%+v", q)
	}
	r = n.do("POST", "/v1/messages", messagesBody(true))
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(string(r.body), "event: message_start\n") || !strings.HasSuffix(string(r.body), "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("status %d, body %s", r.StatusCode, r.body)
	}
	<-calls
}

// Clients of the messages style recognise this error by its code, and send the whole conversation.
func TestMessagesThread(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		r := n.do("POST", path, strings.TrimSuffix(messagesBody(false), "}")+`,"thread":{"type":"continue","previous_message_id":"msg_1"}}`, "Anthropic-Beta", "message-threads-2026-08-12")
		want := `"type":"invalid_request_error","message":"thread is not supported: no conversation is kept here. Leave thread out and send the whole conversation in messages.",` +
			`"error_type":"invalid_request","details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}}`
		if r.StatusCode != 400 || !strings.Contains(string(r.body), want) {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// The key may be in either place; the one of ours counts.
func TestMessagesKeys(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	own := n.first.KeyText
	for name, tc := range map[string]struct {
		authorization, header string
		status                int
	}{
		"bearer": {"Bearer " + own, "", 200}, "x-api-key": {"", own, 200}, "a stray vendor key beside ours": {"Bearer sk-other", own, 200}, "and the other way round": {"Bearer " + own, "sk-other", 200},
		"both ours": {"Bearer " + own, own, 200}, "none": {"", "", 401}, "neither ours": {"Bearer sk-a", "sk-b", 401}, "no scheme": {own, "", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/v1/messages", strings.NewReader(messagesBody(false)))
		if err != nil {
			t.Fatal(err)
		}
		if tc.authorization != "" {
			req.Header.Set("Authorization", tc.authorization)
		}
		if tc.header != "" {
			req.Header.Set("X-Api-Key", tc.header)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tc.status {
			t.Errorf("%s: status %d, want %d", name, res.StatusCode, tc.status)
		}
	}
}

// Every error below the path has the envelope of the style.
func TestMessagesErrors(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		if !c.Request.Stream {
			return fault.New(fault.ProviderOverloaded, "test", "busy")
		}
		_ = sink.Start(served(c))
		_ = sink.Event(&completion.Event{Text: []byte("He")})
		return fault.New(fault.ProviderUnavailable, "test", "gone")
	}), nil)
	for name, tc := range map[string]struct {
		method, path, body, kind string
		status                   int
		header                   []string
	}{
		"bad body":         {"POST", "/v1/messages", `{"model":"acme/small","messages":[{}]}`, "invalid_request_error", 400, nil},
		"bad preferences":  {"POST", "/v1/messages", messagesBody(false), "invalid_request_error", 400, []string{"X-Provider-Preferences", "x"}},
		"worse ones":       {"POST", "/v1/messages", messagesBody(false), "invalid_request_error", 400, []string{"X-Provider-Preferences", `{"only":1}`}},
		"a wrong method":   {"GET", "/v1/messages", "", "invalid_request_error", 405, nil},
		"an alias":         {"GET", "/api/v1/messages", "", "invalid_request_error", 405, nil},
		"a path of it":     {"POST", "/api/v1/messages/elsewhere", "{}", "not_found_error", 404, nil},
		"a slash more":     {"GET", "/api/v1/messages/", "", "invalid_request_error", 405, nil},
		"a call there":     {"POST", "/api/v1/messages", messagesBody(false), "overloaded_error", 529, nil},
		"a wrong path":     {"POST", "/v1/messages/elsewhere", "{}", "not_found_error", 404, nil},
		"nobody":           {"POST", "/v1/messages", messagesBody(false), "authentication_error", 401, []string{"Authorization", "Bearer x"}},
		"no capacity":      {"POST", "/v1/messages", messagesBody(false), "overloaded_error", 529, nil},
		"an unknown model": {"POST", "/v1/messages/count_tokens", `{"model":"no/such","messages":[{"role":"user","content":"q"}]}`, "not_found_error", 404, nil},
	} {
		r := n.do(tc.method, tc.path, tc.body, tc.header...)
		m := r.json(t)
		if r.StatusCode != tc.status || at(m, "type") != "error" || at(m, "error", "type") != tc.kind || at(m, "error", "message") == "" || at(m, "request_id") != r.Header.Get("X-Request-Id") ||
			r.Header.Get("Request-Id") != r.Header.Get("X-Request-Id") {
			t.Errorf("%s: status %d, body %s", name, r.StatusCode, r.body)
		}
	}
	r := n.do("POST", "/v1/messages", messagesBody(true))
	if text := string(r.body); r.StatusCode != 200 || !strings.Contains(text, `"text":"He"`) || !strings.Contains(text, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"gone\"") {
		t.Errorf("status %d, body %s", r.StatusCode, text)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	r := n.do("POST", "/v1/messages/count_tokens", `{"model":"acme/small","system":"You are kind.","messages":[{"role":"user","content":"How many words are these?"}]}`)
	if tokens, _ := at(r.json(t), "input_tokens").(float64); r.StatusCode != 200 || tokens < 8 || tokens > 14 {
		t.Errorf("status %d, body %s", r.StatusCode, r.body)
	}
}
