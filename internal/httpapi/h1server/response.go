package h1server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/http1"
)

// response writes an answer. A whole answer, with a length, is one write of head and body. Others are sent in chunks, which wait for Flush or
// until there are some kilobytes of them.
type response struct {
	c      *conn // nil once the request has ended
	t      *turn
	header http.Header
	status int   // 0 until WriteHeader
	length int64 // declared; -1: none
	sent   int64 // bytes of the body
	last   bool  // the connection ends after it
	framed bool  // the head is complete
	mode   mode
	err    error
}

// mode is how the end of a body shows.
type mode uint8

const (
	none     mode = iota // there is no body
	counted              // by its length
	inChunks             // by the last chunk
	untilEnd             // by the connection's end
)

var errOver = errors.New("h1server: the request has ended")

// Header returns the fields of the answer, which WriteHeader sends.
func (w *response) Header() http.Header { return w.header }

// WriteHeader begins the answer. Only its first call counts.
func (w *response) WriteHeader(status int) {
	if w.c == nil || w.status != 0 || status < 200 || status > 999 {
		return // interim answers are not for handlers
	}
	w.status = status
	if !w.last && !w.t.body.done {
		if w.c.readBy.IsZero() {
			w.c.readBy = time.Now().Add(dropGrace)
		}
		w.last = !w.t.body.discard()
	}
	w.last = w.last || w.c.s.ending.Load()
	out := w.c.output()
	out = append(out, "HTTP/1."...)
	out = append(out, '0'+w.t.minor, ' ')
	out = strconv.AppendInt(out, int64(status), 10)
	out = append(out, ' ')
	if text := http.StatusText(status); text != "" {
		out = append(out, text...)
	} else {
		out = strconv.AppendInt(append(out, "status code "...), int64(status), 10)
	}
	out = append(out, "\r\nDate: "...)
	out = append(out, date()...)
	out = append(out, "\r\n"...)
	connection := false
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			if n, ok := lengthOf(values); ok {
				w.length = n
			}
			continue
		case "Connection":
			connection = true
			w.last = w.last || hasClose(values)
			continue
		case "Transfer-Encoding", "Date":
			continue
		}
		for _, v := range values {
			out = appendField(out, name, v)
		}
	}
	switch {
	case w.last:
		out = append(out, "Connection: close\r\n"...)
	case connection || w.t.minor == 0:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	w.c.out = out
	w.frame()
}

// frame chooses how the body's end shows, where that is known with the head alone.
func (w *response) frame() {
	switch {
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		w.complete(none)
	case w.length >= 0:
		w.complete(counted)
	case w.t.head:
		w.complete(none)
	}
}

// complete ends the head.
func (w *response) complete(m mode) {
	w.framed, w.mode = true, m
	switch {
	case m == counted:
		w.c.out = append(w.c.out, "Content-Length: "...)
		w.c.out = strconv.AppendInt(w.c.out, w.length, 10)
		w.c.out = append(w.c.out, "\r\n"...)
		if w.t.head {
			w.mode = none
		}
	case m == inChunks:
		w.c.out = append(w.c.out, "Transfer-Encoding: chunked\r\n"...)
	}
	w.c.out = append(w.c.out, "\r\n"...)
}

// open completes the head of an answer whose length is unknown.
func (w *response) open() {
	if w.framed {
		return
	}
	if w.t.minor == 1 {
		w.complete(inChunks)
		return
	}
	if !w.last { // the head says otherwise, but an HTTP/1.0 client has no other way to find the end
		w.last = true
	}
	w.complete(untilEnd)
}

const (
	largeWrite = 4 << 10  // is not copied
	mostKept   = 12 << 10 // of small writes, until they are sent without Flush: a burst of frames is then two or three writes
)

// Write sends a part of the body, at the latest with Flush or at the end.
func (w *response) Write(p []byte) (int, error) {
	if w.c == nil {
		return 0, errOver
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.err != nil {
		return 0, w.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	w.open()
	c := w.c
	switch w.mode {
	case none:
		if w.t.head {
			return len(p), nil
		}
		return 0, http.ErrBodyNotAllowed
	case counted:
		if w.sent+int64(len(p)) > w.length {
			return 0, http.ErrContentLength
		}
	}
	w.sent += int64(len(p))
	c.out = c.output()
	if w.mode == inChunks {
		c.out = strconv.AppendUint(c.out, uint64(len(p)), 16)
		c.out = append(c.out, "\r\n"...)
	}
	switch {
	case len(p) >= largeWrite && w.mode == inChunks:
		w.err = c.flush(p, lineEnd)
	case len(p) >= largeWrite:
		w.err = c.flush(p)
	default:
		c.out = append(c.out, p...)
		if w.mode == inChunks {
			c.out = append(c.out, "\r\n"...)
		}
		if len(c.out) >= mostKept {
			w.err = c.flush()
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

var lineEnd = []byte("\r\n")

// FlushError sends what was written.
func (w *response) FlushError() error {
	if w.c == nil {
		return errOver
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.err != nil {
		return w.err
	}
	w.open()
	w.err = w.c.flush()
	return w.err
}

// Flush sends what was written.
func (w *response) Flush() { _ = w.FlushError() }

// SetReadDeadline sets until when reads of the body wait.
func (w *response) SetReadDeadline(t time.Time) error {
	if w.c == nil {
		return errOver
	}
	w.c.readBy = t
	return nil
}

// SetWriteDeadline sets until when writes wait.
func (w *response) SetWriteDeadline(t time.Time) error {
	if w.c == nil {
		return errOver
	}
	w.c.writeBy = t
	return nil
}

// finish ends the answer, and reports whether another request may follow on the connection.
func (w *response) finish() bool {
	if w.status == 0 {
		w.length = 0
		w.header["Content-Length"] = []string{"0"}
		w.WriteHeader(http.StatusOK)
	}
	if w.err != nil {
		return false
	}
	if !w.framed { // no byte of a body was written
		w.length = 0
		w.complete(counted)
	}
	if w.mode == inChunks {
		w.c.out = append(w.c.output(), "0\r\n\r\n"...)
	}
	if w.c.flush() != nil {
		return false
	}
	return !w.last && (w.mode != counted || w.sent == w.length) && w.t.body.discard()
}

// appendField appends a field. A value cannot end its line; a name that is none is left out.
func appendField(out []byte, name, value string) []byte {
	for i := range len(name) {
		if !http1.IsToken(name[i]) {
			return out
		}
	}
	if name == "" {
		return out
	}
	out = append(out, name...)
	out = append(out, ": "...)
	at := len(out)
	out = append(out, value...)
	for i := at; i < len(out); i++ {
		if out[i] == '\r' || out[i] == '\n' {
			out[i] = ' '
		}
	}
	return append(out, "\r\n"...)
}

func lengthOf(values []string) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	return n, err == nil && n >= 0
}

func hasClose(values []string) bool {
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(item), "close") {
				return true
			}
		}
	}
	return false
}

// second is the text of one second.
type second struct {
	at   int64
	text []byte
}

var today atomic.Pointer[second]

// date is the time in the form of the Date field, made once in a second.
func date() []byte {
	now := time.Now()
	at := now.Unix()
	if s := today.Load(); s != nil && s.at == at {
		return s.text
	}
	s := &second{at, now.UTC().AppendFormat(nil, http.TimeFormat)}
	today.Store(s)
	return s.text
}

// insertClose adds to a finished answer that the connection ends after it.
func insertClose(answer []byte) []byte {
	at := indexLF(answer) + 1
	answer = append(answer, "Connection: close\r\n"...)
	copy(answer[at+len("Connection: close\r\n"):], answer[at:])
	copy(answer[at:], "Connection: close\r\n")
	return answer
}
