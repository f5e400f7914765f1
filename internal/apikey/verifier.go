package apikey

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/routing"
)

// VerifierConfig bounds a Verifier's memory of keys. Zero fields take the default.
type VerifierConfig struct {
	Fresh time.Duration // a key is looked up again after this time; default 2 s, at most 3 s so that revocation is known everywhere within 5 s
	Stale time.Duration // while the store is unavailable, a known key is accepted for this long; default 5 min
	Size  int           // keys remembered; default 20000
	// MissesPerSecond bounds the look-ups that find no key, of all clients together; default 1000. Guesses with a correct checksum cause them.
	MissesPerSecond int64
	// Preferences reads the provider preferences that users and keys have; nil where none has any.
	Preferences func(text string) (routing.Preferences, error)
}

// Verifier returns the caller of a key. A key in use costs one hash and one look in memory; the store is asked every Fresh.
// It is safe for concurrent use.
type Verifier struct {
	store Store
	now   func() time.Time
	cfg   VerifierConfig
	cache *lru.Cache[Sum, *entry]
	byID  *lru.Cache[string, *entry] // of keys that were asked for by their id
	// unknown holds hashes of keys that the store did not have, each for unknownFor, so that a repeated guess costs no query.
	unknown *lru.Cache[Sum, time.Time]
	misses  *limit.Gate
	budget  limit.Rates
	// epoch grows with every Forget: a look-up begun before it must not be remembered after it.
	epoch atomic.Uint64
	// away is until when the store is taken to be away (Unix nanoseconds), so that known keys do not wait for it again and again.
	away atomic.Int64

	mu      sync.Mutex
	flights map[Sum]*flight
}

// entry is a cached key. It is immutable.
type entry struct {
	caller   Caller
	found    Found
	loadedAt time.Time
	due      bool      // another node has changed it: it is looked up again at its next use
	until    time.Time // for the former text of a key: until when it works; else zero
}

// flight is one look-up that several requests wait for.
type flight struct {
	done  chan struct{}
	entry *entry
	err   error
}

// Stranger is asked before the store is queried for a key that the Verifier does not remember. It bounds the queries of one client.
type Stranger interface {
	// MayAsk fails when this client may not cause another query now.
	MayAsk() error
	// Missed reports that a query found no key.
	Missed()
}

const (
	unknownFor  = 30 * time.Second // a key made elsewhere cannot have been tried before it was made, so this delays no valid key
	unknownSize = 20000
)

// NewVerifier makes a Verifier over a store.
func NewVerifier(s Store, now func() time.Time, c VerifierConfig) *Verifier {
	if c.Fresh <= 0 || c.Fresh > 3*time.Second {
		c.Fresh = 2 * time.Second
	}
	if c.Stale == 0 {
		c.Stale = 5 * time.Minute
	}
	if c.Size <= 0 {
		c.Size = 20000
	}
	if c.MissesPerSecond == 0 {
		c.MissesPerSecond = 1000
	}
	cached, _ := lru.New[Sum, *entry](c.Size) // these fail for sizes below 1 alone
	byID, _ := lru.New[string, *entry](c.Size)
	unknown, _ := lru.New[Sum, time.Time](unknownSize)
	return &Verifier{
		store: s, now: now, cfg: c, flights: map[Sum]*flight{}, cache: cached, byID: byID, unknown: unknown,
		misses: limit.NewGate(now(), 1), budget: limit.Rates{{Amount: c.MissesPerSecond, Per: time.Second}},
	}
}

// Verify finds the caller of a key's text. It fails with fault.Authentication for a key that is not valid, with the same message whatever
// the reason, with fault.StorageUnavailable when the store cannot be queried, and with the error of by.MayAsk. A cached key does not use
// by. With a nil by, queries are not bounded. The Caller is shared: do not change it.
func (v *Verifier) Verify(ctx context.Context, text string, by Stranger) (*Caller, error) {
	sum := SumOf(text)
	now := v.now()
	known, _ := v.cache.Get(sum)
	if known == nil {
		if _, ok := Check(text); !ok {
			return nil, refuse("malformed")
		}
		if err := v.mayAsk(sum, now, by); err != nil {
			return nil, err
		}
	}
	if known == nil || !known.fresh(now, v.cfg.Fresh) {
		e, err := v.renew(ctx, sum, known, now)
		if known == nil {
			v.asked(sum, now, by, err)
		}
		if err != nil {
			return nil, err
		}
		known = e
	}
	return known.admit(now)
}

// Known is the caller of a key that was used lately, nil for any other: it asks no store, and permits nothing.
func (v *Verifier) Known(text string) *Caller {
	if known, _ := v.cache.Get(SumOf(text)); known != nil {
		return &known.caller
	}
	return nil
}

// Of finds the caller of a key by its id, whatever its text is by now, as Verify does by the text. It is for keys whose use something else has
// permitted.
func (v *Verifier) Of(ctx context.Context, id string) (*Caller, error) {
	now := v.now()
	known, _ := v.byID.Get(id)
	if known != nil && known.fresh(now, v.cfg.Fresh) {
		return known.admit(now)
	}
	epoch := v.epoch.Load()
	found, err := v.store.KeyByID(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		v.byID.Remove(id)
		return nil, refuse("unknown")
	case err != nil && known != nil && now.Sub(known.loadedAt) < v.cfg.Stale:
		return known.admit(now)
	case err != nil:
		return nil, unavailable(err)
	}
	e, err := v.entryOf(found, now)
	if err != nil {
		return nil, err
	}
	v.mu.Lock() // or it could be forgotten between the look and the write
	if v.epoch.Load() == epoch {
		v.byID.Add(id, e)
	}
	v.mu.Unlock()
	return e.admit(now)
}

// mayAsk decides whether an unknown key may cost a query.
func (v *Verifier) mayAsk(sum Sum, now time.Time, by Stranger) error {
	if until, ok := v.unknown.Get(sum); ok && now.Before(until) {
		return refuse("unknown")
	}
	if by != nil {
		if err := by.MayAsk(); err != nil {
			return err
		}
	}
	if verdict := v.misses.Take(now, "", &v.budget, limit.Cost{1}); !verdict.OK {
		e := fault.New(fault.Overloaded, "apikey.Verify", "Too many unknown keys are being tried. Keys that were used recently still work; try again later.")
		e.RetryAfter = verdict.Wait
		return e
	}
	return nil
}

// asked corrects what mayAsk counted: only queries that find nothing count.
func (v *Verifier) asked(sum Sum, now time.Time, by Stranger, err error) {
	if !fault.Is(err, fault.Authentication) {
		v.misses.Charge(now, "", &v.budget, limit.Cost{-1})
		return
	}
	v.unknown.Add(sum, now.Add(unknownFor))
	if by != nil {
		by.Missed()
	}
}

// renewFor is how long a call with a known key waits for a store that is silent. It is what the ledger waits for, too.
const renewFor = 1500 * time.Millisecond

// renew looks a key up again. While the store is unavailable, the cached entry is used for a time.
func (v *Verifier) renew(ctx context.Context, sum Sum, known *entry, now time.Time) (*entry, error) {
	usable := known != nil && now.Sub(known.loadedAt) < v.cfg.Stale
	if usable && now.UnixNano() < v.away.Load() {
		return known, nil
	}
	patience := time.Duration(0)
	if usable {
		patience = renewFor
	}
	e, err := v.load(ctx, sum, now, patience)
	if fault.Is(err, fault.StorageUnavailable) {
		v.away.Store(v.now().Add(time.Second).UnixNano()) // from now: the store may have been silent for long
		if usable {
			return known, nil
		}
	}
	return e, err
}

// refuse is the one answer to every key that is not valid: it does not say why. The operator's log does.
func refuse(why string) error {
	return fault.New(fault.Authentication, "apikey.Verify: "+why, "The API key is invalid.")
}

// fresh reports whether the entry may be used without another look.
func (e *entry) fresh(now time.Time, most time.Duration) bool {
	return !e.due && now.Sub(e.loadedAt) < most
}

// admit reports whether the key opens the door now.
func (e *entry) admit(now time.Time) (*Caller, error) {
	switch {
	case e.found.State(now) == Deleted:
		return nil, refuse("revoked")
	case !e.until.IsZero() && !now.Before(e.until):
		return nil, refuse("rotated")
	case e.found.Disabled, e.found.UserDisabled:
		return nil, refuse("disabled")
	case e.found.State(now) == Expired, !e.found.AboveEnds.IsZero() && !now.Before(e.found.AboveEnds):
		return nil, refuse("expired")
	}
	return &e.caller, nil
}

// load queries the store, once for all callers that wait for the same key; for no longer than patience, where that is above 0.
func (v *Verifier) load(ctx context.Context, sum Sum, now time.Time, patience time.Duration) (*entry, error) {
	v.mu.Lock()
	f := v.flights[sum]
	if f != nil {
		v.mu.Unlock()
		select {
		case <-f.done:
			return f.entry, f.err
		case <-ctx.Done():
			return nil, fault.New(fault.Canceled, "apikey.Verify", "The client closed the connection.").Because(ctx.Err())
		}
	}
	f = &flight{done: make(chan struct{})}
	v.flights[sum] = f
	epoch := v.epoch.Load()
	v.mu.Unlock()

	f.err = fault.New(fault.Internal, "apikey.Verify", "") // the error for the other waiting callers if the store panics
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.flights[sum] == f { // not if a Forget has disowned it meanwhile
			delete(v.flights, sum)
		}
		if f.err == nil && v.epoch.Load() == epoch {
			v.cache.Add(sum, f.entry)
		}
		close(f.done)
	}()
	// the first one's context must not fail the others
	ctx = context.WithoutCancel(ctx)
	if patience > 0 {
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		ctx = short
	}
	f.entry, f.err = v.ask(ctx, sum, now)
	return f.entry, f.err
}

func (v *Verifier) ask(ctx context.Context, sum Sum, now time.Time) (*entry, error) {
	hash := sum.String()
	found, err := v.store.KeyByHash(ctx, hash)
	if fault.Is(err, fault.NotFound) {
		v.cache.Remove(sum)
		return nil, refuse("unknown")
	}
	if err != nil {
		return nil, unavailable(err)
	}
	var until time.Time
	switch {
	case subtle.ConstantTimeCompare([]byte(found.Hash), []byte(hash)) == 1:
	case !found.Previous.Until.IsZero() && subtle.ConstantTimeCompare([]byte(found.Previous.Hash), []byte(hash)) == 1:
		until = found.Previous.Until
	default:
		return nil, refuse("unknown")
	}
	e, err := v.entryOf(found, now)
	if err != nil {
		return nil, err
	}
	e.until = until
	return e, nil
}

// entryOf makes an entry of a key with its present text.
func (v *Verifier) entryOf(found Found, now time.Time) (*entry, error) {
	// What cannot be read fails the key: it may have been there to keep prompts away from somebody.
	defaults, err := ReadDefaults(Defaults{Account: found.AccountPreferences, Key: found.Preferences, Models: found.Models, Above: found.AboveModels}, v.cfg.Preferences)
	if err != nil {
		return nil, fault.Wrap("apikey.Verify", fmt.Errorf("the provider preferences of key %s or of its user cannot be read: %w", found.ID, err))
	}
	return &entry{found: found, loadedAt: now, caller: Caller{
		Key: found.ID, Hash: found.Hash, Label: found.Label, User: found.User, Wallet: found.Wallet, Member: found.Member, Team: found.Team, Sees: Sight{Member: found.Member},
		Management: found.Management, Role: found.Role, Agent: found.Agent, Limit: found.Limit, Above: found.Above, Child: found.Child, Rates: found.Rates, Strict: found.Strict, Addresses: found.Addresses, Defaults: defaults,
	}}, nil
}

// unavailable makes every failure to look a key up one that a client may try again, and that a known key survives.
func unavailable(err error) error {
	if fault.Is(err, fault.StorageUnavailable) {
		return err
	}
	e := fault.New(fault.StorageUnavailable, "apikey.Verify", "API keys cannot be checked at present. Try again.")
	e.RetryAfter = time.Second
	return e.Because(err)
}

// Forget drops the cached entry of one key, so that a change is effective at once on this node.
func (v *Verifier) Forget(hash string) {
	v.forget(func(e *entry) bool { return e.caller.Hash == hash })
}

// ForgetBelow drops the cached entries of a key and of all that come from it.
func (v *Verifier) ForgetBelow(id string) {
	v.forget(func(e *entry) bool {
		return e.caller.Key == id || slices.ContainsFunc(e.caller.Above, func(a Above) bool { return a.Key == id })
	})
}

// ForgetUser drops the cached entries of a user's keys.
func (v *Verifier) ForgetUser(user string) {
	v.forget(func(e *entry) bool { return e.caller.User == user })
}

func (v *Verifier) forget(which func(*entry) bool) {
	v.revise(which, func(sum Sum) { v.cache.Remove(sum) }, func(id string) { v.byID.Remove(id) })
}

// LookAgain has the keys of users looked up again at their next use, because another node has changed them. While the store is unavailable,
// they are accepted as before.
func (v *Verifier) LookAgain(of func(user string) bool) {
	v.revise(func(e *entry) bool { return !e.due && of(e.caller.User) },
		func(sum Sum) { due(v.cache, sum) }, func(id string) { due(v.byID, id) })
}

// due marks the entry of a key.
func due[K comparable](c *lru.Cache[K, *entry], key K) {
	if e, ok := c.Peek(key); ok {
		marked := *e
		marked.due = true
		c.Add(key, &marked)
	}
}

// revise calls the functions for entries, and has look-ups that are under way not be remembered.
func (v *Verifier) revise(which func(*entry) bool, text func(Sum), id func(string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.epoch.Add(1)
	clear(v.flights) // later requests start another look-up
	for _, sum := range v.cache.Keys() {
		if e, ok := v.cache.Peek(sum); ok && which(e) {
			text(sum)
		}
	}
	for _, key := range v.byID.Keys() {
		if e, ok := v.byID.Peek(key); ok && which(e) {
			id(key)
		}
	}
}
