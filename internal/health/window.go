package health

import (
	"math"
	"time"
)

// Span is a length of time that figures are kept for.
type Span uint8

// The spans. Each is kept in slots, the running one and those before it, so that figures reach back a little less than its name says,
// by up to one slot.
const (
	HalfMinute  Span = iota // slots of 5 s
	FiveMinutes             // of 30 s
	HalfHour                // of 3 min
	Day                     // of 2 h
	spans
)

var layout = [spans]struct {
	slot  time.Duration
	slots int
}{{5 * time.Second, 6}, {30 * time.Second, 10}, {3 * time.Minute, 10}, {2 * time.Hour, 12}}

// Figures are the figures of an endpoint in one span. Percentiles are p50, p75, p90, p99, 0 when nothing was measured: the value that
// this percentage of the attempts reached or did better than. Those of the latency grow, those of the throughput fall.
type Figures struct {
	Served, Failed, Limited int64
	Latency                 [4]float64 // seconds to first content
	Throughput              [4]float64 // tokens per second
}

// Attempts is how many attempts have said something.
func (f *Figures) Attempts() int64 { return f.Served + f.Failed + f.Limited }

// cell is one slot.
type cell struct {
	served, failed, limited uint32
	latency, throughput     histogram
}

// minGenerating is how long an answer must take from its first content to its end for its tokens to be measured over that time. A faster
// answer, or one in one piece, is measured over the whole attempt: its tokens were made before the first of them was sent.
const minGenerating = 50 * time.Millisecond

// counted is a sample as cells count it: seconds to first content and tokens per second, 0 for none.
type counted struct {
	result              Result
	latency, throughput float64
}

func (s *Sample) counted() counted {
	c := counted{result: s.Result}
	if s.Latency > 0 {
		c.latency = s.Latency.Seconds()
	}
	if over := s.Took; s.Result == Served && s.Tokens > 0 && over > 0 {
		if s.Took-s.Latency >= minGenerating {
			over -= s.Latency
		}
		c.throughput = float64(s.Tokens) / over.Seconds()
	}
	return c
}

func (c *cell) count(s counted) {
	switch s.result {
	case Served:
		c.served++
	case Limited:
		c.limited++
	default:
		c.failed++
	}
	if s.latency > 0 {
		c.latency.add(bucket(s.latency, quickest), 1, float32(s.latency))
	}
	if s.throughput > 0 {
		c.throughput.add(bucket(s.throughput, slowest), 1, float32(s.throughput))
	}
}

// ring holds the slots of one span. A slot without an attempt is nil.
type ring struct {
	slot   int64 // nanoseconds
	newest int64 // number of the newest slot: Unix time divided by slot
	cells  []*cell

	current *cell // of the newest slot, or nil
	ends    int64 // when it is over
}

func newRing(s Span) ring {
	return ring{slot: int64(layout[s].slot), cells: make([]*cell, layout[s].slots)}
}

// at is the cell of a moment. One that is older than the whole ring is counted with the oldest.
func (r *ring) at(now int64) *cell {
	if r.current != nil && now < r.ends && now >= r.ends-r.slot {
		return r.current
	}
	n, size := now/r.slot, int64(len(r.cells))
	var spare *cell
	for r.newest < n {
		r.newest = max(r.newest+1, n-size+1)
		at := r.newest % size
		if r.cells[at] != nil {
			spare, r.cells[at] = r.cells[at], nil
		}
	}
	at := max(n, r.newest-size+1) % size
	if r.cells[at] == nil {
		if spare == nil {
			spare = new(cell)
		} else {
			*spare = cell{}
		}
		r.cells[at] = spare
	}
	if n == r.newest {
		r.current, r.ends = r.cells[at], (n+1)*r.slot
	}
	return r.cells[at]
}

// sum adds up the slots that are not over.
func (r *ring) sum(now int64) (f Figures) {
	var latency, throughput histogram
	n, size := now/r.slot, int64(len(r.cells))
	for i := max(n-size, r.newest-size) + 1; i <= r.newest; i++ {
		c := r.cells[i%size]
		if c == nil {
			continue
		}
		f.Served += int64(c.served)
		f.Failed += int64(c.failed)
		f.Limited += int64(c.limited)
		latency.merge(&c.latency)
		throughput.merge(&c.throughput)
	}
	f.Latency, f.Throughput = latency.percentiles(false), throughput.percentiles(true)
	return f
}

// Buckets grow by the third root of two: a percentile that is read back is at most 26 % off, and exact where a bucket has one value. With the
// smallest bounds below, they reach from 1 ms to 37 min, and from 0.1 to 220,000 tokens a second.
const (
	buckets   = 64
	perDouble = 3
	quickest  = 0.001 // seconds
	slowest   = 0.1   // tokens per second
)

// histogram counts values; bucket i has those up to smallest x 2^(i/3) and above the one before it. The first and the last also have the
// values beyond them. Its mean is what is shown for its values: something that was measured, and not the bucket's middle.
type histogram struct {
	n    [buckets]uint32
	mean [buckets]float32
}

// add counts n values of a bucket, of which mean is the mean.
func (h *histogram) add(bucket int, n uint32, mean float32) {
	h.n[bucket] += n
	h.mean[bucket] += (mean - h.mean[bucket]) * float32(float64(n)/float64(h.n[bucket]))
}

// bucket is where a value is counted.
func bucket(v, smallest float64) int {
	if v <= smallest {
		return 0
	}
	return int(min(math.Ceil(perDouble*math.Log2(v/smallest)), buckets-1))
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.n {
		if n > 0 {
			h.add(i, n, other.mean[i])
		}
	}
}

// percentiles reads p50, p75, p90 and p99, counted from the lowest value or from the highest: the mean of the bucket in which that
// percentage is reached.
func (h *histogram) percentiles(fromHighest bool) (p [4]float64) {
	var total uint64
	for _, n := range h.n {
		total += uint64(n)
	}
	if total == 0 {
		return p
	}
	var passed uint64
	next := 0
	for i := range h.n {
		if fromHighest {
			i = buckets - 1 - i
		}
		passed += uint64(h.n[i])
		for next < len(p) && passed*100 >= total*ranks[next] {
			p[next] = float64(h.mean[i])
			next++
		}
	}
	return p
}

// percentile is one of them.
func (h *histogram) percentile(rank uint64, fromHighest bool) float64 {
	var total, passed uint64
	for _, n := range h.n {
		total += uint64(n)
	}
	for i := range h.n {
		if fromHighest {
			i = buckets - 1 - i
		}
		if passed += uint64(h.n[i]); h.n[i] > 0 && passed*100 >= total*rank {
			return float64(h.mean[i])
		}
	}
	return 0
}

// Bin is how many values of a measurement were above From and up to To. The first one that there can be begins at 0, and the last has no end, +Inf.
type Bin struct {
	From, To float64
	N        int64
}

// bins are those from the lowest value to the highest, the empty ones between them as well.
func (h *histogram) bins(smallest float64) (all []Bin) {
	last := 0
	for i, n := range h.n {
		if n == 0 && len(all) == 0 {
			continue
		}
		b := Bin{From: smallest * math.Exp2(float64(i-1)/perDouble), To: smallest * math.Exp2(float64(i)/perDouble), N: int64(n)}
		if i == 0 {
			b.From = 0
		}
		if i == buckets-1 {
			b.To = math.Inf(1)
		}
		if all = append(all, b); n > 0 {
			last = len(all)
		}
	}
	return all[:last]
}

var ranks = [4]uint64{50, 75, 90, 99}
