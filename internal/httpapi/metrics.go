package httpapi

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/internal/fault"
	"weir/internal/record"
	"weir/internal/usage"
)

// Metrics counts what a node does. Label values are routes, status classes, and models and providers of the catalog: never a
// string of a client. It is safe for concurrent use and satisfies relay.Observer.
type Metrics struct {
	Registry *prometheus.Registry

	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	calls        *prometheus.CounterVec
	tokens       *prometheus.CounterVec
	cost         *prometheus.CounterVec
	firstContent *prometheus.HistogramVec
	attempts     *prometheus.CounterVec
	inFlight     prometheus.Gauge
	panics       prometheus.Counter
	authFailures prometheus.Counter
	doubts       *prometheus.CounterVec
	unrouted     *routeMetrics

	served  sync.Map // "model\x00provider" to *servedMetrics
	tries   sync.Map // endpoint to *tryMetrics
	labels  atomic.Int64
	limited *servedMetrics
}

// routeMetrics are the series of one route, found once.
type routeMetrics struct {
	classes [6]prometheus.Counter // by first digit of the status
	seconds prometheus.Observer
}

// servedMetrics are the series of one model at one provider.
type servedMetrics struct {
	calls, prompt, completion, cost prometheus.Counter
	firstContent                    prometheus.Observer
}

// tryMetrics are the series of one endpoint.
type tryMetrics struct{ ok, failed prometheus.Counter }

// maxSeries is how many models and endpoints have a series each; the rest are counted as "other".
const maxSeries = 5000

var durationBuckets = []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30, 120, 600}

// NewMetrics makes Metrics with a new registry.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_http_requests_total", Help: "Requests by route and class of status."}, []string{"route", "class"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_http_request_seconds", Help: "Time from a request's head to the end of its answer.",
			Buckets: durationBuckets}, []string{"route"}),
		calls:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_calls_total", Help: "Calls that an upstream answered."}, []string{"model", "provider"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_tokens_total", Help: "Tokens by direction."}, []string{"model", "provider", "direction"}),
		cost:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_cost_rubles_total", Help: "Charged rubles; the ledger is exact, this is not."}, []string{"model", "provider"}),
		firstContent: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weir_first_content_seconds", Help: "Time to the first content of an answer.",
			Buckets: durationBuckets}, []string{"model", "provider"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_upstream_attempts_total", Help: "Attempts by endpoint and result."}, []string{"endpoint", "result"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "weir_http_in_flight", Help: "Requests being answered."}),
		panics:   prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_panics_total", Help: "Handlers that panicked."}),
		doubts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weir_usage_doubts_total",
			Help: "Charged calls whose usage was estimated, was cut because more was reported than can be (capped), or is implausibly low for what was delivered."}, []string{"provider", "kind"}),
		authFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "weir_auth_failures_total", Help: "Requests with a missing or wrong key."}),
	}
	m.Registry.MustRegister(m.requests, m.seconds, m.calls, m.tokens, m.cost, m.firstContent, m.attempts, m.inFlight, m.panics, m.authFailures, m.doubts,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.unrouted = m.route("other")
	m.limited = m.newServed("other", "other")
	return m
}

// watch exports figures that others keep.
func (m *Metrics) watch(a *API) {
	gauge := func(name, help string, value func() float64) {
		_ = m.Registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)) // a second API of a test shares the first one's
	}
	gauge("weir_body_bytes", "Bytes of requests and answers in memory that count against body_budget_bytes.", func() float64 { return float64(a.quotas.Bytes.Used()) })
	gauge("weir_spool_bytes", "Bytes of uploads on disk that count against spool_budget_bytes.", func() float64 { return float64(a.disk.bytes.Used()) })
	gauge("weir_uploads", "Uploads in progress.", func() float64 { return float64(a.disk.uploads.Used()) })
	gauge("weir_calls_in_flight", "Inference requests being answered.", func() float64 { return float64(a.quotas.InFlight()) })
	gauge("weir_event_streams", "Streams of events that pages follow.", func() float64 { return float64(a.watcher.Followers()) })
	gauge("weir_draining", "1 while the node ends its work.", func() float64 {
		if a.draining.Load() {
			return 1
		}
		return 0
	})
	if a.Log != nil {
		gauge("weir_log_dropped_lines", "Log lines lost because their queue was full.", func() float64 { return float64(a.Log.Dropped()) })
	}
}

// Ejections reports how many endpoints get no calls. *health.Registry is one.
type Ejections interface{ CountEjected() int }

// WatchHealth exports how many endpoints are ejected.
func (m *Metrics) WatchHealth(e Ejections) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_endpoints_ejected", Help: "Endpoints that get no calls because they failed too often in a row."},
		func() float64 { return float64(e.CountEjected()) }))
}

// Asides reports how many charges could not be posted and wait for a decision. *ledger.Book is one.
type Asides interface{ Aside() int64 }

// WatchAside exports how many charges wait for a decision.
func (m *Metrics) WatchAside(a Asides) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_ledger_set_aside", Help: "Charges that the database could not take, when this node started and since: see weir ledger aside."},
		func() float64 { return float64(a.Aside()) }))
}

// WatchSpans exports what became of the spans of traces, by result.
func (m *Metrics) WatchSpans(results []string, count func(result int) int64) {
	for i, name := range results {
		m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "weir_trace_spans_total",
			Help: "Spans of traced calls by result: sent, dropped because the queue was full, rejected by the receiver, or lost because it did not answer.", ConstLabels: prometheus.Labels{"result": name}},
			func() float64 { return float64(count(i)) }))
	}
}

// Handler serves the registry in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})
}

func (m *Metrics) route(name string) *routeMetrics {
	r := &routeMetrics{seconds: m.seconds.WithLabelValues(name)}
	for class := range r.classes {
		r.classes[class] = m.requests.WithLabelValues(name, string(rune('0'+class))+"xx")
	}
	return r
}

func (r *routeMetrics) observe(status int, took time.Duration) {
	if class := status / 100; class < len(r.classes) {
		r.classes[class].Inc()
	}
	r.seconds.Observe(took.Seconds())
}

// call counts what the record of a call contains; nil counts nothing.
func (m *Metrics) call(c *record.Call) {
	if c == nil || c.Model == "" {
		return
	}
	s := m.servedBy(c.Model, c.Provider)
	s.calls.Inc()
	s.prompt.Add(float64(max(c.Usage.Prompt.N, 0)))
	s.completion.Add(float64(max(c.Usage.Completion.N, 0)))
	s.cost.Add(float64(max(c.Cost, 0)) / 1e9)
	if doubts := c.Usage.Source; doubts != 0 {
		m.doubt(c.Provider, doubts)
	}
	if c.FirstContent > 0 {
		s.firstContent.Observe(c.FirstContent.Seconds())
	}
}

// doubt counts a usage that is not as the provider reported it, or notably little.
func (m *Metrics) doubt(provider string, s usage.Source) {
	for _, one := range [...]usage.Source{usage.Estimated, usage.Capped, usage.TooLow} {
		if s&one != 0 {
			m.doubts.WithLabelValues(strings.ToValidUTF8(provider, "?"), one.String()).Inc() // providers come from the catalog: they are few
		}
	}
}

func (m *Metrics) servedBy(model, provider string) *servedMetrics {
	key := servedKey{model, provider}
	if s, ok := m.served.Load(key); ok {
		return s.(*servedMetrics)
	}
	if m.labels.Add(1) > maxSeries {
		return m.limited
	}
	s, _ := m.served.LoadOrStore(key, m.newServed(model, provider))
	return s.(*servedMetrics)
}

type servedKey struct{ model, provider string }

func (m *Metrics) newServed(model, provider string) *servedMetrics {
	return &servedMetrics{
		calls: m.calls.WithLabelValues(model, provider), cost: m.cost.WithLabelValues(model, provider),
		prompt: m.tokens.WithLabelValues(model, provider, "prompt"), completion: m.tokens.WithLabelValues(model, provider, "completion"),
		firstContent: m.firstContent.WithLabelValues(model, provider),
	}
}

// Attempted counts one attempt at an endpoint of the catalog.
func (m *Metrics) Attempted(endpoint string, _ time.Duration, err *fault.Error) {
	t, ok := m.tries.Load(endpoint)
	if !ok {
		if m.labels.Add(1) > maxSeries {
			endpoint = "other"
		}
		endpoint = strings.ToValidUTF8(endpoint, "?")
		t, _ = m.tries.LoadOrStore(endpoint, &tryMetrics{ok: m.attempts.WithLabelValues(endpoint, "ok"), failed: m.attempts.WithLabelValues(endpoint, "failed")})
	}
	if err == nil {
		t.(*tryMetrics).ok.Inc()
	} else {
		t.(*tryMetrics).failed.Inc()
	}
}
