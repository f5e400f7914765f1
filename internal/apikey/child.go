package apikey

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
)

// Bounds of keys that other keys make.
const (
	MaxChildren = 100    // of one key, that have not ended
	MaxLiving   = 1000   // in one tree, that have not ended
	MaxTree     = 10_000 // in one tree, ended ones included
	MaxTrees    = 10_000 // of one account, ended ones included
	MaxDepth    = 8      // generations below a key that no other key made
	maxTools    = 100
)

// NewChild is what a key asks for one of its own.
type NewChild struct {
	Name      string
	Amount    money.Nano // all that it may spend, with those that come from it
	Models    []string   // none: as its parent
	Tools     []string   // none: as its parent
	Depth     int        // generations that may come from it
	ExpiresAt time.Time  // zero: as its parent
}

// Branch is a key of a tree, and what it has spent.
type Branch struct {
	Key
	Spent money.Nano // with those that come from it
	Held  money.Nano // reserved for its calls that run, and for theirs; a store does not know it
	Calls int64      // of its own
	Top   string     // name of the first key of its tree, where it was asked for
	Loop  *Loop      // the last one, nil: none was noticed
}

// Loop is a time at which an agent repeated itself.
type Loop struct {
	Tools []string // that its answers asked for, in their order, once
	Times int64    // how often
	Calls int64    // in which
	Since time.Time
	Until time.Time
}

// CreateChild makes a key within the one of a caller, and returns it with its text. It fails with fault.Invalid for what is not within that one.
func (m *Manager) CreateChild(ctx context.Context, c *Caller, n NewChild, by audit.Actor) (Key, string, error) {
	const op = "apikey.CreateChild"
	f, err := m.store.KeyByID(ctx, c.Key)
	if err != nil {
		return Key{}, "", err
	}
	now := m.now()
	parent := &f.Key
	if parent.Management || parent.State(now) != Active {
		return Key{}, "", NotFound(op)
	}
	k := NewKey{Name: n.Name, User: parent.User, Member: parent.Member, Creator: parent.Creator, Limit: &Limit{Amount: n.Amount}, Rates: parent.Rates, Strict: parent.Strict,
		Preferences: parent.Preferences, Addresses: parent.Addresses, Models: n.Models, ExpiresAt: n.ExpiresAt}
	ends := earliest(parent.ExpiresAt, f.AboveEnds)
	if k.ExpiresAt.IsZero() {
		k.ExpiresAt = ends
	}
	if err := k.Check(now); err != nil {
		return Key{}, "", asChild(err)
	}
	most := MaxDepth
	if parent.Child.Parent != "" {
		most = parent.Child.Depth
	}
	switch {
	case n.Amount <= 0:
		return Key{}, "", fault.Field(op, "amount", "amount must be rubles above 0: all that the key may spend.").Coded("above_zero")
	case most == 0:
		return Key{}, "", fault.New(fault.PermissionDenied, op, "This key may make no keys: its depth is 0.")
	case n.Depth < 0 || n.Depth > most-1:
		return Key{}, "", fault.Field(op, "depth", "depth must be a whole number from 0 to %d: it is one less than that of the key that asks, at the most.", most-1).Coded("child_depth", "most", most-1)
	case !ends.IsZero() && k.ExpiresAt.After(ends):
		return Key{}, "", fault.Field(op, "deadline", "deadline must not be later than that of the key that asks: %s.", ends.UTC().Format(time.RFC3339)).Coded("child_deadline", "most", ends.UTC().Format(time.RFC3339))
	}
	if k.Models, err = within(op, "models", n.Models, parent.Models); err != nil {
		return Key{}, "", err
	}
	tools, err := within(op, "tools", n.Tools, parent.Child.Tools)
	if err != nil {
		return Key{}, "", err
	}
	if len(tools) > maxTools || slices.ContainsFunc(tools, func(s string) bool { return s == "" || len(s) > maxNameLen || strings.ContainsFunc(s, notPrinted) }) {
		return Key{}, "", fault.Field(op, "tools", "tools must be at most %d names of tools.", maxTools).Coded("child_tools", "most", maxTools)
	}
	var key Key
	var text string
	err = unlike(func() error {
		key, text = Make(k, now)
		key.Child = Child{Parent: parent.ID, Tree: parent.Child.Tree, Depth: n.Depth, Tools: tools}
		if key.Child.Tree == "" {
			key.Child.Tree = key.ID
		}
		e := CreatedEvent(&key, by)
		e.After += ", child of " + parent.ID
		return m.store.InsertChild(ctx, key, now.UTC().Truncate(time.Microsecond), e)
	})
	if err != nil {
		return Key{}, "", err
	}
	return key, text, nil
}

// asChild names the fields as requests for children do.
func asChild(err error) error {
	e := *fault.From(err)
	switch e.Param {
	case "expires_at":
		e.Param, e.Public = "deadline", strings.ReplaceAll(e.Public, "expires_at", "deadline")
	case "allowed_models":
		e.Param, e.Public = "models", strings.ReplaceAll(e.Public, "allowed_models", "models")
	}
	return &e
}

func notPrinted(r rune) bool { return r <= ' ' || r >= 0x7f }

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// within is what a child may use: nothing that its parent may not. A pattern is within another that matches it as a text.
func within(op, param string, child, parent []string) ([]string, error) {
	if len(child) == 0 {
		return parent, nil
	}
	for i, p := range child {
		if len(parent) > 0 && !slices.ContainsFunc(parent, func(of string) bool { return routing.Matches(of, p) }) {
			return nil, fault.Field(op, param, "%s[%d] is not within those of the key that asks: %s.", param, i, strings.Join(parent, ", ")).Coded("child_within", "allowed", strings.Join(parent, ", "))
		}
	}
	return child, nil
}

// Permits reports whether requests of the key may have a tool of a name, or of a type that providers run.
func (c *Child) Permits(tool string) bool {
	return len(c.Tools) == 0 || slices.ContainsFunc(c.Tools, func(p string) bool { return routing.Matches(p, tool) })
}

// Children lists the keys that a key has made, ended ones included, the newest first.
func (m *Manager) Children(ctx context.Context, user, parent string, most int) ([]Key, error) {
	return m.store.Tops(ctx, user, parent, Sight{}, most)
}

// Tops lists the first keys of the trees of a user that somebody sees, the newest first.
func (m *Manager) Tops(ctx context.Context, user string, sees Sight, most int) ([]Key, error) {
	return m.store.Tops(ctx, user, "", sees, most)
}

// Tree lists the keys of the tree of a key, the oldest first.
func (m *Manager) Tree(ctx context.Context, user, top string) ([]Branch, error) {
	return m.store.Tree(ctx, user, top)
}

// StopTree ends a key that another one made, with all that come from it. It returns the ids of those that have not ended before.
func (m *Manager) StopTree(ctx context.Context, user string, k *Key, by audit.Actor) ([]string, error) {
	if k.Child.Parent == "" {
		return nil, fault.New(fault.Conflict, "apikey.StopTree", "No other key made this one. Disable or delete it: all that come from it end with it.")
	}
	ids, err := m.store.StopBelow(ctx, user, k.ID, m.now().UTC().Truncate(time.Microsecond), audit.Event{Actor: by, Action: audit.TreeStopped, Target: k.ID, Before: k.describe()})
	m.forgetBelow(k.ID)
	return ids, err
}
