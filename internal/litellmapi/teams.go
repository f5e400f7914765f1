package litellmapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/report"
)

// LiteLLMTeamFields are what is said of a team. What is left out stays as it is.
type LiteLLMTeamFields struct {
	TeamAlias      operation.Maybe[string] `json:"team_alias"` // its name
	OrganizationID operation.Maybe[string] `json:"organization_id"`
	Blocked        operation.Maybe[bool]   `json:"blocked"` // false
	Metadata       operation.Raw           `json:"metadata,omitempty"`
	TeamOnly
	LiteLLMCeiling
	NoRates
	Refused
}

// TeamOnly are fields of teams that have no counterpart.
type TeamOnly struct {
	Permissions        operation.Raw `json:"team_member_permissions,omitempty" remedy:"What a member may do is said by their role."`
	TeamMemberBudget   operation.Raw `json:"team_member_budget,omitempty" remedy:"Give max_budget to each user with POST /user/update."`
	TeamMemberDuration operation.Raw `json:"team_member_budget_duration,omitempty" remedy:"Give budget_duration to each user with POST /user/update."`
	TeamMemberKeys     operation.Raw `json:"team_member_key_duration,omitempty" remedy:"Give duration to the keys."`
	TeamMemberRPMLimit operation.Raw `json:"team_member_rpm_limit,omitempty" remedy:"Give rpm_limit to the keys."`
	TeamMemberTPMLimit operation.Raw `json:"team_member_tpm_limit,omitempty" remedy:"Give tpm_limit to the keys."`
}

// LiteLLMTeamInput is a new team.
type LiteLLMTeamInput struct {
	TeamID           operation.Maybe[string]          `json:"team_id"` // one that is chosen by the client; null: one is made
	MembersWithRoles operation.Maybe[[]LiteLLMMember] `json:"members_with_roles"`
	LiteLLMTeamFields
}

// LiteLLMTeamChange is what is to be different of a team.
type LiteLLMTeamChange struct {
	TeamID string `json:"team_id" minLength:"1" maxLength:"128"`
	LiteLLMTeamFields
}

// LiteLLMTeams names teams.
type LiteLLMTeams struct {
	TeamIDs []string `json:"team_ids" maxItems:"100"`
}

// LiteLLMMember is a user in a team.
type LiteLLMMember struct {
	UserID    *string `json:"user_id,omitempty" null:"none"`
	UserEmail *string `json:"user_email,omitempty" null:"none"` // one who is no member yet is invited
	Role      *string `json:"role,omitempty" null:"none" enum:"admin,user"`
}

// LiteLLMMembership is a user in a team, with their own budget.
type LiteLLMMembership struct {
	UserID string               `json:"user_id"`
	TeamID string               `json:"team_id"`
	Budget *LiteLLMMemberBudget `json:"litellm_budget_table"`
}

// LiteLLMMemberBudget is the budget of a user.
type LiteLLMMemberBudget struct {
	MaxBudget      operation.Raw `json:"max_budget" schema:"RublesOrNull"`
	BudgetDuration *string       `json:"budget_duration"`
}

// LiteLLMTeamMember is a user in a team, as teams show them.
type LiteLLMTeamMember struct {
	UserID    string  `json:"user_id"`
	UserEmail *string `json:"user_email"`
	Role      string  `json:"role" enum:"admin,user"` // admin: an owner or manager of the organization
}

// LiteLLMTeam is a team.
type LiteLLMTeam struct {
	TeamID           string              `json:"team_id"`
	TeamAlias        string              `json:"team_alias"`
	OrganizationID   *string             `json:"organization_id"`    // null where the client that made it did not name it
	MembersWithRoles []LiteLLMTeamMember `json:"members_with_roles"` // people, those who are invited, and services
	Metadata         operation.Raw       `json:"metadata" schema:"AnyObject"`
	MaxBudget        operation.Raw       `json:"max_budget" schema:"RublesOrNull"`
	BudgetDuration   *string             `json:"budget_duration"`
	Models           []string            `json:"models"`
	TPMLimit         operation.Null      `json:"tpm_limit"`
	RPMLimit         operation.Null      `json:"rpm_limit"`
	Blocked          bool                `json:"blocked"`
	Spend            operation.Raw       `json:"spend" schema:"Rubles"` // in the interval of its budget; without one, ever
	CreatedAt        time.Time           `json:"created_at"`
}

// LiteLLMTeamInfo is one team, with what belongs to it.
type LiteLLMTeamInfo struct {
	TeamID      string              `json:"team_id"`
	TeamInfo    LiteLLMTeam         `json:"team_info"`
	Keys        []LiteLLMKey        `json:"keys"`
	Memberships []LiteLLMMembership `json:"team_memberships"`
}

// LiteLLMTeamUpdated is a team that was changed.
type LiteLLMTeamUpdated struct {
	TeamID string      `json:"team_id"`
	Data   LiteLLMTeam `json:"data"`
}

// LiteLLMDeletedTeams are teams that were deleted, as they were named.
type LiteLLMDeletedTeams struct {
	DeletedTeams []string `json:"deleted_teams"`
}

// LiteLLMTeamPage is a page of teams.
type LiteLLMTeamPage struct {
	Teams      []LiteLLMTeam `json:"teams"`
	Total      int           `json:"total"`
	Page       int           `json:"page"`
	PageSize   int           `json:"page_size"`
	TotalPages int           `json:"total_pages"`
}

type teamQuery struct {
	TeamID string `json:"-" query:"team_id" maxLength:"128"`
}

type teamListQuery struct {
	UserID         string `json:"-" query:"user_id" maxLength:"128"` // teams of this user alone
	OrganizationID string `json:"-" query:"organization_id" maxLength:"128"`
}

type teamPageQuery struct {
	UserID         string `json:"-" query:"user_id" maxLength:"128"`
	OrganizationID string `json:"-" query:"organization_id" maxLength:"128"`
	TeamID         string `json:"-" query:"team_id" maxLength:"128"`
	TeamAlias      string `json:"-" query:"team_alias" maxLength:"256"` // a part of the name
	Page           int    `json:"-" query:"page" most:"100000"`
	PageSize       int    `json:"-" query:"page_size" most:"100"` // 10 without it
	SortOrder      string `json:"-" query:"sort_order" enum:"asc,desc"`
}

func teams(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/team/new", ID: "litellmNewTeam", Summary: "Make a team of the organization", Answer: "The team",
			Example: `{"team_id": "research", "team_alias": "Research", "max_budget": 100000, "budget_duration": "30d", "models": ["sim/*"]}`,
		}, operation.Leaders), d.newTeam),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/team/update", ID: "litellmUpdateTeam", Summary: "Change a team", Answer: "The team",
			Example: `{"team_id": "research", "max_budget": 120000}`,
		}, operation.Leaders), d.updateTeam),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/team/delete", ID: "litellmDeleteTeams", Summary: "Delete teams, whose members stay; the services that were made for their keys end with them", Answer: "The teams that are gone",
			Example: `{"team_ids": ["research"]}`,
		}, operation.Leaders), d.deleteTeams),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/team/info", ID: "litellmTeamInfo", Summary: "One team, with its keys and members", Answer: "The team",
		}, operation.Anyone), d.teamInfo),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/team/list", ID: "litellmListTeams", Summary: "The teams of the organization", Answer: "All of them, by name",
		}, operation.Anyone), func(ctx context.Context, c *operation.Call, in *teamListQuery) ([]LiteLLMTeam, error) {
			return d.teamList(ctx, c, in.UserID, in.OrganizationID)
		}),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/v2/team/list", ID: "litellmListTeamsPaged", Summary: "The teams of the organization, in pages", Answer: "A page of them, by name",
		}, operation.Anyone), d.teamPage),
	}
}

// check refuses what a team cannot have.
func (in *LiteLLMTeamFields) check(c *operation.Call) error {
	if err := refuse(in.Refused, in.NoRates, in.TeamOnly); err != nil {
		return err
	}
	if value(in.Blocked) {
		return refused("blocked", "Give the team max_budget 0, or block its keys.")
	}
	return inAccount(c, value(in.OrganizationID))
}

func teamScope(id string) budget.Scope { return budget.Scope{Kind: budget.Team, ID: id} }

func (d *Deps) newTeam(ctx context.Context, c *operation.Call, x *LiteLLMTeamInput) (out LiteLLMTeam, err error) {
	const op = "litellmapi.newTeam"
	ms, err := in(op, "team_id", c)
	if err != nil {
		return out, err
	}
	if err := x.check(c); err != nil {
		return out, err
	}
	if len(value(x.MembersWithRoles)) > 0 {
		return out, refused("members_with_roles", "Add them with POST /team/member_add.")
	}
	var f kept
	if err := f.setMetadata(x.Metadata); err != nil {
		return out, err
	}
	f.Duration = value(x.BudgetDuration)
	f.name(map[string]string{"organization_id": value(x.OrganizationID)})
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	name := value(x.TeamID)
	if err := r.free(foreign.Team, name); err != nil {
		return out, err
	}
	if slices.ContainsFunc(r.teams, func(t organization.Team) bool { return t.ID == name }) {
		return out, fault.Newf(fault.Conflict, op, "There is a team with the id %s already.", clip(name))
	}
	if err := d.checkCeiling(ctx, c, teamScope(""), &x.LiteLLMCeiling); err != nil {
		return out, err
	}
	t, err := d.Of.Organizations.AddTeam(ctx, ms, cmp.Or(value(x.TeamAlias), name, "team "+c.At.UTC().Format("2006-01-02 15:04:05")), c.Actor)
	if err != nil {
		return out, err
	}
	if err = d.note(ctx, c, foreign.Team, t.ID, name, f); err == nil {
		err = d.setCeiling(ctx, c, teamScope(t.ID), &x.LiteLLMCeiling)
	}
	if err != nil { // a team without its budget would let more be spent
		return out, joinedWith(err, d.Of.Organizations.DeleteTeam(ctx, ms, t.ID, c.Actor))
	}
	return d.teamNow(ctx, c, t.ID)
}

// joinedWith is the first failure, with that of undoing as its cause.
func joinedWith(err, undoing error) error {
	if undoing != nil {
		return fault.From(err).Because(undoing)
	}
	return err
}

func (d *Deps) updateTeam(ctx context.Context, c *operation.Call, x *LiteLLMTeamChange) (out LiteLLMTeamUpdated, err error) {
	const op = "litellmapi.updateTeam"
	ms, err := in(op, "team_id", c)
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
	t, err := r.team(op, x.TeamID)
	if err != nil {
		return out, err
	}
	f := r.fields(t.ID)
	if err := f.setMetadata(x.Metadata); err != nil {
		return out, err
	}
	if x.BudgetDuration.Given {
		f.Duration = value(x.BudgetDuration)
	}
	if err := d.checkCeiling(ctx, c, teamScope(t.ID), &x.LiteLLMCeiling); err != nil {
		return out, err
	}
	if name := value(x.TeamAlias); name != "" && name != t.Name {
		if err := d.Of.Organizations.RenameTeam(ctx, ms, t.ID, name, c.Actor); err != nil {
			return out, err
		}
		for i := range r.services { // the one for which keys of the team work has its name
			if s := &r.services[i]; s.Team == t.ID && s.Name == t.Name {
				if _, err := d.Of.Organizations.ChangeService(ctx, ms, s.ID, &name, nil, c.Actor); err != nil {
					return out, err
				}
			}
		}
	}
	if err := d.setCeiling(ctx, c, teamScope(t.ID), &x.LiteLLMCeiling); err != nil {
		return out, err
	}
	if err := d.note(ctx, c, foreign.Team, t.ID, r.nameOf(t.ID), f); err != nil {
		return out, err
	}
	out.Data, err = d.teamNow(ctx, c, t.ID)
	out.TeamID = out.Data.TeamID
	return out, err
}

func (d *Deps) deleteTeams(ctx context.Context, c *operation.Call, x *LiteLLMTeams) (out LiteLLMDeletedTeams, err error) {
	const op = "litellmapi.deleteTeams"
	ms, err := in(op, "team_ids", c)
	if err != nil {
		return out, err
	}
	if len(x.TeamIDs) == 0 || len(x.TeamIDs) > 100 {
		return out, fault.Field(op, "team_ids", "team_ids must have 1 to 100 ids of teams.")
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	gone := []*organization.Team{}
	for _, name := range x.TeamIDs {
		t, err := r.team(op, name)
		if err != nil {
			return out, err
		}
		if !slices.Contains(gone, t) {
			gone = append(gone, t)
		}
	}
	for _, t := range gone {
		for i := range r.services {
			if s := &r.services[i]; s.Team == t.ID && s.Name == t.Name {
				if _, err := d.Of.Organizations.EndService(ctx, ms, s.ID, c.Actor); err != nil {
					return out, err
				}
			}
		}
		if err := d.Of.Organizations.DeleteTeam(ctx, ms, t.ID, c.Actor); err != nil {
			return out, err
		}
		if err := d.dropCeiling(ctx, c, teamScope(t.ID)); err != nil {
			return out, err
		}
		if err := d.Names.DeleteForeign(ctx, c.User, t.ID); err != nil {
			return out, err
		}
	}
	return LiteLLMDeletedTeams{DeletedTeams: x.TeamIDs}, nil
}

// groups shows teams and users of an organization.
type groups struct {
	roster
	ceilings
	totals map[report.Part]map[string]money.Nano
}

func (d *Deps) groups(ctx context.Context, c *operation.Call, parts ...report.Part) (g groups, err error) {
	if g.roster, err = d.roster(ctx, c); err != nil {
		return g, err
	}
	if g.ceilings, err = d.ceilings(ctx, c); err != nil {
		return g, err
	}
	g.totals = map[report.Part]map[string]money.Nano{}
	for _, p := range parts {
		if g.totals[p], err = d.spentBy(ctx, c, p); err != nil {
			return g, err
		}
	}
	return g, nil
}

// show shows a team. What it has spent is for who sees it.
func (g *groups) show(t *organization.Team, sees apikey.Sight) LiteLLMTeam {
	f, x := g.fields(t.ID), g.of(teamScope(t.ID))
	out := LiteLLMTeam{TeamID: g.nameOf(t.ID), TeamAlias: t.Name, OrganizationID: f.shows("organization_id", t.Org), MembersWithRoles: []LiteLLMTeamMember{}, Metadata: object(f.Metadata), Spend: number(0), CreatedAt: t.CreatedAt}
	out.MaxBudget, out.BudgetDuration, out.Models = shownCeiling(&x, f.Duration)
	switch {
	case !sees.Of("", t.ID):
	case x.spent != nil:
		out.Spend = number(*x.spent)
	default:
		out.Spend = number(g.totals[report.Team][t.ID])
	}
	for i := range g.members {
		if m := &g.members[i]; m.Team == t.ID {
			out.MembersWithRoles = append(out.MembersWithRoles, LiteLLMTeamMember{g.nameOf(m.User), accountapi.OrNull(m.Email), teamRole(m.Role)})
		}
	}
	for i := range g.invitations {
		if x := &g.invitations[i]; x.Team == t.ID {
			out.MembersWithRoles = append(out.MembersWithRoles, LiteLLMTeamMember{g.nameOf(x.ID), accountapi.OrNull(x.Email), teamRole(x.Role)})
		}
	}
	for i := range g.services {
		if s := &g.services[i]; s.Team == t.ID && s.Name != t.Name {
			out.MembersWithRoles = append(out.MembersWithRoles, LiteLLMTeamMember{g.nameOf(s.ID), nil, "user"})
		}
	}
	return out
}

func teamRole(r apikey.OrgRole) string {
	if r == apikey.OrgOwner || r == apikey.OrgManager {
		return "admin"
	}
	return "user"
}

func (d *Deps) teamNow(ctx context.Context, c *operation.Call, id string) (out LiteLLMTeam, err error) {
	g, err := d.groups(ctx, c, report.Team)
	if err != nil {
		return out, err
	}
	t, err := g.team("litellmapi.teamNow", id)
	if err != nil {
		return out, err
	}
	return g.show(t, c.Sees), nil
}

func (d *Deps) teamInfo(ctx context.Context, c *operation.Call, x *teamQuery) (out LiteLLMTeamInfo, err error) {
	const op = "litellmapi.teamInfo"
	if _, err := in(op, "team_id", c); err != nil {
		return out, err
	}
	if x.TeamID == "" {
		return out, fault.Field(op, "team_id", "team_id is missing.")
	}
	g, err := d.groups(ctx, c, report.Team)
	if err != nil {
		return out, err
	}
	t, err := g.team(op, x.TeamID)
	if err != nil {
		return out, err
	}
	out.TeamInfo = g.show(t, c.Sees)
	out.TeamID, out.Keys, out.Memberships = out.TeamInfo.TeamID, []LiteLLMKey{}, []LiteLLMMembership{}
	for _, m := range out.TeamInfo.MembersWithRoles {
		out.Memberships = append(out.Memberships, g.membership(m.UserID, out.TeamID))
	}
	if c.OrgRole == apikey.OrgBilling { // who has no keys, sees none
		return out, nil
	}
	all, err := d.all(ctx, c, c.Sees)
	if err != nil {
		return out, err
	}
	spends, err := d.Of.Reports.KeySpends(ctx, c.User, c.Wallet)
	s := shower{g.roster, spends}
	for i := range all {
		if g.teamOf(all[i].Member) == t.ID {
			out.Keys = append(out.Keys, s.key(&all[i]))
		}
	}
	return out, err
}

func (d *Deps) teamList(ctx context.Context, c *operation.Call, user, org string) ([]LiteLLMTeam, error) {
	if err := inAccount(c, org); err != nil {
		return nil, err
	}
	out := []LiteLLMTeam{}
	if c.Org == nil {
		return out, nil
	}
	g, err := d.groups(ctx, c, report.Team)
	if err != nil {
		return nil, err
	}
	only := ""
	if user != "" {
		only = g.teamOf(g.idOf(foreign.User, user))
	}
	for i := range g.teams {
		if user == "" || g.teams[i].ID == only {
			out = append(out, g.show(&g.teams[i], c.Sees))
		}
	}
	return out, nil
}

func (d *Deps) teamPage(ctx context.Context, c *operation.Call, x *teamPageQuery) (out LiteLLMTeamPage, err error) {
	all, err := d.teamList(ctx, c, x.UserID, x.OrganizationID)
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(t LiteLLMTeam) bool {
		return x.TeamID != "" && t.TeamID != x.TeamID || !strings.Contains(strings.ToLower(t.TeamAlias), strings.ToLower(x.TeamAlias))
	})
	if x.SortOrder == "desc" {
		slices.Reverse(all)
	}
	var from, to int
	from, to, out.TotalPages, out.Page = paged(len(all), x.Page, x.PageSize, 10)
	out.Teams, out.Total, out.PageSize = all[from:to], len(all), cmp.Or(x.PageSize, 10)
	return out, nil
}
