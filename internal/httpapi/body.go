package httpapi

import (
	"compress/gzip"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"weir/internal/fault"
)

// buffer is a body's memory. Buffers come in powers of two, so that few sizes serve all bodies.
type buffer struct{ b []byte }

const (
	minClass = 12 // 4 KiB
	maxClass = 23 // 8 MiB; larger ones are too rare to keep
)

var buffers [maxClass + 1]sync.Pool

func takeBuffer(size int) *buffer {
	class := max(bits.Len(uint(max(size, 1)-1)), minClass)
	if class > maxClass {
		return &buffer{make([]byte, 0, size)}
	}
	if b, ok := buffers[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, 1<<class)}
}

func (b *buffer) release() {
	class := bits.Len(uint(cap(b.b) - 1))
	if class > maxClass || class < minClass || cap(b.b) != 1<<class {
		return
	}
	b.b = b.b[:0]
	buffers[class].Put(b)
}

// checkBodySize refuses by Content-Length, before a byte of the body was read.
func (x *exchange) checkBodySize() error {
	if x.route.body != nil && x.r.ContentLength > x.route.body(&x.api.cfg) {
		return tooLarge(x.route.body(&x.api.cfg))
	}
	return nil
}

func tooLarge(limit int64) error {
	return fault.Newf(fault.PayloadTooLarge, "httpapi.readBody", "The request body is larger than %d bytes.", limit)
}

// readBody reads the whole body, unpacked. The bytes are valid until the exchange ends: their memory then serves another client,
// so nothing that outlives the call may keep a view into them. Dialects build an upstream's body as a copy.
//
// It fails with errReplayed for a request that its client has sent before under the same name, and that has been answered by then.
func (x *exchange) readBody() ([]byte, error) {
	if err := x.checkContentType(); err != nil {
		return nil, err
	}
	body, err := x.readBytes()
	if err == nil && x.named != nil {
		err = x.claim(body)
	}
	return body, err
}

// readBytes reads the whole body, unpacked, whatever its type. Its bytes are valid as those of readBody.
func (x *exchange) readBytes() ([]byte, error) {
	packed, err := x.packed()
	if err != nil {
		return nil, err
	}
	limit := x.route.body(&x.api.cfg)
	guard := x.guardBody()
	if packed {
		err = x.unpack(guard, limit)
	} else {
		err = x.fill(guard, x.r.ContentLength, limit)
	}
	if err != nil {
		return nil, guard.explain(err)
	}
	x.bodyDone = true
	guard.done()
	if x.body == nil {
		return nil, nil
	}
	return x.body.b, nil
}

// checkContentType accepts JSON, and the absence of a type: people who forget the header get the parser's opinion.
func (x *exchange) checkContentType() error {
	types := x.r.Header["Content-Type"]
	if len(types) == 0 || types[0] == "application/json" {
		return nil
	}
	media, _, _ := strings.Cut(types[0], ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json") {
		return nil
	}
	return fault.New(fault.UnsupportedMediaType, "httpapi.readBody", "The body must be JSON: send Content-Type: application/json.")
}

func (x *exchange) packed() (bool, error) {
	encodings := x.r.Header["Content-Encoding"]
	switch {
	case len(encodings) == 0:
		return false, nil
	case len(encodings) == 1 && (encodings[0] == "" || strings.EqualFold(encodings[0], "identity")):
		return false, nil
	case len(encodings) == 1 && strings.EqualFold(encodings[0], "gzip"):
		return true, nil
	}
	return false, fault.New(fault.UnsupportedMediaType, "httpapi.readBody", "The body may be encoded with gzip or not at all.")
}

// fill reads a body of a known length, or, with a negative one, to its end.
func (x *exchange) fill(r io.Reader, length, limit int64) error {
	size := length
	if size < 0 {
		size = 1 << minClass
	}
	if err := x.charge(size); err != nil {
		return err
	}
	x.body = takeBuffer(int(size))
	if length >= 0 {
		x.body.b = x.body.b[:length]
		_, err := io.ReadFull(r, x.body.b)
		return err
	}
	for {
		b := x.body.b
		n, err := r.Read(b[len(b):cap(b)])
		x.body.b = b[:len(b)+n]
		switch {
		case int64(len(x.body.b)) > limit:
			return tooLarge(limit)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(x.body.b) == cap(x.body.b):
			if err := x.grow(); err != nil {
				return err
			}
		}
	}
}

// grow doubles the buffer.
func (x *exchange) grow() error {
	old := x.body
	if err := x.charge(int64(cap(old.b))); err != nil {
		return err
	}
	x.body = takeBuffer(2 * cap(old.b))
	x.body.b = append(x.body.b, old.b...)
	old.release()
	return nil
}

// charge takes from the node's budget of bodies.
func (x *exchange) charge(n int64) error {
	if x.api.bodies.Add(n) > x.api.cfg.BodyBudget {
		x.api.bodies.Add(-n)
		return fault.New(fault.Overloaded, "httpapi.readBody", "The gateway holds too many request bodies at the moment.")
	}
	x.charged += n
	return nil
}

func (x *exchange) releaseBody() {
	if x.charged > 0 {
		x.api.bodies.Add(-x.charged)
		x.charged = 0
	}
	if x.body != nil {
		x.body.release()
		x.body = nil
	}
}

// What a packed body may be: a small one may unpack to anything below freeUnpacked, a larger one to maxRatio times its size.
const (
	maxRatio     = 100
	freeUnpacked = 1 << 20
)

var unpackers sync.Pool

func (x *exchange) unpack(guard *bodyGuard, limit int64) error {
	src := &io.LimitedReader{R: guard, N: limit + 1} // the packed form counts against the limit, too
	z, _ := unpackers.Get().(*gzip.Reader)
	var err error
	if z == nil {
		z, err = gzip.NewReader(src)
	} else {
		err = z.Reset(src)
	}
	if err != nil {
		return guard.badGzip(err)
	}
	defer unpackers.Put(z)
	err = x.fill(&ratioReader{z: z, guard: guard}, -1, limit)
	switch {
	case err == nil:
		_, err = guard.Read(make([]byte, 1)) // the end of the body proper, so that the connection can go on
		if err == io.EOF {
			return nil
		}
		return guard.badGzip(err)
	case src.N == 0:
		return tooLarge(limit)
	}
	return guard.badGzip(err)
}

// ratioReader stops a body that unpacks to much more than it is.
type ratioReader struct {
	z     *gzip.Reader
	guard *bodyGuard
	out   int64
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	r.out += int64(n)
	if r.out > freeUnpacked && r.out > maxRatio*r.guard.n {
		return n, fault.Newf(fault.PayloadTooLarge, "httpapi.unpack", "The body unpacks to more than %d times its size.", maxRatio)
	}
	return n, err
}

// bodyGuard reads the body from the connection under deadlines. Data that came with the head is read without waiting,
// so a small body costs two calls to move the deadline and no timer.
type bodyGuard struct {
	x     *exchange
	r     io.Reader
	conn  interface{ SetReadDeadline(time.Time) error }
	start time.Time
	n     int64
	ended error // what the connection said last
}

func (x *exchange) guardBody() *bodyGuard {
	g := &bodyGuard{x: x, r: x.r.Body}
	if x.r.ContentLength != 0 {
		g.conn, _ = x.w.(interface{ SetReadDeadline(time.Time) error })
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
	g.x.read = g.n
	if err != nil {
		g.ended = err
	}
	return n, err
}

// next is when the coming read must have brought something: the soonest of the three limits.
func (g *bodyGuard) next() time.Time {
	cfg := &g.x.api.cfg
	now := g.start
	if g.n > 0 {
		now = time.Now()
	}
	at := now.Add(cfg.BodyIdle)
	slow := cfg.BodyGrace
	if cfg.BodyMinRate > 0 {
		slow = max(slow, time.Duration(g.n)*time.Second/time.Duration(cfg.BodyMinRate))
	}
	for _, limit := range [...]time.Duration{slow, cfg.BodyTotal} {
		if t := g.start.Add(limit); t.Before(at) {
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
		return fault.New(fault.RequestTimeout, "httpapi.readBody", "The request body did not arrive in time.").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fault.New(fault.Invalid, "httpapi.readBody", "The request body is shorter than announced.").Because(err)
	case g.x.r.Context().Err() != nil:
		return fault.New(fault.Canceled, "httpapi.readBody", "The client closed the connection.").Because(err)
	}
	return fault.New(fault.Invalid, "httpapi.readBody", "The request body could not be read.").Because(err)
}

func (g *bodyGuard) badGzip(err error) error {
	var f *fault.Error
	if errors.As(err, &f) || g.ended != nil && g.ended != io.EOF {
		return err
	}
	return fault.New(fault.Invalid, "httpapi.unpack", "The body is not valid gzip.").Because(err)
}

const (
	restBytes = 64 << 10               // a body of up to so many bytes is cheaper to read than a connection is to make anew
	restGrace = 250 * time.Millisecond // but nobody is waited for
)

// leaveBody lets net/http read a small body that nobody wants, so that the connection of a client that comes back at once goes on. What has not
// arrived within restGrace ends it.
func (x *exchange) leaveBody() {
	if x.bodyDone || x.r.ContentLength <= 0 || x.r.ContentLength > restBytes {
		return
	}
	if c, ok := x.w.(interface{ SetReadDeadline(time.Time) error }); ok {
		x.bodyDone = c.SetReadDeadline(time.Now().Add(restGrace)) == nil
	}
}

// refuseGrace is how long a client may go on sending a body that nobody reads.
const refuseGrace = time.Second

// refuseBody makes sure that an answer given without reading the body ends the connection, also when the client sends slowly:
// net/http reads on a little after the handler, and waits for it.
func (x *exchange) refuseBody() {
	if x.bodyDone {
		return
	}
	x.bodyDone = true
	x.w.Header()["Connection"] = closeConn
	if c, ok := x.w.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = c.SetReadDeadline(time.Now().Add(refuseGrace))
	}
}

var _ http.Handler = (*API)(nil)
