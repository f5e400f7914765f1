package health

// Remembered is how many accounts an endpoint remembers.
func (r *Registry) Remembered(id string) int {
	a := &r.find(id).alone
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.of)
}

// SameGroup reports whether two accounts share one part of what endpoints may have under way.
func SameGroup(a, b string) bool { return group(a) == group(b) }
