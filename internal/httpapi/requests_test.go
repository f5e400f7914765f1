package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/httpserver"
	"weir/internal/relay"
)

// Every kind has a status and both envelopes. The table is written out again here: a change of either must be meant.
func TestEveryKindHasAnOutcome(t *testing.T) {
	t.Parallel()
	want := map[fault.Kind]struct {
		status   int
		messages string
	}{
		fault.Internal: {500, "api_error"}, fault.Invalid: {400, "invalid_request_error"}, fault.DuplicateKey: {400, "invalid_request_error"},
		fault.TooDeep: {400, "invalid_request_error"}, fault.InvalidPrompt: {400, "invalid_request_error"}, fault.ModelNotFound: {404, "not_found_error"},
		fault.WrongEndpoint: {400, "invalid_request_error"}, fault.ContextLength: {400, "invalid_request_error"}, fault.StringTooLong: {400, "invalid_request_error"},
		fault.Authentication: {401, "authentication_error"}, fault.PaymentRequired: {402, "billing_error"}, fault.PermissionDenied: {403, "permission_error"},
		fault.ContentPolicy: {403, "invalid_request_error"}, fault.Refusal: {400, "invalid_request_error"}, fault.NotFound: {404, "not_found_error"},
		fault.NoEndpoints: {404, "not_found_error"}, fault.MethodNotAllowed: {405, "invalid_request_error"}, fault.UpgradeRefused: {426, "invalid_request_error"}, fault.SocketBusy: {409, "invalid_request_error"}, fault.SocketEnds: {400, "invalid_request_error"}, fault.RequestTimeout: {408, "timeout_error"},
		fault.PayloadTooLarge: {413, "request_too_large"}, fault.HeaderTooLarge: {431, "invalid_request_error"}, fault.UnsupportedMediaType: {415, "invalid_request_error"},
		fault.PreviousNotFound: {400, "invalid_request_error"}, fault.Unprocessable: {422, "invalid_request_error"}, fault.Conflict: {409, "invalid_request_error"},
		fault.IdempotencyMismatch: {422, "invalid_request_error"}, fault.IdempotencyInFlight: {409, "invalid_request_error"}, fault.IdempotencyNotKept: {422, "invalid_request_error"}, fault.RateLimited: {429, "rate_limit_error"},
		fault.ProviderUnavailable: {502, "api_error"}, fault.ProviderOverloaded: {503, "overloaded_error"}, fault.NoProvider: {503, "overloaded_error"}, fault.Timeout: {504, "timeout_error"},
		fault.Overloaded: {503, "overloaded_error"}, fault.Draining: {503, "overloaded_error"}, fault.StorageUnavailable: {503, "overloaded_error"},
		fault.Canceled: {499, "api_error"}, fault.VideoNotReady: {404, "not_found_error"}, fault.VideoExpired: {404, "not_found_error"}, fault.VideoNotAvailable: {404, "not_found_error"},
		fault.RangeNotSatisfiable: {416, "invalid_request_error"},
	}
	for _, kind := range fault.Kinds() {
		w, ok := want[kind]
		if !ok {
			t.Errorf("%s has no line in this test", kind)
			continue
		}
		e := fault.New(kind, "op", "A sentence.").Because(fmt.Errorf("secret cause"))
		if got := httpserver.Status(e); got != w.status {
			t.Errorf("%s: status %d; want %d", kind, got, w.status)
		}
		standard, messages := decode(t, httpserver.ErrorBody(e, "req_1")), decode(t, httpapi.MessagesErrorBody(e, "req_1"))
		if at(standard, "error", "code") != float64(w.status) || at(standard, "error", "metadata", "error_type") != kind.String() ||
			at(standard, "error", "message") == "" || at(standard, "error", "metadata", "request_id") != "req_1" {
			t.Errorf("%s: standard envelope %v", kind, standard)
		}
		if at(messages, "type") != "error" || at(messages, "error", "type") != w.messages || at(messages, "error", "message") == "" {
			t.Errorf("%s: messages envelope %v", kind, messages)
		}
		if _, has := at(standard, "error", "metadata", "retry_after").(float64); has != (w.status == 429 || w.status == 503) {
			t.Errorf("%s: retry_after is there: %v", kind, has)
		}
		if strings.Contains(fmt.Sprint(standard, messages), "secret cause") {
			t.Errorf("%s: the cause is shown", kind)
		}
	}
}

func decode(t *testing.T, b []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return m
}

func TestErrorBody(t *testing.T) {
	t.Parallel()
	const canary = "sk-weir-v1-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
	up := &fault.Upstream{Provider: "Acme", Status: 400, Code: "bad", Raw: strings.Repeat("x", 1020) + canary}
	for name, c := range map[string]struct {
		e    *fault.Error
		path []any
		want any
	}{
		"param":                {fault.Field("o", "messages[2].role", "No."), []any{"metadata", "param"}, "messages[2].role"},
		"provider":             {&fault.Error{Kind: fault.Invalid, Public: "No.", Upstream: up}, []any{"metadata", "provider_name"}, "Acme"},
		"provider code":        {&fault.Error{Kind: fault.Invalid, Public: "No.", Upstream: up}, []any{"metadata", "provider_code"}, "bad"},
		"bug says nothing":     {&fault.Error{Kind: fault.Internal, Public: "SELECT 1", Upstream: up}, []any{"metadata", "raw"}, nil},
		"provider's block":     {&fault.Error{Kind: fault.ContentPolicy, Public: "No.", Upstream: up}, []any{"code"}, 400.},
		"own block":            {fault.New(fault.ContentPolicy, "o", "No."), []any{"code"}, 403.},
		"details":              {&fault.Error{Kind: fault.PaymentRequired, Public: "No.", Details: map[string]any{"required": "1.5"}}, []any{"metadata", "required"}, "1.5"},
		"nested details":       {&fault.Error{Kind: fault.Timeout, Details: map[string]any{"previous_errors": []any{map[string]any{"status": 500}}}}, []any{"metadata", "previous_errors", 0, "status"}, 500.},
		"long wait is cut":     {&fault.Error{Kind: fault.RateLimited, RetryAfter: 48 * time.Hour}, []any{"metadata", "retry_after"}, 3600.},
		"short wait is raised": {&fault.Error{Kind: fault.RateLimited, RetryAfter: time.Millisecond}, []any{"metadata", "retry_after"}, 1.},
		"text is escaped":      {fault.New(fault.Invalid, "o", "a\"\n\x01\xffb"), []any{"message"}, "a\"\n\x01\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := httpserver.ErrorBody(c.e, "")
			if got := at(decode(t, body), append([]any{"error"}, c.path...)...); got != c.want {
				t.Errorf("%v is %v; want %v in %s", c.path, got, c.want, body)
			}
			if bytes.Contains(body, []byte("0123456789abc")) || bytes.Contains(body, []byte("SELECT")) {
				t.Errorf("a secret is shown: %s", body)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for name, c := range map[string]struct {
		method, path string
		status       int
		allow        string
	}{
		"plain":                    {"GET", "/v1/models", 200, ""},
		"trailing slash":           {"GET", "/v1/models/", 200, ""},
		"alias":                    {"GET", "/api/v1/models", 200, ""},
		"alias of a variable":      {"GET", "/api/v1/models/acme/small", 200, ""},
		"no alias":                 {"GET", "/api/v1models", 404, ""},
		"head":                     {"HEAD", "/v1/models", 200, ""},
		"escaped slash":            {"GET", "/v1/models/acme%2Fsmall", 200, ""},
		"escaped slash of an id":   {"PUT", "/v1/videos/a%2Fcontent", 405, "GET, HEAD, DELETE, OPTIONS"}, // it stays in its segment
		"escaped slash of a hash":  {"PUT", "/v1/keys/a%2Fb", 405, "GET, HEAD, PATCH, DELETE, OPTIONS"},
		"escaped slash of a word":  {"GET", "/v1%2Fmodels", 404, ""},
		"escaped slash of words":   {"POST", "/v1/chat%2Fcompletions", 404, ""},
		"escaped slash at the end": {"GET", "/v1/models%2F", 404, ""},
		"escaped slash elsewhere":  {"GET", "/v1/models%2Facme/small", 404, ""},
		"two segments":             {"GET", "/v1/models/acme/small", 200, ""},
		"escaped letters":          {"GET", "/v1/mod%65ls", 200, ""},
		"escaped twice":            {"GET", "/v1/mod%2565ls", 404, ""},
		"unknown":                  {"GET", "/v1/nothing", 404, ""},
		"root":                     {"GET", "/", 404, ""},
		"double slash":             {"GET", "/v1//models", 404, ""},
		"dots":                     {"GET", "/v1/x/../models", 404, ""},
		"escaped dots":             {"GET", "/v1/models/%2e%2e/keys", 404, ""},
		"case":                     {"GET", "/V1/models", 404, ""},
		"wrong method":             {"GET", "/v1/chat/completions", 405, "POST, OPTIONS"},
		"wrong method, variable":   {"PUT", "/v1/keys/x", 405, "GET, HEAD, PATCH, DELETE, OPTIONS"},
		"wrong method, no key":     {"DELETE", "/v1/models", 405, "GET, HEAD, OPTIONS"},
		"made-up method":           {"BREW", "/v1/models", 405, "GET, HEAD, OPTIONS"},
		"NUL in a path":            {"GET", "/v1/models/%00", 404, ""},
		"health":                   {"GET", "/healthz", 200, ""},
		"readiness":                {"GET", "/readyz", 200, ""},
		"document":                 {"GET", "/openapi.yaml", 200, ""},
		"metrics are not public":   {"GET", "/metrics", 404, ""},
		"profiles are not public":  {"GET", "/debug/pprof/", 404, ""},
		"long path, unknown model": {"GET", "/v1/models/a/" + strings.Repeat("b", 4000), 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := n.do(c.method, c.path, "")
			if r.StatusCode != c.status || r.Header.Get("Allow") != c.allow {
				t.Fatalf("status %d, Allow %q; want %d, %q", r.StatusCode, r.Header.Get("Allow"), c.status, c.allow)
			}
			switch {
			case c.status == 405:
				wantError(t, r, 405, fault.MethodNotAllowed)
			case c.status == 404 && !strings.Contains(c.path, "models/"):
				wantError(t, r, 404, fault.NotFound)
			case c.method == "HEAD" && (len(r.body) != 0 || r.ContentLength <= 0):
				t.Errorf("HEAD: %d bytes, length %d", len(r.body), r.ContentLength)
			}
		})
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.CORS, c.AdminAPI = true, true })
	r := n.do("OPTIONS", "/v1/chat/completions", "", "Authorization", "", "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, x-thing")
	h := r.Header
	if r.StatusCode != 204 || len(r.body) != 0 || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Headers") != "authorization, x-thing" ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Fatalf("preflight: %d %v", r.StatusCode, h)
	}
	r = n.do("POST", "/v1/chat/completions", "{", "Origin", "https://app.example")
	if r.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "X-Generation-Id") {
		t.Errorf("reply: %v", r.Header)
	}
	if r = n.do("GET", "/v1/models", ""); r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS headers for a client that is no browser")
	}
	if r = n.do("OPTIONS", "/nothing", ""); r.StatusCode != 404 {
		t.Errorf("preflight of an unknown route: %d", r.StatusCode)
	}
	silent := func(what string, h http.Header) {
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s is set", what, name)
			}
		}
	}
	for _, method := range []string{"OPTIONS", "GET", "POST"} {
		for _, path := range []string{"/api/admin/providers", "/api/keys", "/api/me", "/api/v1/models", "/api/v1beta/models", "/api/auth/sign-in", "/v1x"} {
			silent("for the interface, "+method+" "+path, n.do(method, path, "", "Origin", "https://app.example").Header)
		}
		req := httptest.NewRequestWithContext(t.Context(), method, "/api/admin/providers", nil)
		req.Header.Set("Origin", "https://app.example")
		w := httptest.NewRecorder()
		n.api.Admin().ServeHTTP(w, req)
		silent("the admin listener, "+method, w.Header())
		silent("switched off, "+method, start(t, relayFunc(hello), func(c *httpapi.Config) { c.CORS = false }).do(method, "/v1/models", "", "Origin", "https://app.example").Header)
	}
	if r = n.do("GET", "/v1beta/models", "", "Origin", "https://app.example"); r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the style of Gemini: %v", r.Header)
	}
	for path, want := range map[string]string{"/v1/chat/completions": "POST, OPTIONS", "/v1/models": "GET, HEAD, OPTIONS", "/api/me": "GET, HEAD, OPTIONS", "/api/auth/sign-in": "POST, OPTIONS"} {
		for _, on := range []bool{true, false} {
			r := start(t, relayFunc(hello), func(c *httpapi.Config) { c.CORS = on }).do("OPTIONS", path, "", "Authorization", "")
			if r.StatusCode != 204 || r.Header.Get("Allow") != want || len(r.body) != 0 {
				t.Errorf("OPTIONS %s: %d, Allow %q", path, r.StatusCode, r.Header.Get("Allow"))
			}
		}
	}
}

// unauthorized is the sentence of every 401 but those of the messages style.
const unauthorized = "The API key is missing, wrong, disabled or expired, or there are two different ones. Send one as Authorization: Bearer <API key>."

func TestAuthentication(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.FailedAuthPerMinute = 0 })
	good, mgmt := n.first.KeyText, n.first.ManagementKey
	for name, c := range map[string]struct {
		header string
		status int
	}{
		"right":             {"Bearer " + good, 200},
		"small letters":     {"bearer " + good, 200},
		"more spaces":       {"BEARER   " + good + " ", 200},
		"missing":           {"", 401},
		"bare":              {good, 401},
		"other scheme":      {"Basic " + good, 401},
		"no key":            {"Bearer ", 401},
		"typo":              {"Bearer " + good[:20] + "#" + good[21:], 401},
		"foreign":           {"Bearer sk-ant-api03-xyz", 401},
		"unknown":           {"Bearer " + apikey.Mint(false), 401},
		"management key":    {"Bearer " + mgmt, 403},
		"NUL":               {"Bearer \x7f", 0},
		"two keys in a row": {"Bearer " + good + " " + good, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := n.try("POST", "/v1/chat/completions", chatBody(false), "Authorization", c.header)
			if c.status == 0 {
				if err == nil && r.StatusCode != 400 {
					t.Fatalf("status %d; want 400", r.StatusCode)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			switch c.status {
			case 401:
				if text := at(wantError(t, r, 401, fault.Authentication), "error", "message"); text != unauthorized {
					t.Errorf("message %q", text)
				}
				if r.Header.Get("Www-Authenticate") != "Bearer" {
					t.Error("no WWW-Authenticate")
				}
			case 403:
				wantError(t, r, 403, fault.PermissionDenied)
			default:
				if r.StatusCode != c.status {
					t.Errorf("status %d: %s", r.StatusCode, r.body)
				}
			}
		})
	}
	wantError(t, n.do("GET", "/v1/keys", ""), 403, fault.PermissionDenied)
	wantError(t, n.do("GET", "/v1/credits", "", "Authorization", ""), 401, fault.Authentication)
	wantError(t, n.do("GET", "/v1/credits?api_key="+good, "", "Authorization", "", "X-Api-Key", good, "Cookie", "key="+good), 401, fault.Authentication)
	if r := n.do("GET", "/v1/models", "", "Authorization", "Bearer rubbish"); r.StatusCode != 200 {
		t.Errorf("a public route with a wrong key: %d", r.StatusCode)
	}
}

func TestDisabledAndExpiredKeys(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	by := audit.Actor{Name: "test"}
	make := func(expires time.Time) (apikey.Key, string) {
		k, text, err := n.keys.Create(t.Context(), apikey.NewKey{Name: "x", User: n.first.User.ID, ExpiresAt: expires}, by)
		if err != nil {
			t.Fatal(err)
		}
		return k, "Bearer " + text
	}
	message := func(key string) string {
		return fmt.Sprint(at(wantError(t, n.do("GET", "/v1/key", "", "Authorization", key), 401, fault.Authentication), "error", "message"))
	}
	k, key := make(time.Time{})
	if r := n.do("GET", "/v1/key", "", "Authorization", key); r.StatusCode != 200 {
		t.Fatalf("new key: %d", r.StatusCode)
	}
	yes := true
	if _, err := n.keys.Change(t.Context(), "", k.Hash, apikey.Change{Disabled: &yes}, by); err != nil {
		t.Fatal(err)
	}
	if m := message(key); m != unauthorized {
		t.Errorf("disabled: %s", m)
	}
	expiry := time.Now().Add(time.Second)
	_, key = make(expiry)
	<-time.After(time.Until(expiry))
	if m := message(key); m != unauthorized {
		t.Errorf("expired: %s", m)
	}
	if _, err := n.users.CreateAs(t.Context(), "Boris", apikey.Administrator, by); err != nil { // somebody must be left
		t.Fatal(err)
	}
	if err := n.users.SetDisabled(t.Context(), n.first.User.ID, true, by); err != nil {
		t.Fatal(err)
	}
	if m := message("Bearer " + n.first.KeyText); m != unauthorized {
		t.Errorf("disabled user: %s", m)
	}
}

func TestFailedAuthenticationsAreLimited(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.FailedAuthPerMinute = 3
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	bad := func(from string) *response {
		return n.do("GET", "/v1/credits", "", "Authorization", "Bearer "+apikey.Mint(false), "X-Forwarded-For", from)
	}
	for range 3 {
		wantError(t, bad("192.0.2.1"), 401, fault.Authentication)
	}
	for range 40 {
		r := bad("192.0.2.1")
		wantError(t, r, 429, fault.RateLimited)
		if r.Header.Get("Retry-After") == "" || r.Header.Get("X-Ratelimit-Limit") != "3" || r.Header.Get("X-Ratelimit-Reset") == "" {
			t.Fatalf("headers %v", r.Header)
		}
	}
	wantError(t, bad("192.0.2.2"), 401, fault.Authentication)
	wantError(t, bad("192.0.2.1, 192.0.2.3"), 401, fault.Authentication) // the left one anybody can write
	for range 400 {
		bad("192.0.2.1")
	}
	if r := n.do("GET", "/v1/credits", "", "X-Forwarded-For", "192.0.2.1"); r.StatusCode != 200 {
		t.Errorf("a valid key from an address that has sent hundreds of wrong ones: %d", r.StatusCode)
	}
}

func TestPublicRoutesAreLimited(t *testing.T) {
	t.Parallel()
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) { c.PublicPerMinute = 2 }, stopped)
	for range 2 {
		if r := n.do("GET", "/v1/models", "", "Authorization", ""); r.StatusCode != 200 {
			t.Fatalf("status %d", r.StatusCode)
		}
	}
	limited(t, n.do("GET", "/v1/models", "", "Authorization", "Bearer "+apikey.Mint(false)), "public_per_minute", "2")
	for _, r := range n.api.Routes() { // health is asked for by what watches the node, and costs nothing
		if got := n.do(r.Method, r.Pattern, "", "Authorization", ""); r.Method == "GET" && !strings.Contains(r.Pattern, "{") && !strings.HasPrefix(r.Pattern, "/api/") && got.StatusCode == 200 && r.Pattern != "/healthz" && r.Pattern != "/readyz" {
			t.Errorf("%s is never refused", r.Pattern)
		}
	}
	if r := n.do("GET", "/healthz", ""); r.StatusCode != 200 {
		t.Errorf("health %d", r.StatusCode)
	}
}

// No browser guesses what an answer is: texts of users are in many.
func TestEveryAnswerHasItsType(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for _, r := range n.api.Routes() {
		path := strings.NewReplacer("{", "", "}", "").Replace(r.Pattern)
		if got := n.do(r.Method, path, "", "Authorization", ""); got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %d %v", r.Method, r.Pattern, got.StatusCode, got.Header)
		}
	}
	if got := n.do("GET", "/nothing", ""); got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("an unknown path: %v", got.Header)
	}
	if got := n.do("POST", "/v1/chat/completions", chatBody(true)); got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a stream: %v", got.Header)
	}
}

func TestHeadLimits(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"request line": {"GET /v1/models?search=" + strings.Repeat("x", 8200) + " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
		"many headers": {"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: b\r\n", 101) + "\r\n", 431},
		"large header": {"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("b", 40<<10) + "\r\n\r\n", 431},
		"just right":   {"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: b\r\n", 90) + "\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := n.dial()
			s.send("%s", c.head)
			if r := s.response(); r.StatusCode != c.status {
				t.Fatalf("status %d, want %d: %s", r.StatusCode, c.status, r.body)
			}
		})
	}
}

func zip(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBodies(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxBody = 4 << 20 })
	pad := func(size int) string {
		return `{"model":"acme/small","pad":"` + strings.Repeat("x", size) + `","messages":[{"role":"user","content":"hi"}]}`
	}
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		kind    fault.Kind
	}{
		"no content type":     {chatBody(false), []string{"Content-Type", ""}, 200, 0},
		"with charset":        {chatBody(false), []string{"Content-Type", "Application/JSON; charset=utf-8"}, 200, 0},
		"json suffix":         {chatBody(false), []string{"Content-Type", "application/vnd.x+json"}, 200, 0},
		"form":                {"a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, fault.UnsupportedMediaType},
		"identity":            {chatBody(false), []string{"Content-Encoding", "identity"}, 200, 0},
		"gzip":                {zip(t, chatBody(false)), []string{"Content-Encoding", "gzip"}, 200, 0},
		"large gzip":          {zip(t, pad(900<<10)), []string{"Content-Encoding", "GZIP"}, 200, 0},
		"brotli":              {chatBody(false), []string{"Content-Encoding", "br"}, 415, fault.UnsupportedMediaType},
		"gzip, gzip":          {zip(t, zip(t, chatBody(false))), []string{"Content-Encoding", "gzip, gzip"}, 415, fault.UnsupportedMediaType},
		"no gzip":             {chatBody(false), []string{"Content-Encoding", "gzip"}, 400, fault.Invalid},
		"cut gzip":            {zip(t, chatBody(false))[:40], []string{"Content-Encoding", "gzip"}, 400, fault.Invalid},
		"gzip and more":       {zip(t, chatBody(false)) + "rubbish", []string{"Content-Encoding", "gzip"}, 400, fault.Invalid},
		"gzip bomb":           {zip(t, pad(3<<20)), []string{"Content-Encoding", "gzip"}, 413, fault.PayloadTooLarge},
		"gzip past the limit": {zip(t, pad(64<<20)), []string{"Content-Encoding", "gzip"}, 413, fault.PayloadTooLarge},
		// the client waits for leave to send: the refusal comes before the body, and the connection's end cannot overtake it
		"too large": {pad(4 << 20), []string{"Expect", "100-continue"}, 413, fault.PayloadTooLarge},
		"large":     {pad(3 << 20), nil, 200, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := n.do("POST", "/v1/chat/completions", c.body, c.headers...)
			if c.status == 200 {
				if r.StatusCode != 200 {
					t.Fatalf("status %d: %s", r.StatusCode, r.body)
				}
				return
			}
			wantError(t, r, c.status, c.kind)
		})
	}
}

func TestBodyBudget(t *testing.T) {
	t.Parallel()
	begun, leave := make(chan struct{}), make(chan struct{})
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		begun <- struct{}{}
		<-leave
		return hello(ctx, c, sink)
	}), func(c *httpapi.Config) { c.BodyBudget, c.MaxUserShare = 6000, 0 })
	done := make(chan *response)
	go func() { done <- n.do("POST", "/v1/chat/completions", chatBody(false)) }()
	<-begun
	wantError(t, n.do("POST", "/v1/chat/completions", chatBody(false)), 503, fault.Overloaded)
	close(leave)
	if r := <-done; r.StatusCode != 200 {
		t.Fatalf("status %d", r.StatusCode)
	}
	go func() { <-begun }()
	if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
		t.Fatalf("the budget was not given back: %d", r.StatusCode)
	}
}

// What a client sends slowly ends within the limits, and with an answer.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		edit func(*httpapi.Config)
		drip time.Duration // between bytes; 0: none after the head
	}{
		"nothing":   {func(c *httpapi.Config) { c.BodyIdle = 100 * ms }, 0},
		"too slow":  {func(c *httpapi.Config) { c.BodyGrace, c.BodyMinRate = 200*ms, 1000 }, 20 * ms},
		"too long":  {func(c *httpapi.Config) { c.BodyTotal, c.BodyMinRate = 200*ms, 1 }, 20 * ms},
		"pause":     {func(c *httpapi.Config) { c.BodyIdle = 50 * ms }, 400 * ms},
		"zero rate": {func(c *httpapi.Config) { c.BodyTotal, c.BodyMinRate = 200*ms, 0 }, 20 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(hello), c.edit)
			s := n.dial()
			s.send("%s", n.head("Content-Length: 1000\r\n\r\n{"))
			stop := make(chan struct{})
			defer close(stop)
			if c.drip > 0 {
				go func() {
					tick := time.NewTicker(c.drip)
					defer tick.Stop()
					for {
						select {
						case <-tick.C:
							_, _ = s.Write([]byte(" "))
						case <-stop:
							return
						}
					}
				}()
			}
			r := s.response()
			wantError(t, r, 408, fault.RequestTimeout)
			if !r.Close {
				t.Error("no Connection: close")
			}
			s.closed(3 * time.Minute)
		})
	}
}

// A quick body must not leave a deadline set: the call may take longer than any body may.
func TestTheBodysDeadlineIsLifted(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		select {
		case <-ctx.Done():
			return fault.New(fault.Canceled, "test", "")
		case <-time.After(1500 * time.Millisecond):
		}
		return hello(ctx, c, sink)
	}), func(c *httpapi.Config) { // long enough for a machine that is busy with something else
		c.BodyIdle, c.BodyGrace, c.BodyTotal = time.Second, time.Second, time.Second
	})
	s := n.dial()
	for range 2 { // the second on the same connection
		s.send("%s", n.head("Content-Length: "+itoa(len(chatBody(false)))+"\r\n\r\n"+chatBody(false)))
		if r := s.response(); r.StatusCode != 200 {
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
	}
}

// Refused without reading the body: answered at once, and closed although the client goes on sending.
func TestRefusalsClose(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	auth := "Authorization: Bearer " + n.first.KeyText + "\r\n"
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"401":         {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", 401},
		"403":         {"POST /v1/keys HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 1000\r\n\r\n", 403},
		"404":         {"POST /nothing HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 1000\r\n\r\n", 404},
		"405":         {"PUT /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", 405},
		"413":         {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 99999999\r\n\r\n", 413},
		"415":         {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\n", 415},
		"chunked":     {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 401},
		"unread body": {"GET /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := n.dial()
			s.send("%s", c.head)
			r := s.response()
			if r.StatusCode != c.status || !r.Close {
				t.Fatalf("status %d, close %v; want %d and close", r.StatusCode, r.Close, c.status)
			}
			s.closed(3 * time.Minute)
		})
	}
}

func TestFraming(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	body := chatBody(false)
	length := "Content-Length: " + itoa(len(body)) + "\r\n"
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	smuggled := "GET /v1/credits HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		rest   string // after the head's Authorization line
		ok     bool   // 200 is allowed
		closes bool   // the connection must end after the answer
	}{
		"plain":                       {length + "\r\n" + body, true, false},
		"chunked":                     {"Transfer-Encoding: chunked\r\n\r\n" + chunked, true, true},
		"length and chunked":          {"Transfer-Encoding: chunked\r\n" + length + "\r\n" + chunked + smuggled, true, true},
		"two lengths":                 {length + "Content-Length: 5\r\n\r\n" + body, false, true},
		"length +":                    {"Content-Length: +5\r\n\r\n{   }", false, true},
		"length -1":                   {"Content-Length: -1\r\n\r\n", false, true},
		"length hex":                  {"Content-Length: 0x5\r\n\r\n{   }", false, true},
		"length list":                 {"Content-Length: 5, 5\r\n\r\n{   }", false, true},
		"length huge":                 {"Content-Length: 99999999999999999999\r\n\r\n", false, true},
		"length short":                {"Content-Length: 5\r\n\r\n" + body, false, false},
		"unknown coding":              {"Transfer-Encoding: deflate\r\n\r\n" + chunked, false, true},
		"identity coding":             {"Transfer-Encoding: identity\r\n" + length + "\r\n" + body, false, true},
		"coding twice":                {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, false, true},
		"coding, not last":            {"Transfer-Encoding: chunked, identity\r\n\r\n" + chunked, false, true},
		"coding with a tab":           {"Transfer-Encoding:\tchunked\r\n\r\n" + chunked, true, true},
		"coding in front of a colon":  {"Transfer-Encoding : chunked\r\n\r\n" + chunked, false, true},
		"space in a name":             {"X A: b\r\n" + length + "\r\n" + body, false, true},
		"NUL in a value":              {"X-A: b\x00c\r\n" + length + "\r\n" + body, false, true},
		"CR in a value":               {"X-A: b\rc\r\n" + length + "\r\n" + body, false, true},
		"fold":                        {"X-A: b\r\n c\r\n" + length + "\r\n" + body, true, false},
		"no colon":                    {"XA\r\n" + length + "\r\n" + body, false, true},
		"chunk size rubbish":          {"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", false, true},
		"chunk size negative":         {"Transfer-Encoding: chunked\r\n\r\n-5\r\n{   }\r\n0\r\n\r\n", false, true},
		"chunk size overflow":         {"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", false, true},
		"chunk without its line end":  {"Transfer-Encoding: chunked\r\n\r\n5\r\n{   }0\r\n\r\n", false, true},
		"chunk extension":             {"Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\n\r\n", len(body), body), true, true},
		"chunks stop":                 {"Transfer-Encoding: chunked\r\n\r\n5\r\n{ ", false, true},
		"second host":                 {"Host: y\r\n" + length + "\r\n" + body, false, true},
		"expect something else":       {"Expect: 200-ok\r\n" + length + "\r\n" + body, false, true},
		"NUL as a name":               {"\x00: x\r\n" + length + "\r\n" + body, false, true},
		"second request in the body":  {"Content-Length: " + itoa(len(smuggled)) + "\r\n\r\n" + smuggled, false, false},
		"trailers":                    {"Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\nAuthorization: x\r\n\r\n", len(body), body), true, true},
		"upgrade":                     {"Connection: Upgrade\r\nUpgrade: h2c\r\n" + length + "\r\n" + body, true, false},
		"two keys":                    {"Authorization: Bearer x\r\n" + length + "\r\n" + body, false, true},
		"content type twice":          {"Content-Type: application/json\r\nContent-Type: text/plain\r\n" + length + "\r\n" + body, true, false},
		"connection names the length": {"Connection: close, content-length\r\n" + length + "\r\n" + body, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := n.dial()
			s.send("%s", n.head(c.rest))
			if name == "chunks stop" {
				_ = s.Conn.(interface{ CloseWrite() error }).CloseWrite()
			}
			resp, err := http.ReadResponse(s.r, nil)
			if err != nil {
				if c.ok {
					t.Fatalf("no answer: %v", err)
				}
				return // closed without a word is allowed
			}
			defer func() { _ = resp.Body.Close() }()
			switch {
			case resp.StatusCode == 200 && c.ok:
			case resp.StatusCode >= 400 && resp.StatusCode < 500 || resp.StatusCode == 501:
			default:
				t.Fatalf("status %d", resp.StatusCode)
			}
			if c.closes {
				var rest bytes.Buffer
				if _, err := rest.ReadFrom(resp.Body); err != nil {
					t.Fatal(err)
				}
				s.closed(3 * time.Minute)
			}
		})
	}
}
