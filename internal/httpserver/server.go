// Package httpserver is where clients reach the gateway, below any style of requests: the listener and its limits, TLS, a strict look at heads
// before net/http, bodies that are read within their limits and time, answers that a slow client cannot hold up, and an end that loses no
// connection. It knows no routes and no keys; what a fault is on the wire where no style knows better is said here, too.
package httpserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/loop"
)

// Deps are what a server works with. Refused and Draining may be nil.
type Deps struct {
	Handler  http.Handler
	Slog     *slog.Logger
	Now      func() time.Time
	Refused  func(limit string) // called for each connection beyond a limit: OfConnections, OfAddress
	Draining func()             // called once, before the server takes no new work
}

// Server serves a handler on listeners until it is drained.
type Server struct {
	deps     Deps
	cfg      Config
	http     *http.Server
	base     context.Context // of all requests
	cancel   context.CancelCauseFunc
	draining atomic.Bool
	away     turnedAway

	mu        sync.Mutex
	listeners []net.Listener         // as Serve was given them
	waiting   map[net.Conn]time.Time // connections since they were taken, which may not have sent a request yet
	serving   sync.WaitGroup         // calls of Serve
	sockets   map[*Socket]struct{}
	leaving   bool // sockets are closed as soon as they are idle
}

// Listen listens on a TCP address in a way that Drain can end without losing connections: Multipath TCP, which Go would try, has no filter.
func Listen(address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", address)
}

// New makes a server.
func New(d Deps, c Config) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Server{deps: d, cfg: c, cancel: cancel, waiting: map[net.Conn]time.Time{}, sockets: map[*Socket]struct{}{}}
	s.base = context.WithValue(ctx, serverKey{}, s)
	// WriteTimeout counts from the request's head; handlers that write later move it ahead. Without it a client that takes no byte of a short
	// answer would hold its connection for ever.
	s.http = &http.Server{
		Handler: edge{next: d.Handler}, ReadHeaderTimeout: c.ReadHeader, IdleTimeout: c.IdleConn, WriteTimeout: c.WriteStall, MaxHeaderBytes: c.MaxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return s.base }, ConnContext: withConn, ConnState: s.follow, ErrorLog: slog.NewLogLogger(d.Slog.Handler(), slog.LevelDebug),
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: streamsByConn, SendPingTimeout: pingAfter, PingTimeout: pingFor, WriteByteTimeout: c.WriteStall},
		DisableGeneralOptionsHandler: true, // OPTIONS * is answered as every other request
	}
	return s
}

// One connection of HTTP/2 carries many requests. A client that has gone without a word is found by a ping.
const (
	streamsByConn = 100
	pingAfter     = 30 * time.Second
	pingFor       = 15 * time.Second
)

// closeConn ends a connection after its answer.
var closeConn = []string{"close"}

// edge refuses what net/http lets through to handlers that speak other protocols.
type edge struct{ next http.Handler }

// ServeHTTP answers a request.
func (e edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*tcpConn); ok {
		c.asked.Add(1)
	}
	status := 0
	switch {
	case r.Method == http.MethodConnect:
		status = http.StatusNotImplemented
	case r.ProtoMajor == 1 && r.ProtoMinor > 1, r.ProtoMajor == 2 && r.Method == "PRI":
		status = http.StatusHTTPVersionNotSupported
	}
	if status == 0 {
		e.next.ServeHTTP(w, r)
		return
	}
	w.Header()["Connection"] = closeConn
	http.Error(w, http.StatusText(status), status)
}

// Serve answers on l, which it closes. It returns nil after Drain.
func (s *Server) Serve(l net.Listener) error {
	limited := net.Listener(s.limit(l, s.cfg.TLS != nil))
	if s.cfg.TLS != nil {
		limited = newTLSListener(limited, s.cfg.TLS, s.cfg.ReadHeader, s.deps.Slog)
	}
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	err := s.http.Serve(limited)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && s.draining.Load() {
		return nil
	}
	return err
}

// follow keeps the connections that may not have sent a request yet.
func (s *Server) follow(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.mu.Lock()
		s.waiting[c] = time.Now() // by the system's clock, as deadlines of sockets
		s.mu.Unlock()
	case http.StateHijacked:
		if u, ok := c.(interface{ unframe() }); ok {
			u.unframe()
		}
		fallthrough
	case http.StateClosed:
		s.mu.Lock()
		delete(s.waiting, c)
		s.mu.Unlock()
	case http.StateIdle:
		if t := tcpOf(c); t != nil {
			t.asked.Add(1) // of HTTP/2, where it may have been no request
		}
	case http.StateActive:
	}
}

const (
	// cutGrace is how long streams may take to write their last frame after the drain's deadline.
	cutGrace = 5 * time.Second
	// freshGrace is how long a drain waits for the first request of a new connection.
	freshGrace = 5 * time.Second
	// freshCheck is how often it looks for one.
	freshCheck = time.Millisecond
)

// Drain ends the server without dropping work: readiness fails at once, the listener stays open for delay so that load balancers
// notice, then it closes without losing a connection that the system has taken, and requests in flight may finish within timeout. What is left gets
// an error in its stream, is settled, and cut. A cancelled ctx skips all waiting. Drain returns nil when nothing had to be cut.
func (s *Server) Drain(ctx context.Context, delay, timeout time.Duration) error {
	if s.draining.CompareAndSwap(false, true) && s.deps.Draining != nil {
		s.deps.Draining()
	}
	_ = loop.Wait(ctx, delay)
	within, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	s.closeListeners(within)
	s.sendAway() // not before: those who come back find another node
	err := s.http.Shutdown(within)
	if err == nil {
		err = s.awaitSockets(within)
	}
	if err == nil {
		return nil
	}
	s.cancel(fault.New(fault.Draining, "httpserver.Drain", "The gateway is shutting down."))
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
	defer stop()
	if s.http.Shutdown(last) != nil {
		_ = s.http.Close()
	}
	if s.awaitSockets(last) != nil {
		for _, k := range s.openSockets() {
			k.Cut()
		}
	}
	return err
}

// closeListeners ends the listeners, and waits until each connection that they have taken has sent its first request: net/http drops without an
// answer what it reads after Shutdown.
func (s *Server) closeListeners(ctx context.Context) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		acceptAll(ctx, l)
	}
	s.http.SetKeepAlivesEnabled(false) // each answer is the last of its connection
	for _, l := range listeners {
		_ = l.Close()
	}
	s.serving.Wait()
	for s.expectsRequests() && loop.Wait(ctx, freshCheck) == nil {
	}
}

// expectsRequests reports whether a connection is so new that its first request may be on its way.
func (s *Server) expectsRequests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, since := range s.waiting {
		if t := tcpOf(c); t == nil || t.asked.Load() > 0 || time.Since(since) > freshGrace {
			delete(s.waiting, c)
			continue
		}
		return true
	}
	return false
}

// Bounded applies the limits of connections to another listener of the node, which is not encrypted.
func (s *Server) Bounded(l net.Listener) net.Listener { return s.limit(l, false) }

// limitListener refuses connections beyond the limits.
type limitListener struct {
	net.Listener
	server *Server

	mu        sync.Mutex
	open      int
	byAddress map[netip.Addr]int

	lingering *limit.Budget // connections, by address
	encrypted bool          // no answer can be given before a handshake
}

func (s *Server) limit(l net.Listener, encrypted bool) *limitListener {
	return &limitListener{Listener: l, server: s, encrypted: encrypted, byAddress: map[netip.Addr]int{}, lingering: limit.NewBudget(lingerMost, lingerByAddress)}
}

// Accept returns the next connection within the limits.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := l.counted(c.RemoteAddr())
		if by := l.take(address); by != "" {
			l.refuse(c, address, by)
			continue
		}
		release := sync.OnceFunc(func() { l.giveBack(address) })
		if tcp, ok := c.(*net.TCPConn); ok {
			return &tcpConn{TCPConn: tcp, l: l, address: address, release: release, encrypted: l.encrypted}, nil
		}
		return &anyConn{c, release}, nil
	}
}

// counted is the address whose limit applies; the zero one has none.
func (l *limitListener) counted(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := plain(tcp.AddrPort().Addr())
	if l.server.cfg.TrustedProxies.Trust(ip) {
		return netip.Addr{}
	}
	return Counted(ip)
}

// take counts a connection, or returns the limit that it met.
func (l *limitListener) take(a netip.Addr) (by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.server.cfg
	if c.MaxConns > 0 && l.open >= c.MaxConns {
		return OfConnections
	}
	if a.IsValid() && c.MaxConnsByAddress > 0 && l.byAddress[a] >= c.MaxConnsByAddress {
		return OfAddress
	}
	l.open++
	l.byAddress[a]++
	return ""
}

func (l *limitListener) giveBack(a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byAddress[a]--; l.byAddress[a] == 0 {
		delete(l.byAddress, a)
	}
}

type anyConn struct {
	net.Conn
	release func()
}

// Close closes the connection and frees its place.
func (c *anyConn) Close() error {
	c.release()
	return c.Conn.Close()
}
