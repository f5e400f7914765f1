package adminapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"weir/internal/accountapi"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rate"
)

// PricesInForce is what calls are charged by now, and where it comes from.
type PricesInForce struct {
	Base   map[string]string `json:"base"`   // rubles per 1000 tokens or characters, or for one minute, request, search or image; source has those of images and video
	List   string            `json:"list"`   // price list that the prices come from; database-N is from version N of the catalog
	Rate   *string           `json:"rate"`   // for the conversion of dollar prices
	Source *string           `json:"source"` // the prices as they were written
}

// AdminEndpoint is an endpoint as operators see it.
type AdminEndpoint struct {
	Ownership
	Provider      string          `json:"provider"`
	Model         string          `json:"model"`
	Region        *string         `json:"region"`
	Tier          string          `json:"tier"`
	Variant       string          `json:"variant"`
	UpstreamID    string          `json:"upstream_id"`
	UpstreamModel *string         `json:"upstream_model"` // the maker's name of the model, where upstream_id is a name of the operator's own, as of an Azure deployment
	Quantization  *string         `json:"quantization"`
	ContextLength int64           `json:"context_length"`
	MaxOutput     int64           `json:"max_output"`
	MaxInFlight   int64           `json:"max_in_flight"` // 0: the node's default
	Pricing       PricesInForce   `json:"pricing"`
	Margin        *string         `json:"margin"`  // part of the price, such as 0.15, where prices are in dollars; null: they are written in rubles
	APIKey        *ProviderSecret `json:"api_key"` // of its provider
	Absence       *Absence        `json:"absence"` // why it is out of service, of the endpoint itself, its model at the provider or the provider; null: it is not
	Health        EndpointHealth  `json:"health"`
	Written
}

func endpointOf(b *edit.Built, v *edit.EndpointView, s *console.Standing, away *edit.Out) AdminEndpoint {
	upstream := v.UpstreamID
	if upstream == "" {
		_, upstream, _ = strings.Cut(v.Model, "/")
	}
	p := &v.Pricing
	base := map[string]string{}
	for _, name := range catalog.PriceNames() {
		if f := p.Base.Field(name); f.Set {
			base[name] = f.String()
		}
	}
	for i, kind := range catalog.NamedRates() {
		if price := p.Rates.Each()[i]; price.Set {
			base[kind.Name] = price.String()
		}
	}
	var secret *ProviderSecret
	if at := b.Provider(v.Provider); at != nil {
		secret = secretOf(at)
	}
	return AdminEndpoint{
		Margin: accountapi.OrNull(rate.PartsOf(p.Rate).Margin), APIKey: secret, Absence: absenceOf(away), Health: healthOf(s),
		Ownership: ownershipOf(v.ID, v.Origin, v.Where, v.On, v.Row), Provider: v.Provider, Model: v.Model, Region: accountapi.OrNull(v.Region), Tier: cmp.Or(v.Tier, "default"),
		Variant: cmp.Or(v.Variant, "standard"), UpstreamID: upstream, UpstreamModel: accountapi.OrNull(v.UpstreamModel), Quantization: accountapi.OrNull(v.Quantization),
		ContextLength: v.ContextLength, MaxOutput: v.MaxCompletion, MaxInFlight: v.MaxInFlight,
		Pricing: PricesInForce{Base: base, List: p.List, Rate: accountapi.OrNull(p.Rate), Source: accountapi.OrNull(p.Source)}, Written: writtenOf(v.Row),
	}
}

type listEndpoints struct {
	Provider string `json:"-" query:"provider"` // only endpoints of the provider of this id
	Model    string `json:"-" query:"model"`    // only endpoints of this model
	Origin   string `json:"-" query:"origin" enum:"builtin,file,database,server"`
	State    string `json:"-" query:"state" enum:"healthy,slow,ejected,draining,off"`
	Text     string `json:"-" query:"q"`                       // only endpoints with this in their ids, in the names of their providers, or at the end of the key
	Order    string `json:"-" query:"order" enum:"id,trouble"` // trouble: those that are not well first, then the busiest; by id without it
	After    string `json:"-" query:"after"`                   // next of the page before
	Limit    int    `json:"-" query:"limit" most:"200"`        // rows of the page; 50 without it
}

// AdminEndpoints is a page of endpoints.
type AdminEndpoints struct {
	accountapi.List[AdminEndpoint]
	Counts EndpointCount `json:"counts"` // of all that were asked for, whatever their state
}

// stands is an endpoint with how it stands.
type stands struct {
	*edit.EndpointView
	console.Standing
	away *edit.Out
}

// standing are endpoints of the catalog that fit, by id, with how they stand.
func standing(ctx context.Context, c *console.Console, b *edit.Built, nodes []console.Node, fits func(*edit.EndpointView) bool) ([]stands, error) {
	var out []stands
	var ids []string
	for i := range b.Endpoints {
		if v := &b.Endpoints[i]; fits(v) {
			out, ids = append(out, stands{EndpointView: v}), append(ids, v.ID)
		}
	}
	all, err := c.Standings(ctx, nodes, ids)
	if err != nil {
		return nil, err
	}
	for i := range out {
		s := &out[i]
		s.Standing = all[s.ID]
		if s.away = b.OutOf(s.EndpointView, c.Now()); s.away != nil {
			s.Away(s.away)
		}
		if !s.On {
			s.State = console.Off
		}
	}
	return out, nil
}

func (o catalogOperations) endpoints(ctx context.Context, _ *operation.Call, in *listEndpoints) (out AdminEndpoints, err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	is := func(want, v string) bool { return want == "" || want == v }
	all, err := standing(ctx, o.Console, b, o.Console.Nodes(), func(v *edit.EndpointView) bool {
		return is(in.Provider, v.Provider) && is(in.Model, v.Model) && is(in.Origin, string(v.Origin)) && hasText(b, v, in.Text)
	})
	if err != nil {
		return out, err
	}
	for i := range all {
		out.Counts.add(string(all[i].State))
	}
	if in.Order == "trouble" {
		slices.SortStableFunc(all, func(x, y stands) int {
			return cmp.Or(cmp.Compare(unwell(string(x.State)), unwell(string(y.State))), cmp.Compare(y.PerHour, x.PerHour))
		})
	}
	after := 0
	if in.After != "" {
		after = slices.IndexFunc(all, func(s stands) bool {
			return s.ID == in.After || in.Order != "trouble" && s.ID > in.After
		})
		if after < 0 {
			after = len(all)
		} else if all[after].ID == in.After {
			after++
		}
	}
	rows := cmp.Or(in.Limit, 50)
	out.Data = []AdminEndpoint{}
	for i := range all[after:] {
		s := &all[after+i]
		if !is(in.State, string(s.State)) {
			continue
		}
		if len(out.Data) == rows {
			out.Next = &out.Data[rows-1].ID
			break
		}
		out.Data = append(out.Data, endpointOf(b, s.EndpointView, &s.Standing, s.away))
	}
	return out, nil
}

// hasText reports whether an endpoint has a text in what it is known by.
func hasText(b *edit.Built, v *edit.EndpointView, text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || strings.Contains(strings.ToLower(v.ID), text) {
		return true
	}
	p := b.Provider(v.Provider)
	return p != nil && (strings.Contains(strings.ToLower(p.Name), text) || len(text) >= 3 && p.Row != nil && slices.ContainsFunc(p.Row.Keys, func(k edit.Key) bool { return strings.HasSuffix(strings.ToLower(k.Last4), text) }))
}

func (o catalogOperations) endpoint(ctx context.Context, b *edit.Built, id string) (out operation.Data[AdminEndpoint], err error) {
	if b.Endpoint(id) == nil {
		return out, fault.New(fault.NotFound, "adminapi.endpoint", "There is no such endpoint.")
	}
	all, err := standing(ctx, o.Console, b, o.Console.Nodes(), func(v *edit.EndpointView) bool { return v.ID == id })
	if err != nil {
		return out, err
	}
	out.Data = endpointOf(b, all[0].EndpointView, &all[0].Standing, all[0].away)
	return out, nil
}

func endpointRoutes(o catalogOperations) []operation.Operation {
	const merged = "Members are merged into the endpoint's row in the database; lists are replaced, null unsets. If the database has any price of an endpoint, all its prices are those of the database."
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/endpoints", ID: "listAdminEndpoints", Access: operation.Operating, Tag: "administration",
			Summary: "List endpoints with the prices of calls", Answer: "The endpoints",
		}, o.endpoints),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/endpoints", ID: "addAdminEndpoint", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Add an endpoint to the database", Answer: "The endpoint",
			Example: `{"provider": "mill", "model": "mill/small", "context_length": 8000, "price_usd": {"prompt": "0.6", "completion": "0.9"}, "params": ["tools"]}`,
		}, func(ctx context.Context, c *operation.Call, in *newEndpoint) (out operation.Data[AdminEndpoint], err error) {
			b, id, err := o.change(ctx, c, edit.Endpoint, "", in.Row)
			if err != nil {
				return out, err
			}
			return o.endpoint(ctx, b, id)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/endpoints/{id}", ID: "getAdminEndpoint", Access: operation.Operating, Tag: "administration",
			Summary: "Describe one endpoint", Answer: "The endpoint",
		}, func(ctx context.Context, _ *operation.Call, in *endpointID) (out operation.Data[AdminEndpoint], err error) {
			b, err := o.Built(ctx)
			if err != nil {
				return out, err
			}
			return o.endpoint(ctx, b, in.ID)
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/admin/endpoints/{id}", ID: "changeAdminEndpoint", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Change, price, disable or enable an endpoint that is in the database or built in", Description: merged, Answer: "The endpoint", Example: `{"context_length": 16000}`,
		}, func(ctx context.Context, c *operation.Call, in *endpointChange) (out operation.Data[AdminEndpoint], err error) {
			b, id, err := o.change(ctx, c, edit.Endpoint, in.ID, in.Row)
			if err != nil {
				return out, err
			}
			return o.endpoint(ctx, b, id)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/endpoints/{id}", ID: "removeAdminEndpoint", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Remove the database's row of an endpoint; a built-in one returns to its original state", Answer: "It is removed",
		}, func(ctx context.Context, c *operation.Call, in *endpointRemoval) (operation.Deleted, error) {
			return o.remove(ctx, c, edit.Endpoint, in.ID, &in.Gone)
		}),
	}
}
