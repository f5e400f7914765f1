package agent

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/limit"
)

// How long things last.
const (
	CodeFor   = 10 * time.Minute // a code waits for its person
	Interval  = 5 * time.Second  // between two questions of a device
	AccessFor = time.Hour        // an access token

	// graceFor is how long a token that was replaced gets the tokens that have replaced it: two terminals share one, and answers are lost. Afterwards its
	// use means that somebody has a copy.
	graceFor = time.Minute

	// keptFor is how long it is known of a code that it has expired.
	keptFor = 10 * time.Minute
)

var (
	askRate   = limit.Rates{{Amount: 60, Per: 10 * time.Minute}} // codes for one network: an office signs in behind one address
	pollRate  = limit.Rates{{Amount: 1, Per: Interval - time.Second}}
	guessRate = limit.Rates{{Amount: 10, Per: 10 * time.Minute}} // wrong codes, of one person and of one network
)

const gateNames = 20000

// usual bounds what a store keeps.
var usual = Bounds{OfNetwork: 60, All: 10000, SignIns: 20}

// Manager lets agents act for people. It is safe for concurrent use.
type Manager struct {
	store  Store
	forget func(user string) // drops what this node remembers of a user's keys
	now    func() time.Time
	idle   time.Duration // a sign-in ends when it was not renewed for so long
	most   time.Duration // and in any case after so long
	bounds Bounds

	asks, polls, guesses *limit.Gate
}

// NewManager makes a Manager. Sign-ins last as the sessions of a browser do; a user may have maxKeys keys.
func NewManager(s Store, forget func(user string), now func() time.Time, c auth.Config, maxKeys int) *Manager {
	gate := func() *limit.Gate { return limit.NewGate(now(), gateNames) }
	b, long := usual, auth.Default()
	b.Keys = maxKeys
	return &Manager{store: s, forget: forget, now: now, idle: cmp.Or(c.Idle, long.Idle), most: cmp.Or(c.Longest, long.Longest), bounds: b, asks: gate(), polls: gate(), guesses: gate()}
}

// Asked is the answer to a device that asks. DeviceCode is stored nowhere.
type Asked struct {
	DeviceCode string
	Code       string // as it is shown: "WDJB-MJHT"
	ExpiresIn  time.Duration
	Interval   time.Duration
}

// Tokens let an agent act. They are stored nowhere.
type Tokens struct {
	Access    string
	Refresh   string
	ExpiresIn time.Duration
	Email     string // of the person, "" none
}

// The errors of OAuth, by their words in RFC 6749 and RFC 8628.
const (
	Pending      = "authorization_pending"
	SlowDown     = "slow_down"
	AccessDenied = "access_denied"
	ExpiredToken = "expired_token"
	InvalidGrant = "invalid_grant"
)

// Refusal is the word of OAuth for an error of this package, "" when it has none.
func Refusal(err error) string {
	var e *fault.Error
	if !errors.As(err, &e) {
		return ""
	}
	word, _ := e.Details["error"].(string)
	return word
}

func refuse(kind fault.Kind, word, sentence string) *fault.Error {
	e := fault.New(kind, "agent: "+word, sentence)
	e.Details = map[string]any{"error": word}
	return e
}

func gone() error {
	return refuse(fault.Authentication, InvalidGrant, "This sign-in has ended, or its token is wrong. Sign in again.")
}

// moment is now in the precision of the store.
func (m *Manager) moment() time.Time { return m.now().UTC().Truncate(time.Microsecond) }

func (m *Manager) take(g *limit.Gate, name string, of *limit.Rates, sentence string) error {
	v := g.Take(m.now(), name, of, limit.Cost{1})
	if v.OK {
		return nil
	}
	e := refuse(fault.RateLimited, SlowDown, sentence)
	e.RetryAfter = v.Wait
	return e
}

// Ask gives a device a code.
func (m *Manager) Ask(ctx context.Context, c auth.Client) (Asked, error) {
	if err := m.take(m.asks, c.Network, &askRate, "Too many sign-ins were begun from your network, which others may share. Wait, and try again."); err != nil {
		return Asked{}, err
	}
	now := m.moment()
	code := apikey.NewID("") + apikey.NewID("") // 285 bits
	d := Device{Hash: hashOf(code), Client: ClientName(c.Agent), Address: c.Address, Network: c.Network, State: Waiting, CreatedAt: now, ExpiresAt: now.Add(CodeFor)}
	var err error
	for range 3 {
		d.Code = newCode()
		if err = m.store.AddDevice(ctx, d, m.bounds); !fault.Is(err, fault.Conflict) {
			break
		}
	}
	if fault.Is(err, fault.RateLimited) {
		return Asked{}, refuse(fault.RateLimited, SlowDown, "Too many devices wait to be signed in. Wait, and try again.").Because(err)
	}
	return Asked{code, ShownCode(d.Code), CodeFor, Interval}, err
}

// Look finds the device that shows a code, for a person at a network. It fails with fault.NotFound, and with fault.RateLimited after too many codes
// that are none.
func (m *Manager) Look(ctx context.Context, user, network, code string) (Device, error) {
	err := errors.Join(m.take(m.guesses, user, &guessRate, tooMany), m.take(m.guesses, "from "+network, &guessRate, tooMany))
	if err != nil {
		return Device{}, fault.From(err)
	}
	var d Device
	if code = CleanCode(code); code == "" {
		return d, noDevice()
	}
	d, err = m.store.DeviceByCode(ctx, code, m.moment())
	if fault.Is(err, fault.NotFound) {
		return d, noDevice()
	}
	now := m.now() // only codes that are none count
	m.guesses.Charge(now, user, &guessRate, limit.Cost{-1})
	m.guesses.Charge(now, "from "+network, &guessRate, limit.Cost{-1})
	return d, err
}

const tooMany = "Too many codes that are none. Wait ten minutes, and begin the sign-in again."

func noDevice() error {
	return fault.New(fault.NotFound, "agent.Look", "No device waits with this code. It works for ten minutes: begin the sign-in again.")
}

// Decide says for a person whether the device that shows a code may act for them.
func (m *Manager) Decide(ctx context.Context, p *auth.Person, code string, allow bool, c auth.Client) (Device, error) {
	d, err := m.Look(ctx, p.ID, c.Network, code)
	if err != nil {
		return d, err
	}
	to, act := Denied, audit.AgentDenied
	if allow {
		to, act = Allowed, audit.AgentAllowed
	}
	d, err = m.store.Decide(ctx, d.Code, p.ID, to, m.moment(), audit.Event{Actor: audit.Actor{Name: "user:" + p.ID, From: c.Address}, Action: act, Target: p.ID, After: d.Client})
	if fault.Is(err, fault.NotFound) { // another window was quicker
		err = noDevice()
	}
	return d, err
}

// Poll gives a device its tokens once its person has allowed it.
func (m *Manager) Poll(ctx context.Context, deviceCode string) (Tokens, error) {
	if len(deviceCode) > 128 {
		return Tokens{}, unknownCode()
	}
	hash := hashOf(deviceCode)
	d, err := m.store.DeviceBy(ctx, hash)
	now := m.moment()
	switch {
	case fault.Is(err, fault.NotFound):
		return m.again(ctx, deviceCode, now)
	case err != nil:
		return Tokens{}, err
	case d.State == Denied:
		return Tokens{}, refuse(fault.Invalid, AccessDenied, "The sign-in was refused in the browser.")
	case !now.Before(d.ExpiresAt):
		return Tokens{}, refuse(fault.Invalid, ExpiredToken, "The code has expired. Begin the sign-in again.")
	}
	if err := m.take(m.polls, hash, &pollRate, "Ask less often."); err != nil {
		return Tokens{}, err
	}
	if d.State == Waiting {
		return Tokens{}, refuse(fault.Invalid, Pending, "The code was not allowed yet.")
	}
	return m.begin(ctx, deviceCode, &d, now)
}

func unknownCode() error {
	return refuse(fault.Invalid, InvalidGrant, "This device code is unknown, or was used. Begin the sign-in again.")
}

// mostTexts is how often another text is made for one whose label is another key's.
const mostTexts = 5

func (m *Manager) begin(ctx context.Context, deviceCode string, d *Device, now time.Time) (Tokens, error) {
	s := SignIn{User: d.User, Family: familyFrom(deviceCode), Former: d.Hash, Client: d.Client, Address: d.Address, CreatedAt: now, RenewedAt: now, ExpiresAt: now.Add(m.most)}
	var err error
	for range mostTexts {
		s.Salt = newSalt()
		p := pairAfter(deviceCode, s.Family, s.Salt)
		s.Hash = hashOf(p.refresh)
		key := apikey.Key{ID: apikey.NewID("key_"), Hash: apikey.Hash(p.access), Label: apikey.Label(p.access), Name: d.Client + ", " + d.Address, User: d.User, Creator: d.User,
			ExpiresAt: now.Add(AccessFor), CreatedAt: now, UpdatedAt: now}
		s.Key = key.ID
		if err = m.store.Begin(ctx, d.Hash, key, s, m.bounds, apikey.CreatedEvent(&key, audit.Actor{Name: "user:" + d.User, From: d.Address})); !errors.Is(err, apikey.ErrLabelTaken) {
			break
		}
	}
	if fault.Is(err, fault.NotFound) { // another question of the device was quicker, or its person may not sign in
		return m.again(ctx, deviceCode, now)
	}
	if err != nil {
		return Tokens{}, err
	}
	f, err := m.store.SignInBy(ctx, s.Family)
	return tokens(&f, pairAfter(deviceCode, f.Family, f.Salt), now), err
}

// again answers a device that asks once more because the answer with its tokens was lost.
func (m *Manager) again(ctx context.Context, deviceCode string, now time.Time) (Tokens, error) {
	f, err := m.store.SignInBy(ctx, familyFrom(deviceCode))
	switch {
	case fault.Is(err, fault.NotFound):
		return Tokens{}, unknownCode()
	case err != nil:
		return Tokens{}, err
	case f.UserDisabled, !same(f.Former, hashOf(deviceCode)), now.Sub(f.RenewedAt) >= graceFor:
		return Tokens{}, unknownCode()
	}
	return tokens(&f, pairAfter(deviceCode, f.Family, f.Salt), now), nil
}

func tokens(f *Found, p pair, now time.Time) Tokens {
	return Tokens{Access: p.access, Refresh: p.refresh, ExpiresIn: f.KeyExpiresAt.Sub(now), Email: f.Email}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Renew replaces the tokens of a sign-in. In the first half of their life they are given again as they are: programs that renew them all the time
// would end each other's. A token that was replaced some seconds ago gets those that have replaced it; one that was replaced before ends the sign-in,
// because two have it.
func (m *Manager) Renew(ctx context.Context, refresh string) (Tokens, error) {
	family := familyOf(refresh)
	if family == "" {
		return Tokens{}, gone()
	}
	for range mostTexts {
		f, err := m.store.SignInBy(ctx, family)
		if fault.Is(err, fault.NotFound) {
			return Tokens{}, gone()
		}
		if err != nil {
			return Tokens{}, err
		}
		now := m.moment()
		switch hash := hashOf(refresh); {
		case f.UserDisabled, f.KeyDisabled, !now.Before(f.ExpiresAt), now.Sub(f.RenewedAt) >= m.idle:
			return Tokens{}, gone()
		case same(f.Hash, hash) && f.KeyExpiresAt.Sub(now) > AccessFor/2:
			return tokens(&f, pairOf(refresh), now), nil
		case same(f.Hash, hash):
		case same(f.Former, hash) && now.Sub(f.RenewedAt) < graceFor:
			return tokens(&f, pairAfter(refresh, family, f.Salt), now), nil
		default:
			return Tokens{}, m.reused(ctx, &f, now)
		}
		next := f
		next.Salt = newSalt()
		p := pairAfter(refresh, family, next.Salt)
		next.KeyExpiresAt = now.Add(AccessFor)
		if next.KeyExpiresAt.After(f.ExpiresAt) {
			next.KeyExpiresAt = f.ExpiresAt
		}
		err = m.store.Renew(ctx, Renewal{Key: f.Key, Former: f.Hash, Hash: hashOf(p.refresh), Salt: next.Salt, KeyHash: apikey.Hash(p.access), Label: apikey.Label(p.access), Until: next.KeyExpiresAt, Now: now})
		switch {
		case err == nil:
			return tokens(&next, p, now), nil
		case !fault.Is(err, fault.NotFound) && !errors.Is(err, apikey.ErrLabelTaken):
			return Tokens{}, err
		}
		// another terminal was quicker: it is looked again what it has got
	}
	return Tokens{}, fault.New(fault.Overloaded, "agent.Renew", "This sign-in is being renewed by others. Try again.")
}

// reused ends a sign-in whose token is used that was replaced: its person, or another one, has a copy.
func (m *Manager) reused(ctx context.Context, f *Found, now time.Time) error {
	err := m.store.End(ctx, f.Key, now, audit.Event{Actor: audit.Actor{Name: "key:" + f.Key}, Action: audit.AgentEnded, Target: f.User, Before: f.Client, After: "a refresh token was used twice"})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	m.forget(f.User)
	return gone()
}

// Revoke ends the sign-in of a token, of either kind. What is no token of a sign-in is left alone: it says nothing of other keys.
func (m *Manager) Revoke(ctx context.Context, token string, address string) error {
	var f Found
	var err error
	if family := familyOf(token); family != "" {
		if f, err = m.store.SignInBy(ctx, family); err == nil && !same(f.Hash, hashOf(token)) && !same(f.Former, hashOf(token)) {
			return nil
		}
	} else if management, ok := apikey.Check(token); ok && !management {
		f, err = m.store.SignInOf(ctx, apikey.Hash(token))
	} else {
		return nil
	}
	if err == nil {
		err = m.store.End(ctx, f.Key, m.moment(), audit.Event{Actor: audit.Actor{Name: "key:" + f.Key, From: address}, Action: audit.AgentEnded, Target: f.User, Before: f.Client, After: "signed out"})
		m.forget(f.User)
	}
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// Of lists the sign-ins of a user, by the ids of their keys.
func (m *Manager) Of(ctx context.Context, user string) (map[string]SignIn, error) {
	all, err := m.store.SignInsOf(ctx, user)
	by := make(map[string]SignIn, len(all))
	for i := range all {
		by[all[i].Key] = all[i]
	}
	return by, err
}

// EndsAt is when a sign-in ends if it is not renewed.
func (m *Manager) EndsAt(s *SignIn) time.Time {
	if idle := s.RenewedAt.Add(m.idle); idle.Before(s.ExpiresAt) {
		return idle
	}
	return s.ExpiresAt
}

// Sweep deletes what has expired, at most n of each kind, and returns how many.
func (m *Manager) Sweep(ctx context.Context, n int) (int, error) {
	now := m.moment()
	return m.store.Sweep(ctx, now.Add(-keptFor), now, now.Add(-m.idle), n)
}
