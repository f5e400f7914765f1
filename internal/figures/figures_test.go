package figures_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"weir/internal/figures"
)

const text = `weir_http_requests_total{route="POST /v1/chat/completions",class="2xx"} 90
weir_http_requests_total{route="POST /v1/chat/completions",class="5xx"} 10
weir_http_requests_total{route="GET /api/admin/now",class="2xx"} 900
weir_http_requests_total{route="POST /v1/keys",class="5xx"} 5
weir_calls_total{model="a",provider="p"} 60
weir_calls_total{model="b",provider="p"} 30
weir_calls_saved_total 9
weir_upstream_attempts_total{endpoint="x",result="ok"} 90
weir_upstream_attempts_total{endpoint="x",result="failed"} 10
weir_cost_rubles_total{model="a",provider="p"} 30
weir_added_seconds_bucket{le="0.001"} 50
weir_added_seconds_bucket{le="0.0025"} 90
weir_added_seconds_bucket{le="+Inf"} 90
weir_calls_in_flight 3
`

func totals(t *testing.T, text string) figures.Totals {
	t.Helper()
	s, err := figures.Read(strings.NewReader(text), time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return s.Totals()
}

// Only what asks a model counts, and shares are of what they are shares of.
func TestTotals(t *testing.T) {
	t.Parallel()
	is := totals(t, text)
	g := figures.Between(nil, &is, 60)
	for name, x := range map[string][2]float64{
		"requests": {g.PerSecond(), 100.0 / 60}, "failed": {g.FailedShare(), 0.1}, "saved": {g.SavedShare(), 0.1}, "rubles": {g.RublesPerMinute(), 30}, "attempts": {g.FailedAttempts / g.Attempts, 0.1},
		"in flight": {is.InFlight, 3}, "added": {g.AddedP99(), 0.001 + 0.0015*(0.99*90-50)/40},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, x[0], x[1])
		}
	}
	var nothing figures.Grown
	if nothing.PerSecond() != 0 || nothing.FailedShare() != 0 || !math.IsNaN(nothing.AddedP99()) {
		t.Error("nothing has figures")
	}
}

// What nodes counted in times of different lengths is added as rates.
func TestNodesAddUp(t *testing.T) {
	t.Parallel()
	is := totals(t, text)
	minute, half := figures.Between(nil, &is, 60), figures.Between(nil, &is, 30)
	var all figures.Grown
	for _, g := range []figures.Grown{{}, minute, half} {
		all.Add(&g)
	}
	if got, want := all.PerSecond(), minute.PerSecond()+half.PerSecond(); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v requests a second, want %v", got, want)
	}
	if got := all.FailedShare(); math.Abs(got-0.1) > 1e-9 {
		t.Errorf("the share of failures is %v", got)
	}
	if minute.Requests != 100 || minute.Added[len(minute.Added)-1] != 90 {
		t.Error("a node's own figures were changed")
	}
}

// The past has the last minute as rates and the last half hour in slots; a pause leaves empty slots, and a restart of counters no negative ones.
func TestPast(t *testing.T) {
	t.Parallel()
	var p figures.Past
	if g, _ := p.Now(); g.Seconds != 0 {
		t.Error("an empty past has a present")
	}
	begin, requests := time.Unix(1_000_000_020, 0), 0.0
	add := func(after time.Duration, n float64) {
		requests += n
		p.Add(figures.Totals{At: begin.Add(after), Requests: requests})
	}
	for s := time.Duration(0); s <= 2*time.Minute; s += figures.Every {
		add(s, 5)
	}
	if g, last := p.Now(); g.Seconds != 60 || g.Requests != 60 || last.Requests != requests {
		t.Errorf("in %v s: %v requests, last %v", g.Seconds, g.Requests, last.Requests)
	}
	newest, points := p.Points()
	if newest != begin.Add(2*time.Minute).Unix()/30 || len(points) != figures.Slots || points[figures.Slots-2].Requests != 30 {
		t.Errorf("slot %d, %d points, %+v", newest, len(points), points[figures.Slots-4:])
	}
	add(5*time.Minute, 7)
	if _, points = p.Points(); points[figures.Slots-1].Requests != 7 || points[figures.Slots-2].Requests != 0 || points[figures.Slots-8].Requests != 30 {
		t.Errorf("%+v", points[figures.Slots-10:])
	}
	requests = 0
	add(5*time.Minute+5*time.Second, 1)
	if _, points = p.Points(); points[figures.Slots-1].Requests != 7 {
		t.Errorf("a restart counts %v", points[figures.Slots-1].Requests)
	}
	add(2*time.Hour, 0)
	if _, points = p.Points(); points[0].Requests != 0 || points[figures.Slots-1].Requests != 0 {
		t.Error("the past is not forgotten")
	}
}

// The ranges have what was counted in them, to a quarter of an hour of a day; before that, what was counted since the start. What is kept is bounded.
func TestPastOver(t *testing.T) {
	t.Parallel()
	var p figures.Past
	for i, g := range p.Over() {
		if g.Seconds != 0 || g.Requests != 0 {
			t.Errorf("an empty past has %+v in range %d", g, i)
		}
	}
	begin := time.Unix(1_000_000_020, 0)
	at := func(after time.Duration) { // a request a second, a failure each ten seconds
		p.Add(figures.Totals{At: begin.Add(after), Requests: after.Seconds(), Failed: after.Seconds() / 10, Added: []float64{after.Seconds()}})
	}
	next := time.Duration(0)
	run := func(until time.Duration) {
		for ; next <= until; next += figures.Every {
			at(next)
		}
	}
	check := func(name string, want ...[2]time.Duration) {
		t.Helper()
		for i, g := range p.Over() {
			if s := time.Duration(g.Seconds * float64(time.Second)); s < want[i][0] || s > want[i][1] || math.Abs(g.PerSecond()-1) > 1e-9 || math.Abs(g.FailedShare()-0.1) > 1e-9 || math.Abs(g.Added[0]-g.Seconds) > 1e-6 {
				t.Errorf("%s: range %d has %+v, want %v", name, i, g, want[i])
			}
		}
	}
	exact := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d + figures.Slot} }
	run(2 * time.Minute)
	check("two minutes", exact(2*time.Minute), exact(2*time.Minute), exact(2*time.Minute))
	run(20 * time.Minute)
	check("twenty minutes", exact(5*time.Minute), exact(20*time.Minute), exact(20*time.Minute))
	run(50 * time.Hour)
	day := [2]time.Duration{24 * time.Hour, 24*time.Hour + 16*time.Minute}
	check("two days", exact(5*time.Minute), exact(time.Hour), day)
}
