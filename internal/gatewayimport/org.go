package gatewayimport

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/ledger"
	"weir/internal/organization"
)

// Members are those of an organization, its teams and services. *organization.Manager has them.
type Members interface {
	Members(ctx context.Context, org string) ([]organization.Member, error)
	Teams(ctx context.Context, org string) ([]organization.Team, error)
	AddTeam(ctx context.Context, ms *organization.Membership, name string, by audit.Actor) (organization.Team, error)
	DeleteTeam(ctx context.Context, ms *organization.Membership, id string, by audit.Actor) error
	EndService(ctx context.Context, ms *organization.Membership, id string, by audit.Actor) (int, error)
	Services(ctx context.Context, org string) ([]organization.Service, error)
	AddService(ctx context.Context, ms *organization.Membership, name, team, person string, by audit.Actor) (organization.Service, error)
	Invitations(ctx context.Context, org string) ([]organization.Invitation, error)
	Invite(ctx context.Context, ms *organization.Membership, n organization.NewInvitation, maker auth.Person, by audit.Actor) (string, organization.Invitation, error)
}

// Budgets are those of an account. *budget.Manager has them.
type Budgets interface {
	Add(ctx context.Context, b budget.Budget, by audit.Actor) (budget.Budget, error)
	List(ctx context.Context, account string) ([]budget.Budget, error)
}

// Org is the organization that things are made for.
type Org struct {
	ID      string // "org_..."
	Members Members
	Budgets Budgets
	Names   foreign.Store
	Now     time.Time

	ms       *organization.Membership
	owner    string
	teams    map[string]string // ours by theirs
	users    map[string]string // services, likewise
	services []organization.Service
}

// spare is the service for keys whose user and team are none here.
const spare = "LiteLLM"

// open reads what there is.
func (o *Org) open(ctx context.Context) error {
	o.ms = &organization.Membership{Organization: organization.Organization{ID: o.ID}, Role: apikey.OrgOwner}
	o.teams, o.users = map[string]string{}, map[string]string{}
	people, err := o.Members.Members(ctx, o.ID)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(people, func(m organization.Member) bool { return m.Role == apikey.OrgOwner }); i >= 0 {
		o.owner = people[i].User
	}
	for kind, to := range map[foreign.Kind]map[string]string{foreign.Team: o.teams, foreign.User: o.users} {
		list, err := o.Names.ForeignRecords(ctx, o.ID, kind)
		if err != nil {
			return err
		}
		for _, r := range list {
			to[r.Name] = r.ID
		}
	}
	o.services, err = o.Members.Services(ctx, o.ID)
	return err
}

// groups makes teams, tags' budgets and users, in this order: users are in teams.
func (a *Account) groups(ctx context.Context, all []Group, dry bool) ([]Item, error) {
	items := []Item{}
	if a.Org != nil {
		if err := a.Org.open(ctx); err != nil {
			return nil, err
		}
	}
	for _, kind := range []GroupKind{TeamGroup, TagGroup, UserGroup} {
		for i := range all {
			if g := &all[i]; g.Kind == kind {
				item := Item{Group: g, Outcome: New}
				switch {
				case g.Refused != "":
					item.refuse(g.Refused, nil)
				case a.Org == nil:
					item.refuse(NoOrganization, nil)
				default:
					if err := a.Org.group(ctx, &item, dry, a.Actor); err != nil {
						item.refuse(Invalid, err)
					}
				}
				items = append(items, item)
			}
		}
	}
	return items, nil
}

// group makes one. What is there already stays as it is.
func (o *Org) group(ctx context.Context, i *Item, dry bool, by audit.Actor) error {
	g := i.Group
	there, err := o.has(ctx, g)
	switch {
	case err != nil:
		return err
	case there:
		i.Outcome = Exists
		return nil
	case dry:
		return nil
	}
	scope := budget.Scope{Kind: budget.Tag, ID: g.Name}
	kind, id := foreign.Kind(""), ""
	switch {
	case g.Kind == TeamGroup:
		t, err := o.Members.AddTeam(ctx, o.ms, g.Name, by)
		if err != nil {
			return err
		}
		kind, id, scope = foreign.Team, t.ID, budget.Scope{Kind: budget.Team, ID: t.ID}
		o.teams[g.Theirs] = t.ID
	case g.Kind == UserGroup && g.Email == "":
		s, err := o.Members.AddService(ctx, o.ms, g.Name, o.teams[g.Team], o.owner, by)
		if err != nil {
			return err
		}
		kind, id, scope = foreign.User, s.ID, budget.Scope{Kind: budget.Member, ID: s.ID}
		o.users[g.Theirs], o.services = s.ID, append(o.services, s)
	case g.Kind == UserGroup:
		path, _, err := o.Members.Invite(ctx, o.ms, organization.NewInvitation{Email: g.Email, Role: g.Role, Team: o.teams[g.Team]}, auth.Person{User: account.User{ID: o.owner}}, by)
		i.Outcome, i.Secret = Made, path
		return err
	}
	if id != "" && g.Theirs != "" {
		if err := o.Names.SaveForeign(ctx, foreign.Record{Account: o.ID, Kind: kind, Name: g.Theirs, ID: id, Fields: "{}", UpdatedAt: o.Now.UTC().Truncate(time.Microsecond)}); err != nil {
			return err
		}
	}
	if err := o.ceiling(ctx, g, scope, by); err != nil {
		return o.undo(ctx, err, scope, by)
	}
	i.Outcome = Made
	return nil
}

// undo takes back what was made without its budget: it would let more be spent than there.
func (o *Org) undo(ctx context.Context, why error, s budget.Scope, by audit.Actor) (err error) {
	switch s.Kind {
	case budget.Team:
		err = o.Members.DeleteTeam(ctx, o.ms, s.ID, by)
		maps.DeleteFunc(o.teams, func(_, ours string) bool { return ours == s.ID })
	case budget.Member:
		_, err = o.Members.EndService(ctx, o.ms, s.ID, by)
		maps.DeleteFunc(o.users, func(_, ours string) bool { return ours == s.ID })
		o.services = slices.DeleteFunc(o.services, func(x organization.Service) bool { return x.ID == s.ID })
	case budget.Organization, budget.Key, budget.Tag, budget.Session:
	}
	if err == nil {
		err = o.Names.DeleteForeign(ctx, o.ID, s.ID)
	}
	if err != nil {
		return fault.From(why).Because(err)
	}
	return why
}

// ceiling makes the budget of a group, or the rules of its models.
func (o *Org) ceiling(ctx context.Context, g *Group, scope budget.Scope, by audit.Actor) error {
	if g.Limit == nil && len(g.Models) == 0 {
		return nil
	}
	b := budget.Budget{Account: o.ID, Scope: scope, Rules: budget.Rules{Models: g.Models}}
	if g.Limit != nil {
		b.Hard, b.Amount, b.Reset = true, g.Limit.Amount, ledger.Reset(g.Limit.Reset)
	}
	_, err := o.Budgets.Add(ctx, b, by)
	return err
}

// has reports whether a group is there already.
func (o *Org) has(ctx context.Context, g *Group) (bool, error) {
	switch g.Kind {
	case TeamGroup:
		teams, err := o.Members.Teams(ctx, o.ID)
		return o.teams[g.Theirs] != "" || slices.ContainsFunc(teams, func(t organization.Team) bool { return t.Name == g.Name }), err
	case TagGroup:
		if g.Limit == nil && len(g.Models) == 0 {
			return true, nil // tags need not be made
		}
		all, err := o.Budgets.List(ctx, o.ID)
		return slices.ContainsFunc(all, func(b budget.Budget) bool { return b.Scope == budget.Scope{Kind: budget.Tag, ID: g.Name} }), err
	case UserGroup:
	}
	if g.Email == "" {
		return o.users[g.Theirs] != "" || slices.ContainsFunc(o.services, func(s organization.Service) bool { return s.Name == g.Name }), nil
	}
	people, err := o.Members.Members(ctx, o.ID)
	if err != nil || slices.ContainsFunc(people, func(m organization.Member) bool { return m.Email == g.Email }) {
		return true, err
	}
	invited, err := o.Members.Invitations(ctx, o.ID)
	return slices.ContainsFunc(invited, func(i organization.Invitation) bool { return i.Email == g.Email }), err
}

// worksFor is the service for which a key works: its user's, its team's, or the one for keys that have neither here. People make their own keys: no
// program may have the text of one.
func (o *Org) worksFor(ctx context.Context, k *Key, by audit.Actor) (string, error) {
	if o == nil {
		return "", nil
	}
	if id := o.users[k.User]; id != "" && k.User != "" {
		if i := slices.IndexFunc(o.services, func(s organization.Service) bool { return s.ID == id }); i >= 0 && (k.Team == "" || o.services[i].Team == o.teams[k.Team]) {
			return id, nil
		}
	}
	name, team := spare, ""
	if k.Team != "" {
		if team = o.teams[k.Team]; team == "" {
			return "", fault.New(fault.Invalid, "gatewayimport.worksFor", "Its team is not here. Give the file of GET /team/list as well.")
		}
		teams, err := o.Members.Teams(ctx, o.ID)
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(teams, func(t organization.Team) bool { return t.ID == team }); i >= 0 {
			name = teams[i].Name
		}
	}
	if i := slices.IndexFunc(o.services, func(s organization.Service) bool { return s.Name == name && s.Team == team }); i >= 0 {
		return o.services[i].ID, nil
	}
	s, err := o.Members.AddService(ctx, o.ms, name, team, o.owner, by)
	if err == nil {
		o.services = append(o.services, s)
	}
	return s.ID, err
}
