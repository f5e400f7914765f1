package edit

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/seal"
)

// KeyState is what a key of a provider is used for.
type KeyState string

// The states of a key.
const (
	KeyInUse    KeyState = "in_use"
	KeyDraining KeyState = "draining" // no new call; what was begun with it, such as a video, is still asked for with it
	KeyOff      KeyState = "off"      // nothing
)

// Key is one of a provider's credentials, as the database keeps it.
type Key struct {
	ID     string
	Sealed []byte // encrypted, see sealedRow: all keys of a provider are bound to the provider
	Last4  string // its last characters, for people; "" of a short one
	State  KeyState
	At     time.Time // when it was added
	By     string    // who added it, "" of one that is older than this list
	Note   string
}

// Bounds of a provider's keys.
const (
	MostKeys = 50
	maxNote  = 200
)

// Key finds a key of the row, or nil.
func (r *Row) Key(id string) *Key {
	if r == nil {
		return nil
	}
	for i := range r.Keys {
		if r.Keys[i].ID == id {
			return &r.Keys[i]
		}
	}
	return nil
}

// In are the keys of a state, the oldest first.
func (r *Row) In(state KeyState) (list []Key) {
	for i := range r.Keys {
		if r.Keys[i].State == state {
			list = append(list, r.Keys[i])
		}
	}
	return list
}

// Last4 are the last characters of the keys in use, "" without any.
func (r *Row) Last4() string { return lasts(r.In(KeyInUse)) }

// lasts are the last characters of keys: "1234, ...5678".
func lasts(keys []Key) string {
	texts := make([]string, len(keys))
	for i := range keys {
		texts[i] = keys[i].Last4
	}
	return strings.Join(texts, ", ...")
}

// setKey seals a credential into the row, in place of all that it has. It replaces an earlier variable name, but not one of the same change.
func (e *Editor) setKey(row *Row, key string, named bool, by audit.Actor) error {
	if row.Kind != Provider {
		return unknownField(row.Kind, "api_key")
	}
	row.Keys = nil
	if key == "" {
		return nil
	}
	if named {
		return fault.Field("edit.Change", "api_key", "Give api_key or api_key_env, not both.")
	}
	delete(row.Spec, "api_key_env")
	return e.sealKey(row, key, "", by)
}

const maxKey = 16 << 10

// sealKey adds a credential to the row.
func (e *Editor) sealKey(row *Row, key, note string, by audit.Actor) error {
	file := strings.HasPrefix(strings.TrimSpace(key), "{") // a service account's key file, which is exchanged for tokens instead of being sent
	if len(key) > maxKey || !file && strings.ContainsAny(key, "\r\n\x00 ") {
		return fault.Field("edit.Change", "api_key", "api_key contains a space or a line break, or is too long.")
	}
	sealed, err := e.ring.Seal(key, sealedRow(row.ID), sealedColumn)
	if err != nil {
		f := *fault.From(err)
		f.Param = "api_key"
		return &f
	}
	k := Key{ID: apikey.NewID("pkey_"), Sealed: sealed, Last4: LastOf(key), State: KeyInUse, At: e.now().UTC().Truncate(time.Microsecond), By: by.Name, Note: note}
	row.Keys = append(slices.Clone(row.Keys), k)
	return nil
}

// LastOf are the characters of a key that people may see: none of a short one.
func LastOf(key string) string {
	if len(key) < 12 {
		return ""
	}
	return key[len(key)-4:]
}

const sealedColumn = "api_key"

func sealedRow(id string) string { return string(Provider) + "/" + id }

// holding is the key of a row that is a credential, or nil.
func (e *Editor) holding(row *Row, key string) *Key {
	for i := range row.Keys {
		has, err := e.ring.Open(row.Keys[i].Sealed, sealedRow(row.ID), sealedColumn)
		if err == nil && subtle.ConstantTimeCompare([]byte(has), []byte(key)) == 1 {
			return &row.Keys[i]
		}
	}
	return nil
}

// NewKey is a further key of a provider.
type NewKey struct {
	Provider string
	Key      string
	Note     string // what people want to know of it; ""
	Dry      bool   // it is only checked
}

// AddKey adds a key beside those that a provider has, and returns the catalog with it, and its id. While a provider has keys in use here, one of the
// environment is not used.
func (e *Editor) AddKey(ctx context.Context, n NewKey, by audit.Actor) (built *Built, id string, err error) {
	const op = "edit.AddKey"
	n.Note = strings.TrimSpace(n.Note)
	switch {
	case n.Key == "":
		return nil, "", fault.Field(op, "api_key", "api_key is missing.").Coded("key_missing")
	case len(n.Note) > maxNote || !Text.fits(n.Note):
		return nil, "", fault.Field(op, "note", "note must be one line of at most %d bytes.", maxNote).Coded("key_note", "most", maxNote)
	}
	built, err = e.keys(ctx, n.Provider, n.Dry, audit.CatalogKeyAdded, func(row *Row) error {
		if len(row.Keys) >= MostKeys {
			return fault.Newf(fault.Conflict, op, "The provider has %d keys here, and cannot have more: remove those that are out.", MostKeys).Coded("keys_many", "most", MostKeys)
		}
		if k := e.holding(row, n.Key); k != nil {
			return fault.Field(op, "api_key", "This key is here already: it ends in %s and is %s. Bring it back instead of adding it again.", k.Last4, k.State.words()).Coded("key_known", "last4", k.Last4)
		}
		if err := e.sealKey(row, n.Key, n.Note, by); err != nil {
			return err
		}
		id = row.Keys[len(row.Keys)-1].ID
		return nil
	}, by)
	return built, id, err
}

func (s KeyState) words() string {
	switch s {
	case KeyInUse:
		return "in use"
	case KeyDraining:
		return "draining"
	}
	return "out"
}

// KeyMove changes what a key is used for.
type KeyMove struct {
	Provider, ID string
	To           KeyState
	Sure         bool // although no key is left for new calls
}

// MoveKey has a key be in use, draining or off. It fails with fault.Conflict when no key would be left for new calls, unless that is sure.
func (e *Editor) MoveKey(ctx context.Context, m KeyMove, by audit.Actor) (*Built, error) {
	const op = "edit.MoveKey"
	action := map[KeyState]string{KeyInUse: audit.CatalogKeyReturned, KeyDraining: audit.CatalogKeyDrained, KeyOff: audit.CatalogKeyOut}[m.To]
	if action == "" {
		return nil, fault.Field(op, "state", "state must be in_use, draining or off.").Coded("key_state")
	}
	return e.keys(ctx, m.Provider, false, action, func(row *Row) error {
		row.Keys = slices.Clone(row.Keys)
		k := row.Key(m.ID)
		if k == nil {
			return noKey(op)
		}
		if k.State == m.To {
			return errAsItWas
		}
		last := k.State == KeyInUse && len(row.In(KeyInUse)) == 1
		k.State = m.To
		if last && !m.Sure {
			return fault.Newf(fault.Conflict, op, "This is the last key in use of %q: without it new calls of its models go to other providers or fail. Add another key first, or say that you are sure.", row.ID).
				Coded("last_key", "provider", row.ID)
		}
		return nil
	}, by)
}

func noKey(op string) error {
	return fault.New(fault.NotFound, op, "There is no such key.").Coded("no_key")
}

// ForgetKey deletes the secret of a key that is off.
func (e *Editor) ForgetKey(ctx context.Context, provider, id string, by audit.Actor) (*Built, error) {
	const op = "edit.ForgetKey"
	return e.keys(ctx, provider, false, audit.CatalogKeyForgotten, func(row *Row) error {
		k := row.Key(id)
		if k == nil {
			return noKey(op)
		}
		if k.State != KeyOff {
			return fault.New(fault.Conflict, op, "This key is still used: take it out first.").Coded("key_used")
		}
		row.Keys = slices.DeleteFunc(slices.Clone(row.Keys), func(k Key) bool { return k.ID == id })
		return nil
	}, by)
}

// errAsItWas ends a change of keys that changes nothing.
var errAsItWas = fault.New(fault.Conflict, "edit.keys", "Nothing is to be changed.")

// keys changes the keys of a provider's row in one change of the catalog.
func (e *Editor) keys(ctx context.Context, provider string, dry bool, action string, do func(*Row) error, by audit.Actor) (built *Built, err error) {
	err = e.commit(ctx, func(s *State) (*Commit, error) {
		before, _ := e.builder.BuildCatalog(s, false)
		row, err := e.row(s, before, &Change{Kind: Provider, ID: provider})
		if err != nil {
			return nil, err
		}
		if row.Spec == nil {
			row.Spec = Spec{}
		}
		if err := do(row); err == errAsItWas {
			built, err = e.builder.BuildCatalog(s, true)
			return nil, err
		} else if err != nil {
			return nil, err
		}
		row.Version, row.UpdatedAt = s.Version+1, e.now().UTC().Truncate(time.Microsecond)
		after := s.with(Provider, provider, row)
		if built, err = e.builder.BuildCatalog(&after, true); err != nil || dry {
			return nil, err
		}
		return &Commit{Entry: Entry{Kind: Provider, ID: provider, Before: s.Row(Provider, provider).shown(), After: row.shown(), Action: action}, Row: row}, nil
	}, by)
	return built, err
}

// credential is what the keys of a provider's row give; false where they give nothing, and what else there is counts.
func (r *Row) credential(ring *seal.Ring) (c Credential, given bool) {
	for i := range r.Keys {
		k := &r.Keys[i]
		if k.State == KeyOff {
			continue
		}
		text, err := ring.Open(k.Sealed, sealedRow(r.ID), sealedColumn)
		if err != nil {
			c.failed = err
			continue // of several, those that can be read are used
		}
		if c.Tags == nil {
			c.Tags = map[string]string{}
		}
		c.Tags[k.ID] = catalog.KeyTag(text)
		switch {
		case k.State == KeyDraining:
			c.Draining = append(c.Draining, text)
		case c.Key == "":
			c.Key = text
		default:
			c.Keys = append(c.Keys, text)
		}
	}
	if c.Key == "" && len(r.In(KeyInUse)) > 0 {
		c.Err = c.failed
	}
	return c, len(r.In(KeyInUse)) > 0
}
