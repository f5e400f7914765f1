// Package otlptest is a receiver of traces for tests. It decodes them with the code that OpenTelemetry generates from its own definition, and
// on request is slow or answers rubbish.
package otlptest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that arrived.
type Span struct {
	Trace, ID, Parent, Name, Service, Link string
	Server                                 bool // a span of the server's; else of a client's
	Failed                                 bool
	Start, End                             uint64
	Attributes                             map[string]any // string, int64, bool, float64 or []any
}

// Receiver collects spans.
type Receiver struct {
	URL string // of its route for spans
	// Answer takes the place of the usual answer, 200 without a body; nil: that. It must not be changed while the receiver is in use.
	Answer http.HandlerFunc

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
	raw     []byte
}

// Start starts a receiver over loopback, which ends with the test.
func Start(t *testing.T, answer http.HandlerFunc) *Receiver {
	t.Helper()
	r := &Receiver{Answer: answer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the client is gone
		}
		if q.Method != http.MethodPost || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s with %s", q.Method, q.URL, q.Header.Get("Content-Type"))
		}
		if r.Answer != nil {
			r.Answer(w, q)
			return
		}
		if err := r.take(body, q.Header); err != nil {
			t.Errorf("what arrived is no TracesData: %v", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL + "/v1/traces"
	return r
}

func (r *Receiver) take(body []byte, header http.Header) error {
	var data traces.TracesData // on the wire, ExportTraceServiceRequest is the same
	if err := proto.Unmarshal(body, &data); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers, r.raw = append(r.headers, header), append(r.raw, body...)
	for _, group := range data.GetResourceSpans() {
		service, _ := attributes(group.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range group.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				out := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name: s.GetName(), Server: s.GetKind() == traces.Span_SPAN_KIND_SERVER, Failed: s.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR, Service: service,
					Start: s.GetStartTimeUnixNano(), End: s.GetEndTimeUnixNano(), Attributes: attributes(s.GetAttributes()),
				}
				if links := s.GetLinks(); len(links) == 1 {
					out.Link = hex.EncodeToString(links[0].GetTraceId())
				}
				r.spans = append(r.spans, out)
			}
		}
	}
	return nil
}

// Spans are those that have arrived so far, of a trace; "": of all.
func (r *Receiver) Spans(trace string) (out []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if trace == "" || s.Trace == trace {
			out = append(out, s)
		}
	}
	return out
}

// Of is the server's span of a request, and its children in the order in which they began.
func (r *Receiver) Of(request string) (server *Span, attempts []Span) {
	all := r.Spans("")
	at := slices.IndexFunc(all, func(s Span) bool { return s.Attributes["weir.request_id"] == request })
	if at < 0 {
		return nil, nil
	}
	server = &all[at]
	for _, s := range all {
		if s.Parent == server.ID && s.Trace == server.Trace {
			attempts = append(attempts, s)
		}
	}
	slices.SortStableFunc(attempts, func(a, b Span) int { return int(int64(a.Start) - int64(b.Start)) })
	return server, attempts
}

// Raw is everything that has arrived.
func (r *Receiver) Raw() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.raw)
}

// Headers are those of the requests so far.
func (r *Receiver) Headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.headers)
}

func attributes(list []*common.KeyValue) map[string]any {
	out := make(map[string]any, len(list))
	for _, kv := range list {
		out[kv.GetKey()] = value(kv.GetValue())
	}
	return out
}

func value(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_ArrayValue:
		var out []any
		for _, one := range v.ArrayValue.GetValues() {
			out = append(out, value(one))
		}
		return out
	}
	return nil
}
