package httpapi_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
)

// Who may use a route under /api/. A role that is not listed is refused before the route does anything.
var (
	everybody = []apikey.Role{"", apikey.User, apikey.Operator, apikey.Administrator}
	people    = everybody[1:]
	operators = everybody[2:]
)

// rolesInDescription are the roles that may use an operation, as the API's description says it: "GET /api/me".
func rolesInDescription(t *testing.T) map[string][]apikey.Role {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	roles := map[string][]apikey.Role{}
	for path, item := range described.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				Security []map[string][]apikey.Role `yaml:"security"`
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			allowed := everybody
			for _, one := range op.Security {
				if len(one) == 0 {
					allowed = everybody
					break
				}
				allowed = people
				for _, least := range one {
					if len(least) == 1 {
						allowed = everybody[slices.Index(everybody, least[0]):]
					}
				}
			}
			switch {
			case strings.HasPrefix(path, "/api/invitations"):
				allowed = operators // auth says who may invite whom
			case path == "/api/rankings":
				allowed = people // unless a setting opens them to visitors
			}
			roles[strings.ToUpper(method)+" "+path] = allowed
		}
	}
	return roles
}

// Each route under /api/ is open to the roles that the description names, and to no other.
func TestRolesOfEveryRoute(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.AdminAPI, c.FailedAuthPerMinute, c.AnonymousPerSecond, c.AnonymousBurst, c.UserCallsPerMinute = true, 100000, 100000, 100000, 100000
	})
	pages := map[apikey.Role][]string{"": n.page()}
	for _, role := range people {
		pages[role] = n.join(t, string(role)+"@example.org", role)
	}
	seen, described := map[string]int{}, rolesInDescription(t)
	for _, r := range n.api.Routes() {
		if !strings.HasPrefix(r.Pattern, "/api/") || r.Pattern == "/api/auth/sign-out" || r.Method+r.Pattern == "DELETE/api/auth/sessions" || r.Method+r.Pattern == "DELETE/api/account" {
			continue // these end the sessions of this test
		}
		path := strings.NewReplacer("{id}", "none", "{hash}", "none", "{vendor}", "acme", "{model}", "none", "{date}", "2026-01-31").Replace(r.Pattern)
		allowed := described[r.Method+" "+r.Pattern]
		if strings.HasPrefix(r.Pattern, "/api/admin/") && (len(allowed) == 0 || slices.Contains(allowed, apikey.User)) {
			t.Errorf("%s %s is described as open to %q", r.Method, r.Pattern, allowed)
		}
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
