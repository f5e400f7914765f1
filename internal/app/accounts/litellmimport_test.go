package accounts_test

import (
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/gatewayimport"
	"weir/internal/organization"
	"weir/internal/preset"
)

// theirOrg is what LiteLLM answers to GET /team/list, /user/list, /tag/list and /key/list.
var theirOrg = []gatewayimport.File{
	{Name: "teams.json", Text: []byte(`[{"team_id":"8e2c2f0e","team_alias":"Research","max_budget":10,"budget_duration":"30d","models":["all-proxy-models"],"members_with_roles":[{"user_id":"robot","role":"user"}],"metadata":{"a":1},"spend":3},
		{"team_id":"gone","team_alias":"Odd","max_budget":1,"budget_duration":"often"}]`)},
	{Name: "users.json", Text: []byte(`{"users":[{"user_id":"robot","user_alias":"Robot","user_role":"internal_user","teams":["8e2c2f0e"],"max_budget":2,"budget_duration":"1d"},
		{"user_id":"ann","user_email":"ann@example.com","user_role":"proxy_admin","teams":["8e2c2f0e","other"],"max_budget":5}],"total":2}`)},
	{Name: "tags.json", Text: []byte(`{"tags":[{"name":"job=nightly","litellm_budget_table":{"max_budget":4,"budget_duration":"7d"}},{"name":"(no tag)","max_budget":1}]}`)},
	{Name: "keys.json", Text: []byte(`{"keys":[{"key_alias":"of the team","team_id":"8e2c2f0e","models":["all-team-models"]},{"key_alias":"of the robot","user_id":"robot","team_id":"8e2c2f0e"},
		{"key_alias":"of Ann","user_id":"ann","max_budget":1},{"key_alias":"of no team","team_id":"gone"}]}`)},
}

// TestImportOfAnOrganization: teams, users, tags and keys of LiteLLM become what an organization has, a dry run makes nothing, a second import changes
// nothing, and a team without its budget is not made.
func TestImportOfAnOrganization(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	org := do[struct{ ID string }](t, o.Pages, http.StatusCreated, http.MethodPost, "/api/organizations", map[string]any{"name": "Strelka"}).ID
	admin := gw.Node.Admin()
	members := organization.NewManager(admin.Store.Organizations, admin.Keys, nil, nil, time.Now)
	budgets := budget.NewManager(admin.Store.Accounts, time.Now)
	run := func(dry bool) *gatewayimport.Result {
		t.Helper()
		plan, err := gatewayimport.Read(gatewayimport.LiteLLM, theirOrg, gatewayimport.World{Model: func(string) (string, bool) { return "", false }, Rate: big.NewRat(80, 1), Organization: true, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Apply(t.Context(), &gatewayimport.Account{
			User: org, Keys: admin.Keys, Presets: preset.NewManager(admin.Store.Pages, time.Now), Actor: audit.Actor{Name: "test"}, Now: time.Now(),
			Org: &gatewayimport.Org{ID: org, Members: members, Budgets: budgets, Names: admin.Store.Accounts, Now: time.Now()},
		}, dry)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	outcomes := func(r *gatewayimport.Result) (all []string) {
		for _, i := range slices.Concat(r.Groups, r.Keys) {
			var name string
			if i.Group != nil {
				name = string(i.Group.Kind) + " " + i.Group.Name
			} else {
				name = "key " + i.Key.Name
			}
			all = append(all, strings.TrimSpace(name+": "+string(i.Outcome)+" "+string(i.Reason)))
		}
		return all
	}
	same := func(when string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	same("dry", outcomes(run(true)), "team Research: new", "team Odd: refused wrong_limit", "tag job=nightly: new", "tag (no tag): refused no_tag", "user Robot: new", "user ann@example.com: new",
		"key of the team: new", "key of the robot: new", "key of Ann: new", "key of no team: new")
	if teams, err := members.Teams(t.Context(), org); err != nil || len(teams) != 0 {
		t.Errorf("a dry run has made %v, %v", teams, err)
	}
	made := run(false)
	same("made", outcomes(made), "team Research: made", "team Odd: refused wrong_limit", "tag job=nightly: made", "tag (no tag): refused no_tag", "user Robot: made", "user ann@example.com: made",
		"key of the team: made", "key of the robot: made", "key of Ann: made", "key of no team: refused invalid")
	same("again", outcomes(run(false)), "team Research: exists", "team Odd: refused wrong_limit", "tag job=nightly: exists", "tag (no tag): refused no_tag", "user Robot: exists", "user ann@example.com: exists",
		"key of the team: exists", "key of the robot: exists", "key of Ann: exists", "key of no team: refused invalid")
	all, err := budgets.List(t.Context(), org)
	var shown []string
	for _, b := range all {
		shown = append(shown, string(b.Scope.Kind)+" "+b.Amount.String()+" "+string(b.Reset))
	}
	slices.Sort(shown)
	same("budgets", shown, "member 160 daily", "tag 320 weekly", "team 800 monthly")
	if err != nil {
		t.Error(err)
	}
	// Terraform, which knows the ids of there, goes on.
	if got := o.Pages.Do(t, http.MethodGet, "/"+org+"/team/info?team_id=8e2c2f0e", nil); got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"max_budget":800`) || !strings.Contains(string(got.Body), `"key_alias":"of the team"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	for _, i := range made.Groups {
		if (i.Secret != "") != (i.Group.Email != "") {
			t.Errorf("%s: the link is %q", i.Group.Name, i.Secret)
		}
	}
}
