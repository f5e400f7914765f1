// Package listing makes the public lists of a catalog: their models, search, order, and the rendered answers, which are cached. The
// caller decides how one entry is written. It must not know HTTP.
package listing

import (
	"cmp"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Offer is a model under one of its ids, with the endpoints that serve it there.
type Offer struct {
	Model     *catalog.Model
	ID        string
	Endpoints []*catalog.Endpoint
}

// Offers lists a model's ids: its slug, and the slug with ":free" when some endpoints are free. A model that has only free endpoints
// is listed under the second one alone.
func Offers(m *catalog.Model) []Offer {
	var plain, free []*catalog.Endpoint
	for _, e := range m.Endpoints {
		if e.Variant == string(catalog.Free) {
			free = append(free, e)
		} else {
			plain = append(plain, e)
		}
	}
	var all []Offer
	if len(plain) > 0 || len(free) == 0 {
		all = append(all, Offer{m, m.Slug, plain})
	}
	if len(free) > 0 {
		all = append(all, Offer{m, m.Slug + ":" + string(catalog.Free), free})
	}
	return all
}

var noPricing catalog.Pricing

// Pricing is the pricing of an offer's cheapest endpoint; without endpoints it is empty.
func (o *Offer) Pricing() *catalog.Pricing {
	if e := Cheapest(o.Endpoints); e != nil {
		return &e.Pricing
	}
	return &noPricing
}

// Cheapest is the endpoint whose prices a list shows, nil of none. Endpoints of special tiers and variants, which a request
// gets only when it asks for them, count only when there is no other.
func Cheapest(endpoints []*catalog.Endpoint) *catalog.Endpoint {
	var best *catalog.Endpoint
	for _, e := range endpoints {
		if best == nil || cmp.Or(falseFirst(special(e), special(best)), cmp.Compare(Headline(e), Headline(best))) < 0 {
			best = e
		}
	}
	return best
}

func special(e *catalog.Endpoint) bool {
	return e.Tier != "" && e.Tier != "default" || e.Variant != "" && e.Variant != "standard"
}

// Headline is the price by which endpoints are compared: that of tokens, or where they are free, the model's other price. Rubles x 10^9.
func Headline(e *catalog.Endpoint) int64 {
	p := &e.Pricing
	if n := p.Base.Prompt.Nano + p.Base.Completion.Nano; n > 0 {
		return n
	}
	if n := p.RatesSum() + p.Base.Request.Nano + p.Base.ImageOutputEach.Nano; n > 0 {
		return n
	}
	least := int64(0)
	lower := func(price money.Price) {
		if price.Nano > 0 && (least == 0 || price.Nano < least) {
			least = price.Nano
		}
	}
	for i := range p.Video {
		lower(p.Video[i].PerSecond)
	}
	for i := range p.Images {
		lower(p.Images[i].Price)
	}
	return least
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
