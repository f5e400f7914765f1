package accountapi

import (
	"context"

	"weir/internal/apikey"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/routing"
	"weir/internal/wire"
)

// HiddenModels is which models are not for a caller.
type HiddenModels struct {
	Hidden []string `json:"hidden"` // their ids
}

func hiddenModels(d Deps) []operation.Operation {
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "GET", Path: "/api/catalog/hidden", ID: "listHiddenModels", Org: operation.Workers, Access: operation.AnyKey, Tag: "catalog", Answer: "Their ids, as in GET /api/catalog",
		Summary:     "The models of which each call of this caller would be refused, by the preferences of the account and by what the key may call",
		Description: "For a session the key is the one of the browser's calls. What only some calls would be refused for, such as their length, hides nothing.",
	}, func(ctx context.Context, c *operation.Call, _ *operation.None) (HiddenModels, error) {
		own, err := d.defaults(ctx, c)
		if err != nil || own == nil {
			return HiddenModels{}, err
		}
		q := routing.Query{Preferences: own.Preferences, At: c.At, Rand: func() float64 { return 0 }}
		if d.ProviderKeys != nil {
			if q.Own, err = d.ProviderKeys.Of(ctx, c.User); err != nil {
				return HiddenModels{}, err
			}
		}
		return HiddenModels{listing.Refused(d.Catalog(), q)}, nil
	})}
}

// webKey is the id of the key of the browser's calls.
func (d *Deps) webKey(ctx context.Context, c *operation.Call) (string, error) {
	if c.Org != nil {
		return d.Organizations.WebKey(ctx, c.Org, c.Member)
	}
	return d.People.WebKey(ctx, c.Person)
}

// defaults are the preferences of the caller's calls, or nil.
func (d *Deps) defaults(ctx context.Context, c *operation.Call) (*apikey.Defaults, error) {
	if !c.Management {
		return c.Defaults, nil
	}
	if web := webKeyOf(c); web != nil && *web != "" {
		key, err := d.webKey(ctx, c)
		if err != nil {
			return nil, err
		}
		caller, err := d.CallerOf(ctx, key)
		if err == nil {
			return caller.Defaults, nil
		}
		if !fault.Is(err, fault.Authentication) { // it is disabled: the account's preferences remain
			return nil, err
		}
	}
	u, err := d.Accounts.ByID(ctx, c.User)
	if err != nil {
		return nil, err
	}
	return apikey.ReadDefaults(apikey.Defaults{Account: u.Preferences}, func(text string) (routing.Preferences, error) { return wire.Defaults([]byte(text)) })
}
