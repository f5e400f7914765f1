package otlp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"weir/internal/wire/otlp"
)

func pair(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, n int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}}
}

var source = &resource.Resource{Attributes: []*common.KeyValue{pair("service.name", "claude-code"), pair("host.name", "secret-host"), number("process.pid", 7)}}

func metricsMessage() *metrics.MetricsData {
	sum := func(name string, t metrics.AggregationTemporality, points ...*metrics.NumberDataPoint) *metrics.Metric {
		return &metrics.Metric{Name: name, Unit: "count", Data: &metrics.Metric_Sum{Sum: &metrics.Sum{DataPoints: points, AggregationTemporality: t, IsMonotonic: true}}}
	}
	return &metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{Resource: source, ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: []*metrics.Metric{
		sum("lines", metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA,
			&metrics.NumberDataPoint{Attributes: []*common.KeyValue{pair("session.id", "s1"), pair("type", "added"), pair("user.email", "a@b.c")}, Value: &metrics.NumberDataPoint_AsInt{AsInt: 12}},
			&metrics.NumberDataPoint{Attributes: []*common.KeyValue{pair("session.id", "s2"), pair("type", strings.Repeat("x", 300))}, Value: &metrics.NumberDataPoint_AsInt{AsInt: -3}}),
		sum("time", metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, &metrics.NumberDataPoint{Attributes: []*common.KeyValue{pair("session.id", "s1")}, Value: &metrics.NumberDataPoint_AsDouble{AsDouble: 1.5}}),
		{Name: "gauge", Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: []*metrics.NumberDataPoint{{Value: &metrics.NumberDataPoint_AsInt{AsInt: 1}}}}}},
	}}}}}}
}

func logsMessage() *logs.LogsData {
	return &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{Resource: source, ScopeLogs: []*logs.ScopeLogs{{LogRecords: []*logs.LogRecord{
		{Body: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: "claude_code.tool_decision"}}, Attributes: []*common.KeyValue{pair("session.id", "s1"), pair("prompt", "the secret plan"), pair("decision", "accept")}},
	}}}}}}
}

// both encodes a message as protocol buffers and as JSON.
func both(t *testing.T, m proto.Message) map[bool][]byte {
	t.Helper()
	packed, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return map[bool][]byte{false: packed, true: text}
}

var wanted = []string{"session.id", "type", "decision", "service.name"}

// TestReader reads what the messages of OpenTelemetry's own types say, in both encodings, and no attribute that is not wanted.
func TestReader(t *testing.T) {
	t.Parallel()
	for json, body := range both(t, metricsMessage()) {
		var got []string
		if err := (otlp.Reader{Wanted: wanted, JSON: json}).Metrics(body, func(p *otlp.Point) {
			got = append(got, fmt.Sprintf("%s %v %v %v", p.Metric, p.Value, p.Cumulative, p.Attributes))
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"lines 12 false [{service.name claude-code} {session.id s1} {type added}]", "lines -3 false [{service.name claude-code} {session.id s2}]", "time 1.5 true [{service.name claude-code} {session.id s1}]"}
		if !slices.Equal(got, want) {
			t.Errorf("JSON %v: %q", json, got)
		}
	}
	for json, body := range both(t, logsMessage()) {
		var got []string
		if err := (otlp.Reader{Wanted: wanted, JSON: json}).Logs(body, func(e *otlp.Event) { got = append(got, fmt.Sprint(e.Attributes)) }); err != nil {
			t.Fatal(err)
		}
		if want := []string{"[{service.name claude-code} {session.id s1} {decision accept}]"}; !slices.Equal(got, want) {
			t.Errorf("JSON %v: %q", json, got)
		}
	}
}

// TestReaderRefuses what is no message, before anything of it is given.
func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	cut := both(t, metricsMessage())
	for _, c := range []struct {
		json bool
		body string
	}{{true, ""}, {true, "[]"}, {true, `{"resourceMetrics":`}, {true, `{"a":1,"a":2}`}, {true, string(cut[true][:90])}, {false, "\xff"}, {false, "\x0a\x05ab"}, {false, string(cut[false][:len(cut[false])-3])}} {
		r := otlp.Reader{Wanted: wanted, JSON: c.json}
		if err := r.Metrics([]byte(c.body), func(p *otlp.Point) { t.Errorf("%q: %v", c.body, p) }); err == nil {
			t.Errorf("%q is read", c.body)
		}
	}
}

func FuzzReader(f *testing.F) {
	packed, _ := proto.Marshal(metricsMessage())
	events, _ := proto.Marshal(logsMessage())
	text, _ := protojson.Marshal(metricsMessage())
	for _, b := range [][]byte{packed, events, text} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, json := range []bool{false, true} {
			r := otlp.Reader{Wanted: wanted, JSON: json}
			check := func(a otlp.Attributes) {
				for _, one := range a {
					if !slices.Contains(wanted, one.Key) || len(one.Value) > 256 {
						t.Fatalf("%q", one)
					}
				}
			}
			_ = r.Metrics(body, func(p *otlp.Point) { check(p.Attributes) })
			_ = r.Logs(body, func(e *otlp.Event) { check(e.Attributes) })
			_ = r.Traces(body)
		}
	})
}
