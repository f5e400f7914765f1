package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

var errNothing = errors.New("h1: nothing has arrived")

// conn is one connection. While it is idle it is not read; whether it is closed is checked when it is used again.
type conn struct {
	net.Conn // the connection to write to: raw, or TLS over raw, or over TLS to a proxy
	raw      net.Conn
	sock     *socket // nil: raw cannot be checked without reading
	secure   bool
	one      [1]byte // buffer for that check

	served    int // number of requests
	idleSince time.Time
	dialled   time.Time
	peer      netip.Addr // the zero value unless it was dialled by address
}

// dial opens a connection. Errors of the TCP part are *net.OpError with Op "dial".
func (h *Host) dial(ctx context.Context) (*conn, error) {
	over, peer, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	raw := bottom(over)
	c := &conn{Conn: over, raw: raw, sock: socketOf(raw), secure: raw != over, dialled: h.cfg.Now(), peer: peer}
	if h.tls == nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Handshake)
	defer cancel()
	secure := tls.Client(over, h.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	c.Conn, c.secure = secure, true
	return c, nil
}

// bottom is the connection below all TLS: of one to a proxy with TLS, too.
func bottom(c net.Conn) net.Conn {
	for {
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = over.NetConn()
	}
}

func (h *Host) connect(ctx context.Context) (net.Conn, netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Connect)
	defer cancel()
	if h.cfg.Dial != nil {
		raw, err := h.cfg.Dial(ctx, net.JoinHostPort(h.name, h.port))
		return raw, netip.Addr{}, err
	}
	return h.cfg.Names.dial(ctx, h.name, h.port)
}

// close closes the connection without a TLS close message, which could block on a full buffer.
func (c *conn) close() { _ = c.raw.Close() }

var longAgo = time.Unix(1, 0)

// quiet reports whether an idle connection can be used again: it is open, and no unexpected data has arrived.
func (c *conn) quiet() bool {
	if c.secure {
		// After a passed deadline, TLS returns data that it already has and does not read the socket.
		if c.raw.SetReadDeadline(longAgo) != nil {
			return false
		}
		_, err := c.Conn.Read(c.one[:])
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.raw.SetReadDeadline(time.Time{}) != nil {
			return false
		}
	}
	if c.sock == nil {
		return true
	}
	_, err := c.sock.read(c.one[:], true)
	return err == errNothing
}

// readNow reads data that has arrived, or returns errNothing.
func (c *conn) readNow(p []byte) (int, error) {
	if c.secure || c.sock == nil {
		return 0, errNothing
	}
	return c.sock.read(p, false)
}

// arrived reports whether a read would not wait. Of a secure connection that is not known: what has arrived may be a part of a record.
func (c *conn) arrived() bool {
	if c.secure || c.sock == nil {
		return false
	}
	_, err := c.sock.read(c.one[:], true)
	return err != errNothing
}

// unexpected turns io.EOF into an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
