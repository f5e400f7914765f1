package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
)

func admin(t *testing.T, n *node, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	n.api.Admin().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// A drain says at once that it is under way, and takes work for as long as balancers may need to notice. A hurry ends that.
func TestDrainIsSaid(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	if w := admin(t, n, "/readyz"); w.Code != 200 {
		t.Fatalf("readiness before: %d", w.Code)
	}
	ctx, hurry := context.WithCancel(t.Context())
	drained := make(chan error, 1)
	go func() { drained <- n.server.Drain(ctx, time.Hour, time.Hour) }()
	for admin(t, n, "/readyz").Code != 503 {
		<-time.After(time.Millisecond)
	}
	if r := n.do("GET", "/readyz", ""); r.StatusCode != 503 || !r.Close {
		t.Errorf("readiness during: %d, close %v", r.StatusCode, r.Close)
	}
	if r := n.do("GET", "/v1/credits", ""); r.StatusCode != 200 || !r.Close {
		t.Errorf("new work during the delay: %d, close %v", r.StatusCode, r.Close)
	}
	if admin(t, n, "/healthz").Code != 200 {
		t.Error("the process does not live")
	}
	hurry()
	<-drained // with or without an error: a connection may still be on its way to idle
	if n.listens() {
		t.Error("the listener is open")
	}
}

// A drain closes the listener and lets work end.
func TestDrainLetsWorkEnd(t *testing.T) {
	t.Parallel()
	begun, leave := make(chan struct{}), make(chan struct{})
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		begun <- struct{}{}
		<-leave
		return hello(ctx, c, sink)
	}), nil)
	done := make(chan *response, 1)
	go func() { done <- n.do("POST", "/v1/chat/completions", chatBody(true)) }()
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- n.server.Drain(context.Background(), 0, time.Minute) }()
	for n.listens() {
		<-time.After(5 * time.Millisecond)
	}
	close(leave)
	if r := <-done; r.StatusCode != 200 || !bytes.HasSuffix(r.body, []byte("[DONE]\n\n")) {
		t.Errorf("work in flight: %d %q", r.StatusCode, r.body)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain: %v", err)
	}
	if err := <-n.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// listens reports whether new connections are taken.
func (n *node) listens() bool {
	c, err := net.Dial("tcp", n.addr)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// At the deadline the remaining streams end with an error that says so.
func TestDrainCutsAtTheDeadline(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		_ = sink.Start(served(c))
		_ = sink.Event(&completion.Event{Text: []byte("part")})
		close(begun)
		<-ctx.Done()
		var f *fault.Error
		if !errors.As(context.Cause(ctx), &f) {
			t.Errorf("cause is %v", context.Cause(ctx))
			return context.Cause(ctx)
		}
		return f
	}), nil)
	done := make(chan *response, 1)
	go func() { done <- n.do("POST", "/v1/chat/completions", chatBody(true)) }()
	<-begun
	if err := n.server.Drain(context.Background(), 0, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Drain: %v; want DeadlineExceeded", err)
	}
	r := <-done
	if f := frames(r.body); len(f) < 2 || f[len(f)-1] != "[DONE]" || !strings.Contains(f[len(f)-2], `"error_type":"draining"`) {
		t.Errorf("stream ends with %q", f)
	}
}

// A connection beyond a limit gets an answer, whichever server reads requests, and is counted.
func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit   func(*httpapi.Config)
		status int
		limit  string
	}{
		"of one address": {func(c *httpapi.Config) { c.MaxConnsByAddress = 2 }, 429, "max_connections_per_address"},
		"of all":         {func(c *httpapi.Config) { c.MaxConns = 2 }, 503, "max_connections"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(hello), c.edit)
			get := func(s *socket) (int, string) {
				t.Helper()
				if _, err := io.WriteString(s, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(s.r, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 && (!resp.Close || resp.Header.Get("Retry-After") == "") {
					t.Errorf("%v, close %t, %v", err, resp.Close, resp.Header)
				}
				return resp.StatusCode, string(body)
			}
			open := []*socket{n.dial(), n.dial()}
			for _, s := range open {
				if status, _ := get(s); status != 200 {
					t.Fatal(status)
				}
			}
			third := n.dial()
			if status, body := get(third); status != c.status || !strings.Contains(body, `"error_type"`) {
				t.Fatalf("a third connection: %d %s", status, body)
			}
			if rest, err := io.ReadAll(third.r); err != nil || len(rest) > 0 {
				t.Errorf("after the refusal: %q, %v", rest, err)
			}
			if text := scrape(t, n); !strings.Contains(text, `weir_connections_refused_total{limit="`+c.limit+`"} 1`) {
				t.Error("the refusal is not counted")
			}
			_ = open[0].Close()
			for status := 0; status != 200; status, _ = get(n.dial()) { // until the place is free
				<-time.After(5 * time.Millisecond)
			}
			if status, _ := get(open[1]); status != 200 {
				t.Errorf("the second connection: %d", status)
			}
		})
	}
}

func TestSlowHeads(t *testing.T) {
	t.Parallel()
	s := start(t, relayFunc(hello), func(c *httpapi.Config) { c.ReadHeader = 100 * time.Millisecond }).dial()
	s.send("GET /healthz HTTP/1.1\r\nHo")
	// A 408 before the end is welcome. Where the half arrives after the time, the system may report a reset.
	if rest, err := io.ReadAll(s.r); err != nil && !errors.Is(err, syscall.ECONNRESET) || bytes.Contains(rest, []byte(" 200 ")) {
		t.Fatalf("half a head: %q, %v", rest, err)
	}
	idle := start(t, relayFunc(hello), func(c *httpapi.Config) { c.ReadHeader, c.IdleConn = time.Minute, 100*time.Millisecond }).dial()
	idle.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if r := idle.response(); r.StatusCode != 200 {
		t.Fatalf("status %d", r.StatusCode)
	}
	idle.closed(3 * time.Minute)
	silent := start(t, relayFunc(hello), func(c *httpapi.Config) { c.ReadHeader, c.IdleConn = 100*time.Millisecond, time.Minute }).dial()
	silent.closed(3 * time.Minute)
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	n.do("POST", "/v1/chat/completions", chatBody(false))
	n.do("POST", "/v1/chat/completions", "{", "Authorization", "")
	n.do("GET", "/sk-weir-v1-0123456789", "")
	n.api.Metrics.Attempted("acme/acme/small", time.Second, nil)
	n.api.Metrics.Attempted("acme/acme/small", time.Second, fault.New(fault.Timeout, "x", ""))
	text := scrape(t, n)
	for _, want := range []string{
		`weir_http_requests_total{class="2xx",route="POST /v1/chat/completions"} 1`,
		`weir_http_requests_total{class="4xx",route="POST /v1/chat/completions"} 1`,
		`weir_http_requests_total{class="4xx",route="other"} 1`,
		`weir_calls_total{model="acme/small",provider="acme"} 1`,
		`weir_upstream_attempts_total{endpoint="acme/acme/small",result="ok"} 1`,
		`weir_upstream_attempts_total{endpoint="acme/acme/small",result="failed"} 1`,
		`weir_auth_failures_total 1`, `weir_http_in_flight 0`, `weir_body_bytes 0`, `weir_log_dropped_lines 0`, `go_goroutines`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	if strings.Contains(text, "sk-weir") {
		t.Error("a client's path became a label")
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/debug/pprof/": 200, "/debug/pprof/cmdline": 200, "/v1/models": 404} {
		if w := admin(t, n, path); w.Code != want {
			t.Errorf("%s: %d; want %d", path, w.Code, want)
		}
	}
}

// Secrets and prompts are planted wherever a client or an upstream can put them, and looked for in everything that comes out.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	const secret = "sk-weir-v1-CANARYcanary0123456789abcdefghijklmnopqrstuvwxyzAB"
	const prompt = "CANARYPROMPT"
	n := start(t, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
		switch c.Request.User {
		case "panic":
			panic(prompt + secret)
		case "upstream":
			return &fault.Error{Kind: fault.ProviderUnavailable, Op: "x", Public: "The provider said " + secret, Cause: errors.New(secret),
				Upstream: &fault.Upstream{Provider: "Acme", Status: 500, Code: secret, Raw: "Bearer " + secret + " " + configuredSecret}}
		case "late":
			_ = sink.Start(served(c))
			_ = sink.Event(&completion.Event{Text: []byte("part")})
			return &fault.Error{Kind: fault.Timeout, Public: secret, Upstream: &fault.Upstream{Raw: configuredSecret}}
		case "bug":
			return fault.Wrap("x", errors.New("token "+secret))
		}
		return answer(c, sink, "fine")
	}), nil)
	out := bytes.Buffer{}
	for _, user := range []string{"panic", "upstream", "late", "bug", "none", secret} {
		for _, stream := range []string{"true", "false"} {
			body := `{"model":"acme/small","user":"` + user + `","stream":` + stream + `,"messages":[{"role":"user","content":"` + prompt + `"}]}`
			r := n.do("POST", "/v1/chat/completions", body, "X-Request-Id", secret, "Cookie", prompt, "User-Agent", secret, "X-Title", prompt)
			out.Write(r.body)
		}
	}
	for _, body := range []string{`{"model":"` + secret + `","messages":[]}`, `{"` + secret + `":` + prompt, `{"model":1,"` + prompt + `":"` + secret + `"}`} {
		out.Write(n.do("POST", "/v1/chat/completions", body).body)
	}
	out.Write(n.do("GET", "/v1/credits", "", "Authorization", "Bearer "+secret).body)
	out.Write(n.do("GET", "/v1/credits", "", "Authorization", secret).body)
	out.Write(n.do("GET", "/v1/"+secret+"?key="+secret, "").body)
	log := n.logged()
	for what, text := range map[string]string{"bodies": out.String(), "log": log} {
		for _, canary := range []string{"CANARYcanary", prompt, n.first.KeyText, configuredSecret} {
			if strings.Contains(text, canary) {
				i := strings.Index(text, canary)
				t.Errorf("%s hold %s: ...%s", what, canary, text[max(0, i-200):i+20])
			}
		}
	}
	if strings.Count(log, `"msg":"access"`) != 18 {
		t.Errorf("%d access records; want one for each of 18 requests", strings.Count(log, `"msg":"access"`))
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	r := n.do("GET", "/openapi.yaml", "", "Authorization", "")
	file, err := os.ReadFile("openapi.yaml")
	if err != nil || !bytes.Equal(r.body, file) || !bytes.Equal(httpapi.OpenAPI(), file) {
		t.Fatalf("served document differs from the file: %v", err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(file, &doc); err != nil {
		t.Fatal(err)
	}
	if doc["openapi"] != "3.1.0" {
		t.Errorf("version %v", doc["openapi"])
	}
	var described, served []string
	ids := map[string]bool{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			described = append(described, strings.ToUpper(method)+" "+path)
			id, _ := at(operation, "operationId").(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: operation id %q is missing or not unique", method, path, id)
			}
			ids[id] = true
			if at(operation, "summary") == nil || at(operation, "responses") == nil {
				t.Errorf("%s %s lacks a summary or responses", method, path)
			}
		}
	}
	for _, route := range n.api.Routes() {
		served = append(served, route.Method+" "+route.Pattern)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("the document has\n%q\nthe table of routes\n%q", described, served)
	}
	words, _ := at(doc, "components", "schemas", "ErrorType", "enum").([]any)
	for _, kind := range fault.Kinds() {
		if !slices.Contains(words, any(kind.String())) {
			t.Errorf("ErrorType lacks %s", kind)
		}
	}
	checkSchema(t, doc, "", doc)
}

// schemaWords are the words that may be in a schema; a comma in an unquoted YAML sentence makes others.
var schemaWords = []string{"type", "properties", "required", "items", "enum", "const", "description", "additionalProperties", "$ref", "oneOf", "anyOf", "allOf", "minimum",
	"maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "format", "default", "deprecated", "writeOnly", "contentMediaType", "contentSchema"}

// checkSchema walks the document: references must lead somewhere, schemas must hold known words.
func checkSchema(t *testing.T, doc map[string]any, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			checkSchema(t, doc, path, inner)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			var steps []any
			for _, s := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
				steps = append(steps, s)
			}
			if at(doc, steps...) == nil {
				t.Errorf("%s: %s leads nowhere", path, ref)
			}
		}
		for name, inner := range v {
			if name == "example" {
				continue // a value, not a schema
			}
			if inner == nil {
				t.Errorf("%s: %q has no value", path, name)
			}
			if name == "schema" {
				checkWords(t, path+"/"+name, inner)
			}
			if strings.HasSuffix(path, "/components/schemas") {
				checkWords(t, path+"/"+name, inner)
			}
			checkSchema(t, doc, path+"/"+name, inner)
		}
	}
}

func checkWords(t *testing.T, path string, v any) {
	t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name, inner := range m {
		if !slices.Contains(schemaWords, name) {
			t.Errorf("%s: %q is no word of a schema", path, name)
		}
		switch name {
		case "properties":
			for property, schema := range inner.(map[string]any) {
				checkWords(t, path+"/"+property, schema)
			}
		case "items", "additionalProperties":
			checkWords(t, path+"/"+name, inner)
		case "oneOf", "anyOf", "allOf":
			for _, schema := range inner.([]any) {
				checkWords(t, path+"/"+name, schema)
			}
		}
	}
}

// recorder is a ResponseWriter that costs next to nothing.
type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header                { return r.header }
func (r *recorder) WriteHeader(status int)             { r.status = status }
func (r *recorder) Write(b []byte) (int, error)        { return len(b), nil }
func (r *recorder) SetReadDeadline(time.Time) error    { return nil }
func (r *recorder) SetWriteDeadline(t time.Time) error { return nil }

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

// BenchmarkFrontDoor is everything but net/http and the relay: 1 KB in, key, decode, encode, log, metrics.
func BenchmarkFrontDoor(b *testing.B) {
	n := start(b, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error { return answer(c, sink, "Hello") }), nil)
	payload := []byte(`{"model":"acme/small","messages":[{"role":"user","content":"` + strings.Repeat("word ", 190) + `"}]}`)
	h := http.Header{"Authorization": {"Bearer " + n.first.KeyText}, "Content-Type": {"application/json"}, "User-Agent": {"bench"}, "Accept": {"*/*"}}
	url := httptest.NewRequest("POST", "/v1/chat/completions", nil).URL
	b.ReportAllocs()
	for b.Loop() {
		r := &http.Request{Method: "POST", URL: url, RequestURI: "/v1/chat/completions", Proto: "HTTP/1.1",
			Header: h, ContentLength: int64(len(payload)), Body: body{bytes.NewReader(payload)}, RemoteAddr: "127.0.0.1:1234"}
		w := &recorder{header: http.Header{}}
		n.api.ServeHTTP(w, r)
		if w.status != 200 {
			b.Fatal(w.status)
		}
	}
}
