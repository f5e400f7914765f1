package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/completion"
	"weir/internal/config"
	"weir/internal/httpapi"
	"weir/internal/relay"
	"weir/internal/secret"
)

// canary is a secret or private text that must not appear where it does not belong.
type canary struct {
	text    string
	client  bool // the client that sent it, or whose provider did, may read it in the error
	records bool // it is stored with the record of its call, for the owner
}

var canaries = map[string]canary{
	"authorization":     {text: "sk-weir-v1-CanaryAuthorization0000000000000000000000000"},
	"x-api-key":         {text: "sk-canary-header-1111111111"},
	"cookie":            {text: "canary-cookie-2222222222"},
	"bearer in prompt":  {text: "sk-canary-prompt-secret-33333333"},
	"prompt":            {text: "canary prompt words 4444444444"},
	"image":             {text: "Y2FuYXJ5LWltYWdlLTU1NTU1NTU1NTU1"},
	"tool":              {text: "canary_tool_6666666666"},
	"model":             {text: "sk-canary-model-7777777777"},
	"user":              {text: "canary-user-8888888888", records: true},
	"metadata":          {text: "canary-metadata-9999999999", records: true},
	"session":           {text: "canary-session-aaaaaaaaaa", records: true},
	"unknown field":     {text: "canary-field-bbbbbbbbbb"},
	"query":             {text: "canary-query-cccccccccc"},
	"answer":            {text: "canary-answer-dddddddddd"},
	"upstream words":    {text: "canary upstream words eeeeeeeeee", client: true, records: true},
	"upstream secret":   {text: "sk-canary-upstream-ffffffffff"},
	"upstream bearer":   {text: "CanaryBearer-gggggggggg"},
	"upstream page":     {text: "canary upstream page hhhhhhhhhh"},
	"upstream header":   {text: "canary-upstream-header-iiiiiiiiii"},
	"provider's key":    {text: "configured-canary-jjjjjjjjjj"},
	"panic":             {text: "canary panic kkkkkkkkkk"},
	"panic's error":     {text: "canary panic error llllllllll"},
	"panic in a stream": {text: "canary panic stream mmmmmmmmmm"},
}

// tattler is a provider whose failures contain everything it has received.
func tattler(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&req) // a bad body has no model
		text := fmt.Sprintf("%s %s Bearer %s %s", canaries["upstream words"].text, canaries["upstream secret"].text, canaries["upstream bearer"].text, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		w.Header().Set("X-Canary", canaries["upstream header"].text)
		w.Header().Set("Set-Cookie", "c="+canaries["upstream header"].text)
		switch req.Model {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, text)
		case "html":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "<html>%s %s", canaries["upstream page"].text, text)
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\ndata: {\"error\":{\"message\":%q}}\n\n", "so far", text)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":3}}`, canaries["answer"].text)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// brittle is a relay that panics for some models, with a secret in the panic value.
type brittle struct{ httpapi.Completer }

// Complete panics at once, or, through brittleSink, in the middle.
func (b brittle) Complete(ctx context.Context, c *relay.Call, sink relay.Sink) error {
	switch c.Request.User {
	case "panic":
		panic(canaries["panic"].text)
	case "panic with an error":
		panic(errors.New(canaries["panic's error"].text))
	case "panic later":
		sink = &brittleSink{Sink: sink}
		if c.Request.Stream {
			sink.(*brittleSink).lasts = 3
		}
	}
	return b.Completer.Complete(ctx, c, sink)
}

type brittleSink struct {
	relay.Sink
	lasts int // events before the panic
}

// Event panics after the last event.
func (s *brittleSink) Event(ev *completion.Event) error {
	if s.lasts--; s.lasts < 0 {
		panic(canaries["panic in a stream"].text)
	}
	return s.Sink.Event(ev)
}

// startTattling starts a node that logs as much as possible, with the tattler as its provider.
func startTattling(t *testing.T) *apptest.Gateway {
	t.Helper()
	provider := tattler(t)
	return apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen, s.Log.Level = "127.0.0.1:0", "debug"
		s.Config.Providers = []config.Provider{{ID: "tattler", Name: "Tattler", BaseURL: provider, APIKey: secret.New(canaries["provider's key"].text)}}
		for _, model := range []string{"json", "html", "stream", "fine"} {
			s.Config.Providers[0].Models = append(s.Config.Providers[0].Models, config.Offer{ID: "tattle/" + model, UpstreamID: model, ContextLength: 100_000, MaxOutput: 1000,
				Prices: config.Prices{Prompt: "0.1", Completion: "0.4"}})
		}
		s.WrapRelay = func(c httpapi.Completer) httpapi.Completer { return brittle{c} }
	})
}

// Texts of clients, answers of providers and values of panics appear neither in the log, in metrics, in what other users can read, nor on
// the disk, except in the records kept for their owner.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	gw := startTattling(t)
	a := gw.NewAccount(t)
	var errorBodies strings.Builder
	keep := func(got *apptest.Answer) *apptest.Answer {
		if got.Status >= 400 || strings.Contains(string(got.Body), `"error":{`) {
			errorBodies.Write(got.Body)
			fmt.Fprintln(&errorBodies, got.Header)
		}
		return got
	}
	of := func(name string) string { return canaries[name].text }

	headers := map[string]string{"X-Api-Key": of("x-api-key"), "Cookie": "session=" + of("cookie"), "X-Session-Id": of("session")}
	bad := map[string]string{"Authorization": "Bearer " + of("authorization")}
	chat := func(model, user string, stream bool) *apptest.Answer {
		body, err := json.Marshal(map[string]any{
			"model": model, "stream": stream, "user": user, "metadata": map[string]string{"a": of("metadata")}, "unknown": of("unknown field"),
			"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": of("tool")}}}, "tool_choice": "none",
			"messages": []any{map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "text", "text": "hello " + of("prompt") + " " + of("bearer in prompt")},
				map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + of("image")}},
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return keep(a.Send(t, http.MethodPost, "/v1/chat/completions", body, headers))
	}
	wantStatus := func(got *apptest.Answer, status int) {
		t.Helper()
		if got.Status != status {
			t.Errorf("status %d, want %d: %s", got.Status, status, got.Body)
		}
	}
	for _, stream := range []bool{false, true} {
		wantStatus(chat("test/next", of("user"), stream), 200)
		wantStatus(chat("tattle/json", of("user"), stream), 400)
		wantStatus(chat("tattle/html", of("user"), stream), 502)
		wantStatus(chat("no/"+of("model"), of("user"), stream), 404)
		wantStatus(chat("test/u12-status-400", of("user"), stream), 400)
		wantStatus(chat("test/next", "panic", stream), 500)
		wantStatus(chat("test/next", "panic with an error", stream), 500)
	}
	wantStatus(chat("tattle/fine", of("user"), false), 200)
	wantStatus(chat("tattle/stream", of("user"), true), 200)
	wantStatus(chat("test/next", "panic later", false), 500)
	chat("test/next", "panic later", true).WantErrorEvent(t)
	wantStatus(keep(a.Send(t, http.MethodPost, "/v1/chat/completions", []byte(`{"model":"test/next","messages":[{"role":"user","content":"`+of("prompt")+"\n"+`"}]}`), headers)), 400)
	wantStatus(keep(a.Send(t, http.MethodPost, "/v1/chat/completions", []byte(`{"model":"test/next","temperature":"`+of("prompt")+`","messages":[]}`), headers)), 400)
	wantStatus(keep(a.Send(t, http.MethodGet, "/v1/credits", nil, bad)), 401)
	wantStatus(keep(a.Send(t, http.MethodGet, "/v1/activity?date="+of("query"), nil, nil)), 400)
	wantStatus(a.Send(t, http.MethodGet, "/v1/"+of("query")+"?key="+a.Key, nil, nil), 404) // the answer names the path; the log must not
	wantStatus(keep(a.Send(t, http.MethodGet, "/v1/nothing?key="+a.Key+"&q="+of("query"), nil, nil)), 404)
	// one request must remain one line
	wantStatus(keep(a.Send(t, http.MethodPost, "/v1/chat/completions", []byte(`{"model":"a/b\n{\"forged\":1}\u2028\u001b[31m","messages":[{"role":"user","content":"x"}]}`), nil)), 404)
	a.WantNothingHeld(t)

	if words := of("upstream words"); !strings.Contains(errorBodies.String(), words) {
		t.Errorf("the client may read %q, but the provider's message did not arrive", words)
	}
	metrics := gw.Metrics(t)
	if !strings.Contains(metrics, "weir_panics_total 6") {
		t.Error("six panics are not counted")
	}
	disk := gw.Disk(t)
	for name, c := range canaries {
		places := map[string]string{"the log": gw.Log.String(), "metrics": metrics}
		if !c.client {
			places["an error"] = errorBodies.String()
		}
		if !c.records {
			places["the disk"] = disk
		}
		for place, text := range places {
			if at := strings.Index(text, c.text); at >= 0 {
				t.Errorf("%s was found in %s: ...%s", name, place, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
	if strings.Contains(gw.Log.String()+metrics+errorBodies.String()+disk, a.Key) {
		t.Error("the client's key was found")
	}
	gw.WantLogLines(t)
	gw.WantBalanced(t)
}
