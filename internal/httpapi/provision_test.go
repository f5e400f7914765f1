package httpapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/organization"
)

// connected is an organization with the token of its directory, which may bring people of corp.example.
func (n *node) connected(t *testing.T) (owner []string, org, token string) {
	t.Helper()
	owner = n.confirmed(t, "owner@corp.example")
	org = n.org(t, owner, "Strelka")
	n.orgs.Grants([]organization.Grant{{ID: org, Domains: []string{"corp.example"}}}, nil)
	r := n.do("POST", "/api/organizations/"+org+"/directory", "", owner...)
	token, _ = at(r.json(t), "data", "token").(string)
	if r.StatusCode != 201 || at(r.json(t), "data", "url") != n.url+"/scim/v2" || !strings.HasPrefix(token, "sk-weir-scim-v1-") {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return owner, org, token
}

// confirmed is the browser of somebody whose address the operator has set.
func (n *node) confirmed(t *testing.T, email string) []string {
	t.Helper()
	id, _ := at(n.do("GET", "/api/me", "", n.join(t, "before-"+email, apikey.User)...).json(t), "user", "id").(string)
	if err := n.people.SetAddress(t.Context(), id, email, audit.Actor{Name: "operator"}); err != nil {
		t.Fatal(err)
	}
	r := n.do("POST", "/api/auth/sign-in", `{"email":"`+email+`","password":"`+password+`"}`, n.page()...)
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return n.page("Cookie", "__Host-weir="+cookieOf(t, r).Value)
}

// members are "address:role" or "address:role:team" of all members but the owner, sorted.
func (n *node) members(t *testing.T, owner []string, org string) string {
	t.Helper()
	teams := map[any]string{}
	list, _ := at(n.do("GET", "/api/organizations/"+org+"/teams", "", owner...).json(t), "data").([]any)
	for _, one := range list {
		teams[at(one, "id")], _ = at(one, "name").(string)
	}
	var out []string
	list, _ = at(n.do("GET", "/api/organizations/"+org+"/members", "", owner...).json(t), "data").([]any)
	for _, one := range list {
		if at(one, "email") == "owner@corp.example" {
			continue
		}
		text := at(one, "email").(string) + ":" + at(one, "role").(string)
		if team := teams[at(one, "team")]; team != "" {
			text += ":" + team
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// within reports whether a value has all that another one says: null is what is left out.
func within(want, got any) bool {
	w, isObject := want.(map[string]any)
	if !isObject {
		return reflect.DeepEqual(want, got)
	}
	g, _ := got.(map[string]any)
	for name, v := range w {
		if !within(v, g[name]) {
			return false
		}
	}
	return true
}

// TestDirectories plays what directories send, from testdata/scim: a request, "= status" with what the answer has at least, "-> name" for its id, and
// the members that there are afterwards.
func TestDirectories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scim/*.txt")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n := startAll(t, relayFunc(hello), nil, nil, emptyReports)
			owner, org, token := n.connected(t)
			names := []string{}
			steps := 0
			for _, step := range strings.Split(string(text), "\n\n") {
				var lines []string
				for _, line := range strings.Split(strings.TrimSpace(step), "\n") {
					if line != "" && line[0] != '#' {
						lines = append(lines, strings.NewReplacer(names...).Replace(line))
					}
				}
				if len(lines) == 0 {
					continue
				}
				steps++
				method, path, _ := strings.Cut(lines[0], " ")
				body, at1 := "", 1
				if !strings.HasPrefix(lines[1], "= ") {
					body, at1 = lines[1], 2
				}
				r := n.do(method, "/scim/v2"+path, body, "Authorization", "Bearer "+token, "Content-Type", "application/scim+json")
				status, rest, _ := strings.Cut(strings.TrimPrefix(lines[at1], "= "), " ")
				rest, name, named := strings.Cut(rest, " -> ")
				if strconv.Itoa(r.StatusCode) != status {
					t.Fatalf("%s\n%s\n%d %s", lines[0], body, r.StatusCode, r.body)
				}
				if rest != "" {
					var want any
					if err := json.Unmarshal([]byte(rest), &want); err != nil {
						t.Fatal(rest, err)
					}
					if got := r.json(t); !within(want, got) || r.Header.Get("Content-Type") != "application/scim+json" {
						t.Errorf("%s\n%s\nwant %s\ngot  %s", lines[0], body, rest, r.body)
					}
				}
				if named {
					id, _ := r.json(t)["id"].(string)
					if r.Header.Get("Location") != n.url+"/scim/v2"+path+"/"+id {
						t.Errorf("Location %q of %q", r.Header.Get("Location"), id)
					}
					names = append(names, "{"+name+"}", id)
				}
				for _, line := range lines[at1+1:] {
					if want := strings.TrimSpace(strings.TrimPrefix(line, "members")); n.members(t, owner, org) != want {
						t.Errorf("%s\n%s\nwant members %q\ngot          %q", lines[0], body, want, n.members(t, owner, org))
					}
				}
			}
			if steps < 10 {
				t.Errorf("only %d steps", steps)
			}
		})
	}
}

// TestDirectoryLeaver has a member whom the directory takes out: keys and the browser stop in the organization, and not in the own account. The last owner
// stays.
func TestDirectoryLeaver(t *testing.T) {
	t.Parallel()
	n := startAll(t, relayFunc(hello), nil, nil, emptyReports)
	owner, org, token := n.connected(t)
	n.join(t, "waiting@corp.example", apikey.User)
	vera := n.confirmed(t, "vera@corp.example")
	n.invited(t, owner, vera, org, "member")
	as := []string{"Authorization", "Bearer " + token}
	post := func(email string) (id string) {
		r := n.do("POST", "/scim/v2/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"`+email+`"}`, as...)
		id, _ = r.json(t)["id"].(string)
		return id
	}
	if id := post("waiting@corp.example"); id != "" {
		t.Fatalf("an address that was not confirmed was taken: %s", id)
	}
	id, last := post("vera@corp.example"), post("owner@corp.example")
	key, _ := n.do("POST", "/api/keys?account="+org, `{"name":"x"}`, vera...).json(t)["key"].(string)
	if r := n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+key); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	const leaves = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","value":{"active":false}}]}`
	if r := n.do("PATCH", "/scim/v2/Users/"+id, leaves, as...); r.StatusCode != 200 || r.json(t)["active"] != false {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("POST", "/v1/chat/completions", chatBody(false), "Authorization", "Bearer "+key); r.StatusCode != 401 {
		t.Errorf("the key: %d %s", r.StatusCode, r.body)
	}
	if r := n.do("GET", "/api/keys?account="+org, "", vera...); r.StatusCode != 404 {
		t.Errorf("the browser in the organization: %d %s", r.StatusCode, r.body)
	}
	if r := n.do("GET", "/api/keys", "", vera...); r.StatusCode != 200 {
		t.Errorf("the browser in the own account: %d %s", r.StatusCode, r.body)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		body := leaves
		if method == "DELETE" {
			body = ""
		}
		if r := n.do(method, "/scim/v2/Users/"+last, body, as...); r.StatusCode != 409 || !strings.Contains(string(r.body), "last owner") {
			t.Errorf("%s of the last owner: %d %s", method, r.StatusCode, r.body)
		}
	}
	rows, err := n.store.Accounts.AuditFound(t.Context(), audit.Search{Limit: 1000})
	if err != nil || !slices.ContainsFunc(rows, func(r audit.Row) bool {
		return r.Name == "scim:"+org && r.Action == audit.OrgLeft && strings.HasPrefix(r.Before, id)
	}) {
		t.Errorf("the audit log does not say that the directory has done it: %v %+v", err, rows)
	}
}

// TestDirectoryByHand has roles that people gave: a directory does not change them. Those that it gives are not changed by people.
func TestDirectoryByHand(t *testing.T) {
	t.Parallel()
	n := startAll(t, relayFunc(hello), nil, nil, emptyReports)
	owner, org, token := n.connected(t)
	n.invited(t, owner, n.confirmed(t, "vera@corp.example"), org, "billing")
	as := []string{"Authorization", "Bearer " + token}
	n.do("POST", "/scim/v2/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"vera@corp.example","roles":[{"value":"manager"}]}`, as...)
	r := n.do("POST", "/scim/v2/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"oleg@corp.example","roles":[{"value":"manager"}]}`, as...)
	if got := n.members(t, owner, org); got != "oleg@corp.example:manager vera@corp.example:billing" {
		t.Errorf("members %q", got)
	}
	oleg, _ := r.json(t)["id"].(string)
	if r := n.do("PATCH", "/api/organizations/"+org+"/members/"+oleg, `{"role":"owner"}`, owner...); r.StatusCode != 409 || !strings.Contains(string(r.body), "directory") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("DELETE", "/api/organizations/"+org+"/directory", "", owner...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("GET", "/scim/v2/Users", "", as...); r.StatusCode != 401 {
		t.Errorf("after the end: %d %s", r.StatusCode, r.body)
	}
	if r := n.do("PATCH", "/api/organizations/"+org+"/members/"+oleg, `{"role":"member"}`, owner...); r.StatusCode != 200 {
		t.Errorf("after the end: %d %s", r.StatusCode, r.body)
	}
}

// TestDirectoryRefusals has requests that are refused in the envelope of SCIM, and tokens that are none.
func TestDirectoryRefusals(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.FailedAuthPerMinute = 1000 })
	owner, org, token := n.connected(t)
	for _, key := range []string{"", "Bearer ", "Bearer nonsense", "Bearer sk-weir-scim-v1-000000000000000000000000", "Bearer " + n.first.ManagementKey, "Basic " + token} {
		r := n.do("GET", "/scim/v2/Users", "", "Authorization", key)
		if r.StatusCode != 401 || !within(map[string]any{"status": "401", "schemas": []any{"urn:ietf:params:scim:api:messages:2.0:Error"}}, r.json(t)) {
			t.Errorf("%q: %d %s", key, r.StatusCode, r.body)
		}
	}
	as := []string{"Authorization", "Bearer " + token}
	const patch = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":`
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/Users", `{"userName":`, 400, ""},
		{"POST", "/Users", `[]`, 400, "object"},
		{"POST", "/Users", `{"userName":"a@corp.example","username":"b@corp.example","schemas":[]}`, 400, "twice"},
		{"POST", "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"]}`, 400, "required"},
		{"POST", "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"a@corp.example\u202e"}`, 400, ""},
		{"POST", "/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"team_x"}`, 400, "displayName"},
		{"PATCH", "/Users/usr_1", patch + `[{"op":"move","path":"active","value":true}]}`, 400, "op"},
		{"PATCH", "/Users/usr_1", patch + `[{"op":"replace","value":[1]}]}`, 400, "value"},
		{"PATCH", "/Users/usr_1", patch + `[{"op":"remove"}]}`, 400, "path"},
		{"PATCH", "/Users/usr_1", patch + `[{"op":"replace","path":"active","value":"perhaps"}]}`, 400, ""},
		{"PATCH", "/Users/usr_1", patch + `{}}`, 400, "Operations"},
		{"PATCH", "/Users/usr_1", patch + `[{"op":"replace","path":"active","value":false}]}`, 404, "usr_1"},
		{"GET", "/Users?filter=userName+eq", "", 400, "filter"},
		{"GET", "/Users?count=many", "", 400, "count"},
		{"GET", "/Users?filter=" + strings.Repeat("a", 5000), "", 400, "query"},
		{"DELETE", "/Groups/grp_1", "", 404, "grp_1"},
	} {
		r := n.do(c.method, "/scim/v2"+c.path, c.body, as...)
		detail, _ := r.json(t)["detail"].(string)
		if r.StatusCode != c.status || !strings.Contains(strings.ToLower(detail), strings.ToLower(c.says)) || r.json(t)["status"] != strconv.Itoa(c.status) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.StatusCode, r.body)
		}
	}
	if got := n.members(t, owner, org); got != "" {
		t.Errorf("members %q", got)
	}
	if strings.Contains(n.logged(), token) {
		t.Error("the token is in the log")
	}
	other := n.join(t, "manager@corp.example", apikey.User)
	n.invited(t, owner, other, org, "manager")
	for _, method := range []string{"GET", "POST", "DELETE"} {
		wantError(t, n.do(method, "/api/organizations/"+org+"/directory", "", other...), 403, fault.PermissionDenied)
	}
}

// TestDirectoryShown has what an owner sees of a directory: who it has brought, what its groups give, and when it was there last. Another token ends the
// former one.
func TestDirectoryShown(t *testing.T) {
	t.Parallel()
	n := startAll(t, relayFunc(hello), nil, nil, emptyReports)
	owner, org, token := n.connected(t)
	n.orgs.Grants([]organization.Grant{{ID: org, Domains: []string{"corp.example"}, Groups: []organization.Rule{{Group: "leads", Role: apikey.OrgManager, Team: "Research"}, {Group: "cashiers", Role: apikey.OrgBilling}}}}, nil)
	path := "/api/organizations/" + org + "/directory"
	before := n.do("GET", path, "", owner...).json(t)
	if at(before, "data", "used_at") != nil || at(before, "data", "members") != 0.0 || len(at(before, "data", "given").([]any)) != 0 || at(before, "data", "token") != nil {
		t.Errorf("a new one: %v", before)
	}
	scim := func(path, body string) string {
		t.Helper()
		r := n.do("POST", "/scim/v2"+path, body, "Authorization", "Bearer "+token, "Content-Type", "application/scim+json")
		id, _ := r.json(t)["id"].(string)
		if r.StatusCode != 201 {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
		return id
	}
	people := map[string]string{}
	for name, active := range map[string]string{"vera": "true", "oleg": "true", "nina": "false"} {
		people[name] = scim("/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"`+name+`@corp.example","emails":[{"value":"`+name+`@corp.example","primary":true}],"active":`+active+`}`)
	}
	for name, member := range map[string]string{"leads": "vera", "cashiers": "oleg", "Search": "oleg"} {
		scim("/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"`+name+`","members":[{"value":"`+people[member]+`"}]}`)
	}
	teams := map[string]any{}
	list, _ := at(n.do("GET", "/api/organizations/"+org+"/teams", "", owner...).json(t), "data").([]any)
	for _, one := range list {
		teams[at(one, "name").(string)] = at(one, "id")
	}
	shown, _ := n.do("GET", path, "", owner...).json(t)["data"].(map[string]any)
	want := []any{
		map[string]any{"group": "Search", "role": "member", "team": teams["Search"], "people": 1.0}, map[string]any{"group": "cashiers", "role": "billing", "team": nil, "people": 1.0},
		map[string]any{"group": "leads", "role": "manager", "team": teams["Research"], "people": 1.0},
	}
	if !reflect.DeepEqual(shown["given"], want) || shown["users"] != 3.0 || shown["members"] != 2.0 || shown["groups"] != 3.0 || shown["used_at"] == nil || teams["Search"] == nil || teams["Research"] == nil {
		t.Errorf("%v, want %v", shown, want)
	}
	if r := n.do("POST", path, "", owner...); r.StatusCode != 201 || at(r.json(t), "data", "members") != 2.0 || at(r.json(t), "data", "token") == token {
		t.Errorf("another token: %d %s", r.StatusCode, r.body)
	}
	if r := n.do("GET", "/scim/v2/Users", "", "Authorization", "Bearer "+token); r.StatusCode != 401 {
		t.Errorf("the former token: %d %s", r.StatusCode, r.body)
	}
}
