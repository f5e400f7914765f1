package h1

import (
	"bytes"
	"errors"
	"net/http"
	"net/textproto"
)

// The errors of an answer's head. None of them quotes the answer, which is untrusted.
var (
	errNoHTTP      = errors.New("h1: the answer is not HTTP/1")
	errStatusLine  = errors.New("h1: the status line is malformed")
	errField       = errors.New("h1: a header field is malformed")
	errLineEnd     = errors.New("h1: a line does not end with CR LF")
	errLength      = errors.New("h1: the content length is malformed or sent twice")
	errCoding      = errors.New("h1: the transfer coding is not known")
	errBothLengths = errors.New("h1: both a content length and a transfer coding")
	errSwitch      = errors.New("h1: the server switches protocols unasked")
)

// head has the parsed fields of an answer's head. Its slices are views.
type head struct {
	status   int
	length   int64 // of the body; -1: unknown
	chunked  bool
	last     bool   // the connection is not used again
	encoding []byte // value of Content-Encoding
	fields   []byte // the field lines with their ends
}

const lineEnd = "\r\n"

// headEnd is the length of the head at the front of b, 0 when its end has not arrived. The bytes before from were checked before. It
// detects early that no end will come: answers that are not HTTP/1, and lines that end with a bare line feed.
func headEnd(b []byte, from int) (int, error) {
	const version = "HTTP/1."
	if n := min(len(b), len(version)); string(b[:n]) != version[:n] {
		return 0, errNoHTTP
	}
	from = max(from-3, 0)
	if i := bytes.Index(b[from:], []byte("\r\n\r\n")); i >= 0 {
		return from + i + 4, nil
	}
	for i := from; i < len(b); i++ {
		if b[i] == '\n' && b[i-1] != '\r' { // i > 0: b begins with the version
			return 0, errLineEnd
		}
	}
	return 0, nil
}

// parseHead reads a head, including its closing empty line (RFC 9112 sections 4 and 5). Nothing is repaired: a line that begins with
// white space, a bare CR or LF, a control character, white space before a colon and two framings of one body are errors.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	line, rest, err := cutLine(b)
	if err != nil {
		return h, err
	}
	if err := h.statusLine(line); err != nil {
		return h, err
	}
	h.fields = rest[:len(rest)-len(lineEnd)]
	coded := false
	for fields := h.fields; len(fields) > 0; {
		var name, value []byte
		if name, value, fields, err = cutField(fields); err != nil {
			return h, err
		}
		switch {
		case is(name, "content-length"):
			err = h.contentLength(value)
		case is(name, "transfer-encoding"):
			if coded || b[7] == '0' || !is(value, "chunked") {
				err = errCoding
			}
			coded, h.chunked = true, true
		case is(name, "connection"):
			h.last = h.last || hasToken(value, "close")
		case is(name, "content-encoding"):
			h.encoding = value
		}
		if err != nil {
			return h, err
		}
	}
	if h.chunked && h.length >= 0 {
		return h, errBothLengths
	}
	return h, nil
}

// statusLine reads "HTTP/1.1 200 OK". The reason, and the space before it, may be missing.
func (h *head) statusLine(line []byte) error {
	if len(line) < 12 || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return errStatusLine
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return errStatusLine
		}
		h.status = h.status*10 + int(c-'0')
	}
	if h.status < 100 || !isText(line[12:]) {
		return errStatusLine
	}
	h.last = line[7] == '0'
	return nil
}

func (h *head) contentLength(value []byte) error {
	if len(value) == 0 || len(value) > 18 { // 18 digits: no overflow
		return errLength
	}
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return errLength
		}
		n = n*10 + int64(c-'0')
	}
	if h.length >= 0 && h.length != n {
		return errLength
	}
	h.length = n
	return nil
}

// bodyless reports whether an answer of that status has no body, whatever its head declares (RFC 9112 section 6.3).
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// cutLine splits a line, without its end, off the front of b.
func cutLine(b []byte) (line, rest []byte, err error) {
	n := bytes.IndexByte(b, '\n')
	if n < 1 || b[n-1] != '\r' {
		return nil, nil, errLineEnd
	}
	return b[:n-1], b[n+1:], nil
}

// cutField splits a field line off the front of b. The value has no white space around it.
func cutField(b []byte) (name, value, rest []byte, err error) {
	line, rest, err := cutLine(b)
	if err != nil {
		return nil, nil, nil, err
	}
	n := 0
	for n < len(line) && isToken(line[n]) {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' || !isText(line[n+1:]) {
		return nil, nil, nil, errField
	}
	return line[:n], trim(line[n+1:]), rest, nil
}

// isToken reports whether c may be in a field's name (RFC 9110 section 5.6.2).
func isToken(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return false
}

// isText reports whether b may be in a field's value or in a reason: no control characters except tabs.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return true
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// is compares without regard to case; want must be in lower case.
func is(b []byte, want string) bool {
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

func hasToken(list []byte, token string) bool {
	for len(list) > 0 {
		item := list
		if i := bytes.IndexByte(list, ','); i >= 0 {
			item, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		if is(trim(item), token) {
			return true
		}
	}
	return false
}

// header returns the fields as a map.
func (h *head) header() http.Header {
	out := make(http.Header)
	for fields := h.fields; len(fields) > 0; {
		name, value, rest, err := cutField(fields)
		if err != nil {
			return out // unreachable: the fields were parsed before
		}
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		out[key] = append(out[key], string(value))
		fields = rest
	}
	return out
}
