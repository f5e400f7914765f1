package app_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/secret"
	"weir/internal/sim"
)

// strictProvider is a simulator behind what a provider may insist on.
func strictProvider(t *testing.T, origin *url.URL) *httptest.Server {
	t.Helper()
	forward := httputil.NewSingleHostReverseProxy(origin)
	forward.ErrorLog = nil
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		refuse := func(status int, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":{"message":"` + message + `"}}`))
		}
		switch first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); {
		case first == "keys" && r.Header.Get("Authorization") != "Bearer good":
			refuse(http.StatusUnauthorized, "wrong key")
			return
		case first == "options" && bytes.Contains(body, []byte("stream_options")):
			refuse(http.StatusBadRequest, "stream_options is unknown")
			return
		case first == "tokens" && bytes.Contains(body, []byte(`"max_tokens"`)):
			refuse(http.StatusBadRequest, "use max_completion_tokens")
			return
		case slices.Contains([]string{"keys", "options", "tokens"}, first):
			r.URL.Path = "/" + rest
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestProvidersAreTested(t *testing.T) {
	t.Parallel()
	simulator := sim.New(sim.Config{})
	listener := apptest.Listen(t)
	go func() { _ = simulator.Serve(listener) }()
	t.Cleanup(func() { _ = simulator.Close(context.Background()) })
	refusing, err := simulator.RefusingAddr()
	if err != nil {
		t.Fatal(err)
	}
	origin, _ := url.Parse("http://" + listener.Addr().String())
	base := strictProvider(t, origin).URL
	chat := func(upstream ...string) (out []config.Offer) {
		for i, id := range upstream {
			price := config.Decimal([]string{"1", "2"}[i]) // the first is the cheapest
			out = append(out, config.Offer{ID: "acme/m" + strconv.Itoa(i), UpstreamID: id, Prices: config.Prices{Prompt: price, Completion: price}})
		}
		return out
	}
	tests := []struct {
		name     string
		provider config.Provider
		wrong    []string // of each call
		advice   string   // part of the advice of the last call, "" for none
	}{
		{"it works", config.Provider{BaseURL: base + "/v1", Models: chat("chat")}, []string{""}, ""},
		{"nobody listens", config.Provider{BaseURL: "http://" + refusing + "/v1", Models: chat("chat")}, []string{"address"}, "check base_url"},
		{"the address has no v1", config.Provider{BaseURL: base, Models: chat("chat")}, []string{"address"}, "base_url: " + base + "/v1"},
		{"the address is of nothing", config.Provider{BaseURL: base + "/other", Models: chat("chat")}, []string{"model id"}, "Check upstream_id (chat) and base_url"},
		{"the key is refused", config.Provider{BaseURL: base + "/keys/v1", APIKey: secret.New("bad"), Models: chat("chat")}, []string{"key"}, "Check its api_key."},
		{"there is no key", config.Provider{BaseURL: base + "/keys/v1", Models: chat("chat")}, []string{"key"}, "set api_key"},
		{"the second key is refused", config.Provider{BaseURL: base + "/keys/v1", APIKeys: []secret.Text{secret.New("good"), secret.New("bad")}, Models: chat("chat")}, []string{"", "key"}, "Check its api_key."},
		{"one model is unknown", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u14", "chat")}, []string{"model id"}, "acme/m1 works with the same address and key"},
		{"no stream options", config.Provider{BaseURL: base + "/options/v1", Models: chat("chat")}, []string{"request"}, "no_stream_options: true"},
		{"another name for the bound", config.Provider{BaseURL: base + "/tokens/v1", Models: chat("chat")}, []string{"request"}, "max_tokens_field: max_completion_tokens"},
		{"another request is refused", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u12")}, []string{"request"}, "quirks"},
		{"it fails", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u15")}, []string{"provider"}, "Try again later"},
		{"it is at a limit", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u9")}, []string{"provider"}, "limit of this account"},
		{"the account is empty", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u13@status=402")}, []string{"provider"}, "no money"},
		{"it answers with a page", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u18-html")}, []string{"answer"}, "check dialect and base_url"},
		{"it reports no usage", config.Provider{BaseURL: base + "/v1", Models: chat("fault-u30-missing")}, []string{""}, "reports no usage"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.DataDir, cfg.Builtin.All = t.TempDir(), false
			c.provider.ID = "hut"
			cfg.Providers = []config.Provider{c.provider}
			var got []app.Trial
			if err := app.TestProvider(t.Context(), cfg, "hut", false, func(one app.Trial) { got = append(got, one) }); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.wrong) {
				t.Fatalf("%d calls, want %d: %+v", len(got), len(c.wrong), got)
			}
			for i, want := range c.wrong {
				if got[i].Wrong != want {
					t.Errorf("call %d: %q is wrong, want %q: %+v", i, got[i].Wrong, want, got[i])
				}
			}
			advice := strings.Join(got[len(got)-1].Advice, " ")
			if c.advice == "" && advice != "" || !strings.Contains(advice, c.advice) {
				t.Errorf("advice %q, want %q", advice, c.advice)
			}
		})
	}
}

// Each type of model is called once, but for those that cost more than a test is worth.
func TestEachTypeIsTested(t *testing.T) {
	t.Parallel()
	simulator := sim.New(sim.Config{})
	listener := apptest.Listen(t)
	go func() { _ = simulator.Serve(listener) }()
	t.Cleanup(func() { _ = simulator.Close(context.Background()) })
	cfg := config.Default()
	cfg.DataDir, cfg.Builtin.All = t.TempDir(), false
	p := config.Provider{ID: "hut", BaseURL: "http://" + listener.Addr().String() + "/v1"}
	tokens, each := config.Prices{Prompt: "1", Completion: "1"}, config.Prices{Prompt: "1"}
	p.Models = []config.Offer{
		{ID: "a/chat", UpstreamID: "chat", Prices: tokens},
		{ID: "a/embed", UpstreamID: "embed", Prices: each},
		{ID: "a/judge", UpstreamID: "moderation", Prices: config.Prices{Request: "1"}},
		{ID: "a/hear", UpstreamID: "whisper-1", Prices: config.Prices{Minute: "1"}},
		{ID: "a/speak", UpstreamID: "tts-1", Prices: config.Prices{Characters: "1"}},
		{ID: "a/draw", UpstreamID: "gpt-image-1", Prices: tokens},
	}
	for slug, kind := range map[string]string{
		"a/embed": catalog.TypeEmbedding, "a/judge": catalog.TypeModeration, "a/hear": catalog.TypeTranscription, "a/speak": catalog.TypeSpeech, "a/draw": catalog.TypeImage,
	} {
		cfg.Models = append(cfg.Models, config.Model{ID: slug, Type: kind})
	}
	cfg.Providers = []config.Provider{p}
	for _, all := range []bool{false, true} {
		called := map[string]string{}
		err := app.TestProvider(t.Context(), cfg, "hut", all, func(one app.Trial) {
			called[one.Type] = one.Skipped
			if one.Wrong != "" {
				t.Errorf("%+v", one)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{catalog.TypeChat, catalog.TypeEmbedding, catalog.TypeModeration, catalog.TypeTranscription, catalog.TypeSpeech, catalog.TypeImage} {
			why, ok := called[kind]
			if want := kind == catalog.TypeImage && !all; !ok || (why != "") != want {
				t.Errorf("all %t: %s was called: %t, %q", all, kind, ok, why)
			}
		}
	}
	if err := app.TestProvider(t.Context(), cfg, "hot", false, nil); err == nil || !strings.Contains(err.Error(), "these do: hut") {
		t.Errorf("an unknown provider: %v", err)
	}
}
