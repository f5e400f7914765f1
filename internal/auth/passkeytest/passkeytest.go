// Package passkeytest is a device with passkeys, in software, for tests. It answers as a browser with such a device does, and on request it can
// answer wrongly. It must not be used outside of tests.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// Device makes passkeys and signs with them. Its fields say how; the zero values of those after Count are honest.
type Device struct {
	Origin string // where its browser is
	RPID   string // host whose passkeys the browser lets it use
	Count  uint32 // of signatures; 0: it counts none

	NoUser    bool   // it does not check who uses it
	NoTouch   bool   // nor whether anybody does
	Kind      string // "type" of the client's data; "": the right one
	Forge     bool   // it signs with another key
	Handle    string // user handle of its answers; "": that of the passkey
	CrossSite bool   // the browser reports that another site's page asked
	Backup    bool   // the passkey is in a cloud
}

// Key is a passkey.
type Key struct {
	ID     []byte
	Handle string
	key    *ecdsa.PrivateKey
}

var b64 = base64.RawURLEncoding

// IDText is its id as in the API.
func (k *Key) IDText() string { return b64.EncodeToString(k.ID) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Make makes a passkey for a user handle, and the browser's answer to a challenge for one.
func (d *Device) Make(challenge, handle string) (k *Key, answer string) {
	k = &Key{ID: make([]byte, 32), Handle: handle, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	_, _ = rand.Read(k.ID)
	point := must(k.key.PublicKey.Bytes())
	cose := join(head(5, 5), head(0, 1), head(0, 2), head(0, 3), head(1, 6), head(1, 0), head(0, 1), head(1, 1), text(2, point[1:33]), head(1, 2), text(2, point[33:65]))
	data := d.data(1<<6, join(make([]byte, 16), binary.BigEndian.AppendUint16(nil, uint16(len(k.ID))), k.ID, cose))
	object := join(head(5, 3), text(3, []byte("fmt")), text(3, []byte("none")), text(3, []byte("attStmt")), head(5, 0), text(3, []byte("authData")), text(2, data))
	return k, fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{"credProps":{"rk":true}},"response":{"clientDataJSON":%q,"attestationObject":%q,"transports":["internal"]}}`,
		k.IDText(), k.IDText(), b64.EncodeToString(d.client("webauthn.create", challenge)), b64.EncodeToString(object))
}

// Sign is the browser's answer to a challenge with a passkey.
func (d *Device) Sign(challenge string, k *Key) string {
	if d.Count > 0 {
		d.Count++
	}
	data, client := d.data(0, nil), d.client("webauthn.get", challenge)
	sum := sha256.Sum256(client)
	signed := sha256.Sum256(join(data, sum[:]))
	key := k.key
	if d.Forge {
		key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	}
	handle := k.Handle
	if d.Handle != "" {
		handle = d.Handle
	}
	return fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},"response":{"clientDataJSON":%q,"authenticatorData":%q,"signature":%q,"userHandle":%q}}`,
		k.IDText(), k.IDText(), b64.EncodeToString(client), b64.EncodeToString(data), b64.EncodeToString(must(ecdsa.SignASN1(rand.Reader, key, signed[:]))), b64.EncodeToString([]byte(handle)))
}

func (d *Device) client(kind, challenge string) []byte {
	if d.Kind != "" {
		kind = d.Kind
	}
	return fmt.Appendf(nil, `{"type":%q,"challenge":%q,"origin":%q,"crossOrigin":%v}`, kind, strings.TrimRight(challenge, "="), d.Origin, d.CrossSite)
}

func (d *Device) data(flags byte, rest []byte) []byte {
	for bit, set := range map[byte]bool{1: !d.NoTouch, 4: !d.NoUser, 8: d.Backup, 16: d.Backup} {
		if set {
			flags |= bit
		}
	}
	host := sha256.Sum256([]byte(d.RPID))
	return join(host[:], []byte{flags}, binary.BigEndian.AppendUint32(nil, d.Count), rest)
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// head begins a CBOR item: its major type and its argument (RFC 8949, section 3).
func head(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 256:
		return []byte{major<<5 | 24, byte(n)}
	}
	return []byte{major<<5 | 25, byte(n >> 8), byte(n)}
}

func text(major byte, b []byte) []byte { return append(head(major, len(b)), b...) }
