package batch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/limit"
)

// group is lines that are gathered for a part.
type group struct {
	endpoint, path string
	header         map[string][]string
	items          []*Item
	requests       []Request
	terms          map[string][]byte // encoded, by id
	bytes          int64
	since          time.Time
}

func groupKey(d *completion.Deferred) string {
	key := d.Endpoint + "\x00" + d.Path
	for _, name := range slices.Sorted(maps.Keys(d.Header)) {
		key += "\x00" + name + ": " + strings.Join(d.Header[name], ",")
	}
	return key
}

// ours are errors that have nothing to do with providers: the line is offered again.
func ours(e *fault.Error) bool {
	switch e.Kind {
	case fault.PaymentRequired, fault.RateLimited, fault.Overloaded, fault.StorageUnavailable, fault.Draining:
		return e.Upstream == nil
	}
	return false
}

// offer prepares a line for a provider's batch. Without taken, answer is what became of it, or nil: the line is called by itself.
func (r *running) offer(ctx context.Context, it *Item, caller *apikey.Caller, body []byte) (taken bool, answer *Answer) {
	s, b := r.s, r.b
	size := int64(len(body))
	if s.gathered.Take(b.User, size) != limit.None {
		r.flush()
		r.back(it, wait)
		return true, nil
	}
	d := &completion.Deferred{}
	c := &Call{Caller: caller, Endpoint: b.Endpoint, Body: body, Generation: it.Generation, Version: b.Version, Betas: b.Betas, Tags: b.Tags, Deferred: d}
	a := s.runner.Run(ctx, c)
	if d.Body == nil {
		s.gathered.Give(b.User, size)
		if a.Err != nil && (ours(a.Err) || d.Required) {
			return false, &a
		}
		it.own = true
		return false, nil
	}
	if more := int64(len(d.Body)) - size; more > 0 {
		s.gathered.Force(b.User, more)
		size += more
	}
	it.held, it.required = c.Held, d.Required
	terms := termsOf(caller, c.Preset).encode()
	it.Terms = termsID(terms)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	r.waiting++
	key := groupKey(d)
	g := r.groups[key]
	if g == nil {
		g = &group{endpoint: d.Endpoint, path: d.Path, header: d.Header, terms: map[string][]byte{}, since: s.now()}
		r.groups[key] = g
	}
	g.terms[it.Terms] = terms
	g.items = append(g.items, it)
	g.requests = append(g.requests, Request{Line: it.Line, Body: d.Body})
	g.bytes += size
	most := partLines
	if d.Most > 0 {
		most = min(most, d.Most)
	}
	if g.bytes >= s.cfg.Gather/gatherShare/2 || len(g.items) >= most {
		delete(r.groups, key)
		r.ready = append(r.ready, g)
	}
	return true, nil
}

// flush has the largest group sent, however small it is.
func (r *running) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	largest := ""
	for key, g := range r.groups {
		if largest == "" || g.bytes > r.groups[largest].bytes {
			largest = key
		}
	}
	if g := r.groups[largest]; g != nil {
		delete(r.groups, largest)
		r.ready = append(r.ready, g)
	}
}

// full takes a group that is to be sent: one that is full, or any when no lines come any more for a while.
func (r *running) full() *group {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ready) > 0 {
		g := r.ready[0]
		r.ready = r.ready[1:]
		return g
	}
	now := r.s.now()
	all := r.busy == 0 && (r.pausedTo.After(now) || r.end && !slices.ContainsFunc(r.retry, func(it *Item) bool { return !it.due.After(now) }))
	for key, g := range r.groups {
		if !all && now.Sub(g.since) < gatherFor {
			continue
		}
		delete(r.groups, key)
		return g
	}
	return nil
}
