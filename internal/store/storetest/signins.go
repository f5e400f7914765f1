package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/store"
)

// removal is one of a user's ways to sign in, by a browser whose session goes with it.
func removal(user string, ways auth.Ways) auth.Removal {
	return auth.Removal{User: user, Ways: ways, Now: at, Event: event(audit.PasskeyRemoved)}
}

// lastWay is that of a person who keeps one way to sign in, whatever they remove and however often at once.
func lastWay(t *testing.T, s *store.Store) {
	const issuer = "https://id.example.org"
	for name, try := range map[string]struct {
		password string
		identity bool
		ways     auth.Ways
		kept     bool // one of the two passkeys
	}{
		"a password":                            {"hash", false, auth.Ways{Passwords: true}, false},
		"a password while they are off":         {"hash", false, auth.Ways{}, true},
		"a login without a password":            {"", false, auth.Ways{Passwords: true}, true},
		"an identity":                           {"", true, auth.Ways{Issuers: []string{"https://other.example.org", issuer}}, false},
		"an identity at a provider of the past": {"", true, auth.Ways{Issuers: []string{"https://other.example.org"}}, true},
		"a demo":                                {"", false, auth.Ways{Always: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			u, l := newPerson(apikey.User, apikey.NewID("")+"@example.org")
			l.Password = try.password
			ok(t, s.People.AddPerson(t.Context(), u, l, nil, "", event(audit.UserCreated)))
			i := auth.Identity{Issuer: issuer, Subject: u.ID, User: u.ID, CreatedAt: at}
			if try.identity {
				ok(t, s.People.AddIdentity(t.Context(), i, event(audit.IdentityAdded)))
			}
			var wg sync.WaitGroup
			for n := range 2 {
				id := fmt.Sprint(u.ID, n)
				ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: id, User: u.ID, CreatedAt: at}, 2, event(audit.PasskeyAdded)))
			}
			for n := range 2 {
				wg.Go(func() {
					err := s.People.DeletePasskey(t.Context(), fmt.Sprint(u.ID, n), removal(u.ID, try.ways))
					if err != nil && !fault.Is(err, fault.Conflict) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			left, err := s.People.PasskeysOf(t.Context(), u.ID)
			if err != nil || (len(left) == 1) != try.kept || len(left) > 1 {
				t.Errorf("%d passkeys are left, %v", len(left), err)
			}
			if try.identity && !try.kept {
				wantKind(t, s.People.DeleteIdentity(t.Context(), i.Issuer, i.Subject, removal(u.ID, try.ways)), fault.Conflict)
			}
		})
	}
}

// lastWayRace is a person with three ways of different kinds, who removes all of them at once.
func lastWayRace(t *testing.T, s *store.Store) {
	ways := auth.Ways{Passwords: true, Issuers: []string{"https://id.example.org"}}
	for range 5 {
		u := mustPerson(t, s, apikey.NewID("")+"@example.org")
		i := auth.Identity{Issuer: ways.Issuers[0], Subject: u.ID, User: u.ID, CreatedAt: at}
		ok(t, s.People.AddIdentity(t.Context(), i, event(audit.IdentityAdded)))
		ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: u.ID, User: u.ID, CreatedAt: at}, 2, event(audit.PasskeyAdded)))
		var removed atomic.Int64
		var wg sync.WaitGroup
		for _, remove := range []func() error{
			func() error { return s.People.DeletePasskey(t.Context(), u.ID, removal(u.ID, ways)) },
			func() error { return s.People.DeleteIdentity(t.Context(), i.Issuer, i.Subject, removal(u.ID, ways)) },
			func() error { return s.People.DeletePassword(t.Context(), removal(u.ID, ways)) },
		} {
			wg.Go(func() {
				switch err := remove(); {
				case err == nil:
					removed.Add(1)
				case !fault.Is(err, fault.Conflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		left := 0
		if p, err := s.People.PersonOf(t.Context(), u.ID); err != nil || p.HasPassword {
			left++
		}
		keys, err := s.People.PasskeysOf(t.Context(), u.ID)
		ok(t, err)
		linked, err := s.People.IdentitiesOf(t.Context(), u.ID)
		ok(t, err)
		if left += len(keys) + len(linked); left != 1 || removed.Load() != 2 {
			t.Fatalf("%d ways were removed, %d are left; want 2 and 1", removed.Load(), left)
		}
	}
}

func removalEnds(t *testing.T, s *store.Store) {
	ways := auth.Ways{Passwords: true}
	for name, remove := range map[string]func(u string, r auth.Removal) error{
		"a passkey": func(u string, r auth.Removal) error { return s.People.DeletePasskey(t.Context(), u, r) },
		"an identity": func(u string, r auth.Removal) error {
			return s.People.DeleteIdentity(t.Context(), "https://id.example.org", u, r)
		},
		"a password": func(_ string, r auth.Removal) error { return s.People.DeletePassword(t.Context(), r) },
	} {
		t.Run(name, func(t *testing.T) {
			u, other := mustPerson(t, s, apikey.NewID("")+"@example.org"), mustPerson(t, s, apikey.NewID("")+"@example.org")
			ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: u.ID, User: u.ID, CreatedAt: at}, 2, event(audit.PasskeyAdded)))
			ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: "second " + u.ID, User: u.ID, CreatedAt: at}, 2, event(audit.PasskeyAdded)))
			ok(t, s.People.AddIdentity(t.Context(), auth.Identity{Issuer: "https://id.example.org", Subject: u.ID, User: u.ID, CreatedAt: at}, event(audit.IdentityAdded)))
			kept, ended, foreign := mustSession(t, s, u.ID, nil), mustSession(t, s, u.ID, nil), mustSession(t, s, other.ID, nil)
			link := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User = u.ID })
			others := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User = other.ID })
			r := removal(u.ID, ways)
			r.Keep = kept.Hash
			ok(t, remove(u.ID, r))
			wantKind(t, remove(u.ID, r), fault.NotFound)
			for hash, want := range map[string]bool{kept.Hash: true, ended.Hash: false, foreign.Hash: true} {
				if _, _, err := s.People.SessionBy(t.Context(), hash); (err == nil) != want {
					t.Errorf("a session goes on: %v; want %v", err == nil, want)
				}
			}
			if _, err := s.People.TokenBy(t.Context(), auth.Reset, link.Hash, at); (err == nil) != (name != "a password") {
				t.Errorf("the link for a new password: %v", err)
			}
			if _, err := s.People.TokenBy(t.Context(), auth.Reset, others.Hash, at); err != nil {
				t.Error("another person's link has ended")
			}
			l, err := s.People.LoginOf(t.Context(), u.ID)
			if err != nil || (l.Password == "") != (name == "a password") || l.Email == "" {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
}

func passwordEndsLinks(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	used := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User = u.ID })
	second := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User = u.ID })
	foreign := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User = other.ID })
	invitation := mustToken(t, s, auth.Invitation, func(n *auth.Token) { n.User = u.ID })
	ok(t, s.People.SetPassword(t.Context(), u.ID, "new", "", used.Hash, false, at, event(audit.PasswordSet)))
	for _, link := range []auth.Token{used, second} {
		_, err := s.People.TokenBy(t.Context(), link.Kind, link.Hash, at)
		wantKind(t, err, fault.NotFound)
	}
	for _, link := range []auth.Token{foreign, invitation} {
		if _, err := s.People.TokenBy(t.Context(), link.Kind, link.Hash, at); err != nil {
			t.Error(err)
		}
	}
}

// secondStep is an account that requires a passkey: it keeps one, however many are removed at once, and none requires what is not there.
func secondStep(t *testing.T, s *store.Store) {
	ways := auth.Ways{Passwords: true}
	set := func(user string, on bool, keep string) error {
		return s.People.SetSecondStep(t.Context(), user, on, keep, at, event(audit.SecondStepOn))
	}
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	wantKind(t, set(u.ID, true, ""), fault.Conflict)
	for n := range 3 {
		ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: fmt.Sprint("key", n), User: u.ID, CreatedAt: at}, 3, event(audit.PasskeyAdded)))
	}
	kept, ended, foreign := mustSession(t, s, u.ID, nil), mustSession(t, s, u.ID, nil), mustSession(t, s, other.ID, nil)
	ok(t, set(u.ID, true, kept.Hash))
	ok(t, set(u.ID, true, kept.Hash))
	for hash, want := range map[string]bool{kept.Hash: true, ended.Hash: false, foreign.Hash: true} {
		if _, _, err := s.People.SessionBy(t.Context(), hash); (err == nil) != want {
			t.Errorf("a session goes on: %v; want %v", err == nil, want)
		}
	}
	if _, p, err := s.People.SessionBy(t.Context(), kept.Hash); err != nil || !p.SecondStep {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := s.People.PersonOf(t.Context(), other.ID); err != nil || p.SecondStep {
		t.Errorf("%+v, %v", p, err)
	}
	var wg sync.WaitGroup
	var removed atomic.Int64
	for n := range 3 {
		wg.Go(func() {
			switch err := s.People.DeletePasskey(t.Context(), fmt.Sprint("key", n), removal(u.ID, ways)); {
			case err == nil:
				removed.Add(1)
			case !fault.Is(err, fault.Conflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if left, err := s.People.PasskeysOf(t.Context(), u.ID); err != nil || len(left) != 1 || removed.Load() != 2 {
		t.Errorf("%d were removed, %d are left, %v", removed.Load(), len(left), err)
	}
	ok(t, set(u.ID, false, ""))
	ok(t, set(u.ID, false, ""))
	if p, err := s.People.PersonOf(t.Context(), u.ID); err != nil || p.SecondStep {
		t.Errorf("%+v, %v", p, err)
	}
	left, err := s.People.PasskeysOf(t.Context(), u.ID)
	ok(t, err)
	ok(t, s.People.DeletePasskey(t.Context(), left[0].ID, removal(u.ID, ways)))
}
