package adminapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rate"
	"weir/internal/resource"
)

// Resources are what operators set, so that it can be kept as files; a kind comes after those that it needs. With empty Deps they say what kinds
// there are, and how files say them.
func Resources(d Deps) []resource.Source {
	return []resource.Source{
		ratesKind(d.Editor), rowKind(d.Editor, edit.Provider), rowKind(d.Editor, edit.Endpoint),
		besideKind(d.Editor, edit.Alias, "aliases", "/api/admin/aliases/{id}"), besideKind(d.Editor, edit.Order, "orders", "/api/admin/orders/{id}"),
		alertsKind(d.Alerts), channelsKind(d.Alerts),
	}
}

// currentRate is the id of the rate and margin, of which there is one.
const currentRate = "current"

func rowKind(e Editor, k edit.Kind) resource.Source {
	s := resource.Source{Kind: resource.Kind{
		Name: string(k) + "s", One: string(k), Path: "/api/admin/" + string(k) + "s/{id}",
		Check: func(_ string, f resource.Fields) error { return edit.Spec(f).Check(k) },
		Plain: func(_ string, f resource.Fields) resource.Fields { return edit.Spec(f).Plain(k) },
		Tree:  func(f resource.Fields) map[string]any { return specOf(k, f) },
	}}
	if k == edit.Provider {
		s.Key = "api_key"
	} else {
		s.Names = edit.Identity()
	}
	s.List = func(ctx context.Context) (l resource.Listing, err error) {
		b, err := e.Built(ctx)
		if err != nil {
			return l, err
		}
		l.Items = rowsOf(b, k)
		return l, nil
	}
	s.Put = func(ctx context.Context, id string, f resource.Fields, key *string, only resource.Condition, by audit.Actor) (resource.Outcome, error) {
		_, done, err := e.Put(ctx, edit.Put{Kind: k, ID: id, Set: f, Key: key, Condition: edit.Condition(only)}, by)
		return resource.Outcome(done), err
	}
	s.Delete = func(ctx context.Context, id string, only resource.Condition, by audit.Actor) error {
		_, err := e.Change(ctx, edit.Change{Kind: k, ID: id, Remove: true, Condition: edit.Condition(only)}, by)
		return err
	}
	return s
}

// rowsOf are the rows of a kind that the database has, and those that the configuration declares.
func rowsOf(b *edit.Built, k edit.Kind) (items []resource.Item) {
	add := func(id, where string, row *edit.Row) {
		switch {
		case where != "":
			items = append(items, resource.Item{ID: id, Where: where})
		case row != nil:
			items = append(items, resource.Item{ID: id, Version: row.Version, Fields: row.Spec, HasKey: row.Keys != nil, Last4: row.Last4(), Builtin: row.Over})
		}
	}
	if k == edit.Provider {
		for i := range b.Providers {
			add(b.Providers[i].ID, b.Providers[i].Where, b.Providers[i].Row)
		}
		return items
	}
	for i := range b.Endpoints {
		add(b.Endpoints[i].ID, b.Endpoints[i].Where, b.Endpoints[i].Row)
	}
	return items
}

func ratesKind(e Editor) resource.Source {
	s := resource.Source{Kind: resource.Kind{Name: "rates", One: "rate", Path: "/api/admin/rates/{id}", Lone: currentRate,
		Check: func(_ string, f resource.Fields) error {
			for name := range f {
				if name != "rate" && name != "margin" {
					return operation.UnknownField(name)
				}
			}
			if len(f) == 0 {
				return nil // nothing is set by hand
			}
			r := recordOf(f)
			return r.Check()
		},
		Plain: func(_ string, f resource.Fields) resource.Fields {
			out := resource.Fields{}
			for name, text := range f {
				out[name] = edit.PlainDecimal(text)
			}
			return out
		},
		Tree: func(f resource.Fields) map[string]any {
			out := map[string]any{}
			for name, text := range f {
				out[name] = text
			}
			return out
		},
	}}
	s.List = func(ctx context.Context) (resource.Listing, error) { return listRates(ctx, e) }
	s.Put = func(ctx context.Context, _ string, f resource.Fields, _ *string, only resource.Condition, by audit.Actor) (resource.Outcome, error) {
		done, err := e.PutRate(ctx, recordOf(f), edit.Condition(only), by)
		return resource.Outcome(done), err
	}
	return s
}

func recordOf(f resource.Fields) rate.Record {
	return rate.Record{Source: rate.Manual, RubPerUSD: f["rate"], Margin: f["margin"]}
}

func listRates(ctx context.Context, e Editor) (l resource.Listing, err error) {
	set, err := e.ByHand(ctx)
	if err != nil {
		return l, err
	}
	declared, item := e.DeclaredRate(), resource.Item{ID: currentRate, Version: set.Version, Fields: resource.Fields{}}
	switch {
	case declared.FromBank:
		l.Notes = append(l.Notes, "The rate is fetched from the Bank of Russia every day.")
	case declared.RateAt != "":
		l.Notes = append(l.Notes, "The rate is set at "+declared.RateAt+".")
	case set.RubPerUSD != "":
		item.Fields["rate"] = set.RubPerUSD
	}
	if declared.MarginAt != "" {
		l.Notes = append(l.Notes, "The margin is set at "+declared.MarginAt+".")
	} else if set.Margin != "" {
		item.Fields["margin"] = set.Margin
	}
	for i := range set.Ahead {
		l.Notes = append(l.Notes, "What is set from "+set.Ahead[i].From.UTC().Format(time.RFC3339)+" on is not here.")
	}
	l.Items = []resource.Item{item}
	return l, nil
}

type listState struct {
	Kind  string `json:"-" path:"kind" example:"providers"`
	After string `json:"-" query:"after"`            // next of the page before
	Limit int    `json:"-" query:"limit" most:"200"` // rows of the page; 100 without it
}

func stateRoutes(d Deps) []operation.Operation {
	sources := Resources(d)
	kinds := make([]string, len(sources))
	for i := range sources {
		kinds[i] = sources[i].Name
	}
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "GET", Path: "/api/admin/state/{kind}", ID: "listState", Access: operation.Operating, Tag: "administration",
		Summary: "List what operators have set of a kind", Description: "Kinds: " + strings.Join(kinds, ", ") + ". This is what `weir state` keeps as files; `PUT` of a resource takes it with the nested names of its kind.",
		Answer: "What the database has, and what the configuration owns, by id",
	}, func(ctx context.Context, _ *operation.Call, in *listState) (out accountapi.StatePage, err error) {
		at := slices.Index(kinds, in.Kind)
		if at < 0 {
			return out, fault.Newf(fault.NotFound, "adminapi.listState", "There is no such kind. There are %s.", strings.Join(kinds, ", "))
		}
		l, err := sources[at].List(ctx)
		if err != nil {
			return out, err
		}
		return accountapi.StatePageOf(&l, in.After, in.Limit), nil
	})}
}
