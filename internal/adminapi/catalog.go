package adminapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rate"
)

// Editor changes the catalog at run time. *edit.Editor is one.
type Editor interface {
	Built(ctx context.Context) (*edit.Built, error)
	Change(ctx context.Context, c edit.Change, by audit.Actor) (*edit.Built, error)
	Put(ctx context.Context, p edit.Put, by audit.Actor) (*edit.Built, edit.Outcome, error)
	PutRate(ctx context.Context, r rate.Record, only edit.Condition, by audit.Actor) (edit.Outcome, error)
	History(ctx context.Context, before int64, count int) ([]edit.Entry, error)
	Rates(ctx context.Context) ([]rate.Record, error)
	SetRate(ctx context.Context, r rate.Record, by audit.Actor) error
	ByHand(ctx context.Context) (edit.ByHand, error)
	DeclaredRate() rate.Declared
	Absences
	Overrides
	ProviderKeys
}

// Ownership is who owns a provider or an endpoint, and whether it takes part.
type Ownership struct {
	ID      string  `json:"id"`
	Origin  string  `json:"origin" enum:"builtin,file,database,server"`
	Where   *string `json:"where"`   // position in the configuration
	On      bool    `json:"on"`      // it is enabled
	Version *int64  `json:"version"` // of the catalog, of its last change in the database
}

func ownershipOf(id string, origin edit.Origin, where string, on bool, row *edit.Row) Ownership {
	o := Ownership{ID: id, Origin: string(origin), Where: accountapi.OrNull(where), On: on}
	if row != nil {
		o.Version = &row.Version
	}
	return o
}

// Written is what the database says of a row.
type Written struct {
	UpdatedAt *time.Time       `json:"updated_at"`
	Set       operation.Object `json:"set"` // the database's row
}

func writtenOf(row *edit.Row) Written {
	if row == nil {
		return Written{}
	}
	return Written{UpdatedAt: accountapi.Moment(row.UpdatedAt), Set: specOf(row.Kind, row.Spec)}
}

// ProviderSecret is where a provider's key comes from.
type ProviderSecret struct {
	Source string  `json:"source" enum:"database,variable,configuration"`
	Last4  *string `json:"last4"` // the last characters of a key that was set here; no other part is ever shown
}

func secretOf(v *edit.ProviderView) *ProviderSecret {
	switch {
	case v.Row != nil && v.Row.In(edit.KeyInUse) != nil:
		return &ProviderSecret{Source: "database", Last4: accountapi.OrNull(v.Row.Last4())}
	case v.Row != nil && v.Row.Spec["api_key_env"] != "":
		return &ProviderSecret{Source: "variable"}
	case v.Key != "":
		return &ProviderSecret{Source: "configuration"}
	}
	return nil
}

// AdminProvider is a provider as operators see it.
type AdminProvider struct {
	Ownership
	Reason     *string         `json:"reason"` // why it is not used although it is not disabled
	Name       string          `json:"name"`
	Dialect    string          `json:"dialect"`
	BaseURL    *string         `json:"base_url"`
	Proxy      *string         `json:"proxy"` // its own way: direct, or a proxy without user name and password; null: that of the whole gateway
	DataPolicy string          `json:"data_policy"`
	APIKey     *ProviderSecret `json:"api_key"`
	Variables  []string        `json:"key_variables"` // environment variables that may hold its key; empty where none is known
	KeyMissing bool            `json:"key_missing"`   // it is one that needs a key, and has none
	Models     int             `json:"models"`        // that are served by it
	Absence    *Absence        `json:"absence"`       // it is out of service as a whole
	Asked      *ServerAsked    `json:"asked"`         // what its server said of its models; null: it is not asked for them
	Written
}

// ServerAsked is what the server of a provider with models: discover said when it was asked which models it has.
type ServerAsked struct {
	Server     *string    `json:"server"`      // ollama, vllm, sglang, llama.cpp, lmstudio or other; null until it has answered
	AskedAt    *time.Time `json:"asked_at"`    // the last time; null: not yet
	AnsweredAt *time.Time `json:"answered_at"` // the last time; null: never
	Named      int        `json:"named"`       // models in its last answer
	Problem    *string    `json:"problem"`     // why it did not answer the last time; what it named before stays in service
	Notes      []string   `json:"notes"`       // what of its answer was left out or is doubtful, and why
}

func askedOf(v *edit.ProviderView) *ServerAsked {
	if v.Discovery == nil {
		return nil
	}
	a := &ServerAsked{Notes: []string{}}
	if f := v.Found; f != nil {
		a.Server, a.AskedAt, a.AnsweredAt, a.Named = accountapi.OrNull(f.Server), accountapi.Moment(f.Asked), accountapi.Moment(f.At), len(f.Models)
		a.Problem, a.Notes = accountapi.OrNull(f.Problem), append(a.Notes, f.Notes...)
	}
	return a
}

func (o catalogOperations) providerOf(b *edit.Built, v *edit.ProviderView) AdminProvider {
	p := AdminProvider{
		Absence:   absenceOf(b.OutTarget(edit.TargetOfProvider(v.ID), o.Console.Now())),
		Variables: []string{}, Models: b.Snapshot.ModelsOf(v.ID),
		Ownership: ownershipOf(v.ID, v.Origin, v.Where, v.On, v.Row), Reason: accountapi.OrNull(v.Reason), Name: cmp.Or(v.Name, v.ID), Dialect: v.Dialect, BaseURL: accountapi.OrNull(v.BaseURL), Proxy: accountapi.OrNull(v.Proxy.String()),
		DataPolicy: string(cmp.Or(v.DataPolicy, catalog.PolicyUnknown)), Written: writtenOf(v.Row),
	}
	p.APIKey, p.Asked = secretOf(v), askedOf(v)
	variables, missing := o.KeyVariables(&v.Provider)
	p.Variables, p.KeyMissing = append(p.Variables, variables...), missing
	return p
}

// PricesAge is how old the dollar prices of built-in models are.
type PricesAge struct {
	AsOf string `json:"as_of" format:"date"` // day of the price lists
	Days int    `json:"days"`
}

// AdminCatalog is the catalog with its owners.
type AdminCatalog struct {
	Version   int64       `json:"version"`  // number of changes at run time
	Snapshot  string      `json:"snapshot"` // digest of the current catalog
	Rate      RateInForce `json:"rate"`
	Prices    *PricesAge  `json:"prices"` // null without built-in models
	Providers []Ownership `json:"providers"`
	Endpoints []Ownership `json:"endpoints"`
	LeftOut   []string    `json:"left_out"` // what this node does not serve, with the reason, such as a provider whose credential it cannot decrypt
}

// CatalogChange is a change of the catalog at run time.
type CatalogChange struct {
	Version int64            `json:"version"`
	At      time.Time        `json:"at"`
	Actor   string           `json:"actor"`
	From    *string          `json:"from"` // client address of the change
	Action  string           `json:"action" enum:"catalog.add,catalog.change,catalog.remove,rate.set,prices.publish,prices.schedule,prices.cancel,secret.rotate,catalog_key.add,catalog_key.drain,catalog_key.out,catalog_key.return,catalog_key.forget,service.drain,service.eject,service.return,setting.set,setting.reset"`
	Kind    string           `json:"kind" enum:"provider,endpoint,rate,prices,publication,absence,alias,order,setting"`
	ID      *string          `json:"id"`
	Before  operation.Object `json:"before"` // the database's row before the change, or null
	After   operation.Object `json:"after"`
}

// CatalogHistory is a page of changes, the newest first.
type CatalogHistory struct {
	Data []CatalogChange `json:"data"`
	Next *int64          `json:"next"` // value of before for the next page
}

// Bodies that change a row are read by package edit, which knows what each member may be.
type (
	newProvider struct {
		Row operation.Raw `json:"-" body:"NewProvider"`
	}
	newEndpoint struct {
		Row operation.Raw `json:"-" body:"NewEndpoint"`
	}
	providerChange struct {
		ID  string        `json:"-" path:"id"` // of the provider
		Row operation.Raw `json:"-" body:"ProviderChange"`
	}
	endpointChange struct {
		ID  string        `json:"-" path:"id"` // of the endpoint, with its slashes encoded, such as hut%2Facme%2Ftiny
		Row operation.Raw `json:"-" body:"EndpointChange"`
	}
	providerID struct {
		ID string `json:"-" path:"id"` // of the provider
	}
	providerRemoval struct {
		ID string `json:"-" path:"id"` // of the provider
		Gone
	}
	endpointRemoval struct {
		ID string `json:"-" path:"id"` // of the endpoint, with its slashes encoded, such as hut%2Facme%2Ftiny
		Gone
	}
	endpointID struct {
		ID string `json:"-" path:"id"` // of the endpoint, with its slashes encoded, such as hut%2Facme%2Ftiny
	}
)

type catalogOperations struct {
	Editor
	Console      *console.Console
	KeyVariables func(*catalog.Provider) (variables []string, missing bool)
}

func (o catalogOperations) show(ctx context.Context, c *operation.Call, _ *operation.None) (out AdminCatalog, err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	out = AdminCatalog{
		Version: b.Version, Snapshot: b.Snapshot.Version, Rate: rateInForceOf(&b.Rate), LeftOut: b.Left,
		Providers: make([]Ownership, len(b.Providers)), Endpoints: make([]Ownership, len(b.Endpoints)),
	}
	if asOf := b.Snapshot.PricesAsOf; !asOf.IsZero() {
		out.Prices = &PricesAge{AsOf: asOf.Format(time.DateOnly), Days: int(c.At.Sub(asOf.Truncate(24*time.Hour)).Hours() / 24)}
	}
	for i := range b.Providers {
		v := &b.Providers[i]
		out.Providers[i] = ownershipOf(v.ID, v.Origin, v.Where, v.On, v.Row)
	}
	for i := range b.Endpoints {
		v := &b.Endpoints[i]
		out.Endpoints[i] = ownershipOf(v.ID, v.Origin, v.Where, v.On, v.Row)
	}
	return out, nil
}

func (o catalogOperations) history(ctx context.Context, _ *operation.Call, in *accountapi.Before) (out CatalogHistory, err error) {
	rows := in.Rows()
	entries, err := o.History(ctx, in.Before, rows+1)
	if err != nil {
		return out, err
	}
	out.Data = make([]CatalogChange, min(rows, len(entries)))
	for i := range out.Data {
		e := &entries[i]
		out.Data[i] = CatalogChange{
			Version: e.Version, At: e.At, Actor: e.Name, From: accountapi.OrNull(e.From), Action: e.Action, Kind: string(e.Kind), ID: accountapi.OrNull(e.ID),
			Before: specOf(e.Kind, e.Before), After: specOf(e.Kind, e.After),
		}
	}
	if len(entries) > rows {
		out.Next = &entries[rows-1].Version
	}
	return out, nil
}

func (o catalogOperations) providers(ctx context.Context, _ *operation.Call, _ *operation.None) (out operation.Data[[]AdminProvider], err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	out.Data = make([]AdminProvider, len(b.Providers))
	for i := range b.Providers {
		out.Data[i] = o.providerOf(b, &b.Providers[i])
	}
	return out, nil
}

// OneProvider is a provider, and what a dollar of its prices costs.
type OneProvider struct {
	Data AdminProvider `json:"data"`
	Rate RateInForce   `json:"rate"`
}

func (o catalogOperations) provider(b *edit.Built, id string) (out operation.Data[AdminProvider], err error) {
	v := b.Provider(id)
	if v == nil {
		return out, fault.New(fault.NotFound, "adminapi.provider", "There is no such provider.")
	}
	out.Data = o.providerOf(b, v)
	return out, nil
}

// change changes a row as a body says; id is "" for a new one.
func (o catalogOperations) change(ctx context.Context, c *operation.Call, k edit.Kind, id string, body operation.Raw) (*edit.Built, string, error) {
	change, err := readChange(k, id, body)
	if err != nil {
		return nil, "", err
	}
	b, err := o.Change(ctx, *change, c.Actor)
	return b, change.ID, err
}

func (o catalogOperations) remove(ctx context.Context, c *operation.Call, k edit.Kind, id string, only *Gone) (operation.Deleted, error) {
	_, err := o.Change(ctx, edit.Change{Kind: k, ID: id, Remove: true, Condition: only.condition()}, c.Actor)
	return operation.Deleted{}, err
}

func catalogRoutes(d Deps) []operation.Operation {
	o := catalogOperations{d.Editor, d.Console, d.KeyVariables}
	return append([]operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/catalog", ID: "getAdminCatalog", Access: operation.Operating, Tag: "administration",
			Summary: "Show the catalog's version, the current rate, and the origin of each provider and endpoint", Answer: "The catalog for administrators",
		}, o.show),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/catalog/history", ID: "getAdminHistory", Access: operation.Operating, Tag: "administration",
			Summary: "List the changes at run time, newest first", Answer: "The changes",
		}, o.history),
	}, slices.Concat(providerRoutes(o), endpointRoutes(o), putRoutes(o), besideRoutes(o))...)
}

func providerRoutes(o catalogOperations) []operation.Operation {
	const merged = "Members are merged into the provider's row in the database; null unsets."
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/providers", ID: "listAdminProviders", Access: operation.Operating, Tag: "administration",
			Summary: "List all providers, including disabled ones", Answer: "The providers",
		}, o.providers),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/providers", ID: "addAdminProvider", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Add a provider to the database", Answer: "The provider", Example: `{"id": "mill", "base_url": "https://mill.example/v1", "api_key": "sk-example"}`,
		}, func(ctx context.Context, c *operation.Call, in *newProvider) (out operation.Data[AdminProvider], err error) {
			b, id, err := o.change(ctx, c, edit.Provider, "", in.Row)
			if err != nil {
				return out, err
			}
			return o.provider(b, id)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/providers/{id}", ID: "getAdminProvider", Access: operation.Operating, Tag: "administration",
			Summary: "Describe one provider", Answer: "The provider",
		}, func(ctx context.Context, _ *operation.Call, in *providerID) (out OneProvider, err error) {
			b, err := o.Built(ctx)
			if err != nil {
				return out, err
			}
			p, err := o.provider(b, in.ID)
			return OneProvider{Data: p.Data, Rate: rateInForceOf(&b.Rate)}, err
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/admin/providers/{id}", ID: "changeAdminProvider", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Change, disable or enable a provider that is in the database or built in", Description: merged, Answer: "The provider", Example: `{"disabled": true}`,
		}, func(ctx context.Context, c *operation.Call, in *providerChange) (out operation.Data[AdminProvider], err error) {
			b, id, err := o.change(ctx, c, edit.Provider, in.ID, in.Row)
			if err != nil {
				return out, err
			}
			return o.provider(b, id)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/providers/{id}", ID: "removeAdminProvider", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Remove the database's row of a provider; a built-in one returns to its original state", Answer: "It is removed",
		}, func(ctx context.Context, c *operation.Call, in *providerRemoval) (operation.Deleted, error) {
			return o.remove(ctx, c, edit.Provider, in.ID, &in.Gone)
		}),
	}
}
