package health

import "math"

// Bin counts measured values up to a bound, and above the bound of the bin before it.
type Bin struct {
	UpTo  float64
	Count int64
}

// FirstContents are the times to the first content as they are spread, in seconds; empty when nothing was measured.
func (h *Hour) FirstContents() []Bin { return h.latency.bins(quickest) }

// Throughputs are the tokens per second as they are spread.
func (h *Hour) Throughputs() []Bin { return h.throughput.bins(slowest) }

// bins are the buckets from the first with a value to the last.
func (h *histogram) bins(smallest float64) (out []Bin) {
	last := 0
	for i, n := range h.n {
		if n > 0 {
			last = i
		}
	}
	for i := range last + 1 {
		if len(out) > 0 || h.n[i] > 0 {
			out = append(out, Bin{UpTo: smallest * math.Exp2(float64(i)/perDouble), Count: int64(h.n[i])})
		}
	}
	return out
}

// InFlightLimit is how many attempts an endpoint may have at a time at one node, with its limit in the catalog or 0.
func (r *Registry) InFlightLimit(own int64) int64 {
	if own > 0 {
		return own
	}
	return r.cfg.MaxInFlight
}
