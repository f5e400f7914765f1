package kit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Providers sign their reasoning to recognize it when it comes back. A public key is enough here: a signature must detect changes, not
// forgery.
var signingKey = []byte("the simulator signs what it thought")

// Sign returns a signature of the parts, in base64. It differs for other wires and models.
func Sign(on *Wire, m *Model, parts ...string) string {
	return base64.StdEncoding.EncodeToString(Seal(on, m, parts))
}

// Seal is the checksum of parts for a wire and a model.
func Seal(on *Wire, m *Model, parts []string) []byte {
	mac := hmac.New(sha256.New, signingKey)
	for _, s := range append([]string{on.Name, m.Name}, parts...) {
		mac.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return mac.Sum([]byte{1}) // a version byte, as in the providers' signatures
}

// VerifySignature reports whether Sign returned this signature for these parts.
func VerifySignature(on *Wire, m *Model, signature string, parts ...string) bool {
	return hmac.Equal([]byte(signature), []byte(Sign(on, m, parts...)))
}

// Conceal packs a text so that it looks encrypted. Reveal detects changes.
func Conceal(on *Wire, m *Model, s string, parts ...string) string {
	return base64.StdEncoding.EncodeToString(append(Seal(on, m, append(parts, s)), scrambled(s)...))
}

// Reveal returns the text that Conceal packed; false when it was packed for other parts or was changed.
func Reveal(on *Wire, m *Model, packed string, parts ...string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(packed)
	const head = 1 + sha256.Size
	if err != nil || len(raw) < head {
		return "", false
	}
	s := scrambled(string(raw[head:]))
	return s, hmac.Equal(raw[:head], Seal(on, m, append(parts, s)))
}

// scrambled is its own inverse.
func scrambled(s string) string {
	var b strings.Builder
	rnd := Random(len(s))
	for i := range len(s) {
		b.WriteByte(s[i] ^ byte(rnd.Next()))
	}
	return b.String()
}
