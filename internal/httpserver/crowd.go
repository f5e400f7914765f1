package httpserver

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/limit/quota"
)

// turnedAway counts connections beyond the limits for the log: what is refused without a word looks like a broken network.
type turnedAway struct {
	mu   sync.Mutex
	said time.Time // in the log
	more int       // refused since
}

// tellCrowd is how often the log says that connections are refused.
const tellCrowd = time.Minute

// turnAway counts a refused connection by the limit that it met, and says so once a minute.
func (s *Server) turnAway(by string, peer netip.Addr) {
	if s.deps.Refused != nil {
		s.deps.Refused(by)
	}
	c := &s.away
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more++
	if now := s.deps.Now(); c.said.IsZero() || now.Sub(c.said) >= tellCrowd {
		s.deps.Slog.Warn("connections are refused; where a proxy is in front, name it in server.trusted_proxies", "limit", "server.limits."+by, "address", s.cfg.LogAddress(peer), "refused", c.more)
		c.said, c.more = now, 0
	}
}

// The limits of connections, as Deps.Refused gets them.
const (
	OfConnections = "max_connections"
	OfAddress     = "max_connections_per_address"
)

// crowdedOut is the whole answer to the first request of a connection that met a limit.
func crowdedOut(by string, most int) []byte {
	e := fault.New(fault.Overloaded, "httpserver.Accept", "The gateway has reached its limit of connections. Try again later.")
	line := "503 Service Unavailable"
	if by == OfAddress {
		line = "429 Too Many Requests"
		e = quota.Crowded(int64(most), "max_connections_per_address", "This address has reached its limit of connections. Use connections for several requests, or close some.")
	}
	body := ErrorBody(e, "")
	return append(fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: %s\r\nRetry-After: %d\r\nConnection: close\r\nContent-Length: %d\r\n\r\n",
		line, "application/json; charset=utf-8", RetryAfter(e), len(body)), body...)
}

// refuse answers a connection beyond a limit when its first byte has come, so that the answer belongs to a request, and closes it. Where TLS or a
// crowd of such connections is in the way, it is closed at once.
func (l *limitListener) refuse(c net.Conn, address netip.Addr, by string) {
	l.server.turnAway(by, address)
	tcp, ok := c.(*net.TCPConn)
	name := address.String()
	if !address.IsValid() {
		name = c.RemoteAddr().String()
	}
	if !ok || l.encrypted || l.lingering.Take(name, 1) != limit.None {
		_ = c.Close()
		return
	}
	go func() {
		r := &tcpConn{TCPConn: tcp, l: l, address: address, release: func() {}}
		_ = tcp.SetDeadline(time.Now().Add(lingerIdle)) // deadlines of sockets are by the system's clock
		var first [1]byte
		if _, err := tcp.Read(first[:]); err == nil {
			_, err = tcp.Write(crowdedOut(by, l.server.cfg.MaxConnsByAddress))
			r.unread.Store(err == nil)
		}
		l.lingering.Give(name, 1)
		_ = r.Close()
	}()
}
