package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"weir/internal/fault"
)

// The cost of one password hash: Argon2id with 19 MiB, two passes and one lane, the least that OWASP recommends. Hashes name their cost, so
// that it can be raised.
const (
	hashMemory = 19 << 10 // KiB
	hashTime   = 2
	hashLanes  = 1
	saltSize   = 16
	sumSize    = 32
)

// hashesAtOnce bounds the memory that all sign-ins take together, and leaves processors to calls however many people prove who they are.
func hashesAtOnce() int { return max(1, min(2, runtime.GOMAXPROCS(0)/2)) }

const (
	minPassword = 10  // characters
	maxPassword = 256 // bytes
)

// hashesWaiting is how many more may wait for their turn.
const hashesWaiting = 100

// hasher computes password hashes, few at a time.
type hasher struct {
	places  chan struct{}
	waiting atomic.Int64
}

func newHasher() *hasher { return &hasher{places: make(chan struct{}, hashesAtOnce())} }

func (h *hasher) enter(ctx context.Context) error {
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > hashesWaiting {
		e := fault.New(fault.Overloaded, "auth.hash", "Too many people are signing in at this moment. Try again.")
		e.RetryAfter = time.Second
		return e
	}
	select {
	case h.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Canceled, "auth.hash", "The client closed the connection.").Because(ctx.Err())
	}
}

// hash makes the hash of a password, in the PHC form.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer func() { <-h.places }()
	var salt [saltSize]byte
	_, _ = rand.Read(salt[:]) // never fails: it ends the program instead
	sum := argon2.IDKey([]byte(password), salt[:], hashTime, hashMemory, hashLanes, sumSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashTime, hashLanes,
		base64.RawStdEncoding.EncodeToString(salt[:]), base64.RawStdEncoding.EncodeToString(sum)), nil
}

// matches reports whether a password has the hash. With "" it does the same work and reports false, so that the time does not show
// whether there is an account.
func (h *hasher) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := h.enter(ctx); err != nil {
		return false, err
	}
	defer func() { <-h.places }()
	c, ok := readHash(hash)
	if !ok {
		c = costs{memory: hashMemory, time: hashTime, lanes: hashLanes, salt: make([]byte, saltSize), sum: make([]byte, sumSize)}
	}
	sum := argon2.IDKey([]byte(password), c.salt, c.time, c.memory, c.lanes, uint32(len(c.sum)))
	return subtle.ConstantTimeCompare(sum, c.sum) == 1 && ok, nil
}

type costs struct {
	memory, time uint32
	lanes        uint8
	salt, sum    []byte
}

// readHash reads the PHC form. It refuses costs that no version of this program has used, because a hash must not decide how much memory is
// taken.
func readHash(text string) (c costs, ok bool) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.lanes); err != nil {
		return c, false
	}
	var err1, err2 error
	c.salt, err1 = base64.RawStdEncoding.DecodeString(parts[4])
	c.sum, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	return c, err1 == nil && err2 == nil && c.memory > 0 && c.memory <= 256<<10 && c.time > 0 && c.time <= 16 && c.lanes > 0 && len(c.salt) >= 8 && len(c.sum) == sumSize
}

// CheckPassword refuses a password that is too short, too long, or guessed at once.
func CheckPassword(param, password, email string) error {
	const op = "auth.CheckPassword"
	switch {
	case !utf8.ValidString(password):
		return fault.Field(op, param, "%s must be text.", param).Coded("text_needed")
	case utf8.RuneCountInString(password) < minPassword:
		return fault.Field(op, param, "%s must have at least %d characters.", param, minPassword).Coded("least_characters", "least", minPassword)
	case len(password) > maxPassword:
		return fault.Field(op, param, "%s must have at most %d bytes.", param, maxPassword).Coded("most_bytes", "most", maxPassword)
	case len(strings.Trim(password, password[:1])) == 0:
		return fault.Field(op, param, "%s must not be one character repeated.", param).Coded("repeated_character")
	}
	name, _, _ := strings.Cut(email, "@")
	if low := strings.ToLower(password); email != "" && (low == email || low == name) || common[low] {
		return fault.Field(op, param, "%s is one of those that are tried first. Choose another; three or four unrelated words are good.", param).Coded("common_password")
	}
	return nil
}

// common are passwords of ten characters and more from the tops of public lists of leaked ones.
var common = set("1234567890", "0123456789", "12345678910", "123456789a", "1q2w3e4r5t", "qwertyuiop", "1qaz2wsx3edc", "password12", "password123", "password1234", "passw0rd123",
	"qwerty12345", "qwerty123456", "qwertyuiop123", "iloveyou123", "administrator", "letmein123", "welcome123", "0987654321", "9876543210", "q1w2e3r4t5", "q1w2e3r4t5y6",
	"йцукенгшщз", "пароль1234", "пароль12345", "abcdefghij", "abcd123456", "abc1234567", "123qweasdzxc", "1234qwerty", "zxcvbnm123", "football123", "baseball123", "superman123")

func set(words ...string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words {
		m[w] = true
	}
	return m
}

// CheckEmail brings an address into the form in which it is stored. It refuses what cannot be one.
func CheckEmail(param, text string) (string, error) {
	email := strings.ToLower(strings.TrimSpace(text))
	name, domain, found := strings.Cut(email, "@")
	bad := strings.ContainsFunc(email, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`<>()[],;:\"`, r) || r >= 0x80 && r < 0xa0 || r == utf8.RuneError
	})
	if !found || bad || name == "" || strings.Contains(domain, "@") || len(email) > 254 || !strings.Contains(strings.Trim(domain, "."), ".") || strings.Contains(domain, "..") ||
		strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") {
		return "", fault.Field("auth.CheckEmail", param, "%s must be an e-mail address, such as name@example.org.", param).Coded("email_address")
	}
	return email, nil
}
