// Package h1 is a strict HTTP/1.1 client for calls to providers. It keeps connections by host, needs no goroutine and no buffer for an
// idle one, and allocates nothing for a valid answer. It must not retry, follow redirects, decompress, or repair invalid answers.
package h1

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Config configures a Host.
type Config struct {
	Connect   time.Duration    // TCP
	Handshake time.Duration    // TLS
	Idle      time.Duration    // how long a connection may be idle
	MaxIdle   int              // idle connections at a time
	Age       time.Duration    // age at which a connection is no longer used
	Requests  int              // requests over one connection
	MaxHead   int              // bytes of an answer's head, and of each informational one before it
	TLS       *tls.Config      // base for connections; nil: the system's authorities
	Now       func() time.Time // nil: the system's clock

	// Dial opens a connection to "host:port". nil: TCP to an address from Names.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Names resolves host names. It may be nil where Dial is set.
	Names *Names
}

// Host keeps the connections to one host. It is safe for concurrent use.
type Host struct {
	cfg     Config
	name    string
	literal bool // the host is an IP address
	port    string
	tls     *tls.Config // nil: no TLS

	mu     sync.Mutex
	idle   []*conn // the one used last is at the end: it is taken first, so that the others can expire
	sweeps *time.Timer
	closed bool
}

// NewHost makes the Host for scheme ("http" or "https") and host, which may have a port and brackets around an IPv6 address. Close ends
// it.
func NewHost(cfg Config, scheme, host string) *Host {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	h := &Host{cfg: cfg}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), map[string]string{"http": "80", "https": "443"}[scheme]
	}
	h.name, h.port = name, port
	_, err = netip.ParseAddr(name)
	h.literal = err == nil
	if scheme == "https" {
		h.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		if cfg.TLS != nil {
			h.tls = cfg.TLS.Clone()
		}
		if h.tls.ServerName == "" {
			h.tls.ServerName = name
		}
		h.tls.NextProtos = []string{"http/1.1"}
	}
	return h
}

// Close closes idle connections at once, and busy ones after their request.
func (h *Host) Close() {
	h.mu.Lock()
	idle := h.idle
	h.idle, h.closed = nil, true
	if h.sweeps != nil {
		h.sweeps.Stop()
	}
	h.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

// take returns the idle connection that was used last and is still open, or nil.
func (h *Host) take() *conn {
	for {
		h.mu.Lock()
		n := len(h.idle) - 1
		if n < 0 {
			h.mu.Unlock()
			return nil
		}
		c := h.idle[n]
		h.idle[n] = nil
		h.idle = h.idle[:n]
		h.mu.Unlock()
		if now := h.cfg.Now(); now.Sub(c.idleSince) < h.cfg.Idle && now.Sub(c.dialled) < h.cfg.Age && h.current(c, now) && c.quiet() {
			return c
		}
		c.close()
	}
}

// put keeps a connection for the next request, unless it is too old or has had too many: an error in a server's state must not last.
func (h *Host) put(c *conn) {
	c.idleSince, c.served = h.cfg.Now(), c.served+1
	if c.served >= h.cfg.Requests || c.idleSince.Sub(c.dialled) >= h.cfg.Age {
		c.close()
		return
	}
	h.mu.Lock()
	if h.closed || len(h.idle) >= h.cfg.MaxIdle {
		h.mu.Unlock()
		c.close()
		return
	}
	h.idle = append(h.idle, c)
	if len(h.idle) == 1 {
		h.arm(h.cfg.Idle)
	}
	h.mu.Unlock()
}

// arm schedules sweep after d. The caller holds the lock.
func (h *Host) arm(d time.Duration) {
	if h.sweeps == nil {
		h.sweeps = time.AfterFunc(d, h.sweep)
		return
	}
	h.sweeps.Reset(d)
}

// sweep closes connections that were idle for too long: the front of the list, because connections are appended when they become idle.
func (h *Host) sweep() {
	h.mu.Lock()
	now, n := h.cfg.Now(), 0
	for n < len(h.idle) && now.Sub(h.idle[n].idleSince) >= h.cfg.Idle {
		n++
	}
	old := append([]*conn(nil), h.idle[:n]...)
	h.idle = append(h.idle[:0], h.idle[n:]...)
	clear(h.idle[len(h.idle):cap(h.idle)])
	if len(h.idle) > 0 && !h.closed {
		h.arm(max(h.cfg.Idle-now.Sub(h.idle[0].idleSince), time.Second))
	}
	h.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}
