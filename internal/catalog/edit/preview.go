package edit

import (
	"cmp"
	"context"
	"math/big"
	"slices"

	"weir/internal/catalog"
	"weir/internal/money"
)

// PriceChange is a price that a draft changes.
type PriceChange struct {
	Endpoint, Name, Per string
	Old, New            money.Price
}

// The kinds of questions.
const (
	DoubtfulMargin = "margin"     // above 50 %, which is often meant as something else
	BelowCost      = "below_cost" // the provider takes more
	Leap           = "leap"       // free, or ten times what it was or a tenth: more often a slip of the pen than a price
)

// Question is a price that is asked about before it is published.
type Question struct {
	Kind, Endpoint string
	Margin         string // of a doubtful margin
	Name           string // of a price below cost, and of one that leaps
	Price, Cost    money.Price
	Old            money.Price // of one that leaps
}

// Preview is what a draft would change.
type Preview struct {
	Before, After *Built
	Changes       []PriceChange // by endpoint
	Questions     []Question
}

// Preview computes what a draft changes in the present catalog.
func (e *Editor) Preview(ctx context.Context, d *Draft) (*Preview, error) {
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	return e.preview(&s, d)
}

func (e *Editor) preview(s *State, d *Draft) (*Preview, error) {
	after := s.edited(d, s.Version+1, e.now())
	p := &Preview{}
	var err error
	if p.Before, err = e.builder.BuildCatalog(s, false); err != nil {
		return nil, err
	}
	if p.After, err = e.builder.BuildCatalog(&after, false); err != nil {
		return nil, err
	}
	for _, id := range p.touched(d) {
		was, is := p.Before.Endpoint(id), p.After.Endpoint(id)
		if was == nil && is == nil {
			continue
		}
		p.Changes = append(p.Changes, changes(was, is)...)
		p.Questions = append(p.Questions, p.questions(was, is)...)
	}
	return p, nil
}

// touched are the endpoints that a draft may change, by id: with another price list, all that are served.
func (p *Preview) touched(d *Draft) []string {
	var ids []string
	for i := range d.Edits {
		ids = append(ids, d.Edits[i].ID)
	}
	if d.Prices.List != "" {
		for _, b := range []*Built{p.Before, p.After} {
			for i := range b.Endpoints {
				if b.Endpoints[i].On {
					ids = append(ids, b.Endpoints[i].ID)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Endpoints is how many change.
func (p *Preview) Endpoints(d *Draft) int {
	ids := map[string]bool{}
	for i := range d.Edits {
		ids[d.Edits[i].ID] = true
	}
	for i := range p.Changes {
		ids[p.Changes[i].Endpoint] = true
	}
	return len(ids)
}

// lines are the prices of an endpoint, none of one that is missing.
func (v *EndpointView) lines() []catalog.PriceLine {
	if v == nil {
		return nil
	}
	return v.Pricing.Lines()
}

// changes compares the prices of an endpoint. One of the two may be missing.
func changes(was, is *EndpointView) []PriceChange {
	var out []PriceChange
	old, now := was.lines(), is.lines()
	for _, l := range now {
		if before := lineNamed(old, l.Name); before.Price != l.Price {
			out = append(out, PriceChange{is.ID, l.Name, l.Per, before.Price, l.Price})
		}
	}
	for _, l := range old {
		if after := lineNamed(now, l.Name); !after.Price.Set {
			out = append(out, PriceChange{was.ID, l.Name, l.Per, l.Price, money.Price{}})
		}
	}
	return out
}

// lineNamed is the price of that name, not set without one.
func lineNamed(lines []catalog.PriceLine, name string) catalog.PriceLine {
	for _, l := range lines {
		if l.Name == name {
			return l
		}
	}
	return catalog.PriceLine{}
}

func (p *Preview) questions(was, is *EndpointView) []Question {
	if is == nil {
		return nil
	}
	var out []Question
	margin := func(v *EndpointView) string { return specOf(v)["margin"] }
	if m, ok := new(big.Rat).SetString(cmp.Or(margin(is), "0")); ok && m.Cmp(big.NewRat(1, 2)) > 0 && margin(is) != margin(was) {
		out = append(out, Question{Kind: DoubtfulMargin, Endpoint: is.ID, Margin: margin(is)})
	}
	costs := p.After.Costs(is)
	old := was.lines()
	for _, l := range is.Pricing.Lines() {
		cost, before := lineNamed(costs, l.Name).Price, lineNamed(old, l.Name).Price
		switch {
		case before == l.Price:
		case cost.Set && l.Price.Nano < cost.Nano:
			out = append(out, Question{Kind: BelowCost, Endpoint: is.ID, Name: l.Name, Price: l.Price, Cost: cost})
		case leaps(before, l.Price):
			out = append(out, Question{Kind: Leap, Endpoint: is.ID, Name: l.Name, Price: l.Price, Old: before})
		}
	}
	return out
}

// leaps reports whether a price that was charged becomes free, ten times what it was or a tenth.
func leaps(old, now money.Price) bool {
	return old.Set && old.Nano > 0 && (now.Nano/10 >= old.Nano || now.Nano <= old.Nano/10)
}

func specOf(v *EndpointView) Spec {
	if v == nil || v.Row == nil {
		return nil
	}
	return v.Row.Spec
}

// Margin is the one that prices in dollars of an endpoint have: its own, or that of all.
func (b *Built) Margin(v *EndpointView) (margin string, own bool) {
	margin, own = specOf(v)["margin"]
	if !own {
		margin = b.Rate.Margin
	}
	return margin, own
}

// Dollar is what a dollar costs with a margin, in rubles, "" for a margin that is none.
func (b *Built) Dollar(margin string) string {
	r, err := b.Rate.With(margin)
	if err != nil {
		return ""
	}
	p, err := r.Each("1", 1)
	if err != nil {
		return ""
	}
	return p.String()
}

// Costs are what the provider takes for an endpoint in rubles, with the tax that its prices contain: what is known in dollars, without a
// margin.
func (b *Built) Costs(v *EndpointView) []catalog.PriceLine {
	r, err := b.Rate.With("0")
	if err != nil {
		return nil
	}
	var out []catalog.PriceLine
	for _, p := range []catalog.Pricing{v.Pricing, v.Listed} {
		p, err := converted(p, r)
		if err != nil {
			return nil
		}
		for _, l := range p.Lines() {
			if l.Price.Dollars != "" && !lineNamed(out, l.Name).Price.Set {
				out = append(out, l)
			}
		}
	}
	return out
}
