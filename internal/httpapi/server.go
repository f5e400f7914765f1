package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/loop"
)

// Server serves an API on a listener until it is drained.
type Server struct {
	api    *API
	http   *http.Server
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	listeners []net.Listener         // as Serve was given them
	waiting   map[net.Conn]time.Time // connections since they were taken, which may not have sent a request yet
	serving   sync.WaitGroup         // calls of Serve
}

// Listen listens on a TCP address in a way that Drain can end without losing connections: Multipath TCP, which Go would try, has no filter.
func Listen(address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", address)
}

// NewServer makes the server of an API.
func NewServer(a *API) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &a.cfg
	s := &Server{api: a, cancel: cancel, waiting: map[net.Conn]time.Time{}}
	// WriteTimeout counts from the request's head; handlers that write later move it ahead. Without it a client that takes no byte of a short
	// answer would hold its connection for ever.
	s.http = &http.Server{
		Handler: edge{next: a}, ReadHeaderTimeout: c.ReadHeader, IdleTimeout: c.IdleConn, WriteTimeout: c.WriteStall, MaxHeaderBytes: c.MaxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withConn, ConnState: s.follow, ErrorLog: slog.NewLogLogger(a.Slog.Handler(), slog.LevelDebug),
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
	limited := net.Listener(newLimitListener(l, &s.api.cfg, s.api, s.api.cfg.TLS != nil))
	if c := &s.api.cfg; c.TLS != nil {
		limited = newTLSListener(limited, c.TLS, c.ReadHeader, s.api.Slog)
	}
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	err := s.http.Serve(limited)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && s.api.draining.Load() {
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
	s.api.draining.Store(true)
	if s.api.Events != nil {
		s.api.Events.Close()
	}
	_ = loop.Wait(ctx, delay)
	within, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	s.closeListeners(within)
	err := s.http.Shutdown(within)
	if err == nil {
		return nil
	}
	s.cancel(fault.New(fault.Draining, "httpapi.Drain", "The gateway is shutting down."))
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
	defer stop()
	if s.http.Shutdown(last) != nil {
		_ = s.http.Close()
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
func (a *API) Bounded(l net.Listener) net.Listener { return newLimitListener(l, &a.cfg, a, false) }

// limitListener refuses connections beyond the limits.
type limitListener struct {
	net.Listener
	cfg *Config

	mu        sync.Mutex
	open      int
	byAddress map[netip.Addr]int

	lingering *limit.Budget // connections, by address
	api       *API          // nil: nothing is counted and logged
	encrypted bool          // no answer can be given before a handshake
}

func newLimitListener(l net.Listener, c *Config, a *API, encrypted bool) *limitListener {
	return &limitListener{Listener: l, cfg: c, api: a, encrypted: encrypted, byAddress: map[netip.Addr]int{}, lingering: limit.NewBudget(lingerMost, lingerByAddress)}
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
	if l.cfg.trusted(ip) {
		return netip.Addr{}
	}
	return counted(ip)
}

// take counts a connection, or returns the limit that it met.
func (l *limitListener) take(a netip.Addr) (by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cfg.MaxConns > 0 && l.open >= l.cfg.MaxConns {
		return ofConnections
	}
	if a.IsValid() && l.cfg.MaxConnsByAddress > 0 {
		if l.byAddress[a] >= l.cfg.MaxConnsByAddress {
			return ofAddress
		}
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

// Admin is the handler of the listener for operators: metrics, health, profiles, and the routes of administrators. Only these ask for a key:
// keep it off the network.
func (a *API) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics.Handler())
	mux.HandleFunc("/api/admin/", func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, a.inner) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		writeHealth(w, a.ready(r.Context()), a.operatorDetails()...)
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func writeHealth(w http.ResponseWriter, err error, details ...string) {
	w.Header()["Content-Type"] = jsonType
	if err != nil {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(healthBody(err, details...))
		return
	}
	_, _ = w.Write(healthBody(nil, details...))
}

// ready returns why the node should get no new requests, nil when it should get them.
func (a *API) ready(ctx context.Context) error {
	if a.draining.Load() {
		return fault.New(fault.Draining, "httpapi.ready", "The gateway is shutting down.")
	}
	if a.Ready != nil {
		return a.Ready(ctx)
	}
	return nil
}

// details are what the operator should know about a node that works all the same.
func (a *API) details() (list []string) {
	if a.peers.suspected() {
		list = append(list, proxyRemedy)
	}
	if a.Aside != nil && a.Aside() > 0 {
		list = append(list, fmt.Sprintf("%d charges could not be posted and were set aside; see: weir ledger aside list", a.Aside()))
	}
	return list
}

// operatorDetails are details with what is only said on the operators' listener.
func (a *API) operatorDetails() []string {
	list := a.details()
	if a.Peers != nil {
		list = append(list, a.Peers()...)
	}
	return list
}

func healthBody(err error, details ...string) []byte {
	o := object{}
	o.Object()
	if err == nil {
		o.text("status", "ok")
	} else {
		f := fault.From(err)
		o.text("status", "unavailable")
		o.text("reason", f.Kind.String())
	}
	if details != nil {
		o.texts("details", details)
	}
	o.EndObject()
	return o.B
}

func (x *request) getHealth() error {
	x.writeBody(http.StatusOK, jsonType, healthBody(nil))
	return nil
}

func (x *request) getReady() error {
	err, status := x.api.ready(x.context()), http.StatusOK
	if err != nil {
		x.w.Header()["Retry-After"] = []string{"5"}
		status = http.StatusServiceUnavailable
	}
	x.writeBody(status, jsonType, healthBody(err, x.api.details()...))
	return nil
}
