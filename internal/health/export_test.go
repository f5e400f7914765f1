package health

// Remembered is how many accounts an endpoint remembers.
func (r *Registry) Remembered(id string) int {
	a := &r.find(id).alone
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.of)
}
