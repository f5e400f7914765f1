package limit

import (
	"context"
	"sync"
)

// Slots admits a bounded number at a time, in all and by name, in the order of arrival. Who finds no slot waits: a name that has its share
// delays no other. It is safe for concurrent use.
type Slots struct {
	most, each int
	mu         sync.Mutex
	busy       int
	by         map[string]*slotName
	queue      []*slotWaiter
}

type slotName struct{ inside, waiting int }

type slotWaiter struct {
	name   string
	let    chan struct{} // closed when it was admitted
	inside bool
}

// waitersPerSlot bounds the queues: the number of waiters per slot.
const waitersPerSlot = 8

// NewSlots makes most slots, of which one name may have each.
func NewSlots(most, each int) *Slots {
	return &Slots{most: most, each: min(each, most), by: map[string]*slotName{}}
}

// Entry is the answer of Slots.Enter.
type Entry uint8

// What Enter answers.
const (
	Entered    Entry = iota
	NoneFree         // all slots are taken
	ShareTaken       // the name has as many as it may
)

// Enter takes a slot for a name. It waits for one until ctx ends; where the queue is full it does not wait. Each Enter that returned
// Entered needs a Leave.
func (s *Slots) Enter(ctx context.Context, name string) Entry {
	s.mu.Lock()
	n := s.by[name]
	if n == nil {
		n = &slotName{}
		s.by[name] = n
	}
	if s.busy < s.most && n.inside < s.each {
		s.busy++
		n.inside++
		s.mu.Unlock()
		return Entered
	}
	why := s.why(n)
	if n.waiting >= s.each*waitersPerSlot || why == NoneFree && len(s.queue) >= (s.most+s.each)*waitersPerSlot {
		s.drop(name, n)
		s.mu.Unlock()
		return why
	}
	w := &slotWaiter{name: name, let: make(chan struct{})}
	s.queue = append(s.queue, w)
	n.waiting++
	s.mu.Unlock()

	select {
	case <-w.let:
		return Entered
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.inside { // at the same moment
		return Entered
	}
	for i, other := range s.queue {
		if other == w {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			break
		}
	}
	n.waiting--
	why = s.why(n)
	s.drop(name, n)
	return why
}

// why is the reason that keeps a name waiting.
func (s *Slots) why(n *slotName) Entry {
	if n.inside >= s.each {
		return ShareTaken
	}
	return NoneFree
}

// Leave returns a slot, which goes to the first waiter that may have it.
func (s *Slots) Leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.by[name]
	n.inside--
	s.busy--
	for i, w := range s.queue {
		next := s.by[w.name]
		if next.inside >= s.each {
			continue
		}
		next.waiting--
		next.inside++
		s.busy++
		w.inside = true
		close(w.let)
		s.queue = append(s.queue[:i], s.queue[i+1:]...)
		break
	}
	s.drop(name, n)
}

// drop forgets a name that has nothing.
func (s *Slots) drop(name string, n *slotName) {
	if n.inside == 0 && n.waiting == 0 {
		delete(s.by, name)
	}
}

// Busy is how many slots are taken.
func (s *Slots) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}
