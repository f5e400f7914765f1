package relay_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/relay"
	"weir/internal/usage"
)

// drawScript makes an attempt of any behaviour; its texts name the endpoint.
func drawScript(t *rapid.T, endpoint string, cancel func()) script {
	count := func(name string) usage.Count {
		n := rapid.SampledFrom([]int64{0, 1, 7, 5000, -1, math.MinInt64, math.MaxInt64, 2_000_000_000}).Draw(t, name)
		return usage.Count{N: n, Reported: rapid.Bool().Draw(t, name+" reported")}
	}
	var s script
	for range rapid.IntRange(0, 5).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"head", "nothing", "text", "text", "long text", "finish", "failed", "usage", "cancel", "panic"}).Draw(t, "step") {
		case "head":
			s = append(s, head(completion.Head{ID: endpoint, Tier: rapid.SampledFrom([]string{"", "flex", "x"}).Draw(t, "tier")}))
		case "nothing":
			s = append(s, step{ev: &completion.Event{}})
		case "text":
			s = append(s, text(endpoint))
		case "long text":
			s = append(s, text(endpoint+strings.Repeat(" word", 200)))
		case "finish":
			s = append(s, finish(completion.Stop))
		case "failed":
			s = append(s, finish(completion.Failed))
		case "usage":
			s = append(s, usedExactly(usage.Usage{Prompt: count("prompt"), Completion: count("answer"), CacheRead: count("cached"), Reasoning: count("reasoning"), WebSearches: count("searches")}))
		case "cancel":
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				s = append(s, does(func(context.Context) { cancel() }))
			}
		case "panic":
			if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
				s = append(s, does(func(context.Context) { panic("boom") }))
			}
		}
	}
	if rapid.Bool().Draw(t, "done") {
		return append(s, done())
	}
	e := fails(rapid.SampledFrom([]fault.Kind{fault.RateLimited, fault.ProviderUnavailable, fault.Timeout, fault.Invalid}).Draw(t, "kind"),
		rapid.SampledFrom([]fault.Next{fault.NextEndpoint, fault.NextEndpoint, fault.NextModel, fault.Stop}).Draw(t, "next"))
	e.err.Upstream.Reused = rapid.Bool().Draw(t, "reused")
	return append(s, e)
}

// Whatever endpoints and clients do: a call is charged at most once, for what was delivered, at a price of the endpoint that delivered it;
// nothing stays held; and no client sees the content of two endpoints in one stream, or an end that is none.
func TestLaws(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *relay.Deps, c *relay.Config) { c.SliceTokens, c.MaxAttempts = 50, 5 },
		offer("alpha", "v/m", "1", "2"), offer("beta", "v/m", "50", "100", prices(func(p *catalog.Prices) { p.WebSearch, p.Request = price("1"), price("0.5") })),
		offer("gamma", "v/n", "0", "0"), offer("delta", "v/n", "0.1", "10", threshold(100, "200", "400"), limits(0, 0)))
	endpoints := []string{"alpha/v/m", "beta/v/m", "gamma/v/n", "delta/v/n"}
	calls := 0
	charged := money.Nano(0)
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		calls++
		up := &upstream{scripts: map[string][]script{}}
		for _, ep := range endpoints {
			for range rapid.IntRange(1, 2).Draw(t, "attempts at "+ep) {
				up.scripts[ep] = append(up.scripts[ep], drawScript(t, ep, cancel))
			}
		}
		left := rapid.SampledFrom([]money.Nano{rubles("0.5"), 3 * money.Ruble, 60 * money.Ruble, 100_000_000_000}).Draw(t, "balance")
		w.store.credit(wallet, left)
		r := relay.New(relay.Deps{Upstream: up, Book: w.book, Tokens: words{}, Now: w.clock.Now,
			Rand: func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "rand") }}, relay.Config{MaxAttempts: 5, AttemptBudget: 1, SliceTokens: 50, DefaultOutput: 1000})
		c := w.call(models("v/m", "v/n"))
		c.Generation = fmt.Sprintf("gen-law-%d", calls)
		c.Request.Stream = rapid.Bool().Draw(t, "stream")
		s := &sink{failAt: rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 5}).Draw(t, "sink fails at")}
		var err error
		p := panicOf(func() { err = r.Complete(ctx, c, s) })

		if holds, sum := w.book.Open(); holds != 0 || sum != 0 {
			t.Fatalf("%d holds of %s are open", holds, sum)
		}
		bal, errBalance := w.book.Balance(context.Background(), wallet)
		if errBalance != nil {
			t.Fatal(errBalance)
		}
		charged = bal.Charged
		if n := slices.Index(w.store.kept(), c.Generation); n >= 0 && slices.Contains(w.store.kept()[n+1:], c.Generation) {
			t.Fatal("the ledger has two records of it")
		}
		rec := w.settled(c)
		settled := rec != nil && rec.Settled
		if want := map[bool]money.Nano{true: c.Record.Cost}[settled]; charged != want || c.Record.Settled != settled {
			t.Fatalf("charged %s, record %+v", charged, rec)
		}
		checkClient(t, c, s, err, p, settled)
		if n := len(up.attempts()); n > 5 {
			t.Fatalf("%d attempts", n)
		}
		for _, a := range up.seen {
			if !a.ended {
				t.Fatalf("the attempt at %s still runs", a.endpoint)
			}
		}
	})
}

func checkClient(t *rapid.T, c *relay.Call, s *sink, err error, p any, settled bool) {
	starts, ended := 0, false
	from := map[string]bool{}
	for _, entry := range s.log {
		switch {
		case strings.HasPrefix(entry, "start "):
			starts++
			clear(from) // what came before is discarded
		case strings.HasPrefix(entry, "text "):
			from[strings.Fields(entry)[1]] = true
		case entry == "end":
			ended = true
		}
	}
	delivered := starts > 0 && (ended || c.Request.Stream)
	served := ""
	if starts > 0 {
		served = s.served.Endpoint.ID
	}
	switch {
	case len(s.log) > 0 && !strings.HasPrefix(s.log[0], "start "):
		t.Fatalf("it begins with %q", s.log[0])
	case len(from) > 1 || len(from) == 1 && !from[served]:
		t.Fatalf("content of %q, served by %q", slices.Sorted(maps.Keys(from)), served)
	case c.Request.Stream && starts > 1:
		t.Fatal("a second answer in one stream")
	case ended && s.log[len(s.log)-1] != "end":
		t.Fatal("something behind the end")
	case settled && !delivered && c.Record.Cancelled:
		if c.Record.Cost > c.Record.Hold || c.Record.Usage.Prompt.N <= 0 {
			t.Fatalf("a call that was given up costs %s of %s: %+v", c.Record.Cost, c.Record.Hold, c.Record.Usage)
		}
	case settled != delivered:
		t.Fatalf("settled %v, delivered %v: %q", settled, delivered, s.log)
	case p == nil && (err == nil) != (ended && s.failAt != len(s.log)):
		t.Fatalf("error %v behind %q", err, s.log)
	case settled && delivered && c.Record.Endpoint != served:
		t.Fatalf("charged for %s, served by %s", c.Record.Endpoint, served)
	case c.Record.Cost < 0:
		t.Fatalf("cost %s", c.Record.Cost)
	}
	if kind := fmt.Sprintf("%T", err); err != nil && kind != "*fault.Error" {
		t.Fatalf("error is a %s", kind)
	}
}
