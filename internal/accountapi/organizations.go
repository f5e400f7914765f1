package accountapi

import (
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// Organization is an account in which several people act.
type Organization struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Role        string    `json:"role" enum:"owner,manager,member,billing"` // of who asks
	Team        *string   `json:"team"`                                     // likewise, its id
	ManagersSee string    `json:"managers_see" enum:"team,all"`             // whose calls and keys managers see
	CreatedAt   time.Time `json:"created_at"`
}

// WholeOrganization is an organization with what belongs to it beside its members.
type WholeOrganization struct {
	Organization
	Teams       []Team                    `json:"teams"`       // by name
	Services    *[]Service                `json:"services"`    // by name; null: only owners and managers see them
	Invitations *[]OrganizationInvitation `json:"invitations"` // those that work, the newest first; likewise
	Budgets     bool                      `json:"budgets"`     // who asks sees the budgets
}

// OrganizationInput is a new organization.
type OrganizationInput struct {
	Name string `json:"name" minLength:"1" maxLength:"256"`
}

type organizationID struct {
	ID string `json:"-" path:"id"` // of the organization
}

// OrganizationChange is what is to be different. What is left out stays.
type OrganizationChange struct {
	ID          string  `json:"-" path:"id"` // of the organization
	Name        *string `json:"name,omitempty" null:"none" minLength:"1" maxLength:"256"`
	ManagersSee *string `json:"managers_see,omitempty" null:"none" enum:"team,all"`
}

// OrganizationMember is a person in an organization.
type OrganizationMember struct {
	ID       string    `json:"id"` // of the person
	Name     string    `json:"name"`
	Email    *string   `json:"email"`
	Role     string    `json:"role" enum:"owner,manager,member,billing"`
	Team     *string   `json:"team"` // its id
	Keys     int       `json:"keys"` // how many work
	You      bool      `json:"you"`
	JoinedAt time.Time `json:"joined_at"`
	Activity
}

// Activity is what the calls of a member or service have cost, and when the last one began. Null: who asks does not see these calls.
type Activity struct {
	SpentMonth   *money.Nano `json:"spent_month"`    // in this month of the organization's time zone
	LastActiveAt *time.Time  `json:"last_active_at"` // in this month or the two before it; null also without a call
}

// MemberChange is what is to be different of a member. What is left out stays.
type MemberChange struct {
	ID     string                  `json:"-" path:"id"`     // of the organization
	Member string                  `json:"-" path:"member"` // id of the person
	Role   *string                 `json:"role,omitempty" null:"none" enum:"owner,manager,member,billing"`
	Team   operation.Maybe[string] `json:"team"` // id; null: none
}

type memberID struct {
	ID     string `json:"-" path:"id"`     // of the organization
	Member string `json:"-" path:"member"` // id of the person
}

// EndedKeys is how many keys have stopped.
type EndedKeys struct {
	Keys int `json:"keys"`
}

// Team is some members and services of an organization.
type Team struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Members   int       `json:"members"`
	CreatedAt time.Time `json:"created_at"`
}

// TeamInput is a new team.
type TeamInput struct {
	ID   string `json:"-" path:"id"` // of the organization
	Name string `json:"name" minLength:"1" maxLength:"256"`
}

// TeamChange renames a team.
type TeamChange struct {
	ID   string `json:"-" path:"id"`   // of the organization
	Team string `json:"-" path:"team"` // id
	Name string `json:"name" minLength:"1" maxLength:"256"`
}

type teamID struct {
	ID   string `json:"-" path:"id"`   // of the organization
	Team string `json:"-" path:"team"` // id
}

// Service is a program that works for an organization, and not for one of its people.
type Service struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Team      *string   `json:"team"` // its id
	Keys      int       `json:"keys"` // how many work
	CreatedAt time.Time `json:"created_at"`
	Activity
}

// ServiceInput is a new service. Its keys are made with POST /api/keys.
type ServiceInput struct {
	ID   string `json:"-" path:"id"` // of the organization
	Name string `json:"name" minLength:"1" maxLength:"256"`
	Team string `json:"team,omitempty" null:"none"` // its id
}

// ServiceChange is what is to be different of a service. What is left out stays.
type ServiceChange struct {
	ID      string                  `json:"-" path:"id"`      // of the organization
	Service string                  `json:"-" path:"service"` // id
	Name    *string                 `json:"name,omitempty" null:"none" minLength:"1" maxLength:"256"`
	Team    operation.Maybe[string] `json:"team"` // id; null: none
}

type serviceID struct {
	ID      string `json:"-" path:"id"`      // of the organization
	Service string `json:"-" path:"service"` // id
}

// OrganizationInvitation lets people become members.
type OrganizationInvitation struct {
	ID        string     `json:"id"`
	Email     *string    `json:"email"` // whom it is for; null: anybody with the link
	Role      string     `json:"role" enum:"owner,manager,member,billing"`
	Team      *string    `json:"team"` // its id
	Note      string     `json:"note"`
	Places    int        `json:"places"` // how many people may use it
	Taken     int        `json:"taken"`  // of them
	Maker     string     `json:"maker"`  // id of the person who made it
	CreatedAt time.Time  `json:"created_at"`
	SentAt    *time.Time `json:"sent_at"`   // when a mail went, the last time
	OpenedAt  *time.Time `json:"opened_at"` // when its link was first opened
	ExpiresAt time.Time  `json:"expires_at"`
	URL       string     `json:"url,omitempty"` // only in the answer that made it, or made it again
}

// OrganizationInvitationInput is whom an invitation is for.
type OrganizationInvitationInput struct {
	ID     string `json:"-" path:"id"`                 // of the organization
	Email  string `json:"email,omitempty" null:"none"` // whom it is for; without it, anybody with the link
	Role   string `json:"role" enum:"owner,manager,member,billing"`
	Team   string `json:"team,omitempty" null:"none"` // its id
	Note   string `json:"note,omitempty" null:"none" maxLength:"200"`
	Places int    `json:"places,omitempty" null:"none" minimum:"1" maximum:"100" default:"1"`
	Days   int    `json:"days,omitempty" null:"none" minimum:"1" maximum:"90" default:"7"` // for which it works
}

type orgInvitationID struct {
	ID         string `json:"-" path:"id"`         // of the organization
	Invitation string `json:"-" path:"invitation"` // id
}

// JoinInput is the text of an invitation's link.
type JoinInput struct {
	Token string `json:"token" minLength:"1" maxLength:"64"` // what follows # in the link
}

// JoinOffer is what an invitation is to.
type JoinOffer struct {
	Organization string    `json:"organization"` // its name
	Email        *string   `json:"email"`        // whom it is for; null: anybody with the link
	Role         string    `json:"role" enum:"owner,manager,member,billing"`
	Team         *string   `json:"team"` // its name
	By           string    `json:"by"`   // name of the person who invites
	ExpiresAt    time.Time `json:"expires_at"`
}

// Joined is an organization of which somebody has become a member.
type Joined struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func organizationOf(ms *organization.Membership) Organization {
	return Organization{ID: ms.ID, Name: ms.Name, Role: string(ms.Role), Team: OrNull(ms.Team), ManagersSee: string(ms.Sees), CreatedAt: ms.CreatedAt}
}

func memberOf(m *organization.Member, use *usageInOrg, person string) OrganizationMember {
	return OrganizationMember{ID: m.User, Name: m.Name, Email: OrNull(m.Email), Role: string(m.Role), Team: OrNull(m.Team), Keys: use.keys[m.User], You: m.User == person, JoinedAt: m.JoinedAt, Activity: use.of(m.User, m.Team)}
}

func serviceOf(s *organization.Service, use *usageInOrg) Service {
	return Service{ID: s.ID, Name: s.Name, Team: OrNull(s.Team), Keys: use.keys[s.ID], CreatedAt: s.CreatedAt, Activity: use.of(s.ID, s.Team)}
}

// usageInOrg is what members and services of an organization have and do, as far as a person sees it.
type usageInOrg struct {
	keys  map[string]int
	month map[string]money.Nano
	last  map[string]time.Time
	sees  apikey.Sight
}

func (u *usageInOrg) of(member, team string) (a Activity) {
	if u.sees.Of(member, team) {
		spent := u.month[member]
		a = Activity{SpentMonth: &spent, LastActiveAt: Moment(u.last[member])}
	}
	return a
}

// use reads how many keys members and services have, and what they did in this month and the two before it.
func (o orgs) use(ctx context.Context, c *operation.Call, ms *organization.Membership) (*usageInOrg, error) {
	u := &usageInOrg{month: map[string]money.Nano{}, last: map[string]time.Time{}, sees: ms.Sight(c.User)}
	var err error
	if u.keys, err = o.Organizations.KeyCounts(ctx, ms.ID); err != nil {
		return nil, err
	}
	zones, err := o.Reports.Zones(ctx, ms.Wallet)
	if err != nil {
		return nil, err
	}
	month := report.Month.Floor(zones.Day(c.At))
	q := report.Query{Wallet: ms.Wallet, Zones: zones, Part: report.Member, Bucket: report.Month, From: zones.Start(month.AddDate(0, -2, 0)), To: zones.Start(report.Month.Next(month)), Filter: report.Filter{Sees: u.sees}}
	if !u.sees.All() {
		q.Filter.Org = ms.ID
	}
	rows, err := o.Reports.Rows(ctx, q)
	for i := range rows {
		r := &rows[i]
		if r.At.Equal(month) {
			u.month[r.Value] = r.Cost
		}
		if r.LastAt.After(u.last[r.Value]) {
			u.last[r.Value] = r.LastAt
		}
	}
	return u, err
}

// whole is an organization with its teams, and for those who manage people its services and invitations.
func (o orgs) whole(ctx context.Context, c *operation.Call, ms *organization.Membership) (out WholeOrganization, err error) {
	out = WholeOrganization{Organization: organizationOf(ms), Budgets: operation.Watchers.Has(ms.Role)}
	if out.Teams, err = o.listTeams(ctx, ms.ID); err != nil || !operation.Leaders.Has(ms.Role) {
		return out, err
	}
	services, err := o.listServices(ctx, c, ms)
	if err != nil {
		return out, err
	}
	invitations, err := o.listInvitations(ctx, ms.ID)
	out.Services, out.Invitations = &services, &invitations
	return out, err
}

func (o orgs) listTeams(ctx context.Context, org string) ([]Team, error) {
	list, err := o.Organizations.Teams(ctx, org)
	if err != nil {
		return nil, err
	}
	people, err := o.Organizations.Members(ctx, org)
	of := map[string]int{}
	for i := range people {
		of[people[i].Team]++
	}
	all := make([]Team, len(list))
	for i, t := range list {
		all[i] = Team{ID: t.ID, Name: t.Name, Members: of[t.ID], CreatedAt: t.CreatedAt}
	}
	return all, err
}

func (o orgs) listServices(ctx context.Context, c *operation.Call, ms *organization.Membership) ([]Service, error) {
	list, err := o.Organizations.Services(ctx, ms.ID)
	if err != nil {
		return nil, err
	}
	use, err := o.use(ctx, c, ms)
	if err != nil {
		return nil, err
	}
	all := make([]Service, len(list))
	for i := range list {
		all[i] = serviceOf(&list[i], use)
	}
	return all, nil
}

func (o orgs) listInvitations(ctx context.Context, org string) ([]OrganizationInvitation, error) {
	list, err := o.Organizations.Invitations(ctx, org)
	all := make([]OrganizationInvitation, len(list))
	for i := range list {
		all[i] = orgInvitationOf(&list[i])
	}
	return all, err
}

func orgInvitationOf(i *organization.Invitation) OrganizationInvitation {
	return OrganizationInvitation{ID: i.ID, Email: OrNull(i.Email), Role: string(i.Role), Team: OrNull(i.Team), Note: i.Note, Places: i.Places, Taken: i.Taken, Maker: i.Maker,
		CreatedAt: i.CreatedAt, SentAt: Moment(i.SentAt), OpenedAt: Moment(i.OpenedAt), ExpiresAt: i.ExpiresAt}
}

// orgs are the operations on organizations. The organization is in the path, and a person acts as themselves.
type orgs struct{ Deps }

// in is the part of the caller in an organization.
func (o orgs) in(ctx context.Context, c *operation.Call, id string) (*organization.Membership, error) {
	if o.Organizations == nil {
		return nil, fault.New(fault.NotFound, "accountapi.organizations", "There are no organizations on this gateway.")
	}
	if len(id) > 64 || c.Person == nil && !c.Management {
		return nil, organization.NoAccount("accountapi.organizations")
	}
	ms, err := o.Organizations.Of(ctx, id, c.User)
	return &ms, err
}

// leads is in for who manages people.
func (o orgs) leads(ctx context.Context, c *operation.Call, id string) (*organization.Membership, error) {
	ms, err := o.in(ctx, c, id)
	if err == nil && !operation.Leaders.Has(ms.Role) {
		err = fault.New(fault.PermissionDenied, "accountapi.organizations", "Only owners and managers may do this.")
	}
	return ms, err
}

// person is who acts: a management key is its person's.
func (o orgs) person(ctx context.Context, c *operation.Call) (auth.Person, error) {
	if c.Person != nil {
		return *c.Person, nil
	}
	return o.People.Of(ctx, c.User)
}

const orgPath = "/api/organizations/{id}"

// org is an operation on organizations.
func org(o operation.Operation) operation.Operation {
	if o.Access == operation.Public {
		o.Access = operation.Management
	}
	o.Tag = "organizations"
	return o
}

func organizations(d Deps) []operation.Operation {
	o := orgs{d}
	all := []operation.Operation{
		operation.Of(org(operation.Operation{
			Method: "GET", Path: "/api/organizations", ID: "listOrganizations", Summary: "The organizations of which one is a member", Answer: "The organizations, by name",
		}), func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[[]Organization], err error) {
			out.Data = []Organization{}
			if o.Organizations == nil {
				return out, nil
			}
			list, err := o.Organizations.All(ctx, c.User)
			for i := range list {
				out.Data = append(out.Data, organizationOf(&list[i]))
			}
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: "/api/organizations", ID: "createOrganization", Status: 201, Summary: "Make an organization, with a wallet of its own; who makes it is its owner", Answer: "The organization",
			Description: "A person may have made ten that are open. Requests under /api name it in the query, account=org_..., to act in it.", Example: `{"name": "Strelka R&D"}`,
		}), func(ctx context.Context, c *operation.Call, in *OrganizationInput) (out operation.Data[Organization], err error) {
			if o.Organizations == nil {
				_, err = o.in(ctx, c, "")
				return out, err
			}
			made, err := o.Organizations.Create(ctx, in.Name, c.User, c.Actor)
			out.Data = organizationOf(&organization.Membership{Organization: made, Role: apikey.OrgOwner})
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "GET", Path: orgPath, ID: "getOrganization", Summary: "One organization, with its teams, and for owners and managers its services and invitations", Answer: "The organization",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (out operation.Data[WholeOrganization], err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err == nil {
				out.Data, err = o.whole(ctx, c, ms)
			}
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "PATCH", Path: orgPath, ID: "changeOrganization", Summary: "Change the name of an organization, or whose calls and keys its managers see; for owners", Answer: "The organization", Example: `{"managers_see": "all"}`,
		}), func(ctx context.Context, c *operation.Call, in *OrganizationChange) (out operation.Data[Organization], err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err == nil {
				err = o.Organizations.Change(ctx, ms, in.Name, (*organization.Sees)(in.ManagersSee), c.Actor)
			}
			if err == nil {
				ms, err = o.in(ctx, c, in.ID)
			}
			if err == nil {
				out.Data = organizationOf(ms)
			}
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "DELETE", Path: orgPath, ID: "closeOrganization", Fresh: true, Status: 204, Answer: "It is closed",
			Summary: "Close an organization: its keys stop, its members leave. Charges, invoices and the money in its wallet stay. 409 while a job or a payment is under way; for owners. A session needs a recent sign-in",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (none operation.None, err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err == nil && ms.Role != apikey.OrgOwner {
				err = fault.New(fault.PermissionDenied, "accountapi.closeOrganization", "Only an owner may close the organization.")
			}
			if err == nil {
				err = o.Accounts.Forget(ctx, ms.ID, c.Actor)
			}
			return none, err
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: "/api/organizations/join/look", ID: "lookAtOrganizationInvitation", Access: operation.Visiting, Body: 16 << 10, Form: rawjson.Limits{Depth: 4, Keys: 20, Values: 20}, Summary: "What a link invites to, without using it", Example: `{"token": "the text behind # of the link"}`, Answer: "What it is to",
		}), func(ctx context.Context, c *operation.Call, in *JoinInput) (out operation.Data[JoinOffer], err error) {
			if o.Organizations == nil {
				_, err = o.in(ctx, c, "")
				return out, err
			}
			i, of, err := o.Organizations.LookAt(ctx, in.Token)
			if fault.Is(err, fault.Invalid) {
				if limited := c.Gates.Failure(); limited != nil {
					return out, limited
				}
			}
			if err != nil {
				return out, err
			}
			teams, err := o.Organizations.Teams(ctx, of.ID)
			if err != nil {
				return out, err
			}
			by, err := o.People.Of(ctx, i.Maker)
			if err != nil {
				return out, err
			}
			out.Data = JoinOffer{Organization: of.Name, Email: OrNull(i.Email), Role: string(i.Role), By: by.Name, ExpiresAt: i.ExpiresAt}
			for _, t := range teams {
				if t.ID == i.Team {
					out.Data.Team = &t.Name
				}
			}
			c.NoStore()
			return out, nil
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: "/api/organizations/join", ID: "joinOrganization", Example: `{"token": "the text behind # of the link"}`, Summary: "Become a member with the link of an invitation", Answer: "The organization",
		}), func(ctx context.Context, c *operation.Call, in *JoinInput) (out operation.Data[Joined], err error) {
			if o.Organizations == nil {
				_, err = o.in(ctx, c, "")
				return out, err
			}
			p, err := o.person(ctx, c)
			if err != nil {
				return out, err
			}
			of, err := o.Organizations.Accept(ctx, in.Token, &p, c.Actor)
			out.Data = Joined{ID: of.ID, Name: of.Name}
			return out, err
		}),
	}
	return slices.Concat(all, o.members(), o.teams(), o.services(), o.invitations(), o.directory())
}

func (o orgs) members() []operation.Operation {
	show := func(ctx context.Context, c *operation.Call, ms *organization.Membership, m *organization.Member) (out operation.Data[OrganizationMember], err error) {
		use, err := o.use(ctx, c, ms)
		if err == nil {
			out.Data = memberOf(m, use, c.User)
		}
		return out, err
	}
	return []operation.Operation{
		operation.Of(org(operation.Operation{
			Method: "GET", Path: orgPath + "/members", ID: "listOrganizationMembers", Summary: "The members of an organization", Answer: "All of them, by name",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (out operation.Data[[]OrganizationMember], err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			list, err := o.Organizations.Members(ctx, ms.ID)
			if err != nil {
				return out, err
			}
			use, err := o.use(ctx, c, ms)
			if err != nil {
				return out, err
			}
			out.Data = make([]OrganizationMember, len(list))
			for i := range list {
				out.Data[i] = memberOf(&list[i], use, c.User)
			}
			return out, nil
		}),
		operation.Of(org(operation.Operation{
			Method: "PATCH", Path: orgPath + "/members/{member}", ID: "changeOrganizationMember", Fresh: true, Summary: "Change role and team of a member", Answer: "The member", Example: `{"role": "manager"}`,
			Description: "Owners may change all, managers members alone. One owner stays. Who becomes billing has no keys any more.",
		}), func(ctx context.Context, c *operation.Call, in *MemberChange) (out operation.Data[OrganizationMember], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			m, err := o.Organizations.SetMember(ctx, ms, in.Member, (*apikey.OrgRole)(in.Role), nameOrNone(in.Team), c.Actor)
			if err != nil {
				return out, err
			}
			return show(ctx, c, ms, &m)
		}),
		operation.Of(org(operation.Operation{
			Method: "DELETE", Path: orgPath + "/members/{member}", ID: "removeOrganizationMember", Fresh: true, Summary: "End a membership, also the own one: the keys of the member stop on all nodes within 5 seconds", Answer: "How many keys have stopped",
			Description: "Their sessions act in the organization no more. What they have charged stays in its books, and their own account is not touched.",
		}), func(ctx context.Context, c *operation.Call, in *memberID) (out operation.Data[EndedKeys], err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			out.Data.Keys, err = o.Organizations.Remove(ctx, ms, c.User, in.Member, c.Actor)
			return out, err
		}),
	}
}

// nameOrNone is a member of a change that may be null, for "": nil where it was left out.
func nameOrNone(m operation.Maybe[string]) *string {
	if !m.Given {
		return nil
	}
	if m.Value == nil {
		return new(string)
	}
	return m.Value
}

func (o orgs) teams() []operation.Operation {
	return []operation.Operation{
		operation.Of(org(operation.Operation{
			Method: "GET", Path: orgPath + "/teams", ID: "listTeams", Summary: "The teams of an organization", Answer: "All of them, by name",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (out operation.Data[[]Team], err error) {
			ms, err := o.in(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			out.Data, err = o.listTeams(ctx, ms.ID)
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: orgPath + "/teams", ID: "createTeam", Status: 201, Summary: "Make a team", Answer: "The team", Example: `{"name": "Search"}`,
		}), func(ctx context.Context, c *operation.Call, in *TeamInput) (out operation.Data[Team], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			t, err := o.Organizations.AddTeam(ctx, ms, in.Name, c.Actor)
			out.Data = Team{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt}
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "PATCH", Path: orgPath + "/teams/{team}", ID: "renameTeam", Status: 204, Summary: "Rename a team", Answer: "It is renamed", Example: `{"name": "Search and ranking"}`,
		}), func(ctx context.Context, c *operation.Call, in *TeamChange) (none operation.None, err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err == nil {
				err = o.Organizations.RenameTeam(ctx, ms, in.Team, in.Name, c.Actor)
			}
			return none, err
		}),
		operation.Of(org(operation.Operation{
			Method: "DELETE", Path: orgPath + "/teams/{team}", ID: "deleteTeam", Fresh: true, Status: 204, Summary: "Delete a team, whose members and services stay without one", Answer: "It is deleted",
		}), func(ctx context.Context, c *operation.Call, in *teamID) (none operation.None, err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err == nil {
				err = o.Organizations.DeleteTeam(ctx, ms, in.Team, c.Actor)
			}
			return none, err
		}),
	}
}

func (o orgs) services() []operation.Operation {
	show := func(ctx context.Context, c *operation.Call, ms *organization.Membership, s *organization.Service) (out operation.Data[Service], err error) {
		use, err := o.use(ctx, c, ms)
		if err == nil {
			out.Data = serviceOf(s, use)
		}
		return out, err
	}
	return []operation.Operation{
		operation.Of(org(operation.Operation{
			Method: "GET", Path: orgPath + "/services", ID: "listServices", Summary: "The services of an organization: programs that work for it, and not for one of its people", Answer: "All of them, by name",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (out operation.Data[[]Service], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			out.Data, err = o.listServices(ctx, c, ms)
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: orgPath + "/services", ID: "createService", Status: 201, Summary: "Make a service; its keys are made with POST /api/keys, with service and account", Answer: "The service", Example: `{"name": "Nightly reports"}`,
		}), func(ctx context.Context, c *operation.Call, in *ServiceInput) (out operation.Data[Service], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			s, err := o.Organizations.AddService(ctx, ms, in.Name, in.Team, c.User, c.Actor)
			if err != nil {
				return out, err
			}
			return show(ctx, c, ms, &s)
		}),
		operation.Of(org(operation.Operation{
			Method: "PATCH", Path: orgPath + "/services/{service}", ID: "changeService", Summary: "Change name and team of a service", Answer: "The service", Example: `{"name": "Weekly reports"}`,
		}), func(ctx context.Context, c *operation.Call, in *ServiceChange) (out operation.Data[Service], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			s, err := o.Organizations.ChangeService(ctx, ms, in.Service, in.Name, nameOrNone(in.Team), c.Actor)
			if err != nil {
				return out, err
			}
			return show(ctx, c, ms, &s)
		}),
		operation.Of(org(operation.Operation{
			Method: "DELETE", Path: orgPath + "/services/{service}", ID: "endService", Fresh: true, Summary: "End a service: its keys stop on all nodes within 5 seconds", Answer: "How many keys have stopped",
		}), func(ctx context.Context, c *operation.Call, in *serviceID) (out operation.Data[EndedKeys], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			out.Data.Keys, err = o.Organizations.EndService(ctx, ms, in.Service, c.Actor)
			return out, err
		}),
	}
}

func (o orgs) invitations() []operation.Operation {
	made := func(c *operation.Call, link string, i *organization.Invitation) (out operation.Data[OrganizationInvitation]) {
		c.NoStore()
		out.Data = orgInvitationOf(i)
		out.Data.URL = c.Base() + link
		return out
	}
	return []operation.Operation{
		operation.Of(org(operation.Operation{
			Method: "GET", Path: orgPath + "/invitations", ID: "listOrganizationInvitations", Summary: "The invitations to an organization that work; for owners and managers", Answer: "The invitations, the newest first",
		}), func(ctx context.Context, c *operation.Call, in *organizationID) (out operation.Data[[]OrganizationInvitation], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			out.Data, err = o.listInvitations(ctx, ms.ID)
			return out, err
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: orgPath + "/invitations", ID: "createOrganizationInvitation", Fresh: true, Status: 201, Answer: "The invitation", Example: `{"role": "member", "places": 5, "note": "for interns"}`,
			Summary: "Make a link with which people become members; it is only in this response, and in a mail if there is an address", Description: "Managers invite members, owners all. It works only as long as who made it may still invite.",
		}), func(ctx context.Context, c *operation.Call, in *OrganizationInvitationInput) (out operation.Data[OrganizationInvitation], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			p, err := o.person(ctx, c)
			if err != nil {
				return out, err
			}
			link, i, err := o.Organizations.Invite(ctx, ms, organization.NewInvitation{Email: in.Email, Role: apikey.OrgRole(in.Role), Team: in.Team, Note: in.Note, Places: in.Places, Days: in.Days, Locale: p.Language}, p, c.Actor)
			if err != nil {
				return out, err
			}
			return made(c, link, &i), nil
		}),
		operation.Of(org(operation.Operation{
			Method: "POST", Path: orgPath + "/invitations/{invitation}/again", ID: "renewOrganizationInvitation", Fresh: true, Summary: "Give an invitation another link, and send it again if there is an address; the former link ends", Answer: "The invitation",
		}), func(ctx context.Context, c *operation.Call, in *orgInvitationID) (out operation.Data[OrganizationInvitation], err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err != nil {
				return out, err
			}
			p, err := o.person(ctx, c)
			if err != nil {
				return out, err
			}
			link, i, err := o.Organizations.Again(ctx, ms, in.Invitation, p.Language, p, c.Actor)
			if err != nil {
				return out, err
			}
			return made(c, link, &i), nil
		}),
		operation.Of(org(operation.Operation{
			Method: "DELETE", Path: orgPath + "/invitations/{invitation}", ID: "deleteOrganizationInvitation", Status: 204, Summary: "Withdraw an invitation", Answer: "It does not work any more",
		}), func(ctx context.Context, c *operation.Call, in *orgInvitationID) (none operation.None, err error) {
			ms, err := o.leads(ctx, c, in.ID)
			if err == nil {
				err = o.Organizations.Uninvite(ctx, ms, in.Invitation, c.Actor)
			}
			return none, err
		}),
	}
}
