package httpapi

// ScoreMeaning is the sentence for a reason of routing.
func ScoreMeaning(reason string) string { return scoreMeanings[reason] }

// ReadsBody reports whether requests of the route have bodies.
func (r *Route) ReadsBody() bool { return r.body != nil }

// MostBody is the largest body that a route takes.
func MostBody(a *API, r *Route) int64 {
	if r.body == nil {
		return 0
	}
	return r.body(&a.cfg)
}
