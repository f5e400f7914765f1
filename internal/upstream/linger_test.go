package upstream_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// After the last choice has ended, usage and the mark of the end are waited for, but only so long: a provider that sends neither
// and does not close must not keep the end from the client. What has arrived is read, however slow the reader is.
func TestLinger(t *testing.T) {
	t.Parallel()
	bothClients(t, testLinger)
}

func testLinger(t *testing.T, standard bool) {
	const (
		content = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"
		finish  = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
		second  = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"ho\"},\"finish_reason\":\"stop\"}]}\n\n"
		usage   = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n"
		done    = "data: [DONE]\n\n"
	)
	type part struct {
		after time.Duration // since the part before it
		text  string
	}
	for _, tt := range []struct {
		name   string
		n      int
		parts  []part
		busy   time.Duration // how long the reader takes over the finish
		took   time.Duration // until the end; 0: the end comes with the idle timeout
		prompt int64
		broken bool
	}{
		{name: "nothing more", parts: []part{{0, content}, {0, finish}}, took: 2 * time.Second},
		{name: "usage and nothing more", parts: []part{{0, content + finish}, {time.Second, usage}}, took: 2 * time.Second, prompt: 3},
		{name: "usage in time", parts: []part{{0, content + finish}, {time.Second, usage + done}}, took: time.Second, prompt: 3},
		{name: "usage too late", parts: []part{{0, content + finish}, {3 * time.Second, usage + done}}, took: 2 * time.Second},
		{name: "a pause before the finish is none", parts: []part{{0, content}, {5 * time.Second, finish}, {0, usage + done}}, took: 5 * time.Second, prompt: 3},
		{name: "a slow reader", parts: []part{{0, content + finish}, {time.Second, usage + done}}, busy: 10 * time.Second, took: 10 * time.Second, prompt: 3},
		{name: "the other choice is still to come", n: 2, parts: []part{{0, content + finish}, {5 * time.Second, second}}, took: 7 * time.Second},
		{name: "no finish", parts: []part{{0, content}}, took: 120 * time.Second, broken: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := upstreamtest.New(upstream.Config{Standard: standard, Dialects: map[string]dialect.Dialect{"openai": new(openai.Dialect)}})
				var provider sync.WaitGroup
				defer provider.Wait()
				defer c.Close()
				c.Dial("http", "acme.test", func() net.Conn {
					ours, theirs := net.Pipe()
					provider.Go(func() {
						defer theirs.Close()
						if _, err := http.ReadRequest(bufio.NewReader(theirs)); err != nil {
							return
						}
						_, _ = io.WriteString(theirs, upstreamtest.StreamHead())
						for _, p := range tt.parts {
							time.Sleep(p.after)
							_, _ = io.WriteString(theirs, upstreamtest.Chunk(p.text))
						}
						_, _ = io.Copy(io.Discard, theirs) // until the other side closes
					})
					return ours
				})
				req := request(true)
				req.N = max(tt.n, 1)
				start := time.Now()
				ended, prompt := false, int64(0)
				for ev, err := range c.Complete(context.Background(), endpoint("http://acme.test"), req, nil) {
					if err != nil {
						if !tt.broken {
							t.Fatal(err)
						}
						break
					}
					if ev.Usage != nil {
						prompt = ev.Usage.Prompt.N
					}
					if ev.Finish != "" {
						time.Sleep(tt.busy)
					}
					ended = ev.Done
				}
				if took := time.Since(start); took/time.Second != tt.took/time.Second || ended == tt.broken || prompt != tt.prompt {
					t.Errorf("ended %v after %v with %d prompt tokens", ended, took, prompt)
				}
			})
		})
	}
}
