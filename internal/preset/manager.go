package preset

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/usertext"
)

const (
	fresh = 2 * time.Second // another node's change is known after this time
	stale = 5 * time.Minute // while the store is unavailable, a known preset is used for this long
)

// Manager makes, changes and finds presets. It is safe for concurrent use.
type Manager struct {
	store Store
	now   func() time.Time
	cache *memory
	epoch atomic.Uint64 // grows with every change: what was read before it must not be remembered after it
}

type nameKey struct{ user, name string }

// entry is a preset as it was read. Its Version is 0 where none was found.
type entry struct {
	preset Preset
	at     time.Time
	due    bool // another node has changed it
}

// NewManager makes a Manager over a store.
func NewManager(s Store, now func() time.Time) *Manager {
	return &Manager{store: s, now: now, cache: newMemory(room)}
}

// Find finds a preset for a call. It reads the store at most every two seconds for each name, also for one that is not there.
func (m *Manager) Find(ctx context.Context, user, name string) (Preset, error) {
	if !validName(name) {
		return Preset{}, Missing(name)
	}
	k, now := nameKey{user, name}, m.now()
	known, ok := m.cache.get(k)
	if !ok || known.due || now.Sub(known.at) >= fresh {
		epoch := m.epoch.Load()
		p, err := m.store.PresetByName(ctx, user, name)
		switch {
		case err == nil || fault.Is(err, fault.NotFound):
			known = entry{preset: p, at: now}
			m.cache.set(k, known)
			if m.epoch.Load() != epoch { // looked at last: a change in between finds what was written
				m.cache.remove(k)
			}
		case !ok || known.preset.Version == 0 || now.Sub(known.at) >= stale:
			return Preset{}, err
		}
	}
	if known.preset.Version == 0 {
		return Preset{}, Missing(name)
	}
	return known.preset, nil
}

func (m *Manager) changed(user, name string) {
	m.epoch.Add(1)
	m.cache.remove(nameKey{user, name})
}

// LookAgain has the presets of users read again at their next use, because another node has changed them. While the store is unavailable,
// they are used as before.
func (m *Manager) LookAgain(of func(user string) bool) {
	m.epoch.Add(1)
	m.cache.lookAgain(of)
}

// ByName reads a preset from the store.
func (m *Manager) ByName(ctx context.Context, user, name string) (Preset, error) {
	if !validName(name) {
		return Preset{}, Missing(name)
	}
	p, err := m.store.PresetByName(ctx, user, name)
	return p, missing(name, err)
}

func missing(name string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return Missing(name)
	}
	return err
}

// List lists a user's presets by name, with the beginnings of their contents.
func (m *Manager) List(ctx context.Context, user string) ([]Preset, error) {
	return m.store.ListPresets(ctx, user)
}

// Versions lists the versions of a preset that are kept, newest first.
func (m *Manager) Versions(ctx context.Context, user, name string) ([]Version, error) {
	if !validName(name) {
		return nil, Missing(name)
	}
	all, err := m.store.PresetVersions(ctx, user, name)
	return all, missing(name, err)
}

// VersionOf finds one version of a preset.
func (m *Manager) VersionOf(ctx context.Context, user, name string, number int64) (Version, error) {
	if !validName(name) {
		return Version{}, Missing(name)
	}
	v, err := m.store.PresetVersion(ctx, user, name, number)
	if fault.Is(err, fault.NotFound) {
		if _, err := m.ByName(ctx, user, name); err != nil {
			return v, err
		}
		return v, fault.Newf(fault.NotFound, "preset.Version", "This preset has no version %d. The newest %d are kept.", number, MaxVersions)
	}
	return v, err
}

// Save adds a preset or a version of one.
func (m *Manager) Save(ctx context.Context, s Save, by audit.Actor) (Preset, error) {
	if err := CheckName(s.Name); err != nil {
		return Preset{}, err
	}
	switch {
	case !usertext.Is(s.Description) || utf8.RuneCountInString(s.Description) > MaxNote:
		return Preset{}, fault.Field("preset.Save", "description", "description must be one line of at most %d characters.", MaxNote).Coded("description", "most", MaxNote)
	case len(s.Content) > MaxContent:
		return Preset{}, fault.Newf(fault.Invalid, "preset.Save", "A preset may have %d bytes. Shorten its instructions or its response format.", MaxContent)
	}
	s.At = m.now()
	e := audit.Event{Actor: by, Action: audit.PresetSaved, Target: s.User + " " + Prefix + s.Name, After: fmt.Sprintf("%d bytes", len(s.Content))}
	if s.New {
		e.Action = audit.PresetCreated
	}
	p, err := m.store.SavePreset(ctx, s, e)
	m.changed(s.User, s.Name)
	return p, missing(s.Name, err)
}

// Put makes a preset what s says, whether or not there is one, unless s wants a new one or names the version that it changes. It returns the preset
// as it is and as it was: with the version 0 where there was none.
func (m *Manager) Put(ctx context.Context, s Save, by audit.Actor) (is, was Preset, err error) {
	if err := CheckName(s.Name); err != nil {
		return is, was, err
	}
	any := !s.New && s.From == 0
	for tries := 0; ; tries++ {
		was, err = m.store.PresetByName(ctx, s.User, s.Name)
		switch {
		case err != nil && !fault.Is(err, fault.NotFound):
			return is, was, err
		case any:
			s.New, s.From = err != nil, was.Version
		}
		is, err = m.Save(ctx, s, by)
		if !any || !fault.Is(err, fault.Conflict) || tries == mostTries {
			return is, was, err
		}
	}
}

// mostTries is how often another change may come between reading a preset and saving it.
const mostTries = 4

// All lists a user's presets by name, with their contents.
func (m *Manager) All(ctx context.Context, user string) ([]Preset, error) {
	heads, err := m.store.ListPresets(ctx, user)
	all := make([]Preset, 0, len(heads))
	for i := range heads {
		p, err := m.store.PresetByName(ctx, user, heads[i].Name)
		switch {
		case err == nil:
			all = append(all, p)
		case !fault.Is(err, fault.NotFound): // deleted meanwhile
			return nil, err
		}
	}
	return all, err
}

// Restore makes an earlier version the newest one.
func (m *Manager) Restore(ctx context.Context, user, name string, number int64, by audit.Actor) (Preset, error) {
	v, err := m.VersionOf(ctx, user, name, number)
	if err != nil {
		return Preset{}, err
	}
	p, err := m.ByName(ctx, user, name)
	if err != nil {
		return Preset{}, err
	}
	return m.Save(ctx, Save{User: user, Name: name, Description: p.Description, Content: v.Content, From: p.Version}, by)
}

// Delete removes a preset with all versions; with a version other than 0 only if it is the current one.
func (m *Manager) Delete(ctx context.Context, user, name string, version int64, by audit.Actor) error {
	if !validName(name) {
		return Missing(name)
	}
	err := m.store.DeletePreset(ctx, user, name, version, m.now(), audit.Event{Actor: by, Action: audit.PresetDeleted, Target: user + " " + Prefix + name})
	m.changed(user, name)
	return missing(name, err)
}

// usesOver is the time over which uses are added up.
const usesOver = 7 * 24 * time.Hour

// Uses adds up the calls of a wallet with each preset in the last seven days: this one, as far as it has gone, and the six before it.
func (m *Manager) Uses(ctx context.Context, wallet string) (map[string]Use, error) {
	return m.store.PresetUses(ctx, wallet, m.now().Add(-usesOver).Add(24*time.Hour))
}
