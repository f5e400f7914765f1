package httpserver

import (
	"net/http"
	"time"
)

// Answer writes the answer to one request. It moves the deadline for the client's reading ahead as it writes, counts what was sent, and does not
// let an unread body hold the connection. It is a http.ResponseWriter.
type Answer struct {
	to     http.ResponseWriter
	body   *Body
	now    func() time.Time
	stall  time.Duration // see Config.WriteStall
	moved  time.Time     // when the deadline was moved last
	status int
	sent   int64
}

// Open makes the answer to a request that began at a time, and whose body is b. The server has set its deadline for writing with the request.
func (a *Answer) Open(to http.ResponseWriter, b *Body, stall time.Duration, at time.Time, now func() time.Time) {
	*a = Answer{to: to, body: b, now: now, stall: stall, moved: at}
}

// Status is that of the head, 0 until it is written.
func (a *Answer) Status() int { return a.status }

// Sent is how many bytes of the body were written.
func (a *Answer) Sent() int64 { return a.sent }

// Header returns the fields of the head, until it is written.
func (a *Answer) Header() http.Header { return a.to.Header() }

// WriteHeader writes the head. A body that no handler wanted is refused.
func (a *Answer) WriteHeader(status int) {
	a.extend()
	a.body.Refuse()
	a.status = status
	a.to.WriteHeader(status)
}

// Write writes a piece of the body, whose head was written.
func (a *Answer) Write(piece []byte) (int, error) {
	a.extend()
	n, err := a.to.Write(piece)
	a.sent += int64(n)
	return n, err
}

// Flush sends what the server has kept.
func (a *Answer) Flush() error {
	a.extend()
	if f, ok := a.to.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	if f, ok := a.to.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

// extend moves the deadline for the client's reading ahead, but not for every frame.
func (a *Answer) extend() {
	now := a.now()
	if now.Sub(a.moved) <= a.stall/8 {
		return
	}
	a.moved = now
	if d, ok := a.to.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(a.stall)) // deadlines of sockets are by the system's clock
	}
}
