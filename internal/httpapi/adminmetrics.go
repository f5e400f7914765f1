package httpapi

import "github.com/prometheus/client_golang/prometheus"

// RateFailures makes the counter of fetches of the exchange rate that failed, and returns what counts one.
func (m *Metrics) RateFailures() func() {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_rate_failures_total", Help: "Fetches of the published exchange rate that failed or were invalid."})
	_ = m.Registry.Register(c)
	return c.Inc
}
