package kit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Signatures are how providers recognize their own reasoning. A public secret is enough here: they need
// to be distinguished from altered ones, not from forged ones.
var signingKey = []byte("the simulator signs what it thought")

// Sign seals parts for a wire and a model. The same parts under another wire or model get another signature.
func Sign(on *Wire, m *Model, parts ...string) string {
	return base64.StdEncoding.EncodeToString(Seal(on, m, parts))
}

// Seal is the checksum of parts for a wire and a model.
func Seal(on *Wire, m *Model, parts []string) []byte {
	mac := hmac.New(sha256.New, signingKey)
	for _, s := range append([]string{on.Name, m.Name}, parts...) {
		mac.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return mac.Sum([]byte{1}) // a version, as theirs have
}

// VerifySignature reports whether a signature is the one that sign gave.
func VerifySignature(on *Wire, m *Model, signature string, parts ...string) bool {
	return hmac.Equal([]byte(signature), []byte(Sign(on, m, parts...)))
}

// Conceal packs a text so that it looks encrypted and Reveal finds an altered one.
func Conceal(on *Wire, m *Model, s string, parts ...string) string {
	return base64.StdEncoding.EncodeToString(append(Seal(on, m, append(parts, s)), scrambled(s)...))
}

// Reveal is the text that was concealed; false when it was not concealed for these parts.
func Reveal(on *Wire, m *Model, packed string, parts ...string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(packed)
	const head = 1 + sha256.Size
	if err != nil || len(raw) < head {
		return "", false
	}
	s := scrambled(string(raw[head:]))
	return s, hmac.Equal(raw[:head], Seal(on, m, append(parts, s)))
}

// scrambled is its own reverse.
func scrambled(s string) string {
	var b strings.Builder
	rnd := Random(len(s))
	for i := range len(s) {
		b.WriteByte(s[i] ^ byte(rnd.Next()))
	}
	return b.String()
}
