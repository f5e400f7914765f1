package httpapi_test

import (
	"strings"
	"testing"
)

// An error for a route that does not exist names what was asked for, in the envelope of each style, and repeats no key, nothing long and no query.
func TestUnknownRoutesAreNamed(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	const key = "sk-weir-v1-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefg"
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"POST", "/chat/completions", 404, "no route POST /chat/completions. The base URL of your client should be such that it asks for POST /v1/chat/completions."},
		{"POST", "/v1/v1/chat/completions", 404, "no route POST /v1/v1/chat/completions. The base URL of your client should be such that it asks for POST /v1/chat/completions."},
		{"POST", "/messages", 404, "no route POST /messages. The base URL of your client should be such that it asks for POST /v1/messages."},
		{"POST", "/v1/fine_tuning/jobs", 404, "no route POST /v1/fine_tuning/jobs. The API lives under /v1"},
		{"DELETE", "/v1/chat", 404, "no route DELETE /v1/chat. The API"},
		{"DELETE", "/v1/models", 405, "DELETE /v1/models is not known: this route knows GET, HEAD"},
		{"GET", "/v1/chat/completions", 405, "GET /v1/chat/completions is not known: this route knows POST"},
		{"POST", "/v1/messages/none", 404, "no route POST /v1/messages/none."},
		{"GET", "/v1/messages", 405, "GET /v1/messages is not known"},
		{"POST", "/v1/responses/a/b/c", 404, "no route POST /v1/responses/a/b/c."},
		{"POST", "/v1beta/cachedContents", 404, "no route POST /v1beta/cachedContents."},
		{"POST", "/v1/" + key + "/chat", 404, "no route POST /v1/[redacted:key]/chat."},
		{"POST", "/v1/x?key=" + key, 404, "no route POST /v1/x."},
		{"POST", "/v1/" + strings.Repeat("0123456789abcdef", 4) + "/x", 404, "no route POST /v1/.../x."},
		{"POST", "/v1" + strings.Repeat("/abc", 60), 404, "no route POST /v1" + strings.Repeat("/abc", 29) + "/. The API"},
		{"POST", "/v1/a%0Ab%E2%80%AE", 404, "no route POST /v1/ab."},
		{strings.Repeat("M", 40), "/v1/x", 404, "no route MMMMMMMMMMMMMMMM /v1/x."},
	} {
		r := n.do(c.method, c.path, "")
		message, _ := at(r.json(t), "error", "message").(string)
		if r.StatusCode != c.status || !strings.Contains(message, c.want) {
			t.Errorf("%s %s: %d %s, want %d and %q", c.method, c.path, r.StatusCode, r.body, c.status, c.want)
		}
		if strings.Contains(string(r.body), key[:20]) {
			t.Errorf("%s %s: the error repeats a key: %s", c.method, c.path, r.body)
		}
	}
}
