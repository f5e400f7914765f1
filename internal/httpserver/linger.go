package httpserver

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/limit"
)

// A connection that is closed with unread bytes is reset, and a reset that reaches a client which is still sending takes the answer from it. So a
// refusal that leaves a body unread closes in steps (RFC 9112, section 9.6): the answer and its end are sent, what comes is read and dropped
// until the client ends, and then the connection is closed. net/http sleeps for half a second instead, reads nothing meanwhile, and only does so
// where it has not met a deadline itself and the request has not asked for the connection's end.
const (
	lingerIdle  = 5 * time.Second  // for the next byte: a packet that is lost is sent again after one to three
	lingerGrace = 5 * time.Second  // after it, what is dropped must come at lingerRate on average
	lingerRate  = 64 << 10         // bytes per second
	lingerTotal = 30 * time.Second // in all
	lingerBytes = 128 << 20        // and so many bytes

	lingerMost      = 512 // connections of a node; what is beyond is closed at once
	lingerByAddress = 64  // and of one address
)

// connKey is where a request's context has its connection.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	t := tcpOf(c)
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, t)
}

// tcpOf is the connection below c, or nil where it is not TCP.
func tcpOf(c net.Conn) *tcpConn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // encrypted
		c = t.NetConn()
	}
	t, _ := c.(*tcpConn)
	return t
}

// tcpConn keeps what net/http looks for in a TCP connection: ReadFrom and CloseWrite.
type tcpConn struct {
	*net.TCPConn
	l       *limitListener
	address netip.Addr // zero: not counted
	release func()

	encrypted bool         // what comes is no HTTP
	heads     heads        // of what comes, else
	complete  atomic.Int64 // heads that have come
	asked     atomic.Int64 // of them, those for which the handler was asked
	unread    atomic.Bool  // an answer was given that leaves bytes unread

	mu     sync.Mutex
	closed bool // or on its way to it
}

// Read reads what net/http may see.
func (c *tcpConn) Read(p []byte) (int, error) {
	if c.encrypted {
		return c.TCPConn.Read(p)
	}
	n, err := c.heads.read(p, c.TCPConn.Read)
	c.note(&c.heads)
	return n, err
}

// note keeps what was seen of heads.
func (c *tcpConn) note(h *heads) {
	c.complete.Store(h.heads)
	if h.state == faulty {
		c.unread.Store(true)
	}
}

// refused reports whether the last answer left bytes unread: as the handler says, or because net/http has given it without the handler.
func (c *tcpConn) refused() bool { return c.unread.Load() || c.complete.Load() > c.asked.Load() }

// unframe lets all bytes through from now on, in another protocol.
func (c *tcpConn) unframe() { c.heads.state = unchecked }

// CloseWrite ends the answers. net/http calls it where it has not read all that was sent, when no more will be read.
func (c *tcpConn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.linger() {
		return nil
	}
	return c.TCPConn.CloseWrite()
}

// Close closes the connection and frees its place, at once or, where bytes are unread, when the client has had time to read the answer.
func (c *tcpConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.refused() && c.linger() {
		return nil
	}
	c.closed = true
	c.release()
	return c.TCPConn.Close()
}

// linger begins to close in steps, where there is room for one more such connection. The lock is held.
func (c *tcpConn) linger() bool {
	name := c.address.String()
	if !c.address.IsValid() {
		name = c.RemoteAddr().String() // a proxy has connections of many clients
	}
	if c.l.lingering.Take(name, 1) != limit.None {
		return false
	}
	if c.TCPConn.CloseWrite() != nil { // the client has gone
		c.l.lingering.Give(name, 1)
		return false
	}
	c.closed = true
	go func() {
		c.drop()
		_ = c.TCPConn.Close()
		c.l.lingering.Give(name, 1)
		c.release()
	}()
	return true
}

// drop reads what comes until the client ends, or has had its time.
func (c *tcpConn) drop() {
	buf := dropBuffers.Get().(*[dropBuffer]byte)
	defer dropBuffers.Put(buf)
	start, n := time.Now(), int64(0) // deadlines of sockets are by the system's clock
	for n < lingerBytes {
		by := min(max(lingerGrace, time.Duration(n)*time.Second/lingerRate), lingerTotal)
		at := time.Now().Add(lingerIdle)
		if end := start.Add(by); end.Before(at) {
			at = end
		}
		if c.SetReadDeadline(at) != nil {
			return
		}
		m, err := c.TCPConn.Read(buf[:])
		if err != nil {
			return
		}
		n += int64(m)
	}
}

const dropBuffer = 16 << 10

var dropBuffers = sync.Pool{New: func() any { return new([dropBuffer]byte) }}
