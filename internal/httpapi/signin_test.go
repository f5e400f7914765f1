package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
)

const password = "correct horse battery"

// cookieOf is the session's cookie that an answer sets, with its attributes.
func cookieOf(t *testing.T, r *response) *http.Cookie {
	t.Helper()
	for _, c := range r.Cookies() {
		if c.Name == "__Host-weir" {
			return c
		}
	}
	t.Fatalf("no cookie: %d %s", r.StatusCode, r.body)
	return nil
}

// join makes a person with an invitation over the API, and returns the headers of their page.
func (n *node) join(t *testing.T, email string, role apikey.Role) []string {
	t.Helper()
	made := n.manage("POST", "/api/invitations", `{"role":"`+string(role)+`","note":"x"}`)
	link, _ := at(made.json(t), "data", "url").(string)
	_, token, found := strings.Cut(link, "/invite#")
	if made.StatusCode != 201 || !found || !strings.HasPrefix(link, "http") {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	r := n.do("POST", "/api/auth/sign-up", `{"email":"`+email+`","password":"`+password+`","invitation":"`+token+`"}`, n.page()...)
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return n.page("Cookie", "__Host-weir="+cookieOf(t, r).Value)
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	link, err := n.people.BeginSetup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(link, "#")
	me := n.do("GET", "/api/me", "", n.page()...).json(t)
	if at(me, "user") != nil || at(me, "features", "setup") != true || at(me, "features", "demo") != false {
		t.Fatalf("%v", me)
	}
	set := n.do("POST", "/api/auth/setup", `{"token":"`+token+`","email":"root@example.org","password":"`+password+`"}`, n.page()...)
	if set.StatusCode != 200 || at(set.json(t), "user", "id") != n.first.User.ID || at(set.json(t), "operator") != true || at(set.json(t), "session", "fresh") != true {
		t.Fatalf("%d %s", set.StatusCode, set.body)
	}
	c := cookieOf(t, set)
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge < 29*24*3600 || len(c.Value) < 22 {
		t.Errorf("%+v", c)
	}
	page := n.page("Cookie", "__Host-weir="+c.Value)
	if r := n.do("GET", "/api/me", "", page...); at(r.json(t), "user", "email") != "root@example.org" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s", r.body)
	}
	wantError(t, n.do("POST", "/api/auth/sign-in", `{"email":"root@example.org","password":"wrong password"}`, n.page()...), 401, fault.Authentication)
	in := n.do("POST", "/api/auth/sign-in", `{"email":"Root@example.org","password":"`+password+`"}`, page...)
	if in.StatusCode != 200 || cookieOf(t, in).Value == c.Value {
		t.Fatalf("%d %s", in.StatusCode, in.body)
	}
	// the browser's earlier session has ended: nobody goes on with a cookie from before the sign-in
	wantError(t, n.do("GET", "/api/v1/credits", "", page...), 401, fault.Authentication)
	page = n.page("Cookie", "__Host-weir="+cookieOf(t, in).Value)
	out := n.do("POST", "/api/auth/sign-out", `{}`, page...)
	if out.StatusCode != 204 || cookieOf(t, out).MaxAge >= 0 && cookieOf(t, out).Value != "" {
		t.Errorf("%d %s", out.StatusCode, out.body)
	}
	if r := n.do("GET", "/api/me", "", page...); at(r.json(t), "user") != nil || cookieOf(t, r).Value != "" {
		t.Errorf("%s", r.body)
	}
	for _, secret := range []string{password, c.Value, cookieOf(t, in).Value, token, "wrong password"} {
		if strings.Contains(n.logged(), secret) {
			t.Errorf("the log has the secret %q", secret)
		}
	}
}

// A session works for pages of this gateway, and for nothing else.
func TestSessionsAreForOwnPages(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	page := n.signIn()
	cookie := page[len(page)-1]
	for name, try := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
	}{
		"a page of ours":                    {"POST", "/api/v1/chat/completions", chatBody(false), nil, 200},
		"reading needs no header":           {"GET", "/api/v1/credits", "", []string{"Origin", "", "X-Weir", ""}, 200},
		"/v1 reads no cookie":               {"GET", "/v1/credits", "", nil, 401},
		"/v1 calls with no cookie":          {"POST", "/v1/chat/completions", chatBody(false), nil, 401},
		"without X-Weir":                    {"POST", "/api/v1/chat/completions", chatBody(false), []string{"X-Weir", ""}, 403},
		"another X-Weir":                    {"POST", "/api/v1/chat/completions", chatBody(false), []string{"X-Weir", "true"}, 403},
		"without an origin":                 {"POST", "/api/v1/chat/completions", chatBody(false), []string{"Origin", ""}, 403},
		"another origin":                    {"POST", "/api/v1/chat/completions", chatBody(false), []string{"Origin", "https://evil.example"}, 403},
		"another port":                      {"POST", "/api/v1/chat/completions", chatBody(false), []string{"Origin", "http://127.0.0.1:1"}, 403},
		"the origin of a sandbox":           {"POST", "/api/v1/chat/completions", chatBody(false), []string{"Origin", "null"}, 403},
		"our host before another":           {"POST", "/api/v1/chat/completions", chatBody(false), []string{"Origin", n.url + ".evil.example"}, 403},
		"a page of the same site":           {"POST", "/api/v1/chat/completions", chatBody(false), []string{"Sec-Fetch-Site", "same-site"}, 403},
		"another site says the browser":     {"DELETE", "/api/auth/sessions", "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a sign-in from another site":       {"POST", "/api/auth/sign-in", `{"email":"a@b.c","password":"x"}`, []string{"Origin", "https://evil.example"}, 403},
		"a wrong key goes before a session": {"GET", "/api/v1/credits", "", []string{"Authorization", "Bearer sk-weir-v1-x"}, 401},
		"a key goes before a session":       {"GET", "/api/auth/sessions", "", []string{"Authorization", "Bearer " + n.first.ManagementKey}, 403},
		"a made-up session":                 {"GET", "/api/v1/credits", "", []string{"Cookie", "__Host-weir=abc"}, 401},
		"an empty session":                  {"GET", "/api/v1/credits", "", []string{"Cookie", "__Host-weir="}, 401},
		"the cookie without its prefix":     {"GET", "/api/v1/credits", "", []string{"Cookie", strings.Replace(cookie, "__Host-", "", 1)}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			if r := n.do(try.method, try.path, try.body, append(slices.Clone(page), try.headers...)...); r.StatusCode != try.status {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
}

// Every route under /api/ that changes something refuses a session whose request does not come from a page of ours.
func TestEveryRouteOfASessionChecksItsOrigin(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI = true })
	page := append(n.signIn(), "Origin", "https://evil.example")
	seen := 0
	for _, r := range n.api.Routes() {
		if r.Method == http.MethodGet || r.Notified() || strings.HasPrefix(r.Pattern, "/v2/") || r.LiteLLM() { // which take no session
			continue
		}
		path := strings.NewReplacer("{id}", "x", "{hash}", "x").Replace(r.Pattern)
		if strings.HasPrefix(path, "/v1") {
			path = "/api" + path
		}
		seen++
		if got := n.do(r.Method, path, "{}", page...); got.StatusCode != 403 || !strings.Contains(string(got.body), "X-Weir") {
			t.Errorf("%s %s: %d %s", r.Method, path, got.StatusCode, got.body)
		}
	}
	if seen < 40 {
		t.Errorf("%d routes were seen", seen)
	}
}

// A person's calls from the browser have a key of their own: its record, its limits, its state.
func TestCallsOfASession(t *testing.T) {
	t.Parallel()
	var key string
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		key = c.Caller.Key
		return hello(ctx, c, sink)
	}), nil)
	page := n.join(t, "anna@example.org", apikey.User)
	call := func(want int) *response {
		t.Helper()
		r := n.do("POST", "/api/v1/chat/completions", chatBody(false), page...)
		if r.StatusCode != want {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
		return r
	}
	call(200)
	listed := n.do("GET", "/api/v1/keys", "", page...).json(t)
	if at(listed, "data", 0, "name") != "web" || at(listed, "data", 1) != nil || key == "" {
		t.Fatalf("%v, key %q", listed, key)
	}
	hash, _ := at(listed, "data", 0, "hash").(string)
	if r := n.do("PATCH", "/api/v1/keys/"+hash, `{"disabled":true}`, page...); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r := call(403); !strings.Contains(string(r.body), `\"web\"`) {
		t.Errorf("%s", r.body)
	}
	if r := n.do("DELETE", "/api/v1/keys/"+hash, "", page...); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	before := key
	if call(200); key == before {
		t.Error("a deleted key is used")
	}
}

// What matters most needs a recent sign-in.
func TestFreshSignIn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	page := n.join(t, "anna@example.org", apikey.User)
	add := func() *response { return n.do("POST", "/api/v1/keys", `{"name":"backend"}`, page...) }
	if r := add(); r.StatusCode != 201 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	now = now.Add(11 * time.Minute)
	m := wantError(t, add(), 403, fault.PermissionDenied)
	if at(m, "error", "metadata", "sign_in") != "again" {
		t.Errorf("%v", m)
	}
	if r := n.do("GET", "/api/v1/keys", "", page...); r.StatusCode != 200 {
		t.Errorf("reading: %d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("POST", "/api/auth/prove", `{"password":"wrong password"}`, page...), 400, fault.Invalid)
	if r := n.do("POST", "/api/auth/prove", `{"password":"`+password+`"}`, page...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r := add(); r.StatusCode != 201 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// staleMay are the routes that change something and take a session that is not recent, with the reason. All others that a session can reach need a
// proof: they can lead to more power, to money or to data.
var staleMay = map[string]string{
	"POST /api/account/preferences/explain":                           "it changes nothing",
	"POST /api/auth/prove/options":                                    "it is the proof",
	"POST /api/auth/prove":                                            "it is the proof",
	"POST /api/auth/password":                                         "it asks for the present password, or for a recent sign-in where there is none",
	"POST /api/auth/second-step":                                      "a passkey answers with it",
	"POST /api/auth/email/confirm":                                    "the link in the mail is the proof; what asks for it needs a recent sign-in",
	"PATCH /api/auth/passkeys/{id}":                                   "a name",
	"DELETE /api/auth/seeing":                                         "it only ends access",
	"DELETE /api/auth/sessions":                                       "it only ends access",
	"DELETE /api/auth/sessions/{id}":                                  "it only ends access",
	"DELETE /api/invitations/{id}":                                    "it only ends access",
	"POST /api/payments":                                              "who pays agrees at the payment provider",
	"DELETE /api/payments/auto":                                       "it only ends payments",
	"POST /api/vouchers/redeem":                                       "it only adds money",
	"POST /api/invoices":                                              "a paper about money that would come in",
	"PUT /api/invoices/buyer":                                         "a name on papers of the account",
	"DELETE /api/invoices/{id}":                                       "only one that nobody has paid",
	"POST /api/acts":                                                  "a paper about money that was spent",
	"POST /api/notifications/test":                                    "a message to the account itself, of which a day has few",
	"POST /api/notices/read":                                          "what somebody has read",
	"POST /api/views":                                                 "filters of a page",
	"PATCH /api/views/{id}":                                           "filters of a page",
	"DELETE /api/views/{id}":                                          "filters of a page",
	"POST /v1/keys/child/{hash}/stop":                                 "it only ends access",
	"POST /api/agents/{hash}/stop":                                    "it only ends access",
	"POST /api/provider-keys/{id}/test":                               "it changes nothing",
	"POST /api/admin/ledger/check":                                    "it only reads",
	"DELETE /api/admin/ledger/check":                                  "it only ends what reads",
	"POST /api/admin/payments/{id}/check":                             "it only asks the provider, and believes it alone",
	"POST /api/admin/users/find":                                      "it only reads; the key that it is asked for is in its body",
	"POST /api/admin/providers/{id}/test":                             "it changes nothing",
	"POST /api/admin/audit/verify":                                    "it only reads",
	"POST /api/admin/reconciliations":                                 "it reads files and calls, and changes no money",
	"POST /api/admin/reconciliations/look":                            "it changes nothing",
	"DELETE /api/admin/reconciliations/{id}":                          "a file can be compared again",
	"POST /api/admin/jobs/{kind}/{id}/retry":                          "what happens anyway, only sooner",
	"PUT /api/admin/absences/{target}":                                "it only takes calls away, and hurries in an outage",
	"DELETE /api/admin/absences/{target}":                             "it gives back what was taken",
	"PUT /api/admin/settings/{key}":                                   "how much is logged for a while, which hurries in an outage",
	"DELETE /api/admin/settings/{key}":                                "the configuration holds again",
	"POST /api/auth/device":                                           "it only reads",
	"POST /api/auth/device/decision":                                  "it may refuse a program at any time; to allow one it asks itself: TestAllowingNeedsARecentSignIn",
	"PUT /api/chats/{id}":                                             "a chat that is going on",
	"DELETE /api/chats/{id}":                                          "one chat, which is on the screen",
	"PATCH /api/account/profile":                                      "a name and a language",
	"POST /api/organizations":                                         "a new account, without money",
	"PATCH /api/organizations/{id}":                                   "a name, and what managers see",
	"POST /api/organizations/join":                                    "the link lets its reader in, and the own account stays as it is",
	"POST /api/organizations/{id}/teams":                              "a name",
	"PATCH /api/organizations/{id}/teams/{team}":                      "a name",
	"POST /api/organizations/{id}/services":                           "a name: its keys need the proof",
	"PATCH /api/organizations/{id}/services/{service}":                "a name and a team",
	"DELETE /api/organizations/{id}/invitations/{invitation}":         "it hurries when a link has gone astray",
	"PATCH /api/admin/providers/{id}/keys/{key}":                      "it takes calls away, hurries when a key leaks, and gives back what was taken",
	"PUT /api/admin/reconciliations/{id}/differences/{difference}":    "no money moves, and it can be taken back",
	"DELETE /api/admin/reconciliations/{id}/differences/{difference}": "no money moves, and it can be decided again",

	"PATCH /api/admin/prices/draft/{id}":              "nothing takes effect before the draft is published",
	"DELETE /api/admin/prices/draft/{id}":             "nothing takes effect before the draft is published",
	"DELETE /api/admin/prices/draft":                  "nothing takes effect before the draft is published",
	"POST /api/admin/prices/raise":                    "nothing takes effect before the draft is published",
	"POST /api/admin/prices/margin":                   "nothing takes effect before the draft is published",
	"POST /api/admin/prices/import":                   "nothing takes effect before the draft is published",
	"POST /api/admin/prices/import/fetch":             "nothing takes effect before the draft is published",
	"DELETE /api/admin/prices/import":                 "nothing takes effect before the draft is published",
	"POST /api/admin/prices/publications/{id}/revert": "it only makes a draft",
}

// Each route that changes something and that a session can reach has the answer which asks for a proof, or a reason in staleMay.
func TestEveryRouteThatMattersNeedsARecentSignIn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) {
		c.AdminAPI, c.UserCallsPerMinute, c.FailedAuthPerMinute, c.AnonymousPerSecond = true, 100000, 100000, 0
	}, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	page := n.join(t, "anna@example.org", apikey.Administrator)
	now = now.Add(11 * time.Minute)
	seen, asked, described := map[string]bool{}, 0, rolesInDescription(t)
	for _, r := range n.api.Routes() {
		name := r.Method + " " + r.Pattern
		own := strings.HasPrefix(r.Pattern, "/api/") && !slices.Contains(described[r.Method+" "+r.Pattern], "")
		if r.Method == "GET" || !own && !strings.HasPrefix(r.Pattern, "/v1/keys") { // the rest of /v1 is what any API key may do
			continue
		}
		seen[name] = true
		path := strings.NewReplacer("{id}", "none", "{hash}", "none", "{name}", "none", "{version}", "1").Replace(r.Pattern)
		if !own {
			path = "/api" + path
		}
		if strings.HasPrefix(name, "DELETE /api/auth/sessions") {
			continue // it would end the session of this test
		}
		got := n.do(r.Method, path, "", page...)
		asks := got.StatusCode == 403 && at(got.json(t), "error", "metadata", "sign_in") == "again"
		if asks {
			asked++
		}
		if exempt := staleMay[name] != ""; asks == exempt && name != "POST /api/auth/password" {
			t.Errorf("%s: %d %s; a reason why it needs no recent sign-in: %t", name, got.StatusCode, got.body, exempt)
		}
	}
	if asked < 40 {
		t.Errorf("only %d routes have asked", asked)
	}
	for name := range staleMay {
		if !seen[name] {
			t.Errorf("staleMay has %s, which is no route", name)
		}
	}
}

func TestSessionsOfAPerson(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	anna, boris := n.join(t, "anna@example.org", apikey.User), n.join(t, "boris@example.org", apikey.User)
	again := n.do("POST", "/api/auth/sign-in", `{"email":"anna@example.org","password":"`+password+`"}`, n.page("User-Agent", "Other")...)
	other := n.page("Cookie", "__Host-weir="+cookieOf(t, again).Value)
	listed := n.do("GET", "/api/auth/sessions", "", anna...).json(t)
	if len(at(listed, "data").([]any)) != 2 {
		t.Fatalf("%v", listed)
	}
	var id string
	for _, s := range at(listed, "data").([]any) {
		if at(s, "current") == false {
			id, _ = at(s, "id").(string)
			if at(s, "user_agent") != "Other" {
				t.Errorf("%v", s)
			}
		}
	}
	wantError(t, n.do("DELETE", "/api/auth/sessions/"+id, "", boris...), 404, fault.NotFound)
	if r := n.do("DELETE", "/api/auth/sessions/"+id, "", anna...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("GET", "/api/auth/sessions", "", other...), 401, fault.Authentication)
	again = n.do("POST", "/api/auth/sign-in", `{"email":"anna@example.org","password":"`+password+`"}`, n.page()...)
	other = n.page("Cookie", "__Host-weir="+cookieOf(t, again).Value)
	if r := n.do("DELETE", "/api/auth/sessions", "", anna...); at(r.json(t), "ended") != 1.0 {
		t.Errorf("%s", r.body)
	}
	wantError(t, n.do("GET", "/api/auth/sessions", "", other...), 401, fault.Authentication)
	if r := n.do("POST", "/api/auth/password", `{"password":"another long phrase"}`, anna...); r.StatusCode != 204 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("POST", "/api/auth/sign-in", `{"email":"anna@example.org","password":"`+password+`"}`, n.page()...), 401, fault.Authentication)
}

// Operators invite users, administrators anybody; users invite nobody.
func TestInvitations(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	people := map[apikey.Role][]string{}
	for _, role := range []apikey.Role{apikey.User, apikey.Operator, apikey.Administrator} {
		people[role] = n.join(t, string(role)+"@example.org", role)
	}
	rank := map[apikey.Role]int{apikey.User: 0, apikey.Operator: 1, apikey.Administrator: 2}
	for who, page := range people {
		for role := range people {
			want := 403
			if who == apikey.Administrator || rank[who] > rank[role] {
				want = 201
			}
			r := n.do("POST", "/api/invitations", `{"role":"`+string(role)+`","email":"`+string(who)+string(role)+`@new.example.org"}`, page...)
			if r.StatusCode != want {
				t.Errorf("%s invites %s: %d %s", who, role, r.StatusCode, r.body)
			}
		}
		want := map[bool]int{true: 403, false: 200}[who == apikey.User]
		r := n.do("GET", "/api/invitations", "", page...)
		if r.StatusCode != want || strings.Contains(string(r.body), "/invite#") {
			t.Errorf("%s lists: %d %s", who, r.StatusCode, r.body)
		}
	}
	listed := n.manage("GET", "/api/invitations", "").json(t)
	open, _ := at(listed, "data").([]any)
	gone := map[string]int{}
	for _, entry := range open { // who may not make one may not take it back
		id, _ := at(entry, "id").(string)
		role, _ := at(entry, "role").(string)
		wantError(t, n.do("DELETE", "/api/invitations/"+id, "", people[apikey.User]...), 403, fault.PermissionDenied)
		if role != string(apikey.User) {
			wantError(t, n.do("DELETE", "/api/invitations/"+id, "", people[apikey.Operator]...), 403, fault.PermissionDenied)
			continue
		}
		if r := n.do("DELETE", "/api/invitations/"+id, "", people[apikey.Operator]...); r.StatusCode != 204 {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		gone[role]++
		wantError(t, n.manage("DELETE", "/api/invitations/"+id, ""), 404, fault.NotFound)
	}
	if len(open) != 4 || gone["user"] != 2 {
		t.Errorf("%d invitations, of which %v went", len(open), gone)
	}
	wantError(t, n.manage("POST", "/api/invitations", `{"role":"root"}`), 400, fault.Invalid)
	wantError(t, n.manage("POST", "/api/invitations", `{"email":"nonsense"}`), 400, fault.Invalid)
}

// The forms of a sign-in refuse what they do not know: no role, no balance, no owner comes in with them.
func TestForms(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.FailedAuthPerMinute, c.AnonymousPerSecond = 1000, 0 })
	for _, path := range []string{"sign-in", "sign-up", "confirm", "setup", "demo", "recover", "reset", "link", "sign-out", "passkey", "passkey/options"} {
		for name, body := range map[string]string{"role": `{"role":"administrator"}`, "id": `{"id":"x"}`, "list": `[]`, "text": `"x"`, "number": `{"email":1}`, "cut": `{"email":`, "deep": `{"email":[[[[[[[[]]]]]]]]}`} {
			r := n.do("POST", "/api/auth/"+path, body, n.page()...)
			if r.StatusCode != 400 {
				t.Errorf("%s, %s: %d %s", path, name, r.StatusCode, r.body)
			}
		}
	}
	wantError(t, n.do("POST", "/api/auth/sign-in", `{"email":"a@example.org"}`, n.page()...), 400, fault.Invalid)
	wantError(t, n.do("POST", "/api/auth/link", `{"kind":"step","token":"x"}`, n.page()...), 400, fault.Invalid)
	wantError(t, n.do("POST", "/api/auth/recover", `{"email":"a@example.org"}`, n.page()...), 403, fault.PermissionDenied)
}

// Passwords do not cross an open network, and a demo opens for this machine alone.
func TestWhereSignInWorks(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	n.people.OpenDemo(n.first.User.ID)
	send := func(host, path, body string, more string) int {
		s := n.dial()
		s.send("POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nX-Weir: 1\r\nContent-Length: %d\r\n%s\r\n%s", path, host, host, len(body), more, body)
		return s.response().StatusCode
	}
	signIn := `{"email":"a@example.org","password":"x"}`
	for _, try := range []struct {
		name, host, path, body, more string
		status                       int
	}{
		{"loopback by name", "localhost:8080", "/api/auth/sign-in", signIn, "", 401},
		{"loopback of IPv6", "[::1]:8080", "/api/auth/sign-in", signIn, "", 401},
		{"another host", "weir.example.org", "/api/auth/sign-in", signIn, "", 403},
		{"a host that begins like loopback", "127.0.0.1.evil.example", "/api/auth/sign-in", signIn, "", 403},
		{"a proxy that nobody trusts", "weir.example.org", "/api/auth/sign-in", signIn, "X-Forwarded-Proto: https\r\n", 403},
		{"the demo", "localhost:8080", "/api/auth/demo", `{}`, "", 200},
		{"the demo by a name that leads here", "evil.example", "/api/auth/demo", `{}`, "", 403},
		{"the demo behind a proxy", "localhost:8080", "/api/auth/demo", `{}`, "X-Forwarded-For: 192.0.2.1\r\n", 403},
	} {
		if got := send(try.host, try.path, try.body, try.more); got != try.status {
			t.Errorf("%s: status %d, want %d", try.name, got, try.status)
		}
	}
	public := start(t, relayFunc(hello), func(c *httpapi.Config) { c.PublicURL = "https://weir.example.org" })
	if r := public.do("POST", "/api/auth/sign-in", signIn, public.page("Origin", "https://weir.example.org")...); r.StatusCode != 401 {
		t.Errorf("behind TLS: %d %s", r.StatusCode, r.body)
	}
}

// Guesses are bounded by address as guesses of keys are.
func TestGuessesByAddress(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.FailedAuthPerMinute = 5 })
	for range 5 {
		wantError(t, n.do("POST", "/api/auth/link", `{"kind":"reset","token":"x"}`, n.page()...), 400, fault.Invalid)
	}
	limited(t, n.do("POST", "/api/auth/link", `{"kind":"reset","token":"x"}`, n.page()...), "failed_auth_per_minute", "5")
}

func TestNobodySignsIn(t *testing.T) {
	t.Parallel()
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.People = nil })
	wantError(t, n.do("GET", "/api/me", "", n.page()...), 404, fault.NotFound)
	wantError(t, n.do("POST", "/api/invitations", `{}`, "Authorization", "Bearer "+n.first.ManagementKey), 404, fault.NotFound)
	wantError(t, n.do("GET", "/api/v1/credits", "", n.page("Cookie", "__Host-weir=x")...), 401, fault.Authentication)
}

// A person deletes their account, and an administrator that of another: sessions and keys stop, and the address is free again.
func TestDeletedAccounts(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.AdminAPI = true })
	anna, boris := n.join(t, "anna@example.org", apikey.User), n.join(t, "boris@example.org", apikey.User)
	made := n.do("POST", "/api/v1/keys", `{"name":"backend"}`, anna...).json(t)
	key, _ := at(made, "key").(string)
	if r := n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+key); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.manage("DELETE", "/api/account", ""), 403, fault.PermissionDenied) // no key does that
	r := n.do("DELETE", "/api/account", "", anna...)
	if r.StatusCode != 204 || cookieOf(t, r).MaxAge >= 0 {
		t.Fatalf("%d %s %v", r.StatusCode, r.body, r.Header)
	}
	wantError(t, n.do("GET", "/api/account/profile", "", anna...), 401, fault.Authentication)
	wantError(t, n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+key), 401, fault.Authentication)
	wantError(t, n.do("POST", "/api/auth/sign-in", `{"email":"anna@example.org","password":"`+password+`"}`, n.page()...), 401, fault.Authentication)
	n.join(t, "anna@example.org", apikey.User)

	id, _ := at(n.do("GET", "/api/me", "", boris...).json(t), "user", "id").(string)
	wantError(t, n.do("DELETE", "/api/admin/users/"+id, "", boris...), 403, fault.PermissionDenied)
	if r := n.manage("DELETE", "/api/admin/users/"+id, ""); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("GET", "/api/account/profile", "", boris...), 401, fault.Authentication)
	wantError(t, n.manage("DELETE", "/api/admin/users/usr_none", ""), 404, fault.NotFound)
	wantError(t, n.manage("DELETE", "/api/admin/users/"+n.first.User.ID, ""), 409, fault.Conflict)
}
