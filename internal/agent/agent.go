// Package agent lets programs on people's machines act for them: a coding agent shows a code, its person allows it in a browser, and the agent gets
// tokens that it renews (RFC 8628). An access token is the text of an API key that expires, so that limits, records and its end are those of keys.
// It must not know HTTP, and stores no token in readable form.
package agent

import (
	"context"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
)

// Device is a program that asks to act for a person.
type Device struct {
	Hash      string // hex SHA-256 of its device code
	Code      string // that its person types: eight letters without a dash, see CleanCode
	Client    string // name of the program, such as "Claude Code"; it has said so itself
	Address   string // from which it asked
	Network   string // what limits count the address under
	State     State
	User      string // who has decided, "" no person yet
	CreatedAt time.Time
	ExpiresAt time.Time
}

// State is what became of a device.
type State string

// The states. A device that was allowed is gone once it has its tokens.
const (
	Waiting State = "waiting"
	Allowed State = "allowed"
	Denied  State = "denied"
)

// SignIn is a program that acts for a person.
type SignIn struct {
	Key       string // id of the API key whose text the access token is: "key_..."
	User      string // "usr_..."
	Family    string // what all refresh tokens of the sign-in begin with
	Hash      string // hex SHA-256 of the refresh token
	Former    string // of the refresh token before it; at first, of the device code
	Salt      string // with which the tokens were made of the former one
	Client    string
	Address   string // from which it was asked for
	CreatedAt time.Time
	RenewedAt time.Time
	ExpiresAt time.Time // whatever its use
}

// Found is a sign-in with its key and what is known of its user.
type Found struct {
	SignIn
	KeyHash      string
	KeyDisabled  bool
	KeyExpiresAt time.Time
	UserDisabled bool
	Email        string // "" none
}

// Renewal replaces the tokens of a sign-in.
type Renewal struct {
	Key     string
	Former  string // hash of the refresh token that is replaced
	Hash    string // of the new one
	Salt    string
	KeyHash string // of the new access token
	Label   string // of the new access token
	Until   time.Time
	Now     time.Time
}

// Bounds of what a store keeps.
type Bounds struct {
	OfNetwork int // devices of a network that wait
	All       int // devices that wait
	SignIns   int // of a user; the one that was not renewed for longest ends for a new one
	Keys      int // of a user
}

// Store keeps devices and sign-ins. Each change and its audit rows are one transaction. What is not found is fault.NotFound.
type Store interface {
	// AddDevice adds a device that waits. It fails with fault.RateLimited when there are too many, and with fault.Conflict when its code is another's.
	AddDevice(ctx context.Context, d Device, b Bounds) error
	// DeviceBy finds a device by the hash of its device code, also one that has expired.
	DeviceBy(ctx context.Context, hash string) (Device, error)
	// DeviceByCode finds a device that waits by the code that its person types.
	DeviceByCode(ctx context.Context, code string, now time.Time) (Device, error)
	// Decide says for a user whether a device that waits may act for them.
	Decide(ctx context.Context, code, user string, to State, now time.Time, e audit.Event) (Device, error)
	// Begin replaces a device that was allowed by a sign-in with its key. It fails with fault.NotFound when there is no such device, or its user may
	// not sign in, with fault.Invalid when the user has too many keys, and with apikey.ErrLabelTaken.
	Begin(ctx context.Context, device string, k apikey.Key, s SignIn, b Bounds, e audit.Event) error
	// SignInBy finds a sign-in whose key was not deleted, by its family.
	SignInBy(ctx context.Context, family string) (Found, error)
	// SignInOf finds one by the hash of its access token, or of the one before that.
	SignInOf(ctx context.Context, keyHash string) (Found, error)
	// Renew replaces tokens. It fails with fault.NotFound when the refresh token is no longer the present one, and with apikey.ErrLabelTaken.
	Renew(ctx context.Context, r Renewal) error
	// End deletes a sign-in, and its key.
	End(ctx context.Context, key string, now time.Time, e audit.Event) error
	// SignInsOf lists the sign-ins of a user, whose keys were not deleted.
	SignInsOf(ctx context.Context, user string) ([]SignIn, error)
	// Sweep deletes devices that have expired before a moment, and sign-ins, with their keys, that have expired or were not renewed since idle, at most
	// n of each, and returns how many.
	Sweep(ctx context.Context, devices, now, idle time.Time, n int) (int, error)
}

// letters of the codes that people type: no vowels, so that no words come about, and nothing that looks like a digit (RFC 8628, section 6.1).
const letters = "BCDFGHJKLMNPQRSTVWXZ"

const codeLen = 8

// CleanCode is a code as it is stored, whatever its person has typed between the letters and in which case; "" for what cannot be one.
func CleanCode(text string) string {
	if len(text) > 4*codeLen {
		return ""
	}
	code := make([]byte, 0, codeLen)
	for _, r := range strings.ToUpper(text) {
		switch {
		case r == '-' || r == ' ' || r == '\u2011' || r == '\u2013':
		case r < 0x80 && strings.IndexByte(letters, byte(r)) >= 0 && len(code) < codeLen:
			code = append(code, byte(r))
		default:
			return ""
		}
	}
	if len(code) != codeLen {
		return ""
	}
	return string(code)
}

// ShownCode is a code with a dash in its middle.
func ShownCode(code string) string { return code[:codeLen/2] + "-" + code[codeLen/2:] }

// clients are programs with names of their own, by what their User-Agent begins with.
var clients = []struct{ agent, name string }{
	{"claude-code/", "Claude Code"}, {"claude-cli/", "Claude Code"}, {"codex_cli_rs/", "Codex"}, {"codex_exec/", "Codex"}, {"codex-tui/", "Codex"}, {"weir/", "Weir"},
}

// ClientName is the name of a program by its User-Agent: without version and system, since a person is to recognize it.
func ClientName(userAgent string) string {
	for _, c := range clients {
		if strings.HasPrefix(userAgent, c.agent) {
			return c.name
		}
	}
	name, _, _ := strings.Cut(userAgent, "/")
	name, _, _ = strings.Cut(name, " ")
	if name == "" || len(name) > 40 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}) {
		return "unknown"
	}
	return name
}
