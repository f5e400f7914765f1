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
	"weir/internal/httpapi/h1server"
	"weir/internal/limit"
	"weir/internal/loop"
)

// Server serves an API on a listener until it is drained.
type Server struct {
	api    *API
	http   httpServer
	gate   *gate // nil: none
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	listeners []net.Listener // as Serve was given them
}

// httpServer reads requests and sends answers. *h1server.Server is one, standard another.
type httpServer interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
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
	// WriteTimeout counts from the request's head; handlers that write later move it ahead. Without it a client that takes no byte of a short
	// answer would hold its connection for ever.
	if !c.StandardServer && c.TLS == nil && h1server.Supported {
		own := &h1server.Server{
			Handler: a, ReadHeaderTimeout: c.ReadHeader, IdleTimeout: c.IdleConn, WriteTimeout: c.WriteStall, MaxHeaderBytes: c.MaxHeaderBytes,
			BaseContext: ctx, ConnContext: withConn, Log: a.Slog,
		}
		s := &Server{api: a, cancel: cancel, http: own}
		if c.MaxWait > 0 {
			s.gate = newGate(a)
			own.Gate = s.gate.check
		}
		return s
	}
	return &Server{api: a, cancel: cancel, http: standard{&http.Server{
		Handler: a, ReadHeaderTimeout: c.ReadHeader, IdleTimeout: c.IdleConn, WriteTimeout: c.WriteStall, MaxHeaderBytes: c.MaxHeaderBytes, TLSConfig: c.TLS,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withConn, ErrorLog: slog.NewLogLogger(a.Slog.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsByConn, SendPingTimeout: pingAfter, PingTimeout: pingFor, WriteByteTimeout: c.WriteStall},
	}}}
}

// One connection of HTTP/2 carries many requests. A client that has gone without a word is found by a ping.
const (
	streamsByConn = 100
	pingAfter     = 30 * time.Second
	pingFor       = 15 * time.Second
)

// standard is the server of net/http.
type standard struct{ *http.Server }

// Serve answers on l, encrypted if the server has a configuration for it.
func (s standard) Serve(l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Server.Serve(l)
}

// Serve answers on l, which it closes. It returns nil after Drain.
func (s *Server) Serve(l net.Listener) error {
	if s.gate != nil {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go s.gate.run(ctx)
	}
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	err := s.http.Serve(newLimitListener(l, &s.api.cfg, s.api, s.api.cfg.TLS != nil))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// cutGrace is how long streams may take to write their last frame after the drain's deadline.
const cutGrace = 5 * time.Second

// Drain ends the server without dropping work: readiness fails at once, the listener stays open for delay so that load balancers
// notice, then it closes without losing a connection that the system has taken, and requests in flight may finish within timeout. What is left gets
// an error in its stream, is settled, and cut. A cancelled ctx skips all waiting. Drain returns nil when nothing had to be cut.
func (s *Server) Drain(ctx context.Context, delay, timeout time.Duration) error {
	s.api.draining.Store(true)
	s.api.watcher.Close() // its streams would not end by themselves
	_ = loop.Wait(ctx, delay)
	within, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		acceptAll(within, l)
	}
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
			return &tcpConn{TCPConn: tcp, l: l, address: address, release: release}, nil
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

func (x *exchange) getHealth() error {
	x.writeBody(http.StatusOK, jsonType, healthBody(nil))
	return nil
}

func (x *exchange) getReady() error {
	err, status := x.api.ready(x.context()), http.StatusOK
	if err != nil {
		x.w.Header()["Retry-After"] = []string{"5"}
		status = http.StatusServiceUnavailable
	}
	x.writeBody(status, jsonType, healthBody(err, x.api.details()...))
	return nil
}
