package litellmapi

import (
	"context"
	"slices"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// LiteLLMMembersAdded puts users into a team.
type LiteLLMMembersAdded struct {
	TeamID          string                      `json:"team_id" minLength:"1" maxLength:"128"`
	Member          operation.Raw               `json:"member" schema:"LiteLLMMembers"` // one, or a list of at most 100
	MaxBudgetInTeam operation.Maybe[money.Nano] `json:"max_budget_in_team"`             // rubles; the budget of the user, who is in one team
	BudgetDuration  operation.Maybe[string]     `json:"budget_duration"`
	MemberOnly
}

// LiteLLMMemberChange is what is to be different of a user in a team.
type LiteLLMMemberChange struct {
	TeamID          string                      `json:"team_id" minLength:"1" maxLength:"128"`
	MaxBudgetInTeam operation.Maybe[money.Nano] `json:"max_budget_in_team"`
	BudgetDuration  operation.Maybe[string]     `json:"budget_duration"`
	LiteLLMMember
	MemberOnly
}

// LiteLLMMemberRemoved takes a user out of a team.
type LiteLLMMemberRemoved struct {
	TeamID    string  `json:"team_id" minLength:"1" maxLength:"128"`
	UserID    *string `json:"user_id,omitempty" null:"none"`
	UserEmail *string `json:"user_email,omitempty" null:"none"`
}

// MemberOnly are fields of members of teams that have no counterpart.
type MemberOnly struct {
	AllowedModels operation.Raw `json:"allowed_models,omitempty" remedy:"Give models to the user with POST /user/update."`
	RPMLimit      operation.Raw `json:"rpm_limit,omitempty" remedy:"Give it to the keys."`
	TPMLimit      operation.Raw `json:"tpm_limit,omitempty" remedy:"Give it to the keys."`
}

// LiteLLMTeamMembers is a team, with the users that were put into it.
type LiteLLMTeamMembers struct {
	LiteLLMTeam
	UpdatedUsers       []LiteLLMUser       `json:"updated_users"`
	UpdatedMemberships []LiteLLMMembership `json:"updated_team_memberships"`
}

func members(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/team/member_add", ID: "litellmAddTeamMembers", Summary: "Put users into a team; an e-mail address without an account gets an invitation", Answer: "The team, with those users",
			Example: `{"team_id": "research", "member": [{"user_email": "ann@example.com", "role": "user"}], "max_budget_in_team": 1000}`,
		}, operation.Leaders), d.addMembers),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/team/member_update", ID: "litellmUpdateTeamMember", Summary: "Change role and budget of a user in a team", Answer: "The team, with that user",
			Example: `{"team_id": "research", "user_id": "nightly-report", "max_budget_in_team": 2000}`,
		}, operation.Leaders), d.updateMember),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/team/member_delete", ID: "litellmDeleteTeamMember", Summary: "Take a user out of a team; they stay in the organization", Answer: "The team",
			Example: `{"team_id": "research", "user_id": "nightly-report"}`,
		}, operation.Leaders), d.removeMember),
	}
}

// membersOf reads one user or a list.
func membersOf(v operation.Raw) (list []LiteLLMMember, err error) {
	const op, most = "litellmapi.membersOf", 100
	one := func(o []byte, at string) error {
		if rawjson.KindOf(o) != rawjson.Object {
			return operation.WrongType(at, rawjson.KindOf(o).String())
		}
		var m LiteLLMMember
		for f := rawjson.MembersOf(o); f.Next(); {
			name := string(f.Name)
			to := map[string]**string{"user_id": &m.UserID, "user_email": &m.UserEmail, "role": &m.Role}[name]
			switch {
			case to == nil:
				return operation.UnknownField(at + "." + clip(name))
			case rawjson.IsNull(f.Value):
			case rawjson.KindOf(f.Value) != rawjson.String:
				return operation.WrongType(at+"."+name, rawjson.KindOf(f.Value).String())
			default:
				text := rawjson.Text(f.Value)
				*to = &text
			}
		}
		list = append(list, m)
		return nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return list, one(v, "member")
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		if err := one(e.Value, "member[]"); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 || len(list) > most {
		return nil, fault.Field(op, "member", "member must be one user, or a list of 1 to %d.", most)
	}
	return list, nil
}

// userOf finds a user by id or address; "" where no user has the address.
func (r *roster) userOf(op, id, email string) (string, error) {
	if id != "" {
		ours := r.idOf(foreign.User, id)
		if r.member(ours) == nil && r.service(ours) == nil && r.invitation(ours) == nil {
			return "", fault.New(fault.NotFound, op, "There is no such user: user_id is not found.")
		}
		return ours, nil
	}
	if email == "" {
		return "", fault.Field(op, "user_id", "user_id is missing: give it, or user_email.")
	}
	email, err := auth.CheckEmail("user_email", email)
	if err != nil {
		return "", err
	}
	for i := range r.members {
		if r.members[i].Email == email {
			return r.members[i].User, nil
		}
	}
	for i := range r.invitations {
		if r.invitations[i].Email == email {
			return r.invitations[i].ID, nil
		}
	}
	return "", nil
}

// adding is a user who is put into a team.
type adding struct {
	id, email string
	role      *apikey.OrgRole // nil: as it is
}

// memberRole is the role in the organization for that in a team. An admin of a team is a manager, where those have to do with their own team alone.
func memberRole(ms *organization.Membership, role string, now apikey.OrgRole) (*apikey.OrgRole, error) {
	const op = "litellmapi.memberRole"
	to := apikey.OrgMember
	switch role {
	case "":
		return nil, nil
	case "user":
		if now == apikey.OrgOwner || now == apikey.OrgBilling || now == "" {
			return nil, nil
		}
	case "admin":
		if now == apikey.OrgOwner || now == apikey.OrgManager {
			return nil, nil
		}
		if ms.Sees == organization.SeesAll {
			return nil, fault.Field(op, "role", "role admin: managers of this organization see all of it, and not their team alone. Change that with PATCH /api/organizations/{id}, managers_see, or make them a manager there.")
		}
		to = apikey.OrgManager
	default:
		return nil, fault.Field(op, "role", "role must be user or admin.")
	}
	return &to, nil
}

// plan checks who is put into a team, before anything is changed.
func (r *roster) plan(ms *organization.Membership, team string, list []LiteLLMMember) (all []adding, err error) {
	const op = "litellmapi.addMembers"
	for _, m := range list {
		a := adding{email: deref(m.UserEmail)}
		if a.id, err = r.userOf(op, deref(m.UserID), a.email); err != nil {
			return nil, err
		}
		var now apikey.OrgRole
		if x := r.member(a.id); x != nil {
			now = x.Role
			if x.Team != "" && x.Team != team {
				return nil, fault.New(fault.Conflict, op, "This user is in another team, and a user is in one at most. Take them out of it with POST /team/member_delete first.")
			}
		} else if a.id == "" {
			now = apikey.OrgMember
		}
		if s := r.service(a.id); s != nil && s.Team != "" && s.Team != team {
			return nil, fault.New(fault.Conflict, op, "This user is in another team, and a user is in one at most. Take them out of it with POST /team/member_delete first.")
		}
		if i := r.invitation(a.id); i != nil && i.Team != team {
			return nil, fault.New(fault.Conflict, op, "This user is invited, and not yet a member. Delete them with POST /user/delete, and add them by their user_email.")
		}
		if a.role, err = memberRole(ms, deref(m.Role), now); err != nil {
			return nil, err
		}
		if r.service(a.id) != nil && deref(m.Role) == "admin" {
			return nil, fault.Field(op, "role", "role admin is for people: this user is a service.")
		}
		all = append(all, a)
	}
	return all, nil
}

func (d *Deps) addMembers(ctx context.Context, c *operation.Call, x *LiteLLMMembersAdded) (out LiteLLMTeamMembers, err error) {
	const op = "litellmapi.addMembers"
	ms, err := in(op, "team_id", c)
	if err != nil {
		return out, err
	}
	if err := refuse(x.MemberOnly); err != nil {
		return out, err
	}
	list, err := membersOf(x.Member)
	if err != nil {
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
	all, err := r.plan(ms, t.ID, list)
	if err != nil {
		return out, err
	}
	limit := LiteLLMCeiling{MaxBudget: x.MaxBudgetInTeam, BudgetDuration: x.BudgetDuration}
	for _, a := range all {
		if err := d.checkUserCeiling(ctx, c, &r, a.id, &limit); err != nil {
			return out, err
		}
	}
	changed := []string{}
	for _, a := range all {
		id, err := d.put(ctx, c, ms, &r, t.ID, a)
		if err != nil {
			return out, err
		}
		if err := d.setCeilingOf(ctx, c, &r, id, &limit); err != nil {
			return out, err
		}
		changed = append(changed, id)
	}
	return d.teamWith(ctx, c, t.ID, changed)
}

// put puts one user into a team.
func (d *Deps) put(ctx context.Context, c *operation.Call, ms *organization.Membership, r *roster, team string, a adding) (string, error) {
	o := d.Of.Organizations
	switch {
	case a.id == "":
		role := apikey.OrgMember
		if a.role != nil {
			role = *a.role
		}
		_, i, err := d.invite(ctx, c, ms, organization.NewInvitation{Email: a.email, Role: role, Team: team})
		if err != nil {
			return "", err
		}
		return i.ID, d.note(ctx, c, foreign.User, i.ID, "", kept{Email: i.Email})
	case r.service(a.id) != nil:
		_, err := o.ChangeService(ctx, ms, a.id, nil, &team, c.Actor)
		return a.id, err
	case r.member(a.id) != nil:
		_, err := o.SetMember(ctx, ms, a.id, a.role, &team, c.Actor)
		return a.id, err
	}
	return a.id, nil // who is invited to the team already
}

// invite invites a person, as who acts.
func (d *Deps) invite(ctx context.Context, c *operation.Call, ms *organization.Membership, n organization.NewInvitation) (string, organization.Invitation, error) {
	maker, err := d.Of.People.Of(ctx, c.Member)
	if err != nil {
		return "", organization.Invitation{}, err
	}
	n.Locale = c.Browser.Language()
	return d.Of.Organizations.Invite(ctx, ms, n, maker, c.Actor)
}

func (d *Deps) updateMember(ctx context.Context, c *operation.Call, x *LiteLLMMemberChange) (out LiteLLMTeamMembers, err error) {
	const op = "litellmapi.updateMember"
	ms, err := in(op, "team_id", c)
	if err != nil {
		return out, err
	}
	if err := refuse(x.MemberOnly); err != nil {
		return out, err
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	t, id, err := r.inTeam(op, x.TeamID, deref(x.UserID), deref(x.UserEmail))
	if err != nil {
		return out, err
	}
	all, err := r.plan(ms, t.ID, []LiteLLMMember{{UserID: &id, Role: x.Role}})
	if err != nil {
		return out, err
	}
	limit := LiteLLMCeiling{MaxBudget: x.MaxBudgetInTeam, BudgetDuration: x.BudgetDuration}
	if err := d.checkUserCeiling(ctx, c, &r, id, &limit); err != nil {
		return out, err
	}
	if all[0].role != nil {
		if _, err := d.put(ctx, c, ms, &r, t.ID, all[0]); err != nil {
			return out, err
		}
	}
	if err := d.setCeilingOf(ctx, c, &r, id, &limit); err != nil {
		return out, err
	}
	return d.teamWith(ctx, c, t.ID, []string{id})
}

// inTeam finds a team and a user who is in it.
func (r *roster) inTeam(op, team, user, email string) (*organization.Team, string, error) {
	t, err := r.team(op, team)
	if err != nil {
		return nil, "", err
	}
	id, err := r.userOf(op, user, email)
	if err != nil {
		return nil, "", err
	}
	i := r.invitation(id)
	if id == "" || r.teamOf(id) != t.ID && (i == nil || i.Team != t.ID) {
		return nil, "", fault.New(fault.NotFound, op, "There is no such user in this team: user_id is not found.")
	}
	return t, id, nil
}

func (d *Deps) removeMember(ctx context.Context, c *operation.Call, x *LiteLLMMemberRemoved) (out LiteLLMTeam, err error) {
	const op = "litellmapi.removeMember"
	ms, err := in(op, "team_id", c)
	if err != nil {
		return out, err
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	t, id, err := r.inTeam(op, x.TeamID, deref(x.UserID), deref(x.UserEmail))
	if err != nil {
		return out, err
	}
	none := ""
	switch m := r.member(id); {
	case m != nil:
		var role *apikey.OrgRole
		if m.Role == apikey.OrgManager && ms.Sees == organization.SeesTeam { // of this team
			role = new(apikey.OrgRole)
			*role = apikey.OrgMember
		}
		_, err = d.Of.Organizations.SetMember(ctx, ms, id, role, &none, c.Actor)
	case r.service(id) != nil:
		_, err = d.Of.Organizations.ChangeService(ctx, ms, id, nil, &none, c.Actor)
	default:
		if err = d.Of.Organizations.Uninvite(ctx, ms, id, c.Actor); err == nil {
			err = d.Names.DeleteForeign(ctx, c.User, id)
		}
	}
	if err != nil {
		return out, err
	}
	return d.teamNow(ctx, c, t.ID)
}

// teamWith is a team with some of its users.
func (d *Deps) teamWith(ctx context.Context, c *operation.Call, team string, ids []string) (out LiteLLMTeamMembers, err error) {
	g, err := d.groups(ctx, c, report.Team, report.Member)
	if err != nil {
		return out, err
	}
	t, err := g.team("litellmapi.teamWith", team)
	if err != nil {
		return out, err
	}
	out.LiteLLMTeam, out.UpdatedUsers, out.UpdatedMemberships = g.show(t, c.Sees), []LiteLLMUser{}, []LiteLLMMembership{}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if u, ok := g.user(id, c.Sees); ok {
			out.UpdatedUsers = append(out.UpdatedUsers, u)
			out.UpdatedMemberships = append(out.UpdatedMemberships, g.membership(u.UserID, out.TeamID))
		}
	}
	return out, nil
}
