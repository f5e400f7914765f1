package relay_test

import (
	"errors"
	"testing"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/routing"
)

// What is explained is what is then done: the same order, and the hold that the first attempt takes.
func TestExplain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*relay.Call){
		"whole":    func(*relay.Call) {},
		"streamed": streamed,
		"answers":  func(c *relay.Call) { c.Request.N, c.Request.MaxTokens = 2, 30 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"), offer("beta", "v/m", "3", "4", threshold(9, "5", "6")))
			w.plays("alpha/v/m", whole("hi", 10, 1))
			e, err := w.relay.Explain(t.Context(), w.call(change))
			if err != nil || e.Err != nil || len(e.Candidates) != 2 || len(e.Plan.Attempts) != 2 || e.Catalog != w.snap {
				t.Fatalf("%+v, %v", e, err)
			}
			if len(w.up.attempts()) != 0 {
				t.Fatalf("somebody was called: %v", w.up.attempts())
			}
			if holds, held := w.book.Open(); holds != 0 || held != 0 {
				t.Fatalf("%d holds of %s", holds, held)
			}
			if p := e.Candidates[1].Prices; p.Prompt != price("5") || p.Completion != price("6") {
				t.Errorf("prices above the threshold are %v", p)
			}
			c := w.call(change)
			if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
				t.Fatal(err)
			}
			if c.Record.Endpoint != e.Plan.Attempts[0].Endpoint.ID || c.Record.Hold != e.Candidates[0].Hold {
				t.Errorf("explained %s holding %s, done %s holding %s", e.Plan.Attempts[0].Endpoint.ID, e.Candidates[0].Hold, c.Record.Endpoint, c.Record.Hold)
			}
		})
	}
}

func TestExplainWhatCannotBeDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *relay.Deps, _ *relay.Config) {
		d.Health = func(id string) routing.Health { return routing.Health{CoolDown: id == "alpha/v/m"} }
	}, offer("alpha", "v/m", "1", "2"), offer("beta", "v/dear", "9000000", "9000000", func(o *catalog.Offer) { o.MaxCompletion, o.ContextLength = 0, 0 }))
	e, err := w.relay.Explain(t.Context(), w.call(func(c *relay.Call) { c.Request.Preferences.Only = []string{"nobody"} }))
	if err != nil || e.Err == nil || e.Err.Kind != fault.NoEndpoints || len(e.Plan.Attempts) != 0 || e.Plan.Candidates[0].DroppedBy != "only" {
		t.Errorf("nothing left: %+v, %v", e, err)
	}
	if !e.Candidates[0].Health.CoolDown {
		t.Error("a dropped candidate has no health")
	}
	var f *fault.Error
	if e, err := w.relay.Explain(t.Context(), w.call(func(c *relay.Call) { c.Request.Models = []string{"v/none"} })); e != nil || !errors.As(err, &f) || f.Kind != fault.ModelNotFound {
		t.Errorf("no such model: %+v, %v", e, err)
	}
	e, err = w.relay.Explain(t.Context(), w.call(func(c *relay.Call) { c.Request.Models, c.Request.MaxTokens = []string{"v/dear"}, 1_000_000_000 }))
	if err != nil || e.Candidates[0].Hold != -1 && e.Candidates[0].Hold < money.Ruble {
		t.Errorf("beyond all amounts: %+v, %v", e, err)
	}
}

// What account and key prefer holds for the calls of all styles, be they explained or carried, and the record says which price each candidate had.
func TestDefaultsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"), offer("beta", "v/m", "3", "4", threshold(9, "5", "6")), offer("gamma", "v/other", "7", "8"))
	w.plays("beta/v/m", script{fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("gamma/v/other", whole("hi", 10, 1))
	defaults := &apikey.Defaults{Preferences: routing.Preferences{Ignore: []string{"alpha"}}}
	change := func(c *relay.Call) {
		caller := *c.Caller
		caller.Defaults = defaults
		c.Caller, c.Request.Models = &caller, []string{"v/m", "v/other"}
	}
	e, err := w.relay.Explain(t.Context(), w.call(change))
	if err != nil || e.Defaults != defaults || len(e.Plan.Attempts) != 2 || e.Candidates[0].Prices.Prompt != price("1") || e.Plan.Candidates[0].DroppedBy != "ignore" {
		t.Fatalf("%+v, %v", e, err)
	}
	c := w.call(change)
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantAttempts("beta/v/m", "gamma/v/other")
	ruble := money.Ruble
	for i, want := range []record.Candidate{
		{Endpoint: "alpha/v/m", Slug: "v/m", Prompt: ruble, Completion: 2 * ruble},
		{Endpoint: "beta/v/m", Slug: "v/m", Prompt: 5 * ruble, Completion: 6 * ruble},
		{Endpoint: "gamma/v/other", Slug: "v/other", Prompt: 7 * ruble, Completion: 8 * ruble},
	} {
		got := w.settled(c).Candidates[i]
		if got.Endpoint != want.Endpoint || got.Slug != want.Slug || got.Prompt != want.Prompt || got.Completion != want.Completion || got.PerRequest != 0 {
			t.Errorf("candidate %d is %+v; want %+v", i, got, want)
		}
	}
	if w.settled(c).Catalog != w.snap.Version || c.Record.Catalog == "" {
		t.Errorf("catalog %q; want %q", c.Record.Catalog, w.snap.Version)
	}
}
