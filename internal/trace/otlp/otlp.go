// Package otlp sends the spans of calls to a receiver of OpenTelemetry: OTLP over HTTP, as binary protobuf. No call waits for it: spans go
// into a queue of bounded size, and what does not fit is dropped and counted.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"weir/internal/loop"
	"weir/internal/secret"
	"weir/internal/trace"
)

// Config configures an Exporter.
type Config struct {
	URL     string        `yaml:"endpoint"`                  // that spans are posted to, such as "http://localhost:4318/v1/traces"; "": none are
	Headers []secret.Text `yaml:"headers"`                   // of the requests, "Name: value" each
	Service string        `yaml:"service"`                   // service.name
	Queue   int64         `constant:"queue_bytes" as:"size"` // of spans that wait or are being sent
	Timeout time.Duration `constant:"timeout"`               // of a request

	Version   string        // service.version
	Instance  string        // service.instance.id
	Every     time.Duration // how long spans are gathered
	Redact    func([]byte) []byte
	Transport http.RoundTripper
	// Report gets the first failure after a success, and nil for the first success after a failure.
	Report func(error)
}

// Default is the configuration without a receiver.
func Default() Config { return Config{Service: "weir", Queue: 4 << 20, Timeout: 10 * time.Second} }

// Fields are the headers by name.
func (c *Config) Fields() map[string]string {
	out := make(map[string]string, len(c.Headers))
	for _, h := range c.Headers {
		name, value, _ := strings.Cut(h.Reveal(), ":")
		out[name] = strings.TrimSpace(value)
	}
	return out
}

// A batch is offered so often, with pauses that double from the first to the longest, and is then lost.
const (
	mostTries    = 6
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

const (
	maxResponse = 64 << 10 // how much of a receiver's answer is read
	maxBuffer   = 64 << 10 // larger ones are not used again
)

// Exporter queues spans and sends them. It is safe for concurrent use.
type Exporter struct {
	cfg      Config
	client   *http.Client
	resource *resource.Resource
	scope    *common.InstrumentationScope
	loop     *loop.Loop
	buffers  sync.Pool
	counters [results]atomic.Int64

	seed maphash.Seed

	mu     sync.Mutex
	queue  []byte      // spans, each as an element of a list
	taken  [groups]int // bytes of queue, by group of users
	queued int
	busy   int // bytes of the batch that is being sent

	// of the loop alone
	batch   []byte
	spansIn int
	tries   int
	failing bool
}

// groups is how many groups users fall into. One group has half of the queue at most, so that one user's calls do not drop everybody else's.
const groups = 64

// Result is what became of spans.
type Result int

// The results.
const (
	Sent     Result = iota
	Full            // dropped: the queue was full
	Rejected        // the receiver refused them
	Lost            // the receiver did not answer in time, however often
	results
)

// Results are the names of the results, for metrics.
var Results = [results]string{Sent: "sent", Full: "queue_full", Rejected: "rejected", Lost: "lost"}

// New makes an Exporter. Start begins to send.
func New(c Config) *Exporter {
	e := &Exporter{cfg: c, seed: maphash.MakeSeed(), buffers: sync.Pool{New: func() any { return new([]byte) }}, client: &http.Client{
		Transport: c.Transport, Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers hold credentials
	}}
	var p pairs
	p.text("service.name", c.Service)
	p.text("service.version", c.Version)
	p.text("service.instance.id", c.Instance)
	e.resource = &resource.Resource{Attributes: p}
	e.scope = &common.InstrumentationScope{Name: "weir", Version: c.Version}
	e.loop = loop.New(c.Every, e.round)
	return e
}

// Start begins to send.
func (e *Exporter) Start() { e.loop.Start() }

// Close sends what is queued, once and as long as ctx allows, and ends.
func (e *Exporter) Close(ctx context.Context) {
	e.loop.Stop()
	for range 2 { // the batch under way, and what has gathered behind it
		if e.take(); e.batch != nil {
			e.settle(e.post(ctx), true)
		}
	}
	e.client.CloseIdleConnections()
}

// Count is how many spans came to a result.
func (e *Exporter) Count(r Result) int64 { return e.counters[r].Load() }

// Export queues the spans of a call.
func (e *Exporter) Export(c *trace.Call, a *trace.Answer) {
	buffer := e.buffers.Get().(*[]byte)
	spans := e.spans(c, a)
	n := len(spans)
	b, err := appendSpans((*buffer)[:0], spans)
	if err != nil { // a text that is no UTF-8; all were replaced
		e.counters[Lost].Add(int64(n))
		e.buffers.Put(buffer)
		return
	}
	group := maphash.String(e.seed, a.User) % groups
	e.mu.Lock()
	full := int64(len(e.queue)+e.busy+len(b)) > e.cfg.Queue || int64(e.taken[group]+len(b)) > e.cfg.Queue/2
	if !full {
		e.taken[group] += len(b)
		e.queue = append(e.queue, b...)
		e.queued += n
	}
	e.mu.Unlock()
	if full {
		e.counters[Full].Add(int64(n))
	}
	if cap(b) <= maxBuffer {
		*buffer = b
		e.buffers.Put(buffer)
	}
}

// round sends what has gathered.
func (e *Exporter) round(ctx context.Context) time.Duration {
	if e.take(); e.batch == nil {
		return e.cfg.Every
	}
	err := e.post(ctx)
	if ctx.Err() != nil {
		return e.cfg.Every // Close sends it
	}
	return max(e.settle(err, false), e.cfg.Every)
}

// take makes the queue the batch to send, unless there still is one.
func (e *Exporter) take() {
	if e.batch != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queued == 0 {
		return
	}
	e.batch, e.spansIn, e.busy, e.tries = e.queue, e.queued, len(e.queue), 0
	e.queue, e.queued, e.taken = nil, 0, [groups]int{}
}

// refusal is an answer other than the one that takes all spans.
type refusal struct {
	status int
	again  bool          // the same spans may be offered again
	after  time.Duration // soonest
	spans  int64         // of a partial success: those that were rejected
	text   string
}

func (r *refusal) Error() string {
	if r.status == http.StatusOK {
		return "the receiver of traces " + r.text
	}
	return fmt.Sprintf("the receiver of traces answers %d%s", r.status, r.text)
}

// settle counts what became of the batch, and returns the pause before the next round. last: it will not be offered again.
func (e *Exporter) settle(err error, last bool) (pause time.Duration) {
	var r *refusal
	isRefusal := errors.As(err, &r)
	e.tries++
	switch {
	case err == nil:
		e.count(Sent, int64(e.spansIn))
	case isRefusal && r.spans > 0:
		rejected := min(r.spans, int64(e.spansIn))
		e.count(Rejected, rejected)
		e.count(Sent, int64(e.spansIn)-rejected)
	case isRefusal && !r.again:
		e.count(Rejected, int64(e.spansIn))
	case last || e.tries == mostTries:
		e.count(Lost, int64(e.spansIn))
	default:
		pause = min(firstPause<<(e.tries-1), longestPause)
		if isRefusal {
			pause = max(pause, min(r.after, longestPause))
		}
	}
	if pause == 0 {
		e.mu.Lock()
		e.batch, e.busy = nil, 0
		e.mu.Unlock()
	}
	if failing := err != nil; failing != e.failing {
		e.failing = failing
		e.cfg.Report(err)
	}
	return pause
}

func (e *Exporter) count(r Result, n int64) { e.counters[r].Add(n) }

// request is the batch with its resource and scope. On the wire, ExportTraceServiceRequest is the same as TracesData, whose package needs no
// gRPC. The spans are encoded already: they go in as they are, behind the fields that are not.
func (e *Exporter) request() ([]byte, error) {
	list := &traces.ScopeSpans{Scope: e.scope}
	list.ProtoReflect().SetUnknown(e.batch)
	body, err := proto.Marshal(&traces.TracesData{ResourceSpans: []*traces.ResourceSpans{{Resource: e.resource, ScopeSpans: []*traces.ScopeSpans{list}}}})
	if err != nil {
		return nil, fmt.Errorf("encode spans: %w", err)
	}
	return body, nil
}

// post offers the batch to the receiver.
func (e *Exporter) post(ctx context.Context) error {
	body, err := e.request()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range e.cfg.Fields() {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "weir/"+e.cfg.Version)
	res, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("the receiver of traces does not answer: %w", err)
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxResponse)) // the status alone decides, but for a partial success
	switch status := res.StatusCode; status {
	case http.StatusOK:
		return accepted(res.Header.Get("Content-Type"), answer)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return &refusal{status: status, again: true, after: time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	default:
		return &refusal{status: status, text: "; check tracing.endpoint and tracing.headers"}
	}
}

// accepted reads an ExportTraceServiceResponse. A page of some web server is refused, even with status 200.
func accepted(contentType string, b []byte) error {
	kind, _, _ := strings.Cut(contentType, ";")
	if len(b) > 0 && kind != "application/x-protobuf" && kind != "application/json" {
		return &refusal{status: http.StatusOK, text: "answers with something else than OTLP; check tracing.endpoint, which usually ends in /v1/traces"}
	}
	if kind != "application/x-protobuf" {
		return nil
	}
	partial, _ := field(b, 1, protowire.BytesType)
	_, rejected := field(partial, 1, protowire.VarintType)
	if rejected > 0 && rejected < 1<<62 {
		said, _ := field(partial, 2, protowire.BytesType)
		return &refusal{status: http.StatusOK, spans: int64(rejected), text: "rejected spans: " + strings.ToValidUTF8(cut(string(said)), "?")}
	}
	return nil
}

// field finds the last field of a message with this number and type. Of bytes that are no message it finds what comes before the first error.
func field(b []byte, want protowire.Number, kind protowire.Type) (data []byte, n uint64) {
	for len(b) > 0 {
		number, is, size := protowire.ConsumeTag(b)
		if size < 0 {
			return data, n
		}
		b = b[size:]
		if size = protowire.ConsumeFieldValue(number, is, b); size < 0 {
			return data, n
		}
		if number == want && is == kind {
			switch is {
			case protowire.BytesType:
				data, _ = protowire.ConsumeBytes(b)
			case protowire.VarintType:
				n, _ = protowire.ConsumeVarint(b)
			}
		}
		b = b[size:]
	}
	return data, n
}
