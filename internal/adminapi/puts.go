package adminapi

import (
	"context"

	"weir/internal/accountapi"
	"weir/internal/catalog/edit"
	"weir/internal/operation"
	"weir/internal/rate"
)

// Only says under which conditions something is put.
type Only struct {
	Version int64 `json:"-" query:"version" most:"9007199254740991"` // only if it has this version: somebody else's change meanwhile is answered with 409
	New     bool  `json:"-" query:"new"`                             // only if it is not there yet
	DryRun  bool  `json:"-" query:"dry_run"`                         // checks and answers as if it were put, and changes nothing
}

func (o *Only) condition() edit.Condition {
	return edit.Condition{New: o.New, Version: o.Version, Dry: o.DryRun}
}

// Gone says under which conditions something is removed.
type Gone struct {
	Version int64 `json:"-" query:"version" most:"9007199254740991"` // only if it has this version: somebody else's change meanwhile is answered with 409
	DryRun  bool  `json:"-" query:"dry_run"`                         // checks, and removes nothing
}

func (g *Gone) condition() edit.Condition {
	return edit.Condition{Version: g.Version, Dry: g.DryRun}
}

type (
	providerPut struct {
		ID  string        `json:"-" path:"id"` // of the provider
		Row operation.Raw `json:"-" body:"ProviderChange"`
		Only
	}
	endpointPut struct {
		ID  string        `json:"-" path:"id"` // of the endpoint, with its slashes encoded, such as hut%2Facme%2Ftiny
		Row operation.Raw `json:"-" body:"EndpointChange"`
		Only
	}
	ratePut struct {
		Rate   operation.Decimal `json:"rate,omitempty" null:"none"`
		Margin operation.Decimal `json:"margin,omitempty" null:"none"`
		Only
	}
)

// put makes a row what a body says, null as good as nothing.
func (o catalogOperations) put(ctx context.Context, c *operation.Call, k edit.Kind, id string, body operation.Raw, only *Only) (*edit.Built, string, error) {
	change, err := readChange(k, id, body)
	if err != nil {
		return nil, "", err
	}
	b, done, err := o.Put(ctx, edit.Put{Kind: k, ID: id, Set: change.Set, Key: change.Key, Condition: only.condition()}, c.Actor)
	return b, string(done), err
}

func (o catalogOperations) putProvider(ctx context.Context, c *operation.Call, in *providerPut) (out accountapi.Put[AdminProvider], err error) {
	b, done, err := o.put(ctx, c, edit.Provider, in.ID, in.Row, &in.Only)
	if err != nil {
		return out, err
	}
	p, err := o.provider(b, in.ID)
	return accountapi.Put[AdminProvider]{Result: done, Data: p.Data}, err
}

func (o catalogOperations) putEndpoint(ctx context.Context, c *operation.Call, in *endpointPut) (out accountapi.Put[AdminEndpoint], err error) {
	b, done, err := o.put(ctx, c, edit.Endpoint, in.ID, in.Row, &in.Only)
	if err != nil {
		return out, err
	}
	e, err := o.endpoint(ctx, b, in.ID)
	return accountapi.Put[AdminEndpoint]{Result: done, Data: e.Data}, err
}

func (o catalogOperations) putRate(ctx context.Context, c *operation.Call, in *ratePut) (out accountapi.Put[RateInForce], err error) {
	done, err := o.PutRate(ctx, rate.Record{Source: rate.Manual, RubPerUSD: string(in.Rate), Margin: string(in.Margin)}, in.condition(), c.Actor)
	if err != nil {
		return out, err
	}
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	return accountapi.Put[RateInForce]{Result: string(done), Data: rateInForceOf(&b.Rate)}, nil
}

func putRoutes(o catalogOperations) []operation.Operation {
	const whole = "The body is the whole row of the database: a member that is missing or null is unset. Prices that no member has are those built in. Sent again, it changes nothing. "
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/providers/{id}", ID: "putAdminProvider", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Make a provider what the body says, whether or not it is there", Answer: "The provider, and whether anything changed",
			Description: whole + "A key stays where neither `api_key` nor `api_key_env` is given; `\"api_key\": null` takes it away.",
			Example:     `{"name": "Mill", "base_url": "https://mill.example/v1"}`,
		}, o.putProvider),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/endpoints/{id}", ID: "putAdminEndpoint", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Make an endpoint what the body says, whether or not it is there", Answer: "The endpoint, and whether anything changed", Description: whole,
			Example: `{"provider": "mill", "model": "mill/small", "context_length": 8000, "price_usd": {"prompt": "0.6", "completion": "0.9"}}`,
		}, o.putEndpoint),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/rates/current", ID: "putAdminRate", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Have the rate, the margin or both be what the body says, from now on", Answer: "The rate, and whether anything changed",
			Description: "What is so already is not set again. `version` is that of the newest record in the list of rates.", Example: `{"rate": "81.5", "margin": "0.15"}`,
		}, o.putRate),
	}
}
