package httpapi_test

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/catalogapi"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/report"
)

// terminal are the headers of what Claude Code 2.1.330 sends to the routes of OAuth.
var terminal = []string{"Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "User-Agent", "claude-code/2.1.330"}

const (
	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	refreshGrant = "refresh_token"
)

func (n *node) oauth(path string, form url.Values, headers ...string) *response {
	n.t.Helper()
	return n.do("POST", path, form.Encode(), slices.Concat(terminal, headers)...)
}

// askDevice begins a sign-in as Claude Code does.
func (n *node) askDevice() map[string]any {
	n.t.Helper()
	r := n.oauth("/oauth/device_authorization", url.Values{"surface": {"claude_code"}})
	if r.StatusCode != 200 {
		n.t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return r.json(n.t)
}

func (n *node) poll(code any) *response {
	n.t.Helper()
	text, _ := code.(string)
	return n.oauth("/oauth/token", url.Values{"grant_type": {deviceGrant}, "device_code": {text}})
}

func (n *node) renew(token any) *response {
	n.t.Helper()
	text, _ := token.(string)
	return n.oauth("/oauth/token", url.Values{"grant_type": {refreshGrant}, "refresh_token": {text}})
}

func (n *node) decide(page []string, code any, allow string) *response {
	n.t.Helper()
	text, _ := code.(string)
	return n.do("POST", "/api/auth/device/decision", `{"code":"`+text+`","allow":`+allow+`}`, page...)
}

// signAgentIn is the whole way of a program that a page allows.
func (n *node) signAgentIn(page []string) map[string]any {
	n.t.Helper()
	asked := n.askDevice()
	if r := n.decide(page, asked["user_code"], "true"); r.StatusCode != 200 {
		n.t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	r := n.poll(asked["device_code"])
	if r.StatusCode != 200 {
		n.t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return r.json(n.t)
}

// withReports starts a node that knows what keys have spent: nothing.
func withReports(t *testing.T, parts func(*httpapi.Deps)) *node {
	return startAll(t, relayFunc(hello), nil, parts, func(a *accountapi.Deps, _ *catalogapi.Deps, _ *accountapi.EventsConfig) {
		a.Reports = report.New(&figures{}, present{a.Books.(*books)})
	})
}

func wantWord(t *testing.T, r *response, status int, word string) {
	t.Helper()
	m := r.json(t)
	if said, _ := m["error_description"].(string); r.StatusCode != status || m["error"] != word || said == "" || len(m) != 2 {
		t.Errorf("%d %s; want %d %s", r.StatusCode, r.body, status, word)
	}
	if store := r.Header.Get("Cache-Control"); store != "no-store" && word != "server_error" {
		t.Errorf("Cache-Control %q", store)
	}
}

// TestAgentSignIn is the way of Claude Code: metadata, codes, a person who allows it, calls, another token, sign-out.
func TestAgentSignIn(t *testing.T) {
	t.Parallel()
	now, lock := time.Now(), sync.Mutex{}
	clock := func() time.Time { lock.Lock(); defer lock.Unlock(); return now }
	wait := func(d time.Duration) { lock.Lock(); defer lock.Unlock(); now = now.Add(d) }
	n := withReports(t, func(d *httpapi.Deps) { d.Now = clock })
	meta := n.do("GET", "/.well-known/oauth-authorization-server", "", terminal...).json(t)
	for member, path := range map[string]string{"issuer": "", "device_authorization_endpoint": "/oauth/device_authorization", "token_endpoint": "/oauth/token", "revocation_endpoint": "/oauth/revoke"} {
		if meta[member] != n.url+path {
			t.Errorf("%s is %v", member, meta[member])
		}
	}
	if at(meta, "grant_types_supported", 0) != deviceGrant || at(meta, "grant_types_supported", 1) != refreshGrant || meta["authorization_endpoint"] != nil || meta["gateway_protocol_version"] != 1.0 {
		t.Errorf("%v", meta)
	}

	page := n.join(t, "anna@example.org", apikey.User)
	asked := n.askDevice()
	code, _ := asked["user_code"].(string)
	if asked["verification_uri"] != n.url+"/device" || asked["verification_uri_complete"] != n.url+"/device?user_code="+code || asked["expires_in"] != 600.0 || asked["interval"] != 5.0 {
		t.Errorf("%v", asked)
	}
	wantWord(t, n.poll(asked["device_code"]), 400, "authorization_pending")
	slow := n.poll(asked["device_code"])
	wantWord(t, slow, 429, "slow_down")
	if slow.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	shown := n.do("POST", "/api/auth/device", `{"code":"`+strings.ToLower(code)+`"}`, page...)
	if m := shown.json(t); shown.StatusCode != 200 || m["client"] != "Claude Code" || m["code"] != code || m["address"] != "127.0.0.1" || m["here"] != true {
		t.Fatalf("%d %s", shown.StatusCode, shown.body)
	}
	if r := n.decide(page, code, "true"); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wait(5 * time.Second)
	answer := n.poll(asked["device_code"])
	tokens := answer.json(t)
	access, _ := tokens["access_token"].(string)
	refresh, _ := tokens["refresh_token"].(string)
	if answer.StatusCode != 200 || answer.Header.Get("Cache-Control") != "no-store" || tokens["token_type"] != "Bearer" || tokens["expires_in"] != 3600.0 || tokens["email"] != "anna@example.org" {
		t.Fatalf("%d %s", answer.StatusCode, answer.body)
	}

	bearer := []string{"Authorization", "Bearer " + access, "Anthropic-Version", "2023-06-01"}
	for _, path := range []string{"/v1/messages?beta=true", "/v1/chat/completions", "/v1/responses"} {
		body := chatBody(false)
		switch path {
		case "/v1/messages?beta=true":
			body = messagesBody(false)
		case "/v1/responses":
			body = `{"model":"acme/small","input":"hi","store":false}`
		}
		if r := n.do("POST", path, body, bearer...); r.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if r := n.do("GET", "/v1/models", "", bearer...); r.StatusCode != 200 || at(r.json(t), "has_more") != false {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	for _, path := range []string{"/v1/keys", "/api/keys", "/api/me/sessions"} { // it manages nothing
		if r := n.do("GET", path, "", bearer...); r.StatusCode < 400 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	listed := n.do("GET", "/api/keys", "", page...).json(t)
	if at(listed, "data", 0, "agent", "client") != "Claude Code" || at(listed, "data", 0, "name") != "Claude Code, 127.0.0.1" || at(listed, "data", 0, "management") != false {
		t.Errorf("%v", listed)
	}

	wait(40 * time.Minute)
	renewed := n.renew(refresh)
	next := renewed.json(t)
	if renewed.StatusCode != 200 || next["access_token"] == access || next["refresh_token"] == refresh || next["expires_in"] != 3600.0 {
		t.Fatalf("%d %s", renewed.StatusCode, renewed.body)
	}
	again := n.renew(refresh).json(t)
	if again["access_token"] != next["access_token"] || again["refresh_token"] != next["refresh_token"] {
		t.Error("a second terminal gets other tokens")
	}
	refresh, _ = next["refresh_token"].(string)
	if r := n.oauth("/oauth/revoke", url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}}); r.StatusCode != 200 || len(r.body) != 0 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	access, _ = next["access_token"].(string)
	out := n.do("POST", "/v1/messages", messagesBody(false), "Authorization", "Bearer "+access)
	if out.StatusCode != 401 || out.Header.Get("X-Should-Retry") != "false" || at(out.json(t), "error", "type") != "authentication_error" {
		t.Errorf("%d %s %v", out.StatusCode, out.body, out.Header)
	}
	wantWord(t, n.renew(refresh), 401, "invalid_grant")

	log := n.logged()
	for _, secret := range []any{tokens["access_token"], tokens["refresh_token"], next["access_token"], refresh, asked["device_code"], code} {
		if text, _ := secret.(string); strings.Contains(log, text) {
			t.Errorf("%s is logged", text)
		}
	}
}

// TestOAuthErrors has a row for each request that gets no tokens.
func TestOAuthErrors(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	page := n.join(t, "anna@example.org", apikey.User)
	denied := n.askDevice()
	if r := n.decide(page, denied["user_code"], "false"); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	deniedCode, _ := denied["device_code"].(string)
	for name, try := range map[string]struct {
		path, body string
		headers    []string
		status     int
		word       string
	}{
		"denied":                    {"/oauth/token", url.Values{"grant_type": {deviceGrant}, "device_code": {deniedCode}}.Encode(), nil, 400, "access_denied"},
		"an unknown device":         {"/oauth/token", url.Values{"grant_type": {deviceGrant}, "device_code": {"x"}}.Encode(), nil, 400, "invalid_grant"},
		"an unknown refresh token":  {"/oauth/token", "grant_type=refresh_token&refresh_token=x", nil, 401, "invalid_grant"},
		"a key for a refresh token": {"/oauth/token", "grant_type=refresh_token&refresh_token=" + n.first.KeyText, nil, 401, "invalid_grant"},
		"no grant":                  {"/oauth/token", "device_code=x", nil, 400, "invalid_request"},
		"another grant":             {"/oauth/token", "grant_type=password&username=a&password=b", nil, 400, "unsupported_grant_type"},
		"no device code":            {"/oauth/token", url.Values{"grant_type": {deviceGrant}}.Encode(), nil, 400, "invalid_request"},
		"no refresh token":          {"/oauth/token", "grant_type=refresh_token", nil, 400, "invalid_request"},
		"a code that comes twice":   {"/oauth/token", url.Values{"grant_type": {deviceGrant}, "device_code": {"x", "y"}}.Encode(), nil, 400, "invalid_request"},
		"JSON":                      {"/oauth/token", `{"grant_type":"refresh_token","refresh_token":"x"}`, []string{"Content-Type", "application/json"}, 400, "invalid_request"},
		"no type":                   {"/oauth/device_authorization", "a=b", []string{"Content-Type", ""}, 400, "invalid_request"},
		"a malformed form":          {"/oauth/token", "grant_type=%zz", nil, 400, "invalid_request"},
		"a long form":               {"/oauth/token", "grant_type=" + strings.Repeat("x", 17<<10), nil, 413, "invalid_request"},
		"nothing to revoke":         {"/oauth/revoke", "", nil, 400, "invalid_request"},
		"no encryption":             {"/oauth/device_authorization", "", []string{"Host", "gateway.example.org"}, 403, "access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			r := n.do("POST", try.path, try.body, slices.Concat(terminal, try.headers)...)
			if try.status == 413 || try.status == 403 { // refused before the form is read
				if m := r.json(t); r.StatusCode != try.status || m["error"] != try.word {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
				return
			}
			wantWord(t, r, try.status, try.word)
		})
	}
	if r := n.do("GET", "/oauth/token", "", terminal...); r.StatusCode != 405 || r.json(t)["error"] == nil {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.oauth("/oauth/revoke", url.Values{"token": {n.first.KeyText}}); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("GET", "/v1/key", ""); r.StatusCode != 200 {
		t.Errorf("a key that is no agent's was revoked: %d", r.StatusCode)
	}
}

// TestOAuthLimits answers one that asks too often in the words of OAuth: clients end the sign-in at any other 429.
func TestOAuthLimits(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.AnonymousPerSecond, c.AnonymousBurst = 1, 3 })
	var last *response
	for range 10 {
		if last = n.poll("x"); last.StatusCode == 429 {
			break
		}
	}
	if m := last.json(t); last.StatusCode != 429 || m["error"] != "slow_down" || last.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", last.StatusCode, last.body)
	}
}

// TestAllowingNeedsARecentSignIn is a browser that was left open: it may refuse, and not allow.
func TestAllowingNeedsARecentSignIn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	page := n.join(t, "anna@example.org", apikey.User)
	now = now.Add(11 * time.Minute)
	asked := n.askDevice()
	m := wantError(t, n.decide(page, asked["user_code"], "true"), 403, fault.PermissionDenied)
	if at(m, "error", "metadata", "sign_in") != "again" {
		t.Errorf("%v", m)
	}
	if r := n.do("POST", "/api/auth/prove", `{"password":"`+password+`"}`, page...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r := n.decide(page, asked["user_code"], "true"); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	now = now.Add(11 * time.Minute)
	if r := n.decide(page, n.askDevice()["user_code"], "false"); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.decide(page, "BCDF-GHJK", "false"), 404, fault.NotFound)
}

// TestAgentKeys are not changed as others are: their programs would lose them, or keep them for ever.
func TestAgentKeys(t *testing.T) {
	t.Parallel()
	n := withReports(t, nil)
	page := n.join(t, "anna@example.org", apikey.User)
	tokens := n.signAgentIn(page)
	access, _ := tokens["access_token"].(string)
	path := "/api/keys/" + apikey.Hash(access)
	wantError(t, n.do("POST", path+"/rotate", `{}`, page...), 409, fault.Conflict)
	wantError(t, n.do("PATCH", path, `{"expires_at":null}`, page...), 409, fault.Conflict)
	if r := n.do("PATCH", path, `{"name":"Laptop","allowed_models":["acme/*"]}`, page...); r.StatusCode != 200 || at(r.json(t), "data", "agent", "client") != "Claude Code" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("DELETE", path, "", page...); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("POST", "/v1/messages", messagesBody(false), "Authorization", "Bearer "+access); r.StatusCode != 401 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	wantWord(t, n.renew(tokens["refresh_token"]), 401, "invalid_grant")
}

func TestManagedSettings(t *testing.T) {
	t.Parallel()
	set, err := httpapi.ReadManagedSettings([]byte(`{"permissions": {"deny": ["WebFetch"]}, "availableModels": ["sonnet"]}`))
	if err != nil {
		t.Fatal(err)
	}
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.AgentSettings = &httpapi.AgentSettings{Everyone: set} })
	r := n.do("GET", "/managed/settings", "")
	tag := `"` + set.Checksum + `"`
	m := r.json(t)
	if r.StatusCode != 200 || r.Header.Get("ETag") != tag || m["checksum"] != set.Checksum || m["uuid"] != set.ID || at(m, "settings", "permissions", "deny", 0) != "WebFetch" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	for match, status := range map[string]int{tag: 304, "W/" + tag: 304, `"a", ` + tag: 304, "*": 304, `"sha256:other"`: 200, set.Checksum: 200} {
		if r := n.do("GET", "/managed/settings", "", "If-None-Match", match); r.StatusCode != status || (status == 304) != (len(r.body) == 0) || r.Header.Get("ETag") != tag {
			t.Errorf("%s: %d %s", match, r.StatusCode, r.body)
		}
	}
	if r := n.do("GET", "/managed/settings", "", "Authorization", ""); r.StatusCode != 401 || at(r.json(t), "error", "type") != "authentication_error" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	none := start(t, relayFunc(hello), nil)
	if r := none.do("GET", "/managed/settings", ""); r.StatusCode != 404 || at(r.json(t), "error", "type") != "not_found_error" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestManagedSettingsOfPeople gives each person the first settings that are for them: by address, domain, id and role.
func TestManagedSettingsOfPeople(t *testing.T) {
	t.Parallel()
	named := func(name string) *httpapi.ManagedSettings {
		s, err := httpapi.ReadManagedSettings([]byte(`{"for":"` + name + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := &httpapi.AgentSettings{Everyone: named("everyone"), For: []httpapi.SettingsFor{
		{Who: []string{"nobody@example.org", "Boris@Example.org"}, Settings: named("boris")},
		{Who: []string{"@contractors.example.org"}, Settings: named("contractors")},
		{Who: []string{"role:operator", "role:administrator"}, Settings: named("operators")},
	}}
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.AgentSettings = all })
	for email, want := range map[string]struct {
		role apikey.Role
		name any
	}{
		"anna@example.org":              {apikey.User, "everyone"},
		"boris@example.org":             {apikey.Operator, "boris"},
		"carl@contractors.example.org":  {apikey.Operator, "contractors"},
		"dora@contractors.example.org2": {apikey.User, "everyone"},
		"emil@example.org":              {apikey.Operator, "operators"},
	} {
		access, _ := n.signAgentIn(n.join(t, email, want.role))["access_token"].(string)
		if r := n.do("GET", "/managed/settings", "", "Authorization", "Bearer "+access); at(r.json(t), "settings", "for") != want.name {
			t.Errorf("%s: %d %s", email, r.StatusCode, r.body)
		}
	}
	all.Everyone = nil
	if r := n.do("GET", "/managed/settings", ""); r.StatusCode != 200 || at(r.json(t), "settings", "for") != "operators" { // the first user is an administrator
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestNoAgentSignsIn is a gateway without sign-in.
func TestNoAgentSignsIn(t *testing.T) {
	t.Parallel()
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.People = nil })
	if r := n.do("GET", "/.well-known/oauth-authorization-server", "", terminal...); r.StatusCode != 404 || r.json(t)["error"] == nil {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	for _, path := range []string{"/oauth/device_authorization", "/oauth/token", "/oauth/revoke"} {
		if r := n.oauth(path, url.Values{"grant_type": {deviceGrant}}); r.StatusCode != 404 {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// TestReadManagedSettings compares checksums with those that JavaScript computes of JSON.stringify with members in order.
func TestReadManagedSettings(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: `{}`,
		` { "b" : [ 1.0 , 2e2, true, null ], "a": {"z": "\u00e9\n\u2028/<", "y": -0.5 } } `: "{\"a\":{\"y\":-0.5,\"z\":\"\u00e9\\n\u2028/<\"},\"b\":[1,200,true,null]}",
	} {
		s, err := httpapi.ReadManagedSettings([]byte(text))
		if err != nil || string(s.JSON) != want {
			t.Errorf("%s, %v; want %s", s.JSON, err, want)
		}
	}
	s, err := httpapi.ReadManagedSettings([]byte(`{"permissions":{"deny":["WebFetch"]},"availableModels":["sonnet"]}`))
	if err != nil || s.Checksum != "sha256:87e31d10e76a5bc36cf292276eb6916c6d8e19f2e0e45c2806a7244a372cbd7c" || len(s.ID) != 36 {
		t.Errorf("%s %s", s.Checksum, s.ID)
	}
	for _, text := range []string{``, `[]`, `{"a":1,"a":2}`, `{"a":`, `"x"`, strings.Repeat(" ", httpapi.MaxManagedSettings) + "{}"} {
		if _, err := httpapi.ReadManagedSettings([]byte(text)); err == nil {
			t.Errorf("%.20q is read", text)
		}
	}
}
