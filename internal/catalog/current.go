package catalog

import "sync/atomic"

// Current holds the snapshot that new calls start with. It is safe for concurrent use; reading takes no lock.
// The zero value holds an empty catalog.
type Current struct {
	snapshot atomic.Pointer[Snapshot]
}

var empty = &Snapshot{Providers: map[string]*Provider{}, models: map[string]*Model{}}

// Load is the snapshot to use for a whole call; it is never nil.
func (c *Current) Load() *Snapshot {
	if s := c.snapshot.Load(); s != nil {
		return s
	}
	return empty
}

// Store publishes a snapshot. Calls that began with an older one keep it.
func (c *Current) Store(s *Snapshot) { c.snapshot.Store(s) }
