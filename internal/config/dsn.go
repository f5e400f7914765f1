package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

const masked = "***"

// DSN names a database: postgres://user:password@host/name, or the path of a SQLite file. When it is printed, encoded or logged, its
// password shows as ***; only Reveal returns it.
type DSN string

// Postgres reports whether the database is PostgreSQL.
func (d DSN) Postgres() bool {
	scheme := d.scheme()
	return scheme == "postgres" || scheme == "postgresql"
}

// scheme returns the part before "://", "" for the path of a file.
func (d DSN) scheme() string {
	scheme, _, found := strings.Cut(string(d), "://")
	if !found {
		return ""
	}
	return scheme
}

// Reveal returns the whole DSN, with its password.
func (d DSN) Reveal() string { return string(d) }

// passwordOptions are options of a DSN that are secret.
var passwordOptions = []string{"password", "sslpassword"}

func (d DSN) String() string {
	if d.scheme() == "" {
		return string(d)
	}
	u, err := url.Parse(string(d))
	if err != nil { // the position of the password is unknown
		return d.scheme() + "://" + masked
	}
	if _, set := u.User.Password(); set {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	q := u.Query()
	for _, name := range passwordOptions {
		if q.Has(name) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return strings.ReplaceAll(u.String(), "xxxxx", masked) // a URL would write %2A%2A%2A
}

// secrets lists the passwords in the DSN, decoded and as they are written.
func (d DSN) secrets() []string {
	if d.scheme() == "" {
		return nil
	}
	u, err := url.Parse(string(d))
	if err != nil {
		return []string{string(d)}
	}
	var out []string
	add := func(password string) {
		for _, s := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
			if s != "" {
				out = append(out, s)
			}
		}
	}
	if password, set := u.User.Password(); set {
		add(password)
		if _, written, found := strings.Cut(u.User.String(), ":"); found {
			out = append(out, written)
		}
	}
	for _, name := range passwordOptions {
		add(u.Query().Get(name))
	}
	return out
}

// Format prints the masked DSN for every verb.
func (d DSN) Format(f fmt.State, _ rune) { fmt.Fprint(f, d.String()) }

// MarshalText returns the masked DSN, for JSON and other text encoders.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalYAML returns the masked DSN.
func (d DSN) MarshalYAML() (any, error) { return d.String(), nil }

// LogValue returns the masked DSN, for slog.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

var (
	_ fmt.Formatter  = DSN("")
	_ slog.LogValuer = DSN("")
)
