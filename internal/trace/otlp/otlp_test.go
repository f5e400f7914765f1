package otlp_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/secret"
	"weir/internal/trace"
	"weir/internal/trace/otlp"
	"weir/internal/trace/otlp/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exporter is one for a receiver, and a function that hands calls to it.
func exporter(t *testing.T, change func(*otlp.Config)) (e *otlp.Exporter, reports *atomic.Int64, call func()) {
	t.Helper()
	reports = new(atomic.Int64)
	cfg := otlp.Config{
		Service: "test", Version: "1", Instance: "node", Queue: 64 << 10, Timeout: time.Minute, Every: time.Second,
		Redact: func(b []byte) []byte { return b }, Transport: &http.Transport{},
		Report: func(err error) {
			if err != nil {
				reports.Add(1)
			}
		},
	}
	change(&cfg)
	e = otlp.New(cfg)
	tracer := trace.New(trace.Config{Ratio: 1, Rand: rand.Uint64}, e)
	return e, reports, func() {
		tracer.End(tracer.Begin(nil, false), &trace.Answer{At: time.Now(), Took: time.Second, Method: "POST", Route: "/v1/x", Path: "/v1/x", Status: 200, Request: "req_1"})
	}
}

// What is queued arrives at the latest when the exporter closes.
func TestDelivered(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	e, _, call := exporter(t, func(c *otlp.Config) { c.URL, c.Headers = receiver.URL, []secret.Text{secret.New("x-team: secret")} })
	for range 100 {
		call()
	}
	e.Start()
	e.Close(t.Context())
	spans := receiver.Spans("")
	if len(spans) != 100 || e.Count(otlp.Sent) != 100 {
		t.Fatalf("%d spans arrived, %d sent", len(spans), e.Count(otlp.Sent))
	}
	s := spans[0]
	if s.Name != "POST /v1/x" || s.Service != "test" || s.End-s.Start != 1e9 || s.Failed || len(s.Trace) != 32 || len(s.ID) != 16 || s.Parent != "" {
		t.Errorf("%+v", s)
	}
	if got := receiver.Headers()[0].Get("X-Team"); got != "secret" {
		t.Errorf("header %q", got)
	}
}

// Each span has one result, whatever the receiver does, and the first failure is reported.
func TestReceiverThatFails(t *testing.T) {
	t.Parallel()
	partial := []byte{0x0a, 0x06, 0x08, 0x02, 0x12, 0x02, 'n', 'o'} // partial_success {rejected_spans: 2, error_message: "no"}
	var followed atomic.Bool
	elsewhere := otlptest.Start(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
	for _, c := range []struct {
		name                 string
		answer               http.HandlerFunc
		sent, rejected, lost int64
	}{
		{"partial success", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(partial)
		}, 8, 2, 0},
		{"JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, "{}")
		}, 10, 0, 0},
		{"rubbish in the right type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(bytes.Repeat([]byte{0xff}, 1<<20))
		}, 10, 0, 0},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>sign in") }, 0, 10, 0},
		{"refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, 0, 10, 0},
		{"too large", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, 0, 10, 0},
		{"redirected", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, 0, 10, 0},
		{"overloaded", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, 0, 0, 10},
		{"cut off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, 0, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			receiver := otlptest.Start(t, c.answer)
			e, reports, call := exporter(t, func(cfg *otlp.Config) { cfg.URL = receiver.URL })
			for range 10 {
				call()
			}
			e.Close(t.Context())
			if e.Count(otlp.Sent) != c.sent || e.Count(otlp.Rejected) != c.rejected || e.Count(otlp.Lost) != c.lost {
				t.Errorf("sent %d, rejected %d, lost %d", e.Count(otlp.Sent), e.Count(otlp.Rejected), e.Count(otlp.Lost))
			}
			if want := c.sent < 10; (reports.Load() > 0) != want {
				t.Errorf("%d reports", reports.Load())
			}
		})
	}
	t.Cleanup(func() {
		if followed.Load() {
			t.Error("a redirection was followed, with the credentials of the first address")
		}
	})
}

// A receiver that never answers, or is not there, costs a queue: the rest is dropped and counted, and nobody waits.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	silent := otlptest.Start(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, url := range map[string]string{"silent": silent.URL, "dead": "http://127.0.0.1:1/v1/traces"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _, call := exporter(t, func(c *otlp.Config) { c.URL, c.Every = url, time.Millisecond })
			e.Start()
			const calls = 5000
			for range calls {
				call()
			}
			now, cancel := context.WithCancel(t.Context())
			cancel()
			e.Close(now)
			full, lost := e.Count(otlp.Full), e.Count(otlp.Lost)
			if full == 0 || full+lost != calls || lost > 64<<10/100 {
				t.Errorf("dropped %d, lost %d of %d", full, lost, calls)
			}
		})
	}
}

// However many calls one user makes, those of others are traced.
func TestQueueIsShared(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	e, _, _ := exporter(t, func(c *otlp.Config) { c.URL = receiver.URL })
	tracer := trace.New(trace.Config{Ratio: 1, Rand: rand.Uint64}, e)
	for i := range 1100 {
		user := "usr_loud"
		if i >= 1000 {
			user = "usr_" + strconv.Itoa(i) // of a hundred, some fall into the loud one's group
		}
		tracer.End(tracer.Begin(nil, false), &trace.Answer{User: user, Method: "POST", Route: "/v1/x"})
	}
	e.Close(t.Context())
	others := 0
	for _, s := range receiver.Spans("") {
		if s.Attributes["weir.user_id"] != "usr_loud" {
			others++
		}
	}
	if sent := e.Count(otlp.Sent); others < 80 || sent-int64(others) > 300 {
		t.Errorf("%d spans, %d of others", sent, others)
	}
}

// moody is a transport that fails until it is told otherwise.
type moody struct {
	answers []int // statuses, in order; then 200
	after   string
	at      []time.Time
}

func (m *moody) RoundTrip(r *http.Request) (*http.Response, error) {
	m.at = append(m.at, time.Now())
	_, _ = io.Copy(io.Discard, r.Body)
	status := http.StatusOK
	if len(m.answers) > 0 {
		status, m.answers = m.answers[0], m.answers[1:]
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {m.after}}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// A receiver that is busy is asked again, later and later, or when it says; in the end its spans are lost, and later ones are sent.
func TestOfferedAgain(t *testing.T) {
	t.Parallel()
	busy := http.StatusServiceUnavailable
	for _, c := range []struct {
		name       string
		answers    []int
		after      string
		at         []int // seconds of the requests
		sent, lost int64
	}{
		{"once", []int{busy}, "", []int{1, 2}, 1, 0},
		{"later and later", []int{busy, busy, busy, busy}, "", []int{1, 2, 4, 8, 16}, 1, 0},
		{"when it says", []int{http.StatusTooManyRequests}, "7", []int{1, 8}, 1, 0},
		{"at most so late", []int{busy}, "100000", []int{1, 31}, 1, 0},
		{"lost", []int{busy, busy, busy, busy, busy, busy, busy}, "", []int{1, 2, 4, 8, 16, 32}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				receiver := &moody{answers: c.answers, after: c.after}
				e, _, call := exporter(t, func(cfg *otlp.Config) { cfg.URL, cfg.Transport = "http://receiver.test/v1/traces", receiver })
				call()
				e.Start()
				time.Sleep(time.Minute) // of the bubble
				synctest.Wait()
				e.Close(t.Context())
				if len(receiver.at) != len(c.at) || e.Count(otlp.Sent) != c.sent || e.Count(otlp.Lost) != c.lost {
					t.Fatalf("requests %v, sent %d, lost %d", receiver.at, e.Count(otlp.Sent), e.Count(otlp.Lost))
				}
				for i, at := range receiver.at {
					if at.Sub(began) != time.Duration(c.at[i])*time.Second {
						t.Errorf("request %d after %v, want %d s", i, at.Sub(began), c.at[i])
					}
				}
			})
		})
	}
}
