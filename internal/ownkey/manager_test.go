package ownkey_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ownkey"
	"weir/internal/routing"
	"weir/internal/seal"
)

// memory is a store of a few keys, which counts questions and can be away.
type memory struct {
	ownkey.Store // all that these tests do not use
	keys         []ownkey.Key
	events       []audit.Event
	asked, notes int
	away         bool
}

func (m *memory) ProviderKeys(_ context.Context, user string) (all []ownkey.Key, err error) {
	m.asked++
	if m.away {
		return nil, fault.New(fault.StorageUnavailable, "test", "away")
	}
	for _, k := range m.keys {
		if k.User == user {
			all = append(all, k)
		}
	}
	return all, nil
}

func (m *memory) find(user, id string) int {
	return slices.IndexFunc(m.keys, func(k ownkey.Key) bool { return k.User == user && k.ID == id })
}

func (m *memory) ProviderKey(_ context.Context, user, id string) (ownkey.Key, error) {
	if i := m.find(user, id); i >= 0 {
		return m.keys[i], nil
	}
	return ownkey.Key{}, fault.New(fault.NotFound, "test", "none")
}

func (m *memory) AddProviderKey(_ context.Context, k ownkey.Key, _ int, e audit.Event) error {
	m.keys, m.events = append(m.keys, k), append(m.events, e)
	return nil
}

func (m *memory) ChangeProviderKey(_ context.Context, user, id string, c ownkey.Change, now time.Time, e audit.Event) (ownkey.Key, error) {
	k := &m.keys[m.find(user, id)]
	m.events = append(m.events, e)
	if c.Sealed != nil {
		k.Sealed, k.Last4, k.ChangedAt = c.Sealed, c.Last4, now
	}
	if c.Off != nil {
		k.Off = *c.Off
	}
	if c.Order != "" {
		k.Order = c.Order
	}
	return *k, nil
}

func (m *memory) RemoveProviderKey(_ context.Context, user, id string, _ time.Time, e audit.Event) error {
	i := m.find(user, id)
	m.keys, m.events = slices.Delete(m.keys, i, i+1), append(m.events, e)
	return nil
}

func (m *memory) NoteProviderKey(_ context.Context, id string, _, used time.Time, f ownkey.Failure) error {
	m.notes++
	for i := range m.keys {
		if m.keys[i].ID == id {
			m.keys[i].UsedAt, m.keys[i].Failure = used, f
		}
	}
	return nil
}

const secret = "own-secret-1234567890"

type world struct {
	*ownkey.Manager
	store *memory
	now   time.Time
}

func open(t *testing.T, c ownkey.Config) *world {
	t.Helper()
	ring, err := seal.NewRing([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: &memory{}, now: at}
	w.Manager = ownkey.NewManager(w.store, func() *seal.Ring { return ring }, func() time.Time { return w.now }, c)
	return w
}

var (
	provider = &catalog.Provider{ID: "acme", Name: "Acme", Key: "operator"}
	endpoint = &catalog.Endpoint{ID: "acme/m", Provider: provider, Model: &catalog.Model{Slug: "v/m"}}
	actor    = audit.Actor{Name: "user:usr_a"}
	usual    = ownkey.Config{Enabled: true, Fee: ownkey.Fee{Share: 500}, MaxPerAccount: 5}
)

func (w *world) add(t *testing.T, user string, order routing.OwnOrder) ownkey.Key {
	t.Helper()
	k, err := w.Add(t.Context(), user, provider, secret, order, actor)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) of(t *testing.T, user string) []routing.Own {
	t.Helper()
	all, err := w.Of(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A key is sealed for its user and provider, and gives the endpoint as it is called with it; its secret is in no event.
func TestKey(t *testing.T) {
	t.Parallel()
	w := open(t, usual)
	k := w.add(t, "usr_a", "")
	if k.Order != routing.OwnBefore || k.Last4 != "7890" || strings.Contains(string(k.Sealed), secret) {
		t.Errorf("%+v", k)
	}
	own := w.of(t, "usr_a")
	if len(own) != 1 || own[0].Provider != "acme" {
		t.Fatalf("%+v", own)
	}
	ep := own[0].Endpoint(endpoint)
	if ep.Provider.Key != secret || ep.Own.Key != k.ID || ep.Own.Fee.Share != 500 {
		t.Errorf("%+v", ep.Provider)
	}
	if len(w.of(t, "usr_b")) != 0 {
		t.Error("another user has the key")
	}
	other := "another-secret-0000"
	if _, err := w.Change(t.Context(), "usr_a", k.ID, ownkey.Edit{Secret: other, Order: routing.OwnOnly}, map[string]*catalog.Provider{"acme": provider}, actor); err != nil {
		t.Fatal(err)
	}
	if own := w.of(t, "usr_a"); own[0].Endpoint(endpoint).Provider.Key != other || own[0].Order != routing.OwnOnly {
		t.Errorf("%+v", own)
	}
	if err := w.Remove(t.Context(), "usr_a", k.ID, actor); err != nil {
		t.Fatal(err)
	}
	if len(w.store.events) != 3 {
		t.Fatalf("%d events", len(w.store.events))
	}
	for i, action := range []string{audit.ProviderKeyAdded, audit.ProviderKeyChanged, audit.ProviderKeyRemoved} {
		if e := w.store.events[i]; e.Action != action || e.Target != "usr_a "+k.ID || strings.Contains(e.Before+e.After, "secret") {
			t.Errorf("%+v", e)
		}
	}
}

// A row that is moved to another user, or to another provider, is of no use to anybody.
func TestMovedRows(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(*ownkey.Key){
		"user":     func(k *ownkey.Key) { k.User = "usr_b" },
		"provider": func(k *ownkey.Key) { k.Provider = "evil" },
		"id":       func(k *ownkey.Key) { k.ID = "pk_other" },
		"bytes": func(k *ownkey.Key) {
			k.Sealed = append(slices.Clone(k.Sealed[:len(k.Sealed)-1]), k.Sealed[len(k.Sealed)-1]^1)
		},
	} {
		w := open(t, usual)
		w.add(t, "usr_a", routing.OwnBefore)
		move(&w.store.keys[0])
		if own := w.of(t, w.store.keys[0].User); len(own) != 1 || own[0].Endpoint != nil || own[0].Missing != routing.OwnUnread {
			t.Errorf("%s: %+v", name, own)
		}
	}
}

// Who has keys is read for each call, so that a removed key is used no more; who has none is asked about every two seconds, and for five minutes
// believed while the store is away.
func TestOfReads(t *testing.T) {
	t.Parallel()
	w := open(t, usual)
	asked := func(user string, want int) {
		t.Helper()
		w.store.asked = 0
		w.of(t, user)
		if w.store.asked != want {
			t.Errorf("%s: %d questions, want %d", user, w.store.asked, want)
		}
	}
	asked("usr_a", 1)
	asked("usr_a", 0)
	w.now = w.now.Add(2 * time.Second)
	asked("usr_a", 1)
	w.add(t, "usr_a", routing.OwnOnly)
	asked("usr_a", 1)
	asked("usr_a", 1)
	asked("usr_b", 1)
	w.store.keys[0].Sealed = nil // by another node
	if own := w.of(t, "usr_a"); own[0].Endpoint != nil || own[0].Missing != routing.OwnRemoved {
		t.Errorf("%+v", own)
	}
	w.store.away = true
	if _, err := w.Of(t.Context(), "usr_a"); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("an account with keys while the store is away: %v", err)
	}
	w.now = w.now.Add(time.Minute)
	asked("usr_b", 1)
	w.now = w.now.Add(5 * time.Minute)
	if _, err := w.Of(t.Context(), "usr_b"); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("after five minutes: %v", err)
	}
}

// Whose keys are taken: by default of providers that the operator has a credential of.
// A key that another node has added is used by the next call. While the store is away, its user has none as before.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	s := &memory{}
	m := ownkey.NewManager(s, func() *seal.Ring { return &seal.Ring{} }, func() time.Time { return now }, ownkey.Config{Enabled: true})
	of := func(want, asked int) {
		t.Helper()
		if keys, err := m.Of(t.Context(), "usr_a"); len(keys) != want || err != nil || s.asked != asked {
			t.Errorf("%d keys, %v after %d questions; want %d after %d", len(keys), err, s.asked, want, asked)
		}
	}
	of(0, 1)
	s.keys = append(s.keys, ownkey.Key{ID: "pk_1", User: "usr_a", Provider: "acme", Off: true})
	m.LookAgain(func(user string) bool { return user == "usr_b" })
	of(0, 1)
	m.LookAgain(func(user string) bool { return user == "usr_a" })
	s.away = true
	of(0, 2)
	s.away = false
	of(1, 3)
}

func TestTakes(t *testing.T) {
	t.Parallel()
	open1, listed := open(t, usual), open(t, ownkey.Config{Enabled: true, Providers: []string{"bare"}, MaxPerAccount: 1})
	for _, c := range []struct {
		p             *catalog.Provider
		usual, listed bool
	}{
		{provider, true, false}, {&catalog.Provider{ID: "many", Keys: []string{"x"}}, true, false}, {&catalog.Provider{ID: "bare"}, false, true},
	} {
		if open1.Takes(c.p) != c.usual || listed.Takes(c.p) != c.listed {
			t.Errorf("%s: %v, %v", c.p.ID, open1.Takes(c.p), listed.Takes(c.p))
		}
	}
	off := open(t, ownkey.Config{MaxPerAccount: 5})
	if _, err := off.Add(t.Context(), "usr_a", provider, secret, "", actor); !fault.Is(err, fault.Conflict) {
		t.Errorf("switched off: %v", err)
	}
	none := ownkey.NewManager(&memory{}, func() *seal.Ring { return nil }, time.Now, usual)
	if _, err := none.Add(t.Context(), "usr_a", provider, secret, "", actor); !fault.Is(err, fault.Conflict) || none.Ready() {
		t.Errorf("without a master key: %v", err)
	}
}

// A key that its provider refuses rests for a moment, and its owner is shown why, until it works again or is another.
func TestTried(t *testing.T) {
	t.Parallel()
	w := open(t, usual)
	k := w.add(t, "usr_a", routing.OwnBefore)
	refused := &fault.Error{Kind: fault.ProviderUnavailable, Upstream: &fault.Upstream{Status: 401}}
	tried := func(err *fault.Error, code string, notes int, rests bool) {
		t.Helper()
		w.store.notes = 0
		w.Tried("usr_a", k.ID, err)
		if got := w.store.keys[0].Failure.Code; got != code || w.store.notes != notes || w.of(t, "usr_a")[0].Resting != rests {
			t.Errorf("%v: %q, %d notes, rests %v", err, got, w.store.notes, w.of(t, "usr_a")[0].Resting)
		}
	}
	tried(nil, "", 1, false)
	tried(nil, "", 0, false)
	tried(refused, ownkey.Refused, 1, true)
	tried(refused, ownkey.Refused, 0, true)
	tried(&fault.Error{Kind: fault.Invalid, Upstream: &fault.Upstream{Status: 400}}, ownkey.Refused, 0, true)
	tried(nil, "", 1, false)
	tried(&fault.Error{Kind: fault.RateLimited, RetryAfter: time.Hour, Upstream: &fault.Upstream{Status: 429}}, ownkey.RateLimited, 1, true)
	w.now = w.now.Add(time.Minute)
	if w.of(t, "usr_a")[0].Resting {
		t.Error("it rests for longer than a minute")
	}
	tried(refused, ownkey.Refused, 1, true)
	if _, err := w.Change(t.Context(), "usr_a", k.ID, ownkey.Edit{Secret: secret + "x"}, map[string]*catalog.Provider{"acme": provider}, actor); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Millisecond)
	if _, err := w.Change(t.Context(), "usr_a", k.ID, ownkey.Edit{Secret: secret + "y"}, map[string]*catalog.Provider{"acme": provider}, actor); err != nil || w.of(t, "usr_a")[0].Resting {
		t.Errorf("%v: another key rests", err)
	}
	w.Tried("usr_b", k.ID, refused)
	if w.store.notes != 1 {
		t.Error("another user's call was noted")
	}
}

// What was begun with a key goes on with it alone.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	w := open(t, usual)
	k := w.add(t, "usr_a", routing.OwnBefore)
	if ep, err := w.Endpoint(t.Context(), "usr_a", k.ID, endpoint); err != nil || ep.Provider.Key != secret {
		t.Errorf("%v, %v", ep, err)
	}
	other := &catalog.Endpoint{Provider: &catalog.Provider{ID: "other", Key: "x"}}
	for name, c := range map[string]struct {
		user, id string
		ep       *catalog.Endpoint
	}{"user": {"usr_b", k.ID, endpoint}, "key": {"usr_a", "pk_none", endpoint}, "provider": {"usr_a", k.ID, other}} {
		if _, err := w.Endpoint(t.Context(), c.user, c.id, c.ep); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// A key is sent to the servers that it was put in for, whatever becomes of the provider's address.
func TestKeysStayWithTheirServers(t *testing.T) {
	t.Parallel()
	w := open(t, ownkey.Config{Enabled: true, MaxPerAccount: 20})
	at := func(p catalog.Provider) *catalog.Endpoint {
		p.ID, p.Key = "acme", "operator"
		return &catalog.Endpoint{Provider: &p}
	}
	home := at(catalog.Provider{BaseURL: "https://acme.example/v1", Quirks: catalog.Quirks{AuthURL: "https://auth.acme.example/token"}})
	k, err := w.Add(t.Context(), "usr_a", home.Provider, secret, routing.OwnBefore, actor)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ep    *catalog.Endpoint
		taken bool
	}{
		"as it was":           {home, true},
		"another path":        {at(catalog.Provider{BaseURL: "https://ACME.example:443/v2"}), true},
		"another server":      {at(catalog.Provider{BaseURL: "https://evil.example/v1"}), false},
		"another port":        {at(catalog.Provider{BaseURL: "https://acme.example:8443/v1"}), false},
		"without TLS":         {at(catalog.Provider{BaseURL: "http://acme.example/v1"}), false},
		"a wire elsewhere":    {at(catalog.Provider{BaseURL: "https://acme.example/v1", Wires: map[string]catalog.Wire{"responses": {BaseURL: "https://evil.example/v1"}}}), false},
		"tokens of elsewhere": {at(catalog.Provider{BaseURL: "https://acme.example/v1", Quirks: catalog.Quirks{AuthURL: "https://evil.example/token"}}), false},
	} {
		if got := w.of(t, "usr_a")[0].Endpoint(c.ep); (got != nil) != c.taken || got != nil && got.Provider.Key != secret {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := w.Endpoint(t.Context(), "usr_a", k.ID, c.ep); (err == nil) != c.taken {
			t.Errorf("%s, later: %v", name, err)
		}
	}
	moved := at(catalog.Provider{BaseURL: "https://new.example/v1"})
	if _, err := w.Change(t.Context(), "usr_a", k.ID, ownkey.Edit{Secret: secret}, map[string]*catalog.Provider{"acme": moved.Provider}, actor); err != nil {
		t.Fatal(err)
	}
	if own := w.of(t, "usr_a")[0]; own.Endpoint(moved) == nil || own.Endpoint(home) != nil {
		t.Error("a key that is put in again is not for the address of that time")
	}
	if _, err := w.Change(t.Context(), "usr_a", k.ID, ownkey.Edit{Secret: secret}, nil, actor); !fault.Is(err, fault.Conflict) {
		t.Errorf("a secret for a provider that is gone: %v", err)
	}
}
