package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
	"weir/internal/outbound"
	"weir/internal/secret"
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

// readSecret resolves the value of a secret: ${NAME} and env:NAME name a variable, file:PATH a file that only its owner may read. Any other
// text is the secret itself. Errors contain no part of a secret.
func readSecret(text string, env Lookup) (secret.Text, error) {
	if name, ok := variable(text); ok {
		value, set := env(name)
		if !set || value == "" {
			return secret.Text{}, fmt.Errorf("the environment variable %s is not set", name)
		}
		return secret.New(value), nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		return readSecretFile(path)
	}
	return secret.New(text), nil
}

// readProxy reads a way, which may be in a file, as other secrets. Errors contain no part of a secret.
func readProxy(text string, env Lookup) (outbound.Proxy, error) {
	path, ok := strings.CutPrefix(text, "file:")
	if !ok {
		return outbound.Parse(text, outbound.Lookup(env))
	}
	s, err := readSecretFile(path)
	if err != nil {
		return outbound.Proxy{}, err
	}
	return outbound.Parse(s.Reveal(), nil)
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

func readSecretFile(path string) (secret.Text, error) {
	const most = 64 << 10
	info, err := os.Stat(path)
	if err != nil {
		return secret.Text{}, fmt.Errorf("the secret file %s cannot be read: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return secret.Text{}, fmt.Errorf("the secret file %s is not a regular file of at most 64 KiB", path)
	}
	if !private(path, info.Mode(), mountOf(path)) {
		return secret.Text{}, fmt.Errorf("the secret file %s may be read by others (mode %04o); run: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return secret.Text{}, fmt.Errorf("the secret file %s cannot be read: %w", path, err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return secret.Text{}, fmt.Errorf("the secret file %s is empty", path)
	}
	return secret.New(text), nil
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

// kopecks are an amount of money that is paid: it has no fractions of a kopeck.
type kopecks money.Nano

func (n kopecks) String() string { return money.Nano(n).String() }

// maxPaid bounds amounts that are paid, in rubles.
const maxPaid = 1_000_000_000

func parseKopecks(text string) (kopecks, error) {
	d, err := parseDecimal(text)
	if err != nil {
		return 0, err
	}
	n, err := money.Parse(string(d))
	if err != nil || n%(money.Ruble/100) != 0 || n > maxPaid*money.Ruble {
		return 0, errors.New("it must be rubles with at most two decimals, such as \"500\"")
	}
	return kopecks(n), nil
}

// decimalFloat is a number of which it does not matter how it was written.
type decimalFloat float64

func parseFloat(text string) (decimalFloat, error) {
	d, err := parseDecimal(text)
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(string(d), 64)
	return decimalFloat(x), err
}

func parseDecimal(text string) (Decimal, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && !digits(fraction) || len(text) > 40 {
		return "", fmt.Errorf("%q is not a decimal number; write digits with an optional point, no sign and no exponent", text)
	}
	return Decimal(text), nil
}
