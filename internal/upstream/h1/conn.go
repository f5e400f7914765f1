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

// conn is one connection. While it is idle it is not read; its end is found when it is taken again.
type conn struct {
	net.Conn // the connection to write to: raw, or TLS over raw
	raw      net.Conn
	sock     *socket // nil: raw cannot be looked into
	secure   bool
	one      [1]byte // for looks

	served    int // requests
	idleSince time.Time
	dialled   time.Time
	peer      netip.Addr // the zero value where it was not dialled by address
}

// dial opens a connection. Errors of the TCP part are *net.OpError with Op "dial".
func (h *Host) dial(ctx context.Context) (*conn, error) {
	raw, peer, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, raw: raw, sock: socketOf(raw), dialled: h.cfg.Now(), peer: peer}
	if h.tls == nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Handshake)
	defer cancel()
	secure := tls.Client(raw, h.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	c.Conn, c.secure = secure, true
	return c, nil
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

// close hangs up. It does not say goodbye inside TLS: that could wait for a full buffer.
func (c *conn) close() { _ = c.raw.Close() }

var longAgo = time.Unix(1, 0)

// quiet reports whether an idle connection can be used again: it is open, and nothing has come that was not asked for.
func (c *conn) quiet() bool {
	if c.secure {
		// With a deadline that has passed, TLS gives what it holds already and does not ask the socket.
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

// readNow reads what has arrived, and returns errNothing when nothing has.
func (c *conn) readNow(p []byte) (int, error) {
	if c.secure || c.sock == nil {
		return 0, errNothing
	}
	return c.sock.read(p, false)
}

// unexpected makes an end of the connection an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
