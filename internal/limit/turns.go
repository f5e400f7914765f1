package limit

import (
	"context"
	"slices"
	"sync"
)

// Turns shares places between names: one name has a limited number at a time, and waiters get places name by name in turn, so that a name
// with many requests delays only itself. It is safe for concurrent use.
type Turns struct {
	most int // places of one name

	mu    sync.Mutex
	free  int
	names map[string]*turn
	order []string // names of which somebody waits, the one whose turn is next first
}

type turn struct {
	taken   int
	waiting []chan struct{}
}

// NewTurns makes the given number of places, at most most of them for one name.
func NewTurns(places, most int) *Turns {
	return &Turns{most: most, free: places, names: map[string]*turn{}}
}

// Enter waits for a place, or until ctx ends, whose error it then returns. Each Enter without an error needs a Leave.
func (t *Turns) Enter(ctx context.Context, name string) error {
	t.mu.Lock()
	n := t.names[name]
	if n == nil {
		n = &turn{}
		t.names[name] = n
	}
	if t.free > 0 && n.taken < t.most && len(n.waiting) == 0 {
		t.free--
		n.taken++
		t.mu.Unlock()
		return nil
	}
	place := make(chan struct{})
	if n.waiting = append(n.waiting, place); len(n.waiting) == 1 {
		t.order = append(t.order, name)
	}
	t.mu.Unlock()
	select {
	case <-place:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(n.waiting, place); i >= 0 {
		if n.waiting = slices.Delete(n.waiting, i, i+1); len(n.waiting) == 0 {
			t.order = slices.DeleteFunc(t.order, func(waits string) bool { return waits == name })
			t.forget(name, n)
		}
	} else { // the place was granted at the same moment
		t.leave(name)
	}
	return ctx.Err()
}

// Leave gives a place of the name back.
func (t *Turns) Leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(name)
}

func (t *Turns) leave(name string) {
	n := t.names[name]
	n.taken--
	t.free++
	t.forget(name, n)
	for i := 0; t.free > 0 && i < len(t.order); {
		next := t.order[i]
		n := t.names[next]
		if n.taken >= t.most {
			i++
			continue
		}
		t.free--
		n.taken++
		close(n.waiting[0])
		n.waiting = n.waiting[1:]
		t.order = slices.Delete(t.order, i, i+1)
		if len(n.waiting) > 0 {
			t.order = append(t.order, next) // after all others
		}
	}
}

func (t *Turns) forget(name string, n *turn) {
	if n.taken == 0 && len(n.waiting) == 0 {
		delete(t.names, name)
	}
}

// nameKey is the key of the name in a context.
type nameKey struct{}

// Name is the user that the work of a context is done for; "" for work of the gateway itself.
func Name(ctx context.Context) string {
	if name, _ := ctx.Value(nameKey{}).(*string); name != nil {
		return *name
	}
	return ""
}

// Named is a context whose work is done for a name. It is a value, so that one can be part of a larger one.
type Named struct {
	context.Context
	name *string
}

// For gives the work of a context a name; nil makes it the gateway's own.
func For(ctx context.Context, name *string) Named { return Named{ctx, name} }

// Value returns the context's values, and the name.
func (n *Named) Value(key any) any {
	if key == (nameKey{}) {
		return n.name
	}
	return n.Context.Value(key)
}

var _ context.Context = (*Named)(nil)
