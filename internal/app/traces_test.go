package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/trace/otlp/otlptest"
)

const clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func traced(receiver string, change ...func(*config.Tracing)) func(*apptest.Setup) {
	return func(s *apptest.Setup) {
		s.Config.Tracing.Receiver.URL, s.Config.Tracing.Calls.Ratio = receiver, 1
		for _, f := range change {
			f(&s.Config.Tracing)
		}
	}
}

// spansOf waits for the spans of an answer.
func spansOf(t *testing.T, r *otlptest.Receiver, a *apptest.Answer) (server *otlptest.Span, attempts []otlptest.Span) {
	t.Helper()
	apptest.WaitFor(t, "spans", func() bool {
		server, attempts = r.Of(a.Header.Get("X-Request-Id"))
		return server != nil
	})
	return server, attempts
}

func chat(model string, more map[string]any) map[string]any {
	body := map[string]any{"model": model, "messages": []map[string]any{{"role": "system", "content": "Be brief, prompt-of-system."}, {"role": "user", "content": "Say prompt-of-user, my key is sk-or-v1-" + strings.Repeat("a1", 32)}}}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// A call is one span of the server's, with a child for each attempt that says what was asked of whom, how it ended and what it used.
func TestTracesOfCalls(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	gw := apptest.StartGateway(t, traced(receiver.URL))
	account := gw.NewAccount(t)

	whole := account.Chat(t, chat("test/next", nil))
	streamed := account.Chat(t, chat("test/next", map[string]any{"stream": true}))
	fallback := account.Chat(t, chat("test/u15-status-500", map[string]any{"models": []string{"test/u15-status-500", "test/next"}}))
	invalid := account.Chat(t, map[string]any{"model": "test/next"})
	for _, a := range []*apptest.Answer{whole, streamed, fallback} {
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}

	server, attempts := spansOf(t, receiver, whole)
	apptest.WaitFor(t, "the line of a traced call", func() bool { return strings.Contains(gw.Log.String(), `"trace_id":"`+server.Trace) })
	if server.Name != "POST /v1/chat/completions" || !server.Server || server.Parent != "" || server.Failed || server.Service != "weir" ||
		server.Attributes["http.response.status_code"] != int64(200) || server.Attributes["weir.model"] != "test/next" || server.Attributes["weir.generation_id"] != whole.Header.Get("X-Generation-Id") {
		t.Errorf("server's span %+v", server)
	}
	if cost, _ := server.Attributes["weir.cost_nano"].(int64); cost <= 0 {
		t.Errorf("cost %v", server.Attributes["weir.cost_nano"])
	}
	var said struct {
		Usage struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(whole.Body, &said); err != nil || len(attempts) != 1 {
		t.Fatalf("%v, attempts %+v", err, attempts)
	}
	one := attempts[0]
	for name, want := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "works", "gen_ai.request.model": "chat", "gen_ai.usage.input_tokens": said.Usage.Prompt,
		"gen_ai.usage.output_tokens": said.Usage.Completion, "server.address": "127.0.0.1", "http.response.status_code": int64(200),
	} {
		if one.Attributes[name] != want {
			t.Errorf("%s is %v, want %v", name, one.Attributes[name], want)
		}
	}
	if one.Name != "chat chat" || one.Server || one.Failed || one.Start < server.Start || one.End > server.End || one.End < one.Start {
		t.Errorf("attempt %+v of %+v", one, server)
	}

	if _, attempts = spansOf(t, receiver, streamed); attempts[0].Attributes["gen_ai.request.stream"] != true || attempts[0].Attributes["gen_ai.response.time_to_first_chunk"].(float64) < 0 {
		t.Errorf("a stream: %+v", attempts)
	}

	_, attempts = spansOf(t, receiver, fallback)
	last := len(attempts) - 1
	if last < 1 || !attempts[0].Failed || attempts[0].Attributes["error.type"] == nil || attempts[0].Attributes["http.response.status_code"] != int64(500) || attempts[0].Attributes["gen_ai.usage.input_tokens"] != nil ||
		attempts[last].Failed || attempts[last].Attributes["gen_ai.usage.input_tokens"] == nil || attempts[0].ID == attempts[last].ID {
		t.Errorf("a fallback: %+v", attempts)
	}

	server, attempts = spansOf(t, receiver, invalid)
	if len(attempts) != 0 || server.Failed || server.Attributes["http.response.status_code"] != int64(400) || server.Attributes["error.type"] == nil {
		t.Errorf("an invalid request: %+v %+v", server, attempts)
	}
	for _, secret := range []string{"prompt-of", account.Key, "sk-or-v1"} {
		if strings.Contains(string(receiver.Raw()), secret) {
			t.Errorf("a span has %q", secret)
		}
	}
}

// With its own setting on, spans have prompts and answers, up to the limit and without what looks like a key.
func TestTracesWithContent(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	gw := apptest.StartGateway(t, traced(receiver.URL, func(c *config.Tracing) { c.Calls.Content, c.Calls.ContentBytes = true, 1024 }))
	account := gw.NewAccount(t)
	for _, stream := range []bool{false, true} {
		body := chat("test/next", map[string]any{"stream": stream})
		body["messages"] = append(body["messages"].([]map[string]any), map[string]any{"role": "user", "content": strings.Repeat("long ", 10_000)})
		_, attempts := spansOf(t, receiver, account.Chat(t, body))
		var in, out []struct {
			Role  string
			Parts []struct{ Type, Content string }
		}
		input, _ := attempts[0].Attributes["gen_ai.input.messages"].(string)
		output, _ := attempts[0].Attributes["gen_ai.output.messages"].(string)
		if err := json.Unmarshal([]byte(input), &in); err != nil || len(in) < 2 || len(input) > 2048 {
			t.Fatalf("input %v %s", err, input)
		}
		if err := json.Unmarshal([]byte(output), &out); err != nil || len(out) != 1 || len(out[0].Parts) == 0 || out[0].Parts[0].Content == "" {
			t.Fatalf("output %v %s", err, output)
		}
		all := input + attempts[0].Attributes["gen_ai.system_instructions"].(string)
		if !strings.Contains(all, "prompt-of-system") || !strings.Contains(all, "prompt-of-user") || strings.Contains(all, "a1a1a1a1") {
			t.Errorf("content %s", all)
		}
	}
}

// Only clients that are trusted have their traces continued, and decide whether they are sampled.
func TestTracesOfClients(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	trusted := apptest.StartGateway(t, traced(receiver.URL, func(c *config.Tracing) { c.Calls.TrustFrom, c.Calls.Ratio = []string{"127.0.0.0/8"}, 0 })).NewAccount(t)
	all := apptest.StartGateway(t, traced(receiver.URL)).NewAccount(t)
	none := apptest.StartGateway(t, traced(receiver.URL, func(c *config.Tracing) { c.Calls.Ratio = 0 })).NewAccount(t)
	body, _ := json.Marshal(chat("test/next", nil))
	send := func(a *apptest.Account, flags string) *apptest.Answer {
		return a.Send(t, http.MethodPost, "/v1/chat/completions", body, map[string]string{"Traceparent": "00-" + clientTrace + "-00f067aa0ba902b7-" + flags})
	}
	send(none, "01") // not trusted: nothing arrives, which the end of this test shows
	send(trusted, "00")
	server, _ := spansOf(t, receiver, send(trusted, "01"))
	if server.Trace != clientTrace || server.Parent != "00f067aa0ba902b7" {
		t.Errorf("a trusted client's span %+v", server)
	}
	server, _ = spansOf(t, receiver, send(all, "01"))
	if server.Trace == clientTrace || server.Parent != "" || server.Link != clientTrace {
		t.Errorf("another client's span %+v", server)
	}
	servers := 0
	for _, s := range receiver.Spans("") {
		if s.Server {
			servers++
		}
	}
	if servers != 2 {
		t.Errorf("%d calls were traced, want 2", servers)
	}
}

// Providers get the name of a span only where the configuration says so.
func TestTracesPassedOn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string][]string{}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got[strings.Split(r.URL.Path, "/")[1]] = append(got[strings.Split(r.URL.Path, "/")[1]], r.Header.Get("Traceparent"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(provider.Close)
	receiver := otlptest.Start(t, nil)
	gw := apptest.StartGateway(t, traced(receiver.URL, func(c *config.Tracing) { c.Calls.PassTo = []string{"own"} }), func(s *apptest.Setup) {
		for _, id := range []string{"own", "foreign"} {
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: id, Name: id, Dialect: "openai", BaseURL: provider.URL + "/" + id})
			s.Offers = append(s.Offers, apptest.OfferOf(t, id, id+"/m", "m"))
		}
	})
	account := gw.NewAccount(t)
	body, _ := json.Marshal(chat("foreign/m", nil))
	account.Send(t, http.MethodPost, "/v1/chat/completions", body, map[string]string{"Traceparent": "00-" + clientTrace + "-00f067aa0ba902b7-01"})
	own := account.Chat(t, chat("own/m", nil))
	_, attempts := spansOf(t, receiver, own)
	mu.Lock()
	defer mu.Unlock()
	if want := "00-" + attempts[0].Trace + "-" + attempts[0].ID + "-01"; len(got["own"]) != 1 || got["own"][0] != want {
		t.Errorf("the own server got %q, want %s", got["own"], want)
	}
	if len(got["foreign"]) != 1 || got["foreign"][0] != "" {
		t.Errorf("another server got %q", got["foreign"])
	}
}

// No call depends on the receiver: not on one that never answers, is not there or answers rubbish.
func TestTracesThatNobodyTakes(t *testing.T) {
	t.Parallel()
	enough := make(chan struct{})
	silent := otlptest.Start(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-enough:
		}
	})
	rubbish := otlptest.Start(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("rubbish", 1000))
	})
	for name, url := range map[string]string{"silent": silent.URL, "dead": "http://127.0.0.1:1/v1/traces", "rubbish": rubbish.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := apptest.StartGateway(t, traced(url, func(c *config.Tracing) { c.Receiver.Queue = 64 << 10 }), func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
			account := gw.NewAccount(t)
			const calls = 100
			for i := range calls {
				if a := account.Chat(t, chat("test/next", map[string]any{"stream": i%2 == 0})); a.Status != http.StatusOK {
					t.Fatalf("call %d: %d %s", i, a.Status, a.Body)
				}
			}
			if name == "rubbish" {
				return
			}
			if dropped := metricOf(t, gw.Metrics(t), `weir_trace_spans_total{result="queue_full"}`); dropped == 0 || dropped > 2*calls {
				t.Errorf("%g spans were dropped", dropped)
			}
			if name == "silent" {
				close(enough) // the node does not wait at its end
			}
		})
	}
}

// metricOf is a value of /metrics.
func metricOf(t *testing.T, text, name string) float64 {
	t.Helper()
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") })
	if at < 0 {
		t.Fatalf("there is no %s", name)
	}
	v, err := strconv.ParseFloat(strings.TrimPrefix(lines[at], name+" "), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An answer in the background has the span of its request, which ends with it.
func TestTraceOfTheBackground(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	account := apptest.StartGateway(t, traced(receiver.URL)).NewAccount(t)
	a := account.Do(t, http.MethodPost, "/v1/responses", map[string]any{"model": "test/next", "input": "hello", "background": true, "store": true})
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	server, attempts := spansOf(t, receiver, a)
	if len(attempts) != 1 || server.Attributes["http.route"] != "/v1/responses" || time.Duration(server.End-server.Start) < time.Duration(attempts[0].End-attempts[0].Start) {
		t.Errorf("%+v %+v", server, attempts)
	}
}

// A job goes on in the trace of the request that made it: a child with what became of it, and with a child for each provider that was asked.
func TestTracesOfVideos(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	models := map[string]string{"film/works": "video", "film/fails": "video@job=fail"}
	gw := apptest.StartGateway(t, apptest.Videos(t, "", models), traced(receiver.URL))
	account := gw.NewAccount(t)
	for model, upstream := range models {
		asked := account.Do(t, http.MethodPost, "/v1/videos", apptest.Shoot(model, "A heron, prompt-of-film."))
		job := account.AwaitVideo(t, asked.Video(t, http.StatusAccepted).ID, "completed", "failed")
		server, jobs := spansOf(t, receiver, asked)
		apptest.WaitFor(t, "the span of the job", func() bool {
			_, jobs = receiver.Of(asked.Header.Get("X-Request-Id"))
			return len(jobs) == 1
		})
		of := jobs[0]
		if of.Name != "video "+model || of.Server || of.Trace != server.Trace || of.Attributes["weir.job_id"] != job.ID || of.Attributes["weir.generation_id"] != job.Generation ||
			of.Attributes["http.route"] != nil || of.Attributes["weir.attempts"] != int64(1) {
			t.Errorf("%s: the job's span %+v", model, of)
		}
		cost, settled := of.Attributes["weir.cost_nano"].(int64)
		if failed := job.Status == "failed"; failed != of.Failed || failed != (of.Attributes["error.type"] != nil) || settled == failed || cost > 0 == failed {
			t.Errorf("%s: %s, and its span %+v", model, job.Status, of)
		}
		var attempts []otlptest.Span
		for _, s := range receiver.Spans(server.Trace) {
			if s.Parent == of.ID {
				attempts = append(attempts, s)
			}
		}
		if len(attempts) != 1 || attempts[0].Name != "video "+upstream || attempts[0].Attributes["gen_ai.operation.name"] != "video" ||
			attempts[0].Attributes["gen_ai.provider.name"] != "filmer" || attempts[0].Attributes["server.address"] != "127.0.0.1" || attempts[0].Attributes["http.response.status_code"] != int64(200) ||
			attempts[0].Start < of.Start || attempts[0].End > of.End {
			t.Errorf("%s: attempts %+v", model, attempts)
		}
	}
	if strings.Contains(string(receiver.Raw()), "prompt-of") {
		t.Error("a span has a prompt")
	}
}
