package limit_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/limit"
)

// sum is what nodes exchange through: when an allowance will be full again.
type sum struct{ full time.Duration }

func (s *sum) exchange(g *limit.Gate, at time.Duration) {
	told := g.Uses(10)
	for _, u := range told {
		if s.full = max(s.full, at) + u.Taken[0]; u.Most > 0 {
			s.full = min(s.full, at+u.Most)
		}
	}
	g.Learn(start.Add(at), told, []limit.Full{{Name: "k", In: [limit.Dims]time.Duration{s.full - at}}})
}

// However calls are spread over nodes, and whenever these exchange: in any span of time no more passes than the burst, what refilled, what each further
// node may believe to be left for it, and one request of each.
func TestNodesShareAnAllowance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := limit.Rate{Amount: rapid.SampledFrom([]int64{1, 3, 7, 60, 6000}).Draw(t, "amount"), Per: rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "per")}
		rates := limit.Rates{rate}
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		gates := make([]*limit.Gate, nodes)
		for i := range gates {
			gates[i] = limit.NewGate(start, 1000)
			if gates[i].Share(1); nodes > 1 {
				gates[i].Share(int64(2 * nodes))
			}
		}
		var fleet sum
		at, largest, node := time.Duration(0), int64(0), 0
		type passed struct {
			at   time.Duration
			cost int64
		}
		var all []passed
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			at += time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(rate.Per)/20)).Draw(t, "pause"))
			if rapid.IntRange(0, 5).Draw(t, "move") == 0 {
				node = rapid.IntRange(0, nodes-1).Draw(t, "node")
			}
			often := rapid.SampledFrom([]int{0, 1, 3, 10}).Draw(t, "often")
			if often > 0 && rapid.IntRange(0, often).Draw(t, "exchange") == 0 {
				fleet.exchange(gates[node], at)
			}
			cost := rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(1, rate.Amount)).Draw(t, "cost")
			if gates[node].Take(start.Add(at), "k", &rates, limit.Cost{cost}).OK {
				all, largest = append(all, passed{at, cost}), max(largest, cost)
			}
		}
		for i := range all {
			units := int64(0)
			for _, p := range all[i:] {
				units += p.cost
				most := rate.Amount + int64(p.at-all[i].at)*rate.Amount/int64(rate.Per) + 1 + int64(nodes-1)*(largest+rate.Amount/int64(2*nodes))
				if units > most {
					t.Fatalf("%d passed between %v and %v at %d nodes; at most %d", units, all[i].at, p.at, nodes, most)
				}
			}
		}
	})
}

// However much nodes charge, at once or one after the other, and whenever they exchange: after the bound on debt every node has all of the
// allowance again.
func TestNodesShareABoundedDebt(t *testing.T) {
	t.Parallel()
	const bound = 2 * time.Minute
	rapid.Check(t, func(t *rapid.T) {
		rates := limit.Rates{limit.PerMinute(rapid.SampledFrom([]int64{1, 60, 1000}).Draw(t, "amount"))}
		gates := make([]*limit.Gate, rapid.IntRange(2, 5).Draw(t, "nodes"))
		for i := range gates {
			gates[i] = limit.NewGate(start, 1000)
			gates[i].Bound(bound)
			gates[i].Share(int64(2 * len(gates)))
		}
		var fleet sum
		at := time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at += time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(20*time.Second))).Draw(t, "pause"))
			g := gates[rapid.IntRange(0, len(gates)-1).Draw(t, "node")]
			switch rapid.SampledFrom([]string{"charge", "charge", "take", "exchange", "not sent"}).Draw(t, "step") {
			case "charge":
				g.Charge(start.Add(at), "k", &rates, limit.Cost{rapid.SampledFrom([]int64{-100, 1, 100, 5000, 1 << 40}).Draw(t, "cost")})
			case "take":
				g.Take(start.Add(at), "k", &rates, limit.Cost{rapid.Int64Range(1, rates[0].Amount).Draw(t, "cost")})
			case "exchange":
				fleet.exchange(g, at)
			case "not sent":
				g.Unsent(g.Uses(10), time.Second)
			}
			if fleet.full > at+bound {
				t.Fatalf("%v after the last charge the nodes still wait", fleet.full-at)
			}
		}
		for range 2 {
			for _, g := range gates {
				fleet.exchange(g, at)
			}
		}
		at += bound
		for i, g := range gates {
			fleet.exchange(g, at)
			if left := g.Left(start.Add(at), "k", &rates)[0]; left != rates[0].Amount {
				t.Fatalf("after %v node %d has %d of %d left", bound, i, left, rates[0].Amount)
			}
		}
	})
}

// What a node charges while it reads the shared sum adds to that sum up to the bound only.
func TestDebtWhileOthersAreHeard(t *testing.T) {
	t.Parallel()
	const bound = 2 * time.Minute
	rates := limit.Rates{limit.PerMinute(60)}
	g := limit.NewGate(start, 10)
	g.Bound(bound)
	g.Share(4)
	g.Charge(start, "k", &rates, limit.Cost{1000})
	told := g.Uses(10)
	for range 3 {
		g.Charge(start, "k", &rates, limit.Cost{1000})
	}
	g.Learn(start, told, []limit.Full{{Name: "k", In: [limit.Dims]time.Duration{bound}}})
	if in := g.Full(start, "k")[0]; in != bound {
		t.Errorf("the allowance is full in %v", in)
	}
	for range 2 { // also when the store refused the first time
		told = g.Uses(10)
		if len(told) != 1 || told[0].Taken[0] != bound || told[0].Most != bound {
			t.Fatalf("told is %v", told)
		}
		g.Charge(start, "k", &rates, limit.Cost{1000})
		g.Unsent(told, 0)
	}
}

// A name that has its whole allowance at one node gets it there, as fast as nodes exchange; and a node that hears nothing grants its part of the rate,
// for however long.
func TestNodeAloneOfMany(t *testing.T) {
	t.Parallel()
	rates := limit.Rates{limit.PerMinute(60)}
	g := limit.NewGate(start, 10)
	g.Share(6)
	var fleet sum
	took := 0
	for range 200 {
		v := g.Take(start, "k", &rates, limit.Cost{1})
		if v.OK {
			took++
		} else if v.Part {
			fleet.exchange(g, 0)
		} else {
			break
		}
	}
	if took != 60 {
		t.Errorf("%d of 60 at once, with exchanges", took)
	}

	g = limit.NewGate(start, 10)
	g.Share(3)
	took = 0
	last := time.Duration(0)
	for at := time.Duration(0); at <= time.Hour; at += 100 * time.Millisecond {
		if g.Take(start.Add(at), "k", &rates, limit.Cost{1}).OK {
			took++
		}
		if at-last >= time.Second { // each second it cannot tell
			g.Unsent(g.Uses(10), at-last)
			last = at
		}
	}
	if took < 1200 || took > 1200+21 { // a third of 60 in a minute for an hour, and a third of the burst
		t.Errorf("%d in an hour without exchange; want about 1200", took)
	}
	var told time.Duration
	for _, u := range g.Uses(10) {
		told += u.Taken[0]
	}
	if told > 21*time.Second { // or the name would wait for that long when the nodes hear one another again
		t.Errorf("after the hour %v are still to be told", told)
	}
}

// Uses lists refunds, and no names that were forgotten to make room. Learn counts names that this gate did not know.
func TestUses(t *testing.T) {
	t.Parallel()
	rates := limit.Rates{limit.PerMinute(60), {}, limit.PerMinute(600)}
	g := limit.NewGate(start, 1) // one name in a part
	g.Share(1)
	for i := range 1000 {
		g.Take(start, fmt.Sprint("k", i), &rates, limit.Cost{1, 5, 10})
	}
	last := ""
	for _, u := range g.Uses(1) {
		last = u.Name
		g.Unsent([]limit.Use{u}, 0)
	}
	g.Charge(start, last, &rates, limit.Cost{0, 0, -4})
	told := g.Uses(10_000)
	if len(told) == 0 || len(told) > 64 {
		t.Fatalf("%d names are told", len(told))
	}
	for _, u := range told {
		want := limit.Use{Name: u.Name, Taken: [limit.Dims]time.Duration{time.Second, 0, time.Second}}
		if u.Name == last {
			want.Taken[2] = 600 * time.Millisecond
		}
		if u != want {
			t.Errorf("told %v, want %v", u, want)
		}
	}
	if again := g.Uses(10_000); len(again) > 0 {
		t.Errorf("told twice: %v", again)
	}
	g.Unsent(told, 0)
	if again := g.Uses(5); len(again) != 5 {
		t.Errorf("%d of at most five are told again", len(again))
	}

	g = limit.NewGate(start, 100)
	g.Share(1)
	g.Learn(start, nil, []limit.Full{{Name: "new", In: [limit.Dims]time.Duration{50 * time.Second}}, {Name: "old", In: [limit.Dims]time.Duration{-time.Hour, -time.Hour, -time.Hour}}})
	if left := g.Left(start, "new", &rates)[0]; left != 10 {
		t.Errorf("%d left of what others have taken 50 of", left)
	}
	if n := g.Names(); n != 1 {
		t.Errorf("%d names are remembered", n)
	}
	off := limit.NewGate(start, 100)
	off.Take(start, "a", &rates, limit.Cost{1})
	if u := off.Uses(10); u != nil {
		t.Errorf("a gate that is not shared tells %v", u)
	}
}
