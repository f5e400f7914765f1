package oidc_test

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/fetch"
	"weir/internal/oidc"
	"weir/internal/oidc/oidctest"
	"weir/internal/secret"
)

const redirect = "https://weir.example.org/api/auth/oidc/test/callback"

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time       { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) wait(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.t = c.t.Add(d) }

func start(t *testing.T) (*oidctest.Provider, *oidc.Client, *clock) {
	t.Helper()
	p := oidctest.Start(t)
	c := &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	p.Set(func(p *oidctest.Provider) {
		p.Redirects, p.Now = []string{redirect}, c.now
		p.Who = oidctest.Person{Subject: "42", Email: "anna@example.org", Name: "Anna", Verified: "true"}
	})
	return p, client(p, c), c
}

// client asks a provider as the gateway does, through package fetch.
func client(p *oidctest.Provider, c *clock) *oidc.Client {
	f := fetch.New(fetch.Config{Connect: 10 * time.Second, FirstByte: 10 * time.Second, Idle: 10 * time.Second, Total: 20 * time.Second})
	return oidc.New([]oidc.Provider{{Provider: auth.Provider{ID: "test", Name: "Test", Issuer: p.URL}, ClientID: p.ClientID, ClientSecret: secret.New(p.ClientSecret), Scopes: []string{"email"}}},
		func(issuer string) http.RoundTripper { return f.Transport(issuer, 1<<20) }, c.now)
}

func trip() *auth.Trip {
	return &auth.Trip{State: strings.Repeat("s", 24), Nonce: strings.Repeat("n", 24), Verifier: strings.Repeat("v", 48), Redirect: redirect}
}

// visit goes to the provider as a browser does, and returns what it brings back.
func visit(t *testing.T, c *oidc.Client, trip *auth.Trip) (url.Values, error) {
	t.Helper()
	address, err := c.Begin(t.Context(), "test", trip)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	to, err := resp.Location()
	if err != nil || !strings.HasPrefix(to.String(), redirect+"?") {
		t.Fatalf("status %d, %v, %v", resp.StatusCode, to, err)
	}
	return to.Query(), nil
}

func finish(t *testing.T, c *oidc.Client, trip *auth.Trip) (auth.Claims, error) {
	t.Helper()
	q, err := visit(t, c, trip)
	if err != nil {
		return auth.Claims{}, err
	}
	return c.Finish(t.Context(), "test", trip, q.Get("code"), q.Get("iss"))
}

func TestClaims(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]struct {
		change func(*oidctest.Provider)
		want   auth.Claims
	}{
		"in the token":       {func(*oidctest.Provider) {}, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna"}},
		"in the user info":   {func(p *oidctest.Provider) { p.Info = true }, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna"}},
		"true as a text":     {func(p *oidctest.Provider) { p.Who.Verified = `"true"` }, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna"}},
		"when it signed in":  {func(p *oidctest.Provider) { p.Who.More = `,"auth_time":1772000000` }, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna", SignedIn: time.Unix(1772000000, 0).UTC()}},
		"some time":          {func(p *oidctest.Provider) { p.Who.More = `,"auth_time":-5` }, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna"}},
		"not verified":       {func(p *oidctest.Provider) { p.Who.Verified = "false" }, auth.Claims{Email: "anna@example.org", Name: "Anna"}},
		"no word about it":   {func(p *oidctest.Provider) { p.Who.Verified = "" }, auth.Claims{Email: "anna@example.org", Silent: true, Name: "Anna"}}, // outline/outline#12863: Entra
		"verified as one":    {func(p *oidctest.Provider) { p.Who.Verified = "1" }, auth.Claims{Email: "anna@example.org", Name: "Anna"}},
		"nothing more":       {func(p *oidctest.Provider) { p.Who = oidctest.Person{Subject: "42"} }, auth.Claims{Silent: true}},
		"secret in a form":   {func(p *oidctest.Provider) { p.ByPost = true }, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna"}},
		"no secret":          {func(p *oidctest.Provider) { p.ClientSecret = "" }, auth.Claims{Email: "anna@example.org", Verified: true, Name: "Anna"}},
		"an endless address": {func(p *oidctest.Provider) { p.Who.Email = strings.Repeat("x", 300) + "@example.org" }, auth.Claims{Verified: true, Name: "Anna"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, c := start(t)
			p.Set(try.change)
			got, err := finish(t, client(p, c), trip())
			try.want.Issuer, try.want.Subject = p.URL, "42"
			if err != nil || !reflect.DeepEqual(got, try.want) {
				t.Errorf("%+v, %v; want %+v", got, err, try.want)
			}
		})
	}
}

// Whatever a provider does wrong, nobody is signed in.
func TestFaultsOfProviders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"down", "no JSON", "another issuer's discovery", "huge discovery", "a script for an endpoint", "another issuer's redirect", "token down", "no id_token", "another nonce", "no nonce",
		"another audience", "two audiences", "another party", "expired", "of the future", "another issuer", "no subject", "a long subject", "not signed", "signed with the secret", "another key", "another's user info"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c, _ := start(t)
			p.Set(func(p *oidctest.Provider) { p.Fault, p.Info = name, name == "another's user info" })
			got, err := finish(t, c, trip())
			if !fault.Is(err, fault.ProviderUnavailable) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A code works once, for the sign-in that it was made for.
func TestCodes(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	q, err := visit(t, c, trip())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Finish(t.Context(), "test", trip(), q.Get("code"), q.Get("iss")); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(trip *auth.Trip, q url.Values){
		"again":                func(*auth.Trip, url.Values) {},
		"another code":         func(_ *auth.Trip, q url.Values) { q.Set("code", "x") },
		"another verifier":     func(trip *auth.Trip, _ url.Values) { trip.Verifier = strings.Repeat("w", 48) },
		"another nonce":        func(trip *auth.Trip, _ url.Values) { trip.Nonce = strings.Repeat("o", 24) },
		"another redirect":     func(trip *auth.Trip, _ url.Values) { trip.Redirect = "https://evil.example/" },
		"another issuer":       func(_ *auth.Trip, q url.Values) { q.Set("iss", "https://evil.example") },
		"no word of an issuer": func(_ *auth.Trip, q url.Values) { q.Del("iss") },
	} {
		mine := trip()
		if name != "again" {
			if q, err = visit(t, c, mine); err != nil {
				t.Fatal(err)
			}
		}
		change(mine, q)
		if got, err := c.Finish(t.Context(), "test", mine, q.Get("code"), q.Get("iss")); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A provider that is down is asked seldom, and again when it may be back; one that has answered is asked once an hour, and when its key is new.
func TestProvidersAreAskedSeldom(t *testing.T) {
	t.Parallel()
	const discovery = "/.well-known/openid-configuration"
	p, c, clock := start(t)
	if p.Asked(discovery) != 0 {
		t.Fatal("it was asked before anybody came")
	}
	p.Set(func(p *oidctest.Provider) { p.Fault = "down" })
	for range 10 {
		if _, err := c.Begin(t.Context(), "test", trip()); !fault.Is(err, fault.ProviderUnavailable) {
			t.Fatal(err)
		}
	}
	if n := p.Asked(discovery); n != 2 {
		t.Errorf("it was asked %d times while it was down", n)
	}
	p.Set(func(p *oidctest.Provider) { p.Fault = "" })
	clock.wait(5 * time.Second)
	for range 3 {
		if _, err := finish(t, c, trip()); err != nil {
			t.Fatal(err)
		}
	}
	if n, keys := p.Asked(discovery), p.Asked("/keys"); n != 3 || keys != 1 {
		t.Errorf("it was asked %d times, for keys %d", n, keys)
	}
	p.RotateKey()
	if _, err := finish(t, c, trip()); err != nil {
		t.Errorf("after another key: %v", err)
	}
	p.Set(func(p *oidctest.Provider) { p.Fault = "down" })
	clock.wait(2 * time.Hour)
	if _, err := c.Begin(t.Context(), "test", trip()); err != nil {
		t.Errorf("what it said before is forgotten: %v", err)
	}
	_, err := c.Begin(t.Context(), "other", trip())
	if !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// Only the configured address may be a private one: what a provider names must be public.
func TestProvidersNameNoPrivateAddress(t *testing.T) {
	t.Parallel()
	p, _, clock := start(t)
	dialled := ""
	f := fetch.New(fetch.Config{
		Connect: time.Second, FirstByte: time.Second, Idle: time.Second, Total: 5 * time.Second,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			dialled = host
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
		},
	})
	h := &http.Client{Transport: f.Transport("https://id.example.org", 1<<20)}
	for _, address := range []string{p.URL, "http://169.254.169.254/latest", "https://[::1]/", "https://private.example.org/", "https://localhost/", "file:///etc/passwd"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s was called", address)
		}
	}
	if dialled != "private.example.org" || p.Asked("/") != 0 {
		t.Errorf("%q was looked up", dialled)
	}
	_ = clock
}

// The address may be in another claim, of which email_verified says nothing (maziggy/bambuddy#1088: Entra without the claim email).
func TestEmailClaim(t *testing.T) {
	t.Parallel()
	for name, inInfo := range map[string]bool{"token": false, "user info": true} {
		p, _, c := start(t)
		p.Set(func(p *oidctest.Provider) {
			p.Info, p.Who = inInfo, oidctest.Person{Subject: "42", Email: "other@example.org", Verified: "true", More: `,"upn":"anna@example.org"`}
		})
		entra := oidc.New([]oidc.Provider{{Provider: auth.Provider{ID: "test", Issuer: p.URL}, ClientID: p.ClientID, ClientSecret: secret.New(p.ClientSecret), EmailClaim: "upn"}},
			func(string) http.RoundTripper { return http.DefaultTransport }, c.now)
		if got, err := finish(t, entra, trip()); err != nil || got.Email != "anna@example.org" || got.Verified || !got.Silent {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Groups are in the token or in the user info, as a list or as one text, under a name that the configuration gives. Where they are too many to be
// there, nothing is known of them.
func TestGroupsClaim(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]struct {
		claim, more string
		inInfo      bool
		groups      []string
		known       bool
	}{
		"a list":           {"groups", `,"groups":["a","b"]`, false, []string{"a", "b"}, true},
		"in the user info": {"groups", `,"groups":["a"]`, true, []string{"a"}, true},
		"one text":         {"groups", `,"groups":"a"`, false, []string{"a"}, true},
		"an empty list":    {"groups", `,"groups":[]`, false, nil, true},
		"none":             {"groups", ``, false, nil, true},
		"numbers":          {"groups", `,"groups":[1,"a",null]`, false, []string{"a"}, true},
		"a path":           {"realm_access.roles", `,"realm_access":{"roles":["a"]}`, false, []string{"a"}, true},
		"a name with dots": {"https://example.org/groups", `,"https://example.org/groups":["a"]`, false, []string{"a"}, true},
		"too many":         {"groups", `,"_claim_names":{"groups":"src1"},"_claim_sources":{"src1":{"endpoint":"https://graph.example/"}}`, false, nil, false},
		"not asked for":    {"", `,"groups":["a"]`, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, c := start(t)
			p.Set(func(p *oidctest.Provider) {
				p.Info, p.Who = try.inInfo, oidctest.Person{Subject: "42", Email: "anna@example.org", Verified: "true", More: try.more}
			})
			one := oidc.New([]oidc.Provider{{Provider: auth.Provider{ID: "test", Issuer: p.URL}, ClientID: p.ClientID, ClientSecret: secret.New(p.ClientSecret), GroupsClaim: try.claim}},
				func(string) http.RoundTripper { return http.DefaultTransport }, c.now)
			got, err := finish(t, one, trip())
			if err != nil || got.Email != "anna@example.org" || !reflect.DeepEqual(got.Groups, try.groups) || got.Grouped != try.known {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A proof asks the provider to let the person sign in again, and to say when that was.
func TestAProofAsksForASignIn(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	for _, again := range []bool{false, true} {
		one := trip()
		one.Again = again
		address, err := c.Begin(t.Context(), "test", one)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(address)
		if q := u.Query(); err != nil || (q.Get("prompt") == "login" && q.Get("max_age") == "600") != again || !again && (q.Has("prompt") || q.Has("max_age")) {
			t.Errorf("%s, %v", address, err)
		}
	}
}
