package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/auth"
	"weir/internal/oidc"
	"weir/internal/oidc/oidctest"
	"weir/internal/organization"
	"weir/internal/secret"
)

// TestGroupsOfProviders has a person sign in at a provider with one list of groups after the other: they are put into the organization and out of it,
// as its rules say. What people gave stays, and so does the last owner.
func TestGroupsOfProviders(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t, nil)
	p := auth.Provider{ID: "test", Name: "Test", Issuer: e.provider.URL, SignUp: true}
	e.people.AllowElsewhere(oidc.New([]oidc.Provider{{Provider: p, ClientID: e.provider.ClientID, ClientSecret: secret.New(e.provider.ClientSecret), Scopes: []string{"email"}, GroupsClaim: "groups"}},
		func(string) http.RoundTripper { return http.DefaultTransport }, func() time.Time { return e.now }))
	owner := e.confirmed(t, "owner@corp.example")
	org := e.org(t, owner, "Strelka")
	e.orgs.Grants([]organization.Grant{{ID: org, Provider: "test", Groups: []organization.Rule{
		{Group: "weir-admins", Role: "owner"}, {Group: "weir-leads", Role: "manager", Team: "Research"}, {Group: "research", Team: "Research"}, {Group: "everyone"},
	}}}, nil)
	e.people.FollowGroups(e.orgs.Arrive)
	arrive := func(more string) {
		t.Helper()
		e.provider.Set(func(o *oidctest.Provider) {
			o.Who = oidctest.Person{Subject: "42", Email: "anna@corp.example", Name: "Anna", Verified: "true", More: more}
		})
		b := e.tab(t)
		if page := b.visit(`{}`); page.Path != "/" || b.me("user", "name") != "Anna" {
			t.Fatalf("%s: %s", more, page)
		}
	}
	list := func() string { return e.parts(t, owner, org) }
	for _, c := range []struct{ claims, want string }{
		{`,"groups":["other"]`, ""},
		{`,"groups":["everyone","research"]`, "Anna:member:Research"},
		{`,"groups":["research","weir-leads"]`, "Anna:manager:Research"},
		{`,"groups":"everyone"`, "Anna:member"},
		{`,"_claim_names":{"groups":"src1"},"_claim_sources":{"src1":{"endpoint":"https://graph.example/"}}`, "Anna:member"}, // too many to be listed: nothing is known
		{`,"groups":["weir-admins"]`, "Anna:owner"},
		{``, ""}, // Okta leaves the claim out where no group fits
		{`,"groups":["everyone"]`, "Anna:member"},
	} {
		arrive(c.claims)
		if got := list(); got != c.want {
			t.Errorf("%s: members %q, want %q", c.claims, got, c.want)
		}
	}
	e.byHand(t, owner, org, "Anna", "billing")
	arrive(`,"groups":["weir-leads"]`)
	if got := list(); got != "Anna:billing" {
		t.Errorf("what people gave was changed: %q", got)
	}
	arrive(`,"groups":[]`)
	if got := list(); got != "Anna:billing" {
		t.Errorf("what people gave was taken back: %q", got)
	}
}

// parts are "name:role" or "name:role:team" of all members but the owner who made it.
func (n *node) parts(t *testing.T, owner []string, org string) string {
	t.Helper()
	var out []string
	list, _ := at(n.do("GET", "/api/organizations/"+org+"/members", "", owner...).json(t), "data").([]any)
	teams, _ := at(n.do("GET", "/api/organizations/"+org+"/teams", "", owner...).json(t), "data").([]any)
	for _, one := range list {
		if at(one, "email") == "owner@corp.example" {
			continue
		}
		text := at(one, "name").(string) + ":" + at(one, "role").(string)
		for _, team := range teams {
			if at(team, "id") == at(one, "team") {
				text += ":" + at(team, "name").(string)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// byHand gives a member a role.
func (n *node) byHand(t *testing.T, owner []string, org, name, role string) {
	t.Helper()
	list, _ := at(n.do("GET", "/api/organizations/"+org+"/members", "", owner...).json(t), "data").([]any)
	for _, one := range list {
		if at(one, "name") == name {
			if r := n.do("PATCH", "/api/organizations/"+org+"/members/"+at(one, "id").(string), `{"role":"`+role+`"}`, owner...); r.StatusCode != 200 {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
		}
	}
}
