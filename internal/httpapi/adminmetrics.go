package httpapi

// RateFailures makes the counter of fetches of the exchange rate that failed, and returns what counts one.
func (m *Metrics) RateFailures() func() {
	return m.counter("weir_rate_failures_total", "Fetches of the published exchange rate that failed or were invalid.").Inc
}
