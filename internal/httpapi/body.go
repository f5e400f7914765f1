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
	"weir/internal/limit"
)

// buffer is a body's memory. Buffers come in four sizes for each power of two, so that few sizes serve all bodies, and none has more than a quarter
// that its body does not need.
type buffer struct{ b []byte }

const (
	minBuffer = 1 << 10
	maxBuffer = 16 << 20 // larger ones are too rare to keep
	perDouble = 4        // sizes for each power of two
)

const classes = perDouble*14 + 1 // 14 times minBuffer doubled is maxBuffer

var (
	buffers      [classes]sync.Pool
	largeBuffers [classes]bufferPool // of large buffers
)

// bufferSize is how large the buffer is that takeBuffer gives for a size.
func bufferSize(size int64) int64 {
	if size > maxBuffer {
		return size
	}
	_, size = classOf(size)
	return size
}

// classOf is the pool of buffers for a size up to maxBuffer, and their size.
func classOf(size int64) (class int, full int64) {
	size = max(size, minBuffer)
	double := bits.Len64(uint64(size)) - bits.Len64(minBuffer) // so often minBuffer is doubled, and then some quarters of that are added
	step := int64(minBuffer/perDouble) << double
	quarters := (size - minBuffer<<double + step - 1) / step
	return perDouble*double + int(quarters), minBuffer<<double + quarters*step
}

func takeBuffer(size int) *buffer {
	if size > maxBuffer {
		return newBuffer(int64(size))
	}
	class, full := classOf(int64(size))
	if full >= largeBuffer {
		if b := largeBuffers[class].take(); b != nil {
			return b
		}
	} else if b, ok := buffers[class].Get().(*buffer); ok {
		return b
	}
	return newBuffer(full)
}

func newBuffer(size int64) *buffer {
	if size >= largeBuffer {
		largeBytes.Add(size)
	}
	return &buffer{make([]byte, 0, size)}
}

// discard leaves the buffer to the collector.
func (b *buffer) discard() {
	if size := int64(cap(b.b)); size >= largeBuffer {
		largeBytes.Add(-size)
	}
}

func (b *buffer) release() {
	size := int64(cap(b.b))
	if size > maxBuffer {
		b.discard()
		return
	}
	class, _ := classOf(size)
	b.b = b.b[:0]
	if size >= largeBuffer {
		largeBuffers[class].put(b)
		return
	}
	buffers[class].Put(b)
}

// checkBodySize refuses by Content-Length, before a byte of the body was read.
func (x *request) checkBodySize() error {
	if x.route.body != nil && x.r.ContentLength > x.route.body(&x.api.cfg) {
		return tooLarge(x.route.body(&x.api.cfg))
	}
	return nil
}

func tooLarge(most int64) error {
	return fault.Newf(fault.PayloadTooLarge, "httpapi.readBody", "The request body is larger than %d bytes.", most)
}

// readBody reads the whole body, unpacked. The bytes are valid until the request ends: their memory then serves another client,
// so nothing that outlives the call may keep a view into them. Dialects build an upstream's body as a copy.
//
// It fails with errReplayed for a request that its client has sent before under the same name, and that has been answered by then.
func (x *request) readBody() ([]byte, error) {
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
func (x *request) readBytes() ([]byte, error) {
	packed, err := x.packed()
	if err != nil {
		return nil, err
	}
	most := x.route.body(&x.api.cfg)
	guard := x.guardBody()
	if packed {
		err = x.unpack(guard, most)
	} else {
		err = x.fill(guard, x.r.ContentLength, most)
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
func (x *request) checkContentType() error {
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

func (x *request) packed() (bool, error) {
	encodings := x.r.Header["Content-Encoding"]
	switch {
	case len(encodings) == 0:
		return false, nil
	case len(encodings) == 1 && (encodings[0] == "" || strings.EqualFold(encodings[0], "identity")):
		return false, nil
	case len(encodings) == 1 && strings.EqualFold(encodings[0], "gzip"):
		return true, nil
	}
	return false, fault.New(fault.UnsupportedMediaType, "httpapi.readBody", "Content-Encoding must be gzip or missing.")
}

// Bodies grow as their bytes arrive, whatever their clients announce: a buffer is never more than growth times what has come, or firstBuffer. Each
// growth copies what has come, so there are few: two for a body of 16 MiB.
const (
	firstBuffer = 16 << 10 // a body of up to so many bytes has one buffer, and is charged for once
	growth      = 32
	leastCharge = 4 << 10
	blindBuffer = 4 << 10 // the first of a body of unknown length, which doubles
)

// fill reads a body of a known length, or, with a negative one, to its end.
func (x *request) fill(r io.Reader, length, most int64) error {
	size := int64(blindBuffer)
	if length >= 0 {
		size = min(length, firstBuffer)
	}
	if err := x.startBuffer(size); err != nil {
		return err
	}
	for {
		b := x.body.b
		if length >= 0 && int64(len(b)) == length {
			return nil
		}
		if len(b) == cap(b) {
			if err := x.grow(length, most); err != nil {
				return err
			}
			b = x.body.b
		}
		free := b[len(b):cap(b)]
		if length >= 0 {
			free = free[:min(int64(len(free)), length-int64(len(b)))]
		}
		n, err := r.Read(free)
		x.body.b = b[:len(b)+n]
		switch {
		case length < 0 && int64(len(x.body.b)) > most:
			return tooLarge(most)
		case err == io.EOF && length >= 0 && int64(len(x.body.b)) < length:
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// startBuffer takes the first buffer of a body, charged for.
func (x *request) startBuffer(size int64) error {
	size = bufferSize(size)
	if err := x.charge(chargeOf(size)); err != nil {
		return err
	}
	x.body = takeBuffer(int(size))
	return nil
}

// chargeOf is what a buffer of a body is charged for. A small one costs as much as a larger one: the rest of its call takes more.
func chargeOf(size int64) int64 { return max(size, leastCharge) }

// grow makes room for more of the body: at once all of it, when a part has come that deserves it. Without a length there is room for one byte
// more than the limit, which is the one that is too many.
func (x *request) grow(length, most int64) error {
	old := x.body
	size := 2 * int64(cap(old.b))
	if length >= 0 {
		size = bufferSize(min(length, growth*int64(cap(old.b))))
	} else if size > most {
		size = max(bufferSize(most+1), int64(cap(old.b))+1)
	}
	if err := x.charge(chargeOf(size) - chargeOf(int64(cap(old.b)))); err != nil {
		return err
	}
	x.body = takeBuffer(int(size))
	x.body.b = append(x.body.b, old.b...)
	old.release()
	return nil
}

// charge takes memory for the request out of what its user, and the node, has for bytes of clients and providers.
func (x *request) charge(n int64) error {
	return x.api.quotas.Short(x.memory.Take(n), "httpapi.charge")
}

// lent are the buffers of a request for answers that are passed on as bytes, charged for. It implements completion.Buffers.
type lent struct {
	memory *limit.Tab

	mu  sync.Mutex
	all []*buffer
}

// Lend takes a buffer until the request ends. What a provider sends is paid for: it counts, and is not refused.
func (l *lent) Lend(n int) []byte {
	b := takeBuffer(n)
	l.memory.Force(int64(cap(b.b)))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, b)
	return b.b
}

// Return ends a loan early.
func (l *lent) Return(b []byte) {
	if cap(b) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.all {
		if &one.b[:1][0] == &b[:1][0] {
			l.all[i] = l.all[len(l.all)-1]
			l.all = l.all[:len(l.all)-1]
			l.memory.Give(int64(cap(one.b)))
			one.release()
			return
		}
	}
}

// forget leaves all buffers to the collector: the HTTP/2 server may be reading one when it reports that its client is gone.
func (l *lent) forget() {
	for _, b := range l.all {
		b.discard()
	}
	l.all = nil
}

// release ends all loans. The charge ends with the tab.
func (l *lent) release() {
	for _, b := range l.all {
		b.release()
	}
	l.all = nil
}

func (x *request) releaseBody() {
	x.memory.Close()
	x.lent.release()
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

func (x *request) unpack(guard *bodyGuard, most int64) error {
	src := &io.LimitedReader{R: guard, N: most + 1} // the packed form counts against the limit, too
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
	err = x.fill(&ratioReader{z: z, guard: guard}, -1, most)
	switch {
	case err == nil:
		_, err = guard.Read(make([]byte, 1)) // the end of the body proper, so that the connection can go on
		if err == io.EOF {
			return nil
		}
		return guard.badGzip(err)
	case src.N == 0:
		return tooLarge(most)
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
		return n, fault.Newf(fault.PayloadTooLarge, "httpapi.unpack", "The gzip body decompresses to more than %d times its size. Send it uncompressed.", maxRatio)
	}
	return n, err
}

// bodyGuard reads the body from the connection under deadlines. Data that came with the head is read without waiting,
// so a small body costs two calls to move the deadline and no timer.
type bodyGuard struct {
	x     *request
	r     io.Reader
	conn  interface{ SetReadDeadline(time.Time) error }
	start time.Time
	n     int64
	ended error // what the connection said last
}

func (x *request) guardBody() *bodyGuard {
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
		return fault.New(fault.RequestTimeout, "httpapi.readBody", "The request body did not arrive in time.").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fault.New(fault.Invalid, "httpapi.readBody", "The request body is shorter than its Content-Length.").Because(err)
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
	restBytes = 64 << 10               // reading a body of up to so many bytes is cheaper than a new connection
	restGrace = 250 * time.Millisecond // and no longer
)

// leaveBody lets net/http read a small body that is not needed, so that a client can reuse its connection at once. What has not
// arrived within restGrace ends it.
func (x *request) leaveBody() {
	if x.bodyDone || x.r.ContentLength <= 0 || x.r.ContentLength > restBytes {
		return
	}
	x.bodyDone = x.stopReading(restGrace)
}

// refuseGrace is how long net/http may look for the end of an unread body, before the connection lingers.
const refuseGrace = 100 * time.Millisecond

// refuseBody makes sure that an answer given without reading the body ends the connection, also when the client sends slowly: net/http reads on a
// little after the handler, and waits for it. The connection lingers then, so that the answer is read.
func (x *request) refuseBody() {
	if x.bodyDone {
		return
	}
	x.bodyDone = true
	x.w.Header()["Connection"] = closeConn
	x.stopReading(refuseGrace)
}

// stopReading gives net/http until then to find the end of the body, and has the connection linger if it is closed after the answer.
func (x *request) stopReading(within time.Duration) bool {
	if c, ok := x.r.Context().Value(connKey{}).(*tcpConn); ok {
		c.unread.Store(true)
	}
	c, ok := x.w.(interface{ SetReadDeadline(time.Time) error })
	return ok && c.SetReadDeadline(time.Now().Add(within)) == nil
}

var _ http.Handler = (*API)(nil)
