package agent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"

	"weir/internal/apikey"
)

// RefreshPrefix is what refresh tokens begin with. It is no prefix of a key, so that a refresh token calls no model.
const RefreshPrefix = "sk-weir-refresh-v1-"

const (
	familyLen  = 24
	secretLen  = 43 // 256 bits in base 62
	refreshLen = len(RefreshPrefix) + familyLen + secretLen
)

// hashOf is what is stored of a token.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// familyOf is the family of a refresh token, "" for what is none.
func familyOf(text string) string {
	if len(text) != refreshLen || !strings.HasPrefix(text, RefreshPrefix) {
		return ""
	}
	family := text[len(RefreshPrefix) : len(RefreshPrefix)+familyLen]
	for i := range len(family) {
		if c := family[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return family
}

// familyFrom is the family of the sign-in that a device code begins.
func familyFrom(deviceCode string) string { return base62(derive(deviceCode, "", "family"), familyLen) }

// pair are the tokens of a sign-in. The access token is made of the refresh token.
type pair struct{ access, refresh string }

func pairOf(refresh string) pair {
	return pair{apikey.MintFrom(derive(refresh, "", "access")), refresh}
}

// pairAfter are the tokens that follow another, made of it and of a salt that the store keeps: two terminals that renew one token at the same time, or
// one that has lost the answer, get the same pair, while the store alone knows none of them.
func pairAfter(former, family, salt string) pair {
	return pairOf(RefreshPrefix + family + base62(derive(former, salt, "refresh"), secretLen))
}

func derive(secret, salt, purpose string) (out [sha256.Size]byte) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(purpose + "\x00" + salt))
	mac.Sum(out[:0])
	return out
}

// base62 are the last n digits of a number.
func base62(number [sha256.Size]byte, n int) string {
	text := new(big.Int).SetBytes(number[:]).Text(62)
	if len(text) < n {
		text = strings.Repeat("0", n-len(text)) + text
	}
	return text[len(text)-n:]
}

func newSalt() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the program instead
	return hex.EncodeToString(raw[:])
}

// newCode is a code for a person to type.
func newCode() string {
	code := make([]byte, 0, codeLen)
	for len(code) < codeLen {
		var raw [16]byte
		_, _ = rand.Read(raw[:])
		for _, b := range raw {
			if b < 240 && len(code) < codeLen { // 12 * 20: values above would favour the first letters
				code = append(code, letters[b%20])
			}
		}
	}
	return string(code)
}
