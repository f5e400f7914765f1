package limit

import (
	"hash/maphash"
	"sync"
)

// Count counts running work by name. It needs memory only for names with running work. It is safe for concurrent use.
type Count struct {
	seed  maphash.Seed
	parts [shards]countPart
}

type countPart struct {
	mu sync.Mutex
	n  map[string]int64
}

// NewCount makes a count of nothing.
func NewCount() *Count {
	c := &Count{seed: maphash.MakeSeed()}
	for i := range c.parts {
		c.parts[i].n = map[string]int64{}
	}
	return c
}

// Enter adds one to a name that has fewer than limit, and reports whether it did. Each Enter that did needs a Leave.
func (c *Count) Enter(name string, limit int64) bool { return c.Add(name, 1, limit) }

// Leave subtracts one from a name.
func (c *Count) Leave(name string) { c.Sub(name, 1) }

// Add adds n to a name that has no more than limit then, and reports whether it did. Each Add that did needs a Sub.
func (c *Count) Add(name string, n, limit int64) bool {
	p := c.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.n[name] + n
	if sum > limit {
		return false
	}
	p.n[name] = sum
	return true
}

// Sub subtracts n from a name.
func (c *Count) Sub(name string, n int64) {
	p := c.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := p.n[name] - n; left > 0 {
		p.n[name] = left
	} else {
		delete(p.n, name)
	}
}

// Of is how many a name has.
func (c *Count) Of(name string) int64 {
	p := c.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n[name]
}

func (c *Count) part(name string) *countPart {
	return &c.parts[maphash.String(c.seed, name)%shards]
}
