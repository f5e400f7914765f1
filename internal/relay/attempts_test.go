package relay_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
)

// gated gives a relay a gate that goes by the world's clock.
func gated(change ...func(*health.Config)) func(*relay.Deps, *relay.Config) {
	return func(d *relay.Deps, _ *relay.Config) {
		c := health.Default(d.Now)
		for _, f := range change {
			f(&c)
		}
		d.Gate = health.New(c)
		d.Status = func(_ string, e *fault.Error) int { return 1000 + int(e.Kind) }
	}
}

func silent(e *fault.Error) { e.Upstream.Silent = true }

func (w *world) complete(c *relay.Call) (*record.Call, error) {
	err := w.relay.Complete(w.t.Context(), c, &sink{})
	return c.Record, err
}

func candidateOf(t *testing.T, rec *record.Call, endpoint string) record.Candidate {
	t.Helper()
	i := slices.IndexFunc(rec.Candidates, func(c record.Candidate) bool { return c.Endpoint == endpoint })
	if i < 0 {
		t.Fatalf("%s is not among the candidates %+v", endpoint, rec.Candidates)
	}
	return rec.Candidates[i]
}

var broken = script{fails(fault.ProviderUnavailable, fault.NextEndpoint, status(500))}

// An endpoint that fails is tried less and less, and traffic comes back when it is well again.
func TestTrafficMovesAndReturns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(), market()...)
	w.plays("alpha/v/m", broken, broken, broken, broken, broken, broken, whole("a", 10, 5))
	w.plays("beta/v/m", whole("b", 10, 5))
	byPrice := func(c *relay.Call) { c.Request.Preferences.Sort = "price" }
	var served []string
	call := func(wait time.Duration) *record.Call {
		t.Helper()
		w.clock.add(wait)
		rec, err := w.complete(w.call(byPrice))
		if err != nil {
			t.Fatal(err)
		}
		served = append(served, rec.Provider)
		return rec
	}
	for range 3 {
		call(0)
	}
	if got := candidateOf(t, call(0), "alpha/v/m"); got.Reason != "cool-down" || got.Order != 3 || got.DroppedBy != "" {
		t.Errorf("after three failures: %+v", got)
	}
	w.wantAttempts("alpha/v/m", "beta/v/m", "alpha/v/m", "beta/v/m", "alpha/v/m", "beta/v/m", "beta/v/m")
	call(5 * time.Second)
	call(10 * time.Second) // the fifth failure
	rec := call(0)
	if got := candidateOf(t, rec, "alpha/v/m"); got.Reason != "ejected" || got.Order != 3 {
		t.Errorf("after five failures: %+v", got)
	}
	call(30 * time.Second) // the probe fails
	call(0)
	rec = call(60 * time.Second)
	if rec.Provider != "alpha" || len(rec.Attempts) != 1 {
		t.Errorf("it is well again, and %s serves", rec.Provider)
	}
	t.Logf("attempts in order: %s", strings.Join(w.up.attempts(), " "))
	t.Logf("served by: %s", strings.Join(served, " "))
}

// Retry-After is the time until the first endpoint can be asked again, whether it was asked or passed over.
func TestRetryWhenTheFirstIsFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ejectedFor, asks, want time.Duration }{
		"the one that is ejected": {30 * time.Second, time.Minute, 18 * time.Second},
		"the one that was asked":  {30 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gated(func(h *health.Config) { h.Ejection, h.EjectAfter = c.ejectedFor, 3 }), market()[:2]...)
			w.plays("alpha/v/m", broken)
			w.plays("beta/v/m", whole("b", 10, 5), whole("b", 10, 5), whole("b", 10, 5), whole("b", 10, 5), whole("b", 10, 5),
				script{fails(fault.ProviderOverloaded, fault.NextEndpoint, status(503), retryAfter(c.asks))})
			for range 5 {
				if _, err := w.complete(w.call(func(c *relay.Call) { c.Request.Preferences.Sort = "price" })); err != nil {
					t.Fatal(err)
				}
			}
			w.clock.add(12500 * time.Millisecond)
			_, err := w.complete(w.call())
			if e := wantKind(t, err, fault.ProviderOverloaded); e.RetryAfter != c.want {
				t.Errorf("again after %v, want %v", e.RetryAfter, c.want)
			}
		})
	}
}

// When every endpoint fails, the client gets the error at once, and one call a second finds out whether that is still so.
func TestEveryEndpointIsEjected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(), market()[:2]...)
	w.plays("alpha/v/m", broken, broken, broken, broken, broken, broken, whole("a", 10, 5))
	w.plays("beta/v/m", broken)
	for range 5 {
		_, err := w.complete(w.call())
		wantKind(t, err, fault.ProviderUnavailable)
	}
	attempts := len(w.up.attempts())
	probe, err := w.complete(w.call())
	wantKind(t, err, fault.ProviderUnavailable)
	if got := candidateOf(t, probe, "alpha/v/m"); got.Reason != "probe" || got.DroppedBy != "" {
		t.Errorf("probed: %+v", got)
	}
	if got := candidateOf(t, probe, "beta/v/m"); got.DroppedBy != "ejected" || !strings.Contains(got.Detail, "30s") {
		t.Errorf("not tried: %+v", got)
	}
	for range 3 {
		c := w.call()
		rec, err := w.complete(c)
		e := wantKind(t, err, fault.NoProvider)
		if e.RetryAfter != 30*time.Second || rec.Status != 1000+int(fault.NoProvider) || len(rec.Attempts) != 0 {
			t.Errorf("again after %v, record %+v", e.RetryAfter, rec)
		}
		if w.settled(c) == nil {
			t.Error("there is no record of a call that nobody was tried for")
		}
	}
	noted := 0
	for range 20 {
		c := w.call()
		_, err := w.complete(c)
		wantKind(t, err, fault.NoProvider)
		if w.settled(c) != nil {
			noted++
		}
	}
	if noted != 2 {
		t.Errorf("after three, %d of 20 more refusals of that second were recorded; want 2", noted)
	}
	if got := len(w.up.attempts()); got != attempts+1 {
		t.Errorf("%d attempts while everything was ejected, want 1", got-attempts)
	}
	w.clock.add(time.Second)
	rec, err := w.complete(w.call())
	if len(rec.Attempts) != 1 || rec.Attempts[0].Provider != "beta" {
		t.Errorf("a second later it is the other's turn: %v, %+v", err, rec.Attempts)
	}
	w.clock.add(time.Second)
	rec, err = w.complete(w.call())
	if err != nil || rec.Provider != "alpha" {
		t.Errorf("two seconds later: %v, served by %q", err, rec.Provider)
	}
	if rec, err = w.complete(w.call()); err != nil || len(rec.Attempts) != 1 {
		t.Errorf("after the success: %v, %d attempts", err, len(rec.Attempts))
	}
	w.charged()
}

// One endpoint's ejection leaves the provider's others alone, and a model without it does not notice.
func TestAnotherModelOfTheProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(), offer("alpha", "v/m", "1", "1"), offer("alpha", "v/n", "1", "1"))
	w.plays("alpha/v/m", broken)
	w.plays("alpha/v/n", whole("a", 10, 5))
	for range 6 {
		_, _ = w.complete(w.call())
	}
	rec, err := w.complete(w.call(models("v/n")))
	if err != nil || len(rec.Attempts) != 1 {
		t.Errorf("%v, %d attempts", err, len(rec.Attempts))
	}
	rec, err = w.complete(w.call(models("v/m", "v/n")))
	if err != nil || rec.Model != "v/n" || len(rec.Attempts) != 1 {
		t.Errorf("as a fallback: %v, %+v", err, rec.Attempts)
	}
}

func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(func(c *health.Config) { c.MaxInFlight = 1 }), market()[:2]...)
	inside := func(then func()) script {
		return script{does(func(context.Context) { then() }), text("x"), used(10, 5), done()}
	}
	var second, third *record.Call
	var refused error
	w.plays("beta/v/m", inside(func() { third, refused = w.complete(w.call()) }), whole("b", 10, 5))
	w.plays("alpha/v/m", inside(func() { second, _ = w.complete(w.call()) }), whole("a", 10, 5))
	first, err := w.complete(w.call())
	if err != nil || first.Provider != "alpha" || second.Provider != "beta" {
		t.Fatalf("%v, served by %q and %q", err, first.Provider, second.Provider)
	}
	if got := candidateOf(t, second, "alpha/v/m"); got.DroppedBy != "max_in_flight" || got.Detail == "" {
		t.Errorf("not tried: %+v", got)
	}
	if e := wantKind(t, refused, fault.ProviderOverloaded); e.RetryAfter != time.Second || len(third.Attempts) != 0 {
		t.Errorf("again after %v, %d attempts", e.RetryAfter, len(third.Attempts))
	}
	if rec, err := w.complete(w.call()); err != nil || rec.Provider != "alpha" {
		t.Errorf("afterwards: %v, served by %q", err, rec.Provider)
	}
	w.charged()
}

// Whatever way an attempt ends, its place at the endpoint is free again.
func TestPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		script script
		prompt int64
	}{
		"failed":        {script: broken},
		"our own error": {script: script{fails(fault.Invalid, fault.Stop)}},
		"panic":         {script: script{does(func(context.Context) { panic("a bug") })}},
		"after content": {script: script{text("a"), does(func(context.Context) { panic("a bug") })}},
		"too dear":      {script: whole("a", 10, 5), prompt: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gated(func(c *health.Config) { c.MaxInFlight = 1 }), offer("alpha", "v/m", "1", "2", func(o *catalog.Offer) { o.ContextLength = 0 }))
			w.plays("alpha/v/m", end.script, whole("a", 10, 5))
			func() {
				defer func() { _ = recover() }()
				c := w.call(streamed)
				if end.prompt > 0 {
					c.Request.Needs.PromptTokens = end.prompt
					w.plays("alpha/v/m", whole("a", 10, 5))
				}
				_, _ = w.complete(c)
			}()
			if _, err := w.complete(w.call()); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// Each case says how the only or the last endpoint fails at first, and whether it is tried once more.
func TestRetries(t *testing.T) {
	t.Parallel()
	busy := func(kind fault.Kind, after time.Duration) script {
		return script{fails(kind, fault.NextEndpoint, retryAfter(after))}
	}
	quiet := script{fails(fault.ProviderUnavailable, fault.NextEndpoint, silent)}
	for _, c := range []struct {
		name     string
		first    script
		wait     time.Duration // before the second attempt; 0: there is none
		deadline time.Duration // of the call; 0: none
		rand     float64
		others   bool // another endpoint could serve
		down     bool // but it is ejected
	}{
		{name: "no byte came back", first: quiet, wait: 25 * time.Millisecond},
		{name: "the wait is random", first: quiet, rand: 0.5, wait: 137500 * time.Microsecond},
		{name: "another endpoint is better than waiting", first: quiet, others: true},
		{name: "but not one that is ejected", first: quiet, others: true, down: true, wait: 25 * time.Millisecond},
		{name: "429, a second of patience", first: busy(fault.RateLimited, time.Second), wait: 25 * time.Millisecond},
		{name: "503, the same", first: busy(fault.ProviderOverloaded, time.Second), wait: 25 * time.Millisecond},
		{name: "429, more patience", first: busy(fault.RateLimited, 2*time.Second)},
		{name: "429 without a hint", first: busy(fault.RateLimited, 0)},
		{name: "an answer that broke", first: broken},
		{name: "after content", first: script{text("a"), fails(fault.ProviderUnavailable, fault.NextEndpoint, silent)}},
		{name: "no time left", first: quiet, deadline: 20 * time.Millisecond},
		{name: "time left", first: quiet, deadline: time.Hour, wait: 25 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var waited []time.Duration
			w := newWorld(t, func(d *relay.Deps, cfg *relay.Config) {
				gated()(d, cfg)
				d.Rand = func() float64 { return c.rand }
				d.Wait = func(_ context.Context, d time.Duration) error {
					waited = append(waited, d)
					return nil
				}
			}, market()[:2]...)
			ctx := t.Context()
			if c.deadline > 0 {
				ctx = deadline{ctx, w.clock.Now().Add(c.deadline)}
			}
			w.plays("alpha/v/m", c.first, whole("a", 10, 5))
			w.plays("beta/v/m", whole("b", 10, 5))
			call := w.call(func(call *relay.Call) {
				call.Request.Stream = true
				if !c.others {
					call.Request.Preferences.Only = []string{"alpha"}
				}
			})
			if c.down {
				w.plays("beta/v/m", broken)
				for range 5 {
					_, _ = w.complete(w.call(func(call *relay.Call) { call.Request.Preferences.Only = []string{"beta"} }))
				}
			}
			before := len(w.up.attempts())
			err := w.relay.Complete(ctx, call, &sink{})
			attempts := w.up.attempts()[before:]
			if c.wait > 0 {
				if err != nil || !slices.Equal(attempts, []string{"alpha/v/m", "alpha/v/m"}) || !slices.Equal(waited, []time.Duration{c.wait}) {
					t.Errorf("%v, attempts %q, waited %v", err, attempts, waited)
				}
				return
			}
			if len(waited) > 0 || slices.Equal(attempts, []string{"alpha/v/m", "alpha/v/m"}) || (err == nil) != c.others {
				t.Errorf("%v, attempts %q, waited %v", err, attempts, waited)
			}
		})
	}
}

// deadline is one by the test's clock.
type deadline struct {
	context.Context
	at time.Time
}

func (c deadline) Deadline() (time.Time, bool) { return c.at, true }

// At most one retry of a call, and at most three calls at a time when there are few.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	var inside func()
	w := newWorld(t, func(d *relay.Deps, _ *relay.Config) {
		d.Wait = func(context.Context, time.Duration) error {
			inside()
			return nil
		}
	}, market()[:1]...)
	quiet := script{fails(fault.ProviderUnavailable, fault.NextEndpoint, silent)}
	w.plays("alpha/v/m", quiet)
	waiting, most := 0, 0
	inside = func() { // while one call waits, another begins
		waiting++
		most = max(most, waiting)
		if waiting < 10 {
			_, _ = w.complete(w.call())
		}
		waiting--
	}
	_, err := w.complete(w.call())
	wantKind(t, err, fault.ProviderUnavailable)
	if most != 3 {
		t.Errorf("%d calls were about to retry at a time", most)
	}
	if n := len(w.up.attempts()); n != 4+3 {
		t.Errorf("%d attempts of four calls, three of which may retry", n)
	}
}

// A client that leaves while a call waits for its retry ends it.
func TestGoneWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()[:1]...)
	ctx, cancel := context.WithCancel(t.Context())
	w.plays("alpha/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint, silent)})
	w.relay.Wait = func(ctx context.Context, _ time.Duration) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	c := w.call()
	wantKind(t, w.relay.Complete(ctx, c, &sink{}), fault.Canceled)
	if !c.Record.Cancelled || len(c.Record.Attempts) != 1 {
		t.Errorf("%+v", c.Record)
	}
}

// The closing of an idle connection is not held against an endpoint, unless it happens twice in a call.
func TestStaleConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(), market()[:1]...)
	stale := script{fails(fault.ProviderUnavailable, fault.NextEndpoint, reused, silent)}
	w.plays("alpha/v/m", stale, whole("a", 10, 5))
	for range 6 {
		w.plays("alpha/v/m", stale, whole("a", 10, 5))
		if _, err := w.complete(w.call()); err != nil {
			t.Fatal(err)
		}
	}
	if f := w.relay.Gate.Window("alpha/v/m", health.Day); f.Failed != 0 || f.Served != 6 {
		t.Errorf("%+v", f)
	}
	w.plays("alpha/v/m", stale)
	for range 5 {
		_, err := w.complete(w.call())
		wantKind(t, err, fault.ProviderUnavailable)
	}
	if !w.relay.Gate.For(caller.User)("alpha/v/m").Ejected {
		t.Error("a server that closes every connection was not ejected")
	}
}

func TestStatusOfARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(), market()[:1]...)
	for _, c := range []struct {
		name   string
		script script
		want   int
	}{
		{"failed", broken, 1000 + int(fault.ProviderUnavailable)},
		{"broken off", script{text("a"), fails(fault.Timeout, fault.NextEndpoint)}, 1000 + int(fault.Timeout)},
		{"served", whole("a", 10, 5), 200},
	} {
		w.plays("alpha/v/m", c.script)
		call := w.call(streamed)
		_ = w.relay.Complete(t.Context(), call, &sink{})
		kept := w.settled(call)
		if call.Record.Status != c.want || kept == nil || kept.Status != c.want {
			t.Errorf("%s: status %d, in the ledger %+v", c.name, call.Record.Status, kept)
		}
	}
}

// What was measured of attempts: the first content of an answer and its speed.
func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gated(), market()[:1]...)
	tick := func(d time.Duration) step { return does(func(context.Context) { w.clock.add(d) }) }
	w.plays("alpha/v/m", script{tick(time.Second), text("a"), tick(4 * time.Second), used(10, 80), done()})
	if _, err := w.complete(w.call(streamed)); err != nil {
		t.Fatal(err)
	}
	within := func(got, want float64) bool { return got > want/1.13 && got < want*1.13 }
	if f := w.relay.Gate.Window("alpha/v/m", health.FiveMinutes); f.Served != 1 || !within(f.Latency[0], 1) || !within(f.Throughput[0], 20) {
		t.Errorf("%+v", f)
	}
}

// cached makes an endpoint's cache cheaper than its prompt.
func cached(o *catalog.Offer) { o.Pricing.Base.CacheRead = price("0.1") }

// saying is a request with these messages, and with the places that a decoder would report.
func saying(system, first string) func(*relay.Call) {
	return func(c *relay.Call) {
		c.Request.Body = []byte(system + first)
		c.Request.Opening = [2]completion.Span{{Start: 0, End: len(system)}, {Start: len(system), End: len(system) + len(first)}}
	}
}

// Each case makes two calls: the draw sends the first one to beta, and would send the second one to alpha.
func TestSticky(t *testing.T) {
	t.Parallel()
	session := func(id string) func(*relay.Call) {
		return func(c *relay.Call) { c.Request.SessionID = id }
	}
	key := func(text string) func(*relay.Call) {
		return func(c *relay.Call) {
			c.Request.Body, c.Request.CacheKey = []byte(text), completion.Span{End: len(text)}
		}
	}
	both := func(fs ...func(*relay.Call)) func(*relay.Call) {
		return func(c *relay.Call) {
			for _, f := range fs {
				f(c)
			}
		}
	}
	dear := func(o *catalog.Offer) { o.Pricing.Base.CacheRead = o.Pricing.Base.Prompt }
	plain := func(*catalog.Offer) {}
	for _, c := range []struct {
		name          string
		first, second func(*relay.Call)
		offer         func(*catalog.Offer) // nil: with a cheap cache
		after         time.Duration
		idle          time.Duration // 0: ten minutes
		failing       bool
		want          string
	}{
		{name: "the same session", first: session("s"), second: session("s"), want: "beta"},
		{name: "another session", first: session("s"), second: session("t"), want: "alpha"},
		{name: "the same key", first: key(`"k"`), second: key(`"k"`), want: "beta"},
		{name: "another key", first: key(`"k"`), second: key(`"l"`), want: "alpha"},
		{name: "a session counts before a key", first: both(key(`"k"`), session("s")), second: both(key(`"k"`), session("t")), want: "alpha"},
		{name: "the same opening", first: saying("be brief", "hello"), second: saying("be brief", "hello"), want: "beta"},
		{name: "another instruction", first: saying("be brief", "hello"), second: saying("be long", "hello"), want: "alpha"},
		{name: "another beginning", first: saying("be brief", "hello"), second: saying("be brief", "goodbye"), want: "alpha"},
		{name: "instruction and message are not one text", first: saying("ab", "c"), second: saying("a", "bc"), want: "alpha"},
		{name: "nothing to tell it by", first: both(), second: both(), want: "alpha"},
		{name: "another wallet", first: session("s"), second: both(session("s"), func(c *relay.Call) {
			other := *c.Caller
			other.Wallet = "wal_2"
			c.Caller = &other
		}), want: "alpha"},
		{name: "an order of providers", first: session("s"), second: both(session("s"), func(c *relay.Call) { c.Request.Preferences.Order = []string{"alpha"} }), want: "alpha"},
		{name: "a sort order", first: session("s"), second: both(session("s"), func(c *relay.Call) { c.Request.Preferences.Sort = "price" }), want: "alpha"},
		{name: "a filter against it", first: session("s"), second: both(session("s"), func(c *relay.Call) { c.Request.Preferences.Ignore = []string{"beta"} }), want: "alpha"},
		{name: "the cache costs as much as the prompt", first: session("s"), second: session("s"), offer: dear, want: "alpha"},
		{name: "there is no cache", first: session("s"), second: session("s"), offer: plain, want: "alpha"},
		{name: "just before it is forgotten", first: session("s"), second: session("s"), after: 10 * time.Minute, want: "beta"},
		{name: "idle for too long", first: session("s"), second: session("s"), after: 10*time.Minute + 1, want: "alpha"},
		{name: "switched off", first: session("s"), second: session("s"), idle: -1, want: "alpha"},
		{name: "it fails meanwhile", first: session("s"), second: session("s"), failing: true, want: "alpha"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			drawn := 0.9
			w := newWorld(t, func(d *relay.Deps, cfg *relay.Config) {
				gated()(d, cfg)
				d.Rand = func() float64 { return drawn }
				if c.idle != 0 {
					cfg.StickyFor = 0
				}
			}, func() []catalog.Offer {
				change := c.offer
				if change == nil {
					change = cached
				}
				return []catalog.Offer{offer("alpha", "v/m", "1", "2", change), offer("beta", "v/m", "1.1", "2", change)}
			}()...)
			w.plays("alpha/v/m", whole("a", 10, 5))
			w.plays("beta/v/m", whole("b", 10, 5))
			w.store.credit("wal_2", 10*money.Ruble)
			rec, err := w.complete(w.call(c.first))
			if err != nil || rec.Provider != "beta" {
				t.Fatalf("first: %v, served by %q", err, rec.Provider)
			}
			drawn = 0
			w.clock.add(c.after)
			if c.failing {
				w.plays("beta/v/m", broken)
				for range 3 {
					_, _ = w.complete(w.call(func(call *relay.Call) { call.Request.Preferences.Only = []string{"beta"} }))
				}
				w.plays("beta/v/m", whole("b", 10, 5))
			}
			rec, err = w.complete(w.call(c.second))
			if err != nil || rec.Provider != c.want {
				t.Errorf("second: %v, served by %q, want %q", err, rec.Provider, c.want)
			}
			if got := candidateOf(t, rec, "beta/v/m").Reason == "sticky"; got != (c.want == "beta") {
				t.Errorf("the record says %+v", rec.Candidates)
			}
		})
	}
}
