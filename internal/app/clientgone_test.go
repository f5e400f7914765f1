package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/money"
)

// patientUpstream sets timeouts longer than those of the client.
func patientUpstream(s *setup) {
	u := &s.Upstream
	for _, d := range []*time.Duration{&u.FirstByteTimeout, &u.StreamFirstByteTimeout, &u.IdleTimeout, &u.TotalTimeout, &u.StreamTotalTimeout} {
		*d = 10 * time.Minute
	}
}

// leaver is a client that sends one call and disconnects.
type leaver struct {
	account *account
	prompt  string
	stream  bool
}

// call sends the call and reads until it has seen want. It then calls arrived, and reads the rest until ctx ends. It returns the id of the
// answer, "" if none had begun.
func (l leaver) call(ctx context.Context, t *testing.T, want string, arrived func()) string {
	body, err := json.Marshal(map[string]any{"model": "test/next", "stream": l.stream, "messages": []any{map[string]any{"role": "user", "content": l.prompt}}})
	if err != nil {
		t.Error(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.account.gw.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.account.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := l.account.gw.client.Do(req)
	if err != nil {
		return "" // disconnected before the head
	}
	defer res.Body.Close()
	r := bufio.NewReader(res.Body)
	for want != "" {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Errorf("the stream ended before the client left: %v after %s", err, line)
			break
		}
		if strings.Contains(line, want) {
			arrived()
			want = ""
		}
	}
	_, _ = io.Copy(io.Discard, r)
	return res.Header.Get("X-Generation-Id")
}

// leave makes n clients send the same call. They disconnect together, once each has seen want, or, if want is "", once the provider has all
// calls. It returns the ids of the answers that had begun.
func (gw *gateway) leave(t *testing.T, l leaver, n int, want string) (ids []string) {
	t.Helper()
	before := gw.sim.Stats().Total
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var (
		mu      sync.Mutex
		arrived int
		clients sync.WaitGroup
	)
	for range n {
		clients.Go(func() {
			id := l.call(ctx, t, want, func() {
				mu.Lock()
				defer mu.Unlock()
				arrived++
			})
			mu.Lock()
			defer mu.Unlock()
			if id != "" {
				ids = append(ids, id)
			}
		})
	}
	waitFor(t, "all calls to be under way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return gw.sim.Stats().Total.Requests == before.Requests+int64(n) && (want == "" || arrived == n)
	})
	left := time.Now()
	cancel()
	clients.Wait()
	waitFor(t, "the provider to see them leave", func() bool { return gw.sim.Stats().Total.Cancelled == before.Cancelled+int64(n) })
	promised(t, "the last of the cancellations", gw.sim.Stats().Total.CancelledAt.Sub(left), 500*time.Millisecond)
	waitFor(t, "all holds to end", func() bool { return l.account.credits(t).Reserved == "0" })
	if open := gw.sim.Stats().Total.Open; open != 0 {
		t.Errorf("%d calls are still open at the provider", open)
	}
	return ids
}

// If a client disconnects, its upstream call ends. The delivered part of a stream is charged, once; if nothing was delivered, nothing is
// charged. Nothing is left running.
//
// It does not run in parallel with other tests, because it counts goroutines.
func TestClientGone(t *testing.T) {
	const clients = 200
	gw := startGateway(t, patientUpstream)
	a := gw.open(t, opening{amount: 1000 * money.Ruble, keys: []*apikey.Limit{nil}})[0]
	a.chat(t, map[string]any{"model": "test/next", "messages": question}).wantComplete(t, false)
	gw.client.CloseIdleConnections()
	settled := runtime.NumGoroutine()
	spent := a.credits(t).TotalUsage

	for name, l := range map[string]leaver{
		"before the first byte of a stream": {a, "[[sim delay=600s]] hello", true},
		"before the first content":          {a, "[[sim first=600s]] hello", true},
		"waiting for a whole answer":        {a, "[[sim delay=600s]] hello", false},
		"in the middle of a whole answer":   {a, "[[sim fault=u5]] hello", false},
	} {
		t.Run(name, func(t *testing.T) {
			gw.leave(t, l, clients/4, "")
			if now := a.credits(t).TotalUsage; now != spent {
				t.Errorf("nothing was delivered, and %s became %s", spent, now)
			}
		})
	}

	t.Run("in the middle of a stream", func(t *testing.T) {
		ids := gw.leave(t, leaver{a, "[[sim gap=10ms frames=3000]] hello", true}, clients, `"content":"`)
		a.wantPartial(t, ids, clients, parse(t, spent))
	})

	gw.client.CloseIdleConnections()
	waitFor(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= settled })
	gw.wantBalanced(t)
}

// generation is the answer of GET /v1/generation about a charge.
type generation struct {
	ID               string      `json:"id"`
	Model            string      `json:"model"`
	Cancelled        bool        `json:"cancelled"`
	GenerationTime   int64       `json:"generation_time"`
	TokensPrompt     int64       `json:"tokens_prompt"`
	TokensCompletion int64       `json:"tokens_completion"`
	TotalCost        json.Number `json:"total_cost"`
}

func (a *account) generation(t *testing.T, id string) generation {
	t.Helper()
	var g struct{ Data generation }
	got := a.do(t, http.MethodGet, "/v1/generation?id="+id, nil)
	if err := json.Unmarshal(got.body, &g); err != nil || got.status != http.StatusOK {
		t.Fatalf("generation %s: status %d %v %s", id, got.status, err, got.body)
	}
	return g.Data
}

// wantPartial checks that each of n broken answers was charged once, for its prompt and the received part.
func (a *account) wantPartial(t *testing.T, ids []string, n int, spentBefore money.Nano) {
	t.Helper()
	seen := map[string]bool{}
	sum := spentBefore
	for _, id := range ids {
		g := a.generation(t, id)
		if seen[id] || !g.Cancelled || g.TokensPrompt <= 0 || g.TokensCompletion <= 0 || g.TokensCompletion > 2000 {
			t.Errorf("%s again: %t, %+v", id, seen[id], g)
		}
		if got := parse(t, g.TotalCost); got != testCost(t, g.TokensPrompt, g.TokensCompletion) {
			t.Errorf("%s cost %s, by its tokens it is %s", id, got, testCost(t, g.TokensPrompt, g.TokensCompletion))
		}
		seen[id] = true
		sum += parse(t, g.TotalCost)
	}
	if len(seen) != n {
		t.Errorf("%d generations of %d answers", len(seen), n)
	}
	if got := parse(t, a.credits(t).TotalUsage); got != sum {
		t.Errorf("charged are %s, the generations together cost %s", got, sum)
	}
}

func parse(t *testing.T, n json.Number) money.Nano {
	t.Helper()
	amount, err := money.Parse(n.String())
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// testCost returns the cost of tokens at the prices of all models of these tests.
func testCost(t *testing.T, prompt, completion int64) money.Nano {
	t.Helper()
	var sum money.Sum
	sum.PerThousand(prompt, price(t, "0.1").Nano)
	sum.PerThousand(completion, price(t, "0.4").Nano)
	cost, err := sum.Ceil()
	if err != nil {
		t.Fatal(err)
	}
	return cost
}
