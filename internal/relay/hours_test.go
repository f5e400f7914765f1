package relay_test

import (
	"context"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
)

// A call is charged by the hours in which its attempt began, however long it takes, and is held for the dearest.
func TestHoursOfTheDay(t *testing.T) {
	t.Parallel()
	hours := func(o *catalog.Offer) { // the clock of these tests begins at 06:13 UTC
		o.Pricing.Hours = []catalog.Hours{
			{From: "06:00", To: "07:00", Prices: catalog.Prices{Prompt: price("10"), Completion: price("20")}},
			{From: "08:00", To: "09:00", Prices: catalog.Prices{Prompt: price("100"), Completion: price("200")}},
		}
	}
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2", hours))
	hour := does(func(context.Context) { w.clock.add(time.Hour) })
	w.plays("alpha/v/m", script{text("a"), hour, finish(completion.Stop), used(10, 5), done()})
	c := w.call()
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	if got := w.charged(); got != rubles("0.2") {
		t.Errorf("charged %s at 06:13, want 0.2", got)
	}
	if c.Record.Hold < rubles("1.1") { // six tokens at 100, and more for the answer
		t.Errorf("held %s, which is less than the dearest hour costs", c.Record.Hold)
	}
	w.plays("alpha/v/m", whole("a", 10, 5)) // at 07:13
	if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantCharged("0.22")
	w.clock.add(time.Hour)
	w.plays("alpha/v/m", whole("a", 10, 5)) // at 08:13
	if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantCharged("2.22")
}

// An attempt after one that failed in other hours is charged by its own.
func TestHoursOfTheAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *relay.Deps, c *relay.Config) { c.AttemptBudget = 3 * time.Hour }, offer("alpha", "v/m", "1", "2"), offer("beta", "v/m", "1", "2", func(o *catalog.Offer) {
		o.Pricing.Hours = []catalog.Hours{{From: "07:00", To: "08:00", Prices: catalog.Prices{Prompt: price("10"), Completion: price("20")}}}
	}))
	w.plays("alpha/v/m", script{does(func(context.Context) { w.clock.add(time.Hour) }), fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("beta/v/m", whole("a", 10, 5))
	if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantAttempts("alpha/v/m", "beta/v/m")
	w.wantCharged("0.2")
}
