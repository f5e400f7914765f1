package httpserver

import (
	"errors"
	"io"
	"os"
	"time"

	"weir/internal/fault"
)

// bodyGuard reads the body from the connection under deadlines. Data that came with the head is read without waiting,
// so a small body costs two calls to move the deadline and no timer.
type bodyGuard struct {
	body  *Body
	r     io.Reader
	conn  interface{ SetReadDeadline(time.Time) error }
	start time.Time
	n     int64
	ended error // what the connection said last
}

func (b *Body) guard() *bodyGuard {
	g := &bodyGuard{body: b, r: b.r.Body}
	if b.r.ContentLength != 0 {
		g.conn, _ = b.w.(interface{ SetReadDeadline(time.Time) error })
	}
	if g.conn != nil {
		g.start = time.Now() // deadlines of sockets are by the system's clock
	}
	return g
}

func (g *bodyGuard) Read(p []byte) (int, error) {
	if g.conn != nil {
		_ = g.conn.SetReadDeadline(g.next())
	}
	n, err := g.r.Read(p)
	g.n += int64(n)
	g.body.came = g.n
	if err != nil {
		g.ended = err
	}
	return n, err
}

// next is when the coming read must have brought something: the soonest of the three limits.
func (g *bodyGuard) next() time.Time {
	cfg := g.body.timeouts
	now := g.start
	if g.n > 0 {
		now = time.Now()
	}
	at := now.Add(cfg.BodyIdle)
	slow := cfg.BodyGrace
	if cfg.BodyMinRate > 0 {
		slow = max(slow, time.Duration(g.n)*time.Second/time.Duration(cfg.BodyMinRate))
	}
	for _, within := range [...]time.Duration{slow, cfg.BodyTotal} {
		if t := g.start.Add(within); t.Before(at) {
			at = t
		}
	}
	return at
}

// done lifts the deadline: what follows on the connection is the next request, or the client's leaving.
func (g *bodyGuard) done() {
	if g.conn != nil {
		_ = g.conn.SetReadDeadline(time.Time{})
	}
}

// explain turns an error of reading into the fault to answer with.
func (g *bodyGuard) explain(err error) error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return err
	case g.ended != nil && errors.Is(g.ended, os.ErrDeadlineExceeded):
		return fault.New(fault.RequestTimeout, "httpserver.Body", "The request body did not arrive in time.").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fault.New(fault.Invalid, "httpserver.Body", "The request body is shorter than its Content-Length.").Because(err)
	case g.body.r.Context().Err() != nil:
		return fault.New(fault.Canceled, "httpserver.Body", "The client closed the connection.").Because(err)
	}
	return fault.New(fault.Invalid, "httpserver.Body", "The request body could not be read.").Because(err)
}

func (g *bodyGuard) badGzip(err error) error {
	var f *fault.Error
	if errors.As(err, &f) || g.ended != nil && g.ended != io.EOF {
		return err
	}
	return fault.New(fault.Invalid, "httpserver.Body", "The body is not valid gzip.").Because(err)
}

// limitedBody is a body of which no more than so many bytes are read.
type limitedBody struct {
	r    io.Reader
	left int64
	most int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, TooLarge(l.most)
	}
	return n, err
}

// rest reads what follows the form's end, so that the connection can serve again: nothing, or a line's end.
func (l *limitedBody) rest() error {
	n, err := io.CopyN(io.Discard, l, maxEpilogue+1)
	switch {
	case err == io.EOF:
		return nil
	case err == nil && n > maxEpilogue:
		return fault.New(fault.Invalid, "httpserver.ReadForm", "The body has data after the end of the form.")
	}
	return err
}

const maxEpilogue = 4 << 10 // bytes after the last boundary
