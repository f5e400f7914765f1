package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// status requests a path of the node without a key, and returns the HTTP status.
func (n *node) status(t *testing.T, url string) int {
	t.Helper()
	res, err := n.client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// openStreams begins streams and waits until each has its first frame. Their results are passed to end.
func (n *node) openStreams(t *testing.T, count int, prompt string, end func(reply, *broken)) *sync.WaitGroup {
	t.Helper()
	var began atomic.Int64
	wg := &sync.WaitGroup{}
	for i := range count {
		wg.Go(func() {
			end(n.stream(t.Context(), fmt.Sprintf("%s stream %d", prompt, i), func() { began.Add(1) }))
		})
	}
	waitFor(t, "streams to begin", func() bool { return began.Load() == int64(count) })
	return wg
}

// wantExit waits until the process has ended, and checks that it reports success.
func (n *node) wantExit(t *testing.T) {
	t.Helper()
	waitFor(t, "the node to end", n.ended)
	if n.err != nil {
		t.Errorf("the node ended with %v\n%s", n.err, n.stderr)
	}
}

// A node that gets a termination signal, even twice, reports it to load balancers at once, closes client connections after their next
// answer, and drops no call and no stream.
func TestDrainDropsNothing(t *testing.T) {
	t.Parallel()
	const workers, streams = 8, 100
	s := startSite(t, settings{price: "0.4", server: "shutdown_delay: 3s"})
	var got delivered
	keep := func(r reply, bad *broken) {
		if bad != nil {
			t.Errorf("dropped: %v", bad)
			return
		}
		got.add(r)
	}
	open := s.openStreams(t, streams, "[[sim gap=50ms frames=60]]", keep)
	var calls sync.WaitGroup
	for i := range workers {
		calls.Go(func() {
			for { // until the node closes connections after an answer
				r, bad := s.whole(t.Context(), fmt.Sprintf("[[sim delay=20ms]] call %d", i))
				keep(r, bad)
				if bad != nil || r.last {
					return
				}
			}
		})
	}
	waitFor(t, "calls", func() bool { return got.count() > 3*workers })

	s.signal(t, syscall.SIGTERM)
	began := time.Now()
	waitFor(t, "readiness to fail", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusServiceUnavailable })
	promised(t, "readiness fails after SIGTERM", time.Since(began), 500*time.Millisecond)
	if status := s.status(t, s.AdminURL+"/healthz"); status != http.StatusOK {
		t.Errorf("a draining node is healthy, not %d", status)
	}
	s.signal(t, syscall.SIGTERM) // must not shorten the drain
	calls.Wait()
	open.Wait()
	s.wantExit(t)
	t.Logf("%d answers delivered, none dropped", got.count())

	s.serve(t)
	s.checkCharges(t, got.replies)
	s.kill()
	verify(t, "-c", s.file)
}

// Calls that still run at the drain's deadline are cut, with an error, and charged for what was delivered.
func TestDrainDeadline(t *testing.T) {
	t.Parallel()
	s := startSite(t, settings{price: "0.4", server: "shutdown_delay: 0s\n  drain_timeout: 100ms"})
	s.endsEarly(t, func() { s.signal(t, syscall.SIGTERM) })
}

// A second interrupt ends the drain at once.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	s := startSite(t, settings{price: "0.4", server: "shutdown_delay: 300s"})
	s.endsEarly(t, func() {
		s.signal(t, syscall.SIGINT)
		waitFor(t, "readiness to fail", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusServiceUnavailable })
		s.signal(t, syscall.SIGINT)
	})
}

// endsEarly ends the node in the middle of streams and of a whole call.
func (s *site) endsEarly(t *testing.T, end func()) {
	t.Helper()
	const streams = 20
	var mu sync.Mutex
	ids := map[string]bool{}
	open := s.openStreams(t, streams, "[[sim gap=50ms frames=6000]]", func(_ reply, bad *broken) {
		mu.Lock()
		defer mu.Unlock()
		if bad == nil || bad.err != nil || !strings.HasSuffix(bad.what, done) || !strings.Contains(bad.what, `"error_type":"draining"`) ||
			!strings.Contains(bad.what, `"finish_reason":"error"`) {
			t.Errorf("a stream must end with an error event, ended with %v", bad)
			return
		}
		_, id, _ := strings.Cut(bad.what, `"id":"gen-`)
		id, _, _ = strings.Cut(id, `"`)
		ids["gen-"+id] = true
	})
	waiting := make(chan *broken, 1)
	go func() {
		_, bad := s.whole(context.Background(), "[[sim delay=300s]] wait")
		waiting <- bad
	}()
	waitFor(t, "the whole call to arrive", func() bool { return s.simulated(t).Open == streams+1 })
	end()
	open.Wait()
	if bad := <-waiting; bad == nil || !strings.HasPrefix(bad.what, "status 503") {
		t.Errorf("a call without a byte gets 503, got %v", bad)
	}
	s.wantExit(t)

	s.serve(t)
	if len(ids) != streams {
		t.Errorf("%d generations of %d streams", len(ids), streams)
	}
	for id := range ids {
		var g struct {
			Data struct {
				TotalCost        float64 `json:"total_cost"`
				TokensCompletion int     `json:"tokens_completion"`
			} `json:"data"`
		}
		if status, err := s.getJSON("/v1/generation?id="+id, &g); err != nil || status != http.StatusOK || g.Data.TotalCost <= 0 || g.Data.TokensCompletion == 0 {
			t.Errorf("%s was cut and must be charged for its part: status %d, %+v, %v", id, status, g.Data, err)
		}
	}
	if c := s.credits(t); c.Reserved != "0" {
		t.Errorf("%s is still held", c.Reserved)
	}
	s.kill()
	verify(t, "-c", s.file)
}

// simulated returns the request counts of the site's simulator.
func (s *site) simulated(t *testing.T) (total struct{ Requests, Open, Cancelled int }) {
	t.Helper()
	var stats struct {
		Total *struct{ Requests, Open, Cancelled int }
	}
	stats.Total = &total
	s.simulator(t, http.MethodGet, "/sim/stats", &stats)
	return total
}
