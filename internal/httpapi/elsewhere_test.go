package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/oidc"
	"weir/internal/oidc/oidctest"
	"weir/internal/secret"
)

// tab is a browser that visits another provider.
type tab struct {
	n             *node
	t             *testing.T
	session, trip string
	headers       []string // more, of every request
}

func (b *tab) page() []string {
	cookies := []string{}
	if b.session != "" {
		cookies = append(cookies, "__Host-weir="+b.session)
	}
	if b.trip != "" {
		cookies = append(cookies, "__Host-weir-trip="+b.trip)
	}
	return append(b.n.page("Cookie", strings.Join(cookies, "; ")), b.headers...)
}

func (b *tab) take(r *response) {
	for _, c := range r.Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			b.t.Errorf("%+v", c)
		}
		switch c.Name {
		case "__Host-weir":
			b.session = c.Value
		case "__Host-weir-trip":
			b.trip = c.Value
		}
	}
}

// leave begins a visit, and returns where the provider sends the browser back.
func (b *tab) leave(body string) *url.URL {
	b.t.Helper()
	r := b.n.do("POST", "/api/auth/oidc/test", body, b.page()...)
	if r.StatusCode != 200 {
		b.t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	b.take(r)
	address, _ := at(r.json(b.t), "url").(string)
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	to, err := resp.Location()
	if err != nil {
		b.t.Fatalf("the provider says %d: %v", resp.StatusCode, err)
	}
	return to
}

// back opens the address to which the provider sent the browser, and returns the page to which it goes.
func (b *tab) back(to *url.URL) *url.URL {
	b.t.Helper()
	r := b.n.do("GET", to.RequestURI(), "", append(b.page(), "Origin", "", "X-Weir", "", "Sec-Fetch-Site", "cross-site")...)
	if r.StatusCode != 303 || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Referrer-Policy") != "no-referrer" {
		b.t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	b.take(r)
	page, err := r.Location()
	if err != nil {
		b.t.Fatal(err)
	}
	return page
}

func (b *tab) visit(body string) *url.URL { b.t.Helper(); return b.back(b.leave(body)) }

// me is the address of who is signed in, "" nobody.
func (b *tab) me(path ...any) any {
	b.t.Helper()
	return at(b.n.do("GET", "/api/me", "", b.page()...).json(b.t), path...)
}

func (b *tab) problem(page *url.URL, want string) {
	b.t.Helper()
	if got := page.Query().Get("problem"); got != want {
		b.t.Errorf("%s; want the problem %q", page, want)
	}
}

type elsewhere struct {
	*node
	provider *oidctest.Provider
	now      time.Time
}

// startElsewhere starts a node with another provider.
func startElsewhere(t *testing.T, change func(*auth.Provider)) *elsewhere {
	t.Helper()
	e := &elsewhere{now: time.Now().Truncate(time.Second)}
	e.node = startAll(t, relayFunc(hello), func(c *httpapi.Config) { c.FailedAuthPerMinute = 1000 }, func(d *httpapi.Deps) { d.Now = func() time.Time { return e.now } }, emptyReports)
	e.provider = oidctest.Start(t)
	p := auth.Provider{ID: "test", Name: "Test", Issuer: e.provider.URL, SignUp: true}
	if change != nil {
		change(&p)
	}
	e.provider.Set(func(o *oidctest.Provider) {
		o.Redirects, o.Now = []string{e.url + "/api/auth/oidc/test/callback"}, func() time.Time { return e.now }
		o.Who = oidctest.Person{Subject: "42", Email: "anna@example.org", Name: "Anna", Verified: "true"}
	})
	e.people.AllowElsewhere(oidc.New([]oidc.Provider{{Provider: p, ClientID: e.provider.ClientID, ClientSecret: secret.New(e.provider.ClientSecret), Scopes: []string{"email"}}},
		func(string) http.RoundTripper { return http.DefaultTransport }, func() time.Time { return e.now }))
	return e
}

func (e *elsewhere) who(subject, email, verified string) {
	e.provider.Set(func(o *oidctest.Provider) {
		o.Who = oidctest.Person{Subject: subject, Email: email, Verified: verified}
	})
}

func (e *elsewhere) tab(t *testing.T) *tab { t.Helper(); return &tab{n: e.node, t: t} }

// joined is the browser of a person with a password.
func (e *elsewhere) joined(t *testing.T, email string) *tab {
	t.Helper()
	page := e.join(t, email, apikey.User)
	return &tab{n: e.node, t: t, session: strings.TrimPrefix(page[len(page)-1], "__Host-weir=")}
}

func TestSignInElsewhere(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, nil)
	b := e.tab(t)
	if b.me("features", "oidc", 0, "id") != "test" || b.me("features", "oidc", 0, "name") != "Test" {
		t.Fatal("the provider is not offered")
	}
	to := b.leave(`{"to":"/keys?x=1"}`)
	trip := b.trip
	page := b.back(to)
	if page.RequestURI() != "/keys?x=1" || b.trip != "" || b.me("user", "name") != "Anna" || b.me("session", "method") != "oidc:test" || b.me("session", "fresh") != true {
		t.Fatalf("%s", page)
	}
	user := b.me("user", "id")
	if b.me("user", "email") != nil {
		t.Error("the address of a provider that is not trusted counts as verified")
	}

	// again, with a session from before: it ends
	before := b.session
	if page := b.visit(`{}`); page.Path != "/" || b.me("user", "id") != user || b.session == before {
		t.Fatalf("%s", page)
	}
	old := tab{n: e.node, t: t, session: before}
	if old.me("user") != nil {
		t.Error("the session from before the sign-in goes on")
	}

	// what came back once does not work again, nor in another browser
	replay := &tab{n: e.node, t: t, trip: trip}
	replay.problem(replay.back(to), "step")
	victim, thief := e.tab(t), e.tab(t)
	stolen := thief.leave(`{}`)
	victim.leave(`{}`)
	victim.problem(victim.back(stolen), "step")
	if victim.me("user") != nil {
		t.Error("a state of another browser signs in")
	}
	none := e.tab(t)
	none.problem(none.back(none.leaveAndForget()), "step")

	late := e.tab(t)
	to = late.leave(`{}`)
	e.now = e.now.Add(16 * time.Minute)
	late.problem(late.back(to), "step")

	for _, secret := range []string{to.Query().Get("code"), to.Query().Get("state"), trip, e.provider.ClientSecret} {
		if strings.Contains(e.logged(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	rows := 0
	for row, err := range e.store.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Action == audit.SignedIn && row.After == "oidc:test" {
			rows++
		}
	}
	if rows != 2 {
		t.Errorf("%d sign-ins are in the audit log", rows)
	}
}

// leaveAndForget begins a visit and loses the cookie.
func (b *tab) leaveAndForget() *url.URL {
	to := b.leave(`{}`)
	b.trip = ""
	return to
}

// Whoever comes back without being let in reads why, and nobody is signed in.
func TestProblemsElsewhere(t *testing.T) {
	t.Parallel()
	set := func(f func(*oidctest.Provider)) func(*testing.T, *elsewhere) {
		return func(_ *testing.T, e *elsewhere) { e.provider.Set(f) }
	}
	for name, try := range map[string]struct {
		provider func(*auth.Provider)
		before   func(*testing.T, *elsewhere)
		body     string
		problem  string
	}{
		"the person says no":         {nil, set(func(o *oidctest.Provider) { o.Refuses = "access_denied" }), `{"to":"/keys"}`, "refused"},
		"a wrong nonce":              {nil, set(func(o *oidctest.Provider) { o.Fault = "another nonce" }), `{}`, "provider"},
		"a wrong audience":           {nil, set(func(o *oidctest.Provider) { o.Fault = "another audience" }), `{}`, "provider"},
		"an expired token":           {nil, set(func(o *oidctest.Provider) { o.Fault = "expired" }), `{}`, "provider"},
		"another issuer":             {nil, set(func(o *oidctest.Provider) { o.Fault = "another issuer" }), `{}`, "provider"},
		"a provider that broke down": {nil, set(func(o *oidctest.Provider) { o.Fault = "token down" }), `{}`, "provider"},
		"nobody may sign up":         {func(p *auth.Provider) { p.SignUp = false }, nil, `{}`, "unknown"},
		"another domain":             {func(p *auth.Provider) { p.Domains = []string{"example.com"} }, nil, `{}`, "address"},
		"a domain inside":            {func(p *auth.Provider) { p.Domains = []string{"org"} }, nil, `{}`, "address"},
		"a domain that is not verified": {func(p *auth.Provider) { p.Domains = []string{"example.org"} },
			set(func(o *oidctest.Provider) { o.Who.Verified = "false" }), `{}`, "address"},
		"an account with the address": {nil, func(t *testing.T, e *elsewhere) { e.join(t, "anna@example.org", apikey.User) }, `{}`, "exists"},
		"the same, of a trusted provider, but nobody has confirmed it": {func(p *auth.Provider) { p.TrustEmail = true },
			func(t *testing.T, e *elsewhere) { e.join(t, "anna@example.org", apikey.User) }, `{}`, "exists"},
		"an invitation that does not work": {nil, nil, `{"invitation":"nonsense"}`, "invitation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startElsewhere(t, try.provider)
			if try.before != nil {
				try.before(t, e)
			}
			b := e.tab(t)
			page := b.visit(try.body)
			b.problem(page, try.problem)
			q := page.Query()
			if page.Path != "/sign-in" || q.Get("provider") != "test" || !strings.HasPrefix(q.Get("request"), "req_") || (q.Get("to") == "/keys") != strings.Contains(try.body, "/keys") {
				t.Errorf("%s", page)
			}
			if b.me("user") != nil || b.trip != "" {
				t.Error("somebody is signed in, or the cookie stays")
			}
		})
	}
}

// A provider writes the query with which a browser comes back: what is malformed in it is left out, and a very long one is refused.
func TestQueryFromElsewhere(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, nil)
	b := e.tab(t)
	to := b.leave(`{"to":"/keys"}`)
	to.RawQuery += "&scope=a;b&more=%zz"
	if page := b.back(to); page.Path != "/keys" || b.me("user") == nil {
		t.Errorf("%s, and nobody is signed in", page)
	}
	wantError(t, e.do("GET", to.Path+"?state="+strings.Repeat("x", 4091), ""), 400, fault.Invalid)
	if r := e.do("GET", to.Path+"?state="+strings.Repeat("x", 4090), ""); r.StatusCode != 303 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

func TestDomainsElsewhere(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, func(p *auth.Provider) { p.Domains, p.TrustEmail = []string{"example.com", "example.org"}, true })
	b := e.tab(t)
	if b.visit(`{}`); b.me("user", "email") != "anna@example.org" || b.me("user", "confirmed") != true || b.me("user", "has_password") != false {
		t.Fatalf("%v", b.me("user"))
	}
	// an address that has left the domain lets nobody in any more
	e.who("42", "anna@elsewhere.example", "true")
	again := e.tab(t)
	again.problem(again.visit(`{}`), "address")

	// a provider that is trusted links by address, once the address was confirmed
	e.who("43", "anna@example.org", "true")
	linked := e.tab(t)
	if linked.visit(`{}`); linked.me("user", "id") != b.me("user", "id") {
		t.Errorf("%v", linked.me("user"))
	}
	// but not when it does not say that it has verified the address
	e.who("44", "anna@example.org", "false")
	unverified := e.tab(t)
	unverified.problem(unverified.visit(`{}`), "address")
}

func TestInvitationElsewhere(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, func(p *auth.Provider) { p.SignUp = false })
	invite := func(body string) string {
		link, _ := at(e.manage("POST", "/api/invitations", body).json(t), "data", "url").(string)
		_, token, _ := strings.Cut(link, "#")
		return token
	}
	b := e.tab(t)
	b.problem(b.visit(`{"invitation":"`+invite(`{"email":"boris@example.org"}`)+`"}`), "invitation")
	e.who("42", "anna@example.org", "false")
	b.problem(b.visit(`{"invitation":"`+invite(`{"email":"anna@example.org"}`)+`"}`), "invitation")
	token := invite(`{"role":"operator"}`)
	if b.visit(`{"invitation":"` + token + `"}`); b.me("user", "role") != "operator" {
		t.Fatalf("%v", b.me("user"))
	}
	e.who("43", "carla@example.org", "true")
	other := e.tab(t)
	other.problem(other.visit(`{"invitation":"`+token+`"}`), "invitation")
}

func TestLinkElsewhere(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, func(p *auth.Provider) { p.SignUp = false })
	anna, boris := e.joined(t, "anna@example.org"), e.joined(t, "boris@example.org")
	if page := anna.visit(`{"purpose":"link"}`); page.RequestURI() != "/settings/security?linked=test" {
		t.Fatalf("%s", page)
	}
	if anna.me("user", "providers", 0) != "test" || boris.me("user", "providers", 0) != nil {
		t.Errorf("%v", anna.me("user"))
	}
	listed := e.do("GET", "/api/auth/identities", "", anna.page()...).json(t)
	if at(listed, "data", 0, "provider") != "test" || at(listed, "data", 0, "provider_name") != "Test" || at(listed, "data", 0, "email") != "anna@example.org" || at(listed, "data", 1) != nil {
		t.Fatalf("%v", listed)
	}
	if page := anna.visit(`{"purpose":"link","to":"/money"}`); page.RequestURI() != "/money" { // it is linked already
		t.Errorf("%s", page)
	}
	page := boris.visit(`{"purpose":"link"}`)
	if boris.problem(page, "taken"); page.Path != "/settings/security" {
		t.Errorf("%s", page)
	}
	// another person signs in between in the same browser
	to := anna.leave(`{"purpose":"link"}`)
	mixed := &tab{n: e.node, t: t, session: boris.session, trip: anna.trip}
	mixed.problem(mixed.back(to), "step")

	in := e.tab(t)
	if in.visit(`{}`); in.me("user", "id") != anna.me("user", "id") {
		t.Errorf("%v", in.me("user"))
	}

	// after ten minutes it proves who is signed in, and needs a proof itself to link
	e.now = e.now.Add(11 * time.Minute)
	wantError(t, e.do("POST", "/api/auth/oidc/test", `{"purpose":"link"}`, anna.page()...), 403, fault.PermissionDenied)
	boris.problem(boris.visit(`{"purpose":"prove","to":"/keys"}`), "other")
	if anna.me("session", "fresh") != false {
		t.Fatal("the session is still fresh")
	}
	if page := anna.visit(`{"purpose":"prove","to":"/keys"}`); page.RequestURI() != "/keys" || anna.me("session", "fresh") != true || boris.me("session", "fresh") != false {
		t.Errorf("%s", page)
	}

	id, _ := at(listed, "data", 0, "id").(string)
	if r := e.do("POST", "/api/auth/prove", `{"password":"`+password+`"}`, boris.page()...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, e.do("DELETE", "/api/auth/identities/"+id, "", boris.page()...), 404, fault.NotFound)
	if r := e.do("DELETE", "/api/auth/identities/"+id, "", anna.page()...); r.StatusCode != 204 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	in = e.tab(t)
	in.problem(in.visit(`{}`), "exists")
	wantError(t, e.do("POST", "/api/auth/oidc/test", `{"purpose":"link"}`, e.page()...), 401, fault.Authentication)
	wantError(t, e.do("POST", "/api/auth/oidc/other", `{}`, e.page()...), 404, fault.NotFound)
	wantError(t, e.do("POST", "/api/auth/oidc/test", `{"purpose":"x"}`, e.page()...), 400, fault.Invalid)
	for _, to := range []string{"https://evil.example/", "//evil.example/", `/\\evil.example`, "javascript:alert(1)", `/\u0009/evil.example`, "/a b", "keys"} {
		wantError(t, e.do("POST", "/api/auth/oidc/test", `{"to":"`+to+`"}`, e.page()...), 400, fault.Invalid)
	}
}

// The last way in stays, and an account that is disabled stays closed.
func TestLastIdentity(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, nil)
	b := e.tab(t)
	b.visit(`{}`)
	id, _ := at(e.do("GET", "/api/auth/identities", "", b.page()...).json(t), "data", 0, "id").(string)
	wantError(t, e.do("DELETE", "/api/auth/identities/"+id, "", b.page()...), 409, fault.Conflict)
	user, _ := b.me("user", "id").(string)
	if err := e.store.Accounts.SetUserDisabled(t.Context(), user, true, e.now, audit.Event{Action: audit.UserDisabled}); err != nil {
		t.Fatal(err)
	}
	again := e.tab(t)
	again.problem(again.visit(`{}`), "disabled")
	e.provider.Set(func(o *oidctest.Provider) { o.Fault = "down" })
	e.now = e.now.Add(2 * time.Hour)
	if r := e.do("POST", "/api/auth/oidc/test", `{}`, e.page()...); r.StatusCode != 200 {
		t.Errorf("a provider that was up an hour ago stops its sign-in: %d %s", r.StatusCode, r.body)
	}
}

// A provider that is down stops nothing else.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, nil)
	e.provider.Set(func(o *oidctest.Provider) { o.Fault = "down" })
	r := e.do("POST", "/api/auth/oidc/test", `{}`, e.page()...)
	if r.StatusCode != 502 && r.StatusCode != 503 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	e.join(t, "boris@example.org", apikey.User)
}

// Domains with providers that say nothing of addresses: trust_email vouches for those, and never for one that the provider calls unverified. Entra sends
// no email_verified (outline/outline#12863), Authentik has sent false since 2025.10 (ZimengXiong/ExcaliDash#67).
func TestDomainsOfSilentProviders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		email, verified string
		trust, in       bool
	}{
		"Entra, trusted":          {"anna@example.org", "", true, true},
		"Entra":                   {"anna@example.org", "", false, false},
		"Authentik, trusted":      {"anna@example.org", "false", true, false},
		"verified":                {"anna@example.org", "true", false, true},
		"another domain, trusted": {"anna@example.com", "", true, false},
		"no address, trusted":     {"", "", true, false},
	} {
		e := startElsewhere(t, func(p *auth.Provider) { p.Domains, p.TrustEmail = []string{"example.org"}, c.trust })
		e.provider.Set(func(o *oidctest.Provider) { o.Who.Email, o.Who.Verified = c.email, c.verified })
		b := e.tab(t)
		if page := b.visit(`{}`); (page.Query().Get("problem") == "") != c.in || !c.in && page.Query().Get("problem") != "address" {
			t.Errorf("%s: %s", name, page)
		}
	}
}

// Where the provider says when the person has signed in there, that is what counts as recent.
func TestOldSessionsElsewhereProveNothing(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, nil)
	said := func(ago time.Duration) {
		e.provider.Set(func(o *oidctest.Provider) { o.Who.More = fmt.Sprintf(`,"auth_time":%d`, e.now.Add(-ago).Unix()) })
	}
	b := e.tab(t)
	said(time.Hour)
	if b.visit(`{}`); b.me("user", "name") != "Anna" || b.me("session", "fresh") != false {
		t.Fatalf("%v %v", b.me("user"), b.me("session"))
	}
	b.problem(b.visit(`{"purpose":"prove"}`), "provider")
	if b.me("session", "fresh") != false {
		t.Error("a session that is old at the provider is a proof")
	}
	said(time.Minute)
	if b.problem(b.visit(`{"purpose":"prove"}`), ""); b.me("session", "fresh") != true {
		t.Error("a sign-in a minute ago is no proof")
	}
}
