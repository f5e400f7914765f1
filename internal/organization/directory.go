package organization

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/usertext"
)

// How much of each a directory may have.
const (
	MostListed       = 5000  // people of one organization, those included who are not members any more
	MostGroups       = 200   // of one organization
	MostGroupMembers = 20000 // in all groups of one organization
	GroupPrefix      = "grp_"
	TokenPrefix      = "sk-weir-scim-v1-" //nolint:gosec // how the text begins that lets a directory in
)

// Rule says what a group of a directory gives.
type Rule struct {
	Group string         `yaml:"group"` // its name
	Role  apikey.OrgRole `yaml:"role"`  // "": member
	Team  string         `yaml:"team"`  // its name; "": none
}

// Grant is what the operator lets the directory of an organization do.
type Grant struct {
	ID       string   `yaml:"id"`       // of the organization
	Domains  []string `yaml:"domains"`  // of e-mail addresses whose people SCIM may make members, with accounts where they have none
	Provider string   `yaml:"provider"` // id of the provider in sign_in whose groups count; "": none
	Groups   []Rule   `yaml:"groups"`   // the first one that fits says the role, and the first one with a team that
}

// has reports whether an address is of one of the domains.
func (g *Grant) has(email string) bool {
	_, domain, _ := strings.Cut(email, "@")
	return slices.ContainsFunc(g.Domains, func(d string) bool { return strings.EqualFold(d, domain) })
}

// rule is what a group of this name gives; nil: there is no rule.
func (g *Grant) rule(group string) *Rule {
	if i := slices.IndexFunc(g.Groups, func(r Rule) bool { return r.Group == group }); i >= 0 {
		return &g.Groups[i]
	}
	return nil
}

// Place is what a directory gives a member.
type Place struct {
	Role apikey.OrgRole
	Team string // id; "" none
}

// Listed is a person in the directory of an organization, as it describes them.
type Listed struct {
	Org, User                         string // User is the id of the account
	Login                             string // the name by which the directory knows them
	ExternalID                        string
	Display, Formatted, Given, Family string
	Email                             string
	Role                              apikey.OrgRole // that it gives the person itself; "": their groups say it
	CreatedAt, UpdatedAt              time.Time

	Active bool // they are a member
}

// Group is one of a directory.
type Group struct {
	ID, Org, Name, ExternalID string
	Team                      string // id of the team of its members; "" none
	Members                   []string
	CreatedAt, UpdatedAt      time.Time
}

// Directory is what SCIM has put into an organization.
type Directory struct {
	Version int64
	Users   []Listed // by id
	Groups  []Group  // by id; members by id
}

// User finds a person, nil none.
func (d *Directory) User(id string) *Listed {
	if i, found := d.at(id); found {
		return &d.Users[i]
	}
	return nil
}

// at is where a person is, or belongs.
func (d *Directory) at(id string) (int, bool) {
	return slices.BinarySearchFunc(d.Users, id, func(u Listed, id string) int { return cmp.Compare(u.User, id) })
}

// Group finds a group, nil none.
func (d *Directory) Group(id string) *Group {
	if i := slices.IndexFunc(d.Groups, func(g Group) bool { return g.ID == id }); i >= 0 {
		return &d.Groups[i]
	}
	return nil
}

// DirectoryChange is what has become different.
type DirectoryChange struct {
	Accounts   []account.User // that are new, with the confirmed address in Logins
	Logins     []auth.Login
	Users      []Listed // new or different
	GoneUsers  []string
	Groups     []Group // new or different, with all of their members
	GoneGroups []string
	Teams      []Team // that are new
	Renamed    []Team
	Places     map[string]*Place // by user; nil: they are no member
}

// Connection is how a directory is let in.
type Connection struct {
	Maker     string
	CreatedAt time.Time
	UsedAt    time.Time // zero: never
	Users     int
	Groups    int
}

// DirectoryStore keeps directories. Memberships that it ends or begins are recorded by it, as it alone knows which they are.
type DirectoryStore interface {
	// DirectoryBy finds the open organization of a token, and notes that it was used.
	DirectoryBy(ctx context.Context, hash string, now time.Time) (Organization, error)
	// Connection is how the directory of an organization is let in.
	Connection(ctx context.Context, org string) (Connection, error)
	// Connect gives an organization a token, in place of the one before.
	Connect(ctx context.Context, org, hash, maker string, now time.Time, e audit.Event) error
	// Disconnect takes the directory away. Its members stay as if they had been invited.
	Disconnect(ctx context.Context, org string, now time.Time, e audit.Event) error
	// Directory reads all of a directory.
	Directory(ctx context.Context, org string) (Directory, error)
	// ChangeDirectory reports false, and does nothing, when the version is another one by now. It fails with fault.Conflict for the last owner, for an
	// address or a name that is taken, and with fault.Invalid when there are most members.
	ChangeDirectory(ctx context.Context, org string, version int64, c *DirectoryChange, most int, now time.Time, by audit.Actor) (bool, error)
	// LoginByEmail finds how the owner of an address signs in.
	LoginByEmail(ctx context.Context, email string) (auth.Login, error)
	// Arrive gives a person who signs in the place that their groups say; nil ends what groups gave before. It fails with fault.Conflict for the last owner,
	// and when there are most members.
	Arrive(ctx context.Context, org, user string, p *ArrivalPlace, most int, now time.Time, by audit.Actor) error
}

// ArrivalPlace is what groups give a person.
type ArrivalPlace struct {
	Role apikey.OrgRole
	Team Team // its name, and an id for it where there is none of this name; no name: none
}

// Grants is what directories may do. It is called once, before the manager is used.
func (m *Manager) Grants(all []Grant, log *slog.Logger) { m.grants, m.log = all, log }

func (m *Manager) grant(org string) *Grant {
	if i := slices.IndexFunc(m.grants, func(g Grant) bool { return g.ID == org }); i >= 0 {
		return &m.grants[i]
	}
	return &Grant{ID: org}
}

// RoleOf is what a group of a directory gives its people, unless the directory says another role of one of them.
func (m *Manager) RoleOf(g *Group) apikey.OrgRole {
	if r := m.grant(g.Org).rule(g.Name); r != nil && r.Role != "" {
		return r.Role
	}
	return apikey.OrgMember
}

func (ms *Membership) connects(op string) error {
	if ms.Role != apikey.OrgOwner {
		return denied(op, "Only an owner may connect a directory.")
	}
	return nil
}

// Connect makes the token of a directory. A former one ends.
func (m *Manager) Connect(ctx context.Context, ms *Membership, person string, by audit.Actor) (token string, err error) {
	if err := ms.connects("organization.Connect"); err != nil {
		return "", err
	}
	token = apikey.NewID(TokenPrefix)
	return token, m.store.Connect(ctx, ms.ID, sumOf(token), person, m.moment(), audit.Event{Actor: by, Action: audit.OrgConnected, Target: ms.ID})
}

// Disconnect ends the token. Members whom the directory has put in stay, and are managed here from now on.
func (m *Manager) Disconnect(ctx context.Context, ms *Membership, by audit.Actor) error {
	if err := ms.connects("organization.Disconnect"); err != nil {
		return err
	}
	return m.store.Disconnect(ctx, ms.ID, m.moment(), audit.Event{Actor: by, Action: audit.OrgDisconnected, Target: ms.ID})
}

// Connection is how the directory is let in. It fails with fault.NotFound where none is.
func (m *Manager) Connection(ctx context.Context, ms *Membership) (Connection, error) {
	if err := ms.connects("organization.Connection"); err != nil {
		return Connection{}, err
	}
	return m.store.Connection(ctx, ms.ID)
}

// DirectoryOf finds the organization of a token. It fails with fault.NotFound.
func (m *Manager) DirectoryOf(ctx context.Context, token string) (Organization, error) {
	const op = "organization.DirectoryOf"
	if len(token) > 64 || !strings.HasPrefix(token, TokenPrefix) {
		return Organization{}, NoAccount(op)
	}
	o, err := m.store.DirectoryBy(ctx, sumOf(token), m.moment())
	if err == nil && o.Disabled {
		err = NoAccount(op)
	}
	return o, err
}

// Directory reads all of a directory.
func (m *Manager) Directory(ctx context.Context, org string) (Directory, error) {
	return m.store.Directory(ctx, org)
}

// Edit is a directory that is being changed. What is done to it is stored when the function that got it has returned.
type Edit struct {
	Directory
	change DirectoryChange
	now    time.Time
	org    string
}

// add puts a person in. An account is found by the address, or made.
func (m *Manager) add(ctx context.Context, e *Edit, u *Listed) error {
	const op = "organization.AddListed"
	if err := u.check(op); err != nil {
		return err
	}
	email, err := auth.CheckEmail("emails", u.Email)
	if err != nil {
		return fault.New(fault.Invalid, op, "emails or userName must have an e-mail address.")
	}
	u.Email = email
	l, err := m.store.LoginByEmail(ctx, email)
	switch {
	case err == nil && !l.Confirmed: // another person may have written it down
		return fault.New(fault.Conflict, op, "An account has this address without having confirmed it. Its owner confirms it, or the operator removes the account.")
	case err == nil:
		u.User = l.User
	case !fault.Is(err, fault.NotFound):
		return err
	}
	if !m.grant(e.org).has(email) {
		if u.User != "" {
			_, err = m.Of(ctx, e.org, u.User)
		}
		if u.User == "" || fault.Is(err, fault.NotFound) {
			return fault.Newf(fault.PermissionDenied, op, "The operator of this gateway has not given the domain of %s to this organization (organizations, domains). Invite the person instead.", email)
		}
		if err != nil {
			return err
		}
	}
	if u.User == "" {
		made, err := account.Make(listedName(u), apikey.User, e.now)
		if err != nil {
			return err
		}
		u.User = made.ID
		e.change.Accounts = append(e.change.Accounts, made)
		e.change.Logins = append(e.change.Logins, auth.Login{User: made.ID, Email: email, Confirmed: true, CreatedAt: e.now})
	}
	i, found := e.at(u.User)
	if found {
		return fault.New(fault.Conflict, op, "A person with this address is in the directory already.")
	}
	u.Org, u.CreatedAt, u.UpdatedAt = e.org, e.now, e.now
	e.Users = slices.Insert(e.Users, i, *u)
	return nil
}

// listedName is a name that accounts may have.
func listedName(u *Listed) string {
	before, _, _ := strings.Cut(u.Email, "@")
	for _, name := range []string{u.Display, u.Formatted, strings.TrimSpace(u.Given + " " + u.Family), before} {
		if name = strings.TrimSpace(usertext.Cut(name, 64)); CheckName(name) == nil {
			return name
		}
	}
	return "person"
}

// AddListed puts a person into a directory, and returns them.
func (m *Manager) AddListed(ctx context.Context, org string, u Listed, by audit.Actor) (Listed, error) {
	err := m.ChangeDirectory(ctx, org, by, func(e *Edit) error {
		one := u
		one.User = ""
		if err := m.add(ctx, e, &one); err != nil {
			return err
		}
		u = one
		return nil
	})
	return u, err
}

// AddGroup puts a group into a directory, and returns it.
func (m *Manager) AddGroup(ctx context.Context, org string, g Group, by audit.Actor) (Group, error) {
	err := m.ChangeDirectory(ctx, org, by, func(e *Edit) error {
		g.ID, g.Org, g.CreatedAt, g.UpdatedAt = apikey.NewID(GroupPrefix), org, e.now, e.now
		e.Groups = append(e.Groups, g)
		return nil
	})
	return g, err
}

// changeTries is how often a change is made again that another one was quicker than.
const changeTries = 8

// ChangeDirectory changes a directory: f is called with what there is, again if another change was quicker.
func (m *Manager) ChangeDirectory(ctx context.Context, org string, by audit.Actor, f func(*Edit) error) error {
	for tries := 1; ; tries++ {
		before, err := m.store.Directory(ctx, org)
		if err != nil {
			return err
		}
		e := &Edit{Directory: before.clone(), now: m.moment(), org: org}
		if err := f(e); err != nil {
			return err
		}
		teams, err := m.store.Teams(ctx, org)
		if err != nil {
			return err
		}
		if err := e.finish(&before, m.grant(org), teams); err != nil {
			return err
		}
		done, err := m.store.ChangeDirectory(ctx, org, before.Version, &e.change, MostMembers, e.now, by)
		switch {
		case done || err != nil:
			m.forget(org)
			return err
		case tries == changeTries:
			return fault.New(fault.Overloaded, "organization.ChangeDirectory", "Others are changing this directory. Try again.")
		}
	}
}

func (d *Directory) clone() Directory {
	out := Directory{Version: d.Version, Users: slices.Clone(d.Users), Groups: slices.Clone(d.Groups)}
	for i := range out.Groups {
		out.Groups[i].Members = slices.Clone(out.Groups[i].Members)
	}
	return out
}

// check refuses texts that cannot be shown.
func (u *Listed) check(op string) error {
	for _, text := range []string{u.Login, u.ExternalID, u.Display, u.Formatted, u.Given, u.Family, u.Email} {
		if len(text) > 256 || !usertext.Is(text) && text != "" {
			return fault.New(fault.Invalid, op, "userName, externalId, displayName, name and emails must be lines of at most 256 bytes.")
		}
	}
	return nil
}

// check refuses what a directory may not have.
func (e *Edit) check() error {
	const op = "organization.ChangeDirectory"
	logins, names, members := map[string]bool{}, map[string]bool{}, 0
	for i := range e.Users {
		u := &e.Users[i]
		name := strings.ToLower(u.Login)
		switch {
		case name == "":
			return fault.New(fault.Invalid, op, "userName is missing.")
		case logins[name]:
			return fault.New(fault.Conflict, op, "Another person in the directory has this userName.")
		case u.Role != "" && checkRole(op, u.Role) != nil:
			return fault.New(fault.Invalid, op, "roles must be owner, manager, member or billing.")
		}
		if err := u.check(op); err != nil {
			return err
		}
		logins[name] = true
	}
	for i := range e.Groups {
		g := &e.Groups[i]
		if err := CheckName(g.Name); err != nil {
			return fault.New(fault.Invalid, op, "displayName of a group must be a line of 1 to 256 bytes that does not begin as an id does.")
		}
		if names[g.Name] {
			return fault.New(fault.Conflict, op, "Another group in the directory has this displayName.")
		}
		if len(g.ExternalID) > 256 || !usertext.Is(g.ExternalID) && g.ExternalID != "" {
			return fault.New(fault.Invalid, op, "externalId must be a line of at most 256 bytes.")
		}
		names[g.Name] = true
		slices.Sort(g.Members)
		g.Members = slices.Compact(g.Members)
		members += len(g.Members)
		for _, id := range g.Members {
			if e.User(id) == nil {
				return fault.New(fault.Invalid, op, "members has an id of nobody in this directory.")
			}
		}
	}
	switch {
	case len(e.Users) > MostListed:
		return fault.Newf(fault.Invalid, op, "A directory may have %d people.", MostListed)
	case len(e.Groups) > MostGroups:
		return fault.Newf(fault.Invalid, op, "A directory may have %d groups.", MostGroups)
	case members > MostGroupMembers:
		return fault.Newf(fault.Invalid, op, "All groups of a directory together may have %d members.", MostGroupMembers)
	}
	return nil
}

// finish finds out what has become different, and which places follow.
func (e *Edit) finish(before *Directory, g *Grant, teams []Team) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := e.giveTeams(before, g, teams); err != nil {
		return err
	}
	touched := map[string]bool{}
	for i := range e.Users {
		u := &e.Users[i]
		if was := before.User(u.User); was == nil || *was != *u {
			u.UpdatedAt = e.now
			e.change.Users = append(e.change.Users, *u)
			touched[u.User] = true
		}
	}
	for i := range before.Users {
		if id := before.Users[i].User; e.User(id) == nil {
			e.change.GoneUsers = append(e.change.GoneUsers, id)
			touched[id] = true
		}
	}
	for i := range e.Groups {
		x := &e.Groups[i]
		was := before.Group(x.ID)
		if was != nil && was.Name == x.Name && was.ExternalID == x.ExternalID && was.Team == x.Team && slices.Equal(was.Members, x.Members) {
			continue
		}
		x.UpdatedAt = e.now
		e.change.Groups = append(e.change.Groups, *x)
		for _, id := range x.Members {
			touched[id] = true
		}
		if was != nil {
			for _, id := range was.Members {
				touched[id] = true
			}
		}
	}
	for i := range before.Groups {
		if was := &before.Groups[i]; e.Group(was.ID) == nil {
			e.change.GoneGroups = append(e.change.GoneGroups, was.ID)
			for _, id := range was.Members {
				touched[id] = true
			}
		}
	}
	e.change.Places = map[string]*Place{}
	for id := range touched {
		e.change.Places[id] = e.placeOf(id, g)
	}
	return nil
}

// placeOf is what the directory gives a person; nil: they are no member.
func (e *Edit) placeOf(id string, g *Grant) *Place {
	u := e.User(id)
	if u == nil || !u.Active {
		return nil
	}
	var of []*Group
	for i := range e.Groups {
		if _, in := slices.BinarySearch(e.Groups[i].Members, id); in {
			of = append(of, &e.Groups[i])
		}
	}
	rank := func(x *Group) int {
		if i := slices.IndexFunc(g.Groups, func(r Rule) bool { return r.Group == x.Name }); i >= 0 {
			return i
		}
		return len(g.Groups)
	}
	slices.SortFunc(of, func(a, b *Group) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Name, b.Name)) })
	p := &Place{Role: u.Role}
	for _, x := range of {
		if r := g.rule(x.Name); r != nil {
			p.Role = cmp.Or(p.Role, r.Role, apikey.OrgMember)
		}
		p.Team = cmp.Or(p.Team, x.Team)
	}
	p.Role = cmp.Or(p.Role, apikey.OrgMember)
	return p
}

// giveTeams gives each group its team: that of its rule, or else one of its own name, which goes along when the group gets another.
func (e *Edit) giveTeams(before *Directory, g *Grant, teams []Team) error {
	byName, byID := map[string]string{}, map[string]string{}
	for _, t := range teams {
		byName[t.Name], byID[t.ID] = t.ID, t.Name
	}
	for i := range e.Groups {
		x, was := &e.Groups[i], before.Group(e.Groups[i].ID)
		name := x.Name
		if r := g.rule(x.Name); r != nil {
			name = r.Team
		}
		switch {
		case name == "":
			x.Team = ""
		case byName[name] != "":
			x.Team = byName[name]
		case was != nil && byID[was.Team] != "" && byID[was.Team] == was.Name && g.rule(was.Name) == nil && g.rule(x.Name) == nil:
			e.change.Renamed = append(e.change.Renamed, Team{ID: was.Team, Org: e.org, Name: name})
			delete(byName, was.Name)
			byName[name], byID[was.Team] = was.Team, name
		default:
			t := Team{ID: apikey.NewID(TeamPrefix), Org: e.org, Name: name, CreatedAt: e.now}
			e.change.Teams = append(e.change.Teams, t)
			x.Team = t.ID
			byName[name], byID[t.ID] = t.ID, name
		}
	}
	if len(teams)+len(e.change.Teams) > MostTeams {
		return fault.Newf(fault.Invalid, "organization.giveTeams", "An organization may have %d teams, and each group needs one.", MostTeams)
	}
	return nil
}

// Remove takes a person out of the directory.
func (e *Edit) Remove(id string) {
	e.Users = slices.DeleteFunc(e.Users, func(u Listed) bool { return u.User == id })
	for i := range e.Groups {
		e.Groups[i].Members = slices.DeleteFunc(e.Groups[i].Members, func(m string) bool { return m == id })
	}
}

// RemoveGroup takes a group out of the directory. Its team stays.
func (e *Edit) RemoveGroup(id string) {
	e.Groups = slices.DeleteFunc(e.Groups, func(g Group) bool { return g.ID == id })
}

// Arrive gives a person who has signed in at a provider the places that their groups say, and takes back those that they say no more. What is
// not possible, such as to remove the last owner, is left as it is: it must not keep anybody from signing in.
func (m *Manager) Arrive(ctx context.Context, user, provider string, groups []string) error {
	for i := range m.grants {
		g := &m.grants[i]
		if g.Provider != provider {
			continue
		}
		err := m.store.Arrive(ctx, g.ID, user, g.arrival(groups), MostMembers, m.moment(), audit.Actor{Name: "oidc:" + provider})
		switch {
		case fault.Is(err, fault.Conflict), fault.Is(err, fault.Invalid), fault.Is(err, fault.NotFound):
			m.log.Warn("the groups of a person who signed in could not be followed; role and team stay as they are", "organization", g.ID, "user_id", user, "error", err)
		case err != nil:
			return err
		default:
			m.forget(g.ID)
		}
	}
	return nil
}

// arrival is what groups give; nil: nothing.
func (g *Grant) arrival(groups []string) *ArrivalPlace {
	var p *ArrivalPlace
	for _, r := range g.Groups {
		if !slices.Contains(groups, r.Group) {
			continue
		}
		if p == nil {
			p = &ArrivalPlace{Role: cmp.Or(r.Role, apikey.OrgMember)}
		}
		if p.Team.Name == "" && r.Team != "" {
			p.Team = Team{ID: apikey.NewID(TeamPrefix), Org: g.ID, Name: r.Team}
		}
	}
	return p
}
