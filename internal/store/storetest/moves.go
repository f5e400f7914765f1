package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/store"
)

// moving is a link to a new address of a user, and what undoes it.
func moving(user, to, from string, when time.Time) (link, undo auth.Token) {
	link = auth.Token{Hash: auth.SumOf(apikey.NewID("")), ID: apikey.NewID("tok_"), Kind: auth.Address, User: user, Email: to, CreatedAt: when, ExpiresAt: when.Add(24 * time.Hour)}
	undo = auth.Token{Hash: auth.SumOf(apikey.NewID("")), ID: apikey.NewID("tok_"), Kind: auth.Undo, User: user, Email: from, CreatedAt: when, ExpiresAt: when.Add(7 * 24 * time.Hour)}
	return link, undo
}

// move gives a user an address, and returns what undoes it.
func move(t *testing.T, s *store.Store, user, to, from string, when time.Time) auth.Token {
	t.Helper()
	link, _ := moving(user, to, from, when)
	if done, err := s.People.AddMove(t.Context(), link, auth.Token{}, 100, 100, event(audit.AddressAsked)); err != nil || !done {
		t.Fatalf("%v, %v", done, err)
	}
	_, undo := moving(user, to, from, when)
	ok(t, s.People.Move(t.Context(), auth.Move{User: user, Email: to, Use: link.Hash, Undo: undo, Now: when, Event: event(audit.AddressMoved)}))
	return undo
}

func wantEmail(t *testing.T, s *store.Store, user, want string) {
	t.Helper()
	if p, err := s.People.PersonOf(t.Context(), user); err != nil || p.Email != want {
		t.Fatalf("the address is %q, %v; want %q", p.Email, err, want)
	}
}

// moves is one change of an address, with what ends with it.
func moves(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "anna@example.org"), mustPerson(t, s, "boris@example.org")
	kept, ended, foreign := mustSession(t, s, u.ID, nil), mustSession(t, s, u.ID, nil), mustSession(t, s, other.ID, nil)
	reset := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User, n.Email = u.ID, "anna@example.org" })
	link, undo := moving(u.ID, "new@example.org", "anna@example.org", at)
	done, err := s.People.AddMove(t.Context(), link, undo, 5, 3, event(audit.AddressAsked))
	if err != nil || !done {
		t.Fatalf("%v, %v", done, err)
	}
	wantEmail(t, s, u.ID, "anna@example.org")
	_, later := moving(u.ID, "", "anna@example.org", at.Add(time.Minute))
	n := auth.Move{User: u.ID, Email: "new@example.org", Use: link.Hash, Keep: kept.Hash, Undo: later, Now: at.Add(time.Minute), Event: event(audit.AddressMoved)}
	for name, change := range map[string]func(*auth.Move){
		"another user":    func(n *auth.Move) { n.User = other.ID },
		"another address": func(n *auth.Move) { n.Email = "third@example.org" },
		"another link":    func(n *auth.Move) { n.Use = undo.Hash },
		"too late":        func(n *auth.Move) { n.Now = link.ExpiresAt },
	} {
		wrong := n
		change(&wrong)
		if err := s.People.Move(t.Context(), wrong); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ok(t, s.People.Move(t.Context(), n))
	wantKind(t, s.People.Move(t.Context(), n), fault.NotFound) // a link works once
	l, err := s.People.LoginByEmail(t.Context(), "new@example.org")
	if err != nil || l.User != u.ID || !l.Confirmed || l.Password == "" {
		t.Fatalf("%+v, %v", l, err)
	}
	_, err = s.People.LoginByEmail(t.Context(), "anna@example.org")
	wantKind(t, err, fault.NotFound)
	for hash, want := range map[string]bool{kept.Hash: true, ended.Hash: false, foreign.Hash: true} {
		if _, _, err := s.People.SessionBy(t.Context(), hash); (err == nil) != want {
			t.Errorf("a session goes on: %v; want %v", err == nil, want)
		}
	}
	_, err = s.People.TokenBy(t.Context(), auth.Reset, reset.Hash, at)
	wantKind(t, err, fault.NotFound)
	// somebody without an address gets a login
	bare := mustUser(t, s)
	ok(t, s.People.Move(t.Context(), auth.Move{User: bare.ID, Email: "bare@example.org", Now: at, Event: event(audit.AddressMoved)}))
	if l, err := s.People.LoginOf(t.Context(), bare.ID); err != nil || l.Email != "bare@example.org" || l.Password != "" || !l.Confirmed {
		t.Fatalf("%+v, %v", l, err)
	}
}

// unmoves is a chain of addresses, of which the first owner takes the account back.
func unmoves(t *testing.T, s *store.Store) {
	u, other := mustPerson(t, s, "a@example.org"), mustPerson(t, s, "other@example.org")
	first := move(t, s, u.ID, "b@example.org", "a@example.org", at)
	second := move(t, s, u.ID, "c@example.org", "b@example.org", at.Add(time.Minute))
	third := move(t, s, u.ID, "d@example.org", "c@example.org", at.Add(2*time.Minute))
	// no account takes an address that may come back: by signing up, by a login or by moving there
	n, l := newPerson(apikey.User, "a@example.org")
	wantKind(t, s.People.AddPerson(t.Context(), n, l, nil, "", event(audit.UserCreated)), fault.Conflict)
	wantKind(t, s.People.AddLogin(t.Context(), auth.Login{User: mustUser(t, s).ID, Email: "b@example.org", CreatedAt: at}, "", event(audit.LoginAdded)), fault.Conflict)
	wantKind(t, s.People.Move(t.Context(), auth.Move{User: other.ID, Email: "a@example.org", Now: at, Event: event(audit.AddressMoved)}), fault.Conflict)
	wantKind(t, s.People.Move(t.Context(), auth.Move{User: other.ID, Email: "d@example.org", Now: at, Event: event(audit.AddressMoved)}), fault.Conflict)
	wantEmail(t, s, other.ID, "other@example.org")

	session := mustSession(t, s, u.ID, nil)
	reset := mustToken(t, s, auth.Reset, func(n *auth.Token) { n.User = u.ID })
	open, _ := moving(u.ID, "e@example.org", "d@example.org", at.Add(3*time.Minute))
	if done, err := s.People.AddMove(t.Context(), open, auth.Token{}, 100, 100, event(audit.AddressAsked)); err != nil || !done {
		t.Fatal(err)
	}
	now := at.Add(time.Hour)
	wantKind(t, s.People.Unmove(t.Context(), second, second.ExpiresAt, event(audit.AddressKept)), fault.NotFound)
	stolen := second
	stolen.User = other.ID
	wantKind(t, s.People.Unmove(t.Context(), stolen, now, event(audit.AddressKept)), fault.NotFound)
	ok(t, s.People.Unmove(t.Context(), second, now, event(audit.AddressKept)))
	wantEmail(t, s, u.ID, "b@example.org")
	// what came later is over: the thief's own undo, the open change, links and sessions
	for _, undo := range []auth.Token{second, third} {
		wantKind(t, s.People.Unmove(t.Context(), undo, now, event(audit.AddressKept)), fault.NotFound)
	}
	wantKind(t, s.People.Move(t.Context(), auth.Move{User: u.ID, Email: open.Email, Use: open.Hash, Now: now, Event: event(audit.AddressMoved)}), fault.NotFound)
	_, _, err := s.People.SessionBy(t.Context(), session.Hash)
	wantKind(t, err, fault.NotFound)
	_, err = s.People.TokenBy(t.Context(), auth.Reset, reset.Hash, at)
	wantKind(t, err, fault.NotFound)
	// the undo from before still works, and the address that its account cannot take back any more is free
	ok(t, s.People.Unmove(t.Context(), first, now, event(audit.AddressKept)))
	wantEmail(t, s, u.ID, "a@example.org")
	ok(t, s.People.Move(t.Context(), auth.Move{User: other.ID, Email: "c@example.org", Now: now, Event: event(audit.AddressMoved)}))
	ok(t, s.People.Move(t.Context(), auth.Move{User: other.ID, Email: "third@example.org", Now: second.ExpiresAt, Event: event(audit.AddressMoved)}))
}

// movesMost is what one user, and all users together, may ask for.
func movesMost(t *testing.T, s *store.Store) {
	ask := func(user, to string, when time.Time) (bool, error) {
		link, undo := moving(user, to, user+"@example.org", when)
		return s.People.AddMove(t.Context(), link, undo, 4, 2, event(audit.AddressAsked))
	}
	a, b, c := mustUser(t, s), mustUser(t, s), mustUser(t, s)
	for _, try := range []struct {
		user, to string
		when     time.Time
		done     bool
		limited  bool
	}{
		{a.ID, "v@example.org", at, true, false},
		{b.ID, "v@example.org", at, true, false},
		{c.ID, "v@example.org", at, false, false}, // the address had enough
		{a.ID, "v@example.org", at, false, false},
		{a.ID, "w@example.org", at, true, false},
		{a.ID, "y@example.org", at, true, false},
		{a.ID, "z@example.org", at, false, true}, // the user had enough, whatever became of what they asked for
		{a.ID, "z@example.org", at.Add(25 * time.Hour), true, false},
		{c.ID, "v@example.org", at.Add(25 * time.Hour), true, false},
	} {
		done, err := ask(try.user, try.to, try.when)
		if done != try.done || fault.Is(err, fault.RateLimited) != try.limited || !try.limited && err != nil {
			t.Fatalf("%+v: %v, %v", try, done, err)
		}
	}
	// a later link ends the one before, and one that was stopped still counts
	first, undo := moving(b.ID, "one@example.org", b.ID+"@example.org", at.Add(time.Minute))
	if done, err := s.People.AddMove(t.Context(), first, undo, 4, 2, event(audit.AddressAsked)); err != nil || !done {
		t.Fatal(err)
	}
	if done, err := ask(b.ID, "two@example.org", at.Add(2*time.Minute)); err != nil || !done {
		t.Fatal(err)
	}
	_, err := s.People.TokenBy(t.Context(), auth.Address, first.Hash, at)
	wantKind(t, err, fault.NotFound)
	ok(t, s.People.Unmove(t.Context(), undo, at.Add(3*time.Minute), event(audit.AddressKept)))
	if done, err := ask(b.ID, "one@example.org", at.Add(4*time.Minute)); err != nil || !done {
		t.Fatal(err)
	}
	_, err = ask(b.ID, "three@example.org", at.Add(4*time.Minute))
	wantKind(t, err, fault.RateLimited)
	if done, err := ask(mustUser(t, s).ID, "one@example.org", at.Add(4*time.Minute)); err != nil || done {
		t.Fatalf("an address gets more mails when changes are stopped: %v", err)
	}
}

// movesRace is several users who want one address at once, and one user who signs up with it.
func movesRace(t *testing.T, s *store.Store) {
	const want = "want@example.org"
	var got atomic.Int64
	var wg sync.WaitGroup
	count := func(err error) {
		switch {
		case err == nil:
			got.Add(1)
		case !fault.Is(err, fault.Conflict):
			t.Error(err)
		}
	}
	for range 4 {
		u := mustPerson(t, s, apikey.NewID("")+"@example.org")
		wg.Go(func() {
			_, undo := moving(u.ID, "", u.ID+"@example.org", at)
			count(s.People.Move(t.Context(), auth.Move{User: u.ID, Email: want, Undo: undo, Now: at, Event: event(audit.AddressMoved)}))
		})
	}
	wg.Go(func() {
		u, l := newPerson(apikey.User, want)
		count(s.People.AddPerson(t.Context(), u, l, nil, "", event(audit.UserCreated)))
	})
	wg.Wait()
	if got.Load() != 1 {
		t.Fatalf("%d users got the address", got.Load())
	}
	// somebody leaves an address while others sign up with it: it is held
	owner, err := s.People.LoginByEmail(t.Context(), want)
	ok(t, err)
	_, undo := moving(owner.User, "", want, at)
	wg.Go(func() {
		if err := s.People.Move(t.Context(), auth.Move{User: owner.User, Email: "left@example.org", Undo: undo, Now: at, Event: event(audit.AddressMoved)}); err != nil {
			t.Error(err)
		}
	})
	for range 4 {
		wg.Go(func() {
			u, l := newPerson(apikey.User, want)
			if err := s.People.AddPerson(t.Context(), u, l, nil, "", event(audit.UserCreated)); !fault.Is(err, fault.Conflict) {
				t.Errorf("somebody signed up with an address that is held: %v", err)
			}
		})
	}
	wg.Wait()
	ok(t, s.People.Unmove(t.Context(), undo, at, event(audit.AddressKept)))
}
