package httpserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// tlsListener gives connections out after their handshake, those of HTTP/1.1 with the same look at their heads as plain ones. net/http would do the
// handshake itself, and read what is inside past that.
type tlsListener struct {
	net.Listener
	cfg    *tls.Config
	within time.Duration // a handshake
	log    *slog.Logger
	done   chan accepted // closed after the listener and all handshakes have ended
	err    error         // of the listener, then
}

type accepted struct {
	net.Conn
	err error
}

func newTLSListener(l net.Listener, cfg *tls.Config, within time.Duration, log *slog.Logger) *tlsListener {
	cfg = cfg.Clone()
	for _, protocol := range []string{"h2", "http/1.1"} {
		if !slices.Contains(cfg.NextProtos, protocol) {
			cfg.NextProtos = append(slices.Clip(cfg.NextProtos), protocol)
		}
	}
	t := &tlsListener{Listener: l, cfg: cfg, within: within, log: log, done: make(chan accepted)}
	go t.run()
	return t
}

func (t *tlsListener) run() {
	defer close(t.done)
	var shaking sync.WaitGroup
	defer shaking.Wait()
	for {
		c, err := t.Listener.Accept()
		if err == nil {
			shaking.Go(func() { t.shake(c) })
			continue
		}
		if e, ok := err.(interface{ Temporary() bool }); !ok || !e.Temporary() {
			t.err = err
			return
		}
		t.done <- accepted{nil, err} // net/http waits a little then
	}
}

// shake does a handshake.
func (t *tlsListener) shake(raw net.Conn) {
	c := tls.Server(raw, t.cfg)
	ctx, stop := context.WithTimeout(context.Background(), t.within)
	defer stop()
	if err := c.HandshakeContext(ctx); err != nil {
		t.log.Debug("a TLS handshake failed", "address", raw.RemoteAddr().String(), "error", err)
		_ = raw.Close()
		return
	}
	switch c.ConnectionState().NegotiatedProtocol {
	case "h2":
		t.done <- accepted{c, nil}
	case "", "http/1.1":
		t.done <- accepted{&encryptedConn{Conn: c}, nil}
	default: // the check of a certificate's domain, which is over
		_ = c.Close()
	}
}

// Accept returns the next connection whose handshake has ended.
func (t *tlsListener) Accept() (net.Conn, error) {
	a, ok := <-t.done
	if !ok {
		return nil, t.err
	}
	return a.Conn, a.err
}

// encryptedConn is a connection of HTTP/1.1.
type encryptedConn struct {
	*tls.Conn
	heads heads
}

// Read reads what net/http may see.
func (c *encryptedConn) Read(p []byte) (int, error) {
	n, err := c.heads.read(p, c.Conn.Read)
	if t := tcpOf(c.Conn); t != nil {
		t.note(&c.heads)
	}
	return n, err
}

func (c *encryptedConn) unframe() { c.heads.state = unchecked }
