package httpapi_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/catalogapi"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
	"weir/internal/report"
)

// ofPersons are the operations under /api that belong to a person's own account: in an organization they are refused.
var ofPersons = []string{
	"DELETE /api/account", "GET /api/account/profile", "PATCH /api/account/profile", "GET /api/chats", "DELETE /api/chats", "GET /api/chats.json", "GET /api/chats/{id}", "PUT /api/chats/{id}", "DELETE /api/chats/{id}",
	"GET /api/invitations", "POST /api/invitations", "DELETE /api/invitations/{id}",
}

// usageOfAgents is what a signed-in program asks with its key, as those under /v1 are asked.
const usageOfAgents = "GET /api/oauth/usage"

// orgRolesOf are the roles in an organization that may use an operation under /api, as the API's description says it. An operation that needs a caller has
// them, or belongs to persons.
func orgRolesOf(t *testing.T) map[string][]string {
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
	roles := map[string][]string{}
	for path, item := range described.Paths {
		for method, node := range item {
			var op struct {
				Security []map[string][]string `yaml:"security"`
				Roles    []string              `yaml:"x-organization-roles"`
			}
			if method == "parameters" || !strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/api/admin/") {
				continue
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			name := strings.ToUpper(method) + " " + path
			open := slices.ContainsFunc(op.Security, func(one map[string][]string) bool { return len(one) == 0 })
			if name == usageOfAgents {
				continue
			}
			personal := slices.Contains(ofPersons, name) || strings.HasPrefix(path, "/api/auth/") || strings.HasPrefix(path, "/api/organizations") || strings.HasPrefix(path, "/api/devices")
			switch {
			case open:
				if len(op.Roles) > 0 {
					t.Errorf("%s is open to all, and has roles", name)
				}
			case personal == (len(op.Roles) > 0):
				t.Errorf("%s has the roles %v, and belongs to persons: %t", name, op.Roles, personal)
			default:
				roles[name] = append([]string{}, op.Roles...)
			}
		}
	}
	if len(roles) < 70 {
		t.Fatalf("only %d operations have a row", len(roles))
	}
	return roles
}

// org makes an organization of a person, and returns its id.
func (n *node) org(t *testing.T, page []string, name string) string {
	t.Helper()
	r := n.do("POST", "/api/organizations", `{"name":"`+name+`"}`, page...)
	id, _ := at(r.json(t), "data", "id").(string)
	if r.StatusCode != 201 || !strings.HasPrefix(id, "org_") {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return id
}

// invited makes a person a member of an organization.
func (n *node) invited(t *testing.T, owner, person []string, org, role string) {
	t.Helper()
	r := n.do("POST", "/api/organizations/join", `{"token":"`+n.orgLink(t, owner, org, `{"role":"`+role+`"}`)+`"}`, person...)
	if r.StatusCode != 200 || at(r.json(t), "data", "id") != org {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
}

// orgLink is the text of the link of a new invitation.
func (n *node) orgLink(t *testing.T, page []string, org, body string) string {
	t.Helper()
	r := n.do("POST", "/api/organizations/"+org+"/invitations", body, page...)
	url, _ := at(r.json(t), "data", "url").(string)
	_, token, found := strings.Cut(url, "/join#")
	if r.StatusCode != 201 || !found {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return token
}

// emptyReports gives the operations reports of nothing.
func emptyReports(a *accountapi.Deps, _ *catalogapi.Deps, _ *accountapi.EventsConfig) {
	a.Reports = report.New(&figures{}, present{a.Books.(*books)})
}

// In an organization each route is open to the roles that the description names, or for calls of models to those who have keys; a stranger's answer is
// always that there is no such account.
func TestOrganizationRolesOfEveryRoute(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.FailedAuthPerMinute, c.AnonymousPerSecond, c.AnonymousBurst, c.UserCallsPerMinute = 100000, 100000, 100000, 100000
	})
	described := orgRolesOf(t)
	stranger := n.join(t, "stranger@example.org", apikey.User)
	pages := map[string][]string{"owner": n.join(t, "owner@example.org", apikey.User)}
	org := n.org(t, pages["owner"], "Strelka")
	for _, role := range []string{"manager", "member", "billing"} {
		pages[role] = n.join(t, role+"@example.org", apikey.User)
		n.invited(t, pages["owner"], pages[role], org, role)
	}
	seen := 0
	for _, r := range n.api.Routes() {
		name := r.Method + " " + r.Pattern
		allowed, has := described[name]
		path := r.Pattern
		switch {
		case has:
		case name == usageOfAgents:
			allowed = []string{"owner", "manager", "member"}
		case strings.HasPrefix(r.Pattern, "/v1"):
			if !n.needsCaller(r.Method, r.Pattern) {
				continue
			}
			allowed, path = []string{"owner", "manager", "member"}, "/api"+r.Pattern
		case slices.Contains(ofPersons, name) || strings.HasPrefix(r.Pattern, "/api/organizations") && !strings.HasPrefix(r.Pattern, "/api/organizations/join/"):
			allowed = nil
		default:
			continue
		}
		seen++
		path = strings.NewReplacer("{id}", "none", "{hash}", "none", "{vendor}", "acme", "{model}", "none", "{date}", "2026-01-31", "{name}", "none", "{version}", "1").Replace(path) + "?account=" + org
		body := `{"nonsense":1}`
		if r.Method == "GET" || r.Method == "DELETE" {
			body = ""
		}
		for role, page := range pages {
			got := n.do(r.Method, path, body, page...)
			refused := got.StatusCode == http.StatusForbidden && (strings.Contains(string(got.body), "Your role in this organization") || strings.Contains(string(got.body), "own account"))
			if refused == slices.Contains(allowed, role) {
				t.Errorf("%s by %s is refused %t: %d %s", name, role, refused, got.StatusCode, got.body)
			}
		}
		for who, headers := range map[string][]string{"a stranger's browser": stranger, "another's management key": {"Authorization", "Bearer " + n.first.ManagementKey}} {
			if strings.HasPrefix(who, "another") && strings.HasPrefix(path, "/api/v1") {
				continue // a management key has no calls there
			}
			got := n.do(r.Method, path, body, headers...)
			if got.StatusCode != 404 || !strings.Contains(string(got.body), "There is no such account") {
				t.Errorf("%s by %s: %d %s", name, who, got.StatusCode, got.body)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d routes were seen", seen)
	}
}

// needsCaller reports whether a route refuses who has neither session nor key.
func (n *node) needsCaller(method, pattern string) bool {
	path := strings.NewReplacer("{id}", "none", "{hash}", "none", "{vendor}", "acme", "{model}", "none", "{slug}", "none").Replace(pattern)
	return n.do(method, path, "", "Authorization", "").StatusCode == 401
}

// A member makes a key whose calls the organization pays. It ends with the membership, at once, and so does what the member's browser may see.
func TestOrganizationMembership(t *testing.T) {
	t.Parallel()
	var caller atomic.Pointer[apikey.Caller]
	n := startAll(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		caller.Store(c.Caller)
		return hello(ctx, c, sink)
	}), nil, nil, emptyReports)
	owner, person, other := n.join(t, "owner@example.org", apikey.User), n.join(t, "vera@example.org", apikey.User), n.join(t, "oleg@example.org", apikey.User)
	org := n.org(t, owner, "Strelka")
	vera, _ := at(n.do("GET", "/api/me", "", person...).json(t), "user", "id").(string)

	token := n.orgLink(t, owner, org, `{"role":"member","email":"vera@example.org"}`)
	look := n.do("POST", "/api/organizations/join/look", `{"token":"`+token+`"}`, n.page()...)
	if look.StatusCode != 200 || at(look.json(t), "data", "organization") != "Strelka" || at(look.json(t), "data", "role") != "member" ||
		at(look.json(t), "data", "by") != "owner" || at(look.json(t), "data", "team") != nil {
		t.Fatalf("%d %s", look.StatusCode, look.body)
	}
	wantError(t, n.do("POST", "/api/organizations/join", `{"token":"`+token+`"}`, other...), 400, fault.Invalid) // it is for another address
	if r := n.do("POST", "/api/organizations/join", `{"token":"`+token+`"}`, person...); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("POST", "/api/organizations/join", `{"token":"`+token+`"}`, person...), 400, fault.Invalid) // its place is taken

	made := n.do("POST", "/api/keys?account="+org, `{"name":"Laptop"}`, person...)
	text, _ := made.json(t)["key"].(string)
	hash, _ := at(made.json(t), "data", "hash").(string)
	if made.StatusCode != 201 || at(made.json(t), "data", "member") != vera {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	const chat = `{"model":"acme/small","messages":[{"role":"user","content":"x"}]}`
	if r := n.do("POST", "/v1/chat/completions", chat, "Authorization", "Bearer "+text); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if c := caller.Load(); c.User != org || c.Member != vera {
		t.Fatalf("the call is of %s for %s", c.User, c.Member)
	}
	caller.Store(nil)
	if r := n.do("POST", "/api/v1/chat/completions?account="+org, chat, person...); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if c := caller.Load(); c.User != org || c.Member != vera {
		t.Fatalf("the browser's call is of %s for %s", c.User, c.Member)
	}
	wantError(t, n.do("POST", "/api/keys?account="+org, `{"name":"All","management":true}`, person...), 400, fault.Invalid)
	if r := n.do("GET", "/api/keys?account="+org, "", owner...); !strings.Contains(string(r.body), hash) {
		t.Errorf("the owner sees %s", r.body)
	}

	// another member sees nothing of it, and neither does another organization
	n.invited(t, owner, other, org, "member")
	elsewhere := n.org(t, other, "Hydrolab")
	for who, account := range map[string]string{"another member": org, "another organization": elsewhere} {
		if r := n.do("GET", "/api/keys?account="+account, "", other...); r.StatusCode != 200 || strings.Contains(string(r.body), hash) {
			t.Errorf("%s sees %d %s", who, r.StatusCode, r.body)
		}
		for _, x := range [][2]string{{"GET", ""}, {"PATCH", `{"name":"mine"}`}, {"DELETE", ""}} {
			wantError(t, n.do(x[0], "/api/keys/"+hash+"?account="+account, x[1], other...), 404, fault.NotFound)
		}
		wantError(t, n.do("POST", "/api/keys/"+hash+"/rotate?account="+account, `{}`, other...), 404, fault.NotFound)
	}
	for _, path := range []string{"", "/members", "/teams"} {
		wantError(t, n.do("GET", "/api/organizations/"+elsewhere+path, "", owner...), 404, fault.NotFound)
	}
	wantError(t, n.do("DELETE", "/api/organizations/"+org+"/members/"+vera, "", other...), 403, fault.PermissionDenied)
	wantError(t, n.do("POST", "/api/keys/"+hash+"/rotate?account="+org, `{}`, owner...), 403, fault.PermissionDenied) // its text is the member's

	removed := n.do("DELETE", "/api/organizations/"+org+"/members/"+vera, "", owner...)
	if removed.StatusCode != 200 || at(removed.json(t), "data", "keys") != 2.0 {
		t.Fatalf("%d %s", removed.StatusCode, removed.body)
	}
	wantError(t, n.do("POST", "/v1/chat/completions", chat, "Authorization", "Bearer "+text), 401, fault.Authentication)
	wantError(t, n.do("GET", "/api/keys?account="+org, "", person...), 404, fault.NotFound)
	if r := n.do("GET", "/api/keys", "", person...); r.StatusCode != 200 {
		t.Errorf("the own account: %d %s", r.StatusCode, r.body)
	}

	// one owner stays
	me, _ := at(n.do("GET", "/api/me", "", owner...).json(t), "user", "id").(string)
	wantError(t, n.do("DELETE", "/api/organizations/"+org+"/members/"+me, "", owner...), 409, fault.Conflict)
	wantError(t, n.do("PATCH", "/api/organizations/"+org+"/members/"+me, `{"role":"member"}`, owner...), 409, fault.Conflict)
	accounts, _ := n.do("GET", "/api/me", "", owner...).json(t)["accounts"].([]any)
	if len(accounts) != 2 || at(accounts[1].(map[string]any), "id") != org || at(accounts[1].(map[string]any), "role") != "owner" {
		t.Errorf("accounts are %v", accounts)
	}
}

// A service has keys of its own, which end with it. Teams say whose keys a manager sees.
func TestOrganizationServicesAndTeams(t *testing.T) {
	t.Parallel()
	n := startAll(t, relayFunc(hello), nil, nil, emptyReports)
	owner, manager, person := n.join(t, "owner@example.org", apikey.User), n.join(t, "timur@example.org", apikey.User), n.join(t, "vera@example.org", apikey.User)
	org := n.org(t, owner, "Strelka")
	base := "/api/organizations/" + org
	id := func(r *response) string {
		t.Helper()
		if r.StatusCode >= 300 {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
		s, _ := at(r.json(t), "data", "id").(string)
		return s
	}
	team := id(n.do("POST", base+"/teams", `{"name":"Search"}`, owner...))
	n.invited(t, owner, manager, org, "manager")
	n.invited(t, owner, person, org, "member")
	timur, vera := id(n.do("GET", "/api/account/profile", "", manager...)), id(n.do("GET", "/api/account/profile", "", person...))
	id(n.do("PATCH", base+"/members/"+timur, `{"team":"`+team+`"}`, owner...))

	key := n.do("POST", "/api/keys?account="+org, `{"name":"Laptop"}`, person...)
	hash, _ := at(key.json(t), "data", "hash").(string)
	wantError(t, n.do("GET", "/api/keys/"+hash+"?account="+org, "", manager...), 404, fault.NotFound)
	id(n.do("PATCH", base+"/members/"+vera, `{"team":"`+team+`"}`, owner...))
	if r := n.do("GET", "/api/keys/"+hash+"?account="+org, "", manager...); r.StatusCode != 200 {
		t.Errorf("of the own team: %d %s", r.StatusCode, r.body)
	}

	service := id(n.do("POST", base+"/services", `{"name":"Reports","team":"`+team+`"}`, manager...))
	wantError(t, n.do("POST", base+"/services", `{"name":"Others"}`, manager...), 403, fault.PermissionDenied)
	wantError(t, n.do("POST", "/api/keys?account="+org, `{"name":"x","service":"`+service+`"}`, person...), 403, fault.PermissionDenied)
	made := n.do("POST", "/api/keys?account="+org, `{"name":"nightly","service":"`+service+`"}`, manager...)
	text, _ := made.json(t)["key"].(string)
	const chat = `{"model":"acme/small","messages":[{"role":"user","content":"x"}]}`
	if r := n.do("POST", "/v1/chat/completions", chat, "Authorization", "Bearer "+text); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("DELETE", base+"/services/"+service, "", manager...); r.StatusCode != 200 || at(r.json(t), "data", "keys") != 1.0 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("POST", "/v1/chat/completions", chat, "Authorization", "Bearer "+text), 401, fault.Authentication)

	// What belongs to the organization comes with it, as far as the role sees it.
	whole := n.do("GET", base, "", owner...).json(t)
	for name, want := range map[string]int{"teams": 1, "services": 0, "invitations": 0} {
		if list, _ := at(whole, "data", name).([]any); list == nil || len(list) != want {
			t.Errorf("%s: %v", name, list)
		}
	}
	theirs := n.do("GET", base, "", person...).json(t)
	if at(theirs, "data", "services") != nil || at(theirs, "data", "invitations") != nil || at(theirs, "data", "budgets") != false || at(whole, "data", "budgets") != true {
		t.Errorf("%v", theirs)
	}
	for i, sees := range []int{3, 2, 1} { // all, those of the own team, the own
		who := [][]string{owner, manager, person}[i]
		all, _ := at(n.do("GET", base+"/members", "", who...).json(t), "data").([]any)
		for _, m := range all {
			if at(m, "spent_month") != nil {
				sees--
			}
		}
		if len(all) != 3 || sees != 0 {
			t.Errorf("%d more should be seen: %v", sees, all)
		}
	}

	// who becomes billing has no keys
	id(n.do("PATCH", base+"/members/"+vera, `{"role":"billing"}`, owner...))
	wantError(t, n.do("GET", "/api/keys/"+hash+"?account="+org, "", owner...), 404, fault.NotFound)
	wantError(t, n.do("PATCH", base+"/members/"+vera, `{"role":"member"}`, manager...), 403, fault.PermissionDenied)
	wantError(t, n.do("POST", base+"/teams", `{"name":"Search"}`, owner...), 409, fault.Conflict)
	if r := n.do("DELETE", base, "", owner...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("GET", base, "", owner...), 404, fault.NotFound)
}
