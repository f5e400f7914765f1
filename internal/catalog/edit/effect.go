package edit

import (
	"cmp"
	"math/big"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Sold is what an endpoint was used for in some time.
type Sold struct {
	Calls                                                int64
	Prompt, CacheRead, CacheWrite, Completion, Reasoning int64 // tokens; the first contains the next two, completion contains reasoning
	Revenue                                              money.Nano
}

// Effect is what a draft would have changed in the revenue of some time.
type Effect struct {
	Revenue money.Nano // of all endpoints
	Changes money.Nano // by how much it would differ
	Unknown []string   // endpoints with prices that change and that sold something, for which it cannot be computed

	VAT, VATDraft money.Nano // contained in the revenue, and in it with Changes

	// Of what is sold at prices in dollars: what the providers took for it, and what was left, without the tax. The others have no known cost.
	Cost, Margin money.Nano
	CostUnknown  money.Nano // revenue from the others
	CostDraft    money.Nano // Cost at the prices of the draft
	MarginDraft  money.Nano // Margin with the tax-free part of Changes, less what the cost rises by
}

// Effect computes from roll-ups by how much the revenue would differ. Where all prices of an endpoint change by one factor it is that of its
// revenue, else it follows from its tokens; neither is known of other units whose prices change apart.
func (p *Preview) Effect(sold map[string]Sold) Effect {
	var out Effect
	total, changed, by := new(big.Int), new(big.Int), map[string]*big.Int{}
	for _, s := range sold {
		total.Add(total, big.NewInt(int64(s.Revenue)))
	}
	for rest := p.Changes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Endpoint == rest[0].Endpoint {
			n++
		}
		id := rest[0].Endpoint
		s := sold[id]
		if more, ok := p.effect(rest[:n], &s); ok {
			changed.Add(changed, more)
			by[id] = more
		} else if s.Revenue != 0 {
			out.Unknown = append(out.Unknown, id)
		}
		rest = rest[n:]
	}
	out.Revenue, out.Changes = money.Nano(total.Int64()), money.Nano(changed.Int64())
	vat := p.Before.Rate.VAT
	out.VAT, out.VATDraft = vat.Part(out.Revenue), vat.Part(out.Revenue+out.Changes)
	p.costs(sold, by, &out)
	return out
}

func (p *Preview) effect(list []PriceChange, s *Sold) (*big.Int, bool) {
	if by, ok := p.factor(list[0].Endpoint); ok {
		by.Mul(by.Sub(by, big.NewRat(1, 1)), big.NewRat(int64(s.Revenue), 1))
		return new(big.Int).Quo(by.Num(), by.Denom()), true
	}
	was, is := p.Before.Endpoint(list[0].Endpoint), p.After.Endpoint(list[0].Endpoint)
	if was == nil || is == nil { // a new one sold nothing, and who used one that is gone uses another or none
		return new(big.Int), was == nil
	}
	base, after := was.Pricing.Base, is.Pricing.Base
	tokens := map[string]int64{"prompt": s.Prompt - s.CacheRead - s.CacheWrite, "cache_read": s.CacheRead, "completion": s.Completion - s.Reasoning, "reasoning": s.Reasoning, "cache_write": s.CacheWrite}
	sum := new(big.Int)
	for _, c := range list {
		if _, known := tokens[c.Name]; !known {
			return nil, false
		}
	}
	for name, n := range tokens {
		difference := charged(&after, name) - charged(&base, name)
		sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(difference)))
	}
	return sum.Quo(sum, big.NewInt(1000)), true
}

// charged is what is charged for tokens of a kind: its price, or the one it falls to.
func charged(p *catalog.Prices, name string) int64 {
	for name != "" {
		if price := p.Field(name); price.Set {
			return price.Nano
		}
		name = catalog.PriceKinds()[catalog.PriceKindOf(name)].Else
	}
	return 0
}

// factor is by how much all prices of an endpoint are multiplied, if by the same: another margin, or prices in rubles in one ratio.
func (p *Preview) factor(id string) (*big.Rat, bool) {
	was, is := p.Before.Endpoint(id), p.After.Endpoint(id)
	old, now := was.lines(), is.lines()
	if len(old) != len(now) || len(old) == 0 {
		return nil, false
	}
	var same *big.Rat
	for i, l := range now {
		before := old[i]
		if before.Name != l.Name || (before.Price.Dollars != l.Price.Dollars) {
			return nil, false
		}
		if before.Price.Nano == 0 {
			if l.Price.Nano != 0 {
				return nil, false
			}
			continue
		}
		by := big.NewRat(l.Price.Nano, before.Price.Nano)
		if l.Price.Dollars != "" {
			by = p.marginFactor(was, is)
		}
		if same == nil {
			same = by
		} else if same.Cmp(by) != 0 {
			return nil, false
		}
	}
	return same, same != nil
}

// marginFactor is by how much another margin multiplies prices in dollars.
func (p *Preview) marginFactor(was, is *EndpointView) *big.Rat {
	of := func(b *Built, v *EndpointView) *big.Rat {
		m, _ := b.Margin(v)
		r, _ := new(big.Rat).SetString(cmp.Or(m, "0"))
		return r.Add(r, big.NewRat(1, 1))
	}
	return new(big.Rat).Quo(of(p.After, is), of(p.Before, was))
}

// costs adds up what providers took for what was sold, and what they would have taken.
func (p *Preview) costs(sold map[string]Sold, by map[string]*big.Int, out *Effect) {
	vat, cost, after, margin := p.Before.Rate.VAT, new(big.Rat), new(big.Rat), new(big.Rat)
	for id, s := range sold {
		v := p.Before.Endpoint(id)
		if v == nil || !inDollars(&v.Pricing) {
			out.CostUnknown += s.Revenue
			continue
		}
		net := big.NewRat(int64(s.Revenue-vat.Part(s.Revenue)), 1)
		took, ok := p.Before.cost(v, net)
		if !ok {
			continue
		}
		then := took
		if is := p.After.Endpoint(id); by[id] != nil && is != nil && inDollars(&is.Pricing) {
			revenue := s.Revenue + money.Nano(by[id].Int64())
			then, _ = p.After.cost(is, big.NewRat(int64(revenue-vat.Part(revenue)), 1))
		}
		cost.Add(cost, took)
		after.Add(after, then)
		margin.Add(margin, net.Sub(net, took))
	}
	whole := func(r *big.Rat) money.Nano { return money.Nano(new(big.Int).Quo(r.Num(), r.Denom()).Int64()) }
	out.Cost, out.CostDraft, out.Margin = whole(cost), whole(after), whole(margin)
	out.MarginDraft = out.Margin + out.Changes - (out.VATDraft - out.VAT) - (out.CostDraft - out.Cost)
}

// cost is what the provider takes of revenue without tax.
func (b *Built) cost(v *EndpointView, net *big.Rat) (*big.Rat, bool) {
	m, _ := b.Margin(v)
	by, ok := new(big.Rat).SetString(cmp.Or(m, "0"))
	if !ok {
		return new(big.Rat), false
	}
	return new(big.Rat).Quo(net, by.Add(by, big.NewRat(1, 1))), true
}

// inDollars reports whether all prices are converted from dollars.
func inDollars(p *catalog.Pricing) bool {
	for _, l := range p.Lines() {
		if l.Price.Dollars == "" && l.Price.Nano != 0 {
			return false
		}
	}
	return true
}
