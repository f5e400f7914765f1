package accountapi

import (
	"context"

	"weir/internal/apikey"
	"weir/internal/explain"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// Explainer plans calls without carrying them. *relay.Relay is one.
type Explainer interface {
	// Explain fails as a call would that has not even a candidate; see relay.Relay.
	Explain(ctx context.Context, c *relay.Call) (*relay.Explanation, error)
}

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

// PreferencesTrial is preferences to try with a request.
type PreferencesTrial struct {
	Provider operation.Raw `json:"provider" schema:"DefaultPreferences"`
	Request  operation.Raw `json:"request" schema:"ChatRequest"`
}

// explainPreferences says where a chat request would go if the account had these preferences. What is saved for the account and the key is left
// aside; nothing is called, held, charged or kept.
func explainPreferences(ctx context.Context, d Deps, c *operation.Call, in *PreferencesTrial) (out operation.Data[explain.RouteExplanation], err error) {
	if rawjson.KindOf(in.Request) != rawjson.Object {
		return out, fault.Field("accountapi.explainPreferences", "request", "request must be a chat request, such as {\"model\":\"vendor/model\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}.").Coded("chat_request")
	}
	text, err := wire.PreferencesText(in.Provider)
	if err != nil {
		return out, err
	}
	caller := *c.Caller
	caller.Defaults, err = apikey.ReadDefaults(apikey.Defaults{Account: text}, func(s string) (routing.Preferences, error) { return wire.DefaultPreferences([]byte(s)) })
	if err != nil {
		return out, err
	}
	req, err := chat.Decode(in.Request)
	if err != nil {
		return out, err
	}
	req.Account = c.Wallet
	e, err := d.Explainer.Explain(ctx, &relay.Call{Caller: &caller, Request: req, At: c.At, Catalog: d.Catalog(), API: "completions"})
	if err != nil {
		return out, err
	}
	return explain.Explain(req, e, d.Refusal), nil
}

func preferences(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/account/preferences/explain", ID: "explainPreferences", Org: operation.Workers, Access: operation.Management, Tag: "account", Form: rawjson.Defaults, Answer: "The plan",
			Summary: "Explain where a chat request would go if the account had these preferences; needs a management key",
			Description: "Preferences that are saved for the account and the key are left aside. Nothing is saved, called, held or charged. A request without any remaining candidate is " +
				"explained, too: error then has the error of such a request.",
			Example: `{"provider": {"sort": "price", "data_collection": "deny"}, "request": {"model": "sim/anywhere", "messages": [{"role": "user", "content": "Hello"}]}}`,
		}, func(ctx context.Context, c *operation.Call, in *PreferencesTrial) (operation.Data[explain.RouteExplanation], error) {
			return explainPreferences(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/account/preferences", ID: "getPreferences", Org: operation.Workers, Access: operation.Management, Tag: "account",
			Summary: "Provider preferences for all requests with keys of this user; needs a management key", Answer: "The preferences",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[AccountPreferences], err error) {
			u, err := d.Accounts.ByID(ctx, c.User)
			if err != nil {
				return out, err
			}
			return preferencesOf(u.Preferences), nil
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/account/preferences", ID: "putPreferences", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
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
