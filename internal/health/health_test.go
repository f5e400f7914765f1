package health_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/routing"
)

// clock moves only when the test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_772_000_001, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func endpoint(provider, model string) *catalog.Endpoint {
	return &catalog.Endpoint{ID: provider + "/" + model, Provider: &catalog.Provider{ID: provider, BaseURL: "https://" + provider + ".test:8443/v1"}}
}

// world is a registry with its own clock.
type world struct {
	testing.TB
	*health.Registry
	clock *clock
}

func newWorld(t testing.TB, change ...func(*health.Config)) world {
	c := newClock()
	cfg := health.Default(c.Now)
	for _, f := range change {
		f(&cfg)
	}
	return world{t, health.New(cfg), c}
}

func (w world) admit(ep *catalog.Endpoint) health.Pass {
	w.Helper()
	p, why, _ := w.Admit(ep, "")
	if why != health.None {
		w.Fatalf("%s was refused: %d", ep.ID, why)
	}
	return p
}

func (w world) attempt(ep *catalog.Endpoint, r health.Result) {
	w.Helper()
	p := w.admit(ep)
	p.End(health.Sample{Result: r, Latency: time.Second, Took: 2 * time.Second, Tokens: 20})
}

// play makes attempts: S served, F failed, L limited, R refused, U unreachable, N neutral; "+30s" moves the clock.
func (w world) play(ep *catalog.Endpoint, script string) {
	w.Helper()
	letters := map[rune]health.Result{'S': health.Served, 'F': health.Failed, 'L': health.Limited, 'R': health.Refused, 'U': health.Unreachable, 'N': health.Neutral}
	for _, word := range strings.Fields(script) {
		if d, err := time.ParseDuration(word); err == nil {
			w.clock.add(d)
			continue
		}
		for _, letter := range word {
			w.attempt(ep, letters[letter])
		}
	}
}

// Each case is a row of the transition table in docs/routing.md: what happened, and what is then known of the endpoint.
func TestTransitions(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		name, script string
		coolDown     time.Duration // how long it goes after all others, 0: not at all
		ejected      time.Duration // how long it gets no calls
	}{
		{"nothing happened", "", 0, 0},
		{"two failures", "FF", 0, 0},
		{"three: behind all others", "FFF", 5 * s, 0},
		{"four: for twice as long", "FFFF", 10 * s, 0},
		{"five: ejected", "FFFFF", 0, 30 * s},
		{"failures far apart are still in a row", "F +10m F +10m F +10m F +10m F", 0, 30 * s},
		{"refusals by rate limit count", "LLLLL", 0, 30 * s},
		{"failed connections count", "UUUUU", 0, 30 * s},
		{"so do all together", "FLUFL", 0, 30 * s},
		{"another 4xx neither counts nor ends the row", "FFRRRFFRF", 0, 30 * s},
		{"4xx alone", "RRRRRRRRR", 0, 0},
		{"what says nothing changes nothing", "FFNNNNNFNNF", 10 * s, 0},
		{"a success begins anew", "FFFFSFFFF", 10 * s, 0},
		{"a success ends a cool-down", "FFFS", 0, 0},
		{"a cool-down ends by itself", "FFF +5s", 0, 0},
		{"but the row goes on", "FFF +5s F", 10 * s, 0},
		{"an ejection ends", "FFFFF +30s", 0, 0},
		{"a failed probe ejects for longer", "FFFFF +30s F", 0, 60 * s},
		{"so does one that is refused by rate limit", "FFFFF +30s L +60s L", 0, 90 * s},
		{"never longer than the limit", "FFFFF" + strings.Repeat(" +300s F", 20), 0, 300 * s},
		{"a probe that says nothing lets the next one be it", "FFFFF +30s NRN F", 0, 60 * s},
		{"a probe that serves begins anew", "FFFFF +30s F +60s S", 0, 0},
		{"from the start", "FFFFF +30s F +60s S FFFFF", 0, 30 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ep := endpoint("alpha", "m")
			w.play(ep, c.script)
			h := w.Of(ep.ID)
			if h.CoolDown != (c.coolDown > 0) || h.Ejected != (c.ejected > 0) {
				t.Fatalf("cool-down %v, ejected %v", h.CoolDown, h.Ejected)
			}
			if wait := c.coolDown + c.ejected; wait > 0 {
				w.clock.add(wait - time.Nanosecond)
				if again := w.Of(ep.ID); again.CoolDown != h.CoolDown || again.Ejected != h.Ejected {
					t.Error("it ended too early")
				}
				w.clock.add(time.Nanosecond)
				if h = w.Of(ep.ID); h.CoolDown || h.Ejected {
					t.Error("it did not end")
				}
			}
			w.admit(ep)
		})
	}
}

func TestWhileEjected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.play(ep, "FFFFF +10s")
	if _, why, after := w.Admit(ep, ""); why != health.Ejected || after != 20*time.Second {
		t.Errorf("refusal %d, again after %v", why, after)
	}
	w.clock.add(20 * time.Second)
	probe := w.admit(ep)
	if _, why, _ := w.Admit(ep, ""); why != health.Ejected {
		t.Error("a second call got through beside the probe")
	}
	if !w.Of(ep.ID).Ejected {
		t.Error("routing would send others to it while the probe runs")
	}
	probe.End(health.Sample{Result: health.Served})
	probe.End(health.Sample{Result: health.Failed}) // must do nothing
	a, b := w.admit(ep), w.admit(ep)
	a.End(health.Sample{})
	b.End(health.Sample{})
	if n := w.CountEjected(); n != 0 {
		t.Errorf("%d are ejected", n)
	}
}

// Calls that entered before an ejection say nothing about what came after it.
func TestLateNews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	served, failed := w.admit(ep), w.admit(ep)
	w.play(ep, "FFFFF")
	served.End(health.Sample{Result: health.Served})
	if !w.Of(ep.ID).Ejected {
		t.Error("a success of before ended the ejection")
	}
	w.clock.add(20 * time.Second)
	failed.End(health.Sample{Result: health.Failed})
	if _, _, after := w.Admit(ep, ""); after != 10*time.Second {
		t.Errorf("a failure of before changed the ejection: it ends in %v", after)
	}
}

// Only endpoints on a host that cannot be reached are changed by others of it.
func TestOthersOfAProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sick, well, elsewhere := endpoint("alpha", "sick"), endpoint("alpha", "well"), endpoint("beta", "m")
	w.play(sick, "FFFFF")
	w.attempt(well, health.Served)
	w.play(sick, "+30s F +60s S UUUU")
	if h := w.Of(well.ID); h.CoolDown || h.Ejected {
		t.Errorf("four failed connections: %+v", h)
	}
	w.play(sick, "+60s U")
	if h := w.Of(well.ID); !h.Ejected {
		t.Error("five failed connections in a row leave the host's other endpoints as they were")
	}
	if _, why, after := w.Admit(endpoint("alpha", "never tried"), ""); why != health.Ejected || after != 30*time.Second {
		t.Errorf("refusal %d, again after %v", why, after)
	}
	w.attempt(elsewhere, health.Served)
	w.clock.add(30 * time.Second)
	w.attempt(well, health.Refused) // a refusal shows that the host is there
	w.attempt(endpoint("alpha", "never tried"), health.Served)
	if h := w.Of(well.ID); h.Ejected {
		t.Error("the host was reached again")
	}
}

// A provider whose address was changed is another host.
func TestAddressChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	w.play(ep, "UUUUU +30s")
	moved := *ep
	moved.Provider = &catalog.Provider{ID: "alpha", BaseURL: "http://new.test/v1"}
	other := endpoint("alpha", "other")
	other.Provider = moved.Provider
	w.attempt(other, health.Served)
	w.attempt(&moved, health.Served)
	w.attempt(&moved, health.Served)
}

func TestProbeOfTheLastResort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := endpoint("alpha", "m"), endpoint("beta", "m")
	both := []*catalog.Endpoint{a, b}
	w.play(b, "FFFFF")
	w.play(a, "+1s FFFFF")
	p, which, ok := w.Probe(both, "")
	if !ok || which != 1 {
		t.Fatalf("probe of %d, %v: the one that was ejected first should be tried first", which, ok)
	}
	if _, _, again := w.Probe(both, ""); again {
		t.Error("two probes in a second")
	}
	w.clock.add(time.Second)
	second, which, ok := w.Probe(both, "") // the first one may hang, or stay away: that must not keep the next from finding out about the other
	if !ok || which != 0 {
		t.Fatalf("probe of %d, %v after a second: it is the other's turn", which, ok)
	}
	p.End(health.Sample{Result: health.Failed})
	if _, _, after := w.Admit(b, ""); after != 28*time.Second {
		t.Errorf("a failed probe changed the ejection: it ends in %v", after)
	}
	second.End(health.Sample{Result: health.Served})
	w.attempt(a, health.Served)
	if _, why, _ := w.Admit(b, ""); why != health.Ejected {
		t.Error("the other endpoint was let in as well")
	}
	if _, _, ok := w.Probe(nil, ""); ok {
		t.Error("a probe of nothing")
	}
}

func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *health.Config) { c.MaxInFlight = 2 })
	ep := endpoint("alpha", "m")
	first, second := w.admit(ep), w.admit(ep)
	if _, why, after := w.Admit(ep, ""); why != health.Full || after <= 0 {
		t.Errorf("refusal %d after %v", why, after)
	}
	w.attempt(endpoint("alpha", "other"), health.Served)
	first.End(health.Sample{Result: health.Failed})
	third := w.admit(ep)
	third.End(health.Sample{})
	second.End(health.Sample{})
	var none health.Pass
	none.End(health.Sample{Result: health.Failed})
}

// One account alone may use all that an endpoint has; once another one needs some, it has its share and no more.
func TestUsersShareAnEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *health.Config) { c.MaxInFlight, c.UserShare = 10, 50 })
	ep := endpoint("alpha", "m")
	const greedy = "usr_greedy"
	modest := "usr_0"
	for i := 1; health.SameGroup(greedy, modest); i++ {
		modest = fmt.Sprint("usr_", i)
	}
	admit := func(account string, want health.Refusal) health.Pass {
		t.Helper()
		p, why, _ := w.Admit(ep, account)
		if why != want {
			t.Fatalf("%s: refusal %d, want %d", account, why, want)
		}
		return p
	}
	var taken []health.Pass
	for range 10 {
		taken = append(taken, admit(greedy, health.None))
	}
	admit(greedy, health.Full)
	admit(modest, health.Full)
	for i := range 3 {
		taken[i].End(health.Sample{Result: health.Served})
		admit(greedy, health.Crowded)
		p := admit(modest, health.None)
		defer p.End(health.Sample{})
	}
	w.clock.add(2 * time.Minute) // the other one has asked for nothing since
	admit(greedy, health.Full)
	for i := 3; i < 6; i++ {
		taken[i].End(health.Sample{Result: health.Served})
		taken[i] = admit(greedy, health.None)
	}
	for i := 3; i < 10; i++ {
		taken[i].End(health.Sample{})
		taken[i].End(health.Sample{}) // once more changes nothing
	}
	admit(greedy, health.None)
}

// A limit of an endpoint holds for it, whether it is above or below the node's.
func TestMaxInFlightOfAnEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *health.Config) { c.MaxInFlight = 2 })
	for most, name := range map[int64]string{1: "few", 3: "many"} {
		ep := endpoint("alpha", name)
		ep.MaxInFlight = most
		for range most {
			p := w.admit(ep)
			defer p.End(health.Sample{})
		}
		if _, why, _ := w.Admit(ep, ""); why != health.Full {
			t.Errorf("more than %d were let in", most)
		}
	}
}

func TestFailing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script string
		want   bool
	}{
		{"FF", false},
		{"SFFSF", true},
		{"SSSFSFF", false},
		{"SSFSFF", false}, // half is not more than half
		{"SFSLF", true},   // a refusal by rate limit is a failure for the caller
		{"SFSFF +31s", false},
		{"SFSFF +31s F", false},
	} {
		w := newWorld(t)
		ep := endpoint("alpha", "m")
		w.play(ep, c.script)
		if got := w.Of(ep.ID).Failing; got != c.want {
			t.Errorf("%s: failing %v", c.script, got)
		}
	}
}

// What routing sees is at most a second old, and an outage shows at once.
func TestOfIsRefreshed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	if got := w.Of(ep.ID); got != (routing.Health{}) {
		t.Errorf("of an endpoint never tried: %+v", got)
	}
	w.attempt(ep, health.Served)
	first := w.Of(ep.ID)
	if first.Latency[0] < 0.88 || first.Latency[0] > 1.13 || first.Throughput[0] < 17.6 || first.Throughput[0] > 22.6 {
		t.Errorf("a second to first content and 20 tokens in another: %+v", first)
	}
	for range 4 {
		p := w.admit(ep)
		p.End(health.Sample{Result: health.Served, Latency: 9 * time.Second, Took: 10 * time.Second, Tokens: 20})
	}
	w.clock.add(time.Second)
	if second := w.Of(ep.ID); second.Latency[0] < 7.9 {
		t.Errorf("after a second: %+v", second)
	}
	w.play(ep, "FFF SFF")
	if w.Of(ep.ID).Failing {
		t.Error("5 failures of 11 are no outage")
	}
	w.play(ep, "FF")
	if !w.Of(ep.ID).Failing {
		t.Error("7 failures of 13 are one, in the same moment")
	}
}

func TestThroughputOfQuickAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		s    health.Sample
		want float64
	}{
		{"a stream", health.Sample{Latency: time.Second, Took: 3 * time.Second, Tokens: 100}, 50},
		{"in one piece", health.Sample{Latency: 4 * time.Second, Took: 4 * time.Second, Tokens: 100}, 25},
		{"nearly so", health.Sample{Latency: 3960 * time.Millisecond, Took: 4 * time.Second, Tokens: 100}, 25},
		{"unknown", health.Sample{Latency: time.Second, Took: 3 * time.Second}, 0},
	} {
		w := newWorld(t)
		p := w.admit(endpoint("alpha", "m"))
		c.s.Result = health.Served
		p.End(c.s)
		if got := w.Of("alpha/m").Throughput[0]; got < c.want/1.13 || got > c.want*1.13 {
			t.Errorf("%s: %v tokens a second, want %v", c.name, got, c.want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ep := endpoint("alpha", "m")
	never := health.Shown{Uptime: 100}
	if s := w.Shown(ep.ID); s != never {
		t.Errorf("of an endpoint never tried: %+v", s)
	}
	w.play(ep, "SSS L R +2m L")
	if s := w.Shown(ep.ID); s != (health.Shown{Uptime: 75, Latency: time.Second, Throughput: 20, HalfHour: 6, OneDay: 6}) {
		t.Errorf("%+v", s)
	}
	w.clock.add(time.Hour)
	if s := w.Shown(ep.ID); s != (health.Shown{Uptime: 75, OneDay: 6}) {
		t.Errorf("an hour later: %+v", s)
	}
	w.clock.add(24 * time.Hour)
	if s := w.Shown(ep.ID); s != never {
		t.Errorf("a day later: %+v", s)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, new, busy := endpoint("alpha", "old"), endpoint("beta", "new"), endpoint("gamma", "busy")
	w.play(old, "FFFFF")
	running := w.admit(busy)
	w.clock.add(25 * time.Hour)
	w.attempt(new, health.Served)
	w.Forget()
	for id, want := range map[string]bool{old.ID: false, new.ID: true} {
		if f := w.Window(id, health.Day); (f.Attempts() > 0) != want {
			t.Errorf("%s: %+v", id, f)
		}
	}
	running.End(health.Sample{Result: health.Served})
	if f := w.Window(busy.ID, health.Day); f.Served != 1 {
		t.Error("an endpoint with an attempt in flight was forgotten")
	}
	w.attempt(old, health.Served)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	upstream := func(kind fault.Kind, status int) *fault.Error {
		return &fault.Error{Kind: kind, Upstream: &fault.Upstream{Status: status}}
	}
	unreachable := upstream(fault.ProviderUnavailable, 0)
	unreachable.Upstream.Unreachable = true
	for _, c := range []struct {
		name    string
		err     *fault.Error
		content bool
		want    health.Result
	}{
		{"served", nil, true, health.Served},
		{"the client left before content", fault.New(fault.Canceled, "x", ""), false, health.Neutral},
		{"and after", fault.New(fault.Canceled, "x", ""), true, health.Served},
		{"the money ran out", fault.New(fault.PaymentRequired, "x", ""), true, health.Served},
		{"our own trouble", fault.New(fault.Internal, "x", ""), false, health.Neutral},
		{"no connection", unreachable, false, health.Unreachable},
		{"reset", upstream(fault.ProviderUnavailable, 0), false, health.Failed},
		{"broken off after content", upstream(fault.ProviderUnavailable, 200), true, health.Failed},
		{"500", upstream(fault.ProviderUnavailable, 500), false, health.Failed},
		{"503", upstream(fault.ProviderOverloaded, 503), false, health.Failed},
		{"timeout", upstream(fault.Timeout, 0), false, health.Failed},
		{"429", upstream(fault.RateLimited, 429), false, health.Limited},
		{"429 inside 200", upstream(fault.RateLimited, 200), false, health.Limited},
		{"401", upstream(fault.ProviderUnavailable, 401), false, health.Refused},
		{"404", upstream(fault.ProviderUnavailable, 404), false, health.Refused},
		{"408", upstream(fault.Timeout, 408), false, health.Refused},
		{"400", upstream(fault.Invalid, 400), false, health.Neutral},
		{"too long a prompt", upstream(fault.ContextLength, 400), false, health.Neutral},
		{"content policy", upstream(fault.ContentPolicy, 400), false, health.Neutral},
	} {
		if got := health.Judge(c.err, c.content); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Many calls at once: nothing is lost, and no call waits for another's endpoint.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 500 {
				ep := endpoint("alpha", fmt.Sprint((worker+i)%5))
				p, why, _ := w.Admit(ep, "")
				if why != health.None {
					t.Errorf("refused: %d", why)
					return
				}
				w.Of(ep.ID)
				p.End(health.Sample{Result: health.Served, Latency: time.Millisecond, Took: time.Second, Tokens: 5})
			}
		})
	}
	all.Go(func() {
		for range 20 {
			w.Snapshot()
			w.Forget()
			w.CountEjected()
		}
	})
	all.Wait()
	var served int64
	for i := range 5 {
		served += w.Window(fmt.Sprint("alpha/", i), health.FiveMinutes).Served
	}
	if served != 8*500 {
		t.Errorf("%d attempts are known of 4000", served)
	}
}

func BenchmarkAttempt(b *testing.B) {
	r := health.New(health.Default(time.Now))
	ep := endpoint("alpha", "m")
	b.ReportAllocs()
	for b.Loop() {
		p, _, _ := r.Admit(ep, "")
		p.End(health.Sample{Result: health.Served, Latency: 300 * time.Millisecond, Took: time.Second, Tokens: 50})
	}
}

func BenchmarkOf(b *testing.B) {
	r := health.New(health.Default(time.Now))
	p, _, _ := r.Admit(endpoint("alpha", "m"), "")
	p.End(health.Sample{Result: health.Served, Latency: 300 * time.Millisecond, Took: time.Second, Tokens: 50})
	b.ReportAllocs()
	for b.Loop() {
		r.Of("alpha/m")
	}
}

func BenchmarkFirstAttempt(b *testing.B) {
	r := health.New(health.Default(time.Now))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%2000 == 0 {
			r = health.New(health.Default(time.Now))
		}
		p, _, _ := r.Admit(endpoint("alpha", fmt.Sprint(i%2000)), "")
		p.End(health.Sample{Result: health.Served, Latency: 300 * time.Millisecond, Took: time.Second, Tokens: 50})
	}
}
