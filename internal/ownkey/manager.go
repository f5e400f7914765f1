package ownkey

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/routing"
	"weir/internal/seal"
)

const (
	fresh = 2 * time.Second // that a user has no key may be out of date for this long: another node added one
	stale = 5 * time.Minute // while the store is unavailable, it is believed for this long
	room  = 20_000          // users who are remembered

	noteEvery = time.Minute // a key that goes on working, or failing in the same way, is noted this often by a node
	noteFor   = 2 * time.Second
	restMost  = time.Minute // a key that failed comes after the gateway's endpoints for at most so long
	restUsual = 20 * time.Second
)

// Config decides who may bring keys, and what their calls cost.
type Config struct {
	Enabled        bool     `yaml:"enabled"`
	Fee            Fee      `yaml:"fee"`
	Providers      []string `yaml:"providers"`            // slugs of providers whose keys are taken; none: those that the operator has credentials of
	MaxPerAccount  int      `yaml:"max_per_account"`      // keys
	TestsPerMinute int64    `constant:"tests_per_minute"` // of an account
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{Enabled: true, Fee: Fee{Share: 500}, MaxPerAccount: 20, TestsPerMinute: 5}
}

// Manager keeps and finds keys. It is safe for concurrent use.
type Manager struct {
	store Store
	ring  func() *seal.Ring
	now   func() time.Time
	cfg   Config
	none  *lru.Cache[string, none]      // users without keys
	noted *lru.Cache[string, note]      // by key: what this node has noted last
	rest  *lru.Cache[string, time.Time] // by key and the time of its secret: until when it rests
	epoch atomic.Uint64                 // grows with every key that is added: that there was none must not be remembered after it
}

// none is that a user had no keys.
type none struct {
	at  time.Time
	due bool // another node has changed it
}

type note struct {
	code string
	at   time.Time
}

// NewManager makes a Manager over a store. ring returns the current master keys.
func NewManager(s Store, ring func() *seal.Ring, now func() time.Time, c Config) *Manager {
	without, _ := lru.New[string, none](room) // these fail for sizes below 1 alone
	noted, _ := lru.New[string, note](room)
	rest, _ := lru.New[string, time.Time](room)
	return &Manager{store: s, ring: ring, now: now, cfg: c, none: without, noted: noted, rest: rest}
}

// Ready reports whether keys can be added: the operator wants them, and has a master key to seal them with.
func (m *Manager) Ready() bool { return m.cfg.Enabled && m.ring().Ready() }

// Fee is what calls with an own key cost.
func (m *Manager) Fee() catalog.Fee { return catalog.Fee(m.cfg.Fee) }

// Most is how many keys an account may have.
func (m *Manager) Most() int { return m.cfg.MaxPerAccount }

// Takes reports whether keys of a provider are taken. Unless the operator lists it, that is a provider that checks keys as far as one can
// see: the operator has one for it. Servers that check none would serve everybody for the fee.
func (m *Manager) Takes(p *catalog.Provider) bool {
	if len(m.cfg.Providers) > 0 {
		return slices.Contains(m.cfg.Providers, p.ID)
	}
	return p.Key != "" || len(p.Keys) > 0
}

// Providers lists the providers whose keys are taken, by name.
func (m *Manager) Providers(snap *catalog.Snapshot) (all []*catalog.Provider) {
	if !m.Ready() {
		return nil
	}
	for _, p := range snap.Providers {
		if m.Takes(p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *catalog.Provider) int {
		return strings.Compare(strings.ToLower(a.Name)+" "+a.ID, strings.ToLower(b.Name)+" "+b.ID)
	})
	return all
}

// List lists a user's keys by provider.
func (m *Manager) List(ctx context.Context, user string) ([]Key, error) {
	return m.store.ProviderKeys(ctx, user)
}

// Find finds a user's key. It fails with fault.NotFound.
func (m *Manager) Find(ctx context.Context, user, id string) (Key, error) {
	k, err := m.store.ProviderKey(ctx, user, id)
	return k, missing(err)
}

func missing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "ownkey.Find", "There is no such provider key. GET /api/provider-keys lists those of the account.")
	}
	return err
}

// sealed encrypts a secret with the servers that it is for: it is sent to no other, also when an operator changes the address of the provider.
func (m *Manager) sealed(secret, id, user string, p *catalog.Provider) ([]byte, error) {
	const op = "ownkey.seal"
	if !m.cfg.Enabled {
		return nil, fault.New(fault.Conflict, op, "This gateway takes no keys of providers.")
	}
	if err := CheckSecret(secret); err != nil {
		return nil, err
	}
	if !m.ring().Ready() {
		return nil, fault.New(fault.Conflict, op, "This gateway cannot keep keys of providers: its operator has to give it a master key.")
	}
	return m.ring().Seal(strings.Join(p.Origins(), " ")+"\n"+secret, sealedRow(id, user, p.ID), sealedColumn)
}

// opened decrypts the secret of a key, and the servers that it is for; nil for a secret that was put in before they were kept.
func (m *Manager) opened(k *Key) (secret string, origins []string, err error) {
	text, err := m.ring().Open(k.Sealed, sealedRow(k.ID, k.User, k.Provider), sealedColumn)
	servers, secret, bound := strings.Cut(text, "\n")
	if !bound {
		return text, nil, err
	}
	return secret, strings.Split(servers, " "), err
}

// leads reports whether an endpoint calls only servers that a secret is for.
func leads(ep *catalog.Endpoint, origins []string) bool {
	return origins == nil || !slices.ContainsFunc(ep.Provider.Origins(), func(at string) bool { return !slices.Contains(origins, at) })
}

const sealedColumn = "provider_key"

// sealedRow binds a secret to its owner and its provider: in the row of another user, or of another provider, it cannot be decrypted.
func sealedRow(id, user, provider string) string {
	return "provider_key/" + id + "/" + user + "/" + provider
}

// Add keeps a key of a provider that takes them; see Takes.
func (m *Manager) Add(ctx context.Context, user string, p *catalog.Provider, secret string, order routing.OwnOrder, by audit.Actor) (Key, error) {
	if order == "" {
		order = routing.OwnBefore
	}
	if err := CheckOrder(order); err != nil {
		return Key{}, err
	}
	now := m.now().UTC().Truncate(time.Microsecond)
	k := Key{ID: apikey.NewID("pk_"), User: user, Provider: p.ID, Order: order, Last4: last4(secret), CreatedAt: now, ChangedAt: now}
	var err error
	if k.Sealed, err = m.sealed(secret, k.ID, user, p); err != nil {
		return Key{}, err
	}
	e := audit.Event{Actor: by, Action: audit.ProviderKeyAdded, Target: user + " " + k.ID, After: p.ID + ", " + string(order)}
	err = m.store.AddProviderKey(ctx, k, m.cfg.MaxPerAccount, e)
	m.epoch.Add(1)
	m.none.Remove(user)
	return k, err
}

// CheckOrder fails with fault.Invalid for what is no order.
func CheckOrder(o routing.OwnOrder) error {
	switch o {
	case routing.OwnBefore, routing.OwnAfter, routing.OwnOnly:
		return nil
	}
	return fault.Field("ownkey.CheckOrder", "order", "order must be before, after or only.").Coded("key_order")
}

// Edit is what a person changes of a key; nil and "" leave it.
type Edit struct {
	Secret string
	Order  routing.OwnOrder
	Off    *bool
}

// errGone is why a secret cannot be put in: without its provider, the servers that it would be for are not known.
func errGone(provider string) error {
	return fault.Newf(fault.Conflict, "ownkey.Change", "This gateway has no provider %q at present, so its key cannot be changed. Remove the key, or wait until the provider is back.", provider)
}

// Change changes a key. providers are those of the catalog: a new secret is for the servers of its provider.
func (m *Manager) Change(ctx context.Context, user, id string, e Edit, providers map[string]*catalog.Provider, by audit.Actor) (Key, error) {
	k, err := m.Find(ctx, user, id)
	if err != nil {
		return Key{}, err
	}
	c, said := Change{Off: e.Off, Order: e.Order}, []string{k.Provider}
	if e.Order != "" {
		if err := CheckOrder(e.Order); err != nil {
			return Key{}, err
		}
		said = append(said, string(e.Order))
	}
	if e.Secret != "" {
		p := providers[k.Provider]
		if p == nil {
			return Key{}, errGone(k.Provider)
		}
		if c.Sealed, err = m.sealed(e.Secret, k.ID, user, p); err != nil {
			return Key{}, err
		}
		c.Last4, said = last4(e.Secret), append(said, "another key")
	}
	switch {
	case e.Off != nil && *e.Off:
		said = append(said, "off")
	case e.Off != nil:
		said = append(said, "on")
	}
	k, err = m.store.ChangeProviderKey(ctx, user, id, c, m.now(), audit.Event{Actor: by, Action: audit.ProviderKeyChanged, Target: user + " " + id, After: strings.Join(said, ", ")})
	return k, missing(err)
}

// Remove deletes the secret of a key at once. Of a key whose order is routing.OwnOnly that order stays, so that calls do not quietly go to
// endpoints which cost their whole price; removed once more, it goes, too.
func (m *Manager) Remove(ctx context.Context, user, id string, by audit.Actor) error {
	return missing(m.store.RemoveProviderKey(ctx, user, id, m.now(), audit.Event{Actor: by, Action: audit.ProviderKeyRemoved, Target: user + " " + id}))
}

// Of is what the keys of a user mean for a plan. Who has keys is read anew for each call, so that a key that was removed on any node is not
// used again; that a user has none is believed for two seconds.
func (m *Manager) Of(ctx context.Context, user string) ([]routing.Own, error) {
	now := m.now()
	read, known := m.none.Get(user)
	if known && !read.due && now.Sub(read.at) < fresh {
		return nil, nil
	}
	epoch := m.epoch.Load()
	keys, err := m.store.ProviderKeys(ctx, user)
	if err != nil {
		if known && now.Sub(read.at) < stale {
			return nil, nil
		}
		e := fault.New(fault.StorageUnavailable, "ownkey.Of", "Whether there are own keys for this call cannot be found out at present. Try again.")
		e.RetryAfter = time.Second
		return nil, e.Because(err)
	}
	if len(keys) == 0 {
		m.none.Add(user, none{at: now})
		if m.epoch.Load() != epoch { // looked at last: a change in between finds what was written
			m.none.Remove(user)
		}
		return nil, nil
	}
	all := make([]routing.Own, len(keys))
	for i := range keys {
		all[i] = m.own(&keys[i], now)
	}
	return all, nil
}

// LookAgain has the keys of users without any read again at the next call, because another node has added one. While the store is
// unavailable, they have none as before.
func (m *Manager) LookAgain(of func(user string) bool) {
	m.epoch.Add(1)
	for _, user := range m.none.Keys() {
		if n, ok := m.none.Peek(user); ok && of(user) && !n.due {
			n.due = true
			m.none.Add(user, n)
		}
	}
}

func (m *Manager) own(k *Key, now time.Time) routing.Own {
	o := routing.Own{Provider: k.Provider, Order: k.Order}
	var secret string
	var origins []string
	switch {
	case k.Removed():
		o.Missing = routing.OwnRemoved
	case k.Off:
		o.Missing = routing.OwnOff
	case !m.cfg.Enabled:
		o.Missing = routing.OwnNotTaken
	default:
		var err error
		if secret, origins, err = m.opened(k); err != nil {
			o.Missing = routing.OwnUnread
		}
	}
	if o.Missing != "" {
		return o
	}
	o.Endpoint = func(ep *catalog.Endpoint) *catalog.Endpoint {
		if !m.Takes(ep.Provider) || !leads(ep, origins) {
			return nil
		}
		return ep.WithOwnKey(k.ID, secret, m.Fee())
	}
	until, resting := m.rest.Get(restKey(k))
	o.Resting = resting && now.Before(until)
	return o
}

func restKey(k *Key) string { return k.ID + k.ChangedAt.Format(time.RFC3339Nano) }

// Endpoint is an endpoint as a user calls it with a key, for what has begun with it and goes on later. It fails with fault.PermissionDenied
// when the key can no longer be used.
func (m *Manager) Endpoint(ctx context.Context, user, id string, ep *catalog.Endpoint) (*catalog.Endpoint, error) {
	gone := func(cause error) error {
		return fault.New(fault.PermissionDenied, "ownkey.Endpoint", "The own key that this was begun with can no longer be used.").Because(cause)
	}
	k, err := m.store.ProviderKey(ctx, user, id)
	if fault.Is(err, fault.NotFound) {
		return nil, gone(err)
	}
	if err != nil {
		return nil, err
	}
	o := m.own(&k, m.now())
	if o.Endpoint == nil || k.Provider != ep.Provider.ID {
		return nil, gone(nil)
	}
	own := o.Endpoint(ep)
	if own == nil {
		return nil, gone(nil)
	}
	return own, nil
}

// Tried notes how a call of a user with a key went, for its owner to see. A key that its provider refuses rests for a moment: calls that have
// another endpoint are not delayed by it each time.
func (m *Manager) Tried(user, id string, err *fault.Error) {
	now := m.now()
	f := FailureOf(err, now)
	if err != nil && f.Code == "" {
		return
	}
	last, known := m.noted.Get(id)
	if known && last.code == f.Code && now.Sub(last.at) < noteEvery && !f.AboutKey() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteFor)
	defer cancel()
	k, missing := m.store.ProviderKey(ctx, user, id)
	if missing != nil || k.Removed() {
		return
	}
	if f.AboutKey() {
		pause := restUsual
		if err.RetryAfter > 0 {
			pause = min(err.RetryAfter, restMost)
		}
		m.rest.Add(restKey(&k), now.Add(pause))
	} else {
		m.rest.Remove(restKey(&k))
	}
	if known && last.code == f.Code && now.Sub(last.at) < noteEvery && k.Failure.Code == f.Code {
		return
	}
	used := now
	if err != nil {
		used = k.UsedAt
	}
	if m.store.NoteProviderKey(ctx, id, k.ChangedAt, used, f) == nil {
		m.noted.Add(id, note{f.Code, now})
	}
}

// Rewrap wraps all secrets with the current master key, and reports how many it changed.
func (m *Manager) Rewrap(ctx context.Context) (n int, err error) {
	all, err := m.store.AllProviderKeys(ctx)
	if err != nil {
		return 0, err
	}
	for i := range all {
		k := &all[i]
		to, changed, err := m.ring().Rewrap(k.Sealed, sealedRow(k.ID, k.User, k.Provider), sealedColumn)
		if err != nil {
			return n, err
		}
		if !changed {
			continue
		}
		done, err := m.store.RewrapProviderKey(ctx, k.ID, k.Sealed, to)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}

// Test calls the provider of a key once with try, which is shown the key's endpoints; it is no call of anybody's and costs nothing here. It
// reports what that showed about the key, also where the key is switched off, and notes it. asked is false when try had nothing to call.
func (m *Manager) Test(ctx context.Context, k *Key, try func(ctx context.Context, provider string, own func(*catalog.Endpoint) *catalog.Endpoint) (asked bool, err *fault.Error)) (asked bool, f Failure, err error) {
	on := *k
	on.Off = false
	o := m.own(&on, m.now())
	switch {
	case o.Missing == routing.OwnRemoved:
		return false, f, fault.New(fault.Conflict, "ownkey.Test", "The key was removed. Put in another one.")
	case o.Missing == routing.OwnNotTaken:
		return false, f, fault.New(fault.Conflict, "ownkey.Test", "This gateway takes no keys of providers.")
	case o.Endpoint == nil:
		return false, f, fault.New(fault.Conflict, "ownkey.Test", "The key cannot be decrypted at present. Put it in once more.")
	}
	asked, failed := try(ctx, k.Provider, o.Endpoint)
	if !asked || failed != nil && failed.Kind == fault.Canceled {
		return false, f, nil
	}
	f = FailureOf(failed, m.now())
	if failed != nil && f.Code == "" {
		failed = nil // the request was refused, and not the key
	}
	m.noted.Remove(k.ID)
	m.Tried(k.User, k.ID, failed)
	return true, f, nil
}
