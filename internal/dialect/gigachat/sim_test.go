package gigachat_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/dialect/gigachat"
	"weir/internal/sim"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

func deps(now time.Time, answer func(*auth.Call) string) auth.Deps {
	return auth.Deps{Now: func() time.Time { return now }, Go: func(run func(context.Context)) { go run(context.Background()) },
		Fetch: func(_ context.Context, c *auth.Call) (int, []byte, error) { return 200, []byte(answer(c)), nil }}
}

// The simulator gives tokens and lets them grow old as the service does.
func TestSimulator(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var passed atomic.Int64 // nanoseconds
	now := func() time.Time { return start.Add(time.Duration(passed.Load())) }
	var tokens atomic.Int64
	s := sim.New(sim.Config{Key: "secret", Now: now})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/oauth") {
			tokens.Add(1)
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"gigachat": new(gigachat.Dialect)}, Now: now})
	defer c.Close()
	ep := endpoint(func(ep *catalog.Endpoint) {
		ep.UpstreamID, ep.Provider.BaseURL = "chat", srv.URL+"/api/v1"
		ep.Provider.Key = base64.StdEncoding.EncodeToString([]byte("client:secret"))
		ep.Provider.Quirks.AuthURL = srv.URL + "/api/v2/oauth"
	})
	const functions = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}],`
	complete := func(body string) (upstreamtest.Sum, string) {
		var details string
		got := upstreamtest.Collect(func(yield func(*completion.Event, error) bool) {
			for ev, err := range c.Complete(context.Background(), ep, fromChat(t, body), nil) {
				if ev != nil {
					details += string(ev.ReasoningDetails)
				}
				if !yield(ev, err) {
					return
				}
			}
		})
		if got.Err != nil || got.Usage == nil || !got.Done {
			t.Fatalf("%s: %+v", body, got)
		}
		return got, details
	}
	for _, stream := range []string{`"stream":true,`, ""} {
		got, details := complete(stream + functions + `"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"weather"}]`)
		if len(got.Calls) != 1 || got.Calls[0].Name != "weather" || got.Finish != completion.ToolCalls || !strings.Contains(details, `"data":"weir.1.`) {
			t.Fatalf("%+v %s", got, details)
		}
		got, _ = complete(stream + functions + `"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"weather"},{"role":"assistant","reasoning_details":` + details +
			`,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":` + q(string(got.Calls[0].Arguments)) + `}}]},{"role":"tool","tool_call_id":"c1","content":"clear"}]`)
		if !strings.Contains(got.Text, "clear") {
			t.Errorf("%+v", got)
		}
	}
	if n := tokens.Load(); n != 1 {
		t.Errorf("%d tokens", n)
	}
	passed.Store(int64(31 * time.Minute)) // the token has expired, and the client has noticed
	complete(ask)
	if n := tokens.Load(); n != 2 {
		t.Errorf("%d tokens", n)
	}
}
