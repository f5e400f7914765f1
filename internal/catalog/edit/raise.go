package edit

import (
	"context"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
)

// RaiseDraft changes prices by a percentage in the draft of that version: those in dollars by their margin, so that they still follow price
// list and rate, those in rubles by themselves, rounded up to the last digit. Endpoints that the configuration owns are left out.
func (e *Editor) RaiseDraft(ctx context.Context, version int64, r Raise, by audit.Actor) (*Draft, error) {
	factor, ok := percentFactor(r.Percent)
	if !ok {
		return nil, fault.Field("edit.Raise", "percent", "percent must be a number between -90 and 900 with at most 6 digits after the point, and not 0.").Coded("raise_percent")
	}
	return e.many(ctx, version, r, by, func(after *Built, v *EndpointView) (*Edit, error) { return after.raised(v, factor) })
}

// MarginDraft sets the margin of many endpoints in the draft of that version, "" for that of all. Those without prices in dollars, and those that
// the configuration owns, are left out.
func (e *Editor) MarginDraft(ctx context.Context, version int64, margin string, of Raise, by audit.Actor) (*Draft, error) {
	return e.many(ctx, version, of, by, func(_ *Built, v *EndpointView) (*Edit, error) {
		switch {
		case !slices.ContainsFunc(v.Pricing.Lines(), func(l catalog.PriceLine) bool { return l.Price.Dollars != "" }):
			return nil, nil
		case margin == "":
			return &Edit{ID: v.ID, Unset: []string{"margin"}}, nil
		}
		return &Edit{ID: v.ID, Set: Spec{"margin": margin}}, nil
	})
}

// many changes the chosen endpoints in the draft of that version; a change of nil leaves one out.
func (e *Editor) many(ctx context.Context, version int64, r Raise, by audit.Actor, change func(after *Built, v *EndpointView) (*Edit, error)) (*Draft, error) {
	d, err := e.open(ctx, version)
	if err != nil {
		return nil, err
	}
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	p, err := e.preview(&s, d)
	if err != nil {
		return nil, err
	}
	chosen := 0
	for i := range p.After.Endpoints {
		v := &p.After.Endpoints[i]
		if !r.chooses(v) {
			continue
		}
		x, err := change(p.After, v)
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		chosen++
		if err := e.intoDraft(d, p.After, x); err != nil {
			return nil, err
		}
	}
	if chosen == 0 {
		return nil, fault.New(fault.Invalid, "edit.Raise", "No endpoint was chosen whose prices can be changed here.").Coded("raise_nothing")
	}
	return e.keep(ctx, d, &s, by)
}

func (r *Raise) chooses(v *EndpointView) bool {
	switch {
	case v.Origin == FromFile:
		return false
	case r.Endpoints != nil:
		return slices.Contains(r.Endpoints, v.ID)
	}
	vendor, _, _ := strings.Cut(v.Model, "/")
	return v.On && (r.Provider == "" || r.Provider == v.Provider) && (r.Vendor == "" || r.Vendor == vendor) && Matches(v.ID, r.Search)
}

// percentFactor is 1.1 for 10.
func percentFactor(text string) (*big.Rat, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if !Decimal.fits(digits) || len(whole) > 3 || point && len(fraction) > 6 {
		return nil, false
	}
	f, ok := new(big.Rat).SetString(digits)
	if !ok || f.Sign() == 0 {
		return nil, false
	}
	if negative {
		f.Neg(f)
	}
	if f.Cmp(big.NewRat(-90, 1)) < 0 || f.Cmp(big.NewRat(900, 1)) > 0 {
		return nil, false
	}
	return f.Add(f.Quo(f, big.NewRat(100, 1)), big.NewRat(1, 1)), true
}

// raised is the change that multiplies all prices of an endpoint.
func (b *Built) raised(v *EndpointView, factor *big.Rat) (*Edit, error) {
	x := &Edit{ID: v.ID, Set: Spec{}}
	dollars, rubles := false, false
	for _, l := range v.Pricing.Lines() {
		dollars = dollars || l.Price.Dollars != ""
		rubles = rubles || l.Price.Dollars == "" && l.Price.Nano != 0
	}
	if dollars {
		margin, _ := b.Margin(v)
		higher, ok := raisedMargin(margin, factor)
		if !ok {
			return x, fault.Newf(fault.Invalid, "edit.Raise", "%s would be sold below what the provider takes.", v.ID).Coded("raise_below_cost", "id", v.ID)
		}
		x.Set["margin"] = higher
	}
	if !rubles {
		return x, nil
	}
	spec := specOf(v)
	if !spec.priced() { // a row has all prices or none
		spec = written(&v.Pricing)
		for name, text := range spec {
			if !inRubles(name) {
				x.Set[name] = text
			}
		}
	}
	for name, text := range spec {
		if !inRubles(name) {
			continue
		}
		price, err := money.ParsePrice(text)
		if err != nil {
			return x, err
		}
		if x.Set[name], err = multiplied(price, factor); err != nil {
			return x, err
		}
	}
	return x, nil
}

// inRubles reports whether a field is a price in rubles.
func inRubles(name string) bool {
	return isPrice(name) && (strings.HasPrefix(name, "prices.") || strings.Contains(name, ".prices.") || strings.HasSuffix(name, ".price") || strings.HasSuffix(name, ".per_second"))
}

// multiplied is a price times a factor, rounded up to a nano-ruble.
func multiplied(p money.Price, factor *big.Rat) (string, error) {
	r := new(big.Rat).Mul(big.NewRat(p.Nano, 1), factor)
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return "", fault.New(fault.Invalid, "edit.Raise", "A price is too large.")
	}
	return money.Nano(q.Int64()).String(), nil
}

// written is a pricing as the fields of a row.
func written(p *catalog.Pricing) Spec {
	s := Spec{}
	put := func(rubles, dollars string, price money.Price) {
		switch {
		case price.Dollars != "":
			s[dollars] = price.Dollars
		case price.Set:
			s[rubles] = price.String()
		}
	}
	base := func(at string, in *catalog.Prices) {
		for _, name := range catalog.PriceNames() {
			put(at+"prices."+name, at+"price_usd."+name, *in.Field(name))
		}
	}
	base("", &p.Base)
	for i, kind := range catalog.NamedRates() {
		put("prices."+kind.Name, "price_usd."+kind.Name, *p.Rates.Each()[i])
	}
	for i := range p.Thresholds {
		at := "thresholds." + strconv.Itoa(i) + "."
		s[at+"above"] = strconv.FormatInt(p.Thresholds[i].Above, 10)
		base(at, &p.Thresholds[i].Prices)
	}
	for i := range p.Hours {
		h, at := &p.Hours[i], "hours."+strconv.Itoa(i)+"."
		s[at+"from"], s[at+"to"] = h.From, h.To
		texts(s, at, map[string]string{"zone": h.Zone, "days": strings.Join(h.Days, ",")})
		base(at, &h.Prices)
	}
	for i := range p.Images {
		x, at := &p.Images[i], "images."+strconv.Itoa(i)+"."
		texts(s, at, map[string]string{"component": x.Component, "unit": x.Unit, "variant": x.Variant, "resolution": x.Resolution, "basis": x.Basis})
		put(at+"price", at+"price_usd", x.Price)
	}
	for i := range p.Video {
		x, at := &p.Video[i], "video."+strconv.Itoa(i)+"."
		texts(s, at, map[string]string{"resolution": x.Resolution})
		s[at+"with_audio"] = strconv.FormatBool(x.WithAudio)
		put(at+"per_second", at+"per_second_usd", x.PerSecond)
	}
	return s
}

func texts(s Spec, at string, list map[string]string) {
	for name, text := range list {
		if text != "" {
			s[at+name] = text
		}
	}
}
