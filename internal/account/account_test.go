package account_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/zone"
)

// memory is a store of users in memory.
type memory struct {
	users  []account.User
	keys   []apikey.Key
	events []audit.Event
	zones  zone.History

	between func() // called before each change of preferences
}

func (m *memory) Zones(context.Context, string) (zone.History, error) { return m.zones, nil }

func (m *memory) SetZone(_ context.Context, _, name string, now time.Time, e audit.Event) (zone.History, error) {
	h, _, err := m.zones.Choose(name, now)
	if err == nil {
		m.zones, m.events = h, append(m.events, e)
	}
	return h, err
}

func (m *memory) CreateUser(_ context.Context, u account.User, e audit.Event) error {
	m.users, m.events = append(m.users, u), append(m.events, e)
	return nil
}

func (m *memory) UserByID(_ context.Context, id string) (account.User, error) {
	if i := slices.IndexFunc(m.users, func(u account.User) bool { return u.ID == id }); i >= 0 {
		return m.users[i], nil
	}
	return account.User{}, fault.New(fault.NotFound, "memory", "None.")
}

func (m *memory) ListUsers(context.Context) ([]account.User, error) { return m.users, nil }

func (m *memory) SetUserDisabled(_ context.Context, id string, disabled bool, _ time.Time, e audit.Event) error {
	for i := range m.users {
		if m.users[i].ID == id {
			m.users[i].Disabled, m.events = disabled, append(m.events, e)
			return nil
		}
	}
	return fault.New(fault.NotFound, "memory", "None.")
}

func (m *memory) ForgetUser(ctx context.Context, id string, now time.Time, e audit.Event) error {
	return m.SetUserDisabled(ctx, id, true, now, e)
}

func (m *memory) SetUserPreferences(_ context.Context, id, was, preferences string, _ time.Time, e audit.Event) (bool, error) {
	if m.between != nil {
		m.between()
	}
	for i := range m.users {
		if m.users[i].ID == id && m.users[i].Preferences == was {
			m.users[i].Preferences, m.events = preferences, append(m.events, e)
			return true, nil
		}
	}
	return false, nil
}

func (m *memory) NoteOnce(_ context.Context, e audit.Event, since, now time.Time) error {
	if now.Sub(since) == time.Hour {
		m.events = append(m.events, e)
	}
	return nil
}

func (m *memory) SetProfile(_ context.Context, id string, p account.Profile, _ time.Time, event func(account.Profile) audit.Event) error {
	for i := range m.users {
		if u := &m.users[i]; u.ID == id {
			if e := event(account.Profile{Name: u.Name, Language: u.Language, Theme: u.Theme}); e.Action != "" {
				u.Name, u.Language, u.Theme, m.events = p.Name, p.Language, p.Theme, append(m.events, e)
			}
			return nil
		}
	}
	return fault.New(fault.NotFound, "memory", "None.")
}

func (m *memory) SetUserRole(_ context.Context, id string, role apikey.Role, _ time.Time, e audit.Event) error {
	for i := range m.users {
		if m.users[i].ID == id {
			m.users[i].Role, m.events = role, append(m.events, e)
			return nil
		}
	}
	return fault.New(fault.NotFound, "memory", "None.")
}

func (m *memory) Bootstrap(_ context.Context, u account.User, keys []apikey.Key, events []audit.Event) (bool, error) {
	if len(m.users) > 0 {
		return false, nil
	}
	m.users, m.keys, m.events = append(m.users, u), keys, append(m.events, events...)
	return true, nil
}

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 999, time.FixedZone("", 3600)) }

func TestBootstrap(t *testing.T) {
	t.Parallel()
	store := &memory{}
	m := account.NewManager(store, nil, now)
	first, err := m.Bootstrap(t.Context(), "Anna")
	if err != nil || first == nil {
		t.Fatalf("Bootstrap: %v, %v", first, err)
	}
	for text, management := range map[string]bool{first.KeyText: false, first.ManagementKey: true} {
		if got, ok := apikey.Check(text); !ok || got != management {
			t.Errorf("a key of the wrong sort: %v, %v", got, ok)
		}
		if !slices.ContainsFunc(store.keys, func(k apikey.Key) bool {
			return k.Hash == apikey.Hash(text) && k.User == first.User.ID && k.Management == management
		}) {
			t.Errorf("the key is not stored: %+v", store.keys)
		}
	}
	if first.User.Role != apikey.Administrator {
		t.Errorf("the first user is %q", first.User.Role)
	}
	if len(store.events) != 3 {
		t.Errorf("%d audit events; want 3", len(store.events))
	}
	for _, e := range store.events {
		if text := e.Before + e.After + e.Target; strings.Contains(text, first.KeyText) || strings.Contains(text, first.ManagementKey) {
			t.Errorf("a key in the audit row: %+v", e)
		}
	}
	if again, err := m.Bootstrap(t.Context(), "Boris"); again != nil || err != nil {
		t.Errorf("a second bootstrap made %+v, %v", again, err)
	}

	other, err := account.NewManager(&memory{}, nil, now).Bootstrap(t.Context(), "Anna")
	if err != nil || other.KeyText == first.KeyText || other.ManagementKey == first.ManagementKey {
		t.Errorf("two fresh stores got the same keys: %v", err)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	store := &memory{}
	m := account.NewManager(store, nil, now)
	by := audit.Actor{Name: "operator", From: "192.0.2.1"}
	u, err := m.Create(t.Context(), "Anna", by)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(u.ID, "usr_") || !strings.HasPrefix(u.Wallet, "wal_") || len(u.ID) != 28 || u.CreatedAt.Location() != time.UTC || u.CreatedAt.Nanosecond() != 0 {
		t.Errorf("user %+v", u)
	}
	if err := m.SetDisabled(t.Context(), u.ID, true, by); err != nil {
		t.Fatal(err)
	}
	if got, err := m.ByID(t.Context(), u.ID); err != nil || !got.Disabled {
		t.Errorf("user %+v, %v; want disabled", got, err)
	}
	if err := m.SetDisabled(t.Context(), u.ID, false, by); err != nil {
		t.Fatal(err)
	}
	if u.Role != apikey.User {
		t.Errorf("a new user is %q", u.Role)
	}
	if err := m.SetRole(t.Context(), u.ID, apikey.Operator, by); err != nil {
		t.Fatal(err)
	}
	if got, err := m.ByID(t.Context(), u.ID); err != nil || got.Role != apikey.Operator {
		t.Errorf("user %+v, %v; want an operator", got, err)
	}
	if e := store.events[len(store.events)-1]; e.Before != "user" || e.After != "operator" {
		t.Errorf("event %+v", e)
	}
	if err := m.Looked(t.Context(), audit.CallOpened, u.ID, u.ID, by); err != nil {
		t.Fatal(err)
	}
	if err := m.Forget(t.Context(), u.ID, by); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range store.events {
		if actions = append(actions, e.Action); e.Actor != by || e.Target != u.ID {
			t.Errorf("event %+v", e)
		}
	}
	if want := []string{audit.UserCreated, audit.UserDisabled, audit.UserEnabled, audit.UserRole, audit.CallOpened, audit.UserForgotten}; !slices.Equal(actions, want) {
		t.Errorf("actions %q; want %q", actions, want)
	}
	if err := m.SetDisabled(t.Context(), "usr_none", true, by); !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown user: %v; want NotFound", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	m := account.NewManager(&memory{}, nil, now)
	for name, text := range map[string]string{"empty": "", "long": strings.Repeat("x", 257), "NUL": "a\x00", "line end": "a\nb", "bad UTF-8": "\xff"} {
		if _, err := m.Create(t.Context(), text, audit.Actor{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v; want Invalid", name, err)
		}
		if _, err := m.Bootstrap(t.Context(), text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s at the bootstrap: %v; want Invalid", name, err)
		}
	}
}

// Two changes of different parts of the preferences at the same time both hold.
func TestChangesOfPreferencesDoNotOverwrite(t *testing.T) {
	t.Parallel()
	store := &memory{}
	m := account.NewManager(store, nil, time.Now)
	u, err := m.Create(t.Context(), "anna", audit.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	others := 1
	store.between = func() {
		if others--; others >= 0 {
			store.users[0].Preferences += "other "
		}
	}
	mine := func(was string) (string, error) { return was + "mine", nil }
	if text, err := m.ChangePreferences(t.Context(), u.ID, mine, audit.Actor{}); err != nil || text != "other mine" || store.users[0].Preferences != text {
		t.Errorf("%q, %v; stored %q", text, err, store.users[0].Preferences)
	}
	others = 1000
	if _, err := m.ChangePreferences(t.Context(), u.ID, mine, audit.Actor{}); !fault.Is(err, fault.Overloaded) {
		t.Errorf("always changed by others: %v", err)
	}
}
