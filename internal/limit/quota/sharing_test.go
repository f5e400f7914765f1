package quota_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/record"
	"weir/internal/usage"
)

// board is an exchange in memory.
type board struct {
	mu     sync.Mutex
	full   map[string][limit.Dims]time.Time
	away   bool
	silent bool // when away: it does not answer
	nodes  int64
}

func (b *board) ShareUses(ctx context.Context, uses []limit.Use, _ time.Time) (quota.Shared, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.away {
		if b.silent {
			b.mu.Unlock()
			<-ctx.Done()
			b.mu.Lock()
		}
		return quota.Shared{}, errors.New("away")
	}
	for _, u := range uses {
		full := b.full[u.Name]
		for i, d := range u.Taken {
			if full[i].Before(now) {
				full[i] = now
			}
			if full[i] = full[i].Add(d); u.Most > 0 && full[i].Sub(now) > u.Most {
				full[i] = now.Add(u.Most)
			}
		}
		b.full[u.Name] = full
	}
	var all []limit.Full
	for name, full := range b.full {
		f := limit.Full{Name: name}
		for i := range full {
			f.In[i] = full[i].Sub(now)
		}
		all = append(all, f)
	}
	return quota.Shared{Names: all, Nodes: b.nodes, At: now}, nil
}

func (b *board) SweepUses(context.Context) error { return nil }

// sharers are nodes that exchange through a board.
func sharers(t *testing.T, b *board, n int, away bool, c quota.Config, log *slog.Logger) (nodes []*quota.Quotas) {
	b.nodes = int64(n)
	for range n {
		q := quota.New(c, &bank{}, time.Now())
		l := q.Share(b, time.Now, log)
		l.Start()
		t.Cleanup(l.Stop)
		nodes = append(nodes, q)
	}
	synctest.Wait()
	b.mu.Lock()
	b.away = away
	b.mu.Unlock()
	if away {
		time.Sleep(4 * time.Second) // they find out
	}
	return nodes
}

// visits counts who is let in of so many.
func visits(t *testing.T, q *quota.Quotas, who *apikey.Caller, n int) (in int) {
	t.Helper()
	for range n {
		var v quota.Visit
		err := v.Enter(q, time.Now(), who, true)
		v.Leave()
		if err == nil {
			in++
		} else if !fault.Is(err, fault.RateLimited) {
			t.Fatal(err)
		}
	}
	return in
}

// A key has its limit once, whichever nodes it calls: at most half of it more at once, and then it waits longer.
func TestKeysShareTheirLimitOverNodes(t *testing.T) {
	t.Parallel()
	for name, spread := range map[string]func(i int) int{
		"one node":        func(int) int { return 0 },
		"in turn":         func(i int) int { return i % 3 },
		"one after other": func(i int) int { return i / 30 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &board{full: map[string][limit.Dims]time.Time{}}
				nodes := sharers(t, b, 3, false, quota.Config{InFlight: 100, Keys: apikey.Rates{Requests: 30}}, slog.New(slog.DiscardHandler))
				in := 0
				for i := range 90 {
					in += visits(t, nodes[spread(i)], caller("a"), 1)
				}
				if in < 30 || in > 30+30/3+3 { // what the two others believed to be left for them, one request of each, and one that refilled meanwhile
					t.Errorf("%d were let in at once, the limit is 30", in)
				}
				time.Sleep(10 * time.Minute)
				in = 0
				for range 600 { // ten minutes, faster than allowed
					time.Sleep(time.Second)
					for _, q := range nodes {
						in += visits(t, q, caller("a"), 1)
					}
				}
				if in < 320 || in > 343 { // the burst and ten minutes
					t.Errorf("%d were let in within ten minutes", in)
				}
				if other := visits(t, nodes[1], caller("b"), 30); other != 30 {
					t.Errorf("another key got %d of its 30", other)
				}
			})
		})
	}
}

// Nodes that cannot tell one another have their part of each limit, do not keep callers waiting, and say so once.
func TestNodesThatCannotTell(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"the store refuses": false, "the store is silent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { nodesThatCannotTell(t, silent) })
		})
	}
}

func nodesThatCannotTell(t *testing.T, silent bool) {
	var text bytes.Buffer
	b := &board{full: map[string][limit.Dims]time.Time{}, silent: silent}
	nodes := sharers(t, b, 3, true, quota.Config{InFlight: 100, Keys: apikey.Rates{Requests: 30}}, slog.New(slog.NewTextHandler(&text, nil)))
	began := time.Now()
	for i, q := range nodes {
		if in := visits(t, q, caller("a"), 30); in != 10 {
			t.Errorf("node %d let %d in of its part of 10", i, in)
		}
	}
	if waited := time.Since(began); waited > 0 {
		t.Errorf("callers waited for %v", waited)
	}
	in := 0
	for range 3600 {
		time.Sleep(time.Second)
		in += visits(t, nodes[0], caller("a"), 1)
	}
	if in < 599 || in > 601 { // a third of 30 in a minute
		t.Errorf("%d were let in within an hour", in)
	}
	b.mu.Lock()
	b.away = false
	b.mu.Unlock()
	time.Sleep(3 * time.Minute)
	if in := visits(t, nodes[1], caller("a"), 60); in < 30 || in > 31 {
		t.Errorf("%d of 30 were let in when they could tell one another again", in)
	}
	if n := strings.Count(text.String(), "cannot tell"); n != 3 || strings.Count(text.String(), "again") != 3 {
		t.Errorf("each of three nodes says once that others cannot be told, and that they can:\n%s", &text)
	}
}

// Calls at several nodes that use far more than was foreseen keep their key out for two minutes, and for one exchange: not for two minutes of each node.
func TestDebtOfSeveralNodesIsTwoMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		snap := catalogOf(t)
		b := &board{full: map[string][limit.Dims]time.Time{}}
		nodes := sharers(t, b, 2, false, quota.Config{InFlight: 100, Keys: apikey.Rates{Tokens: 1000}}, slog.New(slog.DiscardHandler))
		reserve := func(q *quota.Quotas) (*quota.Visit, error) {
			v := new(quota.Visit)
			if err := v.Enter(q, time.Now(), caller("a"), true); err != nil {
				return v, err
			}
			return v, v.Reserve(time.Now(), snap, asking("acme/dear", 10, 40))
		}
		var running []*quota.Visit
		for range 3 {
			for _, q := range nodes {
				v, err := reserve(q)
				if err != nil {
					t.Fatal(err)
				}
				running = append(running, v)
			}
		}
		for i, v := range running { // they end one after the other, some before and some after an exchange
			v.Correct(time.Now(), &record.Call{Settled: true, ModelAsked: "acme/dear", Usage: usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(1_000_000)}})
			v.Leave()
			if i == len(running)/2 {
				time.Sleep(2 * time.Second)
			}
		}
		time.Sleep(50 * time.Second)
		for i, q := range nodes {
			if _, err := reserve(q); err == nil {
				t.Errorf("node %d lets the key in that has used a thousand times its limit", i)
			}
		}
		time.Sleep(40 * time.Second) // a half of the limit is there again
		for range 3 {                // also after the nodes have read the shared sum
			for i, q := range nodes {
				if _, err := reserve(q); err != nil {
					t.Errorf("node %d: %v", i, err)
				}
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(32 * time.Second)
		for i, q := range nodes {
			var v quota.Visit
			if err := v.Enter(q, time.Now(), caller("a"), true); err != nil {
				t.Fatal(err)
			}
			if left := v.Nearest(time.Now()); left.Left != "882" { // of 1,000 without what has not refilled of the 300 that were let in meanwhile
				t.Errorf("node %d has %s left after two minutes", i, left.Left)
			}
		}
	})
}
