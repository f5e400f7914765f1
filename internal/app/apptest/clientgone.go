package apptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/money"
)

// PatientUpstream sets timeouts longer than those of the client.
func PatientUpstream(s *Setup) {
	u := &s.Upstream
	for _, d := range []*time.Duration{&u.FirstByte, &u.StreamFirstByte, &u.Idle, &u.Total, &u.StreamTotal} {
		*d = 10 * time.Minute
	}
}

// Leaver is a client that sends one call and disconnects.
type Leaver struct {
	Account *Account
	Style   string // "" chat; "socket": responses through a WebSocket
	Prompt  string
	Stream  bool
}

// request is the path and the body of the call.
func (l *Leaver) request() (path, body string) {
	member := `"generationConfig":{}`
	if l.Style != "gemini" {
		member = fmt.Sprintf(`"stream":%t`, l.Stream)
	}
	path, body = OfStyle(l.Style, "test/next", member)
	if l.Stream {
		path = strings.Replace(path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
	}
	return path, strings.Replace(body, "Over the weir", l.Prompt, 1)
}

// call sends the call and reads until it has seen want. It then calls arrived, and reads the rest until ctx ends. It returns the id of the
// answer, "" if none had begun.
func (l Leaver) call(ctx context.Context, t *testing.T, want string, arrived func()) string {
	if l.Style == "socket" {
		return l.callSocket(ctx, t, want, arrived)
	}
	path, body := l.request()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Account.Gw.URL+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.Account.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := l.Account.Gw.Client.Do(req)
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

// callSocket is call through a WebSocket, which is cut when ctx ends.
func (l Leaver) callSocket(ctx context.Context, t *testing.T, want string, arrived func()) (id string) {
	s := l.Account.Socket(t)
	defer context.AfterFunc(ctx, s.Cut)()
	s.Create(Object{"model": "test/next", "input": l.Prompt, "store": false})
	for {
		o, err := s.Next()
		if err != nil {
			return id
		}
		if head, ok := o["headers"].(Object); ok {
			id, _ = head["x-generation-id"].(string)
		}
		if want != "" && o["type"] == want {
			arrived()
			want = ""
		}
	}
}

// Leave makes n clients send the same call. They disconnect together, once each has seen want, or, if want is "", once the provider has all
// calls. It returns the ids of the answers that had begun.
func (gw *Gateway) Leave(t *testing.T, l Leaver, n int, want string) (ids []string) {
	t.Helper()
	before := gw.Sim.Stats().Total
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
	WaitFor(t, "all calls to be under way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return gw.Sim.Stats().Total.Requests == before.Requests+int64(n) && (want == "" || arrived == n)
	})
	left := time.Now()
	cancel()
	clients.Wait()
	WaitFor(t, "the provider to see them leave", func() bool { return gw.Sim.Stats().Total.Cancelled == before.Cancelled+int64(n) })
	Promised(t, "the last of the cancellations", gw.Sim.Stats().Total.CancelledAt.Sub(left), 500*time.Millisecond)
	WaitFor(t, "all holds to end", func() bool { return l.Account.Credits(t).Reserved == "0" })
	if open := gw.Sim.Stats().Total.Open; open != 0 {
		t.Errorf("%d calls are still open at the provider", open)
	}
	return ids
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

func (a *Account) Generation(t *testing.T, id string) generation {
	t.Helper()
	var g struct{ Data generation }
	got := a.Do(t, http.MethodGet, "/v1/generation?id="+id, nil)
	if err := json.Unmarshal(got.Body, &g); err != nil || got.Status != http.StatusOK {
		t.Fatalf("generation %s: status %d %v %s", id, got.Status, err, got.Body)
	}
	return g.Data
}

// WantPartial checks that each of n broken answers was charged once, for its prompt and the received part.
func (a *Account) WantPartial(t *testing.T, ids []string, n int, spentBefore money.Nano) {
	t.Helper()
	seen := map[string]bool{}
	sum := spentBefore
	for _, id := range ids {
		g := a.Generation(t, id)
		if seen[id] || !g.Cancelled || g.TokensPrompt <= 0 || g.TokensCompletion <= 0 || g.TokensCompletion > 2000 {
			t.Errorf("%s again: %t, %+v", id, seen[id], g)
		}
		if got := Parse(t, g.TotalCost); got != TestCost(t, g.TokensPrompt, g.TokensCompletion) {
			t.Errorf("%s cost %s, by its tokens it is %s", id, got, TestCost(t, g.TokensPrompt, g.TokensCompletion))
		}
		seen[id] = true
		sum += Parse(t, g.TotalCost)
	}
	if len(seen) != n {
		t.Errorf("%d generations of %d answers", len(seen), n)
	}
	if got := Parse(t, a.Credits(t).TotalUsage); got != sum {
		t.Errorf("charged are %s, the generations together cost %s", got, sum)
	}
}

// WantGivenUp checks that of n calls that were given up before the first word at least free cost nothing, and that each other one was charged its prompt
// alone.
func (o *Owner) WantGivenUp(t *testing.T, n, free int) {
	t.Helper()
	list, _ := o.Page(t, "/api/calls?limit=100")["data"].([]any)
	if len(list) != n {
		t.Errorf("%d calls, want %d", len(list), n)
	}
	charged, sum := 0, money.Nano(0)
	for _, one := range list {
		call, _ := one.(map[string]any)
		g := o.Generation(t, fmt.Sprint(call["id"]))
		cost := Parse(t, g.TotalCost)
		if !g.Cancelled || g.TokensCompletion != 0 || cost != TestCost(t, g.TokensPrompt, 0) {
			t.Errorf("%+v", g)
		}
		if sum += cost; cost > 0 {
			charged++
		}
	}
	if charged > n-free || n > free && charged == 0 {
		t.Errorf("%d of %d are charged, %d are free", charged, n, free)
	}
	if got := Parse(t, o.Credits(t).TotalUsage); got != sum {
		t.Errorf("charged are %s, the calls together cost %s", got, sum)
	}
}

func Parse(t *testing.T, n json.Number) money.Nano {
	t.Helper()
	amount, err := money.Parse(n.String())
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// TestCost returns the cost of tokens at the prices of all models of these tests.
func TestCost(t *testing.T, prompt, completion int64) money.Nano {
	t.Helper()
	var sum money.Sum
	sum.PerThousand(prompt, Price(t, "0.1").Nano)
	sum.PerThousand(completion, Price(t, "0.4").Nano)
	cost, err := sum.Ceil()
	if err != nil {
		t.Fatal(err)
	}
	return cost
}
