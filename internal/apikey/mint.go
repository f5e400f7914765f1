package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"
)

// The prefixes of keys, by which secret scanners recognize them.
const (
	Prefix           = "sk-weir-v1-"
	ManagementPrefix = "sk-weir-mgmt-v1-"
)

const (
	secretLen   = 43 // 256 bits in base 62
	checksumLen = 6  // CRC-32 in base 62
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Mint makes the text of a new key. It is the only moment at which the text exists on our side: store its Hash and Label.
func Mint(management bool) string {
	prefix := Prefix
	if management {
		prefix = ManagementPrefix
	}
	text := make([]byte, 0, len(ManagementPrefix)+secretLen+checksumLen)
	text = append(text, prefix...)
	text = appendRandom(text, secretLen)
	return string(appendChecksum(text, string(text[len(prefix):])))
}

// MintFrom makes the text of a key of 256 bits, which must be secret and used for nothing else: the same bits make the same key.
func MintFrom(bits [32]byte) string {
	digits := new(big.Int).SetBytes(bits[:])
	secret := make([]byte, secretLen)
	for i, base, rest := secretLen-1, big.NewInt(62), new(big.Int); i >= 0; i-- {
		digits.QuoRem(digits, base, rest)
		secret[i] = base62[rest.Int64()]
	}
	return string(appendChecksum(append([]byte(Prefix), secret...), string(secret)))
}

// NewID is prefix and 24 random base62 characters, as in "usr_...".
func NewID(prefix string) string {
	return string(appendRandom([]byte(prefix), 24))
}

// appendRandom appends n characters of crypto/rand, each of the 62 equally likely.
func appendRandom(text []byte, n int) []byte {
	var block [64]byte
	for n > 0 {
		_, _ = rand.Read(block[:]) // never fails: it ends the program instead
		for _, b := range block {
			if b >= 248 { // 4 * 62: values above would favour the first characters
				continue
			}
			text = append(text, base62[b%62])
			if n--; n == 0 {
				break
			}
		}
	}
	return text
}

func appendChecksum(text []byte, secret string) []byte {
	sum := checksum(secret)
	return append(text, sum[:]...)
}

// checksum is the CRC-32 (IEEE) of a secret, six base62 digits, most significant first.
func checksum(secret string) [checksumLen]byte {
	var raw [secretLen]byte
	copy(raw[:], secret)
	crc := crc32.ChecksumIEEE(raw[:])
	var digits [checksumLen]byte
	for i := checksumLen - 1; i >= 0; i-- {
		digits[i] = base62[crc%62]
		crc /= 62
	}
	return digits
}

// Check reports whether text has the form and the checksum of a key, and of which sort. It needs no store: a typing error is found offline.
func Check(text string) (management, ok bool) {
	secret, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		if secret, ok = strings.CutPrefix(text, ManagementPrefix); !ok {
			return false, false
		}
		management = true
	}
	if len(secret) != secretLen+checksumLen {
		return management, false
	}
	for i := range len(secret) {
		if c := secret[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return management, false
		}
	}
	sum := checksum(secret[:secretLen])
	return management, secret[secretLen:] == string(sum[:])
}

// Ours reports whether text begins as our keys do. It says nothing of whether it is one.
func Ours(text string) bool {
	return strings.HasPrefix(text, Prefix) || strings.HasPrefix(text, ManagementPrefix)
}

// Sum is the SHA-256 of a key's text.
type Sum [sha256.Size]byte

// SumOf hashes a key's text.
func SumOf(text string) Sum {
	var raw [96]byte // longer than any key, so that the usual case allocates nothing
	return sha256.Sum256(append(raw[:0], text...))
}

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Hash is what is stored of a key: the hex SHA-256 of its text. It is also the key's public identifier.
func Hash(text string) string { return SumOf(text).String() }

// Label is the text by which people recognise a key: its first 12 characters, three dots, its last 3.
func Label(text string) string {
	if len(text) < 15 {
		return ""
	}
	return text[:12] + "..." + text[len(text)-3:]
}
