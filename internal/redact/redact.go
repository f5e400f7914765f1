// Package redact removes secrets from bytes before they are logged or shown. It does not decide what is logged, and reads no configuration.
package redact

import (
	"bytes"
	"strings"
	"sync/atomic"
)

// minSecret is the length of the shortest configured secret that is searched for: a shorter one would match ordinary words.
const minSecret = 6

// Redactor redacts configured secrets and everything that looks like a secret. The zero value has no configured secrets. It is safe for
// concurrent use.
type Redactor struct {
	secrets atomic.Pointer[[][]byte]
}

// New makes a Redactor with configured secrets.
func New(secrets ...string) *Redactor {
	r := new(Redactor)
	r.SetSecrets(secrets...)
	return r
}

// SetSecrets replaces the configured secrets. Those shorter than six bytes are ignored.
func (r *Redactor) SetSecrets(secrets ...string) {
	var list [][]byte
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		list = append(list, []byte(s))
		// Records are searched after encoding, where quotes and backslashes are escaped.
		if esc := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s); esc != s {
			list = append(list, []byte(esc))
		}
	}
	r.secrets.Store(&list)
}

// Redact returns b with every secret replaced by "[redacted:<kind>]". Without a secret it returns b itself, and it never writes into b. A
// nil Redactor behaves like the function Redact.
func (r *Redactor) Redact(b []byte) []byte {
	if r != nil {
		if list := r.secrets.Load(); list != nil {
			for _, s := range *list {
				if bytes.Contains(b, s) {
					b = bytes.ReplaceAll(b, s, []byte("[redacted:secret]"))
				}
			}
		}
	}
	return Redact(b)
}

// Redact replaces what looks like a secret: Weir's keys, sk- keys, bearer tokens, webhook secrets, Google keys, Slack tokens and PEM
// blocks. Without a secret it returns b itself, and it never writes into b.
func Redact(b []byte) []byte {
	b = replace(b, "-----BEGIN ", "[redacted:pem]", matchPEM)
	b = replace(b, "sk-", "[redacted:key]", matchKey)
	for _, word := range [...]string{"earer ", "EARER "} {
		b = replace(b, word, "[redacted:bearer]", matchBearer)
	}
	b = replace(b, "whsec_", "[redacted:webhook-secret]", matchToken)
	b = replace(b, "AIza", "[redacted:google-key]", matchGoogleKey)
	return replace(b, "xox", "[redacted:chat-token]", matchChatToken)
}

// replace puts mark in place of every match around an occurrence of needle. match gets the start and end of the occurrence. It returns the
// range to replace, or start < 0 if the occurrence is not a match.
func replace(b []byte, needle, mark string, match func(b []byte, at, end int) (start, stop int)) []byte {
	at := bytes.Index(b, []byte(needle))
	if at < 0 {
		return b
	}
	var out []byte
	from := 0 // b has been copied up to here
	for at >= 0 {
		next := at + len(needle)
		if start, stop := match(b, at, next); start >= from {
			out = append(append(out, b[from:start]...), mark...)
			from, next = stop, stop
		}
		at = bytes.Index(b[next:], []byte(needle))
		if at >= 0 {
			at += next
		}
	}
	if out == nil {
		return b
	}
	return append(out, b[from:]...)
}

func matchToken(b []byte, at, end int) (int, int) {
	stop := tokenEnd(b, end)
	if stop == end {
		return -1, 0
	}
	return at, stop
}

// matchKey distinguishes "sk-abc" from "risk-free": a key begins at a word boundary, or is long and has digits.
func matchKey(b []byte, at, end int) (int, int) {
	stop := tokenEnd(b, end)
	if stop == end || !boundary(b, at) && !(stop-end >= 20 && bytes.ContainsAny(b[end:stop], "0123456789")) {
		return -1, 0
	}
	return at, stop
}

// matchGoogleKey distinguishes a key from one of Weir's random ids that contains the same four letters: an id has them inside a word, with
// fewer characters after them than the 35 of a key.
func matchGoogleKey(b []byte, at, end int) (int, int) {
	stop := tokenEnd(b, end)
	inside := at > 0 && (b[at-1] == '_' || !boundary(b, at))
	if stop == end || inside && stop-end < 35 {
		return -1, 0
	}
	return at, stop
}

func matchBearer(b []byte, at, end int) (int, int) {
	for end < len(b) && b[end] == ' ' {
		end++
	}
	stop := tokenEnd(b, end)
	if at == 0 || b[at-1]|0x20 != 'b' || stop == end {
		return -1, 0
	}
	return at - 1, stop
}

func matchChatToken(b []byte, at, end int) (int, int) {
	if end+1 >= len(b) || b[end+1] != '-' {
		return -1, 0
	}
	return matchToken(b, at, end)
}

func matchPEM(b []byte, at, end int) (int, int) {
	stop := bytes.Index(b[end:], []byte("-----END "))
	if stop < 0 {
		return at, len(b)
	}
	stop += end + len("-----END ")
	if dashes := bytes.Index(b[stop:], []byte("-----")); dashes >= 0 {
		return at, stop + dashes + len("-----")
	}
	return at, len(b)
}

// tokenEnd returns the end of a run of characters that can be in credentials.
func tokenEnd(b []byte, i int) int {
	for i < len(b) && (alnum(b[i]) || strings.IndexByte("-_.~+/=", b[i]) >= 0) {
		i++
	}
	return i
}

// boundary reports whether a word begins at i. The letter of an escape such as \n is not part of a word.
func boundary(b []byte, i int) bool {
	if i == 0 || !alnum(b[i-1]) {
		return true
	}
	return i >= 2 && b[i-2] == '\\' || i >= 6 && b[i-6] == '\\' && b[i-5] == 'u' || i >= 3 && b[i-3] == '%'
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
