package httpapi

import (
	"time"

	"weir/internal/batch"
	"weir/internal/metric"
)

// BatchMetrics counts batches and their requests. It satisfies batch.Observer.
type BatchMetrics struct {
	batches  *metric.Gauges
	oldest   *metric.Gauge
	requests *metric.Counters
}

// NewBatchMetrics adds them to the registry of m.
func NewBatchMetrics(m *Metrics) *BatchMetrics {
	r := m.Registry
	b := &BatchMetrics{
		batches:  r.Gauges("weir_batches", "Batches of all nodes that have not ended: queued, running, or paused by a limit or a lack of money.", "state"),
		oldest:   r.Gauge("weir_batch_oldest_seconds", "Age of the oldest batch of all nodes that has not ended, 0 without any."),
		requests: r.Counters("weir_batch_requests_total", "Requests of batches that came to their end on this node, by that.", "result"),
	}
	for _, o := range []batch.Outcome{batch.Succeeded, batch.Errored, batch.Canceled, batch.Expired} {
		b.requests.With(string(o))
	}
	b.BatchesAre(batch.Counts{}, 0)
	return b
}

// RequestsEnded counts requests.
func (b *BatchMetrics) RequestsEnded(o batch.Outcome, n int64) {
	b.requests.With(string(o)).Add(float64(n))
}

// BatchesAre sets the gauges.
func (b *BatchMetrics) BatchesAre(c batch.Counts, oldest time.Duration) {
	for state, n := range map[string]int64{"queued": c.Queued, "running": c.Running - c.Paused, "paused": c.Paused} {
		b.batches.With(state).Set(float64(n))
	}
	b.oldest.Set(oldest.Seconds())
}
