package httpapi

import (
	"net"
	"net/http"
	"time"

	"weir/internal/catalog"
	"weir/internal/limit"
)

// ReadsBody reports whether requests of the route have bodies.
func (r *Route) ReadsBody() bool { return r.body != nil }

// OfPages reports whether a route is for pages of the interface only: of visitors, or of people who are signed in.
func (r *Route) OfPages() (visitors, people bool) {
	return r.access == visiting, r.access == signedIn
}

// Notified reports whether a route looks at neither keys nor sessions: other services and mail programs call it.
func (r *Route) Notified() bool { return r.access == notifying || r.access == linked }

// LingeringListener is a listener that limits, of whose connections so many linger.
func LingeringListener(l net.Listener, most int64) (net.Listener, *limit.Budget) {
	c := Default()
	out := newLimitListener(l, &c, nil, false)
	out.lingering = limit.NewBudget(most, most)
	return out, out.lingering
}

// LeaveUnread marks a connection as one that has unread bytes.
func LeaveUnread(c net.Conn) { c.(*tcpConn).unread.Store(true) }

// MostBody is the largest body that a route takes.
func MostBody(a *API, r *Route) int64 {
	if r.body == nil {
		return 0
	}
	return r.body(&a.cfg)
}

// ServerFor is NewServer with another handler.
func ServerFor(a *API, h http.Handler) *Server {
	s := NewServer(a)
	s.http.Handler = edge{h}
	return s
}

// FullName completes the name of a model of the Gemini style.
func FullName(snap *catalog.Snapshot, name string) (string, error) { return fullName(snap, name) }

// NewGeneration names an answer that began then.
func NewGeneration(at time.Time) string { return newGeneration(at) }
