package catalog

import (
	"strings"

	"weir/internal/money"
)

// Own marks an endpoint that is called with the caller's own key of its provider. Its prices are the fee, because the provider is paid by
// the owner of the key.
type Own struct {
	Key string    // id of the key, "pk_..."
	Of  *Endpoint // the endpoint of the catalog that it is a copy of
	Fee Fee
}

// Fee is what a call with an own key costs instead of the price: a share of it, or an amount for each call.
type Fee struct {
	Share  int64       // hundredths of a percent of each price; 0 where Amount counts
	Amount money.Price // per call; not Set: Share counts
}

// wholeShare is a Share of all of the price.
const wholeShare = 10_000

// String is the fee as the configuration has it, such as "5%" or "0.1".
func (f Fee) String() string {
	if f.Amount.Set {
		return money.Nano(f.Amount.Nano).String()
	}
	return (money.Nano(f.Share) * (money.Ruble / 100)).String() + "%"
}

// of is the share of a price, rounded up.
func (f Fee) of(p money.Price) money.Price {
	whole, rest := p.Nano/wholeShare, p.Nano%wholeShare
	return money.Price{Nano: whole*f.Share + (rest*f.Share+wholeShare-1)/wholeShare, Set: p.Set}
}

// Of is what is charged by p where the fee counts. Its lines of a bill have no dollars: those are prices of the provider.
func (f Fee) Of(p *Pricing) Pricing {
	source := strings.TrimSpace("fee for an own key: " + f.String() + "; price of the list: " + p.Source)
	if f.Amount.Set {
		return Pricing{Base: Prices{Request: f.Amount}, List: p.List, Source: source}
	}
	out := Pricing{Base: f.prices(&p.Base), Rates: p.Rates, List: p.List, Rate: p.Rate, Source: source}
	for _, price := range out.Rates.Each() {
		*price = f.of(*price)
	}
	for i := range p.Thresholds {
		out.Thresholds = append(out.Thresholds, Threshold{Above: p.Thresholds[i].Above, Prices: f.prices(&p.Thresholds[i].Prices)})
	}
	for i := range p.Hours {
		h := p.Hours[i]
		h.Prices = f.prices(&h.Prices)
		if h.whole != nil {
			whole := f.Of(h.whole)
			h.whole = &whole
		}
		out.Hours = append(out.Hours, h)
	}
	for _, line := range p.Images {
		line.Price = f.of(line.Price)
		out.Images = append(out.Images, line)
	}
	for _, rule := range p.Video {
		rule.PerSecond = f.of(rule.PerSecond)
		out.Video = append(out.Video, rule)
	}
	return out
}

func (f Fee) prices(p *Prices) Prices {
	out := *p
	for _, price := range out.All() {
		*price = f.of(*price)
	}
	return out
}

// WithOwnKey is a copy of ep that is called with a key of the caller's at the address of its provider, and at the price of a fee. Nothing of
// the operator's goes with it: neither credentials, nor header fields, which may be credentials, nor places for files.
func (ep *Endpoint) WithOwnKey(id, secret string, fee Fee) *Endpoint {
	p := *ep.Provider
	p.Key, p.Keys, p.Draining, p.Kept, p.Headers, p.OwnKey, p.Of = secret, nil, nil, false, nil, id, ep.Provider
	p.Quirks.VideoBucket = ""
	own := *ep
	own.Provider, own.Pricing, own.Own = &p, fee.Of(&ep.Pricing), &Own{Key: id, Of: ep, Fee: fee}
	return &own
}

// Catalogued is the endpoint of the catalog: ep itself, unless it is called with an own key.
func (ep *Endpoint) Catalogued() *Endpoint {
	if ep.Own != nil {
		return ep.Own.Of
	}
	return ep
}
