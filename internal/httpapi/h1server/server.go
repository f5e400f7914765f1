// Package h1server serves HTTP/1.1 on plain connections to an http.Handler, with less work per request than net/http: one goroutine and no
// buffer for an idle connection, one write per answer, deadlines that are set only before a wait. It is strict: what RFC 9112 forbids is refused,
// not repaired. It must not know what a request is about, and serves neither TLS nor HTTP/2.
package h1server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Refusal is the answer to a request that the Gate refuses.
type Refusal interface {
	// Append appends the whole answer, which must have a length, to out.
	Append(out []byte) []byte
}

// Server serves connections. Its fields must not be changed after the first call of Serve. The zero value of a time is no limit.
type Server struct {
	Handler http.Handler
	// Gate is asked about each request when its head has arrived and nothing was made of it; nil admits all. A request that it refuses gets
	// the answer that it returns. It may wait, and is used from many goroutines.
	Gate func(c net.Conn, h *Head) Refusal

	ReadHeaderTimeout time.Duration // for the first byte of a new connection, and for the rest of a head after its first byte
	IdleTimeout       time.Duration // for the first byte of the next request
	WriteTimeout      time.Duration // for each write, unless the handler sets another deadline
	MaxHeaderBytes    int           // of the request line and all fields

	BaseContext context.Context
	ConnContext func(context.Context, net.Conn) context.Context // nil: as it is
	Log         *slog.Logger

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	ending    atomic.Bool
	cut       bool // by Close: what is accepted from now on is closed
	begun     [8]begun
	older     []underway    // of the last tick; only the watch uses it
	parts     atomic.Uint32 // gives each connection its part of begun
	asleep    atomic.Bool   // the watch waits for wake
	wake      chan struct{}
	over      chan struct{} // closed with ending
	clients   clients
}

// Serve accepts connections of l, which it closes, until Shutdown or Close. Then it returns http.ErrServerClosed, else the listener's error.
func (s *Server) Serve(l net.Listener) error {
	once := sync.OnceFunc(func() { _ = l.Close() })
	defer once()
	s.mu.Lock()
	if s.ending.Load() {
		s.mu.Unlock()
		return http.ErrServerClosed
	}
	if s.listeners == nil {
		s.listeners, s.conns = map[net.Listener]struct{}{}, map[*conn]struct{}{}
		s.wake = make(chan struct{}, 1)
		s.over = make(chan struct{})
		s.asleep.Store(true)
		s.clients.open()
		go s.watch()
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	for pause := time.Duration(0); ; {
		rwc, err := l.Accept()
		if s.ending.Load() && err != nil {
			return http.ErrServerClosed
		}
		if err != nil {
			if ne, ok := err.(interface{ Temporary() bool }); !ok || !ne.Temporary() { // out of descriptors, for instance
				return err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.Log.Error("accepting a connection failed", "error", err, "again_in", pause)
			select {
			case <-time.After(pause):
			case <-s.over:
			}
			continue
		}
		pause = 0
		c := newConn(s, rwc)
		s.mu.Lock()
		if s.cut {
			s.mu.Unlock()
			_ = rwc.Close()
			return http.ErrServerClosed
		}
		s.conns[c] = struct{}{} // also when the server has ended meanwhile: the client may have sent its request already
		s.mu.Unlock()
		go c.serve()
	}
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// The states of a connection, for Shutdown.
const (
	fresh  = int32(iota) // no byte of a request has arrived yet
	idle                 // between requests
	busy                 // a request is under way
	closed               // Shutdown has closed it
)

// freshGrace is how long Shutdown waits for the first request of a new connection.
const freshGrace = 5 * time.Second

// Shutdown closes the listeners and idle connections, and waits until the requests under way have ended, or ctx, whose error it then returns.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end()
	for pause := time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		if s.closeIdle() {
			return nil
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

// Close closes the listeners and all connections at once.
func (s *Server) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	for c := range s.conns {
		c.state.Store(closed)
		_ = c.rwc.Close()
	}
	return nil
}

// tick is how often requests are looked at whose clients may have gone: most requests end before, and cost no second goroutine.
const tick = 25 * time.Millisecond

// watch starts to watch the clients of requests that take longer than a tick. It sleeps while there are no requests.
func (s *Server) watch() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for quiet := 0; ; {
		select {
		case <-ticker.C:
		case <-s.over:
			ticker.Stop()
			s.watchRest()
			s.clients.close()
			return
		}
		if quiet++; s.look() {
			quiet = 0
		}
		if quiet < 40 {
			continue
		}
		ticker.Stop()
		s.asleep.Store(true)
		if !s.look() { // none that began before it saw that the watch sleeps
			select {
			case <-s.wake:
			case <-s.over:
			}
		}
		s.asleep.Store(false)
		ticker.Reset(tick)
		quiet = 0
	}
}

// watchRest watches what is under way after the end, until all connections are closed and none is accepted any more.
func (s *Server) watchRest() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for range ticker.C {
		s.look()
		s.mu.Lock()
		left := len(s.conns) + len(s.listeners)
		s.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// look begins to watch the requests that were there at the last tick, too. It reports whether any have begun since then, or are under way.
func (s *Server) look() bool {
	for _, u := range s.older {
		if u.c.turn.Load() == u.turn {
			u.c.watch(u.turn)
		}
	}
	clear(s.older) // what has ended may go
	s.older = s.older[:0]
	for i := range s.begun {
		b := &s.begun[i]
		b.mu.Lock()
		s.older = append(s.older, b.list...)
		clear(b.list)
		b.list = b.list[:0]
		b.mu.Unlock()
	}
	return len(s.older) > 0
}

// underway is a request and its connection.
type underway struct {
	c    *conn
	turn int32
}

// begun are the requests that have begun since the last tick: a part of them, so that requests seldom meet at its lock.
type begun struct {
	mu   sync.Mutex
	list []underway
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending.Swap(true) && s.over != nil { // nil before the first Serve
		close(s.over)
	}
	for l := range s.listeners {
		_ = l.Close()
	}
}

// closeIdle closes what waits for a request, and reports whether nothing else is left, and nothing more will be accepted.
func (s *Server) closeIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.state.CompareAndSwap(idle, closed) || time.Since(c.since) > freshGrace && c.state.CompareAndSwap(fresh, closed) {
			_ = c.rwc.Close()
		}
	}
	return len(s.conns) == 0 && len(s.listeners) == 0
}
