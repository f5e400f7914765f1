package report

import (
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/usage"
)

// Margin is what the gateway earned with a call.
type Margin struct {
	Upstream money.Nano // rubles that the provider asks for, at the rate of the call
	Reported bool       // the provider said so; else it follows from its prices
	VAT      money.Nano // in the charge
	Margin   money.Nano // what is left of the charge
}

// MarginOf is what the gateway earned with a call. It is not known of a call whose prices were not made of dollars. A call with an own key costs the
// gateway nothing: its owner pays the provider.
func MarginOf(c *record.Call) (m Margin, known bool) {
	p := rate.PartsOf(c.Rate)
	m.VAT = p.VAT.Part(c.Cost)
	switch {
	case free(c):
		known = true
	default:
		r, err := money.NewRate(p.RubPerUSD, "0")
		if err != nil {
			return Margin{}, false
		}
		if m.Upstream, m.Reported, known = upstreamCost(c, r); !known {
			return Margin{}, false
		}
	}
	m.Margin = c.Cost - m.VAT - m.Upstream
	return m, known
}

// free reports whether a provider asks nothing for a call.
func free(c *record.Call) bool {
	return c.OwnKey != "" || len(c.Lines) == 0 && c.Usage.UpstreamCost == ""
}

func upstreamCost(c *record.Call, r money.Rate) (cost money.Nano, reported, known bool) {
	if c.Usage.UpstreamCost != "" {
		if p, err := r.Each(c.Usage.UpstreamCost, 1); err == nil {
			return money.Nano(p.Nano), true, true
		}
	}
	cost, known = pricedCost(c.Lines, r)
	return cost, false, known
}

// pricedCost is what lines cost by the prices of their provider.
func pricedCost(all []usage.Line, r money.Rate) (cost money.Nano, known bool) {
	lines := make([]usage.Line, len(all))
	for i, l := range all {
		price, err := l.PriceOf(r)
		if l.Dollars == "" || err != nil {
			return 0, false
		}
		l.Price = price
		lines[i] = l
	}
	cost, err := usage.Total(lines)
	return cost, err == nil
}

// UpstreamDollars is what the provider asks for a call, in billionths of a dollar, rounded up once. It is not known of a call whose prices were not
// made of dollars.
func UpstreamDollars(c *record.Call) (dollars money.Nano, known bool) {
	r, err := money.NewRate("1", "0")
	if err != nil {
		return 0, false
	}
	dollars, _, known = upstreamCost(c, r)
	return dollars, known
}

// DollarsOf is what a call costs the gateway, in billionths of a dollar.
func DollarsOf(c *record.Call) (dollars money.Nano, known bool) {
	if free(c) {
		return 0, true
	}
	return UpstreamDollars(c)
}

// VATOf is the tax in a charge.
func VATOf(c *record.Call) money.Nano { return rate.PartsOf(c.Rate).VAT.Part(c.Cost) }

// Loss is why a call cost more than it brought.
type Loss string

// The losses.
const (
	NoLoss        Loss = ""
	LossPrice     Loss = "price"     // its prices are below the provider's
	LossCache     Loss = "cache"     // those of the cache alone are
	LossReported  Loss = "reported"  // the provider asked for more than its prices say
	LossUncharged Loss = "uncharged" // it was not charged, and the provider asks for it
)

// LossOf is why a call with this margin cost more than it brought.
func LossOf(c *record.Call, m *Margin) Loss {
	if m.Margin >= 0 {
		return NoLoss
	}
	if !c.Settled || len(c.Lines) == 0 {
		return LossUncharged
	}
	p := rate.PartsOf(c.Rate)
	r, err := money.NewRate(p.RubPerUSD, "0")
	if err != nil {
		return LossPrice
	}
	net := c.Cost - m.VAT
	if m.Reported {
		if cost, known := pricedCost(c.Lines, r); known && cost <= net {
			return LossReported
		}
	}
	var cached []usage.Line
	for _, l := range c.Lines {
		switch l.Kind {
		case usage.KindCacheRead, usage.KindCacheReadAudio, usage.KindCacheWrite, usage.KindCacheWrite1h:
			cached = append(cached, l)
		}
	}
	cost, known := pricedCost(cached, r)
	charge, err := usage.Total(cached)
	if len(cached) == 0 || !known || err != nil {
		return LossPrice
	}
	if m.Margin-(charge-p.VAT.Part(charge)-cost) >= 0 {
		return LossCache
	}
	return LossPrice
}
