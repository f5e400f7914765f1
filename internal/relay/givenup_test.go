package relay_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/task"
	"weir/internal/usage"
)

// freely are the calls that an account may give up in an hour for nothing.
const freely = 20

// giveUp makes a call that its client gives up after these events, and returns it.
func (w *world) giveUp(t testing.TB, events script, change ...func(*relay.Call)) *relay.Call {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.plays("alpha/v/m", append(events, does(func(context.Context) { cancel() }), text("never"), done()))
	c := w.call(change...)
	wantKind(t, w.relay.Complete(ctx, c, &sink{}), fault.Canceled)
	return c
}

// What a call costs that its client gives up before it had anything: what the provider says, and nothing where it says nothing, up to a rate.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	opening := step{ev: &completion.Event{Choice: -1, Opening: true, Usage: &usage.Usage{Prompt: usage.Of(9), Completion: usage.Of(1)}}}
	nothing := step{ev: &completion.Event{}}
	for _, c := range []struct {
		name   string
		events script
		change func(*relay.Call)
		idle   bool   // the provider never had the request
		first  string // charge of one
		later  string // of one more, after many
	}{
		{name: "no word of it", first: "0", later: "0.006"},
		{name: "no word of it, streamed", events: script{nothing}, change: streamed, first: "0", later: "0.006"},
		{name: "the provider reports the prompt", events: script{opening}, change: streamed, first: "0.011", later: "0.011"},
		{name: "it reports the prompt alone", events: script{used(9, 0)}, change: streamed, first: "0.009", later: "0.009"},
		{name: "it reports an absurd prompt", events: script{used(1<<40, 0)}, change: streamed, first: "0.01", later: "0.01"},
		{name: "it reports no prompt", events: script{used(0, 0)}, change: streamed, first: "0", later: "0.006"},
		{name: "a part of a whole answer", events: script{text("a b")}, first: "0", later: "0.01"},
		{name: "a part of a whole answer, and its usage", events: script{text("a b"), used(10, 5)}, first: "0.02", later: "0.02"},
		{name: "the provider had not got it", idle: true, first: "0", later: "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
			if c.change == nil {
				c.change = func(*relay.Call) {}
			}
			w.up.idle = c.idle
			call := w.giveUp(t, c.events, c.change)
			w.wantCharged(c.first)
			rec := w.settled(call)
			if rec == nil || !rec.Cancelled || rec.Settled != (c.first != "0") || rec.Error != "canceled" {
				t.Errorf("record %+v", rec)
			}
			w.up.idle = false
			for range freely {
				w.giveUp(t, nil)
			}
			w.up.idle = c.idle
			before := w.charged()
			call = w.giveUp(t, c.events, c.change)
			if got := w.charged() - before; got != rubles(c.later) || got != call.Record.Cost || got > call.Record.Hold {
				t.Errorf("after many, one more costs %s, want %s; record %+v", got, c.later, call.Record)
			}
			if c.later == "0.006" && call.Record.Usage.Source != usage.Estimated {
				t.Errorf("usage %+v", call.Record.Usage)
			}
		})
	}
}

// ownKeys gives everybody a key of their own for alpha.
type ownKeys struct{}

func (ownKeys) Of(context.Context, string) ([]routing.Own, error) {
	fee := catalog.Fee{Share: 10_000}
	return []routing.Own{{Provider: "alpha", Endpoint: func(ep *catalog.Endpoint) *catalog.Endpoint { return ep.WithOwnKey("pk_1", "secret", fee) }}}, nil
}

func (ownKeys) Tried(string, string, *fault.Error) {}

// What costs nothing, however much was given up before: calls that a provider refused or was not asked, those with the caller's own key, and those
// that the gateway ended.
func TestGivenUpForNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cause  error
		kind   fault.Kind
		own    bool
		script func(gone step) script
	}{
		{name: "refused, before another was asked", kind: fault.Canceled, script: func(gone step) script {
			return script{used(10, 0), gone, {err: fails(fault.RateLimited, fault.NextEndpoint, status(429)).err}}
		}},
		{name: "with the caller's own key", kind: fault.Canceled, own: true, script: func(gone step) script { return script{used(10, 0), gone, text("a")} }},
		{name: "ended by the gateway", kind: fault.Draining, cause: fault.New(fault.Draining, "test", "The server is shutting down."),
			script: func(gone step) script { return script{used(10, 0), gone, text("a")} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(d *relay.Deps, _ *relay.Config) {
				if c.own {
					d.Own = ownKeys{}
				}
			}, market()...)
			for range freely {
				w.giveUp(t, nil)
			}
			ctx, gone := cancelled(t, c.cause)
			w.up.ignores = c.name == "refused, before another was asked"
			w.plays("alpha/v/m", c.script(gone))
			wantKind(t, w.relay.Complete(ctx, w.call(streamed), &sink{}), c.kind)
			w.wantCharged("0")
		})
	}
}

// An image that was not finished costs nothing, however often; a recording that its client gave up is work that was done.
func TestGivenUpTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		task    task.Task
		pricing catalog.Pricing
		charged string
	}{
		{"images", &task.Image{N: 1}, perImage([3]string{"", "", "4"}), "0"},
		{"a recording", &task.Transcription{Duration: time.Minute, Measured: true}, catalog.Pricing{Rates: catalog.Rates{Minute: price("6")}}, "6"},
		{"texts", &task.Embedding{Inputs: make([]task.Input, 1)}, catalog.Pricing{Base: catalog.Prices{Prompt: price("1")}}, "0.006"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := tasked(t, c.task, c.pricing)
			for range freely {
				w.giveUp(t, nil, asks(c.task))
			}
			w.wantCharged("0")
			w.giveUp(t, nil, asks(c.task))
			w.wantCharged(c.charged)
		})
	}
}

// However an account gives up calls: no more of them are free than it may give up, each other one costs its prompt and no more than was held,
// another account is not touched, and after an hour of rest all is as it was.
func TestGivenUpRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, nil, offer("alpha", "v/m", "1", "2", limits(0, 1000)))
		w.store.credit(wallet, 1_000_000_000*rubles("1"))
		other := caller
		other.User = "usr_2"
		var free, tokens int64
		begun, charged := w.clock.Now(), rubles("0")
		for range rapid.IntRange(1, 60).Draw(r, "calls") {
			w.clock.add(time.Duration(rapid.IntRange(0, 200).Draw(r, "seconds")) * time.Second)
			prompt := rapid.SampledFrom([]int64{10, 10, 10, 10_000, 90_000, 300_000}).Draw(r, "prompt")
			w.up.idle = rapid.IntRange(0, 4).Draw(r, "not taken") == 0
			c := w.giveUp(t, nil, func(c *relay.Call) {
				c.Request.Needs.PromptTokens, c.Request.Stream = prompt, rapid.Bool().Draw(r, "stream")
			})
			if c.Record.Cost > c.Record.Hold || c.Record.Settled && (w.up.idle || c.Record.Cost != rubles("0.006")) {
				r.Fatalf("charged %s of %s, taken: %v", c.Record.Cost, c.Record.Hold, !w.up.idle)
			}
			if charged += c.Record.Cost; !c.Record.Settled && !w.up.idle {
				free, tokens = free+1, tokens+min(prompt, 200_000)
			}
			if since := w.clock.Now().Sub(begun); free > freely+int64(since*freely/time.Hour)+1 || tokens > 200_000+int64(since/time.Millisecond)*200/3600+200_000 {
				r.Fatalf("%d calls of %d tokens were free in %v", free, tokens, since)
			}
		}
		w.up.idle = false
		if c := w.giveUp(t, nil, func(c *relay.Call) { c.Caller = &other }); c.Record.Settled {
			r.Fatal("another account pays for what this one gave up")
		}
		w.clock.add(3 * time.Hour)
		if c := w.giveUp(t, nil); c.Record.Settled {
			r.Fatal("what was given up is remembered for ever")
		}
		if got := w.charged(); got != charged {
			r.Fatalf("charged %s, the calls cost %s", got, charged)
		}
	})
}
