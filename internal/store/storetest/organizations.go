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
		"Made": orgMade, "LastOwner": orgLastOwner, "LastOwnerRace": orgLastOwnerRace, "Places": orgPlaces, "Keys": orgKeys, "Sight": orgSight, "Forget": orgForget,
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
	if err := s.Organizations.SetMember(t.Context(), organization.Member{Org: o.ID, User: u.ID, Role: apikey.OrgMember}, at, event(audit.OrgMember)); !fault.Is(err, fault.Conflict) {
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
	ok(t, s.Organizations.SetMember(t.Context(), organization.Member{Org: o.ID, User: vera, Role: apikey.OrgMember, Team: team.ID}, at, event(audit.OrgMember)))
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
