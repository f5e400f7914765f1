package health

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
)

// A snapshot is one byte of version, the number of endpoints, and for each its id, its guard and the slots of each span that hold
// something. Numbers are varints, text has its length before it. A change of the layout of slots or buckets is another version.
const snapshotVersion = 2

const maxID = 1 << 10 // bytes

// Snapshot is all that is worth keeping over a restart, for Restore.
func (r *Registry) Snapshot() []byte {
	known := *r.known.Load()
	b := binary.AppendUvarint([]byte{snapshotVersion}, uint64(len(known)))
	for _, id := range slices.Sorted(maps.Keys(known)) {
		b = binary.AppendUvarint(b, uint64(len(id)))
		b = append(b, id...)
		b = known[id].append(b)
	}
	return b
}

func (e *endpoint) append(b []byte) []byte {
	e.guard.mu.Lock()
	b = append(b, byte(e.guard.state))
	for _, n := range []int64{int64(e.guard.row.length(math.MaxInt32)), int64(e.guard.times), e.guard.until} {
		b = binary.AppendVarint(b, n)
	}
	e.guard.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.rings {
		b = e.rings[i].append(b)
	}
	return b
}

func (r *ring) append(b []byte) []byte {
	size, held := int64(len(r.cells)), uint64(0)
	for _, c := range r.cells {
		if c != nil {
			held++
		}
	}
	b = binary.AppendUvarint(b, held)
	for n := r.newest - size + 1; n <= r.newest; n++ {
		if n < 0 || r.cells[n%size] == nil {
			continue
		}
		c := r.cells[n%size]
		b = binary.AppendUvarint(b, uint64(n))
		for _, count := range []uint32{c.served, c.failed, c.limited} {
			b = binary.AppendUvarint(b, uint64(count))
		}
		b = c.throughput.append(c.latency.append(b, true), true)
	}
	return b
}

// append writes how many values each bucket has, and with means also what they are.
func (h *histogram) append(b []byte, means bool) []byte {
	held := uint64(0)
	for _, n := range h.n {
		if n > 0 {
			held++
		}
	}
	b = binary.AppendUvarint(b, held)
	for i, n := range h.n {
		if n > 0 {
			b = append(b, byte(i))
			b = binary.AppendUvarint(b, uint64(n))
			if means {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(h.mean[i]))
			}
		}
	}
	return b
}

var errSnapshot = errors.New("not a snapshot of endpoint health, or one of another version")

// Restore loads a snapshot, as far as it is not too old; entries with a time in the future are left out. It replaces the present state.
// After an error nothing has changed.
func (r *Registry) Restore(snapshot []byte) error {
	d := &decoder{b: snapshot}
	if d.byte() != snapshotVersion {
		return errSnapshot
	}
	known, now := map[string]*endpoint{}, r.now()
	for n := d.uint(uint64(len(d.b))); n > 0; n-- {
		id := d.text()
		e := newEndpoint()
		d.guard(&e.guard, now, &r.cfg)
		for i := range e.rings {
			d.ring(&e.rings[i], now)
		}
		if d.bad {
			return errSnapshot
		}
		known[id] = e
	}
	if d.bad || len(d.b) > 0 {
		return errSnapshot
	}
	r.grow.Lock()
	defer r.grow.Unlock()
	r.known.Store(&known)
	return nil
}

// decoder reads a snapshot. Once something is wrong, it reads zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

// uint reads a number of at most limit.
func (d *decoder) uint(limit uint64) uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > limit {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) text() string {
	n := d.uint(min(maxID, uint64(len(d.b))))
	if n > uint64(len(d.b)) {
		d.bad = true
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// guard reads a state. A probe that was under way is lost; an ejection is never longer than it could be now.
func (d *decoder) guard(g *guard, now int64, cfg *Config) {
	s := state(d.byte())
	length, times, until := d.int(), d.int(), d.int()
	if s > probing || length < 0 || length > math.MaxInt32 || times < 0 || times > math.MaxInt32 {
		d.bad = true
		return
	}
	if s == probing {
		s = ejected
	}
	g.state, g.row.rest, g.times = s, int(length), int(times)
	switch s {
	case cooling:
		g.until = min(until, now+int64(cfg.MaxCoolDown))
	case ejected:
		g.until = min(until, now+int64(cfg.MaxEjection))
	}
	g.troubled.Store(g.state != steady || length > 0)
}

func (d *decoder) ring(r *ring, now int64) {
	size, current := int64(len(r.cells)), now/r.slot
	last := int64(-1)
	for n := d.uint(uint64(size)); n > 0 && !d.bad; n-- {
		slot := int64(d.uint(math.MaxInt64))
		c := &cell{served: d.count(), failed: d.count(), limited: d.count()}
		d.histogram(&c.latency, 0)
		d.histogram(&c.throughput, 0)
		if slot <= last {
			d.bad = true
			return
		}
		last = slot
		if slot > current-size && slot <= current && !d.bad {
			*r.at(slot * r.slot) = *c
		}
	}
}

func (d *decoder) count() uint32 { return uint32(d.uint(math.MaxUint32)) }

// mean reads the mean of a bucket's values.
func (d *decoder) mean() float32 {
	if len(d.b) < 4 {
		d.bad, d.b = true, nil
		return 0
	}
	m := math.Float32frombits(binary.LittleEndian.Uint32(d.b))
	d.b = d.b[4:]
	if !(m >= 0 && m < math.MaxFloat32) {
		d.bad = true
	}
	return m
}

// histogram reads what append has written: with means where smallest is 0, else the middle of a bucket stands for its values.
func (d *decoder) histogram(h *histogram, smallest float64) {
	for n := d.uint(buckets); n > 0 && !d.bad; n-- {
		i := d.byte()
		if i >= buckets {
			d.bad = true
			return
		}
		n, mean := d.count(), float32(smallest*math.Exp2((float64(i)-0.5)/perDouble))
		if smallest == 0 {
			mean = d.mean()
		}
		if d.bad = d.bad || n == 0; !d.bad {
			h.add(int(i), n, mean)
		}
	}
}
