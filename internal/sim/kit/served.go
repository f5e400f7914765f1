package kit

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// mostServed is how many answers are remembered for bills: the newest.
const mostServed = 50_000

// Served is an answer that a provider would bill.
type Served struct {
	ID           string // as the answer has it
	Model        string // as requested
	Key          string // that the request had
	Began, Ended time.Time
	Usage        Tally
}

// bill remembers what was served.
type bill struct {
	mu  sync.Mutex
	all []Served
}

func (b *bill) add(s *Served) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) >= mostServed {
		b.all = slices.Delete(b.all, 0, mostServed/10)
	}
	b.all = append(b.all, *s)
}

func (b *bill) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = nil
}

// Served are the answers that a provider would bill, in the order in which they ended: those that were sent without a fault, also to a client that left
// before the end.
func (s *Host) Served() []Served {
	s.bill.mu.Lock()
	defer s.bill.mu.Unlock()
	return slices.Clone(s.bill.all)
}

// keyOf is the key of a request, on whichever wire.
func keyOf(r *http.Request) string {
	for _, name := range [...]string{"X-Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return Bearer(r)
}
