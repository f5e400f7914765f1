package dialect

import (
	"crypto/sha256"
	"encoding/hex"
)

// HashUser replaces a client's user id at a provider: 64 hexadecimal digits, the longest form that every server accepts.
func HashUser(account string, user []byte) string {
	h := sha256.New()
	h.Write([]byte(account))
	h.Write([]byte{0})
	h.Write(user)
	return hex.EncodeToString(h.Sum(nil))
}
