package figures

import (
	"sync"
	"time"
)

const (
	// Every is how often a node looks at its own metrics.
	Every = 5 * time.Second
	// Window is over what time the present is measured.
	Window = time.Minute
	// Slot is the width of a point of the chart.
	Slot = 30 * time.Second
	// Slots is how many points a chart has.
	Slots = 60
)

// Ranges are over what times a node counts, beside Window.
var Ranges = []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour}

// Of the last hour a node keeps its totals at each Slot, and of the time before, as long as the longest of Ranges, at each quarter of an hour.
const (
	fineMarks = time.Hour + Slot
	coarse    = 15 * time.Minute
)

// Point is what was counted in one slot of time.
type Point struct {
	Requests, Failed, Attempts, FailedAttempts float64
}

// Past is the last half hour of a node in memory, and what it had counted at some moments of the last day: some kilobytes, whatever the load. It is
// safe for concurrent use.
type Past struct {
	mu     sync.Mutex
	recent []Totals // those of the last Window, and the one before, oldest first
	marks  []Totals // earlier ones, for Ranges, oldest first
	newest int64    // number of the newest slot: Unix time divided by Slot
	points [Slots]Point
}

// Add takes the node's present totals.
func (p *Past) Add(t Totals) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := t.At.UnixNano() / int64(Slot)
	if p.newest == 0 {
		p.newest = n
	}
	for ; p.newest < n && n-p.newest <= Slots; p.newest++ {
		p.points[(p.newest+1)%Slots] = Point{}
	}
	if p.newest < n {
		p.points, p.newest = [Slots]Point{}, n
	}
	if len(p.recent) > 0 {
		last := &p.recent[len(p.recent)-1]
		g, at := Between(last, &t, t.At.Sub(last.At).Seconds()), &p.points[p.newest%Slots]
		at.Requests += g.Requests
		at.Failed += g.Failed
		at.Attempts += g.Attempts
		at.FailedAttempts += g.FailedAttempts
	}
	p.recent = append(p.recent, t)
	for len(p.recent) > 2 && t.At.Sub(p.recent[1].At) >= Window {
		p.recent = p.recent[1:]
	}
	if k := len(p.marks); k == 0 || t.At.Sub(p.marks[k-1].At) >= Slot {
		p.mark(t)
	}
}

// mark keeps totals, and drops those that are not needed any more.
func (p *Past) mark(t Totals) {
	p.marks = append(p.marks, t)
	longest := Ranges[len(Ranges)-1]
	kept := p.marks[:0]
	for i := range p.marks {
		m := p.marks[i]
		if i+1 < len(p.marks) && t.At.Sub(p.marks[i+1].At) >= longest { // the next one reaches far enough
			continue
		}
		if n := len(kept); n > 0 && t.At.Sub(m.At) > fineMarks && m.At.Sub(kept[n-1].At) < coarse {
			continue
		}
		kept = append(kept, m)
	}
	clear(p.marks[len(kept):])
	p.marks = kept
}

// Over is what was counted within each of Ranges; in less time, which its Seconds say, when the node runs for less.
func (p *Past) Over() []Grown {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Grown, len(Ranges))
	if len(p.recent) == 0 {
		return out
	}
	last := &p.recent[len(p.recent)-1]
	for i, long := range Ranges {
		first := &p.marks[0]
		for k := range p.marks {
			if last.At.Sub(p.marks[k].At) >= long {
				first = &p.marks[k]
			}
		}
		if seconds := last.At.Sub(first.At).Seconds(); seconds > 0 {
			out[i] = Between(first, last, seconds)
		}
	}
	return out
}

// Now is what was counted within the last Window, and the newest totals; zero before there are two.
func (p *Past) Now() (Grown, Totals) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.recent) == 0 {
		return Grown{}, Totals{}
	}
	last := p.recent[len(p.recent)-1]
	if len(p.recent) == 1 {
		return Grown{}, last
	}
	first := &p.recent[0]
	return Between(first, &last, last.At.Sub(first.At).Seconds()), last
}

// Points are the slots, oldest first, and the number of the last one: Unix time divided by Slot. The last one is not over.
func (p *Past) Points() (newest int64, points []Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	points = make([]Point, 0, Slots)
	for i := range int64(Slots) {
		points = append(points, p.points[(p.newest+1+i)%Slots])
	}
	return p.newest, points
}
