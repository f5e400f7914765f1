package adminapi

import (
	"cmp"
	"context"
	"slices"

	"weir/internal/accountapi"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/money"
	"weir/internal/operation"
)

// PriceLine is one price of an endpoint.
type PriceLine struct {
	Name  string  `json:"name"` // kind of price, with what limits it, such as prompt above 200000
	Per   string  `json:"per"`  // what it is for, such as 1000 tokens
	USD   *string `json:"usd"`  // of the source: per million tokens or characters, else per one; null for prices in rubles
	Price string  `json:"price"`
	VAT   string  `json:"vat"`  // contained in price
	Cost  *string `json:"cost"` // what the provider takes, with the tax that price contains; null where only the price is known
	Draft *string `json:"draft"`

	Image *ImageLine `json:"image"` // of which line of images it is the price; null for other prices
	Video *VideoLine `json:"video"` // of which line of video
}

// ImageLine is what a price of images is for, as PUT of an endpoint has it.
type ImageLine struct {
	Component  string  `json:"component" enum:"text_input,image_input,image_output,text_output"`
	Unit       string  `json:"unit" enum:"tokens_1k,image,megapixel"`
	Variant    *string `json:"variant"`
	Resolution *string `json:"resolution"`
	Basis      *string `json:"basis" enum:"supplier_rate,fixed"`
}

// VideoLine is what a price of video is for, as PUT of an endpoint has it.
type VideoLine struct {
	Resolution *string `json:"resolution"` // null: any
	WithAudio  bool    `json:"with_audio"`
}

// priceLineOf is a price with what it is for.
func priceLineOf(l *catalog.PriceLine) PriceLine {
	out := PriceLine{Name: l.Name, Per: l.Per, USD: accountapi.OrNull(l.Price.Dollars)}
	if x := l.Image; x != nil {
		out.Image = &ImageLine{x.Component, x.Unit, accountapi.OrNull(x.Variant), accountapi.OrNull(x.Resolution), accountapi.OrNull(x.Basis)}
	}
	if x := l.Video; x != nil {
		out.Video = &VideoLine{accountapi.OrNull(x.Resolution), x.WithAudio}
	}
	return out
}

// PricedEndpoint is an endpoint as the editor of prices shows it.
type PricedEndpoint struct {
	Ownership
	Provider  string      `json:"provider"`
	Model     string      `json:"model"`
	Margin    string      `json:"margin"` // of prices in dollars, as a fraction
	OwnMargin bool        `json:"own_margin"`
	Dollar    string      `json:"dollar"` // what a dollar costs with it, in rubles
	List      string      `json:"list"`   // price list that the prices come from; database-N is from version N of the catalog
	Prices    []PriceLine `json:"prices"`
	Drafted   *Drafted    `json:"drafted"` // null: the draft leaves it as it is
	Calls     int64       `json:"calls"`   // of the last seven days
	Revenue   string      `json:"revenue"` // from them, in rubles
}

// Drafted is what the draft makes of an endpoint.
type Drafted struct {
	Margin string           `json:"margin"`
	Dollar string           `json:"dollar"`
	Set    operation.Object `json:"set"`
}

// PricedEndpoints is a page of endpoints, and what holds for all of them.
type PricedEndpoints struct {
	Rate RateInForce      `json:"rate"`
	Data []PricedEndpoint `json:"data"`
	Next *string          `json:"next"` // value of after for the next page
}

type listPrices struct {
	Search   string `json:"-" query:"q"`        // only endpoints whose id contains this
	Provider string `json:"-" query:"provider"` // only endpoints of the provider of this id
	Origin   string `json:"-" query:"origin" enum:"builtin,file,database,server"`
	Changed  bool   `json:"-" query:"changed"`          // only those that the draft changes
	After    string `json:"-" query:"after"`            // next of the page before
	Limit    int    `json:"-" query:"limit" most:"200"` // rows of the page; 50 without it
}

type priceOperations struct {
	PriceEditor
	log     AuditLog
	week    *week
	fetcher PriceFetcher
}

// PriceEditor changes prices in drafts. *edit.Editor is one.
type PriceEditor interface {
	Editor
	DraftEditor
	Publisher
	Importer
}

// rows lists endpoints with their prices, and with those of the draft.
func (o priceOperations) rows(ctx context.Context, c *operation.Call, in *listPrices) (out PricedEndpoints, err error) {
	d, err := o.Draft(ctx)
	if err != nil {
		return out, err
	}
	p := &edit.Preview{}
	if d == nil {
		p.Before, err = o.Built(ctx)
		p.After = p.Before
	} else {
		p, err = o.Preview(ctx, d)
	}
	if err != nil {
		return out, err
	}
	sold, _, err := o.week.at(ctx, c.At)
	if err != nil {
		return out, err
	}
	out.Rate, out.Data = rateInForceOf(&p.Before.Rate), []PricedEndpoint{}
	rows := cmp.Or(in.Limit, 50)
	for i := range p.Before.Endpoints {
		v := &p.Before.Endpoints[i]
		drafted := d.Of(v.ID)
		if v.ID <= in.After || in.Provider != "" && in.Provider != v.Provider || in.Origin != "" && in.Origin != string(v.Origin) || !edit.Matches(v.ID, in.Search) ||
			in.Changed && drafted == nil || !v.On && v.Row == nil {
			continue
		}
		if len(out.Data) == rows {
			out.Next = &out.Data[rows-1].ID
			break
		}
		one := pricedOf(p.Before, v, sold[v.ID])
		if drafted != nil {
			one.draft(p.After, drafted)
		}
		out.Data = append(out.Data, one)
	}
	return out, nil
}

func pricedOf(b *edit.Built, v *edit.EndpointView, sold edit.Sold) PricedEndpoint {
	margin, own := b.Margin(v)
	out := PricedEndpoint{
		Ownership: ownershipOf(v.ID, v.Origin, v.Where, v.On, v.Row), Provider: v.Provider, Model: v.Model, Margin: margin, OwnMargin: own, Dollar: b.Dollar(margin),
		List: v.Pricing.List, Prices: []PriceLine{}, Calls: sold.Calls, Revenue: sold.Revenue.String(),
	}
	costs := map[string]string{}
	for _, l := range b.Costs(v) {
		costs[l.Name] = l.Price.String()
	}
	for _, l := range v.Pricing.Lines() {
		line := priceLineOf(&l)
		line.Price, line.VAT, line.Cost = l.Price.String(), b.Rate.VAT.Part(money.Nano(l.Price.Nano)).String(), accountapi.OrNull(costs[l.Name])
		out.Prices = append(out.Prices, line)
	}
	return out
}

// draft adds what the draft makes of the endpoint.
func (p *PricedEndpoint) draft(after *edit.Built, e *edit.Edit) {
	v := after.Endpoint(p.ID)
	if v == nil {
		return
	}
	margin, _ := after.Margin(v)
	p.Drafted = &Drafted{Margin: margin, Dollar: after.Dollar(margin), Set: specOf(edit.Endpoint, e.Set)}
	for _, l := range v.Pricing.Lines() {
		text := l.Price.String()
		found := false
		for i := range p.Prices {
			if p.Prices[i].Name == l.Name {
				p.Prices[i].Draft, found = &text, true
			}
		}
		if !found {
			line := priceLineOf(&l)
			line.Price, line.VAT, line.Draft = "0", "0", &text
			p.Prices = append(p.Prices, line)
		}
	}
}

func priceRoutes(d Deps) []operation.Operation {
	prices, _ := d.Editor.(PriceEditor)
	o := priceOperations{prices, d.Audit, &week{sales: d.Sales}, d.Fetch}
	list := operation.Of(operation.Operation{
		Method: "GET", Path: "/api/admin/prices", ID: "listAdminPrices", Access: operation.Operating, Tag: "administration",
		Summary: "List endpoints with their prices in dollars and in rubles, margin and tax, and with those of the draft", Answer: "The endpoints by id",
	}, o.rows)
	return append([]operation.Operation{list}, slices.Concat(draftRoutes(o), publicationRoutes(o), importRoutes(o))...)
}
