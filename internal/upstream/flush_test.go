package upstream_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// flushes notes how many events there were at each Flush, and closes the channel of a number when that many are shown.
type flushes struct {
	events  int
	shown   []int
	reached map[int]chan struct{}
}

func (f *flushes) Flush() error {
	if c := f.reached[f.events]; c != nil && !slices.Contains(f.shown, f.events) {
		close(c)
	}
	f.shown = append(f.shown, f.events)
	return nil
}

// Everything that has arrived is shown before more is waited for: this provider sends nothing more until the part before was shown. A burst
// of frames is shown with few calls.
func TestFlushBeforeWaiting(t *testing.T) {
	t.Parallel()
	bothClients(t, testFlushBeforeWaiting)
}

func testFlushBeforeWaiting(t *testing.T, standard bool) {
	const burst = 100
	f := &flushes{reached: map[int]chan struct{}{1: make(chan struct{}), 1 + burst: make(chan struct{})}}
	p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
		c.Send(upstreamtest.StreamHead() + upstreamtest.Chunk(first))
		<-f.reached[1]
		c.Send(strings.Repeat(upstreamtest.Chunk(first), burst))
		<-f.reached[1+burst]
		c.Send(upstreamtest.Chunk("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n") + upstreamtest.Chunk("data: [DONE]\n\n") + upstreamtest.StreamEnd)
	})
	for ev, err := range client(t, upstream.Config{Standard: standard}).Complete(context.Background(), endpoint(p.URL), request(true), f) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.HasContent() {
			f.events++
		}
	}
	if f.events < 1+burst || len(f.shown) > burst/2 {
		t.Errorf("%d events, shown at %v", f.events, f.shown)
	}
}
