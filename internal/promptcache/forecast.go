package promptcache

import (
	"math"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
)

// What is expected of a conversation before it has shown it.
const (
	usualGap    = 20 * time.Second
	usualAnswer = 300 // tokens
	leastGrowth = 200 // tokens a call adds
	leastCalls  = 3.0
	mostCalls   = 24.0
)

// Forecast is what a conversation is expected to cost at an endpoint.
type Forecast struct {
	Cost   float64       // nano-rubles of this call and of those that are expected after it: a value to compare, not a charge
	Tokens int64         // of the prompt that the endpoint may have in its cache
	Saves  money.Nano    // expected, of this call, for these
	Age    time.Duration // since they were last used
}

// Forecast is what the rest of the conversation is expected to cost at an endpoint with these prices, if it stays there. It is a pure function of the view,
// the rates and the prices.
//
// So many calls are expected to follow as there were, and a few at least: conversations that have gone on for long go on for long.
func (v *View) Forecast(r *Rates, ep *catalog.Endpoint, prices *catalog.Prices) Forecast {
	var f Forecast
	f.Tokens, f.Age = v.At(ep.ID)
	c := costs(r, ep, v.Prints.kind, prices)
	prompt, answer := float64(v.Prompt), float64(orUsual(v.Answer, usualAnswer))
	read := float64(f.Tokens) * r.hit(ep, v.Prints.kind, f.Tokens, f.Age)
	f.Saves = money.Nano(min(max(read*(c.fresh-c.read), 0), math.MaxInt64/2))
	f.Cost = c.call(prompt, read, answer)
	growth := max(float64(v.Growth), answer, leastGrowth)
	gap := v.Gap
	if gap == 0 {
		gap = usualGap
	}
	left := min(max(float64(v.Calls+1), leastCalls), mostCalls)
	for ; left >= 1; left-- {
		before := prompt
		prompt += growth
		f.Cost += c.call(prompt, before*r.hit(ep, v.Prints.kind, int64(before), gap), answer)
	}
	return f
}

func orUsual(n, usual int64) int64 {
	if n <= 0 {
		return usual
	}
	return n
}

// costing is nano-rubles per token.
type costing struct{ fresh, read, answer, each float64 }

// costs are the prices of an endpoint. What is not read costs the price of the prompt, and for the part that is written to a cache that of writing.
func costs(r *Rates, ep *catalog.Endpoint, k Kind, p *catalog.Prices) costing {
	prompt := float64(p.Prompt.Nano) / 1000
	short, hour := r.written(ep, k)
	write := func(prices ...money.Price) float64 {
		for _, x := range prices {
			if x.Set {
				return float64(x.Nano) / 1000
			}
		}
		return prompt
	}
	c := costing{read: prompt, answer: float64(p.Completion.Nano) / 1000, each: float64(p.Request.Nano)}
	c.fresh = prompt + short*(write(p.CacheWrite)-prompt) + hour*(write(p.CacheWrite1h, p.CacheWrite)-prompt)
	if p.CacheRead.Set {
		c.read = float64(p.CacheRead.Nano) / 1000
	}
	return c
}

func (c *costing) call(prompt, read, answer float64) float64 {
	return (prompt-read)*c.fresh + read*c.read + answer*c.answer + c.each
}
