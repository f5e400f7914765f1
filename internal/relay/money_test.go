package relay_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/relay"
	"weir/internal/usage"
)

func cacheRead(n int64) usage.Usage {
	return usage.Usage{Prompt: usage.Of(n), CacheRead: usage.Of(n), Completion: usage.Of(1)}
}

func limits(context, answer int64) func(*catalog.Offer) {
	return func(o *catalog.Offer) { o.ContextLength, o.MaxCompletion = context, answer }
}

func prices(change func(*catalog.Prices)) func(*catalog.Offer) {
	return func(o *catalog.Offer) { change(&o.Pricing.Base) }
}

// What is held is what the call can cost at most, by what is known of it beforehand. Prices are per 1000 tokens; the prompt has ten.
func TestHold(t *testing.T) {
	t.Parallel()
	request := func(f func(*completion.Request)) func(*relay.Call) { return func(c *relay.Call) { f(c.Request) } }
	for _, c := range []struct {
		name  string
		offer catalog.Offer
		call  func(*relay.Call)
		want  string
	}{
		{"the whole bound", offer("alpha", "v/m", "1", "2"), nil, "2.01"},
		{"what the client allows", offer("alpha", "v/m", "1", "2"), request(func(r *completion.Request) { r.MaxTokens = 100 }), "0.21"},
		{"n answers", offer("alpha", "v/m", "1", "2"), request(func(r *completion.Request) { r.MaxTokens, r.N = 100, 3 }), "0.61"},
		{"what is left of the context", offer("alpha", "v/m", "1", "2", limits(510, 0)), nil, "1.01"},
		{"nothing left of the context", offer("alpha", "v/m", "1", "2", limits(10, 0)), nil, "0.012"},
		{"the client alone", offer("alpha", "v/m", "1", "2", limits(0, 0)), request(func(r *completion.Request) { r.MaxTokens = 50_000 }), "100.01"},
		{"nobody", offer("alpha", "v/m", "1", "2", limits(0, 0)), nil, "32.778"},
		{"a stream's first slice", offer("alpha", "v/m", "1", "2", limits(0, 100_000)), streamed, "4.106"},
		{"a short stream", offer("alpha", "v/m", "1", "2"), streamed, "2.01"},
		{"an endless stream", offer("alpha", "v/m", "1", "2", limits(0, 0)), streamed, "4.106"},
		{"a stream of n", offer("alpha", "v/m", "1", "2", limits(0, 100_000)), request(func(r *completion.Request) { r.Stream, r.N = true, 2 }), "8.202"},
		{"dearer reasoning", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.Reasoning = price("3") })), nil, "3.01"},
		{"cheaper reasoning", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.Reasoning = price("0") })), nil, "2.01"},
		{"cache writes", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.CacheWrite, p.CacheWrite1h = price("2"), price("9") })), nil, "2.02"},
		{"cache writes of an hour", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.CacheWrite1h = price("9") })),
			request(func(r *completion.Request) { r.HasRoles = completion.HasCacheControl }), "2.09"},
		{"audio in and out", offer("alpha", "v/m", "1", "2", func(o *catalog.Offer) { o.Input, o.Output = catalog.Audio, catalog.Audio },
			prices(func(p *catalog.Prices) { p.Audio, p.AudioOutput = price("5"), price("7") })),
			request(func(r *completion.Request) { r.Needs.Input, r.Needs.Output = catalog.Audio, catalog.Audio }), "7.05"},
		{"images in and out", offer("alpha", "v/m", "1", "2", func(o *catalog.Offer) { o.Input, o.Output = catalog.Image, catalog.Image },
			prices(func(p *catalog.Prices) {
				p.Image, p.ImageOutput, p.ImageOutputEach = price("5"), price("7"), price("20")
			})),
			request(func(r *completion.Request) { r.Needs.Input, r.Needs.Output = catalog.Image, catalog.Image }), "27.05"},
		{"an image for each of n answers", offer("alpha", "v/m", "1", "2", func(o *catalog.Offer) { o.Output = catalog.Image },
			prices(func(p *catalog.Prices) { p.ImageOutputEach = price("20") })),
			request(func(r *completion.Request) { r.N, r.MaxTokens = 2, 100 }), "40.41"},
		{"no audio, no images", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) {
			p.Audio, p.AudioOutput, p.Image, p.ImageOutput, p.ImageOutputEach, p.WebSearch = price("5"), price("7"), price("5"), price("7"), price("20"), price("20")
		})), nil, "2.01"},
		{"per request", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.Request = price("0.5") })), nil, "2.51"},
		{"searches and what they find", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.WebSearch = price("0.5") })),
			request(func(r *completion.Request) { r.Needs.Web = true }), "52.662"},
		{"tools that the provider runs", offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) {
			p.WebSearch, p.WebFetch, p.FileSearch, p.CodeExecution, p.MCP = price("1"), price("0"), price("10"), price("100"), price("1000")
		})), request(func(r *completion.Request) {
			r.Needs.Paid = catalog.PaidWebSearch | catalog.PaidWebFetch | catalog.PaidCodeExecution
			r.Needs.Uses = [catalog.HostedTools]int64{5}
		}), "407"}, // the pages fill the context
		{"below a threshold", offer("alpha", "v/m", "1", "2", threshold(10, "3", "4")), nil, "2.01"},
		{"above a threshold", offer("alpha", "v/m", "1", "2", threshold(9, "3", "4")), nil, "4.03"},
		{"free", offer("alpha", "v/m", "0", "0"), nil, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, c.offer)
			var held money.Nano
			w.plays("alpha/v/m", append(script{does(func(context.Context) { _, held = w.book.Open() })}, whole("a", 10, 1)...))
			call := w.call()
			if c.call != nil {
				c.call(call)
			}
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil {
				t.Fatal(err)
			}
			if held != rubles(c.want) || call.Record.Hold != held {
				t.Errorf("held %s, recorded %s, want %s", held, call.Record.Hold, c.want)
			}
			w.charged()
		})
	}
}

// threshold declares other prices above so many prompt tokens.
func threshold(above int64, prompt, answer string) func(*catalog.Offer) {
	return func(o *catalog.Offer) {
		o.Pricing.Thresholds = []catalog.Threshold{{Above: above, Prices: catalog.Prices{Prompt: price(prompt), Completion: price(answer)}}}
	}
}

// However many tokens a client asks for, the answer is that the balance is too low.
func TestImplausibleBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2", limits(0, 0)))
	for _, n := range []int{1, 128, math.MaxInt32} {
		c := w.call(func(c *relay.Call) { c.Request.MaxTokens, c.Request.N = math.MaxInt64, n })
		wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.PaymentRequired)
	}
	w.wantAttempts()
	w.wantCharged("0")
}

// What is charged, and by whose count. Our own count finds six tokens in the prompt and two in the answer "a b".
func TestCharge(t *testing.T) {
	t.Parallel()
	of := usage.Of
	plain := offer("alpha", "v/m", "1", "2")
	tiers := []catalog.Offer{plain, tier("alpha", "", "flex", "0.5", "1"), tier("alpha", "", "priority", "2", "4"),
		tier("alpha", "eu", "", "10", "20"), tier("alpha", "eu", "priority", "100", "200")}
	says := func(u usage.Usage) script {
		return script{text("a b"), finish(completion.Stop), usedExactly(u), done()}
	}
	for _, c := range []struct {
		name   string
		offers []catalog.Offer // nil: plain
		script script
		want   string
		source usage.Source
	}{
		{name: "as reported", script: says(usage.Usage{Prompt: of(10), Completion: of(5)}), want: "0.02"},
		{name: "reported as nothing", script: says(usage.Usage{Prompt: of(0), Completion: of(0)}), want: "0.01", source: usage.Estimated},
		{name: "rounded up once", offers: []catalog.Offer{offer("alpha", "v/m", "0.000000001", "0.000000001")},
			script: says(usage.Usage{Prompt: of(1), Completion: of(1)}), want: "0.000000001"},
		{name: "the last report counts", script: script{text("a"), used(10, 1), text("b"), used(10, 5), done()}, want: "0.02"},
		{name: "nothing reported", script: script{text("a b"), done()}, want: "0.01", source: usage.Estimated},
		{name: "half reported", script: says(usage.Usage{Prompt: of(10)}), want: "0.014", source: usage.Estimated},
		{name: "below zero", script: says(usage.Usage{Prompt: of(-10), Completion: of(-5), CacheRead: of(-3), Reasoning: of(math.MinInt64)}), want: "0.01", source: usage.Estimated},
		{name: "absurd", script: says(usage.Usage{Prompt: of(math.MaxInt64), Completion: of(2_000_000_000)}), want: "2.01", source: usage.Capped},
		{name: "absurd extras that nobody asked for", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) {
			p.WebSearch, p.ImageOutputEach = price("100"), price("100")
		}))}, script: says(usage.Usage{Prompt: of(10), Completion: of(5), WebSearches: of(math.MaxInt64), Images: of(math.MaxInt64)}), want: "0.02", source: usage.Capped},
		{name: "absurd parts", script: says(usage.Usage{Prompt: of(10), CacheRead: of(math.MaxInt64), Completion: of(5), Reasoning: of(math.MaxInt64)}), want: "0.02", source: usage.Capped},
		{name: "cached tokens", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.CacheRead = price("0.1") }))},
			script: says(usage.Usage{Prompt: of(10), CacheRead: of(10), Completion: of(5)}), want: "0.011"},
		{name: "per request", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.Request = price("0.5") }))},
			script: whole("a", 10, 5), want: "0.52"},
		{name: "images, each", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.ImageOutputEach = price("4") }))},
			script: script{step{ev: &completion.Event{Images: []byte("[{}]"), ImageCount: 1}}, step{ev: &completion.Event{Images: []byte("[{},{}]"), ImageCount: 2}},
				finish(completion.Stop), used(10, 5), done()}, want: "12.02"},
		{name: "images of a broken ending", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.ImageOutputEach = price("4") }))},
			script: script{step{ev: &completion.Event{Images: []byte("[{}]"), ImageCount: 1}}, finish(completion.Failed), used(10, 0), done()}, want: "4.01"},
		{name: "images, as reported", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", prices(func(p *catalog.Prices) { p.ImageOutputEach = price("4") }))},
			script: script{step{ev: &completion.Event{Images: []byte("[{},{}]"), ImageCount: 2}}, finish(completion.Stop),
				usedExactly(usage.Usage{Prompt: of(10), Completion: of(5), Images: of(1)}), done()}, want: "4.02", source: usage.TooLow},
		{name: "at a threshold", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", threshold(10, "3", "4"))}, script: whole("a", 10, 5), want: "0.02"},
		{name: "above a threshold", offers: []catalog.Offer{offer("alpha", "v/m", "1", "2", threshold(10, "3", "4"))}, script: whole("a", 11, 5), want: "0.053"},
		{name: "the tier that the usage names", offers: tiers, script: says(usage.Usage{Prompt: of(10), Completion: of(5), Tier: "flex"}), want: "0.01"},
		{name: "the tier that the head names", offers: tiers, script: script{head(completion.Head{Tier: "priority"}), text("a"), used(10, 5), done()}, want: "0.04"},
		{name: "the tier that it was", offers: tiers, script: says(usage.Usage{Prompt: of(10), Completion: of(5), Tier: "default"}), want: "0.02"},
		{name: "an unknown tier", offers: tiers, script: says(usage.Usage{Prompt: of(10), Completion: of(5), Tier: "scale"}), want: "0.02"},
		{name: "an error at the end of nothing", script: script{step{ev: &completion.Event{ReasoningDetails: []byte("[{}]")}}, finish(completion.Failed), used(10, 0), done()}, want: "0"},
		{name: "no ending of nothing", script: script{step{ev: &completion.Event{ReasoningDetails: []byte("[{}]")}}, used(10, 0), done()}, want: "0"},
		{name: "text, but no tokens", script: script{text("a"), used(10, 0), done()}, want: "0.012", source: usage.Estimated},
		{name: "no ending, but tokens", script: script{step{ev: &completion.Event{ReasoningDetails: []byte("[{}]")}}, used(10, 5), done()}, want: "0.02"},
		{name: "an error at the end of something", script: script{text("a"), finish(completion.Failed), used(10, 5), done()}, want: "0.02"},
		{name: "all kinds of text count", script: script{
			step{ev: &completion.Event{Text: []byte("a "), Reasoning: []byte("b "), Refusal: []byte("c "), ToolCalls: []completion.ToolCall{{Arguments: []byte("d ")}, {Arguments: []byte("e")}}}},
			done()}, want: "0.016", source: usage.Estimated},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(c.name+map[bool]string{false: ", whole", true: ", streamed"}[stream], func(t *testing.T) {
				t.Parallel()
				offers := c.offers
				if offers == nil {
					offers = []catalog.Offer{plain}
				}
				w := newWorld(t, nil, offers...)
				w.plays("alpha/v/m", c.script)
				s := &sink{}
				call := w.call(func(call *relay.Call) {
					call.Request.Stream = stream
					call.Request.Preferences.Order, call.Request.Preferences.NoFallbacks = []string{"alpha"}, true
				})
				if err := w.relay.Complete(t.Context(), call, s); err != nil {
					t.Fatal(err)
				}
				w.wantCharged(c.want)
				rec := w.settled(call)
				if !rec.Settled || rec.Cost != rubles(c.want) || s.receipt.Cost != rec.Cost || rec.Usage.Source != c.source {
					t.Errorf("cost %s, receipt %s, source %d", rec.Cost, s.receipt.Cost, rec.Usage.Source)
				}
				if u := s.receipt.Usage; !u.Prompt.Reported || !u.Completion.Reported || min(u.Prompt.N, u.Completion.N) < 0 {
					t.Errorf("usage %+v", u)
				}
			})
		}
	}
}

// tier declares an endpoint of v/m of a region and a service tier.
func tier(provider, region, tier, prompt, answer string) catalog.Offer {
	return offer(provider, "v/m", prompt, answer, func(o *catalog.Offer) { o.Region, o.Tier = region, tier })
}

// A region's own tiers are its own: the reply's tier does not lead to another region's price.
func TestTierOfRegion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, tier("alpha", "", "", "1", "2"), tier("alpha", "", "priority", "2", "4"), tier("alpha", "eu", "", "10", "20"), tier("alpha", "eu", "priority", "20", "40"))
	said := usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(5), Tier: "priority"}
	for endpoint, want := range map[string]string{"alpha/v/m": "0.04", "alpha/v/m/eu": "0.4"} {
		w.plays(endpoint, script{text("a"), usedExactly(said), done()})
		c := w.call()
		c.Request.Preferences.Order = []string{strings.Replace(endpoint, "/v/m", "", 1)}
		if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
			t.Fatal(err)
		}
		if c.Record.Endpoint != endpoint || c.Record.Cost != rubles(want) {
			t.Errorf("%s costs %s, want %s", c.Record.Endpoint, c.Record.Cost, want)
		}
	}
}

// A long answer is counted by its beginning, in proportion.
func TestLongEstimate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "0", "1", limits(0, 1_000_000)))
	var s script
	for range 1000 {
		s = append(s, text(strings.Repeat("ab c ", 200))) // 1000 bytes, 400 words
	}
	w.plays("alpha/v/m", append(s, done()))
	c := w.call(streamed)
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	if n := c.Record.Usage.Completion.N; n < 399_000 || n > 401_000 {
		t.Errorf("counted %d, want 400000", n)
	}
	w.charged()
}

// A call without the text of its prompt is charged by the estimate it was admitted with.
func TestNoPromptText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
	w.plays("alpha/v/m", script{text("a b"), done()})
	if err := w.relay.Complete(t.Context(), w.call(func(c *relay.Call) { c.PromptText = nil }), &sink{}); err != nil {
		t.Fatal(err)
	}
	w.wantCharged("0.014")
}

// The hold grows to what a dearer endpoint may cost, and covers a cheaper one as it is.
func TestHoldGrowsOnFailover(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "1"), offer("beta", "v/m", "5", "5"), offer("gamma", "v/n", "2", "2"))
	var held []money.Nano
	look := does(func(context.Context) {
		_, sum := w.book.Open()
		held = append(held, sum)
	})
	w.plays("alpha/v/m", script{look, fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("beta/v/m", script{look, fails(fault.ProviderUnavailable, fault.NextEndpoint)})
	w.plays("gamma/v/n", append(script{look}, whole("c", 10, 5)...))
	c := w.call(models("v/m", "v/n"))
	if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
		t.Fatal(err)
	}
	if want := []money.Nano{rubles("1.01"), rubles("5.05"), rubles("5.05")}; !slices.Equal(held, want) {
		t.Errorf("held %s, want %s", held, want)
	}
	if c.Record.Hold != rubles("5.05") {
		t.Errorf("recorded %s", c.Record.Hold)
	}
	w.wantCharged("0.03")
}

func TestTooLittle(t *testing.T) {
	t.Parallel()
	offers := []catalog.Offer{offer("alpha", "v/m", "1", "1"), offer("beta", "v/m", "5", "5"), offer("gamma", "v/n", "1", "2")}
	failing := script{fails(fault.RateLimited, fault.NextEndpoint, status(429))}
	start := func(t *testing.T, balance string) *world {
		w := newWorld(t, nil, offers...)
		w.store.credit(wallet, rubles(balance))
		w.plays("alpha/v/m", failing)
		w.plays("beta/v/m", whole("b", 10, 5))
		w.plays("gamma/v/n", whole("c", 10, 5))
		return w
	}
	t.Run("for the first attempt", func(t *testing.T) {
		t.Parallel()
		w := start(t, "1.009999999")
		c := w.call(models("v/m", "v/n"))
		err := wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.PaymentRequired)
		if err.Details["required"] != "1.01" || err.Details["available"] != "1.009999999" || err.Details["previous_errors"] != nil {
			t.Errorf("details %v", err.Details)
		}
		if err.Details["affordable_tokens"] != int64(999) || !strings.Contains(err.Public, "max_tokens of up to 999.") || !strings.Contains(err.Public, "Top up") {
			t.Errorf("%q, details %v", err.Public, err.Details)
		}
		fits := func(c *relay.Call) { c.Request.MaxTokens = 999 }
		if err := w.relay.Complete(t.Context(), w.call(models("v/n"), fits), &sink{}); !fault.Is(err, fault.PaymentRequired) { // twice as dear
			t.Error(err)
		}
		w.plays("alpha/v/m", whole("a", 10, 5))
		if err := w.relay.Complete(t.Context(), w.call(fits), &sink{}); err != nil {
			t.Errorf("with what the refusal said: %v", err)
		}
	})
	t.Run("because of the calls that run", func(t *testing.T) {
		t.Parallel()
		w := start(t, "1.5")
		var err *fault.Error
		w.plays("alpha/v/m", append(script{does(func(context.Context) {
			err = wantKind(t, w.relay.Complete(t.Context(), w.call(), &sink{}), fault.PaymentRequired)
		})}, whole("a", 10, 5)...))
		if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
			t.Fatal(err)
		}
		if err.RetryAfter == 0 || err.Details["reserved"] != "1.01" || err.Details["affordable_tokens"] != int64(480) || strings.Contains(err.Public, "Top up") {
			t.Errorf("%q, again in %v, details %v", err.Public, err.RetryAfter, err.Details)
		}
	})
	t.Run("exactly enough", func(t *testing.T) {
		t.Parallel()
		w := start(t, "1.01")
		w.plays("alpha/v/m", whole("a", 10, 5))
		if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
			t.Fatal(err)
		}
		w.wantCharged("0.015")
	})
	t.Run("for one of the fallbacks", func(t *testing.T) {
		t.Parallel()
		w := start(t, "2.5")
		if err := w.relay.Complete(t.Context(), w.call(models("v/m", "v/n")), &sink{}); err != nil {
			t.Fatal(err)
		}
		w.wantAttempts("alpha/v/m", "gamma/v/n")
		w.wantCharged("0.02")
	})
	t.Run("for all of the fallbacks", func(t *testing.T) {
		t.Parallel()
		w := start(t, "1.5")
		err := wantKind(t, w.relay.Complete(t.Context(), w.call(models("v/m", "v/n")), &sink{}), fault.RateLimited)
		previous, _ := err.Details["previous_errors"].([]any)
		if len(previous) != 2 || previous[0].(map[string]any)["code"] != "payment_required" {
			t.Errorf("details %v", err.Details)
		}
		w.wantAttempts("alpha/v/m")
		w.wantCharged("0")
	})
	t.Run("because the store is away", func(t *testing.T) {
		t.Parallel()
		w := start(t, "1.5")
		w.plays("alpha/v/m", append(script{does(func(context.Context) { w.store.leave() })}, failing...))
		err := wantKind(t, w.relay.Complete(t.Context(), w.call(models("v/m", "v/n")), &sink{}), fault.RateLimited)
		previous, _ := err.Details["previous_errors"].([]any)
		if len(previous) != 1 || previous[0].(map[string]any)["code"] != "storage_unavailable" {
			t.Errorf("details %v", err.Details)
		}
		w.wantAttempts("alpha/v/m")
		w.wantCharged("0")
	})
	t.Run("by the key's limit", func(t *testing.T) {
		t.Parallel()
		w := start(t, "100")
		limited := caller
		limited.Limit = &apikey.Limit{Amount: rubles("1")}
		c := w.call(func(c *relay.Call) { c.Caller = &limited })
		err := wantKind(t, w.relay.Complete(t.Context(), c, &sink{}), fault.PaymentRequired)
		if err.Details["reason"] != "key_limit" {
			t.Errorf("details %v", err.Details)
		}
		w.wantAttempts()
		w.wantCharged("0")
	})
}

// chunks are n texts of 30 bytes, which the relay takes for at most 17 tokens each; our count finds ten spaces in each.
func chunks(n int) (s script) {
	for range n {
		s = append(s, text(strings.Repeat("ab ", 10)))
	}
	return s
}

// A stream of one ruble a token holds slice after slice, and goes on for as long as there is money.
func TestBudgetGuard(t *testing.T) {
	t.Parallel()
	slices100 := func(_ *relay.Deps, c *relay.Config) { c.SliceTokens = 100 }
	dear := func(answer int64) catalog.Offer { return offer("alpha", "v/m", "0", "1000", limits(0, answer)) }

	t.Run("grows", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		var held []money.Nano
		var s script
		for range 20 {
			s = append(append(s, chunks(1)...), does(func(context.Context) {
				_, sum := w.book.Open()
				held = append(held, sum/money.Ruble)
			}))
		}
		w.plays("alpha/v/m", append(s, used(0, 150), done()))
		if err := w.relay.Complete(t.Context(), w.call(streamed), &sink{}); err != nil {
			t.Fatal(err)
		}
		want := []money.Nano{100, 100, 100, 100, 200, 200, 200, 200, 200, 200, 300, 300, 300, 300, 300, 300, 400, 400, 400, 400}
		if !slices.Equal(held, want) {
			t.Errorf("held %d, want %d", held, want)
		}
		w.wantCharged("150")
	})
	t.Run("up to the bound", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(250))
		w.plays("alpha/v/m", append(chunks(34), used(0, 250), done()))
		c := w.call(streamed)
		if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
			t.Fatal(err)
		}
		if c.Record.Hold != 250*money.Ruble {
			t.Errorf("held %s", c.Record.Hold)
		}
		w.wantCharged("250")
	})
	t.Run("beyond what nobody bounds", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(d *relay.Deps, c *relay.Config) { slices100(d, c); c.DefaultOutput = 100 }, dear(0))
		w.plays("alpha/v/m", append(chunks(60), used(0, 600), done()))
		c := w.call(streamed)
		if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
			t.Fatal(err)
		}
		if c.Record.Hold != 1000*money.Ruble {
			t.Errorf("held %s", c.Record.Hold)
		}
		w.wantCharged("600")
	})
	t.Run("several slices at once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		w.plays("alpha/v/m", script{text(strings.Repeat("ab ", 420)), used(0, 420), done()})
		c := w.call(streamed)
		if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
			t.Fatal(err)
		}
		if c.Record.Hold != 800*money.Ruble {
			t.Errorf("held %s", c.Record.Hold)
		}
	})
	t.Run("by the price above a threshold", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, offer("alpha", "v/m", "0", "1000", limits(0, 100_000), threshold(5, "0", "2000")))
		w.plays("alpha/v/m", append(chunks(8), used(10, 80), done()))
		c := w.call(streamed)
		if err := w.relay.Complete(t.Context(), c, &sink{}); err != nil {
			t.Fatal(err)
		}
		if c.Record.Hold != 400*money.Ruble {
			t.Errorf("held %s", c.Record.Hold)
		}
		w.wantCharged("160")
	})
	t.Run("until the money ends", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		w.store.credit(wallet, 350*money.Ruble)
		w.plays("alpha/v/m", append(chunks(1000), done()))
		c := w.call(streamed, models("v/m"))
		s := &sink{}
		err := wantKind(t, w.relay.Complete(t.Context(), c, s), fault.PaymentRequired)
		if !strings.Contains(err.Public, "ran out during this answer") || err.Next != fault.Stop {
			t.Errorf("error %+v", err)
		}
		if len(s.log) != 30 || slices.Contains(s.log, "end") || !w.up.seen[0].stopped {
			t.Errorf("the client saw %d entries", len(s.log))
		}
		rec := w.settled(c)
		if rec.Error != "payment_required" || !rec.Settled || rec.Usage.Source != usage.Estimated || rec.Hold != 300*money.Ruble {
			t.Errorf("record %+v", rec)
		}
		w.wantCharged("291")
	})
	t.Run("an end is an end", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		w.store.credit(wallet, 100*money.Ruble)
		u := usage.Usage{Prompt: usage.Of(0), Completion: usage.Of(120)}
		w.plays("alpha/v/m", script{{ev: &completion.Event{Text: []byte(strings.Repeat("ab ", 120)), Finish: completion.Stop, Usage: &u, Done: true}}})
		if err := w.relay.Complete(t.Context(), w.call(streamed), &sink{}); err != nil {
			t.Fatal(err)
		}
		w.wantCharged("120")
	})
	t.Run("until the store is away and what was borrowed is used", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		w.store.credit(wallet, 100*money.Ruble)
		w.plays("alpha/v/m", append(append(script{text("a "), does(func(context.Context) { w.store.leave() })}, chunks(1000)...), done()))
		s := &sink{}
		wantKind(t, w.relay.Complete(t.Context(), w.call(streamed), s), fault.StorageUnavailable)
		if len(s.log) != 11 {
			t.Errorf("the client saw %q", s.log)
		}
		w.wantCharged("92")
	})
	t.Run("without the piece that it does not cover", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		w.store.credit(wallet, 300*money.Ruble)
		w.plays("alpha/v/m", append(chunks(29), text(strings.Repeat("ab ", 100)), done()))
		wantKind(t, w.relay.Complete(t.Context(), w.call(streamed), &sink{}), fault.PaymentRequired)
		w.wantCharged("291")
	})
	t.Run("money that comes in meanwhile counts", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(100_000))
		w.store.credit(wallet, 100*money.Ruble)
		s := append(chunks(9), does(func(context.Context) { w.store.credit(wallet, 1000*money.Ruble) }))
		w.plays("alpha/v/m", append(append(s, chunks(20)...), used(0, 290), done()))
		if err := w.relay.Complete(t.Context(), w.call(streamed), &sink{}); err != nil {
			t.Fatal(err)
		}
		w.wantCharged("290")
	})
	t.Run("a whole answer is held for beforehand", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slices100, dear(300))
		w.store.credit(wallet, 300*money.Ruble)
		w.plays("alpha/v/m", append(chunks(1000), used(0, 300), done()))
		if err := w.relay.Complete(t.Context(), w.call(), &sink{}); err != nil {
			t.Fatal(err)
		}
		w.wantCharged("300")
	})
}

// Of calls that race for a balance, as many are admitted as it covers.
func TestRace(t *testing.T) {
	t.Parallel()
	const calls, fit = 200, 7
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
	w.store.credit(wallet, fit*rubles("2.01")+rubles("2"))
	let := make(chan struct{})
	w.plays("alpha/v/m", append(script{does(func(context.Context) { <-let })}, whole("a", 10, 1000)...))
	all := make([]*relay.Call, calls)
	for i := range all {
		all[i] = w.call()
	}
	results := make(chan error, calls)
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { results <- w.relay.Complete(context.Background(), c, &sink{}) })
	}
	for range calls - fit {
		wantKind(t, <-results, fault.PaymentRequired)
	}
	if holds, sum := w.book.Open(); holds != fit || sum != fit*rubles("2.01") {
		t.Errorf("%d holds of %s", holds, sum)
	}
	close(let)
	wg.Wait()
	for range fit {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if got := w.charged(); got != fit*rubles("2.01") {
		t.Errorf("charged %s", got)
	}
}
