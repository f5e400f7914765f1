// Package auth is how people sign in: e-mail and password, passkeys, identities at other providers, sessions, invitations and one-time
// links. It must not know HTTP, and holds no secret in readable form: passwords, session tokens and links are stored as hashes.
package auth

import (
	"context"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
)

// Login is how a user signs in.
type Login struct {
	User      string // "usr_..."
	Email     string // in lower case
	Password  string // its Argon2id hash, "" none
	Confirmed bool   // the address received a link that was opened
	CreatedAt time.Time
}

// Person is a user who signs in, with what each of their requests needs to know.
type Person struct {
	account.User
	Email       string // "" when only a passkey, another provider or the demo signs them in
	Confirmed   bool
	HasPassword bool
	SecondStep  bool   // every way to sign in and to prove who they are needs a passkey
	WebKey      string // hash of the API key of their calls from the browser, "" none yet
}

// Session is one browser in which a person is signed in.
type Session struct {
	ID        string // "ses_...", which is no secret
	Hash      string // hex SHA-256 of the token in the browser's cookie
	User      string
	Method    string // "password", "passkey", "demo", "link", "oidc:" and the provider's id
	CreatedAt time.Time
	ProvedAt  time.Time // when the person last proved who they are
	SeenAt    time.Time // last use, to the minute
	ExpiresAt time.Time // whatever its use
	Address   string
	Agent     string // the browser's User-Agent, at most 200 bytes

	Sees      string    // id of the person as whom its operator looks at the interface, "" none
	SeesSince time.Time // zero: it sees as no other
	SeesUntil time.Time // zero: it sees as no other
}

// Fresh reports whether the person proved who they are short enough ago for what matters most: keys, secrets, roles.
func (s *Session) Fresh(now time.Time) bool { return now.Sub(s.ProvedAt) < FreshFor }

// The kinds of one-time tokens.
const (
	Setup      = "setup"      // makes the first administrator
	Invitation = "invitation" // lets somebody sign up
	Confirm    = "confirm"    // ends a sign-up: the address is the person's
	Reset      = "reset"      // sets a new password
	Address    = "address"    // gives a person another e-mail address
	Undo       = "undo"       // takes that back
	Step       = "step"       // joins the two halves of a sign-in with a passkey or another provider
)

// Unproven is the Data of an Undo to an address that was not confirmed: it may be another person's, who must not share the account with the
// one who has written it down.
const Unproven = "unproven"

// Token is a text that works once, for some time. Only its hash is stored.
type Token struct {
	Hash      string // hex SHA-256
	ID        string // "tok_...", which is no secret
	Kind      string
	User      string // the owner, "" none yet; of a visitor's step "at:" and their network
	Email     string // whom an invitation is for, "" anybody; who is confirmed or resets a password
	Role      apikey.Role
	Note      string // what the maker of an invitation wrote
	Data      string // what the second half needs of the first
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Passkey is a key pair that a person's device holds. The public half is ours.
type Passkey struct {
	ID        string // the credential's id in base64url
	User      string
	Name      string
	Data      string // what the library that checks signatures keeps of it, in base64url
	CreatedAt time.Time
	UsedAt    time.Time // zero: never
}

// Identity is a person at another provider.
type Identity struct {
	Issuer    string // the provider's URL
	Subject   string // the provider's name of the person, which never changes
	User      string
	Email     string // as the provider gave it
	CreatedAt time.Time
}

// Store keeps all of this. Each change and its audit rows are one transaction. What is not found is fault.NotFound; an e-mail address, passkey
// or identity that is somebody's already is fault.Conflict. The hash of a token that is passed in use is deleted in the same
// transaction; one that is not there or has expired fails with fault.NotFound, and then nothing has changed.
type Store interface {
	// AddPerson adds a user with a wallet and a login, whose Email may be "", for none.
	AddPerson(ctx context.Context, u account.User, l Login, i *Identity, use string, events ...audit.Event) error
	// AddLogin gives a user who has none a login.
	AddLogin(ctx context.Context, l Login, use string, events ...audit.Event) error
	// PersonOf finds a user; without a login, Email is "".
	PersonOf(ctx context.Context, user string) (Person, error)
	// LoginByEmail finds a login.
	LoginByEmail(ctx context.Context, email string) (Login, error)
	// LoginOf finds a user's login.
	LoginOf(ctx context.Context, user string) (Login, error)
	// SetPassword replaces a password, confirms the address if confirm is set, and ends the user's links for a new password and all their sessions
	// but the one with the hash keep. The first proof of an address ends the user's passkeys, identities, API keys, provider keys and webhooks: who has
	// put them in was not known. It does not for administrators, and an account that requires a passkey is not proven by mail.
	SetPassword(ctx context.Context, user, password, keep, use string, confirm bool, now time.Time, e audit.Event) error
	// DeletePassword removes a password, with the links for a new one. It fails with fault.NotFound where there is none, and with fault.Conflict if
	// none of the ways would be left to the user.
	DeletePassword(ctx context.Context, r Removal) error
	// SetWebKey stores the hash of the key of a user's calls from the browser, if it is still the one before.
	SetWebKey(ctx context.Context, user, before, hash string) (bool, error)
	// FirstAdministrator finds the oldest administrator, and reports whether any administrator can sign in.
	FirstAdministrator(ctx context.Context) (u account.User, canSignIn bool, err error)

	// AddSession adds a session, and ends the oldest of the user's beyond most.
	AddSession(ctx context.Context, s Session, most int, e audit.Event) error
	// SessionBy finds a session by its hash, with its person.
	SessionBy(ctx context.Context, hash string) (Session, Person, error)
	// TouchSession notes that a session was used, and that the person proved who they are if proved is set.
	TouchSession(ctx context.Context, hash string, at time.Time, proved bool) error
	// SessionsOf lists a user's sessions that have not expired, the last used first.
	SessionsOf(ctx context.Context, user string, now time.Time) ([]Session, error)
	// EndSession ends one session of a user, by its ID.
	EndSession(ctx context.Context, user, id string, now time.Time, e audit.Event) error
	// EndSessions ends all sessions of a user but the one with the hash keep, and returns how many there were.
	EndSessions(ctx context.Context, user, keep string, now time.Time, e audit.Event) (int, error)

	// BeginSeeing has a session look at the interface as another person. It fails with fault.Conflict when the session does already, and with
	// fault.NotFound when there is no such session.
	BeginSeeing(ctx context.Context, n Seeing, e audit.Event) error
	// EndSeeing ends that. It fails with fault.NotFound when it has ended.
	EndSeeing(ctx context.Context, session string, now time.Time, e audit.Event) error
	// SeeingOver lists at most n whose time is over, or whose session has ended.
	SeeingOver(ctx context.Context, now time.Time, n int) ([]Seeing, error)

	// AddMove adds a link to a new address and, if it has a hash, the one with which the present address undoes it; the user's earlier links
	// to a new address end. It fails with fault.RateLimited when the user has asked for perUser of them that have not expired, whatever became
	// of them, and does nothing when there are perAddress of them with this address, of whomever.
	AddMove(ctx context.Context, link, undo Token, perUser, perAddress int, e audit.Event) (done bool, err error)
	// Move gives a user another address, which is confirmed, and ends what went to the former one. It fails with fault.Conflict when the
	// address is another user's, or somebody may still take it back.
	Move(ctx context.Context, n Move) error
	// Unmove uses an undo, with those that were made after it and all links to new addresses; the user has its address afterwards, confirmed unless it is
	// Unproven, and no session.
	Unmove(ctx context.Context, undo Token, now time.Time, e audit.Event) error

	// AddToken adds a token. Where there are most of its kind for its user and address already, the oldest make room for it; of invitations, which
	// are counted by who made them, it fails with fault.RateLimited then.
	AddToken(ctx context.Context, t Token, most int, events ...audit.Event) error
	// TokenBy finds a token of a kind that has not expired.
	TokenBy(ctx context.Context, kind, hash string, now time.Time) (Token, error)
	// UseToken finds a token of a kind that has not expired, and deletes it.
	UseToken(ctx context.Context, kind, hash string, now time.Time) (Token, error)
	// Tokens lists the tokens of a kind that have not expired, the newest first.
	Tokens(ctx context.Context, kind string, now time.Time) ([]Token, error)
	// DeleteToken deletes a token of a kind by its ID.
	DeleteToken(ctx context.Context, kind, id string, now time.Time, e audit.Event) error
	// SweepPeople deletes at most n sessions and n tokens that expired before a moment or were last used before idle, and returns how many.
	SweepPeople(ctx context.Context, now, idle time.Time, n int) (int, error)

	// AddPasskey adds a passkey, unless its user has most of them.
	AddPasskey(ctx context.Context, p Passkey, most int, e audit.Event) error
	// PasskeysOf lists a user's passkeys, oldest first.
	PasskeysOf(ctx context.Context, user string) ([]Passkey, error)
	// PasskeyBy finds a passkey by its id.
	PasskeyBy(ctx context.Context, id string) (Passkey, error)
	// UsedPasskey notes that a passkey was used, and what the library keeps of it since. It fails with fault.NotFound if that is not what it was before.
	UsedPasskey(ctx context.Context, id, before, data string, at time.Time) error
	// RenamePasskey renames a passkey of a user.
	RenamePasskey(ctx context.Context, user, id, name string, now time.Time, e audit.Event) error
	// DeletePasskey deletes a passkey of a user. It fails with fault.Conflict if none of the ways would be left to them, and for the last passkey of
	// an account that requires one.
	DeletePasskey(ctx context.Context, id string, r Removal) error

	// SetSecondStep has a user's account require a passkey, or not any more, and ends all their sessions but the one with the hash keep. It fails
	// with fault.Conflict where there is no passkey to require.
	SetSecondStep(ctx context.Context, user string, on bool, keep string, now time.Time, e audit.Event) error

	// AddIdentity joins a user with a person at another provider.
	AddIdentity(ctx context.Context, i Identity, e audit.Event) error
	// IdentityBy finds who a person at another provider is.
	IdentityBy(ctx context.Context, issuer, subject string) (Identity, error)
	// IdentitiesOf lists a user's identities, oldest first.
	IdentitiesOf(ctx context.Context, user string) ([]Identity, error)
	// DeleteIdentity parts them again. It fails with fault.Conflict if none of the ways would be left to the user.
	DeleteIdentity(ctx context.Context, issuer, subject string, r Removal) error
}
