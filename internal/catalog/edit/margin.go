package edit

import (
	"math/big"
	"slices"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
)

// ownMargin is the rate with the margin of the row, if it has one.
func (s Spec) ownMargin(r rate.Effective) (rate.Effective, error) {
	margin, own := s["margin"]
	if !own {
		return r, nil
	}
	if err := (&rate.Record{Margin: margin}).Check(); err != nil {
		return r, fault.Field("edit.Endpoint", "margin", "%s", fault.From(err).Public)
	}
	return r.With(margin)
}

// converted are the same prices, those in dollars at another rate. Prices in rubles stay.
func converted(p catalog.Pricing, r rate.Effective) (catalog.Pricing, error) {
	c := converter{rate: r.Rate}
	base := func(in *catalog.Prices) {
		for i, kind := range catalog.PriceKinds() {
			c.price(in.All()[i], kind.Tokens)
		}
	}
	base(&p.Base)
	for i := range catalog.NamedRates() {
		c.price(p.Rates.Each()[i], catalog.NamedRates()[i].Thousands)
	}
	p.Thresholds, p.Hours, p.Images, p.Video = slices.Clone(p.Thresholds), slices.Clone(p.Hours), slices.Clone(p.Images), slices.Clone(p.Video)
	for i := range p.Thresholds {
		base(&p.Thresholds[i].Prices)
	}
	for i := range p.Hours {
		base(&p.Hours[i].Prices)
	}
	for i := range p.Images {
		c.price(&p.Images[i].Price, p.Images[i].Unit == catalog.UnitTokens)
	}
	for i := range p.Video {
		c.price(&p.Video[i].PerSecond, false)
	}
	if c.dollars {
		p.Rate = r.Version
	}
	return p, c.err
}

// converter converts prices in dollars again, and keeps the first fault.
type converter struct {
	rate    money.Rate
	dollars bool
	err     error
}

func (c *converter) price(p *money.Price, thousands bool) {
	if p.Dollars == "" || c.err != nil {
		return
	}
	c.dollars = true
	if thousands {
		*p, c.err = c.rate.PerThousand(p.Dollars, money.Million)
		return
	}
	*p, c.err = c.rate.Each(p.Dollars, 1)
}

// raisedMargin is a margin with which prices are higher by a percentage, written as text.
func raisedMargin(margin string, factor *big.Rat) (string, bool) {
	m, ok := new(big.Rat).SetString(margin)
	if !ok {
		return "", false
	}
	one := big.NewRat(1, 1)
	m.Add(m, one)
	m.Sub(m.Mul(m, factor), one)
	if m.Sign() < 0 {
		return "", false
	}
	return plain(m), true
}

// plain is a number with a finite decimal expansion as text, without zeros that say nothing.
func plain(n *big.Rat) string {
	digits, exact := n.FloatPrec()
	if !exact {
		digits++ // not reached by sums and products of decimal texts
	}
	return n.FloatString(digits)
}
