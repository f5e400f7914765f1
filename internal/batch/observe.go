package batch

import (
	"context"
	"time"
)

// Counts are how many batches have not ended.
type Counts struct {
	Queued  int64     // no node works on them
	Running int64     // a node works on them
	Paused  int64     // of Running: no request is made at the moment
	Oldest  time.Time // when the first of them was made; zero without any
}

// Observer counts requests and batches, for metrics.
type Observer interface {
	// RequestsEnded is called by the node that ended so many requests.
	RequestsEnded(o Outcome, n int64)
	// BatchesAre is called from time to time, with the batches of all nodes.
	BatchesAre(c Counts, oldest time.Duration)
}

// measureEvery is how often batches are counted.
const measureEvery = 10 * time.Second

func (s *Service) observed(o Outcome, n int64) {
	if s.Observer != nil && n > 0 {
		s.Observer.RequestsEnded(o, n)
	}
}

// measure counts the batches that have not ended. When the store is away, the counts stay as they are.
func (s *Service) measure(ctx context.Context) {
	now := s.local()
	if s.Observer == nil || now.Sub(s.counted) < measureEvery || !s.synced.Load() {
		return
	}
	s.counted = now
	short, cancel := s.short(ctx)
	defer cancel()
	c, err := s.Store.CountBatches(short)
	if err != nil {
		return
	}
	age := time.Duration(0)
	if !c.Oldest.IsZero() {
		age = max(0, s.now().Sub(c.Oldest))
	}
	s.Observer.BatchesAre(c, age)
}
