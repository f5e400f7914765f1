package adminapi

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/money"
	"weir/internal/operation"
)

// DraftEditor edits the draft of prices.
type DraftEditor interface {
	Draft(ctx context.Context) (*edit.Draft, error)
	Preview(ctx context.Context, d *edit.Draft) (*edit.Preview, error)
	EditDraft(ctx context.Context, version int64, edits []edit.Edit, by audit.Actor) (*edit.Draft, error)
	RaiseDraft(ctx context.Context, version int64, r edit.Raise, by audit.Actor) (*edit.Draft, error)
	MarginDraft(ctx context.Context, version int64, margin string, of edit.Raise, by audit.Actor) (*edit.Draft, error)
	DropDraft(ctx context.Context, version int64) error
}

// PriceChange is a price that differs.
type PriceChange struct {
	Endpoint string  `json:"endpoint"`
	Name     string  `json:"name"`
	Per      string  `json:"per"`
	Old      *string `json:"old"`
	New      *string `json:"new"`
}

// PriceQuestion is a price that is asked about before it is published.
type PriceQuestion struct {
	Kind     string  `json:"kind" enum:"margin,below_cost,leap"`
	Endpoint string  `json:"endpoint"`
	Margin   *string `json:"margin"` // above 0.5
	Name     *string `json:"name"`   // of a price below what the provider takes, and of a leap: one that is free, ten times what it was or a tenth
	Price    *string `json:"price"`
	Cost     *string `json:"cost"`
	Old      *string `json:"old"` // of a leap
}

// PriceEffect is what the draft would have changed in the last seven days.
type PriceEffect struct {
	From        time.Time  `json:"from"`
	Revenue     money.Nano `json:"revenue"` // of all endpoints, with tax
	Changes     money.Nano `json:"changes"` // by how much it would differ
	VAT         money.Nano `json:"vat"`     // contained in revenue
	VATDraft    money.Nano `json:"vat_draft"`
	Cost        money.Nano `json:"cost"` // what providers took for what is sold at prices in dollars, without tax
	CostDraft   money.Nano `json:"cost_draft"`
	Margin      money.Nano `json:"margin"`       // what was left of it, without tax
	MarginDraft money.Nano `json:"margin_draft"` // what would have been left
	CostUnknown money.Nano `json:"cost_unknown"` // revenue at prices in rubles, of which the cost is not known
	Unknown     []string   `json:"unknown"`      // endpoints for which the difference cannot be computed: other units than tokens change
}

// PriceDraft is changes of prices that are not in effect.
type PriceDraft struct {
	Version   int64           `json:"version"`    // to be given with the next change
	Actor     string          `json:"actor"`      // who changed it last
	ActorName *string         `json:"actor_name"` // of that user, or of the owner of that key
	At        time.Time       `json:"at"`
	List      *ListOfDraft    `json:"list"` // price list that it brings; null: it leaves the list as it is
	Endpoints int             `json:"endpoints"`
	Count     int             `json:"count"`   // of changed prices
	Rise      int             `json:"rise"`    // of those that rise
	Changes   []PriceChange   `json:"changes"` // the first 200
	Questions []PriceQuestion `json:"questions"`
	Effect    PriceEffect     `json:"effect"`
}

// ListOfDraft is a price list that takes effect with a draft.
type ListOfDraft struct {
	Version string `json:"version"`
	AsOf    string `json:"as_of"` // its day
}

// DraftOfPrices is the draft, or none.
type DraftOfPrices struct {
	Draft *PriceDraft `json:"draft"`
}

// mostChanges is how many changes an answer has.
const mostChanges = 200

type (
	draftVersion struct {
		Version int64 `json:"-" query:"version" most:"9007199254740992"` // of the draft; without it, there is none
	}
	draftEdit struct {
		ID      string        `json:"-" path:"id"`                               // of the endpoint, with its slashes encoded, such as hut%2Facme%2Ftiny
		Version int64         `json:"-" query:"version" most:"9007199254740992"` // of the draft; without it, there is none
		Row     operation.Raw `json:"-" body:"EndpointChange"`
	}
	draftEndpoint struct {
		ID      string `json:"-" path:"id"`                               // of the endpoint, with its slashes encoded, such as hut%2Facme%2Ftiny
		Version int64  `json:"-" query:"version" most:"9007199254740992"` // of the draft
	}
	raise struct {
		Percent string `json:"percent"` // by how much prices change, such as 10 or -5
		ChosenEndpoints
	}
	marginOfMany struct {
		Margin string `json:"margin"` // as a fraction, such as 0.15; "" for that of all
		ChosenEndpoints
	}
)

// ChosenEndpoints are those that a draft changes by one rule.
type ChosenEndpoints struct {
	Endpoints []string `json:"endpoints,omitempty" null:"none"` // ids; without them all that are in use
	Provider  string   `json:"provider,omitempty" null:"none"`  // only endpoints of the provider of this id
	Vendor    string   `json:"vendor,omitempty" null:"none"`    // only models of this vendor
	Search    string   `json:"q,omitempty" null:"none"`         // only endpoints whose id contains this
	Version   int64    `json:"version,omitempty" minimum:"0"`   // of the draft; without it, there is none
}

func (e *ChosenEndpoints) raise(percent string) edit.Raise {
	return edit.Raise{Percent: percent, Endpoints: e.Endpoints, Provider: e.Provider, Vendor: e.Vendor, Search: e.Search}
}

func (o priceOperations) shown(ctx context.Context, c *operation.Call, d *edit.Draft, err error) (out DraftOfPrices, _ error) {
	if err != nil || d == nil {
		return out, err
	}
	p, err := o.Preview(ctx, d)
	if err != nil {
		return out, err
	}
	sold, from, err := o.week.at(ctx, c.At)
	if err != nil {
		return out, err
	}
	names, err := o.named(ctx, *d)
	if err != nil {
		return out, err
	}
	out.Draft = draftOf(d, p)
	out.Draft.ActorName = accountapi.OrNull(names[actorID(d.Actor)])
	e := p.Effect(sold)
	out.Draft.Effect = PriceEffect{From: from, Revenue: e.Revenue, Changes: e.Changes, VAT: e.VAT, VATDraft: e.VATDraft, Cost: e.Cost, CostDraft: e.CostDraft, Margin: e.Margin, MarginDraft: e.MarginDraft, CostUnknown: e.CostUnknown,
		Unknown: append([]string{}, e.Unknown...)}
	return out, nil
}

// named are the names of those who made drafts.
func (o priceOperations) named(ctx context.Context, drafts ...edit.Draft) (map[string]string, error) {
	return namesOf(ctx, o.log, drafts, func(d *edit.Draft) string { return actorID(d.Actor) })
}

func listOf(p *edit.Prices) *ListOfDraft {
	if p.List == "" {
		return nil
	}
	return &ListOfDraft{p.List, p.AsOf}
}

func draftOf(d *edit.Draft, p *edit.Preview) *PriceDraft {
	out := &PriceDraft{Version: d.Version, Actor: d.Actor, At: d.At, List: listOf(&d.Prices), Endpoints: p.Endpoints(d), Count: len(p.Changes), Changes: []PriceChange{}, Questions: []PriceQuestion{}}
	price := func(p money.Price) *string {
		if !p.Set {
			return nil
		}
		text := p.String()
		return &text
	}
	for i, c := range p.Changes {
		if c.New.Nano > c.Old.Nano {
			out.Rise++
		}
		if i < mostChanges {
			out.Changes = append(out.Changes, PriceChange{c.Endpoint, c.Name, c.Per, price(c.Old), price(c.New)})
		}
	}
	for _, q := range p.Questions[:min(len(p.Questions), mostChanges)] {
		out.Questions = append(out.Questions, PriceQuestion{q.Kind, q.Endpoint, accountapi.OrNull(q.Margin), accountapi.OrNull(q.Name), price(q.Price), price(q.Cost), price(q.Old)})
	}
	return out
}

func (o priceOperations) edit(ctx context.Context, c *operation.Call, in *draftEdit) (out DraftOfPrices, err error) {
	change, err := readChange(edit.Endpoint, in.ID, in.Row)
	if err != nil {
		return out, err
	}
	d, err := o.EditDraft(ctx, in.Version, []edit.Edit{{ID: in.ID, Set: change.Set, Unset: change.Unset}}, c.Actor)
	return o.shown(ctx, c, d, err)
}

func draftRoutes(o priceOperations) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/prices/draft", ID: "getPriceDraft", Access: operation.Operating, Tag: "administration",
			Summary: "Show the draft of prices: what it changes, and its effect on the last seven days", Answer: "The draft, or null",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (DraftOfPrices, error) {
			d, err := o.Draft(ctx)
			return o.shown(ctx, c, d, err)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/prices/draft", ID: "discardPriceDraft", Access: operation.Administration, Tag: "administration",
			Summary: "Discard the draft of prices", Answer: "It is discarded",
		}, func(ctx context.Context, _ *operation.Call, in *draftVersion) (operation.Deleted, error) {
			return operation.Deleted{}, o.DropDraft(ctx, in.Version)
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/admin/prices/draft/{id}", ID: "editPriceDraft", Access: operation.Administration, Tag: "administration",
			Summary: "Change an endpoint in the draft of prices", Description: "Members are merged into what the draft changes; null unsets. Nothing takes effect before the draft is published.",
			Answer: "The draft", Example: `{"margin": "0.2"}`,
		}, o.edit),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/prices/draft/{id}", ID: "leaveOutOfPriceDraft", Access: operation.Administration, Tag: "administration",
			Summary: "Take an endpoint out of the draft of prices", Answer: "The draft, or null when it changes nothing any more",
		}, func(ctx context.Context, c *operation.Call, in *draftEndpoint) (DraftOfPrices, error) {
			d, err := o.EditDraft(ctx, in.Version, []edit.Edit{{ID: in.ID}}, c.Actor)
			return o.shown(ctx, c, d, err)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/raise", ID: "raisePrices", Access: operation.Administration, Tag: "administration",
			Summary: "Raise or lower prices by a percentage, in the draft", Answer: "The draft", Example: `{"percent": "10"}`,
			Description: "Prices in dollars are raised by their margin, so that they still follow price list and rate; those in rubles by themselves, rounded up to the last digit. Endpoints that the configuration declares are left out.",
		}, func(ctx context.Context, c *operation.Call, in *raise) (DraftOfPrices, error) {
			d, err := o.RaiseDraft(ctx, in.Version, in.raise(in.Percent), c.Actor)
			return o.shown(ctx, c, d, err)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/margin", ID: "setMargins", Access: operation.Administration, Tag: "administration",
			Summary: "Set the margin of endpoints, in the draft", Answer: "The draft", Example: `{"margin": "0.15", "vendor": "openai"}`,
			Description: "Of endpoints whose prices are in dollars. Endpoints that the configuration declares are left out.",
		}, func(ctx context.Context, c *operation.Call, in *marginOfMany) (DraftOfPrices, error) {
			d, err := o.MarginDraft(ctx, in.Version, in.Margin, in.raise(""), c.Actor)
			return o.shown(ctx, c, d, err)
		}),
	}
}
