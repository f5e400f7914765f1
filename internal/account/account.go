// Package account manages the users, each with a wallet, and the first steps of a new store. It has no passwords and no sessions, and it
// moves no money.
package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/usertext"
	"weir/internal/zone"
)

// User is one customer. Each has one wallet.
type User struct {
	ID       string // "usr_..."
	Name     string
	Wallet   string // "wal_..."
	Role     apikey.Role
	Disabled bool
	// Preferences are the provider preferences of all requests with the user's keys: a JSON object that was checked, "" none.
	Preferences string
	Language    string // of pages and mails: "en" or "ru", "" the browser's
	Theme       string // of pages: "light" or "dark", "" the system's
	CreatedAt   time.Time
}

// Profile is what a person may change of themselves.
type Profile struct{ Name, Language, Theme string }

// Store keeps users. Each change and its audit row are one transaction.
type Store interface {
	// CreateUser adds a user and their wallet.
	CreateUser(ctx context.Context, u User, e audit.Event) error
	// UserByID finds a user. It fails with fault.NotFound.
	UserByID(ctx context.Context, id string) (User, error)
	// ListUsers lists all users, oldest first.
	ListUsers(ctx context.Context) ([]User, error)
	// SetUserDisabled records nothing when that is so already. It fails with fault.NotFound, and with fault.Conflict for the last administrator.
	SetUserDisabled(ctx context.Context, id string, disabled bool, now time.Time, e audit.Event) error
	// SetUserRole records nothing when that is so already. It fails with fault.NotFound, and with fault.Conflict for the last administrator.
	SetUserRole(ctx context.Context, id string, role apikey.Role, now time.Time, e audit.Event) error
	// SetUserPreferences replaces preferences that are still was, and reports whether they were.
	SetUserPreferences(ctx context.Context, id, was, preferences string, now time.Time, e audit.Event) (bool, error)
	// SetProfile replaces a profile, with the event of what it was; with one without an action nothing is stored. It fails with fault.NotFound.
	SetProfile(ctx context.Context, id string, p Profile, now time.Time, event func(was Profile) audit.Event) error
	// Zones are the time zones of a wallet's account.
	Zones(ctx context.Context, wallet string) (zone.History, error)
	// SetZone changes the time zone of a wallet's account as zone.History.Choose says, and returns all of its zones. It fails with fault.Invalid
	// for a zone that it cannot have, and with fault.NotFound.
	SetZone(ctx context.Context, wallet, name string, now time.Time, e audit.Event) (zone.History, error)
	// ForgetUser makes a user anonymous, disabled for ever, and deletes what is known of them but what explains money: name, address, ways to sign in,
	// keys, settings and content. It fails with fault.NotFound, and with fault.Conflict while something of theirs is under way or there is no other
	// administrator.
	ForgetUser(ctx context.Context, id string, now time.Time, e audit.Event) error
	// NoteOnce records an event, unless the same actor did the same with the same target since a time.
	NoteOnce(ctx context.Context, e audit.Event, since, now time.Time) error
	// Bootstrap adds a user, their wallet and keys if the store has no user, and reports whether it did.
	Bootstrap(ctx context.Context, u User, keys []apikey.Key, events []audit.Event) (bool, error)
}

// Manager has an operator's operations on users.
type Manager struct {
	store    Store
	verifier *apikey.Verifier // nil in a command that serves nothing
	now      func() time.Time
}

// NewManager makes a Manager.
func NewManager(s Store, v *apikey.Verifier, now func() time.Time) *Manager {
	return &Manager{store: s, verifier: v, now: now}
}

// Create adds a user with an empty wallet, who has no other rights.
func (m *Manager) Create(ctx context.Context, name string, by audit.Actor) (User, error) {
	return m.CreateAs(ctx, name, apikey.User, by)
}

// CreateAs is Create with a role.
func (m *Manager) CreateAs(ctx context.Context, name string, role apikey.Role, by audit.Actor) (User, error) {
	if err := CheckName(name); err != nil {
		return User{}, err
	}
	u := newUser(name, role, m.now())
	if err := m.store.CreateUser(ctx, u, CreatedEvent(&u, by)); err != nil {
		return User{}, err
	}
	return u, nil
}

// ByID finds a user. It fails with fault.NotFound.
func (m *Manager) ByID(ctx context.Context, id string) (User, error) {
	return m.store.UserByID(ctx, id)
}

// List lists all users, oldest first.
func (m *Manager) List(ctx context.Context) ([]User, error) { return m.store.ListUsers(ctx) }

// SetDisabled closes the door to all keys of a user, or opens it again.
func (m *Manager) SetDisabled(ctx context.Context, id string, disabled bool, by audit.Actor) error {
	e := audit.Event{Actor: by, Action: audit.UserEnabled, Target: id, Before: "disabled", After: "active"}
	if disabled {
		e.Action, e.Before, e.After = audit.UserDisabled, "active", "disabled"
	}
	err := m.store.SetUserDisabled(ctx, id, disabled, m.now().UTC().Truncate(time.Microsecond), e)
	if m.verifier != nil {
		m.verifier.ForgetUser(id)
	}
	return err
}

// lookedFor is how long looking again at the same thing of a person counts as the same look.
const lookedFor = time.Hour

// Looked records that an operator has looked at something of a person, once an hour.
func (m *Manager) Looked(ctx context.Context, action, target, person string, by audit.Actor) error {
	now := m.now().UTC().Truncate(time.Microsecond)
	return m.store.NoteOnce(ctx, audit.Event{Actor: by, Action: action, Target: target, After: person}, now.Add(-lookedFor), now)
}

// Forget deletes an account: its person becomes anonymous, and its keys stop. The money in its wallet stays there, and so do its charges.
func (m *Manager) Forget(ctx context.Context, id string, by audit.Actor) error {
	err := m.store.ForgetUser(ctx, id, m.now().UTC().Truncate(time.Microsecond), audit.Event{Actor: by, Action: audit.UserForgotten, Target: id})
	if m.verifier != nil {
		m.verifier.ForgetUser(id)
	}
	return err
}

// SetRole changes which rights a user's management keys have.
func (m *Manager) SetRole(ctx context.Context, id string, role apikey.Role, by audit.Actor) error {
	u, err := m.store.UserByID(ctx, id)
	if err != nil {
		return err
	}
	e := audit.Event{Actor: by, Action: audit.UserRole, Target: id, Before: string(u.Role), After: string(role)}
	err = m.store.SetUserRole(ctx, id, role, m.now().UTC().Truncate(time.Microsecond), e)
	if m.verifier != nil {
		m.verifier.ForgetUser(id)
	}
	return err
}

// SetPreferences sets the provider preferences of all requests with a user's keys, "" for none. The text must have been checked.
func (m *Manager) SetPreferences(ctx context.Context, id, preferences string, by audit.Actor) error {
	_, err := m.ChangePreferences(ctx, id, func(string) (string, error) { return preferences, nil }, by)
	return err
}

// changes is how often a change is tried again after another one came between.
const changes = 10

// ChangePreferences replaces a user's preferences by what change makes of them, and returns that. change is called again when another change came
// between; its error ends all. It fails with fault.Overloaded when that happens too often.
func (m *Manager) ChangePreferences(ctx context.Context, id string, change func(was string) (string, error), by audit.Actor) (string, error) {
	for range changes {
		u, err := m.store.UserByID(ctx, id)
		if err != nil {
			return "", err
		}
		preferences, err := change(u.Preferences)
		if err != nil || preferences == u.Preferences {
			return preferences, err
		}
		e := audit.Event{Actor: by, Action: audit.UserPreferences, Target: id, Before: apikey.PreferencesText(u.Preferences), After: apikey.PreferencesText(preferences)}
		done, err := m.store.SetUserPreferences(ctx, id, u.Preferences, preferences, m.now().UTC().Truncate(time.Microsecond), e)
		if m.verifier != nil {
			m.verifier.ForgetUser(id)
		}
		if done || err != nil {
			return preferences, err
		}
	}
	return "", fault.New(fault.Overloaded, "account.ChangePreferences", "The preferences of this account are being changed elsewhere. Try again.")
}

// SetProfile changes a user's name and how they want the pages. It fails with fault.Invalid for what there is not.
func (m *Manager) SetProfile(ctx context.Context, id string, p Profile, by audit.Actor) error {
	if err := CheckName(p.Name); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "en", "ru"}, p.Language) {
		return fault.Field("account.SetProfile", "language", "language must be en, ru or null.").Coded("language")
	}
	if !slices.Contains([]string{"", "light", "dark"}, p.Theme) {
		return fault.Field("account.SetProfile", "theme", "theme must be system, light or dark.").Coded("theme")
	}
	words := func(p Profile) string { return "name " + p.Name + ", language " + p.Language + ", theme " + p.Theme }
	return m.store.SetProfile(ctx, id, p, m.now().UTC().Truncate(time.Microsecond), func(was Profile) audit.Event {
		if p == was {
			return audit.Event{}
		}
		return audit.Event{Actor: by, Action: audit.UserProfile, Target: id, Before: words(was), After: words(p)}
	})
}

// MostZones is how often an account may change its time zone.
const MostZones = 100

// Zones are the changes of the time zone of a wallet's account.
func (m *Manager) Zones(ctx context.Context, wallet string) (zone.History, error) {
	return m.store.Zones(ctx, wallet)
}

// SetZone changes the zone of a user's days, from a midnight there that all nodes hear of, and returns all changes. It fails with
// fault.Invalid for a zone that the account cannot have.
func (m *Manager) SetZone(ctx context.Context, id, wallet, name string, by audit.Actor) (zone.History, error) {
	now := m.now().UTC().Truncate(time.Microsecond)
	before, err := m.store.Zones(ctx, wallet)
	if err != nil {
		return nil, err
	}
	return m.store.SetZone(ctx, wallet, name, now, audit.Event{Actor: by, Action: audit.UserTimezone, Target: id, Before: before.Name(now), After: name})
}

// First is the result of Bootstrap. The texts of the keys are stored nowhere else.
type First struct {
	User          User
	Key           apikey.Key
	KeyText       string
	Management    apikey.Key
	ManagementKey string
}

// Bootstrap makes the first user, an administrator, with an API key and a management key, both random. It returns nil when the store has a user:
// there are no default secrets, and none is shown twice.
func (m *Manager) Bootstrap(ctx context.Context, name string) (*First, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	by := audit.Actor{Name: "bootstrap"}
	f := &First{User: newUser(name, apikey.Administrator, m.now())}
	f.Key, f.KeyText = apikey.Make(apikey.NewKey{Name: "first", User: f.User.ID, Creator: f.User.ID}, m.now())
	f.Management, f.ManagementKey = apikey.Make(apikey.NewKey{Name: "management", User: f.User.ID, Creator: f.User.ID, Management: true}, m.now())
	done, err := m.store.Bootstrap(ctx, f.User, []apikey.Key{f.Key, f.Management}, []audit.Event{
		CreatedEvent(&f.User, by), apikey.CreatedEvent(&f.Key, by), apikey.CreatedEvent(&f.Management, by),
	})
	if err != nil || !done {
		return nil, err
	}
	return f, nil
}

// Make makes a user with a wallet of their own. Nothing is stored.
func Make(name string, role apikey.Role, now time.Time) (User, error) {
	return newUser(name, role, now), CheckName(name)
}

func newUser(name string, role apikey.Role, now time.Time) User {
	return User{ID: apikey.NewID("usr_"), Name: name, Role: role, Wallet: apikey.NewID("wal_"), CreatedAt: now.UTC().Truncate(time.Microsecond)}
}

// WithWallet is before the id of the wallet in the event of a new user. Checks of the ledger compare it.
const WithWallet = " with wallet "

// CreatedEvent is the audit event of a new user.
func CreatedEvent(u *User, by audit.Actor) audit.Event {
	return audit.Event{Actor: by, Action: audit.UserCreated, Target: u.ID, After: string(u.Role) + WithWallet + u.Wallet}
}

const maxNameLen = 256

// CheckName refuses a name that is empty, too long, has control characters or looks like an id.
func CheckName(name string) error {
	if name == "" || len(name) > maxNameLen {
		return fault.Field("account.Name", "name", "name must have 1 to %d bytes.", maxNameLen).Coded("length_bytes", "most", maxNameLen)
	}
	if strings.HasPrefix(name, "usr_") || strings.HasPrefix(name, "wal_") {
		return fault.Field("account.Name", "name", "name must not begin with usr_ or wal_, as ids do.").Coded("looks_like_id")
	}
	if !usertext.Is(name) {
		return fault.Field("account.Name", "name", "name must not contain control characters, or characters that change the direction of text.").Coded("control_characters")
	}
	return nil
}
