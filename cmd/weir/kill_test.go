package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// load sends calls until ctx ends.
func (n *node) load(ctx context.Context, d *delivered, workers, streams int) *sync.WaitGroup {
	wg := &sync.WaitGroup{}
	for i := range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if r, bad := n.whole(ctx, fmt.Sprintf("call %d", i)); bad == nil {
					d.add(r)
				}
			}
		})
	}
	for i := range streams {
		wg.Go(func() {
			for ctx.Err() == nil {
				if r, bad := n.stream(ctx, fmt.Sprintf("[[sim gap=20ms frames=20]] stream %d", i), nil); bad == nil {
					d.add(r)
				}
			}
		})
	}
	return wg
}

// A process that is killed again and again under load neither loses a delivered answer's charge, nor doubles one, nor leaks a hold.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute; the full run has it")
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		killUnderLoad(t, 20)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		killUnderLoad(t, 8, "WEIR_STORE_DSN="+pgtest.New(t))
	})
}

func killUnderLoad(t *testing.T, rounds int, env ...string) {
	const perRound = 100
	dir := t.TempDir()
	var got delivered
	ready := make([]time.Duration, rounds)
	for round := range ready {
		began := time.Now()
		n := startDemo(t, dir, env...)
		ready[round] = time.Since(began)
		ctx, cancel := context.WithCancel(t.Context())
		wg := n.load(ctx, &got, 8, 200)
		// the kill falls at a random moment of full work: after some number of answers in this round
		enough := got.count() + perRound/2 + rand.IntN(perRound)
		waitFor(t, "answers", func() bool { return got.count() >= enough })
		n.kill()
		cancel()
		wg.Wait()
	}
	slices.Sort(ready)
	promised(t, "ready after a kill, in the middle", ready[rounds/2], 3*time.Second)

	n := startDemo(t, dir, env...)
	began := time.Now()
	waitFor(t, "all holds to end", func() bool { return n.credits(t).Reserved == "0" })
	promised(t, "end of all holds after the last kill", time.Since(began), 5*time.Second)
	n.checkCharges(t, got.replies)
	n.kill()
	verifyIn(t, environment(env...), "--data", dir)
}

type credits struct {
	TotalUsage json.Number `json:"total_usage"`
	Balance    json.Number `json:"balance"`
	Reserved   json.Number `json:"reserved"`
}

func (n *node) credits(t *testing.T) credits {
	t.Helper()
	var c struct{ Data credits }
	if status, err := n.getJSON("/v1/credits", &c); err != nil || status != http.StatusOK {
		t.Fatalf("credits: status %d, %v", status, err)
	}
	return c.Data
}

// checkCharges compares what clients were told with what was recorded: each answer once, at the same cost, and no more delivered
// than charged.
func (n *node) checkCharges(t *testing.T, replies []reply) {
	t.Helper()
	seen := make(map[string]bool, len(replies))
	var sum money.Nano
	for _, r := range replies {
		if r.id == "" || seen[r.id] {
			t.Fatalf("two answers with the id %q", r.id)
		}
		seen[r.id] = true
		var g struct {
			Data struct {
				ID        string      `json:"id"`
				TotalCost json.Number `json:"total_cost"`
			} `json:"data"`
		}
		status, err := n.getJSON("/v1/generation?id="+r.id, &g)
		if err != nil || status != http.StatusOK || g.Data.ID != r.id {
			t.Fatalf("%s was delivered and is not recorded: status %d, %v", r.id, status, err)
		}
		if g.Data.TotalCost != r.usage.Cost {
			t.Errorf("%s was told to cost %s, recorded is %s", r.id, r.usage.Cost, g.Data.TotalCost)
		}
		sum += rubles(t, r.usage.Cost)
	}
	charged := rubles(t, n.credits(t).TotalUsage)
	t.Logf("%d answers delivered for %s rubles, %s charged", len(replies), sum, charged)
	if sum <= 0 || sum > charged {
		t.Errorf("delivered answers cost %s, charged were %s", sum, charged)
	}
}

func rubles(t *testing.T, n json.Number) money.Nano {
	t.Helper()
	amount, err := money.Parse(n.String())
	if err != nil {
		t.Fatal(err)
	}
	return amount
}
