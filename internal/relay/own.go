package relay

import (
	"context"
	"maps"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
)

// OwnKeys finds people's own keys of providers. *ownkey.Manager is one. Its methods are safe for concurrent use.
type OwnKeys interface {
	// Of is what the keys of a user mean for a plan.
	Of(ctx context.Context, user string) ([]routing.Own, error)
	// Tried notes how an attempt with a key ended; err is nil for the one that served.
	Tried(user, key string, err *fault.Error)
}

// ownKeys are the caller's keys for this call.
func (x *run) ownKeys(ctx context.Context) ([]routing.Own, error) {
	if x.relay.Own == nil {
		return nil, nil
	}
	return x.relay.Own.Of(ctx, x.call.Caller.User)
}

// ownKeyOf is the id of the own key that an endpoint is called with, "" for the gateway's credentials.
func ownKeyOf(ep *catalog.Endpoint) string {
	if ep.Own == nil {
		return ""
	}
	return ep.Own.Key
}

// dearest is the hold of an attempt at ep before it begins. The fallbacks of an own key are held for together with it: else the call of somebody
// who has money for the fee alone would fail in the middle.
func (x *run) dearest(ep *catalog.Endpoint, rest []routing.Attempt) (most money.Nano, err error) {
	if ep.Own != nil {
		for i := range rest {
			need, err := x.opening(rest[i].Endpoint)
			if err != nil {
				return 0, err
			}
			most = max(most, need)
		}
	}
	need, err := x.opening(ep) // the last one: it sets what the attempt may consume
	return max(most, need), err
}

// ownFault is the error of an attempt with an own key in words for its owner: "the gateway's request was not accepted" would send them to the
// operator.
func ownFault(ep *catalog.Endpoint, err *fault.Error) *fault.Error {
	if err.Upstream == nil {
		return err
	}
	out := *err
	out.Details = maps.Clone(err.Details)
	if out.Details == nil {
		out.Details = map[string]any{}
	}
	out.Details["own_key"] = ep.Own.Key
	switch s := err.Upstream.Status; {
	case s == 401 || s == 403 && err.Kind == fault.ProviderUnavailable:
		out.Public = ep.Provider.Name + " does not accept your own key. Put in a new one in Settings, Provider keys, or switch it off there."
		out.Details["reason"] = "own_key_refused"
	case s == 402:
		out.Public = "Your account at " + ep.Provider.Name + " has no money left for your own key. Top it up there, or switch the key off in Settings, Provider keys."
		out.Details["reason"] = "own_key_no_credit"
	case err.Kind == fault.RateLimited:
		out.Public = strings.TrimSpace("Your own key of " + ep.Provider.Name + " has reached a limit of its account there. " + err.Public)
		out.Details["reason"] = "own_key_rate_limited"
	}
	return &out
}
