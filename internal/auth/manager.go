package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync/atomic"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/usertext"
)

// SignUp says who may make an account.
type SignUp string

// The ways.
const (
	Closed   SignUp = "closed"     // operators add users
	ByInvite SignUp = "invitation" // who has a link from an operator
	Open     SignUp = "open"       // anybody whose e-mail address receives a link
)

// Config decides who may sign in and for how long. Zero durations, and no SignUp, take the default.
type Config struct {
	SignUp    SignUp        `yaml:"sign_up"`
	Passwords bool          `yaml:"passwords"`    // e-mail and password sign people in
	Idle      time.Duration `yaml:"session_idle"` // a session ends when it was not used for so long
	Longest   time.Duration `yaml:"session_max"`  // and in any case after so long

	Issuers []string // URLs of other providers that sign people in; AllowElsewhere adds them
}

// Default is the configuration of a node without one.
func Default() Config {
	return Config{SignUp: Closed, Passwords: true, Idle: 7 * 24 * time.Hour, Longest: 30 * 24 * time.Hour}
}

const (
	// FreshFor is how long a sign-in is recent.
	FreshFor = 10 * time.Minute

	setupFor   = 24 * time.Hour
	inviteFor  = 7 * 24 * time.Hour
	confirmFor = 24 * time.Hour
	resetFor   = time.Hour

	maxSessions    = 20  // of one person
	maxInvitations = 500 // that are open, of one operator
	maxLinks       = 1   // for one address: a newer one ends it
)

// Mail is a message to a person. Link is empty where there is nothing to do.
type Mail struct {
	To     string
	Kind   MailKind
	Link   string // a path of the interface and a fragment, such as "/reset#..."
	Locale string // "en" or "ru"
}

// MailKind is what a mail says.
type MailKind string

// The kinds of mails.
const (
	MailConfirm  MailKind = "confirm"  // open this link to end your sign-up
	MailExists   MailKind = "exists"   // somebody tried to sign up with your address, which has an account
	MailReset    MailKind = "reset"    // open this link to choose a new password
	MailInvited  MailKind = "invited"  // somebody invites you
	MailJoin     MailKind = "join"     // somebody invites you to an organization
	MailPassword MailKind = "password" // your password was changed

	MailMove            MailKind = "move"   // open this link to use this address for your account
	MailTaken           MailKind = "taken"  // somebody wanted to use your address, which has an account
	MailMoving          MailKind = "moving" // somebody wants another address for your account; open this link to stop it
	MailMoved           MailKind = "moved"  // your account has another address; open this link to take it back
	MailPasswordRemoved MailKind = "password_removed"
	MailPasskeyAdded    MailKind = "passkey_added"
	MailPasskeyRemoved  MailKind = "passkey_removed"
	MailIdentityAdded   MailKind = "identity_added"
	MailIdentityRemoved MailKind = "identity_removed"
	MailSecondStepOn    MailKind = "second_step_on"
	MailSecondStepOff   MailKind = "second_step_off"
)

// Mailer sends mails, in the background.
type Mailer interface {
	// Send takes a mail, and reports whether there was room for it.
	Send(m Mail) bool
}

// Keys makes the keys of calls from the browser. *apikey.Manager is one.
type Keys interface {
	Create(ctx context.Context, n apikey.NewKey, by audit.Actor) (apikey.Key, string, error)
	ByHash(ctx context.Context, user, hash string) (apikey.Key, error)
}

// Manager signs people in. It is safe for concurrent use.
type Manager struct {
	store Store
	keys  Keys
	mail  Mailer // nil: there is no mail, so sign-up is not open and only operators make links for lost passwords
	now   func() time.Time
	cfg   Config
	hash  *hasher

	elsewhere Elsewhere // nil: people sign in here alone
	arrived   Arrived   // nil: groups of other providers are not followed

	demo atomic.Pointer[string] // id of the user whom anybody on this machine may sign in as; nil: none

	guesses, pairs *limit.Gate // wrong passwords by address of the account, and by that and the client's network
	proofs         *limit.Gate // passwords that people who are signed in give again, by user: no guess of a stranger counts there
	notices        *limit.Gate // mails by kind and address
	starts         *limit.Gate // sessions that began, by user
	tests          *limit.Gate // addresses that were found taken, by who has asked
	links          *limit.Gate // mails with links that anybody may ask for, by address, and by that and the client's network
}

// What is counted: failures to sign in to one account, from one network and from all; proofs of one person, right or wrong; mails with links to
// one address, which a network that asked for its part has no more of, while others do, and to all addresses from one network.
var (
	pairRate     = limit.Rates{{Amount: 10, Per: 15 * time.Minute}, {Amount: 60, Per: time.Minute}} // failures, and all sign-ins: a right password costs as much to check
	testRate     = limit.Rates{{Amount: 10, Per: 24 * time.Hour}}                                   // addresses that one invitation, or one person at another provider, finds taken
	guessRate    = limit.Rates{{Amount: 100, Per: time.Hour}}
	proofRate    = limit.Rates{{Amount: 20, Per: 15 * time.Minute}}
	linkPairRate = limit.Rates{{Amount: 3, Per: time.Hour}}
	linkRate     = limit.Rates{{Amount: 10, Per: time.Hour}}
	startRate    = limit.Rates{{Amount: 1000, Per: 24 * time.Hour}} // each leaves a row in the audit chain
	linkFromRate = limit.Rates{{Amount: 60, Per: time.Hour}}        // of one network, to all addresses
)

const gateNames = 20000 // that a gate remembers

// NewManager makes a Manager. mail may be nil, and keys where people cannot call models.
func NewManager(s Store, keys Keys, mail Mailer, now func() time.Time, c Config) *Manager {
	usual := Default()
	c.SignUp, c.Idle, c.Longest = cmp.Or(c.SignUp, usual.SignUp), cmp.Or(c.Idle, usual.Idle), cmp.Or(c.Longest, usual.Longest)
	gate := func() *limit.Gate { return limit.NewGate(now(), gateNames) }
	return &Manager{store: s, keys: keys, mail: mail, now: now, cfg: c, hash: newHasher(), guesses: gate(), pairs: gate(), proofs: gate(), notices: gate(), starts: gate(), tests: gate(), links: gate()}
}

// Features are the ways in that are open.
type Features struct {
	SignUp    SignUp
	Passwords bool
	Mail      bool // lost passwords can be recovered by mail
	Demo      bool
	Setup     bool // no administrator can sign in yet
}

// Features returns the ways in that are open.
func (m *Manager) Features(ctx context.Context) (Features, error) {
	f := Features{SignUp: m.cfg.SignUp, Passwords: m.cfg.Passwords, Mail: m.mail != nil, Demo: m.demo.Load() != nil}
	if f.Demo {
		return f, nil
	}
	_, ready, err := m.store.FirstAdministrator(ctx)
	f.Setup = !ready && err == nil
	if fault.Is(err, fault.NotFound) {
		f.Setup, err = true, nil
	}
	return f, err
}

// Client is the browser that asks.
type Client struct {
	Address string // network address
	Network string // what limits count the address under
	Agent   string
	Site    Site // empty: passkeys do not work at the address that the browser has opened

	proved time.Time // when the person was last asked who they are; zero: now
}

// Started is a session that has just begun, or the step that is left to begin one. Token is stored nowhere else.
type Started struct {
	Token string
	Step  string // not "": there is no session yet, and SecondStep says what ends this step
	Session
}

// SumOf is the hash of a token, as it is stored.
func SumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func newToken() (text, hash string) {
	text = apikey.NewID("")
	return text, SumOf(text)
}

// moment is now in the precision of the store.
func (m *Manager) moment() time.Time { return m.now().UTC().Truncate(time.Microsecond) }

func by(user, address string) audit.Actor { return audit.Actor{Name: "user:" + user, From: address} }

// begin starts a session of a user who has proved who they are, by anything but a passkey: where the account requires one, that is only half.
func (m *Manager) begin(ctx context.Context, user, method string, c Client) (Started, error) {
	p, err := m.store.PersonOf(ctx, user)
	if err != nil {
		return Started{}, err
	}
	if p.SecondStep {
		return m.half(ctx, user, c)
	}
	return m.open(ctx, user, method, c)
}

// open starts a session.
func (m *Manager) open(ctx context.Context, user, method string, c Client) (Started, error) {
	now := m.moment()
	if v := m.starts.Take(now, user, &startRate, limit.Cost{1}); !v.OK {
		e := fault.New(fault.RateLimited, "auth.open", "This account has signed in too often today. Wait, and use the sessions that are open.")
		e.RetryAfter = v.Wait
		return Started{}, e
	}
	text, hash := newToken()
	s := Session{ID: apikey.NewID("ses_"), Hash: hash, User: user, Method: method, CreatedAt: now, ProvedAt: now, SeenAt: now,
		ExpiresAt: now.Add(m.cfg.Longest), Address: c.Address, Agent: usertext.Cut(c.Agent, 200)}
	if !c.proved.IsZero() && c.proved.Before(now) {
		s.ProvedAt = c.proved
	}
	err := m.store.AddSession(ctx, s, maxSessions, audit.Event{Actor: by(user, c.Address), Action: audit.SignedIn, Target: user, After: method})
	return Started{Token: text, Session: s}, err
}

// refuse is the one answer to every sign-in that fails: it does not say whether there is such an account.
func refuse(why string) error {
	return fault.New(fault.Authentication, "auth.SignIn: "+why, "The e-mail address or the password is wrong.")
}

// SignIn begins a session with an e-mail address and a password.
func (m *Manager) SignIn(ctx context.Context, email, password string, c Client) (Started, error) {
	if err := m.passwords("auth.SignIn"); err != nil {
		return Started{}, err
	}
	email, err := CheckEmail("email", email)
	if err != nil {
		return Started{}, refuse("no address")
	}
	if err := m.mayGuess(email, c.Network); err != nil {
		return Started{}, err
	}
	l, err := m.store.LoginByEmail(ctx, email)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Started{}, err
	}
	if err := m.matches(ctx, &l, password); err != nil {
		return Started{}, err
	}
	m.forgive(email, c.Network)
	return m.begin(ctx, l.User, "password", c)
}

// matches reports whether a password is that of a login, whose user may sign in. It takes as long for an unknown login.
func (m *Manager) matches(ctx context.Context, l *Login, password string) error {
	if len(password) > maxPassword {
		return refuse("too long")
	}
	ok, err := m.hash.matches(ctx, password, l.Password)
	if err != nil {
		return err
	}
	if !ok || l.User == "" {
		return refuse("wrong")
	}
	p, err := m.store.PersonOf(ctx, l.User)
	if err != nil {
		return err
	}
	if p.Disabled {
		return refuse("disabled")
	}
	return nil
}

// mayGuess counts a sign-in as if it failed; forgive takes that back. So that guesses sent all at once count, too.
func (m *Manager) mayGuess(email, network string) error {
	verdict := m.takeBoth(m.pairs, &pairRate, m.guesses, &guessRate, email, network, limit.Cost{1, 1})
	if verdict.OK {
		return nil
	}
	e := fault.New(fault.RateLimited, "auth.SignIn", "Too many attempts to sign in to this account. Wait, or recover the password.")
	e.RetryAfter = verdict.Wait
	return e
}

// takeBoth takes one of what an address has from one network and from all; neither when one of them refuses.
func (m *Manager) takeBoth(pairs *limit.Gate, of *limit.Rates, all *limit.Gate, most *limit.Rates, email, network string, cost limit.Cost) limit.Verdict {
	now := m.now()
	verdict := pairs.Take(now, email+" "+network, of, cost)
	if !verdict.OK {
		return verdict
	}
	if verdict = all.Take(now, email, most, limit.Cost{1}); !verdict.OK {
		pairs.Charge(now, email+" "+network, of, limit.Cost{-1})
	}
	return verdict
}

// mayMail reports whether an address may get another mail with a link that somebody in a network has asked for: neither one address nor many may
// be written to without end.
func (m *Manager) mayMail(email, network string) bool {
	return m.takeBoth(m.links, &linkPairRate, m.links, &linkRate, email, network, limit.Cost{1}).OK && m.links.Take(m.now(), "from "+network, &linkFromRate, limit.Cost{1}).OK
}

func (m *Manager) forgive(email, network string) {
	now := m.now()
	m.pairs.Charge(now, email+" "+network, &pairRate, limit.Cost{-1})
	m.guesses.Charge(now, email, &guessRate, limit.Cost{-1})
}

// Prove notes that a signed-in person has given their password again. That is not enough where the account requires a passkey.
func (m *Manager) Prove(ctx context.Context, s *Session, p *Person, password string) error {
	if err := m.passwords("auth.Prove"); err != nil {
		return err
	}
	if p.SecondStep {
		return needsPasskey("auth.Prove")
	}
	if v := m.proofs.Take(m.now(), s.User, &proofRate, limit.Cost{1}); !v.OK {
		e := fault.New(fault.RateLimited, "auth.Prove", "Too many proofs in a short time. Wait, and try again.")
		e.RetryAfter = v.Wait
		return e
	}
	l, err := m.store.LoginOf(ctx, s.User)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := m.matches(ctx, &l, password); err != nil {
		return err
	}
	return m.store.TouchSession(ctx, s.Hash, m.moment(), true)
}

// Stale is the error of a session whose person has not proved who they are for too long.
func Stale(op string) *fault.Error {
	e := fault.New(fault.PermissionDenied, op, "This needs a recent sign-in. Give your password or passkey again.")
	e.Details = map[string]any{"sign_in": "again"}
	return e
}

// OpenDemo lets anybody on this machine sign in as a user.
func (m *Manager) OpenDemo(user string) { m.demo.Store(&user) }

// Demo begins a session of the demo's user. The caller has checked that the browser is on this machine.
func (m *Manager) Demo(ctx context.Context, c Client) (Started, error) {
	user := m.demo.Load()
	if user == nil {
		return Started{}, fault.New(fault.PermissionDenied, "auth.Demo", "This is not a demo. Sign in with an account.")
	}
	return m.begin(ctx, *user, "demo", c)
}

// Session finds who has a session's token, which must not be "". It fails with fault.Authentication when there is no such session any more, and
// with what by says. by may be nil.
func (m *Manager) Session(ctx context.Context, token string, by apikey.Stranger) (Session, Person, error) {
	if len(token) > 64 {
		return Session{}, Person{}, ended("malformed")
	}
	if by != nil {
		if err := by.MayAsk(); err != nil {
			return Session{}, Person{}, err
		}
	}
	s, p, err := m.store.SessionBy(ctx, SumOf(token))
	if fault.Is(err, fault.NotFound) {
		if by != nil {
			by.Missed()
		}
		return s, p, ended("unknown")
	}
	if err != nil {
		return s, p, err
	}
	now := m.moment()
	if err := m.lives(&s, &p, now); err != nil {
		return s, p, err
	}
	if now.Sub(s.SeenAt) >= time.Minute {
		if err := m.store.TouchSession(ctx, s.Hash, now, false); err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.StorageUnavailable) {
			return s, p, err // a disk that is full stops no reading: the session only ends sooner
		}
	}
	return s, p, nil
}

func (m *Manager) lives(s *Session, p *Person, now time.Time) error {
	switch {
	case p.Disabled:
		return ended("disabled")
	case !now.Before(s.ExpiresAt), now.Sub(s.SeenAt) >= m.cfg.Idle:
		return ended("expired")
	}
	return nil
}

// Lives fails as Session does when a session has ended. It is no use of the session, which may become idle meanwhile.
func (m *Manager) Lives(ctx context.Context, s *Session) error {
	now, p, err := m.store.SessionBy(ctx, s.Hash)
	if fault.Is(err, fault.NotFound) {
		return ended("unknown")
	}
	if err != nil {
		return err
	}
	if now.Sees != s.Sees || s.Sees != "" && !m.moment().Before(now.SeesUntil) {
		return ended("sees another")
	}
	return m.lives(&now, &p, m.moment())
}

func ended(why string) error {
	return fault.New(fault.Authentication, "auth.Session: "+why, "You are not signed in, or the session has ended. Sign in again.")
}

// SignOut ends a session.
func (m *Manager) SignOut(ctx context.Context, s *Session, c Client) error {
	if s.Sees != "" {
		if err := m.endSeeing(ctx, s, seenSignOut, c.Address); err != nil {
			return err
		}
	}
	return m.EndSession(ctx, s.User, s.ID, c)
}

// EndSession ends one session of a user, by its id.
func (m *Manager) EndSession(ctx context.Context, user, id string, c Client) error {
	return m.store.EndSession(ctx, user, id, m.moment(), audit.Event{Actor: by(user, c.Address), Action: audit.SessionsEnded, Target: user, Before: id})
}

// EndOthers ends all sessions of a person but this one, and returns how many.
func (m *Manager) EndOthers(ctx context.Context, s *Session, c Client) (int, error) {
	return m.store.EndSessions(ctx, s.User, s.Hash, m.moment(), audit.Event{Actor: by(s.User, c.Address), Action: audit.SessionsEnded, Target: s.User, Before: "all others"})
}

// EndAll ends all sessions of a user, and returns how many there were.
func (m *Manager) EndAll(ctx context.Context, user string, by audit.Actor) (int, error) {
	return m.store.EndSessions(ctx, user, "", m.moment(), audit.Event{Actor: by, Action: audit.SessionsEnded, Target: user, Before: "all"})
}

// Sessions lists a user's sessions, the last used first.
func (m *Manager) Sessions(ctx context.Context, user string) ([]Session, error) {
	all, err := m.store.SessionsOf(ctx, user, m.moment())
	idle := m.moment().Add(-m.cfg.Idle)
	live := all[:0]
	for _, s := range all {
		if s.SeenAt.After(idle) {
			live = append(live, s)
		}
	}
	return live, err
}

// Of finds a user as a person. It fails with fault.NotFound.
func (m *Manager) Of(ctx context.Context, user string) (Person, error) {
	return m.store.PersonOf(ctx, user)
}

// SetPassword gives a signed-in person a new password. current is the one before, and not asked for when the sign-in is recent, as it must be where there
// is none and for an account that requires a passkey. All other sessions end.
func (m *Manager) SetPassword(ctx context.Context, s *Session, p *Person, current, password string, c Client) error {
	if err := m.passwords("auth.SetPassword"); err != nil {
		return err
	}
	if p.Email == "" {
		return fault.New(fault.Conflict, "auth.SetPassword", "This account has no e-mail address, so it cannot have a password.")
	}
	switch {
	case p.SecondStep && !s.Fresh(m.now()):
		return needsPasskey("auth.SetPassword")
	case p.SecondStep: // the passkey has said more than the password can
	case !p.HasPassword && !s.Fresh(m.now()): // or who finds a browser open would set one, and prove with it
		return Stale("auth.SetPassword")
	case p.HasPassword && !s.Fresh(m.now()) || current != "":
		if err := m.Prove(ctx, s, p, current); err != nil {
			return fault.Field("auth.SetPassword", "current", "current must be your present password.").Coded("wrong_password").Because(err)
		}
	}
	if err := CheckPassword("password", password, p.Email); err != nil {
		return err
	}
	hash, err := m.hash.hash(ctx, password)
	if err != nil {
		return err
	}
	err = m.store.SetPassword(ctx, p.ID, hash, s.Hash, "", false, m.moment(), audit.Event{Actor: by(p.ID, c.Address), Action: audit.PasswordSet, Target: p.ID})
	if err == nil {
		m.send(Mail{To: p.Email, Kind: MailPassword, Locale: p.Language})
	}
	return err
}

// WebKey is the id of the API key that a person's calls from the browser use: it has the limits and the records of any other key. It is made with the
// first call, and again when it was deleted. Its text is not kept.
func (m *Manager) WebKey(ctx context.Context, p *Person) (string, error) {
	for range 3 {
		if p.WebKey != "" {
			k, err := m.keys.ByHash(ctx, p.ID, p.WebKey)
			if err == nil && k.DeletedAt.IsZero() {
				return k.ID, nil
			}
			if err != nil && !fault.Is(err, fault.NotFound) {
				return "", err
			}
		}
		k, _, err := m.keys.Create(ctx, apikey.NewKey{Name: "web", User: p.ID, Creator: p.ID}, audit.Actor{Name: "user:" + p.ID})
		if err != nil {
			return "", err
		}
		done, err := m.store.SetWebKey(ctx, p.ID, p.WebKey, k.Hash)
		if done || err != nil {
			return k.ID, err
		}
		now, err := m.store.PersonOf(ctx, p.ID) // another call was quicker; the key made here stays, unused and without a known text
		if err != nil {
			return "", err
		}
		p.WebKey = now.WebKey
	}
	return "", fault.New(fault.Overloaded, "auth.WebKey", "The key of your browser's calls is being changed. Try again.")
}

// Sweep deletes what has expired, at most n sessions and n tokens, and returns how many.
func (m *Manager) Sweep(ctx context.Context, n int) (int, error) {
	now := m.moment()
	gone, err := m.store.SweepPeople(ctx, now, now.Add(-m.cfg.Idle), n)
	if err != nil {
		return gone, err
	}
	seen, err := m.sweepSeeing(ctx, n)
	return gone + seen, err
}

// linkError turns a link that does not work into an error that a person understands.
func linkError(op string, err error) error {
	var f *fault.Error
	if fault.Is(err, fault.NotFound) && errors.As(err, &f) {
		return fault.Field(op, "token", "This link was used already, or has expired. Ask for another.").Coded("link_used")
	}
	return err
}
