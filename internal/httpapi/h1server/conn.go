package h1server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one connection. Its goroutine reads a request, runs the handler and goes on. While a request takes long, the client is watched: it may
// leave.
type conn struct {
	s     *Server
	rwc   net.Conn
	wait  *readiness // nil where the connection is no socket of the system
	since time.Time
	state atomic.Int32

	ctx    context.Context // of all its requests; ends when the client has gone
	cancel context.CancelFunc

	in       *buffer // bytes that have arrived; nil while there are none
	large    []byte  // in place of in, for a head that does not fit
	from, to int     // what of them is not used yet

	out  []byte  // of the answer, not sent yet
	lent *[]byte // where out is from
	vec  net.Buffers

	head    parsed
	header  http.Header // of requests, cleared after each
	answer  http.Header // of answers, likewise
	address string

	// Deadlines are kept here and given to the system before a wait: most reads and writes do not wait.
	readBy, readSet   time.Time
	writeBy, writeSet time.Time

	part     uint32       // of the server's begun
	turn     atomic.Int32 // grows at the begin and at the end of each request: odd while one is under way
	bodyRead atomic.Bool  // what arrives now belongs to the next request
	mu       sync.Mutex
	watched  bool          // by the server's clients, under number
	number   int32         // of the socket
	watching chan struct{} // else: closed when the watch has ended; nil when there is none
}

// turn is one request and its answer, in one piece of memory. It is not used again: what keeps a request beyond its end does no harm.
type turn struct {
	url    url.URL
	minor  byte // of the version
	head   bool // the method is HEAD
	body   body
	res    response
	values [20]string
}

const bufferSize = 4 << 10

type buffer [bufferSize]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func takeBuffer() *buffer { return buffers.Get().(*buffer) }

func giveBuffer(b *buffer) { buffers.Put(b) }

// outs are the buffers of answers. A large one is not kept.
var outs = sync.Pool{New: func() any { b := make([]byte, 0, bufferSize); return &b }}

const keepOut = 16 << 10

func newConn(s *Server, rwc net.Conn) *conn {
	c := &conn{s: s, rwc: rwc, since: time.Now(), header: http.Header{}, answer: http.Header{}, part: s.parts.Add(1) % uint32(len(s.begun))}
	c.wait = readinessOf(rwc)
	return c
}

func (c *conn) serve() {
	defer c.s.forget(c)
	c.address = c.rwc.RemoteAddr().String()
	ctx := c.s.BaseContext
	if ctx == nil {
		ctx = context.Background()
	}
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.rwc.LocalAddr()) // as the standard server
	if c.s.ConnContext != nil {
		ctx = c.s.ConnContext(ctx, c.rwc)
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	defer c.cancel()
	defer c.release()
	err := c.requests()
	var r *refused
	if errors.As(err, &r) {
		c.refuse(r)
	}
	if r != nil || c.from < c.to {
		if half, ok := c.rwc.(interface{ CloseWrite() error }); ok { // bytes may be unread: the client should see the answer
			_ = half.CloseWrite()
		}
	}
	_ = c.rwc.Close()
}

// requests serves one request after another. It returns why there is no next one, nil after the last.
func (c *conn) requests() error {
	for {
		if err := c.await(); err != nil {
			return err
		}
		n, err := c.readHead()
		if err != nil {
			return err
		}
		head := c.bytes()[:n]
		if err := c.head.parse(head); err != nil {
			return err
		}
		more, err := c.one(head)
		if err != nil || !more {
			return err
		}
		if c.s.ending.Load() {
			return nil
		}
		c.state.Store(idle)
	}
}

// await waits for the first byte of a request.
func (c *conn) await() error {
	if c.from == c.to {
		c.dropInput()
		if d := c.s.IdleTimeout; d > 0 {
			if c.state.Load() == fresh && c.s.ReadHeaderTimeout > 0 {
				d = c.s.ReadHeaderTimeout
			}
			c.readBy = time.Now().Add(d)
			if early := c.readBy.Sub(c.readSet); early > 0 && early < d/8 { // soon enough: no need to tell the system
				c.readBy = c.readSet
			}
		} else {
			c.readBy = time.Time{}
		}
		if err := c.fill(); err != nil {
			return errEnd
		}
	}
	if was := c.state.Load(); was == closed || !c.state.CompareAndSwap(was, busy) {
		return errEnd
	}
	return nil
}

// readHead reads until a whole head has arrived, and returns its length. One empty line before it is skipped (RFC 9112 section 2.2).
func (c *conn) readHead() (int, error) {
	seen, timed, passed := 0, false, false
	for {
		b := c.bytes()
		if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' && seen == 0 && !passed {
			c.from += 2
			passed = true
			continue
		}
		if len(b) > 0 && !(len(b) == 1 && b[0] == '\r') {
			n, err := headEnd(b, seen)
			if n > 0 && n <= c.s.MaxHeaderBytes+headSlack || err != nil {
				return n, err
			}
			if len(b) > c.s.MaxHeaderBytes+headSlack {
				return 0, errLarge
			}
			seen = len(b)
		}
		if !timed {
			timed = true
			c.readBy = time.Time{}
			if d := c.s.ReadHeaderTimeout; d > 0 {
				c.readBy = time.Now().Add(d)
			}
		}
		if err := c.fill(); err != nil {
			return 0, errEnd
		}
	}
}

// headSlack is how much a head may be larger than configured, as in net/http.
const headSlack = 4 << 10

// one serves the request whose head was parsed, and reports whether another may follow.
func (c *conn) one(head []byte) (more bool, err error) {
	if c.s.Gate != nil {
		if refusal := c.s.Gate(c.rwc, &c.head.Head); refusal != nil {
			return c.turnAway(refusal, len(head))
		}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	t, r, err := c.request(ctx, head)
	if err != nil {
		return false, err
	}
	c.skip(len(head))
	c.readBy = time.Time{}
	c.limitWrite()
	c.begin(t.body.done)
	whole := c.run(&t.res, r)
	c.end()
	more = whole && t.res.finish()
	t.body.c, t.res.c = nil, nil
	return more, nil
}

// request makes the request of a head. It is a function of its own because a request is large, and this one is not part of the stack that waits
// with a stream.
//
//go:noinline
func (c *conn) request(ctx context.Context, head []byte) (*turn, *http.Request, error) {
	t := &turn{minor: c.head.minor - '0', head: string(c.head.Method) == http.MethodHead}
	clear(c.header)
	clear(c.answer)
	var r http.Request
	if err := t.request(&r, &c.head, head, c.header); err != nil {
		return nil, nil, err
	}
	r.RemoteAddr = c.address
	t.body = body{c: c, left: r.ContentLength, chunked: c.head.chunked, done: r.ContentLength == 0,
		expect: c.head.expect != nil && t.minor == 1 && r.ContentLength != 0}
	r.Body = &t.body
	if t.body.done {
		r.Body = http.NoBody
	}
	t.res = response{c: c, t: t, header: c.answer, length: -1, last: c.head.Last}
	return t, r.WithContext(ctx), nil
}

// limitWrite sets the deadline for the answer.
func (c *conn) limitWrite() {
	c.writeBy = time.Time{}
	if c.s.WriteTimeout > 0 {
		c.writeBy = time.Now().Add(c.s.WriteTimeout)
	}
}

// run calls the handler, and reports whether it has returned by itself.
func (c *conn) run(w *response, r *http.Request) (returned bool) {
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			c.s.Log.Error("panic in a handler", "value", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	c.s.Handler.ServeHTTP(w, r)
	return true
}

// turnAway answers a request for which the gate has a refusal. A small body is read and dropped, because a new connection would cost both
// sides more.
func (c *conn) turnAway(refusal Refusal, head int) (more bool, err error) {
	c.skip(head)
	b := body{c: c, left: max(c.head.length, 0), chunked: c.head.chunked, done: c.head.length <= 0 && !c.head.chunked, expect: c.head.expect != nil}
	more = !c.head.Last && !c.s.ending.Load() && !b.expect && !b.chunked && b.left <= discardable
	c.out = refusal.Append(c.output())
	if !more {
		c.out = insertClose(c.out)
	}
	c.limitWrite()
	if c.flush() != nil {
		return false, nil
	}
	if !b.done {
		c.readBy = time.Now().Add(dropGrace)
	}
	if b.discard() {
		return more, nil
	}
	if half, ok := c.rwc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	return false, nil
}

// dropGrace is how long the body of a refused request may take.
const dropGrace = 250 * time.Millisecond

// refuse answers a request that is not valid.
func (c *conn) refuse(r *refused) {
	text := fmt.Sprintf("%d %s: %s", r.status, http.StatusText(r.status), r.why)
	c.out = fmt.Appendf(c.output(), "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		r.status, http.StatusText(r.status), len(text), text)
	c.writeBy = time.Now().Add(5 * time.Second)
	_ = c.flush()
}

func (c *conn) output() []byte {
	if c.out == nil {
		c.lent = outs.Get().(*[]byte)
		c.out = *c.lent
	}
	return c.out
}

// bytes are those that have arrived and are not used.
func (c *conn) bytes() []byte {
	switch {
	case c.large != nil:
		return c.large[c.from:c.to]
	case c.in != nil:
		return c.in[c.from:c.to]
	}
	return nil
}

func (c *conn) skip(n int) {
	if c.from += n; c.from == c.to {
		c.dropInput()
	}
}

// dropInput gives an empty buffer back.
func (c *conn) dropInput() {
	if c.in != nil {
		giveBuffer(c.in)
	}
	c.in, c.large, c.from, c.to = nil, nil, 0, 0
}

// buffered returns bytes that have arrived, and waits for some if there are none.
func (c *conn) buffered() ([]byte, error) {
	if c.from == c.to {
		c.dropInput()
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	return c.bytes(), nil
}

// read reads what has arrived, or from the connection where nothing has.
func (c *conn) read(p []byte) (int, error) {
	if c.from < c.to {
		n := copy(p, c.bytes())
		c.skip(n)
		return n, nil
	}
	c.setReadDeadline()
	return c.rwc.Read(p)
}

// fill reads more into the buffer, behind what is there.
func (c *conn) fill() error {
	c.setReadDeadline()
	if c.in == nil && c.large == nil {
		if c.wait == nil {
			c.in = takeBuffer()
			n, err := c.rwc.Read(c.in[:])
			c.from, c.to = 0, n
			return some(n, err)
		}
		b, n, err := c.wait.read() // a buffer is taken when something has arrived
		c.in, c.from, c.to = b, 0, n
		return some(n, err)
	}
	if c.large == nil && c.to == bufferSize {
		if c.from > 0 {
			c.to = copy(c.in[:], c.in[c.from:c.to])
			c.from = 0
		} else {
			c.large = append(make([]byte, 0, 4*bufferSize), c.in[:]...)
			giveBuffer(c.in)
			c.in = nil
		}
	}
	room := c.large
	if room == nil {
		room = c.in[:]
	} else {
		if c.to == cap(room) {
			room = append(make([]byte, 0, 2*cap(room)), room[:c.to]...)
		}
		room = room[:cap(room)]
		c.large = room
	}
	n, err := c.rwc.Read(room[c.to:])
	c.to += n
	return some(n, err)
}

func some(n int, err error) error {
	switch {
	case n > 0:
		return nil
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// setReadDeadline gives the system the deadline of reads, if it has another one. It may have one that is a little earlier.
func (c *conn) setReadDeadline() {
	if c.readBy.Equal(c.readSet) {
		return
	}
	c.readSet = c.readBy
	_ = c.rwc.SetReadDeadline(c.readBy)
}

// setWriteDeadline gives the system the deadline of writes, unless that which it has is only a little earlier.
func (c *conn) setWriteDeadline() {
	if c.writeBy.Equal(c.writeSet) {
		return
	}
	if early := c.writeBy.Sub(c.writeSet); !c.writeBy.IsZero() && early > 0 && early < c.s.WriteTimeout/8 {
		return
	}
	c.writeSet = c.writeBy
	_ = c.rwc.SetWriteDeadline(c.writeBy)
}

// flush sends what the answer has, and body behind it.
func (c *conn) flush(body ...[]byte) (err error) {
	if len(c.out) == 0 && len(body) == 0 {
		return nil
	}
	c.setWriteDeadline()
	if len(body) == 0 {
		_, err = c.rwc.Write(c.out)
	} else {
		c.vec = append(append(c.vec[:0], c.out), body...)
		all := c.vec
		_, err = c.vec.WriteTo(c.rwc)
		clear(all)
		c.vec = all[:0]
	}
	c.giveOutput()
	return err
}

func (c *conn) giveOutput() {
	if cap(c.out) == 0 {
		return
	}
	if cap(c.out) <= keepOut {
		*c.lent = c.out[:0]
		outs.Put(c.lent)
	}
	c.out, c.lent = nil, nil
}

// release gives back what the connection has.
func (c *conn) release() {
	c.dropInput()
	c.giveOutput()
}

var continuing = []byte("HTTP/1.1 100 Continue\r\n\r\n")

func (c *conn) sayContinue() error {
	c.setWriteDeadline()
	_, err := c.rwc.Write(continuing)
	return err
}

func (c *conn) begin(bodyRead bool) {
	c.bodyRead.Store(bodyRead)
	c.list(c.turn.Add(1))
	if c.s.asleep.Load() {
		select {
		case c.s.wake <- struct{}{}:
		default:
		}
	}
}

// list has the watch look at the request under way, after a tick at the earliest.
func (c *conn) list(turn int32) {
	b := &c.s.begun[c.part]
	b.mu.Lock()
	b.list = append(b.list, underway{c, turn})
	b.mu.Unlock()
}

// watch begins to watch whether the client closes the connection, which ends the requests' context.
func (c *conn) watch(turn int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn.Load() != turn || c.watched || c.watching != nil || c.wait == nil {
		return
	}
	if !c.bodyRead.Load() {
		c.list(turn)
		return
	}
	if c.from < c.to { // the next request is here: its client is, too
		return
	}
	if c.watched = c.s.clients.begin(c, turn); c.watched {
		return
	}
	done := make(chan struct{})
	c.watching = done
	go func() {
		defer close(done)
		if c.wait.ended() {
			c.cancel()
		}
	}()
}

// noticed looks at the client of a request after something has happened to its socket. It does not wait.
func (c *conn) noticed(turn int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn.Load() != turn || !c.watched {
		return
	}
	switch arrived, gone := c.wait.state(); {
	case gone:
		c.cancel()
	case !arrived:
		c.s.clients.again(c)
	}
}

var longAgo = time.Unix(1, 0)

// end ends the watch, so that the connection can be read again.
func (c *conn) end() {
	c.mu.Lock()
	c.turn.Add(1)
	done := c.watching
	c.watching = nil
	if c.watched {
		c.watched = false
		c.s.clients.end(c)
	}
	c.mu.Unlock()
	if done == nil {
		return
	}
	_ = c.rwc.SetReadDeadline(longAgo)
	c.readSet = longAgo
	<-done
}
