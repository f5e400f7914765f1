// Package metric counts what a program does, and writes it in the text format that Prometheus reads. It is small on purpose: counters, gauges and
// histograms with labels, no protocol buffers, no pushing. It must know nothing of what is counted.
package metric

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Registry holds metrics by name. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	families map[string]*family
}

// New makes an empty Registry.
func New() *Registry { return &Registry{families: map[string]*family{}} }

// Kind is what a metric is, in the words of the text format.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
)

// family is all series of one name.
type family struct {
	name, help string
	kind       Kind
	labels     []string
	bounds     []float64 // of a histogram

	mu     sync.RWMutex
	series map[string]*series
}

// series is one combination of values of the labels.
type series struct {
	labels string         // as written, without braces
	value  number         // of a counter or a gauge; the sum of a histogram
	read   func() float64 // instead of value, if not nil
	counts []atomic.Uint64
	bounds []float64
	traced atomic.Pointer[[]atomic.Pointer[example]] // by class, as counts; nil until one was traced
}

// example is an observation of which there is a trace.
type example struct {
	trace string
	value float64
	at    time.Time
}

// number is a float64 to which several goroutines add. Whole steps of one, which are the most, are kept apart: adding them cannot fail.
type number struct {
	ones atomic.Uint64
	bits atomic.Uint64
}

func (n *number) add(x float64) {
	for {
		old := n.bits.Load()
		if n.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+x)) {
			return
		}
	}
}

func (n *number) load() float64 {
	return float64(n.ones.Load()) + math.Float64frombits(n.bits.Load())
}

// family returns the one with this name, and makes it if there is none. Names, labels and bounds are constants of the program: an invalid
// one, or one that two metrics use differently, panics.
func (r *Registry) family(k Kind, name, help string, bounds []float64, labels []string) *family {
	for _, one := range append([]string{name}, labels...) {
		if !validName(one) {
			panic("metric: invalid name " + one)
		}
	}
	if !slices.IsSorted(bounds) {
		panic("metric: the bounds of " + name + " do not rise")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.families[name]
	if f == nil {
		f = &family{name: name, help: help, kind: k, labels: labels, bounds: bounds, series: map[string]*series{}}
		r.families[name] = f
		if len(labels) == 0 {
			f.with(nil)
		}
	}
	if f.kind != k || !slices.Equal(f.labels, labels) || !slices.Equal(f.bounds, bounds) {
		panic("metric: two metrics named " + name)
	}
	return f
}

func validName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// with finds or makes a series.
func (f *family) with(values []string) *series {
	if len(values) != len(f.labels) {
		panic("metric: wrong number of labels for " + f.name)
	}
	key := strings.Join(values, "\xff") // in no valid text
	f.mu.RLock()
	s := f.series[key]
	f.mu.RUnlock()
	if s != nil {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s = f.series[key]; s == nil {
		s = &series{labels: f.pairs(values), bounds: f.bounds}
		if f.kind == KindHistogram {
			s.counts = make([]atomic.Uint64, len(f.bounds)+1)
		}
		f.series[key] = s
	}
	return s
}

// pairs writes labels, by name.
func (f *family) pairs(values []string) string {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(f.labels[a], f.labels[b]) })
	var out []byte
	for n, i := range order {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(out, f.labels[i]...), `="`...)
		out = append(appendEscaped(out, strings.ToValidUTF8(values[i], "\uFFFD"), true), '"')
	}
	return string(out)
}

// Counter only grows.
type Counter struct{ s *series }

// Inc adds one.
func (c *Counter) Inc() { c.s.value.ones.Add(1) }

// Add adds n; what is negative or no number is left out.
func (c *Counter) Add(n float64) {
	if n > 0 {
		c.s.value.add(n)
	}
}

// Gauge goes up and down.
type Gauge struct{ s *series }

// Set replaces its value.
func (g *Gauge) Set(x float64) { g.s.value.bits.Store(math.Float64bits(x)) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n float64) { g.s.value.add(n) }

// Histogram counts observations by size.
type Histogram struct{ s *series }

// Observe counts x. NaN is counted as larger than all bounds, and not summed.
func (h *Histogram) Observe(x float64) {
	h.s.counts[h.s.class(x)].Add(1)
	if x == x { //nolint:gocritic // false for NaN
		h.s.value.add(x)
	}
}

// ObserveTraced counts x, and keeps it as the example of its class: trace is the id of a trace in hex, "" for none.
func (h *Histogram) ObserveTraced(x float64, trace string, at time.Time) {
	h.Observe(x)
	if trace == "" || x != x { //nolint:gocritic // true for NaN
		return
	}
	all := h.s.traced.Load()
	if all == nil {
		made := make([]atomic.Pointer[example], len(h.s.counts))
		h.s.traced.CompareAndSwap(nil, &made)
		all = h.s.traced.Load()
	}
	(*all)[h.s.class(x)].Store(&example{trace, x, at})
}

// class is the number of the class that x belongs to.
func (s *series) class(x float64) (i int) {
	for i < len(s.bounds) && !(x <= s.bounds[i]) {
		i++
	}
	return i
}

// Counters are counters that differ by the values of labels.
type Counters struct{ f *family }

// With finds or makes one; the values are in the order of the labels.
func (c *Counters) With(values ...string) *Counter { return &Counter{c.f.with(values)} }

// Gauges are gauges that differ by the values of labels.
type Gauges struct{ f *family }

// With finds or makes one; the values are in the order of the labels.
func (g *Gauges) With(values ...string) *Gauge { return &Gauge{g.f.with(values)} }

// Histograms are histograms that differ by the values of labels.
type Histograms struct{ f *family }

// With finds or makes one; the values are in the order of the labels.
func (h *Histograms) With(values ...string) *Histogram { return &Histogram{h.f.with(values)} }

// Counter returns the counter of that name, and makes it first if necessary, as all of these do.
func (r *Registry) Counter(name, help string) *Counter {
	return &Counter{r.family(KindCounter, name, help, nil, nil).with(nil)}
}

// Counters returns the counters of that name.
func (r *Registry) Counters(name, help string, labels ...string) *Counters {
	return &Counters{r.family(KindCounter, name, help, nil, labels)}
}

// Gauge returns the gauge of that name.
func (r *Registry) Gauge(name, help string) *Gauge {
	return &Gauge{r.family(KindGauge, name, help, nil, nil).with(nil)}
}

// Gauges returns the gauges of that name.
func (r *Registry) Gauges(name, help string, labels ...string) *Gauges {
	return &Gauges{r.family(KindGauge, name, help, nil, labels)}
}

// Histogram returns the histogram of that name. bounds are the upper bounds of its classes, rising; the last class has none.
func (r *Registry) Histogram(name, help string, bounds []float64) *Histogram {
	return &Histogram{r.family(KindHistogram, name, help, bounds, nil).with(nil)}
}

// Histograms returns the histograms of that name.
func (r *Registry) Histograms(name, help string, bounds []float64, labels ...string) *Histograms {
	return &Histograms{r.family(KindHistogram, name, help, bounds, labels)}
}

// Watch exports what read returns at the time of writing, as a gauge. The first one of a name stays.
func (r *Registry) Watch(name, help string, read func() float64) {
	r.family(KindGauge, name, help, nil, nil).watch(nil, read)
}

// Watch exports what read returns at the time of writing as the gauge of these values. The first one stays.
func (g *Gauges) Watch(read func() float64, values ...string) { g.f.watch(values, read) }

// Watch exports what read returns at the time of writing as the counter of these values. The first one stays.
func (c *Counters) Watch(read func() float64, values ...string) { c.f.watch(values, read) }

func (f *family) watch(values []string, read func() float64) {
	s := f.with(values)
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.read == nil {
		s.read = read
	}
}
