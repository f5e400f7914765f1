// Package http1 is the grammar of HTTP/1.1 messages that both sides of the gateway read: lines, header fields, chunked bodies (RFC 9112). It is
// strict and repairs nothing. It reads from no connection, and must not know whether a message is a request or an answer.
package http1

import (
	"bytes"
	"errors"
)

// The errors of a field line. They do not quote it: it is untrusted.
var (
	ErrField   = errors.New("http1: a header field is malformed")
	ErrLineEnd = errors.New("http1: a line does not end with CR LF")
)

// Length reads the value of a Content-Length.
func Length(value []byte) (n int64, ok bool) {
	if len(value) == 0 || len(value) > 18 { // 18 digits: no overflow
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// CutLine splits a line, without its end, off the front of b.
func CutLine(b []byte) (line, rest []byte, err error) {
	n := bytes.IndexByte(b, '\n')
	if n < 1 || b[n-1] != '\r' {
		return nil, nil, ErrLineEnd
	}
	return b[:n-1], b[n+1:], nil
}

// CutField splits a field line off the front of b. The value has no white space around it.
func CutField(b []byte) (name, value, rest []byte, err error) {
	line, rest, err := CutLine(b)
	if err != nil {
		return nil, nil, nil, err
	}
	n := 0
	for n < len(line) && IsToken(line[n]) {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' || !IsText(line[n+1:]) {
		return nil, nil, nil, ErrField
	}
	return line[:n], Trim(line[n+1:]), rest, nil
}

// tokens has the characters of a field's name (RFC 9110 section 5.6.2).
var tokens = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return t
}()

// IsToken reports whether c may be in a field's name or in a method.
func IsToken(c byte) bool { return tokens[c] }

// IsText reports whether b may be in a field's value or in a reason: no control characters except tabs.
func IsText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return true
}

// Trim removes spaces and tabs around a value.
func Trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// Is compares without regard to case; want must be in lower case.
func Is(b []byte, want string) bool {
	if len(b) != len(want) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// HasToken reports whether a list of tokens, separated by commas, has one; token must be in lower case.
func HasToken(list []byte, token string) bool {
	for len(list) > 0 {
		item := list
		if i := bytes.IndexByte(list, ','); i >= 0 {
			item, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		if Is(Trim(item), token) {
			return true
		}
	}
	return false
}
