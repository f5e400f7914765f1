package httpapi

import (
	"time"

	"weir/internal/catalog"
)

// ReadsBody reports whether requests of the route have bodies.
func (r *Route) ReadsBody() bool { return r.body != nil }

// Named reports whether requests of the route may have an Idempotency-Key: they have bodies, and are calls.
func (r *Route) Named() bool { return r.body != nil && r.access == inference }

// LiteLLM reports whether the route is one of LiteLLM's, which take no session.
func (r *Route) LiteLLM() bool { return r.envelope == liteLLMEnvelope }

// OfPages reports whether a route is for pages of the interface only: of visitors, or of people who are signed in.
func (r *Route) OfPages() (visitors, people bool) {
	return r.access == visiting, r.access == signedIn
}

// Notified reports whether a route looks at neither keys nor sessions: other services, mail programs and directories call it.
func (r *Route) Notified() bool {
	return r.access == notifying || r.access == linked || r.access == provisioning
}

// MostBody is the largest body that a route takes.
func MostBody(a *API, r *Route) int64 {
	if r.body == nil {
		return 0
	}
	return r.body(&a.cfg)
}

// FullName completes the name of a model of the Gemini style.
func FullName(snap *catalog.Snapshot, name string) (string, error) { return fullName(snap, name) }

// NewGeneration names an answer that began then.
func NewGeneration(at time.Time) string { return newGeneration(at) }
