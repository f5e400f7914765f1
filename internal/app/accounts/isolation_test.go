package accounts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/money"
	"weir/internal/rate"
)

// secretWord is in everything of the organization that is attacked. Its preset has another name, which an attacker may give to one of their own.
const (
	secretWord = "Zyzzyva"
	presetName = "quagga"
)

// company is an organization with something of each kind.
type company struct {
	id, wallet                                string
	owner, manager, member, colleague, paying *apptest.Owner
	team, service                             string
	key                                       *apptest.Account // of the member
	keyHash                                   string
	childHash                                 string
	generation, response, file, batch, output string
	messages, video, videoCall                string
	budget, view, providerKey                 string
	invoice, invitation                       string
}

// made sends a request that must succeed, and returns the text at a path of names in its answer.
func made(t *testing.T, by *apptest.Account, method, path string, body any, names ...string) string {
	t.Helper()
	got := by.Do(t, method, path, body)
	if got.Status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	var v any
	if err := json.Unmarshal(got.Body, &v); err != nil && len(names) > 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	text, _ := v.(string)
	if text == "" && len(names) > 0 {
		t.Fatalf("%s %s: no %v in %s", method, path, names, got.Body)
	}
	return text
}

// joins makes a person a member.
func (c *company) joins(t *testing.T, who *apptest.Owner, role, team string) {
	t.Helper()
	body := map[string]any{"role": role}
	if team != "" {
		body["team"] = team
	}
	_, token, _ := strings.Cut(made(t, c.owner.Pages, "POST", "/api/organizations/"+c.id+"/invitations", body, "data", "url"), "#")
	made(t, who.Pages, "POST", "/api/organizations/join", map[string]any{"token": token})
}

// at is a path with the account of the company. What is below /api/organizations says which one itself.
func (c *company) at(path string) string {
	if strings.HasPrefix(path, "/api/organizations/") {
		return path
	}
	if strings.Contains(path, "?") {
		return path + "&account=" + c.id
	}
	return path + "?account=" + c.id
}

// peopled makes an organization with money and its owner, and the people who may join it.
func peopled(t *testing.T, gw *apptest.Gateway, name string, amount money.Nano) *company {
	t.Helper()
	person := func() *apptest.Owner { return gw.NewOwner(t, 10, apikey.NewKey{}) }
	c := &company{owner: person(), manager: person(), member: person(), colleague: person(), paying: person()}
	c.id = made(t, c.owner.Pages, "POST", "/api/organizations", map[string]any{"name": name}, "data", "id")
	u, err := gw.Node.Admin().Store.Accounts.UserByID(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	c.wallet = u.Wallet
	if _, err := gw.Node.Admin().TopUp(t.Context(), u, amount, "", audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	return c
}

// found makes an organization with something of each kind: what calls leave is its member's, all else its owner's.
func found(t *testing.T, gw *apptest.Gateway, name string) *company {
	t.Helper()
	c := peopled(t, gw, name, 1000*money.Ruble)
	owner := func(method, path string, body any, names ...string) string {
		t.Helper()
		return made(t, c.owner.Pages, method, c.at(path), body, names...)
	}
	c.team = made(t, c.owner.Pages, "POST", "/api/organizations/"+c.id+"/teams", map[string]any{"name": secretWord}, "data", "id")
	c.service = made(t, c.owner.Pages, "POST", "/api/organizations/"+c.id+"/services", map[string]any{"name": secretWord}, "data", "id")
	c.joins(t, c.manager, "manager", c.team)
	c.joins(t, c.member, "member", c.team)
	c.joins(t, c.colleague, "member", "")
	c.joins(t, c.paying, "billing", "")
	c.invitation = made(t, c.owner.Pages, "POST", "/api/organizations/"+c.id+"/invitations", map[string]any{"role": "member"}, "data", "id")
	owner("POST", "/api/keys", map[string]any{"name": secretWord, "service": c.service}, "key")
	c.budget = owner("POST", "/api/budgets", map[string]any{"scope": map[string]any{"kind": "team", "id": c.team}, "period": "month", "amount": "900", "name": secretWord}, "data", "id")
	c.view = owner("POST", "/api/views", map[string]any{"page": "calls", "name": secretWord, "query": ""}, "data", "id")
	owner("POST", "/api/presets", map[string]any{"name": presetName, "model": "test/next", "description": secretWord}, "data", "name")
	c.providerKey = owner("POST", "/api/provider-keys", map[string]any{"provider": "filmer", "key": "sk-" + secretWord, "order": "after"}, "data", "id")
	owner("PUT", "/api/invoices/buyer", map[string]any{"name": secretWord, "inn": "0076543215", "kpp": "007601001", "address": "Москва"})
	c.invoice = owner("POST", "/api/invoices", map[string]any{"amount": "10000"}, "data", "id")

	c.key = &apptest.Account{Gw: gw, Key: made(t, c.member.Pages, "POST", c.at("/api/keys"), map[string]any{"name": secretWord}, "key")}
	c.keyHash = apikey.Hash(c.key.Key)
	c.childHash = made(t, c.key, "POST", "/v1/keys/child", map[string]any{"name": secretWord, "amount": "5"}, "data", "hash")
	head := map[string]string{"X-Weir-Tags": "project=" + strings.ToLower(secretWord), "X-Session-Id": secretWord}
	body, _ := json.Marshal(map[string]any{"model": "test/next", "max_tokens": 5, "messages": []any{map[string]any{"role": "user", "content": secretWord}}})
	got := c.key.Send(t, "POST", "/v1/chat/completions", body, head)
	if got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	c.generation = got.Header.Get("X-Generation-Id")
	c.response = made(t, c.key, "POST", "/v1/responses", map[string]any{"model": "test/next", "input": secretWord, "max_output_tokens": 20, "store": true}, "id")
	ask := map[string]any{"model": "test/next", "max_tokens": 5, "messages": []any{map[string]any{"role": "user", "content": secretWord}}, "metadata": map[string]any{"project": "batch"}}
	c.batch = c.key.RequestsBatch(t, "/v1/chat/completions", ask)
	if status, lines := c.key.Finished(t, c.batch); status != "completed" || len(lines) != 1 {
		t.Fatalf("%s %v", status, lines)
	}
	c.file = made(t, c.key, "GET", "/v1/batches/"+c.batch, nil, "input_file_id")
	c.output = made(t, c.key, "GET", "/v1/batches/"+c.batch, nil, "output_file_id")
	c.messages = c.key.Batch(t, "test/next", 1)
	c.key.Ended(t, c.messages)
	film := c.key.Shoot(t, apptest.Shoot("film/works", secretWord))
	c.key.AwaitVideo(t, film.ID, "completed")
	c.video, c.videoCall = film.ID, film.Generation
	c.key.AwaitSettled(t)
	if slices.Contains(c.marks(), "") {
		t.Fatalf("something of the company has no id: %q", c.marks())
	}
	return c
}

// of is the path of an operation with the ids of what the company has, and whether it names something by an id. Names of presets are each account's own.
func (c *company) of(t *testing.T, path string) (filled string, named bool) {
	t.Helper()
	one := ""
	for _, x := range [][2]string{
		{"/v1/responses/", c.response}, {"/v1/videos/", c.video}, {"/v1/files/", c.file}, {"/v1/batches/", c.batch}, {"/v1/messages/batches/", c.messages}, {"/v1/keys/child/", c.childHash},
		{"/v1/keys/", c.keyHash}, {"/api/views/", c.view}, {"/api/invoices/", c.invoice}, {"/api/provider-keys/", c.providerKey}, {"/api/jobs/", c.video}, {"/api/keys/", c.keyHash},
		{"/api/budgets/", c.budget}, {"/api/agents/", c.childHash}, {"/api/calls/", c.generation}, {"/api/organizations/", c.id}, {"/api/payments/", "pay_none"}, {"/api/acts/", "act_none"},
	} {
		if strings.HasPrefix(path, x[0]) {
			one = x[1]
			break
		}
	}
	named = strings.Contains(path, "{id}") || strings.Contains(path, "{hash}")
	filled = strings.NewReplacer("{id}", one, "{hash}", one, "{name}", presetName, "{version}", "1", "{date}", "2026-01-31", "{vendor}", "test", "{model}", "next", "{slug}", "next",
		"{member}", c.member.User, "{team}", c.team, "{service}", c.service, "{invitation}", c.invitation).Replace(path)
	if strings.Contains(filled, "{") || named && one == "" {
		t.Errorf("%s: give the test an id for it", path)
	}
	return filled, named
}

// queries names what the company has in each parameter that takes a name.
func (c *company) queries() map[string]string {
	return map[string]string{
		"key": c.keyHash, "member": c.member.User, "team": c.team, "session": secretWord, "tag": "project=" + strings.ToLower(secretWord), "api_key_hash": c.keyHash, "after_id": c.messages,
		"page": "calls", "tags": "project=" + strings.ToLower(secretWord), "id": c.generation, "topics": "calls,money,jobs,keys",
	}
}

// bodies would change something, or take something over, if they came from who may. Others are empty objects.
func (c *company) bodies() map[string][]any {
	type o = map[string]any
	budget := func(kind, id string) any {
		return o{"scope": o{"kind": kind, "id": id}, "period": "month", "amount": "1"}
	}
	said := []any{o{"role": "user", "content": "Go on."}}
	return map[string][]any{
		"POST /v1/responses":                               {o{"model": "test/next", "input": "Go on.", "previous_response_id": c.response}, o{"model": "test/next", "input": []any{o{"type": "item_reference", "id": "msg_" + c.response}}}},
		"POST /v1/responses/compact":                       {o{"model": "test/next", "previous_response_id": c.response}},
		"POST /v1/batches":                                 {o{"input_file_id": c.file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}},
		"POST /v1/chat/completions":                        {o{"model": "@preset/" + presetName, "messages": said}},
		"POST /api/keys":                                   {o{"name": "x", "service": c.service}},
		"PATCH /api/keys/{hash}":                           {o{"name": "taken"}, o{"disabled": true}},
		"POST /api/budgets":                                {budget("team", c.team), budget("member", c.member.User), budget("key", c.keyHash)},
		"PATCH /api/budgets/{id}":                          {o{"amount": "1"}},
		"PATCH /api/views/{id}":                            {o{"name": "taken"}},
		"PUT /api/presets/{name}":                          {o{"model": "test/next"}},
		"POST /api/presets/{name}/restore":                 {o{"version": 1}},
		"PATCH /api/provider-keys/{id}":                    {o{"order": "before"}},
		"PATCH /api/organizations/{id}":                    {o{"name": "Taken"}},
		"PATCH /api/organizations/{id}/members/{member}":   {o{"role": "owner"}},
		"POST /api/organizations/{id}/teams":               {o{"name": "Taken"}},
		"PATCH /api/organizations/{id}/teams/{team}":       {o{"name": "Taken"}},
		"POST /api/organizations/{id}/services":            {o{"name": "Taken"}},
		"PATCH /api/organizations/{id}/services/{service}": {o{"name": "Taken"}},
		"POST /api/organizations/{id}/invitations":         {o{"role": "owner"}},
		"POST /api/keys/{hash}/rotate":                     {o{"hours": 0}},
	}
}

// described is an operation of the API as its description has it.
type described struct {
	method, path string
	parameters   []string // of the query
}

// ofAccounts lists the operations that something of an account is behind. Those that end the attacker's own account or sessions are left out, and those
// of operators.
func ofAccounts(t *testing.T, gw *apptest.Gateway) (list []described) {
	t.Helper()
	got := (&apptest.Account{Gw: gw}).Send(t, "GET", "/openapi.yaml", nil, map[string]string{"Authorization": ""})
	var doc struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(got.Body, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		if !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/v1beta/") && !strings.HasPrefix(path, "/v2/") && !strings.HasPrefix(path, "/api/") || path == "/api/account" || path == "/api/setup" ||
			slices.ContainsFunc([]string{"/api/admin/", "/api/auth/", "/api/devices", "/api/unsubscribe", "/api/chats", "/api/invitations", "/api/payments/notifications", "/api/organizations/join"}, func(p string) bool { return strings.HasPrefix(path, p) }) {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			if method == "parameters" {
				continue
			}
			node := doc.Paths[path][method]
			var op struct {
				Parameters []struct{ Name, In string }
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			d := described{method: strings.ToUpper(method), path: path}
			for _, p := range op.Parameters {
				if p.In == "query" {
					d.parameters = append(d.parameters, p.Name)
				}
			}
			list = append(list, d)
		}
	}
	if len(list) < 130 {
		t.Fatalf("only %d operations were found", len(list))
	}
	return list
}

// asks are the requests of an operation that name what the company has: with the values of its query one by one, and with each body.
func (c *company) asks(t *testing.T, d *described) (paths []string, bodies [][]byte, named bool) {
	t.Helper()
	path, named := c.of(t, d.path)
	paths = []string{path}
	for _, name := range d.parameters {
		if v := c.queries()[name]; v != "" {
			paths = append(paths, path+"?"+url.Values{name: {v}}.Encode())
		}
	}
	if d.method == "GET" || d.method == "DELETE" {
		return paths, [][]byte{nil}, named
	}
	for _, v := range c.bodies()[d.method+" "+d.path] {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, b)
	}
	if len(bodies) == 0 {
		bodies = [][]byte{[]byte("{}")}
	}
	return paths, bodies, named
}

// leaks is what an answer has of what must not be seen, apart from what the request has said itself.
func leaks(marks []string, got *apptest.Answer, path string, body []byte) string {
	for _, mark := range marks {
		if bytes.Contains(bytes.ToLower(got.Body), bytes.ToLower([]byte(mark))) && !strings.Contains(strings.ToLower(path+string(body)), strings.ToLower(mark)) {
			return mark
		}
	}
	return ""
}

// state is all that the owner reads of an organization and that an attack might change.
func (c *company) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{
		"/api/keys", "/api/budgets", "/api/views?page=calls", "/api/presets", "/api/provider-keys", "/api/invoices", "/api/invoices/" + c.invoice, "/api/organizations/" + c.id, "/api/organizations/" + c.id + "/members", "/api/organizations/" + c.id + "/teams",
		"/api/organizations/" + c.id + "/services", "/api/organizations/" + c.id + "/invitations", "/api/notifications", "/api/account/preferences", "/api/account/data", "/api/account/timezone", "/api/account/webhook-secret", "/api/account/statement", "/api/payments",
		"/v1/files", "/v1/batches", "/v1/messages/batches", "/v1/videos",
	} {
		got := c.owner.Pages.Do(t, "GET", c.at(path), nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Status, got.Body)
		}
		fmt.Fprintf(&b, "%s %s\n", path, got.Body)
	}
	for _, path := range []string{"/v1/responses/" + c.response, "/v1/responses/" + c.response + "/input_items", "/v1/files/" + c.file + "/content", "/v1/messages/batches/" + c.messages + "/results"} {
		got := c.key.Do(t, "GET", path, nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Status, got.Body)
		}
		fmt.Fprintf(&b, "%s %s\n", path, got.Body)
	}
	return b.String()
}

// marks are what is in no answer to others.
func (c *company) marks() []string {
	return append([]string{secretWord, c.id, c.team, c.service}, c.ofMember()...)
}

// ofMember are what the member has made, and what only who sees it reads.
func (c *company) ofMember() []string {
	return []string{c.keyHash, c.childHash, c.generation, c.response, c.file, c.output, c.batch, c.messages, c.video, c.videoCall}
}

func openCompany(t *testing.T) (*apptest.Gateway, *company) {
	t.Helper()
	gw := apptest.StartGateway(t, apptest.Sealing(t), apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) {
		s.Invoices.Enabled, s.Invoices.Seller, s.Invoices.VAT = true, invoiceSeller, rate.VAT{Mode: "on_top", Percent: "22"}
		s.Server.UserCallsPerMinute, s.Server.AdminListen = 1<<20, "127.0.0.1:0"
	})
	return gw, found(t, gw, secretWord)
}

// TestIsolationOfOrganizations: the owner of another organization, with their own account, with theirs and with that of the organization that they attack,
// gets nothing of it by any operation of the API's description, whatever of it they name, and changes nothing. What names something by an id is not found.
func TestIsolationOfOrganizations(t *testing.T) {
	t.Parallel()
	gw, a := openCompany(t)
	thief := gw.NewOwner(t, 100, apikey.NewKey{})
	theirs := made(t, thief.Pages, "POST", "/api/organizations", map[string]any{"name": "Hydrolab"}, "data", "id")
	inside := &apptest.Account{Gw: gw, Key: made(t, thief.Pages, "POST", "/api/keys?account="+theirs, map[string]any{"name": "x"}, "key")}
	before := a.state(t)
	type attack struct {
		name    string
		by      *apptest.Account
		account string
	}
	attacks := []attack{
		{"the own account", thief.Pages, ""}, {"the other organization", thief.Pages, theirs}, {"the attacked organization", thief.Pages, a.id},
		{"a key", thief.Account, ""}, {"a key and the attacked organization", thief.Account, a.id}, {"a key of the other organization", inside, ""},
	}
	tried := 0
	for _, d := range ofAccounts(t, gw) {
		paths, bodies, named := a.asks(t, &d)
		for _, k := range attacks {
			if d.path == "/api/events" && k.by == thief.Pages && k.account != a.id {
				continue // it does not end
			}
			if d.path == "/api/organizations" && d.method == "POST" || d.path == "/api/organizations/{id}/leave" {
				continue
			}
			for _, path := range paths {
				if k.account != "" {
					path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "account=" + k.account
				}
				for _, body := range bodies {
					got := k.by.Send(t, d.method, path, body, nil)
					tried++
					if mark := leaks(a.marks(), got, path, body); mark != "" {
						t.Errorf("%s %s by %s has %s: %d %.300s", d.method, path, k.name, mark, got.Status, got.Body)
					}
					if hidden := got.Status == 401 || got.Status == 403 || got.Status == 404; named && !hidden {
						t.Errorf("%s %s by %s with %s: %d %.300s", d.method, path, k.name, body, got.Status, got.Body)
					}
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d requests were tried", tried)
	}
	if after := a.state(t); after != before {
		t.Errorf("the organization has changed:\n%s\n%s", before, after)
	}
	gw.WantBalanced(t)
}

// TestIsolationOfMembers asks each operation for what a member has made with a key. Another member without a team finds none of it, with a management key
// or an API key, and neither does a billing person. A manager of the team and the owner read it.
func TestIsolationOfMembers(t *testing.T) {
	t.Parallel()
	gw, a := openCompany(t)
	inside := &apptest.Account{Gw: gw, Key: made(t, a.colleague.Pages, "POST", a.at("/api/keys"), map[string]any{"name": "x"}, "key")}
	before := a.state(t)
	mine := []string{"/v1/responses/{id}", "/v1/videos/{id}", "/v1/files/{id}", "/v1/batches/{id}", "/v1/messages/batches/{id}", "/v1/keys/{hash}", "/v1/keys/child/{hash}", "/api/keys/{hash}", "/api/jobs/{id}", "/api/agents/{hash}", "/api/calls/{id}"}
	for _, d := range ofAccounts(t, gw) {
		if strings.HasPrefix(d.path, "/api/organizations") || d.path == "/api/events" || d.path == "/api/account/responses" {
			continue
		}
		paths, bodies, _ := a.asks(t, &d)
		made := slices.ContainsFunc(mine, func(p string) bool { return strings.HasPrefix(d.path, p) })
		if d.method != "GET" && !made {
			continue
		}
		for _, path := range paths {
			for name, by := range map[string]*apptest.Account{"a colleague": a.colleague.Pages, "a colleague's key": inside} {
				path := path
				if by == a.colleague.Pages {
					path = a.at(path)
				}
				for _, body := range bodies {
					got := by.Send(t, d.method, path, body, nil)
					if mark := leaks(a.ofMember(), got, path, body); mark != "" {
						t.Errorf("%s %s by %s has %s: %d %.300s", d.method, path, name, mark, got.Status, got.Body)
					}
					if hidden := got.Status == 401 || got.Status == 403 || got.Status == 404; made && !hidden {
						t.Errorf("%s %s by %s: %d %.300s", d.method, path, name, got.Status, got.Body)
					}
				}
			}
		}
	}
	for _, x := range []string{"POST /v1/responses", "POST /v1/batches"} {
		method, path, _ := strings.Cut(x, " ")
		for _, v := range a.bodies()[x] {
			if got := inside.Do(t, method, path, v); got.Status < 400 || got.Status >= 500 {
				t.Errorf("%s %v by a colleague: %d %.300s", x, v, got.Status, got.Body)
			}
		}
	}
	reads := []string{"/v1/responses/" + a.response, "/v1/videos/" + a.video, "/v1/files/" + a.file, "/v1/files/" + a.output + "/content", "/v1/batches/" + a.batch, "/v1/messages/batches/" + a.messages + "/results", "/api/calls/" + a.generation, "/api/keys/" + a.keyHash, "/api/jobs/" + a.video}
	lists := map[string]string{"/v1/videos": a.video, "/v1/files": a.file, "/v1/batches": a.batch, "/v1/messages/batches": a.messages, "/api/jobs": a.video, "/api/calls": a.generation, "/api/overview": a.videoCall}
	for _, o := range []*apptest.Owner{a.owner, a.manager, a.member} {
		for _, path := range reads {
			if got := o.Pages.Do(t, "GET", a.at(path), nil); got.Status != http.StatusOK {
				t.Errorf("%s: %d %s", path, got.Status, got.Body)
			}
		}
		for path, mark := range lists {
			if got := o.Pages.Do(t, "GET", a.at(path), nil); got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(mark)) {
				t.Errorf("%s does not have %s: %d %s", path, mark, got.Status, got.Body)
			}
		}
	}
	for _, id := range []string{a.generation, a.videoCall} {
		if got := made(t, a.owner.Pages, "GET", a.at("/api/calls/"+id), nil, "data", "team"); got != a.team {
			t.Errorf("the call %s is of the team %q", id, got)
		}
	}
	for path := range lists {
		if got := a.paying.Pages.Do(t, "GET", a.at(path), nil); strings.HasPrefix(path, "/v1/") && got.Status != http.StatusForbidden {
			t.Errorf("%s by who sees to the money: %d %s", path, got.Status, got.Body)
		}
	}
	for who, x := range map[*apptest.Owner]int64{a.member: 5, a.manager: 5, a.colleague: 0} {
		f := gw.Follow(t, who.Pages.Key, "topics=calls,jobs&account="+a.id)
		f.Until("ready", func(data map[string]any) bool {
			calls, _ := data["calls"].(map[string]any)
			jobs, _ := data["jobs"].(map[string]any)
			list, _ := jobs["jobs"].([]any)
			if n, _ := calls["calls"].(float64); n < float64(x) || x == 0 && n > 0 || (x == 0) != (len(list) == 0) {
				t.Errorf("%d calls: %v", x, data)
			}
			return true
		})
	}
	if after := a.state(t); after != before {
		t.Errorf("the organization has changed:\n%s\n%s", before, after)
	}
}
