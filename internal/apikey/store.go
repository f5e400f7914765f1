package apikey

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/usertext"
)

// How many keys a user may have that are not deleted: by default, and at most, whatever the operator sets. Pages show all of them.
const (
	MaxPerUser  = 50
	MostPerUser = 1000
)

// Config bounds the keys of users.
type Config struct {
	MaxPerUser int `yaml:"max_per_user"`
}

// Default is the configuration of a node without one.
func Default() Config { return Config{MaxPerUser: MaxPerUser} }

// Problem says what is wrong with it, "" nothing.
func (c Config) Problem() string {
	if c.MaxPerUser < 1 || c.MaxPerUser > MostPerUser {
		return "it must be a number from 1 to " + strconv.Itoa(MostPerUser)
	}
	return ""
}

// Key is the stored record of a key.
type Key struct {
	ID         string // "key_..."
	Hash       string // hex SHA-256 of its text
	Label      string
	Name       string
	User       string // "usr_...", or "org_..."
	Member     string // of a key of an organization: for whom it works, a person "usr_..." or a service "svc_..."; "" in a personal account
	Creator    string // id of the user who made it
	Management bool
	Disabled   bool
	Limit      *Limit // nil: none
	Rates      *Rates // nil: the operator's
	Strict     bool
	// Preferences are the provider preferences of its requests: a JSON object that was checked, "" none.
	Preferences string
	Models      []string       // patterns of the models that it may call; none: all
	Addresses   []netip.Prefix // from which it works; none: all
	Previous    Previous       // its text before the last rotation
	Child       Child          // zero: no other key made it
	ExpiresAt   time.Time      // zero: never
	CreatedAt   time.Time
	UpdatedAt   time.Time
	DeletedAt   time.Time // zero: not deleted
}

// Child is what a key has that another one made, for an agent: it works within that one, and ends with it.
type Child struct {
	Parent string   // id of the key that made it; "" none
	Tree   string   // id of the first such key above it, which may be the key itself
	Depth  int      // how many generations of keys may come from it
	Tools  []string // names of tools that its requests may have, and types of those that providers run; none: all
}

// Previous is a former text of a key, which works for some time more. The zero value means that the key has no former text.
type Previous struct {
	Hash  string
	Label string
	Until time.Time
}

// State is whether a key opens the door.
type State uint8

// The states. Only active keys authenticate.
const (
	Active State = iota
	Disabled
	Expired
	Deleted
)

// State returns a key's state at a moment.
func (k *Key) State(now time.Time) State {
	switch {
	case !k.DeletedAt.IsZero():
		return Deleted
	case k.Disabled:
		return Disabled
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return Expired
	}
	return Active
}

// Found is a key with the data of its user.
type Found struct {
	Key
	Wallet       string  // "wal_..."
	UserDisabled bool    // or it works for a person who is disabled or not a member any more, or for a service that has ended
	Team         string  // of the member, "" none
	Above        []Above // the keys that it comes from, its parent first
	// AboveEnds is when the first key above it expires; zero: never. One above it that is disabled or deleted is a UserDisabled.
	AboveEnds time.Time
	// AboveModels are the models that keys above it may call, where they name any.
	AboveModels [][]string
	Role        Role
	Agent       bool // it is the access token of a program that a person has signed in
	// AccountPreferences are the user's, as Key.Preferences are the key's.
	AccountPreferences string
}

// Change is a set of edits of one key; nil fields stay as they are.
type Change struct {
	Name     *string
	Disabled *bool
	Limit    **Limit // pointer to nil removes the limit
	Rates    **Rates // pointer to nil leaves all to the operator
	Strict   *bool
	// Preferences must have been checked; "" for none.
	Preferences *string
	Models      *[]string       // none: all
	Addresses   *[]netip.Prefix // none: all
	ExpiresAt   *time.Time      // zero: never
}

// Filter chooses keys of a list.
type Filter struct {
	User            string // "" all users
	Sees            Sight  // of the user, which is an organization then
	IncludeDisabled bool
	IncludeDeleted  bool
	Children        bool // with those that other keys made
	Offset          int
	Count           int // page size; 0 means 100
}

// Store keeps keys. Each change and its audit row are one transaction.
type Store interface {
	// KeyByHash finds a key, deleted ones included, also by the hash of its former text, whenever that ended. It fails with fault.NotFound, and with fault.StorageUnavailable
	// or another kind when the store cannot answer.
	KeyByHash(ctx context.Context, hash string) (Found, error)
	// KeyByID finds a key, deleted ones included. It fails as KeyByHash does.
	KeyByID(ctx context.Context, id string) (Found, error)
	// ListKeys lists keys that are not deleted, newest first.
	ListKeys(ctx context.Context, f Filter) ([]Key, error)
	// InsertKey adds a key. It fails with fault.Invalid when the user has maxPerUser keys, with fault.NotFound without the user, and with
	// ErrLabelTaken.
	InsertKey(ctx context.Context, k Key, maxPerUser int, e audit.Event) error
	// InsertChild adds a key that another one made. It fails with fault.NotFound where that one is none or has ended, with fault.Invalid beyond the bounds
	// of children, and where the amount is more than one above it has left, and with ErrLabelTaken.
	InsertChild(ctx context.Context, k Key, now time.Time, e audit.Event) error
	// Tree lists the keys of a tree, ended ones included, the oldest first; top is a Child.Tree.
	Tree(ctx context.Context, user, top string) ([]Branch, error)
	// Tops lists the first keys of trees of a user, ended ones included, the newest first: of children of one key, or of all for "".
	Tops(ctx context.Context, user, parent string, sees Sight, most int) ([]Key, error)
	// OutOfMoney lists up to most keys of a user that other keys made, have not ended, and of whose amount less than a hundredth is left, with Branch.Top.
	OutOfMoney(ctx context.Context, user string, now time.Time, most int) ([]Branch, error)
	// StopBelow deletes a key that another one made, with all that come from it, and returns their ids: those that have not ended before.
	StopBelow(ctx context.Context, user, id string, now time.Time, e audit.Event) ([]string, error)
	// ChangeKey edits a key that is not deleted and returns it. user "" means anybody's. It fails with fault.NotFound.
	ChangeKey(ctx context.Context, user, hash string, c Change, now time.Time, e audit.Event) (Key, error)
	// RotateKey gives a key that is not deleted another hash and label, and keeps the former ones as Previous; until is zero when they work no
	// more. It fails with fault.NotFound, and with ErrLabelTaken.
	RotateKey(ctx context.Context, user, hash, newHash, newLabel string, until, now time.Time, e audit.Event) (Key, error)
	// Disablings finds who disabled the keys of a user that are disabled, by the ids of keys. What the audit chain does not know is left out.
	Disablings(ctx context.Context, user string) (map[string]Disabling, error)
	// ResetSpending has what a key that is not deleted has spent not count against its limit any more. It completes the event with what had counted. It
	// fails with fault.NotFound.
	ResetSpending(ctx context.Context, user, hash string, now time.Time, e audit.Event) (Key, error)
	// DeleteKey marks a key deleted for good; its row stays for the records that name it. It fails with fault.NotFound.
	DeleteKey(ctx context.Context, user, hash string, now time.Time, e audit.Event) error
}

// Disabling is who disabled a key, and when.
type Disabling struct {
	Actor string // as audit.Actor.Name
	At    time.Time
}

// ErrLabelTaken is in the chain of an error when a key of the same user has, or had before its rotation, the label of the new text. People would
// take one for the other.
var ErrLabelTaken = errors.New("another key of the user has this label")

// mostTexts is how many texts are tried until one has a label of its own; of a user's keys, one in thousands needs a second.
const mostTexts = 20

// unlike calls f with new texts until one has a label of its own.
func unlike(f func() error) (err error) {
	for range mostTexts {
		if err = f(); !errors.Is(err, ErrLabelTaken) {
			break
		}
	}
	return err
}

// NewKey has the properties of a new key.
type NewKey struct {
	Name       string
	User       string
	Member     string // see Key
	Creator    string
	Management bool
	Limit      *Limit
	Rates      *Rates
	Strict     bool
	Disabled   bool
	ExpiresAt  time.Time
	Text       string // one that is given instead of a new one; "": none

	Preferences string // see Key
	Models      []string
	Addresses   []netip.Prefix
}

// Make mints a key for n, unless its text is given. The text is returned once and kept nowhere.
func Make(n NewKey, now time.Time) (key Key, text string) {
	if text = n.Text; text == "" {
		text = Mint(n.Management)
	}
	now = now.UTC().Truncate(time.Microsecond)
	return Key{ID: NewID("key_"), Hash: Hash(text), Label: Label(text), Name: n.Name, User: n.User, Member: n.Member, Creator: n.Creator, Management: n.Management,
		Limit: n.Limit, Rates: n.Rates, Strict: n.Strict, Disabled: n.Disabled, Preferences: n.Preferences, Models: n.Models, Addresses: n.Addresses, ExpiresAt: n.ExpiresAt, CreatedAt: now, UpdatedAt: now}, text
}

// Manager has the operations of users and operators on keys. A change is effective on this node when the method returns.
type Manager struct {
	store      Store
	verifier   *Verifier // nil in a command that serves nothing
	now        func() time.Time
	maxPerUser int
}

// NewManager makes a Manager. maxPerUser 0 means MaxPerUser.
func NewManager(s Store, v *Verifier, now func() time.Time, maxPerUser int) *Manager {
	if maxPerUser == 0 {
		maxPerUser = MaxPerUser
	}
	return &Manager{store: s, verifier: v, now: now, maxPerUser: maxPerUser}
}

// MaxPerUser is how many keys a user may have.
func (m *Manager) MaxPerUser() int { return m.maxPerUser }

// Check fails with fault.Invalid for fields out of range.
func (n *NewKey) Check(now time.Time) error {
	if err := errors.Join(checkName(n.Name), n.Limit.check(), n.Rates.check(), checkModels(n.Models), checkAddresses(n.Addresses)); err != nil {
		return err
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		return fault.Field("apikey.Create", "expires_at", "expires_at must be in the future.").Coded("past")
	}
	if management, ok := Check(n.Text); n.Text != "" && (!ok || management != n.Management) {
		return fault.Field("apikey.Create", "key", "The text is not a key of this kind: give the whole text, as weir key add printed it.").Coded("whole_key")
	}
	return nil
}

// Create makes and stores a key, and returns it with its text. It fails with fault.Invalid for fields out of range.
func (m *Manager) Create(ctx context.Context, n NewKey, by audit.Actor) (Key, string, error) {
	if err := n.Check(m.now()); err != nil {
		return Key{}, "", err
	}
	var key Key
	var text string
	err := unlike(func() error {
		key, text = Make(n, m.now())
		return m.store.InsertKey(ctx, key, m.maxPerUser, CreatedEvent(&key, by))
	})
	if err != nil && n.Text != "" && fault.Is(err, fault.Conflict) {
		return Key{}, "", fault.New(fault.Conflict, "apikey.Create", "This key exists already, or did before it was deleted.").Because(err)
	}
	if err != nil {
		return Key{}, "", err
	}
	return key, text, nil
}

// CreatedEvent is the audit event of a new key.
func CreatedEvent(k *Key, by audit.Actor) audit.Event {
	sort := "API key"
	if k.Management {
		sort = "management key"
	}
	return audit.Event{Actor: by, Action: audit.KeyCreated, Target: k.ID, After: sort + " " + k.Label + " of " + k.User + ", " + k.Limit.String()}
}

// List lists keys; see Store.ListKeys.
func (m *Manager) List(ctx context.Context, f Filter) ([]Key, error) {
	if f.Count == 0 {
		f.Count = 100
	}
	return m.store.ListKeys(ctx, f)
}

// ByHash finds a key of user ("" anybody's) that is not deleted, also by the hash of its former text while that works. It fails with fault.NotFound.
func (m *Manager) ByHash(ctx context.Context, user, hash string) (Key, error) {
	f, err := m.store.KeyByHash(ctx, hash)
	if err != nil {
		return Key{}, err
	}
	if !f.DeletedAt.IsZero() || user != "" && f.User != user || f.Hash != hash && !m.now().Before(f.Previous.Until) {
		return Key{}, NotFound("apikey.ByHash")
	}
	return f.Key, nil
}

// Seen is ByHash for who sees only some keys of an account: another one does not exist for them.
func (m *Manager) Seen(ctx context.Context, c *Caller, hash string) (Key, error) {
	k, err := m.ByHash(ctx, c.User, hash)
	if err != nil || c.Sees.All() {
		return k, err
	}
	f, err := m.store.KeyByID(ctx, k.ID)
	if err == nil && !c.Sees.Of(f.Member, f.Team) {
		err = NotFound("apikey.Seen")
	}
	return k, err
}

// Sees reports whether a caller sees what was done with a key of their account.
func (m *Manager) Sees(ctx context.Context, c *Caller, key string) (bool, error) {
	if c.Sees.All() {
		return true, nil
	}
	f, err := m.store.KeyByID(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && f.User == c.User && c.Sees.Of(f.Member, f.Team), err
}

// Of finds a key of anybody by its id or hash, deleted ones included. It fails with fault.NotFound.
func (m *Manager) Of(ctx context.Context, name string) (Found, error) {
	if strings.HasPrefix(name, "key_") {
		return m.store.KeyByID(ctx, name)
	}
	return m.store.KeyByHash(ctx, name)
}

// Whose finds a key by its whole text, deleted ones included, also by its text before the last rotation. It fails with fault.Invalid for what is
// no key, which the error does not repeat, and with fault.NotFound.
func (m *Manager) Whose(ctx context.Context, text string) (Found, error) {
	if _, ok := Check(text); !ok {
		return Found{}, fault.Field("apikey.Whose", "key", "key must be the whole text of a key of this gateway. A character is missing or wrong.").Coded("whole_key")
	}
	return m.store.KeyByHash(ctx, Hash(text))
}

// Disablings finds who disabled the keys of a user that are disabled; see Store.Disablings.
func (m *Manager) Disablings(ctx context.Context, user string) (map[string]Disabling, error) {
	return m.store.Disablings(ctx, user)
}

// NotFound is the error for a key that does not exist, or that does not belong to the asking user.
func NotFound(op string) error { return fault.New(fault.NotFound, op, "There is no such key.") }

// Change edits a key of user ("" anybody's) and returns it.
func (m *Manager) Change(ctx context.Context, user, hash string, c Change, by audit.Actor) (Key, error) {
	if c.Name != nil {
		if err := checkName(*c.Name); err != nil {
			return Key{}, err
		}
	}
	if c.Limit != nil {
		if err := (*c.Limit).check(); err != nil {
			return Key{}, err
		}
	}
	if c.Rates != nil {
		if err := (*c.Rates).check(); err != nil {
			return Key{}, err
		}
	}
	if c.Models != nil {
		if err := checkModels(*c.Models); err != nil {
			return Key{}, err
		}
	}
	if c.Addresses != nil {
		if err := checkAddresses(*c.Addresses); err != nil {
			return Key{}, err
		}
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(m.now()) {
		return Key{}, fault.Field("apikey.Change", "expires_at", "expires_at must be in the future.").Coded("past")
	}
	before, err := m.ByHash(ctx, user, hash)
	if err != nil {
		return Key{}, err
	}
	hash = before.Hash
	e := audit.Event{Actor: by, Action: audit.KeyChanged, Target: before.ID, Before: before.describe(), After: c.describe()}
	if c.Disabled != nil && *c.Disabled && !before.Disabled {
		e.Action = audit.KeyRevoked
	}
	key, err := m.store.ChangeKey(ctx, user, hash, c, m.now().UTC().Truncate(time.Microsecond), e)
	m.forget(hash)
	m.forgetBelow(before.ID)
	return key, err
}

// ResetSpending lets the limit of a key of user ("" anybody's) count from now on, whether it has an interval or not. The spending itself stays.
func (m *Manager) ResetSpending(ctx context.Context, user, hash, reason string, by audit.Actor) (Key, error) {
	if reason = strings.TrimSpace(reason); len(reason) > maxReason || !usertext.Is(reason) {
		return Key{}, fault.Field("apikey.ResetSpending", "reason", "reason must be a line of at most %d bytes.", maxReason).Coded("most_bytes", "most", maxReason)
	}
	k, err := m.ByHash(ctx, user, hash)
	if err != nil {
		return k, err
	}
	if k.Limit == nil {
		return k, fault.New(fault.Conflict, "apikey.ResetSpending", "This key has no limit that could count from now on.").Coded("no_key_limit")
	}
	return m.store.ResetSpending(ctx, user, k.Hash, m.now().UTC().Truncate(time.Microsecond), audit.Event{Actor: by, Action: audit.KeyReset, Target: k.ID, After: reason})
}

const maxReason = 200 // bytes

// DisableAll disables all keys of a user that are not, and returns how many there were.
func (m *Manager) DisableAll(ctx context.Context, user string, by audit.Actor) (n int, err error) {
	keys, err := m.store.ListKeys(ctx, Filter{User: user, Count: MostPerUser}) // there may be more than are allowed now
	if err != nil {
		return 0, err
	}
	disabled := true
	for i := range keys {
		if _, err := m.Change(ctx, user, keys[i].Hash, Change{Disabled: &disabled}, by); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// MostHours is how long the former text of a rotated key may work.
const MostHours = 168

// Rotate gives a key of user ("" anybody's) another text, which it returns. The former one works for some hours more; one before that does
// not.
func (m *Manager) Rotate(ctx context.Context, user, hash string, hours int, by audit.Actor) (Key, string, error) {
	if hours < 0 || hours > MostHours {
		return Key{}, "", fault.Field("apikey.Rotate", "hours", "hours must be a whole number from 0 to %d.", MostHours).Coded("hours_range", "most", MostHours)
	}
	key, err := m.ByHash(ctx, user, hash)
	if err != nil {
		return Key{}, "", err
	}
	now := m.now().UTC().Truncate(time.Microsecond)
	var until time.Time
	after := "a new text, the former one is refused"
	if hours > 0 {
		until = now.Add(time.Duration(hours) * time.Hour)
		after = "a new text, the former one works until " + until.Format(time.RFC3339)
	}
	var changed Key
	var text string
	err = unlike(func() (err error) {
		text = Mint(key.Management)
		e := audit.Event{Actor: by, Action: audit.KeyChanged, Target: key.ID, Before: key.Label, After: Label(text) + ", " + after}
		changed, err = m.store.RotateKey(ctx, user, key.Hash, Hash(text), Label(text), until, now, e)
		return err
	})
	m.forget(key.Hash)
	if err != nil {
		return Key{}, "", err
	}
	m.forget(changed.Hash)
	return changed, text, nil
}

// maxRules bounds the lists of models and addresses of a key.
const maxRules = 100

func checkModels(list []string) error {
	if len(list) > maxRules {
		return fault.Field("apikey.Models", "allowed_models", "allowed_models must have at most %d patterns.", maxRules).Coded("most_models", "most", maxRules)
	}
	for _, p := range list {
		if p == "" || len(p) > maxNameLen || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return fault.Field("apikey.Models", "allowed_models", "allowed_models must be patterns of 1 to %d printable ASCII characters without spaces, such as \"acme/*\".", maxNameLen).Coded("model_pattern", "most", maxNameLen)
		}
	}
	return nil
}

func checkAddresses(list []netip.Prefix) error {
	if len(list) > maxRules {
		return fault.Field("apikey.Addresses", "allowed_ips", "allowed_ips must have at most %d entries.", maxRules).Coded("most_addresses", "most", maxRules)
	}
	return nil
}

// ParseAddress reads an address, or a prefix in the notation of CIDR. It fails with fault.Invalid.
func ParseAddress(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return p, fault.Field("apikey.ParseAddress", "allowed_ips", "allowed_ips must be addresses or prefixes such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32; %q is neither.", clipped(text)).Coded("address_pattern", "value", clipped(text))
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

func clipped(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "")
	}
	return s
}

// Delete deletes a key of user ("" anybody's).
func (m *Manager) Delete(ctx context.Context, user, hash string, by audit.Actor) error {
	key, err := m.ByHash(ctx, user, hash)
	if err != nil {
		return err
	}
	hash = key.Hash
	err = m.store.DeleteKey(ctx, user, hash, m.now().UTC().Truncate(time.Microsecond),
		audit.Event{Actor: by, Action: audit.KeyRevoked, Target: key.ID, Before: key.describe(), After: "deleted"})
	m.forget(hash)
	m.forgetBelow(key.ID)
	return err
}

func (m *Manager) forget(hash string) {
	if m.verifier != nil {
		m.verifier.Forget(hash)
	}
}

func (m *Manager) forgetBelow(id string) {
	if m.verifier != nil {
		m.verifier.ForgetBelow(id)
	}
}

func (k *Key) describe() string {
	s := "active"
	if k.Disabled {
		s = "disabled"
	}
	s += ", " + k.Limit.String()
	if k.Rates != nil {
		s += ", " + k.Rates.String()
	}
	if k.Preferences != "" {
		s += ", " + PreferencesText(k.Preferences)
	}
	if len(k.Models) > 0 {
		s += ", " + modelsText(k.Models)
	}
	if len(k.Addresses) > 0 {
		s += ", " + addressesText(k.Addresses)
	}
	if !k.ExpiresAt.IsZero() {
		s += ", " + expiryText(k.ExpiresAt)
	}
	return s
}

// PreferencesText describes provider preferences for the audit log.
func PreferencesText(preferences string) string {
	if preferences == "" {
		return "no provider preferences"
	}
	return "provider preferences " + preferences
}

func (c *Change) describe() string {
	s := ""
	add := func(words string) {
		if s != "" {
			s += ", "
		}
		s += words
	}
	if c.Name != nil {
		add("renamed")
	}
	if c.Disabled != nil {
		if *c.Disabled {
			add("disabled")
		} else {
			add("active")
		}
	}
	if c.Limit != nil {
		add((*c.Limit).String())
	}
	if c.Rates != nil {
		add((*c.Rates).String())
	}
	if c.Strict != nil {
		add("response schema changed")
	}
	if c.Preferences != nil {
		add(PreferencesText(*c.Preferences))
	}
	if c.Models != nil {
		add(modelsText(*c.Models))
	}
	if c.Addresses != nil {
		add(addressesText(*c.Addresses))
	}
	if c.ExpiresAt != nil {
		add(expiryText(*c.ExpiresAt))
	}
	return s
}

func modelsText(list []string) string {
	if len(list) == 0 {
		return "all models"
	}
	return "models " + strings.Join(list, " ")
}

func addressesText(list []netip.Prefix) string {
	if len(list) == 0 {
		return "all addresses"
	}
	s := "addresses"
	for _, p := range list {
		s += " " + p.String()
	}
	return s
}

func expiryText(t time.Time) string {
	if t.IsZero() {
		return "never expires"
	}
	return "expires " + t.UTC().Format(time.RFC3339)
}

// String describes a limit; nil is a limit, too.
func (l *Limit) String() string {
	if l == nil {
		return "no limit"
	}
	s := "limit " + l.Amount.String()
	if l.Reset != Never {
		s += " " + string(l.Reset)
	}
	return s
}

// String describes allowances; nil are allowances, too.
func (r *Rates) String() string {
	if r == nil {
		return "the operator's rate limits"
	}
	part := func(n int64, text, unit string) string {
		switch n {
		case DefaultRate:
			return "the operator's " + unit
		case 0:
			return "any " + unit
		}
		return text + " " + unit
	}
	return "by the minute " + part(r.Requests, strconv.FormatInt(r.Requests, 10), "requests") + ", " + part(r.Tokens, strconv.FormatInt(r.Tokens, 10), "tokens") +
		", " + part(int64(r.Rubles), r.Rubles.String(), "rubles") + ", at one time " + part(r.Calls, strconv.FormatInt(r.Calls, 10), "calls")
}

func (r *Rates) check() error {
	switch {
	case r == nil:
		return nil
	case r.Requests < DefaultRate:
		return fault.Field("apikey.Rates", "rate_limits.requests_per_minute", "requests_per_minute must not be negative.").Coded("negative_requests")
	case r.Tokens < DefaultRate:
		return fault.Field("apikey.Rates", "rate_limits.tokens_per_minute", "tokens_per_minute must not be negative.").Coded("negative_tokens")
	case r.Rubles < DefaultRate:
		return fault.Field("apikey.Rates", "rate_limits.rubles_per_minute", "rubles_per_minute must not be negative.").Coded("negative_rubles")
	case r.Calls < DefaultRate:
		return fault.Field("apikey.Rates", "rate_limits.concurrent_calls", "concurrent_calls must not be negative.").Coded("negative_calls")
	}
	return nil
}

func (l *Limit) check() error {
	if l == nil {
		return nil
	}
	if l.Amount < 0 {
		return fault.Field("apikey.Limit", "limit", "limit must not be negative.").Coded("negative_limit")
	}
	switch l.Reset {
	case Never, Daily, Weekly, Monthly:
		return nil
	}
	return fault.Field("apikey.Limit", "limit_reset", "limit_reset must be daily, weekly, monthly or null.").Coded("reset_period")
}

// Start is when the limit's current interval began; the zero time for a limit that never resets.
func (r Reset) Start(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	switch r {
	case Daily:
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	case Weekly:
		back := (int(now.UTC().Weekday()) + 6) % 7 // days since Monday
		return time.Date(y, m, d-back, 0, 0, 0, 0, time.UTC)
	case Monthly:
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// Remaining is the rest of the limit after spent in the current interval, never below zero.
func (l *Limit) Remaining(spent money.Nano) money.Nano { return max(0, l.Amount-spent) }

const maxNameLen = 256

// checkName refuses names that a database or a page may stumble over.
func checkName(name string) error {
	if name == "" || len(name) > maxNameLen {
		return fault.Field("apikey.Name", "name", "name must have 1 to %d bytes.", maxNameLen).Coded("length_bytes", "most", maxNameLen)
	}
	if !usertext.Is(name) {
		return fault.Field("apikey.Name", "name", "name must not contain control characters, or characters that change the direction of text.").Coded("control_characters")
	}
	return nil
}

func (s State) String() string {
	return [...]string{"active", "disabled", "expired", "deleted"}[s]
}
