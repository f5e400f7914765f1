package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
)

// Who may use a route under /api/. A role that is not listed is refused before the route does anything.
var (
	everybody      = []apikey.Role{"", apikey.User, apikey.Operator, apikey.Administrator}
	people         = everybody[1:]
	operators      = everybody[2:]
	administrators = everybody[3:]
)

// actsOfOperators change something, and operators may: what is not here is for administrators.
var actsOfOperators = []string{"POST /api/admin/providers/{id}/test",
	"POST /api/admin/users/find", "POST /api/admin/users/{id}/block", "POST /api/admin/users/{id}/unblock", "PATCH /api/admin/users/{id}/keys/{hash}",
	"POST /api/admin/users/{id}/sign-out", "POST /api/admin/users/{id}/password-link",
}

// rolesOf are the roles that may use a route. A new route has a line here, or belongs to one of the families.
func rolesOf(method, pattern string) []apikey.Role {
	if strings.HasPrefix(pattern, "/api/admin/") {
		if method == "GET" || slices.Contains(actsOfOperators, method+" "+pattern) {
			return operators
		}
		return administrators
	}
	for _, rule := range []struct {
		prefix string
		roles  []apikey.Role
	}{
		{"/api/invitations", operators},
		{"/api/auth/prove", people}, {"/api/auth/password", people}, {"/api/auth/email", people}, {"/api/auth/sessions", people}, {"/api/auth/passkeys", people}, {"/api/auth/second-step", people}, {"/api/auth/identities", people},
		{"/api/auth/", everybody}, {"/api/payments/notifications", everybody}, {"/api/unsubscribe/", everybody},
		{"/api/catalog/hidden", people}, {"/api/catalog", everybody}, {"/api/models/", everybody}, {"/api/status", everybody}, {"/api/rankings", people}, {"/api/setup", everybody}, {"/api/me", everybody},
		{"/api/", people},
	} {
		if strings.HasPrefix(pattern, rule.prefix) {
			return rule.roles
		}
	}
	return nil
}

// Each route under /api/ is open to the roles that may use it, and to no other.
func TestRolesOfEveryRoute(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.AdminAPI, c.FailedAuthPerMinute, c.AnonymousPerSecond, c.AnonymousBurst, c.UserCallsPerMinute = true, 100000, 100000, 100000, 100000
	})
	pages := map[apikey.Role][]string{"": n.page()}
	for _, role := range people {
		pages[role] = n.join(t, string(role)+"@example.org", role)
	}
	seen := map[string]int{}
	for _, r := range n.api.Routes() {
		if !strings.HasPrefix(r.Pattern, "/api/") || r.Pattern == "/api/auth/sign-out" || r.Method+r.Pattern == "DELETE/api/auth/sessions" || r.Method+r.Pattern == "DELETE/api/account" {
			continue // these end the sessions of this test
		}
		path := strings.NewReplacer("{id}", "none", "{hash}", "none", "{vendor}", "acme", "{model}", "none", "{date}", "2026-01-31").Replace(r.Pattern)
		allowed := rolesOf(r.Method, r.Pattern)
		for _, role := range everybody {
			// What a route does is not looked at here, so it may also fail: this node has no reports.
			body := `{"nonsense":1}` // refused by whatever reads it, so that nothing is changed
			if r.Method == "GET" || r.Method == "DELETE" {
				body = ""
			}
			got := n.do(r.Method, path, body, pages[role]...)
			refused := got.StatusCode == 401 && role == "" && !slices.Contains(allowed, role) || got.StatusCode == 403 && strings.Contains(string(got.body), fault.PermissionDenied.String())
			switch {
			case !slices.Contains(allowed, role) && !refused:
				t.Errorf("%s %s is open to %q: %d %s", r.Method, r.Pattern, role, got.StatusCode, got.body)
			case slices.Contains(allowed, role) && got.StatusCode == 401 && r.Pattern != "/api/auth/demo":
				t.Errorf("%s %s is closed to %q: %d %s", r.Method, r.Pattern, role, got.StatusCode, got.body)
			case slices.Contains(allowed, role) && got.StatusCode == 403 && (strings.Contains(string(got.body), "needs a management key") || strings.Contains(string(got.body), "operators") || strings.Contains(string(got.body), "administrators")):
				t.Errorf("%s %s is closed to %q: %d %s", r.Method, r.Pattern, role, got.StatusCode, got.body)
			}
		}
		seen[string(slices.Max(allowed))]++
	}
	total := 0
	for _, k := range seen {
		total += k
	}
	if total < 60 {
		t.Errorf("only %d routes were seen: %v", total, seen)
	}
	for role, page := range pages {
		if role != "" && at(n.do("GET", "/api/me", "", page...).json(t), "user", "role") != string(role) {
			t.Errorf("the session of %q has ended or changed its role", role)
		}
	}
}

// The console is for browsers: on the public listener they reach its routes also where the keys of operators do not.
func TestConsoleIsForBrowsers(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	for role, want := range map[apikey.Role]int{apikey.User: 403, apikey.Operator: 400, apikey.Administrator: 400} {
		page := n.join(t, string(role)+"@example.org", role)
		if r := n.do("GET", "/api/admin/catalog/history?before=x", "", page...); r.StatusCode != want {
			t.Errorf("the browser of %s: %d %s", role, r.StatusCode, r.body)
		}
	}
	wantError(t, n.manage("GET", "/api/admin/catalog/history?before=x", ""), 404, fault.NotFound)
	wantError(t, n.do("GET", "/api/admin/vouchers", "", "Authorization", ""), 404, fault.NotFound)
	wantError(t, n.do("DELETE", "/api/admin/vouchers", "", "Authorization", ""), 404, fault.NotFound)
}

// A cookie that somebody planted in a browser becomes nobody's session: each sign-in makes a new one, and the planted one stays worth nothing.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	n.join(t, "anna@example.org", apikey.User)
	attacker := n.join(t, "mallory@example.org", apikey.User)
	for name, planted := range map[string]string{"made up": "__Host-weir=planted", "of the attacker": attacker[len(attacker)-1], "two": attacker[len(attacker)-1] + "; __Host-weir=planted"} {
		r := n.do("POST", "/api/auth/sign-in", `{"email":"anna@example.org","password":"`+password+`"}`, n.page("Cookie", planted)...)
		if r.StatusCode != 200 {
			t.Fatalf("%s: %d %s", name, r.StatusCode, r.body)
		}
		fresh := cookieOf(t, r).Value
		if fresh == "" || strings.Contains(planted, fresh) {
			t.Errorf("%s: the session has the planted token", name)
		}
		if m := n.do("GET", "/api/me", "", n.page("Cookie", planted)...).json(t); at(m, "user") != nil {
			t.Errorf("%s: the planted cookie is signed in as %v", name, at(m, "user", "email"))
		}
		if m := n.do("GET", "/api/me", "", n.page("Cookie", "__Host-weir="+fresh)...).json(t); at(m, "user", "email") != "anna@example.org" {
			t.Errorf("%s: %v", name, m)
		}
	}
}
