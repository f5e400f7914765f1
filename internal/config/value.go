package config

import (
	"encoding"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
)

// Lookup finds an environment variable, like os.LookupEnv.
type Lookup func(name string) (value string, ok bool)

// Size is a number of bytes, written as 512, 64KiB, 32MiB or 1GiB.
type Size int64

// intSize is a Size that a package has as an int.
type intSize int

func (s intSize) String() string { return Size(s).String() }

// Decimal is a number as text, so that a price is exactly as written.
type Decimal string

// Fraction returns the number, 0 for none.
func (d Decimal) Fraction() *big.Rat {
	x, ok := new(big.Rat).SetString(string(d))
	if !ok {
		return new(big.Rat)
	}
	return x
}

// Builtin says which built-in providers a key in the environment enables.
type Builtin struct {
	All  bool
	Only []string // ids; nil unless a list was given
}

// Allows reports whether a key in the environment enables the built-in provider of that id.
func (b Builtin) Allows(id string) bool {
	for _, only := range b.Only {
		if only == id {
			return true
		}
	}
	return b.All
}

const masked = "***"

// Secret is a credential. When it is printed, encoded or logged, it shows as ***; only Reveal returns it.
type Secret struct {
	text    string
	missing bool // see LoadForCommand
}

// NewSecret makes a Secret of its text.
func NewSecret(text string) Secret { return Secret{text: text} }

// Missing reports whether the secret could not be read. Commands that do not need it get a placeholder.
func (s Secret) Missing() bool { return s.missing }

// Reveal returns the secret, or "".
func (s Secret) Reveal() string { return s.text }

// Format prints *** for every verb, or nothing if there is no secret.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return masked
}

// MarshalText returns the masked secret, for JSON and other text encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML returns the masked secret.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue returns the masked secret, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

var (
	_ fmt.Formatter          = Secret{}
	_ encoding.TextMarshaler = Secret{}
	_ slog.LogValuer         = Secret{}
)

// readSecret resolves the value of a secret: ${NAME} and env:NAME name a variable, file:PATH a file that only its owner may read. Any other
// text is the secret itself. Errors contain no part of a secret.
func readSecret(text string, env Lookup) (Secret, error) {
	if name, ok := variable(text); ok {
		value, set := env(name)
		if !set || value == "" {
			return Secret{}, fmt.Errorf("the environment variable %s is not set", name)
		}
		return Secret{text: value}, nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		return readSecretFile(path)
	}
	return Secret{text: text}, nil
}

func variable(text string) (string, bool) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		return name, true
	}
	if strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}") {
		return text[2 : len(text)-1], true
	}
	return "", false
}

func readSecretFile(path string) (Secret, error) {
	const most = 64 << 10
	info, err := os.Stat(path)
	if err != nil {
		return Secret{}, fmt.Errorf("the secret file %s cannot be read: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return Secret{}, fmt.Errorf("the secret file %s is not a regular file of at most 64 KiB", path)
	}
	if !private(path, info.Mode(), mountOf(path)) {
		return Secret{}, fmt.Errorf("the secret file %s may be read by others (mode %04o); run: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, fmt.Errorf("the secret file %s cannot be read: %w", path, err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return Secret{}, fmt.Errorf("the secret file %s is empty", path)
	}
	return Secret{text: text}, nil
}

// credentials is where systemd puts what a unit loads (LoadCredential=, in systemd.exec(5)), readable by the unit's user alone. It names that
// user in a list of access rights, which shows in the mode as rights of the group.
const credentials = "/run/credentials/"

// mount is how a file system is mounted.
type mount struct{ readOnly, memory bool }

// secretFolders are where Docker and Podman put secrets, also such as are files of the host.
var secretFolders = []string{"/run/secrets/", "/var/run/secrets/"}

// private reports whether only the owner can read a file. What Docker and Kubernetes mount into a container may show as readable by all there: it is
// on a read-only mount of its own, in memory or in a folder for secrets, and the container has no other users.
func private(path string, mode fs.FileMode, m mount) bool {
	others, path := fs.FileMode(0o077), filepath.Clean(path)
	if strings.HasPrefix(path, credentials) {
		others = 0o037
	}
	if m.readOnly && (m.memory || slices.ContainsFunc(secretFolders, func(folder string) bool { return strings.HasPrefix(path, folder) })) {
		others = 0o033
	}
	return mode.Perm()&others == 0
}

func parseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write a number with a unit, such as 500ms, 30s or 5m", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("the duration %q is negative", text)
	}
	return d, nil
}

// Memory is a Size, or AutoMemory.
type Memory int64

// AutoMemory stands for what suits the machine or the container, written as auto.
const AutoMemory Memory = -1

func parseMemory(text string) (Memory, error) {
	if text == "auto" {
		return AutoMemory, nil
	}
	n, err := parseSize(text)
	if err != nil {
		return 0, fmt.Errorf("%w; or auto", err)
	}
	return Memory(n), nil
}

var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

func parseSize(text string) (Size, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		return Size(n * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size; write bytes as a whole number with a unit, such as 64KiB, 32MiB or 1GiB", text)
}

func (s Size) String() string {
	for i := 3; i >= 0 && s != 0; i-- {
		if u := units[i]; int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// parseRubles reads an amount of money. Amounts below zero are no settings.
func parseRubles(text string) (money.Nano, error) {
	n, err := money.Parse(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q must be rubles of 0 or more with at most nine decimals, such as \"1.5\"", clip(text))
	}
	return n, nil
}

func parseDecimal(text string) (Decimal, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && !digits(fraction) || len(text) > 40 {
		return "", fmt.Errorf("%q is not a decimal number; write digits with an optional point, no sign and no exponent", text)
	}
	return Decimal(text), nil
}
