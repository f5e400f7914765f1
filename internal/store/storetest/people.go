package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/store"
)

// People checks what a store does for those who sign in. open gives an empty store, and closes it after the test.
func People(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"a person comes back as stored":              personRoundTrip,
		"an address is one person's":                 personTwice,
		"a link makes one person, whoever is first":  personRace,
		"a login for a user who has none":            loginLater,
		"who administers":                            firstAdministrator,
		"the last administrator in a race":           lastAdministratorRace,
		"a session comes back as stored":             sessionRoundTrip,
		"the oldest session ends":                    sessionsMost,
		"sessions end":                               sessionsEnd,
		"a password ends sessions":                   passwordEnds,
		"the first proof of an address":              firstProof,
		"a token works once":                         tokenOnce,
		"a token in a race":                          tokenRace,
		"no more tokens than allowed":                tokensMost,
		"a used link changes nothing a second time":  usedLink,
		"the key of the browser":                     webKey,
		"a sweep of sessions and tokens":             peopleSweep,
		"a session sees as another person":           seeing,
		"passkeys":                                   passkeys,
		"the last way to sign in stays":              lastWay,
		"a required passkey stays":                   secondStep,
		"removals of all kinds at once leave a way":  lastWayRace,
		"a removal ends the other sessions":          removalEnds,
		"a new password ends links for another":      passwordEndsLinks,
		"an address changes":                         moves,
		"an address comes back":                      unmoves,
		"no more changes of address than allowed":    movesMost,
		"an address in a race":                       movesRace,
		"identities":                                 identities,
		"a change and its audit row, or neither one": peopleAudit,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newPerson(role apikey.Role, email string) (account.User, auth.Login) {
	u := account.User{ID: apikey.NewID("usr_"), Name: "Анна", Wallet: apikey.NewID("wal_"), Role: role, CreatedAt: at}
	return u, auth.Login{User: u.ID, Email: email, Password: "$argon2id$...", CreatedAt: at}
}

func mustPerson(t *testing.T, s *store.Store, email string) account.User {
	t.Helper()
	u, l := newPerson(apikey.User, email)
	ok(t, s.People.AddPerson(t.Context(), u, l, nil, "", event(audit.UserCreated)))
	return u
}

func newSession(user string) auth.Session {
	return auth.Session{ID: apikey.NewID("ses_"), Hash: auth.SumOf(apikey.NewID("")), User: user, Method: "password", CreatedAt: at, ProvedAt: at, SeenAt: at.Add(time.Second),
		ExpiresAt: at.Add(time.Hour), Address: "192.0.2.7", Agent: "Firefox"}
}

func mustSession(t *testing.T, s *store.Store, user string, edit func(*auth.Session)) auth.Session {
	t.Helper()
	n := newSession(user)
	if edit != nil {
		edit(&n)
	}
	ok(t, s.People.AddSession(t.Context(), n, 20, event(audit.SignedIn)))
	return n
}

func mustToken(t *testing.T, s *store.Store, kind string, edit func(*auth.Token)) auth.Token {
	t.Helper()
	n := auth.Token{Hash: auth.SumOf(apikey.NewID("")), ID: apikey.NewID("tok_"), Kind: kind, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
	if edit != nil {
		edit(&n)
	}
	ok(t, s.People.AddToken(t.Context(), n, 100))
	return n
}

func personRoundTrip(t *testing.T, s *store.Store) {
	u, l := newPerson(apikey.Operator, "anna@example.org")
	l.Confirmed = true
	i := auth.Identity{Issuer: "https://id.example.org", Subject: "42", User: u.ID, Email: "a@example.org", CreatedAt: at}
	ok(t, s.People.AddPerson(t.Context(), u, l, &i, "", event(audit.UserCreated)))
	p, err := s.People.PersonOf(t.Context(), u.ID)
	ok(t, err)
	if d := cmp.Diff(auth.Person{User: u, Email: l.Email, Confirmed: true, HasPassword: true}, p); d != "" {
		t.Fatal(d)
	}
	for _, find := range []func() (auth.Login, error){
		func() (auth.Login, error) { return s.People.LoginByEmail(t.Context(), l.Email) },
		func() (auth.Login, error) { return s.People.LoginOf(t.Context(), u.ID) },
	} {
		got, err := find()
		ok(t, err)
		if d := cmp.Diff(l, got); d != "" {
			t.Fatal(d)
		}
	}
	got, err := s.People.IdentityBy(t.Context(), i.Issuer, i.Subject)
	ok(t, err)
	if d := cmp.Diff(i, got); d != "" {
		t.Fatal(d)
	}
	_, err = s.People.LoginByEmail(t.Context(), "other@example.org")
	wantKind(t, err, fault.NotFound)
	_, err = s.People.PersonOf(t.Context(), "usr_none")
	wantKind(t, err, fault.NotFound)
	bare := mustUser(t, s)
	p, err = s.People.PersonOf(t.Context(), bare.ID)
	ok(t, err)
	if d := cmp.Diff(auth.Person{User: bare}, p); d != "" {
		t.Fatal(d)
	}
}

func personTwice(t *testing.T, s *store.Store) {
	mustPerson(t, s, "anna@example.org")
	u, l := newPerson(apikey.User, "anna@example.org")
	wantKind(t, s.People.AddPerson(t.Context(), u, l, nil, "", event(audit.UserCreated)), fault.Conflict)
	_, err := s.Accounts.UserByID(t.Context(), u.ID)
	wantKind(t, err, fault.NotFound)
	// people without an address are no conflict
	for range 2 {
		u, l := newPerson(apikey.User, "")
		ok(t, s.People.AddPerson(t.Context(), u, l, nil, "", event(audit.UserCreated)))
		_, err := s.People.LoginOf(t.Context(), u.ID)
		wantKind(t, err, fault.NotFound)
	}
}

func personRace(t *testing.T, s *store.Store) {
	token := mustToken(t, s, auth.Invitation, nil)
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			u, l := newPerson(apikey.User, apikey.NewID("")+"@example.org")
			switch err := s.People.AddPerson(t.Context(), u, l, nil, token.Hash, event(audit.UserCreated)); {
			case err == nil:
				made.Add(1)
			case !fault.Is(err, fault.NotFound):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	users, err := s.Accounts.ListUsers(t.Context())
	ok(t, err)
	if made.Load() != 1 || len(users) != 1 {
		t.Fatalf("one invitation made %d people, %d users", made.Load(), len(users))
	}
}

func loginLater(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	l := auth.Login{User: u.ID, Email: "anna@example.org", Password: "x", CreatedAt: at}
	ok(t, s.People.AddLogin(t.Context(), l, "", event(audit.LoginAdded)))
	l.Email = "other@example.org"
	wantKind(t, s.People.AddLogin(t.Context(), l, "", event(audit.LoginAdded)), fault.Conflict)
	p, err := s.People.PersonOf(t.Context(), u.ID)
	ok(t, err)
	if p.Email != "anna@example.org" {
		t.Fatalf("the address is %q", p.Email)
	}
}

func firstAdministrator(t *testing.T, s *store.Store) {
	_, _, err := s.People.FirstAdministrator(t.Context())
	wantKind(t, err, fault.NotFound)
	mustPerson(t, s, "user@example.org")
	_, _, err = s.People.FirstAdministrator(t.Context())
	wantKind(t, err, fault.NotFound)
	u := account.User{ID: apikey.NewID("usr_"), Name: "root", Wallet: apikey.NewID("wal_"), Role: apikey.Administrator, CreatedAt: at}
	ok(t, s.Accounts.CreateUser(t.Context(), u, event(audit.UserCreated)))
	got, canSignIn, err := s.People.FirstAdministrator(t.Context())
	ok(t, err)
	if got.ID != u.ID || canSignIn {
		t.Fatalf("%s, can sign in: %v; want %s, who cannot", got.ID, canSignIn, u.ID)
	}
	ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: "k", User: u.ID, CreatedAt: at}, 1, event(audit.PasskeyAdded)))
	if _, canSignIn, err = s.People.FirstAdministrator(t.Context()); err != nil || !canSignIn {
		t.Fatalf("an administrator with a passkey cannot sign in: %v", err)
	}
	// The last one stays: who else has the role is disabled.
	disable := func(id string) error {
		return s.Accounts.SetUserDisabled(t.Context(), id, true, at, event(audit.UserDisabled))
	}
	demote := func(id string) error {
		return s.Accounts.SetUserRole(t.Context(), id, apikey.Operator, at, event(audit.UserRole))
	}
	wantKind(t, disable(u.ID), fault.Conflict)
	wantKind(t, demote(u.ID), fault.Conflict)
	second := account.User{ID: apikey.NewID("usr_"), Name: "second", Wallet: apikey.NewID("wal_"), Role: apikey.Administrator, CreatedAt: at.Add(time.Second)}
	ok(t, s.Accounts.CreateUser(t.Context(), second, event(audit.UserCreated)))
	ok(t, disable(u.ID))
	ok(t, disable(u.ID))
	if got, canSignIn, err = s.People.FirstAdministrator(t.Context()); err != nil || got.ID != second.ID || canSignIn {
		t.Fatalf("%s, can sign in: %v, %v; want %s, who cannot", got.ID, canSignIn, err, second.ID)
	}
	wantKind(t, disable(second.ID), fault.Conflict)
	wantKind(t, demote(second.ID), fault.Conflict)
	ok(t, demote(u.ID))
	wantKind(t, s.Accounts.SetUserRole(t.Context(), "usr_none", apikey.User, at, event(audit.UserRole)), fault.NotFound)
	wantKind(t, disable("usr_none"), fault.NotFound)
}

// Of administrators who take the role from one another at one moment, one keeps it.
func lastAdministratorRace(t *testing.T, s *store.Store) {
	var ids []string
	for range 4 {
		u := account.User{ID: apikey.NewID("usr_"), Name: "root", Wallet: apikey.NewID("wal_"), Role: apikey.Administrator, CreatedAt: at}
		ok(t, s.Accounts.CreateUser(t.Context(), u, event(audit.UserCreated)))
		ids = append(ids, u.ID)
	}
	var wg sync.WaitGroup
	var refused atomic.Int64
	for i, id := range ids {
		wg.Go(func() {
			var err error
			if i%2 == 0 {
				err = s.Accounts.SetUserDisabled(t.Context(), id, true, at, event(audit.UserDisabled))
			} else {
				err = s.Accounts.SetUserRole(t.Context(), id, apikey.User, at, event(audit.UserRole))
			}
			switch {
			case fault.Is(err, fault.Conflict):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := refused.Load(); n != 1 {
		t.Errorf("%d of 4 were refused", n)
	}
}

func sessionRoundTrip(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, "anna@example.org")
	want := mustSession(t, s, u.ID, nil)
	got, p, err := s.People.SessionBy(t.Context(), want.Hash)
	ok(t, err)
	if d := cmp.Diff(want, got); d != "" || p.ID != u.ID || p.Email != "anna@example.org" || p.Wallet != u.Wallet {
		t.Fatalf("%s\n%+v", d, p)
	}
	later := at.Add(time.Minute)
	ok(t, s.People.TouchSession(t.Context(), want.Hash, later, false))
	want.SeenAt = later
	if got, _, err = s.People.SessionBy(t.Context(), want.Hash); err != nil || got != want {
		t.Fatalf("after a use: %+v, %v", got, err)
	}
	ok(t, s.People.TouchSession(t.Context(), want.Hash, later, true))
	want.ProvedAt = later
	if got, _, err = s.People.SessionBy(t.Context(), want.Hash); err != nil || got != want {
		t.Fatalf("after a proof: %+v, %v", got, err)
	}
	_, _, err = s.People.SessionBy(t.Context(), auth.SumOf("other"))
	wantKind(t, err, fault.NotFound)
	wantKind(t, s.People.TouchSession(t.Context(), auth.SumOf("other"), later, true), fault.NotFound)
}

func sessionsMost(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	kept := mustSession(t, s, other.ID, nil)
	var all []auth.Session
	for i := range 5 {
		n := newSession(u.ID)
		n.SeenAt = at.Add(time.Duration(i) * time.Second)
		ok(t, s.People.AddSession(t.Context(), n, 3, event(audit.SignedIn)))
		all = append(all, n)
	}
	got, err := s.People.SessionsOf(t.Context(), u.ID, at)
	ok(t, err)
	if d := cmp.Diff([]auth.Session{all[4], all[3], all[2]}, got); d != "" {
		t.Fatal(d)
	}
	if got, err = s.People.SessionsOf(t.Context(), other.ID, at); err != nil || len(got) != 1 || got[0] != kept {
		t.Fatalf("another user's sessions: %v, %v", got, err)
	}
	if got, err = s.People.SessionsOf(t.Context(), u.ID, at.Add(time.Hour)); err != nil || len(got) != 0 {
		t.Fatalf("expired sessions are listed: %v, %v", got, err)
	}
}

func sessionsEnd(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	one, two, foreign := mustSession(t, s, u.ID, nil), mustSession(t, s, u.ID, nil), mustSession(t, s, other.ID, nil)
	wantKind(t, s.People.EndSession(t.Context(), u.ID, foreign.ID, at, event(audit.SessionsEnded)), fault.NotFound)
	ok(t, s.People.EndSession(t.Context(), u.ID, one.ID, at, event(audit.SessionsEnded)))
	_, _, err := s.People.SessionBy(t.Context(), one.Hash)
	wantKind(t, err, fault.NotFound)
	mustSession(t, s, u.ID, nil)
	n, err := s.People.EndSessions(t.Context(), u.ID, two.Hash, at, event(audit.SessionsEnded))
	if err != nil || n != 1 {
		t.Fatalf("%d sessions ended, %v; want 1", n, err)
	}
	for _, left := range []auth.Session{two, foreign} {
		if _, _, err := s.People.SessionBy(t.Context(), left.Hash); err != nil {
			t.Fatal(err)
		}
	}
}

func passwordEnds(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	one, two, foreign := mustSession(t, s, u.ID, nil), mustSession(t, s, u.ID, nil), mustSession(t, s, other.ID, nil)
	ok(t, s.People.SetPassword(t.Context(), u.ID, "new", two.Hash, "", true, at, event(audit.PasswordSet)))
	_, _, err := s.People.SessionBy(t.Context(), one.Hash)
	wantKind(t, err, fault.NotFound)
	for _, left := range []auth.Session{two, foreign} {
		if _, _, err := s.People.SessionBy(t.Context(), left.Hash); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := s.People.LoginOf(t.Context(), u.ID); err != nil || l.Password != "new" || !l.Confirmed {
		t.Fatalf("%+v, %v", l, err)
	}
	wantKind(t, s.People.SetPassword(t.Context(), mustUser(t, s).ID, "new", "", "", false, at, event(audit.PasswordSet)), fault.NotFound)
}

// firstProof has strangers put into accounts what lets them in: it goes when the address is proven for the first time, and only then.
func firstProof(t *testing.T, s *store.Store) {
	for name, c := range map[string]struct {
		role                  apikey.Role
		confirmed, second, by bool // by: the link came by mail
		proven, stays         bool
	}{
		"first":                           {by: true, proven: true},
		"the second time":                 {confirmed: true, by: true, proven: true, stays: true},
		"not by mail":                     {stays: true},
		"a passkey is required":           {second: true, by: true, stays: true},
		"an administrator":                {role: apikey.Administrator, by: true, proven: true, stays: true},
		"an operator is no administrator": {role: apikey.Operator, by: true, proven: true},
	} {
		u, l := newPerson(c.role, fmt.Sprintf("p%d@example.org", len(name)))
		l.Confirmed = c.confirmed
		ok(t, s.People.AddPerson(t.Context(), u, l, &auth.Identity{Issuer: "https://id.example.org", Subject: name, User: u.ID, CreatedAt: at}, "", event(audit.UserCreated)))
		ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: name, User: u.ID, CreatedAt: at}, 20, event(audit.PasskeyAdded)))
		if c.second {
			ok(t, s.People.SetSecondStep(t.Context(), u.ID, true, "", at, event(audit.SecondStepOn)))
		}
		key := mustKey(t, s, u.ID, nil)
		keep, err := s.People.SetWebKey(t.Context(), u.ID, "", key.Hash)
		if err != nil || !keep {
			t.Fatal(keep, err)
		}
		ok(t, s.People.SetPassword(t.Context(), u.ID, "new", "", "", c.by, at, event(audit.PasswordSet)))
		p, err := s.People.PersonOf(t.Context(), u.ID)
		ok(t, err)
		found, err := s.Accounts.KeyByHash(t.Context(), key.Hash)
		ok(t, err)
		devices, err := s.People.PasskeysOf(t.Context(), u.ID)
		ok(t, err)
		elsewhere, err := s.People.IdentitiesOf(t.Context(), u.ID)
		ok(t, err)
		left := []bool{found.DeletedAt.IsZero(), len(devices) > 0, len(elsewhere) > 0, p.WebKey != ""}
		if p.Confirmed != c.proven || slices.Contains(left, !c.stays) {
			t.Errorf("%s: confirmed %t; key, passkey, identity and the browser's key are left: %t", name, p.Confirmed, left)
		}
	}
}

func tokenOnce(t *testing.T, s *store.Store) {
	want := mustToken(t, s, auth.Invitation, func(n *auth.Token) {
		n.User, n.Email, n.Role, n.Note, n.Data = "usr_x", "a@example.org", apikey.Operator, "for Anna", "{}"
	})
	got, err := s.People.TokenBy(t.Context(), auth.Invitation, want.Hash, at)
	ok(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	for name, try := range map[string]struct {
		kind, hash string
		at         time.Time
	}{"another kind": {auth.Reset, want.Hash, at}, "another text": {auth.Invitation, auth.SumOf("x"), at}, "too late": {auth.Invitation, want.Hash, want.ExpiresAt}} {
		if _, err := s.People.UseToken(t.Context(), try.kind, try.hash, try.at); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := s.People.Tokens(t.Context(), auth.Invitation, at)
	ok(t, err)
	if d := cmp.Diff([]auth.Token{want}, list); d != "" {
		t.Fatal(d)
	}
	if got, err = s.People.UseToken(t.Context(), auth.Invitation, want.Hash, at); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = s.People.UseToken(t.Context(), auth.Invitation, want.Hash, at)
	wantKind(t, err, fault.NotFound)
	gone := mustToken(t, s, auth.Invitation, nil)
	wantKind(t, s.People.DeleteToken(t.Context(), auth.Reset, gone.ID, at, event(audit.Uninvited)), fault.NotFound)
	ok(t, s.People.DeleteToken(t.Context(), auth.Invitation, gone.ID, at, event(audit.Uninvited)))
	_, err = s.People.TokenBy(t.Context(), auth.Invitation, gone.Hash, at)
	wantKind(t, err, fault.NotFound)
}

func tokenRace(t *testing.T, s *store.Store) {
	token := mustToken(t, s, auth.Step, nil)
	var used atomic.Int64
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			switch _, err := s.People.UseToken(t.Context(), auth.Step, token.Hash, at); {
			case err == nil:
				used.Add(1)
			case !fault.Is(err, fault.NotFound):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if used.Load() != 1 {
		t.Fatalf("a token worked %d times", used.Load())
	}
}

// A newer token makes an older one of its owner end, and those of no other account. Invitations, which an operator has handed out, end by no other.
func tokensMost(t *testing.T, s *store.Store) {
	token := func(kind, email string, created time.Time) auth.Token {
		return auth.Token{Hash: auth.SumOf(apikey.NewID("")), ID: apikey.NewID("tok_"), Kind: kind, User: "owner", Email: email, CreatedAt: created, ExpiresAt: created.Add(time.Hour)}
	}
	works := func(n auth.Token) bool {
		_, err := s.People.TokenBy(t.Context(), n.Kind, n.Hash, at.Add(time.Minute))
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, kind := range []string{auth.Confirm, auth.Reset, auth.Setup, auth.Step} {
		others := token(kind, "b@example.org", at)
		ok(t, s.People.AddToken(t.Context(), others, 2))
		var all []auth.Token
		for i := range 4 {
			n := token(kind, "a@example.org", at.Add(time.Duration(i)*time.Second))
			ok(t, s.People.AddToken(t.Context(), n, 2))
			all = append(all, n)
		}
		for i, n := range all {
			if works(n) != (i >= 2) {
				t.Errorf("%s: token %d of 4 works: %v", kind, i, works(n))
			}
		}
		if !works(others) {
			t.Errorf("%s: a token of another address ended", kind)
		}
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if s.People.AddToken(t.Context(), token(auth.Invitation, fmt.Sprint(i, "@example.org"), at), 2) == nil {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if made.Load() != 2 {
		t.Fatalf("%d invitations were made; want 2", made.Load())
	}
}

func usedLink(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, "anna@example.org")
	link := mustToken(t, s, auth.Reset, nil)
	ok(t, s.People.SetPassword(t.Context(), u.ID, "first", "", link.Hash, false, at, event(audit.PasswordSet)))
	wantKind(t, s.People.SetPassword(t.Context(), u.ID, "second", "", link.Hash, false, at, event(audit.PasswordSet)), fault.NotFound)
	if l, err := s.People.LoginOf(t.Context(), u.ID); err != nil || l.Password != "first" {
		t.Fatalf("the password is %q, %v", l.Password, err)
	}
	bare := mustUser(t, s)
	wantKind(t, s.People.AddLogin(t.Context(), auth.Login{User: bare.ID, Email: "b@example.org", CreatedAt: at}, link.Hash, event(audit.LoginAdded)), fault.NotFound)
	_, err := s.People.LoginOf(t.Context(), bare.ID)
	wantKind(t, err, fault.NotFound)
}

func webKey(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	for i, try := range []struct {
		before, hash string
		done         bool
	}{{"", "one", true}, {"", "two", false}, {"one", "two", true}} {
		if done, err := s.People.SetWebKey(t.Context(), u.ID, try.before, try.hash); err != nil || done != try.done {
			t.Fatalf("%d: %v, %v", i, done, err)
		}
	}
	if p, err := s.People.PersonOf(t.Context(), u.ID); err != nil || p.WebKey != "two" {
		t.Fatalf("%q, %v", p.WebKey, err)
	}
}

func peopleSweep(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, "anna@example.org")
	now := at.Add(time.Hour)
	left := mustSession(t, s, u.ID, func(n *auth.Session) { n.ExpiresAt, n.SeenAt = now.Add(time.Second), now })
	mustSession(t, s, u.ID, func(n *auth.Session) { n.ExpiresAt, n.SeenAt = now, now })
	mustSession(t, s, u.ID, func(n *auth.Session) { n.ExpiresAt, n.SeenAt = now.Add(time.Hour), at.Add(-time.Hour) })
	mustToken(t, s, auth.Reset, func(n *auth.Token) { n.ExpiresAt = now })
	link := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.ExpiresAt = now.Add(time.Second) })
	total := 0
	for range 3 { // one at a time
		n, err := s.People.SweepPeople(t.Context(), now, at, 1)
		ok(t, err)
		total += n
	}
	if total != 3 {
		t.Fatalf("%d were swept; want 3", total)
	}
	if _, _, err := s.People.SessionBy(t.Context(), left.Hash); err != nil {
		t.Fatal(err)
	}
	if _, err := s.People.TokenBy(t.Context(), auth.Reset, link.Hash, now); err != nil {
		t.Fatal(err)
	}
}

func seeing(t *testing.T, s *store.Store) {
	boss, u := mustPerson(t, s, "boss@example.org"), mustPerson(t, s, "anna@example.org")
	one, two := mustSession(t, s, boss.ID, nil), mustSession(t, s, boss.ID, nil)
	want := auth.Seeing{Session: one.Hash, By: boss.ID, User: u.ID, BeganAt: at, Until: at.Add(auth.SeeFor)}
	ok(t, s.People.BeginSeeing(t.Context(), want, event(audit.SeeingBegan)))
	wantKind(t, s.People.BeginSeeing(t.Context(), want, event(audit.SeeingBegan)), fault.Conflict)
	none := want
	none.Session = auth.SumOf("other")
	wantKind(t, s.People.BeginSeeing(t.Context(), none, event(audit.SeeingBegan)), fault.NotFound)
	over := func(now time.Time, want ...auth.Seeing) {
		t.Helper()
		got, err := s.People.SeeingOver(t.Context(), now, 10)
		ok(t, err)
		if d := cmp.Diff(append([]auth.Seeing{}, want...), got); d != "" {
			t.Error(d)
		}
	}
	for hash, sees := range map[string]string{one.Hash: u.ID, two.Hash: ""} {
		got, p, err := s.People.SessionBy(t.Context(), hash)
		ok(t, err)
		if got.Sees != sees || p.ID != boss.ID || sees != "" && (got.SeesSince != at || got.SeesUntil != want.Until) {
			t.Errorf("%+v of %s", got, p.ID)
		}
	}
	over(want.Until.Add(-time.Microsecond))
	over(want.Until, want)
	ok(t, s.People.EndSession(t.Context(), boss.ID, one.ID, at, event(audit.SessionsEnded)))
	over(at, want) // so that its end is in the audit, too
	ok(t, s.People.EndSeeing(t.Context(), one.Hash, at, event(audit.SeeingEnded)))
	wantKind(t, s.People.EndSeeing(t.Context(), one.Hash, at, event(audit.SeeingEnded)), fault.NotFound)
	over(want.Until)
	rows, err := s.Accounts.AuditFound(t.Context(), audit.Search{Action: "see_as.", Limit: 10})
	if err != nil || len(rows) != 2 {
		t.Errorf("%d lines of the audit, %v: what fails leaves none", len(rows), err)
	}
}

func passkeys(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	want := auth.Passkey{ID: "c29tZQ", User: u.ID, Name: "телефон", Data: `{"a":1}`, CreatedAt: at}
	ok(t, s.People.AddPasskey(t.Context(), want, 2, event(audit.PasskeyAdded)))
	wantKind(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: want.ID, User: other.ID, CreatedAt: at}, 2, event(audit.PasskeyAdded)), fault.Conflict)
	ok(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: "b", User: u.ID, CreatedAt: at.Add(time.Second)}, 2, event(audit.PasskeyAdded)))
	wantKind(t, s.People.AddPasskey(t.Context(), auth.Passkey{ID: "c", User: u.ID, CreatedAt: at}, 2, event(audit.PasskeyAdded)), fault.Invalid)
	ok(t, s.People.UsedPasskey(t.Context(), want.ID, want.Data, `{"a":2}`, at.Add(time.Minute)))
	wantKind(t, s.People.UsedPasskey(t.Context(), want.ID, want.Data, `{"a":3}`, at.Add(time.Minute)), fault.NotFound)
	wantKind(t, s.People.RenamePasskey(t.Context(), other.ID, want.ID, "x", at, event(audit.PasskeyRenamed)), fault.NotFound)
	ok(t, s.People.RenamePasskey(t.Context(), u.ID, want.ID, "ключ", at, event(audit.PasskeyRenamed)))
	want.Name, want.Data, want.UsedAt = "ключ", `{"a":2}`, at.Add(time.Minute)
	got, err := s.People.PasskeyBy(t.Context(), want.ID)
	ok(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	list, err := s.People.PasskeysOf(t.Context(), u.ID)
	if err != nil || len(list) != 2 || list[0] != want {
		t.Fatalf("%v, %v", list, err)
	}
	wantKind(t, s.People.DeletePasskey(t.Context(), want.ID, removal(other.ID, auth.Ways{Always: true})), fault.NotFound)
	ok(t, s.People.DeletePasskey(t.Context(), want.ID, removal(u.ID, auth.Ways{})))
	_, err = s.People.PasskeyBy(t.Context(), want.ID)
	wantKind(t, err, fault.NotFound)
	wantKind(t, s.People.UsedPasskey(t.Context(), want.ID, want.Data, "", at), fault.NotFound)
}

func identities(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	want := auth.Identity{Issuer: "https://id.example.org", Subject: "42", User: u.ID, Email: "a@example.org", CreatedAt: at}
	ok(t, s.People.AddIdentity(t.Context(), want, event(audit.IdentityAdded)))
	twice := want
	twice.User = other.ID
	wantKind(t, s.People.AddIdentity(t.Context(), twice, event(audit.IdentityAdded)), fault.Conflict)
	list, err := s.People.IdentitiesOf(t.Context(), u.ID)
	ok(t, err)
	if d := cmp.Diff([]auth.Identity{want}, list); d != "" {
		t.Fatal(d)
	}
	wantKind(t, s.People.DeleteIdentity(t.Context(), want.Issuer, want.Subject, removal(other.ID, auth.Ways{Always: true})), fault.NotFound)
	ok(t, s.People.DeleteIdentity(t.Context(), want.Issuer, want.Subject, removal(u.ID, auth.Ways{Passwords: true})))
	_, err = s.People.IdentityBy(t.Context(), want.Issuer, want.Subject)
	wantKind(t, err, fault.NotFound)
}

func peopleAudit(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, "anna@example.org")
	mustSession(t, s, u.ID, nil)
	wantKind(t, s.People.EndSession(t.Context(), u.ID, "ses_none", at, event(audit.SessionsEnded)), fault.NotFound)
	var actions []string
	for row, err := range s.Accounts.AuditRows(t.Context()) {
		ok(t, err)
		actions = append(actions, row.Action)
	}
	if d := cmp.Diff([]string{audit.UserCreated, audit.SignedIn}, actions); d != "" {
		t.Fatal(d)
	}
	if n, err := audit.Verify(s.Accounts.AuditRows(t.Context())); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
}
