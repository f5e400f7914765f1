package preset

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	room  = 32 << 20 // bytes of presets that are remembered
	least = 256      // bytes that one takes beside its texts
)

// memory has the presets that were used last. It is bounded in bytes, because an account may have presets of 6 MB, and there are many accounts.
type memory struct {
	most int

	mu    sync.Mutex
	bytes int
	lru   *simplelru.LRU[nameKey, entry]
}

func newMemory(most int) *memory {
	m := &memory{most: most}
	m.lru, _ = simplelru.NewLRU(max(1, most/least), m.left) // it fails for sizes below 1 alone
	return m
}

// size is about how much memory an entry takes.
func size(k nameKey, e entry) int {
	return least + len(k.user) + len(k.name) + len(e.preset.Description) + len(e.preset.Content)
}

// left is called with the lock, for each entry that leaves.
func (m *memory) left(k nameKey, e entry) { m.bytes -= size(k, e) }

func (m *memory) get(k nameKey) (entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lru.Get(k)
}

func (m *memory) set(k nameKey, e entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(k, e)
}

// put is set, with the lock. What is larger than all room is not kept.
func (m *memory) put(k nameKey, e entry) {
	m.lru.Remove(k) // replacing it would not report that the former one left
	n := size(k, e)
	if n > m.most {
		return
	}
	m.lru.Add(k, e)
	for m.bytes += n; m.bytes > m.most; {
		m.lru.RemoveOldest()
	}
}

func (m *memory) remove(k nameKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(k)
}

// lookAgain marks what is kept of users as due.
func (m *memory) lookAgain(of func(user string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.lru.Keys() { // the oldest first, so that their order stays
		if e, ok := m.lru.Peek(k); ok && of(k.user) && !e.due {
			e.due = true
			m.put(k, e)
		}
	}
}
