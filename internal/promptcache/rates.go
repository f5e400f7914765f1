package promptcache

import (
	"math/bits"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/usage"
)

// Rates are what endpoints have really read from their caches, and written to them, of what they could have. A node measures them for itself; they
// begin with what is usual. It is safe for concurrent use.
type Rates struct {
	mu sync.RWMutex
	of map[string]*measured // by endpoint
}

// The classes in which hits are measured.
const (
	lengths = 6 // of a prefix: below 1,024 tokens, 2,048, 4,096, 8,192, 32,768, and more
	ages    = 4 // since it was last used: up to 1 minute, 5 minutes, 10 minutes, an hour
	kinds   = 3 // without marks, with marks for 5 minutes, with marks for an hour
)

// A share begins as if it had been seen so often, and forgets so that what happened last counts.
const (
	trust  = 3.0
	memory = 40.0
)

// share is a mean of measured shares.
type share struct{ sum, n float64 }

func (s *share) add(x float64) {
	if s.n >= memory {
		s.sum, s.n = s.sum*(memory-1)/memory, memory-1
	}
	s.sum, s.n = s.sum+x, s.n+1
}

// mean takes what is usual for what was seen before.
func (s *share) mean(usual float64) float64 { return (s.sum + usual*trust) / (s.n + trust) }

type measured struct {
	mu     sync.Mutex
	hits   [kinds][lengths][ages]share
	writes [kinds][2]share // of what was not read: written for 5 minutes, for an hour
}

// NewRates makes Rates that have measured nothing.
func NewRates() *Rates { return &Rates{of: map[string]*measured{}} }

func lengthClass(tokens int64) int {
	if tokens >= 32768 {
		return lengths - 1
	}
	return min(max(bits.Len64(uint64(max(tokens, 1)))-10, 0), lengths-2)
}

func ageClass(age time.Duration) int {
	switch {
	case age <= time.Minute:
		return 0
	case age <= 5*time.Minute:
		return 1
	case age <= 10*time.Minute:
		return 2
	}
	return 3
}

// Kind is how a request asks for caching.
type Kind uint8

// The kinds.
const (
	Unmarked Kind = iota // providers that cache unasked do
	Marked               // with marks for five minutes
	MarkedHour
)

// usualHits is what is taken for the share of a prefix that is read before it was measured: what the providers' documents promise. It is rather
// high, so that an endpoint is tried.
func usualHits(ep *catalog.Endpoint, k Kind, length, age int) float64 {
	switch {
	case length == 0:
		return 0
	case k == MarkedHour:
		return 0.95
	case k == Marked && age <= 1:
		return 0.95
	case !ep.ImplicitCache && (ep.Provider.Dialect == "anthropic" || ep.Provider.Dialect == "bedrock"):
		return 0 // these cache what is marked alone, for five minutes
	case age <= 1:
		return 0.85
	case age == 2:
		return 0.5
	}
	return 0.2
}

// usualWrites is the share of what was not read that is taken to be written at a price of its own.
func usualWrites(k Kind, hour bool) float64 {
	if k == Marked && !hour || k == MarkedHour && hour {
		return 0.9
	}
	return 0
}

func (r *Rates) get(endpoint string) *measured {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.of[endpoint]
}

// hit is the share of a prefix of so many tokens that is expected to be read, when it was last used so long ago.
func (r *Rates) hit(ep *catalog.Endpoint, k Kind, tokens int64, age time.Duration) float64 {
	if age > Lifetime {
		return 0
	}
	length, old := lengthClass(tokens), ageClass(age)
	usual := usualHits(ep, k, length, old)
	m := r.get(ep.ID)
	if m == nil {
		return usual
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hits[k][length][old].mean(usual)
}

// written is the shares of what is not read that are written for five minutes and for an hour.
func (r *Rates) written(ep *catalog.Endpoint, k Kind) (short, hour float64) {
	short, hour = usualWrites(k, false), usualWrites(k, true)
	if m := r.get(ep.ID); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		short, hour = m.writes[k][0].mean(short), m.writes[k][1].mean(hour)
	}
	return short, hour
}

// Measure notes what a call read and wrote at an endpoint. warm is how many tokens it could have read there, last used so long ago; 0: none.
func (r *Rates) Measure(endpoint string, k Kind, warm int64, age time.Duration, u *usage.Usage) {
	if u.Source != usage.Reported || u.Prompt.N < LeastTokens {
		return
	}
	m := r.get(endpoint)
	if m == nil {
		r.mu.Lock()
		if m = r.of[endpoint]; m == nil {
			m = &measured{}
			r.of[endpoint] = m
		}
		r.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if warm >= LeastTokens/2 && age <= Lifetime {
		m.hits[k][lengthClass(warm)][ageClass(age)].add(min(float64(u.CacheRead.N)/float64(warm), 1))
	}
	if rest := float64(u.Prompt.N - u.CacheRead.N); rest >= 1 {
		m.writes[k][0].add(min(float64(u.CacheWrite.N)/rest, 1))
		m.writes[k][1].add(min(float64(u.CacheWrite1h.N)/rest, 1))
	}
}
