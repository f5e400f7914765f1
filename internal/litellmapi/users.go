package litellmapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/report"
)

// LiteLLMUserFields are what is said of a user. What is left out stays as it is.
type LiteLLMUserFields struct {
	UserEmail       operation.Maybe[string]   `json:"user_email"` // of a person, who is invited; without it the user is a service
	UserAlias       operation.Maybe[string]   `json:"user_alias"`
	UserRole        operation.Maybe[string]   `json:"user_role"` // proxy_admin: owner; org_admin: manager; internal_user: member; proxy_admin_viewer: billing
	TeamID          operation.Maybe[string]   `json:"team_id"`
	Teams           operation.Maybe[[]string] `json:"teams"` // one at most
	OrganizationID  operation.Maybe[string]   `json:"organization_id"`
	Organizations   operation.Maybe[[]string] `json:"organizations"`
	Blocked         operation.Maybe[bool]     `json:"blocked"`           // false
	SendInviteEmail operation.Maybe[bool]     `json:"send_invite_email"` // of no effect: an invitation is sent where there is mail
	Metadata        operation.Raw             `json:"metadata,omitempty"`
	UserOnly
	LiteLLMCeiling
	NoRates
	Refused
}

// UserOnly are fields of users that have no counterpart.
type UserOnly struct {
	Password  operation.Raw `json:"password,omitempty" remedy:"People choose their own."`
	SSOUserID operation.Raw `json:"sso_user_id,omitempty" remedy:"People link their sign-in themselves."`
}

// LiteLLMUserInput is a new user.
type LiteLLMUserInput struct {
	UserID        operation.Maybe[string] `json:"user_id"`         // one that is chosen by the client; null: one is made
	AutoCreateKey operation.Maybe[bool]   `json:"auto_create_key"` // of a service; true without it
	KeyAlias      operation.Maybe[string] `json:"key_alias"`       // of that key
	Duration      operation.Maybe[string] `json:"duration"`        // of that key
	LiteLLMUserFields
}

// LiteLLMUserChange is what is to be different of a user.
type LiteLLMUserChange struct {
	UserID operation.Maybe[string] `json:"user_id"`
	LiteLLMUserFields
}

// LiteLLMUsers names users.
type LiteLLMUsers struct {
	UserIDs []string `json:"user_ids" maxItems:"100"`
}

type userQuery struct {
	UserID string `json:"-" query:"user_id" maxLength:"128"` // without it who asks
}

type userListQuery struct {
	Page      int    `json:"-" query:"page" most:"100000"`
	PageSize  int    `json:"-" query:"page_size" most:"100"` // 25 without it
	Role      string `json:"-" query:"role" enum:"proxy_admin,org_admin,internal_user,proxy_admin_viewer"`
	UserIDs   string `json:"-" query:"user_ids" maxLength:"10000"` // separated by commas
	UserEmail string `json:"-" query:"user_email" maxLength:"256"` // a part of the address
	Team      string `json:"-" query:"team" maxLength:"128"`       // id
}

// LiteLLMUser is a person, somebody who is invited, or a service.
type LiteLLMUser struct {
	UserID         string         `json:"user_id"`
	UserEmail      *string        `json:"user_email"`
	UserAlias      *string        `json:"user_alias"`
	UserRole       string         `json:"user_role" enum:"proxy_admin,org_admin,internal_user,proxy_admin_viewer"`
	Teams          []string       `json:"teams"`
	MaxBudget      operation.Raw  `json:"max_budget" schema:"RublesOrNull"`
	BudgetDuration *string        `json:"budget_duration"`
	Models         []string       `json:"models"`
	Spend          operation.Raw  `json:"spend" schema:"Rubles"` // in the interval of the budget; without one, ever
	TPMLimit       operation.Null `json:"tpm_limit"`
	RPMLimit       operation.Null `json:"rpm_limit"`
	Metadata       operation.Raw  `json:"metadata" schema:"AnyObject"`
	OrganizationID *string        `json:"organization_id"` // null where the client that made it did not name it
	Status         string         `json:"status" enum:"active,invited"`
	CreatedAt      *time.Time     `json:"created_at"`
}

// LiteLLMNewUser is a user that was made.
type LiteLLMNewUser struct {
	LiteLLMUser
	Key            *string `json:"key"`             // text of the key of a service, which is shown this once
	InvitationLink *string `json:"invitation_link"` // of a person, which works once
}

// LiteLLMUserInfo is one user, with what belongs to them.
type LiteLLMUserInfo struct {
	UserID   string        `json:"user_id"`
	UserInfo LiteLLMUser   `json:"user_info"`
	Keys     []LiteLLMKey  `json:"keys"`
	Teams    []LiteLLMTeam `json:"teams"`
}

// LiteLLMUserUpdated is a user who was changed.
type LiteLLMUserUpdated struct {
	UserID string      `json:"user_id"`
	Data   LiteLLMUser `json:"data"`
}

// LiteLLMDeletedUsers are users who were deleted, as they were named.
type LiteLLMDeletedUsers struct {
	DeletedUsers []string `json:"deleted_users"`
}

// LiteLLMUserPage is a page of users.
type LiteLLMUserPage struct {
	Users      []LiteLLMUser `json:"users"`
	Total      int           `json:"total"`
	Page       int           `json:"page"`
	PageSize   int           `json:"page_size"`
	TotalPages int           `json:"total_pages"`
}

func users(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/user/new", ID: "litellmNewUser", Summary: "Invite a person to the organization, or make a service of it", Answer: "The user",
			Example: `{"user_id": "nightly-report", "user_alias": "Nightly report", "max_budget": 1000, "budget_duration": "1d"}`,
		}, operation.Leaders), d.newUser),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/user/update", ID: "litellmUpdateUser", Summary: "Change a user", Answer: "The user",
			Example: `{"user_id": "nightly-report", "max_budget": 2000}`,
		}, operation.Leaders), d.updateUser),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/user/delete", ID: "litellmDeleteUsers", Summary: "End memberships, services and invitations, with their keys", Answer: "The users who are gone",
			Example: `{"user_ids": ["nightly-report"]}`,
		}, operation.Leaders), d.deleteUsers),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/user/info", ID: "litellmUserInfo", Summary: "One user, with keys and team", Answer: "The user",
		}, operation.Anyone), d.userInfo),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/user/list", ID: "litellmListUsers", Summary: "The users of the organization: people, those who are invited, services", Answer: "A page of them",
		}, operation.Anyone), d.userList),
	}
}

var userRoles = map[string]apikey.OrgRole{"proxy_admin": apikey.OrgOwner, "org_admin": apikey.OrgManager, "internal_user": apikey.OrgMember, "proxy_admin_viewer": apikey.OrgBilling}

func roleOf(text string) (apikey.OrgRole, error) {
	if text == "" {
		return apikey.OrgMember, nil
	}
	role, ok := userRoles[text]
	if !ok {
		return "", fault.Field("litellmapi.roleOf", "user_role", "user_role must be proxy_admin (an owner here), org_admin (a manager), internal_user (a member) or proxy_admin_viewer (billing).")
	}
	return role, nil
}

func roleText(role apikey.OrgRole) string {
	for text, r := range userRoles {
		if r == role {
			return text
		}
	}
	return ""
}

// check refuses what a user cannot have.
func (in *LiteLLMUserFields) check(c *operation.Call) error {
	if err := refuse(in.Refused, in.NoRates, in.UserOnly); err != nil {
		return err
	}
	if value(in.Blocked) {
		return refused("blocked", "Block the keys of the user, or delete the user.")
	}
	return inAccount(c, append(value(in.Organizations), value(in.OrganizationID))...)
}

// team is the id of the one team that is named, "" none.
func (in *LiteLLMUserFields) team(r *roster) (string, error) {
	const op = "litellmapi.user"
	all := append([]string{}, value(in.Teams)...)
	if one := value(in.TeamID); one != "" && !slices.Contains(all, one) {
		all = append(all, one)
	}
	switch len(all) {
	case 0:
		return "", nil
	case 1:
		t, err := r.team(op, all[0])
		if err != nil {
			return "", err
		}
		return t.ID, nil
	}
	return "", fault.Field(op, "teams", "teams must have one team at most: a user is in one here.")
}

func userScope(id string) budget.Scope { return budget.Scope{Kind: budget.Member, ID: id} }

// checkUserCeiling fails where setCeilingOf would.
func (d *Deps) checkUserCeiling(ctx context.Context, c *operation.Call, r *roster, id string, in *LiteLLMCeiling) error {
	if in.empty() && (id == "" || r.invitation(id) != nil) {
		return nil
	}
	if in.given() && (id == "" && r != nil || r.invitation(id) != nil) {
		return fault.Field("litellmapi.user", "max_budget", "max_budget, budget_duration and models are for users who are here. Who is invited by e-mail is one when they have accepted: give them with POST /user/update then.")
	}
	return d.checkCeiling(ctx, c, userScope(id), in)
}

func (d *Deps) setCeilingOf(ctx context.Context, c *operation.Call, r *roster, id string, in *LiteLLMCeiling) error {
	if strings.HasPrefix(id, organization.InvitationPrefix) {
		return nil
	}
	if err := d.setCeiling(ctx, c, userScope(id), in); err != nil || !in.BudgetDuration.Given {
		return err
	}
	f := r.fields(id)
	f.Duration = value(in.BudgetDuration)
	return d.note(ctx, c, foreign.User, id, r.nameOf(id), f)
}

func (d *Deps) newUser(ctx context.Context, c *operation.Call, x *LiteLLMUserInput) (out LiteLLMNewUser, err error) {
	const op = "litellmapi.newUser"
	ms, err := in(op, "user_id", c)
	if err != nil {
		return out, err
	}
	if err := x.check(c); err != nil {
		return out, err
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	name := value(x.UserID)
	if err := r.free(foreign.User, name); err != nil {
		return out, err
	}
	var f kept
	if err := f.setMetadata(x.Metadata); err != nil {
		return out, err
	}
	f.name(map[string]string{"organization_id": value(x.OrganizationID) + strings.Join(value(x.Organizations), "")})
	team, err := x.team(&r)
	if err != nil {
		return out, err
	}
	role, err := roleOf(value(x.UserRole))
	if err != nil {
		return out, err
	}
	if value(x.UserEmail) != "" {
		return d.newPerson(ctx, c, x, ms, &r, f, role, team)
	}
	if role != apikey.OrgMember {
		return out, fault.Field(op, "user_role", "user_role must be internal_user without user_email: the user is a service then.")
	}
	return d.newService(ctx, c, x, ms, f, team)
}

func (d *Deps) newPerson(ctx context.Context, c *operation.Call, x *LiteLLMUserInput, ms *organization.Membership, r *roster, f kept, role apikey.OrgRole, team string) (out LiteLLMNewUser, err error) {
	const op = "litellmapi.newUser"
	id, err := r.userOf(op, "", value(x.UserEmail))
	switch {
	case err != nil:
		return out, err
	case id != "":
		return out, fault.New(fault.Conflict, op, "A user with this user_email exists already.")
	}
	if err := d.checkUserCeiling(ctx, c, r, "", &x.LiteLLMCeiling); err != nil {
		return out, err
	}
	path, i, err := d.invite(ctx, c, ms, organization.NewInvitation{Email: value(x.UserEmail), Role: role, Team: team})
	if err != nil {
		return out, err
	}
	f.Alias, f.Email = value(x.UserAlias), i.Email
	if err := d.note(ctx, c, foreign.User, i.ID, value(x.UserID), f); err != nil {
		return out, joinedWith(err, d.Of.Organizations.Uninvite(ctx, ms, i.ID, c.Actor))
	}
	link := c.Base() + path
	out.InvitationLink = &link
	c.NoStore()
	out.LiteLLMUser, err = d.userNow(ctx, c, i.ID)
	return out, err
}

func (d *Deps) newService(ctx context.Context, c *operation.Call, x *LiteLLMUserInput, ms *organization.Membership, f kept, team string) (out LiteLLMNewUser, err error) {
	if err := d.checkCeiling(ctx, c, userScope(""), &x.LiteLLMCeiling); err != nil {
		return out, err
	}
	name := cmp.Or(value(x.UserAlias), value(x.UserID), "service "+c.At.UTC().Format("2006-01-02 15:04:05"))
	s, err := d.Of.Organizations.AddService(ctx, ms, name, team, c.Member, c.Actor)
	if err != nil {
		return out, err
	}
	f.Duration = value(x.BudgetDuration)
	if err = d.note(ctx, c, foreign.User, s.ID, value(x.UserID), f); err == nil {
		err = d.setCeiling(ctx, c, userScope(s.ID), &x.LiteLLMCeiling)
	}
	if err == nil && (x.AutoCreateKey.Value == nil || *x.AutoCreateKey.Value) {
		in := LiteLLMKeyFields{KeyAlias: x.KeyAlias, Duration: x.Duration, UserID: operation.Maybe[string]{Given: true, Value: &s.ID}}
		if value(in.KeyAlias) == "" {
			in.KeyAlias.Value = &name
		}
		var text string
		if _, text, err = d.makeKey(ctx, c, &in); err == nil {
			out.Key = &text
		}
	}
	if err != nil { // a service without its budget would let more be spent
		_, undoing := d.Of.Organizations.EndService(ctx, ms, s.ID, c.Actor)
		if undoing == nil {
			undoing = d.Names.DeleteForeign(ctx, c.User, s.ID)
		}
		return LiteLLMNewUser{}, joinedWith(err, undoing)
	}
	c.NoStore()
	out.LiteLLMUser, err = d.userNow(ctx, c, s.ID)
	return out, err
}

func (d *Deps) updateUser(ctx context.Context, c *operation.Call, x *LiteLLMUserChange) (out LiteLLMUserUpdated, err error) {
	const op = "litellmapi.updateUser"
	ms, err := in(op, "user_id", c)
	if err != nil {
		return out, err
	}
	if err := x.check(c); err != nil {
		return out, err
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	id, err := r.userOf(op, value(x.UserID), value(x.UserEmail))
	if err == nil && id == "" {
		err = fault.New(fault.NotFound, op, "There is no such user: user_email is not found.")
	}
	if err != nil {
		return out, err
	}
	f := r.fields(id)
	if err := x.same(&r, id); err != nil {
		return out, err
	}
	if err := f.setMetadata(x.Metadata); err != nil {
		return out, err
	}
	if x.BudgetDuration.Given {
		f.Duration = value(x.BudgetDuration)
	}
	if err := d.checkUserCeiling(ctx, c, &r, id, &x.LiteLLMCeiling); err != nil {
		return out, err
	}
	if err := d.setUser(ctx, c, ms, &r, id, &x.LiteLLMUserFields, &f); err != nil {
		return out, err
	}
	if !strings.HasPrefix(id, organization.InvitationPrefix) {
		if err := d.setCeiling(ctx, c, userScope(id), &x.LiteLLMCeiling); err != nil {
			return out, err
		}
	}
	if err := d.note(ctx, c, foreign.User, id, r.nameOf(id), f); err != nil {
		return out, err
	}
	out.Data, err = d.userNow(ctx, c, id)
	out.UserID = out.Data.UserID
	return out, err
}

// same refuses changes that are made elsewhere.
func (in *LiteLLMUserFields) same(r *roster, id string) error {
	const op = "litellmapi.updateUser"
	team, err := in.team(r)
	if err != nil {
		return err
	}
	now, email := r.teamOf(id), ""
	if m := r.member(id); m != nil {
		email = m.Email
	}
	if i := r.invitation(id); i != nil {
		now, email = i.Team, i.Email
	}
	if team != "" && team != now {
		return fault.Field(op, "teams", "teams: users are put into teams with POST /team/member_add, and taken out with POST /team/member_delete.")
	}
	if to := value(in.UserEmail); to != "" {
		if to, err = auth.CheckEmail("user_email", to); err != nil {
			return err
		}
		if to != email {
			return fault.Field(op, "user_email", "user_email cannot be changed: people change their own address. Leave it out.")
		}
	}
	return nil
}

// setUser changes the role and the name of a user.
func (d *Deps) setUser(ctx context.Context, c *operation.Call, ms *organization.Membership, r *roster, id string, x *LiteLLMUserFields, f *kept) error {
	const op = "litellmapi.updateUser"
	var role apikey.OrgRole
	if text := value(x.UserRole); text != "" {
		var err error
		if role, err = roleOf(text); err != nil {
			return err
		}
	}
	alias := value(x.UserAlias)
	switch m, i := r.member(id), r.invitation(id); {
	case m != nil:
		if x.UserAlias.Given {
			f.Alias = alias
		}
		if role == "" || role == m.Role {
			return nil
		}
		_, err := d.Of.Organizations.SetMember(ctx, ms, id, &role, nil, c.Actor)
		return err
	case i != nil:
		if x.UserAlias.Given {
			f.Alias = alias
		}
		if role != "" && role != i.Role {
			return fault.Field(op, "user_role", "user_role of who is invited cannot be changed. Delete the user, and make them again.")
		}
		return nil
	}
	if role != "" && role != apikey.OrgMember {
		return fault.Field(op, "user_role", "user_role must be internal_user: this user is a service.")
	}
	if alias == "" || alias == r.service(id).Name {
		return nil
	}
	_, err := d.Of.Organizations.ChangeService(ctx, ms, id, &alias, nil, c.Actor)
	return err
}

func (d *Deps) deleteUsers(ctx context.Context, c *operation.Call, x *LiteLLMUsers) (out LiteLLMDeletedUsers, err error) {
	const op = "litellmapi.deleteUsers"
	ms, err := in(op, "user_ids", c)
	if err != nil {
		return out, err
	}
	if len(x.UserIDs) == 0 || len(x.UserIDs) > 100 {
		return out, fault.Field(op, "user_ids", "user_ids must have 1 to 100 ids of users.")
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	ids := []string{}
	for _, name := range x.UserIDs {
		if name == "" {
			return out, fault.New(fault.NotFound, op, "There is no such user: user_ids has an empty id.")
		}
		id, err := r.userOf(op, name, "")
		if err != nil {
			return out, err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		switch {
		case r.member(id) != nil:
			_, err = d.Of.Organizations.Remove(ctx, ms, c.Member, id, c.Actor)
		case r.service(id) != nil:
			_, err = d.Of.Organizations.EndService(ctx, ms, id, c.Actor)
		default:
			err = d.Of.Organizations.Uninvite(ctx, ms, id, c.Actor)
		}
		if err == nil {
			err = d.dropCeiling(ctx, c, userScope(id))
		}
		if err == nil {
			err = d.Names.DeleteForeign(ctx, c.User, id)
		}
		if err != nil {
			return out, err
		}
	}
	return LiteLLMDeletedUsers{DeletedUsers: x.UserIDs}, nil
}

// user shows a user of an organization; false where there is no such one. What they have spent is for who sees it.
func (g *groups) user(id string, sees apikey.Sight) (out LiteLLMUser, ok bool) {
	f, x := g.fields(id), g.of(userScope(id))
	out = LiteLLMUser{UserID: g.nameOf(id), UserRole: "internal_user", Teams: []string{}, Metadata: object(f.Metadata), Spend: number(0), OrganizationID: f.shows("organization_id", g.account), Status: "active", UserAlias: accountapi.OrNull(f.Alias)}
	out.MaxBudget, out.BudgetDuration, out.Models = shownCeiling(&x, f.Duration)
	team := g.teamOf(id)
	switch m, s, i := g.member(id), g.service(id), g.invitation(id); {
	case m != nil:
		out.UserEmail, out.UserRole, out.CreatedAt = accountapi.OrNull(m.Email), roleText(m.Role), &m.JoinedAt
		if out.UserAlias == nil {
			out.UserAlias = accountapi.OrNull(m.Name)
		}
	case s != nil:
		out.UserAlias, out.CreatedAt = &s.Name, &s.CreatedAt
	case i != nil:
		out.UserEmail, out.UserRole, out.CreatedAt, out.Status, team = accountapi.OrNull(i.Email), roleText(i.Role), &i.CreatedAt, "invited", i.Team
	default:
		return out, false
	}
	out.Teams = g.names(team)
	switch {
	case !sees.Of(id, team):
	case x.spent != nil:
		out.Spend = number(*x.spent)
	default:
		out.Spend = number(g.totals[report.Member][id])
	}
	return out, true
}

// membership is the budget of a user in a team.
func (g *groups) membership(user, team string) LiteLLMMembership {
	out := LiteLLMMembership{UserID: user, TeamID: team}
	id := g.idOf(foreign.User, user)
	if own := g.of(userScope(id)); own.amount != nil {
		out.Budget = &LiteLLMMemberBudget{MaxBudget: number(*own.amount), BudgetDuration: durationOf(own.reset, g.fields(id).Duration)}
	}
	return out
}

func (d *Deps) userNow(ctx context.Context, c *operation.Call, id string) (out LiteLLMUser, err error) {
	g, err := d.groups(ctx, c, report.Member)
	if err == nil {
		out, _ = g.user(id, c.Sees)
	}
	return out, err
}

// self is who asks, in their own account.
func (d *Deps) self(ctx context.Context, c *operation.Call) (out LiteLLMUser, err error) {
	p, err := d.Of.People.Of(ctx, c.User)
	if err != nil {
		return out, err
	}
	g, err := d.groups(ctx, c, report.Member)
	x := g.of(budget.Scope{Kind: budget.Organization})
	out = LiteLLMUser{UserID: c.User, UserEmail: accountapi.OrNull(p.Email), UserAlias: accountapi.OrNull(p.Name), UserRole: "internal_user", Teams: []string{}, Metadata: operation.Raw("{}"), Status: "active"}
	out.MaxBudget, out.BudgetDuration, out.Models = shownCeiling(&x, "")
	var all money.Nano
	for _, n := range g.totals[report.Member] {
		all += n
	}
	if out.Spend = number(all); x.spent != nil {
		out.Spend = number(*x.spent)
	}
	return out, err
}

func (d *Deps) userInfo(ctx context.Context, c *operation.Call, x *userQuery) (out LiteLLMUserInfo, err error) {
	const op = "litellmapi.userInfo"
	out.Keys, out.Teams = []LiteLLMKey{}, []LiteLLMTeam{}
	if c.Org == nil {
		if x.UserID != "" && x.UserID != c.User {
			return out, fault.New(fault.NotFound, op, "There is no such user: user_id is not found. Users are of organizations: put the id of one behind the address of this gateway.")
		}
		if out.UserInfo, err = d.self(ctx, c); err != nil {
			return out, err
		}
		out.UserID = out.UserInfo.UserID
		out.Keys, err = d.keysFor(ctx, c, "")
		return out, err
	}
	g, err := d.groups(ctx, c, report.Member, report.Team)
	if err != nil {
		return out, err
	}
	id := c.Member
	if x.UserID != "" {
		if id, err = g.userOf(op, x.UserID, ""); err != nil {
			return out, err
		}
	}
	out.UserInfo, _ = g.user(id, c.Sees)
	out.UserID = out.UserInfo.UserID
	for i := range g.teams {
		if slices.Contains(out.UserInfo.Teams, g.nameOf(g.teams[i].ID)) {
			out.Teams = append(out.Teams, g.show(&g.teams[i], c.Sees))
		}
	}
	if c.OrgRole != apikey.OrgBilling {
		out.Keys, err = d.keysFor(ctx, c, id)
	}
	return out, err
}

// keysFor are the keys of a member that the caller sees; "": all of a personal account.
func (d *Deps) keysFor(ctx context.Context, c *operation.Call, member string) ([]LiteLLMKey, error) {
	out := []LiteLLMKey{}
	all, err := d.all(ctx, c, c.Sees)
	if err != nil {
		return out, err
	}
	s, err := d.shower(ctx, c)
	for i := range all {
		if all[i].Member == member {
			out = append(out, s.key(&all[i]))
		}
	}
	return out, err
}

func (d *Deps) everybody(ctx context.Context, c *operation.Call) ([]LiteLLMUser, error) {
	if c.Org == nil {
		u, err := d.self(ctx, c)
		return []LiteLLMUser{u}, err
	}
	g, err := d.groups(ctx, c, report.Member)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for i := range g.members {
		ids = append(ids, g.members[i].User)
	}
	for i := range g.services {
		ids = append(ids, g.services[i].ID)
	}
	for i := range g.invitations {
		ids = append(ids, g.invitations[i].ID)
	}
	all := []LiteLLMUser{}
	for _, id := range ids {
		u, _ := g.user(id, c.Sees)
		all = append(all, u)
	}
	return all, nil
}

func (d *Deps) userList(ctx context.Context, c *operation.Call, x *userListQuery) (out LiteLLMUserPage, err error) {
	all, err := d.everybody(ctx, c)
	if err != nil {
		return out, err
	}
	ids := strings.FieldsFunc(x.UserIDs, func(r rune) bool { return r == ',' })
	all = slices.DeleteFunc(all, func(u LiteLLMUser) bool {
		return x.Role != "" && u.UserRole != x.Role || len(ids) > 0 && !slices.Contains(ids, u.UserID) || x.Team != "" && !slices.Contains(u.Teams, x.Team) ||
			!strings.Contains(strings.ToLower(deref(u.UserEmail)), strings.ToLower(x.UserEmail))
	})
	var from, to int
	from, to, out.TotalPages, out.Page = paged(len(all), x.Page, x.PageSize, 25)
	out.Users, out.Total, out.PageSize = all[from:to], len(all), cmp.Or(x.PageSize, 25)
	return out, nil
}
