package limit

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// shards is how many parts a table has, each with a lock. A power of two.
const shards = 64

// Gate admits by the generic cell rate algorithm: of each name it remembers when its allowances will be full again, and nothing else.
// It is safe for concurrent use; names in different shards do not meet.
type Gate struct {
	start  time.Time
	seed   maphash.Seed
	most   int          // names in one shard
	parted atomic.Int64 // see Share; 0: the allowances are this gate's alone
	bound  int64        // see Bound; 0: none
	parts  [shards]gatePart
}

type gatePart struct {
	mu    sync.Mutex
	full  map[string]*entry
	sweep int      // names at which those without debt are forgotten next
	fresh []string // names that the other nodes should learn of
}

// entry is what a gate knows of a name.
type entry struct {
	full   [Dims]span  // when its allowances are full again
	own    [Dims]int64 // what was taken here and not sent yet: see Use.Taken
	sent   [Dims]int64 // what is being sent
	listed bool        // in fresh
}

// minSweep is the least number of names in a shard at which it is worth looking for some to forget.
const minSweep = 64

// NewGate makes a gate that stores up to about names names whose allowances are not full. A further name takes the place of one that is nearest
// to full: a crowd of new names costs each client no more than what they had left, and does not make the gate forget those who took much.
func NewGate(start time.Time, names int) *Gate {
	g := &Gate{start: start, seed: maphash.MakeSeed(), most: max(names/shards, 1)}
	for i := range g.parts {
		g.parts[i].full, g.parts[i].sweep = map[string]*entry{}, minSweep
	}
	return g
}

// Bound makes d the longest time after which the allowances of a name are full again, however much is charged: what is beyond is forgiven. It
// must be called before the gate is used.
func (g *Gate) Bound(d time.Duration) { g.bound = int64(d) }

// Verdict is the answer to one question to a gate.
type Verdict struct {
	OK   bool
	By   int           // which allowance said no; 0 when OK
	Wait time.Duration // when the same question may get another answer; 0 when OK
	Part bool          // enough is left, but this gate has let its part of it in: see Share

	took  Cost       // when OK, and
	until [Dims]span // when all of it will have refilled
}

// Take takes c from the allowances of a name: all of it, or nothing if one allowance has too little. A request that costs more than an
// allowance can ever hold is admitted when that allowance is full, since otherwise it could never run; the name waits longer afterwards.
func (g *Gate) Take(now time.Time, name string, r *Rates, c Cost) Verdict {
	at := span{ns: int64(now.Sub(g.start))}
	p := g.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.full[name]
	parts := g.parted.Load()
	after, until, took := [Dims]span{}, [Dims]span{}, [Dims]span{}
	for i := range r {
		rate := &r[i]
		if rate.Amount <= 0 {
			continue
		}
		begin := at
		if e != nil && e.full[i].above(at) {
			begin = e.full[i].within(rate)
		}
		cost, depth := rate.spanOf(c[i]), rate.depth()
		took[i] = cost
		known, unsent := begin, int64(0) // begin has what was not sent, once for each part
		if e != nil && parts > 1 {
			unsent = max(e.own[i]+e.sent[i], 0)
			known = rate.sub(begin, span{ns: times(unsent, parts-1)})
		}
		if after[i] = rate.add(known, cost); rate.sub(after[i], at).above(depth) && (!cost.above(depth) || known.above(at)) {
			wait := rate.sub(rate.sub(after[i], depth), at)
			if cost.above(depth) {
				wait = rate.sub(known, at)
			}
			return Verdict{By: i, Wait: max(wait.up(), 1)}
		}
		if until[i] = after[i]; parts <= 1 {
			continue
		}
		// The others may be letting in as much: this gate has its part of what is left, and one request.
		after[i] = rate.add(begin, rate.spanOf(times(c[i], parts)))
		if over := rate.sub(rate.sub(after[i], at), depth); unsent > 0 && c[i] > 0 && over.above(span{}) {
			return Verdict{By: i, Wait: max(min(over.up(), soon), 1), Part: true}
		}
	}
	p.note(g, name, p.keep(g, name, e, at, r, &after), &took)
	return Verdict{OK: true, took: c, until: until}
}

// Correct replaces what Take has reserved by what was used. What of a reservation has refilled since is not given back: others have it.
func (g *Gate) Correct(now time.Time, name string, r *Rates, reserved *Verdict, used Cost) {
	for i := range used {
		used[i] -= reserved.took[i]
	}
	g.charge(now, name, r, used, &reserved.until)
}

// Charge takes c even beyond the allowance, and returns negative amounts. A name in debt waits until its allowance has refilled.
func (g *Gate) Charge(now time.Time, name string, r *Rates, c Cost) { g.charge(now, name, r, c, nil) }

// charge is Charge; where until is set, no more is returned than refills until then.
func (g *Gate) charge(now time.Time, name string, r *Rates, c Cost, until *[Dims]span) {
	at := span{ns: int64(now.Sub(g.start))}
	p := g.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.full[name]
	parts := max(g.parted.Load(), 1)
	after, took := [Dims]span{}, [Dims]span{}
	for i := range r {
		rate := &r[i]
		if rate.Amount <= 0 {
			continue
		}
		after[i] = at
		if e != nil && e.full[i].above(at) {
			after[i] = e.full[i].within(rate)
		}
		if c[i] >= 0 {
			took[i] = rate.spanOf(c[i])
			after[i] = g.bounded(at, after[i], rate.add(after[i], rate.spanOf(times(c[i], parts))))
			continue
		}
		back := rate.spanOf(-max(c[i], -math.MaxInt64))
		if until != nil {
			if still := rate.sub(until[i].within(rate), at); back.above(still) {
				back = still
			}
			if none := (span{}); none.above(back) {
				back = none
			}
		}
		after[i] = rate.sub(after[i], back) // once: the others may know of what was reserved already
		took[i] = span{ns: -back.ns}
	}
	if e == nil && max(c[0], c[1], c[2]) <= 0 {
		return // its allowances are full already
	}
	p.note(g, name, p.keep(g, name, e, at, r, &after), &took)
}

// bounded is after, or the bound on debt where that is sooner and not before what there was.
func (g *Gate) bounded(at, before, after span) span {
	if most := (span{ns: at.ns + g.bound}); g.bound > 0 && after.above(most) {
		if before.above(most) {
			return before
		}
		return most
	}
	return after
}

// Left is how much of each allowance is left, 0 for one that is in debt or off.
func (g *Gate) Left(now time.Time, name string, r *Rates) (left [Dims]int64) {
	at := span{ns: int64(now.Sub(g.start))}
	p := g.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.full[name]
	for i := range r {
		rate := &r[i]
		if rate.Amount <= 0 {
			continue
		}
		free := rate.depth()
		if e != nil && e.full[i].above(at) {
			free = rate.sub(free, rate.sub(e.full[i].within(rate), at))
		}
		left[i] = rate.units(free)
	}
	return left
}

// Full is after which time each allowance of a name is full again.
func (g *Gate) Full(now time.Time, name string) (in [Dims]time.Duration) {
	p := g.part(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.full[name]; e != nil {
		for i := range in {
			in[i] = max(e.full[i].up()-now.Sub(g.start), 0)
		}
	}
	return in
}

// Names is how many names are remembered.
func (g *Gate) Names() (n int) {
	for i := range g.parts {
		p := &g.parts[i]
		p.mu.Lock()
		n += len(p.full)
		p.mu.Unlock()
	}
	return n
}

// within makes s fit for a rate that may have another amount than the one it was made with.
func (s span) within(r *Rate) span {
	s.part = min(s.part, r.Amount-1)
	return s
}

func (g *Gate) part(name string) *gatePart {
	return &g.parts[maphash.String(g.seed, name)%shards]
}

// keep writes down when a name's allowances will be full.
func (p *gatePart) keep(g *Gate, name string, e *entry, at span, r *Rates, after *[Dims]span) *entry {
	if e == nil {
		e = p.add(g, name, at)
	}
	for i := range r {
		if r[i].Amount > 0 {
			e.full[i] = after[i]
		}
	}
	return e
}

// add makes an entry for a name, and room for it.
func (p *gatePart) add(g *Gate, name string, at span) *entry {
	switch {
	case len(p.full) >= g.most:
		p.makeRoom(at)
	case len(p.full) >= p.sweep:
		p.forget(g, at)
	}
	e := new(entry)
	p.full[name] = e
	return e
}

// forget drops names whose allowances are full: a new name starts with the same.
func (p *gatePart) forget(g *Gate, at span) {
	for name, e := range p.full {
		if !e.until().above(at) {
			delete(p.full, name)
		}
	}
	p.sweep = min(max(2*len(p.full), minSweep), g.most)
}

// looks is how many names are looked at to find one that makes room: a flood of new names must not cost a pass through all for each.
const looks = 64

// makeRoom forgets, of some names, those whose allowances are full, or else the one that is nearest to it.
func (p *gatePart) makeRoom(at span) {
	nearest, until, looked := "", span{}, 0
	for name, e := range p.full {
		switch full := e.until(); {
		case !full.above(at):
			delete(p.full, name)
			nearest, until = "", at
		case looked == 0 || until.above(full):
			nearest, until = name, full
		}
		if looked++; looked == looks {
			break
		}
	}
	if nearest != "" {
		delete(p.full, nearest)
	}
}

// until is when all allowances are full again.
func (e *entry) until() span {
	full := e.full[0]
	for _, other := range e.full[1:] {
		if other.above(full) {
			full = other
		}
	}
	return full
}
