// Package seal encrypts secrets for the database: each record with a random key, which is encrypted with a master key. It stores nothing
// and reads no files: keys come from the caller.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"weir/internal/fault"
)

const (
	keyBytes = 32 // AES-256
	idBytes  = 8
	format   = 1
)

// Ring contains the master keys of a node: it encrypts with the first and decrypts with any. A nil Ring has none. It is safe for concurrent
// use.
type Ring struct{ masters []master }

type master struct {
	id   [idBytes]byte
	aead cipher.AEAD
}

// ParseKey reads a master key of 32 bytes, as 64 hex digits or as base64.
func ParseKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	if key, err := hex.DecodeString(text); err == nil && len(key) == keyBytes {
		return key, nil
	}
	if key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=")); err == nil && len(key) == keyBytes {
		return key, nil
	}
	return nil, fault.New(fault.Invalid, "seal.ParseKey", "A master key is 32 random bytes as 64 hex digits or base64; make one with: openssl rand -hex 32")
}

// NewRing makes a Ring of the current master key and earlier ones, 32 bytes each.
func NewRing(keys ...[]byte) (*Ring, error) {
	r := &Ring{}
	for _, key := range keys {
		if len(key) != keyBytes || bytes.Count(key, key[:1]) == keyBytes {
			return nil, fault.New(fault.Invalid, "seal.NewRing", "A master key must be 32 random bytes; make one with: openssl rand -hex 32")
		}
		aead, err := newAEAD(key)
		if err != nil {
			return nil, err
		}
		m := master{aead: aead}
		sum := sha256.Sum256(append([]byte("weir master key id\x00"), key...))
		copy(m.id[:], sum[:])
		r.masters = append(r.masters, m)
	}
	return r, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fault.Wrap("seal", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fault.Wrap("seal", err)
	}
	return aead, nil
}

// Ready reports whether the ring can encrypt.
func (r *Ring) Ready() bool { return r != nil && len(r.masters) > 0 }

// IDs names the master keys, the current one first. An id says nothing of its key.
func (r *Ring) IDs() (ids []string) {
	if r == nil {
		return nil
	}
	for i := range r.masters {
		ids = append(ids, hex.EncodeToString(r.masters[i].id[:]))
	}
	return ids
}

// Seal encrypts a secret for one row and column; it cannot be decrypted for others. It fails without a master key.
//
// The result is: format, id of the master key, wrapped record key, encrypted secret. Each of the last two begins with its nonce.
func (r *Ring) Seal(secret, row, column string) ([]byte, error) {
	if !r.Ready() {
		return nil, fault.New(fault.Conflict, "seal.Seal", "No master key is configured, so secrets cannot be stored. "+Hint)
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails: it ends the program instead
	record, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	m := &r.masters[0]
	bound := boundTo(row, column)
	sealed := append([]byte{format}, m.id[:]...)
	sealed = appendSealed(sealed, m.aead, key, bound)
	return appendSealed(sealed, record, []byte(secret), bound), nil
}

// Hint explains how to configure a master key.
const Hint = "Make one (openssl rand -hex 32), put it into a file of mode 0600 and name it in secrets.master_key_file, or set WEIR_MASTER_KEY; then restart. " +
	"Without one, a provider's key can be named by its environment variable: api_key_env."

func appendSealed(dst []byte, aead cipher.AEAD, plain, bound []byte) []byte {
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return aead.Seal(append(dst, nonce...), nonce, plain, bound)
}

// boundTo returns the associated data: row and column, each after its length.
func boundTo(row, column string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(row)))
	b = append(b, row...)
	b = binary.AppendUvarint(b, uint64(len(column)))
	return append(b, column...)
}

// Parts of a sealed secret.
const (
	nonceBytes = 12
	tagBytes   = 16
	wrapBytes  = nonceBytes + keyBytes + tagBytes
	headBytes  = 1 + idBytes
)

// Open decrypts the result of Seal for the same row and column. It fails with fault.Conflict if the master key is not in the ring, and with
// fault.Internal if the bytes were changed or belong to another row.
func (r *Ring) Open(sealed []byte, row, column string) (string, error) {
	key, err := r.unwrap(sealed, boundTo(row, column))
	if err != nil {
		return "", err
	}
	record, err := newAEAD(key)
	if err != nil {
		return "", err
	}
	rest := sealed[headBytes+wrapBytes:]
	plain, err := record.Open(nil, rest[:nonceBytes], rest[nonceBytes:], boundTo(row, column))
	if err != nil {
		return "", fault.Wrap("seal.Open", err)
	}
	return string(plain), nil
}

func (r *Ring) unwrap(sealed, bound []byte) ([]byte, error) {
	if len(sealed) < headBytes+wrapBytes+nonceBytes+tagBytes || sealed[0] != format {
		return nil, fault.New(fault.Internal, "seal.Open", "").Because(errForm)
	}
	m := r.named(sealed[1:headBytes])
	if m == nil {
		return nil, fault.Newf(fault.Conflict, "seal.Open", "It was encrypted with the master key %s, which is not configured.", KeyID(sealed))
	}
	wrapped := sealed[headBytes : headBytes+wrapBytes]
	key, err := m.aead.Open(nil, wrapped[:nonceBytes], wrapped[nonceBytes:], bound)
	if err != nil {
		return nil, fault.Wrap("seal.Open", err)
	}
	return key, nil
}

var errForm = fault.New(fault.Internal, "seal.Open", "these bytes are no sealed secret")

func (r *Ring) named(id []byte) *master {
	if r == nil {
		return nil
	}
	for i := range r.masters {
		if bytes.Equal(r.masters[i].id[:], id) {
			return &r.masters[i]
		}
	}
	return nil
}

// KeyID returns the id of the master key of a sealed secret, in hex; "" for other bytes.
func KeyID(sealed []byte) string {
	if len(sealed) < headBytes {
		return ""
	}
	return hex.EncodeToString(sealed[1:headBytes])
}

// Rewrap encrypts a secret's record key with the current master key. changed is false if it already was. The secret itself is not encrypted
// again: an old master key still opens it in an old copy of the database.
func (r *Ring) Rewrap(sealed []byte, row, column string) (out []byte, changed bool, err error) {
	if !r.Ready() {
		return nil, false, fault.New(fault.Conflict, "seal.Rewrap", "No master key is configured. "+Hint)
	}
	m := &r.masters[0]
	bound := boundTo(row, column)
	key, err := r.unwrap(sealed, bound)
	if err != nil || bytes.Equal(sealed[1:headBytes], m.id[:]) {
		return sealed, false, err
	}
	out = append([]byte{format}, m.id[:]...)
	out = appendSealed(out, m.aead, key, bound)
	return append(out, sealed[headBytes+wrapBytes:]...), true, nil
}
