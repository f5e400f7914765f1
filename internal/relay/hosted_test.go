package relay_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/relay"
	"weir/internal/usage"
)

// What the provider's tools have done is charged, as its report says or, where the answer is cut off before that, as it went by; tools that the request
// does not pay for are the provider's own affair.
func TestHostedCallsAreCharged(t *testing.T) {
	t.Parallel()
	of := usage.Of
	called := step{ev: &completion.Event{Text: []byte("b"), Called: &usage.Usage{WebFetches: of(2), MCPCalls: of(1)}}}
	cited := step{ev: &completion.Event{Annotations: []byte(`[{"type":"url_citation","url_citation":{"url":"https://x.test"}}]`)}}
	for _, c := range []struct {
		name   string
		paid   catalog.Paid
		script script
		want   string
	}{
		{"reported", catalog.PaidWebFetch | catalog.PaidCodeExecution, script{text("a"), finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), WebFetches: of(3), Containers: of(1)}), done()}, "130"},
		{"cut off", catalog.PaidWebFetch, script{text("a"), called, fails(fault.ProviderUnavailable, fault.Stop)}, "20"},
		{"reported below what went by", catalog.PaidWebFetch, script{text("a"), called, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), WebFetches: of(1)}), done()}, "10"},
		{"not reported", catalog.PaidWebFetch, script{text("a"), called, finish(completion.Stop), used(10, 5), done()}, "20"},
		{"reported below zero", catalog.PaidWebFetch, script{text("a"), called, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), WebFetches: of(-7)}), done()}, "20"},
		{"pages are cited", catalog.PaidWebSearch, script{text("a"), cited, finish(completion.Stop), used(10, 5), done()}, "1"},
		{"pages are cited, searches reported", catalog.PaidWebSearch, script{cited, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), WebSearches: of(3)}), done()}, "3"},
		{"pages are cited unasked", 0, script{text("a"), cited, finish(completion.Stop), used(10, 5), done()}, "0"},
		{"not asked for", 0, script{text("a"), called, finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), Containers: of(7)}), done()}, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "0", "0", prices(func(p *catalog.Prices) {
				p.WebSearch, p.WebFetch, p.CodeExecution, p.MCP = price("1"), price("10"), price("100"), price("1000")
			})))
			w.plays("alpha/v/m", c.script)
			call := w.call(streamed, func(x *relay.Call) { x.Request.Needs.Paid = c.paid })
			_ = w.relay.Complete(t.Context(), call, &sink{})
			if rec := w.settled(call); rec == nil || rec.Cost != rubles(c.want) {
				t.Errorf("%+v, want %s", rec, c.want)
			}
		})
	}
}

// A report of more calls of a tool never costs less than one of fewer: up to what is believed all are charged, and beyond that as many as are believed.
func TestHostedCallsAboveTheHold(t *testing.T) {
	t.Parallel()
	for tool := range catalog.HostedTools {
		for _, c := range []struct{ allowed, reported, want int64 }{
			{0, 1, 1}, {0, 3, 3}, {0, 4, 4}, {0, 31, 31}, {0, 32, 32}, {0, 33, 32}, {0, 50, 32}, {0, math.MaxInt64, 32},
			{5, 5, 5}, {5, 6, 6}, {5, 33, 32}, {40, 33, 33}, {40, 40, 40}, {40, 41, 40}, {40, math.MaxInt64, 40},
		} {
			w := newWorld(t, nil, offer("alpha", "v/m", "0", "0", prices(func(p *catalog.Prices) {
				p.WebSearch, p.WebFetch, p.FileSearch, p.CodeExecution, p.MCP = price("1"), price("1"), price("1"), price("1"), price("1")
			})))
			var calls usage.Calls
			calls[tool] = c.reported
			u := usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5)}
			calls.Set(&u)
			w.plays("alpha/v/m", script{text("a"), finish(completion.Stop), usedExactly(u), done()})
			call := w.call(streamed, func(x *relay.Call) {
				x.Request.Needs.Paid, x.Request.Needs.Uses[tool] = 1<<tool, c.allowed
			})
			_ = w.relay.Complete(t.Context(), call, &sink{})
			capped := c.reported > c.want
			if rec := w.settled(call); rec == nil || rec.Cost != money.Nano(c.want)*rubles("1") || rec.Usage.Source&usage.Capped != 0 != capped {
				t.Errorf("tool %d, %d allowed, %d reported: %+v, want %d", tool, c.allowed, c.reported, rec, c.want)
			}
		}
	}
}

// Whatever the prices are: a call whose tools do what they are held for, and whose provider reports as many tokens of pages as are believed, costs
// no more than what was held before it began.
func TestPagesAreHeldFor(t *testing.T) {
	t.Parallel()
	const prompt, answer, page, hostedCalls = 10, 100, 16_384, 3
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
	calls := 0
	rapid.Check(t, func(r *rapid.T) {
		some := func(name string) string {
			return rapid.SampledFrom([]string{"0", "0.001", "0.3", "7", "90"}).Draw(r, name)
		}
		window := rapid.SampledFrom([]int64{0, 2000, 40_000, 1_000_000}).Draw(r, "context")
		o := offer("alpha", "v/m", some("prompt"), some("completion"), limits(window, 1000), prices(func(p *catalog.Prices) {
			p.WebSearch, p.WebFetch, p.FileSearch, p.CodeExecution, p.MCP = price(some("search")), price(some("fetch")), price(some("file search")), price(some("code")), price(some("mcp"))
			if rapid.Bool().Draw(r, "writes cost more") {
				p.CacheRead, p.CacheWrite = price(some("read")), price(some("write"))
			}
		}))
		if rapid.Bool().Draw(r, "threshold") {
			threshold(rapid.Int64Range(1, 60_000).Draw(r, "above"), some("prompt above"), some("completion above"))(&o)
		}
		w.snap = snapshot(t, o)
		w.store.credit(wallet, 1_000_000_000*money.Ruble)
		var held money.Nano
		calls++
		call := w.call(func(c *relay.Call) {
			c.Generation = fmt.Sprintf("gen-pages-%d", calls)
			c.Request.MaxTokens = answer
			c.Request.Needs.Paid = catalog.Paid(rapid.IntRange(1, 1<<catalog.HostedTools-1).Draw(r, "tools"))
			for i := range c.Request.Needs.Uses {
				c.Request.Needs.Uses[i] = rapid.SampledFrom([]int64{0, 0, 1, 2, 40}).Draw(r, "max uses")
			}
		})
		u := usage.Usage{Completion: usage.Of(answer)}
		var uses usage.Calls
		found := int64(0)
		for i := range uses {
			if call.Request.Needs.Paid&(1<<i) != 0 {
				most := call.Request.Needs.Uses[i]
				if most == 0 {
					most = hostedCalls
				}
				uses[i] = rapid.Int64Range(0, most).Draw(r, "uses")
				found += uses[i] * page
			}
		}
		if uses.Set(&u); window > 0 {
			found = min(found, window-prompt) // what several rounds read again beyond it is not held for
		}
		u.Prompt = usage.Of(prompt + rapid.Int64Range(0, found).Draw(r, "pages"))
		u.CacheWrite = usage.Of(rapid.Int64Range(0, u.Prompt.N).Draw(r, "written"))
		w.plays("alpha/v/m", script{does(func(context.Context) { _, held = w.book.Open() }), text("a"), finish(completion.Stop), usedExactly(u), done()})
		if err := w.relay.Complete(context.Background(), call, &sink{}); err != nil {
			r.Fatal(err)
		}
		if cost := call.Record.Cost; cost > held || call.Record.Hold != held {
			r.Fatalf("%s is charged, %s was held, %s in the end: %+v", cost, held, call.Record.Hold, call.Record.Usage)
		}
	})
}
