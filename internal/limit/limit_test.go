package limit_test

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/limit"
)

var start = time.Unix(1_700_000_000, 0)

// bucket is the naive model: a level that refills, in exact fractions.
type bucket struct {
	rate  limit.Rate
	level *big.Rat
	at    time.Duration
}

func newBucket(r limit.Rate) *bucket {
	return &bucket{rate: r, level: new(big.Rat).SetInt64(burst(r))}
}

func burst(r limit.Rate) int64 {
	if r.Burst > 0 {
		return r.Burst
	}
	return r.Amount
}

func (b *bucket) refill(at time.Duration) {
	grown := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(at-b.at)), big.NewInt(b.rate.Amount)), big.NewInt(int64(b.rate.Per)))
	b.level.Add(b.level, grown)
	if most := new(big.Rat).SetInt64(burst(b.rate)); b.level.Cmp(most) > 0 {
		b.level = most
	}
	b.at = at
}

func (b *bucket) has(cost int64) bool {
	if cost > burst(b.rate) {
		return b.level.Cmp(new(big.Rat).SetInt64(burst(b.rate))) == 0
	}
	return b.level.Cmp(new(big.Rat).SetInt64(cost)) >= 0
}

func (b *bucket) use(cost int64) { b.level.Sub(b.level, new(big.Rat).SetInt64(cost)) }

// left is the level rounded down, never below zero.
func (b *bucket) left() int64 {
	n := new(big.Int).Div(b.level.Num(), b.level.Denom())
	return max(n.Int64(), 0)
}

func drawRate(t *rapid.T, name string) limit.Rate {
	amount := rapid.SampledFrom([]int64{1, 3, 7, 60, 1_000_003, 250_000_000_000}).Draw(t, name+" amount")
	return limit.Rate{
		Amount: amount,
		Per:    rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 24 * time.Hour}).Draw(t, name+" per"),
		Burst:  rapid.SampledFrom([]int64{0, 1, 5, 100 * amount}).Draw(t, name+" burst"),
	}
}

// Whatever comes when, the gate says what an exact bucket says.
func TestGateIsAnExactBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rates := limit.Rates{drawRate(t, "a"), {}, drawRate(t, "b")}
		models := map[int]*bucket{0: newBucket(rates[0]), 2: newBucket(rates[2])}
		g, at := limit.NewGate(start, 1000), time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at += time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(2*time.Second)), rapid.Int64Range(0, int64(time.Hour))).Draw(t, "pause"))
			cost := limit.Cost{drawCost(t, rates[0]), 99, drawCost(t, rates[2])}
			for _, m := range models {
				m.refill(at)
			}
			if rapid.IntRange(0, 4).Draw(t, "correct") == 0 {
				back := limit.Cost{-cost[0], 0, cost[2]}
				g.Charge(start.Add(at), "k", &rates, back)
				for i, m := range models {
					m.use(back[i])
					m.refill(at)
				}
			} else {
				want := models[0].has(cost[0]) && models[2].has(cost[2])
				v := g.Take(start.Add(at), "k", &rates, cost)
				if v.OK != want {
					t.Fatalf("at %v cost %v: %+v; want %v (levels %v, %v)", at, cost, v, want, models[0].level, models[2].level)
				}
				if v.OK {
					models[0].use(cost[0])
					models[2].use(cost[2])
				} else if v.Wait <= 0 || models[v.By].has(cost[v.By]) {
					t.Fatalf("refused by %d, wait %v", v.By, v.Wait)
				}
			}
			left := g.Left(start.Add(at), "k", &rates)
			for i, m := range models {
				if left[i] != m.left() {
					t.Fatalf("left %d of allowance %d; want %d", left[i], i, m.left())
				}
			}
		}
	})
}

func drawCost(t *rapid.T, r limit.Rate) int64 {
	return rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(1)), rapid.Int64Range(0, burst(r)), rapid.Int64Range(0, 3*burst(r))).Draw(t, "cost")
}

// In any span of time no more passes than the burst and what refilled.
func TestGateNeverAdmitsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rates := limit.Rates{drawRate(t, "rate")}
		g, at := limit.NewGate(start, 1000), time.Duration(0)
		type passed struct {
			at   time.Duration
			cost int64
		}
		var all []passed
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			at += time.Duration(rapid.Int64Range(0, int64(rates[0].Per)).Draw(t, "pause"))
			cost := rapid.Int64Range(1, burst(rates[0])).Draw(t, "cost")
			if g.Take(start.Add(at), "k", &rates, limit.Cost{cost}).OK {
				all = append(all, passed{at, cost})
			}
		}
		for i := range all {
			sum := new(big.Rat)
			for _, p := range all[i:] {
				sum.Add(sum, new(big.Rat).SetInt64(p.cost))
				most := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(p.at-all[i].at)), big.NewInt(rates[0].Amount)), big.NewInt(int64(rates[0].Per)))
				most.Add(most, new(big.Rat).SetInt64(burst(rates[0])))
				if sum.Cmp(most) > 0 {
					t.Fatalf("%v passed between %v and %v; at most %v", sum, all[i].at, p.at, most)
				}
			}
		}
	})
}

// Reservations that are corrected to less let no more pass than the burst and what refilled, counted from when each began; and whatever is
// charged beyond them, the bound on debt lets everything in again.
func TestReservationsAreCorrected(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const debt = 2 * time.Minute
		rate := limit.PerMinute(rapid.SampledFrom([]int64{1, 7, 1000, 250_000_000_000}).Draw(t, "amount"))
		rates := limit.Rates{rate}
		g, at := limit.NewGate(start, 1000), time.Duration(0)
		g.Bound(debt)
		type call struct {
			at          time.Duration
			cost, used  int64
			reservation limit.Verdict
		}
		var running, all []*call
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at += time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "pause"))
			if n := len(running); n > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, n-1).Draw(t, "which")
				c := running[i]
				running = append(running[:i], running[i+1:]...)
				c.used = rapid.Int64Range(0, c.cost).Draw(t, "used")
				g.Correct(start.Add(at), "k", &rates, &c.reservation, limit.Cost{c.used})
				continue
			}
			c := &call{at: at, cost: rapid.Int64Range(1, rate.Amount).Draw(t, "cost")}
			c.used = c.cost // while it runs
			if c.reservation = g.Take(start.Add(at), "k", &rates, limit.Cost{c.cost}); c.reservation.OK {
				running, all = append(running, c), append(all, c)
			}
		}
		for i := range all {
			sum := new(big.Rat)
			for _, c := range all[i:] {
				sum.Add(sum, new(big.Rat).SetInt64(c.used))
				most := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(c.at-all[i].at)), big.NewInt(rate.Amount)), big.NewInt(int64(rate.Per)))
				if most.Add(most, new(big.Rat).SetInt64(rate.Amount)); sum.Cmp(most) > 0 {
					t.Fatalf("%v passed between %v and %v; at most %v", sum, all[i].at, c.at, most)
				}
			}
		}
		for _, c := range running {
			g.Correct(start.Add(at), "k", &rates, &c.reservation, limit.Cost{rapid.Int64Range(0, math.MaxInt64).Draw(t, "much")})
		}
		if in := g.Full(start.Add(at), "k"); in[0] > debt {
			t.Fatalf("full in %v", in[0])
		}
		if v := g.Take(start.Add(at+debt), "k", &rates, limit.Cost{rate.Amount}); !v.OK {
			t.Fatalf("locked out for more than %v: %+v", debt, v)
		}
	})
}

// A client that waits as long as Retry-After says is let in.
func TestWaitIsEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rates := limit.Rates{drawRate(t, "a"), drawRate(t, "b"), drawRate(t, "c")}
		g, at := limit.NewGate(start, 1000), time.Duration(0)
		for range 20 {
			cost := limit.Cost{drawCost(t, rates[0]), drawCost(t, rates[1]), drawCost(t, rates[2])}
			for tries := 0; ; tries++ {
				v := g.Take(start.Add(at), "k", &rates, cost)
				if v.OK {
					break
				}
				if tries == limit.Dims { // each allowance may refuse once
					t.Fatalf("still refused: %+v", v)
				}
				before := at
				at += v.Wait - 1
				if again := g.Take(start.Add(at), "k", &rates, cost); again.OK {
					t.Fatalf("told to wait %v, but %v was enough", v.Wait, at-before)
				}
				at++
			}
		}
	})
}

func TestGateForgetsAndIsBounded(t *testing.T) {
	t.Parallel()
	rates := limit.Rates{limit.PerMinute(2)}
	g := limit.NewGate(start, 64*100)
	for i := range 50_000 {
		g.Take(start, fmt.Sprint("a", i), &rates, limit.Cost{1})
	}
	if n := g.Names(); n > 64*101 {
		t.Fatalf("%d names are remembered", n)
	}
	later := start.Add(time.Minute)
	for i := range 64 * 100 {
		g.Take(later, fmt.Sprint("c", i), &rates, limit.Cost{1})
	}
	if n := g.Names(); n > 64*101 {
		t.Fatalf("%d names are remembered after a minute", n)
	}
	if v := g.Take(later.Add(time.Hour), "new", &rates, limit.Cost{2}); !v.OK {
		t.Fatalf("a full allowance: %+v", v)
	}
}

// A flood of new names, however long, neither refuses the next one nor makes the gate forget who took much. Only one of many that took as
// little as each of the flood may be forgotten.
func TestFlood(t *testing.T) {
	t.Parallel()
	rates := limit.Rates{limit.PerMinute(10)}
	g := limit.NewGate(start, 64*100)
	for i := range 100 {
		g.Take(start, fmt.Sprint("much", i), &rates, limit.Cost{10})
	}
	now := start
	for i := range 50_000 {
		now = now.Add(time.Millisecond / 10)
		if v := g.Take(now, fmt.Sprint("a", i), &rates, limit.Cost{1}); !v.OK {
			t.Fatalf("name %d of the flood: %+v", i, v)
		}
	}
	for i := range 100 {
		if v := g.Take(now, fmt.Sprint("much", i), &rates, limit.Cost{1}); v.OK {
			t.Errorf("name %d that took all is forgotten", i)
		}
	}
	if v := g.Take(now, "new", &rates, limit.Cost{10}); !v.OK {
		t.Errorf("a new name after the flood: %+v", v)
	}
	if n := g.Names(); n > 64*101 {
		t.Errorf("%d names are remembered", n)
	}
	if v := g.Take(now.Add(time.Hour), "much7", &rates, limit.Cost{10}); !v.OK {
		t.Errorf("an hour later: %+v", v)
	}
}

// In a flood of names, the list of uses for the other nodes is bounded, too.
func TestFloodIsToldInBounds(t *testing.T) {
	t.Parallel()
	rates := limit.Rates{limit.PerMinute(10)}
	g := limit.NewGate(start, 64*10)
	g.Share(2)
	for range 3 {
		for i := range 20_000 {
			g.Take(start, fmt.Sprint("a", i), &rates, limit.Cost{1})
		}
	}
	told := g.Uses(1 << 20)
	names := map[string]bool{}
	for _, u := range told {
		names[u.Name] = true
	}
	if len(told) > 64*10 || len(names) != len(told) || len(told) == 0 {
		t.Errorf("%d uses of %d names", len(told), len(names))
	}
}

func TestExtremes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate limit.Rate
		cost int64
	}{
		"huge cost":   {limit.PerMinute(1), math.MaxInt64},
		"huge amount": {limit.PerMinute(math.MaxInt64), math.MaxInt64},
	} {
		g, rates := limit.NewGate(start, 10), limit.Rates{c.rate}
		if v := g.Take(start, "k", &rates, limit.Cost{c.cost}); !v.OK {
			t.Errorf("%s: a full allowance refused %+v", name, v)
		}
		g.Charge(start, "k", &rates, limit.Cost{math.MaxInt64})
		if v := g.Take(start, "k", &rates, limit.Cost{1}); v.OK || v.Wait <= 0 {
			t.Errorf("%s: an empty allowance said %+v", name, v)
		}
	}
	off := limit.Rates{}
	if !off.Off() || !limit.NewGate(start, 1).Take(start, "k", &off, limit.Cost{9, 9, 9}).OK {
		t.Error("no limits, but refused")
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	c := limit.NewCount()
	var wg sync.WaitGroup
	var mu sync.Mutex
	entered := 0
	for range 100 {
		wg.Go(func() {
			if c.Enter("u", 30) {
				mu.Lock()
				entered++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if entered != 30 || c.Of("u") != 30 || c.Enter("u", 30) || !c.Enter("v", 30) {
		t.Fatalf("%d entered, %d counted", entered, c.Of("u"))
	}
	for range 30 {
		c.Leave("u")
	}
	if c.Of("u") != 0 || !c.Enter("u", 1) {
		t.Fatalf("%d left behind", c.Of("u"))
	}
}

func TestHeapIsLookedAtSeldom(t *testing.T) {
	t.Parallel()
	used, looked := int64(86), 0
	h := limit.NewHeap(100, 85, func() int64 { looked++; return used }, func() {})
	for range 10 {
		if !h.Short(start) {
			t.Fatal("86 of 100 is not short")
		}
	}
	used = 10
	if !h.Short(start.Add(99*time.Millisecond)) || looked != 1 {
		t.Fatalf("looked %d times", looked)
	}
	if h.Short(start.Add(100*time.Millisecond)) || looked != 2 {
		t.Fatalf("looked %d times", looked)
	}
	var none *limit.Heap
	if none.Short(start) || limit.NewHeap(0, 85, nil, nil) != nil {
		t.Error("short without a limit")
	}
	if !limit.NewHeap(1, 100, nil, nil).Short(start) || limit.NewHeap(math.MaxInt64, 85, nil, nil).Short(start) {
		t.Error("the runtime's figure is not used")
	}
}

// While memory is short a collection is asked for, once a second and one at a time: nothing else would cause one, because all calls are refused.
func TestShortMemoryIsCollected(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}, 10), make(chan struct{})
	var used atomic.Int64
	used.Store(86)
	h := limit.NewHeap(100, 85, used.Load, func() {
		begun <- struct{}{}
		<-end
		used.Store(10)
	})
	at := start
	for range 50 { // five seconds
		if !h.Short(at) {
			t.Fatal("86 of 100 is not short")
		}
		at = at.Add(100 * time.Millisecond)
	}
	<-begun
	close(end)
	for used.Load() != 10 {
		runtime.Gosched()
	}
	if h.Short(at) {
		t.Error("short after a collection found nothing")
	}
	if n := len(begun); n != 0 {
		t.Errorf("%d more collections at the same time", n)
	}
}

func BenchmarkTake(b *testing.B) {
	g, rates := limit.NewGate(time.Now(), 1000), limit.Rates{limit.PerMinute(1 << 50), limit.PerMinute(1 << 50)}
	b.ReportAllocs()
	for b.Loop() {
		g.Take(time.Now(), "key_1", &rates, limit.Cost{1, 1})
	}
}
