package accountapi

import (
	"context"

	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// AccountPreferences is what holds for all requests with keys of an account.
type AccountPreferences struct {
	Provider operation.Raw `json:"provider" schema:"DefaultPreferences"`
	Plugins  operation.Raw `json:"plugins,omitempty" schema:"DefaultPlugins"`
}

func preferencesOf(text string) (out operation.Data[AccountPreferences]) {
	if provider := wire.ProviderOf(text); provider != "" {
		out.Data.Provider = operation.Raw(provider)
	}
	if plugins := wire.MemberOf(text, wire.PluginsOfAccount); plugins != "" {
		out.Data.Plugins = operation.Raw(plugins)
	}
	return out
}

func preferences(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/account/preferences", ID: "getPreferences", Access: operation.Management, Tag: "account",
			Summary: "Provider preferences for all requests with keys of this user; needs a management key", Answer: "The preferences",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[AccountPreferences], err error) {
			u, err := d.Accounts.ByID(ctx, c.User)
			if err != nil {
				return out, err
			}
			return preferencesOf(u.Preferences), nil
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/account/preferences", ID: "putPreferences", Access: operation.Management, Fresh: true, Tag: "account",
			Form: rawjson.Limits{Depth: 10, Keys: 100, Values: 2000}, Summary: "Replace them; every node applies them within 5 seconds", Answer: "The preferences",
			Description: "The preferences of a request override those of its key, which override those of the account. Protective ones are combined: only must list a " +
				"provider at every level that has it, ignore excludes it at any level, zdr, data_collection and require_parameters apply if any level sets them, and the " +
				"lowest max_price applies. For order, sort, allow_fallbacks, quantizations and the preferred figures, the level nearest to the request applies.",
			Example: `{"provider": {"zdr": true, "ignore": ["acme"], "max_price": {"completion": "2.5"}}, "plugins": [{"id": "response-healing"}]}`,
		}, func(ctx context.Context, c *operation.Call, in *AccountPreferences) (out operation.Data[AccountPreferences], err error) {
			text, err := wire.PreferencesText(in.Provider)
			if err != nil {
				return out, err
			}
			plugins := wire.Present(in.Plugins)
			if plugins != nil {
				if err := wire.DefaultPlugins(plugins); err != nil {
					return out, err
				}
			}
			text, err = d.Accounts.ChangePreferences(ctx, c.User, func(was string) (string, error) {
				return wire.KeepStoring(was, wire.WithPlugins(text, plugins))
			}, c.Actor)
			return preferencesOf(text), err
		}),
	}
}
