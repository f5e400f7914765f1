package kit

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// stats counts by model name as requested. Requests that are refused before an answer begins are counted under "".
type stats struct {
	Redirected atomic.Int64
	mu         sync.Mutex // one writer at a time
	byModel    atomic.Pointer[map[string]*counters]
}

// counters of one model.
type counters struct {
	Requests, streams, open, openStreams atomic.Int64
	cancelled, faults, Refused           atomic.Int64
	lastCancel, maxCancel                atomic.Int64 // nanoseconds from a request's arrival until its client was seen to have left
	cancelAt                             atomic.Int64 // time of the last, Unix nanoseconds
}

func (c *counters) Begin(stream bool) {
	c.Requests.Add(1)
	c.open.Add(1)
	if stream {
		c.streams.Add(1)
		c.openStreams.Add(1)
	}
}

func (c *counters) End(stream bool) {
	c.open.Add(-1)
	if stream {
		c.openStreams.Add(-1)
	}
}

func (c *counters) cancel(after time.Duration) {
	c.cancelled.Add(1)
	c.lastCancel.Store(int64(after))
	c.cancelAt.Store(time.Now().UnixNano())
	for {
		most := c.maxCancel.Load()
		if int64(after) <= most || c.maxCancel.CompareAndSwap(most, int64(after)) {
			return
		}
	}
}

// Names come from requests, so their number is limited. Further names are counted together.
const (
	MaxNames   = 4096
	OtherNames = "(others)"
)

// Of returns the counters of a model. It takes a lock only for the model's first request.
func (s *stats) Of(model string) *counters {
	if c := (*s.byModel.Load())[model]; c != nil {
		return c
	}
	return s.add(model)
}

func (s *stats) OfBytes(model []byte) *counters {
	if c := (*s.byModel.Load())[string(model)]; c != nil {
		return c
	}
	return s.add(string(model))
}

func (s *stats) add(model string) *counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.byModel.Load()
	if len(old) >= MaxNames {
		model = OtherNames
	}
	if c := old[model]; c != nil {
		return c
	}
	m := maps.Clone(old)
	m[model] = new(counters)
	s.byModel.Store(&m)
	return m[model]
}

// reset clears the counters. Requests under way are still counted in the old ones.
func (s *stats) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Redirected.Store(0)
	s.byModel.Store(&map[string]*counters{})
}

// Stats is what a Server counted since its start or last Reset.
type Stats struct {
	Total      Counts
	Models     map[string]Counts // by name as requested
	Redirected int64             // calls that followed the redirect of fault U17
}

// Counts of one model, or of all.
type Counts struct {
	Requests    int64 // accepted
	Refused     int64 // the request was invalid or the key wrong; only under the name ""
	Streams     int64 // of Requests
	Open        int64 // being answered
	OpenStreams int64
	Faults      int64         // answered with a fault
	Cancelled   int64         // the client left before the end of the answer
	LastCancel  time.Duration // from the arrival of the last such request until its client was seen to have left
	MaxCancel   time.Duration
	CancelledAt time.Time // when a client was last seen to have left; zero: never
}

func (c *counters) counts() Counts {
	out := Counts{
		Requests: c.Requests.Load(), Refused: c.Refused.Load(), Streams: c.streams.Load(), Open: c.open.Load(),
		OpenStreams: c.openStreams.Load(), Faults: c.faults.Load(), Cancelled: c.cancelled.Load(),
		LastCancel: time.Duration(c.lastCancel.Load()), MaxCancel: time.Duration(c.maxCancel.Load()),
	}
	if at := c.cancelAt.Load(); at != 0 {
		out.CancelledAt = time.Unix(0, at)
	}
	return out
}

func (c *Counts) add(more *Counts) {
	c.Requests += more.Requests
	c.Refused += more.Refused
	c.Streams += more.Streams
	c.Open += more.Open
	c.OpenStreams += more.OpenStreams
	c.Faults += more.Faults
	c.Cancelled += more.Cancelled
	c.MaxCancel = max(c.MaxCancel, more.MaxCancel)
	if more.CancelledAt.After(c.CancelledAt) {
		c.CancelledAt, c.LastCancel = more.CancelledAt, more.LastCancel
	}
}

func (s *stats) Snapshot() Stats {
	out := Stats{Models: map[string]Counts{}, Redirected: s.Redirected.Load()}
	for name, c := range *s.byModel.Load() {
		n := c.counts()
		out.Models[name] = n
		out.Total.add(&n)
	}
	return out
}

func (s *stats) JSON() []byte {
	all := s.Snapshot()
	dst := all.Total.append([]byte(`{"total":`))
	dst = append(dst, `,"models":{`...)
	for i, name := range slices.Sorted(maps.Keys(all.Models)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		n := all.Models[name]
		dst = n.append(append(AppendText(dst, name), ':'))
	}
	dst = strconv.AppendInt(append(dst, `},"redirected":`...), all.Redirected, 10)
	return append(dst, '}')
}

func (c *Counts) append(dst []byte) []byte {
	sep := byte('{')
	write := func(name string, n int64) {
		dst = append(append(append(dst, sep, '"'), name...), '"', ':')
		dst = strconv.AppendInt(dst, n, 10)
		sep = ','
	}
	write("requests", c.Requests)
	write("refused", c.Refused)
	write("streams", c.Streams)
	write("open", c.Open)
	write("open_streams", c.OpenStreams)
	write("faults", c.Faults)
	write("cancelled", c.Cancelled)
	write("last_cancel_ms", c.LastCancel.Milliseconds())
	write("max_cancel_ms", c.MaxCancel.Milliseconds())
	if !c.CancelledAt.IsZero() {
		write("last_cancelled_at_unix_ms", c.CancelledAt.UnixMilli())
	}
	return append(dst, '}')
}

// turns counts the calls of limited faults.
type turns struct {
	mu    sync.Mutex
	calls map[string]int
}

const maxTurns = 1 << 16

// due reports whether a call gets its fault: without a limit always, else for the first calls with its key.
func (t *turns) due(k *Knobs) bool {
	if k.times == 0 {
		return true
	}
	key := k.id
	if key == "" {
		key = k.Fault + " " + k.how
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil || len(t.calls) >= maxTurns {
		t.calls = make(map[string]int)
	}
	t.calls[key]++
	return t.calls[key] <= k.times
}

func (t *turns) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = nil
}
