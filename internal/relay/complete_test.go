package relay_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/usage"
)

// market is three endpoints of v/m, dearer from one to the next, and one of v/n.
func market() []catalog.Offer {
	return []catalog.Offer{offer("alpha", "v/m", "1", "2"), offer("beta", "v/m", "2", "4"), offer("gamma", "v/m", "3", "6"), offer("delta", "v/n", "1", "1")}
}

// A served call is in the ledger before the client sees its end, and its record explains it.
func TestServed(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		name := map[bool]string{false: "whole", true: "streamed"}[stream]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
			tick := func(d time.Duration) step { return does(func(context.Context) { w.clock.add(d) }) }
			w.plays("alpha/v/m", script{
				tick(time.Second), head(completion.Head{ID: "up-1", Model: "m-2026", Tier: "default"}),
				tick(time.Second), text("hello "), text("world"), finish(completion.Stop),
				tick(time.Second), used(10, 5), done(),
			})
			c := w.call(func(c *relay.Call) {
				c.Request.Stream = stream
				c.Request.SessionID, c.Request.User, c.Request.Metadata = "session", "their user", []byte(`{"a":"b"}`)
			})
			var atEnd *record.Call
			s := &sink{}
			s.at = map[string]func(){"end": func() {
				atEnd = w.settled(c)
				w.wantCharged("0.02")
			}}
			if err := w.relay.Complete(t.Context(), c, s); err != nil {
				t.Fatal(err)
			}
			s.want(t, "start alpha/v/m", "text hello ", "text world", "finish stop", "usage", "done", "end")
			if got := s.served; got.Model != "v/m" || got.Head.ID != "up-1" || got.Head.Model != "m-2026" {
				t.Errorf("served %+v", got)
			}
			u := usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5), Tier: "default"}
			if diff := cmp.Diff(relay.Receipt{Usage: u, Cost: rubles("0.02"), PromptCost: rubles("0.01")}, s.receipt); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
			want := &record.Call{
				Generation: c.Generation, Request: "req_1", User: "usr_1", Wallet: wallet, Key: "key_1", API: "completions", At: c.At,
				ModelAsked: "v/m", Model: "v/m", Provider: "alpha", ProviderName: "ALPHA", Endpoint: "alpha/v/m", UpstreamModel: "m", UpstreamID: "up-1",
				Streamed: stream, Status: 200, Finish: "stop", NativeFinish: "native stop",
				Usage: u, Cost: rubles("0.02"), Settled: true, PriceList: "list-1", Rate: "rate-1", SourcePrice: "0.1/0.2", Hold: rubles("2.01"),
				Lines: []usage.Line{{Kind: usage.KindPrompt, Quantity: 10, Price: int64(money.Ruble)},
					{Kind: usage.KindCompletion, Quantity: 5, Price: 2 * int64(money.Ruble)}},
				FirstContent: 2 * time.Second, Duration: 3 * time.Second, Generating: time.Second,
				Candidates: []record.Candidate{{Endpoint: "alpha/v/m", Order: 1, Reason: "single", Slug: "v/m", Prompt: money.Ruble, Completion: 2 * money.Ruble}},
				Attempts:   []record.Attempt{{Endpoint: "alpha/v/m", Provider: "alpha", Status: 200, FirstContent: 2 * time.Second, Ended: 3 * time.Second}},
				Catalog:    w.snap.Version,
				UserAgent:  "agent", Referer: "https://app.test", Title: "App", Session: "session", ClientUser: "their user", Metadata: `{"a":"b"}`,
			}
			if diff := cmp.Diff(want, c.Record); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			want.At = want.At.UTC()
			if diff := cmp.Diff(want, atEnd); diff != "" {
				t.Errorf("in the ledger when the end was sent (-want +got):\n%s", diff)
			}
			w.wantAttempts("alpha/v/m")
			if w.up.seen[0].request != c.Request {
				t.Error("the upstream got another request")
			}
		})
	}
}

// Each case says what the endpoints do, and what the client, the upstreams and the wallet see of it.
func TestAttempts(t *testing.T) {
	t.Parallel()
	const (
		stop, endpoint, model = fault.Stop, fault.NextEndpoint, fault.NextModel
		unavailable           = fault.ProviderUnavailable
	)
	type served struct {
		log      []string
		attempts []string
		charged  string
		kind     fault.Kind // of the error; Internal: none
	}
	for _, c := range []struct {
		name    string
		models  []string // nil: v/m
		scripts map[string][]script
		whole   *served // nil: as streamed
		stream  served
	}{
		{
			name:    "failover to the next endpoint",
			scripts: map[string][]script{"alpha/v/m": {{fails(unavailable, endpoint)}}, "beta/v/m": {whole("b", 10, 5)}},
			stream: served{log: []string{"start beta/v/m", "text b", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "beta/v/m"}, charged: "0.04"},
		},
		{
			name: "what comes before content is no answer",
			scripts: map[string][]script{
				"alpha/v/m": {{head(completion.Head{ID: "up-a"}), {ev: &completion.Event{}}, used(10, 900), fails(fault.Timeout, endpoint)}},
				"beta/v/m":  {{text("b"), used(10, 5), done()}},
			},
			stream: served{log: []string{"start beta/v/m", "text b", "usage", "done", "end"}, attempts: []string{"alpha/v/m", "beta/v/m"}, charged: "0.04"},
		},
		{
			name:    "an empty answer is a failure",
			scripts: map[string][]script{"alpha/v/m": {{head(completion.Head{}), used(10, 0), done()}}, "beta/v/m": {whole("b", 10, 5)}},
			stream: served{log: []string{"start beta/v/m", "text b", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "beta/v/m"}, charged: "0.04"},
		},
		{
			name:    "so is one that is nothing but an error",
			scripts: map[string][]script{"alpha/v/m": {{finish(completion.Failed), done()}}, "beta/v/m": {{finish(completion.Failed), done()}}, "gamma/v/m": {{done()}}},
			stream:  served{attempts: []string{"alpha/v/m", "beta/v/m", "gamma/v/m"}, charged: "0", kind: unavailable},
		},
		{
			name:   "an ending without text is an answer, and its prompt is charged",
			models: []string{"v/m", "v/n"}, scripts: map[string][]script{"alpha/v/m": {{finish(completion.ContentFilter), used(10, 0), done()}}},
			stream: served{log: []string{"start alpha/v/m", "finish content_filter", "usage", "done", "end"}, attempts: []string{"alpha/v/m"}, charged: "0.01"},
		},
		{
			name: "fallback to the next model when all endpoints failed", models: []string{"v/m", "v/n"},
			scripts: map[string][]script{
				"alpha/v/m": {{fails(unavailable, endpoint)}}, "beta/v/m": {{fails(fault.RateLimited, endpoint)}},
				"gamma/v/m": {{fails(fault.Timeout, endpoint)}}, "delta/v/n": {whole("d", 10, 5)},
			},
			stream: served{log: []string{"start delta/v/n", "text d", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "beta/v/m", "gamma/v/m", "delta/v/n"}, charged: "0.015"},
		},
		{
			name: "a model that refuses is left at once", models: []string{"v/m", "v/n"},
			scripts: map[string][]script{"alpha/v/m": {{fails(fault.ContextLength, model)}}, "delta/v/n": {whole("d", 10, 5)}},
			stream: served{log: []string{"start delta/v/n", "text d", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "delta/v/n"}, charged: "0.015"},
		},
		{
			name:    "without another model its refusal is the answer",
			scripts: map[string][]script{"alpha/v/m": {{fails(fault.ContentPolicy, model)}}},
			stream:  served{attempts: []string{"alpha/v/m"}, charged: "0", kind: fault.ContentPolicy},
		},
		{
			name: "a failure that stops", models: []string{"v/m", "v/n"},
			scripts: map[string][]script{"alpha/v/m": {{fails(fault.Invalid, stop)}}},
			stream:  served{attempts: []string{"alpha/v/m"}, charged: "0", kind: fault.Invalid},
		},
		{
			name:    "a stale connection is tried once more",
			scripts: map[string][]script{"alpha/v/m": {{fails(unavailable, endpoint, reused)}, whole("a", 10, 5)}},
			stream: served{log: []string{"start alpha/v/m", "text a", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "alpha/v/m"}, charged: "0.02"},
		},
		{
			name:    "but not twice",
			scripts: map[string][]script{"alpha/v/m": {{fails(unavailable, endpoint, reused)}}, "beta/v/m": {whole("b", 10, 5)}},
			stream: served{log: []string{"start beta/v/m", "text b", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "alpha/v/m", "beta/v/m"}, charged: "0.04"},
		},
		{
			name: "broken after content, nothing reported", models: []string{"v/m", "v/n"},
			scripts: map[string][]script{
				"alpha/v/m": {{head(completion.Head{ID: "up-a"}), text("one two "), text("three"), fails(unavailable, endpoint)}},
				"beta/v/m":  {whole("b", 10, 5)},
			},
			// six words of the prompt and three of the answer, by our own count
			stream: served{log: []string{"start alpha/v/m", "text one two ", "text three"}, attempts: []string{"alpha/v/m"}, charged: "0.012", kind: unavailable},
			whole: &served{log: []string{"start alpha/v/m", "text one two ", "text three", "start beta/v/m", "text b", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "beta/v/m"}, charged: "0.04"},
		},
		{
			name: "broken after content and usage",
			scripts: map[string][]script{
				"alpha/v/m": {{text("one"), used(10, 1), text("two"), used(10, 2), fails(fault.Timeout, endpoint, reused)}},
				"beta/v/m":  {whole("b", 10, 5)},
			},
			stream: served{log: []string{"start alpha/v/m", "text one", "usage", "text two", "usage"}, attempts: []string{"alpha/v/m"}, charged: "0.014", kind: fault.Timeout},
			whole: &served{log: []string{"start alpha/v/m", "text one", "usage", "text two", "usage", "start beta/v/m", "text b", "finish stop", "usage", "done", "end"},
				attempts: []string{"alpha/v/m", "beta/v/m"}, charged: "0.04"},
		},
		{
			name:    "every whole answer breaks",
			scripts: map[string][]script{"alpha/v/m": {{fails(unavailable, endpoint)}}, "beta/v/m": {{fails(unavailable, endpoint)}}, "gamma/v/m": {{text("c"), fails(fault.Timeout, endpoint)}}},
			stream:  served{log: []string{"start gamma/v/m", "text c"}, attempts: []string{"alpha/v/m", "beta/v/m", "gamma/v/m"}, charged: "0.024", kind: fault.Timeout},
			whole:   &served{log: []string{"start gamma/v/m", "text c"}, attempts: []string{"alpha/v/m", "beta/v/m", "gamma/v/m"}, charged: "0", kind: fault.Timeout},
		},
	} {
		for _, stream := range []bool{false, true} {
			name, want := c.name+", streamed", &c.stream
			if !stream {
				name = c.name + ", whole"
				if c.whole != nil {
					want = c.whole
				}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, nil, market()...)
				for id, scripts := range c.scripts {
					w.plays(id, scripts...)
				}
				call := w.call(func(call *relay.Call) {
					call.Request.Stream = stream
					if c.models != nil {
						call.Request.Models = c.models
					}
				})
				s := &sink{}
				err := w.relay.Complete(t.Context(), call, s)
				if want.kind == fault.Internal && err != nil {
					t.Fatal(err)
				}
				if want.kind != fault.Internal {
					wantKind(t, err, want.kind)
				}
				s.want(t, want.log...)
				w.wantAttempts(want.attempts...)
				w.wantCharged(want.charged)
				rec := w.settled(call)
				if rec == nil {
					t.Fatal("there is no record")
				}
				if rec.Settled != (want.charged != "0") || rec.Settled != call.Record.Settled || rec.Error != call.Record.Error || (rec.Error == "") != (err == nil) {
					t.Errorf("settled %v, error %q", rec.Settled, rec.Error)
				}
				var recorded []string
				for i, a := range rec.Attempts {
					recorded = append(recorded, a.Endpoint)
					if last := i == len(rec.Attempts)-1; (a.Reason == "") != (last && err == nil) {
						t.Errorf("attempt %d has reason %q", i, a.Reason)
					}
				}
				if !slices.Equal(recorded, want.attempts) {
					t.Errorf("recorded attempts %q", recorded)
				}
				if got := w.store.kept(); len(got) != 1 {
					t.Errorf("records of %q", got)
				}
			})
		}
	}
}

// When models are sorted together, a model that refused stays refused although another came between.
func TestRefusedModelsAreRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "1"), offer("beta", "v/n", "2", "2"), offer("gamma", "v/m", "3", "3"), offer("delta", "v/o", "4", "4"))
	w.plays("alpha/v/m", script{fails(fault.ContextLength, fault.NextModel)})
	w.plays("beta/v/n", script{fails(fault.ContextLength, fault.NextModel)})
	w.plays("delta/v/o", whole("d", 10, 5))
	c := w.call(models("v/m", "v/n", "v/o"))
	c.Request.Preferences.Sort, c.Request.Preferences.SortAcrossModels = "price", true
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantAttempts("alpha/v/m", "beta/v/n", "delta/v/o")
	if c.Record.Model != "v/o" {
		t.Errorf("model %q served", c.Record.Model)
	}
}

// What an attempt that failed has said of itself is not said of the one that served.
func TestHeadOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()...)
	w.plays("alpha/v/m", script{head(completion.Head{ID: "up-a", Tier: "flex"}), used(10, 7), fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("beta/v/m", script{text("a b"), done()})
	s := &sink{}
	c := w.call()
	if err := w.relay.Complete(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	if s.served.Head != (completion.Head{}) || c.Record.UpstreamID != "" || c.Record.Usage.Tier != "" || c.Record.Usage.Source != usage.Estimated {
		t.Errorf("head %+v, record %+v", s.served.Head, c.Record)
	}
}

// One error covers all attempts.
func TestErrorOfAllAttempts(t *testing.T) {
	t.Parallel()
	limited := func(after time.Duration) script {
		return script{fails(fault.RateLimited, fault.NextEndpoint, status(429), retryAfter(after))}
	}
	broken := script{fails(fault.ProviderUnavailable, fault.NextEndpoint, status(500))}
	ours := func(e *fault.Error) { e.Upstream = nil }
	previous := func(errs ...any) map[string]any { return map[string]any{"previous_errors": errs} }
	one := func(code string, status int) any {
		return map[string]any{"code": code, "model": "v/m", "provider": "Fake", "status": status}
	}
	for _, c := range []struct {
		name               string
		alpha, beta, gamma script
		kind               fault.Kind
		after              time.Duration
		details            map[string]any
	}{
		{"all are busy: the soonest hint", limited(30 * time.Second), limited(7 * time.Second), limited(20 * time.Second),
			fault.RateLimited, 7 * time.Second, previous(one("rate_limit_exceeded", 429), one("rate_limit_exceeded", 429))},
		{"the last one speaks", limited(5 * time.Second), limited(7 * time.Second), broken,
			fault.ProviderUnavailable, 0, previous(one("rate_limit_exceeded", 429), one("rate_limit_exceeded", 429))},
		{"one without a hint", broken, limited(9 * time.Second), limited(12 * time.Second),
			fault.RateLimited, 9 * time.Second, previous(one("provider_unavailable", 500), one("rate_limit_exceeded", 429))},
		{"its own details stay", broken, broken, script{fails(fault.ProviderUnavailable, fault.NextEndpoint, func(e *fault.Error) { e.Details = map[string]any{"reason": "upstream_too_large"} })},
			fault.ProviderUnavailable, 0, map[string]any{"reason": "upstream_too_large", "previous_errors": []any{one("provider_unavailable", 500), one("provider_unavailable", 500)}}},
		{"failures of our own", broken, script{fails(fault.Unprocessable, fault.NextEndpoint, ours)}, script{fails(fault.Unprocessable, fault.NextEndpoint, ours)},
			fault.ProviderUnavailable, 0, previous(map[string]any{"code": "unprocessable", "model": "v/m"}, map[string]any{"code": "unprocessable", "model": "v/m"})},
		{"nothing but failures of our own", script{fails(fault.Invalid, fault.NextEndpoint, ours)}, script{fails(fault.Invalid, fault.NextEndpoint, ours)},
			script{fails(fault.Unprocessable, fault.NextEndpoint, ours)}, fault.Unprocessable, 0, previous(map[string]any{"code": "invalid_request", "model": "v/m"}, map[string]any{"code": "invalid_request", "model": "v/m"})},
		{"one that stops tells of those before", broken, script{fails(fault.Invalid, fault.Stop, status(400))}, nil,
			fault.Invalid, 0, previous(one("provider_unavailable", 500))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, market()...)
			w.plays("alpha/v/m", c.alpha)
			w.plays("beta/v/m", c.beta)
			w.plays("gamma/v/m", c.gamma)
			err := wantKind(t, w.relay.Complete(t.Context(), w.call(), &sink{}), c.kind)
			if err.RetryAfter != c.after {
				t.Errorf("retry after %s, want %s", err.RetryAfter, c.after)
			}
			if diff := cmp.Diff(c.details, err.Details); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
			w.wantCharged("0")
		})
	}
}

func TestMaxAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *relay.Deps, c *relay.Config) { c.MaxAttempts = 3 }, market()...)
	w.plays("alpha/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint, reused)})
	w.plays("beta/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint, reused)})
	w.plays("gamma/v/m", whole("c", 10, 5))
	wantKind(t, w.relay.Complete(t.Context(), w.call(), &sink{}), fault.ProviderUnavailable)
	w.wantAttempts("alpha/v/m", "alpha/v/m", "beta/v/m")
	w.wantCharged("0")
}

// No attempt begins after the budget of time, however many are left.
func TestAttemptBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *relay.Deps, c *relay.Config) { c.AttemptBudget = time.Minute }, market()...)
	late := func(d time.Duration) script {
		return script{does(func(context.Context) { w.clock.add(d) }), fails(fault.Timeout, fault.NextEndpoint)}
	}
	w.plays("alpha/v/m", late(40*time.Second))
	w.plays("beta/v/m", late(40*time.Second))
	w.plays("gamma/v/m", whole("c", 10, 5))
	c := w.call()
	wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.Timeout)
	w.wantAttempts("alpha/v/m", "beta/v/m")
	w.wantCharged("0")
	if c.Record.Duration != 80*time.Second || c.Record.Attempts[1].Started != 40*time.Second || c.Record.Attempts[1].Ended != 80*time.Second {
		t.Errorf("record %+v", c.Record)
	}

	t.Run("no time for the first", func(t *testing.T) {
		c := w.call()
		w.clock.add(2 * time.Minute)
		err := wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.Timeout)
		if err.Upstream != nil || len(c.Record.Attempts) != 0 {
			t.Errorf("%v after %d attempts", err, len(c.Record.Attempts))
		}
		w.wantCharged("0")
	})
}

// What routing refuses costs nothing and reaches no provider. A call without any endpoint left gets a record.
func TestRoutingRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()...)
	c := w.call(models("v/unknown"))
	wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.ModelNotFound)
	if w.settled(c) != nil || c.Record == nil || c.Record.Error != "model_not_found" {
		t.Errorf("record %+v", c.Record)
	}
	c = w.call()
	c.Request.Preferences.Only = []string{"nobody"}
	wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.NoEndpoints)
	rec := w.settled(c)
	if rec == nil || rec.Settled || rec.Error != "no_endpoints" || len(rec.Candidates) != 3 || rec.Candidates[0].DroppedBy != "only" {
		t.Errorf("record %+v", rec)
	}
	w.wantAttempts()
	w.wantCharged("0")
}

// A failed call leaves a record of what was tried and why.
func TestRecordOfFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()...)
	pause := does(func(context.Context) { w.clock.add(time.Second) })
	w.plays("alpha/v/m", script{pause, fails(fault.RateLimited, fault.NextEndpoint, status(429))})
	w.plays("beta/v/m", script{pause, {ev: &completion.Event{}}, pause, fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("gamma/v/m", script{pause, fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	c := w.call(func(c *relay.Call) { c.Request.Preferences.Ignore = []string{"delta"} })
	wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.ProviderUnavailable)
	rec := w.settled(c)
	want := []record.Attempt{
		{Endpoint: "alpha/v/m", Provider: "alpha", Status: 429, Reason: "rate_limit_exceeded", Ended: time.Second},
		{Endpoint: "beta/v/m", Provider: "beta", Status: 200, Reason: "provider_unavailable", Started: time.Second, Ended: 3 * time.Second},
		{Endpoint: "gamma/v/m", Provider: "gamma", Reason: "provider_unavailable", Started: 3 * time.Second, Ended: 4 * time.Second},
	}
	if diff := cmp.Diff(want, rec.Attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if rec.Settled || rec.Cost != 0 || rec.Model != "" || rec.Duration != 4*time.Second || rec.Error != "provider_unavailable" || rec.Cancelled || len(rec.Candidates) != 3 {
		t.Errorf("record %+v", rec)
	}
	if rec.Hold != rubles("6.03") {
		t.Errorf("held %s", rec.Hold)
	}
}

// seen is an Observer.
type seen []string

func (s *seen) Attempted(endpoint string, took time.Duration, err *fault.Error) {
	word := "served"
	if err != nil {
		word = err.Kind.String()
	}
	*s = append(*s, endpoint+" "+word+" after "+took.String())
}

func TestObserver(t *testing.T) {
	t.Parallel()
	var o seen
	w := newWorld(t, func(d *relay.Deps, _ *relay.Config) { d.Observer = &o }, market()...)
	pause := does(func(context.Context) { w.clock.add(time.Second) })
	w.plays("alpha/v/m", script{pause, fails(fault.ProviderOverloaded, fault.NextEndpoint)})
	w.plays("beta/v/m", append(script{pause, pause}, whole("b", 1, 1)...))
	if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(o, "; "); got != "alpha/v/m provider_overloaded after 1s; beta/v/m served after 2s" {
		t.Error(got)
	}
}

func TestSlugKeepsItsVariant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, market()...)
	w.plays("alpha/v/m", whole("a", 10, 5))
	s := &sink{}
	c := w.call(models("v/m:floor"))
	if err := w.relay.Complete(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	if s.served.Model != "v/m:floor" || c.Record.Model != "v/m:floor" || c.Record.ModelAsked != "v/m:floor" {
		t.Errorf("served %q, recorded %q", s.served.Model, c.Record.Model)
	}
}
