package usage_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/usage"
)

func drawPrices(t *rapid.T, name string) (p catalog.Prices) {
	for _, field := range catalog.PriceNames() {
		if rapid.Bool().Draw(t, name+" has "+field) {
			*p.Field(field) = price(rapid.Int64Range(0, 2_000_000_000).Draw(t, name+" "+field))
		}
	}
	return p
}

// Whatever the prices, the request and the offer are, and whatever is reported: what is charged for a usage that was cut to a bound is never more
// than what the bound costs.
func TestHoldsCoverCharges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pricing := catalog.Pricing{Base: drawPrices(t, "base")}
		above := int64(0)
		for range rapid.IntRange(0, 2).Draw(t, "thresholds") {
			above += rapid.Int64Range(1, 3000).Draw(t, "above")
			pricing.Thresholds = append(pricing.Thresholds, catalog.Threshold{Above: above, Prices: drawPrices(t, "threshold")})
		}
		some := func(name string) int64 { return rapid.SampledFrom([]int64{0, 0, 1, 500, 8000, 1 << 40}).Draw(t, name) }
		kinds := rapid.SampledFrom([]catalog.Modality{0, catalog.Text, catalog.Audio, catalog.Image, catalog.Video | catalog.File, catalog.AllModalities})
		ep := &catalog.Endpoint{ContextLength: some("context"), MaxCompletion: some("max completion"), Output: kinds.Draw(t, "output"), Params: catalog.AllParams}
		ask := usage.Ask{Prompt: some("prompt"), Open: rapid.Bool().Draw(t, "open"), Answers: rapid.SampledFrom([]int64{0, 1, 3, math.MaxInt32}).Draw(t, "n"),
			MaxTokens: rapid.SampledFrom([]int64{0, 1, 16, 100_000, math.MaxInt64}).Draw(t, "max tokens"), In: kinds.Draw(t, "in"), Out: kinds.Draw(t, "out"),
			LongCache: rapid.Bool().Draw(t, "long cache")}
		for i := range ask.Calls {
			ask.Calls[i] = some("calls " + strconv.Itoa(i))
		}
		bound := usage.Bound(&ask, ep)
		tariff := catalog.Tariff{Prices: pricing.Dearest(bound.Prompt.N).Base, Rates: catalog.Rates{Minute: price(3), Characters: price(5), Megapixel: price(7), Second: price(11)}}
		held, err := usage.Most(&bound, &tariff)
		if err != nil {
			return // nothing is done that cannot be held for
		}
		u, most := drawUsage(t), bound.Counts()
		for i, n := range u.Counts() {
			if rapid.IntRange(0, 3).Draw(t, "all of "+strconv.Itoa(i)) > 0 { // where a hold that is too low shows
				*n = *most[i]
			}
		}
		u.Cut(&bound, &bound)
		charged := catalog.Tariff{Prices: *pricing.For(u.Prompt.N), Rates: catalog.Rates{Minute: price(3), Characters: price(5), Megapixel: price(7), Second: price(11)}}
		if _, cost, err := usage.TaskCost(&u, &charged); err != nil || cost > held {
			t.Fatalf("%s is charged and %s is held, %v: %+v", cost, held, err, u)
		}
	})
}

// A call that consumes as much as it can of one kind, where that kind is dear and all else is cheap, is charged no more than is held.
func TestHoldsCoverEachKind(t *testing.T) {
	t.Parallel()
	ask := usage.Ask{Prompt: 100, LongCache: true, In: catalog.AllModalities, Out: catalog.AllModalities}
	for i := range ask.Calls {
		ask.Calls[i] = 3
	}
	bound := usage.Bound(&ask, &catalog.Endpoint{ContextLength: 10_000, MaxCompletion: 1000, Output: catalog.AllModalities, Params: catalog.AllParams})
	for _, k := range catalog.PriceKinds() {
		var tariff catalog.Tariff
		for _, name := range catalog.PriceNames() {
			*tariff.Field(name) = price(1)
		}
		*tariff.Field(k.Name) = price(1_000_000_000)
		held, err := usage.Most(&bound, &tariff)
		if err != nil {
			t.Fatal(err)
		}
		charges := false
		for i, most := range bound.Counts() {
			u := usage.Usage{Prompt: bound.Prompt, Completion: bound.Completion}
			*u.Counts()[i] = *most
			lines, cost, err := usage.TaskCost(&u, &tariff)
			if err != nil || cost > held {
				t.Errorf("%s: %s is charged and %s is held, %v: %+v", k.Name, cost, held, err, u)
			}
			charges = charges || slices.ContainsFunc(lines, func(l usage.Line) bool { return l.Price == 1_000_000_000 })
		}
		if !charges {
			t.Errorf("nothing that a call can consume is charged at the price %s", k.Name)
		}
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	known := catalog.Endpoint{ContextLength: 10_000, MaxCompletion: 1000, Params: catalog.AllParams}
	for _, c := range []struct {
		name           string
		ask            usage.Ask
		change         func(*catalog.Endpoint)
		prompt, answer int64
	}{
		{"the offer", usage.Ask{Prompt: 100}, nil, 4196, 1000},
		{"the request", usage.Ask{Prompt: 100, MaxTokens: 16}, nil, 4196, 16},
		{"of several answers", usage.Ask{Prompt: 100, MaxTokens: 16, Answers: 3}, nil, 4196, 48},
		{"a request above the offer", usage.Ask{Prompt: 20_000, MaxTokens: 5000}, nil, 10_000, 1000},
		{"media by address", usage.Ask{Prompt: 100, Open: true}, nil, 10_000, 1000},
		{"media by address, no context known", usage.Ask{Prompt: 100, Open: true}, func(e *catalog.Endpoint) { e.ContextLength = 0 }, 1 << 20, 1000},
		{"a cap that does not reach it", usage.Ask{Prompt: 100, MaxTokens: 16}, func(e *catalog.Endpoint) { e.Params = catalog.ParamTools }, 4196, 1000},
		{"the context alone", usage.Ask{Prompt: 100}, func(e *catalog.Endpoint) { e.MaxCompletion = 0 }, 4196, 10_000},
		{"nothing known", usage.Ask{Prompt: 100}, func(e *catalog.Endpoint) { e.MaxCompletion, e.ContextLength = 0, 0 }, 4196, 1 << 20},
	} {
		ep := known
		if c.change != nil {
			c.change(&ep)
		}
		if u := usage.Bound(&c.ask, &ep); u.Prompt != usage.Of(c.prompt) || u.Completion != usage.Of(c.answer) {
			t.Errorf("%s: %d and %d tokens, want %d and %d", c.name, u.Prompt.N, u.Completion.N, c.prompt, c.answer)
		}
	}
}

// A part is held for at its own price up to what it can be, and the rest at the next.
func TestMostSpreads(t *testing.T) {
	t.Parallel()
	tariff := catalog.Tariff{Prices: catalog.Prices{Completion: price(1000), ImageOutput: price(10_000), AudioOutput: price(4000), Reasoning: price(1)}}
	u := usage.Usage{Completion: usage.Of(100), OutputImage: usage.Of(10), OutputAudio: usage.Of(20), Reasoning: usage.Of(100)}
	if got, err := usage.Most(&u, &tariff); err != nil || got != money.Nano(100+80+70) {
		t.Errorf("%d, %v", got, err)
	}
}

// A question of twenty tokens with six searches was reported with 115,886 tokens of prompt: each round reads again what those before it found.
func TestReread(t *testing.T) {
	t.Parallel()
	web := func(n int64) (c usage.Calls) { c[0] = n; return c }
	for _, c := range []struct {
		name          string
		asked, called int64
		context       int64
		least, most   int64
	}{
		{"no calls", 3, 0, 400_000, 0, 60_000},
		{"one", 3, 1, 400_000, 60_000, 80_000},
		{"six, three asked for", 3, 6, 400_000, 115_886, 500_000},
		{"within the context", 3, 6, 50_000, 115_886, 7 * 50_000},
		{"not asked for", 0, 6, 400_000, 0, 5000},
		{"as many as are believed", 3, 32, 400_000, 8_267_252, 8_267_252},
		{"more than is believed", 3, 33, 400_000, 8_267_252, 8_267_252},
		{"absurd", 3, math.MaxInt64, 400_000, 8_267_252, 8_267_252},
	} {
		ask := usage.Ask{Prompt: 20, Calls: web(c.asked)}
		ep := &catalog.Endpoint{ContextLength: c.context}
		bound := usage.Bound(&ask, ep)
		ask.Reread(&bound, ep, web(c.called))
		if n := bound.Prompt.N; n < c.least || n > c.most {
			t.Errorf("%s: a prompt of up to %d, want %d to %d", c.name, n, c.least, c.most)
		}
		if bound.CacheRead.N != bound.Prompt.N {
			t.Errorf("%s: up to %d of %d from the cache", c.name, bound.CacheRead.N, bound.Prompt.N)
		}
	}
}
