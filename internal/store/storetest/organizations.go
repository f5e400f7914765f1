package storetest

import (
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/organization"
	"weir/internal/report"
	"weir/internal/store"
)

// Organizations is the suite of organization.Store, and of what keys and reports say of organizations.
func Organizations(t *testing.T, open Open) {
	s := open(t, nil)
	for name, test := range map[string]func(*testing.T, *store.Store){
		"Made": orgMade, "LastOwner": orgLastOwner, "LastOwnerRace": orgLastOwnerRace, "Places": orgPlaces, "Keys": orgKeys, "Sight": orgSight, "Forget": orgForget, "Directory": orgDirectory, "Recipients": orgRecipients, "Arrive": orgArrive,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func mustOrg(t *testing.T, s *store.Store, owner string) organization.Organization {
	t.Helper()
	o := organization.Organization{ID: apikey.NewID(organization.Prefix), Name: "Strelka", Wallet: apikey.NewID("wal_"), Creator: owner, Sees: organization.SeesTeam, CreatedAt: at}
	ok(t, s.Organizations.AddOrganization(t.Context(), o, 3, event(audit.UserCreated)))
	return o
}

func mustInvite(t *testing.T, s *store.Store, o *organization.Organization, role apikey.OrgRole, places int) organization.Invitation {
	t.Helper()
	i := organization.Invitation{ID: apikey.NewID(organization.InvitationPrefix), Hash: apikey.NewID(""), Org: o.ID, Role: role, Places: places, Maker: o.Creator, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	ok(t, s.Organizations.AddInvitation(t.Context(), i, 100, event(audit.OrgInvited)))
	return i
}

func mustMember(t *testing.T, s *store.Store, o *organization.Organization, role apikey.OrgRole) string {
	t.Helper()
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	i := mustInvite(t, s, o, role, 1)
	ok(t, s.Organizations.Accept(t.Context(), i.Hash, organization.Member{Org: o.ID, User: u.ID, Role: role, JoinedAt: at}, 1000, event(audit.OrgJoined)))
	return u.ID
}

func orgKey(t *testing.T, s *store.Store, o *organization.Organization, member string) (apikey.Key, error) {
	t.Helper()
	k, _ := apikey.Make(apikey.NewKey{Name: "x", User: o.ID, Member: member, Creator: member}, at)
	return k, s.Accounts.InsertKey(t.Context(), k, 2, event(audit.KeyCreated))
}

func orgMade(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, u.ID)
	ms, err := s.Organizations.MembershipOf(t.Context(), o.ID, u.ID)
	ok(t, err)
	equal(t, "a membership", ms, organization.Membership{Organization: o, Role: apikey.OrgOwner})
	all, err := s.Organizations.Memberships(t.Context(), u.ID)
	ok(t, err)
	equal(t, "memberships", all, []organization.Membership{ms})
	if _, err := s.Organizations.MembershipOf(t.Context(), o.ID, "usr_other"); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's membership: %v", err)
	}
	mustOrg(t, s, u.ID)
	mustOrg(t, s, u.ID)
	o.ID, o.Wallet = apikey.NewID(organization.Prefix), apikey.NewID("wal_")
	if err := s.Organizations.AddOrganization(t.Context(), o, 3, event(audit.UserCreated)); !fault.Is(err, fault.Invalid) {
		t.Errorf("one too many: %v", err)
	}
}

func orgLastOwner(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, u.ID)
	if _, err := s.Organizations.RemoveMember(t.Context(), o.ID, u.ID, at, event(audit.OrgLeft)); !fault.Is(err, fault.Conflict) {
		t.Errorf("RemoveMember: %v", err)
	}
	if _, err := s.Organizations.SetMember(t.Context(), o.ID, u.ID, at, func(m *organization.Member) (audit.Event, error) {
		m.Role = apikey.OrgMember
		return event(audit.OrgMember), nil
	}); !fault.Is(err, fault.Conflict) {
		t.Errorf("SetMember: %v", err)
	}
	if err := s.Accounts.ForgetUser(t.Context(), u.ID, at, event(audit.UserForgotten)); !fault.Is(err, fault.Conflict) {
		t.Errorf("ForgetUser: %v", err)
	}
	mustMember(t, s, &o, apikey.OrgOwner)
	if _, err := s.Organizations.RemoveMember(t.Context(), o.ID, u.ID, at, event(audit.OrgLeft)); err != nil {
		t.Errorf("with another owner: %v", err)
	}
}

// Of two owners who leave at one moment one stays.
func orgLastOwnerRace(t *testing.T, s *store.Store) {
	for range 5 {
		u := mustPerson(t, s, apikey.NewID("")+"@example.org")
		o := mustOrg(t, s, u.ID)
		owners := []string{u.ID, mustMember(t, s, &o, apikey.OrgOwner)}
		errs := make([]error, 2)
		var all sync.WaitGroup
		for i, who := range owners {
			all.Go(func() { _, errs[i] = s.Organizations.RemoveMember(t.Context(), o.ID, who, at, event(audit.OrgLeft)) })
		}
		all.Wait()
		left, err := s.Organizations.Members(t.Context(), o.ID)
		ok(t, err)
		if len(left) != 1 || (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%d owners are left: %v", len(left), errs)
		}
	}
}

// An invitation takes as many as it has places, however many come at one moment.
func orgPlaces(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, u.ID)
	i := mustInvite(t, s, &o, apikey.OrgMember, 2)
	people := make([]string, 5)
	for n := range people {
		people[n] = mustPerson(t, s, apikey.NewID("")+"@example.org").ID
	}
	errs := make([]error, len(people))
	var all sync.WaitGroup
	for n, who := range people {
		all.Go(func() {
			errs[n] = s.Organizations.Accept(t.Context(), i.Hash, organization.Member{Org: o.ID, User: who, Role: i.Role, JoinedAt: at}, 1000, event(audit.OrgJoined))
		})
	}
	all.Wait()
	in := 0
	for _, err := range errs {
		switch {
		case err == nil:
			in++
		case !fault.Is(err, fault.NotFound):
			t.Error(err)
		}
	}
	if in != 2 {
		t.Errorf("%d have come in", in)
	}
	late := mustInvite(t, s, &o, apikey.OrgMember, 1)
	if _, _, _, err := s.Organizations.InvitationBy(t.Context(), late.Hash, late.ExpiresAt); !fault.Is(err, fault.NotFound) {
		t.Errorf("an expired one: %v", err)
	}
}

func orgKeys(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, u.ID)
	vera, billing := mustMember(t, s, &o, apikey.OrgMember), mustMember(t, s, &o, apikey.OrgBilling)
	for _, who := range []string{billing, "usr_stranger", "svc_none"} {
		if _, err := orgKey(t, s, &o, who); !fault.Is(err, fault.Conflict) {
			t.Errorf("a key of %s: %v", who, err)
		}
	}
	k, err := orgKey(t, s, &o, vera)
	ok(t, err)
	f, err := s.Accounts.KeyByHash(t.Context(), k.Hash)
	ok(t, err)
	if f.Member != vera || f.Wallet != o.Wallet || f.UserDisabled {
		t.Errorf("found %+v", f)
	}
	ok(t, s.Accounts.SetUserDisabled(t.Context(), vera, true, at, event(audit.UserDisabled)))
	if f, err = s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil || !f.UserDisabled {
		t.Errorf("of a blocked person: %v, %t", err, f.UserDisabled)
	}
	ok(t, s.Accounts.SetUserDisabled(t.Context(), vera, false, at, event(audit.UserEnabled)))
	n, err := s.Organizations.RemoveMember(t.Context(), o.ID, vera, at, event(audit.OrgLeft))
	ok(t, err)
	if f, err = s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil || n != 1 || f.DeletedAt.IsZero() || !f.UserDisabled {
		t.Errorf("after the end: %d keys, %v, %+v", n, err, f)
	}
	sv := organization.Service{ID: apikey.NewID(organization.ServicePrefix), Org: o.ID, Name: "Reports", Creator: u.ID, CreatedAt: at}
	ok(t, s.Organizations.AddService(t.Context(), sv, 5, event(audit.OrgServiceMade)))
	if k, err = orgKey(t, s, &o, sv.ID); err != nil {
		t.Fatal(err)
	}
	if f, err = s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil || f.UserDisabled {
		t.Errorf("of a service: %v, %t", err, f.UserDisabled)
	}
	if n, err := s.Organizations.EndService(t.Context(), o.ID, sv.ID, at, event(audit.OrgServiceGone)); err != nil || n != 1 {
		t.Errorf("EndService: %d, %v", n, err)
	}
}

// Keys are listed, and calls reported, as far as they are seen.
func orgSight(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, u.ID)
	vera, oleg := mustMember(t, s, &o, apikey.OrgMember), mustMember(t, s, &o, apikey.OrgMember)
	team := organization.Team{ID: apikey.NewID(organization.TeamPrefix), Org: o.ID, Name: "Search", CreatedAt: at}
	ok(t, s.Organizations.AddTeam(t.Context(), team, 5, event(audit.OrgTeamMade)))
	_, err := s.Organizations.SetMember(t.Context(), o.ID, vera, at, func(m *organization.Member) (audit.Event, error) {
		m.Team = team.ID
		return event(audit.OrgMember), nil
	})
	ok(t, err)
	for _, who := range []string{vera, oleg} {
		_, err := orgKey(t, s, &o, who)
		ok(t, err)
	}
	for name, x := range map[string]struct {
		sees apikey.Sight
		want int
	}{"all": {apikey.Sight{}, 2}, "own": {apikey.Sight{Member: vera}, 1}, "own and the team's": {apikey.Sight{Member: oleg, Team: team.ID}, 2}, "the team's": {apikey.Sight{Member: u.ID, Team: team.ID}, 1}, "none": {apikey.Sight{Member: u.ID}, 0}} {
		keys, err := s.Accounts.ListKeys(t.Context(), apikey.Filter{User: o.ID, Sees: x.sees})
		if err != nil || len(keys) != x.want {
			t.Errorf("%s: %d keys, %v", name, len(keys), err)
		}
		for _, part := range []report.Part{report.Model, report.Key, report.Kind} {
			q := report.Query{Wallet: o.Wallet, Filter: report.Filter{Org: o.ID, Sees: x.sees}, Part: part, Bucket: report.Day, From: at.Truncate(24 * time.Hour), To: at.Truncate(24*time.Hour).AddDate(0, 0, 1)}
			if rows, err := s.Ledger.Usage(t.Context(), q); err != nil || len(rows) != 0 {
				t.Errorf("%s by %s: %d rows, %v", name, part, len(rows), err)
			}
		}
	}
}

// Who deletes an account leaves all organizations; one that is closed has no members.
func orgForget(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, u.ID)
	vera := mustMember(t, s, &o, apikey.OrgMember)
	k, err := orgKey(t, s, &o, vera)
	ok(t, err)
	ok(t, s.Accounts.ForgetUser(t.Context(), vera, at, event(audit.UserForgotten)))
	f, err := s.Accounts.KeyByHash(t.Context(), k.Hash)
	if err != nil || f.DeletedAt.IsZero() {
		t.Errorf("the key of who was forgotten: %v, %+v", err, f)
	}
	ok(t, s.Accounts.ForgetUser(t.Context(), o.ID, at, event(audit.UserForgotten)))
	if _, err := s.Organizations.MembershipOf(t.Context(), o.ID, u.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("of a closed one: %v", err)
	}
	ok(t, s.Accounts.ForgetUser(t.Context(), u.ID, at, event(audit.UserForgotten)))
}

func mustConnect(t *testing.T, s *store.Store, o *organization.Organization) string {
	t.Helper()
	token := apikey.NewID("")
	ok(t, s.Organizations.Connect(t.Context(), o.ID, token, o.Creator, at, event(audit.OrgConnected)))
	return token
}

// orgDirectory has one change of a directory win over another one that began with the same version, people who get a place and lose it, and an owner
// who stays.
func orgDirectory(t *testing.T, s *store.Store) {
	owner, u := mustPerson(t, s, apikey.NewID("")+"@example.org"), mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, owner.ID)
	if _, err := s.Organizations.Directory(t.Context(), o.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("without a directory: %v", err)
	}
	former, token := mustConnect(t, s, &o), mustConnect(t, s, &o)
	if _, err := s.Organizations.DirectoryBy(t.Context(), former, at); !fault.Is(err, fault.NotFound) {
		t.Errorf("a former token: %v", err)
	}
	got, err := s.Organizations.DirectoryBy(t.Context(), token, at)
	ok(t, err)
	equal(t, "the organization of a token", got, o)
	team := organization.Team{ID: apikey.NewID(organization.TeamPrefix), Org: o.ID, Name: "Research", CreatedAt: at}
	listed := organization.Listed{Org: o.ID, User: u.ID, Login: "u@example.org", Display: "U", Role: apikey.OrgManager, CreatedAt: at, UpdatedAt: at}
	group := organization.Group{ID: apikey.NewID(organization.GroupPrefix), Org: o.ID, Name: "Research", Team: team.ID, Members: []string{u.ID}, CreatedAt: at, UpdatedAt: at}
	change := func(version int64, c organization.DirectoryChange) (bool, error) {
		return s.Organizations.ChangeDirectory(t.Context(), o.ID, version, &c, 100, at, audit.Actor{Name: "scim"})
	}
	first := organization.DirectoryChange{Users: []organization.Listed{listed}, Groups: []organization.Group{group}, Teams: []organization.Team{team}, Places: map[string]*organization.Place{u.ID: {Role: apikey.OrgManager, Team: team.ID}}}
	if done, err := change(0, first); err != nil || !done {
		t.Fatal(done, err)
	}
	if done, err := change(0, first); err != nil || done {
		t.Errorf("a change of an old version: %v %v", done, err)
	}
	d, err := s.Organizations.Directory(t.Context(), o.ID)
	ok(t, err)
	listed.Active = true
	equal(t, "the directory", d, organization.Directory{Version: 1, Users: []organization.Listed{listed}, Groups: []organization.Group{group}})
	k, err := orgKey(t, s, &o, u.ID)
	ok(t, err)
	if done, err := change(1, organization.DirectoryChange{Places: map[string]*organization.Place{u.ID: nil, owner.ID: nil}}); done || !fault.Is(err, fault.Conflict) {
		t.Errorf("the last owner: %v %v", done, err)
	}
	if done, err := change(1, organization.DirectoryChange{Places: map[string]*organization.Place{u.ID: nil}}); !done || err != nil {
		t.Fatal(done, err)
	}
	if found, err := s.Accounts.KeyByHash(t.Context(), k.Hash); err == nil && found.DeletedAt.IsZero() {
		t.Error("the key of who has left works")
	}
	if done, err := change(2, organization.DirectoryChange{GoneUsers: []string{u.ID}, GoneGroups: []string{group.ID}}); !done || err != nil {
		t.Fatal(done, err)
	}
	d, err = s.Organizations.Directory(t.Context(), o.ID)
	ok(t, err)
	if d.Version != 3 || len(d.Users) > 0 || len(d.Groups) > 0 {
		t.Errorf("%+v", d)
	}
	ok(t, s.Organizations.Disconnect(t.Context(), o.ID, at, event(audit.OrgDisconnected)))
	if err := s.Organizations.Disconnect(t.Context(), o.ID, at, event(audit.OrgDisconnected)); !fault.Is(err, fault.NotFound) {
		t.Errorf("Disconnect again: %v", err)
	}
}

// orgArrive has groups of a provider give a place and take it back, but neither what people gave nor what SCIM says.
func orgArrive(t *testing.T, s *store.Store) {
	owner, u := mustPerson(t, s, apikey.NewID("")+"@example.org"), mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, owner.ID)
	arrive := func(user string, p *organization.ArrivalPlace) error {
		return s.Organizations.Arrive(t.Context(), o.ID, user, p, 100, at, audit.Actor{Name: "oidc:test"})
	}
	role := func(user string) string {
		ms, err := s.Organizations.MembershipOf(t.Context(), o.ID, user)
		if fault.Is(err, fault.NotFound) {
			return ""
		}
		ok(t, err)
		return string(ms.Role)
	}
	research := func() organization.Team {
		return organization.Team{ID: apikey.NewID(organization.TeamPrefix), Org: o.ID, Name: "Research"}
	}
	for _, p := range []apikey.OrgRole{apikey.OrgOwner, apikey.OrgBilling, apikey.OrgMember} {
		ok(t, arrive(u.ID, &organization.ArrivalPlace{Role: p, Team: research()}))
		equal(t, "the role", role(u.ID), string(p))
	}
	teams, err := s.Organizations.Teams(t.Context(), o.ID)
	ok(t, err)
	equal(t, "how many teams have the name", len(teams), 1)
	ok(t, arrive(u.ID, nil))
	equal(t, "who has no group", role(u.ID), "")
	ok(t, arrive(owner.ID, nil))
	equal(t, "who was not put in by groups", role(owner.ID), "owner")
	ok(t, arrive(u.ID, &organization.ArrivalPlace{Role: apikey.OrgOwner}))
	if _, err := s.Organizations.RemoveMember(t.Context(), o.ID, owner.ID, at, event(audit.OrgLeft)); err != nil {
		t.Fatal(err)
	}
	if err := arrive(u.ID, nil); !fault.Is(err, fault.Conflict) || role(u.ID) != "owner" {
		t.Errorf("the last owner: %v", err)
	}
	mustConnect(t, s, &o)
	listed := organization.Listed{Org: o.ID, User: owner.ID, Login: "x", CreatedAt: at, UpdatedAt: at}
	if done, err := s.Organizations.ChangeDirectory(t.Context(), o.ID, 0, &organization.DirectoryChange{Users: []organization.Listed{listed}}, 100, at, audit.Actor{Name: "scim"}); err != nil || !done {
		t.Fatal(done, err)
	}
	ok(t, arrive(owner.ID, &organization.ArrivalPlace{Role: apikey.OrgMember}))
	equal(t, "who is not active in SCIM", role(owner.ID), "")
}

// orgRecipients has the owners and billing people of an organization get its mails, those alone who have a confirmed address.
func orgRecipients(t *testing.T, s *store.Store) {
	owner := mustPerson(t, s, apikey.NewID("")+"@example.org")
	o := mustOrg(t, s, owner.ID)
	billing, manager := mustMember(t, s, &o, apikey.OrgBilling), mustMember(t, s, &o, apikey.OrgManager)
	of := func(account string) map[string]apikey.OrgRole {
		got, err := s.People.RecipientsOf(t.Context(), account)
		ok(t, err)
		out := map[string]apikey.OrgRole{}
		for i := range got {
			out[got[i].ID] = got[i].Role
		}
		return out
	}
	equal(t, "of an organization whose people have confirmed no address", of(o.ID), map[string]apikey.OrgRole{})
	for _, user := range []string{owner.ID, billing, manager} {
		ok(t, s.People.SetPassword(t.Context(), user, "$argon2id$...", "", "", true, at, event(audit.PasswordSet)))
	}
	want := map[string]apikey.OrgRole{owner.ID: apikey.OrgOwner, billing: apikey.OrgBilling}
	equal(t, "of an organization", of(o.ID), want)
	equal(t, "of a person", of(manager), map[string]apikey.OrgRole{manager: ""})
	ok(t, s.Accounts.SetUserDisabled(t.Context(), billing, true, at, event(audit.UserDisabled)))
	delete(want, billing)
	equal(t, "with one who may not sign in", of(o.ID), want)
}
