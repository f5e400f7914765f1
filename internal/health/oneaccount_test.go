package health_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/health"
)

// fail makes attempts for an account that end with r, by whatever way is open, and returns how many were made.
func (w world) fail(ep *catalog.Endpoint, account string, times int, r health.Result) (made int) {
	for range times {
		p, why, _ := w.Admit(ep, account)
		if why != health.None {
			var ok bool
			if p, _, ok = w.Probe([]*catalog.Endpoint{ep}, account); !ok {
				continue
			}
		}
		p.End(health.Sample{Result: r, Latency: time.Second, Took: time.Second})
		made++
	}
	return made
}

func (w world) gets(ep *catalog.Endpoint, account string) bool {
	p, why, _ := w.Admit(ep, account)
	p.End(health.Sample{})
	return why == health.None
}

// Failures that one account's requests provoke keep the endpoint from that account only.
func TestOneAccountAlone(t *testing.T) {
	t.Parallel()
	for _, r := range []health.Result{health.Failed, health.Limited} {
		w := newWorld(t)
		ep := endpoint("alpha", "m")
		for range 50 {
			w.fail(ep, "a", 1, r)
			if !w.gets(ep, "b") {
				t.Fatal("b is kept away")
			}
		}
		if h := w.Of(ep.ID); h.Ejected || h.CoolDown {
			t.Errorf("others hear of it: %+v", h)
		}
		if h := w.For("a")(ep.ID); !h.Ejected {
			t.Errorf("a is told %+v", h)
		}
		if w.gets(ep, "a") {
			t.Error("a is let through")
		}
		if n := w.CountEjected(); n != 1 {
			t.Errorf("%d endpoints are counted", n)
		}
		w.clock.add(30 * time.Second)
		if w.fail(ep, "a", 1, health.Served) != 1 || !w.gets(ep, "a") || w.For("a")(ep.ID).Ejected {
			t.Error("a is not taken back")
		}
	}
}

// Failing is said only of what several see, or the only one that is there.
func TestFailingForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.fail(ep, "a", 4, health.Failed)
	if !w.Of(ep.ID).Failing {
		t.Error("the only account sees nothing")
	}
	w.fail(ep, "b", 1, health.Served)
	w.fail(ep, "a", 4, health.Failed)
	if w.Of(ep.ID).Failing {
		t.Error("b hears of a's failures")
	}
	w.fail(ep, "b", 1, health.Failed)
	if !w.Of(ep.ID).Failing {
		t.Error("two accounts see nothing")
	}
}

func TestTwoAccountsTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.fail(ep, "a", 50, health.Failed)
	w.fail(ep, "b", 1, health.Failed)
	if !w.gets(ep, "c") {
		t.Error("one failure of another is enough")
	}
	w.fail(ep, "b", 1, health.Failed)
	if w.gets(ep, "c") {
		t.Error("it is not ejected")
	}
	// who fails all the time finds nothing out for others
	w.clock.add(30 * time.Second)
	if w.fail(ep, "a", 1, health.Failed) != 1 {
		t.Fatal("a did not get through")
	}
	if !w.gets(ep, "c") {
		t.Error("a's failure prolonged the ejection")
	}
	w.fail(ep, "c", 1, health.Failed)
	if w.gets(ep, "d") {
		t.Error("c's did not")
	}
	w.clock.add(60 * time.Second)
	w.fail(ep, "d", 1, health.Served)
	if !w.gets(ep, "a") {
		t.Error("it was the endpoint's fault, and a still pays")
	}
}

// That no connection comes about is no request's fault.
func TestUnreachableForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.fail(ep, "a", 5, health.Unreachable)
	if w.gets(ep, "b") {
		t.Error("it is not ejected")
	}
}

// An account that is kept away alone has its own probes, and takes none of the others'.
func TestProbesOfOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eps := []*catalog.Endpoint{endpoint("alpha", "m")}
	w.fail(eps[0], "a", 5, health.Failed)
	w.fail(eps[0], "b", 0, health.Failed)
	count := 0
	for range 100 { // ten seconds
		if p, _, ok := w.Probe(eps, "a"); ok {
			count++
			p.End(health.Sample{Result: health.Failed})
		}
		w.clock.add(100 * time.Millisecond)
	}
	if count != 10 {
		t.Errorf("%d probes in ten seconds", count)
	}
	if f := w.Window(eps[0].ID, health.Day); f.Failed != 5 {
		t.Errorf("they count: %+v", f)
	}
}

// Whatever accounts do in whatever order: as long as all failures since the last success are one account's, all others are admitted; who fails
// five times in a row is not, for 30 s; and when an endpoint is ejected, one call a second still gets through.
func TestAccountsAreKeptApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		r := health.New(health.Default(c.Now))
		ep := endpoint("alpha", "m")
		accounts := []string{"a", "b", "c"}
		var culprits []string // of failures since the last success
		rows, since := map[string]int{}, map[string]time.Time{}
		unsure := map[string]bool{} // whose row may have been forgiven with the others'
		attempt := func(account string, result health.Result) {
			p, why, _ := r.Admit(ep, account)
			if why != health.None {
				return
			}
			p.End(health.Sample{Result: result, Took: time.Second})
			switch result {
			case health.Served:
				for other, n := range rows {
					unsure[other] = unsure[other] || n > 0 && len(culprits) > 1
				}
				culprits = nil
				rows[account], unsure[account] = 0, false
			case health.Failed, health.Limited:
				if rows[account]++; rows[account] >= 5 {
					since[account] = c.Now()
				}
				if !slices.Contains(culprits, account) {
					culprits = append(culprits, account)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"attempts": func(t *rapid.T) {
				account := rapid.SampledFrom(accounts).Draw(t, "account")
				result := rapid.SampledFrom([]health.Result{health.Failed, health.Limited, health.Served, health.Neutral, health.Failed}).Draw(t, "result")
				for range rapid.IntRange(1, 60).Draw(t, "times") {
					attempt(account, result)
				}
			},
			"strangers": func(t *rapid.T) { // more than are remembered
				for i := range rapid.IntRange(1, 100).Draw(t, "strangers") {
					attempt(fmt.Sprint("x", i), health.Neutral)
				}
			},
			"time": func(t *rapid.T) { c.add(time.Duration(rapid.IntRange(1, 400).Draw(t, "s")) * time.Second) },
			"": func(t *rapid.T) {
				if len(culprits) > 1 {
					return
				}
				for _, account := range append([]string{"new"}, accounts...) {
					if slices.Contains(culprits, account) || rows[account] > 0 || unsure[account] {
						continue
					}
					p, why, _ := r.Admit(ep, account)
					p.End(health.Sample{})
					if why != health.None {
						t.Fatalf("%s is kept away by %v", account, culprits)
					}
				}
				for _, account := range culprits {
					if unsure[account] || rows[account] < 5 || c.Now().Sub(since[account]) >= 30*time.Second {
						continue
					}
					if _, why, _ := r.Admit(ep, account); why != health.Ejected {
						t.Fatalf("%s has failed %d times and is admitted", account, rows[account])
					}
					if !r.For(account)(ep.ID).Ejected {
						t.Fatalf("%s is not told", account)
					}
				}
			},
		})
	})
}

// The accounts that an endpoint remembers are bounded, and forgetting one blocks no other call.
func TestManyAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	for i := range 10_000 {
		w.fail(ep, fmt.Sprint("x", i), 1, health.Failed)
		w.fail(ep, "good", 1, health.Served)
	}
	if !w.gets(ep, "new") {
		t.Error("it is ejected")
	}
	if n := w.Remembered(ep.ID); n > 64 {
		t.Errorf("%d accounts are remembered", n)
	}
}
