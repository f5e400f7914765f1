package h1

import (
	"bytes"
	"errors"
	"net/http"
	"net/textproto"

	"weir/internal/http1"
)

// The errors of an answer's head. None of them quotes the answer, which is untrusted.
var (
	errNoHTTP      = errors.New("h1: the answer is not HTTP/1")
	errStatusLine  = errors.New("h1: the status line is malformed")
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
			return 0, http1.ErrLineEnd
		}
	}
	return 0, nil
}

// parseHead reads a head, including its closing empty line (RFC 9112 sections 4 and 5). Nothing is repaired: a line that begins with
// white space, a bare CR or LF, a control character, white space before a colon and two framings of one body are errors.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	line, rest, err := http1.CutLine(b)
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
		if name, value, fields, err = http1.CutField(fields); err != nil {
			return h, err
		}
		switch {
		case http1.Is(name, "content-length"):
			err = h.contentLength(value)
		case http1.Is(name, "transfer-encoding"):
			if coded || b[7] == '0' || !http1.Is(value, "chunked") {
				err = errCoding
			}
			coded, h.chunked = true, true
		case http1.Is(name, "connection"):
			h.last = h.last || http1.HasToken(value, "close")
		case http1.Is(name, "content-encoding"):
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
	if h.status < 100 || !http1.IsText(line[12:]) {
		return errStatusLine
	}
	h.last = line[7] == '0'
	return nil
}

func (h *head) contentLength(value []byte) error {
	n, ok := http1.Length(value)
	if !ok || h.length >= 0 && h.length != n {
		return errLength
	}
	h.length = n
	return nil
}

// bodyless reports whether an answer of that status has no body, whatever its head declares (RFC 9112 section 6.3).
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// header returns the fields as a map.
func (h *head) header() http.Header {
	out := make(http.Header)
	for fields := h.fields; len(fields) > 0; {
		name, value, rest, err := http1.CutField(fields)
		if err != nil {
			return out // unreachable: the fields were parsed before
		}
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		out[key] = append(out[key], string(value))
		fields = rest
	}
	return out
}
