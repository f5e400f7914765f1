package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/organization"
)

// Organizations knows who may act in accounts of several people. *organization.Manager is one.
type Organizations interface {
	// Of fails with fault.NotFound where a person has no part in an organization.
	Of(ctx context.Context, org, person string) (organization.Membership, error)
	// WebKey is the id of the key of a member's calls from the browser.
	WebKey(ctx context.Context, ms *organization.Membership, person string) (string, error)
}

// accountParameter names in the query the account in which a person acts; without it, or with their own id, it is their own.
const accountParameter = "account"

// ofAccount is a request whose path begins with the id of an organization as one that names it in the query: "/org_.../key/info" is
// "/key/info?account=org_...". Programs that know a base URL alone act in an organization by it.
func ofAccount(r *http.Request) *http.Request {
	if !strings.HasPrefix(r.URL.Path, "/"+organization.Prefix) {
		return r
	}
	account, rest, ok := strings.Cut(r.URL.Path[1:], "/")
	if !ok || strings.ContainsFunc(account, notInID) {
		return r
	}
	u := *r.URL
	u.Path, u.RawPath = "/"+rest, strings.TrimPrefix(u.RawPath, "/"+account)
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += accountParameter + "=" + account
	to := *r
	to.URL = &u
	return &to
}

func notInID(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// acting is the organization in which a person asks to act, nil for their own account. Who has no part in it learns nothing of it.
func (x *request) acting(person string) (*organization.Membership, error) {
	if x.route == nil || x.route.inner() || !strings.Contains(x.r.URL.RawQuery, accountParameter+"=") {
		return nil, nil
	}
	values, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return nil, fault.New(fault.Invalid, "httpapi.acting", "The query of the URL is malformed.")
	}
	named := values[accountParameter]
	switch {
	case len(named) > 1:
		return nil, fault.Field("httpapi.acting", accountParameter, "account must be given once.").Coded("account_once")
	case len(named) == 0 || named[0] == "" || named[0] == person:
		return nil, nil
	case len(named[0]) > 64 || !strings.HasPrefix(named[0], organization.Prefix) || x.api.Organizations == nil:
		return nil, organization.NoAccount("httpapi.acting")
	}
	ms, err := x.api.Organizations.Of(x.context(), named[0], person)
	if err != nil {
		return nil, err
	}
	return &ms, nil
}

// member is the caller who acts in an organization, with what they may see there. It is the one place that says so: handlers see the account alone.
func member(c apikey.Caller, ms *organization.Membership, person string) *apikey.Caller {
	c.User, c.Wallet, c.Member, c.Team, c.Role = ms.ID, ms.Wallet, person, ms.Team, apikey.User
	c.OrgRole, c.Sees = ms.Role, ms.Sight(person)
	return &c
}

// actsAs is the caller of a management key, or who it is in the organization that the query names.
func (x *request) actsAs(c *apikey.Caller) (*apikey.Caller, error) {
	if !c.Management || c.Member != "" {
		return c, nil
	}
	ms, err := x.acting(c.User)
	if err != nil || ms == nil {
		return c, err
	}
	x.acts = ms
	return member(*c, ms, c.User), nil
}

// webKey is the id of the key with which a browser's calls are made.
func (x *request) webKey(p *auth.Person) (string, error) {
	if x.acts != nil {
		return x.api.Organizations.WebKey(x.context(), x.acts, p.ID)
	}
	return x.api.People.WebKey(x.context(), p)
}

// mayAct refuses what a member may not do with the account of the organization in which they act. An API key does what a member does.
func (x *request) mayAct(c *apikey.Caller) error {
	const op = "httpapi.mayAct"
	if c.Member == "" || x.route.free() {
		return nil
	}
	role := c.OrgRole
	if !c.Management {
		role = apikey.OrgMember
	}
	switch {
	case x.route.roles == 0:
		return fault.New(fault.PermissionDenied, op, "This belongs to a person's own account: leave out account.")
	case !x.route.roles.Has(role):
		e := fault.New(fault.PermissionDenied, op, "Your role in this organization does not allow this.")
		e.Details = map[string]any{"role": string(role), "roles": x.route.roles.Names()}
		return e
	case x.route.whole && !c.Sees.All():
		return fault.New(fault.PermissionDenied, op, "This shows the whole organization. Your role in it shows your own calls and keys, or those of your team.")
	}
	return nil
}

// free reports whether nothing of an account is behind the route.
func (r *Route) free() bool {
	switch r.access {
	case public, unlimited, visiting, notifying, linked, provisioning:
		return true
	case anyKey, inference, management, administration, operating, signedIn:
	}
	return false
}

// What the routes that this package declares are open to in an organization: calls of models, and what belongs to them, to all who may have keys.
func orgRoles(r *Route) operation.OrgRoles {
	if r.free() || r.inner() || r.access == signedIn {
		return 0
	}
	return operation.Workers
}

// sees fails with what is said of things that do not exist, for one that was made with a key whose work the caller does not see.
func (x *request) sees(key string, none *fault.Error) error {
	ok, err := x.api.Keys.Sees(x.context(), x.caller, key)
	if err == nil && !ok {
		err = none
	}
	return err
}
