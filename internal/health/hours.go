package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"weir/internal/fault"
)

// Hour is what was seen of an endpoint in one hour.
type Hour struct {
	At                      time.Time // its beginning, UTC
	Endpoint                string
	Served, Failed, Limited int64 // attempts

	latency, throughput histogram
}

// Serve counts an attempt that served, with the time to its first content, and so many tokens in the time after it.
func (h *Hour) Serve(first time.Duration, tokens int64, generating time.Duration) {
	h.Served++
	if first > 0 {
		h.latency.add(bucket(first.Seconds(), quickest), 1, float32(first.Seconds()))
	}
	if tokens > 0 && generating > 0 {
		speed := float64(tokens) / generating.Seconds()
		h.throughput.add(bucket(speed, slowest), 1, float32(speed))
	}
}

// Merge adds what another node saw, or the same one at another time.
func (h *Hour) Merge(o *Hour) {
	h.Served += o.Served
	h.Failed += o.Failed
	h.Limited += o.Limited
	h.latency.merge(&o.latency)
	h.throughput.merge(&o.throughput)
}

// Uptime is the percentage of attempts that were served, those that a rate limit refused left out; false without any.
func (h *Hour) Uptime() (percent float64, known bool) {
	n := h.Served + h.Failed
	if n == 0 {
		return 0, false
	}
	return 100 * float64(h.Served) / float64(n), true
}

// FirstContent is the median time to the first content; 0 when nothing was measured.
func (h *Hour) FirstContent() time.Duration {
	return time.Duration(h.latency.percentiles(false)[0] * float64(time.Second))
}

// SlowFirstContent is the time to the first content that 19 of 20 calls reached; 0 when nothing was measured.
func (h *Hour) SlowFirstContent() time.Duration {
	return time.Duration(h.latency.percentile(95, false) * float64(time.Second))
}

// Throughput is the median of tokens per second; 0 when nothing was measured.
func (h *Hour) Throughput() float64 { return h.throughput.percentiles(true)[0] }

// SlowThroughput is the tokens per second that 19 of 20 calls reached; 0 when nothing was measured.
func (h *Hour) SlowThroughput() float64 { return h.throughput.percentile(95, true) }

// FirstContents are the times to the first content, in seconds.
func (h *Hour) FirstContents() []Bin { return h.latency.bins(quickest) }

// Throughputs are the tokens per second.
func (h *Hour) Throughputs() []Bin { return h.throughput.bins(slowest) }

// Measured is what was measured, in the form in which stores keep it: without means, which no chart needs.
func (h *Hour) Measured() []byte { return h.throughput.append(h.latency.append(nil, false), false) }

// SetMeasured reads what Measured has written.
func (h *Hour) SetMeasured(b []byte) error {
	d := &decoder{b: b}
	h.latency, h.throughput = histogram{}, histogram{}
	d.histogram(&h.latency, quickest)
	d.histogram(&h.throughput, slowest)
	if d.bad || len(d.b) > 0 {
		return errSnapshot
	}
	return nil
}

// late is how long after its end a slot may still be counted in.
const late = 5 * time.Second

// hours adds up, by endpoint and hour, the slots of HalfHour after the given one, without the running one unless it is asked for. last is
// the last slot that is over.
func (r *Registry) hours(after int64, running bool) (all []Hour, last int64) {
	slot, now := int64(layout[HalfHour].slot), r.now()
	last = (now-int64(late))/slot - 1
	until := last
	if running {
		until = now / slot
	}
	perHour := int64(time.Hour) / slot
	known := *r.known.Load()
	for _, id := range slices.Sorted(maps.Keys(known)) {
		e := known[id]
		e.mu.Lock()
		ring := &e.rings[HalfHour]
		size := int64(len(ring.cells))
		for n := max(after, ring.newest-size) + 1; n <= min(until, ring.newest); n++ {
			if n < 0 || ring.cells[n%size] == nil {
				continue
			}
			c, at := ring.cells[n%size], time.Unix(n/perHour*3600, 0).UTC()
			if k := len(all) - 1; k < 0 || all[k].Endpoint != id || !all[k].At.Equal(at) {
				all = append(all, Hour{At: at, Endpoint: id})
			}
			all[len(all)-1].Merge(&Hour{Served: int64(c.served), Failed: int64(c.failed), Limited: int64(c.limited), latency: c.latency, throughput: c.throughput})
		}
		e.mu.Unlock()
	}
	return all, last
}

// HourStore keeps the hours of all nodes.
type HourStore interface {
	// HoursMark is the last slot of a node that is in its hours; fault.NotFound before the first.
	HoursMark(ctx context.Context, node string) (int64, error)
	// AddHours adds to the hours of a node, and moves its mark, in one transaction. It fails with fault.Conflict, and changes nothing, if the
	// mark is not the one before; -1 for none.
	AddHours(ctx context.Context, node string, before, mark int64, hours []Hour) error
	// HoursOf lists the hours of endpoints since a moment, each node's for itself.
	HoursOf(ctx context.Context, endpoints []string, since time.Time) ([]Hour, error)
	// HoursSince lists the hours of all endpoints since a moment, each node's for itself.
	HoursSince(ctx context.Context, since time.Time) ([]Hour, error)
	// ForgetHours deletes at most n hours before a moment, and returns how many.
	ForgetHours(ctx context.Context, before time.Time, n int) (int, error)
}

// History knows endpoints by the hour, as all nodes have seen them. It is safe for concurrent use, and no call waits for it.
type History struct {
	registry *Registry
	store    HourStore
	node     string
	keep     time.Duration

	saving sync.Mutex // one round at a time

	mu   sync.Mutex
	mark int64 // last slot that is saved; -1: none, or not known yet
	day  map[string]*Daily
	from time.Time // of day
}

// NewHistory makes the history of a node. Hours are kept for keep.
func NewHistory(r *Registry, s HourStore, node string, keep time.Duration) *History {
	return &History{registry: r, store: s, node: node, keep: keep, mark: -1}
}

const forgetAt = 1000 // hours of one transaction

// Save stores the slots that are over since the last time, deletes hours that are too old, and reads the last day of all nodes. What could not be
// stored is tried again, as long as the registry has it: about half an hour.
func (h *History) Save(ctx context.Context) error {
	h.saving.Lock()
	defer h.saving.Unlock()
	before, err := h.store.HoursMark(ctx, h.node)
	if fault.Is(err, fault.NotFound) {
		before, err = -1, nil
	}
	if err != nil {
		return err
	}
	if hours, last := h.registry.hours(before, false); last > before && len(hours) > 0 {
		if err := h.store.AddHours(ctx, h.node, before, last, hours); err != nil {
			return err
		}
		before = last
	}
	for more := true; more && ctx.Err() == nil; {
		n, err := h.store.ForgetHours(ctx, h.registry.time().Add(-h.keep), forgetAt)
		if err != nil {
			return err
		}
		more = n >= forgetAt
	}
	return h.read(ctx, before)
}

// time is now, as times of hours are.
func (r *Registry) time() time.Time { return time.Unix(0, r.now()).UTC() }

// firstHour is the first of the last n hours, the running one among them.
func (r *Registry) firstHour(n int) time.Time {
	return r.time().Truncate(time.Hour).Add(-time.Duration(n-1) * time.Hour)
}

// read loads the last day, as it is stored with a mark.
func (h *History) read(ctx context.Context, mark int64) error {
	from := h.registry.firstHour(DayHours)
	hours, err := h.store.HoursSince(ctx, from)
	if err != nil {
		return err
	}
	day := map[string]*Daily{}
	for i := range hours {
		add(day, &hours[i], from)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mark, h.day, h.from = mark, day, from
	return nil
}

// DayHours is how many hours a Daily has, the running one among them.
const DayHours = 24

// Daily is the last day of an endpoint: its hours, oldest first, whose measurements are all in Whole.
type Daily struct {
	Hours [DayHours]Hour
	Whole Hour
}

func add(day map[string]*Daily, one *Hour, from time.Time) {
	i := int(one.At.Sub(from) / time.Hour)
	if one.At.Before(from) || i >= DayHours {
		return
	}
	d := day[one.Endpoint]
	if d == nil {
		d = &Daily{}
		day[one.Endpoint] = d
	}
	d.Hours[i].Served += one.Served
	d.Hours[i].Failed += one.Failed
	d.Hours[i].Limited += one.Limited
	d.Whole.Merge(one)
}

// LastDay is the last day of all endpoints of which something is known, and the hour with which it begins: what all nodes have stored, and what this
// one has seen since.
func (h *History) LastDay() (map[string]*Daily, time.Time) {
	from := h.registry.firstHour(DayHours)
	h.mu.Lock()
	mark, stored, shift := h.mark, h.day, int(from.Sub(h.from)/time.Hour)
	h.mu.Unlock()
	day := make(map[string]*Daily, len(stored))
	for id, was := range stored {
		if shift < 0 || shift >= DayHours {
			break
		}
		d := *was
		if shift > 0 { // an hour has begun since it was read
			copy(d.Hours[:], was.Hours[shift:])
			clear(d.Hours[DayHours-shift:])
		}
		day[id] = &d
	}
	fresh, _ := h.registry.hours(mark, true)
	for i := range fresh {
		add(day, &fresh[i], from)
	}
	return day, from
}

// Of lists the last n hours of endpoints, the running one among them, each hour of an endpoint once.
func (h *History) Of(ctx context.Context, endpoints []string, n int) (hours []Hour, from time.Time, err error) {
	from = h.registry.firstHour(n)
	h.mu.Lock()
	mark := h.mark
	h.mu.Unlock()
	stored, err := h.store.HoursOf(ctx, endpoints, from)
	if err != nil {
		return nil, from, err
	}
	fresh, _ := h.registry.hours(mark, true)
	type key struct {
		endpoint string
		at       int64
	}
	at := map[key]int{}
	for _, all := range [][]Hour{stored, fresh} {
		for i := range all {
			one := &all[i]
			if one.At.Before(from) || !slices.Contains(endpoints, one.Endpoint) {
				continue
			}
			k := key{one.Endpoint, one.At.Unix()}
			j, ok := at[k]
			if !ok {
				j, hours = len(hours), append(hours, Hour{At: one.At, Endpoint: one.Endpoint})
				at[k] = j
			}
			hours[j].Merge(one)
		}
	}
	return hours, from, nil
}
