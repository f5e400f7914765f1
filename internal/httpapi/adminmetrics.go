package httpapi

import (
	"sync/atomic"
	"time"
)

// RateFailures makes the counter of fetches of the exchange rate that failed, and returns what counts one.
func (m *Metrics) RateFailures() func() {
	return m.counter("weir_rate_failures_total", "Fetches of the published exchange rate that failed or were invalid.").Inc
}

// PriceUpdates makes the figures of updates of the price lists, and returns what keeps those of one: its outcome, when it was, and how many endpoints were
// published and wait.
func (m *Metrics) PriceUpdates() func(outcome string, at time.Time, published, waiting int) {
	count := m.counters("weir_price_updates_total", "Updates of the public price lists that the node has made or heard of, by outcome.", "outcome")
	var seconds, made, left atomic.Int64
	m.gauge("weir_price_update_timestamp_seconds", "When the public price lists were fetched last by themselves; 0: not yet.", nil, func() float64 { return float64(seconds.Load()) })
	m.gauge("weir_price_update_published", "Endpoints whose prices the last update has published.", nil, func() float64 { return float64(made.Load()) })
	m.gauge("weir_price_update_waiting", "Endpoints whose prices wait as a draft since the last update.", nil, func() float64 { return float64(left.Load()) })
	return func(outcome string, at time.Time, published, waiting int) {
		count.WithLabelValues(outcome).Inc()
		seconds.Store(at.Unix())
		made.Store(int64(published))
		left.Store(int64(waiting))
	}
}
