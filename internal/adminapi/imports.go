package adminapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/operation"
)

// Importer takes changes of the public price lists into drafts.
type Importer interface {
	LastImport(ctx context.Context) (*edit.Import, []edit.ListChange, error)
	Taken(d *edit.Draft, i *edit.Import, changes []edit.ListChange) map[string]bool
	TakeImport(ctx context.Context, version int64, t edit.Take, by audit.Actor) (*edit.Draft, error)
	LeaveImport(ctx context.Context, version int64, by audit.Actor) (*edit.Draft, error)
}

// PriceFetcher fetches the public price lists, one at a time.
type PriceFetcher interface {
	// Fetch returns what happened to the lists, one line each, also when it fails. It fails with fault.Conflict while another one runs.
	Fetch(ctx context.Context, by audit.Actor) (notes []string, err error)
	// Fetching is the one that runs, nil without one.
	Fetching(ctx context.Context) (*PriceFetching, error)
}

// PriceFetching is a fetch of the public price lists that runs.
type PriceFetching struct {
	BeganAt time.Time `json:"began_at"`
	Done    int       `json:"done"` // lists
	Of      int       `json:"of"`   // 0 before the first one
}

// PriceFetched is what became of a fetch.
type PriceFetched struct {
	Notes []string      `json:"notes"` // what happened to the lists, one line each
	Error *PriceFailure `json:"error"` // why there is no new import; null: there is one
}

// PriceFailure is why lists could not be used.
type PriceFailure struct {
	Code    *string `json:"code"`
	Message string  `json:"message"`
}

// PriceImport is the list that was made last of the public price lists. It is not in use.
type PriceImport struct {
	At        time.Time     `json:"at"`
	Actor     string        `json:"actor"` // who had it made; weir: a node by itself
	ActorName *string       `json:"actor_name"`
	AsOf      string        `json:"as_of"`    // its day
	Notes     []string      `json:"notes"`    // what happened to the public lists, one line each
	Differs   int           `json:"differs"`  // prices on which the public lists disagree, and that were not taken
	LeftOut   int           `json:"left_out"` // ids
	Counts    []ImportCount `json:"counts"`
}

// ImportCount is how many offers differ in one way.
type ImportCount struct {
	Kind  string `json:"kind" enum:"new,raised,lowered,gone,limits"`
	Count int    `json:"count"`
}

// ImportChange is an offer of a provider that differs from the price list in use.
type ImportChange struct {
	Offer    string        `json:"offer"`                                      // its id
	Kind     string        `json:"kind" enum:"new,raised,lowered,gone,limits"` // limits: no price differs; raised: some prices may fall
	Provider string        `json:"provider"`
	Model    string        `json:"model"`
	Source   *string       `json:"source"` // public lists that have its prices
	Taken    bool          `json:"taken"`  // the draft has it
	Prices   []ImportPrice `json:"prices"`
}

// ImportPrice is a price in dollars, or a length in tokens.
type ImportPrice struct {
	Name string  `json:"name"`
	Old  *string `json:"old"`
	New  *string `json:"new"`
}

// PriceImports is a page of changes, and the import that they are of.
type PriceImports struct {
	Import   *PriceImport   `json:"import"`   // null: the public lists were not fetched yet
	Fetching *PriceFetching `json:"fetching"` // null: they are not being fetched
	Data     []ImportChange `json:"data"`     // by kind
	Next     *int           `json:"next"`     // value of skip for the next page
}

type (
	listImport struct {
		Kind   string `json:"-" query:"kind" enum:"new,raised,lowered,gone,limits"`
		Search string `json:"-" query:"q"`                  // only offers whose id or model contains this
		Skip   int    `json:"-" query:"skip" most:"100000"` // next of the page before
		Limit  int    `json:"-" query:"limit" most:"200"`   // rows of the page; 50 without it
	}
	takeImport struct {
		Offers   []string `json:"offers,omitempty" null:"none"` // ids; without them all
		Kind     string   `json:"kind,omitempty" null:"none" enum:"new,raised,lowered,gone,limits"`
		Search   string   `json:"q,omitempty" null:"none"`        // only offers whose id or model contains this
		Provider string   `json:"provider,omitempty" null:"none"` // only offers of the provider of this id
		Vendor   string   `json:"vendor,omitempty" null:"none"`   // only models of this vendor
		Model    string   `json:"model,omitempty" null:"none"`    // only offers of this model
		Version  int64    `json:"version,omitempty" minimum:"0"`  // of the draft; without it, there is none
	}
)

func (o priceOperations) imported(ctx context.Context, _ *operation.Call, in *listImport) (out PriceImports, err error) {
	out.Data = []ImportChange{}
	if out.Fetching, err = o.fetcher.Fetching(ctx); err != nil {
		return out, err
	}
	i, changes, err := o.LastImport(ctx)
	if err != nil || i == nil {
		return out, err
	}
	names, err := o.named(ctx, edit.Draft{Actor: i.Actor})
	if err != nil {
		return out, err
	}
	d, err := o.Draft(ctx)
	if err != nil {
		return out, err
	}
	out.Import = &PriceImport{At: i.At, Actor: i.Actor, ActorName: accountapi.OrNull(names[actorID(i.Actor)]), AsOf: i.AsOf, Notes: append([]string{}, i.Notes...), Differs: i.Differs, LeftOut: i.Refused, Counts: countsOf(changes)}
	taken := o.Taken(d, i, changes)
	chosen := slices.DeleteFunc(changes, func(c edit.ListChange) bool { return !(&edit.Take{Kind: in.Kind, Search: in.Search}).Chooses(&c) })
	end := min(in.Skip+cmp.Or(in.Limit, 50), len(chosen))
	for _, c := range chosen[min(in.Skip, end):end] {
		one := ImportChange{c.Offer, c.Kind, c.Provider, c.Model, accountapi.OrNull(i.Source(c.Offer)), taken[c.Offer], []ImportPrice{}}
		for _, p := range c.Prices {
			one.Prices = append(one.Prices, ImportPrice{p.Name, accountapi.OrNull(p.Old), accountapi.OrNull(p.New)})
		}
		out.Data = append(out.Data, one)
	}
	if end < len(chosen) {
		out.Next = &end
	}
	return out, nil
}

func countsOf(changes []edit.ListChange) []ImportCount {
	out := []ImportCount{}
	for _, kind := range edit.ListKinds {
		one := ImportCount{Kind: kind}
		for i := range changes {
			if changes[i].Kind == kind {
				one.Count++
			}
		}
		out = append(out, one)
	}
	return out
}

func importRoutes(o priceOperations) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/prices/import", ID: "getPriceImport", Access: operation.Operating, Tag: "administration",
			Summary: "Show by what the public price lists, as they were fetched last, differ from the list in use", Answer: "The import, and its changes",
		}, o.imported),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/import/fetch", ID: "fetchPriceImport", Access: operation.Administration, Tag: "administration",
			Summary: "Fetch the public price lists now", Answer: "What happened to each list",
			Description: "As `weir catalog update`: nothing takes effect. It takes up to two minutes; `fetching` of the import says how far it is. One runs at a time, on whatever node.",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out PriceFetched, err error) {
			notes, err := o.fetcher.Fetch(ctx, c.Actor)
			out.Notes = append([]string{}, notes...)
			if f := fault.From(err); err != nil && f.Kind == fault.Invalid { // of the lists: what was fetched is kept
				out.Error, err = &PriceFailure{accountapi.OrNull(f.Code), f.Public}, nil
			}
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/import", ID: "takePriceImport", Access: operation.Administration, Tag: "administration",
			Summary: "Take changes of the public price lists into the draft of prices", Answer: "The draft", Example: `{"kind": "lowered"}`,
			Description: "All of them, those of a kind, or single offers. Nothing takes effect before the draft is published.",
		}, func(ctx context.Context, c *operation.Call, in *takeImport) (DraftOfPrices, error) {
			d, err := o.TakeImport(ctx, in.Version, edit.Take{Offers: in.Offers, Kind: in.Kind, Search: in.Search, Provider: in.Provider, Vendor: in.Vendor, Model: in.Model}, c.Actor)
			return o.shown(ctx, c, d, err)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/prices/import", ID: "leavePriceImport", Access: operation.Administration, Tag: "administration",
			Summary: "Leave the price list out of the draft of prices", Answer: "The draft, or null when it changes nothing any more",
		}, func(ctx context.Context, c *operation.Call, in *draftVersion) (DraftOfPrices, error) {
			d, err := o.LeaveImport(ctx, in.Version, c.Actor)
			return o.shown(ctx, c, d, err)
		}),
	}
}
