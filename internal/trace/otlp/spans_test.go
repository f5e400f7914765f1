package otlp_test

import (
	"flag"
	"net/http"
	"os"
	"testing"
	"time"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"weir/internal/catalog"
	"weir/internal/record"
	"weir/internal/trace"
	"weir/internal/trace/otlp"
	"weir/internal/trace/otlp/otlptest"
	"weir/internal/usage"
)

var update = flag.Bool("update", false, "write testdata/spans.json of what is sent")

// golden are calls with every kind of attribute but content: a refusal, one of two attempts, and a video job.
func golden(e *otlp.Exporter) {
	at := time.Unix(1_790_000_000, 123_456_789)
	e.Export(&trace.Call{Trace: [16]byte{1, 2}, Span: [8]byte{3}}, &trace.Answer{
		At: at, Took: time.Second, Method: "POST", Route: "/v1/x", Path: "/v1/x\xff", Status: 503, Reason: "overloaded", Request: "req_1",
	})
	ep := &catalog.Endpoint{
		ID: "a/b", UpstreamID: "b-1", Model: &catalog.Model{Type: catalog.TypeEmbedding},
		Provider: &catalog.Provider{ID: "mistral", BaseURL: "https://api.example.com/v1"},
	}
	e.Export(&trace.Call{
		Trace: [16]byte{4}, Span: [8]byte{5}, Parent: [8]byte{6}, Link: trace.Parent{Trace: [16]byte{7}, Span: [8]byte{8}}, Tried: []*catalog.Endpoint{ep, ep},
	}, &trace.Answer{
		At: at, Took: 3 * time.Second, Method: "POST", Route: "/v1/y", Path: "/v1/y", Status: 200, Request: "req_2", User: "usr_1", Key: "key_1", Asked: "b", InBatch: true,
		Record: &record.Call{
			Generation: "gen_1", Preset: "p", Model: "a/b", Provider: "mistral", Session: "s", Settled: true, Cost: 12_345, Streamed: true, UpstreamID: "up_1", Finish: "stop",
			Usage: usage.Usage{Prompt: usage.Count{N: 7, Reported: true}, Completion: usage.Count{N: 300}, Source: usage.Estimated},
			Attempts: []record.Attempt{
				{Started: time.Millisecond, Ended: time.Second, Status: 500, Reason: "server_error"},
				{Started: time.Second, FirstContent: 1500 * time.Millisecond, Ended: 2 * time.Second, Status: 200, OwnKey: "own_1"},
			},
		},
	})
	e.Export(&trace.Call{Trace: [16]byte{9}, Span: [8]byte{10}}, &trace.Answer{At: at, Took: time.Minute, Job: "job_1", Asked: "c", Reason: "timeout"})
}

// What is sent decodes to what the golden file says.
func TestSpansOnTheWire(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	e, _, _ := exporter(t, func(c *otlp.Config) { c.URL, c.Transport = receiver.URL, &http.Transport{} })
	golden(e)
	e.Close(t.Context())
	var got, want traces.TracesData
	if err := proto.Unmarshal(receiver.Raw(), &got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/spans.json", []byte(protojson.MarshalOptions{Multiline: true}.Format(&got)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile("testdata/spans.json")
	if err == nil {
		err = protojson.Unmarshal(file, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(want.GetResourceSpans()) != 1 || len(want.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()) != 5 || !proto.Equal(&got, &want) {
		t.Errorf("sent:\n%s", protojson.Format(&got))
	}
}
