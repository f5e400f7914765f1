package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store"
)

// Agents is the suite of agent.Store.
func Agents(t *testing.T, open Open) {
	s := open(t, nil)
	for name, test := range map[string]func(*testing.T, *store.Store){
		"Devices": agentDevices, "Begin": agentBegin, "BeginOnce": agentBeginOnce, "Renew": agentRenew, "RenewRace": agentRenewRace, "Ends": agentEnds, "Most": agentMost, "Sweep": agentSweep, "Forget": agentForget, "Reports": agentReports,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

var bounds = agent.Bounds{OfNetwork: 2, All: 1000, SignIns: 3, Keys: 10}

func newDevice(network string) agent.Device {
	return agent.Device{Hash: apikey.NewID("hash"), Code: apikey.NewID(""), Client: "Claude Code", Address: "192.0.2.1", Network: network, State: agent.Waiting, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
}

// allowed is a device that a user has allowed.
func allowed(t *testing.T, s *store.Store, user string) agent.Device {
	t.Helper()
	d := newDevice(apikey.NewID(""))
	ok(t, s.Agents.AddDevice(t.Context(), d, bounds))
	d, err := s.Agents.Decide(t.Context(), d.Code, user, agent.Allowed, at, event(audit.AgentAllowed))
	ok(t, err)
	return d
}

func signInOf(d *agent.Device, renewed time.Time) (apikey.Key, agent.SignIn) {
	key, _ := apikey.Make(apikey.NewKey{Name: "Claude Code", User: d.User, Creator: d.User, ExpiresAt: at.Add(time.Hour)}, at)
	return key, agent.SignIn{Key: key.ID, User: d.User, Family: apikey.NewID(""), Hash: apikey.NewID(""), Former: d.Hash, Salt: "salt", Client: d.Client, Address: d.Address, CreatedAt: at, RenewedAt: renewed, ExpiresAt: at.Add(24 * time.Hour)}
}

func mustSignIn(t *testing.T, s *store.Store, user string, renewed time.Time) (apikey.Key, agent.SignIn) {
	t.Helper()
	d := allowed(t, s, user)
	key, n := signInOf(&d, renewed)
	ok(t, s.Agents.Begin(t.Context(), d.Hash, key, n, bounds, event(audit.KeyCreated)))
	return key, n
}

func agentDevices(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	one := newDevice("a network")
	ok(t, s.Agents.AddDevice(t.Context(), one, bounds))
	same := newDevice("another network")
	same.Code = one.Code
	wantKind(t, s.Agents.AddDevice(t.Context(), same, bounds), fault.Conflict)
	ok(t, s.Agents.AddDevice(t.Context(), newDevice("a network"), bounds))
	wantKind(t, s.Agents.AddDevice(t.Context(), newDevice("a network"), bounds), fault.RateLimited)
	full := bounds
	full.All = 2
	wantKind(t, s.Agents.AddDevice(t.Context(), newDevice("a third network"), full), fault.RateLimited)

	got, err := s.Agents.DeviceBy(t.Context(), one.Hash)
	ok(t, err)
	equal(t, "by its hash", got, one)
	got, err = s.Agents.DeviceByCode(t.Context(), one.Code, at)
	ok(t, err)
	equal(t, "by its code", got, one)
	_, err = s.Agents.DeviceByCode(t.Context(), one.Code, one.ExpiresAt)
	wantKind(t, err, fault.NotFound)
	_, err = s.Agents.Decide(t.Context(), one.Code, u.ID, agent.Allowed, one.ExpiresAt, event(audit.AgentAllowed))
	wantKind(t, err, fault.NotFound)
	got, err = s.Agents.Decide(t.Context(), one.Code, u.ID, agent.Denied, at, event(audit.AgentDenied))
	ok(t, err)
	one.State, one.User = agent.Denied, u.ID
	equal(t, "denied", got, one)
	_, err = s.Agents.Decide(t.Context(), one.Code, u.ID, agent.Allowed, at, event(audit.AgentAllowed))
	wantKind(t, err, fault.NotFound)
	_, err = s.Agents.DeviceByCode(t.Context(), one.Code, at)
	wantKind(t, err, fault.NotFound)
	key, n := signInOf(&one, at)
	wantKind(t, s.Agents.Begin(t.Context(), one.Hash, key, n, bounds, event(audit.KeyCreated)), fault.NotFound)
}

func agentBegin(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, "agent@example.org")
	key, n := mustSignIn(t, s, u.ID, at)
	f, err := s.Agents.SignInBy(t.Context(), n.Family)
	ok(t, err)
	equal(t, "sign-in", f, agent.Found{SignIn: n, KeyHash: key.Hash, KeyExpiresAt: key.ExpiresAt, Email: "agent@example.org"})
	f, err = s.Agents.SignInOf(t.Context(), key.Hash)
	ok(t, err)
	equal(t, "by its key", f.SignIn, n)
	_, err = s.Agents.SignInOf(t.Context(), "another")
	wantKind(t, err, fault.NotFound)
	list, err := s.Agents.SignInsOf(t.Context(), u.ID)
	ok(t, err)
	equal(t, "list", list, []agent.SignIn{n})
	found, err := s.Accounts.KeyByHash(t.Context(), key.Hash)
	ok(t, err)
	equal(t, "key", found.Key, key)

	d := allowed(t, s, u.ID)
	ok(t, s.Accounts.SetUserDisabled(t.Context(), u.ID, true, at, event(audit.UserDisabled)))
	key, n = signInOf(&d, at)
	wantKind(t, s.Agents.Begin(t.Context(), d.Hash, key, n, bounds, event(audit.KeyCreated)), fault.NotFound)
	f, err = s.Agents.SignInBy(t.Context(), list[0].Family)
	if err != nil || !f.UserDisabled {
		t.Errorf("%+v, %v", f, err)
	}
}

// agentBeginOnce is a device that asks from many terminals at the same moment.
func agentBeginOnce(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	d := allowed(t, s, u.ID)
	var begun atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		key, n := signInOf(&d, at)
		wg.Go(func() {
			switch err := s.Agents.Begin(t.Context(), d.Hash, key, n, bounds, event(audit.KeyCreated)); {
			case err == nil:
				begun.Add(1)
			case !fault.Is(err, fault.NotFound):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.Agents.SignInsOf(t.Context(), u.ID)
	if begun.Load() != 1 || len(list) != 1 || err != nil {
		t.Errorf("%d have begun, %d are listed, %v", begun.Load(), len(list), err)
	}
}

func renewal(n *agent.SignIn, now time.Time) (agent.Renewal, string) {
	text := apikey.Mint(false)
	return agent.Renewal{Key: n.Key, Former: n.Hash, Hash: apikey.NewID(""), Salt: "other", KeyHash: apikey.Hash(text), Label: apikey.Label(text), Until: now.Add(time.Hour), Now: now}, text
}

func agentRenew(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	key, n := mustSignIn(t, s, u.ID, at)
	later := at.Add(30 * time.Minute)
	r, _ := renewal(&n, later)
	ok(t, s.Agents.Renew(t.Context(), r))
	wantKind(t, s.Agents.Renew(t.Context(), r), fault.NotFound)
	f, err := s.Agents.SignInBy(t.Context(), n.Family)
	ok(t, err)
	n.Hash, n.Former, n.Salt, n.RenewedAt = r.Hash, n.Hash, r.Salt, later
	equal(t, "renewed", f.SignIn, n)
	equal(t, "its key", [2]any{f.KeyHash, f.KeyExpiresAt}, [2]any{r.KeyHash, r.Until})

	found, err := s.Accounts.KeyByHash(t.Context(), key.Hash) // the text before works until it would have expired
	ok(t, err)
	equal(t, "the former text", found.Previous, apikey.Previous{Hash: key.Hash, Label: key.Label, Until: key.ExpiresAt})
	taken, _ := renewal(&n, later)
	taken.Label = key.Label
	if err := s.Agents.Renew(t.Context(), taken); !errors.Is(err, apikey.ErrLabelTaken) {
		t.Errorf("%v", err)
	}
	again, err := s.Agents.SignInBy(t.Context(), n.Family)
	ok(t, err)
	equal(t, "after a label that was taken", again, f)
}

// agentRenewRace is a token that many terminals renew at the same moment: one does.
func agentRenewRace(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	_, n := mustSignIn(t, s, u.ID, at)
	var renewed atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		r, _ := renewal(&n, at)
		wg.Go(func() {
			switch err := s.Agents.Renew(t.Context(), r); {
			case err == nil:
				renewed.Add(1)
			case !fault.Is(err, fault.NotFound):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if renewed.Load() != 1 {
		t.Errorf("%d have renewed it", renewed.Load())
	}
}

// agentEnds has a row for each way in which a sign-in ends.
func agentEnds(t *testing.T, s *store.Store) {
	for name, end := range map[string]func(user, hash string, n *agent.SignIn) error{
		"signed out": func(_, _ string, n *agent.SignIn) error {
			return s.Agents.End(t.Context(), n.Key, at, event(audit.AgentEnded))
		},
		"its key deleted": func(user, hash string, _ *agent.SignIn) error {
			return s.Accounts.DeleteKey(t.Context(), user, hash, at, event(audit.KeyRevoked))
		},
		"another password": func(user, _ string, _ *agent.SignIn) error {
			return s.People.SetPassword(t.Context(), user, "hash", "", "", false, at, event(audit.PasswordSet))
		},
		"all sessions ended": func(user, _ string, _ *agent.SignIn) error {
			n, err := s.People.EndSessions(t.Context(), user, "", at, event(audit.SessionsEnded))
			if n != 2 {
				t.Errorf("%d have ended", n)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := mustPerson(t, s, apikey.NewID("")+"@example.org")
			key, n := mustSignIn(t, s, u.ID, at)
			_, other := mustSignIn(t, s, u.ID, at)
			own, _ := apikey.Make(apikey.NewKey{Name: "own", User: u.ID}, at)
			ok(t, s.Accounts.InsertKey(t.Context(), own, 100, event(audit.KeyCreated)))
			ok(t, end(u.ID, key.Hash, &n))
			_, err := s.Agents.SignInBy(t.Context(), n.Family)
			wantKind(t, err, fault.NotFound)
			found, err := s.Accounts.KeyByHash(t.Context(), key.Hash)
			if err != nil || found.State(at) != apikey.Deleted {
				t.Errorf("the key is %s, %v", found.State(at), err)
			}
			if found, err := s.Accounts.KeyByHash(t.Context(), own.Hash); err != nil || found.State(at) != apikey.Active {
				t.Errorf("a key of no agent is %s, %v", found.State(at), err)
			}
			r, _ := renewal(&n, at)
			wantKind(t, s.Agents.Renew(t.Context(), r), fault.NotFound)
			left, err := s.Agents.SignInsOf(t.Context(), u.ID)
			ok(t, err)
			if all := name == "another password" || name == "all sessions ended"; all != (len(left) == 0) || !all && left[0].Key != other.Key {
				t.Errorf("%d are left", len(left))
			}
		})
	}
}

// agentMost is a user with more sign-ins than one may have: that which was not renewed for longest ends.
func agentMost(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	var want []string
	for i, ago := range []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour, 0} {
		if _, n := mustSignIn(t, s, u.ID, at.Add(-ago)); i != 1 {
			want = append(want, n.Key)
		}
	}
	list, err := s.Agents.SignInsOf(t.Context(), u.ID)
	ok(t, err)
	var got []string
	for i := range list {
		got = append(got, list[i].Key)
	}
	equal(t, "sign-ins", got, []string{want[2], want[0], want[1]})
	few := bounds
	few.Keys = 2
	d := allowed(t, s, u.ID)
	key, n := signInOf(&d, at)
	wantKind(t, s.Agents.Begin(t.Context(), d.Hash, key, n, few, event(audit.KeyCreated)), fault.Invalid)
	if list, err = s.Agents.SignInsOf(t.Context(), u.ID); err != nil || len(list) != 3 {
		t.Errorf("%d are left after one that was refused, %v", len(list), err)
	}
}

func agentSweep(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	_, kept := mustSignIn(t, s, u.ID, at)
	idleKey, idle := mustSignIn(t, s, u.ID, at.Add(-48*time.Hour))
	d := newDevice(apikey.NewID(""))
	d.ExpiresAt = at.Add(-time.Hour)
	ok(t, s.Agents.AddDevice(t.Context(), d, bounds))
	for range 100 { // other tests have left some
		n, err := s.Agents.Sweep(t.Context(), at.Add(-time.Minute), at, at.Add(-24*time.Hour), 2)
		ok(t, err)
		if n == 0 {
			break
		}
	}
	_, err := s.Agents.DeviceBy(t.Context(), d.Hash)
	wantKind(t, err, fault.NotFound)
	_, err = s.Agents.SignInBy(t.Context(), idle.Family)
	wantKind(t, err, fault.NotFound)
	if found, err := s.Accounts.KeyByHash(t.Context(), idleKey.Hash); err != nil || found.State(at) != apikey.Deleted {
		t.Errorf("its key is %s, %v", found.State(at), err)
	}
	_, err = s.Agents.SignInBy(t.Context(), kept.Family)
	ok(t, err)
}

func agentForget(t *testing.T, s *store.Store) {
	u := mustPerson(t, s, apikey.NewID("")+"@example.org")
	_, n := mustSignIn(t, s, u.ID, at)
	d := allowed(t, s, u.ID)
	ok(t, s.Accounts.ForgetUser(t.Context(), u.ID, at, event(audit.UserForgotten)))
	_, err := s.Agents.SignInBy(t.Context(), n.Family)
	wantKind(t, err, fault.NotFound)
	_, err = s.Agents.DeviceBy(t.Context(), d.Hash)
	wantKind(t, err, fault.NotFound)
}
