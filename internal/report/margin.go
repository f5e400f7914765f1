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
	case c.OwnKey != "", len(c.Lines) == 0 && c.Usage.UpstreamCost == "":
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

func upstreamCost(c *record.Call, r money.Rate) (cost money.Nano, reported, known bool) {
	if c.Usage.UpstreamCost != "" {
		if p, err := r.Each(c.Usage.UpstreamCost, 1); err == nil {
			return money.Nano(p.Nano), true, true
		}
	}
	lines := make([]usage.Line, len(c.Lines))
	for i, l := range c.Lines {
		price, err := l.PriceOf(r)
		if l.Dollars == "" || err != nil {
			return 0, false, false
		}
		l.Price = price
		lines[i] = l
	}
	cost, err := usage.Total(lines)
	return cost, false, err == nil
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
