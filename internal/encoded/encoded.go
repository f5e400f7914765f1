// Package encoded is files written as base64 inside JSON: text of clients and providers that is checked once, where it is read, so that it can be
// written again without looking at it. It must not know whose text it is.
package encoded

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
)

// Base64 is standard base64 with its padding and without line ends. Only Parse and Of make one, so it has no byte that JSON would escape. The zero
// value is no data.
type Base64 struct{ text []byte }

// The reasons for which a text is not base64.
var (
	ErrEmpty  = errors.New("it is empty")
	ErrForm   = errors.New("it has characters that base64 does not have")
	ErrLength = errors.New("its end is missing")
)

// sorts says for each byte what it is in base64.
var sorts = func() (t [256]sort) {
	for c := range t {
		t[c] = foreign
	}
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" {
		t[c] = digit
	}
	for _, c := range "+/" {
		t[c] = standard
	}
	for _, c := range "-_" {
		t[c] = address
	}
	for _, c := range " \t\r\n\v\f" {
		t[c] = space
	}
	return t
}()

type sort uint8

const (
	digit    sort = 0
	standard sort = 1 << (iota - 1)
	address       // the alphabet for addresses, which Python's pydantic writes, and with it Google's client
	space         // line ends of MIME and PEM
	foreign
)

// Parse checks a text. White space, which MIME's encoders write, is removed; the alphabet for addresses becomes the standard one; padding that is
// missing is added. A text that needs none of that is not copied. The errors are those of this package.
func Parse(text []byte) (Base64, error) {
	body, padding := text, 0
	for n := len(body); n > 0 && (body[n-1] == '=' || sorts[body[n-1]] == space); n-- {
		if body[n-1] == '=' {
			padding++
		}
		body = body[:n-1]
	}
	var seen sort
	for _, c := range body {
		seen |= sorts[c]
	}
	if seen&foreign != 0 || padding > 2 || seen&(standard|address) == standard|address {
		return Base64{}, ErrForm
	}
	if seen == seen&(digit|standard) && len(body)%4 == (4-padding)%4 && len(body)+padding == len(text) && len(text) > 0 {
		return Base64{text}, nil
	}
	out := make([]byte, 0, len(body)+3)
	for _, c := range body {
		switch {
		case c == '-':
			out = append(out, '+')
		case c == '_':
			out = append(out, '/')
		case sorts[c] != space:
			out = append(out, c)
		}
	}
	switch len(out) % 4 {
	case 1:
		return Base64{}, ErrLength
	case 2:
		out = append(out, "=="...)
	case 3:
		out = append(out, '=')
	}
	if len(out) == 0 {
		return Base64{}, ErrEmpty
	}
	return Base64{out}, nil
}

// Of encodes a file.
func Of(file []byte) Base64 {
	return Base64{base64.StdEncoding.AppendEncode(nil, file)}
}

// None reports whether there is no data.
func (b Base64) None() bool { return len(b.text) == 0 }

// Equal reports whether both are the same text.
func (b Base64) Equal(other Base64) bool { return bytes.Equal(b.text, other.text) }

// Len is the length of the text in bytes.
func (b Base64) Len() int { return len(b.text) }

// Text is the text. It must not be changed.
func (b Base64) Text() []byte { return b.text }

// Size is how many bytes the file has.
func (b Base64) Size() int {
	return base64.RawStdEncoding.DecodedLen(len(bytes.TrimRight(b.text, "=")))
}

// Reader reads the file. It fails at nothing but the end.
func (b Base64) Reader() io.Reader {
	return base64.NewDecoder(base64.StdEncoding, bytes.NewReader(b.text))
}

// File is the file.
func (b Base64) File() []byte {
	file, _ := base64.StdEncoding.AppendDecode(nil, b.text)
	return file
}
