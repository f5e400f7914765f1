// Package cache keeps what was used lately within a bound. It must know nothing of what it keeps, nor how long that is valid.
package cache

import (
	"iter"
	"sync"
	"sync/atomic"
)

// Cache is a map that is bounded by weight. What was not read since the hand of the clock last passed goes first. It is safe for concurrent use;
// readers do not wait for one another.
type Cache[K comparable, V any] struct {
	most  int64
	weigh func(K, V) int64

	mu     sync.RWMutex
	nodes  map[K]*node[K, V]
	weight int64
	hand   *node[K, V] // in a ring of all nodes; nil: there is none
}

type node[K comparable, V any] struct {
	key          K
	value        V
	weight       int64
	used         atomic.Bool // since the hand passed
	before, next *node[K, V]
}

// New makes a Cache of at most so much weight. weigh returns the weight of an entry, at least 1; nil: each weighs 1.
func New[K comparable, V any](most int64, weigh func(K, V) int64) *Cache[K, V] {
	if weigh == nil {
		weigh = func(K, V) int64 { return 1 }
	}
	return &Cache[K, V]{most: most, weigh: weigh, nodes: map[K]*node[K, V]{}}
}

// Get returns what is kept for a key.
func (c *Cache[K, V]) Get(k K) (v V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := c.nodes[k]
	if n == nil {
		return v, false
	}
	if !n.used.Load() { // a line of memory that is only read is shared by all processors
		n.used.Store(true)
	}
	return n.value, true
}

// Set keeps v instead of what was kept for k. Others leave until there is room; what is larger than all room is not kept.
func (c *Cache[K, V]) Set(k K, v V) {
	n := &node[K, V]{key: k, value: v, weight: max(1, c.weigh(k, v))}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.nodes[k]
	if old != nil {
		n.used.Store(old.used.Load())
		c.remove(old)
	}
	if n.weight > c.most {
		return
	}
	for c.weight > c.most-n.weight {
		if c.hand.used.Swap(false) {
			c.hand = c.hand.next
			continue
		}
		c.remove(c.hand)
	}
	c.weight += n.weight
	c.nodes[k] = n
	if c.hand == nil {
		n.before, n.next = n, n
		c.hand = n
		return
	}
	n.before, n.next = c.hand.before, c.hand // the hand comes to it last
	n.before.next, n.next.before = n, n
}

// Delete forgets a key.
func (c *Cache[K, V]) Delete(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[k]; n != nil {
		c.remove(n)
	}
}

// All returns all entries as they are now, in no order; the loop may use the Cache.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.mu.RLock()
		all := make([]*node[K, V], 0, len(c.nodes))
		for _, n := range c.nodes {
			all = append(all, n)
		}
		c.mu.RUnlock()
		for _, n := range all { // key and value of a node never change
			if !yield(n.key, n.value) {
				return
			}
		}
	}
}

// remove takes a node out; the hand goes on from it.
func (c *Cache[K, V]) remove(n *node[K, V]) {
	delete(c.nodes, n.key)
	c.weight -= n.weight
	if n.next == n {
		c.hand = nil
		return
	}
	n.before.next, n.next.before = n.next, n.before
	if c.hand == n {
		c.hand = n.next
	}
}
