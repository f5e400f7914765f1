package relay_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/health"
	"weir/internal/relay"
)

// A request that is too long for one endpoint of a model is tried at one with a longer context, and at no other.
func TestTooLongForOneEndpoint(t *testing.T) {
	t.Parallel()
	holds := func(tokens int64) func(*catalog.Offer) {
		return func(o *catalog.Offer) { o.ContextLength = tokens }
	}
	offers := []catalog.Offer{
		offer("alpha", "v/m", "1", "2", holds(32_000)), offer("beta", "v/m", "2", "3", holds(32_000)), offer("gamma", "v/m", "3", "4", holds(128_000)),
	}
	for name, c := range map[string]struct {
		said  fault.Overflow
		asked []string
	}{
		"without numbers":     {fault.Overflow{}, []string{"alpha/v/m", "gamma/v/m"}},
		"that it would hold":  {fault.Overflow{Prompt: 100_000, Limit: 32_000}, []string{"alpha/v/m", "gamma/v/m"}},
		"too long everywhere": {fault.Overflow{Prompt: 120_000, Output: 10_000, Limit: 32_000}, []string{"alpha/v/m"}},
		"a lower limit":       {fault.Overflow{Prompt: 20_000, Limit: 16_000}, []string{"alpha/v/m", "beta/v/m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offers...)
			w.plays("alpha/v/m", script{fails(fault.ContextLength, fault.NextModel, status(400), func(e *fault.Error) { e.Overflow = c.said })})
			w.plays("beta/v/m", whole("b", 10, 5))
			w.plays("gamma/v/m", whole("c", 10, 5))
			err := w.relay.Complete(t.Context(), w.call(), &sink{})
			w.wantAttempts(c.asked...)
			if len(c.asked) > 1 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if f := wantKind(t, err, fault.ContextLength); f.Overflow != c.said {
				t.Errorf("%+v", f.Overflow)
			}
		})
	}
}

// An error for a prompt that is too long has the numbers of tokens, also where the provider reports none.
func TestTooLongByHowMuch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		context    int64
		said, want fault.Overflow
	}{
		"nothing":               {32_000, fault.Overflow{}, fault.Overflow{Prompt: 32_001, Limit: 32_000}},
		"the limit":             {32_000, fault.Overflow{Limit: 16_000}, fault.Overflow{Prompt: 16_001, Limit: 16_000}},
		"all":                   {32_000, fault.Overflow{Prompt: 20_000, Output: 20_000, Limit: 30_000}, fault.Overflow{Prompt: 20_000, Output: 20_000, Limit: 30_000}},
		"nothing, and no limit": {0, fault.Overflow{}, fault.Overflow{Prompt: 10, Limit: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2", func(o *catalog.Offer) { o.ContextLength = c.context }))
			w.plays("alpha/v/m", script{fails(fault.ContextLength, fault.NextModel, status(400), func(e *fault.Error) { e.Overflow = c.said })})
			err := wantKind(t, w.relay.Complete(t.Context(), w.call(func(c *relay.Call) { c.Request.Needs.PromptTokens = 10 }), &sink{}), fault.ContextLength)
			if err.Overflow != c.want {
				t.Errorf("%+v, want %+v", err.Overflow, c.want)
			}
		})
	}
}

// A client that leaves after a long silence is counted against the endpoint, which still gets calls.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	for waited, failed := range map[time.Duration]int64{5 * time.Second: 0, time.Minute: 1} {
		w := newWorld(t, func(d *relay.Deps, _ *relay.Config) { d.Gate = health.New(health.Default(d.Now)); d.Health = nil }, market()...)
		ctx, cancel := context.WithCancel(t.Context())
		w.plays("alpha/v/m", script{does(func(ctx context.Context) {
			w.clock.add(waited)
			cancel()
			<-ctx.Done()
		}), text("a"), done()})
		wantKind(t, w.relay.Complete(ctx, w.call(), &sink{}), fault.Canceled)
		if f := w.relay.Gate.Window("alpha/v/m", health.FiveMinutes); f.Failed != failed || w.relay.Gate.CountEjected() != 0 {
			t.Errorf("after %v: %+v", waited, f)
		}
	}
}

// The messages style has no word for an answer that its provider interrupts: it is an error there, with what came before.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, style := range []completion.Style{completion.Chat, completion.Messages} {
		for _, stream := range []bool{false, true} {
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
			w.plays("alpha/v/m", script{text("half"), finish(completion.Failed), done()})
			s := &sink{}
			err := w.relay.Complete(t.Context(), w.call(func(c *relay.Call) { c.Request.Style, c.Request.Stream = style, stream }), s)
			if style == completion.Chat {
				if err != nil {
					t.Error(err)
				}
				continue
			}
			if f := wantKind(t, err, fault.ProviderUnavailable); f.Upstream == nil || f.Upstream.Code != "native error" {
				t.Errorf("%+v", f)
			}
		}
	}
}

// Of a whole answer that its provider interrupts nothing was delivered: the next endpoint is asked, and only its answer is charged. The last one's
// part is delivered, and ends with an error.
func TestInterruptedWholeAnswers(t *testing.T) {
	t.Parallel()
	half := script{text("half"), finish(completion.Failed), used(10, 5), done()}
	for name, c := range map[string]struct {
		beta, gamma script
		stream      bool
		log         []string
		attempts    []string
		charged     string
	}{
		"the next one serves": {beta: whole("b", 10, 5), log: []string{"start alpha/v/m", "text half", "start beta/v/m", "text b", "finish stop", "usage", "done", "end"},
			attempts: []string{"alpha/v/m", "beta/v/m"}, charged: "0.04"},
		"each is interrupted": {beta: half, gamma: half, log: []string{"start alpha/v/m", "text half", "start beta/v/m", "text half", "start gamma/v/m", "text half", "finish error", "usage", "done", "end"},
			attempts: []string{"alpha/v/m", "beta/v/m", "gamma/v/m"}, charged: "0.06"},
		"a stream has begun": {beta: whole("b", 10, 5), stream: true, log: []string{"start alpha/v/m", "text half", "finish error", "usage", "done", "end"}, attempts: []string{"alpha/v/m"}, charged: "0.02"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, market()...)
			w.plays("alpha/v/m", half)
			w.plays("beta/v/m", c.beta)
			w.plays("gamma/v/m", c.gamma)
			s := &sink{}
			if err := w.relay.Complete(t.Context(), w.call(func(r *relay.Call) { r.Request.Stream = c.stream }), s); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.log, c.log) {
				t.Errorf("the client got %q, want %q", s.log, c.log)
			}
			w.wantAttempts(c.attempts...)
			w.wantCharged(c.charged)
		})
	}
}
