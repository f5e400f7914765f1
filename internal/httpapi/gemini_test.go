package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/money"
	"weir/internal/relay"
)

const (
	contents = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	generate = "/v1beta/models/acme/small:generateContent"
	stream   = "/v1beta/models/acme/small:streamGenerateContent"
)

func TestGemini(t *testing.T) {
	t.Parallel()
	calls := make(chan *relay.Call, 1)
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		calls <- c
		return hello(ctx, c, sink)
	}), nil)
	r := n.do("POST", generate, contents, "X-Session-Id", "s", "X-Provider-Preferences", `{"only":["acme"]}`)
	m := r.json(t)
	if r.StatusCode != 200 || at(m, "candidates", 0, "content", "parts", 0, "text") != "Hello" || at(m, "modelVersion") != "acme/small" || at(m, "usageMetadata", "cost") == nil || at(m, "responseId") != r.Header.Get("X-Generation-Id") {
		t.Fatalf("status %d, body %s", r.StatusCode, r.body)
	}
	if c := <-calls; c.API != "gemini" || c.Request.Style != completion.Gemini || c.Request.SessionID != "s" || c.Request.Preferences.Only[0] != "acme" || c.Request.Stream {
		t.Errorf("%+v", c.Request)
	}
	r = n.do("POST", stream+"?alt=sse", contents)
	if fs := frames(r.body); r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" || len(fs) < 2 || !strings.Contains(fs[len(fs)-1], `"finishReason":"STOP"`) {
		t.Errorf("status %d, body %s", r.StatusCode, r.body)
	}
	if c := <-calls; !c.Request.Stream {
		t.Errorf("%+v", c.Request)
	}
	r = n.do("POST", stream, contents)
	var pieces []map[string]any
	if err := json.Unmarshal(r.body, &pieces); err != nil || r.Header.Get("Content-Type") != "application/json; charset=utf-8" || len(pieces) < 2 {
		t.Errorf("%v: %s", err, r.body)
	}
	<-calls
}

// The name of a model may be written in several ways.
func TestGeminiNames(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		asked <- c.Request.Models[0]
		return hello(ctx, c, sink)
	}), nil)
	for name, want := range map[string]string{
		"acme/small": "acme/small", "acme%2Fsmall": "acme/small", "small": "acme/small", "models%2Facme%2Fsmall": "acme/small", "acme/small:free": "acme/small:free", "small:free": "acme/small:free", "no/such": "no/such",
	} {
		r := n.do("POST", "/v1beta/models/"+name+":generateContent", contents)
		if got := <-asked; r.StatusCode != 200 || got != want {
			t.Errorf("%s: status %d, asked for %s", name, r.StatusCode, got)
		}
	}
	for path, status := range map[string]int{
		"/v1beta/models/acme/small": 200, "/v1beta/models/small": 200, "/v1beta/models/acme%2Fsmall": 200, "/v1beta/models/none": 404, "/v1beta/models/": 200, "/v1beta/models": 200, "/api/v1beta/models": 200,
		"/v1beta/models/a/b/c": 404, "/v1betax/models": 404, "/v1beta": 404,
	} {
		r := n.do("GET", path, "")
		if r.StatusCode != status || status == 404 && path != "/v1betax/models" && at(r.json(t), "error", "status") != "NOT_FOUND" {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// Pages of a list have every model once.
func TestGeminiModels(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	whole := n.do("GET", "/v1beta/models?pageSize=1000", "")
	all, _ := at(whole.json(t), "models").([]any)
	seen, token := map[string]bool{}, ""
	for range all {
		r := n.do("GET", "/v1beta/models?pageSize=1&pageToken="+url.QueryEscape(token), "")
		m := r.json(t)
		name, _ := at(m, "models", 0, "name").(string)
		if r.StatusCode != 200 || !strings.HasPrefix(name, "models/") || seen[name] || at(m, "models", 0, "supportedGenerationMethods", 0) == nil {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		seen[name] = true
		token, _ = at(m, "nextPageToken").(string)
	}
	if len(all) < 2 || token != "" || !seen["models/acme/small"] {
		t.Errorf("%d models, then %q", len(all), token)
	}
	if r := n.do("GET", "/v1beta/models", "", "If-None-Match", n.do("GET", "/v1beta/models", "").Header.Get("Etag")); r.StatusCode != http.StatusNotModified {
		t.Errorf("a list that the client has: %d", r.StatusCode)
	}
	for query, param := range map[string]string{"pageSize=x": "pageSize", "pageSize=-1": "pageSize", "pageToken=no/such": "pageToken"} {
		r := n.do("GET", "/v1beta/models?"+query, "")
		if r.StatusCode != 400 || at(r.json(t), "error", "details", 0, "metadata", "param") != param {
			t.Errorf("%s: %d %s", query, r.StatusCode, r.body)
		}
	}
}

// The key may be in three places; two different keys of ours are refused, and the answer shows none.
func TestGeminiKeys(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	own, other := n.first.KeyText, n.newKey()
	for name, tc := range map[string]struct {
		authorization, header, query, path string
		status                             int
	}{
		"bearer": {"Bearer " + own, "", "", generate, 200}, "header": {"", own, "", generate, 200}, "query": {"", "", own, generate, 200},
		"a vendor's key beside ours": {"", "AIzaOther", own, generate, 200}, "and the other way round": {"", own, "AIzaOther", generate, 200},
		"the same twice": {"Bearer " + own, own, own, generate, 200}, "two of ours": {"", own, other, generate, 401}, "two in headers": {"Bearer " + own, other, "", generate, 401},
		"none": {"", "", "", generate, 401}, "a wrong one": {"", "", "AIzaOther", generate, 401}, "counting": {"", "", own, "/v1beta/models/acme/small:countTokens", 200},
		"elsewhere the query is no place for keys": {"", "", own, "/v1/chat/completions", 401}, "nor is the header": {"", own, "", "/v1/chat/completions", 401},
		"but two keys are refused everywhere": {"Bearer " + own, other, "", "/v1/chat/completions", 401},
	} {
		body := contents
		if strings.HasPrefix(tc.path, "/v1/") {
			body = chatBody(false)
		}
		target := n.url + tc.path
		if tc.query != "" {
			target += "?key=" + url.QueryEscape(tc.query)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if tc.authorization != "" {
			req.Header.Set("Authorization", tc.authorization)
		}
		if tc.header != "" {
			req.Header.Set("X-Goog-Api-Key", tc.header)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		_, _ = got.ReadFrom(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tc.status || strings.Contains(got.String(), own) || strings.Contains(got.String(), other) {
			t.Errorf("%s: status %d, want %d: %s", name, res.StatusCode, tc.status, got.String())
		}
	}
	if log := n.logged(); strings.Contains(log, own) || strings.Contains(log, other) || strings.Contains(log, "AIza") {
		t.Errorf("a key is in the log: %s", log)
	}
}

// A page of ours calls in this style with its session, under /api/v1beta; a key in the query goes before the session.
func TestGeminiSession(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	page := n.page(n.signIn()...)
	if r := n.do("POST", "/api"+generate, contents, page...); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("POST", "/api"+generate+"?key=x", contents, page...); r.StatusCode != 401 {
		t.Errorf("a wrong key beside a session: %d %s", r.StatusCode, r.body)
	}
	if r := n.do("POST", generate, contents, page...); r.StatusCode != 401 {
		t.Errorf("a session outside of /api: %d %s", r.StatusCode, r.body)
	}
}

// Every error below the path has the envelope of the style.
func TestGeminiErrors(t *testing.T) {
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
		method, path, body, word string
		status                   int
		header                   []string
	}{
		"bad body":         {"POST", generate, `{"contents":[]}`, "INVALID_ARGUMENT", 400, nil},
		"bad preferences":  {"POST", generate, contents, "INVALID_ARGUMENT", 400, []string{"X-Provider-Preferences", "x"}},
		"a wrong method":   {"DELETE", generate, "", "UNIMPLEMENTED", 405, nil},
		"another method":   {"POST", "/v1beta/models/acme/small:predict", "{}", "NOT_FOUND", 404, nil},
		"a wrong path":     {"POST", "/v1beta/cachedContents", "{}", "NOT_FOUND", 404, nil},
		"a wrong path too": {"GET", "/v1beta/files", "", "NOT_FOUND", 404, nil},
		"nobody":           {"POST", generate, contents, "UNAUTHENTICATED", 401, []string{"Authorization", "Bearer x"}},
		"management":       {"POST", generate, contents, "PERMISSION_DENIED", 403, []string{"Authorization", "Bearer " + n.first.ManagementKey}},
		"no capacity":      {"POST", generate, contents, "UNAVAILABLE", 503, nil},
		"a form":           {"POST", generate, contents, "INVALID_ARGUMENT", 415, []string{"Content-Type", "text/plain"}},
		"a name with NUL":  {"POST", "/v1beta/models/a%00b:generateContent", contents, "INVALID_ARGUMENT", 400, nil},
		"not UTF-8":        {"POST", "/v1beta/models/%ff:embedContent", `{"content":{"parts":[{"text":"q"}]}}`, "INVALID_ARGUMENT", 400, nil},
		"a long name":      {"POST", "/v1beta/models/" + strings.Repeat("a", 300) + ":countTokens", contents, "INVALID_ARGUMENT", 400, nil},
		"an unknown model": {"POST", "/v1beta/models/no/such:countTokens", contents, "NOT_FOUND", 404, nil},
	} {
		r := n.do(tc.method, tc.path, tc.body, tc.header...)
		m := r.json(t)
		if r.StatusCode != tc.status || at(m, "error", "status") != tc.word || at(m, "error", "code") != float64(tc.status) || at(m, "error", "message") == "" || at(m, "error", "details", 0, "metadata", "request_id") != r.Header.Get("X-Request-Id") {
			t.Errorf("%s: status %d, body %s", name, r.StatusCode, r.body)
		}
	}
	if r := n.do("POST", generate, contents); !strings.Contains(string(r.body), `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}`) || r.Header.Get("Retry-After") != "5" {
		t.Errorf("%v %s", r.Header, r.body)
	}
	r := n.do("POST", stream+"?alt=sse", contents)
	if text := string(r.body); r.StatusCode != 200 || !strings.Contains(text, `"text":"He"`) || strings.Count(text, `{"error":{"code":502,"message":"gone","status":"UNAVAILABLE"`) != 2 {
		t.Errorf("status %d, body %s", r.StatusCode, text)
	}
	var pieces []map[string]any
	if r := n.do("POST", stream, contents); json.Unmarshal(r.body, &pieces) != nil || at(pieces[len(pieces)-1], "error", "code") != 502.0 {
		t.Errorf("%s", r.body)
	}
}

// A named request is answered once for one model in one form: the same body for another model is another request.
func TestGeminiNamedRequests(t *testing.T) {
	t.Parallel()
	r := &counted{relay: relayFunc(hello)}
	n := startKept(t, r, 0, nil)
	for _, path := range []string{generate, stream, stream + "?alt=sse"} {
		name := "n" + path
		first, again := n.do("POST", path, contents, named, name), n.do("POST", path, contents, named, name)
		if first.StatusCode != 200 || again.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(first.body, again.body) || first.Header.Get("Content-Type") != again.Header.Get("Content-Type") || len(first.body) == 0 {
			t.Errorf("%s: %d %q, then %d %q", path, first.StatusCode, first.body, again.StatusCode, again.body)
		}
		other := strings.Replace(path, "acme/small", "acme/other", 1)
		if got := n.do("POST", other, contents, named, name); got.StatusCode != 422 {
			t.Errorf("%s: another model: %d %s", path, got.StatusCode, got.body)
		}
	}
	if got := n.do("POST", stream, contents, named, "n"+stream+"?alt=sse"); got.StatusCode != 422 {
		t.Errorf("another form: %d", got.StatusCode)
	}
	if r.n.Load() != 3 {
		t.Errorf("%d calls", r.n.Load())
	}
}

func TestGeminiCounts(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	const body = `{"systemInstruction":{"parts":[{"text":"You are kind."}]},"contents":[{"parts":[{"text":"How many words are these?"}]}]}`
	for _, b := range []string{body, `{"generateContentRequest":` + body + `}`} {
		r := n.do("POST", "/v1beta/models/small:countTokens", b)
		if tokens, _ := at(r.json(t), "totalTokens").(float64); r.StatusCode != 200 || tokens < 8 || tokens > 14 {
			t.Errorf("status %d, body %s", r.StatusCode, r.body)
		}
	}
}

// Links of pages show no key that a client has put into its query.
func TestLinksShowNoKey(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	r := n.do("GET", "/v1/models?page=1&per_page=1&key=secret", "")
	if link := r.Header.Get("Link"); r.StatusCode != 200 || link == "" || strings.Contains(link, "secret") {
		t.Errorf("%d %q", r.StatusCode, link)
	}
}

// A name without a vendor is Google's, whatever others are called, or the only one. Where several have it, the error lists them.
func TestGeminiFullName(t *testing.T) {
	t.Parallel()
	d := catalog.Declared{Providers: []catalog.Provider{{ID: "p", Name: "P", Dialect: "gemini", BaseURL: "https://p.invalid"}}}
	for slug, id := range map[string]string{"google/gem": "gem-001", "other/gem": "x", "a/twin": "x", "b/twin": "x", "a/one": "x"} {
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Name: slug})
		d.Offers = append(d.Offers, catalog.Offer{Provider: "p", Model: slug, UpstreamID: id, Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: money.Price{Set: true}, Completion: money.Price{Set: true}}}})
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"gem": "google/gem", "gem-001": "google/gem", "models/gem": "google/gem", "one": "a/one", "one:thinking": "a/one:thinking", "b/twin": "b/twin", "none": "none"} {
		if got, err := httpapi.FullName(snap, name); got != want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := httpapi.FullName(snap, "twin"); err == nil || !strings.Contains(err.Error(), "a/twin, b/twin") {
		t.Errorf("%v", err)
	}
}
