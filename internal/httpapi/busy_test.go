package httpapi_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/httpapi"
	"weir/internal/relay"
)

// Busy processors are no reason to refuse: of streams that are quiet beside sixteen busy workers none is lost, however many there are within the
// limits, and each takes no more memory than it may.
func TestNoStreamIsLostToBusyProcessors(t *testing.T) {
	// not parallel: it measures the memory of the process
	const streams, workers, each = 60, 16, 100 << 10
	var open atomic.Int64
	all := make(chan struct{})
	n := startWith(t, relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		if open.Add(1) == streams {
			close(all)
		}
		select {
		case <-all: // all of them are under way at once
		case <-ctx.Done():
			return ctx.Err()
		}
		return hello(ctx, c, sink)
	}), func(c *httpapi.Config) { c.UserCallsPerMinute = 10 * streams }, nil)
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range workers {
		busy.Go(func() {
			for sum := 0; ctx.Err() == nil; sum++ {
			}
		})
	}
	before := memoryInUse()
	peak := make(chan uint64, 1)
	go func() {
		select {
		case <-all:
			peak <- memoryInUse()
		case <-ctx.Done():
			peak <- 0
		}
	}()
	var calls sync.WaitGroup
	for range streams {
		calls.Go(func() {
			r, err := n.try("POST", "/v1/chat/completions", `{"model":"acme/small","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
			switch {
			case err != nil:
				t.Error(err)
			case r.StatusCode != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(string(r.body)), "data: [DONE]"):
				t.Errorf("%d %.200s", r.StatusCode, r.body)
			default:
				return
			}
			stop() // the others must not wait for it
		})
	}
	calls.Wait()
	most := <-peak
	stop()
	busy.Wait()
	if most > before && (most-before)/streams > 2*each { // the clients are in this process, too
		t.Errorf("a stream and its client take %d bytes", (most-before)/streams)
	}
}

// memoryInUse is the memory that is in use, stacks included.
func memoryInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
