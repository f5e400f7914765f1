package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"weir/internal/fault"
	"weir/internal/figures"
	"weir/internal/httpserver"
	"weir/internal/record"
	"weir/internal/usage"
)

// Metrics counts what a node does. Label values are routes, status classes, and models and providers of the catalog: never a
// string of a client. It is safe for concurrent use and satisfies relay.Observer.
type Metrics struct {
	registry *prometheus.Registry
	make     promauto.Factory // makes metrics in registry

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
	refused      *prometheus.CounterVec
	doubts       *prometheus.CounterVec
	saved        prometheus.Counter
	added        prometheus.Histogram
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

// NewMetrics makes Metrics with a registry of their own, which has the figures of the runtime and of the process, too.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{registry: r, make: promauto.With(r)}
	m.requests = m.counters("weir_http_requests_total", "Requests by route and class of status.", "route", "class")
	m.seconds = m.histograms("weir_http_request_seconds", "Time from a request's head to the end of its answer.", "route")
	m.calls = m.counters("weir_calls_total", "Calls that an upstream answered.", "model", "provider")
	m.tokens = m.counters("weir_tokens_total", "Tokens by direction.", "model", "provider", "direction")
	m.cost = m.counters("weir_cost_rubles_total", "Charged rubles; the ledger is exact, this is not.", "model", "provider")
	m.firstContent = m.histograms("weir_first_content_seconds", "Time to the first content of an answer.", "model", "provider")
	m.attempts = m.counters("weir_upstream_attempts_total", "Attempts by endpoint and result.", "endpoint", "result")
	m.saved = m.counter(figures.SavedMetric, "Calls that an upstream answered after an attempt at another endpoint had failed.")
	m.added = m.make.NewHistogram(prometheus.HistogramOpts{Name: figures.AddedMetric, Help: "Time that the node itself adds to an answered call: before its first attempt, and after its last.", Buckets: figures.AddedBounds})
	m.inFlight = m.make.NewGauge(prometheus.GaugeOpts{Name: "weir_http_in_flight", Help: "Requests being answered."})
	m.panics = m.counter("weir_panics_total", "Handlers that panicked.")
	m.doubts = m.counters("weir_usage_doubts_total",
		"Charged calls whose usage was estimated, was cut because more was reported than can be (capped), or is implausibly low for what was delivered.", "provider", "kind")
	m.refused = m.counters("weir_connections_refused_total", "Connections beyond a limit of the node or of an address.", "limit")
	m.authFailures = m.counter("weir_auth_failures_total", "Requests with a missing or wrong key.")
	for _, by := range []string{httpserver.OfConnections, httpserver.OfAddress} { // shown before the first
		m.refused.WithLabelValues(by)
	}
	m.unrouted = m.route("other")
	m.limited = m.newServed("other", "other")
	return m
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return m.make.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return m.make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *Metrics) histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return m.make.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: durationBuckets}, labels)
}

// gauge exports what read returns at the time of a scrape. The first one of a name stays: two nodes of a test may share their Metrics.
func (m *Metrics) gauge(name, help string, labels prometheus.Labels, read func() float64) {
	err := m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
	if known := (prometheus.AlreadyRegisteredError{}); err != nil && !errors.As(err, &known) {
		panic(err) // the name or the help is wrong, which are constants
	}
}

// connectionRefused counts a connection beyond a limit.
func (m *Metrics) connectionRefused(limit string) { m.refused.WithLabelValues(limit).Inc() }

// watch exports figures that others keep.
func (m *Metrics) watch(a *API) {
	gauge := func(name, help string, read func() float64) { m.gauge(name, help, nil, read) }
	gauge("weir_body_bytes", "Bytes of requests and answers in memory that count against body_budget_bytes.", func() float64 { return float64(a.quotas.Bytes.Used()) })
	gauge("weir_spool_bytes", "Bytes of uploads on disk that count against spool_budget_bytes.", func() float64 { _, bytes := a.disk.Used(); return float64(bytes) })
	gauge("weir_uploads", "Uploads in progress.", func() float64 { uploads, _ := a.disk.Used(); return float64(uploads) })
	gauge("weir_calls_in_flight", "Inference requests being answered.", func() float64 { return float64(a.quotas.InFlight()) })
	gauge("weir_websockets", "WebSockets of clients that are open.", func() float64 { return float64(a.openSockets.Load()) })
	gauge("weir_websocket_bytes", "Bytes of responses that WebSockets keep, so that the next may continue from them.", func() float64 { return float64(a.socketBytes.Used()) })
	gauge("weir_event_streams", "Streams of events that pages follow.", func() float64 {
		if a.Events == nil {
			return 0
		}
		return float64(a.Events.Followers())
	})
	gauge("weir_draining", "1 while the node ends its work.", func() float64 {
		if a.draining.Load() {
			return 1
		}
		return 0
	})
	gauge("weir_ready", "1 while the node takes new calls.", func() float64 {
		ctx, stop := context.WithTimeout(context.Background(), readyWithin)
		defer stop()
		if a.ready(ctx) != nil {
			return 0
		}
		return 1
	})
	if a.Log != nil {
		gauge("weir_log_dropped_lines", "Log lines lost because their queue was full.", func() float64 { return float64(a.Log.Dropped()) })
	}
}

// readyWithin bounds how long a scrape waits to learn whether the node takes calls.
const readyWithin = 5 * time.Second

// Ejections reports how many endpoints get no calls. *health.Registry is one.
type Ejections interface{ CountEjected() int }

// WatchHealth exports how many endpoints are ejected.
func (m *Metrics) WatchHealth(e Ejections) {
	m.gauge("weir_endpoints_ejected", "Endpoints that get no calls because they failed too often in a row.", nil,
		func() float64 { return float64(e.CountEjected()) })
}

// Credentials reports how many credentials rest after refusals. *upstream.Client is one.
type Credentials interface{ CountResting() int }

// WatchCredentials exports how many credentials rest, and returns what counts each that begins to.
func (m *Metrics) WatchCredentials(c Credentials) func(provider, status string) {
	m.gauge("weir_credentials_resting", "Credentials of providers with several that are not used at present, for some model or for all, because they were refused.", nil,
		func() float64 { return float64(c.CountResting()) })
	rests := m.counters("weir_credentials_refused_total", "Refusals after which a credential was not used for a while, by provider and status.", "provider", "status")
	return func(provider, status string) { rests.WithLabelValues(label(provider), status).Inc() }
}

// WatchCertificate exports from when until when a certificate of the listener is good. validity returns zero times without a certificate.
func (m *Metrics) WatchCertificate(name string, validity func() (from, until time.Time)) {
	const zero = "; 0 when there is none yet. Only with server.tls."
	seconds := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return float64(t.Unix())
	}
	of := prometheus.Labels{"certificate": name}
	m.gauge("weir_certificate_not_before_timestamp_seconds", "When the certificate of the listener that clients are shown begins"+zero, of,
		func() float64 { from, _ := validity(); return seconds(from) })
	m.gauge("weir_certificate_not_after_timestamp_seconds", "When the certificate of the listener that clients are shown ends"+zero, of,
		func() float64 { _, until := validity(); return seconds(until) })
}

// Asides reports how many charges could not be posted and wait for a decision. *ledger.Book is one.
type Asides interface{ Aside() int64 }

// Journal reports what the store has not taken. *ledger.Book is one.
type Journal interface{ Lag() int64 }

// WatchJournal exports how far the store is behind the journal.
func (m *Metrics) WatchJournal(j Journal) {
	m.gauge("weir_journal_lag_bytes", "Bytes of the journal that the database has not taken yet.", nil, func() float64 { return float64(j.Lag()) })
}

// WatchAside exports how many charges wait for a decision.
func (m *Metrics) WatchAside(a Asides) {
	m.gauge("weir_ledger_set_aside", "Charges that the database could not take, when this node started and since: see weir ledger aside.", nil,
		func() float64 { return float64(a.Aside()) })
}

// WatchSpans exports what became of the spans of traces, by result.
func (m *Metrics) WatchSpans(results []string, count func(result int) int64) {
	for i, name := range results {
		m.make.NewCounterFunc(prometheus.CounterOpts{
			Name: "weir_trace_spans_total", Help: "Spans of traced calls by result: sent, queue_full, rejected by the receiver, or lost because it did not answer.",
			ConstLabels: prometheus.Labels{"result": name},
		}, func() float64 { return float64(count(i)) })
	}
}

// WatchVersion exports which program this is; "" exports nothing.
func (m *Metrics) WatchVersion(version string) {
	if version != "" {
		m.gauge("weir_build_info", "1, with the version of the program.", prometheus.Labels{"version": version}, func() float64 { return 1 })
	}
}

// Handler serves the registry in the Prometheus text format, or as OpenMetrics with traces as exemplars to who asks for it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError})
}

// Gather reads all metrics, as Handler shows them.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return m.registry.Gather() }

func (m *Metrics) route(name string) *routeMetrics {
	r := &routeMetrics{seconds: m.seconds.WithLabelValues(name)}
	for class := range r.classes {
		r.classes[class] = m.requests.WithLabelValues(name, string(rune('0'+class))+"xx")
	}
	return r
}

func (r *routeMetrics) observe(status int, took time.Duration, trace string) {
	if class := status / 100; class < len(r.classes) {
		r.classes[class].Inc()
	}
	observe(r.seconds, took, trace)
}

// observe counts a time, and makes it the example of its class where it has been traced; trace is "" without a trace.
func observe(h prometheus.Observer, took time.Duration, trace string) {
	if with, ok := h.(prometheus.ExemplarObserver); ok && trace != "" {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": trace})
		return
	}
	h.Observe(took.Seconds())
}

// label makes a value of a label: the library panics for a text that is not UTF-8.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// call counts what the record of a call contains; nil counts nothing. trace is the id of its trace, "" without one.
func (m *Metrics) call(c *record.Call, trace string) {
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
		observe(s.firstContent, c.FirstContent, trace)
	}
	m.own(c, trace)
}

// own counts what the node did for a call beside its attempts.
func (m *Metrics) own(c *record.Call, trace string) {
	if len(c.Attempts) == 0 || c.Error != "" {
		return
	}
	if slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.Reason != "" && a.Endpoint != c.Endpoint }) {
		m.saved.Inc()
	}
	if last := c.Attempts[len(c.Attempts)-1].Ended; last > 0 && c.Duration >= last {
		observe(m.added, c.Attempts[0].Started+c.Duration-last, trace)
	}
}

// doubt counts a usage that is not as the provider reported it, or notably little.
func (m *Metrics) doubt(provider string, s usage.Source) {
	for _, one := range [...]usage.Source{usage.Estimated, usage.Capped, usage.TooLow} {
		if s&one != 0 {
			m.doubts.WithLabelValues(label(provider), one.String()).Inc() // providers come from the catalog: they are few
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
	model, provider = label(model), label(provider)
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
		endpoint = label(endpoint)
		t, _ = m.tries.LoadOrStore(endpoint, &tryMetrics{ok: m.attempts.WithLabelValues(endpoint, "ok"), failed: m.attempts.WithLabelValues(endpoint, "failed")})
	}
	if err == nil {
		t.(*tryMetrics).ok.Inc()
	} else {
		t.(*tryMetrics).failed.Inc()
	}
}
