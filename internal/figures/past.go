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

// Point is what was counted in one slot of time.
type Point struct {
	Requests, Failed, Attempts, FailedAttempts float64
}

// Past is the last half hour of a node in memory: some kilobytes, whatever the load. It is safe for concurrent use.
type Past struct {
	mu     sync.Mutex
	recent []Totals // those of the last Window, and the one before, oldest first
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
