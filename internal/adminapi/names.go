package adminapi

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/resource"
)

// Alias is another name of a model.
type Alias struct {
	ID        string     `json:"id"`    // the other name
	Model     string     `json:"model"` // the model that answers
	On        bool       `json:"on"`    // false: a model has the name itself, or the model does not serve
	Version   int64      `json:"version"`
	UpdatedAt *time.Time `json:"updated_at"`
}

// OrderedEndpoint is an endpoint of a model with the operator's say in when it is tried.
type OrderedEndpoint struct {
	ID       string  `json:"id"`
	Provider string  `json:"provider"`
	On       bool    `json:"on"`     // it is enabled
	Place    int64   `json:"place"`  // lower ones come first; 0: after those that have one
	Weight   int64   `json:"weight"` // share of the first attempts among those of the same place; 0: none is set
	PerHour  float64 `json:"calls_per_hour"`
}

// ModelOrder is who serves a model first.
type ModelOrder struct {
	Model     string            `json:"model"`
	Version   *int64            `json:"version"` // of the last change; null: prices decide
	Endpoints []OrderedEndpoint `json:"endpoints"`
}

type (
	// AliasName is the other name in a path.
	AliasName struct {
		ID string `json:"-" path:"id" example:"acme/old"` // the other name, with its slash encoded, such as acme%2Fold
	}
	aliasPut struct {
		AliasName
		Model string `json:"model"` // the model that answers
		Only
	}
	aliasGone struct {
		AliasName
		Gone
	}
	// OfModel is the model in a path.
	OfModel struct {
		Model string `json:"-" path:"model" example:"sim/chat"` // with its slash encoded, such as acme%2Ftiny
	}
	orderPreference struct {
		ID     string `json:"id"`                                          // of the endpoint
		Place  int64  `json:"place,omitempty" null:"none" maximum:"100"`   // lower ones come first; 0 or left out: after those that have one
		Weight int64  `json:"weight,omitempty" null:"none" maximum:"1000"` // share of the first attempts among those of the same place
	}
	orderPut struct {
		OfModel
		Endpoints []orderPreference `json:"endpoints" maxItems:"64"`
		Only
	}
	orderGone struct {
		OfModel
		Gone
	}
)

func (o catalogOperations) alias(b *edit.Built, id string) (a Alias, err error) {
	row := b.BesideOf(edit.Alias, id)
	if row == nil {
		return a, fault.Newf(fault.NotFound, "adminapi.alias", "There is no other name %q.", id)
	}
	return aliasOf(b, row), nil
}

func aliasOf(b *edit.Built, row *edit.Row) Alias {
	return Alias{ID: row.ID, Model: row.Spec["model"], On: b.Answers(row), Version: row.Version, UpdatedAt: accountapi.Moment(row.UpdatedAt)}
}

func (o catalogOperations) listAliases(ctx context.Context, _ *operation.Call, _ *operation.None) (out operation.Data[[]Alias], err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	out.Data = []Alias{}
	for i := range b.Beside {
		if b.Beside[i].Kind == edit.Alias {
			out.Data = append(out.Data, aliasOf(b, &b.Beside[i]))
		}
	}
	return out, nil
}

func (o catalogOperations) putAlias(ctx context.Context, c *operation.Call, in *aliasPut) (out accountapi.Put[Alias], err error) {
	b, done, err := o.Put(ctx, edit.Put{Kind: edit.Alias, ID: in.ID, Set: edit.Spec{"model": in.Model}, Condition: in.condition()}, c.Actor)
	if err != nil {
		return out, err
	}
	out.Result = string(done)
	out.Data, err = o.alias(b, in.ID)
	return out, err
}

func (o catalogOperations) listOrders(ctx context.Context, _ *operation.Call, _ *operation.None) (out operation.Data[[]ModelOrder], err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	out.Data = []ModelOrder{}
	for i := range b.Beside {
		if b.Beside[i].Kind == edit.Order {
			m, err := o.orderOf(ctx, b, b.Beside[i].ID)
			if err != nil {
				return out, err
			}
			out.Data = append(out.Data, m)
		}
	}
	return out, nil
}

func (o catalogOperations) order(ctx context.Context, _ *operation.Call, in *OfModel) (out operation.Data[ModelOrder], err error) {
	b, err := o.Built(ctx)
	if err != nil {
		return out, err
	}
	out.Data, err = o.orderOf(ctx, b, in.Model)
	return out, err
}

func (o catalogOperations) orderOf(ctx context.Context, b *edit.Built, model string) (out ModelOrder, err error) {
	views := b.Ordered(model)
	row := b.BesideOf(edit.Order, model)
	if len(views) == 0 && row == nil {
		return out, fault.Newf(fault.NotFound, "adminapi.order", "There is no model %q.", model)
	}
	out = ModelOrder{Model: model, Endpoints: []OrderedEndpoint{}}
	if row != nil {
		out.Version = &row.Version
	}
	ids := make([]string, len(views))
	for i, v := range views {
		ids[i] = v.ID
	}
	standings, err := o.Console.Standings(ctx, o.Console.Nodes(), ids)
	for _, v := range views {
		out.Endpoints = append(out.Endpoints, OrderedEndpoint{ID: v.ID, Provider: v.Provider, On: v.On, Place: v.Place, Weight: v.Weight, PerHour: rounded(standings[v.ID].PerHour)})
	}
	return out, err
}

func (o catalogOperations) putOrder(ctx context.Context, c *operation.Call, in *orderPut) (out accountapi.Put[ModelOrder], err error) {
	var list []edit.Preference
	for _, p := range in.Endpoints {
		list = append(list, edit.Preference{Endpoint: p.ID, Place: p.Place, Weight: p.Weight})
	}
	b, done, err := o.Put(ctx, edit.Put{Kind: edit.Order, ID: in.Model, Set: edit.OrderSpec(list), Condition: in.condition()}, c.Actor)
	if err != nil {
		return out, err
	}
	out.Result = string(done)
	out.Data, err = o.orderOf(ctx, b, in.Model)
	return out, err
}

func (o catalogOperations) removeBeside(ctx context.Context, c *operation.Call, k edit.Kind, id string, g *Gone) (operation.Deleted, error) {
	_, err := o.Change(ctx, edit.Change{Kind: k, ID: id, Remove: true, Condition: g.condition()}, c.Actor)
	return operation.Deleted{}, err
}

func besideRoutes(o catalogOperations) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/aliases", ID: "listAliases", Access: operation.Operating, Tag: "administration",
			Summary: "List other names of models that operators set", Answer: "The names in their order",
		}, o.listAliases),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/aliases/{id}", ID: "putAlias", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Have a model answer to another name, too", Answer: "The name, and whether anything changed", Example: `{"model": "mill/small"}`,
			Description: "A model that was renamed goes on to answer to its former name. Calls are recorded and charged as those of the model. A name that a model has itself is refused; a list of allowed models that spells the other name out lets the model in.",
		}, o.putAlias),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/aliases/{id}", ID: "removeAlias", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Remove another name of a model", Answer: "It is no name any more on all nodes within 5 seconds",
		}, func(ctx context.Context, c *operation.Call, in *aliasGone) (operation.Deleted, error) {
			return o.removeBeside(ctx, c, edit.Alias, in.ID, &in.Gone)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/orders", ID: "listOrders", Access: operation.Operating, Tag: "administration",
			Summary: "List models of which an operator has said who serves first", Answer: "The models with their endpoints",
		}, o.listOrders),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/orders/{model}", ID: "getOrder", Access: operation.Operating, Tag: "administration",
			Summary: "Show who serves a model first", Answer: "Its endpoints in the order in which they are tried while all are well, with their calls of the last two hours",
		}, o.order),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/orders/{model}", ID: "putOrder", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Say who serves a model first, for everybody who does not say otherwise", Answer: "The order, and whether anything changed",
			Example:     `{"endpoints": [{"id": "sim/sim/chat", "place": 1, "weight": 3}]}`,
			Description: "Endpoints with a lower place come first, those without one last. Within a place, weights share the first attempts; where none is set, cheaper ones get more. Endpoints that fail come after those that do not, whatever their place. It holds for load balancing: `order` and `sort` of a request, a key or an account replace it, and a conversation stays where its prompt is cached. What the configuration file declares can be ordered, too.",
		}, o.putOrder),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/orders/{model}", ID: "removeOrder", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Have prices decide again who serves a model first", Answer: "The order is gone on all nodes within 5 seconds",
		}, func(ctx context.Context, c *operation.Call, in *orderGone) (operation.Deleted, error) {
			return o.removeBeside(ctx, c, edit.Order, in.Model, &in.Gone)
		}),
	}
}

// besideKind are rows of a kind that stand beside those of providers and endpoints.
func besideKind(e Editor, k edit.Kind, name, path string) resource.Source {
	s := resource.Source{Kind: resource.Kind{
		Name: name, One: string(k), Path: path,
		Check: func(_ string, f resource.Fields) error { return edit.Spec(f).Check(k) },
		Tree:  func(f resource.Fields) map[string]any { return specOf(k, f) },
	}}
	s.List = func(ctx context.Context) (l resource.Listing, err error) {
		b, err := e.Built(ctx)
		if err != nil {
			return l, err
		}
		for i := range b.Beside {
			if r := &b.Beside[i]; r.Kind == k {
				l.Items = append(l.Items, resource.Item{ID: r.ID, Version: r.Version, Fields: r.Spec})
			}
		}
		return l, nil
	}
	s.Put = func(ctx context.Context, id string, f resource.Fields, _ *string, only resource.Condition, by audit.Actor) (resource.Outcome, error) {
		_, done, err := e.Put(ctx, edit.Put{Kind: k, ID: id, Set: f, Condition: edit.Condition(only)}, by)
		return resource.Outcome(done), err
	}
	s.Delete = func(ctx context.Context, id string, only resource.Condition, by audit.Actor) error {
		_, err := e.Change(ctx, edit.Change{Kind: k, ID: id, Remove: true, Condition: edit.Condition(only)}, by)
		return err
	}
	return s
}
