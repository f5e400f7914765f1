package httpapi

import (
	"net"
	"time"

	"weir/internal/catalog"
	"weir/internal/httpapi/h1server"
	"weir/internal/limit"
)

// ScoreMeaning is the sentence for a reason of routing.
func ScoreMeaning(reason string) string { return scoreMeanings[reason] }

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

// Gate is gate.
type Gate = gate

// NewGate is newGate, of a gate that does not run: tests do its steps.
func NewGate(a *API) *Gate { return newGate(a) }

// Crowd makes requests wait.
func (g *gate) Crowd() { g.crowded.Store(true) }

// Wait is wait.
func (g *gate) Wait(name string) bool { return g.wait(name, time.Now()) }

// Costs sets the processor time of a request.
func (g *gate) Costs(d time.Duration) { g.cost = float64(d) }

// Learn computes the cost of a request anew, after another one that was let in.
func (g *gate) Learn() {
	g.entered.Add(1)
	g.learn()
}

// Waiting is how many requests wait.
func (g *gate) Waiting() int64 { return g.inLine.Load() }

// LetIn is letIn.
func (g *gate) LetIn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.letIn()
}

// Delayed does a tick after a measured delay.
func (g *gate) Delayed(d time.Duration) {
	g.delay.Store(int64(d))
	g.tick()
}

// Crowded reports whether requests wait.
func (g *gate) Crowded() bool { return g.crowded.Load() }

// Expire refuses what has waited for too long at a time.
func (g *gate) Expire(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire(now)
}

// Check is check.
func (g *gate) Check(c net.Conn, h *h1server.Head) []byte {
	if r := g.check(c, h); r != nil {
		return r.Append(nil)
	}
	return nil
}

// FullName completes the name of a model of the Gemini style.
func FullName(snap *catalog.Snapshot, name string) (string, error) { return fullName(snap, name) }

// NewGeneration names an answer that began then.
func NewGeneration(at time.Time) string { return newGeneration(at) }
