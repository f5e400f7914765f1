package edit

import (
	"context"

	"weir/internal/audit"
)

// Prices says which price list all nodes use for the models that are built in. A version "" is that of the program.
type Prices struct {
	List     string // version of the list in use
	AsOf     string // its day
	Previous string // of the one that was in use before
	Approved string // of the one that an operator published last
	Data     []byte // the list in use; nil: the program's
}

// PublishPrices puts the list that choose returns into use on all nodes, unless it is in use already; nil: none. Of the result it sets
// Previous, and without Approved that of the operator's list stays. It fails as BuildCatalog does.
func (e *Editor) PublishPrices(ctx context.Context, choose func(now *Prices) (*Prices, error), by audit.Actor) error {
	return e.commit(ctx, func(s *State) (*Commit, error) {
		chosen, err := choose(&s.Prices)
		if err != nil || chosen == nil {
			return nil, err
		}
		p := *chosen
		p.Previous = s.Prices.List
		if p.List == s.Prices.List {
			if p.Approved == s.Prices.Approved {
				return nil, nil
			}
			p.Previous = s.Prices.Previous
		}
		after := *s
		after.Version, after.Prices = s.Version+1, p
		if _, err := e.builder.BuildCatalog(&after, false); err != nil {
			return nil, err
		}
		var before Spec
		if s.Prices.List != "" || s.Prices.Previous != "" {
			before = s.Prices.spec()
		}
		return &Commit{Entry: Entry{Kind: PriceList, Action: audit.PricesPublished, Before: before, After: p.spec()}, Prices: p}, nil
	}, by)
}

// spec is what the history keeps.
func (p *Prices) spec() Spec {
	s := Spec{}
	for name, text := range map[string]string{"list": p.List, "as_of": p.AsOf, "previous": p.Previous, "approved": p.Approved} {
		if text != "" {
			s[name] = text
		}
	}
	return s
}

// Prices is what an entry of kind PriceList keeps, without the list.
func (e *Entry) Prices() Prices {
	return Prices{List: e.After["list"], AsOf: e.After["as_of"], Previous: e.After["previous"], Approved: e.After["approved"]}
}
