package organization

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/usertext"
)

// How much of each there may be.
const (
	MostPerPerson   = 10   // organizations that a person has made, and that are open
	MostMembers     = 1000 // of one organization
	MostTeams       = 200
	MostServices    = 200
	MostInvitations = 200 // that are open
	MostPlaces      = 100 // of one invitation
	MostDays        = 90  // for which an invitation works
	UsualDays       = 7
)

// Store keeps organizations. Each change and its audit row are one transaction. What is not found is fault.NotFound.
type Store interface {
	// AddOrganization adds an organization with its wallet and its maker as owner, unless they have made most that are open: then it fails with
	// fault.Invalid.
	AddOrganization(ctx context.Context, o Organization, most int, e audit.Event) error
	// MembershipOf finds an open organization in which a person is a member.
	MembershipOf(ctx context.Context, org, user string) (Membership, error)
	// Organizations lists the open organizations by name, or the one with an id; "": all.
	Organizations(ctx context.Context, id string) ([]Organization, error)
	// Memberships lists the open organizations of a person by name.
	Memberships(ctx context.Context, user string) ([]Membership, error)
	// ChangeOrganization replaces name and sight by what change makes of them, while nothing else changes them. As in all that follow, an event without
	// an action changes nothing.
	ChangeOrganization(ctx context.Context, org string, now time.Time, change func(*Organization) (audit.Event, error)) error
	// SetOrgWebKey stores the hash of the key of a member's calls from the browser, if it is still the one before.
	SetOrgWebKey(ctx context.Context, org, user, before, hash string) (bool, error)

	// Members lists the members by name.
	Members(ctx context.Context, org string) ([]Member, error)
	// SetMember changes role, team and source. It fails with fault.Conflict for the last owner. The keys of who may have none end.
	SetMember(ctx context.Context, org, user string, now time.Time, change func(*Member) (audit.Event, error)) (Member, error)
	// AddMember fails with fault.Conflict for who is a member already, and with fault.Invalid when there are most.
	AddMember(ctx context.Context, m Member, most int, e audit.Event) error
	// RemoveMember ends a membership with its keys, and returns how many those were. It fails with fault.Conflict for the last owner.
	RemoveMember(ctx context.Context, org, user string, now time.Time, e audit.Event) (keys int, err error)
	// KeyCounts is how many keys the members and services of an organization have, without those that keys have made.
	KeyCounts(ctx context.Context, org string) (map[string]int, error)

	// Names are the names of all whose calls an organization has: of members, also those who have left, of services, also those that have ended, and of teams.
	Names(ctx context.Context, org string) (map[string]Named, error)

	// Teams lists the teams by name.
	Teams(ctx context.Context, org string) ([]Team, error)
	// AddTeam fails with fault.Conflict when the name is taken, and with fault.Invalid when there are most.
	AddTeam(ctx context.Context, t Team, most int, e audit.Event) error
	// RenameTeam fails with fault.Conflict when the name is taken.
	RenameTeam(ctx context.Context, org, id, name string, now time.Time, e audit.Event) error
	// DeleteTeam leaves its members and services without a team.
	DeleteTeam(ctx context.Context, org, id string, now time.Time, e audit.Event) error

	// Services lists the services that work, by name.
	Services(ctx context.Context, org string) ([]Service, error)
	// AddService fails with fault.Invalid when there are most.
	AddService(ctx context.Context, s Service, most int, e audit.Event) error
	// ChangeService replaces name and team.
	ChangeService(ctx context.Context, org, id string, now time.Time, change func(*Service) (audit.Event, error)) (Service, error)
	// EndService ends a service with its keys, and returns how many those were.
	EndService(ctx context.Context, org, id string, now time.Time, e audit.Event) (keys int, err error)

	// Invitations lists those that work, the newest first.
	Invitations(ctx context.Context, org string, now time.Time) ([]Invitation, error)
	// AddInvitation fails with fault.Invalid when there are most that work.
	AddInvitation(ctx context.Context, i Invitation, most int, e audit.Event) error
	// InvitationBy finds one by its hash that works, with its organization and the role that its maker has there now, "" none.
	InvitationBy(ctx context.Context, hash string, now time.Time) (Invitation, Organization, apikey.OrgRole, error)
	// OpenInvitation notes that a link was opened.
	OpenInvitation(ctx context.Context, hash string, now time.Time) error
	// RenewInvitation gives an invitation another link and time.
	RenewInvitation(ctx context.Context, i Invitation, e audit.Event) error
	// DeleteInvitation withdraws one.
	DeleteInvitation(ctx context.Context, org, id string, now time.Time, e audit.Event) error
	// Accept takes a place of an invitation and adds its member. It fails with fault.NotFound when there is none left, and with fault.Conflict for who is a
	// member already, or when there are most.
	Accept(ctx context.Context, hash string, m Member, most int, e audit.Event) error

	DirectoryStore
}

// Keys makes keys. *apikey.Manager is one.
type Keys interface {
	Create(ctx context.Context, n apikey.NewKey, by audit.Actor) (apikey.Key, string, error)
	ByHash(ctx context.Context, user, hash string) (apikey.Key, error)
}

// Mail sends the link of an invitation to an address.
type Mail func(to, locale, link string)

// Mails that may go to one address, and that one organization may cause: neither may be used to flood somebody.
var (
	mailRate = limit.Rates{{Amount: 3, Per: time.Hour}}
	orgRate  = limit.Rates{{Amount: 200, Per: 24 * time.Hour}}
)

const gateNames = 20000 // that a gate remembers

// Manager has the operations of people on organizations. It is safe for concurrent use.
type Manager struct {
	store    Store
	keys     Keys
	verifier *apikey.Verifier // nil in a command that serves nothing
	mail     Mail             // nil: there is no mail, and links are handed over
	mails    *limit.Gate      // by address, and by organization
	now      func() time.Time
	grants   []Grant
	log      *slog.Logger // of directories
}

// NewManager makes a Manager.
func NewManager(s Store, k Keys, v *apikey.Verifier, mail Mail, now func() time.Time) *Manager {
	return &Manager{store: s, keys: k, verifier: v, mail: mail, mails: limit.NewGate(now(), gateNames), now: now, log: slog.New(slog.DiscardHandler)}
}

func (m *Manager) moment() time.Time { return m.now().UTC().Truncate(time.Microsecond) }

// SendsMail reports whether invitations go to addresses.
func (m *Manager) SendsMail() bool { return m.mail != nil }

// NoAccount is the error for an account that does not exist, is closed, or in which a person has no part.
func NoAccount(op string) error {
	return fault.New(fault.NotFound, op, "There is no such account.")
}

func denied(op, text string) error { return fault.New(fault.PermissionDenied, op, text) }

// CheckName refuses a name of an organization, a team or a service.
func CheckName(name string) error {
	for _, p := range []string{Prefix, TeamPrefix, ServicePrefix} {
		if strings.HasPrefix(name, p) {
			return fault.Field("organization.Name", "name", "name must not begin with %s, as ids do.", p).Coded("org_looks_like_id", "prefix", p)
		}
	}
	return account.CheckName(name)
}

// Create makes an organization, whose owner is the person.
func (m *Manager) Create(ctx context.Context, name, person string, by audit.Actor) (Organization, error) {
	if err := CheckName(name); err != nil {
		return Organization{}, err
	}
	o := Organization{ID: apikey.NewID(Prefix), Name: name, Wallet: apikey.NewID("wal_"), Creator: person, Sees: SeesTeam, CreatedAt: m.moment()}
	u := account.User{ID: o.ID, Wallet: o.Wallet, Role: apikey.User}
	e := account.CreatedEvent(&u, by)
	return o, m.store.AddOrganization(ctx, o, MostPerPerson, e)
}

// Of finds an open organization in which a person has a part.
func (m *Manager) Of(ctx context.Context, org, person string) (Membership, error) {
	ms, err := m.store.MembershipOf(ctx, org, person)
	if fault.Is(err, fault.NotFound) || err == nil && ms.Disabled {
		return Membership{}, NoAccount("organization.Of")
	}
	return ms, err
}

// All lists the organizations of a person.
func (m *Manager) All(ctx context.Context, person string) ([]Membership, error) {
	return m.store.Memberships(ctx, person)
}

// Sight is whose calls and keys a member sees.
func (ms *Membership) Sight(person string) apikey.Sight {
	switch {
	case ms.Role == apikey.OrgOwner, ms.Role == apikey.OrgBilling, ms.Role == apikey.OrgManager && ms.Sees == SeesAll:
		return apikey.Sight{}
	case ms.Role == apikey.OrgManager:
		return apikey.Sight{Member: person, Team: ms.Team}
	}
	return apikey.Sight{Member: person}
}

// Change renames an organization, and changes what its managers see.
func (m *Manager) Change(ctx context.Context, ms *Membership, name *string, sees *Sees, by audit.Actor) error {
	const op = "organization.Change"
	if ms.Role != apikey.OrgOwner {
		return denied(op, "Only an owner may change the organization.")
	}
	return m.store.ChangeOrganization(ctx, ms.ID, m.moment(), func(to *Organization) (e audit.Event, err error) {
		was := *to
		if name != nil {
			if to.Name = *name; to.Name != was.Name {
				if err := CheckName(to.Name); err != nil {
					return e, err
				}
			}
		}
		if sees != nil {
			if to.Sees = *sees; to.Sees != SeesTeam && to.Sees != SeesAll {
				return e, fault.Field(op, "managers_see", "managers_see must be team or all.").Coded("managers_see")
			}
		}
		if *to == was {
			return e, nil
		}
		words := func(o *Organization) string { return "name " + o.Name + ", managers see " + string(o.Sees) }
		return audit.Event{Actor: by, Action: audit.OrgChanged, Target: ms.ID, Before: words(&was), After: words(to)}, nil
	})
}

// Members lists the members whom somebody may see: all of them, as people who work together know one another.
func (m *Manager) Members(ctx context.Context, org string) ([]Member, error) {
	return m.store.Members(ctx, org)
}

// KeyCounts is how many keys each member and service has.
func (m *Manager) KeyCounts(ctx context.Context, org string) (map[string]int, error) {
	return m.store.KeyCounts(ctx, org)
}

// Names are the names of all whose calls an organization has, by their ids.
func (m *Manager) Names(ctx context.Context, org string) (map[string]Named, error) {
	return m.store.Names(ctx, org)
}

// Member finds a member.
func (m *Manager) Member(ctx context.Context, org, user string) (Member, error) {
	all, err := m.store.Members(ctx, org)
	if err != nil {
		return Member{}, err
	}
	if i := slices.IndexFunc(all, func(x Member) bool { return x.User == user }); i >= 0 {
		return all[i], nil
	}
	return Member{}, fault.New(fault.NotFound, "organization.Member", "There is no such member.")
}

// manages fails where somebody may not manage those of a role in a team: a manager has members alone, of the own team unless managers see all.
func (ms *Membership) manages(op string, role apikey.OrgRole, team string) error {
	switch {
	case ms.Role == apikey.OrgOwner:
		return nil
	case ms.Role != apikey.OrgManager:
		return denied(op, "Only owners and managers may do this.")
	case role != apikey.OrgMember:
		return denied(op, "A manager has to do with members alone. Ask an owner.")
	case ms.Sees == SeesTeam && team != ms.Team:
		return denied(op, "A manager has to do with the own team alone here. Ask an owner.")
	}
	return nil
}

// MayServe fails where somebody may not manage services of a team.
func (ms *Membership) MayServe(team string) error {
	return ms.manages("organization.service", apikey.OrgMember, team)
}

func checkRole(op string, role apikey.OrgRole) error {
	if !slices.Contains(apikey.OrgRoles(), role) {
		return fault.Field(op, "role", "role must be owner, manager, member or billing.").Coded("org_role")
	}
	return nil
}

// team fails with fault.Invalid for a team that the organization does not have.
func (m *Manager) team(ctx context.Context, op, org, id string) error {
	if id == "" {
		return nil
	}
	all, err := m.store.Teams(ctx, org)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(t Team) bool { return t.ID == id }) {
		return fault.Field(op, "team", "There is no such team.").Coded("no_team")
	}
	return nil
}

// SetMember changes role and team of a member; nil leaves one as it is.
func (m *Manager) SetMember(ctx context.Context, ms *Membership, user string, role *apikey.OrgRole, team *string, by audit.Actor) (Member, error) {
	const op = "organization.SetMember"
	seen, err := m.Member(ctx, ms.ID, user)
	if err != nil {
		return seen, err
	}
	if team != nil {
		if err := m.team(ctx, op, ms.ID, *team); err != nil {
			return seen, err
		}
	}
	is, err := m.store.SetMember(ctx, ms.ID, user, m.moment(), func(to *Member) (e audit.Event, err error) {
		was := *to
		if role != nil {
			to.Role = *role
		}
		if team != nil {
			to.Team = *team
		}
		if err := ms.maySet(op, &was, to); err != nil {
			return e, err
		}
		to.Source = Here // or the next sign-in would take back what was changed
		if *to == was {
			return e, nil
		}
		return audit.Event{Actor: by, Action: audit.OrgMember, Target: ms.ID, Before: was.Words(), After: to.Words()}, nil
	})
	m.forget(ms.ID)
	if err != nil {
		return seen, err
	}
	is.Name, is.Email = seen.Name, seen.Email
	return is, nil
}

// maySet fails where somebody may not make of a member what it is to be.
func (ms *Membership) maySet(op string, was, to *Member) error {
	if err := checkRole(op, to.Role); err != nil {
		return err
	}
	for _, x := range []*Member{was, to} {
		if err := ms.manages(op, x.Role, x.Team); err != nil && !(*x == *was && was.Role == apikey.OrgMember && was.Team == "" && ms.Role == apikey.OrgManager) { // who has no team may be taken into one
			return err
		}
	}
	if was.Source == SCIM {
		return fault.New(fault.Conflict, op, "Role and team of this member come from your directory. Change them there.")
	}
	return nil
}

// Words are a member in the audit log.
func (x *Member) Words() string {
	text := x.User + " " + string(x.Role)
	if x.Team != "" {
		text += " of " + x.Team
	}
	return text
}

func (m *Manager) forget(org string) {
	if m.verifier != nil {
		m.verifier.ForgetUser(org)
	}
}

// Operated lists the open organizations as their operator has them, with all rights: all by name, or the one with an id.
func (m *Manager) Operated(ctx context.Context, id string) ([]Membership, error) {
	all, err := m.store.Organizations(ctx, id)
	if err == nil && id != "" && len(all) == 0 {
		err = fault.New(fault.NotFound, "organization.Operated", "There is no such organization.")
	}
	out := make([]Membership, len(all))
	for i := range all {
		out[i] = Membership{Organization: all[i], Role: apikey.OrgOwner}
	}
	return out, err
}

// AddMember makes a person a member without an invitation: operators do that.
func (m *Manager) AddMember(ctx context.Context, ms *Membership, user string, role apikey.OrgRole, team string, by audit.Actor) error {
	const op = "organization.AddMember"
	if err := checkRole(op, role); err != nil {
		return err
	}
	if err := m.team(ctx, op, ms.ID, team); err != nil {
		return err
	}
	x := Member{Org: ms.ID, User: user, Role: role, Team: team, JoinedAt: m.moment()}
	return m.store.AddMember(ctx, x, MostMembers, audit.Event{Actor: by, Action: audit.OrgJoined, Target: ms.ID, After: x.Words()})
}

// Remove ends the membership of a person, who may be the one who asks, with their keys, and returns how many those were.
func (m *Manager) Remove(ctx context.Context, ms *Membership, person, user string, by audit.Actor) (keys int, err error) {
	const op = "organization.Remove"
	was, err := m.Member(ctx, ms.ID, user)
	if err != nil {
		return 0, err
	}
	if person != user {
		if err := ms.manages(op, was.Role, was.Team); err != nil {
			return 0, err
		}
	}
	keys, err = m.store.RemoveMember(ctx, ms.ID, user, m.moment(), audit.Event{Actor: by, Action: audit.OrgLeft, Target: ms.ID, Before: was.Words()})
	m.forget(ms.ID)
	return keys, err
}

// Teams lists the teams.
func (m *Manager) Teams(ctx context.Context, org string) ([]Team, error) {
	return m.store.Teams(ctx, org)
}

// AddTeam makes a team.
func (m *Manager) AddTeam(ctx context.Context, ms *Membership, name string, by audit.Actor) (Team, error) {
	const op = "organization.AddTeam"
	if ms.Role != apikey.OrgOwner && (ms.Role != apikey.OrgManager || ms.Sees != SeesAll) {
		return Team{}, denied(op, "Only an owner may make teams, or a manager who sees all.")
	}
	if err := CheckName(name); err != nil {
		return Team{}, err
	}
	t := Team{ID: apikey.NewID(TeamPrefix), Org: ms.ID, Name: name, CreatedAt: m.moment()}
	return t, m.store.AddTeam(ctx, t, MostTeams, audit.Event{Actor: by, Action: audit.OrgTeamMade, Target: ms.ID, After: t.ID + " " + name})
}

// RenameTeam renames a team.
func (m *Manager) RenameTeam(ctx context.Context, ms *Membership, id, name string, by audit.Actor) error {
	if err := ms.manages("organization.RenameTeam", apikey.OrgMember, id); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	return m.store.RenameTeam(ctx, ms.ID, id, name, m.moment(), audit.Event{Actor: by, Action: audit.OrgTeamChanged, Target: ms.ID, After: id + " " + name})
}

// DeleteTeam deletes a team, whose members stay.
func (m *Manager) DeleteTeam(ctx context.Context, ms *Membership, id string, by audit.Actor) error {
	if ms.Role != apikey.OrgOwner && (ms.Role != apikey.OrgManager || ms.Sees != SeesAll) {
		return denied("organization.DeleteTeam", "Only an owner may delete teams, or a manager who sees all.")
	}
	err := m.store.DeleteTeam(ctx, ms.ID, id, m.moment(), audit.Event{Actor: by, Action: audit.OrgTeamDeleted, Target: ms.ID, Before: id})
	m.forget(ms.ID)
	return err
}

// Services lists the services that work.
func (m *Manager) Services(ctx context.Context, org string) ([]Service, error) {
	return m.store.Services(ctx, org)
}

// Service finds a service that works.
func (m *Manager) Service(ctx context.Context, org, id string) (Service, error) {
	all, err := m.store.Services(ctx, org)
	if err != nil {
		return Service{}, err
	}
	if i := slices.IndexFunc(all, func(s Service) bool { return s.ID == id }); i >= 0 {
		return all[i], nil
	}
	return Service{}, fault.New(fault.NotFound, "organization.Service", "There is no such service.")
}

// AddService makes a service.
func (m *Manager) AddService(ctx context.Context, ms *Membership, name, team, person string, by audit.Actor) (Service, error) {
	const op = "organization.AddService"
	if err := ms.MayServe(team); err != nil {
		return Service{}, err
	}
	if err := CheckName(name); err != nil {
		return Service{}, err
	}
	if err := m.team(ctx, op, ms.ID, team); err != nil {
		return Service{}, err
	}
	s := Service{ID: apikey.NewID(ServicePrefix), Org: ms.ID, Name: name, Team: team, Creator: person, CreatedAt: m.moment()}
	return s, m.store.AddService(ctx, s, MostServices, audit.Event{Actor: by, Action: audit.OrgServiceMade, Target: ms.ID, After: s.ID + " " + name})
}

// ChangeService changes name and team of a service; nil leaves one as it is.
func (m *Manager) ChangeService(ctx context.Context, ms *Membership, id string, name, team *string, by audit.Actor) (Service, error) {
	const op = "organization.ChangeService"
	if team != nil {
		if err := m.team(ctx, op, ms.ID, *team); err != nil {
			return Service{}, err
		}
	}
	s, err := m.store.ChangeService(ctx, ms.ID, id, m.moment(), func(to *Service) (e audit.Event, err error) {
		was := *to
		if name != nil {
			to.Name = *name
			if err := CheckName(to.Name); err != nil {
				return e, err
			}
		}
		if team != nil {
			to.Team = *team
		}
		for _, team := range []string{was.Team, to.Team} {
			if err := ms.MayServe(team); err != nil {
				return e, err
			}
		}
		if *to == was {
			return e, nil
		}
		return audit.Event{Actor: by, Action: audit.OrgService, Target: ms.ID, Before: id + " " + was.Name + " " + was.Team, After: to.Name + " " + to.Team}, nil
	})
	m.forget(ms.ID)
	return s, err
}

// EndService ends a service with its keys, and returns how many those were.
func (m *Manager) EndService(ctx context.Context, ms *Membership, id string, by audit.Actor) (keys int, err error) {
	s, err := m.Service(ctx, ms.ID, id)
	if err != nil {
		return 0, err
	}
	if err := ms.MayServe(s.Team); err != nil {
		return 0, err
	}
	keys, err = m.store.EndService(ctx, ms.ID, id, m.moment(), audit.Event{Actor: by, Action: audit.OrgServiceGone, Target: ms.ID, Before: id + " " + s.Name})
	m.forget(ms.ID)
	return keys, err
}

// NewInvitation is whom an invitation is for.
type NewInvitation struct {
	Email  string // "": anybody with the link
	Role   apikey.OrgRole
	Team   string
	Note   string
	Places int // 0: one
	Days   int // 0: UsualDays
	Locale string
}

func newLink() (text, hash string) {
	text = apikey.NewID("")
	return text, sumOf(text)
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// link is the path of the interface that accepts an invitation.
func link(text string) string { return "/join#" + text }

// Invite makes an invitation, and sends it where there is mail and an address. The text of its link is returned once.
func (m *Manager) Invite(ctx context.Context, ms *Membership, n NewInvitation, maker auth.Person, by audit.Actor) (path string, i Invitation, err error) {
	const op = "organization.Invite"
	if n.Email != "" {
		if n.Email, err = auth.CheckEmail("email", n.Email); err != nil {
			return "", i, err
		}
	}
	if err := checkRole(op, n.Role); err != nil {
		return "", i, err
	}
	if err := ms.manages(op, n.Role, n.Team); err != nil {
		return "", i, err
	}
	if err := m.team(ctx, op, ms.ID, n.Team); err != nil {
		return "", i, err
	}
	n.Places, n.Days = max(n.Places, 1), orUsual(n.Days)
	switch {
	case len(n.Note) > 200 || !usertext.Is(n.Note):
		return "", i, fault.Field(op, "note", "note must be one line of at most 200 bytes.").Coded("note")
	case n.Places > MostPlaces:
		return "", i, fault.Field(op, "places", "places must be a number from 1 to %d.", MostPlaces).Coded("number_range", "least", 1, "most", MostPlaces)
	case n.Email != "" && n.Places > 1:
		return "", i, fault.Field(op, "places", "An invitation for one address has one place.").Coded("one_place")
	case n.Places > 1 && n.Role == apikey.OrgOwner:
		return "", i, fault.Field(op, "places", "An invitation for an owner has one place.").Coded("owner_place")
	case n.Days < 1 || n.Days > MostDays:
		return "", i, fault.Field(op, "days", "days must be a number from 1 to %d.", MostDays).Coded("number_range", "least", 1, "most", MostDays)
	}
	now := m.moment()
	text, hash := newLink()
	i = Invitation{ID: apikey.NewID(InvitationPrefix), Hash: hash, Org: ms.ID, Email: n.Email, Role: n.Role, Team: n.Team, Note: n.Note, Places: n.Places, Maker: maker.ID, CreatedAt: now, ExpiresAt: now.AddDate(0, 0, n.Days)}
	if m.mayMail(n.Email, ms.ID) {
		i.SentAt = now
	}
	e := audit.Event{Actor: by, Action: audit.OrgInvited, Target: ms.ID, After: i.ID + " " + string(n.Role) + ", " + strconv.Itoa(n.Places) + " places"}
	if err := m.store.AddInvitation(ctx, i, MostInvitations, e); err != nil {
		return "", i, err
	}
	if !i.SentAt.IsZero() {
		m.mail(i.Email, n.Locale, link(text))
	}
	return link(text), i, nil
}

// mayMail reports whether a link goes to an address now. Where it may not, it is handed over.
func (m *Manager) mayMail(email, org string) bool {
	return email != "" && m.mail != nil && m.mails.Take(m.now(), email, &mailRate, limit.Cost{1}).OK && m.mails.Take(m.now(), org, &orgRate, limit.Cost{1}).OK
}

func orUsual(days int) int {
	if days == 0 {
		return UsualDays
	}
	return days
}

// Invitations lists those that work.
func (m *Manager) Invitations(ctx context.Context, org string) ([]Invitation, error) {
	return m.store.Invitations(ctx, org, m.moment())
}

func (m *Manager) invitation(ctx context.Context, ms *Membership, op, id string) (Invitation, error) {
	all, err := m.Invitations(ctx, ms.ID)
	if err != nil {
		return Invitation{}, err
	}
	n := slices.IndexFunc(all, func(i Invitation) bool { return i.ID == id })
	if n < 0 {
		return Invitation{}, fault.New(fault.NotFound, op, "There is no such invitation.")
	}
	return all[n], ms.manages(op, all[n].Role, all[n].Team)
}

// Again gives an invitation another link, which works for as long as the first did, and sends it where there is mail and an address. The former
// link ends.
func (m *Manager) Again(ctx context.Context, ms *Membership, id, locale string, maker auth.Person, by audit.Actor) (path string, i Invitation, err error) {
	if i, err = m.invitation(ctx, ms, "organization.Again", id); err != nil {
		return "", i, err
	}
	now := m.moment()
	text, hash := newLink()
	i.Hash, i.ExpiresAt, i.Maker = hash, now.Add(i.ExpiresAt.Sub(i.CreatedAt)), maker.ID
	if i.CreatedAt = now; m.mayMail(i.Email, ms.ID) {
		i.SentAt = now
	}
	if err := m.store.RenewInvitation(ctx, i, audit.Event{Actor: by, Action: audit.OrgInvited, Target: ms.ID, After: i.ID + " again"}); err != nil {
		return "", i, err
	}
	if i.SentAt.Equal(now) {
		m.mail(i.Email, locale, link(text))
	}
	return link(text), i, nil
}

// Uninvite withdraws an invitation.
func (m *Manager) Uninvite(ctx context.Context, ms *Membership, id string, by audit.Actor) error {
	if _, err := m.invitation(ctx, ms, "organization.Uninvite", id); err != nil {
		return err
	}
	return m.store.DeleteInvitation(ctx, ms.ID, id, m.moment(), audit.Event{Actor: by, Action: audit.OrgUninvited, Target: ms.ID, Before: id})
}

func linkGone(op string) error {
	return fault.Field(op, "token", "This invitation was used already, was withdrawn, or has expired. Ask for another.").Coded("invitation_used")
}

// LookAt says what a link invites to. It fails for one whose maker could not make it now.
func (m *Manager) LookAt(ctx context.Context, text string) (Invitation, Organization, error) {
	const op = "organization.LookAt"
	if len(text) > 64 {
		return Invitation{}, Organization{}, linkGone(op)
	}
	now := m.moment()
	i, o, role, err := m.store.InvitationBy(ctx, sumOf(text), now)
	if fault.Is(err, fault.NotFound) {
		return i, o, linkGone(op)
	}
	if err != nil {
		return i, o, err
	}
	maker := Membership{Organization: o, Role: role}
	if maker.Role == apikey.OrgManager {
		maker.Team = i.Team // what the manager's team was is said where it was made
	}
	if o.Disabled || i.Taken >= i.Places || maker.manages(op, i.Role, i.Team) != nil {
		return i, o, linkGone(op)
	}
	if i.OpenedAt.IsZero() {
		err = m.store.OpenInvitation(ctx, i.Hash, now)
	}
	return i, o, err
}

// Accept makes a person a member with the text of an invitation's link. One that is for an address is for who has that address.
func (m *Manager) Accept(ctx context.Context, text string, p *auth.Person, by audit.Actor) (Organization, error) {
	const op = "organization.Accept"
	i, o, err := m.LookAt(ctx, text)
	if err != nil {
		return o, err
	}
	if i.Email != "" && !strings.EqualFold(i.Email, p.Email) {
		return o, fault.Field(op, "token", "This invitation is for %s. Sign in with that address.", i.Email).Coded("other_address", "email", i.Email)
	}
	x := Member{Org: o.ID, User: p.ID, Role: i.Role, Team: i.Team, JoinedAt: m.moment()}
	err = m.store.Accept(ctx, i.Hash, x, MostMembers, audit.Event{Actor: by, Action: audit.OrgJoined, Target: o.ID, After: x.Words() + " by " + i.ID})
	if fault.Is(err, fault.NotFound) {
		err = linkGone(op)
	}
	return o, err
}

// WebKey is the id of the key of a member's calls from the browser; it is made when there is none.
func (m *Manager) WebKey(ctx context.Context, ms *Membership, person string) (string, error) {
	for range 3 {
		if ms.WebKey != "" {
			k, err := m.keys.ByHash(ctx, ms.ID, ms.WebKey)
			if err == nil {
				return k.ID, nil
			}
			if !fault.Is(err, fault.NotFound) {
				return "", err
			}
		}
		k, _, err := m.keys.Create(ctx, apikey.NewKey{Name: "web", User: ms.ID, Member: person, Creator: person}, audit.Actor{Name: "user:" + person})
		if err != nil {
			return "", err
		}
		done, err := m.store.SetOrgWebKey(ctx, ms.ID, person, ms.WebKey, k.Hash)
		if done || err != nil {
			return k.ID, err
		}
		now, err := m.Of(ctx, ms.ID, person) // another call was quicker
		if err != nil {
			return "", err
		}
		ms.WebKey = now.WebKey
	}
	return "", fault.New(fault.Overloaded, "organization.WebKey", "The key of your browser's calls is being changed. Try again.")
}
