package httpapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/relay"
)

// Claude Code before 2.1.78, since then, and what other clients write.
const (
	oldAgent = `user_5f3a_account__session_57a121ec-f78c-48c3-a745-e3036a3ecc33`
	newAgent = `{\"device_id\":\"5f3a\",\"account_uuid\":\"\",\"session_id\":\"54c1eb09-bc4c-4d2f-98eb-6d2ab2d5e2fe\"}`
)

// TestTagsOfRequests: tags, user and session are read the same way on all routes, whatever client wrote them.
func TestTagsOfRequests(t *testing.T) {
	t.Parallel()
	const (
		chat      = `{"model":"test/one","messages":[{"role":"user","content":"hi"}]`
		messages  = `{"model":"test/one","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`
		responses = `{"model":"test/one","store":false,"input":"hi"`
		gemini    = `{"contents":[{"parts":[{"text":"hi"}]}]`
	)
	for _, c := range []struct {
		name, path, body string
		headers          []string
		tags             []string
		user, session    string
	}{
		{"none", "/v1/chat/completions", chat + `}`, nil, nil, "", ""},
		{"header", "/v1/chat/completions", chat + `}`, []string{"X-Weir-Tags", "project=atlas, beta"}, []string{"beta", "project=atlas"}, "", ""},
		{"metadata", "/v1/chat/completions", chat + `,"metadata":{"project":"atlas","note":"  "},"user":"u-1","session_id":"s-1"}`, nil, []string{"project=atlas"}, "u-1", "s-1"},
		{"the header is first", "/v1/chat/completions", chat + `,"metadata":{"project":"other","env":"prod"}}`, []string{"X-Weir-Tags", "project=atlas"}, []string{"env=prod", "project=atlas"}, "", ""},
		{"list of LiteLLM", "/v1/chat/completions", chat + `,"metadata":{"tags":["jobID:214590dsff09fds","production"]},"user":"palantir"}`, nil, []string{"jobID=214590dsff09fds", "production"}, "palantir", ""},
		{"header of LiteLLM", "/v1/chat/completions", chat + `}`, []string{"X-Litellm-Tags", "team-api,production, us-east-1"}, []string{"production", "team-api", "us-east-1"}, "", ""},
		{"a bad header of LiteLLM", "/v1/chat/completions", chat + `}`, []string{"X-Litellm-Tags", "=,a=,ok,(none)"}, []string{"ok"}, "", ""},
		{"session of any client", "/v1/chat/completions", chat + `}`, []string{"X-Session-Id", "s-2"}, nil, "", "s-2"},
		{"session of Codex", "/v1/responses", responses + `}`, []string{"Session_id", "0199"}, nil, "", "0199"},
		{"responses", "/v1/responses", responses + `,"metadata":{"project":"atlas","tags":["a:b"]},"user":"u"}`, nil, []string{"a=b", "project=atlas"}, "u", ""},
		{"messages of an old agent", "/v1/messages", messages + `,"metadata":{"user_id":"` + oldAgent + `"}}`, nil, nil, "user_5f3a", "57a121ec-f78c-48c3-a745-e3036a3ecc33"},
		{"messages of a new agent", "/v1/messages", messages + `,"metadata":{"user_id":"` + newAgent + `"}}`, nil, nil, "5f3a", "54c1eb09-bc4c-4d2f-98eb-6d2ab2d5e2fe"},
		{"messages with a session header", "/v1/messages", messages + `,"metadata":{"user_id":"` + newAgent + `"}}`, []string{"X-Claude-Code-Session-Id", "s-3"}, nil, "5f3a", "s-3"},
		{"messages of others", "/v1/messages", messages + `,"metadata":{"user_id":"customer_session_","project":"atlas","deep":{"a":1}}}`, nil, []string{"project=atlas"}, "customer_session_", ""},
		{"gemini", "/v1beta/models/test/one:generateContent", gemini + `,"labels":{"project":"atlas"}}`, nil, []string{"project=atlas"}, "", ""},
		{"embeddings", "/v1/embeddings", `{"model":"test/vectors","input":"hi","user":"u","metadata":{"project":"atlas","tags":["x"]}}`, []string{"X-Session-Id", "s-4"}, []string{"project=atlas", "x"}, "u", "s-4"},
		{"rerank", "/v1/rerank", `{"model":"test/ranks","query":"q","documents":["a"]}`, []string{"X-Weir-Tags", "env=prod"}, []string{"env=prod"}, "", ""},
		{"speech", "/v1/audio/speech", `{"model":"test/speech","input":"hi","voice":"alloy"}`, []string{"X-Litellm-Tags", "a:b"}, []string{"a=b"}, "", ""},
		{"images", "/v1/images/generations", `{"model":"test/images","prompt":"hi","metadata":{"a":"b"}}`, nil, []string{"a=b"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got *relay.Call
			n := start(t, relayFunc(func(_ context.Context, call *relay.Call, _ relay.Sink) error {
				got = call
				return fault.New(fault.NoEndpoints, "test", "enough")
			}), nil)
			r := n.do("POST", c.path, c.body, c.headers...)
			if got == nil {
				t.Fatalf("status %d, %s", r.StatusCode, r.body)
			}
			if !slices.Equal(got.Tags, c.tags) || got.Request.User != c.user || got.Request.SessionID != c.session {
				t.Errorf("tags %q, user %q, session %q", got.Tags, got.Request.User, got.Request.SessionID)
			}
			if log := n.logged(); strings.Contains(log, "atlas") || strings.Contains(log, "jobID") {
				t.Errorf("tags in the log: %s", log)
			}
		})
	}
}

// TestBadTags: a header for this gateway that has no tags is refused in the envelope of the style, before anything is read or charged.
func TestBadTags(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/test/one:generateContent", "/v1/embeddings", "/v1/rerank", "/v1/images/generations", "/v1/audio/speech",
		"/v1/audio/transcriptions", "/v1/videos"} {
		r := n.do("POST", path, `{}`, "X-Weir-Tags", "project=atlas,env=")
		m := r.json(t)
		message, _ := at(m, "error", "message").(string)
		if r.StatusCode != 400 || !strings.Contains(message, `X-Weir-Tags: "env=" is no tag: it has no value after the equals sign`) {
			t.Errorf("%s: status %d, %s", path, r.StatusCode, r.body)
		}
		if _, style := m["type"]; style != (path == "/v1/messages") {
			t.Errorf("%s: envelope %s", path, r.body)
		}
	}
}
