package httpapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/internal/batch"
)

// BatchMetrics counts batches and their requests. It satisfies batch.Observer.
type BatchMetrics struct {
	batches  *prometheus.GaugeVec
	oldest   prometheus.Gauge
	requests *prometheus.CounterVec
}

// NewBatchMetrics adds them to the registry of m.
func NewBatchMetrics(m *Metrics) *BatchMetrics {
	b := &BatchMetrics{
		batches: m.make.NewGaugeVec(prometheus.GaugeOpts{
			Name: "weir_batches", Help: "Batches of all nodes that have not ended: queued, running, or paused by a limit or a lack of money."}, []string{"state"}),
		oldest:   m.make.NewGauge(prometheus.GaugeOpts{Name: "weir_batch_oldest_seconds", Help: "Age of the oldest batch of all nodes that has not ended, 0 without any."}),
		requests: m.counters("weir_batch_requests_total", "Requests of batches that came to their end on this node, by that.", "result"),
	}
	for _, o := range []batch.Outcome{batch.Succeeded, batch.Errored, batch.Canceled, batch.Expired} {
		b.requests.WithLabelValues(string(o))
	}
	b.BatchesAre(batch.Counts{}, 0)
	return b
}

// RequestsEnded counts requests.
func (b *BatchMetrics) RequestsEnded(o batch.Outcome, n int64) {
	b.requests.WithLabelValues(string(o)).Add(float64(n))
}

// BatchesAre sets the gauges.
func (b *BatchMetrics) BatchesAre(c batch.Counts, oldest time.Duration) {
	for state, n := range map[string]int64{"queued": c.Queued, "running": c.Running - c.Paused, "paused": c.Paused} {
		b.batches.WithLabelValues(state).Set(float64(n))
	}
	b.oldest.Set(oldest.Seconds())
}
