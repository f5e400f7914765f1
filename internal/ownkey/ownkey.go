// Package ownkey keeps the keys of providers that people bring for their own calls: sealed, never shown again, and used for no other account. It
// does not call providers, and does not know when a key is used: routing and the relay decide that.
package ownkey

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/routing"
)

// Key is a person's key of one provider. An account has at most one of each.
type Key struct {
	ID        string // "pk_..."
	User      string // "usr_..."
	Provider  string // slug
	Order     routing.OwnOrder
	Off       bool
	Sealed    []byte // nil: the key was removed, and its order stays: see Manager.Remove
	Last4     string
	CreatedAt time.Time
	ChangedAt time.Time // when the secret was given
	UsedAt    time.Time // about when it last answered; zero: never
	Failure   Failure   // of the last use, zero when that was no failure
}

// Removed reports whether only the order is left of the key.
func (k *Key) Removed() bool { return k.Sealed == nil }

// State is whether the key can be used, in a word: "active", "off" or "removed".
func (k *Key) State() string {
	switch {
	case k.Removed():
		return "removed"
	case k.Off:
		return "off"
	}
	return "active"
}

// Failure is why a call with a key failed, in our words: what providers write is not kept.
type Failure struct {
	Code   string // one of the codes; "" none
	Status int    // HTTP status, 0 without an answer
	At     time.Time
}

// The codes of failures.
const (
	Refused     = "refused"      // the key is not accepted
	NoCredit    = "no_credit"    // the account behind it cannot pay
	RateLimited = "rate_limited" // the account behind it asks too much
	NoModel     = "no_model"     // the account behind it may not call the model
	Unavailable = "unavailable"  // the provider failed or cannot be reached
)

// FailureOf is what the error of a call shows about the key, zero when that is nothing: the request was at fault, or the client went.
func FailureOf(err *fault.Error, now time.Time) Failure {
	if err == nil || err.Upstream == nil {
		return Failure{}
	}
	f := Failure{Status: err.Upstream.Status, At: now}
	switch s := err.Upstream.Status; {
	case s == 401 || s == 403 && err.Kind != fault.ContentPolicy:
		f.Code = Refused
	case s == 402:
		f.Code = NoCredit
	case err.Kind == fault.RateLimited:
		f.Code = RateLimited
	case s == 404:
		f.Code = NoModel
	case s >= 500 || s < 200 || err.Kind == fault.ProviderUnavailable || err.Kind == fault.ProviderOverloaded || err.Kind == fault.Timeout:
		f.Code = Unavailable
	default:
		return Failure{}
	}
	return f
}

// AboutKey reports whether the failure will repeat until the owner does something or some time has passed.
func (f *Failure) AboutKey() bool {
	return f.Code == Refused || f.Code == NoCredit || f.Code == RateLimited
}

// Sentence says what happened, and what the owner of the key can do. provider is its display name.
func (f *Failure) Sentence(provider string) string {
	var what string
	switch f.Code {
	case Refused:
		what = "%s does not accept this key. It may be mistyped, revoked or without the right to call models: put in a new one."
	case NoCredit:
		what = "The account at %s that this key belongs to has no money left. Top it up there."
	case RateLimited:
		what = "The account at %s that this key belongs to has reached a limit of its own. Wait, or have the limit raised there."
	case NoModel:
		what = "The account at %s that this key belongs to has no such model. Ask for access there, or choose another model."
	case Unavailable:
		what = "%s did not answer as it should. The key itself may be right: try again later."
	default:
		return ""
	}
	text := fmt.Sprintf(what, provider)
	if f.Status != 0 {
		text += fmt.Sprintf(" (Status %d.)", f.Status)
	}
	return text
}

// Change is what is to change of a key; nil and "" leave it.
type Change struct {
	Sealed []byte // of another secret
	Last4  string
	Order  routing.OwnOrder
	Off    *bool
}

// Store keeps keys. Each change and its audit row are one transaction. What finds a key fails with fault.NotFound for one that is not there,
// and for one of another user.
type Store interface {
	// ProviderKeys lists a user's keys by provider.
	ProviderKeys(ctx context.Context, user string) ([]Key, error)
	ProviderKey(ctx context.Context, user, id string) (Key, error)
	// AddProviderKey fails with fault.Conflict when the user has one of the provider, and with fault.Invalid when there are most already.
	AddProviderKey(ctx context.Context, k Key, most int, e audit.Event) error
	// ChangeProviderKey returns the key as it is then. Another secret ends what is known of failures.
	ChangeProviderKey(ctx context.Context, user, id string, c Change, now time.Time, e audit.Event) (Key, error)
	// RemoveProviderKey deletes the secret. Of a key that is routing.OwnOnly and has a secret, the rest stays.
	RemoveProviderKey(ctx context.Context, user, id string, now time.Time, e audit.Event) error
	// NoteProviderKey notes how a call with the secret given at changed went, and does nothing if there is another by now.
	NoteProviderKey(ctx context.Context, id string, changed, used time.Time, f Failure) error
	// AllProviderKeys lists the keys with a secret, of all users.
	AllProviderKeys(ctx context.Context) ([]Key, error)
	// RewrapProviderKey puts to in the place of from, and does nothing when the secret was changed meanwhile.
	RewrapProviderKey(ctx context.Context, id string, from, to []byte) (done bool, err error)
}

// Bounds of a secret.
const (
	minSecret = 8
	maxSecret = 2048 // session tokens are long
)

// CheckSecret fails with fault.Invalid for a text that is no key. Key files of service accounts are refused: they name an address at which
// they are exchanged, and addresses are the operator's to choose.
func CheckSecret(secret string) error {
	const op = "ownkey.CheckSecret"
	switch {
	case strings.HasPrefix(secret, "{"):
		return fault.Field(op, "key", "key must be an API key; key files of service accounts are not taken.").Coded("key_file")
	case len(secret) < minSecret || len(secret) > maxSecret:
		return fault.Field(op, "key", "key must have from %d to %d characters.", minSecret, maxSecret).Coded("key_length", "least", minSecret, "most", maxSecret)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return fault.Field(op, "key", "key must have Latin letters, digits and signs only, without spaces.").Coded("key_characters")
	}
	return nil
}

// last4 is what is shown of a secret: of short ones less, so that most of it stays hidden.
func last4(secret string) string {
	n := min(4, len(secret)/4)
	return secret[len(secret)-n:]
}
