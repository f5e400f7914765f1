package relay

import (
	"context"
	"sync"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
)

// Stops keeps which keys were stopped lately, for all nodes. A store does.
type Stops interface {
	// AddStop notes that a key is stopped, and has other nodes look at once if it can. It forgets stops of long ago.
	AddStop(ctx context.Context, key string) error
	// KeyStops lists the stops of the last minutes.
	KeyStops(ctx context.Context) ([]KeyStop, error)
}

// KeyStop is how often a key has been stopped lately: when the number changes, it was stopped again.
type KeyStop struct {
	Key string
	N   int64
}

// stoppedFor is how long calls with a key that was stopped are refused, whatever a node remembers of the key: longer than it may be out of date.
const stoppedFor = 5 * time.Second

// errStopped is the end of a call whose key was stopped.
var errStopped = fault.New(fault.PermissionDenied, "relay.Stop", "The calls of this key were stopped.").Coded("key_stopped")

// running are the calls under way, by their keys and those above them.
type running struct {
	mu      sync.Mutex
	calls   map[string]*place    // the last one that began, by key
	stopped map[string]time.Time // when, of keys that were stopped lately
	seen    map[string]int64     // KeyStop.N of what is done
}

// endable is a call that can be ended.
type endable struct {
	end   context.CancelCauseFunc
	first place // among the calls of its key
	above []place
}

// place is where a call is among those of a key.
type place struct {
	key           string
	call          *endable
	before, after *place // before began later
}

// enter notes that a call begins. Its context ends when a key of its caller is stopped; leave is to be called with what it returns, at the end.
func (r *running) enter(ctx context.Context, c *apikey.Caller, now func() time.Time) (context.Context, *endable) {
	x := &endable{first: place{key: c.Key}}
	if len(c.Above) > 0 {
		x.above = make([]place, len(c.Above))
	}
	ctx, x.end = context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(x, &x.first, now)
	for i := range x.above {
		x.above[i].key = c.Above[i].Key
		r.add(x, &x.above[i], now)
	}
	return ctx, x
}

func (r *running) add(x *endable, p *place, now func() time.Time) {
	if at, ok := r.stopped[p.key]; ok && now().Sub(at) < stoppedFor {
		x.end(errStopped)
	}
	p.call, p.after = x, r.calls[p.key]
	if p.after != nil {
		p.after.before = p
	}
	r.calls[p.key] = p
}

func (r *running) leave(x *endable) {
	r.mu.Lock()
	r.remove(&x.first)
	for i := range x.above {
		r.remove(&x.above[i])
	}
	r.mu.Unlock()
	x.end(nil)
}

func (r *running) remove(p *place) {
	if p.after != nil {
		p.after.before = p.before
	}
	switch {
	case p.before != nil:
		p.before.after = p.after
	case p.after != nil:
		r.calls[p.key] = p.after
	default:
		delete(r.calls, p.key)
	}
}

// stop ends the calls of a key and of all keys that come from it.
func (r *running) stop(key string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, at := range r.stopped {
		if now.Sub(at) >= stoppedFor {
			delete(r.stopped, k)
		}
	}
	r.stopped[key] = now
	for p := r.calls[key]; p != nil; p = p.after {
		p.call.end(errStopped)
	}
}

// news are the keys that were stopped since the last look. The first one finds none: it is before any call.
func (r *running) news(all []KeyStop) (keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := make(map[string]int64, len(all))
	for _, s := range all {
		if r.seen != nil && r.seen[s.Key] != s.N {
			keys = append(keys, s.Key)
		}
		seen[s.Key] = s.N
	}
	r.seen = seen
	return keys
}

// Stop ends the running calls of a key, and of all keys that come from it, on all nodes within a second. They are charged for what they have delivered.
// On this node it has happened when Stop returns. Calls that begin in the next seconds end at once; for good it is the key that must be disabled, before.
// It fails with fault.StorageUnavailable when other nodes may not hear of it.
func (r *Relay) Stop(ctx context.Context, key string) error {
	r.running.stop(key, r.Now())
	if r.Stops == nil {
		return nil
	}
	return r.Stops.AddStop(ctx, key)
}

// LookForStops ends the calls of keys that other nodes have stopped since it last looked.
func (r *Relay) LookForStops(ctx context.Context) error {
	all, err := r.Stops.KeyStops(ctx)
	if err != nil {
		return err
	}
	for _, key := range r.running.news(all) {
		r.running.stop(key, r.Now())
	}
	return nil
}
