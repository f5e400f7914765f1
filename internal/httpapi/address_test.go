package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/httpapi"
)

// from sends a request with a wrong key to a bare API as if it came over a connection from that address.
func from(t *testing.T, api http.Handler, peer string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/credits", nil)
	r.RemoteAddr = peer
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

// Two clients share a count when they are one to us. Each case sends one wrong key from the first, and one from the second.
func TestClientsAreCountedByAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second       string // the connection's address
		firstFor, secondFor []string
		same                bool
	}{
		"another port":                        {first: "192.0.2.1:1", second: "192.0.2.1:2", same: true},
		"another address":                     {first: "192.0.2.1:1", second: "192.0.2.2:1"},
		"IPv4 in IPv6":                        {first: "192.0.2.1:1", second: "[::ffff:192.0.2.1]:1", same: true},
		"IPv4 in IPv6, others":                {first: "[::ffff:192.0.2.2]:1", second: "[::ffff:192.0.2.1]:1"},
		"IPv6 of one /64":                     {first: "[2001:db8:1:2::1]:1", second: "[2001:db8:1:2:ffff::9]:1", same: true},
		"IPv6 of another /64":                 {first: "[2001:db8:1:2::1]:1", second: "[2001:db8:1:3::1]:1"},
		"a zone":                              {first: "[fe80::1%eth0]:1", second: "[fe80::1%eth1]:1", same: true},
		"a stranger's X-Forwarded-For":        {first: "192.0.2.1:1", second: "192.0.2.1:1", firstFor: []string{"198.51.100.1"}, secondFor: []string{"198.51.100.2"}, same: true},
		"behind the proxy":                    {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"198.51.100.1"}, secondFor: []string{"198.51.100.2"}},
		"written by the client":               {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"203.0.113.1, 198.51.100.1"}, secondFor: []string{"203.0.113.2,198.51.100.1"}, same: true},
		"written by the client, its own line": {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"203.0.113.1", "198.51.100.1"}, secondFor: []string{"203.0.113.2", "198.51.100.1"}, same: true},
		"two proxies":                         {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"198.51.100.1, 10.0.0.7"}, secondFor: []string{"198.51.100.2, 10.0.0.7"}},
		"with a port":                         {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"198.51.100.1:40000"}, secondFor: []string{"198.51.100.1:40001"}, same: true},
		"in brackets":                         {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"[2001:db8::1]:40000"}, secondFor: []string{"[2001:db8::1]"}, same: true},
		"rubbish":                             {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{"198.51.100.1, x"}, secondFor: []string{"198.51.100.2, y"}, same: true},
		"empty":                               {first: "10.0.0.1:1", second: "10.0.0.1:1", firstFor: []string{""}, secondFor: []string{","}, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(hello), func(c *httpapi.Config) {
				c.FailedAuthPerMinute, c.TrustedProxies = 1, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			})
			headers := func(list []string) (out []string) {
				for _, v := range list {
					out = append(out, "X-Forwarded-For", v)
				}
				return out
			}
			if w := from(t, n.api, c.first, headers(c.firstFor)...); w.Code != 401 {
				t.Fatalf("the first: %d", w.Code)
			}
			want := map[bool]int{true: 429, false: 401}[c.same]
			if w := from(t, n.api, c.second, headers(c.secondFor)...); w.Code != want {
				t.Fatalf("the second: %d, want %d", w.Code, want)
			}
		})
	}
}

// A node behind a proxy that is not configured reports it, once in its log and in /readyz; one that has real clients, or trusts a proxy, does not.
func TestUnnamedProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		peers   []string
		trusted bool
		want    bool
	}{
		"one private":      {peers: []string{"10.1.2.3:1"}, want: true},
		"loopback":         {peers: []string{"127.0.0.1:1"}, want: true},
		"private IPv6":     {peers: []string{"[fd00::1]:1"}, want: true},
		"one public":       {peers: []string{"192.0.2.1:1"}},
		"two private":      {peers: []string{"10.1.2.3:1", "10.1.2.4:1"}},
		"private, trusted": {peers: []string{"10.1.2.3:1"}, trusted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(hello), func(cfg *httpapi.Config) {
				if c.trusted {
					cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
				}
			})
			for i := range 300 {
				from(t, n.api, c.peers[i%len(c.peers)])
			}
			const remedy = "server.trusted_proxies"
			w := admin(t, n, "/readyz")
			if w.Code != 200 || strings.Contains(w.Body.String(), remedy) != c.want {
				t.Errorf("readyz %d %s", w.Code, w.Body)
			}
			if got := strings.Count(n.logged(), remedy); got != map[bool]int{true: 1}[c.want] {
				t.Errorf("logged %d times", got)
			}
			if !c.want {
				return
			}
			if strings.Contains(w.Body.String(), "10.1") {
				t.Errorf("the address is told: %s", w.Body)
			}
			from(t, n.api, "192.0.2.1:1")
			if w := admin(t, n, "/readyz"); strings.Contains(w.Body.String(), remedy) {
				t.Errorf("with another client: %s", w.Body)
			}
		})
	}
}

// One request has one key of ours; a stray one of somebody else's is nothing to us.
func TestTwoKeysInOneRequest(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.FailedAuthPerMinute = 0 })
	good, stray := n.first.KeyText, "sk-ant-api03-xyz"
	other := n.newKey()
	const body = `{"model":"acme/small","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"input":"hi","store":false}`
	for name, c := range map[string]struct {
		bearer, own    string
		chat, messages int
	}{
		"bearer alone":     {"Bearer " + good, "", 200, 200},
		"x-api-key alone":  {"", good, 401, 200},
		"both, the same":   {"Bearer " + good, good, 200, 200},
		"both, different":  {"Bearer " + good, other, 401, 401},
		"one of them dead": {"Bearer " + good, apikey.Mint(false), 401, 401},
		"management":       {"Bearer " + good, n.first.ManagementKey, 401, 401},
		"stray x-api-key":  {"Bearer " + good, stray, 200, 200},
		"stray bearer":     {"Bearer " + stray, good, 401, 200},
		"none":             {"", "", 401, 401},
		"both stray":       {"Bearer " + stray, stray, 401, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, want := range map[string]int{"/v1/chat/completions": c.chat, "/v1/responses/input_tokens": c.chat, "/v1/credits": c.chat, "/v1/messages/count_tokens": c.messages} {
				method, sent := "POST", body
				if path == "/v1/credits" {
					method, sent = "GET", ""
				}
				r := n.do(method, path, sent, "Authorization", c.bearer, "X-Api-Key", c.own)
				if r.StatusCode != want {
					t.Errorf("%s: %d, want %d: %s", path, r.StatusCode, want, r.body)
				}
				if want != 401 {
					continue
				}
				sentence := unauthorized
				if strings.HasPrefix(path, "/v1/messages") {
					sentence = strings.Replace(unauthorized, "Authorization: Bearer", "x-api-key:", 1)
				}
				if got := at(r.json(t), "error", "message"); got != sentence {
					t.Errorf("%s: %q", path, got)
				}
			}
		})
	}
}

// managedPaths are those that need a management key.
var managedPaths = []string{
	"/api/account", "/api/acts", "/api/agents", "/api/budgets", "/api/chats", "/api/import", "/api/invitations", "/api/invoices", "/api/keys",
	"/api/notices", "/api/notifications", "/api/organizations", "/api/payments", "/api/presets", "/api/provider-keys", "/api/spendable",
	"/api/views", "/api/vouchers",
}

// Whatever reads a body or asks a provider is admitted first, but for the operators' own routes.
func TestEveryRouteThatCostsIsAdmitted(t *testing.T) {
	t.Parallel()
	short := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MaxInFlight = 0 })
	asking := []string{"/v1/videos/{id}/content"}
	for _, r := range short.api.Routes() {
		t.Run(r.Method+" "+r.Pattern, func(t *testing.T) {
			t.Parallel()
			visitors, people := r.OfPages()
			if strings.HasPrefix(r.Pattern, "/api/admin/") || visitors || people || r.Notified() {
				return // the first are the way out; a sign-in asks no model, and its costs are bounded on their own
			}
			body := map[bool]string{true: `{}`}[r.ReadsBody()]
			path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.Pattern, "x")
			key := short.first.KeyText
			managed := slices.ContainsFunc(managedPaths, func(p string) bool { return strings.HasPrefix(path, p) })
			if managed || strings.HasPrefix(path, "/v1/keys") && !strings.HasPrefix(path, "/v1/keys/child") || r.LiteLLM() {
				key = short.first.ManagementKey
			}
			if !r.ReadsBody() && !slices.Contains(asking, r.Pattern) {
				return
			}
			w := short.do(r.Method, path, body, "Authorization", "Bearer "+key)
			if w.StatusCode != 503 {
				t.Errorf("%d: %s", w.StatusCode, w.body)
			}
		})
	}
}

// Counting tokens is free, and bounded like what is not.
func TestCountingIsBoundedLikeCalls(t *testing.T) {
	t.Parallel()
	const body = `{"model":"acme/small","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"input":"hi","store":false}`
	for _, path := range []string{"/v1/messages/count_tokens", "/v1/responses/input_tokens", "/v1/route/explain"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.KeyRates.Requests = 2 })
			for range 2 {
				if r := n.do("POST", path, body); r.StatusCode != 200 {
					t.Fatalf("%d: %s", r.StatusCode, r.body)
				}
			}
			if r := n.do("POST", path, body); r.StatusCode != 429 || r.Header.Get("X-Ratelimit-Limit") != "2" {
				t.Errorf("%d: %s", r.StatusCode, r.body)
			}
			full := start(t, relayFunc(hello), func(c *httpapi.Config) { c.MemoryLimit, c.HeapPercent = 1, 1 })
			if r := full.do("POST", path, body); r.StatusCode != 503 {
				t.Errorf("short of memory: %d: %s", r.StatusCode, r.body)
			}
		})
	}
}

// Calls with a key that ask no model have a limit of the user's: another user's are not touched by it.
func TestCallsOfAUserThatAskNoModel(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.UserCallsPerMinute, c.AnonymousBurst, c.PublicPerMinute = 8, 1, 1 })
	for _, path := range []string{"/v1/models", "/v1/credits", "/v1/key", "/nothing", "/v1/models/acme/small", "/v1/activity", "/v1/models", "/v1/models"} {
		if r := n.do("GET", path, ""); r.StatusCode == 429 {
			t.Fatalf("%s: %s", path, r.body)
		}
	}
	limited(t, n.do("GET", "/v1/models", ""), "user_calls_per_minute", "8")
	limited(t, n.manage("GET", "/v1/keys", ""), "user_calls_per_minute", "8")
	if r := n.do("POST", "/v1/chat/completions", chatBody(false)); r.StatusCode != 200 {
		t.Errorf("a call of a model: %d", r.StatusCode)
	}
	if r := n.do("GET", "/v1/models", "", "Authorization", "Bearer "+n.newUser("Boris")); r.StatusCode != 200 {
		t.Errorf("another user: %d", r.StatusCode)
	}
	if r := n.do("GET", "/v1/models", "", "Authorization", ""); r.StatusCode != 200 {
		t.Errorf("without a key: %d", r.StatusCode)
	}
}

// A user who has reached the changes of a day is refused on every route that changes something, because each change leaves an audit row for ever.
// Reading and calls of models go on.
func TestChangesOfADay(t *testing.T) {
	t.Parallel()
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) {
		c.AdminAPI, c.UserCallsPerMinute, c.FailedAuthPerMinute, c.AnonymousPerSecond = true, 1000000, 100000, 0
	}, stopped)
	page := n.join(t, "anna@example.org", apikey.User)
	for i := 0; ; i++ {
		r := n.do("POST", "/api/account/preferences/explain", `{`, page...)
		if r.StatusCode == 429 {
			break
		}
		if r.StatusCode != 400 || i > 5000 {
			t.Fatalf("after %d: %d %s", i, r.StatusCode, r.body)
		}
	}
	described := rolesInDescription(t)
	for _, r := range n.api.Routes() {
		if !strings.HasPrefix(r.Pattern, "/api/") || strings.HasPrefix(r.Pattern, "/api/admin/") || strings.Contains(r.Pattern, "unsubscribe") || r.Pattern == "/api/payments/notifications" {
			continue
		}
		if (strings.HasPrefix(r.Pattern, "/api/auth/") || r.Pattern == "/api/organizations/join/look") && slices.Contains(described[r.Method+" "+r.Pattern], "") {
			continue // for visitors: counted by address and by what they prove
		}
		path := strings.NewReplacer("{id}", "none", "{hash}", "none", "{name}", "none", "{version}", "1", "{vendor}", "acme", "{model}", "none", "{date}", "2026-01-31").Replace(r.Pattern)
		got := n.do(r.Method, path, "", page...)
		if limited := strings.Contains(string(got.body), "changes_per_day"); limited != (r.Method != "GET") {
			t.Errorf("%s %s: %d %s", r.Method, r.Pattern, got.StatusCode, got.body)
		}
	}
	if r := n.do("POST", "/api/v1/chat/completions", chatBody(false), page...); r.StatusCode != 200 {
		t.Errorf("a call of a model: %d %s", r.StatusCode, r.body)
	}
	if r := n.do("PATCH", "/api/account/profile", `{"name":"Boris"}`, n.join(t, "boris@example.org", apikey.User)...); r.StatusCode != 200 {
		t.Errorf("another user: %d %s", r.StatusCode, r.body)
	}
}

// The words of limited_by are in docs/api.md and in the description of the API, and no others do.
func TestLimitsAreDocumented(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	words := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text := read(f)
		if n := strings.Count(text, "fault.New(fault.RateLimited,") + strings.Count(text, "fault.Newf(fault.RateLimited,"); n > 0 {
			t.Errorf("%s makes a 429 by itself: it has no limited_by", f)
		}
	}
	err = filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?:"limited_by": |quota\.Crowded\([^,\n]+, )"(\w+)"`).FindAllStringSubmatch(read(path), -1) {
			words[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	quotas, err := filepath.Glob("../limit/quota/*.go")
	if err != nil || len(quotas) == 0 {
		t.Fatal(quotas, err)
	}
	for _, f := range quotas {
		for _, m := range regexp.MustCompile(`(?:refused\(|Crowded\([^,\n]+, |gate\{names\(\), .*, |of\w+: +\{)"(\w+)"`).FindAllStringSubmatch(read(f), -1) {
			words[m[1]] = true
		}
	}
	_, table, _ := strings.Cut(read("../../docs/api.md"), "| `limited_by` |")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
				documented[m[1]] = true
			}
		}
	}
	if len(words) < 8 {
		t.Fatalf("only %v was found in the code", words)
	}
	for w := range words {
		if !documented[w] {
			t.Errorf("docs/api.md has no row for %s", w)
		}
		if !regexp.MustCompile(`limited_by: \{.*\b` + w + `\b`).MatchString(read("openapi.yaml")) {
			t.Errorf("openapi.yaml does not know %s", w)
		}
	}
	for w := range documented {
		if !words[w] {
			t.Errorf("docs/api.md has a row for %s, which no code returns", w)
		}
	}
}
