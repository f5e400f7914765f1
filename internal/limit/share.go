package limit

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Nodes that share allowances tell one another what each has let in, through something that sums it up: when the allowances of each name will be
// full again. In between a node lets in its part of what it believes to be left, and in any case one request. With two parts for each node, all of
// them together exceed an allowance by at most half of it and one request for each further node: what a node believes is a moment old. That is made
// up for, because the name waits longer afterwards. A node that cannot tell goes on with its part of the rate.

// soon is when a node that has let its part in knows more.
const soon = time.Second

// Use is what a node has let in of a name, as the time in which each of its allowances refills by so much; below zero for what was given back.
type Use struct {
	Name  string
	Taken [Dims]time.Duration
	Most  time.Duration // with all that others have taken it counts as at most so much: see Bound; 0: as it is
}

// Full says in what time the allowances of a name will be full; below zero for those that are.
type Full struct {
	Name string
	In   [Dims]time.Duration
}

// Share divides the allowances into so many parts, of which this gate has one. Before the first call they are its own, and Uses is empty.
func (g *Gate) Share(parts int64) { g.parted.Store(max(parts, 1)) }

// Uses are at most about most names that the other nodes should learn of. Each call must be followed by Learn with what the nodes
// know then, or by Unsent.
func (g *Gate) Uses(most int) (all []Use) {
	for i := range g.parts {
		p := &g.parts[i]
		p.mu.Lock()
		n := min(len(p.fresh), max(most-len(all), 0))
		for _, name := range p.fresh[:n] {
			e := p.full[name]
			if e == nil || !e.listed {
				continue // its allowances are full, or it made room for others
			}
			u := Use{Name: name, Most: time.Duration(g.bound)}
			for d := range e.own {
				u.Taken[d] = time.Duration(e.own[d])
			}
			e.sent, e.own, e.listed = e.own, [Dims]int64{}, false
			all = append(all, u)
		}
		p.fresh = slices.Delete(p.fresh, 0, n)
		p.mu.Unlock()
	}
	return all
}

// Learn takes over what all nodes have let in, and marks what was sent as known to them.
func (g *Gate) Learn(now time.Time, told []Use, all []Full) {
	for i := range told {
		p := g.part(told[i].Name)
		p.mu.Lock()
		if e := p.full[told[i].Name]; e != nil {
			e.sent = [Dims]int64{}
		}
		p.mu.Unlock()
	}
	parts := max(g.parted.Load(), 1)
	at := span{ns: int64(now.Sub(g.start))}
	for i := range all {
		g.learn(at, parts, &all[i])
	}
}

func (g *Gate) learn(at span, parts int64, f *Full) {
	p := g.part(f.Name)
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.full[f.Name]
	if e == nil {
		if max(f.In[0], f.In[1], f.In[2]) <= 0 {
			return
		}
		e = p.add(g, f.Name, at)
	}
	for d := range f.In {
		in := min(max(int64(f.In[d]), 0), never)
		in = g.atMost(in + min(times(max(e.own[d], 0), parts), never))
		e.full[d] = span{ns: min(at.ns+in, never)}
	}
}

// Unsent takes back what Uses gave, because it could not be sent to the other nodes for so long. What this node's part of the rate has refilled
// meanwhile need not be sent any more.
func (g *Gate) Unsent(uses []Use, since time.Duration) {
	refilled := int64(since) / max(g.parted.Load(), 1)
	for i := range uses {
		name := uses[i].Name
		p := g.part(name)
		p.mu.Lock()
		if e := p.full[name]; e != nil {
			for d := range e.sent {
				if e.sent[d] > 0 {
					e.sent[d] = max(e.sent[d]-refilled, 0)
				}
				e.own[d] = g.atMost(e.own[d] + e.sent[d])
			}
			e.sent = [Dims]int64{}
			p.list(g, name, e)
		}
		p.mu.Unlock()
	}
}

// note writes down what was taken, if others are to learn of it: the time in which it refills, below zero for what was returned.
func (p *gatePart) note(g *Gate, name string, e *entry, took *[Dims]span) {
	if g.parted.Load() == 0 {
		return
	}
	for i := range took {
		ns := took[i].ns
		if took[i].part > 0 && ns == 0 {
			ns = 1
		}
		e.own[i] = g.atMost(max(e.own[i]+ns, -never))
	}
	p.list(g, name, e)
}

// atMost is a time until an allowance is full, or the longest that it may be.
func (g *Gate) atMost(ns int64) int64 {
	if g.bound > 0 {
		return min(ns, g.bound)
	}
	return min(ns, never)
}

func (p *gatePart) list(g *Gate, name string, e *entry) {
	if e.listed || e.own == ([Dims]int64{}) {
		return
	}
	if len(p.fresh) >= 2*g.most {
		p.unlist()
	}
	e.listed = true
	p.fresh = append(p.fresh, name)
}

// unlist drops the names that have made room for others.
func (p *gatePart) unlist() {
	p.fresh = slices.DeleteFunc(p.fresh, func(name string) bool {
		e := p.full[name]
		if e == nil || !e.listed {
			return true
		}
		e.listed = false // so that a name that was listed before it made room is kept once
		return false
	})
	for _, name := range p.fresh {
		p.full[name].listed = true
	}
}

// times is a product of two numbers that are not negative, at most the largest number.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}
