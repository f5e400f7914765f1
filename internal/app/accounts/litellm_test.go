package accounts_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

var updateLiteLLM = flag.Bool("litellm", false, "write testdata/litellm.golden anew")

// theirs are requests as official clients and the Terraform providers send them, in order, in an organization unless at is "own". {name} is what an answer
// before had for that name.
var theirs = []struct {
	what, at, method, path, body string
	keep                         string // member of the answer that later requests name, as {keep}
}{
	// litellm.proxy.client: keys.py always sends api_key, and null for lists that are not given
	{what: "the client makes a key", at: "own", method: "POST", path: "/key/generate", body: `{"api_key":"sk-mine","models":["test/next"],"aliases":{},"spend":0,"duration":"30d","key_alias":"from the client"}`, keep: "key"},
	{what: "the client lists keys", at: "own", method: "GET", path: "/key/list?page=1&size=10&return_full_object=true&include_team_keys=false&key_alias=from+the+client"},
	{what: "the client deletes a key", at: "own", method: "POST", path: "/key/delete", body: `{"keys":["{key}"],"key_aliases":null}`},
	{what: "it is gone", at: "own", method: "GET", path: "/key/info?key={key}"},
	{what: "teams are of organizations", at: "own", method: "POST", path: "/team/new", body: `{"team_alias":"x"}`},
	{what: "who asks, in their own account", at: "own", method: "GET", path: "/user/info"},

	// Terraform: the provider makes the id of a team, and reads it back as it was
	{what: "terraform makes a team", method: "POST", path: "/team/new", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","team_alias":"Research","max_budget":100.5,"budget_duration":"1mo","models":["test/*"],"metadata":{"cost_center":"42"},"blocked":false,"router_settings":{}}`},
	{what: "and reads it", method: "GET", path: "/team/info?team_id=8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11"},
	{what: "another team cannot have its id", method: "POST", path: "/team/new", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","team_alias":"Other"}`},
	{what: "null clears a budget (litellm 7912), and a change of the budget leaves metadata (31447)", method: "POST", path: "/team/update", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","team_alias":"Research","max_budget":null,"budget_duration":null,"router_settings":{}}`},
	{what: "another interval", method: "POST", path: "/team/update", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","team_alias":"Science","max_budget":70,"budget_duration":"7d"}`},
	{what: "model_max_budget is not dropped in silence (28188)", method: "POST", path: "/team/update", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","model_max_budget":{"gpt-4":10}}`},
	{what: "a limit in metadata is one, too", method: "POST", path: "/key/generate", body: `{"metadata":{"guardrails":["pii"]}}`},
	{what: "a rate of a team", method: "POST", path: "/team/new", body: `{"team_alias":"x","tpm_limit":1000}`},
	{what: "an interval that is none here", method: "POST", path: "/team/new", body: `{"team_alias":"x","max_budget":1,"budget_duration":"2h"}`},
	{what: "another organization", method: "POST", path: "/team/new", body: `{"team_alias":"x","organization_id":"org_other"}`},

	{what: "terraform makes a key of a team", method: "POST", path: "/key/generate", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","key_alias":"ci","max_budget":10,"budget_duration":"24h","rpm_limit":60,"models":["all-team-models"],"metadata":{"owner":"ci"},"blocked":false,"send_invite_email":false}`, keep: "key"},
	{what: "and reads it", method: "GET", path: "/key/info?key={key}"},
	{what: "a second key of the name", method: "POST", path: "/key/generate", body: `{"key_alias":"ci"}`},
	{what: "and changes it", method: "POST", path: "/key/update", body: `{"key":"{key}","team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","key_alias":"ci","max_budget":20,"rpm_limit":null,"blocked":true}`},
	{what: "zero would allow everything", method: "POST", path: "/key/update", body: `{"key":"{key}","rpm_limit":0}`},
	{what: "a key for a user who does not exist (litellm 9163)", method: "POST", path: "/key/generate", body: `{"user_id":"12"}`},
	{what: "a model of another name", method: "POST", path: "/key/generate", body: `{"models":["no-such-model"]}`},

	{what: "a user without an address is a service, whose name is taken once (11368)", method: "POST", path: "/user/new", body: `{"user_id":"nightly","user_alias":"Nightly","max_budget":5,"budget_duration":"1d","auto_create_key":false,"send_invite_email":false}`},
	{what: "taken", method: "POST", path: "/user/new", body: `{"user_id":"nightly"}`},
	{what: "a user with an address is invited", method: "POST", path: "/user/new", body: `{"user_id":"ann","user_email":"ann@example.com","user_role":"internal_user"}`},
	{what: "the address is taken", method: "POST", path: "/user/new", body: `{"user_email":"ANN@example.com"}`},
	{what: "members of a team with their budget, which is shown (5390)", method: "POST", path: "/team/member_add", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","member":[{"role":"user","user_id":"nightly"}],"max_budget_in_team":3}`},
	{what: "terraform reads memberships", method: "GET", path: "/team/info?team_id=8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11"},
	{what: "who is invited has no budget yet", method: "POST", path: "/user/update", body: `{"user_id":"ann","max_budget":10}`},
	{what: "a service is no manager", method: "POST", path: "/team/member_update", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","user_id":"nightly","role":"admin"}`},
	{what: "terraform reads a user", method: "GET", path: "/user/info?user_id=nightly"},
	{what: "the client lists users", method: "GET", path: "/user/list?page=1&page_size=2"},
	{what: "the client lists teams", method: "GET", path: "/v2/team/list?page=1&page_size=10&sort_order=asc&team_alias=sci"},
	{what: "out of the team", method: "POST", path: "/team/member_delete", body: `{"team_id":"8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11","user_id":"nightly","user_email":""}`},
	{what: "users are deleted", method: "POST", path: "/user/delete", body: `{"user_ids":["nightly","ann"]}`},
	{what: "a team is deleted", method: "POST", path: "/team/delete", body: `{"team_ids":["8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11"]}`},
	{what: "with its keys", method: "GET", path: "/key/info?key={key}"},
	{what: "terraform takes 404 for deleted", method: "GET", path: "/team/info?team_id=8e2c2f0e-7c7a-4f6e-9a53-2f1d1f0b8b11"},
	{what: "nothing was spent", method: "GET", path: "/spend/tags"},
}

var masks = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`(org|usr|svc|inv|team)_[0-9A-Za-z]{20,}`), "${1}_ID"},
	{regexp.MustCompile(`sk-weir-v1-[0-9A-Za-z]{20,}`), "sk-weir-v1-TEXT"},
	{regexp.MustCompile(`sk-weir-v1-[0-9A-Za-z]+\.\.\.[0-9A-Za-z]+`), "sk-weir-v1-T...EXT"},
	{regexp.MustCompile(`"[0-9a-f]{64}"`), `"HASH"`},
	{regexp.MustCompile(`/join#[0-9A-Za-z]+`), "/join#TEXT"},
	{regexp.MustCompile(`http://[0-9.:\[\]]+/`), "http://HOST/"},
	{regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"`), `"TIME"`},
	{regexp.MustCompile(`owner [0-9]+`), "owner N"},
}

// TestLiteLLMClients: what official clients and the Terraform providers ask, and what they are answered. Their key is in x-api-key or in Authorization.
func TestLiteLLMClients(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	org := do[struct{ ID string }](t, o.Pages, http.StatusCreated, http.MethodPost, "/api/organizations", map[string]any{"name": "Strelka"}).ID
	known := map[string]string{}
	var all strings.Builder
	for i, r := range theirs {
		base := "/" + org
		if r.at == "own" {
			base = ""
		}
		fill := func(s string) string {
			for name, v := range known {
				s = strings.ReplaceAll(s, "{"+name+"}", v)
			}
			return s
		}
		header := map[string]string{}
		if i%2 == 1 { // as the Terraform providers do
			header = map[string]string{"Authorization": "", "X-Api-Key": o.Pages.Key}
		}
		got := o.Pages.Send(t, r.method, base+fill(r.path), []byte(fill(r.body)), header)
		text := string(got.Body)
		if r.keep != "" {
			known[r.keep] = fmt.Sprint(apptest.Decode[map[string]any](t, got.Body)[r.keep])
		}
		for _, m := range masks {
			text = m.is.ReplaceAllString(text, m.as)
		}
		fmt.Fprintf(&all, "# %s\n%s %s %s\n%d %s\n\n", r.what, r.method, r.path, r.body, got.Status, text)
	}
	const path = "testdata/litellm.golden"
	if *updateLiteLLM {
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(all.String())) {
		got, was := strings.Split(all.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(got), len(was)) {
			if got[i] != was[i] {
				t.Errorf("line %d of %s:\n got %s\nwant %s", i+1, path, got[i], was[i])
			}
		}
		t.Errorf("%d lines, want %d", len(got), len(was))
	}
}

// TestLiteLLMBudgetsHold: max_budget of a team refuses its keys' calls, and what they cost is what the routes show.
func TestLiteLLMBudgetsHold(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	org := do[struct{ ID string }](t, o.Pages, http.StatusCreated, http.MethodPost, "/api/organizations", map[string]any{"name": "Strelka"}).ID
	if got := o.Pages.Do(t, http.MethodPost, "/"+org+"/team/new", map[string]any{"team_id": "t", "max_budget": 0.000000001}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	made := apptest.Decode[struct{ Key string }](t, o.Pages.Do(t, http.MethodPost, "/"+org+"/key/generate", map[string]any{"team_id": "t"}).Body)
	team := &apptest.Account{Gw: gw, Key: made.Key}
	chat := map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}}
	if got := team.Chat(t, chat); got.Status != http.StatusPaymentRequired {
		t.Errorf("%d %s", got.Status, got.Body)
	}

	own := apptest.Decode[struct{ Key, Token string }](t, o.Pages.Do(t, http.MethodPost, "/key/generate", map[string]any{"key_alias": "own"}).Body)
	chat["metadata"] = map[string]any{"tags": []string{"job=nightly"}}
	if got := (&apptest.Account{Gw: gw, Key: own.Key}).Chat(t, chat); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	type log struct {
		RequestID   string   `json:"request_id"`
		APIKey      string   `json:"api_key"`
		RequestTags []string `json:"request_tags"`
		Spend       float64
	}
	logs := apptest.Decode[[]log](t, o.Pages.Do(t, http.MethodGet, "/spend/logs?api_key="+own.Token, nil).Body)
	if len(logs) != 1 || logs[0].APIKey != own.Token || logs[0].Spend <= 0 || len(logs[0].RequestTags) != 1 {
		t.Fatalf("%+v", logs)
	}
	if one := apptest.Decode[[]log](t, o.Pages.Do(t, http.MethodGet, "/spend/logs?request_id="+logs[0].RequestID, nil).Body); len(one) != 1 || one[0].Spend != logs[0].Spend {
		t.Errorf("%+v", one)
	}
	tags := apptest.Decode[[]struct {
		Tag   string  `json:"individual_request_tag"`
		Count int     `json:"log_count"`
		Spend float64 `json:"total_spend"`
	}](t, o.Pages.Do(t, http.MethodGet, "/spend/tags", nil).Body)
	if len(tags) != 1 || tags[0].Tag != "job=nightly" || tags[0].Count != 1 || tags[0].Spend != logs[0].Spend {
		t.Errorf("%+v", tags)
	}
	info := apptest.Decode[struct{ Info struct{ Spend float64 } }](t, o.Pages.Do(t, http.MethodGet, "/key/info?key="+own.Key, nil).Body)
	users := apptest.Decode[[]struct{ Spend float64 }](t, o.Pages.Do(t, http.MethodGet, "/spend/users", nil).Body)
	if info.Info.Spend != logs[0].Spend || len(users) != 1 || users[0].Spend != logs[0].Spend {
		t.Errorf("%+v %+v, want %v", info, users, logs[0].Spend)
	}
}

// TestLiteLLMStaysInTheAccount: teams, users and keys of one organization do not exist for another, and neither do the ids that its programs gave them.
func TestLiteLLMStaysInTheAccount(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	a, b := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	orgs := [2]string{}
	for i, o := range []*apptest.Owner{a, b} {
		orgs[i] = do[struct{ ID string }](t, o.Pages, http.StatusCreated, http.MethodPost, "/api/organizations", map[string]any{"name": "Org"}).ID
	}
	ask := func(by *apptest.Account, status int, method, path string, body any) *apptest.Answer {
		t.Helper()
		got := by.Do(t, method, path, body)
		if got.Status != status {
			t.Errorf("%s %s: %d, want %d: %s", method, path, got.Status, status, got.Body)
		}
		return got
	}
	ask(a.Pages, 200, "POST", "/"+orgs[0]+"/team/new", map[string]any{"team_id": "same", "team_alias": "Of A"})
	ask(b.Pages, 200, "POST", "/"+orgs[1]+"/team/new", map[string]any{"team_id": "same", "team_alias": "Of B"}) // ids are an account's own
	ask(a.Pages, 200, "POST", "/"+orgs[0]+"/user/new", map[string]any{"user_id": "robot", "auto_create_key": false})
	made := apptest.Decode[struct{ Key, Token string }](t, ask(a.Pages, 200, "POST", "/"+orgs[0]+"/key/generate", map[string]any{"team_id": "same", "key_alias": "k"}).Body)
	for _, r := range []struct {
		status       int
		method, path string
		body         any
	}{
		{404, "GET", "/" + orgs[0] + "/team/list", nil},
		{404, "GET", "/" + orgs[1] + "/user/info?user_id=robot", nil},
		{404, "POST", "/" + orgs[1] + "/user/delete", map[string]any{"user_ids": []string{"robot"}}},
		{404, "GET", "/" + orgs[1] + "/key/info?key=" + made.Key, nil},
		{404, "GET", "/key/info?key=" + made.Token, nil},
		{404, "POST", "/" + orgs[1] + "/key/update", map[string]any{"key": made.Key, "blocked": true}},
		{404, "POST", "/" + orgs[1] + "/key/delete", map[string]any{"keys": []string{made.Token}}},
		{404, "POST", "/" + orgs[1] + "/key/delete", map[string]any{"key_aliases": []string{"k"}}},
		{404, "GET", "/" + orgs[1] + "/spend/logs?api_key=" + made.Token, nil},
		{400, "GET", "/" + orgs[0] + "/team/list?account=" + orgs[1], nil}, // twice
	} {
		ask(b.Pages, r.status, r.method, r.path, r.body)
	}
	if got := ask(b.Pages, 200, "GET", "/"+orgs[1]+"/team/info?team_id=same", nil); !strings.Contains(string(got.Body), "Of B") {
		t.Errorf("%s", got.Body)
	}
	ask(a.Account, 403, "GET", "/key/list", nil) // an API key manages nothing
	ask(a.Pages, 200, "GET", "/"+orgs[0]+"/key/info?key="+made.Key, nil)
}
