package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// liar is a provider on four wires. It reports a token at the beginning and sends four hundred words. Then it breaks off, or ends with the
// report that ends returns.
func liar(t *testing.T, ends func(path string) string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(name, data string) {
			if name != "" {
				fmt.Fprintf(w, "event: %s\n", name)
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		var piece func(int)
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`)
			event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
			piece = func(int) {
				event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`)
			}
		case strings.HasSuffix(r.URL.Path, "/chat/completions"):
			piece = func(i int) {
				u := ""
				if i < 3 { // running usage, as some servers report it
					u = fmt.Sprintf(`,"usage":{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d}`, i+1, i+11)
				}
				event("", `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]`+u+`}`)
			}
		case strings.HasSuffix(r.URL.Path, "/responses"):
			event("response.created", `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[],"usage":null}}`)
			event("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`)
			piece = func(int) {
				event("response.output_text.delta", `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"word "}`)
			}
		default: // Gemini
			piece = func(i int) {
				event("", `{"candidates":[{"content":{"role":"model","parts":[{"text":"word "}]},"index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1,"totalTokenCount":11}}`)
			}
		}
		for i := range 400 {
			piece(i)
		}
		last := ends(r.URL.Path)
		fmt.Fprint(w, last)
		w.(http.Flusher).Flush()
		if last == "" {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

var lyingWires = []struct{ dialect, base string }{{"openai", "/v1"}, {"anthropic", ""}, {"gemini", "/v1beta"}, {"responses", "/v1"}}

// lyingGateway has a model on each wire of the liar.
func lyingGateway(t *testing.T, ends func(path string) string, change ...func(*apptest.Setup)) *apptest.Gateway {
	t.Helper()
	srv := liar(t, ends)
	return apptest.StartGateway(t, append(change, func(s *apptest.Setup) {
		for _, w := range lyingWires {
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "liar-" + w.dialect, Name: "Liar " + w.dialect, Dialect: w.dialect, BaseURL: srv.URL + w.base, Key: "sk-upstream-key"})
			s.Declared.Offers = append(s.Declared.Offers, apptest.OfferOf(t, "liar-"+w.dialect, "liar/"+w.dialect, "m"))
		}
	})...)
}

// On every wire and in every style: if an answer breaks off before its last report, what was delivered is charged, not what was reported at
// the beginning.
func TestBrokenAnswersArePaidFor(t *testing.T) {
	t.Parallel()
	gw := lyingGateway(t, func(string) string { return "" })
	for _, wire := range lyingWires {
		for _, style := range []struct {
			path string
			body map[string]any
		}{
			{"/v1/chat/completions", map[string]any{"messages": apptest.Question}},
			{"/v1/messages", map[string]any{"messages": apptest.Question, "max_tokens": 1000}},
			{"/v1/responses", map[string]any{"input": "Tell me about weirs."}},
		} {
			t.Run(wire.dialect+style.path, func(t *testing.T) {
				t.Parallel()
				a := gw.NewAccount(t)
				body := map[string]any{"model": "liar/" + wire.dialect, "stream": true}
				for k, v := range style.body {
					body[k] = v
				}
				got := a.Do(t, http.MethodPost, style.path, body)
				id := got.Header.Get("X-Generation-Id")
				if got.Status != http.StatusOK || id == "" {
					t.Fatalf("status %d: %s", got.Status, got.Body)
				}
				g := a.Generation(t, id)
				if g.TokensCompletion < 300 || g.TokensCompletion > 600 || g.TokensPrompt == 0 || apptest.Parse(t, g.TotalCost) != apptest.TestCost(t, g.TokensPrompt, g.TokensCompletion) {
					t.Errorf("charged for %+v", g)
				}
			})
		}
	}
}

// lies ends an answer with a report of so many tokens.
func lies(tokens int64) func(string) string {
	return func(string) string {
		return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d}}`+"\n\ndata: [DONE]\n\n", tokens, tokens+10)
	}
}

// Each implausible report is counted, but not each is logged: the first one is logged at once, later ones as a number.
func TestImplausibleReportsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	const calls, line = 25, "a provider reported implausible usage"
	clock := &slowClock{now: time.Now()}
	gw := lyingGateway(t, lies(999_999_999), func(s *apptest.Setup) { s.Server.AdminListen, s.Clock = "127.0.0.1:0", clock.Now })
	a := gw.NewAccount(t)
	lied := func() {
		if got := a.Chat(t, map[string]any{"model": "liar/openai", "stream": true, "messages": apptest.Question, "max_tokens": 100}); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	for range calls {
		lied()
	}
	counted := fmt.Sprintf(`weir_usage_doubts_total{kind="capped",provider="liar-openai"} %d`, calls)
	apptest.WaitFor(t, counted, func() bool { return strings.Contains(gw.Metrics(t), counted) })
	if n := strings.Count(gw.Log.String(), line); n != 1 {
		t.Errorf("%d lines", n)
	}
	clock.add(time.Minute)
	lied()
	apptest.WaitFor(t, "the next line", func() bool { return strings.Count(gw.Log.String(), line) == 2 })
	if want := fmt.Sprintf(`"not_logged":%d`, calls-1); !strings.Contains(gw.Log.String(), want) {
		t.Errorf("the log has no %s", want)
	}
}

// A last report of more than the call can have used, or of far less than was delivered, is charged up to a limit, and marked.
func TestImplausibleReports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doubt string
		n     int64
		want  int64
	}{{"capped", 999_999_999, 4000}, {"low", 3, 3}} {
		t.Run(c.doubt, func(t *testing.T) {
			t.Parallel()
			gw := lyingGateway(t, lies(c.n), func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
			a := gw.NewAccount(t)
			got := a.Chat(t, map[string]any{"model": "liar/openai", "stream": true, "messages": apptest.Question})
			id := got.Header.Get("X-Generation-Id")
			if g := a.Generation(t, id); g.TokensCompletion != c.want {
				t.Errorf("charged for %+v", g)
			}
			var call struct {
				Data struct {
					Usage struct{ Source string }
				}
			}
			record := a.Do(t, http.MethodGet, "/api/calls/"+id, nil)
			if err := json.Unmarshal(record.Body, &call); err != nil || call.Data.Usage.Source != c.doubt {
				t.Errorf("%v: %s", err, record.Body)
			}
			if counted := fmt.Sprintf(`weir_usage_doubts_total{kind=%q,provider="liar-openai"} 1`, c.doubt); !strings.Contains(gw.Metrics(t), counted+"\n") {
				t.Errorf("the metrics have no %s", counted)
			}
		})
	}
}
