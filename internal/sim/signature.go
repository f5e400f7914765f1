package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Signatures are how providers know their own thoughts again. A secret that everybody may know is enough here: they need
// to be told from altered ones, not from forged ones.
var signingKey = []byte("the simulator signs what it thought")

// sign seals parts for a wire and a model. What is signed is told from the same parts under another wire or model.
func sign(on *wire, m *Model, parts ...string) string {
	return base64.StdEncoding.EncodeToString(seal(on, m, parts))
}

func seal(on *wire, m *Model, parts []string) []byte {
	mac := hmac.New(sha256.New, signingKey)
	for _, s := range append([]string{on.name, m.Name}, parts...) {
		mac.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return mac.Sum([]byte{1}) // a version, as theirs have
}

// genuine reports whether a signature is the one that sign gave.
func genuine(on *wire, m *Model, signature string, parts ...string) bool {
	return hmac.Equal([]byte(signature), []byte(sign(on, m, parts...)))
}

// conceal packs a text so that it looks encrypted and reveal tells an altered one.
func conceal(on *wire, m *Model, s string, parts ...string) string {
	return base64.StdEncoding.EncodeToString(append(seal(on, m, append(parts, s)), scrambled(s)...))
}

// reveal is the text that was concealed; false when it was not concealed for these parts.
func reveal(on *wire, m *Model, packed string, parts ...string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(packed)
	const head = 1 + sha256.Size
	if err != nil || len(raw) < head {
		return "", false
	}
	s := scrambled(string(raw[head:]))
	return s, hmac.Equal(raw[:head], seal(on, m, append(parts, s)))
}

// scrambled is its own reverse.
func scrambled(s string) string {
	var b strings.Builder
	rnd := random(len(s))
	for i := range len(s) {
		b.WriteByte(s[i] ^ byte(rnd.next()))
	}
	return b.String()
}
